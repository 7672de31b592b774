//! LUCI's services in one process, for tests.
//!
//! Histories are those of real local git; builders and bots work in time that tests choose; files
//! have real digests; trouble comes by seed ([`Faults`]). The services answer by the protocols
//! that their clients were published with, and refuse fields that they do not know.
//! [`FakeLuci::routes`] is all of them, to be served on loopback or called within a process.

mod bigquery;
mod buildbucket;
mod cas;
mod clock;
mod crrev;
mod faults;
mod folder;
pub mod git;
mod gitiles;
mod issue_tracker;
mod prpc;
mod swarming;
mod world;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State as Extracted};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};

pub use buildbucket::Build;
pub use cas::INSTANCE;
use clock::Clock;
pub use faults::Faults;
use faults::Random;
pub use folder::Folder;
pub use git::Repository;
pub use issue_tracker::Issue;
pub use swarming::{Bot, Task};
pub use world::{DEPENDENCY, MAIN, Shape, Slower, World};

/// The body of a request, at most.
const MOST_BYTES: usize = 8 << 20;

/// All services. Clones are the same.
#[derive(Clone)]
pub struct FakeLuci(Arc<Inner>);

struct Inner {
    repositories: HashMap<String, Arc<Repository>>,
    clock: Clock,
    state: Mutex<State>,
}

/// The part that changes.
struct State {
    random: Random,
    faults: Faults,
    builds: Vec<Build>,
    tasks: Vec<Task>,
    bots: Vec<Bot>,
    blobs: HashMap<String, Vec<u8>>,
    /// When files are gone, in milliseconds since 1970.
    expires: HashMap<String, u64>,
    requests: u64,
    issues: BTreeMap<u64, Issue>,
    /// By project, dataset and name.
    tables: BTreeMap<String, bigquery::Table>,
    /// The requests about a table that was just made that say that there is none.
    unseen_for: u32,
    /// Tasks leave no traces, whatever they are asked for.
    traces_lost: bool,
    /// So many traces are cut short.
    traces_cut: usize,
    /// Rows are taken, and in no table.
    loses_rows: bool,
}

impl FakeLuci {
    /// The services over these repositories, by their URLs, with four bots and no trouble.
    pub fn new(repositories: impl IntoIterator<Item = (&'static str, Arc<Repository>)>) -> Self {
        Self::with(repositories, 0, Faults::default(), 1)
    }

    /// As [`new`](Self::new), with trouble by seed, in time that runs as fast as that of
    /// `tokio`, or so many times faster.
    pub fn with(
        repositories: impl IntoIterator<Item = (&'static str, Arc<Repository>)>,
        seed: u64,
        faults: Faults,
        speed: u64,
    ) -> Self {
        let repositories = repositories.into_iter();
        let state = State {
            random: Random::new(seed),
            faults,
            builds: Vec::new(),
            tasks: Vec::new(),
            bots: (1..=4)
                .map(|number| Bot::new(number, number as f64 / 4.0))
                .collect(),
            blobs: HashMap::new(),
            expires: HashMap::new(),
            requests: 0,
            issues: BTreeMap::new(),
            tables: BTreeMap::new(),
            unseen_for: 0,
            traces_lost: false,
            traces_cut: 0,
            loses_rows: false,
        };
        Self(Arc::new(Inner {
            repositories: repositories.map(|(url, it)| (url.to_owned(), it)).collect(),
            clock: Clock::new(speed),
            state: Mutex::new(state),
        }))
    }

    /// The answers to requests. Gitiles is at `/gitiles/HOST`; the others are at the root. The
    /// store of files speaks gRPC; it has no trouble.
    pub fn routes(&self) -> Router {
        Router::new()
            .route("/gitiles/{host}/{*path}", get(gitiles::answer))
            .route("/_ah/api/crrev/v1/redirect/{asked}", get(crrev::redirect))
            .route("/prpc/{service}/{method}", post(method))
            .route("/v1/issues/{issue}", post(issue_tracker::modify))
            .route(
                "/v1/issues/{issue}/issueUpdates",
                get(issue_tracker::updates),
            )
            .route(
                "/bigquery/v2/projects/{project}/datasets/{dataset}/tables",
                post(bigquery::create),
            )
            .route(
                "/bigquery/v2/projects/{project}/datasets/{dataset}/tables/{table}/insertAll",
                post(bigquery::insert),
            )
            .route(
                "/bigquery/v2/projects/{project}/queries",
                post(bigquery::query),
            )
            .route(
                "/computeMetadata/v1/instance/service-accounts/default/token",
                get(token),
            )
            .layer(from_fn_with_state(self.clone(), trouble))
            .with_state(self.clone())
            .merge(cas::server::routes(self))
    }

    /// A file that somebody left, by the digest of the root and its path.
    pub fn results(&self, root: &str) -> Option<f64> {
        // The root holds one folder, and that one file; the last digest in each is the entry's.
        let state = self.state();
        let folder = entry(state.blobs.get(root)?)?;
        let file = entry(state.blobs.get(&folder)?)?;
        let histograms: serde_json::Value = serde_json::from_slice(state.blobs.get(&file)?).ok()?;
        histograms[0]["sampleValues"][0].as_f64()
    }

    /// All files that anybody left.
    pub fn blobs(&self) -> Vec<Vec<u8>> {
        self.state().blobs.values().cloned().collect()
    }

    /// All builds that were asked for.
    pub fn all_builds(&self) -> Vec<Build> {
        let now = self.now();
        let state = self.state();
        let is_gone = |build: &Build| {
            let expires = build
                .target
                .as_ref()
                .and_then(|digest| state.expires.get(digest));
            expires.is_some_and(|expires| *expires <= now)
        };
        let mut builds = state.builds.clone();
        for build in &mut builds {
            build.is_gone = is_gone(build);
        }
        builds
    }

    /// All tasks that were asked for.
    pub fn all_tasks(&self) -> Vec<Task> {
        let now = self.now();
        let mut state = self.state();
        state.advance(now);
        state.tasks.clone()
    }

    /// The builds and tasks of ours that go on, by their tags.
    pub fn left_over(&self) -> Vec<String> {
        let now = self.now();
        let tasks = self.all_tasks().into_iter();
        let tasks = tasks.filter(|task| task.is_live() && !task.request_uuid.is_empty());
        let builds = self
            .all_builds()
            .into_iter()
            .filter(|build| build.is_live(now));
        let builds = builds.map(|build| format!("build {}: {:?}", build.id, build.tags));
        tasks
            .map(|task| format!("task {}: {:?}", task.id, task.tags))
            .chain(builds)
            .collect()
    }

    /// The requests that arrived.
    pub fn requests(&self) -> u64 {
        self.state().requests
    }

    /// Lets trouble begin or end.
    pub fn set_faults(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// Lets tasks leave traces as they are asked to, or none.
    pub fn lose_traces(&self, lost: bool) {
        self.state().traces_lost = lost;
    }

    /// Cuts the traces of the next tasks short.
    pub fn cut_traces(&self, count: usize) {
        self.state().traces_cut = count;
    }

    /// Lets the builds that go on take a day longer.
    pub fn stall_builds(&self) {
        let now = self.now();
        let mut state = self.state();
        for build in state.builds.iter_mut().filter(|build| build.is_live(now)) {
            build.ends += 24 * 3_600_000;
        }
    }

    fn repository(&self, url: &str) -> Option<Arc<Repository>> {
        self.0.repositories.get(url).cloned()
    }

    fn now(&self) -> u64 {
        self.0.clock.now()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slowness of a state; `None` for one that does not build.
    fn level(
        &self,
        revision: &str,
        overrides: &BTreeMap<String, String>,
        is_patched: bool,
    ) -> Option<f64> {
        let main = self.repository(MAIN)?;
        let commit = main.commit(revision)?;
        if main.text(commit, "broken")? == "true" {
            return None;
        }
        let level: f64 = main.text(commit, "perf/level")?.parse().ok()?;
        let deps = main.text(commit, "DEPS")?;
        let named = deps.split_once(".git@")?.1.split('\'').next()?;
        let held = overrides.get(DEPENDENCY).map_or(named, String::as_str);
        let dependency = self.repository(DEPENDENCY)?;
        let below = match dependency.commit(held) {
            Some(commit) => dependency.text(commit, "level")?.parse().ok()?,
            None if held.is_empty() => 0.0,
            None => return None,
        };
        let patched = if is_patched { world::PATCHED } else { 0.0 };
        Some(level + below + patched)
    }
}

/// The digest in a `Directory` with one entry.
fn entry(directory: &[u8]) -> Option<String> {
    // The hash is 64 characters long; the size is the number after it.
    let at = directory.windows(2).position(|bytes| bytes == [0x0a, 64])?;
    let hash = std::str::from_utf8(directory.get(at + 2..at + 66)?).ok()?;
    let mut size = 0_u64;
    for (place, byte) in directory.get(at + 67..)?.iter().enumerate() {
        size |= u64::from(byte & 0x7f) << (7 * place);
    }
    Some(format!("{hash}/{size}"))
}

/// A token of the metadata server, good for an hour.
async fn token(Extracted(luci): Extracted<FakeLuci>) -> Response {
    let token = format!("hidden-{}", luci.0.clock.unhurried());
    axum::Json(serde_json::json!({"access_token": token, "expires_in": 3600})).into_response()
}

impl FakeLuci {
    /// Is this one of the metadata server's tokens, that has not expired?
    fn is_signed_in(&self, request: &Request) -> bool {
        let header = request.headers().get("authorization");
        let header = header.and_then(|header| header.to_str().ok());
        let made = header.and_then(|header| header.strip_prefix("Bearer hidden-")?.parse().ok());
        made.is_some_and(|made: u64| self.0.clock.unhurried() < made + 3_600_000)
    }
}

async fn method(
    Extracted(luci): Extracted<FakeLuci>,
    Path((service, method)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    prpc::answer(match &*service {
        "buildbucket.v2.Builds" => luci.builds(&method, &body),
        "swarming.v2.Tasks" => luci.swarming(&format!("Tasks/{method}"), &body),
        "swarming.v2.Bots" => luci.swarming(&format!("Bots/{method}"), &body),
        _ => Err((prpc::UNIMPLEMENTED, service)),
    })
}

/// Trouble before and after a request is carried out.
async fn trouble(Extracted(luci): Extracted<FakeLuci>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_prpc = path.starts_with("/prpc/");
    let is_told = path.starts_with("/v1/issues/") || path.starts_with("/bigquery/");
    let (faults, refusal, draws) = {
        let mut state = luci.state();
        state.requests += 1;
        let faults = state.faults;
        let kinds = [
            faults.refused,
            faults.duplicates,
            faults.lost_answers,
            faults.garbage,
            faults.slow,
        ];
        let refusal = state.random.below(10);
        let draws = kinds.map(|kind| state.random.happens(kind));
        (faults, refusal, draws)
    };
    if is_prpc && !luci.is_signed_in(&request) {
        return prpc::answer(Err((16, "the token has expired".into())));
    }
    if is_told && !luci.is_signed_in(&request) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if faults == Faults::default() {
        return next.run(request).await;
    }
    let [is_refused, is_duplicate, is_lost, is_garbage, is_slow] = draws;
    if is_refused {
        return refused(refusal, is_prpc);
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MOST_BYTES)
        .await
        .unwrap_or_default();
    let copy = || Request::from_parts(parts.clone(), Body::from(body.clone()));
    if is_duplicate {
        next.clone().run(copy()).await;
    }
    let answer = next.run(copy()).await;
    if is_slow {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    match () {
        () if is_lost => StatusCode::BAD_GATEWAY.into_response(),
        () if is_garbage => ([("x-prpc-grpc-code", "0")], "<html>\u{0}garbage").into_response(),
        () => answer,
    }
}

fn refused(kind: u64, is_prpc: bool) -> Response {
    match (kind, is_prpc) {
        (0, _) => StatusCode::UNAUTHORIZED.into_response(),
        (1, _) => StatusCode::TOO_MANY_REQUESTS.into_response(),
        (2, _) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        (3, _) => StatusCode::GATEWAY_TIMEOUT.into_response(),
        (4, true) => prpc::answer(Err((2, "unknown".into()))),
        (5, true) => prpc::answer(Err((13, "internal".into()))),
        (6, true) => prpc::answer(Err((14, "unavailable".into()))),
        (7, true) => prpc::answer(Err((16, "the token has expired".into()))),
        _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

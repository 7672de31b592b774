//! The services as one: their repositories, clock, builds, tasks, files and trouble.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bigquery;
use crate::buildbucket::Build;
use crate::catapult::ReceivedJob;
use crate::clock::Clock;
use crate::faults::{Faults, Random};
use crate::gerrit::Change;
use crate::git::Repository;
use crate::issue_tracker::Issue;
use crate::swarming::{Bot, Task};
use crate::world::{self, DEPENDENCY, MAIN};

/// All services. Clones are the same.
#[derive(Clone)]
pub struct FakeLuci(Arc<Inner>);

struct Inner {
    repositories: HashMap<String, Arc<Repository>>,
    clock: Clock,
    state: Mutex<State>,
}

/// The part that changes.
pub(crate) struct State {
    pub(crate) random: Random,
    pub(crate) faults: Faults,
    pub(crate) builds: Vec<Build>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) bots: Vec<Bot>,
    pub(crate) blobs: HashMap<String, Vec<u8>>,
    /// When files are gone, in milliseconds since 1970.
    pub(crate) expires: HashMap<String, u64>,
    pub(crate) requests: u64,
    pub(crate) issues: BTreeMap<u64, Issue>,
    pub(crate) changes: BTreeMap<u64, Change>,
    pub(crate) received_jobs: Vec<ReceivedJob>,
    /// The number of the next jobs that Catapult refuses.
    pub(crate) catapult_refuses: usize,
    /// By project, dataset and name.
    pub(crate) tables: BTreeMap<String, bigquery::Table>,
    /// The number of requests that a new table is hidden from.
    pub(crate) unseen_for: u32,
    /// Tasks leave no traces, whatever they are asked for.
    pub(crate) traces_lost: bool,
    /// The number of the next traces that are cut short.
    pub(crate) traces_cut: usize,
    /// Rows are taken, and in no table.
    pub(crate) loses_rows: bool,
    /// Values fall where they would grow.
    pub(crate) inverted: bool,
    /// Tasks that name a bot are refused, as when all of them died a moment ago.
    pub(crate) refuses_ids: bool,
    /// The calls of the methods of Buildbucket and Swarming.
    pub(crate) calls: BTreeMap<String, u64>,
}

impl FakeLuci {
    /// The services over these repositories, by their URLs, with four bots and no trouble.
    pub fn new(repositories: impl IntoIterator<Item = (&'static str, Arc<Repository>)>) -> Self {
        Self::with(repositories, 0, Faults::default(), 1)
    }

    /// Like [`new`](Self::new), with trouble by seed, in time that runs `speed` times as fast as
    /// that of `tokio`.
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
            changes: BTreeMap::new(),
            received_jobs: Vec::new(),
            catapult_refuses: 0,
            tables: BTreeMap::new(),
            unseen_for: 0,
            traces_lost: false,
            traces_cut: 0,
            loses_rows: false,
            inverted: false,
            refuses_ids: false,
            calls: BTreeMap::new(),
        };
        Self(Arc::new(Inner {
            repositories: repositories.map(|(url, it)| (url.to_owned(), it)).collect(),
            clock: Clock::new(speed),
            state: Mutex::new(state),
        }))
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

    /// Has the clock run as fast as that of `tokio` if a task is running, which then goes on for a
    /// while.
    pub fn slow_down_at_a_running_task(&self) -> bool {
        let mut state = self.state();
        let now = self.now();
        state.advance(now);
        let runs = state.tasks.iter().any(|task| task.is_live());
        if runs {
            self.0.clock.slow_down_at(now);
        }
        runs
    }

    /// Our builds and tasks that are still running, by their tags.
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

    /// The calls of a method so far, such as `GetBuild` or `Bots/ListBots`, or of `Catapult`.
    pub fn calls(&self, method: &str) -> u64 {
        self.state().calls.get(method).copied().unwrap_or_default()
    }

    /// Lets values fall where they would grow, as scores do.
    pub fn invert_values(&self) {
        self.state().inverted = true;
    }

    /// Refuses tasks that name a bot, or takes them again.
    pub fn refuse_bot_ids(&self, refuse: bool) {
        self.state().refuses_ids = refuse;
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

    /// Makes the running builds take a day longer.
    pub fn stall_builds(&self) {
        let now = self.now();
        let mut state = self.state();
        for build in state.builds.iter_mut().filter(|build| build.is_live(now)) {
            build.ends += 24 * 3_600_000;
        }
    }

    pub(crate) fn repository(&self, url: &str) -> Option<Arc<Repository>> {
        self.0.repositories.get(url).cloned()
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.clock.now()
    }

    /// The time of the clock that runs as fast as that of `tokio`.
    pub(crate) fn unhurried(&self) -> u64 {
        self.0.clock.unhurried()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slowness of a state; `None` for one that does not build.
    pub(crate) fn level(
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

//! Jobs in LUCI: the cost of 5,000 tasks under way, and a bisection of 1,024 commits on the
//! stand-in of the services.
//!
//! Time is simulated: waits take none, and only processor time is measured. Services answer within
//! the process. Their time is not counted for the tasks, and is counted for the bisection; TLS and
//! HTTP are counted for neither.
//!
//! `cargo bench -p pinpoint-benches --features luci --bench luci`

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use fake_luci::{FakeLuci, MAIN, Shape, Slower, World};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pinpoint_backends::TokioClock;
use pinpoint_backends::google::{TokenSource, Transport, TransportError};
use pinpoint_backends::luci::{
    Addresses, Benchmark, LuciConfig, LuciExecutor, LuciServices, OutputError, TaskOutputs,
};
use pinpoint_backends::swarming::CasReference;
use pinpoint_core::bots::{Dimension, Swarming};
use pinpoint_core::{
    Bisection, BisectionSpec, Charts, Commit, Direction, Executor as _, Heartbeat, Key, Magnitude,
    MemoryJournal, Range, Request, RunRequest, Series, Status, Ticket, Variant, drive,
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const TASKS: usize = 5_000;
const TASKS_FOR: Duration = Duration::from_secs(600);
const REQUESTS_A_SECOND: f64 = 1.0;
const SHARE: f64 = 0.01;

const COMMITS: usize = 1_024;
const SEARCHES: usize = 3;
const SECONDS: f64 = 2.0;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let place = tempfile::tempdir()?;
    let [requests, share] = tasks(place.path())?;
    println!(
        "{TASKS} tasks under way: {requests:.2} requests a second (at most {REQUESTS_A_SECOND}), \
         {:.2} % of a processor (at most {} %)",
        100.0 * share,
        100.0 * SHARE
    );
    let seconds = bisections(place.path())?;
    println!(
        "a bisection of {COMMITS} commits: {seconds:.2} s of a processor, with the services (at \
         most {SECONDS})"
    );
    if requests > REQUESTS_A_SECOND || share > SHARE || seconds > SECONDS {
        return Err("a limit is exceeded".into());
    }
    Ok(())
}

/// The time of the processor that this process has taken, and the git commands that it waited for.
#[expect(unsafe_code, reason = "the standard library has no such clock")]
fn processor() -> Duration {
    let seconds = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN]
        .map(|of| {
            // SAFETY: a structure of numbers may be all zeros, and is only written to.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            let got = unsafe { libc::getrusage(of, &raw mut usage) };
            assert_eq!(got, 0);
            seconds(usage.ru_utime) + seconds(usage.ru_stime)
        })
        .iter()
        .sum()
}

fn simulated<T>(work: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    Ok(runtime.block_on(work))
}

/// Requests and processor time for each second in which all tasks are under way.
fn tasks(cache: &Path) -> Result<[f64; 2]> {
    let swarming = Arc::new(Running::default());
    let request = |number: u64| {
        let commit = Commit::new(MAIN, "a1".repeat(20));
        Request::Run(RunRequest {
            key: Key {
                job: "job".into(),
                action: number,
            },
            variant: Variant::from(pinpoint_core::CombinedCommit::from(commit)),
            index: 0,
            bot: None,
            charts: Charts::Deciding(None),
            metric: None,
        })
    };
    let requests: Vec<Request> = (0..TASKS as u64).map(request).collect();
    let heartbeat = Heartbeat::default();
    let began = processor();
    let waited: Result<()> = simulated(async {
        let executor = executor(cache, swarming.clone(), Arc::new(Nothing))?;
        let waits = requests.iter().map(|request| {
            let key = request.key().clone();
            let ticket = Ticket::durable(key.clone(), format!("task/6{:015x}", key.action));
            let (executor, heartbeat) = (&executor, &heartbeat);
            async move { executor.wait(request, &ticket, heartbeat).await }
        });
        let mut waits: FuturesUnordered<_> = waits.collect();
        match tokio::time::timeout(TASKS_FOR, waits.next()).await {
            Err(_) => Ok(()),
            Ok(ended) => Err(format!("a task ended: {ended:?}").into()),
        }
    })?;
    waited?;
    let spent = (processor() - began).saturating_sub(swarming.spent());
    assert!(heartbeat.count() > 0, "no heartbeat while tasks run");
    let seconds = TASKS_FOR.as_secs_f64();
    let asked = swarming.requests.load(Ordering::Relaxed) as f64;
    Ok([asked / seconds, spent.as_secs_f64() / seconds])
}

/// The median of the processor seconds of a bisection.
fn bisections(place: &Path) -> Result<f64> {
    let shape = Shape {
        main: COMMITS + 1,
        dependency: 1,
        rolls: Vec::new(),
        broken: Vec::new(),
        slower: Slower::Main(600),
    };
    let world = World::make(place, &shape);
    let mut seconds = Vec::new();
    for search in 0..SEARCHES {
        // Nothing is cached from the searches before.
        let cache = place.join(format!("cache-{search}"));
        let began = processor();
        simulated(bisection(&world, &cache))??;
        seconds.push((processor() - began).as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[SEARCHES / 2])
}

async fn bisection(world: &World, cache: &Path) -> Result<()> {
    let luci = FakeLuci::new(world.repositories());
    let outputs = Arc::new(Memory(luci.clone()));
    let executor = executor(cache, Arc::new(InProcess(luci.routes())), outputs)?;
    let [good, bad] =
        [0, COMMITS].map(|index| Commit::new(MAIN, &*world.main_hashes[index]).into());
    let spec = BisectionSpec {
        chart: Some("Score".into()),
        direction: Direction::Down,
        magnitude: Some(Magnitude::Absolute(10.0)),
        ..BisectionSpec::new(Range::Between { good, bad })
    };
    let mut journal = MemoryJournal::new("job");
    let search = Bisection::new(spec)?;
    let driven = drive(search, &executor, &mut journal, &TokioClock, pending()).await?;
    let outcome = driven.outcome;
    if outcome.status != Status::CulpritFound || outcome.culprits.len() != 1 {
        return Err(format!("no culprit: {outcome:?}").into());
    }
    Ok(())
}

fn executor(
    cache: &Path,
    transport: Arc<dyn Transport>,
    outputs: Arc<dyn TaskOutputs>,
) -> Result<LuciExecutor> {
    let machines = Swarming {
        browser: "release".into(),
        bucket: "luci.chrome.try".into(),
        builder: "Linux Builder Perf".into(),
        swarming_server: "https://chrome-swarming.example.org".into(),
        dimensions: vec![Dimension {
            key: "pool".into(),
            value: "chrome.tests.pinpoint".into(),
        }],
        extra_test_args: Vec::new(),
    };
    let benchmark = Benchmark {
        name: "speedometer3.crossbench".into(),
        target: "performance_test_suite".into(),
        story: None,
        story_tags: None,
        arguments: Vec::new(),
    };
    let addresses = Addresses {
        gitiles: "https://gitiles.example.org/gitiles/{host}".into(),
        ..Addresses::default()
    };
    let source = TokenSource::Metadata("http://metadata".into());
    let server = machines.swarming_server.clone();
    let services = LuciServices::new(
        &addresses,
        &server,
        &source,
        &transport,
        cache,
        outputs,
        Some(1),
    )?;
    let config = LuciConfig::new(machines, benchmark, 7);
    Ok(LuciExecutor::new(config, services)?)
}

/// A Swarming whose tasks never end.
#[derive(Default)]
struct Running {
    requests: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Running {
    fn spent(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    fn answer(&self, request: &http::Request<Vec<u8>>) -> String {
        if request.uri().path().ends_with("/token") {
            return json!({"access_token": "x", "expires_in": 3600}).to_string();
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let asked: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let ids = asked["taskIds"].as_array().into_iter().flatten();
        let results: Vec<Value> = ids.map(running).collect();
        format!(")]}}'\n{}", json!({ "results": results }))
    }
}

/// The result of a running task, with every field that Swarming gives.
fn running(id: &Value) -> Value {
    let tags: Vec<String> = (0..16)
        .map(|tag| format!("tag_{tag}:value of it {tag}"))
        .collect();
    json!({"taskId": id, "result": {
        "taskId": id,
        "runId": id,
        "name": "Pinpoint bisection run benchmark task",
        "state": "RUNNING",
        "botId": "linux-perf-7",
        "botVersion": "1".repeat(64),
        "createdTs": "2026-01-31T12:30:00.500Z",
        "startedTs": "2026-01-31T12:31:00.500Z",
        "modifiedTs": "2026-01-31T12:32:00.500Z",
        "serverVersions": ["8000-1234567"],
        "user": "Pinpoint",
        "tags": tags,
    }})
}

#[async_trait]
impl Transport for Running {
    async fn send(
        &self,
        request: http::Request<Vec<u8>>,
        _: usize,
    ) -> std::result::Result<http::Response<Vec<u8>>, TransportError> {
        let began = processor();
        let answer = http::Response::builder()
            .header("x-prpc-grpc-code", "0")
            .body(self.answer(&request).into_bytes())
            .map_err(|error| TransportError::Unsendable(Box::new(error)));
        let spent = (processor() - began).as_nanos() as u64;
        self.nanoseconds.fetch_add(spent, Ordering::Relaxed);
        answer
    }
}

/// The stand-in of the services, in place of every host.
struct InProcess(Router);

#[async_trait]
impl Transport for InProcess {
    async fn send(
        &self,
        request: http::Request<Vec<u8>>,
        _: usize,
    ) -> std::result::Result<http::Response<Vec<u8>>, TransportError> {
        let failed = |error: axum::Error| TransportError::Broken(Box::new(error));
        let answer = self.0.clone().oneshot(request.map(Body::from)).await;
        let Ok(answer) = answer;
        let (parts, body) = answer.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX)
            .await
            .map_err(failed)?;
        Ok(http::Response::from_parts(parts, body.to_vec()))
    }
}

/// Reads the outputs of tasks from the memory of the services.
struct Memory(FakeLuci);

#[async_trait]
impl TaskOutputs for Memory {
    async fn charts(
        &self,
        root: &CasReference,
        _: &str,
    ) -> std::result::Result<BTreeMap<String, Series>, OutputError> {
        let value = self.0.results(&root.digest.to_string());
        let value = value.ok_or_else(|| OutputError::None("no such output".into()))?;
        let series = Series {
            values: vec![value],
            ..Series::default()
        };
        Ok([("Score".to_owned(), series)].into())
    }
}

/// No task has left any output.
struct Nothing;

#[async_trait]
impl TaskOutputs for Nothing {
    async fn charts(
        &self,
        _: &CasReference,
        _: &str,
    ) -> std::result::Result<BTreeMap<String, Series>, OutputError> {
        Err(OutputError::None("no output".into()))
    }
}

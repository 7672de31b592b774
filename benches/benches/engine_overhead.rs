//! The engine's own share of a bisection's time.
//!
//! A bisection of 64 commits with a benchmark of about 50 ms, on real git and
//! real processes, with its journal in SQLite. Printed is the share of the
//! job's wall time in which no checkout, build, warm-up or benchmark process
//! runs, beside the limit of 2 %.
//!
//! The intervals do not overlap (one build at a time, and no run beside it), so
//! their union is their sum: every run's wall time, every build's duration,
//! which spans its checkout, and for every warm-up, which is not recorded, the
//! median run of the same command. Time between `fork` and the command's
//! first instruction counts as the command's.
//!
//! `cargo bench -p pinpoint-benches --bench engine_overhead`

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use pinpoint_backends::TokioClock;
use pinpoint_backends::local::{LocalConfig, LocalExecutor, Location, Repository};
use pinpoint_backends::store::{JobStore, NewJob};
use pinpoint_core::results::Format;
use pinpoint_core::{
    Bisection, BisectionSpec, CombinedCommit, Range, Record, Report, Status, drive,
};

const COMMITS: u32 = 64;
/// The approximate computing time of the benchmark, in seconds.
const WORK: f64 = 0.05;
/// The share of the engine's own time that is allowed.
const LIMIT: f64 = 0.02;
const REPEATS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut shares = Vec::new();
    println!("   wall s   busy s  runs  builds  warm-ups  own ms/run   share");
    for _ in 0..REPEATS {
        let directory = tempfile::tempdir()?;
        let rounds = rounds()?;
        shares.push(runtime.block_on(measure(directory.path(), rounds))?);
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

async fn measure(directory: &Path, rounds: u64) -> Result<f64, Box<dyn Error>> {
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
        repository: path,
        made: false,
        repositories: BTreeMap::new(),
        good,
        build: None,
        command: vec!["sh".into(), "bench.sh".into()],
        env: BTreeMap::new(),
        patch: None,
        format: Format::Lines,
        chart: None,
        run_aggregate: None,
        results: None,
        warmup: 1,
        timeout: None,
        build_jobs: 1,
        good_arguments: Vec::new(),
        good_env: BTreeMap::new(),
        every_chart: false,
        cache_size: 1 << 30,
        skip: Vec::new(),
        trace: false,
        paths: Vec::new(),
    };
    let id = store
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
    let mut journal = store.journal(&id).await?;
    let machine = Bisection::new(spec)?;
    let never = std::future::pending();
    let driven = drive(machine, &executor, &mut journal, &TokioClock, never).await?;
    let wall = began.elapsed().as_secs_f64();

    assert_eq!(driven.outcome.status, Status::CulpritFound);
    let (mut busy, mut builds, mut runs) = (0.0, 0_u32, Vec::new());
    for record in journal.records().await? {
        let Record::Reported { report, .. } = record else {
            continue;
        };
        match report {
            Report::Ran(run) => {
                runs.push(run.usage.ok_or("a run without usage")?.wall);
            }
            Report::Built(build) => {
                builds += 1;
                busy += build.duration as f64 / 1000.0;
            }
            _ => {}
        }
    }
    runs.sort_by(f64::total_cmp);
    busy += runs.iter().sum::<f64>() + f64::from(builds) * runs[runs.len() / 2];
    let own = wall - busy;
    let share = own / wall;
    println!(
        "{wall:9.3}{busy:9.3}{:6}{builds:8}{builds:10}{:12.3}{:7.2} %",
        driven.outcome.runs,
        1000.0 * own / driven.outcome.runs as f64,
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

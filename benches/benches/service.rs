//! The service under load: the program itself, with a store of a million jobs, asked from
//! this process over loopback.
//!
//! Prints figures with their ratios to the limits, for SQLite and for PostgreSQL. Compares a page
//! that this process reads from the store itself with the page of the service.
//!
//! `cargo bench -p pinpoint-benches --bench service` builds `pinpoint-service` first, and makes
//! the jobs, which takes a minute and 3 GB for each database, in a temporary directory
//! (`TMPDIR`) that is removed at the end. `-- --jobs 50000` is for trying it; `--only sqlite` (or
//! `postgres`) leaves the other out. PostgreSQL is started, if it is installed, with its own
//! defaults. Two thousand files are open at once: see `ulimit -n`.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]
#![allow(
    clippy::unwrap_used,
    reason = "the database is started, and a job made, as tests do it"
)]

#[path = "store/fill.rs"]
#[expect(dead_code, reason = "the benchmark of the store asks for single jobs")]
mod fill;
#[path = "../../pinpoint-service/tests/command/paced.rs"]
mod paced;
#[path = "service/program.rs"]
mod program;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use pinpoint_backends::store::{JobFilter, JobStore, ListOrder, PagePosition};
use serde_json::json;
use tokio::task::JoinSet;

use fill::Which;
use program::{Connection, Failure, Service, below, built, limit, ms, ratio};
use test_servers::postgres;

/// Requests under way at once, and the duration of each load.
const AT_ONCE: u64 = 50;
const LOAD: Duration = Duration::from_secs(10);
/// Jobs that are made, one after the other.
const CREATED: usize = 300;
/// Times that the program is started.
const STARTS: u32 = 5;
/// Watchers of one job, its records per second, and the duration in seconds.
const WATCHERS: usize = 1_000;
const RECORDS: u32 = 50;
const SECONDS: u32 = 10;

/// Milliseconds of a page of 50 jobs, at the 99th percentile.
const LIST: f64 = 20.0;
/// Jobs that are asked for in a second, at least.
const GET: f64 = 2_000.0;
/// Milliseconds of the creation of a job.
const CREATE: f64 = 15.0;
/// Milliseconds until a watcher has a record, at the 99th percentile.
const SEEN: f64 = 250.0;
/// MB with all watchers, and with nothing to do.
const WATCHED: f64 = 100.0;
const IDLE: f64 = 60.0;
/// Milliseconds until the program answers.
const READY: f64 = 300.0;

#[derive(Debug, Parser)]
struct Arguments {
    /// The number of jobs.
    #[arg(long, default_value_t = 1_000_000)]
    jobs: u64,
    /// Only this database.
    #[arg(long, value_enum)]
    only: Option<Which>,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let wanted = |which| arguments.only.is_none_or(|only| only == which);
    let program = built()?;
    println!("{} jobs", arguments.jobs);
    if wanted(Which::Sqlite) {
        println!("\nSQLite");
        let directory = tempfile::tempdir()?;
        let place = directory.path();
        JobStore::open(place).await?.close().await;
        fill::sqlite(&place.join("pinpoint.db"), arguments.jobs, 0).await?;
        let store = JobStore::open(place).await?;
        measure(&program, place, None, store).await?;
    }
    if wanted(Which::Postgres) {
        println!("\nPostgreSQL");
        if !Path::new("/usr/lib/postgresql").exists() {
            println!("it is not installed: `apt-get install postgresql`");
            return Ok(());
        }
        let directory = tempfile::tempdir()?;
        let host = postgres::start(true).display().to_string();
        let host = host.replace('/', "%2F");
        let url = format!("postgres://postgres@localhost/postgres?host={host}");
        JobStore::connect(&url).await?.close().await;
        fill::postgres(&url, arguments.jobs, 0).await?;
        let store = JobStore::connect(&url).await?;
        measure(&program, directory.path(), Some(&url), store).await?;
    }
    Ok(())
}

async fn measure(
    program: &Path,
    state_dir: &Path,
    url: Option<&str>,
    store: JobStore,
) -> Result<(), Failure> {
    let mut ready = Vec::new();
    for _ in 1..STARTS {
        ready.push(Service::start(program, state_dir, url).await?.1);
    }
    let (service, last) = Service::start(program, state_dir, url).await?;
    ready.push(last);
    limit("ready", &mut ready, 0.5, READY);
    tokio::time::sleep(Duration::from_secs(1)).await;
    below("memory, idle", service.memory("VmRSS:")?, "MB", IDLE);

    let made = created(&service).await?;
    listed(&service, &store).await?;
    got(&service, made).await?;
    watched(&service, &store).await?;
    store.close().await;
    Ok(())
}

/// Jobs made one after the other.
async fn created(service: &Service) -> Result<Vec<String>, Failure> {
    let mut connection = Connection::open(service.address).await?;
    let (mut times, mut made) = (Vec::new(), Vec::new());
    for number in 0..CREATED {
        let body = json!({
            "bot": "lab", "benchmark": "parsing", "story": "small", "name": format!("job {number}"),
            "bisection": { "good": "0".repeat(40), "bad": "1".repeat(40) },
        });
        let began = Instant::now();
        let job = connection.post("/api/v2/jobs", &body).await?;
        times.push(began.elapsed());
        made.push(
            job["summary"]["jobId"]
                .as_str()
                .ok_or("it has no id")?
                .to_owned(),
        );
    }
    limit(
        "a job created, with its row of the audit log",
        &mut times,
        0.5,
        CREATE,
    );
    Ok(made)
}

/// Pages of 50 jobs, each with another filter.
async fn listed(service: &Service, store: &JobStore) -> Result<(), Failure> {
    let filter = |number: u64| match number % 3 {
        0 => JobFilter::default(),
        1 => JobFilter {
            user: Some(format!("user-{}", number % 211)),
            ..JobFilter::default()
        },
        _ => JobFilter {
            benchmark: Some(format!("benchmark-{}", number % 97)),
            ..JobFilter::default()
        },
    };
    let began = Instant::now();
    let mut alone = Vec::new();
    for number in 0..300 {
        let before = began.elapsed();
        store
            .jobs()
            .list(
                &filter(number),
                ListOrder::default(),
                &PagePosition::First,
                50,
            )
            .await?;
        alone.push(began.elapsed() - before);
    }
    alone.sort_unstable();
    let median = alone[alone.len() / 2];
    println!(
        "{:<46} {:>9.2} ms",
        "the store alone, a page of 50 jobs",
        ms(median)
    );
    let mut times = load(service, move |number| {
        let filter = filter(number);
        let mut path = "/api/v2/jobs?page_size=50".to_owned();
        for (name, value) in [("user", filter.user), ("benchmark", filter.benchmark)] {
            if let Some(value) = value {
                path += &format!("&filter.{name}={value}");
            }
        }
        path
    })
    .await?;
    rate("pages of 50 jobs", &times);
    limit("a page of 50 jobs", &mut times, 0.99, LIST);
    Ok(())
}

async fn got(service: &Service, made: Vec<String>) -> Result<(), Failure> {
    let times = load(service, move |number| {
        format!("/api/v2/jobs/{}", made[number as usize % made.len()])
    })
    .await?;
    let rate = rate("jobs", &times);
    ratio(rate, GET, GET / rate);
    Ok(())
}

/// Sends requests for a while, so many at once; returns the time of each.
async fn load(
    service: &Service,
    path: impl Fn(u64) -> String + Send + Sync + 'static,
) -> Result<Vec<Duration>, Failure> {
    let before = service.processor_time()?;
    let (path, numbers) = (Arc::new(path), Arc::new(AtomicU64::new(0)));
    let mut senders = JoinSet::new();
    let end = Instant::now() + LOAD;
    for _ in 0..AT_ONCE {
        let (path, numbers) = (path.clone(), numbers.clone());
        let mut connection = Connection::open(service.address).await?;
        senders.spawn(async move {
            let mut times = Vec::new();
            while Instant::now() < end {
                let path = path(numbers.fetch_add(1, Ordering::Relaxed));
                let began = Instant::now();
                connection.get(&path).await?;
                times.push(began.elapsed());
            }
            Ok::<_, Failure>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(ended) = senders.join_next().await {
        times.extend(ended??);
    }
    let taken = service.processor_time()? - before;
    let each = ms(taken) / times.len() as f64;
    println!("{:<46} {each:>9.3} ms", "processor time of each");
    Ok(times)
}

/// A job of another process, watched by many.
async fn watched(service: &Service, store: &JobStore) -> Result<(), Failure> {
    let id = paced::create(store, RECORDS * SECONDS).await;
    let before = service.processor_time()?;
    let mut watchers = JoinSet::new();
    for _ in 0..WATCHERS {
        let mut connection = Connection::open(service.address).await?;
        let path = format!("/api/v2/jobs/{id}/events");
        let body = connection.begin(Method::GET, &path, String::new()).await?;
        watchers.spawn(async move { (seen(body).await, connection) });
    }
    paced::carry_out(store, &id, Duration::from_secs(1) / RECORDS).await;
    let mut seen = Vec::new();
    while let Some(ended) = watchers.join_next().await {
        seen.push(ended?.0?);
    }
    let taken = service.processor_time()? - before;
    let what = "processor time of all watchers";
    println!("{what:<46} {:>9.0} ms", ms(taken));
    let journal = store.journals().open(&id).await?;
    let entries = journal.entries_after(None, RECORDS * SECONDS + 10).await?;
    let mut times = Vec::new();
    for seen in &seen {
        if seen.len() != entries.len() {
            return Err(format!("{} of {} records were seen", seen.len(), entries.len()).into());
        }
        for ((sequence, at), entry) in seen.iter().zip(&entries) {
            if *sequence != entry.sequence {
                return Err("a record was seen out of turn".into());
            }
            let late = at.saturating_sub(u64::try_from(entry.recorded)?);
            times.push(Duration::from_millis(late));
        }
    }
    let what = format!("a record seen by each of {WATCHERS} watchers");
    limit(&what, &mut times, 0.99, SEEN);
    let what = format!("memory with {WATCHERS} watchers, at most");
    below(&what, service.memory("VmHWM:")?, "MB", WATCHED);
    Ok(())
}

/// The numbers of the records that a watcher gets, each with the moment at which it came.
async fn seen(mut body: Incoming) -> Result<Vec<(i64, u64)>, Failure> {
    let (mut seen, mut rest) = (Vec::new(), Vec::<u8>::new());
    while let Some(frame) = body.frame().await {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        rest.extend_from_slice(&data);
        let whole = rest.iter().rposition(|byte| *byte == b'\n');
        let lines: Vec<u8> = rest.drain(..whole.map_or(0, |end| end + 1)).collect();
        for line in lines.split(|byte| *byte == b'\n') {
            if let Some(id) = line.strip_prefix(b"id:") {
                let id = std::str::from_utf8(id)?.trim().parse()?;
                if seen.last().is_none_or(|(last, _)| *last != id) {
                    seen.push((id, now));
                }
            }
        }
    }
    Ok(seen)
}

/// Prints the rate per second.
fn rate(what: &str, times: &[Duration]) -> f64 {
    let rate = times.len() as f64 / LOAD.as_secs_f64();
    let what = format!("{what}, {AT_ONCE} requests at once");
    println!("{what:<46} {rate:>9.0} /s");
    rate
}

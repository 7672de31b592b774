//! The job store with a million jobs and twenty million runs, on SQLite and on PostgreSQL: pages of
//! lists in every order, new jobs, a job of 10,000 runs, records appended in groups, and the time
//! to bring a file of an earlier version up to date.
//!
//! Prints figures with their limits; PostgreSQL is to be within a factor of 3 of them. Each page is
//! asked for many times, each time with another value.
//!
//! `cargo bench -p pinpoint-benches --bench store` makes the jobs first, which takes
//! some minutes and 20 GB for each database, in a temporary directory (`TMPDIR`) that
//! is removed at the end. `-- --jobs 50000` is for trying it; `--only sqlite` (or
//! `postgres`) leaves the other out. PostgreSQL is started, if it is installed, with
//! its own defaults, or named with `PINPOINT_TEST_POSTGRES=postgres://USER@HOST`.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]
#![allow(
    clippy::unwrap_used,
    reason = "the server is started by what starts it for tests"
)]

#[path = "../../../pinpoint-backends/tests/store/a_run.rs"]
mod a_run;
mod fill;
mod older;

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Parser;
use pinpoint_backends::store::{
    Durability, JobFilter, JobStore, ListOrder, NewJob, PagePosition, SortBy,
};
use pinpoint_core::{JobState, Record};
use test_servers::postgres;

use crate::a_run::run;
use crate::fill::Which;

/// Milliseconds for a page of 50.
const PAGE: f64 = 10.0;
/// Milliseconds to open a job of 10,000 runs.
const OPEN: f64 = 150.0;
/// Records a second, appended in groups.
const APPEND: f64 = 20_000.0;
/// The factor by which PostgreSQL may exceed these.
const FACTOR: f64 = 3.0;

/// The number of requests for a page.
const TIMES: u64 = 60;

#[derive(Debug, Parser)]
struct Arguments {
    /// The number of jobs.
    #[arg(long, default_value_t = 1_000_000)]
    jobs: u64,
    /// Runs of each of them.
    #[arg(long, default_value_t = 20)]
    runs: u64,
    /// Only this database.
    #[arg(long, value_enum)]
    only: Option<Which>,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let wanted = |which| arguments.only.is_none_or(|only| only == which);
    println!("{} jobs of {} runs each", arguments.jobs, arguments.runs);
    if wanted(Which::Sqlite) {
        let directory = tempfile::tempdir()?;
        // Makes the tables.
        JobStore::open(directory.path()).await?.close().await;
        let began = Instant::now();
        let file = directory.path().join("pinpoint.db");
        fill::sqlite(&file, arguments.jobs, arguments.runs).await?;
        println!(
            "\nSQLite: {:.1} GB, made in {:.0} s",
            std::fs::metadata(&file)?.len() as f64 / 1e9,
            began.elapsed().as_secs_f64()
        );
        let store = JobStore::open_with(directory.path(), Durability::Power).await?;
        measure(&store, arguments.jobs, 1.0).await?;
        store.close().await;
        let before = tempfile::tempdir()?;
        older::upgraded(&file, before.path()).await?;
    }
    if wanted(Which::Postgres) {
        let url = match std::env::var("PINPOINT_TEST_POSTGRES") {
            Ok(_) => postgres::Database::new().await.url().to_owned(),
            Err(_) if !std::path::Path::new("/usr/lib/postgresql").exists() => {
                println!("\nPostgreSQL is not installed: `apt-get install postgresql`");
                return Ok(());
            }
            Err(_) => {
                let host = postgres::start(true)
                    .display()
                    .to_string()
                    .replace('/', "%2F");
                format!("postgres://postgres@localhost/postgres?host={host}")
            }
        };
        JobStore::connect(&url).await?.close().await;
        let began = Instant::now();
        let size = fill::postgres(&url, arguments.jobs, arguments.runs).await?;
        println!(
            "\nPostgreSQL: {:.1} GB, made in {:.0} s",
            size as f64 / 1e9,
            began.elapsed().as_secs_f64()
        );
        let store = JobStore::connect(&url).await?;
        measure(&store, arguments.jobs, FACTOR).await?;
        store.close().await;
    }
    Ok(())
}

async fn measure(store: &JobStore, jobs: u64, factor: f64) -> Result<(), Box<dyn Error>> {
    // Rows made by the database are as the store would have written them.
    let mut made = store.journals().open(&fill::id(1).parse_id()).await?;
    assert!(!made.records().await?.is_empty());
    lists(store, jobs, factor).await?;
    sorted(store, factor).await?;
    create(store).await?;
    append(store, factor).await?;
    open(store, factor).await
}

/// Prints times in milliseconds with their limit, which the median has to keep: on a machine with
/// other work, the slowest reflect that work.
fn print(what: &str, mut times: Vec<Duration>, limit: f64) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let (median, most) = (at(0.5), at(0.99));
    println!(
        "{what:<44} {median:>8.2} ms, 99 % {most:>8.2} ms, limit {limit:>4.0} ms{}",
        if median <= limit { "" } else { "  TOO SLOW" }
    );
}

async fn lists(store: &JobStore, jobs: u64, factor: f64) -> Result<(), Box<dyn Error>> {
    type Filter = fn(u64) -> JobFilter;
    let none = JobFilter::default;
    let filters: [(&str, Filter); 13] = [
        ("no filter", |_| JobFilter::default()),
        ("benchmark", |i| JobFilter {
            benchmark: Some(format!("benchmark-{}", i % 97)),
            ..JobFilter::default()
        }),
        ("state failed", |_| JobFilter {
            state: Some(JobState::Failed),
            ..JobFilter::default()
        }),
        ("bot, kind, state canceled", |i| JobFilter {
            bots: vec![format!("bot-{}", i % 23)],
            kinds: vec!["pairwise".into()],
            state: Some(JobState::Canceled),
            ..JobFilter::default()
        }),
        ("benchmark, user", |i| JobFilter {
            benchmark: Some(format!("benchmark-{}", i % 97)),
            user: Some(format!("user-{}", i % 211)),
            ..JobFilter::default()
        }),
        ("benchmark, bot, user: hardly any", |i| JobFilter {
            benchmark: Some(format!("benchmark-{}", i % 97)),
            bots: vec![format!("bot-{}", i % 23)],
            user: Some(format!("user-{}", i % 211)),
            ..JobFilter::default()
        }),
        ("user, in the middle of the time", |i| JobFilter {
            user: Some(format!("user-{}", i % 211)),
            since: Some(fill::created(i * 1000)),
            until: Some(fill::created(i * 1000 + 200_000)),
            ..JobFilter::default()
        }),
        ("name", |i| JobFilter {
            name: Some(format!("release-{}", i % 10)),
            ..JobFilter::default()
        }),
        ("text: a rare word", |i| JobFilter {
            text: Some(format!("rare{}", i * 31 % 4999)),
            ..JobFilter::default()
        }),
        ("text: a word of every 50th job", |i| JobFilter {
            text: Some(format!("topic{}", i % 50)),
            ..JobFilter::default()
        }),
        ("text: a word of all jobs", |_| JobFilter {
            text: Some("pinpoint".into()),
            ..JobFilter::default()
        }),
        ("text: two words, one with a star", |i| JobFilter {
            text: Some(format!("topic{} rare{}*", i % 50, 400 + i)),
            ..JobFilter::default()
        }),
        ("text and benchmark and state", |i| JobFilter {
            text: Some(format!("topic{}", i % 50)),
            benchmark: Some(format!("benchmark-{}", i % 97)),
            state: Some(JobState::Failed),
            ..JobFilter::default()
        }),
    ];
    for (what, filter) in filters {
        let mut times = Vec::new();
        let mut found = 0;
        for i in 0..TIMES {
            let filter = filter(i);
            let began = Instant::now();
            let page = store
                .jobs()
                .list(&filter, ListOrder::default(), &PagePosition::First, 50)
                .await?;
            times.push(began.elapsed());
            found += page.jobs.len() as u64;
        }
        print(
            &format!("{what} ({} jobs)", found / TIMES),
            times,
            PAGE * factor,
        );
    }
    for (what, filter) in [
        ("no filter", none()),
        (
            "state completed",
            JobFilter {
                state: Some(JobState::Completed),
                ..none()
            },
        ),
        (
            "text: a word of all jobs",
            JobFilter {
                text: Some("pinpoint".into()),
                ..none()
            },
        ),
    ] {
        for (back, direction) in [(false, "after"), (true, "before")] {
            let mut times = Vec::new();
            for i in 1..=TIMES {
                let id = fill::id(jobs * i / (TIMES + 1)).parse_id();
                let place = if back {
                    PagePosition::Before(id.into())
                } else {
                    PagePosition::After(id.into())
                };
                let began = Instant::now();
                store
                    .jobs()
                    .list(&filter, ListOrder::default(), &place, 50)
                    .await?;
                times.push(began.elapsed());
            }
            print(
                &format!("any page, {what}, {direction}"),
                times,
                PAGE * factor,
            );
        }
    }
    for (what, filter) in [
        ("all", none()),
        (
            "text: a word of all jobs",
            JobFilter {
                text: Some("pinpoint".into()),
                ..none()
            },
        ),
        (
            "state failed",
            JobFilter {
                state: Some(JobState::Failed),
                ..none()
            },
        ),
    ] {
        let mut times = Vec::new();
        for _ in 0..TIMES / 3 {
            let began = Instant::now();
            store.jobs().count(&filter).await?;
            times.push(began.elapsed());
        }
        times.sort_unstable();
        println!(
            "total, {what:<37} {:>8.2} ms (apart from the page)",
            times[times.len() / 2].as_secs_f64() * 1e3
        );
    }
    Ok(())
}

/// The first page of each order, and one somewhere in it.
async fn sorted(store: &JobStore, factor: f64) -> Result<(), Box<dyn Error>> {
    type Filter = fn(u64) -> JobFilter;
    let filters: [(&str, Filter); 5] = [
        ("all", |_| JobFilter::default()),
        ("of a user", |i| JobFilter {
            user: Some(format!("user-{}", i % 211)),
            ..JobFilter::default()
        }),
        ("state completed", |_| JobFilter {
            state: Some(JobState::Completed),
            ..JobFilter::default()
        }),
        ("benchmark, failed", |i| JobFilter {
            benchmark: Some(format!("benchmark-{}", i % 97)),
            state: Some(JobState::Failed),
            ..JobFilter::default()
        }),
        ("a word of all", |_| JobFilter {
            text: Some("pinpoint".into()),
            ..JobFilter::default()
        }),
    ];
    for (what, filter) in filters {
        for by in SortBy::ALL {
            let (mut first, mut next) = (Vec::new(), Vec::new());
            for i in 0..TIMES {
                let filter = filter(i);
                let order = ListOrder {
                    by,
                    ascending: i % 2 == 0,
                };
                let began = Instant::now();
                let page = store
                    .jobs()
                    .list(&filter, order, &PagePosition::First, 50)
                    .await?;
                first.push(began.elapsed());
                // Of a job that was listed elsewhere.
                let middle = store
                    .jobs()
                    .list(&filter, ListOrder::default(), &PagePosition::First, 50)
                    .await?;
                let middle = middle.jobs.last().or(page.jobs.last());
                let place = middle.map_or(PagePosition::First, |job| {
                    PagePosition::After(order.key_of(job))
                });
                let began = Instant::now();
                store.jobs().list(&filter, order, &place, 50).await?;
                next.push(began.elapsed());
            }
            print(&format!("{what}, by {by:?}"), first, PAGE * factor);
            print(
                &format!("{what}, by {by:?}, after a job"),
                next,
                PAGE * factor,
            );
        }
    }
    Ok(())
}

async fn create(store: &JobStore) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for i in 0..20 * TIMES {
        let job = NewJob {
            kind: "bisection".into(),
            title: format!("pinpoint bisect v1 main -- ./benchmark-{i}"),
            benchmark: format!("benchmark-{}", i % 97),
            bot: format!("bot-{}", i % 23),
            user: format!("user-{}", i % 211),
            ..NewJob::default()
        };
        let began = Instant::now();
        store.jobs().create(&job).await?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    println!(
        "{:<44} {:>8.2} ms",
        "a job is made",
        times[times.len() / 2].as_secs_f64() * 1e3
    );
    Ok(())
}

/// Names as the store reads them.
trait ParseId {
    fn parse_id(&self) -> pinpoint_backends::store::JobId;
}

impl ParseId for String {
    fn parse_id(&self) -> pinpoint_backends::store::JobId {
        pinpoint_backends::store::JobId::parse(self).unwrap()
    }
}

async fn append(store: &JobStore, factor: f64) -> Result<(), Box<dyn Error>> {
    for group in [1, 10, 100, 1000] {
        let id = store.jobs().create(&NewJob::default()).await?;
        let mut journal = store.journals().open(&id).await?;
        let groups = if group < 100 { 200 } else { 20_000 / group };
        let records: Vec<Record> = (0..group).map(run).collect();
        let began = Instant::now();
        for _ in 0..groups {
            journal.append_all(&records).await?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let rate = (group * groups) as f64 / seconds;
        let limit = APPEND / factor;
        println!(
            "appended durably in groups of {group:<14} {rate:>8.0} a second ({:.2} ms a group){}",
            seconds * 1e3 / groups as f64,
            match group {
                1000 if rate < limit => format!(", limit {limit:.0}  TOO SLOW"),
                1000 => format!(", limit {limit:.0}"),
                _ => String::new(),
            }
        );
    }
    Ok(())
}

async fn open(store: &JobStore, factor: f64) -> Result<(), Box<dyn Error>> {
    let id = store.jobs().create(&NewJob::default()).await?;
    let mut journal = store.journals().open(&id).await?;
    for group in 0..10 {
        let records: Vec<Record> = (group * 1000..(group + 1) * 1000).map(run).collect();
        journal.append_all(&records).await?;
    }
    let mut times = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        let job = store.jobs().get(&id).await?;
        let records = store.journals().open(&job.id).await?.records().await?;
        times.push(began.elapsed());
        assert_eq!((records.len(), job.runs), (10_000, 10_000));
    }
    print("a job of 10,000 runs is opened", times, OPEN * factor);
    Ok(())
}

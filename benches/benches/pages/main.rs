//! The web page in a real browser: the program itself, with a store of a million jobs and some
//! large ones, opened by Chromium over loopback.
//!
//! Prints figures with their ratios to the limits: load times, sizes, layout shift, the delay of a
//! record, the cost of open pages for the browser and the service, and the growth of memory.
//!
//! `cargo bench -p pinpoint-benches --bench pages` builds `pinpoint-service` first, and makes the
//! jobs, which takes some minutes and 6 GB, in a temporary directory (`TMPDIR`) that is removed at
//! the end. `-- --quick` has fewer of everything and looks for a shorter time; `--only live` (or `list`,
//! `jobs`, `pages`, `memory`, `level`) leaves the others out. It needs Chromium.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]
#![allow(
    clippy::unwrap_used,
    reason = "what tests share with it fails as tests do"
)]

mod browser;
#[path = "../store/fill.rs"]
#[expect(dead_code, reason = "the benchmark of the store needs more of it")]
mod fill;
mod large;
mod level;
mod live;
#[path = "../service/program.rs"]
#[expect(dead_code, reason = "the benchmark of the service needs more of it")]
mod program;

use std::path::Path;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use pinpoint_backends::store::{JobId, JobStore};

use browser::{Browser, Loaded};
use large::Simulated;
use program::{Failure, Service, below, built, ms, ratio};
use test_servers::chromium;

/// Milliseconds until the first byte of the list, and until it is there.
const FIRST_BYTE: f64 = 30.0;
const LIST: f64 = 200.0;
/// Milliseconds until a job is there: of many runs and commits, and of many charts.
const RUNS: f64 = 400.0;
const CHARTS: f64 = 600.0;
/// KB of a page and of all scripts, compressed.
const PAGE: f64 = 60.0;
const SCRIPTS: f64 = 30.0;

/// The columns by which a list is sorted.
const SORTS: [&str; 10] = [
    "created",
    "name",
    "benchmark",
    "bot",
    "type",
    "user",
    "status",
    "runs",
    "duration",
    "-created",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    List,
    Jobs,
    Pages,
    Live,
    Memory,
    Level,
}

#[derive(Debug, Parser)]
struct Arguments {
    /// The number of jobs in the list.
    #[arg(long, default_value_t = 1_000_000)]
    jobs: u64,
    /// Fewer of everything, for trying it.
    #[arg(long)]
    quick: bool,
    /// Only this part.
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// The seconds that a page is left open, at 20 records a second.
    #[arg(long, default_value_t = 240)]
    seconds: u32,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }
}

/// The sizes of the measured jobs and pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) commits: u64,
    pub(crate) runs_of_each: u32,
    pub(crate) charts: usize,
    pub(crate) open_pages: usize,
    pub(crate) seconds: u32,
    /// The number of times that each page is opened.
    pub(crate) times: usize,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = Arguments::parse();
    let sizes = match arguments.quick {
        false => Sizes {
            commits: 1000,
            runs_of_each: 10,
            charts: 2000,
            open_pages: 200,
            seconds: arguments.seconds,
            times: 9,
        },
        true => Sizes {
            commits: 100,
            runs_of_each: 10,
            charts: 200,
            open_pages: 20,
            seconds: arguments.seconds.min(15),
            times: 3,
        },
    };
    if arguments.quick {
        arguments.jobs = arguments.jobs.min(20_000);
    }
    let program = built()?;
    let load = std::fs::read_to_string("/proc/loadavg")?;
    println!("{} jobs; {sizes:?}; load {load}", arguments.jobs);
    let directory = tempfile::tempdir()?;
    let place = directory.path();
    JobStore::open(place).await?.close().await;
    if arguments.wants(Part::List) || arguments.wants(Part::Pages) {
        fill::sqlite(&place.join("pinpoint.db"), arguments.jobs, 0).await?;
    }
    let store = JobStore::open(place).await?;
    let (service, _) = Service::start(&program, place, None).await?;
    if arguments.wants(Part::List) {
        lists(&service, sizes)?;
    }
    if arguments.wants(Part::Jobs) || arguments.wants(Part::Pages) {
        let began = Instant::now();
        let runs = Simulated::many_runs(sizes).job(&store, None).await?;
        let charts = Simulated::many_charts(sizes).job(&store, None).await?;
        println!("\nThe jobs were made in {:.1?}", began.elapsed());
        if arguments.wants(Part::Jobs) {
            jobs(&program, place, &runs, &charts, sizes).await?;
        }
        if arguments.wants(Part::Pages) {
            pages(&service, &runs, &charts)?;
        }
    }
    if arguments.wants(Part::Live) {
        live::seen(&service, &store, sizes).await?;
    }
    if arguments.wants(Part::Memory) {
        live::open(&program, place, &store, sizes).await?;
    }
    if arguments.wants(Part::Level) {
        level::level(&service, &store, sizes, arguments.quick).await?;
    }
    store.close().await;
    Ok(())
}

/// The median of a page's figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn figure(what: &str, value: f64, limit: f64) {
    below(what, value, "ms", limit);
}

fn lists(service: &Service, sizes: Sizes) -> Result<(), Failure> {
    println!("\nThe list");
    let mut browser = Browser::start();
    let mut open = |what: &str, query: &str| {
        let url = format!("http://{}/?size=25{query}", service.address);
        // After the first page, the browser has its cache of the site.
        browser.open(&url);
        let before = (service.processor_time()?, browser.cost()?.0);
        let loaded: Vec<Loaded> = (0..sizes.times).map(|_| browser.open(&url)).collect();
        let times = u32::try_from(sizes.times)?;
        let of_service = (service.processor_time()? - before.0) / times;
        let of_browser = (browser.cost()?.0 - before.1) / times;
        let of = |part: fn(&Loaded) -> f64| median(loaded.iter().map(part).collect());
        figure(
            &format!("{what}: first byte"),
            of(|it| it.first_byte),
            FIRST_BYTE,
        );
        figure(&format!("{what}: complete"), of(|it| it.complete), LIST);
        println!(
            "{:<46} {:>9.2} ms of the service, {:.2} ms of the browser",
            "processor time",
            ms(of_service),
            ms(of_browser)
        );
        println!("{:<46} {:>9.2}, limit 0", "layout shift", of(|it| it.shift));
        Ok::<_, Failure>(())
    };
    open("all, the newest first", "")?;
    for sort in SORTS {
        open(&format!("by {sort}"), &format!("&sort={sort}"))?;
    }
    open("a word of every job", "&text=pinpoint")?;
    open("failed, by name", "&state=failed&sort=name")
}

/// Large jobs, as they are opened for the first time and again.
async fn jobs(
    program: &Path,
    place: &Path,
    runs: &JobId,
    charts: &JobId,
    sizes: Sizes,
) -> Result<(), Failure> {
    println!("\nLarge jobs");
    for (what, id, limit) in [
        (
            format!(
                "{} runs of {} commits",
                sizes.commits * u64::from(sizes.runs_of_each),
                sizes.commits
            ),
            runs,
            RUNS,
        ),
        (format!("{} charts", sizes.charts), charts, CHARTS),
    ] {
        // A service that has not seen it.
        let (service, _) = Service::start(program, place, None).await?;
        let mut browser = Browser::start();
        browser.open(&format!("http://{}/?size=25", service.address));
        let url = format!("http://{}/jobs/{id}", service.address);
        let before = service.processor_time()?;
        let first = browser.open(&url);
        let taken = service.processor_time()? - before;
        figure(&format!("{what}: the first time"), first.complete, limit);
        println!(
            "{:<46} {:>9.2} ms",
            "of that, until the first byte", first.first_byte
        );
        let what_for = "processor time of the service";
        println!("{what_for:<46} {:>9.2} ms", ms(taken));
        let before = service.processor_time()?;
        let again: Vec<f64> = (0..sizes.times)
            .map(|_| browser.open(&url).complete)
            .collect();
        let taken = (service.processor_time()? - before) / u32::try_from(sizes.times)?;
        figure(&format!("{what}: again"), median(again), limit);
        println!("{what_for:<46} {:>9.2} ms", ms(taken));
        let moment = format!("{url}?at={}", first.records / 2);
        let past: Vec<f64> = (0..sizes.times.min(3))
            .map(|_| browser.open(&moment).complete)
            .collect();
        println!("{:<46} {:>9.2} ms", "half of its records ago", median(past));
        println!(
            "{:<46} {:>9.2} MB",
            "memory of the service",
            service.memory("VmRSS:")?
        );
    }
    Ok(())
}

/// The size and the layout shift of each page.
fn pages(service: &Service, runs: &JobId, charts: &JobId) -> Result<(), Failure> {
    println!("\nAll pages");
    let mut browser = Browser::start();
    let mut scripts = std::collections::BTreeMap::new();
    for path in [
        "/?size=25".to_owned(),
        "/?size=100".into(),
        "/new".into(),
        "/bots".into(),
        "/workers".into(),
        "/account".into(),
        "/admin".into(),
        format!("/jobs/{runs}"),
        format!("/jobs/{charts}"),
        format!("/compare?jobs={charts},{charts}"),
        format!("/commits/{:040x}", 7),
        "/jobs/nowhere".into(),
    ] {
        let loaded = browser.open(&format!("http://{}{path}", service.address));
        below(
            &format!("{path:.40}: compressed"),
            loaded.size / 1e3,
            "KB",
            PAGE,
        );
        ratio(
            loaded.shift,
            0.0,
            if loaded.shift == 0.0 {
                0.0
            } else {
                f64::INFINITY
            },
        );
        scripts.extend(loaded.scripts);
    }
    let sum: f64 = scripts.values().sum();
    below("all scripts, compressed", sum / 1e3, "KB", SCRIPTS);
    Ok(())
}

/// So long a page is left alone, before it is measured.
pub(crate) const SETTLES: Duration = Duration::from_secs(3);

//! Reports in a real browser. Ignored by default, since Chromium is not always installed:
//!
//!     cargo test -p pinpoint-cli --test cli browser:: -- --ignored
//!
//! The last of them measures how long a report of 10,000 runs takes to open, and
//! prints that with `--nocapture`.

mod annotations;
mod explanation;
mod screenshots;
mod tracks;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pinpoint_backends::TokioClock;
use pinpoint_backends::store::{JobStore, NewJob};
use pinpoint_core::{
    Bisection, BisectionSpec, BuildReport, BuildRequest, CombinedCommit, ExecutorError, InProcess,
    Journal, ListRequest, Listing, Located, Range, RunReport, RunRequest, Series, Strategy, drive,
};
use serde_json::json;

use crate::chromium::Chromium;
use crate::report::hostile_world;
use crate::world::{World, git};

/// As the benchmark of the other tests; its log says which run it was.
const SCRIPT: &str = "r=${PINPOINT_RUN:-0}; \
                      echo \"latency: $(($(cat value) * 100 + r * 7 % 10)) ms\"; \
                      echo \"<b>log</b> of run $r\" >&2; test \"$r\" != 3";

/// A report on a bisection.
fn reported(world: &World) -> PathBuf {
    let file = world.path("report.html");
    let report = format!("--report={}", file.display());
    let options = ["--chart", "latency", "--strategy", "pinpoint", &report];
    world.bisect(&options, SCRIPT).ends_with(0);
    file
}

#[test]
#[ignore = "needs Chromium"]
fn a_report_shows_its_answer_and_asks_for_nothing() {
    let world = hostile_world();
    let file = reported(&world);
    let mut browser = Chromium::start();
    browser.open(&file);
    let answer = browser.evaluate("document.getElementById('answer').textContent");
    let answer = answer.as_str().unwrap();
    assert!(answer.starts_with(&world.commits[3][..10]), "{answer}");
    assert!(
        answer.contains("“</title></script><script>document.title='x'</script>"),
        "{answer}"
    );
    assert!(answer.contains("changed latency from"), "{answer}");
    let title = browser.evaluate("document.title");
    assert!(
        title
            .as_str()
            .unwrap()
            .starts_with("culprit found – Bisection"),
        "{title}"
    );
    let pictures = browser.evaluate("document.querySelectorAll('figure svg circle').length");
    assert!(pictures.as_u64().unwrap() > 10, "{pictures}");
    assert_eq!(browser.complaints(&file), [] as [serde_json::Value; 0]);
}

#[test]
#[ignore = "needs Chromium"]
fn on_a_phone_nothing_scrolls_sideways() {
    let world = hostile_world();
    let file = reported(&world);
    let mut browser = Chromium::start();
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    browser.open(&file);
    let pictures = "[...document.querySelectorAll('.picture')]";
    let count = browser.evaluate(&format!("{pictures}.length"));
    assert!(count.as_u64().unwrap() > 0);
    let wide = format!("{pictures}.filter(it => it.scrollWidth > it.clientWidth).length");
    assert_eq!(browser.evaluate(&wide), 0);
    assert_eq!(browser.evaluate("innerWidth"), 390);
    assert_eq!(
        browser.evaluate("document.documentElement.scrollWidth"),
        390
    );
}

#[test]
#[ignore = "needs Chromium"]
fn outputs_open_with_the_keyboard_and_with_a_click() {
    let world = hostile_world();
    let file = reported(&world);
    let mut browser = Chromium::start();
    browser.open(&file);
    // By the tabulator alone, from the beginning of the page to the table.
    for _ in 0..100 {
        browser.press("Tab");
        if browser.evaluate("document.activeElement.parentElement?.id === 'runs'") == true {
            break;
        }
    }
    browser.press("Enter");
    browser.wait_for("document.querySelectorAll('#runs tbody tr').length > 10");
    for _ in 0..10 {
        browser.press("Tab");
        if browser.evaluate("document.activeElement.closest('tbody') !== null") == true {
            break;
        }
    }
    browser.press("Enter");
    browser.wait_for(
        "document.querySelector('pre.output')?.textContent.includes('<b>log</b> of run 0')",
    );
    assert_eq!(
        browser.evaluate("document.activeElement.ariaExpanded"),
        "true"
    );
    browser.press("Enter");
    browser.wait_for("document.querySelector('pre.output') === null");

    // Failed runs alone, by the mouse.
    browser.evaluate("document.querySelector('#runs input').click()");
    browser.evaluate("document.querySelector('#runs tbody button').click()");
    browser.wait_for("document.querySelector('pre.output')?.textContent.includes('of run 3')");
    let whole = browser.evaluate("document.querySelector('#runs p.note').textContent");
    let whole = whole.as_str().unwrap().trim_end_matches('.');
    let whole = whole.strip_prefix("The whole output is in ").unwrap();
    assert!(
        fs::read_to_string(whole).unwrap().contains("latency"),
        "{whole}"
    );
    let row = browser.evaluate("document.querySelector('#runs tbody tr').textContent");
    assert!(
        row.as_str().unwrap().contains("failed with exit code 1"),
        "{row}"
    );
    assert_eq!(browser.complaints(&file), [] as [serde_json::Value; 0]);
}

#[test]
#[ignore = "needs Chromium"]
fn a_report_fits_a_phone_the_night_and_paper() {
    let world = hostile_world();
    let file = reported(&world);
    let mut browser = Chromium::start();
    let phone = json!({ "width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    browser.open(&file);
    browser.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
    browser.wait_for("document.querySelectorAll('#runs tbody tr').length > 10");
    let width = browser.evaluate("document.documentElement.scrollWidth");
    assert!(width.as_u64().unwrap() <= 360, "{width}");

    let colors = "[document.body, document.querySelector('svg circle'), document.querySelector('svg text')]\
                   .map(it => getComputedStyle(it)).map(it => it.backgroundColor + it.fill + it.color).join()";
    let mut seen = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        );
        seen.push(browser.evaluate(colors));
    }
    let parts = |value: &serde_json::Value| -> Vec<String> {
        value
            .as_str()
            .unwrap()
            .split(',')
            .map(str::to_owned)
            .collect()
    };
    assert_ne!(parts(&seen[0]), parts(&seen[1]));

    // Paper is white by night, too.
    browser.call(
        "Emulation.setEmulatedMedia",
        json!({
            "media": "print", "features": [{ "name": "prefers-color-scheme", "value": "dark" }],
        }),
    );
    assert_eq!(
        browser.evaluate("getComputedStyle(document.querySelector('svg text')).fill"),
        "rgb(82, 91, 102)"
    );
    browser.call(
        "Emulation.setEmulatedMedia",
        json!({ "media": "", "features": [] }),
    );
    let printed = browser.call("Page.printToPDF", json!({}));
    // `%PDF-` in base64.
    assert!(printed["data"].as_str().unwrap().starts_with("JVBERi0"));
    assert_eq!(browser.complaints(&file), [] as [serde_json::Value; 0]);
}

/// Commits whose values double after the middle, with noise by the run.
struct Sham {
    commits: Vec<CombinedCommit>,
    /// When the job was created.
    created: u64,
}

impl Sham {
    fn name(&self, located: &Located) -> CombinedCommit {
        match located {
            Located::Commit(commit) => commit.clone(),
            Located::Offset { offset, .. } => self.commits[1 + *offset as usize].clone(),
        }
    }

    fn place(&self, of: &CombinedCommit) -> usize {
        let place = self.commits.iter().position(|commit| commit == of);
        place.unwrap()
    }
}

#[async_trait]
impl InProcess for Sham {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let count = self.place(&request.higher) - self.place(&request.lower) - 1;
        Ok(Listing::new(request, count as u64))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        Ok(BuildReport::built(self.name(&request.commit)))
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let place = self.place(&request.variant.commit);
        let step = if place > self.commits.len() / 2 {
            1.05
        } else {
            1.0
        };
        // Weyl's sequence: spread evenly, and never the same.
        let noise = (f64::from(request.index) * 0.618_033_988_749 + place as f64 * 0.37).fract();
        let series = Series {
            values: vec![step * (1.0 + 0.2 * noise)],
            unit: Some("s".into()),
            ..Series::default()
        };
        let started = self.created + 1000 * request.key.action;
        let mut report = RunReport::new(started).series("time", series);
        report.chart = Some("time".into());
        Ok(report)
    }
}

/// A job of at least 10,000 runs in the store, each with two kilobytes of output.
async fn large_job(world: &World) -> String {
    let describe = |hash: &String| {
        CombinedCommit::from(pinpoint_core::Commit {
            subject: Some(format!("Change {hash}")),
            ..pinpoint_core::Commit::new(world.repository.to_str().unwrap(), hash)
        })
    };
    let commits: Vec<CombinedCommit> = world.commits.iter().map(describe).collect();
    let (good, bad) = (commits[0].clone(), commits.last().unwrap().clone());
    let spec = BisectionSpec {
        strategy: Strategy::Pinpoint,
        chart: Some("time".into()),
        attempts: Some(1500),
        ..BisectionSpec::new(Range::Between {
            good: good.clone(),
            bad,
        })
    };
    let config = json!({
        "local": {
            "repository": world.repository, "good": good, "command": ["bench"],
            "format": "auto", "cache_size": 0,
        },
        "command_line": { "words": ["pinpoint", "bisect"], "ends": null },
    });
    let store = JobStore::open(&world.state_dir()).await.unwrap();
    let job = NewJob {
        kind: "bisection".into(),
        title: "large".into(),
        repository: world.repository.display().to_string(),
        spec: serde_json::to_value(&spec).unwrap(),
        config,
        ..NewJob::default()
    };
    let id = store.jobs().create(&job).await.unwrap();
    let mut journal = store.journals().open(&id).await.unwrap();
    let never = std::future::pending();
    let machine = Bisection::new(spec).unwrap();
    let created = journal.job().created;
    let sham = Sham { commits, created };
    let driven = drive(machine, &sham, &mut journal, &TokioClock, never)
        .await
        .unwrap();
    assert!(driven.outcome.runs >= 10_000, "{}", driven.outcome.runs);
    let runs = world
        .state_dir()
        .join("jobs")
        .join(id.as_str())
        .join("runs");
    fs::create_dir_all(&runs).unwrap();
    let mut tails = fs::File::create(runs.join("tails.jsonl")).unwrap();
    for action in 0..2 * driven.outcome.runs {
        let lines: String = (0..40)
            .map(|line| {
                format!(
                    "step {line} of {action} took {} ns\n",
                    action * 7919 % 1_000_003 + line * 31
                )
            })
            .collect();
        let line = json!([action.to_string(), { "stdout": lines }]);
        writeln!(tails, "{line}").unwrap();
    }
    store.close().await;
    id.to_string()
}

/// The least time in which a page is open and drawn.
fn fastest(browser: &mut Chromium, file: &Path) -> Duration {
    let open = |_| {
        let began = Instant::now();
        browser.open(file);
        began.elapsed()
    };
    (0..5).map(open).min().unwrap()
}

#[test]
#[ignore = "needs Chromium, and measures"]
fn measure_a_report_of_10_000_runs() {
    const MOST_BYTES: u64 = 5_000_000;
    let world = World::with_step(40, 20);
    git(&world.repository, &["gc", "-q"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let job = runtime.block_on(large_job(&world));
    let file = world.path("report.html");
    let began = Instant::now();
    let written = world.pinpoint(&["jobs", "report", &job, file.to_str().unwrap()]);
    written.ends_with(0);
    let making = began.elapsed();
    let size = fs::metadata(&file).unwrap().len();

    let empty = world.path("empty.html");
    fs::write(&empty, "<!DOCTYPE html><title>empty</title><p>empty").unwrap();
    let floor = fastest(&mut Chromium::start(), &empty);
    let mut browser = Chromium::start();
    let opening = fastest(&mut browser, &file);
    println!(
        "a report of 10,000 runs: {size} bytes (limit {MOST_BYTES}), made in {making:.2?}, \
         open after {opening:.2?} (limit 1 s, an empty page {floor:.2?})"
    );
    assert!(size < MOST_BYTES, "{size}");

    browser.evaluate("document.getElementById('runs').open = true");
    browser.wait_for("document.querySelectorAll('#runs tbody tr').length === 100");
    browser.evaluate("document.querySelector('#runs tbody button').click()");
    browser.wait_for("document.querySelector('pre.output')?.textContent.includes('step 39')");
    let shown = browser.evaluate("document.querySelector('#runs [role=status]').textContent");
    assert!(
        shown.as_str().unwrap().starts_with("1 to 100 of 1"),
        "{shown}"
    );
    assert_eq!(browser.complaints(&file).len(), 0);
}

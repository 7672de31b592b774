//! Reports of results, and that they are made once.

use std::future::pending;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use fake_luci::{DEPENDENCY, FakeLuci, Faults, MAIN};
use pinpoint_backends::google::{TokenSource, Transport, TransportError};
use pinpoint_backends::luci::{
    Benchmark, CompletedReport, LuciConfig, ReportError, ReportSettings, ReportSubject, Reports,
    RequestedCharts,
};
use pinpoint_core::bots::Swarming;
use pinpoint_core::job::JobResult;
use pinpoint_core::{JobMachine, JobSpec, MemoryJournal, drive};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::fixture::{CLOCK, Fixture, IN_ROLL};
use crate::server::InProcess;

const ISSUE: u64 = 330_000_007;
const TABLE: &str = "chromeperf.pinpoint.culprits";

const SUBJECT: ReportSubject<'static> = ReportSubject {
    bot: "linux-perf",
    benchmark: "speedometer3.crossbench",
    ended: 1_790_000_000_500,
};

/// The result of a job that found a culprit in a dependency.
static FOUND: LazyLock<JobResult> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    // Each test has its own runtime, and none runs in another.
    let found = thread::spawn(|| runtime.unwrap().block_on(found()));
    found.join().unwrap()
});

async fn found() -> JobResult {
    let fixture = Fixture::new(&IN_ROLL, 1, Faults::default());
    let executor = fixture.executor();
    let machine = JobMachine::new(JobSpec::from(fixture.spec())).unwrap();
    let mut journal = MemoryJournal::new("job");
    let driven = drive(machine, &executor, &mut journal, &CLOCK, pending());
    let driven = driven.await.unwrap();
    let result = JobResult::new(&driven.engine, driven.outcome, &executor, 0).await;
    result.unwrap()
}

fn config(settings: ReportSettings) -> LuciConfig {
    let machines = Swarming {
        browser: "release".into(),
        bucket: "luci.chrome.try".into(),
        builder: "Linux Builder Perf".into(),
        swarming_server: "https://chrome-swarming.example.org".into(),
        dimensions: Vec::new(),
        extra_test_args: Vec::new(),
    };
    let benchmark = Benchmark {
        name: SUBJECT.benchmark.into(),
        target: "performance_test_suite".into(),
        story: None,
        story_tags: None,
        arguments: Vec::new(),
    };
    let mut config = LuciConfig::new(machines, benchmark, 7);
    config.issue = Some(ISSUE);
    config.charts = RequestedCharts::Named("Score".into());
    config.settings.reports = settings;
    config
}

fn settings() -> ReportSettings {
    ReportSettings {
        page: Some("https://pinpoint.example.org/jobs/{job}".into()),
        hotlists: vec![5, 6],
        status: Some("ASSIGNED".into()),
        culprits: Some(TABLE.into()),
    }
}

/// Services with the issue, and a job's directory.
struct ReportFixture {
    luci: FakeLuci,
    server: InProcess,
    job_dir: TempDir,
}

impl ReportFixture {
    fn new(seed: u64, faults: Faults) -> Self {
        let luci = FakeLuci::with([], seed, faults, 1);
        luci.add_issue(ISSUE);
        Self::from_services(luci)
    }

    fn from_services(luci: FakeLuci) -> Self {
        Self {
            server: InProcess::new(luci.routes()),
            luci,
            job_dir: tempfile::tempdir().unwrap(),
        }
    }

    /// By a new process.
    async fn make(&self) -> Vec<Result<CompletedReport, ReportError>> {
        self.make_over(Arc::new(self.server.clone())).await
    }

    /// Like [`make`](Self::make), with this transport.
    async fn make_over(
        &self,
        transport: Arc<dyn Transport>,
    ) -> Vec<Result<CompletedReport, ReportError>> {
        let source = TokenSource::Metadata("http://metadata".into());
        let reports = Reports::new(&config(settings()), &source, None, &transport).unwrap();
        let made = reports.make(&FOUND, &SUBJECT, self.job_dir()).await;
        assert_eq!(
            Reports::are_owed(&config(settings()), &FOUND, self.job_dir()),
            made.iter().any(Result::is_err)
        );
        made
    }

    fn job_dir(&self) -> &Path {
        self.job_dir.path()
    }

    #[track_caller]
    fn is_reported_once(&self) {
        assert_eq!(self.luci.issue(ISSUE).unwrap().comments.len(), 1);
        assert_eq!(self.luci.rows(TABLE).len(), 1);
    }
}

/// Services; those below these paths never answer.
struct Silent {
    server: InProcess,
    paths: &'static [&'static str],
}

#[async_trait]
impl Transport for Silent {
    async fn send(
        &self,
        request: http::Request<Vec<u8>>,
        most_bytes: usize,
    ) -> Result<http::Response<Vec<u8>>, TransportError> {
        let path = request.uri().path();
        if self.paths.iter().any(|silent| path.starts_with(silent)) {
            return pending().await;
        }
        // As over a network, no answer is immediate.
        sleep(Duration::from_millis(1)).await;
        self.server.send(request, most_bytes).await
    }
}

fn all(made: Vec<Result<CompletedReport, ReportError>>) -> Vec<CompletedReport> {
    made.into_iter().map(Result::unwrap).collect()
}

#[tokio::test(start_paused = true)]
async fn the_issue_and_the_table_hear_of_a_culprit() {
    let fixture = ReportFixture::new(1, Faults::default());
    let made = all(fixture.make().await);
    assert_eq!(
        made,
        [
            CompletedReport::Issue(ISSUE),
            CompletedReport::Culprits(1, TABLE.into())
        ]
    );
    fixture.is_reported_once();

    let world = &IN_ROLL.world;
    let main = format!("{MAIN}/+/{}", world.main_hashes[8]);
    let dependency = format!("{DEPENDENCY}.git");
    let held = format!("{dependency}/+/{}", world.dependency_hashes[4]);
    let issue = fixture.luci.issue(ISSUE).unwrap();
    assert_eq!(issue.status, "ASSIGNED");
    assert_eq!(issue.hotlists, ["5", "6"]);
    let comment = &issue.comments[0];
    for expected in [
        "`speedometer3.crossbench` on `linux-perf`, ",
        " (job job)\n\nFound a significant difference at 1 commit.",
        "Metric: Score\n",
        &format!("* {main} {held}\n"),
        "95 % interval",
        "http://g.co/ChromePerformanceRegressions",
        "Report: https://pinpoint.example.org/jobs/job\n",
        "\"Chromeperf-CulpritDetection-NeedsAttention\"",
    ] {
        assert!(comment.contains(expected), "{expected}\n{comment}");
    }
    let row = &fixture.luci.rows(TABLE)[0];
    for (column, expected) in [
        ("job", Value::from("job")),
        ("number", 0.into()),
        ("ended", "2026-09-21T14:13:20.500Z".into()),
        ("bot", SUBJECT.bot.into()),
        ("benchmark", SUBJECT.benchmark.into()),
        ("chart", "Score".into()),
        ("issue", ISSUE.into()),
        ("commit", format!("{main} {held}").into()),
        ("repository", dependency.into()),
        ("git_hash", (*world.dependency_hashes[4]).into()),
        ("subject", "Change v8 4".into()),
        ("effect_of", "values".into()),
    ] {
        assert_eq!(row[column], expected, "{column}");
    }
    assert!(row["low"].as_f64() < row["high"].as_f64(), "{row}");

    fixture.server.asked();
    assert_eq!(all(fixture.make().await), []);
    assert_eq!(fixture.server.asked(), Vec::<String>::new());
}

/// The process died between the reports and the note of them, minutes before its successor began.
#[tokio::test(start_paused = true)]
async fn what_a_process_reported_before_it_died_is_not_reported_again() {
    let fixture = ReportFixture::new(1, Faults::default());
    all(fixture.make().await);
    std::fs::remove_file(fixture.job_dir().join("reported.json")).unwrap();
    fixture.luci.forget_inserts();
    assert_eq!(all(fixture.make().await).len(), 2);
    fixture.is_reported_once();
}

#[tokio::test(start_paused = true)]
async fn trouble_with_services_tells_nothing_twice() {
    for seed in 0..50 {
        let faults = Faults {
            refused: 250,
            lost_answers: 250,
            slow: 50,
            garbage: 50,
            ..Faults::default()
        };
        let fixture = ReportFixture::new(seed, faults);
        let mut processes = 0;
        while fixture.make().await.iter().any(Result::is_err) {
            processes += 1;
            assert!(processes < 20, "seed {seed}");
            fixture.luci.forget_inserts();
        }
        fixture.is_reported_once();
    }
}

/// The tracker may make a comment after the process that sent it has died.
#[tokio::test(start_paused = true)]
async fn a_comment_that_may_be_on_its_way_is_waited_for() {
    let fixture = ReportFixture::new(1, Faults::default());
    // As if by a clock that was set back later.
    let note = format!(r#"{{"issue_begun": {}}}"#, u64::MAX);
    std::fs::write(fixture.job_dir().join("reported.json"), note).unwrap();
    let begun = Instant::now();
    assert_eq!(all(fixture.make().await).len(), 2);
    assert!(begun.elapsed() >= Duration::from_secs(100));
    fixture.is_reported_once();
}

#[tokio::test(start_paused = true)]
async fn a_note_that_is_cut_off_tells_nothing_twice() {
    let fixture = ReportFixture::new(1, Faults::default());
    all(fixture.make().await);
    std::fs::write(fixture.job_dir().join("reported.json"), r#"{"iss"#).unwrap();
    fixture.luci.forget_inserts();
    assert_eq!(all(fixture.make().await).len(), 2);
    fixture.is_reported_once();
}

#[tokio::test(start_paused = true)]
async fn a_table_that_was_just_made_is_waited_for() {
    let fixture = ReportFixture::new(1, Faults::default());
    fixture.luci.hide_new_tables(10);
    assert_eq!(all(fixture.make().await).len(), 2);
    fixture.is_reported_once();

    let fixture = ReportFixture::new(1, Faults::default());
    fixture.luci.hide_new_tables(40);
    let made = fixture.make().await;
    let [Ok(CompletedReport::Issue(ISSUE)), Err(error)] = &made[..] else {
        panic!("{made:?}");
    };
    let error = error.to_string();
    let expected = format!("can't add the culprits to {TABLE}: BigQuery");
    assert!(error.starts_with(&expected), "{error}");
    assert_eq!(
        all(fixture.make().await),
        [CompletedReport::Culprits(1, TABLE.into())]
    );
    fixture.is_reported_once();
}

#[tokio::test(start_paused = true)]
async fn one_report_that_fails_keeps_no_other_from_being_made() {
    let fixture = ReportFixture::from_services(FakeLuci::new([]));
    let made = fixture.make().await;
    let [Err(error), Ok(CompletedReport::Culprits(1, _))] = &made[..] else {
        panic!("{made:?}");
    };
    assert!(error.to_string().contains(&ISSUE.to_string()), "{error}");
    fixture.luci.add_issue(ISSUE);
    assert_eq!(all(fixture.make().await), [CompletedReport::Issue(ISSUE)]);
    fixture.is_reported_once();
}

#[tokio::test(start_paused = true)]
async fn silence_ends_after_ten_minutes_in_all() {
    const TRACKER: &str = "/v1/issues/";
    const BIGQUERY: &str = "/bigquery/";
    let ten_minutes = Duration::from_secs(600);
    for paths in [&[TRACKER][..], &[BIGQUERY], &[TRACKER, BIGQUERY]] {
        let fixture = ReportFixture::new(1, Faults::default());
        let begun = Instant::now();
        let silent = Silent {
            server: fixture.server.clone(),
            paths,
        };
        let made = fixture.make_over(Arc::new(silent)).await;
        let took = begun.elapsed();
        assert!(
            took >= ten_minutes && took < ten_minutes + Duration::from_secs(1),
            "{paths:?}: {took:?}"
        );
        let names = [format!("issue {ISSUE}"), TABLE.into()];
        for ((made, path), name) in made.iter().zip([TRACKER, BIGQUERY]).zip(names) {
            match made {
                Ok(_) => assert!(!paths.contains(&path), "{paths:?}: {made:?}"),
                Err(ReportError::TooLong(of)) if paths.contains(&path) => assert_eq!(*of, name),
                Err(error) => panic!("{paths:?}: {error}"),
            }
        }
        // The missing reports are made later.
        assert_eq!(all(fixture.make().await).len(), paths.len());
        fixture.is_reported_once();
    }
}

#[tokio::test(start_paused = true)]
async fn rows_that_the_table_does_not_show_are_owed() {
    let fixture = ReportFixture::new(1, Faults::default());
    fixture.luci.lose_rows(true);
    let made = fixture.make().await;
    let [
        Ok(CompletedReport::Issue(ISSUE)),
        Err(ReportError::Unseen(table)),
    ] = &made[..]
    else {
        panic!("{made:?}");
    };
    assert_eq!(table, TABLE);
    fixture.luci.lose_rows(false);
    assert_eq!(
        all(fixture.make().await),
        [CompletedReport::Culprits(1, TABLE.into())]
    );
    fixture.is_reported_once();
}

#[test]
fn settings_that_no_service_would_take_are_refused() {
    let of_table = |table: &str| ReportSettings {
        culprits: Some(table.into()),
        ..settings()
    };
    let of_status = |status: &str| ReportSettings {
        status: Some(status.into()),
        ..settings()
    };
    let of_hotlist = |id| ReportSettings {
        hotlists: vec![5, id],
        ..settings()
    };
    for (wrong, expected) in [
        (of_table("pinpoint.culprits"), "PROJECT.DATASET.TABLE"),
        (
            of_status("assigned"),
            "\"assigned\"; choose one of NEW, ASSIGNED, ",
        ),
        (of_status(""), "choose one of"),
        (of_status("DUPLICATE"), "choose one of"),
        (of_hotlist(0), "reports.hotlists has 0"),
        (of_hotlist(-5), "reports.hotlists has -5"),
    ] {
        let Err(error) = Reports::open(&config(wrong), &TokenSource::None, None) else {
            panic!("{expected}: it is taken");
        };
        let error = error.to_string();
        assert!(error.contains(expected), "{error}");
    }
}

//! Journals started in version 1, which kept the machine's events and the executor's answers.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pinpoint_backends::TokioClock;
use pinpoint_backends::store::{JobFilter, JobId, NewJob, StoreError};
use pinpoint_core::prelude::*;
use pinpoint_core::{
    DetailVersion1, Engine, Event, JobKey, PairReport, Record, RecordVersion1, Report, Usage,
};

use crate::a_run::run;
use crate::common::{Backend, Fixture, append_all, new_job, tick};
use crate::on_both;

on_both! {
    a_journal_of_version_1_is_read_and_goes_on_in_this_version,
    a_search_of_version_1_goes_on_from_where_it_was,
    exports_of_both_versions_are_imported,
    a_record_that_is_of_no_version_is_not_imported,
}

/// Rows as version 1 wrote them, of every kind that it had.
const ROWS: [(&str, &str, Option<&str>); 10] = [
    (
        "listed",
        r#"{"listed":{"action":1,"range":0,"count":4}}"#,
        Some(
            r#"{"listed":{"lower":{"main":{"repository":"/r","git_hash":"a"},"modified_deps":[],"patch":null},"higher":{"main":{"repository":"/r","git_hash":"f"},"modified_deps":[],"patch":null},"count":4}}"#,
        ),
    ),
    (
        "built",
        r#"{"built":{"action":2}}"#,
        Some(
            r#"{"build":{"commit":{"main":{"repository":"/r","git_hash":"a","author":"Ada Example <ada@example.org>","created":"2024-05-06T07:08:09Z","subject":"Change 2"},"modified_deps":[],"patch":null},"failure":null,"cached":true,"duration":41,"log":"builds/a.log"}}"#,
        ),
    ),
    (
        "build_failed",
        r#"{"build_failed":{"action":3,"reason":"exit code 2"}}"#,
        Some(
            r#"{"build":{"commit":{"main":{"repository":"/r","git_hash":"b"},"modified_deps":[],"patch":null},"failure":"exit code 2","cached":false,"duration":7,"log":null}}"#,
        ),
    ),
    (
        "ran",
        r#"{"ran":{"action":4,"bot":null,"started":161,"values":{"t":[20.0]}}}"#,
        Some(
            r#"{"run":{"commit":{"main":{"repository":"/r","git_hash":"a"},"modified_deps":[],"patch":null},"index":0,"bot":null,"started":161,"chart":"t","failure":null,"charts":{"t":{"values":[20.0],"unit":"ms"}},"usage":{"wall":0.011,"user":0.004,"system":0.0,"peak_memory":5464064},"exit_code":0,"log":null}}"#,
        ),
    ),
    (
        "run_failed",
        r#"{"run_failed":{"action":5,"bot":"b","started":200,"reason":"exit code 1"}}"#,
        None,
    ),
    (
        "ran_pair",
        r#"{"ran_pair":{"action":6,"bot":null,"first":{"started":300,"values":{"t":[1.5]}},"second":{"started":310,"values":{},"failure":"timed out"}}}"#,
        None,
    ),
    (
        "gave_up",
        r#"{"gave_up":{"action":7,"reason":"no answer"}}"#,
        None,
    ),
    ("cancelled", r#"{"cancelled":{"action":8}}"#, None),
    ("time_passed", r#"{"time_passed":{"elapsed":9}}"#, None),
    ("cancel_requested", r#""cancel_requested""#, None),
];

/// The same in this version.
fn upgraded(created: u64) -> Vec<Record> {
    let commit = |hash| CombinedCommit::from(Commit::new("/r", hash));
    let reported = |action, report| Record::Reported { action, report };
    let mut built = BuildReport::built(CombinedCommit::from(Commit {
        author: Some("Ada Example <ada@example.org>".into()),
        created: Some("2024-05-06T07:08:09Z".into()),
        subject: Some("Change 2".into()),
        ..Commit::new("/r", "a")
    }));
    (built.cached, built.duration) = (true, 41);
    built.log = Some("builds/a.log".into());
    let mut failed = BuildReport::failed(commit("b"), "exit code 2");
    failed.duration = 7;
    let mut ran = RunReport::new(created + 161).value("t", 20.0);
    ran.charts.get_mut("t").unwrap().unit = Some("ms".into());
    ran.chart = Some("t".into());
    ran.exit_code = Some(0);
    ran.usage = Some(Usage {
        wall: 0.011,
        user: 0.004,
        system: 0.0,
        peak_memory: 5_464_064,
        ..Usage::default()
    });
    let pair = PairReport {
        first: RunReport::new(created + 300).value("t", 1.5),
        second: RunReport::failed(created + 310, "timed out"),
    };
    vec![
        reported(
            1,
            Report::Listed(Listing {
                lower: commit("a"),
                higher: commit("f"),
                count: 4,
                changes: Vec::new(),
                merge_base: None,
            }),
        ),
        reported(2, Report::Built(built)),
        reported(3, Report::Built(failed)),
        reported(4, Report::Ran(ran)),
        reported(
            5,
            Report::Ran(RunReport::failed(created + 200, "exit code 1").bot("b")),
        ),
        reported(6, Report::RanPair(Box::new(pair))),
        Record::GaveUp {
            action: 7,
            reason: "no answer".into(),
        },
        Record::Canceled { action: 8 },
        tick(9),
        Record::CancelRequested,
    ]
}

/// Makes the only job of a store one of version 1, with these rows.
async fn of_version_1(fixture: &Fixture, rows: &[(&str, &str, Option<&str>)]) {
    for (sequence, (kind, event, detail)) in rows.iter().enumerate() {
        let detail = match detail {
            Some(detail) => format!("'{detail}'"),
            None => "NULL".into(),
        };
        let sql = format!(
            "INSERT INTO records (job, sequence, recorded, kind, event, detail, withdrawn) \
             SELECT number, {sequence}, 5, '{kind}', '{event}', {detail}, 0 FROM jobs"
        );
        fixture.behind_its_back(&sql).await;
    }
    let count = |wanted: &[&str]| {
        let counts = rows.iter().filter(|(kind, _, _)| wanted.contains(kind));
        counts.count()
    };
    let sql = format!(
        "UPDATE jobs SET journal_version = 1, runs = {}, builds = {}",
        count(&["ran", "run_failed"]) + 2 * count(&["ran_pair"]),
        count(&["built"])
    );
    fixture.behind_its_back(&sql).await;
}

const EVENTS: &str = "SELECT kind, event FROM records ORDER BY sequence";
const DETAILS: &str = "SELECT event, coalesce(detail, 'none') FROM records ORDER BY sequence";

async fn counts(fixture: &Fixture, id: &JobId) -> (u64, u64) {
    let job = fixture.store.jobs().get(id).await.unwrap();
    (job.runs, job.builds)
}

async fn a_journal_of_version_1_is_read_and_goes_on_in_this_version(fixture: Fixture) {
    let id = fixture.job().await;
    of_version_1(&fixture, &ROWS).await;
    let store = &fixture.store;
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!(job.journal_version, 1);
    let kept = fixture.seen_behind_its_back(DETAILS).await;
    let mut expected = upgraded(job.created as u64);

    let mut journal = store.journals().open(&id).await.unwrap();
    assert!(!journal.is_empty().await.unwrap());
    assert_eq!(journal.records().await.unwrap(), expected);
    assert_eq!(store.cancellations().withdraw(&id).await.unwrap(), 1);
    expected.pop();
    assert_eq!(counts(&fixture, &id).await, (4, 1));

    let more = [run(9), Record::CancelRequested, run(10)];
    append_all(&mut journal, &more).await;
    expected.extend(more);
    let mut anew = store.journals().open(&id).await.unwrap();
    assert_eq!(anew.records().await.unwrap(), expected);
    assert_eq!(counts(&fixture, &id).await, (6, 1));
    // Existing rows stay unchanged.
    let rows = fixture.seen_behind_its_back(DETAILS).await;
    assert_eq!(rows[..ROWS.len()], kept);
    for (record, (event, detail)) in expected[9..].iter().zip(&rows[ROWS.len()..]) {
        assert_eq!(serde_json::from_str::<Record>(event).unwrap(), *record);
        assert_eq!(detail, "none");
    }
    // The start of its journal determines the rest.
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!(job.journal_version, 1);
    // Both kinds of rows are counted.
    assert_eq!(store.cancellations().withdraw(&id).await.unwrap(), 2);
    assert_eq!(counts(&fixture, &id).await, (5, 1));
    expected.truncate(10);
    assert_eq!(anew.records().await.unwrap(), expected);
}

/// Commits are numbers, and the commit 5 is the slow one.
struct Numbers;

fn end(number: &str) -> CombinedCommit {
    Commit::new("numbers", number).into()
}

#[async_trait]
impl InProcess for Numbers {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let number = |commit: &CombinedCommit| commit.main.git_hash.parse::<u64>().unwrap();
        let count = number(&request.higher) - number(&request.lower) - 1;
        Ok(Listing::new(request, count))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        Ok(BuildReport::built(match &request.commit {
            Located::Commit(commit) => commit.clone(),
            Located::Offset { offset, .. } => end(&(offset + 1).to_string()),
        }))
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let slow = request.variant.commit.main.git_hash.parse::<u64>().unwrap() >= 5;
        let time = if slow { 12.0 } else { 10.0 } + 0.01 * f64::from(request.index % 7);
        Ok(RunReport::new(1_800_000_000_000).value("time", time))
    }
}

fn spec() -> BisectionSpec {
    BisectionSpec::new(Range::Between {
        good: end("0"),
        bad: end("9"),
    })
}

async fn a_search_of_version_1_goes_on_from_where_it_was(fixture: Fixture) {
    let job = NewJob {
        spec: serde_json::to_value(spec()).unwrap(),
        ..new_job("a search")
    };
    let id = fixture.store.jobs().create(&job).await.unwrap();
    let key: JobKey = fixture.store.journals().open(&id).await.unwrap().job();
    let machine = || Bisection::new(spec()).unwrap();
    let never = std::future::pending;

    // The whole search, as version 1 would have recorded it.
    let mut whole = MemoryJournal::new(id.as_str());
    let expected = drive(machine(), &Numbers, &mut whole, &TokioClock, never())
        .await
        .unwrap();
    let mut engine = Engine::new(key, machine());
    let rows: Vec<(String, String, Option<String>)> = (whole.records.iter())
        .map(|record| {
            let event = engine.apply(record).unwrap().event.unwrap();
            let detail = match record.clone() {
                Record::Reported { report, .. } => Some(match report {
                    Report::Listed(listing) => DetailVersion1::Listed(listing),
                    Report::Built(report) => DetailVersion1::Build(report),
                    Report::Ran(report) => DetailVersion1::Run(report),
                    other => panic!("{other:?}"),
                }),
                _ => None,
            };
            let row = serde_json::to_value(RecordVersion1 { event, detail }).unwrap();
            let kind = row["event"].as_object().unwrap().keys().next().unwrap();
            let detail = &row["detail"];
            let detail = (!detail.is_null()).then(|| detail.to_string());
            (kind.clone(), row["event"].to_string(), detail)
        })
        .collect();
    let rows: Vec<_> = rows
        .iter()
        .map(|(kind, event, detail)| (&**kind, &**event, detail.as_deref()))
        .collect();

    let half = rows.len() / 2;
    of_version_1(&fixture, &rows[..half]).await;
    let kept = fixture.seen_behind_its_back(DETAILS).await;
    let mut journal = fixture.store.journals().open(&id).await.unwrap();
    let driven = drive(machine(), &Numbers, &mut journal, &TokioClock, never())
        .await
        .unwrap();
    assert_eq!(driven.outcome, expected.outcome);
    let culprit = driven.outcome.culprits[0].commit;
    assert_eq!(driven.engine.names().commit(culprit), Some(&end("5")));
    // Nothing was repeated, and new rows have this version.
    let events = fixture.seen_behind_its_back(EVENTS).await;
    assert_eq!(events.len(), rows.len());
    assert_eq!(fixture.seen_behind_its_back(DETAILS).await[..half], kept);
    for (kind, event) in &events[half..] {
        assert!(event.starts_with(r#"{"reported":"#), "{event}");
        assert!(["listed", "built", "ran"].contains(&&**kind), "{kind}");
    }
    let (runs, _) = counts(&fixture, &id).await;
    assert_eq!(runs, driven.outcome.runs);
    // It is also over for its next reader.
    let mut read = Engine::new(journal.job(), machine());
    for record in journal.records().await.unwrap() {
        read.apply(&record).unwrap();
    }
    assert_eq!(read.outcome(), Some(expected.outcome));
}

async fn exports_of_both_versions_are_imported(fixture: Fixture) {
    let store = &fixture.store;
    let old = fixture.job().await;
    of_version_1(&fixture, &ROWS).await;
    let mut journal = store.journals().open(&old).await.unwrap();
    append_all(&mut journal, &[run(11), tick(12)]).await;
    assert_eq!(store.cancellations().withdraw(&old).await.unwrap(), 3);
    append_all(&mut journal, &[run(13)]).await;
    let new = store.jobs().create(&new_job("new")).await.unwrap();
    let mut journal = store.journals().open(&new).await.unwrap();
    append_all(&mut journal, &[run(1), tick(2)]).await;

    let mut exported = Vec::new();
    let all = JobFilter::default();
    store.exchange().export(&all, &mut exported).await.unwrap();
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let other = Fixture::with_backend(backend).await;
        let imported = other
            .store
            .exchange()
            .import(&mut &*exported, &|_| Ok(()))
            .await;
        assert_eq!(imported.unwrap().added, 2);
        let mut again = Vec::new();
        other
            .store
            .exchange()
            .export(&all, &mut again)
            .await
            .unwrap();
        assert!(again == exported);
        let sql = "SELECT kind, event FROM records ORDER BY job, sequence";
        let rows = fixture.seen_behind_its_back(sql).await;
        assert_eq!(other.seen_behind_its_back(sql).await, rows);
        for (id, version) in [(&old, 1), (&new, 2)] {
            let job = other.store.jobs().get(id).await.unwrap();
            assert_eq!(job.journal_version, version);
            assert_eq!(counts(&other, id).await, counts(&fixture, id).await);
            let mut here = store.journals().open(id).await.unwrap();
            let mut there = other.store.journals().open(id).await.unwrap();
            let records = here.records().await.unwrap();
            assert_eq!(there.records().await.unwrap(), records);
            append_all(&mut there, &[run(14)]).await;
            assert_eq!(there.records().await.unwrap().len(), records.len() + 1);
        }
    }
    assert_eq!(counts(&fixture, &old).await, (5, 1));
}

async fn a_record_that_is_of_no_version_is_not_imported(fixture: Fixture) {
    let source = Fixture::new().await;
    let id = source.job().await;
    let mut journal = source.store.journals().open(&id).await.unwrap();
    append_all(&mut journal, &[tick(1)]).await;
    let mut exported = Vec::new();
    let all = JobFilter::default();
    source
        .store
        .exchange()
        .export(&all, &mut exported)
        .await
        .unwrap();
    let exported = String::from_utf8(exported).unwrap();
    let row = r#""event":{"time_passed":{"elapsed":1}},"detail":null"#;
    let (_, build, Some(detail)) = ROWS[1] else {
        panic!("a build has details");
    };
    let reported = serde_json::to_string(&run(1)).unwrap();
    let refused = BTreeMap::from([
        // A record of this version is a single object.
        ("both", format!(r#""event":{reported},"detail":{detail}"#)),
        (
            "details",
            format!(r#""event":{build},"detail":{{"built":7}}"#),
        ),
        (
            "neither",
            r#""event":{"started":{"action":1}},"detail":null"#.into(),
        ),
    ]);
    for (which, wrong) in refused {
        let text = exported.replace(row, &wrong);
        let mut text = text.as_bytes();
        let imported = fixture
            .store
            .exchange()
            .import(&mut text, &|_| Ok(()))
            .await;
        match imported.unwrap_err() {
            StoreError::Import { line: 3, reason } => {
                assert!(reason.contains("not a valid record"), "{which}: {reason}");
            }
            other => panic!("{which}: {other}"),
        }
    }
    let event: Event = serde_json::from_str(build).unwrap();
    assert_eq!(event.action(), Some(2));
    let right = exported.replace(row, &format!(r#""event":{build},"detail":{detail}"#));
    let mut right = right.as_bytes();
    let imported = fixture
        .store
        .exchange()
        .import(&mut right, &|_| Ok(()))
        .await;
    assert_eq!(imported.unwrap().added, 1);
    assert_eq!(counts(&fixture, &id).await, (0, 1));
}

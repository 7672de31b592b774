//! Stores that are new, foreign or newer, and many that open one at once.

use pinpoint_store::StoreError;
use pinpoint_trace_store::{TRACE_SCHEMA_VERSION, TraceStore, TraceStoreError};

use crate::common::{Backend, Fixture, file, open};

crate::on_both! {
    many_open_ingest_and_read_at_once,
    a_newer_store_is_refused,
    an_older_store_is_brought_up_to_date,
}

async fn many_open_ingest_and_read_at_once(fixture: Fixture) {
    let place = fixture.place();
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..4_u32 {
        let (place, name) = (place.clone(), fixture.history.dataset().clone());
        tasks.spawn(async move {
            // Each as a process of its own.
            let history = open(&place).await.history(&name);
            for commit in 0..10 {
                let (own, common) = (format!(",test=t{writer},"), ",test=common,");
                let points = [(own.as_str(), 1.0), (common, f64::from(writer))];
                let path = format!("{writer}-{commit}");
                let made = file(&path, writer.into(), commit * 30, &points);
                history.ingest(&[made], &[]).await.unwrap();
                let survey = history
                    .survey(&"test=*".parse().unwrap(), None)
                    .await
                    .unwrap();
                assert!((2..=5).contains(&survey.count));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let values = crate::common::all_values(&fixture.history, 0, 270).await;
    assert_eq!(values.len(), 5);
    for (name, row) in values {
        let wanted = if name == ",test=common," { 3.0 } else { 1.0 };
        let present: Vec<f64> = row.into_iter().filter(|it| !it.is_nan()).collect();
        assert_eq!(present, [wanted; 10], "{name}");
    }
}

async fn a_newer_store_is_refused(fixture: Fixture) {
    let newer = match fixture.is_sqlite() {
        true => "PRAGMA user_version = 99",
        false => "UPDATE pinpoint_traces_schema SET version = 99",
    };
    fixture.behind_its_back(newer).await;
    let place = fixture.place();
    let opened = match fixture.is_sqlite() {
        true => TraceStore::open(fixture.directory.path()).await,
        false => TraceStore::connect(&place).await,
    };
    match opened.unwrap_err() {
        TraceStoreError::Database(StoreError::Newer {
            found, supported, ..
        }) => {
            assert_eq!((found, supported), (99, TRACE_SCHEMA_VERSION));
        }
        other => panic!("{other}"),
    }
}

async fn an_older_store_is_brought_up_to_date(fixture: Fixture) {
    let made = file("a", 0, 1, &[(",a=b,", 1.0)]);
    fixture.history.ingest(&[made], &[]).await.unwrap();
    let older = "DROP TABLE alerts; DROP TABLE watches; DROP TABLE watch_events; \
                 DROP TABLE arrivals;";
    fixture.behind_its_back(older).await;
    let older = match fixture.is_sqlite() {
        true => "PRAGMA user_version = 1",
        false => {
            "DELETE FROM pinpoint_traces_schema; INSERT INTO pinpoint_traces_schema VALUES (1)"
        }
    };
    fixture.behind_its_back(older).await;
    for _ in 0..2 {
        let history = open(&fixture.place()).await;
        let history = history.history(fixture.history.dataset());
        assert_eq!(crate::common::all_values(&history, 1, 1).await.len(), 1);
        assert!(history.alerts().await.unwrap().is_empty());
        assert!(history.unseen().await.unwrap().is_all);
    }
}

/// A database has both the tables of jobs and those of the history.
#[tokio::test]
async fn jobs_and_the_history_share_a_database() {
    let fixture = Fixture::new(Backend::Postgres).await;
    let jobs = pinpoint_store::JobStore::connect(&fixture.place())
        .await
        .unwrap();
    assert_eq!(
        jobs.version().await.unwrap(),
        pinpoint_store::SCHEMA_VERSION
    );
    fixture
        .history
        .ingest(&[file("a", 0, 1, &[(",a=b,", 1.0)])], &[])
        .await
        .unwrap();
    assert_eq!(fixture.history.tiles().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_file_of_another_program_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("traces.db"),
        "not a database, and long enough",
    )
    .unwrap();
    assert!(TraceStore::open(directory.path()).await.is_err());
    let directory = tempfile::tempdir().unwrap();
    let jobs = pinpoint_store::JobStore::open(directory.path())
        .await
        .unwrap();
    jobs.close().await;
    let (from, to) = ("pinpoint.db", "traces.db");
    std::fs::rename(directory.path().join(from), directory.path().join(to)).unwrap();
    let error = TraceStore::open(directory.path()).await.unwrap_err();
    let is_refused = matches!(error, TraceStoreError::Database(StoreError::NotOurs { .. }));
    assert!(is_refused, "{error}");
}

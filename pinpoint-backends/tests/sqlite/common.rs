//! What every test of the store begins with.

use std::collections::BTreeMap;
use std::path::Path;

use pinpoint_backends::sqlite::{JobId, NewJob, SqliteJournal, Store, StoreError};
use pinpoint_core::{
    CombinedCommit, Commit, Detail, Event, Journal, JournalError, Record, RunReport, Series, Usage,
};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

/// A store in a directory that goes away with it.
pub(crate) struct Fixture {
    pub(crate) directory: TempDir,
    pub(crate) store: Store,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).await.unwrap();
        Self { directory, store }
    }

    pub(crate) async fn job(&self) -> JobId {
        self.store.create(&new_job("a job")).await.unwrap()
    }

    /// A connection beside the store's, for what only a test does.
    pub(crate) async fn behind_its_back(&self) -> SqliteConnection {
        raw(self.store.path()).await
    }
}

pub(crate) async fn raw(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    options.create_if_missing(true).connect().await.unwrap()
}

pub(crate) fn new_job(title: &str) -> NewJob {
    NewJob {
        kind: "bisection".into(),
        title: title.into(),
        repository: "/src/tool".into(),
        spec: serde_json::json!({ "magnitude": 0.1, "seed": u64::MAX }),
        config: serde_json::json!({ "command": ["./bench.sh", "é\u{0}"] }),
    }
}

/// Something that can be told from its neighbours.
pub(crate) fn tick(elapsed: u64) -> Record {
    Event::TimePassed { elapsed }.into()
}

pub(crate) fn ticks(count: u64) -> Vec<Record> {
    (0..count).map(tick).collect()
}

/// A run as a real benchmark gives it: four charts, what the operating system
/// says, a full hash and a log.
pub(crate) fn run(action: u64) -> Record {
    let chart = |value: f64, unit: &str| Series {
        values: vec![value],
        unit: Some(unit.into()),
        ..Series::default()
    };
    let commit = Commit {
        author: Some("Ada Example <ada@example.org>".into()),
        created: Some("2024-05-06T07:08:09Z".into()),
        subject: Some("Sort with fewer comparisons".into()),
        ..Commit::new(
            "/home/ada/src/tool",
            "0123456789abcdef0123456789abcdef01234567",
        )
    };
    let wall = 0.0512345678 + action as f64 * 1e-7;
    Record {
        event: Event::Ran {
            action,
            bot: None,
            started: action * 60,
            values: BTreeMap::from([("wall".into(), vec![wall])]),
        },
        detail: Some(Detail::Run(RunReport {
            chart: Some("wall".into()),
            commit: CombinedCommit::from(commit),
            index: 7,
            bot: None,
            started: action * 60,
            failure: None,
            charts: BTreeMap::from([
                ("wall".into(), chart(wall, "s")),
                ("user".into(), chart(0.043, "s")),
                ("system".into(), chart(0.006, "s")),
                ("peak_memory".into(), chart(13_459_456.0, "B")),
            ]),
            usage: Some(Usage {
                wall,
                user: 0.043,
                system: 0.006,
                peak_memory: 13_459_456,
            }),
            exit_code: Some(0),
            log: Some("runs/0123456789abcdef/7.log".into()),
        })),
    }
}

pub(crate) async fn append_all(journal: &mut SqliteJournal, records: &[Record]) {
    for record in records {
        journal.append(record).await.unwrap();
    }
}

/// The store's own error in a journal's.
pub(crate) fn cause(error: JournalError) -> StoreError {
    *error.0.downcast().unwrap()
}

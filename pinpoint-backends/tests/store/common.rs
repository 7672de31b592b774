//! The common setup of the store's tests.

use std::path::{Path, PathBuf};

use pinpoint_backends::store::{
    AuditCheck, AuditEntry, JobFilter, JobId, JobJournal, JobStore, JobSummary, ListOrder, NewJob,
    PagePosition, StoreError,
};
use pinpoint_core::{
    BuildReport, CombinedCommit, Commit, Journal, JournalError, Record, Report, RunReport,
};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, PgConnection, SqliteConnection};
use tempfile::TempDir;

use crate::postgres;

/// The location of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
}

/// Makes tests of these functions, one for each database.
#[macro_export]
macro_rules! on_both {
    ($($name:ident,)*) => {
        mod on {
            $(mod $name {
                use $crate::common::{Backend, Fixture};

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    super::super::$name(Fixture::with_backend(Backend::Sqlite).await).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    super::super::$name(Fixture::with_backend(Backend::Postgres).await).await;
                }
            })*
        }
    };
}

/// A store in a directory or a database that goes away with it.
pub(crate) struct Fixture {
    pub(crate) directory: TempDir,
    /// Absent for SQLite.
    database: Option<postgres::Database>,
    pub(crate) store: JobStore,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with_backend(Backend::Sqlite).await
    }

    pub(crate) async fn with_backend(backend: Backend) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = match backend {
            Backend::Sqlite => None,
            Backend::Postgres => Some(postgres::Database::new().await),
        };
        let place = match &database {
            Some(database) => database.url().to_owned(),
            None => directory.path().to_str().unwrap().to_owned(),
        };
        let store = open(&place).await;
        Self {
            directory,
            database,
            store,
        }
    }

    pub(crate) async fn job(&self) -> JobId {
        self.store.jobs().create(&new_job("a job")).await.unwrap()
    }

    /// The address that [`open`] opens once more.
    pub(crate) fn place(&self) -> String {
        match &self.database {
            Some(database) => database.url().to_owned(),
            None => self.directory.path().to_str().unwrap().to_owned(),
        }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.database.is_none()
    }

    /// The store's file.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("pinpoint.db")
    }

    /// Runs a test's own statement, outside of the store's connections.
    pub(crate) async fn behind_its_back(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.database {
            Some(database) => {
                let mut connection = raw_postgres(database.url()).await;
                sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
            }
            None => {
                let mut connection = raw(&self.file()).await;
                sqlx::query(sql).execute(&mut connection).await.unwrap();
            }
        }
    }

    /// Reads rows of two texts, in the same way.
    pub(crate) async fn seen_behind_its_back(&self, sql: &'static str) -> Vec<(String, String)> {
        match &self.database {
            Some(database) => {
                let mut connection = raw_postgres(database.url()).await;
                let rows = sqlx::query_as(sql).fetch_all(&mut connection).await;
                rows.unwrap()
            }
            None => {
                let rows = sqlx::query_as(sql)
                    .fetch_all(&mut raw(&self.file()).await)
                    .await;
                rows.unwrap()
            }
        }
    }
}

/// The statements that take away what version 7 added, except the mark of the version.
pub(crate) const BACK_TO_6: [&str; 8] = [
    "DROP INDEX jobs_sorted_by_story",
    "DROP INDEX jobs_sorted_by_bug",
    "DROP INDEX jobs_sorted_by_result",
    "DROP INDEX jobs_of_user_by_story",
    "DROP INDEX jobs_of_user_by_bug",
    "DROP INDEX jobs_of_user_by_result",
    "ALTER TABLE jobs DROP COLUMN story_key",
    "ALTER TABLE jobs DROP COLUMN answer_key",
];

/// The same for version 6.
pub(crate) const BACK_TO_5: [&str; 22] = [
    "DROP TABLE preferences",
    "DROP INDEX jobs_sorted_by_name",
    "DROP INDEX jobs_sorted_by_benchmark",
    "DROP INDEX jobs_sorted_by_bot",
    "DROP INDEX jobs_sorted_by_user",
    "DROP INDEX jobs_sorted_by_runs",
    "DROP INDEX jobs_sorted_by_duration",
    "DROP INDEX jobs_of_user_by_name",
    "DROP INDEX jobs_of_user_by_benchmark",
    "DROP INDEX jobs_of_user_by_bot",
    "DROP INDEX jobs_of_user_by_kind",
    "DROP INDEX jobs_of_user_by_state",
    "DROP INDEX jobs_of_user_by_runs",
    "DROP INDEX jobs_of_user_by_duration",
    "ALTER TABLE jobs DROP COLUMN name_key",
    "ALTER TABLE jobs DROP COLUMN benchmark_key",
    "ALTER TABLE jobs DROP COLUMN bot_key",
    "ALTER TABLE jobs DROP COLUMN user_key",
    "ALTER TABLE jobs DROP COLUMN runs_key",
    "ALTER TABLE jobs DROP COLUMN story",
    "ALTER TABLE jobs DROP COLUMN bug",
    "ALTER TABLE jobs DROP COLUMN answer",
];

/// The same for versions 4 and 5.
pub(crate) const BACK_TO_3: [&str; 12] = [
    "DROP TABLE shared_secrets",
    "ALTER TABLE jobs DROP COLUMN paused",
    "DROP TABLE run_counts",
    "DROP TABLE audit",
    "DROP TABLE audit_head",
    "DROP TABLE idempotency_keys",
    "DROP TABLE tokens",
    "DROP TABLE sessions",
    "DROP TABLE sign_ins",
    "DROP INDEX jobs_under_way",
    "ALTER TABLE jobs DROP COLUMN cancel_by",
    "ALTER TABLE jobs DROP COLUMN cancel_reason",
];

/// The same for version 3.
pub(crate) const BACK_TO_2: [&str; 4] = [
    "DROP TABLE workers",
    "DROP TABLE job_files",
    "ALTER TABLE jobs DROP COLUMN by_workers",
    "ALTER TABLE jobs DROP COLUMN deaths",
];

/// The store of a directory or a database.
pub(crate) async fn open(place: &str) -> JobStore {
    match place.starts_with("postgres:") {
        true => JobStore::connect(place).await.unwrap(),
        false => JobStore::open(Path::new(place)).await.unwrap(),
    }
}

/// Checks that an upgraded store has its only job, and all tables.
pub(crate) async fn is_of_this_version(store: &JobStore, id: &JobId) {
    assert_eq!(all(store).await[0].id, *id);
    assert_eq!(store.jobs().get(id).await.unwrap().cancel, None);
    assert_eq!(store.workers().list().await.unwrap(), []);
    assert_eq!(store.files().list(id).await.unwrap(), []);
    store.audit().append(&AuditEntry::default()).await.unwrap();
    let check = store.audit().verify().await.unwrap();
    assert!(matches!(check, AuditCheck::Whole { .. }), "{check:?}");
    assert_eq!(store.tokens().list().await.unwrap(), []);
    assert_eq!(store.sessions().find("").await.unwrap(), None);
    assert_eq!(store.quotas().runs_recorded("", 0).await.unwrap(), 0);
    assert!(store.preferences().get("").await.unwrap().is_empty());
}

/// All jobs, newest first.
pub(crate) async fn all(store: &JobStore) -> Vec<JobSummary> {
    found(store, JobFilter::default()).await
}

pub(crate) async fn found(store: &JobStore, filter: JobFilter) -> Vec<JobSummary> {
    let page = store
        .jobs()
        .list(&filter, ListOrder::default(), &PagePosition::First, 1000)
        .await
        .unwrap();
    assert!(!page.more);
    page.jobs
}

pub(crate) async fn raw(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    options.create_if_missing(true).connect().await.unwrap()
}

/// A connection to the store's tables.
pub(crate) async fn raw_postgres(url: &str) -> PgConnection {
    let options: PgConnectOptions = url.parse().unwrap();
    let options = options.options([("search_path", "pinpoint,public")]);
    options.connect().await.unwrap()
}

pub(crate) fn new_job(title: &str) -> NewJob {
    NewJob {
        kind: "bisection".into(),
        title: title.into(),
        repository: "/src/tool".into(),
        spec: serde_json::json!({ "magnitude": 0.1, "seed": u64::MAX }),
        config: serde_json::json!({ "command": ["./bench.sh", "é\u{0}"] }),
        ..NewJob::default()
    }
}

/// A record that can be distinguished from its neighbors.
pub(crate) fn tick(elapsed: u64) -> Record {
    Record::TimePassed { elapsed }
}

pub(crate) fn a_commit() -> CombinedCommit {
    Commit::new("/src/tool", "0123456789abcdef").into()
}

pub(crate) fn built(action: u64) -> Record {
    let report = Report::Built(BuildReport::built(a_commit()));
    Record::Reported { action, report }
}

pub(crate) fn run_failed(action: u64) -> Record {
    let report = Report::Ran(RunReport::failed(1_717_986_918_401, "exit code 1"));
    Record::Reported { action, report }
}

pub(crate) fn ticks(count: u64) -> Vec<Record> {
    (0..count).map(tick).collect()
}

pub(crate) async fn append_all(journal: &mut JobJournal, records: &[Record]) {
    for record in records {
        journal.append(record).await.unwrap();
    }
}

/// The store's own error in a journal's.
pub(crate) fn cause(error: JournalError) -> StoreError {
    *error.0.downcast().unwrap()
}

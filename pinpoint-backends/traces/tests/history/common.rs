//! The common setup of the tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinpoint_trace_store::{History, NumberedCommit, TraceStore};
use pinpoint_traces::{
    CommitName, CommitNumber, Links, Params, Point, Query, ResultFile, Source, TraceId,
};
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions};
use tempfile::TempDir;
use test_servers::postgres;

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
                    super::super::$name(Fixture::new(Backend::Sqlite).await).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    super::super::$name(Fixture::new(Backend::Postgres).await).await;
                }
            })*
        }
    };
}

/// A store in a directory or a database that goes away with it.
pub(crate) struct Fixture {
    pub(crate) directory: TempDir,
    database: Option<postgres::Database>,
    pub(crate) store: TraceStore,
    pub(crate) history: History,
}

impl Fixture {
    pub(crate) async fn new(backend: Backend) -> Self {
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
        let history = store.history(&"nano".parse().unwrap());
        Self {
            directory,
            database,
            store,
            history,
        }
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

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("traces.db")
    }

    /// Runs a test's own statement, outside of the store's connections.
    pub(crate) async fn behind_its_back(&self, sql: &str) {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        match &self.database {
            Some(database) => {
                let options: PgConnectOptions = database.url().parse().unwrap();
                let options = options.options([("search_path", "pinpoint_traces,public")]);
                let mut connection = options.connect().await.unwrap();
                sql.execute(&mut connection).await.unwrap();
            }
            None => {
                let options = SqliteConnectOptions::new().filename(self.file());
                let mut connection = options.connect().await.unwrap();
                sql.execute(&mut connection).await.unwrap();
            }
        }
    }
}

/// The store of a directory or a database.
pub(crate) async fn open(place: &str) -> TraceStore {
    match place.starts_with("postgres:") {
        true => TraceStore::connect(place).await.unwrap(),
        false => TraceStore::open(Path::new(place)).await.unwrap(),
    }
}

pub(crate) fn id(text: &str) -> TraceId {
    text.parse().unwrap()
}

pub(crate) fn query(text: &str) -> Query {
    text.parse().unwrap()
}

/// A file of results at a commit, made at a time.
pub(crate) fn file(path: &str, time: i64, commit: u32, points: &[(&str, f64)]) -> ResultFile {
    let point = |(trace, value): &(&str, f64)| Point {
        trace: id(trace),
        value: *value,
        links: Links::new(),
    };
    ResultFile {
        source: Source::new(path, time),
        commit: CommitName::Number(CommitNumber(commit)),
        tried: None,
        key: Params::default(),
        links: Links::new(),
        points: points.iter().map(point).collect(),
        samples: BTreeMap::new(),
    }
}

/// A commit with a hash of its own.
pub(crate) fn commit(number: u32) -> NumberedCommit {
    NumberedCommit {
        number: CommitNumber(number),
        hash: format!("{number:08x}{:032x}", 0),
        time: i64::from(number),
        author: "Ada".into(),
        subject: format!("Change {number}"),
    }
}

/// The values of all traces in a range, by id.
pub(crate) async fn all_values(
    history: &History,
    first: u32,
    last: u32,
) -> Vec<(String, Vec<f64>)> {
    let everything = Query::default();
    let select = pinpoint_trace_store::Select::Query(&everything);
    let commits = CommitNumber(first)..=CommitNumber(last);
    let frame = history.frame(select, commits, 1_000_000).await.unwrap();
    let rows = frame
        .rows()
        .map(|(name, values)| (name.to_string(), values.to_vec()));
    rows.collect()
}

/// The same values, bit for bit; a missing one is equal to a missing one.
pub(crate) fn same(a: &[f64], b: &[f64]) -> bool {
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    a.len() == b.len() && a.iter().zip(b).all(same)
}

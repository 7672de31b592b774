//! A store in a file, with SQLite built in.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::database::{Database, Dialect, Pool};
use super::{JobStore, SCHEMA_VERSION, StoreError, schema};

/// The name of the file in its directory.
const FILE: &str = "pinpoint.db";

/// The longest wait for another process that writes. A write takes well under
/// a millisecond; this is for a machine that is busy with benchmarks.
const WRITER_TIMEOUT: Duration = Duration::from_secs(30);

/// Enough to read during a write.
const CONNECTIONS: u32 = 4;

/// The failures that a record survives once a SQLite file has acknowledged it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// The death of the process. After a loss of power the last records may be missing; their work
    /// is done again.
    Process,
    /// A loss of power, too: every append waits for the disk, so that many records
    /// are better appended together.
    Power,
}

impl JobStore {
    /// Opens the store of a state directory, creating both if need be, and migrates an older file.
    /// Where nothing may be written, a file of this version can still be read.
    ///
    /// # Errors
    ///
    /// A file that is newer, damaged, or not ours is refused, and not touched.
    pub async fn open(state_dir: &Path) -> Result<Self, StoreError> {
        Self::open_with(state_dir, Durability::Process).await
    }

    /// Like [`JobStore::open`], with a choice of the failures that an acknowledged record survives.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn open_with(state_dir: &Path, durability: Durability) -> Result<Self, StoreError> {
        open_database(state_dir, &JOBS, durability)
            .await
            .map(Self::new)
    }
}

/// A SQLite file with tables of ours.
pub struct SqliteFile {
    /// Its name in the state directory.
    pub name: &'static str,
    /// The name of the file that is locked while this one is created or migrated.
    pub lock: &'static str,
    /// Its `application_id`.
    pub application_id: u32,
    /// The version of the tables.
    pub version: u32,
    /// Brings the tables from a version, 0 for none, to this one; all of it or nothing.
    pub bring_up_to_date: fn(&mut SqliteConnection, u32) -> Upgrade<'_>,
}

/// The work of [`SqliteFile::bring_up_to_date`].
pub type Upgrade<'a> = Pin<Box<dyn Future<Output = Result<(), sqlx::Error>> + Send + 'a>>;

const JOBS: SqliteFile = SqliteFile {
    name: FILE,
    lock: "pinpoint.lock",
    application_id: schema::sqlite::APPLICATION_ID,
    version: SCHEMA_VERSION,
    bring_up_to_date: |connection, found| {
        Box::pin(schema::sqlite::bring_up_to_date(connection, found))
    },
};

/// Opens a file of a state directory, creating both if need be, and migrates an older file.
pub async fn open_database(
    state_dir: &Path,
    file: &SqliteFile,
    durability: Durability,
) -> Result<Database, StoreError> {
    pinpoint_state::create_state_dir(state_dir).map_err(|source| StoreError::Directory {
        path: state_dir.into(),
        source,
    })?;
    let path = state_dir.join(file.name);
    let options = options_of(&path)
        .foreign_keys(true)
        .synchronous(match durability {
            Durability::Process => SqliteSynchronous::Normal,
            Durability::Power => SqliteSynchronous::Full,
        });
    let options = match prepare(state_dir, &path, file, &options).await {
        Err(error) if is_forbidden(&error) => read_only(&path, file, options, error).await?,
        prepared => {
            prepared?;
            options
        }
    };
    // Opened lazily: the file has been checked.
    let pool = SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(WRITER_TIMEOUT)
        // A file does not disappear like a server.
        .test_before_acquire(false)
        // When the disk is full, SQLite may end a transaction by itself. The
        // connection would count as being in one for good, and begin no other.
        .before_acquire(|connection, _| {
            Box::pin(async move {
                if connection.is_in_transaction() {
                    // After a rollback that is still queued.
                    connection.ping().await?;
                }
                Ok(!connection.is_in_transaction())
            })
        })
        .connect_lazy_with(options);
    Ok(Database {
        pool: Pool::Sqlite(pool),
        name: path.display().to_string(),
    })
}

/// Returns whether writing there is forbidden.
fn is_forbidden(error: &StoreError) -> bool {
    matches!(error, StoreError::Directory { source, .. } if matches!(
        source.kind(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    ))
}

/// The options with which a read-only file can be read. For a file of another version, returns this
/// error.
async fn read_only(
    path: &Path,
    file: &SqliteFile,
    options: SqliteConnectOptions,
    error: StoreError,
) -> Result<SqliteConnectOptions, StoreError> {
    // SQLite makes additional files for writers. Where all of the log is in the file, it is whole
    // without them.
    let log = path.with_file_name(format!("{}-wal", file.name));
    let is_whole = std::fs::metadata(log).map_or(true, |log| log.len() == 0);
    let options = options.read_only(true).immutable(is_whole);
    let Ok(mut connection) = options.connect().await else {
        return Err(error);
    };
    let found = version(&mut connection, path, file).await;
    // Nothing was written.
    let _ = connection.close().await;
    match found {
        Ok(found) if found == file.version => Ok(options),
        Ok(_) => Err(error),
        Err(error) => Err(error),
    }
}

/// The version of the tables of a state directory, if this program can use them; `None` where there
/// is no store. Nothing changes: [`JobStore::open`] would migrate them.
///
/// # Errors
///
/// Those of [`JobStore::open`].
pub async fn version_in(state_dir: &Path) -> Result<Option<u32>, StoreError> {
    let path = state_dir.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let store = path.display().to_string();
    let failed = |source| StoreError::from_database(&store, Dialect::Sqlite, source);
    let mut connection = options_of(&path).connect().await.map_err(failed)?;
    let found = version(&mut connection, &path, &JOBS).await;
    connection.close().await.map_err(failed)?;
    found.map(|version| Some(version).filter(|version| *version > 0))
}

fn options_of(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(WRITER_TIMEOUT)
        // Sorting uses no other disk, which may be full while this one is not.
        .pragma("temp_store", "MEMORY")
}

/// Creates the file, or checks and migrates an existing one.
async fn prepare(
    state_dir: &Path,
    path: &Path,
    file: &SqliteFile,
    options: &SqliteConnectOptions,
) -> Result<(), StoreError> {
    let store = path.display().to_string();
    let failed = |source| StoreError::from_database(&store, Dialect::Sqlite, source);
    // SQLite does not wait for its turn to switch a file to the write-ahead
    // log, so that two processes that create it at once would disturb each
    // other. Released at the end, with the file.
    let _one_at_a_time = lock(&state_dir.join(file.lock)).await?;
    // The first check is without the log: it must not change a file that turns out to belong to
    // another program.
    let mut connection = options
        .clone()
        .create_if_missing(true)
        .connect()
        .await
        .map_err(failed)?;
    let found = version(&mut connection, path, file).await;
    // Closed in any case, so that none of our files is left next to a refused one.
    connection.close().await.map_err(failed)?;
    let found = found?;
    if found == file.version {
        return Ok(());
    }
    let mut connection = options
        .clone()
        .journal_mode(SqliteJournalMode::Wal)
        .connect()
        .await
        .map_err(failed)?;
    (file.bring_up_to_date)(&mut connection, found)
        .await
        .map_err(failed)?;
    connection.close().await.map_err(failed)
}

/// Returns the version of the file, if it is one of ours that this program can use.
/// Changes nothing in it.
async fn version(
    connection: &mut SqliteConnection,
    path: &Path,
    file: &SqliteFile,
) -> Result<u32, StoreError> {
    let store = path.display().to_string();
    let failed = |source| StoreError::from_database(&store, Dialect::Sqlite, source);
    let found: u32 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let application: u32 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let objects: u32 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let empty = objects == 0 && application == 0 && found == 0;
    if !empty && application != file.application_id {
        return Err(StoreError::NotOurs { store });
    }
    if found > file.version {
        return Err(StoreError::Newer {
            found,
            supported: file.version,
            store,
        });
    }
    Ok(found)
}

async fn lock(path: &Path) -> Result<File, StoreError> {
    let failed = |source| StoreError::Directory {
        path: path.into(),
        source,
    };
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(failed)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) if began.elapsed() > WRITER_TIMEOUT => {
                return Err(StoreError::Busy {
                    store: path.display().to_string(),
                    source: None,
                });
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

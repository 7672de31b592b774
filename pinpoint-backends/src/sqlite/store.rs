//! The file, and the jobs in it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pinpoint_core::JobState;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteQueryResult,
    SqliteRow, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Row};

use super::journal::parsed;
use super::{
    JOURNAL_VERSION, Job, JobId, JobSummary, NewJob, SqliteJournal, StoreError, now, schema,
};

/// How long to wait for another process that writes. A write takes well under
/// a millisecond; this is for a machine that is busy with benchmarks.
const PATIENCE: Duration = Duration::from_secs(30);

/// Connections for everything but journals, which have one each.
const CONNECTIONS: u32 = 4;

/// How many names a message lists.
const NAMES_IN_A_MESSAGE: u32 = 10;

/// The jobs of a state directory. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
    path: PathBuf,
    options: SqliteConnectOptions,
    pool: SqlitePool,
}

impl Store {
    /// Opens the store of a state directory, creating both if need be, and
    /// brings an older file up to date.
    ///
    /// # Errors
    ///
    /// A file that is newer, damaged, or not ours is refused, and not touched.
    pub async fn open(state_dir: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(state_dir).map_err(|source| StoreError::Directory {
            path: state_dir.into(),
            source,
        })?;
        let path = state_dir.join("pinpoint.db");
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .busy_timeout(PATIENCE)
            .foreign_keys(true)
            .synchronous(SqliteSynchronous::Normal);
        prepare(state_dir, &path, &options).await?;
        // Opened lazily: the file has been seen to be in order.
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(PATIENCE)
            .connect_lazy_with(options.clone());
        Ok(Self {
            directory: state_dir.into(),
            path,
            options,
            pool,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a job keeps what is not in the file.
    pub fn job_dir(&self, id: &JobId) -> PathBuf {
        self.directory.join("jobs").join(id.as_str())
    }

    /// Adds a pending job, and creates its directory.
    ///
    /// # Errors
    ///
    /// When there is no job afterwards; at most an empty directory is left.
    pub async fn create(&self, job: &NewJob) -> Result<JobId, StoreError> {
        let id = JobId::new();
        // Before the row: a directory without a job is litter, a job without a
        // directory can't be run.
        let directory = self.job_dir(&id);
        std::fs::create_dir_all(&directory).map_err(|source| StoreError::Directory {
            path: directory.clone(),
            source,
        })?;
        let time = now();
        sqlx::query(
            "INSERT INTO jobs (id, kind, state, created, updated, repository, title, spec, \
             config, journal_version, written_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(id.as_str())
        .bind(&job.kind)
        .bind(JobState::Pending.as_str())
        .bind(time)
        .bind(time)
        .bind(&job.repository)
        .bind(&job.title)
        .bind(job.spec.to_string())
        .bind(job.config.to_string())
        .bind(JOURNAL_VERSION)
        .bind(env!("CARGO_PKG_VERSION"))
        .execute(&self.pool)
        .await
        .map_err(|source| self.failed(source))?;
        Ok(id)
    }

    /// The job whose name begins with `prefix`. Case and hyphens do not
    /// matter.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], and [`StoreError::Ambiguous`] naming the jobs.
    pub async fn get(&self, prefix: &str) -> Result<Job, StoreError> {
        let unknown = || StoreError::Unknown {
            prefix: prefix.into(),
        };
        let wanted = prefix.replace('-', "").to_ascii_lowercase();
        if wanted.is_empty() || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(unknown());
        }
        // Everything that begins so sorts before the same with a `g`, the
        // letter after the last digit; a range uses the index.
        let mut ids: Vec<String> = sqlx::query_scalar(
            "SELECT id FROM jobs WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id DESC LIMIT ?2",
        )
        .bind(&wanted)
        .bind(NAMES_IN_A_MESSAGE)
        .fetch_all(&self.pool)
        .await
        .map_err(|source| self.failed(source))?;
        let id = ids.pop().ok_or_else(unknown)?;
        if !ids.is_empty() {
            ids.push(id);
            return Err(StoreError::Ambiguous {
                prefix: prefix.into(),
                matches: ids.into_iter().map(JobId).collect(),
            });
        }
        let row = sqlx::query("SELECT * FROM jobs WHERE id = ?")
            .bind(id)
            .fetch_optional(&self.pool)
            .await
            .map_err(|source| self.failed(source))?;
        self.job(&row.ok_or_else(unknown)?)
    }

    fn job(&self, row: &SqliteRow) -> Result<Job, StoreError> {
        let failed = |source| self.failed(source);
        let id = JobId(row.try_get("id").map_err(failed)?);
        let json = |column: &str| {
            let text: Option<String> = row.try_get(column).map_err(failed)?;
            text.map(|text| parsed(&self.path, || format!("{column} of job {id}"), &text))
                .transpose()
        };
        Ok(Job {
            kind: row.try_get("kind").map_err(failed)?,
            state: self.state(&id, row)?,
            created: row.try_get("created").map_err(failed)?,
            updated: row.try_get("updated").map_err(failed)?,
            repository: row.try_get("repository").map_err(failed)?,
            title: row.try_get("title").map_err(failed)?,
            spec: json("spec")?.unwrap_or_default(),
            config: json("config")?.unwrap_or_default(),
            outcome: json("outcome")?,
            error: row.try_get("error").map_err(failed)?,
            journal_version: row.try_get("journal_version").map_err(failed)?,
            written_by: row.try_get("written_by").map_err(failed)?,
            id,
        })
    }

    fn state(&self, id: &JobId, row: &SqliteRow) -> Result<JobState, StoreError> {
        let state: String = row.try_get("state").map_err(|source| self.failed(source))?;
        state.parse().map_err(|source| StoreError::Damaged {
            path: self.path.clone(),
            place: format!("the state of job {id}"),
            source: Box::new(source),
        })
    }

    /// Jobs, newest first: those in one state or all, at most `limit`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub async fn list(
        &self,
        state: Option<JobState>,
        limit: u32,
    ) -> Result<Vec<JobSummary>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, kind, state, created, updated, repository, title, error, \
             (SELECT count(*) FROM records WHERE job = number AND withdrawn = 0 \
              AND kind IN ('ran', 'run_failed')) \
             + 2 * (SELECT count(*) FROM records WHERE job = number AND withdrawn = 0 \
              AND kind = 'ran_pair') AS runs, \
             (SELECT count(*) FROM records WHERE job = number AND withdrawn = 0 \
              AND kind = 'built') AS builds \
             FROM jobs WHERE ?1 IS NULL OR state = ?1 ORDER BY number DESC LIMIT ?2",
        )
        .bind(state.map(JobState::as_str))
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .map_err(|source| self.failed(source))?;
        rows.iter().map(|row| self.summary(row)).collect()
    }

    fn summary(&self, row: &SqliteRow) -> Result<JobSummary, StoreError> {
        let failed = |source| self.failed(source);
        let id = JobId(row.try_get("id").map_err(failed)?);
        Ok(JobSummary {
            kind: row.try_get("kind").map_err(failed)?,
            state: self.state(&id, row)?,
            created: row.try_get("created").map_err(failed)?,
            updated: row.try_get("updated").map_err(failed)?,
            repository: row.try_get("repository").map_err(failed)?,
            title: row.try_get("title").map_err(failed)?,
            error: row.try_get("error").map_err(failed)?,
            runs: row.try_get("runs").map_err(failed)?,
            builds: row.try_get("builds").map_err(failed)?,
            id,
        })
    }

    /// Brings a job into another state, with the error and the outcome that
    /// belong to it; those of the state before are dropped.
    ///
    /// # Errors
    ///
    /// [`StoreError::Transition`] for what [`JobState::can_become`] denies.
    pub async fn set_state(
        &self,
        id: &JobId,
        to: JobState,
        error: Option<&str>,
        outcome: Option<&serde_json::Value>,
    ) -> Result<(), StoreError> {
        let failed = |source| self.failed(source);
        // Immediate: between looking and writing nobody else may write.
        let mut transaction = self
            .pool
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(failed)?;
        let row = sqlx::query("SELECT state FROM jobs WHERE id = ?")
            .bind(id.as_str())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed)?;
        let from = self.state(id, &row.ok_or_else(|| unknown(id))?)?;
        if !from.can_become(to) {
            let id = id.clone();
            return Err(StoreError::Transition { id, from, to });
        }
        sqlx::query("UPDATE jobs SET state = ?, updated = ?, error = ?, outcome = ? WHERE id = ?")
            .bind(to.as_str())
            .bind(now())
            .bind(error)
            .bind(outcome.map(ToString::to_string))
            .bind(id.as_str())
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
        transaction.commit().await.map_err(failed)
    }

    /// Says anew what a job is to find, before its search has begun: what was
    /// left open when it was created may be known by then.
    ///
    /// # Errors
    ///
    /// [`StoreError::Begun`] once the journal has a record that is replayed.
    pub async fn set_spec(&self, id: &JobId, spec: &serde_json::Value) -> Result<(), StoreError> {
        let updated = sqlx::query(
            "UPDATE jobs SET spec = ? WHERE id = ? \
             AND NOT EXISTS (SELECT 1 FROM records WHERE job = jobs.number AND withdrawn = 0)",
        )
        .bind(spec.to_string())
        .bind(id.as_str())
        .execute(&self.pool)
        .await
        .map_err(|source| self.failed(source))?;
        if updated.rows_affected() == 0 {
            self.get(id.as_str()).await?;
            return Err(StoreError::Begun { id: id.clone() });
        }
        Ok(())
    }

    /// The journal of a job.
    ///
    /// # Errors
    ///
    /// [`StoreError::JournalVersion`] when this program lacks its version.
    pub async fn journal(&self, id: &JobId) -> Result<SqliteJournal, StoreError> {
        let failed = |source| self.failed(source);
        let mut connection = self.options.connect().await.map_err(failed)?;
        let row: Option<(i64, u32, String)> =
            sqlx::query_as("SELECT number, journal_version, written_by FROM jobs WHERE id = ?")
                .bind(id.as_str())
                .fetch_optional(&mut connection)
                .await
                .map_err(failed)?;
        let (number, found, written_by) = row.ok_or_else(|| unknown(id))?;
        if found != JOURNAL_VERSION {
            return Err(StoreError::JournalVersion {
                id: id.clone(),
                found,
                supported: JOURNAL_VERSION,
                written_by,
            });
        }
        Ok(SqliteJournal::new(
            connection,
            self.path.clone(),
            id.clone(),
            number,
        ))
    }

    /// Asks whoever works on the job to end it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the file cannot be written.
    pub async fn request_cancel(&self, id: &JobId) -> Result<(), StoreError> {
        let updated = sqlx::query("UPDATE jobs SET cancel_requested = 1 WHERE id = ?")
            .bind(id.as_str())
            .execute(&self.pool)
            .await;
        self.one(id, updated)
    }

    /// Has somebody asked for the job to be ended? Cheap enough to ask several
    /// times a second.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the file cannot be read.
    pub async fn cancel_requested(&self, id: &JobId) -> Result<bool, StoreError> {
        sqlx::query_scalar("SELECT cancel_requested FROM jobs WHERE id = ?")
            .bind(id.as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(|source| self.failed(source))?
            .ok_or_else(|| unknown(id))
    }

    /// Forgets that somebody has asked.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the file cannot be written.
    pub async fn clear_cancel(&self, id: &JobId) -> Result<(), StoreError> {
        let updated = sqlx::query("UPDATE jobs SET cancel_requested = 0 WHERE id = ?")
            .bind(id.as_str())
            .execute(&self.pool)
            .await;
        self.one(id, updated)
    }

    /// Makes a canceled job go on where it was before: the request, and every
    /// record after it, is kept and not replayed any more. Forgets the request
    /// of [`Store::request_cancel`] too, in the same transaction, or a crash
    /// between the two would cancel the job anew. Returns how many records
    /// were withdrawn.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the file cannot be written; then
    /// nothing has changed.
    pub async fn withdraw_cancellation(&self, id: &JobId) -> Result<u64, StoreError> {
        let failed = |source| self.failed(source);
        let mut transaction = self
            .pool
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(failed)?;
        let updated = sqlx::query("UPDATE jobs SET cancel_requested = 0 WHERE id = ?")
            .bind(id.as_str())
            .execute(&mut *transaction)
            .await;
        self.one(id, updated)?;
        let withdrawn = sqlx::query(
            "UPDATE records SET withdrawn = 1 \
             WHERE job = (SELECT number FROM jobs WHERE id = ?1) AND withdrawn = 0 \
             AND sequence >= (SELECT min(sequence) FROM records \
                              WHERE job = (SELECT number FROM jobs WHERE id = ?1) \
                              AND withdrawn = 0 AND kind = 'cancel_requested')",
        )
        .bind(id.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        Ok(withdrawn.rows_affected())
    }

    /// Closes every connection but those of journals. Dropping a store is as
    /// safe; this waits until it is done.
    pub async fn close(self) {
        self.pool.close().await;
    }

    /// One job was changed, or there is no such job.
    fn one(
        &self,
        id: &JobId,
        updated: Result<SqliteQueryResult, sqlx::Error>,
    ) -> Result<(), StoreError> {
        match updated {
            Ok(result) if result.rows_affected() == 0 => Err(unknown(id)),
            Ok(_) => Ok(()),
            Err(source) => Err(self.failed(source)),
        }
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        StoreError::from_database(&self.path, source)
    }
}

fn unknown(id: &JobId) -> StoreError {
    StoreError::Unknown {
        prefix: id.to_string(),
    }
}

/// Creates the file, or looks at the one that is there, and brings it up to
/// date.
async fn prepare(
    state_dir: &Path,
    path: &Path,
    options: &SqliteConnectOptions,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::from_database(path, source);
    // SQLite does not wait for its turn to switch a file to the write-ahead
    // log, so that two processes that create it at once would disturb each
    // other. Let go of at the end, with the file.
    let _one_at_a_time = lock(&state_dir.join("pinpoint.lock")).await?;
    // The first look is without the log: it must not change a file that turns
    // out to be somebody else's.
    let mut connection = options
        .clone()
        .create_if_missing(true)
        .connect()
        .await
        .map_err(failed)?;
    let found = schema::version(&mut connection, path).await;
    // Closed whatever was found, so that nothing of ours is left beside a file
    // that is refused.
    connection.close().await.map_err(failed)?;
    let found = found?;
    if found == schema::SCHEMA_VERSION {
        return Ok(());
    }
    let mut connection = options
        .clone()
        .journal_mode(SqliteJournalMode::Wal)
        .connect()
        .await
        .map_err(failed)?;
    schema::bring_up_to_date(&mut connection, found)
        .await
        .map_err(failed)?;
    connection.close().await.map_err(failed)
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
            Err(TryLockError::WouldBlock) if began.elapsed() > PATIENCE => {
                return Err(StoreError::Busy {
                    path: path.into(),
                    source: None,
                });
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

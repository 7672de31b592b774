//! The journal of a job: one row for each record.
//!
//! A row of version 2 has the record in its column `event`, as JSON. A row of version 1
//! has the machine's event there, and the executor's answer in `detail`; it stays as it
//! is, and is read as the equivalent record. A job started in version 1 has rows of both
//! once it is resumed, so that each row is read by itself.

use async_trait::async_trait;
use pinpoint_core::{
    Event, JobKey, Journal, JournalError, Record, RecordVersion1, Report, RunReport,
};
use serde::de::DeserializeOwned;

use super::database::{Access, Database, Row, Transaction, Value};
use super::error::brief;
use super::quotas::count_runs;
use super::{Lease, StoreError, now};

/// The version of the records that this program writes. It reads all versions up to this.
pub const JOURNAL_VERSION: u32 = 2;

/// The rows written by one statement: fewer take longer, more save hardly any time.
const ROWS: usize = 100;

/// The journal of one job.
///
/// Of two writers the first after reading wins: the second is refused with
/// [`StoreError::SecondWriter`] at its next record, and has to read again. When the job
/// is taken, journals that were opened before are refused with
/// [`StoreError::LeaseLost`].
///
/// Where the connection to a server breaks, reads and writes are retried until the lease
/// expires. A record that was written just before is recognized by its number and its
/// text, so that it is stored once.
#[derive(Debug)]
pub struct JobJournal {
    pub(super) database: Database,
    pub(super) lease: Lease,
    /// The time at which the job was created, in milliseconds since 1970.
    pub(super) created: u64,
    next: Next,
}

/// The sequence number of the next record.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// To be read from the store.
    Unread,
    Known(i64),
    /// An append was started and its end not seen.
    BrokenOff,
}

impl JobJournal {
    pub(super) fn new(database: Database, lease: Lease, created: u64) -> Self {
        Self {
            database,
            lease,
            created,
            next: Next::Unread,
        }
    }

    /// The same journal, written under this lease.
    pub(super) fn under(self, lease: Lease) -> Self {
        Self { lease, ..self }
    }

    /// Returns whether there is no record to replay. Cheap, however long the journal is.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::journal::is_empty", level = "debug", skip_all, fields(job = %self.lease.id))]
    pub async fn is_empty(&mut self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM records WHERE job = $1 AND withdrawn = 0 LIMIT 1";
        let values = [self.lease.job.into()];
        let until = self.lease.until();
        let rows = self.database.fetch_until(until, sql, values).await?;
        Ok(rows.is_empty())
    }

    /// Every record, oldest first. [`Journal::replay`] holds one at a time.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or is damaged.
    pub async fn records(&mut self) -> Result<Vec<Record>, StoreError> {
        let mut records = Vec::new();
        self.read(&mut |record| records.push(record)).await?;
        Ok(records)
    }

    /// The records after those that were read last, oldest first: all, the first time.
    ///
    /// # Errors
    ///
    /// As of [`JobJournal::records`].
    pub async fn more_records(&mut self) -> Result<Vec<Record>, StoreError> {
        let from = match self.next {
            Next::Known(next) => next,
            Next::Unread | Next::BrokenOff => 0,
        };
        let mut records = Vec::new();
        self.read_from(from, &mut |record| records.push(record))
            .await?;
        Ok(records)
    }

    /// Adds records, all of them or none. Many at once take hardly longer than one.
    ///
    /// # Errors
    ///
    /// When none was added. When the connection broke for longer than the lease lasts,
    /// or this was dropped before, they may have been added, and everything further is
    /// refused with [`StoreError::BrokenOff`].
    #[tracing::instrument(name = "store::journal::append_all", level = "debug", skip_all, fields(job = %self.lease.id, records = records.len()))]
    pub async fn append_all(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let rows = records
            .iter()
            .map(|record| NewRow::from_record(record, &self.lease))
            .collect::<Result<Vec<_>, _>>()?;
        let sequence = self.next().await?;
        // Stays so when this future is dropped before the commit has answered.
        self.next = Next::BrokenOff;
        let mut tries = self.database.tries(self.lease.until());
        let mut again = false;
        loop {
            let written = match self.write(sequence, &rows).await {
                // An unacknowledged operation may have been done.
                Err(StoreError::SecondWriter { .. })
                    if again && self.is_written(sequence, &rows).await? =>
                {
                    Ok(())
                }
                written => written,
            };
            self.next = match &written {
                Ok(()) => Next::Known(sequence + rows.len() as i64),
                Err(error) if tries.again(error).await => {
                    again = true;
                    continue;
                }
                Err(error) if again || error.is_passing() => Next::BrokenOff,
                Err(_) => Next::Known(sequence),
            };
            return written;
        }
    }

    /// Returns whether these are the last records, with nothing after them.
    async fn is_written(&self, sequence: i64, rows: &[NewRow]) -> Result<bool, StoreError> {
        let failed = |source| self.database.failed(source);
        let sql = "SELECT recorded, event, detail FROM records \
                   WHERE job = $1 AND sequence >= $2 ORDER BY sequence";
        let values = [self.lease.job.into(), sequence.into()];
        let until = self.lease.until();
        let found = self.database.fetch_until(until, sql, values).await?;
        if found.len() != rows.len() {
            return Ok(false);
        }
        for (found, row) in found.iter().zip(rows) {
            let same = found.int(0).map_err(failed)? == row.recorded
                && found.text(1).map_err(failed)? == row.event
                && found.optional_text(2).map_err(failed)? == row.detail;
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn next(&mut self) -> Result<i64, StoreError> {
        match self.next {
            Next::Known(next) => Ok(next),
            Next::BrokenOff => Err(StoreError::BrokenOff {
                id: self.lease.id.clone(),
            }),
            Next::Unread => {
                let sql = "SELECT coalesce(max(sequence) + 1, 0) FROM records WHERE job = $1";
                let values = [self.lease.job.into()];
                let until = self.lease.until();
                let rows = self.database.fetch_until(until, sql, values).await?;
                let next = rows.first().map_or(Ok(0), |row| row.int(0));
                next.map_err(|source| self.database.failed(source))
            }
        }
    }

    async fn write(&self, sequence: i64, rows: &[NewRow]) -> Result<(), StoreError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        let sum = |count: fn(&NewRow) -> i64| rows.iter().map(count).sum::<i64>();
        // First: the holder of the job cannot change from here to the commit.
        let held = transaction
            .execute(
                COUNT,
                [
                    self.lease.job.into(),
                    self.lease.token.into(),
                    sum(|row| runs(row.kind)).into(),
                    sum(|row| builds(row.kind)).into(),
                ],
            )
            .await?;
        if held == 0 {
            return Err(StoreError::LeaseLost {
                id: self.lease.id.clone(),
            });
        }
        match insert(&mut transaction, self.lease.job, sequence, rows).await {
            Ok(()) => {
                let runs = sum(|row| runs(row.kind));
                count_runs(&mut transaction, self.lease.job, runs).await?;
                transaction.commit().await
            }
            Err(error) if is_taken(&error) => Err(StoreError::SecondWriter {
                id: self.lease.id.clone(),
                sequence,
            }),
            Err(error) => Err(transaction.failed(error)),
        }
    }

    async fn read(&mut self, each: &mut (dyn FnMut(Record) + Send)) -> Result<(), StoreError> {
        self.read_from(0, each).await
    }

    /// Passes on every record from this number on, once, even if the connection breaks.
    #[tracing::instrument(name = "store::journal::read", level = "debug", skip_all, fields(job = %self.lease.id))]
    async fn read_from(
        &mut self,
        mut next: i64,
        each: &mut (dyn FnMut(Record) + Send),
    ) -> Result<(), StoreError> {
        let mut tries = self.database.tries(self.lease.until());
        loop {
            match self.try_read(&mut next, each).await {
                Err(error) if tries.again(&error).await => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    self.next = Next::Known(next);
                    return Ok(());
                }
            }
        }
    }

    /// Passes on the records from this number on, and raises it past each.
    async fn try_read(
        &self,
        next: &mut i64,
        each: &mut (dyn FnMut(Record) + Send),
    ) -> Result<(), StoreError> {
        let failed = |source| self.database.failed(source);
        // One statement sees one state of the store, so that the number of the next
        // record matches the records that were seen. Results of earlier statements still
        // hold: records are only added.
        let sql = "SELECT sequence, withdrawn, event, detail FROM records \
                   WHERE job = $1 AND sequence >= $2 ORDER BY sequence";
        let values = [self.lease.job.into(), (*next).into()];
        let take = |row: Row| {
            let sequence = row.int(0).map_err(failed)?;
            if row.int(1).map_err(failed)? == 0 {
                let event = row.text(2).map_err(failed)?;
                let detail = row.optional_text(3).map_err(failed)?;
                let record = record_of(&event, detail.as_deref(), self.created);
                each(record.map_err(|source| {
                    let place = format!("record {sequence} of job {}", self.lease.id);
                    damaged(&self.database.name, place, &source.to_string())
                })?);
            }
            *next = sequence + 1;
            Ok(())
        };
        self.database.fetch_each(sql, values, take).await
    }
}

#[async_trait]
impl Journal for JobJournal {
    fn job(&self) -> JobKey {
        JobKey {
            id: self.lease.id.to_string(),
            created: self.created,
        }
    }

    async fn replay(&mut self, each: &mut (dyn FnMut(Record) + Send)) -> Result<(), JournalError> {
        Ok(self.read(each).await?)
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        Ok(self.append_all(std::slice::from_ref(record)).await?)
    }
}

/// The record of a row of any version. `created` is the time at which its job was created.
pub(super) fn record_of(
    event: &str,
    detail: Option<&str>,
    created: u64,
) -> Result<Record, serde_json::Error> {
    let version_1 = |detail| {
        let event: Event = serde_json::from_str(event)?;
        Ok(RecordVersion1 { event, detail }.upgrade(created))
    };
    // Only rows of version 1 have details.
    if let Some(detail) = detail {
        return version_1(Some(serde_json::from_str(detail)?));
    }
    serde_json::from_str(event).or_else(|error| {
        version_1(None).map_err(|older: serde_json::Error| {
            // The version of the row was read, but not the name of the
            // record.
            let place = |error: &serde_json::Error| (error.line(), error.column());
            if place(&older) > place(&error) {
                older
            } else {
                error
            }
        })
    })
}

/// A record in its written form.
#[derive(Debug)]
pub(super) struct NewRow {
    pub(super) kind: &'static str,
    pub(super) event: String,
    pub(super) detail: Option<String>,
    pub(super) recorded: i64,
    pub(super) withdrawn: bool,
}

impl NewRow {
    pub(super) fn from_record(record: &Record, lease: &Lease) -> Result<Self, StoreError> {
        let id = &lease.id;
        check_finite(record).map_err(|(place, value)| StoreError::NotFinite {
            id: id.clone(),
            place,
            value,
        })?;
        let json = |source| StoreError::NotJson {
            what: format!("a record for job {id}"),
            source,
        };
        Ok(Self {
            kind: kind(record),
            event: serde_json::to_string(record).map_err(json)?,
            detail: None,
            recorded: now(),
            withdrawn: false,
        })
    }
}

/// Counts the runs and builds of records that are added to the journal of a job.
pub(super) const COUNT: &str = "UPDATE jobs SET runs = runs + $3, builds = builds + $4, deaths = 0, \
     runs_key = CASE WHEN runs_key < 0 THEN -1 ELSE runs + $3 END \
     WHERE number = $1 AND lease = $2";

/// Appends records to those of a job.
pub(super) async fn insert(
    transaction: &mut Transaction,
    job: i64,
    sequence: i64,
    rows: &[NewRow],
) -> Result<(), sqlx::Error> {
    const COLUMNS: usize = 7;
    for (chunk, sequence) in rows.chunks(ROWS).zip((sequence..).step_by(ROWS)) {
        let rows: Vec<String> = (0..chunk.len())
            .map(|row| {
                let parameters = (1..=COLUMNS).map(|column| format!("${}", row * COLUMNS + column));
                format!("({})", parameters.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let sql = format!(
            "INSERT INTO records (job, sequence, recorded, kind, event, detail, withdrawn) VALUES {}",
            rows.join(", ")
        );
        let values = chunk.iter().zip(sequence..).flat_map(|(row, sequence)| {
            let values: [Value; COLUMNS] = [
                job.into(),
                sequence.into(),
                row.recorded.into(),
                row.kind.into(),
                row.event.as_str().into(),
                row.detail.clone().into(),
                i64::from(row.withdrawn).into(),
            ];
            values
        });
        transaction.try_execute(&sql, values).await?;
    }
    Ok(())
}

/// Reads JSON that this program has written.
pub(super) fn parsed<T: DeserializeOwned>(
    store: &str,
    place: impl Fn() -> String,
    json: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| damaged(store, place(), &source.to_string()))
}

/// `what` replaces the expected JSON.
pub(super) fn damaged(store: &str, place: String, what: &str) -> StoreError {
    StoreError::Damaged {
        store: store.to_owned(),
        place,
        source: brief(what).into(),
    }
}

fn is_taken(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation())
}

/// Executions of the benchmark in a record of this name.
pub(super) fn runs(kind: &str) -> i64 {
    match kind {
        "ran" | "run_failed" => 1,
        "ran_pair" => 2,
        _ => 0,
    }
}

/// Builds in a record of this name.
pub(super) fn builds(kind: &str) -> i64 {
    i64::from(kind == "built")
}

/// The kind under which a record is counted. Kinds of version 1 keep their names.
pub(super) fn kind(record: &Record) -> &'static str {
    match record {
        Record::Started { .. } => "started",
        Record::Reported { report, .. } => match report {
            Report::Metric(_) => "metric",
            Report::Listed(_) => "listed",
            Report::Built(report) if report.failure.is_some() => "build_failed",
            Report::Built(report) if report.same_as.is_some() => "not_built",
            Report::Built(_) => "built",
            Report::Ran(report) if report.failure.is_some() => "run_failed",
            Report::Ran(_) => "ran",
            Report::RanPair(_) => "ran_pair",
            _ => "reported",
        },
        Record::GaveUp { .. } => "gave_up",
        Record::Canceled { .. } => "cancelled",
        Record::CancelRequested => "cancel_requested",
        Record::TimePassed { .. } => "time_passed",
        _ => "other",
    }
}

/// JSON has no NaN and no infinity: they would be written as `null`, and the
/// journal could not be read again.
fn check_finite(record: &Record) -> Result<(), (String, f64)> {
    let check = |place: &dyn Fn() -> String, values: &[f64]| match values
        .iter()
        .find(|value| !value.is_finite())
    {
        Some(value) => Err((place(), *value)),
        None => Ok(()),
    };
    let reports: Vec<&RunReport> = match record {
        Record::Reported { report, .. } => match report {
            Report::Ran(report) => vec![report],
            Report::RanPair(pair) => vec![&pair.first, &pair.second],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    for report in reports {
        for (chart, series) in &report.charts {
            check(&|| format!("chart {chart}"), &series.values)?;
        }
        if let Some(usage) = report.usage {
            check(
                &|| "its usage".into(),
                &[usage.wall, usage.user, usage.system],
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
mod tests {
    use super::*;
    use crate::database::Pool;
    use crate::{JobStore, NewJob};

    fn pool(journal: &JobJournal) -> &sqlx::SqlitePool {
        match &journal.database.pool {
            Pool::Sqlite(pool) => pool,
            #[cfg(feature = "postgres")]
            Pool::Postgres(_) => unreachable!("the store was opened as a file"),
        }
    }

    /// On every connection that may exist.
    async fn limit(journal: &JobJournal, pages: &'static str) {
        let pool = pool(journal);
        let mut connections = Vec::new();
        for _ in 0..pool.options().get_max_connections() {
            connections.push(pool.acquire().await.unwrap());
        }
        for connection in &mut connections {
            sqlx::query(pages).execute(&mut **connection).await.unwrap();
        }
    }

    /// SQLite gives the same error for a full disk and a full file.
    #[tokio::test]
    async fn a_full_disk_loses_nothing_and_is_survived() {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let job = NewJob {
            kind: "bisection".into(),
            ..NewJob::default()
        };
        let id = store.create(&job).await.unwrap();
        let mut journal = store.journal(&id).await.unwrap();
        limit(&journal, "PRAGMA max_page_count = 80").await;
        let failed = |action| Record::GaveUp {
            action,
            reason: "x".repeat(500),
        };

        let mut written = Vec::new();
        let error = loop {
            let record = failed(written.len() as u64);
            match journal.append(&record).await {
                Ok(()) => written.push(record),
                Err(error) => break *error.0.downcast::<StoreError>().unwrap(),
            }
        };
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        for words in [
            "disk is full",
            "nothing that was recorded is lost",
            "then resume the job",
        ] {
            assert!(error.to_string().contains(words), "{error}");
        }
        assert!(written.len() > 10);
        assert_eq!(journal.records().await.unwrap(), written);

        // Once there is space again, the same journal continues.
        limit(&journal, "PRAGMA max_page_count = 2000").await;
        written.push(failed(99));
        journal.append(&failed(99)).await.unwrap();
        let mut anew = store.journal(&id).await.unwrap();
        assert_eq!(anew.records().await.unwrap(), written);
    }
    /// As it may on a full disk.
    #[tokio::test]
    async fn a_transaction_that_sqlite_ends_by_itself_spoils_no_connection() {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let id = store.create(&NewJob::default()).await.unwrap();
        let mut journal = store.journal(&id).await.unwrap();
        for elapsed in 0..3 {
            let mut transaction = pool(&journal).begin().await.unwrap();
            let ended = sqlx::query("ROLLBACK").execute(&mut *transaction);
            ended.await.unwrap();
            drop(transaction);
            journal
                .append(&Record::TimePassed { elapsed })
                .await
                .unwrap();
        }
    }
}

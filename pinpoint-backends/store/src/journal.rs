//! The journal of a job: one row for each record.
//!
//! A row of version 2 has the record in its column `event`, as JSON. A row of version 1
//! has the machine's event there, and the executor's answer in `detail`; it stays as it
//! is, and is read as the equivalent record. A job started in version 1 has rows of both
//! once it is resumed, so that each row is read by itself.

use async_trait::async_trait;
use pinpoint_core::{JobKey, Journal, JournalError, Record};

use super::damage::damaged;
use super::database::{Access, Database, Row};
use super::quotas::count_runs;
use super::records::{COUNT, NewRow, builds, insert, is_taken, record_of, runs};
use super::{Lease, StoreError};

/// The version of the records that this program writes. It reads all versions up to this.
pub const JOURNAL_VERSION: u32 = 2;

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
        let id = store.jobs().create(&job).await.unwrap();
        let mut journal = store.journals().open(&id).await.unwrap();
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
        let mut anew = store.journals().open(&id).await.unwrap();
        assert_eq!(anew.records().await.unwrap(), written);
    }

    /// As it may on a full disk.
    #[tokio::test]
    async fn a_transaction_that_sqlite_ends_by_itself_spoils_no_connection() {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let id = store.jobs().create(&NewJob::default()).await.unwrap();
        let mut journal = store.journals().open(&id).await.unwrap();
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

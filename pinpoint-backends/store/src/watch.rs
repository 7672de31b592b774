//! Watching jobs that others work on, without a lease.
//!
//! One query tells which of the watched jobs have changed, however many watch them in a process;
//! the journals of those are read on from the last position.

use pinpoint_core::{JobState, Record};
use serde::{Deserialize, Serialize};

use super::database::{Row, Value};
use super::rows::state;
use super::views::Jobs;
use super::{JobId, JobJournal, StoreError};

/// The most jobs of one query.
const AT_ONCE: usize = 500;

/// A sign of a job's progress: it differs whenever its state or its journal has changed, it
/// was asked to end, or it was paused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobMark {
    /// The job.
    pub id: JobId,
    /// Its state.
    pub state: JobState,
    /// The time at which its state last changed, or it was resumed, in milliseconds since 1970.
    pub updated: i64,
    /// It was asked to end.
    pub cancel_requested: bool,
    /// No worker takes it until it is resumed.
    pub paused: bool,
    /// The number of the last record of its journal.
    pub last: Option<i64>,
}

/// A record of a journal, with the store's facts about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JournalEntry {
    /// Its number: numbers rise, and none is given twice.
    pub sequence: i64,
    /// The time at which it was recorded, in milliseconds since 1970.
    pub recorded: i64,
    /// It was withdrawn with a cancellation, and is not replayed.
    pub withdrawn: bool,
    /// The record.
    pub record: Record,
}

impl Jobs<'_> {
    /// The marks of these jobs, in any order; removed jobs have none.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or is damaged.
    #[tracing::instrument(name = "store::marks", level = "debug", skip_all)]
    pub async fn marks(self, jobs: &[JobId]) -> Result<Vec<JobMark>, StoreError> {
        let failed = |source| self.database.failed(source);
        let mut marks = Vec::with_capacity(jobs.len());
        for jobs in jobs.chunks(AT_ONCE) {
            let places: Vec<_> = (1..=jobs.len()).map(|place| format!("${place}")).collect();
            let sql = format!(
                "SELECT id, state, updated, cancel_requested, paused, \
                 (SELECT max(sequence) FROM records WHERE records.job = jobs.number) \
                 FROM jobs WHERE id IN ({})",
                places.join(", ")
            );
            let ids = jobs.iter().map(|id| Value::from(id.as_str()));
            for row in self.database.fetch(&sql, ids).await? {
                let id = JobId(row.text(0).map_err(failed)?);
                marks.push(JobMark {
                    state: state(self.database, &id, &row, 1)?,
                    updated: row.int(2).map_err(failed)?,
                    cancel_requested: row.int(3).map_err(failed)? != 0,
                    paused: row.int(4).map_err(failed)? != 0,
                    last: row.optional_int(5).map_err(failed)?,
                    id,
                });
            }
        }
        Ok(marks)
    }
}

impl JobJournal {
    /// The entries after the one of this number, including withdrawn ones: at most `limit`. Entries
    /// read before may be withdrawn later, when a canceled job is resumed.
    ///
    /// # Errors
    ///
    /// As of [`JobJournal::records`].
    #[tracing::instrument(name = "store::journal::entries_after", level = "debug", skip_all, fields(job = %self.lease.id))]
    pub async fn entries_after(
        &self,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        let failed = |source| self.database.failed(source);
        let sql = "SELECT sequence, recorded, withdrawn, event, detail FROM records \
                   WHERE job = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";
        let values: [Value; 3] = [
            self.lease.job.into(),
            after.unwrap_or(-1).into(),
            i64::from(limit).into(),
        ];
        let until = self.lease.until();
        let rows = self.database.fetch_until(until, sql, values).await?;
        let entry = |row: &Row| {
            let sequence = row.int(0).map_err(failed)?;
            let (event, detail) = (row.text(3), row.optional_text(4));
            let (event, detail) = (event.map_err(failed)?, detail.map_err(failed)?);
            Ok(JournalEntry {
                sequence,
                recorded: row.int(1).map_err(failed)?,
                withdrawn: row.int(2).map_err(failed)? != 0,
                record: self.parsed(sequence, &event, detail.as_deref())?,
            })
        };
        rows.iter().map(entry).collect()
    }
}

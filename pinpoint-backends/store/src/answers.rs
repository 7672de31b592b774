//! Journals with many writers: processes that carry out the actions of one job on several machines,
//! under one shared lease.
//!
//! The store gives each record its place. An answer is recorded once, however often the work was
//! done: a second writer gets the first answer. Each record names the one before it, so that a
//! reader can restore the order.

use std::time::Duration;

use pinpoint_core::Record;
use serde::{Deserialize, Serialize};

use super::damage::damaged;
use super::database::{Access, Row, Value};
use super::leases::milliseconds;
use super::quotas::count_runs;
use super::records::{COUNT, NewRow, builds, insert, record_of, runs};
use super::rows::unknown;
use super::views::Leases;
use super::{JobId, JobJournal, Lease, StoreError};

/// A record with its place in a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// Its number.
    pub sequence: i64,
    /// The number of the record before it, except for [`Record::Started`], which means nothing to a
    /// machine. Absent for the first one.
    pub previous: Option<i64>,
    /// The record.
    pub record: Record,
}

impl Leases<'_> {
    /// The lease of an owner who holds the job, for another process of the same owner. Renewal or
    /// loss affects both.
    ///
    /// # Errors
    ///
    /// [`StoreError::Leased`] names another holder; [`StoreError::LeaseLost`] when it is not
    /// leased.
    #[tracing::instrument(name = "store::share_lease", level = "debug", skip_all, fields(job = %id))]
    pub async fn share(self, id: &JobId, owner: &str, time: Duration) -> Result<Lease, StoreError> {
        let failed = |source| self.database.failed(source);
        let now = self.database.dialect().now();
        let sql = format!(
            "SELECT number, lease, lease_owner, lease_expires - {now} FROM jobs WHERE id = $1"
        );
        let rows = self.database.fetch(&sql, [id.as_str().into()]).await?;
        let row = rows.first().ok_or_else(|| unknown(id))?;
        match row.optional_text(2).map_err(failed)? {
            Some(holder) if holder == owner => {
                let (job, token) = (row.int(0).map_err(failed)?, row.int(1).map_err(failed)?);
                Ok(Lease::new(id.clone(), job, token, time))
            }
            Some(holder) => Err(StoreError::Leased {
                id: id.clone(),
                owner: holder,
                seconds: (row.int(3).map_err(failed)?.max(0) + 999) / 1000,
            }),
            None => Err(StoreError::LeaseLost { id: id.clone() }),
        }
    }

    /// The leases of an owner that expire within this time, or have expired: at most
    /// `limit`, the oldest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::expiring_leases", level = "debug", skip_all)]
    pub async fn expiring(
        self,
        owner: &str,
        within: Duration,
        limit: u32,
    ) -> Result<Vec<Lease>, StoreError> {
        let failed = |source| self.database.failed(source);
        let now = self.database.dialect().now();
        let sql = format!(
            "SELECT id, number, lease FROM jobs WHERE lease_owner = $1 \
             AND lease_expires < {now} + $2 AND state IN ('pending', 'running') \
             ORDER BY lease_expires LIMIT $3"
        );
        let values: [Value; 3] = [
            owner.into(),
            milliseconds(within).into(),
            i64::from(limit).into(),
        ];
        let rows = self.database.fetch(&sql, values).await?;
        let lease = |row: &Row| {
            let id = JobId(row.text(0).map_err(failed)?);
            let (job, token) = (row.int(1).map_err(failed)?, row.int(2).map_err(failed)?);
            Ok(Lease::new(id, job, token, within))
        };
        rows.iter().map(lease).collect()
    }
}

impl JobJournal {
    /// Records an answer, a ticket or another fact, unless the journal has it already after the
    /// record of this number: an answer to the same action, or the same fact. Returns the recorded
    /// one.
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseLost`]; [`StoreError::Damaged`] when the journal lacks the record of this
    /// number; or when the store cannot be written.
    #[tracing::instrument(name = "store::journal::record_once", level = "debug", skip_all, fields(job = %self.lease.id))]
    pub async fn record_once(
        &self,
        record: &Record,
        after: Option<i64>,
    ) -> Result<Placed, StoreError> {
        let row = NewRow::from_record(record, &self.lease)?;
        let mut tries = self.database.tries(self.lease.until());
        loop {
            match self.try_record_once(record, &row, after).await {
                Err(error) if tries.again(&error).await => {}
                recorded => return recorded,
            }
        }
    }

    /// Makes one attempt, which is idempotent.
    async fn try_record_once(
        &self,
        record: &Record,
        row: &NewRow,
        after: Option<i64>,
    ) -> Result<Placed, StoreError> {
        let job = self.lease.job;
        let failed = |source| self.database.failed(source);
        let mut transaction = self.database.begin(Access::Write).await?;
        // First: writers come one after the other from here on, and the lease cannot change.
        let held = transaction
            .execute(
                COUNT,
                [
                    job.into(),
                    self.lease.token.into(),
                    runs(row.kind).into(),
                    builds(row.kind).into(),
                ],
            )
            .await?;
        if held == 0 {
            let id = self.lease.id.clone();
            return Err(StoreError::LeaseLost { id });
        }
        // Includes the one before, which has the last number if there are no others.
        let known = transaction
            .fetch(
                "SELECT sequence, withdrawn, event, detail FROM records \
                 WHERE job = $1 AND sequence >= $2 ORDER BY sequence",
                [job.into(), after.unwrap_or(0).into()],
            )
            .await?;
        let mut previous = after;
        for row in &known {
            let sequence = row.int(0).map_err(failed)?;
            if Some(sequence) == after || row.int(1).map_err(failed)? != 0 {
                continue;
            }
            let (event, detail) = (row.text(2).map_err(failed)?, row.optional_text(3));
            let detail = detail.map_err(failed)?;
            let known = self.parsed(sequence, &event, detail.as_deref())?;
            if answers_the_same(&known, record) {
                return Ok(Placed {
                    sequence,
                    previous,
                    record: known,
                });
            }
            if !matches!(known, Record::Started { .. }) {
                previous = Some(sequence);
            }
        }
        let sequence = match (known.last(), after) {
            (Some(last), _) => last.int(0).map_err(failed)? + 1,
            (None, None) => 0,
            (None, Some(after)) => {
                let place = format!("record {after} of job {}", self.lease.id);
                return Err(damaged(&self.database.name, place, "it is missing"));
            }
        };
        let written = insert(&mut transaction, job, sequence, std::slice::from_ref(row)).await;
        written.map_err(|error| transaction.failed(error))?;
        count_runs(&mut transaction, job, runs(row.kind)).await?;
        transaction.commit().await?;
        Ok(Placed {
            sequence,
            previous,
            record: record.clone(),
        })
    }

    /// The records after the one of this number, except for tickets: at most `limit`.
    ///
    /// # Errors
    ///
    /// As of [`JobJournal::records`].
    pub async fn records_after(
        &self,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Placed>, StoreError> {
        let failed = |source| self.database.failed(source);
        let sql = "SELECT sequence, event, detail FROM records WHERE job = $1 AND sequence > $2 \
                   AND withdrawn = 0 AND kind <> 'started' ORDER BY sequence LIMIT $3";
        let values: [Value; 3] = [
            self.lease.job.into(),
            after.unwrap_or(-1).into(),
            i64::from(limit).into(),
        ];
        let until = self.lease.until();
        let rows = self.database.fetch_until(until, sql, values).await?;
        let mut previous = after;
        let mut records = Vec::with_capacity(rows.len());
        for row in &rows {
            let sequence = row.int(0).map_err(failed)?;
            let (event, detail) = (row.text(1).map_err(failed)?, row.optional_text(2));
            let detail = detail.map_err(failed)?;
            records.push(Placed {
                sequence,
                previous,
                record: self.parsed(sequence, &event, detail.as_deref())?,
            });
            previous = Some(sequence);
        }
        Ok(records)
    }

    pub(super) fn parsed(
        &self,
        sequence: i64,
        event: &str,
        detail: Option<&str>,
    ) -> Result<Record, StoreError> {
        record_of(event, detail, self.created).map_err(|source| {
            let place = format!("record {sequence} of job {}", self.lease.id);
            damaged(&self.database.name, place, &source.to_string())
        })
    }
}

/// Returns whether these are equivalent.
fn answers_the_same(known: &Record, new: &Record) -> bool {
    let is_ticket = |record: &Record| matches!(record, Record::Started { .. });
    match (known.action(), new.action()) {
        (Some(known_action), Some(action)) => {
            known_action == action
                && is_ticket(known) == is_ticket(new)
                && (!is_ticket(known) || known == new)
        }
        (None, None) => known == new,
        _ => false,
    }
}

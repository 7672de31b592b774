//! Taking jobs, so that no two workers take the same one.

use std::time::Duration;

use pinpoint_core::JobState;

use super::database::{Access, Row, Value};
use super::query::Query;
use super::rows::{state, unknown};
use super::signature::has_signature;
use super::states::stop;
use super::views::{Jobs, Leases, Signatures};
use super::{JOURNAL_VERSION, Job, JobFilter, JobId, Lease, PublicKey, StoreError};

/// The columns that a statement returns of the job it has taken.
const TAKEN: &str = "RETURNING id, number, lease, deaths";

/// A job is left failed once this many workers in a row have died over it, and paused once it
/// was put back so often.
const MOST_DEATHS: i64 = 5;

/// The duration in an update of a job that is taken or kept: where its lease had expired, the time
/// since then was not spent running. The process was killed, or suspended.
fn without_the_gap(now: &str) -> String {
    let gap = format!("state = 'running' AND lease_owner IS NOT NULL AND lease_expires < {now}");
    format!(
        "duration = CASE WHEN {gap} AND lease_expires > updated \
         THEN coalesce(duration, 0) + lease_expires - updated ELSE duration END, \
         updated = CASE WHEN {gap} THEN {now} ELSE updated END"
    )
}

/// The conditions on jobs that need a worker: their worker has gone, or they wait for one, and
/// they are not paused.
pub(super) fn without_worker(now: &str) -> [String; 2] {
    [
        format!(
            "state = 'running' AND lease_owner IS NOT NULL AND lease_expires < {now} \
             AND paused = 0"
        ),
        format!(
            "state = 'pending' AND (lease_owner IS NULL OR lease_expires < {now}) AND paused = 0"
        ),
    ]
}

/// The jobs of a query that may be taken. Those whose worker has gone come first.
fn waiting(query: &Query, now: &str) -> [String; 2] {
    let from = format!(
        "FROM {} WHERE {}",
        query.from,
        query.conditions.join(" AND ")
    );
    let known = format!("lease >= 0 AND journal_version <= {JOURNAL_VERSION}");
    without_worker(now).map(|waits| format!("{from} AND {waits} AND {known}"))
}

impl Leases<'_> {
    /// Takes the oldest job that matches the filter and needs a worker: a pending one that no
    /// worker holds, or one whose worker let its lease expire while the job was running. Of many
    /// concurrent workers each gets another job. `None` when there is nothing to do, which is cheap
    /// to find out.
    ///
    /// Imported jobs that no user has trusted since are not taken, nor those whose journal is of a
    /// later version. A damaged one is left failed, and so is one over which five workers in a row
    /// have died without a record: it is likely the reason.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written, or the job is damaged.
    #[tracing::instrument(name = "store::take", level = "debug", skip_all)]
    pub async fn take(
        self,
        filter: &JobFilter,
        owner: &str,
        time: Duration,
    ) -> Result<Option<(Job, Lease)>, StoreError> {
        let query = Query::new(self.database.dialect(), filter);
        self.take_of(&query, owner, time).await
    }

    /// Like [`Leases::take`], among the unaltered jobs with a signature by one of these keys. The
    /// others are left alone, and delay none.
    ///
    /// # Errors
    ///
    /// The same.
    #[tracing::instrument(name = "store::take_signed", level = "debug", skip_all)]
    pub async fn take_signed(
        self,
        filter: &JobFilter,
        trusted: &[PublicKey],
        owner: &str,
        time: Duration,
    ) -> Result<Option<(Job, Lease)>, StoreError> {
        let dialect = self.database.dialect();
        let mut query = Query::new(dialect, filter);
        let (condition, names) = has_signature(trusted, query.values.len() + 1);
        query.conditions.push(condition);
        query.values.extend(names.into_iter().map(Value::from));
        let waiting = waiting(&query, dialect.now());
        let mut ids = Vec::new();
        for waiting in waiting {
            let sql = format!("SELECT jobs.id {waiting} ORDER BY jobs.number");
            let rows = self.database.fetch(&sql, query.values.clone()).await?;
            for row in &rows {
                let id = row.text(0).map_err(|source| self.database.failed(source))?;
                ids.push(JobId(id));
            }
        }
        let jobs = Jobs {
            database: self.database,
        };
        let signatures = Signatures {
            database: self.database,
        };
        for id in ids {
            // An unreadable one is not signed.
            let Ok(job) = jobs.get(&id).await else {
                continue;
            };
            if !signatures.is_signed(&job, trusted).await? {
                continue;
            }
            let mut query = Query::new(dialect, filter);
            query.only(id.as_str());
            if let Some((job, lease)) = self.take_of(&query, owner, time).await? {
                // It may have been altered before it was taken.
                if signatures.is_signed(&job, trusted).await? {
                    return Ok(Some((job, lease)));
                }
                self.release(&lease).await?;
            }
        }
        Ok(None)
    }

    async fn take_of(
        self,
        query: &Query,
        owner: &str,
        time: Duration,
    ) -> Result<Option<(Job, Lease)>, StoreError> {
        let dialect = self.database.dialect();
        let now = dialect.now();
        let waiting = waiting(query, now);
        // Workers that find nothing to do take no lock.
        let sql = format!(
            "SELECT 1 WHERE EXISTS (SELECT 1 {}) OR EXISTS (SELECT 1 {})",
            waiting[0], waiting[1],
        );
        if (self.database.fetch(&sql, query.values.clone()).await?).is_empty() {
            return Ok(None);
        }
        for waiting in waiting {
            let count = query.values.len();
            let sql = format!(
                "UPDATE jobs SET lease = lease + 1, lease_owner = ${}, lease_expires = {now} + ${}, \
                 deaths = CASE WHEN state = 'running' THEN deaths + 1 ELSE deaths END, {} WHERE number = (SELECT jobs.number {waiting} ORDER BY jobs.number LIMIT 1{}) \
                 {TAKEN}",
                count + 1,
                count + 2,
                without_the_gap(now),
                dialect.skip_locked(),
            );
            let last = [owner.into(), milliseconds(time).into()];
            let values = query.values.iter().cloned().chain(last);
            let rows = self.database.fetch(&sql, values).await?;
            if let Some(row) = rows.first() {
                let lease = self.lease_of(row, time)?;
                let deaths = row.int(3).map_err(|source| self.database.failed(source))?;
                if deaths >= MOST_DEATHS {
                    let reason = format!("{deaths} workers in a row have died over it");
                    self.give_up(&lease, &reason).await?;
                    continue;
                }
                let jobs = Jobs {
                    database: self.database,
                };
                return match jobs.get(&lease.id).await {
                    Ok(job) => Ok(Some((job, lease))),
                    Err(error) => {
                        self.give_up_damaged(&lease, &error).await?;
                        Err(error)
                    }
                };
            }
        }
        Ok(None)
    }

    /// Releases a job that was taken and cannot be opened. If its data in the store are damaged, it
    /// is left failed: it must not be taken over and over.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[doc(hidden)]
    pub async fn give_up_damaged(
        self,
        lease: &Lease,
        error: &StoreError,
    ) -> Result<(), StoreError> {
        match error {
            StoreError::Damaged { .. } => self.give_up(lease, &error.to_string()).await,
            _ => self.release(lease).await,
        }
    }

    /// Leaves a job failed, for this reason, and releases it.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[doc(hidden)]
    pub async fn give_up(self, lease: &Lease, reason: &str) -> Result<(), StoreError> {
        let running = self.set_state(lease, JobState::Running, None, None);
        match running.await {
            // It is already, if a worker has died over it.
            Ok(()) | Err(StoreError::Transition { .. }) => {}
            Err(error) => return Err(error),
        }
        self.set_state(lease, JobState::Failed, Some(reason), None)
            .await?;
        self.release(lease).await
    }

    /// Notes the reason that a job cannot continue here and now, though it is sound: it is pending
    /// again, for the next worker. Once that has happened five times in a row without a record, it
    /// is paused, so that it neither goes around forever nor delays others.
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseLost`], or when the store cannot be written.
    #[doc(hidden)]
    pub async fn put_back(self, lease: &Lease, reason: &str) -> Result<(), StoreError> {
        let mut tries = self.database.tries(lease.until());
        loop {
            match self.try_put_back(lease, reason).await {
                Err(error) if tries.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_put_back(self, lease: &Lease, reason: &str) -> Result<(), StoreError> {
        let failed = |source| self.database.failed(source);
        let mut transaction = self.database.begin(Access::Write).await?;
        let sql = format!(
            "SELECT state, deaths, by_workers FROM jobs WHERE number = $1 AND lease = $2{}",
            self.database.dialect().for_update()
        );
        let values: [Value; 2] = [lease.job.into(), lease.token.into()];
        let rows = transaction.fetch(&sql, values).await?;
        let Some(row) = rows.first() else {
            return Err(StoreError::LeaseLost {
                id: lease.id.clone(),
            });
        };
        // An unacknowledged attempt may have been made.
        if state(self.database, &lease.id, row, 0)? != JobState::Running {
            return transaction.roll_back().await;
        }
        let attempts = row.int(1).map_err(failed)? + 1;
        let is_paused = row.int(2).map_err(failed)? != 0 && attempts >= MOST_DEATHS;
        let reason = match is_paused {
            true => format!("paused after {attempts} attempts in a row without a record: {reason}"),
            false => reason.to_owned(),
        };
        stop(self.database, &mut transaction, lease, &reason).await?;
        let sql = "UPDATE jobs SET deaths = $2, paused = CASE WHEN $3 = 1 THEN 1 ELSE paused END \
                   WHERE number = $1";
        let values: [Value; 3] = [
            lease.job.into(),
            attempts.into(),
            i64::from(is_paused).into(),
        ];
        transaction.execute(sql, values).await?;
        transaction.commit().await
    }

    /// Resets the number of workers that have died over a job.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[doc(hidden)]
    pub async fn forgive(self, lease: &Lease) -> Result<(), StoreError> {
        let sql = "UPDATE jobs SET deaths = 0 WHERE number = $1 AND lease = $2 AND deaths > 0";
        let values: [Value; 2] = [lease.job.into(), lease.token.into()];
        self.database.execute(sql, values).await.map(drop)
    }

    /// Takes a certain job, if no other worker holds it. An owner who holds it already
    /// takes it again, and its earlier lease becomes invalid.
    ///
    /// # Errors
    ///
    /// [`StoreError::Leased`] names the holder.
    #[tracing::instrument(name = "store::lease", level = "debug", skip_all, fields(job = %id))]
    pub async fn grant(self, id: &JobId, owner: &str, time: Duration) -> Result<Lease, StoreError> {
        let now = self.database.dialect().now();
        let failed = |source| self.database.failed(source);
        loop {
            let sql =
                format!("SELECT lease, lease_owner, lease_expires - {now} FROM jobs WHERE id = $1");
            let rows = self.database.fetch(&sql, [id.as_str().into()]).await?;
            let row = rows.first().ok_or_else(|| unknown(id))?;
            let token = row.int(0).map_err(failed)?;
            let left = row.int(2).map_err(failed)?;
            if let Some(holder) = row.optional_text(1).map_err(failed)?
                && holder != owner
                && left >= 0
            {
                return Err(StoreError::Leased {
                    id: id.clone(),
                    owner: holder,
                    seconds: (left + 999) / 1000,
                });
            }
            // Only if no one has taken it in between: this may be retried, and the first request
            // may arrive last.
            let sql = format!(
                "UPDATE jobs SET lease = lease + 1, lease_owner = $2, lease_expires = {now} + $3, \
                 deaths = 0, {} WHERE id = $1 AND lease = $4 {TAKEN}",
                without_the_gap(now)
            );
            let values: [Value; 4] = [
                id.as_str().into(),
                owner.into(),
                milliseconds(time).into(),
                token.into(),
            ];
            let rows = self.database.fetch(&sql, values).await?;
            if let Some(row) = rows.first() {
                return self.lease_of(row, time);
            }
        }
    }

    /// Extends a lease to this time from now.
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseLost`].
    #[tracing::instrument(name = "store::renew", level = "debug", skip_all, fields(job = %lease.id))]
    pub async fn renew(self, lease: &Lease, time: Duration) -> Result<(), StoreError> {
        let now = self.database.dialect().now();
        let sql = format!(
            "UPDATE jobs SET lease_expires = {now} + $3, {} WHERE number = $1 AND lease = $2",
            without_the_gap(now)
        );
        let values: [Value; 3] = [
            lease.job.into(),
            lease.token.into(),
            milliseconds(time).into(),
        ];
        let until = lease.until();
        match self.database.execute_until(until, &sql, values).await? {
            0 => Err(StoreError::LeaseLost {
                id: lease.id.clone(),
            }),
            _ => {
                lease.renewed(time);
                Ok(())
            }
        }
    }

    /// Releases a job; one that was running is pending again. It is not an error if the
    /// lease was lost already.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[tracing::instrument(name = "store::release", level = "debug", skip_all, fields(job = %lease.id))]
    pub async fn release(self, lease: &Lease) -> Result<(), StoreError> {
        // The number rises, so that no more writes under the lease are possible.
        let now = self.database.dialect().now();
        let sql = format!(
            "UPDATE jobs SET lease = lease + 1, lease_owner = NULL, lease_expires = 0, \
             duration = CASE WHEN state = 'running' THEN coalesce(duration, 0) + {now} - updated \
             ELSE duration END, \
             updated = CASE WHEN state = 'running' THEN {now} ELSE updated END, \
             state = CASE WHEN state = 'running' THEN 'pending' ELSE state END \
             WHERE number = $1 AND lease = $2"
        );
        let values: [Value; 2] = [lease.job.into(), lease.token.into()];
        let until = lease.until();
        self.database.execute_until(until, &sql, values).await?;
        Ok(())
    }

    fn lease_of(self, row: &Row, time: Duration) -> Result<Lease, StoreError> {
        let failed = |source| self.database.failed(source);
        let id = JobId(row.text(0).map_err(failed)?);
        let (job, token) = (row.int(1).map_err(failed)?, row.int(2).map_err(failed)?);
        Ok(Lease::new(id, job, token, time))
    }
}

pub(super) fn milliseconds(time: Duration) -> i64 {
    // A time beyond the range of clocks means no end.
    i64::try_from(time.as_millis()).map_or(i64::MAX / 4, |time| time.min(i64::MAX / 4))
}

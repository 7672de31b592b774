//! Taking jobs, so that no two workers take the same one.

use std::time::Duration;

use super::database::{Row, Value};
use super::jobs::{JobStore, unknown};
use super::list::Query;
use super::{Job, JobFilter, JobId, Lease, StoreError};

/// The columns that a statement returns of the job it has taken.
const TAKEN: &str = "RETURNING id, number, lease";

/// In an update of a job that is taken or kept: where its lease had expired, the time
/// from then on was not spent running. The process was killed, or suspended.
fn without_the_gap(now: &str) -> String {
    let gap = format!("state = 'running' AND lease_owner IS NOT NULL AND lease_expires < {now}");
    format!(
        "duration = CASE WHEN {gap} AND lease_expires > updated \
         THEN coalesce(duration, 0) + lease_expires - updated ELSE duration END, \
         updated = CASE WHEN {gap} THEN {now} ELSE updated END"
    )
}

impl JobStore {
    /// Takes the oldest job that matches the filter and needs a worker: a pending one
    /// that no worker holds, or one whose worker let its lease expire while the job was
    /// running. Of many workers that ask at once each gets another job. None when there
    /// is nothing to do.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    #[tracing::instrument(name = "store::take", level = "debug", skip_all)]
    pub async fn take(
        &self,
        filter: &JobFilter,
        owner: &str,
        time: Duration,
    ) -> Result<Option<(Job, Lease)>, StoreError> {
        let dialect = self.database.dialect();
        let now = dialect.now();
        // Jobs whose worker has gone come first.
        for there in [
            format!("state = 'running' AND lease_owner IS NOT NULL AND lease_expires < {now}"),
            format!("state = 'pending' AND (lease_owner IS NULL OR lease_expires < {now})"),
        ] {
            let query = Query::new(dialect, filter);
            let count = query.values.len();
            let sql = format!(
                "UPDATE jobs SET lease = lease + 1, lease_owner = ${}, lease_expires = {now} + ${}, \
                 {} WHERE number = (SELECT jobs.number FROM {} WHERE {} AND {there} \
                                 ORDER BY jobs.number LIMIT 1{}) {TAKEN}",
                count + 1,
                count + 2,
                without_the_gap(now),
                query.from,
                query.conditions.join(" AND "),
                dialect.skip_locked(),
            );
            let last = [owner.into(), milliseconds(time).into()];
            let values = query.values.into_iter().chain(last);
            let rows = self.database.fetch(&sql, values).await?;
            if let Some(row) = rows.first() {
                let lease = self.lease_of(row, time)?;
                let job = self.get(lease.id.as_str()).await?;
                return Ok(Some((job, lease)));
            }
        }
        Ok(None)
    }

    /// Takes a certain job, if no other worker holds it. An owner who holds it already
    /// takes it again, and its earlier lease becomes invalid.
    ///
    /// # Errors
    ///
    /// [`StoreError::Leased`] names the holder.
    #[tracing::instrument(name = "store::lease", level = "debug", skip_all, fields(job = %id))]
    pub async fn lease(
        &self,
        id: &JobId,
        owner: &str,
        time: Duration,
    ) -> Result<Lease, StoreError> {
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
            // Only if no one has taken it meanwhile: this may be retried, and what
            // was sent first may arrive last.
            let sql = format!(
                "UPDATE jobs SET lease = lease + 1, lease_owner = $2, lease_expires = {now} + $3, \
                 {} WHERE id = $1 AND lease = $4 {TAKEN}",
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
    pub async fn renew(&self, lease: &Lease, time: Duration) -> Result<(), StoreError> {
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

    /// Releases a job. It is not an error if the lease was lost already.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[tracing::instrument(name = "store::release", level = "debug", skip_all, fields(job = %lease.id))]
    pub async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        // The number rises, so that no more writes under the lease are possible.
        let sql = "UPDATE jobs SET lease = lease + 1, lease_owner = NULL, lease_expires = 0 \
                   WHERE number = $1 AND lease = $2";
        let values: [Value; 2] = [lease.job.into(), lease.token.into()];
        let until = lease.until();
        self.database.execute_until(until, sql, values).await?;
        Ok(())
    }

    fn lease_of(&self, row: &Row, time: Duration) -> Result<Lease, StoreError> {
        let failed = |source| self.database.failed(source);
        let id = JobId(row.text(0).map_err(failed)?);
        let (job, token) = (row.int(1).map_err(failed)?, row.int(2).map_err(failed)?);
        Ok(Lease::new(id, job, token, time))
    }
}

fn milliseconds(time: Duration) -> i64 {
    // A time beyond the range of clocks means no end.
    i64::try_from(time.as_millis()).map_or(i64::MAX / 4, |time| time.min(i64::MAX / 4))
}

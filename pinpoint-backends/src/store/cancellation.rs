//! Requests to end a job, and their withdrawal.

use super::database::{Access, Row, Value};
use super::jobs::{count_anew, one, unknown};
use super::{JobId, JobStore, StoreError};

impl JobStore {
    /// Asks the worker of a job to end it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be written.
    #[tracing::instrument(name = "store::request_cancel", level = "debug", skip_all, fields(job = %id))]
    pub async fn request_cancel(&self, id: &JobId) -> Result<(), StoreError> {
        let sql = "UPDATE jobs SET cancel_requested = 1 WHERE id = $1";
        one(id, self.database.execute(sql, [id.as_str().into()]).await?)
    }

    /// Was the job asked to end? Cheap enough to ask several
    /// times a second.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be read.
    #[tracing::instrument(name = "store::cancel_requested", level = "debug", skip_all, fields(job = %id))]
    pub async fn cancel_requested(&self, id: &JobId) -> Result<bool, StoreError> {
        let sql = "SELECT cancel_requested FROM jobs WHERE id = $1";
        let rows = self.database.fetch(sql, [id.as_str().into()]).await?;
        let row = rows.first().ok_or_else(|| unknown(id))?;
        let asked = row.int(0).map_err(|source| self.database.failed(source))?;
        Ok(asked != 0)
    }

    /// Withdraws the request to end the job.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be written.
    #[tracing::instrument(name = "store::clear_cancel", level = "debug", skip_all, fields(job = %id))]
    pub async fn clear_cancel(&self, id: &JobId) -> Result<(), StoreError> {
        let sql = "UPDATE jobs SET cancel_requested = 0 WHERE id = $1";
        one(id, self.database.execute(sql, [id.as_str().into()]).await?)
    }

    /// Returns a canceled job to where it was before: the request, and every record after
    /// it, is kept but no longer replayed. Clears the request of
    /// [`JobStore::request_cancel`] in the same transaction, since a crash between the
    /// two would cancel the job again. Returns how many records were withdrawn.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be written; then
    /// nothing has changed.
    #[tracing::instrument(name = "store::withdraw_cancellation", level = "debug", skip_all, fields(job = %id))]
    pub async fn withdraw_cancellation(&self, id: &JobId) -> Result<u64, StoreError> {
        let mut tries = self.database.tries(None);
        loop {
            match self.try_withdraw_cancellation(id).await {
                Err(error) if tries.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_withdraw_cancellation(&self, id: &JobId) -> Result<u64, StoreError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        let sql = "UPDATE jobs SET cancel_requested = 0 WHERE id = $1";
        one(id, transaction.execute(sql, [id.as_str().into()]).await?)?;
        let withdrawn = transaction
            .execute(
                "UPDATE records SET withdrawn = 1 \
                 WHERE job = (SELECT number FROM jobs WHERE id = $1) AND withdrawn = 0 \
                 AND sequence >= (SELECT min(sequence) FROM records \
                                  WHERE job = (SELECT number FROM jobs WHERE id = $1) \
                                  AND withdrawn = 0 AND kind = 'cancel_requested')",
                [id.as_str().into()],
            )
            .await?;
        count_anew(&mut transaction, id).await?;
        transaction.commit().await?;
        Ok(withdrawn)
    }

    /// The jobs that an owner holds and that were asked to end: at most `limit`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::cancel_requests", level = "debug", skip_all)]
    pub async fn cancel_requests(&self, owner: &str, limit: u32) -> Result<Vec<JobId>, StoreError> {
        let sql = "SELECT id FROM jobs WHERE lease_owner = $1 AND cancel_requested = 1 \
                   AND state IN ('pending', 'running') ORDER BY number LIMIT $2";
        let values: [Value; 2] = [owner.into(), i64::from(limit).into()];
        let rows = self.database.fetch(sql, values).await?;
        let id = |row: &Row| {
            Ok(JobId(
                row.text(0).map_err(|source| self.database.failed(source))?,
            ))
        };
        rows.iter().map(id).collect()
    }
}

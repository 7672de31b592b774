//! Pausing jobs: no worker takes one until it is resumed.

use super::change::Change;
use super::rows::{state, unknown};
use super::views::Jobs;
use super::{AuditEntry, JobId, StoreError};
use pinpoint_core::JobState;

impl Jobs<'_> {
    /// Keeps workers from a job that has not ended, until [`Jobs::resume`]. A worker that holds
    /// it releases it after the run under way.
    ///
    /// # Errors
    ///
    /// [`StoreError::Transition`] for a job that has ended.
    #[tracing::instrument(name = "store::pause", level = "debug", skip_all, fields(job = %id))]
    pub async fn pause(self, id: &JobId, entry: Option<&AuditEntry>) -> Result<(), StoreError> {
        let mut change = Change::new(self.database, entry);
        loop {
            match self.try_pause(&change, id).await {
                Err(error) if change.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_pause(self, change: &Change<'_>, id: &JobId) -> Result<(), StoreError> {
        let Some(mut transaction) = change.begin().await? else {
            return Ok(());
        };
        let sql = "UPDATE jobs SET paused = 1 WHERE id = $1 AND state IN ('pending', 'running')";
        if transaction.execute(sql, [id.as_str().into()]).await? == 0 {
            let sql = "SELECT state FROM jobs WHERE id = $1";
            let rows = transaction.fetch(sql, [id.as_str().into()]).await?;
            let row = rows.first().ok_or_else(|| unknown(id))?;
            return Err(StoreError::Transition {
                id: id.clone(),
                from: state(self.database, id, row, 0)?,
                to: JobState::Pending,
            });
        }
        change.commit(transaction).await
    }

    /// Returns whether the job is paused. Cheap enough to call several times a second.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be read.
    #[tracing::instrument(name = "store::is_paused", level = "debug", skip_all, fields(job = %id))]
    pub async fn is_paused(self, id: &JobId) -> Result<bool, StoreError> {
        let sql = "SELECT paused FROM jobs WHERE id = $1";
        let rows = self.database.fetch(sql, [id.as_str().into()]).await?;
        let row = rows.first().ok_or_else(|| unknown(id))?;
        let paused = row.int(0).map_err(|source| self.database.failed(source))?;
        Ok(paused != 0)
    }
}

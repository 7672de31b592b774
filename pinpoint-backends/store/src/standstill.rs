//! The reason that a job on Temporal does not continue.

use super::database::{Access, Value};
use super::states::stop;
use super::views::Leases;
use super::{Lease, StoreError};

/// The reason of a job whose workflow is paused. Others do not replace it.
#[doc(hidden)]
pub const PAUSED: &str = "its workflow is paused; send it the update `resume` to go on";

impl Leases<'_> {
    /// Notes the reason that an unfinished job does not continue, or that it does. Its state stays
    /// the same.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[doc(hidden)]
    pub async fn note_standstill(
        self,
        lease: &Lease,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        // An unchanged row is not written.
        let sql = "UPDATE jobs SET error = $3 WHERE number = $1 AND lease = $2 \
                   AND state IN ('pending', 'running') \
                   AND coalesce(error, '') NOT IN (coalesce($3, ''), $4)";
        let values: [Value; 4] = [
            lease.job.into(),
            lease.token.into(),
            reason.map(str::to_owned).into(),
            PAUSED.into(),
        ];
        self.database.execute(sql, values).await.map(drop)
    }

    /// Notes that the workflow of a job is no longer paused.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[doc(hidden)]
    pub async fn end_pause(self, lease: &Lease) -> Result<(), StoreError> {
        let sql = "UPDATE jobs SET error = NULL WHERE number = $1 AND lease = $2 AND error = $3";
        let values: [Value; 3] = [lease.job.into(), lease.token.into(), PAUSED.into()];
        self.database.execute(sql, values).await.map(drop)
    }

    /// Leaves a job that no machine can carry out for now paused, with the reason, until it is
    /// resumed.
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseLost`], or when the store cannot be written.
    #[doc(hidden)]
    pub async fn pause(self, lease: &Lease, reason: &str) -> Result<(), StoreError> {
        let mut tries = self.database.tries(lease.until());
        loop {
            match self.try_pause_leased(lease, reason).await {
                Err(error) if tries.again(&error).await => {}
                done => return done,
            }
        }
    }

    /// Makes one attempt, which is idempotent.
    async fn try_pause_leased(self, lease: &Lease, reason: &str) -> Result<(), StoreError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        let sql =
            "UPDATE jobs SET paused = 1 WHERE number = $1 AND lease = $2 AND state = 'running'";
        let values: [Value; 2] = [lease.job.into(), lease.token.into()];
        if transaction.execute(sql, values).await? == 0 {
            return transaction.roll_back().await;
        }
        stop(self.database, &mut transaction, lease, reason).await?;
        transaction.commit().await
    }
}

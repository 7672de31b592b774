//! Counts of what users do, for quotas. Each is one query that an index answers.

use super::database::{Transaction, Value};
use super::job::first_number;
use super::{JobStore, StoreError};

/// Milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

impl JobStore {
    /// The number of jobs of a user that were created at this time (in milliseconds since
    /// 1970) or later.
    ///
    /// # Errors
    ///
    /// When the store can't be read.
    #[tracing::instrument(name = "store::jobs_created", level = "debug", skip_all)]
    pub async fn jobs_created(&self, user: &str, since: i64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM jobs WHERE username = $1 AND number >= $2";
        self.counted(sql, [user.into(), first_number(since).into()])
            .await
    }

    /// The number of jobs of a user that have not ended: pending and running ones.
    ///
    /// # Errors
    ///
    /// When the store can't be read.
    #[tracing::instrument(name = "store::jobs_under_way", level = "debug", skip_all)]
    pub async fn jobs_under_way(&self, user: &str) -> Result<u64, StoreError> {
        // The condition is the one of the index.
        let sql = "SELECT count(*) FROM jobs \
                   WHERE username = $1 AND state IN ('pending', 'running')";
        self.counted(sql, [user.into()]).await
    }

    /// The number of runs recorded for all jobs of a user since the beginning of the hour of
    /// this time. Those of an imported job count only from its import on; those that were
    /// withdrawn with a cancellation count, since they were made.
    ///
    /// # Errors
    ///
    /// When the store can't be read.
    #[tracing::instrument(name = "store::runs_recorded", level = "debug", skip_all)]
    pub async fn runs_recorded(&self, user: &str, since: i64) -> Result<u64, StoreError> {
        let sql = "SELECT CAST(coalesce(sum(runs), 0) AS BIGINT) FROM run_counts \
                   WHERE username = $1 AND hour >= $2";
        self.counted(sql, [user.into(), since.div_euclid(HOUR).into()])
            .await
    }

    async fn counted(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, StoreError> {
        let rows = self.database.fetch(sql, values).await?;
        let count = rows.first().map_or(Ok(0), |row| row.int(0));
        let count = count.map_err(|source| self.database.failed(source))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }
}

/// Counts runs for the user of a job. It comes last in a transaction, since those of other
/// jobs of the user wait for it.
pub(super) async fn count_runs(
    transaction: &mut Transaction,
    job: i64,
    runs: i64,
) -> Result<(), StoreError> {
    if runs == 0 {
        return Ok(());
    }
    let now = transaction.dialect().now();
    let sql = format!(
        "INSERT INTO run_counts (username, hour, runs) \
         SELECT username, {now} / {HOUR}, $2 FROM jobs WHERE number = $1 \
         ON CONFLICT (username, hour) DO UPDATE SET runs = run_counts.runs + excluded.runs"
    );
    let values = [job.into(), runs.into()];
    transaction.execute(&sql, values).await.map(drop)
}

/// Removes the counts of hours before this time.
pub(super) async fn forget_runs(
    transaction: &mut Transaction,
    before: i64,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM run_counts WHERE hour < $1";
    let values = [before.div_euclid(HOUR).into()];
    transaction.execute(sql, values).await.map(drop)
}

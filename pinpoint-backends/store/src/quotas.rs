//! Counts the requests of users, and checks their limits. Each count is one query that an index
//! answers.

use super::database::{Transaction, Value};
use super::job::{created_at, first_number};
use super::quota_limit::QuotaLimit;
use super::views::Quotas;
use super::{StoreError, now};

/// Milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

const DAY: i64 = 24 * HOUR;

/// Limits on the requests of a user; absent ones do not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// Jobs created within an hour.
    pub jobs_an_hour: Option<u32>,
    /// Jobs that have not ended.
    pub jobs_under_way: Option<u32>,
    /// Runs recorded within a day, of which the oldest hour counts as a whole.
    pub runs_a_day: Option<u32>,
}

impl Quotas<'_> {
    /// The number of jobs of a user that were created at this time (in milliseconds since
    /// 1970) or later.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::jobs_created", level = "debug", skip_all)]
    pub async fn jobs_created(self, user: &str, since: i64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM jobs WHERE username = $1 AND number >= $2";
        self.counted(sql, [user.into(), first_number(since).into()])
            .await
    }

    /// The number of jobs of a user that have not ended: pending and running ones.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::jobs_under_way", level = "debug", skip_all)]
    pub async fn jobs_under_way(self, user: &str) -> Result<u64, StoreError> {
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
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::runs_recorded", level = "debug", skip_all)]
    pub async fn runs_recorded(self, user: &str, since: i64) -> Result<u64, StoreError> {
        let sql = "SELECT CAST(coalesce(sum(runs), 0) AS BIGINT) FROM run_counts \
                   WHERE username = $1 AND hour >= $2";
        self.counted(sql, [user.into(), since.div_euclid(HOUR).into()])
            .await
    }

    async fn counted(
        self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, StoreError> {
        let rows = self.database.fetch(sql, values).await?;
        let count = rows.first().map_or(Ok(0), |row| row.int(0));
        let count = count.map_err(|source| self.database.failed(source))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }
}

/// Fails where the user of a job that this transaction has made has more than a limit allows.
/// Others that make jobs for the same user wait for the end of the transaction, so that no two
/// of them take the last place.
pub(super) async fn check(
    transaction: &mut Transaction,
    user: &str,
    quota: &Quota,
) -> Result<(), StoreError> {
    if let Some(sql) = transaction.dialect().lock_name() {
        transaction.fetch(sql, [user.into()]).await?;
    }
    let reached = |limit, most, until| {
        Err(StoreError::QuotaReached {
            user: user.into(),
            limit,
            most,
            until,
        })
    };
    if let Some(most) = quota.jobs_under_way {
        // The condition is the one of the index. No more are counted than matter.
        let sql = "SELECT 1 FROM jobs WHERE username = $1 AND state IN ('pending', 'running') \
                   LIMIT 1 OFFSET $2";
        let values: [Value; 2] = [user.into(), i64::from(most).into()];
        if !transaction.fetch(sql, values).await?.is_empty() {
            return reached(QuotaLimit::JobsUnderWay, most, None);
        }
    }
    if let Some(most) = quota.jobs_an_hour {
        // The new job is one of them. When the oldest of those that fill the hour leaves it, a
        // place becomes free.
        let sql = "SELECT number FROM jobs WHERE username = $1 AND number >= $2 \
                   ORDER BY number DESC LIMIT 1 OFFSET $3";
        let since = first_number(now() - HOUR);
        let values: [Value; 3] = [user.into(), since.into(), i64::from(most).into()];
        let rows = transaction.fetch(sql, values).await?;
        if let Some(row) = rows.first() {
            let number = row.int(0).map_err(|source| transaction.failed(source))?;
            let until = created_at(number) + HOUR + 1;
            return reached(QuotaLimit::JobsAnHour, most, Some(until));
        }
    }
    if let Some(most) = quota.runs_a_day {
        let sql = "SELECT hour, runs FROM run_counts WHERE username = $1 AND hour >= $2 \
                   ORDER BY hour";
        let values: [Value; 2] = [user.into(), (now() - DAY).div_euclid(HOUR).into()];
        let rows = transaction.fetch(sql, values).await?;
        let counts = rows.iter().map(|row| Ok((row.int(0)?, row.int(1)?)));
        let counts = counts.collect::<Result<Vec<_>, _>>();
        let counts = counts.map_err(|source| transaction.failed(source))?;
        if let Some(hour) = last_hour_of_too_many(&counts, most) {
            let until = (hour + 1) * HOUR + DAY;
            return reached(QuotaLimit::RunsADay, most, Some(until));
        }
    }
    Ok(())
}

/// The last hour, of those with their runs in order, that has to be forgotten to have fewer runs
/// than this; `None` when there are fewer.
fn last_hour_of_too_many(counts: &[(i64, i64)], most: u32) -> Option<i64> {
    let mut left: i64 = counts.iter().map(|(_, runs)| runs).sum();
    let mut last = None;
    for (hour, runs) in counts {
        if left < i64::from(most) {
            break;
        }
        left -= runs;
        last = Some(*hour);
    }
    last
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_gets_free_with_the_hours_that_fill_the_day() {
        let counts = [(10, 5), (12, 1), (30, 4)];
        assert_eq!(last_hour_of_too_many(&counts, 11), None);
        assert_eq!(last_hour_of_too_many(&counts, 10), Some(10));
        assert_eq!(last_hour_of_too_many(&counts, 6), Some(10));
        assert_eq!(last_hour_of_too_many(&counts, 5), Some(12));
        assert_eq!(last_hour_of_too_many(&counts, 4), Some(30));
        assert_eq!(last_hour_of_too_many(&counts, 1), Some(30));
        assert_eq!(last_hour_of_too_many(&[], 1), None);
    }
}

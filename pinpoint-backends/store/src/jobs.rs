//! Finds the jobs of a store, and removes them.

use std::time::Duration;

use super::damage::parsed;
use super::database::{Access, Database, Row};
use super::job::Request;
use super::quotas::forget_runs;
use super::rows::{one, state, unknown, version};
use super::views::Jobs;
use super::{CancelRequest, Job, JobId, JobPrefix, JobSummary, StoreError};

/// The most ids that a message lists.
const NAMES_IN_A_MESSAGE: i64 = 10;

/// The columns that [`summary`] reads.
pub(super) const SUMMARY: &str = "id, kind, state, created, updated, duration, name, benchmark, \
     bot, username, repository, title, error, runs, builds, paused, story, bug, answer, config";

/// The columns that [`job`] reads, after those of a summary.
const REST: &str = "journal_version, written_by, spec, lease, cancel_by, cancel_reason";

/// The place of the column after those.
const OUTCOME: usize = 26;

/// Leases of an imported job that no user has trusted since have numbers below zero,
/// starting here.
pub(super) const IMPORTED: i64 = -(1 << 62);

/// The time after the end of its lease for which a job's process may still be only
/// suspended.
const SUSPENDED: Duration = Duration::from_secs(24 * 60 * 60);

/// The column by which workers find their jobs: 1 where the configuration of a job says that the
/// workers of its bot carry it out (see `JobConfig`), otherwise 0.
pub(super) fn by_workers(config: &serde_json::Value) -> i64 {
    i64::from(config["by_workers"] == true)
}

impl Jobs<'_> {
    /// The job of this id.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`].
    #[tracing::instrument(name = "store::get", level = "debug", skip_all, fields(job = %id))]
    pub async fn get(self, id: &JobId) -> Result<Job, StoreError> {
        with_outcome(self.database, &self.row(id, "outcome").await?)
    }

    /// The job whose id begins with this prefix.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], and [`StoreError::Ambiguous`] naming the jobs.
    #[tracing::instrument(name = "store::find", level = "debug", skip_all, fields(job = %prefix))]
    pub async fn find(self, prefix: &JobPrefix) -> Result<Job, StoreError> {
        let first = prefix.digits();
        // Every id with the prefix sorts before the prefix with a `g`, the
        // letter after the last digit; a range uses the index.
        let end = format!("{first}g");
        let sql = format!(
            "SELECT {SUMMARY}, {REST}, outcome FROM jobs WHERE id >= $1 AND id < $2 \
             ORDER BY id DESC LIMIT {NAMES_IN_A_MESSAGE}"
        );
        let found = self.database.fetch(&sql, [first.into(), end.into()]);
        match &found.await?[..] {
            [] => Err(StoreError::Unknown {
                prefix: prefix.to_string(),
            }),
            [row] => with_outcome(self.database, row),
            rows => {
                let ids = rows.iter().map(|row| row.text(0).map(JobId));
                let ids: Result<_, _> = ids.collect();
                Err(StoreError::Ambiguous {
                    prefix: prefix.clone(),
                    matches: ids.map_err(|source| self.database.failed(source))?,
                })
            }
        }
    }

    /// The job of this id without its outcome, which may be long; and the job in a list, which has
    /// its answer.
    ///
    /// # Errors
    ///
    /// As of [`Jobs::get`].
    pub async fn get_without_outcome(self, id: &JobId) -> Result<(JobSummary, Job), StoreError> {
        job(self.database, &self.row(id, "NULL").await?)
    }

    /// The row of the job of this id: the columns of [`job`], and another one.
    async fn row(self, id: &JobId, last: &str) -> Result<Row, StoreError> {
        let sql = format!("SELECT {SUMMARY}, {REST}, {last} FROM jobs WHERE id = $1");
        let found = self.database.fetch(&sql, [id.as_str().into()]).await?;
        found.into_iter().next().ok_or_else(|| unknown(id))
    }

    /// Removes jobs that were created before this time (in milliseconds since 1970) with everything
    /// that belongs to them, the oldest first, at most `limit` of them in one transaction, and
    /// returns their ids. A leased job stays, and so does one whose lease expired less than a day
    /// ago: its process may be suspended.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; then nothing has changed.
    #[tracing::instrument(name = "store::purge", level = "debug", skip_all)]
    pub async fn purge(self, before: i64, limit: u32) -> Result<Vec<JobId>, StoreError> {
        let database = self.database.unhurried();
        let dialect = database.dialect();
        let sql = format!(
            "DELETE FROM jobs WHERE number IN (SELECT number FROM jobs WHERE number < $1 \
             AND (lease_owner IS NULL OR lease_expires < {} - {}) ORDER BY number LIMIT $2{}) \
             RETURNING id",
            dialect.now(),
            SUSPENDED.as_millis(),
            dialect.skip_locked()
        );
        let values = [
            super::job::first_number(before).into(),
            i64::from(limit).into(),
        ];
        let mut transaction = database.begin(Access::Write).await?;
        let rows = transaction.fetch(&sql, values).await?;
        forget_runs(&mut transaction, before).await?;
        transaction.commit().await?;
        let ids = rows.iter().map(|row| row.text(0).map(JobId));
        ids.collect::<Result<_, _>>()
            .map_err(|source| database.failed(source))
    }

    /// The number of jobs created before this time that [`Jobs::purge`] leaves
    /// because of their leases.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::held_before", level = "debug", skip_all)]
    pub async fn held_before(self, before: i64) -> Result<u64, StoreError> {
        let sql = format!(
            "SELECT count(*) FROM jobs WHERE number < $1 \
             AND lease_owner IS NOT NULL AND lease_expires >= {} - {}",
            self.database.dialect().now(),
            SUSPENDED.as_millis(),
        );
        let values = [super::job::first_number(before).into()];
        let rows = self.database.fetch(&sql, values).await?;
        let held = rows.first().map_or(Ok(0), |row| row.int(0));
        let held = held.map_err(|source| self.database.failed(source))?;
        Ok(u64::try_from(held).unwrap_or_default())
    }

    /// Records that a user has reviewed the commands of an imported job, and allows them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be written.
    #[tracing::instrument(name = "store::trust", level = "debug", skip_all, fields(job = %id))]
    pub async fn trust(self, id: &JobId) -> Result<(), StoreError> {
        // Numbers from zero on were given to no earlier lease of the job.
        let sql = "UPDATE jobs SET lease = CASE WHEN lease < 0 THEN 0 ELSE lease END WHERE id = $1";
        one(id, self.database.execute(sql, [id.as_str().into()]).await?)
    }
}

/// Reads the columns of [`SUMMARY`].
pub(super) fn summary(database: &Database, row: &Row) -> Result<JobSummary, StoreError> {
    let failed = |source| database.failed(source);
    let count = |column| -> Result<u64, StoreError> {
        Ok(u64::try_from(row.int(column).map_err(failed)?).unwrap_or_default())
    };
    let text = |column| row.text(column).map_err(failed);
    let id = JobId(text(0)?);
    let answer = row.optional_text(18).map_err(failed)?;
    let place = || format!("answer of job {id}");
    let answer = answer.map(|answer| parsed(&database.name, place, &answer));
    Ok(JobSummary {
        kind: text(1)?,
        state: state(database, &id, row, 2)?,
        created: row.int(3).map_err(failed)?,
        updated: row.int(4).map_err(failed)?,
        duration: row.optional_int(5).map_err(failed)?,
        name: text(6)?,
        benchmark: text(7)?,
        bot: text(8)?,
        user: text(9)?,
        repository: text(10)?,
        title: text(11)?,
        error: row.optional_text(12).map_err(failed)?,
        runs: count(13)?,
        builds: count(14)?,
        paused: row.int(15).map_err(failed)? != 0,
        story: text(16)?,
        bug: row.optional_int(17).map_err(failed)?,
        answer: answer.transpose()?,
        retriable: Request::from_text(&text(19)?).is_some_and(|it| it.can_be_repeated()),
        id,
    })
}

/// Reads the columns of [`SUMMARY`] and [`REST`], and the outcome after them.
fn with_outcome(database: &Database, row: &Row) -> Result<Job, StoreError> {
    let (summary, job) = job(database, row)?;
    let outcome = row.optional_text(OUTCOME);
    let outcome = outcome.map_err(|source| database.failed(source))?;
    let place = || format!("outcome of job {}", summary.id);
    let outcome = outcome.map(|outcome| parsed(&database.name, place, &outcome));
    Ok(Job {
        outcome: outcome.transpose()?,
        ..job
    })
}

/// Reads the columns of [`SUMMARY`] and [`REST`].
fn job(database: &Database, row: &Row) -> Result<(JobSummary, Job), StoreError> {
    let failed = |source| database.failed(source);
    let summary = summary(database, row)?;
    let json = |column, what: &str| {
        let text = row.optional_text(column).map_err(failed)?;
        let place = || format!("{what} of job {}", summary.id);
        text.map(|text| parsed(&database.name, place, &text))
            .transpose()
    };
    let job = Job {
        config: json(19, "config")?.unwrap_or_default(),
        journal_version: version(row, 20).map_err(failed)?,
        written_by: row.text(21).map_err(failed)?,
        spec: json(22, "spec")?.unwrap_or_default(),
        imported: row.int(23).map_err(failed)? < 0,
        cancel: CancelRequest::from_row(row, 24).map_err(failed)?,
        outcome: None,
        kind: summary.kind.clone(),
        state: summary.state,
        created: summary.created,
        updated: summary.updated,
        duration: summary.duration,
        name: summary.name.clone(),
        benchmark: summary.benchmark.clone(),
        bot: summary.bot.clone(),
        user: summary.user.clone(),
        repository: summary.repository.clone(),
        title: summary.title.clone(),
        error: summary.error.clone(),
        runs: summary.runs,
        builds: summary.builds,
        paused: summary.paused,
        id: summary.id.clone(),
    };
    Ok((summary, job))
}

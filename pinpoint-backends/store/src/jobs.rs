//! Finds the jobs of a store, and changes their states.

use std::time::Duration;

use pinpoint_core::JobState;

use super::audit::Change;
use super::cancel_request::{clear, withdraw};
use super::commits::hashes;
use super::database::{Access, Database, Row, Transaction};
use super::job::CancelRequest;
use super::job::Request;
use super::job_store::JobStore;
use super::journal::parsed;
use super::order::set_runs_key;
use super::quotas::{self, forget_runs};
use super::rows::{one, state, unknown, version};
use super::text::{Names, words};
use super::{
    AuditEntry, JOURNAL_VERSION, Job, JobAnswer, JobId, JobJournal, JobSummary, Lease, Quota,
    StoreError, now,
};

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

/// A change of a job's state, the same at every attempt.
struct StateChange<'a> {
    to: JobState,
    error: Option<&'a str>,
    outcome: Option<String>,
    time: i64,
}

/// The column by which workers find their jobs: 1 where the configuration of a job says that the
/// workers of its bot carry it out (see `JobConfig`), otherwise 0.
pub(super) fn by_workers(config: &serde_json::Value) -> i64 {
    i64::from(config["by_workers"] == true)
}

impl JobStore {
    /// The job whose id begins with `prefix`. Case and hyphens do not matter.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], and [`StoreError::Ambiguous`] naming the jobs.
    #[tracing::instrument(name = "store::get", level = "debug", skip_all, fields(job = prefix))]
    pub async fn get(&self, prefix: &str) -> Result<Job, StoreError> {
        let row = self.row(prefix, "outcome").await?;
        let failed = |source| self.database.failed(source);
        let (summary, job) = job(&self.database, &row)?;
        let outcome = row.optional_text(OUTCOME).map_err(failed)?;
        let place = || format!("outcome of job {}", summary.id);
        let outcome = outcome.map(|outcome| parsed(&self.database.name, place, &outcome));
        Ok(Job {
            outcome: outcome.transpose()?,
            ..job
        })
    }

    /// The job whose id begins with `prefix`, without its outcome, which may be long; and the
    /// job in a list, which has its answer.
    ///
    /// # Errors
    ///
    /// As of [`JobStore::get`].
    pub async fn get_without_outcome(&self, prefix: &str) -> Result<(JobSummary, Job), StoreError> {
        let row = self.row(prefix, "NULL").await?;
        job(&self.database, &row)
    }

    /// The row of the job whose id begins with `prefix`: the columns of [`job`], and another one.
    async fn row(&self, prefix: &str, last: &str) -> Result<Row, StoreError> {
        let unknown = || StoreError::Unknown {
            prefix: prefix.into(),
        };
        let wanted = prefix.replace('-', "").to_ascii_lowercase();
        if wanted.is_empty() || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(unknown());
        }
        // Every id with the prefix sorts before the prefix with a `g`, the
        // letter after the last digit; a range uses the index.
        let end = format!("{wanted}g");
        let sql = format!(
            "SELECT {SUMMARY}, {REST}, {last} FROM jobs WHERE id >= $1 AND id < $2 \
             ORDER BY id DESC LIMIT {NAMES_IN_A_MESSAGE}"
        );
        let found = self.database.fetch(&sql, [wanted.into(), end.into()]);
        let mut found = found.await?;
        match (found.pop(), &found[..]) {
            (None, _) => Err(unknown()),
            (Some(row), []) => Ok(row),
            (Some(last), rows) => {
                let ids = rows.iter().chain([&last]).map(|row| row.text(0).map(JobId));
                let ids: Result<_, _> = ids.collect();
                Err(StoreError::Ambiguous {
                    prefix: prefix.into(),
                    matches: ids.map_err(|source| self.database.failed(source))?,
                })
            }
        }
    }

    /// Changes the state of a job, with its error and its outcome; those of the state before are
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`StoreError::Transition`] for what [`JobState::can_become`] denies.
    #[tracing::instrument(name = "store::set_state", level = "debug", skip_all, fields(job = %id, state = ?to))]
    pub async fn set_state(
        &self,
        id: &JobId,
        to: JobState,
        error: Option<&str>,
        outcome: Option<&serde_json::Value>,
    ) -> Result<(), StoreError> {
        self.change_state(id, None, to, error, outcome).await
    }

    /// Like [`JobStore::set_state`], by the worker of the job.
    ///
    /// # Errors
    ///
    /// The same, and [`StoreError::LeaseLost`].
    #[tracing::instrument(name = "store::set_leased_state", level = "debug", skip_all, fields(job = %lease.id, state = ?to))]
    pub async fn set_leased_state(
        &self,
        lease: &Lease,
        to: JobState,
        error: Option<&str>,
        outcome: Option<&serde_json::Value>,
    ) -> Result<(), StoreError> {
        self.change_state(&lease.id, Some(lease), to, error, outcome)
            .await
    }

    async fn change_state(
        &self,
        id: &JobId,
        lease: Option<&Lease>,
        to: JobState,
        error: Option<&str>,
        outcome: Option<&serde_json::Value>,
    ) -> Result<(), StoreError> {
        let change = StateChange {
            to,
            error,
            // The stand-in for an absent value is read back as absent.
            outcome: outcome
                .filter(|outcome| !outcome.is_null())
                .map(ToString::to_string),
            time: now(),
        };
        let mut tries = self.database.tries(lease.and_then(Lease::until));
        let mut again = false;
        loop {
            match self.try_change_state(id, lease, &change, again).await {
                Err(error) if tries.again(&error).await => again = true,
                done => return done,
            }
        }
    }

    /// `again` is true if it was tried before, and perhaps done.
    async fn try_change_state(
        &self,
        id: &JobId,
        lease: Option<&Lease>,
        change: &StateChange<'_>,
        again: bool,
    ) -> Result<(), StoreError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        self.change_state_in(&mut transaction, id, lease, change, again)
            .await?;
        transaction.commit().await
    }

    /// Leaves a running job to the next worker that takes it, with the reason for its stop.
    pub(super) async fn stop_in(
        &self,
        transaction: &mut Transaction,
        lease: &Lease,
        reason: &str,
    ) -> Result<(), StoreError> {
        let change = StateChange {
            to: JobState::Pending,
            error: Some(reason),
            outcome: None,
            time: now(),
        };
        self.change_state_in(transaction, &lease.id, Some(lease), &change, false)
            .await
    }

    async fn change_state_in(
        &self,
        transaction: &mut Transaction,
        id: &JobId,
        lease: Option<&Lease>,
        change: &StateChange<'_>,
        again: bool,
    ) -> Result<(), StoreError> {
        let failed = |source| self.database.failed(source);
        let dialect = self.database.dialect();
        let rows = transaction
            .fetch(
                &format!(
                    "SELECT state, updated, duration, lease, name, benchmark, bot, username, \
                     repository, title, \
                     CASE WHEN lease_owner IS NULL THEN 0 ELSE {} - lease_expires END, spec \
                     FROM jobs WHERE id = $1{}",
                    dialect.now(),
                    dialect.for_update()
                ),
                [id.as_str().into()],
            )
            .await?;
        let row = match (rows.first(), lease) {
            (Some(row), _) => row,
            (None, None) => return Err(unknown(id)),
            (None, Some(_)) => return Err(StoreError::LeaseLost { id: id.clone() }),
        };
        if let Some(lease) = lease
            && row.int(3).map_err(failed)? != lease.token
        {
            return Err(StoreError::LeaseLost { id: id.clone() });
        }
        let from = state(&self.database, id, row, 0)?;
        let to = change.to;
        if again && from == to && row.int(1).map_err(failed)? == change.time {
            return Ok(());
        }
        if !from.can_become(to) {
            let id = id.clone();
            return Err(StoreError::Transition { id, from, to });
        }
        let mut duration = row.optional_int(2).map_err(failed)?;
        if from == JobState::Running {
            // After the lease expired, its process was suspended.
            let idle = row.int(10).map_err(failed)?.max(0);
            let since = change.time.saturating_sub(row.int(1).map_err(failed)?);
            let since = since.saturating_sub(idle).max(0);
            duration = Some(duration.unwrap_or_default().saturating_add(since));
        }
        let text = |column| row.text(column).map_err(failed);
        let (name, benchmark, bot, user) = (text(4)?, text(5)?, text(6)?, text(7)?);
        let names = Names {
            name: &name,
            benchmark: &benchmark,
            bot: &bot,
            user: &user,
        };
        let (repository, title) = (text(8)?, text(9)?);
        let mut commits = hashes(&text(11)?);
        commits.extend(change.outcome.as_deref().map(hashes).into_iter().flatten());
        let texts = [&*repository, &title].into_iter().chain(change.error);
        let texts = texts.chain(commits.iter().map(String::as_str));
        let (answer, answer_key) = JobAnswer::columns(change.outcome.as_deref());
        let sql = format!(
            "UPDATE jobs SET state = $2, updated = $3, duration = $4, error = $5, outcome = $6, \
             words = $7, answer = $8, answer_key = $9, {} WHERE id = $1",
            set_runs_key("$2")
        );
        transaction
            .execute(
                &sql,
                [
                    id.as_str().into(),
                    to.as_str().into(),
                    change.time.into(),
                    duration.into(),
                    change.error.map(str::to_owned).into(),
                    change.outcome.clone().into(),
                    words(names, texts).into(),
                    answer.into(),
                    answer_key.into(),
                ],
            )
            .await?;
        Ok(())
    }

    /// Leaves a job that failed or was canceled to the next worker that looks for one, and
    /// withdraws a request to end it: one more job of its user, whose limits these are. A paused
    /// one continues.
    ///
    /// # Errors
    ///
    /// [`StoreError::Transition`] for a job with a result, [`StoreError::Leased`] for one
    /// that a worker has, [`StoreError::QuotaReached`].
    #[tracing::instrument(name = "store::resume", level = "debug", skip_all, fields(job = %id))]
    pub async fn resume(
        &self,
        id: &JobId,
        quota: Option<&Quota>,
        entry: Option<&AuditEntry>,
    ) -> Result<(), StoreError> {
        let mut change = Change::new(&self.database, entry);
        loop {
            match self.try_resume(&change, id, quota).await {
                Err(error) if change.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_resume(
        &self,
        change: &Change<'_>,
        id: &JobId,
        quota: Option<&Quota>,
    ) -> Result<(), StoreError> {
        let failed = |source| self.database.failed(source);
        let Some(mut transaction) = change.begin().await? else {
            return Ok(());
        };
        let dialect = self.database.dialect();
        let sql = format!(
            "SELECT state, lease_owner, lease_expires - {}, paused, username FROM jobs \
             WHERE id = $1{}",
            dialect.now(),
            dialect.for_update()
        );
        let rows = transaction.fetch(&sql, [id.as_str().into()]).await?;
        let row = rows.first().ok_or_else(|| unknown(id))?;
        let from = state(&self.database, id, row, 0)?;
        if matches!(from, JobState::Pending | JobState::Running) && row.int(3).map_err(failed)? != 0
        {
            // A worker may be about to let it go.
            let sql = "UPDATE jobs SET paused = 0, deaths = 0 WHERE id = $1";
            transaction.execute(sql, [id.as_str().into()]).await?;
            return change.commit(transaction).await;
        }
        let left = row.int(2).map_err(failed)?;
        if let Some(owner) = row.optional_text(1).map_err(failed)?
            && left >= 0
        {
            return Err(StoreError::Leased {
                id: id.clone(),
                owner,
                seconds: (left + 999) / 1000,
            });
        }
        match from {
            JobState::Completed => {
                return Err(StoreError::Transition {
                    id: id.clone(),
                    from,
                    to: JobState::Pending,
                });
            }
            JobState::Canceled => drop(withdraw(&mut transaction, id).await?),
            _ => clear(&mut transaction, id).await?,
        }
        if matches!(from, JobState::Failed | JobState::Canceled) {
            let time = now();
            for to in [JobState::Running, JobState::Pending] {
                let (error, outcome) = (None, None);
                let change = StateChange {
                    to,
                    error,
                    outcome,
                    time,
                };
                self.change_state_in(&mut transaction, id, None, &change, false)
                    .await?;
            }
            if let Some(quota) = quota {
                let user = row.text(4).map_err(failed)?;
                if let Err(error) = quotas::check(&mut transaction, &user, quota).await {
                    if matches!(error, StoreError::QuotaReached { .. }) {
                        transaction.roll_back().await?;
                    }
                    return Err(error);
                }
            }
        }
        change.commit(transaction).await
    }

    /// Changes the configuration of a job that has no records yet, under its lease.
    ///
    /// # Errors
    ///
    /// [`StoreError::Begun`] when it has records, [`StoreError::LeaseLost`] when
    /// another worker has the job.
    #[tracing::instrument(name = "store::set_leased_config", level = "debug", skip_all, fields(job = %lease.id))]
    pub async fn set_leased_config(
        &self,
        lease: &Lease,
        config: &serde_json::Value,
    ) -> Result<(), StoreError> {
        let until = lease.until();
        let values = [
            lease.job.into(),
            config.to_string().into(),
            lease.token.into(),
        ];
        let sql = "UPDATE jobs SET config = $2 WHERE number = $1 AND lease = $3 AND \
                   NOT EXISTS (SELECT 1 FROM records WHERE job = jobs.number AND withdrawn = 0)";
        if self.database.execute_until(until, sql, values).await? > 0 {
            return Ok(());
        }
        let sql = "SELECT 1 FROM jobs WHERE number = $1 AND lease = $2";
        let values = [lease.job.into(), lease.token.into()];
        let id = lease.id.clone();
        match self.database.fetch_until(until, sql, values).await?[..] {
            [] => Err(StoreError::LeaseLost { id }),
            _ => Err(StoreError::Begun { id }),
        }
    }

    /// The journal of a job, until a worker takes the job.
    ///
    /// # Errors
    ///
    /// [`StoreError::JournalVersion`] when this program lacks its version.
    #[tracing::instrument(name = "store::journal", level = "debug", skip_all, fields(job = %id))]
    pub async fn journal(&self, id: &JobId) -> Result<JobJournal, StoreError> {
        let failed = |source| self.database.failed(source);
        let rows = self
            .database
            .fetch(
                "SELECT number, lease, journal_version, written_by, created FROM jobs \
                 WHERE id = $1",
                [id.as_str().into()],
            )
            .await?;
        let row = rows.first().ok_or_else(|| unknown(id))?;
        let found = version(row, 2).map_err(failed)?;
        if !(1..=JOURNAL_VERSION).contains(&found) {
            return Err(StoreError::JournalVersion {
                id: id.clone(),
                found,
                supported: JOURNAL_VERSION,
                written_by: row.text(3).map_err(failed)?,
            });
        }
        let (job, token) = (row.int(0).map_err(failed)?, row.int(1).map_err(failed)?);
        let lease = Lease::none(id.clone(), job, token);
        let created = u64::try_from(row.int(4).map_err(failed)?).unwrap_or_default();
        Ok(JobJournal::new(self.database.clone(), lease, created))
    }

    /// The journal of a job, while the lease is valid.
    ///
    /// # Errors
    ///
    /// As of [`JobStore::journal`].
    pub async fn leased_journal(&self, lease: &Lease) -> Result<JobJournal, StoreError> {
        Ok(self.journal(&lease.id).await?.under(lease.clone()))
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
    pub async fn purge(&self, before: i64, limit: u32) -> Result<Vec<JobId>, StoreError> {
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

    /// The number of jobs created before this time that [`JobStore::purge`] leaves
    /// because of their leases.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::held_before", level = "debug", skip_all)]
    pub async fn held_before(&self, before: i64) -> Result<u64, StoreError> {
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
    pub async fn trust(&self, id: &JobId) -> Result<(), StoreError> {
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

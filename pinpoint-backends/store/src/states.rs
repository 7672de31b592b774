//! Changes of the states of jobs.

use pinpoint_core::JobState;

use super::cancel_request::{clear, withdraw};
use super::change::Change;
use super::commits::hashes;
use super::database::{Access, Database, Transaction};
use super::order::set_runs_key;
use super::quotas;
use super::rows::{state, unknown};
use super::text::{Names, words};
use super::views::{Jobs, Leases};
use super::{AuditEntry, JobAnswer, JobId, Lease, Quota, StoreError, now};

/// A change of a job's state, the same at every attempt.
struct StateChange<'a> {
    id: &'a JobId,
    /// That of its worker, if it makes the change.
    lease: Option<&'a Lease>,
    to: JobState,
    error: Option<&'a str>,
    outcome: Option<String>,
    time: i64,
}

impl<'a> StateChange<'a> {
    fn new(id: &'a JobId, to: JobState) -> Self {
        Self {
            id,
            lease: None,
            to,
            error: None,
            outcome: None,
            time: now(),
        }
    }

    fn by_holder(lease: &'a Lease, to: JobState) -> Self {
        Self {
            lease: Some(lease),
            ..Self::new(&lease.id, to)
        }
    }

    fn with(self, error: Option<&'a str>, outcome: Option<&serde_json::Value>) -> Self {
        Self {
            error,
            // The stand-in for an absent value is read back as absent.
            outcome: outcome
                .filter(|outcome| !outcome.is_null())
                .map(ToString::to_string),
            ..self
        }
    }

    async fn make(&self, database: &Database) -> Result<(), StoreError> {
        let mut tries = database.tries(self.lease.and_then(Lease::until));
        let mut again = false;
        loop {
            match self.try_make(database, again).await {
                Err(error) if tries.again(&error).await => again = true,
                done => return done,
            }
        }
    }

    /// `again` is true if it was tried before, and perhaps done.
    async fn try_make(&self, database: &Database, again: bool) -> Result<(), StoreError> {
        let mut transaction = database.begin(Access::Write).await?;
        self.make_in(database, &mut transaction, again).await?;
        transaction.commit().await
    }

    async fn make_in(
        &self,
        database: &Database,
        transaction: &mut Transaction,
        again: bool,
    ) -> Result<(), StoreError> {
        let id = self.id;
        let failed = |source| database.failed(source);
        let dialect = database.dialect();
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
        let row = match (rows.first(), self.lease) {
            (Some(row), _) => row,
            (None, None) => return Err(unknown(id)),
            (None, Some(_)) => return Err(StoreError::LeaseLost { id: id.clone() }),
        };
        if let Some(lease) = self.lease
            && row.int(3).map_err(failed)? != lease.token
        {
            return Err(StoreError::LeaseLost { id: id.clone() });
        }
        let from = state(database, id, row, 0)?;
        let to = self.to;
        if again && from == to && row.int(1).map_err(failed)? == self.time {
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
            let since = self.time.saturating_sub(row.int(1).map_err(failed)?);
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
        commits.extend(self.outcome.as_deref().map(hashes).into_iter().flatten());
        let texts = [&*repository, &title].into_iter().chain(self.error);
        let texts = texts.chain(commits.iter().map(String::as_str));
        let (answer, answer_key) = JobAnswer::columns(self.outcome.as_deref());
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
                    self.time.into(),
                    duration.into(),
                    self.error.map(str::to_owned).into(),
                    self.outcome.clone().into(),
                    words(names, texts).into(),
                    answer.into(),
                    answer_key.into(),
                ],
            )
            .await?;
        Ok(())
    }
}

/// Leaves a running job to the next worker that takes it, with the reason for its stop.
pub(super) async fn stop(
    database: &Database,
    transaction: &mut Transaction,
    lease: &Lease,
    reason: &str,
) -> Result<(), StoreError> {
    let change = StateChange::by_holder(lease, JobState::Pending).with(Some(reason), None);
    change.make_in(database, transaction, false).await
}

impl Jobs<'_> {
    /// Changes the state of a job, with its error and its outcome; those of the state before are
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`StoreError::Transition`] for what [`JobState::can_become`] denies.
    #[tracing::instrument(name = "store::set_state", level = "debug", skip_all, fields(job = %id, state = ?to))]
    pub async fn set_state(
        self,
        id: &JobId,
        to: JobState,
        error: Option<&str>,
        outcome: Option<&serde_json::Value>,
    ) -> Result<(), StoreError> {
        let change = StateChange::new(id, to).with(error, outcome);
        change.make(self.database).await
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
        self,
        id: &JobId,
        quota: Option<&Quota>,
        entry: Option<&AuditEntry>,
    ) -> Result<(), StoreError> {
        let mut change = Change::new(self.database, entry);
        loop {
            match self.try_resume(&change, id, quota).await {
                Err(error) if change.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_resume(
        self,
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
        let from = state(self.database, id, row, 0)?;
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
            let running = StateChange::new(id, JobState::Running);
            let pending = StateChange {
                time: running.time,
                ..StateChange::new(id, JobState::Pending)
            };
            for change in [running, pending] {
                change
                    .make_in(self.database, &mut transaction, false)
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
}

impl Leases<'_> {
    /// Like [`Jobs::set_state`], by the worker of the job.
    ///
    /// # Errors
    ///
    /// The same, and [`StoreError::LeaseLost`].
    #[tracing::instrument(name = "store::set_leased_state", level = "debug", skip_all, fields(job = %lease.id, state = ?to))]
    pub async fn set_state(
        self,
        lease: &Lease,
        to: JobState,
        error: Option<&str>,
        outcome: Option<&serde_json::Value>,
    ) -> Result<(), StoreError> {
        let change = StateChange::by_holder(lease, to).with(error, outcome);
        change.make(self.database).await
    }

    /// Changes the configuration of a job that has no records yet, under its lease.
    ///
    /// # Errors
    ///
    /// [`StoreError::Begun`] when it has records, [`StoreError::LeaseLost`] when
    /// another worker has the job.
    #[tracing::instrument(name = "store::set_leased_config", level = "debug", skip_all, fields(job = %lease.id))]
    pub async fn set_config(
        self,
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
}

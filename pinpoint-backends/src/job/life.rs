//! Taking a job, working on it, ending it.

use std::future::Future;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pinpoint_core::{
    Clock, DriveEvent, Driven, Engine, Executor, FindMetric, JobKind, JobMachine, JobSpec, JobState,
    Journal, Machine, Metric, Stop, drive_watched, replay,
};
use serde_json::Value;

use super::result::Facts;
use super::{CommitSource, JobError, JobResult};
use crate::store::{Job, JobId, JobJournal, JobLock, JobStore, Lease};

/// How long other machines wait for a machine that has died before they may take its
/// job. A store that is out of reach for less stops nothing.
const LEASE: Duration = Duration::from_secs(60);

/// How soon a running job hears that it is canceled.
const CANCEL_POLL: Duration = Duration::from_millis(500);

/// The version of journals that knew no preparation: before it, the metric was found
/// outside of the journal.
const WITHOUT_PREPARATION: u32 = 1;

/// Who carries a job out, and knows its commits.
#[derive(Clone, Copy)]
pub struct Worker<'a> {
    /// Lists, builds and runs.
    pub executor: &'a dyn Executor,
    /// Waits.
    pub clock: &'a dyn Clock,
    /// Names the commits of the result.
    pub commits: &'a dyn CommitSource,
    /// The metric of a job that found it outside of its journal.
    pub metric: Option<&'a Metric>,
}

/// A job that this process works on, and no other.
pub struct TakenJob {
    store: JobStore,
    job: Job,
    kind: JobKind,
    spec: JobSpec,
    lease: Lease,
    /// Against others on this machine, as the lease is against other machines.
    _lock: JobLock,
}

impl TakenJob {
    /// Takes a job that nobody works on. `owner` is who takes it, `job_dir` where this
    /// machine keeps what belongs to the job.
    pub async fn take(
        store: &JobStore,
        id: &JobId,
        owner: &str,
        job_dir: &Path,
    ) -> Result<Self, JobError> {
        let lock = JobLock::acquire(job_dir)?;
        let lease = store.lease(id, owner, LEASE).await?;
        match Self::read(store, id).await {
            Ok((job, spec)) => Ok(Self {
                store: store.clone(),
                kind: spec.kind(),
                job,
                spec,
                lease,
                _lock: lock,
            }),
            Err(error) => {
                // What can't be given back runs out by itself.
                let _ = store.release(&lease).await;
                Err(error)
            }
        }
    }

    /// The job, read only now: until now another process may have written to it.
    async fn read(store: &JobStore, id: &JobId) -> Result<(Job, JobSpec), JobError> {
        let job = store.get(id.as_str()).await?;
        let spec = spec_of(&job)?;
        Ok((job, spec))
    }

    /// The job as the store has it.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The question.
    pub fn kind(&self) -> JobKind {
        self.kind
    }

    /// Works on the job until it has a result, and keeps the result with it.
    ///
    /// When `interrupted` resolves, this process is to end: the job is left as it is and
    /// can be resumed. A job that is canceled in the store ends with what it knows so
    /// far. `watch` hears of every step; it must not block.
    pub async fn work(
        &self,
        worker: Worker<'_>,
        interrupted: impl Future<Output = ()>,
        watch: impl FnMut(DriveEvent<'_>, &Engine<JobMachine>),
    ) -> Result<JobResult, JobError> {
        let result = tokio::select! {
            biased;
            result = self.drive(worker, interrupted, watch) => result,
            never = self.keep() => match never {},
        };
        let kept = self.keep_result(&result).await;
        match (result, kept) {
            (Ok(result), Ok(())) => Ok(result),
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
        }
    }

    async fn drive(
        &self,
        worker: Worker<'_>,
        interrupted: impl Future<Output = ()>,
        watch: impl FnMut(DriveEvent<'_>, &Engine<JobMachine>),
    ) -> Result<JobResult, JobError> {
        self.store.clear_cancel(&self.job.id).await?;
        self.set_running().await?;
        let mut journal = self.store.leased_journal(&self.lease).await?;
        let machine = self.machine(&mut journal).await?;
        let stop = async {
            tokio::select! {
                () = interrupted => Stop::Detach,
                () = self.canceled() => Stop::Cancel,
            }
        };
        let Worker {
            executor, clock, ..
        } = worker;
        let driven = drive_watched(machine, executor, &mut journal, clock, stop, watch).await?;
        self.name(driven, worker.commits, worker.metric).await
    }

    /// Ends the job, on which nothing is under way. One that was killed just after it
    /// had found its result keeps that. Without commits to name there is no result.
    pub async fn cancel(
        &self,
        commits: Option<&dyn CommitSource>,
    ) -> Result<(JobState, Option<JobResult>), JobError> {
        self.set_running().await?;
        let ended = async {
            let Some(commits) = commits else {
                return Ok(None);
            };
            let mut journal = self.store.leased_journal(&self.lease).await?;
            let machine = self.machine(&mut journal).await?;
            let mut engine = Engine::new(journal.job(), machine);
            replay(&mut engine, &mut journal).await?;
            for record in engine.conclude()? {
                journal.append(&record).await?;
            }
            let Some(outcome) = engine.machine().outcome().cloned() else {
                return Ok(None);
            };
            let driven = Driven { outcome, engine };
            self.name(driven, commits, None).await.map(Some)
        };
        let result = ended.await?;
        let state = result.as_ref().map_or(JobState::Canceled, JobResult::state);
        let outcome = result.as_ref().map(JobResult::to_value);
        (self.store)
            .set_leased_state(&self.lease, state, None, outcome.as_ref())
            .await?;
        Ok((state, result))
    }

    /// Gives the job back. If that fails the lease runs out by itself.
    pub async fn release(&self) {
        let _ = self.store.release(&self.lease).await;
    }

    /// The machine of the job, as it was when the job was created.
    async fn machine(&self, journal: &mut JobJournal) -> Result<JobMachine, JobError> {
        let find = match find_metric(&self.job) {
            // What was found already stands in the spec.
            Some(_)
                if self.job.journal_version <= WITHOUT_PREPARATION
                    && !journal.is_empty().await? =>
            {
                None
            }
            find => find,
        };
        machine(self.spec.clone(), find)
    }

    async fn name(
        &self,
        driven: Driven<JobMachine>,
        commits: &dyn CommitSource,
        metric: Option<&Metric>,
    ) -> Result<JobResult, JobError> {
        let Driven { outcome, engine } = driven;
        let facts = Facts {
            job_id: self.job.id.as_str(),
            duration_s: seconds_since(self.job.created),
            metric,
        };
        Ok(JobResult::new(facts, &engine, outcome, commits).await?)
    }

    /// A killed job is found as it was: running.
    async fn set_running(&self) -> Result<(), JobError> {
        if self.job.state != JobState::Running {
            (self.store)
                .set_leased_state(&self.lease, JobState::Running, None, None)
                .await?;
        }
        Ok(())
    }

    async fn keep_result(&self, result: &Result<JobResult, JobError>) -> Result<(), JobError> {
        let (state, error, outcome) = match result {
            Ok(result) => (result.state(), None, Some(result.to_value())),
            Err(JobError::Interrupted) => (JobState::Pending, None, None),
            Err(error) => (JobState::Failed, Some(error.to_string()), None),
        };
        (self.store)
            .set_leased_state(&self.lease, state, error.as_deref(), outcome.as_ref())
            .await?;
        Ok(())
    }

    /// Renews the lease as long as this is polled. One that is lost shows itself at
    /// the next record, and the job is stopped in good order.
    async fn keep(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(LEASE / 4).await;
            let _ = self.store.renew(&self.lease, LEASE).await;
        }
    }

    async fn canceled(&self) {
        loop {
            tokio::time::sleep(CANCEL_POLL).await;
            // A store that can't be read shows itself at the next record.
            if (self.store.cancel_requested(&self.job.id).await).unwrap_or(false) {
                return;
            }
        }
    }
}

/// The machine of a job as its records lead to it; for showing it, since nothing is
/// written.
pub async fn replayed(store: &JobStore, job: &Job) -> Result<Engine<JobMachine>, JobError> {
    let mut journal = store.journal(&job.id).await?;
    let is_fixed = job.journal_version <= WITHOUT_PREPARATION && !journal.is_empty().await?;
    let find = find_metric(job).filter(|_| !is_fixed);
    let mut engine = Engine::new(journal.job(), machine(spec_of(job)?, find)?);
    replay(&mut engine, &mut journal).await?;
    Ok(engine)
}

fn machine(spec: JobSpec, find: Option<FindMetric>) -> Result<JobMachine, JobError> {
    Ok(match find {
        Some(find) => JobMachine::finding(spec, find)?,
        None => JobMachine::new(spec)?,
    })
}

/// What a job is to find out.
pub fn spec_of(job: &Job) -> Result<JobSpec, JobError> {
    let unreadable = |source| JobError::Unreadable {
        job: job.id.clone(),
        source,
    };
    let kind = job.kind.parse().map_err(|source| JobError::Kind {
        job: job.id.clone(),
        source,
    })?;
    let spec = job.spec.clone();
    Ok(match kind {
        JobKind::Bisection => JobSpec::Bisection(serde_json::from_value(spec).map_err(unreadable)?),
        JobKind::Pairwise => JobSpec::Pairwise(serde_json::from_value(spec).map_err(unreadable)?),
        _ => JobSpec::CulpritFinder(serde_json::from_value(spec).map_err(unreadable)?),
    })
}

/// What a job is to find out before its search, as its configuration says.
fn find_metric(job: &Job) -> Option<FindMetric> {
    match job.config.get("find_metric") {
        Some(find) => serde_json::from_value(find.clone()).ok(),
        // As jobs of version 1 said it.
        None => (job.config.get("direction_by_unit"))
            .and_then(Value::as_bool)
            .map(|directions| FindMetric { directions }),
    }
}

fn seconds_since(created: i64) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64() - created as f64 / 1000.0
}

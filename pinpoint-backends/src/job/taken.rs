//! Taking a job, working on it, and ending it.

use std::borrow::Cow;
use std::fs;
use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
#[cfg(feature = "temporal")]
use pinpoint_core::Record;
use pinpoint_core::job::{JobResult, ResultSource};
use pinpoint_core::{
    DriveError, DriveEvent, Driver, Engine, Executor, JobMachine, JobOutcome, JobState, Journal,
    Machine, Stop, Task, Ticket, replay,
};
use serde_json::Value;
use tracing::{Instrument, Span, info_span};

use super::JobError;
use super::files::{Keeper, Keeping};
use super::proof::Proving;
use super::stored::{kind_of, machine_of, renewed_config, stored_result};
use super::trace::{TraceParent, trace_end};
#[cfg(feature = "temporal")]
use crate::store::Placed;
use crate::store::{
    Job, JobFilter, JobId, JobJournal, JobLock, JobStore, Lease, LockError, PublicKey, StoreError,
};
use crate::{TokioClock, job_dir};

/// The time that other machines wait for a dead machine before they may take its job. A shorter
/// outage of the store stops nothing.
const LEASE: Duration = Duration::from_secs(60);

/// The time for which a process may keep the lock of a released job.
const LETS_GO: Duration = Duration::from_secs(10);

/// The interval between checks of that lock.
const RELEASE_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The interval at which a running job checks for cancellation.
const CANCEL_POLL: Duration = Duration::from_millis(500);

/// The executor of a job, with the names of its commits.
#[derive(Clone, Copy)]
pub struct Worker<'a> {
    /// Lists, builds and runs.
    pub executor: &'a dyn Executor,
    /// Names the commits of the result.
    pub source: &'a dyn ResultSource,
}

/// The way in which [`TakenJob::take_next`] takes a job.
#[derive(Debug, Clone, Copy)]
pub struct TakeOptions<'a> {
    /// The keys of which one has to have signed the job, if only signed ones are taken.
    pub trusted: Option<&'a [PublicKey]>,
    /// The owner of the lease.
    pub owner: &'a str,
    /// The state directory.
    pub state_dir: &'a Path,
    /// The time after which the lease expires, unless it is renewed.
    pub lease: Duration,
}

/// A job that only this process works on.
#[derive(Debug)]
pub struct TakenJob {
    store: JobStore,
    job: Job,
    lease: Lease,
    /// The duration of the lease unless it is renewed.
    lease_time: Duration,
    /// The time spent on it before this process took it.
    worked_before: Duration,
    taken: Instant,
    /// True if it was taken from the queue, not at a user's request: a request to cancel it stands.
    is_assigned: bool,
    /// True if it was taken for its signature by a trusted key: its journal is not trusted.
    is_signed: bool,
    files: Keeper,
    /// Protects against other processes on this machine, as the lease does against other machines.
    _lock: JobLock,
}

impl TakenJob {
    /// Takes a job that no other process works on. `owner` names the taker: the same for all
    /// processes that share `job_dir`, this machine's directory for the job.
    ///
    /// # Errors
    ///
    /// When another process works on it, or its kind is unknown here.
    pub async fn take(
        store: &JobStore,
        id: &JobId,
        owner: &str,
        job_dir: &Path,
    ) -> Result<Self, JobError> {
        fs::create_dir_all(job_dir).map_err(|source| LockError::File {
            path: job_dir.to_owned(),
            source,
        })?;
        let lock = lock(store, id, owner, job_dir).await?;
        let lease = store.leases().grant(id, owner, LEASE).await?;
        // Read only now: another process may have written to it before.
        let read = async {
            let job = store.jobs().get(id).await?;
            kind_of(&job)?;
            Ok((job, Keeper::begin(store, &lease, job_dir).await?))
        };
        match read.await {
            Ok((job, files)) => Ok(Self {
                store: store.clone(),
                worked_before: worked(&job),
                taken: Instant::now(),
                job,
                lease,
                lease_time: LEASE,
                is_assigned: false,
                is_signed: false,
                files,
                _lock: lock,
            }),
            Err(error) => {
                // A lease that can't be released expires by itself.
                let _ = store.leases().release(&lease).await;
                Err(error)
            }
        }
    }

    /// Takes the oldest fitting job without a worker; [`work`](Self::work) renews its lease. A
    /// request to cancel the job stands, and is carried out by `work`.
    ///
    /// # Errors
    ///
    /// When the store or the job's directory can't be used, or a suspended process of this machine
    /// has the job. Then the job is released.
    pub async fn take_next(
        store: &JobStore,
        filter: &JobFilter,
        options: TakeOptions<'_>,
    ) -> Result<Option<Self>, JobError> {
        let TakeOptions {
            trusted,
            owner,
            state_dir,
            lease: lease_time,
        } = options;
        let taken = match trusted {
            None => store.leases().take(filter, owner, lease_time).await?,
            Some(keys) => {
                store
                    .leases()
                    .take_signed(filter, keys, owner, lease_time)
                    .await?
            }
        };
        let Some((job, lease)) = taken else {
            return Ok(None);
        };
        let job_dir = job_dir(state_dir, job.id.as_str());
        let lock = match acquired(&job_dir).await {
            Ok(lock) => lock,
            Err(error) => {
                // Another machine may be able to do it.
                store.leases().release(&lease).await?;
                return Err(error.into());
            }
        };
        let files = match Keeper::begin(store, &lease, &job_dir).await {
            Ok(files) => files,
            Err(error) => {
                store.leases().give_up_damaged(&lease, &error).await?;
                return Err(error.into());
            }
        };
        Ok(Some(Self {
            store: store.clone(),
            worked_before: worked(&job),
            taken: Instant::now(),
            job,
            lease,
            lease_time,
            is_assigned: true,
            is_signed: trusted.is_some(),
            files,
            _lock: lock,
        }))
    }

    /// Joins a job as one of several machines that work for the owner of its lease. Only the lease
    /// holder renews the lease.
    ///
    /// # Errors
    ///
    /// When the owner does not hold the job, or another process of this machine works on it.
    #[cfg(feature = "temporal")]
    pub(crate) async fn join(
        store: &JobStore,
        id: &JobId,
        owner: &str,
        state_dir: &Path,
        lease_time: Duration,
    ) -> Result<Self, JobError> {
        let lease = store.leases().share(id, owner, lease_time).await?;
        let job_dir = job_dir(state_dir, id.as_str());
        let lock = acquired(&job_dir).await?;
        let files = Keeper::begin_shared(store, &lease, &job_dir).await?;
        let job = store.jobs().get(id).await?;
        Ok(Self {
            store: store.clone(),
            worked_before: worked(&job),
            taken: Instant::now(),
            job,
            lease,
            lease_time,
            is_assigned: true,
            is_signed: false,
            files,
            _lock: lock,
        })
    }

    /// Records an event of an action in the job's journal, as [`JobJournal::record_once`] does,
    /// after keeping the action's files in the job's directory.
    ///
    /// # Errors
    ///
    /// As [`JobJournal::record_once`].
    #[cfg(feature = "temporal")]
    pub(crate) async fn record_once(
        &self,
        journal: &JobJournal,
        record: &Record,
        after: Option<i64>,
    ) -> Result<Placed, StoreError> {
        match record {
            Record::Reported { report, .. } => self.files.keep_with(report).await,
            _ => self.files.keep().await,
        }
        let placed = journal.record_once(record, after).await?;
        // The store may have been out of reach before, and this machine may get no other action
        // of the job.
        self.files.keep().await;
        Ok(placed)
    }

    /// Opens the journal, so that others can add to it, too.
    #[cfg(feature = "temporal")]
    pub(crate) async fn journal(&self) -> Result<JobJournal, StoreError> {
        self.store.journals().open_leased(&self.lease).await
    }

    /// Ends a job whose journal is complete, and returns its result, or marks it as failed, for
    /// this reason.
    ///
    /// # Errors
    ///
    /// When the journal can't be read, or the lease is lost.
    #[cfg(feature = "temporal")]
    pub(crate) async fn end(
        &self,
        source: &dyn ResultSource,
        refused: Option<&str>,
    ) -> Result<Option<JobResult>, JobError> {
        let engine = self.replayed().await?.1;
        let result = match (engine.machine().outcome().cloned(), refused) {
            (Some(outcome), _) => Some(self.result(&engine, outcome, source).await?),
            (None, Some(_)) => None,
            (None, None) => {
                return Err(JobError::NoOutcome {
                    job: self.job.id.clone(),
                });
            }
        };
        let state = result.as_ref().map_or(JobState::Failed, JobResult::state);
        let outcome = result.as_ref().map(to_value);
        let error = refused.filter(|_| state == JobState::Failed);
        self.set_state(state, error, outcome.as_ref()).await?;
        Ok(result)
    }

    /// The job as stored when it was taken.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Works on the job until it has a result, and stores the result.
    ///
    /// When `interrupted` resolves, this process has to stop: the job stays unchanged and can be
    /// resumed. A job that is canceled in the store ends with the results so far. `watch` is called
    /// for every step; it must not block.
    ///
    /// # Errors
    ///
    /// When the job was interrupted or paused, or its lease is lost.
    pub async fn work(
        &self,
        worker: Worker<'_>,
        interrupted: impl Future<Output = ()>,
        watch: impl FnMut(DriveEvent<'_>, &Engine<JobMachine>),
    ) -> Result<JobResult, JobError> {
        if self.job.state == JobState::Completed {
            // Another process finished it just before it was taken.
            return stored_result(&self.job)?.ok_or_else(|| JobError::NoOutcome {
                job: self.job.id.clone(),
            });
        }
        let driven = self.drive(worker, interrupted, watch);
        let result = tokio::select! {
            biased;
            result = driven.instrument(self.span()) => result,
            lost = self.keep_lease() => Err(lost.into()),
        };
        self.files.keep().await;
        match result {
            Ok(result) => {
                let outcome = to_value(&result);
                self.set_state(result.state(), None, Some(&outcome)).await?;
                Ok(result)
            }
            Err(error) => {
                // If the reason can't be recorded, it is still returned.
                let _ = self.stop(&error, &message(&error)).await;
                Err(error)
            }
        }
    }

    /// Records the reason why the work on the job ended without a result. The job has failed only
    /// if it is at fault; otherwise it is pending again. A process that has lost the job writes
    /// nothing.
    async fn stop(&self, error: &JobError, reason: &str) -> Result<(), JobError> {
        match error {
            JobError::Store(StoreError::LeaseLost { .. }) => Ok(()),
            JobError::Interrupted => self.set_state(JobState::Pending, None, None).await,
            error if error.is_infrastructure() => Ok(self
                .store
                .leases()
                .put_back(&self.lease, &shortened(reason))
                .await?),
            _ => self.set_state(JobState::Failed, Some(reason), None).await,
        }
    }

    /// Awaits preparation for the job, such as fetching its repository, while keeping the lease. It
    /// is dropped when the process has to stop or the job is canceled: the job stays unchanged.
    ///
    /// # Errors
    ///
    /// [`JobError::Interrupted`], when the lease is lost, and when the store can't be written.
    pub async fn prepare<T>(
        &self,
        interrupted: impl Future<Output = ()>,
        preparation: impl Future<Output = T>,
    ) -> Result<T, JobError> {
        if !self.is_assigned {
            // Earlier requests: the job is to continue.
            self.store.cancellations().clear(&self.job.id).await?;
        }
        tokio::select! {
            biased;
            prepared = preparation.instrument(self.span()) => Ok(prepared),
            () = interrupted => Err(JobError::Interrupted),
            () = self.canceled() => Err(JobError::Interrupted),
            lost = self.keep_lease() => Err(lost.into()),
        }
    }

    /// Awaits work after the job's result, such as reporting it, while keeping the lease. Its
    /// changes to the small files of the job's directory go with the job.
    ///
    /// # Errors
    ///
    /// [`JobError::Interrupted`] when the process has to stop first, and when the lease is lost.
    pub async fn follow_up<T>(
        &self,
        interrupted: impl Future<Output = ()>,
        work: impl Future<Output = T>,
    ) -> Result<T, JobError> {
        let done = tokio::select! {
            biased;
            done = work.instrument(self.span()) => Ok(done),
            () = interrupted => Err(JobError::Interrupted),
            lost = self.keep_lease() => Err(lost.into()),
        };
        self.files.keep().await;
        done
    }

    /// The result of the job, with the time spent on it.
    async fn result(
        &self,
        engine: &Engine<JobMachine>,
        outcome: JobOutcome,
        source: &dyn ResultSource,
    ) -> Result<JobResult, JobError> {
        let worked = self.worked_before + self.taken.elapsed();
        let worked = u64::try_from(worked.as_millis()).unwrap_or(u64::MAX);
        Ok(JobResult::new(engine, outcome, source, worked).await?)
    }

    fn span(&self) -> Span {
        info_span!(
            "work",
            job = %self.job.id,
            bot = self.job.bot,
            traceparent = %TraceParent::of(&self.job),
        )
    }

    async fn drive(
        &self,
        worker: Worker<'_>,
        interrupted: impl Future<Output = ()>,
        mut watch: impl FnMut(DriveEvent<'_>, &Engine<JobMachine>),
    ) -> Result<JobResult, JobError> {
        self.resume().await?;
        let (mut journal, machine) = self.open().await?;
        let interrupted = async {
            interrupted.await;
            // Work that has just ended is about to be recorded.
            self.files.at_rest().await;
        };
        let stop = async {
            tokio::select! {
                () = interrupted => Stop::Detach,
                () = self.canceled() => Stop::Cancel,
            }
        };
        self.files.keep().await;
        let executor = Keeping {
            executor: worker.executor,
            keeper: &self.files,
        };
        let proving = Proving::new(&executor, worker.source);
        let executor: &dyn Executor = match self.is_signed {
            true => &proving,
            false => &executor,
        };
        let watch = |event: DriveEvent<'_>, engine: &Engine<JobMachine>| {
            if self.is_signed {
                proving.watch(&event, engine);
            }
            watch(event, engine);
        };
        let driver = Driver::new(executor, &TokioClock);
        let driven = (driver.drive_watched(machine, &mut journal, stop, watch)).await?;
        self.result(&driven.engine, driven.outcome, worker.source)
            .await
    }

    /// Ends the job without work in progress, and returns its state: no process works on it, and
    /// work elsewhere is for [`TakenJob::cancel_with`]. A job that was killed just after it had
    /// found its result keeps that. A result requires a source that names its commits.
    ///
    /// # Errors
    ///
    /// When the journal can't be read, or the lease is lost.
    pub async fn cancel(&self, source: Option<&dyn ResultSource>) -> Result<JobState, JobError> {
        self.set_running().await?;
        let found = match source {
            Some(source) => match self.conclude(source).await {
                Ok(found) => found,
                Err(error) => {
                    self.stop(&error, &message(&error)).await?;
                    return Err(error);
                }
            },
            None => None,
        };
        let state = found.as_ref().map_or(JobState::Canceled, JobResult::state);
        let outcome = found.as_ref().map(to_value);
        self.set_state(state, None, outcome.as_ref()).await?;
        Ok(state)
    }

    /// Ends the job as [`TakenJob::cancel`] does, after the builds and runs in progress elsewhere,
    /// including those that a killed process had requested and not journaled: the executor finds
    /// them by their keys.
    ///
    /// # Errors
    ///
    /// As [`TakenJob::cancel`]; and when the executor can't end them: then the job stays unchanged.
    pub async fn cancel_with(&self, worker: Worker<'_>) -> Result<JobState, JobError> {
        tokio::select! {
            biased;
            ended = self.end_elsewhere(worker.executor) => ended?,
            lost = self.keep_lease() => return Err(lost.into()),
        }
        self.cancel(Some(worker.source)).await
    }

    async fn end_elsewhere(&self, executor: &dyn Executor) -> Result<(), JobError> {
        let mut engine = self.replayed().await?.1;
        let tickets = engine.outstanding().into_iter().map(|action| {
            engine.ticket(match action.task {
                Task::Cancel { action } => action,
                _ => action.number,
            })
        });
        let tickets: Vec<Ticket> = tickets.collect();
        // A ticket that can't be canceled does not prevent the others.
        let ended = join_all(tickets.iter().map(|ticket| executor.cancel(ticket))).await;
        let ended: Result<(), _> = ended.into_iter().collect();
        Ok(ended.map_err(|error| DriveError::Refused(error.into()))?)
    }

    async fn conclude(&self, source: &dyn ResultSource) -> Result<Option<JobResult>, JobError> {
        let (mut journal, mut engine) = self.replayed().await?;
        for record in engine.conclude()? {
            journal.append(&record).await?;
        }
        match engine.machine().outcome().cloned() {
            Some(outcome) => self.result(&engine, outcome, source).await.map(Some),
            None => Ok(None),
        }
    }

    /// Marks the job as failed, for this reason.
    ///
    /// # Errors
    ///
    /// When the lease is lost, or the store can't be written.
    pub async fn fail(&self, reason: &str) -> Result<(), JobError> {
        self.resume().await?;
        self.set_state(JobState::Failed, Some(reason), None).await
    }

    /// Records that the job can't run here, because of this error, with the machine's name if there
    /// are several. The job has failed, unless another machine may be able to run it, or this one
    /// later: then it is pending.
    ///
    /// # Errors
    ///
    /// When the lease is lost, or the store can't be written.
    pub async fn give_up(&self, error: &JobError, machine: Option<&str>) -> Result<(), JobError> {
        self.resume().await?;
        let reason = message(error);
        let reason = match machine {
            Some(machine) => format!("on {machine}: {reason}"),
            None => reason,
        };
        self.stop(error, &reason).await
    }

    /// Withdraws a cancellation, and earlier requests, when a user resumes the job.
    async fn resume(&self) -> Result<(), JobError> {
        let id = &self.job.id;
        match self.job.state {
            _ if self.is_assigned => {}
            JobState::Canceled => drop(self.store.cancellations().withdraw(id).await?),
            _ => self.store.cancellations().clear(id).await?,
        }
        self.set_running().await
    }

    /// Leaves the job to the next available worker, as if it had just been interrupted.
    ///
    /// # Errors
    ///
    /// When the lease is lost.
    pub async fn hand_over(self) -> Result<(), JobError> {
        self.resume().await?;
        self.store
            .leases()
            .set_state(&self.lease, JobState::Pending, None, None)
            .await?;
        self.release().await;
        Ok(())
    }

    /// Releases the job. If that fails the lease expires by itself.
    pub async fn release(self) {
        let _ = self.store.leases().release(&self.lease).await;
    }

    /// Opens the journal, and the machine at its start.
    async fn open(&self) -> Result<(JobJournal, JobMachine), JobError> {
        let mut journal = self.store.journals().open_leased(&self.lease).await?;
        let is_new = journal.is_empty().await?;
        if is_new && let Some(config) = renewed_config(&self.job)? {
            self.store.leases().set_config(&self.lease, &config).await?;
        }
        Ok((journal, machine_of(&self.job, is_new)?))
    }

    /// Opens the journal, and replays it into an engine.
    async fn replayed(&self) -> Result<(JobJournal, Engine<JobMachine>), JobError> {
        let (mut journal, machine) = self.open().await?;
        let mut engine = Engine::new(journal.job(), machine);
        replay(&mut engine, &mut journal).await?;
        Ok((journal, engine))
    }

    /// A job whose worker was killed is still marked as running.
    async fn set_running(&self) -> Result<(), JobError> {
        match self.job.state {
            JobState::Running => Ok(()),
            _ => self.set_state(JobState::Running, None, None).await,
        }
    }

    async fn set_state(
        &self,
        state: JobState,
        error: Option<&str>,
        outcome: Option<&Value>,
    ) -> Result<(), JobError> {
        let error = error.map(shortened);
        let (store, lease) = (&self.store, &self.lease);
        store
            .leases()
            .set_state(lease, state, error.as_deref(), outcome)
            .await?;
        trace_end(&self.job, state);
        Ok(())
    }

    /// Renews the lease as long as this is polled, until it is lost. A store that does not answer
    /// fails at the next record.
    async fn keep_lease(&self) -> StoreError {
        loop {
            tokio::time::sleep(self.lease_time / 4).await;
            let renewed = self
                .store
                .leases()
                .renew(&self.lease, self.lease_time)
                .await;
            if let Err(lost @ StoreError::LeaseLost { .. }) = renewed {
                return lost;
            }
        }
    }

    async fn canceled(&self) {
        loop {
            tokio::time::sleep(CANCEL_POLL).await;
            // An unreadable store fails at the next record.
            if (self.store.cancellations().is_requested(&self.job.id).await).unwrap_or(false) {
                return;
            }
        }
    }
}

/// Takes the lock of a job whose directory is made where it is missing. It may block for a while,
/// but not the runtime.
async fn acquired(job_dir: &Path) -> Result<JobLock, LockError> {
    let path = job_dir.to_owned();
    let acquire = move || {
        fs::create_dir_all(&path).map_err(|source| LockError::File {
            path: path.clone(),
            source,
        })?;
        JobLock::acquire(&path)
    };
    let acquired = tokio::task::spawn_blocking(acquire).await;
    acquired.unwrap_or_else(|panic| {
        Err(LockError::File {
            path: job_dir.to_owned(),
            source: std::io::Error::other(panic),
        })
    })
}

/// Takes the lock of a job. A process that has only the lock still has the job open: it is asked to
/// release it, and waited for.
async fn lock(
    store: &JobStore,
    id: &JobId,
    owner: &str,
    job_dir: &Path,
) -> Result<JobLock, JobError> {
    let began = Instant::now();
    loop {
        match acquired(job_dir).await {
            Err(LockError::Held { .. })
                if began.elapsed() < LETS_GO && is_free(store, id, owner).await =>
            {
                JobLock::ask_for(job_dir);
                tokio::time::sleep(RELEASE_POLL_INTERVAL).await;
            }
            lock => return Ok(lock?),
        }
    }
}

async fn is_free(store: &JobStore, id: &JobId, owner: &str) -> bool {
    let shared = store.leases().share(id, owner, Duration::ZERO).await;
    matches!(shared, Err(StoreError::LeaseLost { .. }))
}

/// The stored time of work on a job, without idle time.
fn worked(job: &Job) -> Duration {
    let mut worked = job.duration.unwrap_or_default();
    if job.state == JobState::Running {
        // Its process died, and its lease has not expired; or another worker also has it.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
        worked = worked.saturating_add(now.saturating_sub(job.updated).max(0));
    }
    Duration::from_millis(u64::try_from(worked).unwrap_or_default())
}

/// The most bytes kept of an error: a benchmark's output may be in it.
const LONGEST_ERROR: usize = 4_096;

/// An error with those of its sources that its own text does not contain.
pub(crate) fn message(error: &JobError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    text
}

/// The beginning of an error, which names the place, and its end, which names the cause.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_ERROR {
        return text.into();
    }
    let start = text.floor_char_boundary(LONGEST_ERROR / 2);
    let end = text.ceil_char_boundary(text.len() - LONGEST_ERROR / 2);
    format!("{} … {}", &text[..start], &text[end..]).into()
}

fn to_value(result: &JobResult) -> Value {
    // This can't fail: every key is a string and every number finite.
    serde_json::to_value(result).unwrap_or_default()
}

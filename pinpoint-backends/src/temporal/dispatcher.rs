//! Starts the workflows of jobs, and keeps the store and Temporal consistent.
//!
//! A job waits in the store for a worker of its bot, of any kind. A dispatcher takes it for
//! Temporal, and starts a workflow with its id, which is idempotent. From then on the lease says
//! that Temporal has the job. Dispatchers renew it for as long as the workflow runs. So when all of
//! them are gone for longer than the lease lasts, another worker may take the job, and the workflow
//! ends when it notices.
//!
//! A workflow that was terminated, or was timed out, did not end its job: a dispatcher does. One
//! that the server has lost is restarted, and continues from the journal. Leases are renewed in the
//! meantime, however long that takes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use pinpoint_core::job::{JobState, ResultSource};
use temporalio_client::errors::{
    WorkflowGetResultError, WorkflowInteractionError, WorkflowStartError, WorkflowUpdateError,
};
use temporalio_client::tonic::Code;
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowExecuteUpdateOptions, WorkflowExecutionDescription,
    WorkflowExecutionStatus, WorkflowGetResultOptions, WorkflowHandle, WorkflowIdConflictPolicy,
    WorkflowIdReusePolicy, WorkflowStartOptions,
};
use temporalio_common::error::IncomingError;
use temporalio_common::protos::temporal::api::enums::v1::PendingWorkflowTaskState;
use temporalio_common::protos::temporal::api::workflowservice::v1::DescribeWorkflowExecutionResponse;
use temporalio_sdk::ApplicationFailure;
use tokio::sync::mpsc;

use super::connection::Temporal;
use super::error::TemporalError;
use super::failures::{NotStarted, SUPERSEDED, is_away};
use super::jobs_here::{JobHere, JobsHere};
use super::messages::{JobInput, QUEUE, TimeLimits};
use super::namespace::attributes_of;
use super::news::News;
use super::serving::TemporalEvent;
use super::workflow::{JobWorkflow, beginning};
use crate::job::{JobError, trace_end};
use crate::store::{CancelRequest, Job, JobFilter, JobId, Lease, LockError, PAUSED, StoreError};
use crate::worker::{POLL, Pauses, jittered};

/// The most bytes of a summary, which servers limit to 400.
const LONGEST_SUMMARY: usize = 200;

/// The most leases that are renewed, and requests that are passed on, at once.
const AT_ONCE: u32 = 100;

/// The most workflows that are checked at once.
const LOOKS: usize = 10;

/// The time between checks of the server.
const WATCH: Duration = Duration::from_secs(5);

/// The time for which the next decision of a workflow may wait for a worker.
const NOT_TAKEN: Duration = Duration::from_secs(15);

/// The time between checks of whether a job is open elsewhere on this machine.
const OPEN_JOB_POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(super) struct Dispatcher<'a> {
    pub(super) jobs: Arc<JobsHere>,
    pub(super) client: Client,
    pub(super) bots: &'a [String],
    pub(super) limits: &'a TimeLimits,
    /// True when the worker has to stop: it takes nothing new.
    pub(super) stopping: Arc<AtomicBool>,
    /// The time for which a job belongs to Temporal after the last dispatcher is gone.
    pub(super) lease: Duration,
    /// True if the namespace has the search attributes.
    pub(super) with_attributes: bool,
    pub(super) temporal: &'a Temporal,
    pub(super) deployment: Option<&'a str>,
}

impl Dispatcher<'_> {
    /// Dispatches for as long as it is polled.
    pub(super) async fn keep(
        &self,
        mut happened: mpsc::UnboundedReceiver<News>,
        tell: impl FnMut(TemporalEvent<'_>),
    ) -> Infallible {
        let tell = RefCell::new(tell);
        let tell = |event: TemporalEvent<'_>| (*tell.borrow_mut())(event);
        let voice = &Voice::new(tell, &self.temporal.address);
        let tell = |event: TemporalEvent<'_>| voice.tell(event);
        let looks = RefCell::default();
        let (renewed, mut to_look_after) = mpsc::unbounded_channel();
        let renew = async || self.renew_all(&looks, &renewed).await;
        let look_after = stream::poll_fn(|context| to_look_after.poll_recv(context))
            .for_each_concurrent(LOOKS, async |lease: Lease| {
                if let Err(error) = self.look_after(&lease, &tell).await {
                    tell(TemporalEvent::Trouble(&error));
                    if is_away(&error) {
                        self.note_away(&lease).await;
                    }
                }
                looks.borrow_mut().remove(lease.id());
            });
        let dispatch = async || {
            if let Some(reason) = self.temporal.unread.take() {
                tell(TemporalEvent::Trouble(&TemporalError::Key { reason }));
            }
            // A workflow that can't be canceled does not delay the other jobs.
            for error in self.cancel_all().await? {
                tell(TemporalEvent::Trouble(&error));
            }
            self.take_all(&tell).await
        };
        let hear = async {
            while let Some(news) = happened.recv().await {
                match news {
                    News::Ended(job, result) => {
                        let result = (*result).as_ref().map_err(String::as_str);
                        tell(TemporalEvent::Concluded(&job, result));
                    }
                    News::Trouble(error) => tell(TemporalEvent::Trouble(&*error)),
                }
            }
        };
        tokio::join!(
            again_and_again(renew, &tell),
            look_after,
            again_and_again(dispatch, &tell),
            self.watch_server(voice),
            hear,
        )
        .0
    }

    /// Checks regularly whether the server answers: active jobs may not call it for minutes.
    async fn watch_server<F: Fn(TemporalEvent<'_>)>(&self, voice: &Voice<'_, F>) -> Infallible {
        let mut answered = true;
        loop {
            tokio::time::sleep(jittered(WATCH)).await;
            let answers = self.temporal.answers().await;
            voice.server(answers);
            if std::mem::replace(&mut answered, answers) != answers {
                let owner = self.jobs.owner();
                let store = self.jobs.store();
                let held = store.leases().expiring(owner, Duration::MAX, AT_ONCE).await;
                for lease in held.unwrap_or_default() {
                    match answers {
                        false => self.note_away(&lease).await,
                        true => self.note(&lease, None).await,
                    }
                }
            }
        }
    }

    /// Records the reason why a job does not proceed. If that fails it is recorded the next time.
    async fn note(&self, lease: &Lease, reason: Option<&str>) {
        let _ = self
            .jobs
            .store()
            .leases()
            .note_standstill(lease, reason)
            .await;
    }

    async fn note_away(&self, lease: &Lease) {
        let (machine, address) = (self.jobs.machine(), &self.temporal.address);
        let reason = format!("Temporal at {address} does not answer {machine}");
        self.note(lease, Some(&reason)).await;
    }

    /// Renews the leases, and passes on those whose workflows have to be checked, unless a check is
    /// running. Other dispatchers skip them in the meantime. Temporal keeps them even while it is
    /// out of reach.
    async fn renew_all(
        &self,
        looks: &RefCell<BTreeSet<JobId>>,
        renewed: &mpsc::UnboundedSender<Lease>,
    ) -> Result<(), JobError> {
        let store = self.jobs.store();
        let (owner, within) = (self.jobs.owner(), self.lease * 3 / 4);
        for lease in store.leases().expiring(owner, within, AT_ONCE).await? {
            match store.leases().renew(&lease, self.lease).await {
                Err(StoreError::LeaseLost { .. }) => continue,
                done => done?,
            }
            if looks.borrow_mut().insert(lease.id().clone()) {
                // The other end lives as long as this one.
                let _ = renewed.send(lease);
            }
        }
        Ok(())
    }

    /// Passes on all requests to cancel, and returns the failures.
    async fn cancel_all(&self) -> Result<Vec<JobError>, JobError> {
        let owner = self.jobs.owner();
        let requests = self
            .jobs
            .store()
            .cancellations()
            .held_by(owner, AT_ONCE)
            .await?;
        let asked = requests.iter().map(|(id, request)| async move {
            // One that does not answer is called again.
            let asked = tokio::time::timeout(self.limits.heartbeat, self.cancel(id, request)).await;
            asked.unwrap_or(Ok(())).err()
        });
        Ok(join_all(asked).await.into_iter().flatten().collect())
    }

    async fn take_all(&self, tell: &impl Fn(TemporalEvent<'_>)) -> Result<(), JobError> {
        let store = self.jobs.store();
        let filter = JobFilter {
            bots: self.bots.to_owned(),
            by_workers: true,
            ..JobFilter::default()
        };
        while !self.bots.is_empty()
            && !self.stopping.load(Ordering::Relaxed)
            && let Some((job, lease)) = store
                .leases()
                .take(&filter, self.jobs.owner(), self.lease)
                .await?
        {
            // It caused no death: the lease ended while the store or the server was away, or was
            // released since the server does not answer. Deaths over a run are counted there.
            store.leases().forgive(&lease).await?;
            // An existing workflow does not know that the job was taken anew.
            let there = WorkflowIdConflictPolicy::TerminateExisting;
            match self.start(&job, &lease, there).await {
                Ok(()) => {
                    self.jobs.metrics().job_started(&job);
                    tell(TemporalEvent::Started(&job));
                }
                Err(error) => {
                    if is_away(&error) {
                        self.note_away(&lease).await;
                    }
                    store.leases().release(&lease).await?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Restarts a job's workflow, unless it exists.
    async fn start_again(&self, lease: &Lease) -> Result<(), JobError> {
        let job = self.jobs.store().jobs().get(lease.id()).await?;
        self.start(&job, lease, WorkflowIdConflictPolicy::UseExisting)
            .await
    }

    /// Starts a job; marks one that the server rejects as failed.
    async fn start(
        &self,
        job: &Job,
        lease: &Lease,
        there: WorkflowIdConflictPolicy,
    ) -> Result<(), JobError> {
        let input = JobInput {
            job: job.id.to_string(),
            store: self.jobs.identity().to_owned(),
            bot: job.bot.clone(),
            limits: self.limits.clone(),
            // A workflow that was paused is gone when its job is taken anew; its note is in the store.
            paused: job.error.as_deref() == Some(PAUSED),
            cancel: None,
        };
        let options = WorkflowStartOptions::new(QUEUE, job.id.to_string())
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .id_conflict_policy(there)
            .task_timeout(self.limits.heartbeat)
            .static_summary(beginning(&job.title, LONGEST_SUMMARY))
            .maybe_search_attributes(self.with_attributes.then(|| attributes_of(job)))
            .build();
        match self
            .client
            .start_workflow(JobWorkflow::run, input, options)
            .await
        {
            Ok(_) | Err(WorkflowStartError::AlreadyStarted { .. }) => Ok(()),
            Err(WorkflowStartError::Rpc(status)) if status.code() == Code::InvalidArgument => {
                let refused = NotStarted {
                    job: job.id.clone(),
                    reason: status.message().to_owned(),
                };
                let store = self.jobs.store();
                store.leases().give_up(lease, &refused.to_string()).await?;
                self.jobs.metrics().job_ended(job, JobState::Failed);
                trace_end(job, JobState::Failed);
                Err(unavailable(refused))
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Passes on a request from the store.
    async fn cancel(&self, id: &JobId, request: &CancelRequest) -> Result<(), JobError> {
        let handle = self
            .client
            .get_workflow_handle::<JobWorkflow>(id.to_string());
        let options = WorkflowExecuteUpdateOptions::default();
        match handle
            .execute_update(JobWorkflow::cancel, request.clone(), options)
            .await
        {
            Ok(()) => self.jobs.store().cancellations().handed_on(id).await?,
            // It ends by itself, or is checked.
            Err(WorkflowUpdateError::NotFound(_)) => {}
            Err(error) => return Err(unavailable(error)),
        }
        Ok(())
    }

    async fn look_after(
        &self,
        lease: &Lease,
        tell: &impl Fn(TemporalEvent<'_>),
    ) -> Result<(), JobError> {
        let id = lease.id();
        let handle = self
            .client
            .get_workflow_handle::<JobWorkflow>(id.to_string());
        let described = match handle.describe(WorkflowDescribeOptions::default()).await {
            Ok(described) => Some(described),
            Err(WorkflowInteractionError::NotFound(_)) => None,
            Err(error) => return Err(unavailable(error)),
        };
        match described.as_ref().map(WorkflowExecutionDescription::status) {
            Some(
                WorkflowExecutionStatus::Running
                | WorkflowExecutionStatus::Paused
                | WorkflowExecutionStatus::ContinuedAsNew
                | WorkflowExecutionStatus::Unspecified
                | WorkflowExecutionStatus::Unknown,
            ) => {
                let reason = described.and_then(|it| not_taken(it.raw(), self.deployment));
                self.note(lease, reason.as_deref()).await;
                match self.jobs.store().jobs().is_paused(id).await? {
                    true => self.let_go(&handle).await,
                    false => Ok(()),
                }
            }
            // A completed one was about to complete when the job was resumed.
            None | Some(WorkflowExecutionStatus::Completed) => self.start_again(lease).await,
            Some(status) => {
                let ended = handle.get_result(WorkflowGetResultOptions::default());
                let error = ended.await.err();
                let failure = error.as_ref().and_then(failure_of);
                if failure.and_then(ApplicationFailure::type_name) == Some(SUPERSEDED) {
                    // Another worker had the job, and released it.
                    return self.start_again(lease).await;
                }
                let reason = match failure {
                    Some(failure) => failure.source_error().to_string(),
                    None => format!("its workflow ended: {status:?}"),
                };
                let state = self.end(id, status, &reason).await?;
                tell(TemporalEvent::Ended(id, state));
                Ok(())
            }
        }
    }

    /// Ends the workflow of a job that was paused in the store.
    async fn let_go(&self, handle: &WorkflowHandle<Client, JobWorkflow>) -> Result<(), JobError> {
        let options = WorkflowExecuteUpdateOptions::default();
        let asked = handle.execute_update(JobWorkflow::let_go, (), options);
        match tokio::time::timeout(self.limits.heartbeat, asked).await {
            // One that does not answer is called again.
            Ok(Ok(()) | Err(WorkflowUpdateError::NotFound(_))) | Err(_) => Ok(()),
            Ok(Err(error)) => Err(unavailable(error)),
        }
    }

    /// Ends a job whose workflow ended without doing so.
    async fn end(
        &self,
        id: &JobId,
        status: WorkflowExecutionStatus,
        reason: &str,
    ) -> Result<JobState, JobError> {
        let store = self.jobs.store();
        // Taken anew, so that later records of its activities are ignored.
        let lease = &store
            .leases()
            .grant(id, self.jobs.owner(), self.lease)
            .await?;
        self.jobs.forget(id).await;
        let job = store.jobs().get(id).await?;
        if !matches!(job.state, JobState::Pending | JobState::Running) {
            store.leases().release(lease).await?;
            return Ok(job.state);
        }
        if status == WorkflowExecutionStatus::Failed {
            store.leases().give_up(lease, reason).await?;
            self.jobs.metrics().job_ended(&job, JobState::Failed);
            trace_end(&job, JobState::Failed);
            return Ok(JobState::Failed);
        }
        let opened = tokio::time::timeout(self.limits.heartbeat, self.open_alone(id)).await;
        let ended = match opened.map_err(unavailable)? {
            Ok(here) => {
                let source: &dyn ResultSource = &*here.executor;
                here.taken.cancel(Some(source)).await?
            }
            Err(error @ JobError::Store(_)) => return Err(error),
            // Its commits have no names here, so it has no result.
            Err(_) => {
                let canceled = [JobState::Running, JobState::Canceled];
                for state in canceled.into_iter().filter(|state| job.state != *state) {
                    store.leases().set_state(lease, state, None, None).await?;
                }
                trace_end(&job, JobState::Canceled);
                JobState::Canceled
            }
        };
        self.jobs.metrics().job_ended(&job, ended);
        self.jobs.forget(id).await;
        store.leases().release(lease).await?;
        Ok(ended)
    }

    /// Opens a job once the last activity here has noticed that it no longer counts.
    async fn open_alone(&self, id: &JobId) -> Result<Arc<JobHere>, JobError> {
        loop {
            match self.jobs.open(id).await {
                Err(JobError::Locked(LockError::Held { .. })) => {
                    tokio::time::sleep(OPEN_JOB_POLL_INTERVAL).await
                }
                opened => return opened,
            }
        }
    }
}

/// Repeats a step once a second, and less often while there is trouble.
async fn again_and_again(
    step: impl AsyncFn() -> Result<(), JobError>,
    tell: &impl Fn(TemporalEvent<'_>),
) -> Infallible {
    let mut pauses = Pauses::default();
    loop {
        let pause = match step().await {
            Ok(()) => {
                pauses = Pauses::default();
                POLL
            }
            Err(error) => {
                tell(TemporalEvent::Trouble(&error));
                pauses.after_trouble()
            }
        };
        tokio::time::sleep(jittered(pause)).await;
    }
}

/// The reason why no worker takes the next decision of a workflow, if one is waiting.
fn not_taken(
    described: &DescribeWorkflowExecutionResponse,
    deployment: Option<&str>,
) -> Option<String> {
    let task = described.pending_workflow_task.as_ref()?;
    let scheduled = SystemTime::try_from(task.scheduled_time?).ok()?;
    if task.state() != PendingWorkflowTaskState::Scheduled
        || scheduled.elapsed().unwrap_or_default() < NOT_TAKEN
    {
        return None;
    }
    let info = described.workflow_execution_info.as_ref();
    let version = info.and_then(|info| info.versioning_info.as_ref()?.deployment_version.clone());
    Some(match (version, deployment) {
        (Some(version), _) => format!(
            "its workflow stays with version {} of deployment {}, which no worker belongs to",
            version.build_id, version.deployment_name
        ),
        (None, Some(name)) => format!(
            "no worker takes its workflow; if no version of deployment {name} is current, \
             `temporal worker deployment set-current-version` makes one"
        ),
        (None, None) => {
            "no worker takes its workflow; if all belong to a deployment, none of its versions is \
             current"
                .to_owned()
        }
    })
}

/// Reports events. A server that is away is reported once, not for each failed call.
struct Voice<'a, F> {
    tell: F,
    address: &'a str,
    is_away: Cell<bool>,
}

impl<'a, F: Fn(TemporalEvent<'_>)> Voice<'a, F> {
    fn new(tell: F, address: &'a str) -> Self {
        Self {
            tell,
            address,
            is_away: Cell::new(false),
        }
    }

    fn tell(&self, event: TemporalEvent<'_>) {
        match event {
            TemporalEvent::Trouble(error) if is_away(error) => self.server(false),
            event => (self.tell)(event),
        }
    }

    /// Reports that the server answers, or not.
    fn server(&self, answers: bool) {
        if self.is_away.replace(!answers) == answers {
            (self.tell)(match answers {
                true => TemporalEvent::Back(self.address),
                false => TemporalEvent::Away(self.address),
            });
        }
    }
}

/// The failure that a workflow ended with, or one of its activities.
fn failure_of(error: &WorkflowGetResultError) -> Option<&ApplicationFailure> {
    let WorkflowGetResultError::Failed(error) = error else {
        return None;
    };
    let mut error = &**error;
    loop {
        match error {
            IncomingError::Application(failure) => return Some(failure),
            other => error = other.cause()?,
        }
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> JobError {
    JobError::Drive(pinpoint_core::DriveError::Refused(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use temporalio_client::tonic::Status;
    use temporalio_common::protos::temporal::api::workflow::v1::PendingWorkflowTaskInfo;

    use super::*;

    #[test]
    fn a_server_that_is_away_is_told_of_once() {
        let told = RefCell::new(Vec::new());
        let tell = |event: TemporalEvent<'_>| told.borrow_mut().push(format!("{event:?}"));
        let voice = Voice::new(tell, "db:7233");
        let away = unavailable(WorkflowInteractionError::Rpc(Status::unavailable(
            "refused",
        )));
        let trouble = unavailable(WorkflowInteractionError::Rpc(Status::internal("a bug")));
        voice.server(true);
        voice.tell(TemporalEvent::Trouble(&away));
        voice.server(false);
        voice.tell(TemporalEvent::Trouble(&away));
        voice.server(true);
        voice.server(true);
        voice.tell(TemporalEvent::Trouble(&trouble));
        let told = told.into_inner();
        assert_eq!(told[..2], ["Away(\"db:7233\")", "Back(\"db:7233\")"]);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[2].starts_with("Trouble("), "{told:?}");
    }

    #[test]
    fn a_decision_that_no_worker_takes_is_explained() {
        let mut described = DescribeWorkflowExecutionResponse::default();
        assert_eq!(not_taken(&described, None), None);
        let mut task = PendingWorkflowTaskInfo::default();
        task.set_state(PendingWorkflowTaskState::Scheduled);
        task.scheduled_time = Some(SystemTime::now().into());
        described.pending_workflow_task = Some(task);
        assert_eq!(not_taken(&described, Some("pinpoint")), None);
        task.scheduled_time = Some(SystemTime::UNIX_EPOCH.into());
        described.pending_workflow_task = Some(task);
        let told = not_taken(&described, Some("pinpoint")).unwrap();
        assert!(
            told.contains("no version of deployment pinpoint is current"),
            "{told}"
        );
        // A worker has it.
        task.set_state(PendingWorkflowTaskState::Started);
        described.pending_workflow_task = Some(task);
        assert_eq!(not_taken(&described, Some("pinpoint")), None);
    }
}

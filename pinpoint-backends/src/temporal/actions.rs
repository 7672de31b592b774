//! The activities of a machine: an executor's methods.
//!
//! A worker may die at any moment, and another one repeats the activity. So an answer is in the
//! journal before the activity completes, and is recorded once: a second worker finds it there.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pinpoint_core::job::{JobResult, JobState, ResultSource};
use pinpoint_core::translate::{accept, essential};
use pinpoint_core::{Executor, ExecutorError, Heartbeat, Record, Report, Request, Ticket};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError, ActivityInfo};
use tracing::{Instrument, info_span};

use super::beating::Beating;
use super::failures::{
    SUPERSEDED, UnableHere, again, elsewhere, from_store, lasting_failure, refused, unable,
};
use super::jobs_here::{JobHere, JobsHere};
use super::messages::{End, Work, essential_of, machine_queue, size};
use super::news::News;
use super::unable::none_can;
use crate::job::{JobError, TraceParent, is_infrastructure, message, trace_end};
use crate::store::{Job, JobId, LockError, Placed, StoreError};

/// The number of consecutive tries whose workers die: then the work is likely the reason.
const MOST_DEATHS: u32 = 5;

/// The number of failed starts on machines, after which the job pauses if each machine has failed.
const MOST_ATTEMPTS: u32 = 5;

/// The time between two tries to record an answer.
const AGAIN: Duration = Duration::from_secs(1);

/// The number of records searched for an answer.
const RECORDS: u32 = 500;

/// The largest answer to an action, as text. Temporal rejects payloads of 2 MiB.
const LARGEST_ANSWER: usize = 1 << 20;

pub(crate) struct Actions {
    pub(crate) jobs: Arc<JobsHere>,
    /// The worker has to stop: work elsewhere continues.
    pub(crate) stopping: Arc<AtomicBool>,
}

#[activities]
impl Actions {
    /// Carries out an action, and records its answer.
    #[activity(name = "pinpoint.perform")]
    pub(crate) async fn perform(
        self: Arc<Self>,
        ctx: ActivityContext,
        work: Work,
    ) -> Result<Placed, ActivityError> {
        let beating = Beating::start(ctx.clone())?;
        let done = self.performed(&work, &beating, ctx.info());
        let ended = tokio::select! {
            biased;
            done = done => done,
            never = beating.keep() => match never {},
            () = ctx.cancelled() => Err(self.end_work(&work, &beating).await),
        };
        if ended.is_err() {
            beating.ends().await;
        }
        ended
    }

    /// Ends a job, and releases it.
    #[activity(name = "pinpoint.end")]
    pub(crate) async fn end(
        self: Arc<Self>,
        ctx: ActivityContext,
        end: End,
    ) -> Result<JobState, ActivityError> {
        let beating = Beating::start(ctx.clone())?;
        tokio::select! {
            biased;
            ended = self.ended(&end) => ended,
            never = beating.keep() => match never {},
            () = ctx.cancelled() => Err(ActivityError::cancelled()),
        }
    }
}

impl Actions {
    async fn performed(
        &self,
        work: &Work,
        beating: &Beating,
        info: &ActivityInfo,
    ) -> Result<Placed, ActivityError> {
        self.jobs.check_store(&work.store)?;
        if let Some(reason) = self.jobs.holds_back.reason() {
            return Err(elsewhere(reason));
        }
        let request = &work.request;
        let id = JobId::parse(&request.key().job).map_err(|error| refused(&error.to_string()))?;
        let done = self.done(&id, work, beating, info).await;
        match done {
            Ok(placed) => {
                self.jobs.holds_back.end();
                Ok(placed)
            }
            Err(Undone::Failed(error)) => Err(error),
            Err(Undone::Unable(reason)) => Err(self.unable(&id, beating, info, reason).await),
        }
    }

    async fn done(
        &self,
        id: &JobId,
        work: &Work,
        beating: &Beating,
        info: &ActivityInfo,
    ) -> Result<Placed, Undone> {
        let request = &work.request;
        if matches!(request, Request::Build(_)) {
            self.jobs.until_build_may_begin(id, info.attempt).await?;
        }
        let here = self.open(id).await?;
        let job = here.taken.job();
        self.jobs.metrics().taken(job, request, info);
        let _under_way = self.jobs.works_on(job, request);
        let span = info_span!(
            "action",
            number = request.key().action,
            task = request.kind(),
            job = %job.id,
            bot = job.bot,
            machine = self.jobs.machine(),
            attempt = info.attempt,
            traceparent = %TraceParent::of(job),
        );
        let answered = self.answered(&here, work, beating);
        answered.instrument(span).await
    }

    async fn answered(
        &self,
        here: &JobHere,
        work: &Work,
        beating: &Beating,
    ) -> Result<Placed, Undone> {
        let action = work.request.key().action;
        let (job, metrics) = (here.taken.job(), self.jobs.metrics());
        let charts = work.request.charts().clone();
        if let Some(placed) = self.answer_of(here, work).await? {
            return Ok(essential_of(placed, &charts));
        }
        let deaths = beating.deaths;
        let record = if deaths >= MOST_DEATHS {
            Record::GaveUp {
                action,
                reason: format!("{deaths} workers in a row have died over it"),
            }
        } else {
            let began = Instant::now();
            let tried = self.tried(here, work, beating).await?;
            metrics.worked(job, &work.request, began.elapsed());
            match tried {
                Ok(report) => Record::Reported {
                    action,
                    report: accept(&charts, report),
                },
                Err(error) => {
                    let wait = work.retry.wait_after(beating.failed());
                    if let Some(wait) = wait {
                        let wait = match error {
                            ExecutorError::Lost => Duration::ZERO,
                            _ => Duration::from_millis(wait),
                        };
                        return Err(Beating::again_after(wait, error).into());
                    }
                    Record::GaveUp {
                        action,
                        reason: error.to_string(),
                    }
                }
            }
        };
        if beating.has_stalled() {
            let stalled = "the worker was stalled, and its work was discarded";
            return Err(again(stalled).into());
        }
        let size = size(&essential(record.clone(), &charts));
        if size > LARGEST_ANSWER {
            let large = format!(
                "the values of a run take {size} bytes as text, and {LARGEST_ANSWER} can be \
                 handed on; name the chart that decides, or aggregate the values of a run"
            );
            return Err(refused(&large).into());
        }
        let placed = self.record(here, &record, work.after).await?;
        metrics.answered(job, &work.request, &placed.record);
        Ok(essential_of(placed, &charts))
    }

    /// Finds the recorded answer to an action that was done before.
    async fn answer_of(
        &self,
        here: &JobHere,
        work: &Work,
    ) -> Result<Option<Placed>, ActivityError> {
        let records = here.journal.records_after(work.after, RECORDS).await;
        let action = Some(work.request.key().action);
        let mut records = records.map_err(from_store)?.into_iter();
        Ok(records.find(|placed| placed.record.action() == action))
    }

    /// Makes one try, and returns true if it was answered.
    async fn tried(
        &self,
        here: &JobHere,
        work: &Work,
        beating: &Beating,
    ) -> Result<Result<Report, ExecutorError>, Undone> {
        let executor: &dyn Executor = &*here.executor;
        let ticket = match beating.tried().ticket {
            Some(ticket) => ticket,
            None => match executor.start(&work.request).await {
                Ok(ticket) => {
                    if ticket.is_durable() {
                        let action = ticket.key.action;
                        let started = Record::Started {
                            action,
                            ticket: ticket.clone(),
                        };
                        self.record(here, &started, work.after).await?;
                        beating.goes_on(Some(ticket.clone())).await;
                    }
                    ticket
                }
                Err(ExecutorError::Refused(error)) => return Err(self.refusal(&*error)),
                Err(error) => return Ok(Err(error)),
            },
        };
        let heart = Heartbeat::default();
        let answered = executor.wait(&work.request, &ticket, &heart);
        let answered = match tokio::time::timeout(work.longest_try, answered).await {
            Ok(answered) => answered,
            Err(_) => {
                let ended = executor.cancel(&ticket).await;
                let reason = format!("no answer after {} s", work.longest_try.as_secs_f64());
                ended.and(Err(ExecutorError::Unavailable(reason.into())))
            }
        };
        match answered {
            Err(ExecutorError::Refused(error)) => Err(self.refusal(&*error)),
            Err(error) => {
                beating.goes_on(None).await;
                Ok(Err(error))
            }
            Ok(report) => Ok(Ok(on_this_machine(report, self.jobs.machine()))),
        }
    }

    fn here(&self, reason: impl Display) -> String {
        format!("on {}: {reason}", self.jobs.machine())
    }

    /// The reason why an executor refuses something: the job, or this machine.
    fn refusal(&self, error: &(dyn std::error::Error + Send + Sync + 'static)) -> Undone {
        match is_infrastructure(error) {
            true => Undone::Unable(self.here(error)),
            false => refused(&self.here(error)).into(),
        }
    }

    /// Leaves an action that this machine can't do to another machine, or to this one a little
    /// later, until none can.
    async fn unable(
        &self,
        id: &JobId,
        beating: &Beating,
        info: &ActivityInfo,
        reason: String,
    ) -> ActivityError {
        self.jobs.holds_back.begin(&reason);
        let error = UnableHere(reason.clone());
        self.jobs.tell_of(News::Trouble(error.into()));
        let machine = self.jobs.machine();
        let tried = beating.unable(machine, &reason);
        let machines = match info.task_queue == machine_queue(machine) {
            true => Ok(vec![machine.to_owned()]),
            false => self.machines_for(id).await,
        };
        match machines {
            Ok(machines) => {
                let none = none_can(&machines, &tried.unable, tried.attempts, MOST_ATTEMPTS);
                if let Some(reason) = none {
                    return unable(&reason);
                }
            }
            Err(error) => return error,
        }
        if let Ok(lease) = self.jobs.lease(id).await {
            // It is recorded the next time.
            let _ = (self.jobs.store())
                .leases()
                .note_standstill(&lease, Some(&reason))
                .await;
        }
        elsewhere(reason)
    }

    /// The machines that serve the bot of a job.
    async fn machines_for(&self, id: &JobId) -> Result<Vec<String>, ActivityError> {
        let bot = self.jobs.read(id.as_str()).await?.bot;
        let machines = self.jobs.machines_of(&bot).await.map_err(from_store)?;
        Ok(machines.into_iter().collect())
    }

    /// Ends the work of an action, unless it is done elsewhere and the worker has to stop.
    async fn end_work(&self, work: &Work, beating: &Beating) -> ActivityError {
        let stopping = self.stopping.load(Ordering::Relaxed);
        let ticket = beating.tried().ticket;
        let ticket = ticket.unwrap_or_else(|| Ticket::in_process(work.request.key().clone()));
        if !(ticket.is_durable() && stopping)
            && let Ok(job) = JobId::parse(&work.request.key().job)
            // A job that can't be opened has no work left.
            && let Ok(here) = self.open(&job).await
            && let Err(error) = here.executor.cancel(&ticket).await
        {
            return again(error);
        }
        match stopping {
            true => again("the worker was stopped"),
            false => ActivityError::cancelled(),
        }
    }

    async fn open(&self, job: &JobId) -> Result<Arc<JobHere>, Undone> {
        match self.jobs.open(job).await {
            Ok(here) => Ok(here),
            Err(JobError::Store(error @ StoreError::LeaseLost { .. })) => {
                self.jobs.lease(job).await?;
                Err(again(error).into())
            }
            Err(JobError::Store(error)) => Err(from_store(error).into()),
            // Another process of this machine has the job open. It may take the action, and leave
            // this one free for others.
            Err(JobError::Locked(error @ LockError::Held { .. })) => Err(elsewhere(error).into()),
            Err(error) => {
                let reason = self.here(message(&error));
                match error.is_infrastructure() || matches!(error, JobError::Locked(_)) {
                    true => Err(Undone::Unable(reason)),
                    false => Err(refused(&reason).into()),
                }
            }
        }
    }

    /// Records something, and retries while the store can't be reached: the work is done.
    async fn record(
        &self,
        here: &JobHere,
        record: &Record,
        after: Option<i64>,
    ) -> Result<Placed, ActivityError> {
        loop {
            match here.taken.record_once(&here.journal, record, after).await {
                Err(error) if error.is_passing() => tokio::time::sleep(AGAIN).await,
                Err(error @ StoreError::LeaseLost { .. }) => {
                    self.jobs.forget(&here.taken.job().id).await;
                    return Err(again(error));
                }
                recorded => return recorded.map_err(from_store),
            }
        }
    }

    async fn ended(&self, end: &End) -> Result<JobState, ActivityError> {
        self.jobs.check_store(&end.store)?;
        let job = self.jobs.read(&end.job).await?;
        let has_ended = !matches!(job.state, JobState::Pending | JobState::Running);
        let is_left = end.paused && job.paused && job.state == JobState::Pending;
        if has_ended || is_left {
            // By the same activity, whose worker died afterwards.
            self.jobs.release(&job.id).await?;
            return Ok(job.state);
        }
        let refusal = end.refused.as_deref();
        if end.paused {
            let (store, lease) = (self.jobs.store(), self.jobs.lease(&job.id).await?);
            let (paused, reason) = match refusal {
                Some(reason) => {
                    let paused = store.leases().pause(&lease, reason).await;
                    (paused, format!("paused: {reason}"))
                }
                // It may have been resumed in the meantime, and is taken again then.
                None => {
                    let left = store
                        .leases()
                        .set_state(&lease, JobState::Pending, None, None);
                    let left = match left.await {
                        // Another attempt of this activity was first.
                        Err(StoreError::Transition {
                            from: JobState::Pending,
                            ..
                        }) => Ok(()),
                        left => left,
                    };
                    (left, "paused".into())
                }
            };
            paused.map_err(from_store)?;
            return self.let_go(&job, JobState::Pending, Err(reason)).await;
        }
        let result = match (self.open(&job.id).await, refusal) {
            (Ok(here), _) => {
                let source: &dyn ResultSource = &*here.executor;
                let result = here.taken.end(source, refusal).await;
                result
                    .map_err(|error| match error {
                        JobError::Store(error) => from_store(error),
                        // The journal differs from the workflow's. A dispatcher starts another
                        // workflow.
                        error @ JobError::NoOutcome { .. } => {
                            lasting_failure(SUPERSEDED, &message(&error)).into()
                        }
                        error => again(message(&error)),
                    })?
                    .ok_or_else(|| refusal.unwrap_or_default().to_owned())
            }
            // The repository may be missing.
            (Err(_), Some(reason)) => {
                let lease = self.jobs.lease(&job.id).await?;
                let store = self.jobs.store();
                let failed = store
                    .leases()
                    .set_state(&lease, JobState::Failed, Some(reason), None);
                failed.await.map_err(from_store)?;
                trace_end(&job, JobState::Failed);
                Err(reason.to_owned())
            }
            (Err(Undone::Failed(error)), None) => return Err(error),
            (Err(Undone::Unable(reason)), None) => return Err(elsewhere(reason)),
        };
        let state = result.as_ref().map_or(JobState::Failed, JobResult::state);
        self.jobs.metrics().job_ended(&job, state);
        self.let_go(&job, state, result).await
    }

    /// Releases a job that has ended, or is paused, and returns its state.
    async fn let_go(
        &self,
        job: &Job,
        state: JobState,
        result: Result<JobResult, String>,
    ) -> Result<JobState, ActivityError> {
        self.jobs.forget(&job.id).await;
        self.jobs.release(&job.id).await?;
        (self.jobs).tell_of(News::Ended(job.id.clone(), Box::new(result)));
        Ok(state)
    }
}

/// The reason why an action has no answer yet.
enum Undone {
    /// This machine can't do it, for this reason.
    Unable(String),
    /// The failure of the activity.
    Failed(ActivityError),
}

impl From<ActivityError> for Undone {
    fn from(error: ActivityError) -> Self {
        Self::Failed(error)
    }
}

/// Adds the machine to a report, to tell the runs of several apart.
fn on_this_machine(report: Report, machine: &str) -> Report {
    let mut report = report;
    let machine = || Some(machine.to_owned());
    match &mut report {
        Report::Ran(run) => run.bot = run.bot.take().or_else(machine),
        Report::RanPair(pair) => {
            for run in [&mut pair.first, &mut pair.second] {
                run.bot = run.bot.take().or_else(machine);
            }
        }
        _ => {}
    }
    report
}

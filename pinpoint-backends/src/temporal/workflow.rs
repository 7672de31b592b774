//! The workflow: a machine, and an activity for each of its actions.
//!
//! It decides nothing by itself. Answers come back in any order; the store has given each its place
//! in the journal, and the machine receives them in that order. So replaying the journal reproduces
//! the machine of the workflow.
//!
//! Facts from the workflow, such as a canceled action, are recorded by an activity, and reach the
//! machine when that has answered.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use pinpoint_core::job::JobState;
use pinpoint_core::{Action, Engine, JobKey, JobMachine, Machine, Record, Report, Task};
use temporalio_client::Priority;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, ApplicationFailure,
    ContinueAsNewOptions, SyncWorkflowContext, WorkflowCancellationToken, WorkflowContext,
    WorkflowContextView, WorkflowResult, WorkflowTermination,
};

use super::actions::Actions;
use super::bookkeeping::Bookkeeping;
use super::failures::{REFUSED, SUPERSEDED, UNABLE, reason_of, type_of};
use super::messages::{
    ActionInProgress, End, InitialJob, JobInput, Note, Noted, QUEUE, Work, WorkflowProgress,
    bot_queue, build_queue, machine_queue,
};
use super::namespace::STATE;
use crate::job::machine_of;
use crate::store::CancelRequest;
use crate::store::Placed;

/// The most runs that wait or are in progress for each machine of a bot: one runs and one follows
/// it. In this way jobs take turns on the machines.
const RUNS_PER_MACHINE: u32 = 2;

/// A longer history is ended, even if that has to wait for a build. Servers end workflows of 51,200
/// events.
const LONGEST_HISTORY: u32 = 30_000;

/// The number of readings of a job's clock in its budget of time, and the least milliseconds
/// between two.
const TICKS: u64 = 20;
const SHORTEST_TICK: u64 = 1_000;

/// The most bytes of a fairness key.
const LONGEST_KEY: usize = 64;

/// Records that are processed before the workflow yields: the time of a task is limited.
const RECORDS_AT_ONCE: usize = 200;

#[workflow]
#[derive(Default)]
pub(crate) struct JobWorkflow {
    progress: WorkflowProgress,
    cancel: Option<CancelRequest>,
    paused: bool,
    /// The job is paused in the store, as jobs without Temporal are.
    let_go: bool,
}

#[workflow_methods]
impl JobWorkflow {
    #[run(name = "pinpoint.job")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: JobInput,
    ) -> WorkflowResult<JobState> {
        let ctx = ctx.clone();
        ctx.state_mut(|state| {
            state.paused |= input.paused;
            state.cancel = state.cancel.take().or_else(|| input.cancel.clone());
        });
        Driver::begin(ctx, input).await?.drive().await
    }

    #[query(name = "progress")]
    pub(crate) fn progress(&self, _: &WorkflowContextView) -> WorkflowProgress {
        WorkflowProgress {
            paused: self.paused,
            canceled: self.cancel.clone(),
            ..self.progress.clone()
        }
    }

    /// Ends the job, with the results so far.
    #[update(name = "cancel")]
    pub(crate) fn cancel(&mut self, _: &mut SyncWorkflowContext<Self>, request: CancelRequest) {
        self.cancel.get_or_insert(request);
    }

    /// Starts nothing new until the job is resumed.
    #[update(name = "pause")]
    pub(crate) fn pause(&mut self, _: &mut SyncWorkflowContext<Self>) {
        self.paused = true;
    }

    /// Ends, once all work in progress has, and leaves the job in the store unchanged: it is paused
    /// there.
    #[update(name = "let_go")]
    pub(crate) fn let_go(&mut self, _: &mut SyncWorkflowContext<Self>) {
        self.let_go = true;
    }

    /// Continues after a pause.
    #[update(name = "resume")]
    pub(crate) fn resume(&mut self, _: &mut SyncWorkflowContext<Self>) {
        self.paused = false;
    }
}

type Local<T> = Pin<Box<dyn Future<Output = T>>>;

/// An activity in progress.
struct InFlight {
    kind: Kind,
    future: Local<Result<Noted, ActivityExecutionError>>,
}

enum Kind {
    Action {
        under_way: ActionInProgress,
        is_build: bool,
        token: WorkflowCancellationToken,
        /// The number of the [`Task::Cancel`] that ends it.
        ended_by: Option<u64>,
    },
    /// A record is written or read.
    Note,
}

/// The next event.
enum Step {
    Ended(usize, Box<Result<Noted, ActivityExecutionError>>),
    /// The workflow received a request.
    Asked,
    TimeIsUp,
}

struct Driver {
    ctx: WorkflowContext<JobWorkflow>,
    input: JobInput,
    begun: InitialJob,
    engine: Engine<JobMachine>,
    /// The last record that the machine has received.
    heard: Option<i64>,
    /// Records that came before their turn, by number.
    early: BTreeMap<i64, Placed>,
    waiting: VecDeque<Action>,
    in_flight: Vec<InFlight>,
    /// Resolves at the next reading of the job's clock.
    time_is_up: Option<Local<()>>,
    /// The start of this run of the workflow, and the milliseconds that the job had taken.
    since: (Option<SystemTime>, u64),
    cancel_noted: bool,
    /// The last pause state that was recorded.
    pause_noted: bool,
    refused: Option<String>,
    /// True if no machine can continue for now.
    is_unable: bool,
    /// True if the job is left in the store.
    lets_go: bool,
    runs: u64,
    builds: u64,
}

impl Driver {
    async fn begin(
        ctx: WorkflowContext<JobWorkflow>,
        input: JobInput,
    ) -> Result<Self, WorkflowTermination> {
        let begun = ctx.execute_activity(Bookkeeping::begin, input.clone(), short(&input));
        let begun: InitialJob = begun.await.map_err(failed)?;
        let machine = machine_of(&begun.job, false).map_err(impossible)?;
        let key = JobKey {
            id: begun.job.id.to_string(),
            created: u64::try_from(begun.job.created).unwrap_or_default(),
        };
        let pause_noted = input.paused;
        let mut driver = Self {
            engine: Engine::new(key, machine),
            ctx,
            input,
            begun,
            heard: None,
            early: BTreeMap::new(),
            waiting: VecDeque::new(),
            in_flight: Vec::new(),
            time_is_up: None,
            since: (None, 0),
            cancel_noted: false,
            pause_noted,
            refused: None,
            is_unable: false,
            lets_go: false,
            runs: 0,
            builds: 0,
        };
        driver.read_journal().await?;
        driver.since = (driver.ctx.workflow_time(), driver.engine.elapsed());
        driver.time_is_up = driver.tick();
        Ok(driver)
    }

    /// The time until the job's clock is recorded, if the job has a budget of time: another process
    /// that continues the job has to know the time spent.
    fn tick(&self) -> Option<Local<()>> {
        let most = self.engine.machine().max_time()?;
        let left = most.checked_sub(self.elapsed()).filter(|left| *left > 0)?;
        let wait = Duration::from_millis(left.min((most / TICKS).max(SHORTEST_TICK)));
        let ctx = self.ctx.clone();
        Some(Box::pin(async move {
            ctx.timer(wait).await;
        }))
    }

    /// Reads records by others: earlier runs of the workflow, or an activity that could not report
    /// them. Nothing is in progress at this time.
    async fn read_journal(&mut self) -> Result<(), WorkflowTermination> {
        loop {
            let note = self.note_of(None);
            let read = self
                .ctx
                .execute_activity(Bookkeeping::note, note, short(&self.input));
            let noted: Noted = read.await.map_err(failed)?;
            for records in noted.records.chunks(RECORDS_AT_ONCE) {
                for placed in records {
                    self.hear(placed)?;
                }
                if records.len() == RECORDS_AT_ONCE {
                    self.ctx.timer(Duration::from_millis(1)).await;
                }
            }
            if !noted.more {
                self.waiting = self.engine.outstanding().into();
                return Ok(());
            }
        }
    }

    async fn drive(mut self) -> WorkflowResult<JobState> {
        let mut asked = self.asked();
        loop {
            self.tell_progress();
            if self.engine.machine().outcome().is_some() {
                break;
            }
            let canceled = self.is_canceled();
            if canceled && !self.cancel_noted {
                self.cancel_noted = true;
                self.refused = None;
                self.note(Record::CancelRequested);
            }
            let continues = self.continues_as_new();
            let paused = self.ctx.state(|state| state.paused) && !canceled;
            if paused != self.pause_noted {
                self.pause_noted = paused;
                let note = Note {
                    paused: Some(paused),
                    ..self.note_of(None)
                };
                self.send(note);
            }
            if self.is_unable {
                break;
            }
            let lets_go = self.ctx.state(|state| state.let_go) && !canceled;
            if self.refused.is_none() {
                self.start_what_may(paused || continues || lets_go)?;
            }
            if self.in_flight.is_empty() {
                if self.refused.is_some() {
                    break;
                }
                if lets_go {
                    self.lets_go = true;
                    break;
                }
                if continues && self.early.is_empty() {
                    return self.continue_as_new().await;
                }
                if !self.early.is_empty() {
                    // Another worker had the job, and recorded earlier ones.
                    self.note(None);
                } else if !paused {
                    return Err(impossible(
                        "nothing is under way, and the search has not ended",
                    ));
                }
            }
            match self.next(&mut asked).await {
                Step::Asked => asked = self.asked(),
                Step::TimeIsUp => {
                    let elapsed = self.elapsed();
                    self.note(Record::TimePassed { elapsed });
                    self.time_is_up = self.tick();
                }
                Step::Ended(index, answer) => {
                    let ended = self.in_flight.remove(index);
                    self.take_in(ended.kind, *answer)?;
                }
            }
        }
        self.end_what_is_under_way().await;
        let end = End {
            job: self.input.job.clone(),
            store: self.input.store.clone(),
            refused: self.refused.clone(),
            paused: self.is_unable || self.lets_go,
        };
        let options = ActivityOptions::with_start_to_close_timeout(self.input.limits.build)
            .heartbeat_timeout(self.input.limits.heartbeat)
            .task_queue(build_queue(&self.input.bot))
            .cancellation_token(WorkflowCancellationToken::new())
            .summary("ends the job".to_owned())
            .build();
        let ended = self.ctx.execute_activity(Actions::end, end, options);
        let state: JobState = ended.await.map_err(failed)?;
        if self.ctx.search_attributes().contains_key(&STATE) {
            self.ctx
                .upsert_search_attributes([STATE.value_set(state.as_str().to_owned())]);
        }
        match self.refused {
            Some(reason) => Err(WorkflowTermination::failed_application(
                ApplicationFailure::builder(reason)
                    .type_name(REFUSED.to_owned())
                    .non_retryable(true)
                    .build(),
            )),
            None => Ok(state),
        }
    }

    /// Resolves when there is something new to process.
    fn asked(&self) -> Local<()> {
        let ctx = self.ctx.clone();
        let (paused, let_go) = ctx.state(|state| (state.paused, state.let_go));
        let cancel_noted = self.cancel_noted;
        Box::pin(async move {
            if cancel_noted {
                // No more requests can come.
                return std::future::pending().await;
            }
            let changed = ctx.wait_condition(|state: &JobWorkflow| {
                state.cancel.is_some() || (state.paused, state.let_go) != (paused, let_go)
            });
            // An error means that Temporal itself was asked to end the workflow.
            let _ = changed.await;
        })
    }

    async fn next(&mut self, asked: &mut Local<()>) -> Step {
        poll_fn(|context| {
            for (index, in_flight) in self.in_flight.iter_mut().enumerate() {
                if let Poll::Ready(answer) = in_flight.future.as_mut().poll(context) {
                    return Poll::Ready(Step::Ended(index, Box::new(answer)));
                }
            }
            if asked.as_mut().poll(context).is_ready() {
                return Poll::Ready(Step::Asked);
            }
            match &mut self.time_is_up {
                Some(timer) => timer.as_mut().poll(context).map(|()| Step::TimeIsUp),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn is_canceled(&self) -> bool {
        let asked = self.ctx.state(|state| state.cancel.is_some());
        asked || self.ctx.cancellation_token().is_cancelled()
    }

    /// Starts actions in their order, within the limits; those that end others even when paused.
    fn start_what_may(&mut self, paused: bool) -> Result<(), WorkflowTermination> {
        while let Some(next) = self.next_allowed(paused) {
            let Some(action) = self.waiting.remove(next) else {
                return Ok(());
            };
            let Task::Cancel { action: ended } = action.task else {
                self.start(&action)?;
                continue;
            };
            let found = self.in_flight.iter_mut().find_map(|it| match &mut it.kind {
                Kind::Action {
                    under_way,
                    token,
                    ended_by,
                    ..
                } if under_way.action == ended => Some((token, ended_by)),
                _ => None,
            });
            match found {
                Some((token, ended_by)) => {
                    *ended_by = Some(action.number);
                    token.cancel();
                }
                None => self.note(Record::Canceled {
                    action: action.number,
                }),
            }
        }
        Ok(())
    }

    /// The first action that the limits allow: canceling is always allowed.
    fn next_allowed(&self, paused: bool) -> Option<usize> {
        let count = |builds: bool| {
            let counts = |it: &&InFlight| matches!(&it.kind, Kind::Action { is_build, .. } if *is_build == builds);
            self.in_flight.iter().filter(counts).count()
        };
        let limits = self.engine.machine().limits();
        let runs = limits.runs.min(RUNS_PER_MACHINE * self.begun.machines);
        let builds_full = paused || count(true) >= limits.builds as usize;
        let runs_full = paused || count(false) >= runs as usize;
        (self.waiting.iter()).position(|action| match action.task {
            Task::Cancel { .. } => true,
            Task::Build { .. } => !builds_full,
            _ => !runs_full,
        })
    }

    fn start(&mut self, action: &Action) -> Result<(), WorkflowTermination> {
        let Some(request) = self.engine.request(action).map_err(impossible)? else {
            return Ok(());
        };
        let machine = self.engine.machine();
        let work = Work {
            store: self.input.store.clone(),
            request,
            retry: machine.retry().clone(),
            longest_try: match machine.limits().longest_try {
                Some(longest) => Duration::from_millis(longest),
                None => self.input.limits.for_task(&action.task),
            },
            after: self.heard,
        };
        let limits = &self.input.limits;
        // The repository may have to be fetched first.
        let longest = work.longest_try.saturating_add(limits.build);
        let retry = temporalio_client::RetryPolicy::builder()
            .initial_interval(Duration::from_millis(work.retry.first_wait))
            .backoff_coefficient(work.retry.factor)
            .maximum_interval(Duration::from_millis(work.retry.longest_wait))
            .build();
        let token = WorkflowCancellationToken::new();
        let under_way = ActionInProgress {
            action: action.number,
            task: action.task.kind().to_owned(),
            queue: queue(&action.task, &self.input.bot),
        };
        let options = ActivityOptions::with_start_to_close_timeout(longest)
            .schedule_to_start_timeout(limits.queue)
            .heartbeat_timeout(limits.heartbeat)
            .task_queue(under_way.queue.clone())
            .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
            .cancellation_token(token.clone())
            .retry_policy(retry)
            .priority(
                Priority::builder()
                    .fairness_key(beginning(&self.begun.job.user, LONGEST_KEY))
                    .build(),
            )
            .summary(format!("{} {}", under_way.task, under_way.action))
            // The machines take the actions in their order.
            .do_not_eagerly_execute(true)
            .build();
        let ctx = self.ctx.clone();
        let future = async move {
            let answer = ctx.execute_activity(Actions::perform, work, options).await;
            answer.map(|placed: Placed| Noted {
                records: vec![placed],
                more: false,
            })
        };
        self.in_flight.push(InFlight {
            kind: Kind::Action {
                under_way,
                is_build: matches!(action.task, Task::Build { .. }),
                token,
                ended_by: None,
            },
            future: Box::pin(future),
        });
        Ok(())
    }

    fn note_of(&self, record: Option<Record>) -> Note {
        let is_cancel = record == Some(Record::CancelRequested);
        let asked = self.ctx.state(|state| state.cancel.clone());
        Note {
            job: self.input.job.clone(),
            store: self.input.store.clone(),
            paused: None,
            record,
            cancel: asked.filter(|_| is_cancel),
            after: self.heard,
        }
    }

    /// Records something, or nothing; then the machine receives all records that it has missed.
    fn note(&mut self, record: impl Into<Option<Record>>) {
        self.send(self.note_of(record.into()));
    }

    fn send(&mut self, note: Note) {
        let ctx = self.ctx.clone();
        let options = short(&self.input);
        self.in_flight.push(InFlight {
            kind: Kind::Note,
            future: Box::pin(async move {
                ctx.execute_activity(Bookkeeping::note, note, options).await
            }),
        });
    }

    fn take_in(
        &mut self,
        kind: Kind,
        answer: Result<Noted, ActivityExecutionError>,
    ) -> Result<(), WorkflowTermination> {
        let canceled = match &kind {
            Kind::Action { ended_by, .. } => *ended_by,
            Kind::Note => None,
        };
        match (answer, kind) {
            (Ok(noted), _) => {
                for placed in noted.records {
                    self.early.insert(placed.sequence, placed);
                }
                self.hear_what_is_next()?;
                if noted.more {
                    self.note(None);
                }
            }
            (Err(error), _) if type_of(&error) == Some(SUPERSEDED) => {
                return Err(failed(error));
            }
            (Err(error), Kind::Note) => return Err(failed(error)),
            (Err(_), Kind::Action { .. }) if canceled.is_some() => {}
            (Err(error), Kind::Action { under_way, .. }) => match type_of(&error) {
                Some(UNABLE) => {
                    self.is_unable = true;
                    self.refused.get_or_insert(reason_of(&error));
                }
                Some(REFUSED) => {
                    let reason = reason_of(&error);
                    // The journal, and not this, keeps its place in the order.
                    self.refused.get_or_insert(reason);
                }
                _ => self.note(Record::GaveUp {
                    action: under_way.action,
                    reason: reason_of(&error),
                }),
            },
        }
        if let Some(action) = canceled {
            self.note(Record::Canceled { action });
        }
        Ok(())
    }

    /// Passes all records whose turn it is to the machine.
    fn hear_what_is_next(&mut self) -> Result<(), WorkflowTermination> {
        let heard = self.heard;
        self.early.retain(|sequence, _| Some(*sequence) > heard);
        while let Some(next) = self.early.first_entry()
            && next.get().previous == self.heard
        {
            let placed = next.remove();
            self.hear(&placed)?;
            for action in self.engine.poll() {
                if let Task::Cancel { action: ended } = action.task {
                    self.waiting.retain(|waiting| waiting.number != ended);
                }
                self.waiting.push_back(action);
            }
        }
        Ok(())
    }

    fn hear(&mut self, placed: &Placed) -> Result<(), WorkflowTermination> {
        if let Record::Reported { report, .. } = &placed.record {
            match report {
                Report::Ran(_) => self.runs += 1,
                Report::RanPair(_) => self.runs += 2,
                Report::Built(report) if report.failure.is_none() => self.builds += 1,
                _ => {}
            }
        }
        self.engine.apply(&placed.record).map_err(impossible)?;
        // Another worker may have answered an action that waits here.
        let answered = placed.record.action();
        self.waiting
            .retain(|action| Some(action.number) != answered);
        self.heard = Some(placed.sequence);
        Ok(())
    }

    /// Milliseconds that the job has taken.
    fn elapsed(&self) -> u64 {
        let (began, before) = self.since;
        let since = (began.zip(self.ctx.workflow_time()))
            .and_then(|(began, now)| now.duration_since(began).ok());
        let since = u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
        before.saturating_add(since)
    }

    fn continues_as_new(&self) -> bool {
        // A build may take hours, and a history that waits hardly grows.
        let builds = self
            .in_flight
            .iter()
            .any(|it| matches!(&it.kind, Kind::Action { is_build: true, .. }));
        self.ctx.continue_as_new_suggested()
            && (!builds || self.ctx.history_length() > LONGEST_HISTORY)
    }

    /// Ends this run of the workflow; the next one reads the journal.
    async fn continue_as_new(mut self) -> WorkflowResult<JobState> {
        if self.engine.machine().max_time().is_some() {
            let elapsed = self.elapsed();
            let note = self.note_of(Some(Record::TimePassed { elapsed }));
            let noted = self
                .ctx
                .execute_activity(Bookkeeping::note, note, short(&self.input));
            let _: Noted = noted.await.map_err(failed)?;
        }
        self.input.paused = self.ctx.state(|state| state.paused);
        if self.is_canceled() && !self.cancel_noted {
            let asked = self.ctx.state(|state| state.cancel.clone());
            self.input.cancel = Some(asked.unwrap_or_default());
        }
        let options = ContinueAsNewOptions::default();
        match self.ctx.continue_as_new(self.input, options)? {}
    }

    /// Ends actions in progress: one may have decided the search.
    async fn end_what_is_under_way(&mut self) {
        for in_flight in &self.in_flight {
            if let Kind::Action { token, .. } = &in_flight.kind {
                token.cancel();
            }
        }
        for in_flight in self.in_flight.drain(..) {
            // Its answer no longer counts.
            let _ = in_flight.future.await;
        }
    }

    fn tell_progress(&self) {
        let under_way = self.in_flight.iter().filter_map(|it| match &it.kind {
            Kind::Action { under_way, .. } => Some(under_way.clone()),
            Kind::Note => None,
        });
        let progress = WorkflowProgress {
            records: self.engine.records(),
            runs: self.runs,
            builds: self.builds,
            under_way: under_way.collect(),
            ended: self.engine.machine().outcome().is_some(),
            ..WorkflowProgress::default()
        };
        self.ctx.state_mut(|state| state.progress = progress);
    }
}

/// The beginning of a text, with at most this many bytes.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

/// The queue in which a task waits for a machine.
fn queue(task: &Task, bot: &str) -> String {
    match task {
        Task::Run {
            bot: Some(machine), ..
        }
        | Task::RunPair {
            bot: Some(machine), ..
        } => machine_queue(machine),
        Task::List { .. } | Task::Build { .. } | Task::Cancel { .. } => build_queue(bot),
        // Another task may need the bot.
        _ => bot_queue(bot),
    }
}

/// Options for an activity that needs only the store. It is retried while the store is out of
/// reach.
fn short(input: &JobInput) -> ActivityOptions {
    // As soon as a dead worker is noticed during a run: in jobs of short runs, workers die during
    // this as often. A store that takes longer is called again.
    ActivityOptions::with_start_to_close_timeout(input.limits.heartbeat)
        .task_queue(QUEUE.to_owned())
        // Such facts must also be recorded when the workflow is canceled.
        .cancellation_token(WorkflowCancellationToken::new())
        .summary(format!("records what happened in {}", input.job))
        .build()
}

fn failed(error: ActivityExecutionError) -> WorkflowTermination {
    WorkflowTermination::from(error)
}

/// The error when the journal contradicts the machine, or the program has a bug.
fn impossible(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> WorkflowTermination {
    WorkflowTermination::failed_application(ApplicationFailure::non_retryable(error))
}

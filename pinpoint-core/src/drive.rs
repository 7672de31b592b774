//! The loop between a machine, an executor and a journal.
//!
//! Actions run concurrently; every fact is journaled before the machine handles it. A
//! job that was killed is driven again with the same journal: its records are
//! replayed, work with a handle is waited for again, and other work in flight
//! is started again under the same key.
//!
//! # Early ends
//!
//! *Detach*: the process ends and the job does not. Work with a handle continues, other work is
//! ended. *Cancel*: the machine has its work ended and reports its findings so far. *Refused*: The
//! executor can't carry a request out. Work in flight in this process is finished and journaled,
//! nothing more is started, and the job pauses.
//!
//! # Traces
//!
//! With a subscriber of [`tracing`], each job is a span `job` with its `id`, and each
//! action a span `action` in it with its `number` and the kind of its `task`, entered
//! whenever the executor works on it. Retries, pauses and cancellations are events.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{AbortHandle, Aborted, BoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt, future, poll, select_biased};
use tracing::{Instrument, Span, debug, info, info_span, warn};

use crate::translate::{UnnamedCommit, accept};
use crate::{
    Action, Clock, Engine, Event, Executor, ExecutorError, Heartbeat, Journal, JournalError,
    Limits, Machine, MachineError, Record, Report, Request, RetryPolicy, Task, Ticket,
};

/// The reason to stop a job that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// This process has to end, but the job does not: it can be resumed, by this or
    /// another process.
    Detach,
    /// End the job: the machine reports its findings so far.
    Cancel,
}

/// A step of a driver.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriveEvent<'a> {
    /// The journal was replayed: this many records.
    Replayed(u64),
    /// An action was handed to the executor.
    Started(&'a Action),
    /// A record was journaled and applied.
    Recorded {
        /// The record.
        record: &'a Record,
        /// The event that the machine handled.
        event: Option<&'a Event>,
        /// The task that the event is about.
        task: Option<&'a Task>,
    },
    /// Something was refused, for this reason: the job pauses when the other work in flight
    /// in this process has ended.
    Pausing(&'a (dyn std::error::Error + 'static)),
}

/// A finished job.
#[derive(Debug)]
#[non_exhaustive]
pub struct Driven<M: Machine> {
    /// The findings of the machine, with the names of culprits.
    pub outcome: M::Outcome,
    /// The machine, and the names of its commits.
    pub engine: Engine<M>,
}

/// The reason why a job ended without an outcome. Nothing in its journal is lost: it can
/// be driven again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// This process was asked to end.
    #[error("interrupted")]
    Detached,
    /// The journal can't be read or written.
    #[error("the journal of the job can't be used: {0}")]
    Journal(#[from] JournalError),
    /// The executor can't carry out a request.
    #[error("{0}")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The journal or the executor contradicts the machine.
    #[error("inconsistent journal: {0}")]
    Machine(#[from] MachineError),
    /// The machine asks for a commit that has no name.
    #[error(transparent)]
    Unnamed(#[from] UnnamedCommit),
    /// The machine waits, and no action is open.
    #[error("internal error: the search is unfinished but has no pending action")]
    Stalled,
}

/// Drives a machine to its outcome.
///
/// `stop` resolves when the job has to stop; [`future::pending`] if never.
pub async fn drive<M>(
    machine: M,
    executor: &dyn Executor,
    journal: &mut dyn Journal,
    clock: &dyn Clock,
    stop: impl Future<Output = Stop>,
) -> Result<Driven<M>, DriveError>
where
    M: Machine,
    M::Outcome: Clone,
{
    let driver = Driver::new(executor, clock);
    driver
        .drive_watched(machine, journal, stop, |_, _| {})
        .await
}

/// Drives machines with one executor and one clock.
#[derive(Clone, Copy)]
pub struct Driver<'a> {
    executor: &'a dyn Executor,
    clock: &'a dyn Clock,
}

impl<'a> Driver<'a> {
    /// A driver that carries out actions with this executor, and waits by this clock.
    pub fn new(executor: &'a dyn Executor, clock: &'a dyn Clock) -> Self {
        Self { executor, clock }
    }

    /// [`drive`], with a call of `watch` at each step, which must not block.
    ///
    /// # Errors
    ///
    /// When the job ended without an outcome.
    pub async fn drive_watched<M>(
        self,
        machine: M,
        journal: &mut dyn Journal,
        stop: impl Future<Output = Stop>,
        mut watch: impl FnMut(DriveEvent<'_>, &Engine<M>),
    ) -> Result<Driven<M>, DriveError>
    where
        M: Machine,
        M::Outcome: Clone,
    {
        let job = journal.job();
        let span = info_span!("job", id = job.id);
        let mut engine = Engine::new(job, machine);
        async {
            replay(&mut engine, journal).await?;
            info!(records = engine.records(), "replayed the journal");
            watch(DriveEvent::Replayed(engine.records()), &engine);
            let mut work = Work::new(self.executor, self.clock, &engine);
            let outcome = work.drive(&mut engine, journal, stop, &mut watch).await;
            // One action may have failed while others are in flight.
            work.end_what_is_here().await;
            outcome
        }
        .instrument(span)
        .await
        .map(|outcome| Driven { outcome, engine })
    }
}

/// Applies every record of a journal.
pub async fn replay<M: Machine>(
    engine: &mut Engine<M>,
    journal: &mut dyn Journal,
) -> Result<(), DriveError> {
    // Machines need not be `Send`, but the records for a journal must be.
    let mut records = Vec::new();
    journal.replay(&mut |record| records.push(record)).await?;
    for record in &records {
        engine.apply(record)?;
    }
    Ok(())
}

/// The next reading of the job's clock; never, when the job has no budget of
/// time, or has spent it.
///
/// When the process is killed, the time since the last reading is forgotten: at most a
/// hundredth of the budget, or 1 s.
async fn tick(clock: &dyn Clock, max_time: Option<u64>, elapsed: u64) -> u64 {
    let Some((most, left)) = max_time
        .and_then(|most| Some((most, most.checked_sub(elapsed)?)))
        .filter(|(_, left)| *left > 0 || elapsed == 0)
    else {
        return future::pending().await;
    };
    let wait = (most / 100).max(1_000).min(left.max(1));
    clock.sleep(Duration::from_millis(wait)).await;
    elapsed.saturating_add(wait)
}

/// The end of one step of an action.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Ended {
    Started(Result<Ticket, ExecutorError>),
    Answered(Result<Report, ExecutorError>),
    /// The pause before the next try has ended.
    BackedOff,
    Canceled(Result<(), ExecutorError>),
}

/// The consequence of it.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Step {
    Record(Record),
    Continue,
    Refused(Box<dyn std::error::Error + Send + Sync>),
}

type ActionFuture<'a> = BoxFuture<'a, Result<(u64, Ended), Aborted>>;

/// The actions in flight, and those to come.
struct Work<'a> {
    executor: &'a dyn Executor,
    clock: &'a dyn Clock,
    retry: RetryPolicy,
    limits: Limits,
    /// Not started yet.
    waiting: VecDeque<Action>,
    begun: FuturesUnordered<ActionFuture<'a>>,
    /// Futures that have ended, at once or while a record was written.
    ready: VecDeque<(u64, Ended)>,
    in_flight: BTreeMap<u64, InFlight>,
}

/// An action in flight.
struct InFlight {
    operation: Operation,
    span: Span,
    phase: Phase,
    /// Tries that failed.
    failed: u32,
    abort: Option<AbortHandle>,
    /// The cancellation to carry out once the start is answered, with its span.
    cancel_by: Option<(u64, Span)>,
}

#[derive(Clone)]
enum Operation {
    Request(Arc<Request>),
    /// Ends other work.
    Cancel(Ticket),
}

#[derive(Clone)]
enum Phase {
    Starting,
    Waiting(Ticket),
    /// Between two tries.
    BackingOff,
}

impl InFlight {
    fn new(operation: Operation, span: Span) -> Self {
        Self {
            operation,
            span,
            phase: Phase::Starting,
            failed: 0,
            abort: None,
            cancel_by: None,
        }
    }
}

impl<'a> Work<'a> {
    fn new<M: Machine>(
        executor: &'a dyn Executor,
        clock: &'a dyn Clock,
        engine: &Engine<M>,
    ) -> Self {
        Self {
            executor,
            clock,
            retry: engine.machine().retry().clone(),
            limits: engine.machine().limits().clone(),
            waiting: VecDeque::new(),
            begun: FuturesUnordered::new(),
            ready: VecDeque::new(),
            in_flight: BTreeMap::new(),
        }
    }

    /// Carries out actions until the machine has an outcome.
    async fn drive<M>(
        &mut self,
        engine: &mut Engine<M>,
        journal: &mut dyn Journal,
        stop: impl Future<Output = Stop>,
        watch: &mut impl FnMut(DriveEvent<'_>, &Engine<M>),
    ) -> Result<M::Outcome, DriveError>
    where
        M: Machine,
        M::Outcome: Clone,
    {
        // After a replay nothing is in flight in this process.
        self.waiting.extend(engine.outstanding());
        let (clock, max_time) = (self.clock, engine.machine().max_time());
        let mut stop = pin!(stop.fuse());
        let mut ticking = pin!(tick(clock, max_time, engine.elapsed()).fuse());
        // The reason why the job pauses, once the work in flight has ended.
        let mut refused = None;
        loop {
            if let Some(outcome) = engine.outcome() {
                return Ok(outcome);
            }
            if refused.is_none() {
                self.start_what_may(engine, watch).await?;
            } else if !self.is_busy_here()
                && let Some(error) = refused.take()
            {
                return Err(DriveError::Refused(error));
            }
            // In this order, and not at random, so that the same executor gives
            // the same journal.
            let record = select_biased! {
                stop = stop => match stop {
                    Stop::Cancel => {
                        info!("canceling the job");
                        refused = None;
                        Record::CancelRequested
                    }
                    Stop::Detach => {
                        info!("detaching from the job");
                        return Err(match refused {
                            Some(error) => DriveError::Refused(error),
                            None => DriveError::Detached,
                        });
                    }
                },
                step = self.next().fuse() => match self.step(step.ok_or(DriveError::Stalled)?).await {
                    Step::Record(record) => record,
                    Step::Continue => continue,
                    Step::Refused(error) => {
                        warn!(%error, "pausing the job: the executor refuses a request");
                        if refused.is_none() {
                            if self.is_busy_here() {
                                watch(DriveEvent::Pausing(&*error), engine);
                            }
                            refused = Some(error);
                        }
                        continue;
                    }
                },
                elapsed = ticking => {
                    ticking.set(tick(clock, max_time, elapsed).fuse());
                    Record::TimePassed { elapsed }
                }
            };
            self.polled_during(journal.append(&record)).await?;
            let applied = engine.apply(&record)?;
            watch(
                DriveEvent::Recorded {
                    record: &record,
                    event: applied.event.as_ref(),
                    task: applied.task.as_ref(),
                },
                engine,
            );
            if let Record::Started { action, ticket } = record {
                self.wait(action, ticket).await;
            }
            for action in engine.poll() {
                if let Task::Cancel { action: ended } = action.task {
                    self.waiting.retain(|waiting| waiting.number != ended);
                }
                self.waiting.push_back(action);
            }
        }
    }

    /// Starts actions in their order, within the limits.
    async fn start_what_may<M: Machine>(
        &mut self,
        engine: &Engine<M>,
        watch: &mut impl FnMut(DriveEvent<'_>, &Engine<M>),
    ) -> Result<(), DriveError> {
        // An executor that answers at once, a blocking one, gets one action at
        // a time: the answer is journaled before more work starts.
        while self.ready.is_empty() {
            let Some(next) = self.next_allowed() else {
                return Ok(());
            };
            let Some(action) = self.waiting.remove(next) else {
                return Ok(());
            };
            watch(DriveEvent::Started(&action), engine);
            let span = info_span!("action", number = action.number, task = action.task.kind());
            match (&action.task, engine.request(&action)?) {
                (Task::Cancel { action: ended }, _) => {
                    span.in_scope(|| info!(canceled = *ended, "canceling an action"));
                    let known = engine.ticket(*ended);
                    self.cancel(action.number, *ended, known, span).await;
                }
                (_, Some(request)) => {
                    let known = engine.ticket(action.number);
                    let operation = Operation::Request(Arc::new(request));
                    (self.in_flight).insert(action.number, InFlight::new(operation, span));
                    if known.is_durable() {
                        self.wait(action.number, known).await;
                    } else {
                        self.start(action.number).await;
                    }
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// The first action that the limits allow: canceling is always allowed.
    fn next_allowed(&self) -> Option<usize> {
        let count = |builds: bool| {
            (self.in_flight.values())
                .filter(
                    |it| matches!(&it.operation, Operation::Request(it) if is_build(it) == builds),
                )
                .count()
        };
        let full = |builds: bool| {
            let most = if builds {
                self.limits.builds
            } else {
                self.limits.runs
            };
            count(builds) >= most as usize
        };
        let (builds_full, runs_full) = (full(true), full(false));
        (self.waiting.iter()).position(|action| match action.task {
            Task::Cancel { .. } => true,
            Task::Build { .. } => !builds_full,
            _ => !runs_full,
        })
    }

    async fn start(&mut self, number: u64) {
        if let Some(Operation::Request(request)) = self.enter(number, Phase::Starting) {
            let executor = self.executor;
            let start = async move { Ended::Started(executor.start(&request).await) };
            self.begin(number, start.boxed()).await;
        }
    }

    /// Waits for work that was started.
    async fn wait(&mut self, number: u64, ticket: Ticket) {
        let Some(Operation::Request(request)) = self.enter(number, Phase::Waiting(ticket.clone()))
        else {
            return;
        };
        let it = self.in_flight.get_mut(&number);
        if let Some((cancel, span)) = it.and_then(|it| it.cancel_by.take()) {
            return self.cancel(cancel, number, ticket, span).await;
        }
        let (executor, clock, limits) = (self.executor, self.clock, self.limits.clone());
        let wait = async move {
            Ended::Answered(wait_for(executor, clock, &limits, &request, &ticket).await)
        };
        self.begin(number, wait.boxed()).await;
    }

    /// Ends the work of an action, by another one. `known` is the ticket to end it by
    /// when none is in flight in this process.
    async fn cancel(&mut self, number: u64, ended: u64, known: Ticket, span: Span) {
        let ticket = match self.in_flight.get_mut(&ended) {
            None => known,
            Some(it) => match &it.phase {
                // It can't be ended before its ticket is there.
                Phase::Starting => {
                    it.cancel_by = Some((number, span));
                    return;
                }
                Phase::Waiting(ticket) => ticket.clone(),
                Phase::BackingOff => known,
            },
        };
        if let Some(abort) = self.in_flight.remove(&ended).and_then(|it| it.abort) {
            abort.abort();
        }
        self.in_flight
            .insert(number, InFlight::new(Operation::Cancel(ticket), span));
        self.try_cancel(number).await;
    }

    async fn try_cancel(&mut self, number: u64) {
        if let Some(Operation::Cancel(ticket)) = self.enter(number, Phase::Starting) {
            let executor = self.executor;
            let cancel = async move { Ended::Canceled(executor.cancel(&ticket).await) };
            self.begin(number, cancel.boxed()).await;
        }
    }

    async fn back_off(&mut self, number: u64, wait: u64) {
        if self.enter(number, Phase::BackingOff).is_some() {
            let clock = self.clock;
            let rest = async move {
                clock.sleep(Duration::from_millis(wait)).await;
                Ended::BackedOff
            };
            self.begin(number, rest.boxed()).await;
        }
    }

    fn enter(&mut self, number: u64, phase: Phase) -> Option<Operation> {
        let it = self.in_flight.get_mut(&number)?;
        it.phase = phase;
        Some(it.operation.clone())
    }

    async fn begin(&mut self, number: u64, future: BoxFuture<'a, Ended>) {
        let Some(it) = self.in_flight.get_mut(&number) else {
            return;
        };
        let (future, abort) = abortable(future.instrument(it.span.clone()));
        it.abort = Some(abort);
        let mut begun = async move { future.await.map(|ended| (number, ended)) }.boxed();
        // The first poll is made here and not by the collection, which promises no order: it starts
        // runs in the order asked for.
        match poll!(&mut begun) {
            std::task::Poll::Ready(Ok(ended)) => self.ready.push_back(ended),
            std::task::Poll::Ready(Err(Aborted)) => {}
            std::task::Poll::Pending => self.begun.push(begun),
        }
    }

    /// Resolves as the other future does, and polls the work in flight until then: limits of
    /// time and heartbeats must not stand still while a record is written.
    async fn polled_during<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other.fuse());
        loop {
            select_biased! {
                done = other => return done,
                ended = self.begun.select_next_some() => self.ready.extend(ended),
            }
        }
    }

    /// The next future that ends; absent when none is in flight.
    async fn next(&mut self) -> Option<(u64, Ended)> {
        loop {
            if let Some(ended) = self.ready.pop_front() {
                return Some(ended);
            }
            if let Ok(ended) = self.begun.next().await? {
                return Some(ended);
            }
        }
    }

    /// Continues an action.
    async fn step(&mut self, (number, ended): (u64, Ended)) -> Step {
        let Some(it) = self.in_flight.get(&number) else {
            // It was canceled when it had just ended.
            return Step::Continue;
        };
        match ended {
            Ended::Started(Ok(ticket)) if ticket.is_durable() && it.cancel_by.is_none() => {
                Step::Record(Record::Started {
                    action: number,
                    ticket,
                })
            }
            Ended::Started(Ok(ticket)) => {
                self.wait(number, ticket).await;
                Step::Continue
            }
            Ended::Answered(Ok(report)) => {
                it.span.in_scope(|| debug!("reported"));
                let operation = self.in_flight.remove(&number).map(|it| it.operation);
                let report = match operation {
                    Some(Operation::Request(request)) => accept(request.charts(), report),
                    _ => report,
                };
                Step::Record(Record::Reported {
                    action: number,
                    report,
                })
            }
            Ended::BackedOff => {
                match it.operation {
                    Operation::Request(_) => self.start(number).await,
                    Operation::Cancel(_) => self.try_cancel(number).await,
                }
                Step::Continue
            }
            Ended::Canceled(Ok(())) => {
                self.in_flight.remove(&number);
                Step::Record(Record::Canceled { action: number })
            }
            Ended::Started(Err(error))
            | Ended::Answered(Err(error))
            | Ended::Canceled(Err(error)) => self.failed(number, error).await,
        }
    }

    /// A try failed: another one follows, or the end.
    async fn failed(&mut self, number: u64, error: ExecutorError) -> Step {
        let Some(it) = self.in_flight.get_mut(&number) else {
            return Step::Continue;
        };
        if let Some((cancel, span)) = it.cancel_by.take() {
            let Operation::Request(request) = &it.operation else {
                return Step::Continue;
            };
            // The start may have succeeded: the key finds it.
            let ticket = Ticket::in_process(request.key().clone());
            it.phase = Phase::BackingOff;
            self.cancel(cancel, number, ticket, span).await;
            return Step::Continue;
        }
        it.failed += 1;
        let wait = self.retry.wait_after(it.failed);
        it.span.in_scope(|| match (&error, wait) {
            (ExecutorError::Refused(_), _) => {}
            (_, None) => warn!(%error, tries = it.failed, "giving up"),
            (ExecutorError::Lost, _) => warn!("starting lost work again"),
            (_, Some(wait)) => warn!(%error, wait, tries = it.failed, "retrying after a pause"),
        });
        match (error, wait) {
            (ExecutorError::Refused(error), _) => {
                self.in_flight.remove(&number);
                Step::Refused(error)
            }
            (ExecutorError::Lost, Some(_)) => {
                self.start(number).await;
                Step::Continue
            }
            (ExecutorError::Unavailable(_), Some(wait)) => {
                self.back_off(number, wait).await;
                Step::Continue
            }
            (error, None) => {
                self.in_flight.remove(&number);
                Step::Record(Record::GaveUp {
                    action: number,
                    reason: error.to_string(),
                })
            }
        }
    }

    /// Returns true if work is in flight that would be lost with this process.
    fn is_busy_here(&self) -> bool {
        (self.in_flight.values()).any(|it| match (&it.operation, &it.phase) {
            (_, Phase::BackingOff) => false,
            (Operation::Request(_), Phase::Waiting(ticket)) => !ticket.is_durable(),
            _ => true,
        })
    }

    /// Ends the work that ends with this process, and returns when it has ended. Work with a handle
    /// continues.
    async fn end_what_is_here(&mut self) {
        self.begun.clear();
        let in_flight = std::mem::take(&mut self.in_flight);
        let tickets = (in_flight.into_values()).filter_map(|it| match (it.operation, it.phase) {
            (Operation::Cancel(ticket), _) | (Operation::Request(_), Phase::Waiting(ticket)) => {
                (!ticket.is_durable()).then_some(ticket)
            }
            _ => None,
        });
        let executor = self.executor;
        // An executor that can't end its work is asked only once.
        future::join_all(tickets.map(|ticket| async move {
            let _ = executor.cancel(&ticket).await;
        }))
        .await;
    }
}

fn is_build(request: &Request) -> bool {
    matches!(request, Request::Build(_))
}

/// Waits for work, within the limits.
async fn wait_for(
    executor: &dyn Executor,
    clock: &dyn Clock,
    limits: &Limits,
    request: &Request,
    ticket: &Ticket,
) -> Result<Report, ExecutorError> {
    let heartbeat = Heartbeat::default();
    let mut answer = executor.wait(request, ticket, &heartbeat).fuse();
    let mut longest = pin!(sleep(clock, limits.longest_try).fuse());
    let mut silent = pin!(silence(clock, limits, ticket, &heartbeat).fuse());
    let why = select_biased! {
        answer = answer => return answer,
        limit = longest => format!("there was no answer within {}", seconds(limit)),
        limit = silent => format!("there was no sign of life for {}", seconds(limit)),
    };
    drop(answer);
    executor.cancel(ticket).await?;
    Err(ExecutorError::Unavailable(why.into()))
}

/// Resolves when work elsewhere gave no heartbeat for too long. Work in this process
/// can't get lost.
async fn silence(clock: &dyn Clock, limits: &Limits, ticket: &Ticket, heart: &Heartbeat) -> u64 {
    let limit = limits.heartbeat.filter(|_| ticket.is_durable());
    let mut beats = heart.count();
    loop {
        let limit = sleep(clock, limit).await;
        if heart.count() == beats {
            return limit;
        }
        beats = heart.count();
    }
}

async fn sleep(clock: &dyn Clock, limit: Option<u64>) -> u64 {
    let Some(limit) = limit else {
        return future::pending().await;
    };
    clock.sleep(Duration::from_millis(limit)).await;
    limit
}

fn seconds(milliseconds: u64) -> String {
    format!("{} s", milliseconds as f64 / 1000.0)
}

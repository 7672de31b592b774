//! The loop between a machine, an executor and a journal.
//!
//! Actions run concurrently; every answer is written to the journal before the
//! machine hears of it. A job that was killed is driven again with the same
//! journal: what is written there is replayed, and the machine then asks for
//! what was under way, under the same numbers.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{AbortHandle, Aborted, BoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt, future, poll, select_biased};

use crate::{
    Action, Atlas, BuildReport, BuildRequest, Charts, Detail, Event, Executor, ExecutorError,
    Journal, JournalError, Key, ListRequest, Listing, Machine, MachineError, PairReport, PairedRun,
    Position, Record, RetryPolicy, RunPairRequest, RunReport, RunRequest, Series, Task, Variant,
};

/// How often a job with a budget of time looks at its clock.
const CLOCK_TICK: Duration = Duration::from_secs(10);

/// Why a job that could go on is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Leave the job as it is: it can be taken up again later.
    Interrupt,
    /// End the job: the machine hears of it and says what it knows so far.
    Cancel,
}

/// What a driver tells whoever watches.
#[derive(Debug)]
pub enum Moment<'a> {
    /// The journal was replayed: so many records.
    Replayed(usize),
    /// An action was handed to the executor.
    Started(&'a Action),
    /// Something was written down and handled.
    Happened(&'a Record),
}

/// What came of a job.
#[derive(Debug)]
pub struct Driven<O> {
    /// What the machine found.
    pub outcome: O,
    /// What its positions are called.
    pub atlas: Atlas,
}

/// Why a job ended without an outcome. Nothing in its journal is lost: it can
/// be driven again.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// Somebody interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// The journal can't be read or written.
    #[error("the journal of the job can't be used: {0}")]
    Journal(#[from] JournalError),
    /// The executor can't do what is needed.
    #[error("{0}")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The journal or the executor told the machine what can't have happened.
    #[error("the search was told what can't have happened: {0}")]
    Machine(#[from] MachineError),
    /// The machine speaks of a commit that has no name.
    #[error("{task:?} names a commit that was never listed or built")]
    Unnamed {
        /// What was asked.
        task: Task,
    },
    /// The machine waits for an answer to nothing.
    #[error("the search is not finished, and yet asks for nothing")]
    Stalled,
}

/// Drives a machine to its outcome.
///
/// `cancel` resolves when the job is to stop; [`future::pending`] if never.
pub async fn drive<M>(
    machine: M,
    executor: &dyn Executor,
    journal: &mut dyn Journal,
    cancel: impl Future<Output = Stop>,
) -> Result<Driven<M::Outcome>, DriveError>
where
    M: Machine,
    M::Outcome: Clone,
{
    drive_watched(machine, executor, journal, cancel, |_, _, _| {}).await
}

/// [`drive`], with somebody watching.
///
/// `watch` is called between any two steps, with the machine as it is then and
/// the names known so far; it must not block.
pub async fn drive_watched<M>(
    mut machine: M,
    executor: &dyn Executor,
    journal: &mut dyn Journal,
    cancel: impl Future<Output = Stop>,
    mut watch: impl FnMut(Moment<'_>, &M, &Atlas),
) -> Result<Driven<M::Outcome>, DriveError>
where
    M: Machine,
    M::Outcome: Clone,
{
    let job = journal.job().to_owned();
    let mut atlas = Atlas::of(&machine);
    let mut elapsed = 0;
    let records = journal.records().await?;
    let mut open = BTreeMap::new();
    for record in &records {
        if let Event::TimePassed { elapsed: passed } = record.event {
            elapsed = passed;
        }
        take(&mut machine, &mut open);
        hear(&mut machine, &mut atlas, &mut open, record)?;
    }
    watch(Moment::Replayed(records.len()), &machine, &atlas);
    // After a replay nothing is under way, whatever was handed out before.
    machine.poll();
    let mut asked = VecDeque::from(machine.outstanding());
    open = tasks(asked.iter()).collect();

    let mut work = Work::new(executor, machine.retry().clone(), job);
    let mut cancel = pin!(cancel.fuse());
    let mut clock = pin!(tick(executor, machine.max_time(), elapsed).fuse());
    let outcome = async {
        loop {
            if let Some(outcome) = machine.outcome() {
                return Ok(outcome.clone());
            }
            // An executor that answers at once, a blocking one, gets one action at
            // a time: the answer is written down before more work is begun.
            while work.ready.is_empty()
                && let Some(action) = asked.pop_front()
            {
                watch(Moment::Started(&action), &machine, &atlas);
                work.start(action, &machine, &atlas).await?;
            }
            // In this order, and not at random, so that the same executor gives
            // the same journal.
            let record = select_biased! {
                stop = cancel => match stop {
                    Stop::Cancel => Event::CancelRequested.into(),
                    Stop::Interrupt => return Err(DriveError::Interrupted),
                },
                answer = work.next().fuse() => answer?.ok_or(DriveError::Stalled)?,
                passed = clock => {
                    elapsed = passed;
                    clock.set(tick(executor, machine.max_time(), elapsed).fuse());
                    Event::TimePassed { elapsed }.into()
                }
            };
            journal.append(&record).await?;
            hear(&mut machine, &mut atlas, &mut open, &record)?;
            watch(Moment::Happened(&record), &machine, &atlas);
            for action in take(&mut machine, &mut open) {
                if let Task::Cancel { action: ended } = action.task {
                    asked.retain(|waiting: &Action| waiting.number != ended);
                }
                asked.push_back(action);
            }
        }
    }
    .await;
    // One action may have failed while others are under way.
    work.abandon().await;
    outcome.map(|outcome| Driven { outcome, atlas })
}

/// Takes the new actions, and remembers them by their numbers.
fn take<M: Machine>(machine: &mut M, open: &mut BTreeMap<u64, Task>) -> Vec<Action> {
    let asked = machine.poll();
    open.extend(tasks(asked.iter()));
    asked
}

fn tasks<'a>(actions: impl Iterator<Item = &'a Action>) -> impl Iterator<Item = (u64, Task)> {
    actions.map(|action| (action.number, action.task.clone()))
}

/// Tells atlas and machine what happened.
fn hear<M: Machine>(
    machine: &mut M,
    atlas: &mut Atlas,
    open: &mut BTreeMap<u64, Task>,
    record: &Record,
) -> Result<(), MachineError> {
    let asked = record
        .event
        .action()
        .and_then(|number| open.remove(&number));
    atlas.learn(record, asked.as_ref());
    machine.handle(record.event.clone())
}

/// The next reading of the job's clock; never, when the job has no budget of
/// time, or has spent it.
async fn tick(executor: &dyn Executor, max_time: Option<u64>, elapsed: u64) -> u64 {
    let Some(left) = max_time
        .and_then(|most| most.checked_sub(elapsed))
        .filter(|left| *left > 0 || elapsed == 0)
    else {
        return future::pending().await;
    };
    let wait = Duration::from_millis(left.max(1)).min(CLOCK_TICK);
    executor.sleep(wait).await;
    elapsed.saturating_add(wait.as_millis() as u64)
}

type Answer = Result<Record, DriveError>;

/// The actions that are under way.
struct Work<'a> {
    executor: &'a dyn Executor,
    retry: RetryPolicy,
    job: String,
    under_way: FuturesUnordered<BoxFuture<'a, Result<(u64, Answer), Aborted>>>,
    /// Answers that were there at once.
    ready: VecDeque<(u64, Answer)>,
    handles: BTreeMap<u64, Handle>,
}

/// What is known of an action that is under way.
struct Handle {
    abort: AbortHandle,
    /// The action whose work it is: for a `Cancel`, the one that it ends.
    works_on: u64,
}

impl<'a> Work<'a> {
    fn new(executor: &'a dyn Executor, retry: RetryPolicy, job: String) -> Self {
        Self {
            executor,
            retry,
            job,
            under_way: FuturesUnordered::new(),
            ready: VecDeque::new(),
            handles: BTreeMap::new(),
        }
    }

    async fn start<M: Machine>(
        &mut self,
        action: Action,
        machine: &M,
        atlas: &Atlas,
    ) -> Result<(), DriveError> {
        let number = action.number;
        let works_on = match action.task {
            Task::Cancel { action } => action,
            _ => number,
        };
        let answer = self.answer(action, machine, atlas)?;
        let (work, abort) = abortable(answer);
        self.handles.insert(number, Handle { abort, works_on });
        let mut work = async move { work.await.map(|answer| (number, answer)) }.boxed();
        // The first poll is made here and not by the collection, which
        // promises no order: it is what starts runs in the order asked for.
        match poll!(&mut work) {
            std::task::Poll::Ready(Ok(answer)) => self.ready.push_back(answer),
            std::task::Poll::Ready(Err(Aborted)) => {}
            std::task::Poll::Pending => self.under_way.push(work),
        }
        Ok(())
    }

    /// The next answer; absent when nothing is under way.
    async fn next(&mut self) -> Result<Option<Record>, DriveError> {
        loop {
            let (number, answer) = match self.ready.pop_front() {
                Some(answer) => answer,
                None => match self.under_way.next().await {
                    None => return Ok(None),
                    Some(Err(Aborted)) => continue,
                    Some(Ok(answer)) => answer,
                },
            };
            // What was cancelled has no answer any more.
            if self.handles.remove(&number).is_some() {
                return answer.map(Some);
            }
        }
    }

    /// Ends everything that is under way, and returns when it has ended.
    async fn abandon(&mut self) {
        self.under_way.clear();
        let keys: Vec<Key> = std::mem::take(&mut self.handles)
            .into_values()
            .map(|handle| self.key(handle.works_on))
            .collect();
        // An executor that can't end its work can't be helped from here: it is
        // asked once.
        future::join_all(keys.into_iter().map(|key| self.executor.cancel(key))).await;
    }

    fn key(&self, action: u64) -> Key {
        Key {
            job: self.job.clone(),
            action,
        }
    }

    /// The work behind an action.
    fn answer<M: Machine>(
        &mut self,
        Action { number, task }: Action,
        machine: &M,
        atlas: &Atlas,
    ) -> Result<BoxFuture<'a, Answer>, DriveError> {
        let executor = self.executor;
        let key = self.key(number);
        let retry = self.retry.clone();
        let unnamed = || DriveError::Unnamed { task: task.clone() };
        Ok(match task.clone() {
            Task::List {
                range,
                lower,
                higher,
            } => {
                let request = ListRequest {
                    key,
                    lower: atlas.commit(lower).ok_or_else(unnamed)?.clone(),
                    higher: atlas.commit(higher).ok_or_else(unnamed)?.clone(),
                };
                async move {
                    let listing = persist(executor, &retry, || executor.list(request.clone()));
                    record(number, listing.await, |listing| {
                        listed(number, range, listing)
                    })
                }
                .boxed()
            }
            Task::Build { commit } => {
                let request = BuildRequest {
                    key,
                    commit: atlas.locate(commit).ok_or_else(unnamed)?,
                };
                async move {
                    let report = persist(executor, &retry, || executor.build(request.clone()));
                    record(number, report.await, |report| built(number, report))
                }
                .boxed()
            }
            Task::Run { commit, index, bot } => {
                let request = RunRequest {
                    key,
                    commit: atlas.commit(commit).ok_or_else(unnamed)?.clone(),
                    index,
                    bot,
                };
                let charts = machine.charts();
                async move {
                    let report = persist(executor, &retry, || executor.run(request.clone()));
                    record(number, report.await, |report| ran(number, &charts, report))
                }
                .boxed()
            }
            Task::RunPair {
                first,
                second,
                index,
                bot,
            } => {
                let variant = |position: Position| {
                    let commit = atlas.commit(position)?.clone();
                    Some(match machine.variant(position) {
                        Some(variant) => Variant {
                            commit,
                            ..variant.clone()
                        },
                        None => commit.into(),
                    })
                };
                let request = RunPairRequest {
                    key,
                    first: variant(first).ok_or_else(unnamed)?,
                    second: variant(second).ok_or_else(unnamed)?,
                    index,
                    bot,
                };
                let charts = machine.charts();
                async move {
                    let report = persist(executor, &retry, || executor.run_pair(request.clone()));
                    record(number, report.await, |report| {
                        ran_pair(number, &charts, report)
                    })
                }
                .boxed()
            }
            Task::Cancel { action } => {
                if let Some(handle) = self.handles.remove(&action) {
                    handle.abort.abort();
                }
                let ended = self.key(action);
                async move {
                    let end = persist(executor, &retry, || executor.cancel(ended.clone()));
                    record(number, end.await, |()| {
                        Event::Cancelled { action: number }.into()
                    })
                }
                .boxed()
            }
        })
    }
}

/// How a request ended that was tried as often as the policy says.
enum Persisted<T> {
    Answered(T),
    GaveUp(String),
    Refused(Box<dyn std::error::Error + Send + Sync>),
}

async fn persist<'a, T>(
    executor: &dyn Executor,
    retry: &RetryPolicy,
    request: impl Fn() -> BoxFuture<'a, Result<T, ExecutorError>>,
) -> Persisted<T> {
    let mut tries = 0;
    loop {
        match request().await {
            Ok(answer) => return Persisted::Answered(answer),
            Err(ExecutorError::Refused(error)) => return Persisted::Refused(error),
            Err(ExecutorError::Unavailable(error)) => {
                tries += 1;
                match retry.wait_after(tries) {
                    Some(wait) => executor.sleep(Duration::from_millis(wait)).await,
                    None => return Persisted::GaveUp(error.to_string()),
                }
            }
        }
    }
}

fn record<T>(action: u64, persisted: Persisted<T>, answer: impl FnOnce(T) -> Record) -> Answer {
    match persisted {
        Persisted::Answered(it) => Ok(answer(it)),
        Persisted::GaveUp(reason) => Ok(Event::GaveUp { action, reason }.into()),
        Persisted::Refused(error) => Err(DriveError::Refused(error)),
    }
}

fn listed(action: u64, range: u32, listing: Listing) -> Record {
    Record {
        event: Event::Listed {
            action,
            range,
            count: listing.count,
        },
        detail: Some(Detail::Listed(listing)),
    }
}

fn built(action: u64, report: BuildReport) -> Record {
    Record {
        event: match &report.failure {
            None => Event::Built { action },
            Some(reason) => Event::BuildFailed {
                action,
                reason: reason.clone(),
            },
        },
        detail: Some(Detail::Build(report)),
    }
}

fn ran(action: u64, charts: &Charts, mut report: RunReport) -> Record {
    let (bot, started) = (report.bot.clone(), report.started);
    let event = match values(charts, &report) {
        Ok(values) => Event::Ran {
            action,
            bot,
            started,
            values,
        },
        Err(reason) => Event::RunFailed {
            action,
            bot,
            started,
            reason,
        },
    };
    drop_what_is_no_number(&mut report);
    Record {
        event,
        detail: Some(Detail::Run(report)),
    }
}

fn ran_pair(action: u64, charts: &Charts, mut report: PairReport) -> Record {
    let run = |report: &RunReport| {
        let (values, failure) = match values(charts, report) {
            Ok(values) => (values, None),
            Err(reason) => (BTreeMap::new(), Some(reason)),
        };
        PairedRun {
            started: report.started,
            values,
            failure,
        }
    };
    let event = Event::RanPair {
        action,
        bot: report.first.bot.clone(),
        first: run(&report.first),
        second: run(&report.second),
    };
    drop_what_is_no_number(&mut report.first);
    drop_what_is_no_number(&mut report.second);
    Record {
        event,
        detail: Some(Detail::RunPair(Box::new(report))),
    }
}

/// A journal in JSON has no NaN: the reason of the failure tells of it.
fn drop_what_is_no_number(report: &mut RunReport) {
    let finite = |series: &Series| series.values.iter().all(|value| value.is_finite());
    report.charts.retain(|_, series| finite(series));
    report.usage = report.usage.filter(|usage| {
        [usage.wall, usage.user, usage.system]
            .iter()
            .all(|seconds| seconds.is_finite())
    });
}

/// What the machine hears of a run, or why the run counts as failed.
fn values(charts: &Charts, report: &RunReport) -> Result<BTreeMap<String, Vec<f64>>, String> {
    if let Some(failure) = &report.failure {
        return Err(failure.clone());
    }
    let given: BTreeMap<String, Vec<f64>> = match charts {
        Charts::All => (report.charts.iter())
            .filter(|(_, series)| !series.values.is_empty())
            .map(|(chart, series)| (chart.clone(), series.values.clone()))
            .collect(),
        Charts::Deciding(chart) => {
            let only = || match report.charts.len() {
                1 => report.charts.keys().next().cloned(),
                _ => None,
            };
            let chart = chart
                .clone()
                .or_else(|| report.chart.clone())
                .or_else(only)
                .ok_or("the run does not say which of its charts decides")?;
            match report.charts.get(&chart) {
                Some(series) if !series.values.is_empty() => {
                    BTreeMap::from([(chart, series.values.clone())])
                }
                _ => return Err(format!("the run gave no value for chart {chart:?}")),
            }
        }
    };
    if given.is_empty() {
        return Err("the run gave no values".into());
    }
    for (chart, values) in &given {
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(format!("the run gave {value} for chart {chart:?}"));
        }
    }
    Ok(given)
}

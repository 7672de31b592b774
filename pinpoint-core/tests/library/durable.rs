//! Work that outlives its process: tickets are journaled before anything waits for
//! them, and the next process waits for the same work.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::{
    Bisection, BisectionSpec, BuildReport, Clock, CombinedCommit, Commit, DriveError, Executor,
    ExecutorError, Heartbeat, Journal, Key, Limits, Listing, Located, MemoryJournal, Outcome,
    Range, Record, Report, Request, RetryPolicy, RunReport, Status, Stop, Ticket, drive,
};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

const SLOW_FROM: u64 = 9;

fn commit(name: &str) -> CombinedCommit {
    Commit::new("repository", name).into()
}

fn spec() -> BisectionSpec {
    BisectionSpec::new(Range::Between {
        good: commit("0"),
        bad: commit("15"),
    })
}

/// A farm of machines with a memory that outlives the processes that use it.
#[derive(Default)]
struct Farm {
    tasks: Mutex<BTreeMap<Key, Task>>,
    changed: Notify,
    /// Answers to `start` that get lost on their way.
    lost_answers: Mutex<BTreeSet<u64>>,
    /// Keys that hang: they never end, and their heart does not beat.
    hanging: Mutex<BTreeSet<u64>>,
    starts: Mutex<Vec<u64>>,
    canceled: Mutex<Vec<u64>>,
}

struct Task {
    request: Request,
    ends: Instant,
}

const TAKES: Duration = Duration::from_secs(3600);

impl Farm {
    fn report(request: &Request) -> Report {
        let number = |commit: &CombinedCommit| commit.main.git_hash.parse::<u64>().unwrap();
        match request {
            Request::List(request) => Report::Listed(Listing {
                count: number(&request.higher) - number(&request.lower) - 1,
                lower: request.lower.clone(),
                higher: request.higher.clone(),
                changes: Vec::new(),
                merge_base: None,
            }),
            Request::Build(request) => Report::Built(BuildReport::built(match &request.commit {
                Located::Commit(commit) => commit.clone(),
                Located::Offset { listing, offset } => {
                    commit(&(number(&listing.lower) + 1 + offset).to_string())
                }
            })),
            Request::Run(request) => {
                let slow = number(&request.variant.commit) >= SLOW_FROM;
                let time = if slow { 12.0 } else { 10.0 };
                let noise = f64::from(request.index * 7 % 10) / 100.0;
                Report::Ran(RunReport::new(0).value("time", time + noise))
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn at_work(&self) -> usize {
        let now = Instant::now();
        (self.tasks.lock().unwrap().values())
            .filter(|task| task.ends > now)
            .count()
    }
}

#[async_trait]
impl Executor for Farm {
    async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError> {
        let key = request.key().clone();
        let mut tasks = self.tasks.lock().unwrap();
        tasks.entry(key.clone()).or_insert_with(|| {
            self.starts.lock().unwrap().push(key.action);
            Task {
                request: request.clone(),
                ends: Instant::now() + TAKES,
            }
        });
        if self.lost_answers.lock().unwrap().remove(&key.action) {
            return Err(ExecutorError::Unavailable("connection reset".into()));
        }
        let handle = format!("task {}", key.action);
        Ok(Ticket::durable(key, handle))
    }

    async fn wait(
        &self,
        request: &Request,
        ticket: &Ticket,
        heartbeat: &Heartbeat,
    ) -> Result<Report, ExecutorError> {
        assert_eq!(ticket.handle, Some(format!("task {}", ticket.key.action)));
        let ends = match self.tasks.lock().unwrap().get(&ticket.key) {
            Some(task) => {
                assert_eq!(task.request, *request);
                task.ends
            }
            None => return Err(ExecutorError::Lost),
        };
        if self.hanging.lock().unwrap().remove(&ticket.key.action) {
            self.changed.notified().await;
        }
        while Instant::now() < ends {
            sleep_until(ends.min(Instant::now() + Duration::from_secs(60))).await;
            heartbeat.beat();
        }
        Ok(Self::report(request))
    }

    async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError> {
        self.tasks.lock().unwrap().remove(&ticket.key);
        self.canceled.lock().unwrap().push(ticket.key.action);
        Ok(())
    }
}

struct Time;

#[async_trait]
impl Clock for Time {
    async fn sleep(&self, duration: Duration) {
        sleep(duration).await;
    }
}

fn empty() -> MemoryJournal {
    MemoryJournal::new("job")
}

async fn finish(spec: &BisectionSpec, farm: &Farm, journal: &mut MemoryJournal) -> Outcome {
    let search = Bisection::new(spec.clone()).unwrap();
    let driven = drive(search, farm, journal, &Time, pending()).await;
    driven.unwrap().outcome
}

async fn stop_after(
    farm: &Farm,
    journal: &mut MemoryJournal,
    after: Duration,
    stop: Stop,
) -> DriveError {
    let search = Bisection::new(spec()).unwrap();
    let stop = async {
        sleep(after).await;
        stop
    };
    drive(search, farm, journal, &Time, stop).await.unwrap_err()
}

fn starts_of(farm: &Farm) -> BTreeMap<u64, usize> {
    let mut count = BTreeMap::new();
    for action in &*farm.starts.lock().unwrap() {
        *count.entry(*action).or_default() += 1;
    }
    count
}

/// A deploy of a service ends its process again and again, and no hour of work is
/// lost.
#[tokio::test(start_paused = true)]
async fn detaching_leaves_work_to_the_next_process() {
    let (farm, mut journal) = (Farm::default(), empty());
    let whole = finish(&spec(), &Farm::default(), &mut empty()).await;
    for _ in 0..5 {
        let after = Duration::from_secs(600);
        let error = stop_after(&farm, &mut journal, after, Stop::Detach).await;
        assert!(matches!(error, DriveError::Detached));
        assert!(farm.at_work() > 0);
    }
    let outcome = finish(&spec(), &farm, &mut journal).await;
    assert_eq!(outcome, whole);
    assert!(farm.canceled.lock().unwrap().is_empty());
    assert!(starts_of(&farm).values().all(|times| *times == 1));
}

/// Killed after every record and between a start and its record.
#[tokio::test(start_paused = true)]
async fn a_killed_process_starts_nothing_twice() {
    let mut whole = empty();
    let expected = finish(&spec(), &Farm::default(), &mut whole).await;
    for kept in 0..=whole.records.len() {
        let farm = Farm::default();
        // The farm knows everything that was started before the kill, and one more.
        for record in whole.records.iter().take(kept + 1) {
            if let Record::Started { ticket, .. } = record {
                let request = farm_request(&whole, ticket.key.action);
                farm.start(&request).await.unwrap();
            }
        }
        let mut journal = empty();
        journal.records.extend_from_slice(&whole.records[..kept]);
        let outcome = finish(&spec(), &farm, &mut journal).await;
        assert_eq!(outcome, expected, "killed after {kept} records");
        assert!(starts_of(&farm).values().all(|times| *times == 1));
    }
}

/// The request of an action, as the engine makes it.
fn farm_request(whole: &MemoryJournal, action: u64) -> Request {
    let machine = Bisection::new(spec()).unwrap();
    let mut engine = pinpoint_core::Engine::new(whole.job(), machine);
    for record in &whole.records {
        let wanted = |it: &pinpoint_core::Action| it.number == action;
        if let Some(wanted) = engine.outstanding().into_iter().find(wanted) {
            return engine.request(&wanted).unwrap().unwrap();
        }
        engine.apply(record).unwrap();
    }
    panic!("no action {action}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_start_that_gets_lost_starts_nothing_twice() {
    let farm = Farm::default();
    farm.lost_answers.lock().unwrap().extend(0..8);
    let outcome = finish(&spec(), &farm, &mut empty()).await;
    assert_eq!(outcome.status, Status::CulpritFound);
    assert!(starts_of(&farm).values().all(|times| *times == 1));
}

#[tokio::test(start_paused = true)]
async fn work_that_a_farm_has_forgotten_is_started_again() {
    let (farm, mut journal) = (Farm::default(), empty());
    stop_after(&farm, &mut journal, Duration::from_secs(600), Stop::Detach).await;
    let forgotten = std::mem::take(&mut *farm.tasks.lock().unwrap());
    assert!(!forgotten.is_empty());
    let outcome = finish(&spec(), &farm, &mut journal).await;
    assert_eq!(outcome.status, Status::CulpritFound);
}

/// Work that shows no sign of life is ended and started again, and a job is never hung
/// by it.
#[tokio::test(start_paused = true)]
async fn silent_work_is_ended_and_tried_again() {
    for limits in [
        Limits {
            longest_try: None,
            heartbeat: Some(300_000),
            ..Limits::default()
        },
        Limits {
            longest_try: Some(7_200_000),
            heartbeat: None,
            ..Limits::default()
        },
    ] {
        let farm = Farm::default();
        farm.hanging.lock().unwrap().extend([1, 4]);
        let spec = BisectionSpec { limits, ..spec() };
        let outcome = finish(&spec, &farm, &mut empty()).await;
        assert_eq!(outcome.status, Status::CulpritFound);
        assert_eq!(*farm.canceled.lock().unwrap(), [1, 4]);
        let twice = starts_of(&farm)
            .into_iter()
            .filter(|(_, times)| *times == 2);
        assert_eq!(twice.map(|(action, _)| action).collect::<Vec<_>>(), [1, 4]);
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_is_under_way_than_the_limits_allow() {
    let spec = BisectionSpec {
        limits: Limits {
            builds: 1,
            runs: 2,
            ..Limits::default()
        },
        retry: RetryPolicy::default(),
        ..spec()
    };
    let (farm, mut journal) = (Farm::default(), empty());
    let outcome = finish(&spec, &farm, &mut journal).await;
    assert_eq!(outcome.status, Status::CulpritFound);
    let (mut builds, mut runs) = (BTreeSet::new(), BTreeSet::new());
    for record in &journal.records {
        match record {
            Record::Started { action, .. } => {
                match farm_request(&journal, *action) {
                    Request::Build(_) => builds.insert(*action),
                    _ => runs.insert(*action),
                };
                assert!(builds.len() <= 1 && runs.len() <= 2);
            }
            Record::Reported { action, .. } => {
                builds.remove(action);
                runs.remove(action);
            }
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_work_elsewhere_even_of_a_process_before() {
    let (farm, mut journal) = (Farm::default(), empty());
    stop_after(&farm, &mut journal, Duration::from_secs(600), Stop::Detach).await;
    assert!(farm.at_work() > 0);
    let search = Bisection::new(spec()).unwrap();
    let driven = drive(search, &farm, &mut journal, &Time, async { Stop::Cancel }).await;
    assert_eq!(driven.unwrap().outcome.status, Status::Canceled);
    assert_eq!(farm.at_work(), 0);
}

//! The loop between machine, executor and journal: nothing is lost, nothing is repeated, and the
//! job ends, despite any failure and any death of the process.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::{
    Bisection, BisectionSpec, BuildReport, BuildRequest, Clock, CombinedCommit, Commit,
    CulpritFinder, CulpritFinderSpec, DriveError, DriveEvent, Driver, ExecutorError, InProcess,
    JobKey, Journal, JournalError, Key, ListRequest, Listing, Located, Outcome, Position, Range,
    Record, Report, RetryPolicy, RunReport, RunRequest, Series, Status, Stop, Stopped, Strategy,
    Usage, drive,
};
use tokio::time::sleep;

const BETWEEN: u64 = 14;
const SLOW_FROM: u64 = 9;

fn commit(name: &str) -> CombinedCommit {
    CombinedCommit::from(Commit::new("repository", name))
}

/// The reference strategy, whose first runs are many, unless a test says
/// otherwise.
fn spec() -> BisectionSpec {
    BisectionSpec {
        strategy: Strategy::Pinpoint,
        ..BisectionSpec::new(Range::Between {
            good: commit("good"),
            bad: commit("bad"),
        })
    }
}

fn specs_of_all_strategies() -> [BisectionSpec; 2] {
    [Strategy::Adaptive, Strategy::Pinpoint].map(|strategy| BisectionSpec { strategy, ..spec() })
}

fn search(spec: &BisectionSpec) -> Bisection {
    Bisection::new(spec.clone()).unwrap()
}

/// The fault of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Unavailable,
    Refused,
}

type Faults = Box<dyn FnMut(u64, &'static str) -> Option<Fault> + Send>;
type Reports = Box<dyn Fn(bool, RunReport) -> RunReport + Send + Sync>;

/// Does one thing at a time, in the order in which it was asked.
struct World {
    queue: tokio::sync::Mutex<()>,
    takes: Duration,
    faults: Mutex<Faults>,
    reports: Reports,
    /// Finished executions of each action.
    done: Mutex<BTreeMap<u64, u32>>,
    started: Mutex<Vec<u64>>,
    canceled: Mutex<Vec<u64>>,
    slept: Mutex<Vec<Duration>>,
}

impl World {
    fn new() -> Self {
        Self {
            queue: tokio::sync::Mutex::new(()),
            takes: Duration::from_millis(50),
            faults: Mutex::new(Box::new(|_, _| None)),
            reports: Box::new(|_, report| report),
            done: Mutex::default(),
            started: Mutex::default(),
            canceled: Mutex::default(),
            slept: Mutex::default(),
        }
    }

    fn failing(faults: impl FnMut(u64, &'static str) -> Option<Fault> + Send + 'static) -> Self {
        Self {
            faults: Mutex::new(Box::new(faults)),
            ..Self::new()
        }
    }

    fn reporting(reports: impl Fn(bool, RunReport) -> RunReport + Send + Sync + 'static) -> Self {
        Self {
            reports: Box::new(reports),
            ..Self::new()
        }
    }

    async fn work(&self, key: &Key, what: &'static str) -> Result<(), ExecutorError> {
        let _turn = self.queue.lock().await;
        self.started.lock().unwrap().push(key.action);
        sleep(self.takes).await;
        let fault = (self.faults.lock().unwrap())(key.action, what);
        match fault {
            Some(Fault::Unavailable) => Err(ExecutorError::Unavailable("bot died".into())),
            Some(Fault::Refused) => Err(ExecutorError::Refused("disk full".into())),
            None => {
                *(self.done.lock().unwrap().entry(key.action).or_default()) += 1;
                Ok(())
            }
        }
    }
}

fn is_slow(commit: &CombinedCommit) -> bool {
    match commit.main.git_hash.as_str() {
        "good" => false,
        "bad" => true,
        offset => offset.parse::<u64>().unwrap() >= SLOW_FROM,
    }
}

#[async_trait]
impl InProcess for World {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        self.work(&request.key, "list").await?;
        let ends = (&request.lower, &request.higher);
        let count = if ends == (&commit("good"), &commit("bad")) {
            BETWEEN
        } else {
            0
        };
        Ok(Listing {
            lower: request.lower.clone(),
            higher: request.higher.clone(),
            count,
            changes: Vec::new(),
            merge_base: None,
        })
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        self.work(&request.key, "build").await?;
        Ok(BuildReport::built(match &request.commit {
            Located::Commit(commit) => commit.clone(),
            Located::Offset { offset, .. } => commit(&offset.to_string()),
        }))
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        self.work(&request.key, "run").await?;
        let noise = f64::from(request.index * 7 % 10) / 100.0;
        let slow = is_slow(&request.variant.commit);
        let time = if slow { 12.0 } else { 10.0 } + noise;
        let mut report = RunReport::new(0).bot("here").value("time", time);
        report.usage = Some(Usage {
            wall: time,
            ..Usage::default()
        });
        Ok((self.reports)(slow, report))
    }

    async fn ended(&self, key: &Key) -> Result<(), ExecutorError> {
        self.canceled.lock().unwrap().push(key.action);
        sleep(Duration::from_millis(2)).await;
        Ok(())
    }
}

#[async_trait]
impl Clock for World {
    async fn sleep(&self, duration: Duration) {
        self.slept.lock().unwrap().push(duration);
        sleep(duration).await;
    }
}

fn series(values: &[f64]) -> Series {
    Series {
        values: values.to_vec(),
        ..Series::default()
    }
}

/// Keeps records as a file would: as text.
#[derive(Default)]
struct Memory {
    lines: Vec<String>,
    /// The fault of the next record: before or after it is kept.
    faults: Option<Box<dyn FnMut(usize) -> Option<Torn> + Send>>,
}

#[derive(Clone, Copy)]
enum Torn {
    Before,
    After,
}

impl Memory {
    fn holding(records: &[Record]) -> Self {
        Self {
            lines: (records.iter())
                .map(|record| serde_json::to_string(record).unwrap())
                .collect(),
            faults: None,
        }
    }

    fn failing_at(place: usize, torn: Torn) -> Self {
        Self {
            lines: Vec::new(),
            faults: Some(Box::new(move |at| (at == place).then_some(torn))),
        }
    }

    fn read(&self) -> Vec<Record> {
        (self.lines.iter())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Mended: nothing goes wrong any more.
    fn mended(mut self) -> Self {
        self.faults = None;
        self
    }
}

#[async_trait]
impl Journal for Memory {
    fn job(&self) -> JobKey {
        JobKey {
            id: "job".into(),
            created: 0,
        }
    }

    async fn replay(&mut self, each: &mut (dyn FnMut(Record) + Send)) -> Result<(), JournalError> {
        self.read().into_iter().for_each(each);
        Ok(())
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        let place = self.lines.len();
        let torn = self.faults.as_mut().and_then(|faults| faults(place));
        tokio::task::yield_now().await;
        if matches!(torn, None | Some(Torn::After)) {
            self.lines.push(serde_json::to_string(record).unwrap());
        }
        tokio::task::yield_now().await;
        match torn {
            None => Ok(()),
            Some(_) => Err(JournalError("disk full".into())),
        }
    }
}

/// Writes a record in many times the time of a run, and counts what ends during that.
struct SlowJournal<'a> {
    world: &'a World,
    records: Memory,
    ended: u32,
}

#[async_trait]
impl Journal for SlowJournal<'_> {
    fn job(&self) -> JobKey {
        self.records.job()
    }

    async fn replay(&mut self, each: &mut (dyn FnMut(Record) + Send)) -> Result<(), JournalError> {
        self.records.replay(each).await
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        let ended = || (self.world.done.lock().unwrap().values()).sum::<u32>();
        let before = ended();
        sleep(self.world.takes * 20).await;
        self.ended += ended() - before;
        self.records.append(record).await
    }
}

#[tokio::test(start_paused = true)]
async fn work_in_flight_goes_on_while_a_record_is_written() {
    let spec = spec();
    let (expected, _) = undisturbed(&spec).await;
    let world = World::new();
    let mut journal = SlowJournal {
        world: &world,
        records: Memory::default(),
        ended: 0,
    };
    let driven = drive(search(&spec), &world, &mut journal, &world, pending()).await;
    assert_eq!(driven.unwrap().outcome, expected);
    assert!(
        journal.ended > 0,
        "nothing ended while a record was written"
    );
    let replayed = finish(&spec, &World::new(), &mut journal.records).await;
    assert_eq!(replayed, expected);
}

async fn finish(spec: &BisectionSpec, world: &World, journal: &mut Memory) -> Outcome {
    drive(search(spec), world, journal, world, pending())
        .await
        .unwrap()
        .outcome
}

/// An undisturbed job, with all that it wrote.
async fn undisturbed(spec: &BisectionSpec) -> (Outcome, Vec<Record>) {
    let mut journal = Memory::default();
    let outcome = finish(spec, &World::new(), &mut journal).await;
    (outcome, journal.read())
}

/// Polls a future at most this often, then drops it: a process that dies.
async fn killed_after<T>(polls: u32, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(move |context| match left.checked_sub(1) {
        None => Poll::Ready(None),
        Some(fewer) => {
            left = fewer;
            future.as_mut().poll(context).map(Some)
        }
    })
    .await
}

fn answers(records: &[Record]) -> BTreeMap<u64, u32> {
    let mut answers = BTreeMap::new();
    for number in records.iter().filter_map(|record| record.action()) {
        *answers.entry(number).or_default() += 1;
    }
    answers
}

#[tokio::test(start_paused = true)]
async fn finds_the_culprit_and_names_it() {
    let driven = drive(
        search(&spec()),
        &World::new(),
        &mut Memory::default(),
        &World::new(),
        pending(),
    )
    .await
    .unwrap();
    assert_eq!(driven.outcome.status, Status::CulpritFound);
    let culprit = &driven.outcome.culprits[0];
    let place = Position::Within {
        range: 0,
        offset: SLOW_FROM,
    };
    assert_eq!(culprit.commit, place);
    let name = |number: u64| Some(commit(&number.to_string()));
    assert_eq!(culprit.commit_name, name(SLOW_FROM));
    assert_eq!(culprit.prior_name, name(SLOW_FROM - 1));
}

#[tokio::test(start_paused = true)]
async fn a_culprit_that_was_checked_is_named_too() {
    let finder = CulpritFinder::new(CulpritFinderSpec {
        bisection: spec(),
        ..CulpritFinderSpec::new(spec().range)
    });
    let driven = drive(
        finder.unwrap(),
        &World::new(),
        &mut Memory::default(),
        &World::new(),
        pending(),
    )
    .await
    .unwrap();
    let outcome = driven.outcome;
    let searched = &outcome.bisection.unwrap().culprits[0];
    for culprit in [searched, &outcome.culprits[0].culprit] {
        let name = commit(&SLOW_FROM.to_string());
        assert_eq!(culprit.commit_name, Some(name));
    }
}

#[tokio::test(start_paused = true)]
async fn work_starts_in_the_order_asked_for_even_in_a_queue() {
    let world = World::new();
    let mut asked = Vec::new();
    Driver::new(&world, &world)
        .drive_watched(
            search(&spec()),
            &mut Memory::default(),
            pending(),
            |moment, _| {
                if let DriveEvent::Started(action) = moment {
                    asked.push(action.number);
                }
            },
        )
        .await
        .unwrap();
    assert!(asked.is_sorted());
    assert_eq!(*world.started.lock().unwrap(), asked);
}

#[tokio::test(start_paused = true)]
async fn an_event_is_written_before_the_machine_hears_it() {
    let (outcome, records) = undisturbed(&spec()).await;
    for place in 0..records.len() {
        for torn in [Torn::Before, Torn::After] {
            let mut journal = Memory::failing_at(place, torn);
            let mut heard = 0;
            let error = Driver::new(&World::new(), &World::new())
                .drive_watched(search(&spec()), &mut journal, pending(), |moment, _| {
                    heard += usize::from(matches!(moment, DriveEvent::Recorded { .. }))
                })
                .await
                .unwrap_err();
            assert!(matches!(error, DriveError::Journal(_)), "{error}");
            assert_eq!(heard, place);
            let mut journal = journal.mended();
            assert_eq!(finish(&spec(), &World::new(), &mut journal).await, outcome);
            assert_eq!(journal.read(), records);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_repeats_nothing_that_is_written() {
    for spec in specs_of_all_strategies() {
        let (outcome, records) = undisturbed(&spec).await;
        for cut in 0..=records.len() {
            let world = World::new();
            let mut journal = Memory::holding(&records[..cut]);
            assert_eq!(finish(&spec, &world, &mut journal).await, outcome);
            assert_eq!(journal.read(), records, "after a cut at {cut}");
            let done = world.done.lock().unwrap();
            for (action, times) in answers(&records) {
                let written = records[..cut]
                    .iter()
                    .any(|record| record.action() == Some(action));
                let expected = if written { None } else { Some(&times) };
                assert_eq!(done.get(&action), expected, "action {action}, cut at {cut}");
            }
        }
    }
}

/// The waits between tries.
fn rests(world: &World) -> Vec<u64> {
    let slept = world.slept.lock().unwrap();
    slept.iter().map(|wait| wait.as_millis() as u64).collect()
}

#[tokio::test(start_paused = true)]
async fn trouble_is_tried_again_after_growing_waits() {
    let spec = BisectionSpec {
        retry: RetryPolicy {
            tries: 4,
            first_wait: 1_000,
            factor: 3.0,
            longest_wait: 5_000,
        },
        ..spec()
    };
    let mut failures = 3;
    let world = World::failing(move |action, _| {
        (action == 2 && failures > 0).then(|| {
            failures -= 1;
            Fault::Unavailable
        })
    });
    let mut journal = Memory::default();
    let outcome = finish(&spec, &world, &mut journal).await;
    assert_eq!(outcome.status, Status::CulpritFound);
    assert_eq!(rests(&world), [1_000, 3_000, 5_000]);
    let gave_up = |record: &Record| matches!(record, Record::GaveUp { .. });
    assert!(!journal.read().iter().any(gave_up));
}

#[tokio::test(start_paused = true)]
async fn after_the_last_try_the_machine_hears_that_it_was_lost() {
    // The first run fails for good; it is asked for again under a new number.
    let mut lost = None;
    let world = World::failing(move |action, what| {
        (what == "run" && *lost.get_or_insert(action) == action).then_some(Fault::Unavailable)
    });
    let mut journal = Memory::default();
    let outcome = finish(&spec(), &world, &mut journal).await;
    assert_eq!(outcome.status, Status::CulpritFound);
    assert_eq!(rests(&world), [1_000, 2_000]);
    let given_up: Vec<Record> = (journal.read().into_iter())
        .filter(|record| matches!(record, Record::GaveUp { .. }))
        .collect();
    assert!(
        matches!(&given_up[..], [Record::GaveUp { action: 3, reason }] if reason == "bot died"),
        "{given_up:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_pauses_the_job_and_throws_no_work_away() {
    let (outcome, records) = undisturbed(&spec()).await;
    for action in answers(&records).into_keys() {
        let world = World::failing(move |number, _| (number == action).then_some(Fault::Refused));
        let mut journal = Memory::default();
        let error = drive(search(&spec()), &world, &mut journal, &world, pending())
            .await
            .unwrap_err();
        assert!(matches!(error, DriveError::Refused(_)));
        assert_eq!(error.to_string(), "disk full");
        // All started work is done and journaled, and nothing was ended.
        assert_eq!(*world.done.lock().unwrap(), answers(&journal.read()));
        assert!(world.canceled.lock().unwrap().is_empty());
        let begun = world.started.lock().unwrap().len();
        assert_eq!(begun, journal.read().len() + 1);
        // Only the refused work is left, so that it comes later than otherwise.
        assert_eq!(finish(&spec(), &World::new(), &mut journal).await, outcome);
        assert_eq!(answers(&journal.read()), answers(&records));
    }
}

/// An executor that blocks: each request is carried out where it is called.
#[tokio::test(start_paused = true)]
async fn what_is_answered_at_once_is_written_before_more_is_begun() {
    let world = World {
        takes: Duration::ZERO,
        ..World::new()
    };
    let mut steps = Vec::new();
    Driver::new(&world, &world)
        .drive_watched(
            search(&spec()),
            &mut Memory::default(),
            pending(),
            |moment, _| match moment {
                DriveEvent::Started(action) => steps.push(("started", Some(action.number))),
                DriveEvent::Recorded { record, .. } => steps.push(("happened", record.action())),
                _ => {}
            },
        )
        .await
        .unwrap();
    for step in steps.chunks(2) {
        assert!(
            matches!(step, [("started", one), ("happened", other)] if one == other),
            "{step:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_what_is_under_way_and_writes_nothing() {
    let (outcome, records) = undisturbed(&spec()).await;
    // 3 requests and 6 runs are done at 475 ms, and the other runs wait.
    for (at, written) in [(25, 0), (75, 1), (475, 9)] {
        let world = World::new();
        let mut journal = Memory::default();
        let stop = async {
            sleep(Duration::from_millis(at)).await;
            Stop::Detach
        };
        let mut asked = Vec::new();
        let error = Driver::new(&world, &world)
            .drive_watched(
                search(&spec()),
                &mut journal,
                stop,
                |moment, _| match moment {
                    DriveEvent::Started(action) => asked.push(action.number),
                    DriveEvent::Recorded { record, .. } => {
                        asked.retain(|n| Some(*n) != record.action())
                    }
                    _ => {}
                },
            )
            .await
            .unwrap_err();
        assert!(matches!(error, DriveError::Detached));
        assert_eq!(journal.read(), records[..written]);
        assert!(!asked.is_empty());
        assert_eq!(*world.canceled.lock().unwrap(), asked);
        assert_eq!(finish(&spec(), &World::new(), &mut journal).await, outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn a_canceled_job_has_an_outcome() {
    let world = World::new();
    let mut journal = Memory::default();
    let stop = async {
        sleep(Duration::from_millis(475)).await;
        Stop::Cancel
    };
    let outcome = drive(search(&spec()), &world, &mut journal, &world, stop)
        .await
        .unwrap()
        .outcome;
    assert_eq!(outcome.status, Status::Canceled);
    assert_eq!(outcome.runs, 6);
    assert_eq!(world.canceled.lock().unwrap().len(), 14);
    // The queue is free: nothing runs without the job's knowledge.
    assert!(world.queue.try_lock().is_ok());
    // And the journal says the same.
    let again = finish(&spec(), &World::new(), &mut journal).await;
    assert_eq!(again, outcome);
}

/// Interrupted while a canceled build is being ended: it is still ended.
#[tokio::test(start_paused = true)]
async fn an_interrupt_while_work_is_being_ended_ends_it_too() {
    let world = World::new();
    let mut journal = Memory::default();
    let first = async {
        sleep(Duration::from_millis(25)).await;
        Stop::Cancel
    };
    let job = drive(search(&spec()), &world, &mut journal, &world, first);
    let cut = tokio::time::timeout(Duration::from_millis(26), job).await;
    assert!(cut.is_err(), "it was still ending its work");
    assert_eq!(*world.canceled.lock().unwrap(), [0, 1, 2]);
    world.canceled.lock().unwrap().clear();
    let stop = async {
        sleep(Duration::from_millis(1)).await;
        Stop::Detach
    };
    let error = drive(search(&spec()), &world, &mut journal, &world, stop)
        .await
        .unwrap_err();
    assert!(matches!(error, DriveError::Detached));
    // Asked by the machine, and once more by the interrupt.
    assert_eq!(*world.canceled.lock().unwrap(), [0, 1, 2, 0, 1, 2]);
    let outcome = finish(&spec(), &world, &mut journal).await;
    assert_eq!(outcome.status, Status::Canceled);
}

fn times(records: &[Record]) -> Vec<u64> {
    (records.iter())
        .filter_map(|record| match record {
            Record::TimePassed { elapsed } => Some(*elapsed),
            _ => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_budget_of_time_goes_on_after_a_resume() {
    let spec = BisectionSpec {
        max_time: Some(200_000),
        ..spec()
    };
    let world = || World {
        takes: Duration::from_secs(20),
        ..World::new()
    };
    let mut journal = Memory::default();
    let stop = async {
        sleep(Duration::from_secs(25)).await;
        Stop::Detach
    };
    let job = drive(search(&spec), &world(), &mut journal, &world(), stop).await;
    assert!(matches!(job, Err(DriveError::Detached)));
    let every_two_seconds = |last: u64| (1..=last / 2_000).map(|it| it * 2_000).collect::<Vec<_>>();
    assert_eq!(times(&journal.read()), every_two_seconds(24_000));
    let outcome = finish(&spec, &world(), &mut journal).await;
    assert_eq!(outcome.stopped, Stopped::TimeBudget);
    // Once it is spent, the clock is silent while the work is being ended.
    assert_eq!(times(&journal.read()), every_two_seconds(200_000));
}

#[tokio::test(start_paused = true)]
async fn a_clock_whose_time_is_up_does_not_fill_the_journal() {
    /// Takes time to end its work.
    struct Slow(World);

    #[async_trait]
    impl InProcess for Slow {
        async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
            self.0.list(request).await
        }

        async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
            self.0.build(request).await
        }

        async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
            self.0.run(request).await
        }

        async fn ended(&self, _: &Key) -> Result<(), ExecutorError> {
            sleep(Duration::from_secs(60)).await;
            Ok(())
        }
    }

    for max_time in [0, 100] {
        let spec = BisectionSpec {
            max_time: Some(max_time),
            ..spec()
        };
        let mut journal = Memory::default();
        let world = Slow(World::new());
        let job = drive(search(&spec), &world, &mut journal, &world.0, pending());
        assert_eq!(job.await.unwrap().outcome.stopped, Stopped::TimeBudget);
        assert_eq!(times(&journal.read()).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn runs_without_a_usable_value_are_failed_runs_with_a_reason() {
    type Break = fn(&mut RunReport);
    let cases: [(Option<&str>, Break, &str); 8] = [
        (
            None,
            |r| r.failure = Some("exit code 1".into()),
            "exit code 1",
        ),
        (
            Some("speed"),
            |_| {},
            "the run gave no value for chart \"speed\"",
        ),
        (
            None,
            |r| r.charts.clear(),
            "the run does not say which of its charts decides",
        ),
        (
            None,
            |r| {
                r.charts.insert("speed".into(), series(&[1.0]));
            },
            "the run does not say which of its charts decides",
        ),
        (
            Some("time"),
            |r| {
                r.charts.insert("time".into(), series(&[]));
            },
            "the run gave no value for chart \"time\"",
        ),
        (
            None,
            |r| {
                r.charts.insert("time".into(), series(&[1.0, f64::NAN]));
            },
            "the run gave NaN for chart \"time\"",
        ),
        (
            None,
            |r| {
                r.charts.insert("time".into(), series(&[f64::INFINITY]));
            },
            "the run gave inf for chart \"time\"",
        ),
        (
            None,
            |r| r.chart = Some("speed".into()),
            "the run gave no value for chart \"speed\"",
        ),
    ];
    for (chart, spoil, expected) in cases {
        // The bad end is broken: a functional regression.
        let world = World::reporting(move |slow, mut report| {
            if slow {
                spoil(&mut report);
            } else if chart.is_some() {
                let time = report.charts["time"].clone();
                report.charts.insert("speed".into(), time);
            }
            report
        });
        let spec = BisectionSpec {
            chart: chart.map(str::to_owned),
            ..spec()
        };
        let mut journal = Memory::default();
        let outcome = finish(&spec, &world, &mut journal).await;
        assert_eq!(outcome.status, Status::CulpritFound, "{expected}");
        let effect = &outcome.culprits[0].effect;
        assert_eq!(effect.before_failure, None);
        let why = effect.after_failure.as_ref().unwrap();
        assert!(why.reason.starts_with(expected) && why.runs == why.failed);
        // The written records can be read, and give the reason.
        let reasons: Vec<String> = (journal.read().into_iter())
            .filter_map(|record| match record {
                Record::Reported {
                    report: Report::Ran(run),
                    ..
                } => run.failure,
                _ => None,
            })
            .collect();
        assert!(!reasons.is_empty());
        assert!(
            reasons.iter().all(|reason| reason.starts_with(expected)),
            "{reasons:?}"
        );
        assert_eq!(finish(&spec, &world, &mut journal).await, outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn a_number_that_is_none_beside_the_deciding_chart_harms_nobody() {
    let world = World::reporting(|_, mut report| {
        report.chart = Some("time".into());
        report.charts.insert("ratio".into(), series(&[f64::NAN]));
        report.usage = Some(Usage {
            user: f64::INFINITY,
            ..Usage::default()
        });
        report
    });
    let mut journal = Memory::default();
    let outcome = finish(&spec(), &world, &mut journal).await;
    assert_eq!(outcome.status, Status::CulpritFound);
    for record in journal.read() {
        if let Record::Reported {
            report: Report::Ran(report),
            ..
        } = record
        {
            assert_eq!(report.charts.keys().collect::<Vec<_>>(), ["time"]);
            assert_eq!(report.usage, None);
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Drives a job to its end through kills, torn journals and, one request in
/// `1 / rate`, a fault of its executor.
async fn endure(
    seed: u64,
    spec: &BisectionSpec,
    unavailable: u64,
    refused: u64,
) -> (Outcome, Memory, u32) {
    let mut random = Random(seed);
    let mut journal = Memory::default();
    for life in 1..10_000 {
        let mut chance = Random(random.below(u64::MAX));
        let world = World::failing(move |_, _| match chance.below(1_000) {
            roll if roll < unavailable => Some(Fault::Unavailable),
            roll if roll < unavailable + refused => Some(Fault::Refused),
            _ => None,
        });
        let mut chance = Random(random.below(u64::MAX));
        journal.faults = Some(Box::new(move |_| match chance.below(60) {
            0 => Some(Torn::Before),
            1 => Some(Torn::After),
            _ => None,
        }));
        let polls = random.below(120) as u32;
        let job = drive(search(spec), &world, &mut journal, &world, pending());
        if let Some(Ok(driven)) = killed_after(polls, job).await {
            return (driven.outcome, journal, life);
        }
    }
    panic!("seed {seed} never ends");
}

#[tokio::test(start_paused = true)]
async fn crashes_change_nothing() {
    for spec in specs_of_all_strategies() {
        let (outcome, records) = undisturbed(&spec).await;
        assert_eq!(outcome.status, Status::CulpritFound);
        let mut lives = 0;
        for seed in 0..300 {
            let (found, journal, lived) = endure(seed, &spec, 0, 0).await;
            assert_eq!(found, outcome, "seed {seed}");
            assert_eq!(journal.read(), records, "seed {seed}");
            lives += lived;
        }
        // The fewer runs a strategy makes, the fewer lives it takes.
        let expected = 15 * records.len() as u32;
        assert!(lives > expected, "only {lives} lives of {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn trouble_of_every_kind_comes_to_an_end() {
    for spec in specs_of_all_strategies() {
        let spec = BisectionSpec {
            retry: RetryPolicy {
                tries: 2,
                ..RetryPolicy::default()
            },
            ..spec
        };
        let mut found = 0;
        for seed in 0..300 {
            let (outcome, journal, _) = endure(seed, &spec, 200, 20).await;
            assert!(
                answers(&journal.read()).values().all(|times| *times == 1),
                "an action was answered twice with seed {seed}"
            );
            match outcome.status {
                Status::CulpritFound => {
                    found += 1;
                    assert_eq!(outcome.culprits.len(), 1);
                }
                Status::Failed | Status::Inconclusive => {}
                status => panic!("{status:?} with seed {seed}"),
            }
        }
        assert!(found > 150, "found in {found} of 300");
    }
}

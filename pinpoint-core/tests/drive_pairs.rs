//! Pairs between machine, executor and journal: what is asked of the executor,
//! what the machine hears of it, and that nothing is lost or repeated.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::{
    Artifact, BuildReport, BuildRequest, Charts, Clock, CombinedCommit, Commit, DriveError,
    ExecutorError, InProcess, JobKey, Journal, JournalError, Located, PairReport, Pairwise,
    PairwiseOutcome, PairwiseSpec, PairwiseStatus, Position, Record, Report, RunPairRequest,
    RunReport, RunRequest, Variant, drive,
};

fn commit(name: &str) -> CombinedCommit {
    CombinedCommit::from(Commit::new("repository", name))
}

/// The same commit twice; the experiment is told to be slow.
fn spec() -> PairwiseSpec {
    let experiment = Variant {
        arguments: vec!["--slow".into()],
        env: BTreeMap::from([("MODE".to_owned(), "new".to_owned())]),
        ..Variant::from(commit("one"))
    };
    PairwiseSpec::new(commit("one"), experiment)
}

type Faults = Box<dyn FnMut(u64) -> Option<ExecutorError> + Send>;
type Change = fn(&mut RunReport);

/// Answers at once.
struct World {
    faults: Mutex<Faults>,
    change: Change,
    asked: Mutex<Vec<RunPairRequest>>,
}

impl World {
    fn new() -> Self {
        Self {
            faults: Mutex::new(Box::new(|_| None)),
            change: |_| {},
            asked: Mutex::default(),
        }
    }

    fn run_one(&self, variant: &Variant, index: u32) -> RunReport {
        let slow = variant.arguments == ["--slow"];
        assert_eq!(slow, variant.env.contains_key("MODE"));
        let level = if slow { 11.0 } else { 10.0 };
        let time = level + f64::from(index * 7 % 13) / 100.0;
        let mut report = RunReport::new(u64::from(index))
            .bot("here")
            .value("memory", 5.0)
            .value("time", time);
        if slow {
            (self.change)(&mut report);
        }
        report
    }
}

#[async_trait]
impl InProcess for World {
    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        let Located::Commit(commit) = &request.commit else {
            unreachable!("both have names");
        };
        Ok(BuildReport::built(commit.clone()).artifact(Artifact::Digest("d1".into())))
    }

    async fn run(&self, _: &RunRequest) -> Result<RunReport, ExecutorError> {
        unreachable!("all runs are paired")
    }

    async fn run_pair(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError> {
        if let Some(fault) = (self.faults.lock().unwrap())(request.key.action) {
            return Err(fault);
        }
        self.asked.lock().unwrap().push(request.clone());
        Ok(PairReport {
            first: self.run_one(&request.first, request.index),
            second: self.run_one(&request.second, request.index),
        })
    }
}

#[async_trait]
impl Clock for World {
    async fn sleep(&self, duration: Duration) {
        // The pauses between tries are over at once, and no limit is reached.
        if duration > Duration::from_secs(60) {
            pending().await
        }
    }
}

/// Keeps records as a file would: as text.
#[derive(Default)]
struct Memory(Vec<String>);

impl Memory {
    fn records(&self) -> Vec<Record> {
        let read = |line: &String| serde_json::from_str(line).unwrap();
        self.0.iter().map(read).collect()
    }
}

#[async_trait]
impl Journal for Memory {
    fn job(&self) -> JobKey {
        JobKey {
            id: "a job".into(),
            created: 0,
        }
    }

    async fn replay(&mut self, each: &mut (dyn FnMut(Record) + Send)) -> Result<(), JournalError> {
        self.records().into_iter().for_each(each);
        Ok(())
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.0.push(serde_json::to_string(record).unwrap());
        Ok(())
    }
}

async fn compare(
    spec: &PairwiseSpec,
    world: &World,
    journal: &mut Memory,
) -> Result<PairwiseOutcome, DriveError> {
    let machine = Pairwise::new(spec.clone()).unwrap();
    Ok(drive(machine, world, journal, world, pending())
        .await?
        .outcome)
}

#[tokio::test]
async fn each_side_runs_with_what_is_its_own_and_all_charts_are_heard() {
    let (world, mut journal) = (World::new(), Memory::default());
    let outcome = compare(&spec(), &world, &mut journal).await.unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Different);
    let names: Vec<&str> = outcome.charts.iter().map(|it| it.chart.as_str()).collect();
    assert_eq!(names, ["memory", "time"]);
    assert!(outcome.charts[1].moved() && !outcome.charts[0].moved());

    let asked = world.asked.into_inner().unwrap();
    let indices: Vec<u32> = asked.iter().map(|request| request.index).collect();
    assert_eq!(indices, (0..30).collect::<Vec<_>>());
    let slow_first = asked
        .iter()
        .filter(|it| !it.first.arguments.is_empty())
        .count();
    assert_eq!(slow_first, 15);

    // Everything about a pair is kept, in the order in which it was run.
    let records = journal.records();
    let pairs: Vec<&PairReport> = (records.iter())
        .filter_map(|record| match record {
            Record::Reported {
                report: Report::RanPair(report),
                ..
            } => Some(&**report),
            _ => None,
        })
        .collect();
    assert_eq!(pairs.len(), 30);
    for (pair, request) in pairs.into_iter().zip(&asked) {
        assert_eq!(pair.second.started, u64::from(request.index));
        // Each is told which build to run.
        for variant in [&request.first, &request.second] {
            assert_eq!(variant.artifact, Some(Artifact::Digest("d1".into())));
        }
    }
}

#[tokio::test]
async fn only_the_chart_asked_for_is_heard() {
    let only = PairwiseSpec {
        chart: Some("memory".into()),
        ..spec()
    };
    let (world, mut journal) = (World::new(), Memory::default());
    let outcome = compare(&only, &world, &mut journal).await.unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Same);
    let names: Vec<&str> = outcome.charts.iter().map(|it| it.chart.as_str()).collect();
    assert_eq!(names, ["memory"]);
    // The executor hears which chart is wanted.
    for request in world.asked.into_inner().unwrap() {
        assert_eq!(request.charts, Charts::Deciding(Some("memory".into())));
    }
}

#[tokio::test]
async fn a_run_without_a_usable_value_is_a_failed_run_with_a_reason() {
    let cases: [(Option<&str>, Change, &str); 5] = [
        (
            None,
            |run| run.failure = Some("exit code 3".into()),
            "exit code 3",
        ),
        (None, |run| run.charts.clear(), "the run gave no values"),
        (
            None,
            |run| {
                if let Some(series) = run.charts.get_mut("time") {
                    series.values.push(f64::NAN);
                }
            },
            "the run gave NaN for chart \"time\"",
        ),
        (
            None,
            |run| {
                run.charts
                    .values_mut()
                    .for_each(|series| series.values.clear())
            },
            "the run gave no values",
        ),
        (
            Some("time"),
            |run| drop(run.charts.remove("time")),
            "the run gave no value for chart \"time\"",
        ),
    ];
    for (chart, change, reason) in cases {
        let world = World {
            change,
            ..World::new()
        };
        let spec = PairwiseSpec {
            chart: chart.map(str::to_owned),
            ..spec()
        };
        let mut journal = Memory::default();
        let outcome = compare(&spec, &world, &mut journal).await.unwrap();
        assert_eq!(outcome.status, PairwiseStatus::Different, "{reason}");
        assert_eq!(outcome.functional.unwrap().treatment_rate, 1.0);
        let records = journal.records();
        let says_why = records.iter().any(|record| match record {
            Record::Reported {
                report: Report::RanPair(pair),
                ..
            } => [&pair.first, &pair.second]
                .iter()
                .any(|run| run.failure.as_deref() == Some(reason)),
            _ => false,
        });
        assert!(says_why, "{reason}");
    }
}

/// Each of its records may have been the last before the process was killed.
#[tokio::test]
async fn a_job_killed_after_any_record_comes_to_the_same_end_and_repeats_nothing() {
    let early = PairwiseSpec {
        early_stopping: true,
        ..spec()
    };
    for spec in [spec(), early] {
        let mut whole = Memory::default();
        let expected = compare(&spec, &World::new(), &mut whole).await.unwrap();
        for kept in 0..=whole.0.len() {
            let mut journal = Memory(whole.0[..kept].to_vec());
            let world = World::new();
            let outcome = compare(&spec, &world, &mut journal).await.unwrap();
            assert_eq!(outcome, expected);
            assert_eq!(journal.0, whole.0);
            let made = world.asked.into_inner().unwrap().len();
            assert!(made <= whole.0.len() - kept);
        }
    }
}

#[tokio::test]
async fn trouble_of_the_infrastructure_is_retried_and_then_asked_for_again() {
    // Every pair is lost in its first three tries: the action is given up, and
    // the machine asks for the pair under a new number.
    let mut tries = BTreeMap::<u64, u32>::new();
    let mut given_up = 0;
    let world = World {
        faults: Mutex::new(Box::new(move |action| {
            let tries = tries.entry(action).or_default();
            *tries += 1;
            (given_up < 6 && action % 3 == 0).then(|| {
                given_up += u32::from(*tries == 3);
                ExecutorError::Unavailable("bot died".into())
            })
        })),
        ..World::new()
    };
    let mut journal = Memory::default();
    let outcome = compare(&spec(), &world, &mut journal).await.unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Different);
    assert_eq!(outcome.pairs, 30);
    let records = journal.records();
    let lost = |record: &&Record| matches!(record, Record::GaveUp { .. });
    assert_eq!(records.iter().filter(lost).count(), 6);
}

#[tokio::test]
async fn what_is_refused_stops_the_job_which_can_be_taken_up_again() {
    let world = World {
        faults: Mutex::new(Box::new(|action| {
            (action == 11).then(|| ExecutorError::Refused("disk full".into()))
        })),
        ..World::new()
    };
    let mut journal = Memory::default();
    let error = compare(&spec(), &world, &mut journal).await.unwrap_err();
    assert_eq!(error.to_string(), "disk full");
    let before = journal.0.clone();
    let outcome = compare(&spec(), &World::new(), &mut journal).await.unwrap();
    assert_eq!(outcome.pairs, 30);
    assert!(journal.0.starts_with(&before));
}

#[test]
fn positions_of_a_pair_are_the_two_ends() {
    use pinpoint_core::Machine;

    let machine = Pairwise::new(spec()).unwrap();
    let variant = |position| machine.variant(position).map(|it| it.arguments.len());
    assert_eq!(variant(Position::Lower), Some(0));
    assert_eq!(variant(Position::Higher), Some(1));
    assert_eq!(
        variant(Position::Within {
            range: 0,
            offset: 0
        }),
        None
    );
}

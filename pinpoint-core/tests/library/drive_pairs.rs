//! Pairs between machine, executor and journal: the executor's requests, the machine's
//! events, and that nothing is lost or repeated.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mockall::mock;
use pinpoint_core::{
    Artifact, BuildReport, BuildRequest, Charts, Clock, CombinedCommit, Commit, DriveError,
    ExecutorError, InProcess, Located, MemoryJournal, PairReport, Pairwise, PairwiseOutcome,
    PairwiseSpec, PairwiseStatus, Position, Record, Report, RunPairRequest, RunReport, RunRequest,
    Variant, drive,
};

fn commit(name: &str) -> CombinedCommit {
    CombinedCommit::from(Commit::new("repository", name))
}

/// The same commit twice; the experiment is set to be slow.
fn spec() -> PairwiseSpec {
    let experiment = Variant {
        arguments: vec!["--slow".into()],
        env: BTreeMap::from([("MODE".to_owned(), "new".to_owned())]),
        ..Variant::from(commit("one"))
    };
    PairwiseSpec::new(commit("one"), experiment)
}

type Change = fn(&mut RunReport);

mock! {
    Bot {}
    #[async_trait]
    impl InProcess for Bot {
        async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError>;
        async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError>;
        async fn run_pair(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError>;
    }
}

/// Builds, and runs nothing.
fn builder() -> MockBot {
    let mut bot = MockBot::new();
    bot.expect_build().returning(|request| {
        let Located::Commit(commit) = &request.commit else {
            unreachable!("both have names");
        };
        Ok(BuildReport::built(commit.clone()).artifact(Artifact::Digest("d1".into())))
    });
    bot
}

/// Answers at once the pairs that the expectations so far leave.
fn answering(mut bot: MockBot, change: Change) -> MockBot {
    bot.expect_run_pair()
        .returning(move |request| Ok(report(request, change)));
    bot
}

fn bot() -> MockBot {
    answering(builder(), |_| {})
}

fn report(request: &RunPairRequest, change: Change) -> PairReport {
    let run = |variant: &Variant| {
        let slow = variant.arguments == ["--slow"];
        assert_eq!(slow, variant.env.contains_key("MODE"));
        let level = if slow { 11.0 } else { 10.0 };
        let time = level + f64::from(request.index * 7 % 13) / 100.0;
        let mut report = RunReport::new(u64::from(request.index))
            .bot("here")
            .value("memory", 5.0)
            .value("time", time);
        if slow {
            change(&mut report);
        }
        report
    };
    PairReport {
        first: run(&request.first),
        second: run(&request.second),
    }
}

/// The pauses between tries are over at once, and no limit is reached.
struct Impatient;

#[async_trait]
impl Clock for Impatient {
    async fn sleep(&self, duration: Duration) {
        if duration > Duration::from_secs(60) {
            pending().await
        }
    }
}

async fn compare(
    spec: &PairwiseSpec,
    bot: &MockBot,
    journal: &mut MemoryJournal,
) -> Result<PairwiseOutcome, DriveError> {
    let machine = Pairwise::new(spec.clone()).unwrap();
    let driven = drive(machine, bot, journal, &Impatient, pending()).await;
    // The written records can be read.
    let text = serde_json::to_string(&journal.records).unwrap();
    let read: Vec<Record> = serde_json::from_str(&text).unwrap();
    assert_eq!(read, journal.records);
    Ok(driven?.outcome)
}

fn journal() -> MemoryJournal {
    MemoryJournal::new("a job")
}

#[tokio::test]
async fn each_side_runs_with_what_is_its_own_and_all_charts_are_heard() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (mut bot, mut journal) = (builder(), journal());
    bot.expect_run_pair().returning({
        let asked = Arc::clone(&asked);
        move |request| {
            asked.lock().unwrap().push(request.clone());
            Ok(report(request, |_| {}))
        }
    });
    let outcome = compare(&spec(), &bot, &mut journal).await.unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Different);
    let names: Vec<&str> = outcome.charts.iter().map(|it| it.chart.as_str()).collect();
    assert_eq!(names, ["memory", "time"]);
    assert!(outcome.charts[1].moved() && !outcome.charts[0].moved());

    let asked = asked.lock().unwrap();
    let indices: Vec<u32> = asked.iter().map(|request| request.index).collect();
    assert_eq!(indices, (0..30).collect::<Vec<_>>());
    let slow_first = asked
        .iter()
        .filter(|it| !it.first.arguments.is_empty())
        .count();
    assert_eq!(slow_first, 15);

    // Everything about a pair is kept, in the order in which it was run.
    let pairs: Vec<&PairReport> = (journal.records.iter())
        .filter_map(|record| match record {
            Record::Reported {
                report: Report::RanPair(report),
                ..
            } => Some(&**report),
            _ => None,
        })
        .collect();
    assert_eq!(pairs.len(), 30);
    for (pair, request) in pairs.into_iter().zip(&*asked) {
        assert_eq!(pair.second.started, u64::from(request.index));
        // Each is given its build.
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
    // The executor is asked for this chart alone.
    let mut bot = builder();
    bot.expect_run_pair()
        .withf(|request| request.charts == Charts::Deciding(Some("memory".into())))
        .returning(|request| Ok(report(request, |_| {})));
    let outcome = compare(&only, &bot, &mut journal()).await.unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Same);
    let names: Vec<&str> = outcome.charts.iter().map(|it| it.chart.as_str()).collect();
    assert_eq!(names, ["memory"]);
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
        let bot = answering(builder(), change);
        let spec = PairwiseSpec {
            chart: chart.map(str::to_owned),
            ..spec()
        };
        let mut journal = journal();
        let outcome = compare(&spec, &bot, &mut journal).await.unwrap();
        assert_eq!(outcome.status, PairwiseStatus::Different, "{reason}");
        assert_eq!(outcome.functional.unwrap().treatment_rate, 1.0);
        let says_why = journal.records.iter().any(|record| match record {
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
        let mut whole = journal();
        let expected = compare(&spec, &bot(), &mut whole).await.unwrap();
        for kept in 0..=whole.records.len() {
            let mut journal = journal();
            journal.records.extend_from_slice(&whole.records[..kept]);
            let mut bot = builder();
            bot.expect_run_pair()
                .times(..=whole.records.len() - kept)
                .returning(|request| Ok(report(request, |_| {})));
            let outcome = compare(&spec, &bot, &mut journal).await.unwrap();
            assert_eq!(outcome, expected);
            assert_eq!(journal.records, whole.records);
        }
    }
}

#[tokio::test]
async fn trouble_of_the_infrastructure_is_retried_and_then_asked_for_again() {
    // Every pair is lost in its first three tries: the action is given up, and
    // the machine asks for the pair under a new number.
    let mut tries = BTreeMap::<u64, u32>::new();
    let mut given_up = 0;
    let mut bot = builder();
    bot.expect_run_pair().returning(move |request| {
        let action = request.key.action;
        let tries = tries.entry(action).or_default();
        *tries += 1;
        if given_up < 6 && action % 3 == 0 {
            given_up += u32::from(*tries == 3);
            return Err(ExecutorError::Unavailable("bot died".into()));
        }
        Ok(report(request, |_| {}))
    });
    let mut journal = journal();
    let outcome = compare(&spec(), &bot, &mut journal).await.unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Different);
    assert_eq!(outcome.pairs, 30);
    let lost = |record: &&Record| matches!(record, Record::GaveUp { .. });
    assert_eq!(journal.records.iter().filter(lost).count(), 6);
}

#[tokio::test]
async fn what_is_refused_stops_the_job_which_can_be_taken_up_again() {
    let mut refusing = builder();
    refusing
        .expect_run_pair()
        .withf(|request| request.key.action == 11)
        .returning(|_| Err(ExecutorError::Refused("disk full".into())));
    let refusing = answering(refusing, |_| {});
    let mut journal = journal();
    let error = compare(&spec(), &refusing, &mut journal).await.unwrap_err();
    assert_eq!(error.to_string(), "disk full");
    let before = journal.records.clone();
    let outcome = compare(&spec(), &bot(), &mut journal).await.unwrap();
    assert_eq!(outcome.pairs, 30);
    assert!(journal.records.starts_with(&before));
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

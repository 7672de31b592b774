//! The machine of a job: its metric is found before its search begins.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;

use pinpoint_core::{
    Action, Bisection, BisectionSpec, Charts, CulpritFinderSpec, Direction, Event, FindMetric,
    JobMachine, JobOutcome, JobSpec, JobState, Machine, Measure, Metric, MetricSource, PairedRun,
    PairwiseSpec, Position, Range, Status, Stopped, Task,
};

const BETWEEN: u64 = 14;
const SLOW_FROM: u64 = 9;

fn spec() -> BisectionSpec {
    BisectionSpec::new(Range::Counted { between: BETWEEN })
}

fn metric() -> Metric {
    let measure = Measure {
        unit: Some("ms".into()),
        direction: Direction::Unknown,
    };
    Metric {
        format: "lines".into(),
        chart: Some("time".into()),
        unit: Some("ms".into()),
        direction: Direction::Unknown,
        charts: BTreeMap::from([("time".into(), measure)]),
        source: Some(MetricSource::StandardOutput),
        remarks: vec!["a doubt".into()],
    }
}

fn values(commit: Position, index: u32) -> BTreeMap<String, Vec<f64>> {
    let slow = match commit {
        Position::Lower => false,
        Position::Higher => true,
        Position::Within { offset, .. } => offset >= SLOW_FROM,
    };
    let time = if slow { 12.0 } else { 10.0 } + 0.01 * f64::from(index * 7 % 10);
    BTreeMap::from([("time".into(), vec![time])])
}

fn answer(action: &Action) -> Event {
    let number = action.number;
    let paired = |commit, index| PairedRun {
        started: 0,
        values: values(commit, index),
        failure: None,
    };
    match action.task {
        Task::FindMetric { .. } => Event::MetricFound {
            action: number,
            metric: metric(),
        },
        Task::List { range, .. } => Event::Listed {
            action: number,
            range,
            count: 0,
        },
        Task::Build { .. } => Event::built(number),
        Task::Run { commit, index, .. } => Event::Ran {
            action: number,
            bot: None,
            started: 0,
            values: values(commit, index),
        },
        Task::RunPair {
            first,
            second,
            index,
            ..
        } => Event::RanPair {
            action: number,
            bot: None,
            first: paired(first, index),
            second: paired(second, index),
        },
        Task::Cancel { .. } => Event::Canceled { action: number },
        ref other => panic!("a new task: {other:?}"),
    }
}

/// Runs a machine to its outcome, answering with `answer` the actions that `fault` does not.
fn run(
    machine: &mut JobMachine,
    mut fault: impl FnMut(&Action) -> Option<Event>,
) -> (JobOutcome, Vec<Action>, Vec<Event>) {
    let (mut asked, mut events) = (Vec::new(), Vec::new());
    for _ in 0..10_000 {
        for action in machine.poll() {
            let event = fault(&action).unwrap_or_else(|| answer(&action));
            asked.push(action);
            machine.handle(event.clone()).unwrap();
            events.push(event);
        }
        if let Some(outcome) = machine.outcome() {
            return (outcome.clone(), asked, events);
        }
    }
    panic!("it does not end");
}

fn all_specs() -> [JobSpec; 3] {
    [
        spec().into(),
        PairwiseSpec::unnamed().into(),
        CulpritFinderSpec::new(Range::Counted { between: BETWEEN }).into(),
    ]
}

fn finding(spec: impl Into<JobSpec>) -> JobMachine {
    let find = FindMetric {
        directions: true,
        ..FindMetric::default()
    };
    JobMachine::finding(spec, find).unwrap()
}

#[test]
fn the_metric_is_found_first_and_decides() {
    for spec in all_specs() {
        let mut machine = finding(spec);
        let first: Vec<Task> = machine.poll().into_iter().map(|it| it.task).collect();
        let (good, bad) = (Position::Lower, Position::Higher);
        assert_eq!(
            first,
            [
                Task::FindMetric { commit: good },
                Task::Build { commit: bad }
            ]
        );
        assert!(!machine.is_searching());
        for action in machine.outstanding() {
            machine.handle(answer(&action)).unwrap();
        }
        assert!(machine.is_searching());
        match machine.spec() {
            JobSpec::Pairwise(spec) => {
                assert_eq!(spec.directions["time"], Direction::Down);
                assert_eq!(machine.charts(), Charts::All);
            }
            _ => {
                assert_eq!(machine.spec().direction(), Direction::Down);
                assert_eq!(machine.charts(), Charts::Deciding(Some("time".into())));
            }
        }
        let (outcome, asked, _) = run(&mut machine, |_| None);
        assert_eq!(outcome.state(), JobState::Completed);
        // Commits built while the metric was found are not built again.
        let again = Task::Build { commit: bad };
        assert!(asked.iter().all(|action| action.task != again));
    }
}

#[test]
fn a_comparison_in_pairs_may_be_of_the_chart_that_is_found_alone() {
    let find = FindMetric {
        directions: true,
        only_chart: true,
    };
    let mut machine = JobMachine::finding(PairwiseSpec::unnamed(), find).unwrap();
    let (outcome, ..) = run(&mut machine, |_| None);
    assert_eq!(outcome.state(), JobState::Completed);
    assert_eq!(machine.charts(), Charts::Deciding(Some("time".into())));
}

#[test]
fn a_direction_that_was_given_stays() {
    let spec = BisectionSpec {
        direction: Direction::Up,
        ..spec()
    };
    let mut machine = JobMachine::finding(spec, FindMetric::default()).unwrap();
    run(&mut machine, |_| None);
    assert_eq!(machine.spec().direction(), Direction::Up);
}

#[test]
fn without_a_metric_to_find_it_is_the_search_itself() {
    let mut search = Bisection::new(spec()).unwrap();
    let mut machine = JobMachine::new(spec()).unwrap();
    while search.outcome().is_none() {
        assert_eq!(search.outstanding(), machine.outstanding());
        let actions = search.poll();
        assert_eq!(actions, machine.poll());
        for action in actions {
            search.handle(answer(&action)).unwrap();
            machine.handle(answer(&action)).unwrap();
        }
    }
    let outcome = search.outcome().cloned().map(JobOutcome::Bisection);
    assert_eq!(machine.outcome().cloned(), outcome);
}

#[test]
fn numbers_are_unique_and_rise_and_a_replay_asks_for_the_same() {
    for spec in all_specs() {
        let (outcome, asked, events) = run(&mut finding(spec.clone()), |_| None);
        assert!(asked.is_sorted_by_key(|action| action.number));
        for cut in 0..=events.len() {
            let mut machine = finding(spec.clone());
            for event in &events[..cut] {
                machine.handle(event.clone()).unwrap();
            }
            let mut open = machine.outstanding();
            assert_eq!(machine.poll(), open);
            open.retain(|action| asked.contains(action));
            if cut == events.len() {
                assert_eq!(machine.outcome(), Some(&outcome));
            } else {
                assert!(open.contains(&asked[cut]), "{:?}", asked[cut]);
            }
        }
    }
}

#[test]
fn an_end_that_does_not_build_fails_the_job_when_the_search_begins() {
    let mut machine = finding(spec());
    let (outcome, asked, _) = run(&mut machine, |action| {
        matches!(action.task, Task::Build { .. }).then(|| Event::BuildFailed {
            action: action.number,
            reason: "no compiler".into(),
        })
    });
    assert_eq!(outcome.state(), JobState::Failed);
    assert!(asked.len() <= 4, "{asked:?}");
}

#[test]
fn a_metric_that_stays_lost_fails_the_job_with_the_reason() {
    for spec in all_specs() {
        let mut machine = finding(spec);
        let mut tries = 0;
        let (outcome, _, _) = run(&mut machine, |action| {
            matches!(action.task, Task::FindMetric { .. }).then(|| {
                tries += 1;
                Event::GaveUp {
                    action: action.number,
                    reason: "bot died".into(),
                }
            })
        });
        assert_eq!(tries, 3);
        let stopped = match outcome {
            JobOutcome::Bisection(outcome) => outcome.stopped,
            JobOutcome::Pairwise(outcome) => outcome.stopped,
            JobOutcome::CulpritFinder(outcome) => outcome.stopped,
            other => panic!("a new kind: {other:?}"),
        };
        assert!(
            matches!(&stopped, Stopped::Failed { reason, .. } if reason == "bot died"),
            "{stopped:?}"
        );
    }
}

#[test]
fn canceled_or_out_of_time_before_the_search_it_ends_what_is_under_way() {
    let timed = BisectionSpec {
        max_time: Some(1_000),
        ..spec()
    };
    let ends = [
        (spec(), Event::CancelRequested, Status::Canceled),
        (
            timed,
            Event::TimePassed { elapsed: 1_000 },
            Status::Inconclusive,
        ),
    ];
    for (spec, end, expected) in ends {
        for answered in 0..=1 {
            let mut machine = finding(spec.clone());
            let actions = machine.poll();
            for action in &actions[..answered] {
                machine.handle(answer(action)).unwrap();
            }
            machine.handle(end.clone()).unwrap();
            assert_eq!(machine.outcome(), None);
            let cancels = machine.poll();
            let ended: Vec<u64> = (cancels.iter())
                .map(|action| match action.task {
                    Task::Cancel { action } => action,
                    ref other => panic!("{other:?}"),
                })
                .collect();
            let open: Vec<u64> = actions[answered..].iter().map(|it| it.number).collect();
            assert_eq!(ended, open);
            for action in cancels {
                machine.handle(answer(&action)).unwrap();
            }
            let Some(JobOutcome::Bisection(outcome)) = machine.outcome() else {
                panic!("no outcome");
            };
            assert_eq!((outcome.status, outcome.runs), (expected, 0));
        }
    }
}

#[test]
fn every_commit_runs_on_all_bots_equally_often_and_pairs_stay_on_one() {
    let bots: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let bisection = BisectionSpec {
        bots: bots.clone(),
        ..spec()
    };
    let finder = CulpritFinderSpec {
        bisection: bisection.clone(),
        ..CulpritFinderSpec::new(Range::Counted { between: BETWEEN })
    };
    let pairs = PairwiseSpec {
        bots: bots.clone(),
        ..PairwiseSpec::unnamed()
    };
    for spec in [bisection.into(), pairs.into(), JobSpec::from(finder)] {
        let mut machine = JobMachine::new(spec).unwrap();
        let (outcome, asked, _) = run(&mut machine, |_| None);
        assert_eq!(outcome.state(), JobState::Completed);
        let mut used: BTreeMap<(Position, Option<Position>), BTreeMap<String, u32>> =
            BTreeMap::new();
        for action in asked {
            let (what, bot) = match action.task {
                Task::Run { commit, bot, .. } => ((commit, None), bot),
                Task::RunPair {
                    first, second, bot, ..
                } => ((first, Some(second)), bot),
                _ => continue,
            };
            *used
                .entry(what)
                .or_default()
                .entry(bot.unwrap())
                .or_default() += 1;
        }
        assert!(!used.is_empty());
        for (what, counts) in used {
            let count = |bot: &String| counts.get(bot).copied().unwrap_or_default();
            let counts: Vec<u32> = bots.iter().map(count).collect();
            let (least, most) = (counts.iter().min(), counts.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{what:?}: {counts:?}");
        }
    }
}

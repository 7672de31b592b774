//! The rules of the pairwise comparison, one by one, and the invariants.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::{BTreeMap, BTreeSet};

use crate::walk::{Walk, check_replay, failed, gave, state, steps};
use pinpoint_core::{
    Action, CombinedCommit, Commit, CommonFailure, Direction, Event, Machine, PairedRun, Pairwise,
    PairwiseOutcome, PairwiseSpec, PairwiseStatus, Position, SpecError, Stopped, Task, Verdict,
};
use proptest::prelude::*;

fn spec() -> PairwiseSpec {
    PairwiseSpec::unnamed()
}

/// A run with these charts.
fn charts(values: &[(&str, f64)]) -> PairedRun {
    PairedRun {
        values: (values.iter())
            .map(|(chart, value)| ((*chart).to_owned(), vec![*value]))
            .collect(),
        ..gave(0.0)
    }
}

/// A comparison whose builds are done, with its pairs.
fn built(spec: PairwiseSpec) -> (Pairwise, Vec<Action>) {
    let mut machine = Pairwise::new(spec).unwrap();
    let builds = machine.poll();
    assert_eq!(
        builds
            .iter()
            .map(|action| action.task.clone())
            .collect::<Vec<_>>(),
        [Position::Lower, Position::Higher].map(|commit| Task::Build { commit })
    );
    for build in builds {
        machine.handle(Event::built(build.number)).unwrap();
    }
    let pairs = machine.poll();
    (machine, pairs)
}

/// Returns true if the base is first, and the number of the pair.
fn order(action: &Action) -> (bool, u32) {
    match action.task {
        Task::RunPair {
            first: Position::Lower,
            second: Position::Higher,
            index,
            ..
        } => (true, index),
        Task::RunPair {
            first: Position::Higher,
            second: Position::Lower,
            index,
            ..
        } => (false, index),
        ref other => panic!("{other:?}"),
    }
}

/// The pair as an answer, given base and experiment.
fn ran_pair(action: &Action, base: PairedRun, experiment: PairedRun) -> Event {
    let (first, second) = if order(action).0 {
        (base, experiment)
    } else {
        (experiment, base)
    };
    Event::RanPair {
        action: action.number,
        bot: Some("bot".into()),
        first,
        second,
    }
}

/// Every pair is answered by its index: base, experiment.
fn compare(
    spec: PairwiseSpec,
    mut run: impl FnMut(u32) -> (PairedRun, PairedRun),
) -> PairwiseOutcome {
    let (mut machine, pairs) = built(spec);
    for action in &pairs {
        let (base, experiment) = run(order(action).1);
        machine.handle(ran_pair(action, base, experiment)).unwrap();
        if machine.outcome().is_some() {
            break;
        }
        for action in machine.poll() {
            let Task::Cancel { .. } = action.task else {
                panic!("{action:?}");
            };
            machine
                .handle(Event::Canceled {
                    action: action.number,
                })
                .unwrap();
        }
    }
    machine.outcome().expect("an end").clone()
}

/// Noise below 0.02 that is the same in every test: SplitMix64's output function.
fn noise(index: u32, salt: u32) -> f64 {
    let mut z = (u64::from(salt) << 32 | u64::from(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 40) as f64 / f64::from(1 << 24) * 0.02
}

#[test]
fn thirty_pairs_by_default_and_the_verdict_of_their_values() {
    for (slower, expected) in [
        (1.05, PairwiseStatus::Different),
        (1.0, PairwiseStatus::Same),
    ] {
        let outcome = compare(spec(), |index| {
            let drift = 10.0 + f64::from(index);
            (
                gave(drift + noise(index, 1)),
                gave(drift * slower + noise(index, 2)),
            )
        });
        assert_eq!(outcome.status, expected, "{outcome:?}");
        assert_eq!((outcome.pairs, outcome.runs, outcome.builds), (30, 60, 2));
        assert_eq!(outcome.stopped, Stopped::Decided);
        assert!(!outcome.stopped_early);
        let chart = &outcome.charts[0];
        let comparison = chart.comparison.as_ref().unwrap();
        assert_eq!(comparison.pairs, 30);
        // One chart alone needs no adjustment.
        assert_eq!(chart.adjusted_p_value, Some(comparison.p_value));
    }
}

#[test]
fn better_is_the_same_unless_nobody_says_where_better_lies() {
    let faster = |index| (gave(10.0 + noise(index, 1)), gave(9.0 + noise(index, 2)));
    let with = |direction| PairwiseSpec {
        direction,
        ..spec()
    };
    let outcome = compare(with(Direction::Down), faster);
    assert_eq!(outcome.status, PairwiseStatus::Same);
    assert!(outcome.charts[0].improved() && !outcome.charts[0].moved());
    let outcome = compare(with(Direction::Up), faster);
    assert_eq!(outcome.status, PairwiseStatus::Different);
    let outcome = compare(with(Direction::Unknown), faster);
    assert_eq!(outcome.status, PairwiseStatus::Different);
    // A chart's own direction goes before that of all.
    let of_time = PairwiseSpec {
        directions: BTreeMap::from([("time".to_owned(), Direction::Down)]),
        ..with(Direction::Up)
    };
    assert_eq!(compare(of_time, faster).status, PairwiseStatus::Same);
}

#[test]
fn failures_are_compared_first() {
    let outcome = compare(spec(), |_| (gave(1000.0), failed()));
    assert_eq!(outcome.status, PairwiseStatus::Different);
    let functional = outcome.functional.unwrap();
    assert_eq!(functional.verdict, Verdict::Different);
    assert_eq!(
        (functional.control_rate, functional.treatment_rate),
        (0.0, 1.0)
    );
    assert_eq!(outcome.charts, []);
    assert_eq!(outcome.only_base, ["time"]);

    // Fewer failures are better, and there is nothing left to compare.
    let outcome = compare(spec(), |_| (failed(), gave(10.0)));
    assert_eq!(outcome.status, PairwiseStatus::Unknown);
    assert_eq!(outcome.only_experiment, ["time"]);
}

/// The commonest reason on each side, and its share.
#[test]
fn failing_sides_say_why() {
    let because = |reason: &str| PairedRun {
        failure: Some(reason.to_owned()),
        ..failed()
    };
    let outcome = compare(spec(), |index| {
        let base = match index {
            3 => because("took longer than 10 s"),
            _ => gave(10.0),
        };
        let reason = match index % 3 {
            0 => "exit code 1",
            _ => "gave no value for `time`",
        };
        (base, because(reason))
    });
    assert_eq!(outcome.status, PairwiseStatus::Different);
    let failure = |reason: &str, runs, failed| {
        Some(CommonFailure {
            reason: reason.to_owned(),
            runs,
            failed,
        })
    };
    assert_eq!(
        (outcome.base_failure, outcome.experiment_failure),
        (
            failure("took longer than 10 s", 1, 1),
            failure("gave no value for `time`", 20, 30)
        )
    );
}

/// Six pairs can give p = 0.031, and 0.094 once it is adjusted for three charts.
#[test]
fn too_few_pairs_for_so_many_charts_are_not_the_same() {
    let run = |index: u32, side: u32| {
        let slower = f64::from(side) * 3.0;
        charts(&[
            ("a", 10.0 + slower + noise(index, side)),
            ("b", 10.0 + noise(index, 2 + side)),
            ("c", 10.0 + noise(index, 4 + side)),
        ])
    };
    let with = |pairs| PairwiseSpec { pairs, ..spec() };
    let outcome = compare(with(6), |index| (run(index, 0), run(index, 1)));
    assert_eq!(
        (outcome.status, outcome.pairs_needed),
        (PairwiseStatus::Unknown, Some(8))
    );
    assert!(outcome.charts[0].is_undecided() && !outcome.charts[1].is_undecided());
    let outcome = compare(with(8), |index| (run(index, 0), run(index, 1)));
    assert_eq!(
        (outcome.status, outcome.pairs_needed),
        (PairwiseStatus::Different, None)
    );
    let same = compare(with(8), |index| (run(index, 0), run(index + 100, 0)));
    assert_eq!(
        (same.status, same.pairs_needed),
        (PairwiseStatus::Same, None)
    );
    // One chart alone needs no more than six.
    let one = PairwiseSpec {
        chart: Some("a".into()),
        ..with(6)
    };
    let outcome = compare(one, |index| (run(index, 0), run(index, 1)));
    assert_eq!(outcome.status, PairwiseStatus::Different);
    // Where no value differs, more pairs would show nothing else.
    let equal = charts(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
    let outcome = compare(with(6), |_| (equal.clone(), equal.clone()));
    assert_eq!(
        (outcome.status, outcome.pairs_needed),
        (PairwiseStatus::Same, None)
    );
    // Too few are left of six when two of them failed.
    let outcome = compare(
        PairwiseSpec {
            chart: Some("a".into()),
            ..with(6)
        },
        |index| match index {
            0 | 1 => (failed(), failed()),
            _ => (run(index, 0), run(index, 1)),
        },
    );
    assert_eq!(
        (outcome.status, outcome.pairs_needed),
        (PairwiseStatus::Unknown, Some(6))
    );
}

/// Values below 0 are compared in jobs of this version, and refused as Pinpoint publishes it.
#[test]
fn negative_values_are_compared() {
    let run = |index: u32, side: u32| gave(-10.0 - f64::from(side) - noise(index, side));
    let outcome = compare(spec(), |index| (run(index, 0), run(index, 1)));
    assert_eq!(outcome.status, PairwiseStatus::Different);
    let estimate = outcome.charts[0].comparison.as_ref().unwrap().estimate;
    assert!((estimate.unwrap() + 10.0).abs() < 0.1, "{estimate:?}");
    for published in [
        PairwiseSpec {
            published: true,
            ..spec()
        },
        PairwiseSpec {
            version: 2,
            ..spec()
        },
    ] {
        let outcome = compare(published, |index| (run(index, 0), run(index, 1)));
        assert_eq!(outcome.status, PairwiseStatus::Unknown);
        assert!(outcome.charts[0].error.is_some());
    }
}

#[test]
fn each_chart_drops_its_own_pairs_and_then_the_earliest_of_the_surplus_order() {
    // `rare` is missing in some runs, on one side or the other.
    let has_rare = |index: u32| !matches!(index, 3 | 7 | 8 | 12 | 29);
    let run = |index: u32, slower: f64, side: u32| {
        let time = 10.0 + slower + noise(index, side);
        if has_rare(index) || side == index % 2 {
            charts(&[("time", time), ("rare", time)])
        } else {
            charts(&[("time", time)])
        }
    };
    let (_, pairs) = built(spec());
    let base_first: BTreeMap<u32, bool> = pairs
        .iter()
        .map(|action| (order(action).1, order(action).0))
        .collect();
    let mut left: Vec<u32> = (0..30).filter(|index| has_rare(*index)).collect();
    loop {
        let first = left.iter().filter(|index| base_first[index]).count();
        let surplus = match first.cmp(&(left.len() - first)) {
            std::cmp::Ordering::Equal => break,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
        };
        let earliest = left.iter().position(|index| base_first[index] == surplus);
        left.remove(earliest.unwrap());
    }
    let values = |slower: f64, side: u32| -> Vec<f64> {
        (left.iter())
            .map(|index| 10.0 + slower + noise(*index, side))
            .collect()
    };
    let expected =
        pinpoint_compare::compare_pairwise(&values(0.0, 0), &values(0.5, 1), Direction::Unknown);

    let outcome = compare(spec(), |index| (run(index, 0.0, 0), run(index, 0.5, 1)));
    let [rare, time] = &outcome.charts[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!((time.failed_pairs, time.surplus_pairs), (0, 0));
    assert_eq!(rare.failed_pairs, 5);
    assert_eq!(rare.surplus_pairs as usize, 25 - left.len());
    assert_eq!(rare.comparison, Some(expected.unwrap()));
}

#[test]
fn many_charts_are_adjusted_for_their_number_and_named_where_one_side_lacks_them() {
    // Of 40 charts one moved by much, and one by so little that among 40 it does not count.
    let run = |index: u32, side: u32| {
        let names: Vec<String> = (0..40).map(|chart| format!("chart {chart:02}")).collect();
        let mut given: Vec<(&str, f64)> = (0..)
            .zip(&names)
            .map(|(chart, name)| {
                let scatter = noise(index, 2 * chart + side);
                let moved = match (chart, side) {
                    (0, 1) => 1.0,
                    (1, 1) => 0.0025,
                    _ => 0.0,
                };
                (name.as_str(), 10.0 + scatter + moved)
            })
            .collect();
        given.push((["old", "new"][side as usize], 1.0));
        charts(&given)
    };
    let outcome = compare(spec(), |index| (run(index, 0), run(index, 1)));
    assert_eq!(outcome.status, PairwiseStatus::Different);
    assert_eq!(
        (
            outcome.only_base.as_slice(),
            outcome.only_experiment.as_slice()
        ),
        (["old".to_owned()].as_slice(), ["new".to_owned()].as_slice())
    );
    let moved: Vec<&str> = (outcome.charts.iter())
        .filter(|chart| chart.moved())
        .map(|chart| chart.chart.as_str())
        .collect();
    assert_eq!(moved, ["chart 00"]);
    // Alone, the other one would have moved, too.
    assert_eq!(outcome.charts[1].verdict(), Verdict::Different);
    let p_values: Vec<f64> = (outcome.charts.iter())
        .map(|chart| chart.comparison.as_ref().unwrap().p_value)
        .collect();
    let adjusted: Vec<f64> = (outcome.charts.iter())
        .map(|chart| chart.adjusted_p_value.unwrap())
        .collect();
    assert_eq!(
        pinpoint_compare::benjamini_hochberg(&p_values),
        Ok(adjusted)
    );

    // Asked about one chart alone, the others are not looked at.
    let only = PairwiseSpec {
        chart: Some("chart 01".into()),
        ..spec()
    };
    let outcome = compare(only, |index| (run(index, 0), run(index, 1)));
    assert_eq!(outcome.charts.len(), 1);
    assert_eq!(outcome.only_base, [] as [String; 0]);
}

#[test]
fn a_chart_that_can_not_be_compared_says_why() {
    // As Pinpoint publishes it, values below 0 can't be compared.
    let published = || PairwiseSpec {
        published: true,
        ..spec()
    };
    let outcome = compare(published(), |index| {
        (
            charts(&[("balance", -1.0), ("time", 10.0 + noise(index, 1))]),
            charts(&[("balance", 1.0), ("time", 11.0 + noise(index, 2))]),
        )
    });
    assert_eq!(outcome.status, PairwiseStatus::Different);
    let balance = &outcome.charts[0];
    assert!(
        balance
            .error
            .as_ref()
            .unwrap()
            .contains("must not be negative")
    );
    assert_eq!(
        (balance.adjusted_p_value, balance.verdict()),
        (None, Verdict::Nil)
    );
    assert!(outcome.charts[1].moved());

    // Alone, it decides nothing.
    let outcome = compare(published(), |_| {
        (charts(&[("balance", -1.0)]), charts(&[("balance", 1.0)]))
    });
    assert_eq!(outcome.status, PairwiseStatus::Unknown);
}

#[test]
fn several_values_of_a_run_count_as_their_median() {
    let run = |level: f64, index: u32| PairedRun {
        values: BTreeMap::from([(
            "time".to_owned(),
            vec![1000.0, level + noise(index, 3), 0.0],
        )]),
        ..gave(0.0)
    };
    let outcome = compare(spec(), |index| (run(10.0, index), run(11.0, index)));
    let comparison = outcome.charts[0].comparison.as_ref().unwrap();
    assert!((10.0..10.1).contains(&comparison.control_median));
}

#[test]
fn early_stopping_ends_once_it_is_certain_and_not_before() {
    let early = |pairs| PairwiseSpec {
        early_stopping: true,
        pairs,
        ..spec()
    };
    let slower = |index| (gave(10.0 + noise(index, 1)), gave(11.0 + noise(index, 2)));
    let outcome = compare(early(30), slower);
    assert_eq!(outcome.status, PairwiseStatus::Different);
    assert!(outcome.stopped_early && outcome.pairs < 20, "{outcome:?}");
    assert!(outcome.charts[0].anytime_p_value.unwrap() <= 0.005);
    assert_eq!(outcome.stopped, Stopped::Decided);

    let same = |index| (gave(10.0 + noise(index, 1)), gave(10.0 + noise(index, 2)));
    let outcome = compare(early(30), same);
    assert_eq!(outcome.status, PairwiseStatus::Same);
    assert!(!outcome.stopped_early && outcome.pairs == 30);

    // Failures can be certain, too.
    let outcome = compare(early(60), |_| (gave(1000.0), failed()));
    assert_eq!(outcome.status, PairwiseStatus::Different);
    assert!(outcome.stopped_early && outcome.pairs < 20);
}

/// Slow pairs are answered late: looking at the fast ones first would find a difference that is not
/// there.
#[test]
fn early_stopping_looks_at_pairs_in_the_order_of_their_indices() {
    let early = PairwiseSpec {
        early_stopping: true,
        pairs: 60,
        ..spec()
    };
    let (mut machine, pairs) = built(early);
    // In every second pair the experiment is slower, and these come first.
    let slower = |action: &Action| order(action).1.is_multiple_of(2);
    let mut in_time: Vec<&Action> = pairs.iter().collect();
    in_time.sort_by_key(|action| !slower(action));
    for (answered, action) in in_time.into_iter().enumerate() {
        assert!(machine.outcome().is_none(), "ended after {answered}");
        assert_eq!(machine.poll(), []);
        let index = order(action).1;
        let by = if slower(action) { 1.0 } else { -1.0 };
        let event = ran_pair(
            action,
            gave(1000.0),
            gave(1000.0 + by * (1.0 + noise(index, 1))),
        );
        machine.handle(event).unwrap();
    }
    assert_eq!(machine.outcome().unwrap().status, PairwiseStatus::Same);
}

#[test]
fn builds_that_are_the_same_are_not_run_where_that_is_asked_for() {
    let built = |skip_same_builds, digests: [Option<&str>; 2]| {
        let mut machine = Pairwise::new(PairwiseSpec {
            skip_same_builds,
            early_stopping: true,
            ..spec()
        })
        .unwrap();
        for (action, digest) in machine.poll().into_iter().zip(digests) {
            let event = Event::Built {
                action: action.number,
                digest: digest.map(str::to_owned),
                same: action.task
                    == Task::Build {
                        commit: Position::Higher,
                    },
            };
            machine.handle(event).unwrap();
        }
        machine
    };
    let same = built(true, [Some("a"), Some("a")]);
    let outcome = same.outcome().unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Same);
    assert_eq!(outcome.stopped, Stopped::Decided);
    assert_eq!((outcome.pairs, outcome.runs, outcome.builds), (0, 0, 1));
    assert!(!outcome.stopped_early);
    for mut other in [
        built(false, [Some("a"), Some("a")]),
        built(true, [Some("a"), Some("b")]),
        built(true, [Some("a"), None]),
        built(true, [None, None]),
    ] {
        assert_eq!(other.outcome(), None);
        assert_eq!(other.poll().len(), 30);
    }
}

#[test]
fn a_side_that_does_not_build_fails_the_job() {
    let mut machine = Pairwise::new(spec()).unwrap();
    let builds = machine.poll();
    machine
        .handle(Event::BuildFailed {
            action: builds[1].number,
            reason: "no compiler".into(),
        })
        .unwrap();
    let ending = machine.poll();
    assert_eq!(
        ending[0].task,
        Task::Cancel {
            action: builds[0].number
        }
    );
    machine
        .handle(Event::Canceled {
            action: ending[0].number,
        })
        .unwrap();
    let outcome = machine.outcome().unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Failed);
    assert_eq!(
        outcome.stopped,
        Stopped::Failed {
            commit: Some(Position::Higher),
            reason: "no compiler".into()
        }
    );
}

#[test]
fn a_lost_pair_is_asked_for_again_and_three_in_a_row_end_it() {
    let (mut machine, pairs) = built(spec());
    let lose = |machine: &mut Pairwise, action: u64| {
        let reason = "bot died".into();
        machine.handle(Event::GaveUp { action, reason }).unwrap();
        machine.poll()
    };
    for action in &pairs[..2] {
        let again = lose(&mut machine, action.number);
        assert_eq!(again[0].task, action.task);
        assert!(again[0].number > pairs[29].number);
    }
    // One that is not lost restarts the count.
    machine
        .handle(ran_pair(&pairs[2], gave(1.0), gave(1.0)))
        .unwrap();
    for action in &pairs[3..5] {
        assert_eq!(lose(&mut machine, action.number).len(), 1);
    }
    let ending = lose(&mut machine, pairs[5].number);
    assert!(
        ending
            .iter()
            .all(|action| matches!(action.task, Task::Cancel { .. }))
    );
    for action in ending {
        machine
            .handle(Event::Canceled {
                action: action.number,
            })
            .unwrap();
    }
    let outcome = machine.outcome().unwrap();
    assert_eq!(outcome.status, PairwiseStatus::Failed);
    assert_eq!(outcome.pairs, 1);
}

#[test]
fn what_ends_before_its_time_does_not_say_same() {
    for (event, status, stopped) in [
        (
            Event::TimePassed { elapsed: 5_000 },
            PairwiseStatus::Unknown,
            Stopped::TimeBudget,
        ),
        (
            Event::CancelRequested,
            PairwiseStatus::Canceled,
            Stopped::Canceled,
        ),
    ] {
        let limited = PairwiseSpec {
            max_time: Some(5_000),
            ..spec()
        };
        let (mut machine, pairs) = built(limited);
        machine
            .handle(Event::TimePassed { elapsed: 4_999 })
            .unwrap();
        for action in &pairs[..20] {
            machine
                .handle(ran_pair(action, gave(1.0), gave(1.0)))
                .unwrap();
        }
        assert_eq!(machine.poll(), []);
        machine.handle(event).unwrap();
        let ending = machine.poll();
        assert_eq!(ending.len(), 10);
        for action in ending {
            machine
                .handle(Event::Canceled {
                    action: action.number,
                })
                .unwrap();
        }
        let outcome = machine.outcome().unwrap();
        assert_eq!((outcome.status, &outcome.stopped), (status, &stopped));
        assert_eq!(outcome.charts[0].verdict(), Verdict::Same);
        assert!(!outcome.stopped_early);
    }
}

#[test]
fn one_pair_under_a_profiler_is_enough_to_end() {
    let profiled = PairwiseSpec {
        pairs: 1,
        profiled: true,
        ..spec()
    };
    let (mut machine, pairs) = built(profiled);
    let [pair] = &pairs[..] else {
        panic!("{pairs:?}")
    };
    machine
        .handle(Event::RanPair {
            action: pair.number,
            bot: None,
            first: charts(&[("time", 1.0)]),
            second: charts(&[("time", 2.0)]),
        })
        .unwrap();
    let outcome = machine.outcome().unwrap();
    assert_eq!(
        (outcome.status, outcome.pairs),
        (PairwiseStatus::Unknown, 1)
    );
}

#[test]
fn a_spec_that_can_not_be_carried_out_is_refused() {
    for pairs in [0, 1, 2, 4, 5, 7, 31, SpecError::MOST_ATTEMPTS + 2] {
        let error = Pairwise::new(PairwiseSpec { pairs, ..spec() }).unwrap_err();
        assert_eq!(error, SpecError::Pairs { found: pairs });
    }
    for pairs in [0, SpecError::MOST_ATTEMPTS + 1] {
        let profiled = PairwiseSpec {
            pairs,
            profiled: true,
            ..spec()
        };
        let error = Pairwise::new(profiled).unwrap_err();
        assert_eq!(error, SpecError::ProfiledPairs { found: pairs });
    }
    let version = PairwiseSpec {
        version: 99,
        ..spec()
    };
    assert_eq!(
        Pairwise::new(version).unwrap_err(),
        SpecError::Version { found: 99 }
    );
    let mut waits = spec();
    waits.retry.factor = f64::NAN;
    assert!(matches!(
        Pairwise::new(waits).unwrap_err(),
        SpecError::RetryFactor(_)
    ));
    // The same commit twice is valid, too: it shows the scatter.
    let commit = || CombinedCommit::from(Commit::new("repository", "hash"));
    let machine = Pairwise::new(PairwiseSpec::new(commit(), commit())).unwrap();
    assert_eq!(machine.ends(), Some((&commit(), &commit())));
}

fn specs() -> impl Strategy<Value = PairwiseSpec> {
    (
        3..40_u32,
        any::<bool>(),
        any::<u64>(),
        prop::option::of(1_u64..1_000_000),
        prop::option::of(Just("time".to_owned())),
        prop_oneof![
            Just(Direction::Up),
            Just(Direction::Down),
            Just(Direction::Unknown)
        ],
    )
        .prop_map(
            |(half, early_stopping, seed, max_time, chart, direction)| PairwiseSpec {
                pairs: 2 * half,
                early_stopping,
                seed,
                max_time,
                chart,
                direction,
                ..spec()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn each_side_is_first_in_half_of_the_pairs_and_each_pair_is_asked_for_once(spec in specs()) {
        let (_, pairs) = built(spec.clone());
        let first = pairs.iter().filter(|action| order(action).0).count();
        prop_assert_eq!(2 * first, pairs.len());
        let indices: Vec<u32> = pairs.iter().map(|action| order(action).1).collect();
        prop_assert_eq!(indices, (0..spec.pairs).collect::<Vec<_>>());
        prop_assert_eq!(&pairs, &built(spec).1, "another order with the same seed");
    }

    #[test]
    fn any_walk_ends(spec in specs(), steps in steps()) {
        let walk = Walk::new(Pairwise::new(spec.clone()).unwrap(), &steps);
        walk.check_actions();
        let outcome = walk.machine.outcome().unwrap();
        let pairs = walk.count(|task| matches!(task, Task::RunPair { .. }));
        prop_assert!(u64::from(outcome.pairs) <= pairs && outcome.pairs <= spec.pairs);
        prop_assert!(outcome.pairs == spec.pairs || outcome.stopped != Stopped::Decided || outcome.stopped_early);
        for chart in &outcome.charts {
            let compared = chart.comparison.as_ref().map_or(0, |it| it.pairs as u32);
            let dropped = chart.failed_pairs + chart.surplus_pairs;
            prop_assert!(chart.error.is_some() || compared + dropped == outcome.pairs);
        }

        // The end is the end.
        let mut machine = walk.machine.clone();
        machine.handle(Event::CancelRequested).unwrap();
        prop_assert_eq!(state(&machine), state(&walk.machine));
    }

    #[test]
    fn replaying_any_prefix_gives_the_same_machine(spec in specs(), steps in steps()) {
        let begin = || Pairwise::new(spec.clone()).unwrap();
        let whole = Walk::new(begin(), &steps);
        for cut in 0..=whole.events.len().min(30) {
            check_replay(begin, &whole, cut * whole.events.len() / 30.max(cut));
        }
    }

    /// Storing changes nothing: spec, events and outcome as JSON.
    #[test]
    fn spec_events_and_outcome_survive_being_written(spec in specs(), steps in steps()) {
        let whole = Walk::new(Pairwise::new(spec.clone()).unwrap(), &steps);
        let read: PairwiseSpec = serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
        let events: Vec<Event> =
            serde_json::from_str(&serde_json::to_string(&whole.events).unwrap()).unwrap();
        let mut machine = Pairwise::new(read).unwrap();
        for event in events {
            machine.handle(event).unwrap();
        }
        let outcome = serde_json::to_string(machine.outcome().unwrap()).unwrap();
        let read: PairwiseOutcome = serde_json::from_str(&outcome).unwrap();
        prop_assert_eq!(Some(&read), whole.machine.outcome());
    }
}

#[test]
fn seeds_give_different_orders() {
    let orders: BTreeSet<Vec<bool>> = (0..20)
        .map(|seed| {
            let (_, pairs) = built(PairwiseSpec { seed, ..spec() });
            pairs.iter().map(|action| order(action).0).collect()
        })
        .collect();
    assert_eq!(orders.len(), 20);
}

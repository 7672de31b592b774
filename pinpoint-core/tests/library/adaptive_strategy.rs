//! The strategy `adaptive`: its rules one by one, and one scenario for each kind
//! of noise and trouble that it must bear.
//!
//! Scenarios run a fixed number of seeded searches. The expectations leave room for a few standard
//! errors, and are far from the results of a broken strategy.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::cell::Cell;

use crate::world::{World, at, culprits, value_by_value};
use pinpoint_compare::Interval;
use pinpoint_core::simulation::{Memory, Noise, Scenario, Simulation, Summary, Trial};
use pinpoint_core::{
    Bisection, BisectionSpec, CombinedCommit, Commit, Direction, EffectOf, Event, Machine,
    Magnitude, Outcome, Position, Range, SPEC_VERSION, SpecError, Status, Stopped, Strategy, Task,
};

fn searches(scenario: &Scenario, magnitude: Option<f64>, count: u64) -> Vec<Trial> {
    let spec = BisectionSpec {
        strategy: Strategy::Adaptive,
        magnitude: magnitude.map(Magnitude::Absolute),
        ..BisectionSpec::new(scenario.range())
    };
    (0..count)
        .map(|seed| scenario.search(&spec, seed).unwrap())
        .collect()
}

/// This many of 40 searches are exactly right, with this many runs on average.
#[track_caller]
fn expect(scenario: &Scenario, magnitude: Option<f64>, right: f64, runs: f64) {
    let summary = Summary::of(&searches(scenario, magnitude, 40));
    let found = (summary.exactly_right.value, summary.runs.mean.value);
    assert!(
        found.0 >= right && found.1 <= runs,
        "{found:?}: {scenario:?}"
    );
}

fn one_change(effect: f64) -> Scenario {
    Scenario {
        changes: vec![effect],
        ..Scenario::new(128)
    }
}

#[test]
fn finds_the_one_commit_that_is_slower() {
    for place in 0..=14 {
        let world = World::new(14).slower_from(place, 5.0).adaptive();
        let outcome = world.search().outcome();
        let expected = if place == 14 {
            Position::Higher
        } else {
            at(place)
        };
        assert_eq!(outcome.status, Status::CulpritFound);
        assert_eq!(outcome.stopped, Stopped::Decided);
        assert_eq!(culprits(&outcome), [expected]);
        assert_eq!(outcome.candidates, []);
        assert!(outcome.culprits[0].probability.unwrap() >= 0.95);
        let effect = &outcome.culprits[0].effect;
        assert_eq!(effect.of, EffectOf::Values);
        assert!((effect.estimate.unwrap() - 5.0).abs() < 0.1, "{effect:?}");
        assert!(outcome.runs <= 30, "{} runs", outcome.runs);
    }
}

#[test]
fn it_is_the_default() {
    assert_eq!(Strategy::default(), Strategy::Adaptive);
    assert_eq!(World::new(3).adaptive().spec().build_cost, 1.0);
}

#[test]
fn values_that_never_vary_are_decided_quickly() {
    let mut world = World::new(100).slower_from(40, 5.0).adaptive();
    world.spread = 0.0;
    let outcome = world.search().outcome();
    assert_eq!(culprits(&outcome), [at(40)]);
    assert!(outcome.runs <= 60, "{} runs", outcome.runs);
    let estimate = outcome.culprits[0].effect.estimate.unwrap();
    assert!((estimate - 5.0).abs() < 1e-9, "{estimate}");

    let mut world = World::new(100).adaptive();
    world.spread = 0.0;
    let outcome = world.search().outcome();
    assert_eq!(outcome.status, Status::NoRegression);
    assert!(outcome.runs <= 60, "{} runs", outcome.runs);
}

#[test]
fn the_posterior_adds_up_and_names_every_commit_once() {
    let world = World::new(1_000).slower_from(300, 5.0).adaptive();
    let mut search = world.search();
    while search.machine.outcome().is_none() {
        search.step();
        let Some(posterior) = search.machine.posterior() else {
            continue;
        };
        let sum: f64 = posterior.spans.iter().map(|span| span.probability).sum();
        assert!((sum + posterior.no_change - 1.0).abs() < 1e-9);
        let commits: u64 = posterior.spans.iter().map(|span| span.commits).sum();
        assert_eq!(commits, 1_001);
        assert_eq!(posterior.spans[0].after, Position::Lower);
        assert!(
            (posterior.spans.windows(2)).all(|pair| pair[0].last == pair[1].after),
            "{posterior:?}"
        );
    }
    assert!(search.machine.outcome().unwrap().posterior.is_some());
}

#[test]
fn a_suspicious_commit_is_looked_at_first() {
    let mut priors = vec![1.0; 1_001];
    priors[700] = 1e6;
    let world = World::new(1_000).slower_from(700, 5.0).adaptive();
    let spec = BisectionSpec {
        priors: Some(priors),
        ..world.spec()
    };
    let suspected = world.search_for(spec).outcome();
    assert_eq!(culprits(&suspected), [at(700)]);
    let unsuspected = world.search().outcome();
    assert!(
        suspected.builds < unsuspected.builds - 4,
        "{} builds",
        suspected.builds
    );
}

#[test]
fn a_wrong_suspicion_is_overcome() {
    let mut priors = vec![1.0; 101];
    priors[20] = 50.0;
    let world = World::new(100).slower_from(70, 5.0).adaptive();
    let spec = BisectionSpec {
        priors: Some(priors),
        ..world.spec()
    };
    assert_eq!(culprits(&world.search_for(spec).outcome()), [at(70)]);
}

#[test]
fn priors_and_build_costs_that_make_no_sense_are_refused() {
    let spec = World::new(3).adaptive().spec();
    let refused = |priors: &[f64]| {
        Bisection::new(BisectionSpec {
            priors: Some(priors.to_vec()),
            ..spec.clone()
        })
        .unwrap_err()
    };
    assert_eq!(
        refused(&[1.0; 3]),
        SpecError::PriorsLength {
            found: 3,
            expected: 4
        }
    );
    assert_eq!(
        refused(&[1.0, 1.0, -1.0, 1.0]),
        SpecError::Prior {
            index: 2,
            value: -1.0
        }
    );
    assert!(matches!(
        refused(&[1.0, f64::NAN, 1.0, 1.0]),
        SpecError::Prior { index: 1, .. }
    ));
    assert_eq!(refused(&[0.0; 4]), SpecError::PriorsSum);
    assert_eq!(refused(&[f64::MAX; 4]), SpecError::PriorsSum);
    for build_cost in [-1.0, f64::NAN, f64::INFINITY] {
        let spec = BisectionSpec {
            build_cost,
            ..spec.clone()
        };
        assert!(matches!(Bisection::new(spec), Err(SpecError::BuildCost(_))));
    }
}

fn between_commits() -> BisectionSpec {
    let end = |hash| CombinedCommit::from(Commit::new("repository", hash));
    BisectionSpec::new(Range::Between {
        good: end("a"),
        bad: end("b"),
    })
}

#[test]
fn priors_for_a_range_of_another_length_fail_the_job_once_it_is_listed() {
    let spec = BisectionSpec {
        priors: Some(vec![1.0; 6]),
        ..between_commits()
    };
    let outcome = World::new(6).slower_from(4, 5.0).search_for(spec).outcome();
    assert_eq!(outcome.status, Status::Failed);
    let Stopped::Failed { reason, .. } = outcome.stopped else {
        panic!("{outcome:?}");
    };
    assert!(reason.contains("6 prior weights for 7 commits"), "{reason}");
}

#[test]
fn adjacent_commits_are_listed_again_and_a_roll_is_followed() {
    let world = World::new(6).slower_from(4, 5.0).roll(4, 9, 7);
    let outcome = world.search_for(between_commits()).outcome();
    assert_eq!(outcome.culprits.len(), 1);
    let Position::Within { range, offset } = outcome.culprits[0].commit else {
        panic!("{outcome:?}");
    };
    assert!(range > 0);
    assert_eq!(offset, 7);
    // Nothing inside, and nothing between the ends at all.
    let world = World::new(6).slower_from(4, 5.0);
    assert_eq!(
        culprits(&world.search_for(between_commits()).outcome()),
        [at(4)]
    );
    let world = World::new(0).slower_from(0, 5.0);
    assert_eq!(
        culprits(&world.search_for(between_commits()).outcome()),
        [Position::Higher]
    );
}

#[test]
fn what_does_not_build_next_to_the_culprit_is_reported_as_a_range() {
    let world = World::new(7)
        .slower_from(4, 5.0)
        .broken_at([3, 4])
        .adaptive();
    let outcome = world.search().outcome();
    assert_eq!(outcome.status, Status::Inconclusive);
    assert_eq!(outcome.candidates, [at(3), at(4), at(5)]);
    assert_eq!(outcome.skipped.len(), 2);
    assert!(outcome.runs < 60, "{} runs", outcome.runs);
}

#[test]
fn a_long_stretch_that_does_not_build_is_not_walked_through() {
    let world = World::new(100_000)
        .slower_from(50_000, 5.0)
        .broken_at(30_000..70_000)
        .adaptive();
    let outcome = world.search().outcome();
    assert_eq!(outcome.status, Status::Inconclusive);
    assert!(outcome.candidates.contains(&at(50_000)));
    assert!(outcome.skipped.len() < 60, "{}", outcome.skipped.len());
    let world = World::new(100_000)
        .slower_from(90_000, 5.0)
        .broken_at(30_000..70_000)
        .adaptive();
    assert_eq!(culprits(&world.search().outcome()), [at(90_000)]);
}

#[test]
fn budgets_end_the_search_with_the_commits_that_remain() {
    let world = World::new(62).slower_from(40, 5.0).adaptive();
    let check = |spec: BisectionSpec, stopped: Stopped| {
        let outcome = world.search_for(spec).outcome();
        assert_eq!(outcome.status, Status::Inconclusive);
        assert_eq!(outcome.stopped, stopped);
        assert!(outcome.candidates.contains(&at(40)));
        assert!(
            outcome.candidates.len() < 40,
            "{}",
            outcome.candidates.len()
        );
        outcome
    };
    let spec = BisectionSpec {
        max_runs: Some(9),
        ..world.spec()
    };
    assert!(check(spec, Stopped::RunBudget).runs <= 9);
    let spec = BisectionSpec {
        max_builds: Some(4),
        ..world.spec()
    };
    assert_eq!(check(spec, Stopped::BuildBudget).builds, 4);

    let spec = BisectionSpec {
        max_time: Some(60_000),
        ..world.spec()
    };
    let mut search = world.search_for(spec);
    for _ in 0..4 {
        search.step();
    }
    (search.machine)
        .handle(Event::TimePassed { elapsed: 60_000 })
        .unwrap();
    let (outcome, _) = search.finish();
    assert_eq!(outcome.stopped, Stopped::TimeBudget);
    assert!(outcome.candidates.contains(&at(40)));
}

#[test]
fn a_change_for_the_better_is_no_regression() {
    let world = World::new(6).slower_from(2, -5.0).adaptive();
    let search = |direction| -> Outcome {
        world
            .search_for(BisectionSpec {
                direction,
                ..world.spec()
            })
            .outcome()
    };
    assert_eq!(search(Direction::Down).status, Status::NoRegression);
    assert_eq!(culprits(&search(Direction::Up)), [at(2)]);
    assert_eq!(culprits(&search(Direction::Unknown)), [at(2)]);
}

#[test]
fn failing_and_slowing_down_are_told_apart() {
    let world = World::new(14).slower_from(4, 5.0).fails_from(9).adaptive();
    let outcome = world.search().outcome();
    assert_eq!(culprits(&outcome), [at(4), at(9)]);
    assert_eq!(outcome.culprits[0].effect.of, EffectOf::Values);
    assert_eq!(outcome.culprits[1].effect.of, EffectOf::Failures);
}

fn why_failed(outcome: &Outcome) -> (Option<Position>, &str) {
    assert_eq!(outcome.status, Status::Failed, "{outcome:?}");
    assert_eq!(outcome.posterior, None);
    let Stopped::Failed { commit, reason } = &outcome.stopped else {
        panic!("{outcome:?}");
    };
    (*commit, reason)
}

#[test]
fn ends_that_only_fail_are_not_the_same() {
    for (attempts, confidence, runs) in [(None, 0.95, 3), (Some(20), 0.95, 20), (None, 0.3, 3)] {
        let spec = BisectionSpec {
            attempts,
            confidence,
            ..World::new(6).adaptive().spec()
        };
        let outcome = value_by_value(spec, |_, _| None);
        let (commit, reason) = why_failed(&outcome);
        assert_eq!(commit, None);
        assert_eq!(
            reason,
            format!(
                "the benchmark fails at both ends: none of {runs} and {runs} runs gave a value; \
                 the first: Address already in use"
            )
        );
        assert_eq!(outcome.unmeasured.len(), 2);
    }
}

/// An end without a value can't be compared: equal rates of failure say nothing of the values.
#[test]
fn an_end_that_only_fails_is_not_the_same_as_one_that_gives_values() {
    let spec = || World::new(6).adaptive().spec();
    let outcome = value_by_value(spec(), |commit, index| {
        (commit != Position::Lower).then(|| 10.0 + 0.01 * f64::from(index % 7))
    });
    let (commit, reason) = why_failed(&outcome);
    assert_eq!(commit, Some(Position::Lower));
    assert!(
        reason.contains("gave a value; the first: Address already in use"),
        "{reason}"
    );

    // The other one gave a single value.
    let outcome = value_by_value(spec(), |commit, index| {
        (commit == Position::Lower && index == 1).then_some(10.0)
    });
    let (commit, _) = why_failed(&outcome);
    assert_eq!(commit, Some(Position::Higher));
    assert_eq!(outcome.unmeasured.len(), 1);
}

/// A full disk, an expired license: from some run on every run fails, at any commit.
#[test]
fn a_benchmark_that_stops_working_ends_the_search() {
    let mut failed = 0;
    for working in 4..30_u64 {
        let made = Cell::new(0_u64);
        let outcome = value_by_value(World::new(40).adaptive().spec(), |commit, index| {
            made.set(made.get() + 1);
            let level = match commit {
                Position::Higher => 15.0,
                Position::Within { offset: 20.., .. } => 15.0,
                _ => 10.0,
            };
            (made.get() <= working).then_some(level + f64::from(index % 7))
        });
        assert!(outcome.runs < 200, "{working}: {} runs", outcome.runs);
        match &outcome.stopped {
            Stopped::Decided => assert_eq!(culprits(&outcome), [at(20)], "{working}"),
            Stopped::Failed { reason, .. } => {
                failed += 1;
                assert!(
                    reason.starts_with("the benchmark stopped working")
                        && reason.ends_with("the last: Address already in use"),
                    "{working}: {reason}"
                );
            }
            stopped => panic!("{working}: {stopped:?}"),
        }
    }
    assert!(failed > 5, "{failed}");
}

/// The ends pass, and no run between them.
#[test]
fn commits_that_only_fail_leave_a_range() {
    let outcome = value_by_value(World::new(40).adaptive().spec(), |commit, index| {
        let level = match commit {
            Position::Within {
                offset: 15..=25, ..
            } => return None,
            Position::Within { offset, .. } if offset < 20 => 10.0,
            Position::Lower => 10.0,
            _ => 15.0,
        };
        Some(level + 0.01 * f64::from(index % 7))
    });
    assert_eq!(outcome.status, Status::Inconclusive, "{outcome:?}");
    assert!(outcome.candidates.contains(&at(20)), "{outcome:?}");
    assert!(outcome.candidates.len() <= 12, "{outcome:?}");
    assert!(outcome.runs < 200, "{} runs", outcome.runs);
    let reason = &outcome.skipped[0].reason;
    assert!(
        reason.starts_with("none of its ")
            && reason.ends_with(" runs gave a value; the first: Address already in use"),
        "{reason}"
    );
}

#[test]
fn two_ends_make_a_range_and_so_do_a_hundred_thousand_commits() {
    for (between, place) in [(0, 0), (1, 0), (99_999, 12_345)] {
        let outcome = World::new(between)
            .slower_from(place, 5.0)
            .adaptive()
            .search()
            .outcome();
        let expected = if place == between {
            Position::Higher
        } else {
            at(place)
        };
        assert_eq!(culprits(&outcome), [expected]);
    }
}

#[test]
fn any_magnitude_told_finds_the_change() {
    for magnitude in [Some(1.0), Some(2.0), Some(4.0), None] {
        expect(&one_change(2.0), magnitude, 0.9, 45.0);
    }
}

#[test]
fn smaller_changes_than_the_magnitude_are_not_pursued() {
    let trials = searches(&one_change(0.25), Some(4.0), 40);
    let pursued = (trials.iter())
        .filter(|trial| trial.status == Status::CulpritFound)
        .count();
    assert!(pursued <= 4, "{pursued}");
}

#[test]
fn nothing_changed_is_said_soon() {
    for noise in Noise::FAMILIES {
        let scenario = Scenario {
            noise,
            ..Scenario::new(1_024)
        };
        expect(&scenario, None, 0.9, 90.0);
    }
}

#[test]
fn every_shape_of_noise_is_borne() {
    for noise in Noise::FAMILIES {
        let scenario = Scenario {
            noise,
            ..one_change(2.0)
        };
        expect(&scenario, Some(2.0), 0.85, 55.0);
    }
}

#[test]
fn several_changes_are_found() {
    // The last one is mostly fixed again.
    for changes in [vec![4.0, 4.0], vec![4.0, -8.0], vec![8.0, -4.0]] {
        let scenario = Scenario {
            changes,
            ..Scenario::new(128)
        };
        expect(&scenario, Some(4.0), 0.8, 90.0);
    }
}

#[test]
fn drift_bots_flakiness_and_commits_that_do_not_build_are_borne() {
    let troubles = [
        Scenario {
            drift: 0.002,
            ..one_change(2.0)
        },
        Scenario {
            bots: 5,
            ..one_change(2.0)
        },
        Scenario {
            failure_rates: [0.1; 2],
            ..one_change(2.0)
        },
        Scenario {
            unbuildable: 0.2,
            ..one_change(2.0)
        },
    ];
    for scenario in troubles {
        expect(&scenario, Some(2.0), 0.85, 60.0);
    }
}

/// Values that never vary tell nothing, and a benchmark that has not failed yet
/// may have started to.
#[test]
fn failures_are_looked_for_where_values_never_vary() {
    let worlds = [
        ([0.05, 0.5], 0.9, 2),
        ([0.1, 0.3], 0.85, 2),
        ([0.0, 0.2], 0.9, 3),
    ];
    for (rates, right, most_missed) in worlds {
        let scenario = Scenario {
            noise: Noise::Measured(Vec::new()),
            changes: vec![0.0],
            failure_rates: rates,
            ..Scenario::new(1_024)
        };
        let trials = searches(&scenario, Some(1.0), 40);
        let missed = trials
            .iter()
            .filter(|trial| trial.status == Status::NoRegression)
            .count();
        let summary = Summary::of(&trials);
        assert!(missed <= most_missed, "{missed} of 40: {rates:?}");
        assert!(summary.exactly_right.value >= right, "{summary:?}");
    }
    let nothing = Scenario {
        noise: Noise::Measured(Vec::new()),
        ..Scenario::new(1_024)
    };
    expect(&nothing, Some(1.0), 1.0, 20.0);
}

#[test]
fn a_search_that_more_runs_do_not_help_says_so() {
    // Between too small to look for and large enough to find.
    let scenario = Scenario {
        changes: vec![0.14],
        ..Scenario::new(2)
    };
    let mut ended = 0;
    for seed in 0..10 {
        let spec = BisectionSpec {
            strategy: Strategy::Adaptive,
            magnitude: Some(Magnitude::Absolute(0.1)),
            ..BisectionSpec::new(scenario.range())
        };
        let mut simulation = Simulation::new(&scenario, &spec, seed).unwrap();
        while simulation.step() {}
        let outcome = simulation.machine().outcome().unwrap();
        let gave_up = outcome.stopped == Stopped::NothingToLearn;
        assert_eq!(gave_up, outcome.status == Status::Inconclusive);
        assert_eq!(gave_up, outcome.runs >= 3_000, "{}", outcome.runs);
        ended += u32::from(gave_up);
    }
    assert!(ended > 0);
}

#[test]
fn commits_that_begin_to_fail_are_found() {
    for (rates, runs) in [
        ([0.0, 1.0], 30.0),
        ([0.05, 0.95], 50.0),
        ([0.0, 0.5], 100.0),
    ] {
        let scenario = Scenario {
            failure_rates: rates,
            ..one_change(0.0)
        };
        expect(&scenario, Some(1.0), 0.85, runs);
    }
}

#[test]
fn dear_builds_are_made_sparingly() {
    let builds = |build_cost| {
        let scenario = one_change(1.0);
        let spec = BisectionSpec {
            strategy: Strategy::Adaptive,
            magnitude: Some(Magnitude::Absolute(1.0)),
            build_cost,
            ..BisectionSpec::new(scenario.range())
        };
        let trials: Vec<Trial> = (0..40)
            .map(|seed| scenario.search(&spec, seed).unwrap())
            .collect();
        Summary::of(&trials).builds.mean.value
    };
    let (cheap, dear) = (builds(1.0), builds(20.0));
    // 7 halvings of 128 commits, and the two ends.
    assert!(dear < 10.0 && cheap > dear, "{cheap} and {dear}");
}

/// Of the answers given with a probability, at least this many are right.
#[test]
fn stated_probabilities_are_kept() {
    for noise in Noise::FAMILIES {
        let scenario = Scenario {
            noise,
            ..one_change(1.0)
        };
        let named: Vec<(f64, bool)> = (searches(&scenario, Some(1.0), 60).iter())
            .flat_map(|trial| trial.named.clone())
            .map(|(probability, right)| (probability.unwrap(), right))
            .collect();
        let count = named.len() as f64;
        let stated = named
            .iter()
            .map(|(probability, _)| probability)
            .sum::<f64>()
            / count;
        let right = named.iter().filter(|(_, right)| *right).count() as f64 / count;
        let error = (stated * (1.0 - stated) / count).sqrt();
        assert!(
            right >= stated - 0.05 - 3.0 * error,
            "{right} of {stated}: {scenario:?}"
        );
        assert!(stated >= 0.95);
    }
}

/// Noise of 5 % about a level of 100, and a change by this fraction of it.
fn proportional(change: f64) -> Scenario {
    Scenario {
        proportional: Some(0.05 * 1.349),
        changes: vec![change],
        ..Scenario::new(128)
    }
}

#[test]
fn slow_spells_of_the_machine_are_no_regressions() {
    let bursts = Scenario {
        memory: Memory::Spells {
            factor: 1.4,
            start: 0.02,
            end: 0.1,
        },
        proportional: Some(0.02 * 1.349),
        ..proportional(0.1)
    };
    expect(&bursts, None, 0.95, 41.0);
}

/// Runs of one commit fall into a slow spell and those of its neighbor do not.
#[test]
fn a_culprit_differs_from_its_neighbor_in_runs_back_to_back() {
    let clock = Scenario {
        memory: Memory::Clock {
            factor: 1.5,
            lengths: [20_000.0, 20_000.0],
        },
        proportional: Some(0.02 * 1.349),
        changes: vec![0.3],
        run_time: 1_000,
        build_time: 2_000,
        ..Scenario::new(64)
    };
    let wrong = |version| {
        let spec = BisectionSpec {
            version,
            ..BisectionSpec::new(clock.range())
        };
        let trials = (0..150).map(|seed| clock.search(&spec, seed).unwrap());
        trials.filter(|trial| trial.false_culprits() > 0).count()
    };
    assert_eq!(wrong(SPEC_VERSION), 0);
    // Jobs of earlier versions stay as they were.
    assert!(wrong(5) >= 2);
}

#[test]
fn runs_are_compared_with_their_neighbors_in_time() {
    let slow = |change| Scenario {
        memory: Memory::Autocorrelated(0.7),
        ..proportional(change)
    };
    expect(&slow(0.1), None, 0.95, 50.0);
    let nothing = Scenario {
        changes: Vec::new(),
        ..slow(0.0)
    };
    expect(&nothing, None, 0.95, 40.0);
    // Without memory, more runs are needed: jobs of earlier versions stay so.
    let spec = |version| BisectionSpec {
        version,
        ..BisectionSpec::new(Scenario::new(128).range())
    };
    let runs = |version| -> u64 {
        (0..40)
            .map(|seed| slow(0.1).search(&spec(version), seed).unwrap().runs)
            .sum()
    };
    assert!(5 * runs(3) < 4 * runs(2), "{} of {}", runs(3), runs(2));
}

/// The outcomes of 40 searches, as specs of this version make them.
fn outcomes(scenario: &Scenario, version: u32) -> Vec<Outcome> {
    let spec = BisectionSpec {
        version,
        ..BisectionSpec::new(scenario.range())
    };
    (0..40)
        .map(|seed| {
            let mut simulation = Simulation::new(scenario, &spec, seed).unwrap();
            while simulation.step() {}
            simulation.machine().outcome().unwrap().clone()
        })
        .collect()
}

/// The intervals of the effects of all culprits that were named.
fn intervals(outcomes: &[Outcome]) -> Vec<Interval> {
    (outcomes.iter().flat_map(|outcome| &outcome.culprits))
        .map(|culprit| culprit.effect.interval.unwrap())
        .collect()
}

#[test]
fn no_culprit_is_named_whose_effect_may_be_none() {
    let slow_machine = Scenario {
        memory: Memory::Autocorrelated(0.7),
        ..proportional(0.1)
    };
    let several = Scenario {
        changes: vec![1.0, 1.0],
        noise: Noise::HeavyTails,
        ..Scenario::new(64)
    };
    let failing = Scenario {
        failure_rates: [0.1, 0.5],
        ..one_change(0.0)
    };
    let mut compatible_before = 0;
    for scenario in [slow_machine, several, failing] {
        let with_zero = |version| {
            let intervals = intervals(&outcomes(&scenario, version));
            assert!(intervals.len() >= 30, "{}", intervals.len());
            (intervals.iter())
                .filter(|interval| interval.contains(0.0))
                .count()
        };
        assert_eq!(with_zero(4), 0, "{scenario:?}");
        // Jobs of earlier versions continue as they began.
        compatible_before += with_zero(3);
    }
    assert!(compatible_before > 0);
}

/// In noise with long tails, a few slow runs at the end may be outliers, or a second change.
#[test]
fn the_second_of_two_changes_is_not_given_up_early() {
    let scenario = Scenario {
        changes: vec![2.0, 2.0],
        noise: Noise::HeavyTails,
        ..Scenario::new(16)
    };
    expect(&scenario, Some(2.0), 0.9, 60.0);
}

/// A search that must end before the effect of its culprit shows leaves the commit as a
/// candidate.
#[test]
fn a_culprit_whose_effect_does_not_show_in_time_is_a_candidate() {
    let scenario = Scenario {
        memory: Memory::Autocorrelated(0.7),
        ..proportional(0.1)
    };
    for max_runs in 20..50 {
        let spec = BisectionSpec {
            max_runs: Some(max_runs),
            ..BisectionSpec::new(scenario.range())
        };
        let mut simulation = Simulation::new(&scenario, &spec, 1).unwrap();
        while simulation.step() {}
        let outcome = simulation.machine().outcome().unwrap();
        let intervals = intervals(std::slice::from_ref(outcome));
        assert!(!intervals.iter().any(|interval| interval.contains(0.0)));
        assert!(!outcome.culprits.is_empty() || !outcome.candidates.is_empty());
    }
}

/// The runs that found a change measure it, too, so that fewer intervals hold the true change
/// than are stated to; but not much fewer.
#[test]
fn intervals_of_effects_hold_the_true_change() {
    let autocorrelated = Scenario {
        memory: Memory::Autocorrelated(0.7),
        ..proportional(0.1)
    };
    for (scenario, change) in [(one_change(1.0), 1.0), (autocorrelated, 10.0)] {
        let intervals = intervals(&outcomes(&scenario, 4));
        let holding = (intervals.iter())
            .filter(|interval| interval.contains(change))
            .count();
        assert!(
            5 * holding >= 4 * intervals.len(),
            "{holding} of {}: {scenario:?}",
            intervals.len()
        );
    }
}

#[test]
fn large_changes_are_found_where_noise_grows_with_the_level() {
    for change in [1.0, 9.0] {
        expect(&proportional(change), None, 0.95, 23.0);
    }
}

/// The noise of the high level is larger than the change of the low one.
#[test]
fn a_change_of_a_low_level_shows_beside_a_large_one() {
    let scenario = Scenario {
        changes: vec![0.3, 9.0],
        ..proportional(0.0)
    };
    expect(&scenario, None, 0.9, 60.0);
}

#[test]
fn a_percentage_is_of_the_level_before_the_change() {
    // The level falls to a quarter; then 20 % of the rest are a twentieth of the first level.
    let scenario = Scenario {
        changes: vec![-0.75, 0.25],
        proportional: Some(0.02 * 1.349),
        ..Scenario::new(64)
    };
    let spec = BisectionSpec {
        magnitude: Some(Magnitude::Percent(20.0)),
        ..BisectionSpec::new(scenario.range())
    };
    let right = (0..40)
        .filter(|seed| scenario.search(&spec, *seed).unwrap().is_exactly_right())
        .count();
    assert!(right >= 36, "{right}");
}

#[test]
fn a_history_of_many_small_changes_comes_to_an_end() {
    let scenario = Scenario {
        changes: vec![0.05, -0.3, -0.03, 0.06, -0.35, 0.04, -0.45, 0.05],
        proportional: Some(0.08 * 1.349),
        ..Scenario::new(373)
    };
    let spec = BisectionSpec {
        magnitude: Some(Magnitude::Percent(20.0)),
        ..BisectionSpec::new(scenario.range())
    };
    let trials: Vec<Trial> = (0..20)
        .map(|seed| scenario.search(&spec, seed).unwrap())
        .collect();
    let found = |trial: &&Trial| trial.missed.iter().all(|change| change.abs() < 0.1);
    let found = trials.iter().filter(found).count();
    let runs: u64 = trials.iter().map(|trial| trial.runs).sum();
    assert!(found >= 18, "{found}");
    assert!(runs <= 20 * 200, "{runs}");
}

/// A change that is found again after it was given up is not new: small changes beside two large
/// ones would keep a search going for thousands of runs.
#[test]
fn small_changes_beside_large_ones_do_not_keep_a_search_going() {
    let mut changes = vec![0.4, 0.4];
    changes.extend((0..40).map(|index| -0.03 + 0.07 * f64::from(index * 17 % 40) / 39.0));
    let scenario = Scenario {
        memory: Memory::Clock {
            factor: 1.5,
            lengths: [20_000.0, 5_000.0],
        },
        changes,
        proportional: Some(0.03),
        run_time: 100,
        build_time: 2_000,
        ..Scenario::new(482)
    };
    let trials = searches(&scenario, None, 10);
    for trial in &trials {
        assert!(trial.found > 0, "{trial:?}");
        assert_eq!(trial.false_culprits(), 0, "{trial:?}");
    }
    let runs: u64 = trials.iter().map(|trial| trial.runs).sum();
    assert!(runs < 4_000, "{runs}");
    assert!(trials.iter().all(|trial| trial.runs < 1_500), "{trials:?}");
}

/// A value that noise of several modes throws on the other side may mislead, but
/// not make the answer more certain than any other.
#[test]
fn great_certainty_is_not_a_matter_of_one_value() {
    let scenario = Scenario {
        noise: Noise::SeveralModes,
        ..one_change(1.0)
    };
    let certain: Vec<bool> = (searches(&scenario, Some(1.0), 400).iter())
        .flat_map(|trial| trial.named.clone())
        .filter(|(probability, _)| *probability >= Some(0.99))
        .map(|(_, right)| right)
        .collect();
    let right = certain.iter().filter(|right| **right).count();
    assert!(certain.len() >= 10, "{}", certain.len());
    assert!(
        10 * right >= 9 * certain.len(),
        "{right} of {}",
        certain.len()
    );
}

/// Factors beyond the largest number are still compared.
#[test]
fn hundreds_of_runs_beside_a_large_step_are_no_obstacle() {
    for effect in [20.0, 1000.0] {
        let scenario = Scenario {
            changes: vec![effect],
            ..Scenario::new(16)
        };
        let spec = BisectionSpec {
            attempts: Some(300),
            ..BisectionSpec::new(scenario.range())
        };
        let trial = scenario.search(&spec, 1).unwrap();
        assert_eq!((trial.found, trial.status), (1, Status::CulpritFound));
    }
}

/// No run is more informative than such a suspicion, but only runs show that it is
/// right.
#[test]
fn a_suspicion_beyond_doubt_is_looked_at_all_the_same() {
    for others in [0.0, 1e-6] {
        for suspect in [0, 1, 30, 62, 63] {
            let world = World::new(63).slower_from(suspect, 5.0).adaptive();
            let mut priors = vec![others; 64];
            priors[suspect as usize] = 1.0;
            let spec = BisectionSpec {
                priors: Some(priors),
                max_runs: Some(60),
                ..world.spec()
            };
            let outcome = world.search_for(spec).outcome();
            let bad = Position::Higher;
            let expected = if suspect == 63 { bad } else { at(suspect) };
            assert_eq!(culprits(&outcome), [expected], "{outcome:?}");
            assert!(outcome.builds <= 4, "{}", outcome.builds);
        }
    }
}

#[test]
fn builds_of_any_cost_are_made_where_no_run_helps() {
    for build_cost in [1e4, 1e300] {
        let scenario = one_change(4.0);
        let spec = BisectionSpec {
            build_cost,
            ..BisectionSpec::new(scenario.range())
        };
        let trial = scenario.search(&spec, 1).unwrap();
        assert_eq!((trial.found, trial.status), (1, Status::CulpritFound));
    }
}

#[test]
fn time_that_is_over_before_anything_is_known_decides_nothing() {
    for strategy in [Strategy::Adaptive, Strategy::Pinpoint] {
        let mut machine = Bisection::new(BisectionSpec {
            max_time: Some(1),
            strategy,
            ..between_commits()
        })
        .unwrap();
        machine.handle(Event::TimePassed { elapsed: 2 }).unwrap();
        for action in machine.poll() {
            if let Task::Cancel { .. } = action.task {
                let action = action.number;
                machine.handle(Event::Canceled { action }).unwrap();
            }
        }
        let outcome = machine.outcome().unwrap();
        assert_eq!(outcome.stopped, Stopped::TimeBudget);
        assert_eq!(outcome.status, Status::Inconclusive);
        // Not the bad end alone: any commit between may hold the culprit.
        assert_eq!(outcome.candidates, []);
    }
}

/// A batch is asked for when the one before is answered, in an order that the
/// seed decides.
#[test]
fn the_first_runs_are_of_both_ends() {
    let world = World::new(6).slower_from(2, 5.0).adaptive();
    let mut search = world.search();
    search.step();
    let runs: Vec<Position> = (search.machine.outstanding().into_iter())
        .filter_map(|action| match action.task {
            Task::Run { commit, .. } => Some(commit),
            _ => None,
        })
        .collect();
    assert_eq!(runs.len(), 4);
    for round in runs.chunks(2) {
        assert_ne!(round[0], round[1]);
    }
}

/// Of searches for changes up to one and a half interquartile ranges that found none: the size
/// of the change, and that of the largest which may be there according to the search.
fn limits(noise: &Noise, direction: Direction) -> Vec<(f64, f64)> {
    const SEARCHES: u64 = 80;
    let mut limits = Vec::new();
    for seed in 0..SEARCHES {
        let size = 1.5 * seed as f64 / SEARCHES as f64;
        let scenario = Scenario {
            noise: noise.clone(),
            changes: vec![size],
            ..Scenario::new(64)
        };
        let spec = BisectionSpec {
            direction,
            ..BisectionSpec::new(scenario.range())
        };
        let mut simulation = Simulation::new(&scenario, &spec, seed).unwrap();
        while simulation.step() {}
        let outcome = simulation.machine().outcome().unwrap();
        if outcome.status == Status::NoRegression {
            // None where it may be a change for the better.
            let largest = outcome.posterior.as_ref().unwrap().largest_change;
            limits.extend(largest.map(|largest| (size, largest.amount)));
        }
    }
    limits
}

#[test]
fn a_change_that_was_not_found_is_smaller_than_the_limit() {
    for noise in [Noise::Normal, Noise::Outliers] {
        for direction in [Direction::Up, Direction::Unknown] {
            let limits = limits(&noise, direction);
            let held = limits.iter().filter(|(size, limit)| size <= limit).count();
            let mean: f64 =
                limits.iter().map(|(_, limit)| limit).sum::<f64>() / limits.len() as f64;
            // Not so large that it says nothing.
            assert!(
                limits.len() > 15 && held as f64 >= 0.85 * limits.len() as f64 && mean < 1.6,
                "{noise:?} {direction:?}: {held} of {limits:?}"
            );
        }
    }
}

#[test]
fn a_limit_is_stated_where_nothing_was_found() {
    let outcome_of = |changes: Vec<f64>, direction| {
        let scenario = Scenario {
            changes,
            ..Scenario::new(16)
        };
        let spec = BisectionSpec {
            direction,
            confidence: 0.99,
            ..BisectionSpec::new(scenario.range())
        };
        let mut simulation = Simulation::new(&scenario, &spec, 3).unwrap();
        while simulation.step() {}
        simulation.machine().outcome().unwrap().clone()
    };
    let nothing = outcome_of(vec![], Direction::Up).posterior.unwrap();
    let limit = nothing.largest_change.unwrap();
    assert_eq!(limit.confidence, 0.99);
    assert!((limit.relative.unwrap() - limit.amount / 100.0).abs() < 0.001 * limit.amount);
    assert!((0.5..2.0).contains(&limit.scatter), "{limit:?}");
    // A culprit, and a change for the better.
    for size in [8.0, -8.0] {
        let outcome = outcome_of(vec![size], Direction::Up);
        assert_eq!(outcome.posterior.unwrap().largest_change, None);
    }
}

#[test]
fn the_size_of_a_change_is_that_beside_it() {
    // Small steps on both sides that are not looked for.
    let scenario = Scenario {
        changes: vec![1.0, 1.0, 8.0, 1.0, 1.0],
        ..Scenario::new(200)
    };
    let spec = BisectionSpec {
        magnitude: Some(Magnitude::Absolute(6.0)),
        ..BisectionSpec::new(scenario.range())
    };
    let mut sizes = Vec::new();
    for seed in 0..30 {
        let mut simulation = Simulation::new(&scenario, &spec, seed).unwrap();
        while simulation.step() {}
        let culprits = &simulation.machine().outcome().unwrap().culprits;
        sizes.extend((culprits.iter()).map(|culprit| culprit.effect.estimate.unwrap()));
    }
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    assert!((7.5..9.0).contains(&mean), "{mean}: {sizes:?}");
}

#[test]
fn what_decided_the_search_is_its_answer() {
    // One of two changes may be certain only as long as the other is not known.
    let scenario = Scenario {
        noise: Noise::HeavyTails,
        changes: vec![2.0, 2.0],
        ..Scenario::new(16)
    };
    let spec = BisectionSpec {
        magnitude: Some(Magnitude::Absolute(2.0)),
        ..BisectionSpec::new(scenario.range())
    };
    for seed in 0..40 {
        let mut simulation = Simulation::new(&scenario, &spec, seed).unwrap();
        while simulation.step() {}
        let outcome = simulation.machine().outcome().unwrap();
        if outcome.stopped == Stopped::Decided {
            assert_eq!(outcome.status, Status::CulpritFound, "seed {seed}");
            assert_eq!(outcome.candidates, [], "seed {seed}");
        }
    }
}

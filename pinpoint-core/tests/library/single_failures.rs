//! A commit that fails on its own is not a change: every search skips and names it.

use pinpoint_core::simulation::{Broken, Noise, Scenario, Simulation, Summary, Trial};
use pinpoint_core::{
    BisectionSpec, CulpritFinderSpec, EffectOf, Machine, Outcome, Position, Status, Strategy,
};

use crate::world::{World, at, culprits, value_by_value};

/// Values of 41 commits, of which some fail; the noise is about a hundredth of the level.
fn outcome(
    seed: u64,
    strategy: Strategy,
    fails: impl Fn(u64) -> bool,
    level: impl Fn(u64) -> f64,
) -> Outcome {
    let spec = BisectionSpec {
        strategy,
        seed,
        ..World::new(39).spec()
    };
    value_by_value(spec, |commit, index| {
        let place = match commit {
            Position::Lower => 0,
            Position::Within { offset, .. } => offset + 1,
            Position::Higher => 40,
        };
        let noise = (u64::from(index) * 7 + place * 3 + seed * 5) % 11;
        (!fails(place)).then(|| level(place) * (1.0 + 0.002 * noise as f64))
    })
}

fn skipped(outcome: &Outcome) -> Vec<Position> {
    outcome.skipped.iter().map(|skip| skip.commit).collect()
}

#[test]
fn a_block_that_is_mended_is_skipped_and_named() {
    for seed in 0..20 {
        let fails = |place| (18..=22).contains(&place);
        let outcome = outcome(seed, Strategy::Adaptive, fails, |_| 100.0);
        assert_eq!(outcome.status, Status::NoRegression, "{outcome:?}");
        assert!(
            (outcome.skipped.iter()).all(|skip| skip.reason.contains("Address already in use"))
        );
        assert!(
            skipped(&outcome)
                .iter()
                .all(|commit| (at(17)..=at(21)).contains(commit))
        );
    }
}

#[test]
fn a_change_of_values_is_found_beside_a_block_that_fails() {
    let level = |place| if place < 30 { 100.0 } else { 120.0 };
    for seed in 0..20 {
        let fails = |place| (18..=22).contains(&place);
        let found = outcome(seed, Strategy::Adaptive, fails, level);
        assert_eq!(culprits(&found), [at(29)], "{found:?}");
        // The commit before the culprit fails: one of the two made the change.
        let found = outcome(seed, Strategy::Adaptive, |place| place == 29, level);
        assert_eq!(found.status, Status::Inconclusive, "{found:?}");
        assert_eq!(found.candidates, [at(28), at(29)]);
        assert_eq!(skipped(&found), [at(28)]);
        // The one after it does.
        let found = outcome(seed, Strategy::Adaptive, |place| place == 31, level);
        assert_eq!(culprits(&found), [at(29)], "{found:?}");
    }
}

#[test]
fn failures_that_last_are_a_culprit_with_the_rates_beside_it() {
    for seed in 0..20 {
        // Two commits before it fail, too, and are mended.
        let fails = |place| place >= 26 || (11..=12).contains(&place);
        let found = outcome(seed, Strategy::Adaptive, fails, |_| 100.0);
        assert_eq!(culprits(&found), [at(25)], "{found:?}");
        let effect = &found.culprits[0].effect;
        assert_eq!(effect.of, EffectOf::Failures);
        assert_eq!((effect.before, effect.after), (0.0, 1.0));
        assert!(
            skipped(&found)
                .iter()
                .all(|commit| (at(10)..=at(11)).contains(commit))
        );
    }
}

/// The decisions of the strategy `pinpoint` are published; its reports are not.
#[test]
fn the_reference_names_no_commit_for_failures_that_do_not_last() {
    let level = |place| if place < 30 { 100.0 } else { 120.0 };
    for seed in 0..5 {
        let fails = |place| (18..=22).contains(&place);
        let found = outcome(seed, Strategy::Pinpoint, fails, level);
        assert_eq!(found.culprits, [], "{found:?}");
        assert_eq!(found.status, Status::Inconclusive);
        assert!(found.candidates.contains(&at(29)));
        assert!(skipped(&found).contains(&at(19)), "{:?}", found.skipped);
    }
}

/// Of two blocks that fail, the search sees that the first is mended, and not when the second began.
#[test]
fn the_reference_names_no_commit_whose_failures_are_mended_before_others_last() {
    for seed in 0..5 {
        let fails = |place| (10..=14).contains(&place) || place >= 31;
        let found = outcome(seed, Strategy::Pinpoint, fails, |_| 100.0);
        assert_eq!(culprits(&found), [at(30)], "{found:?}");
    }
}

/// Two neighbors that only fail count as the same, but one of them may have made the change.
#[test]
fn the_range_of_the_reference_holds_a_change_inside_a_block_that_fails() {
    let scenario = Scenario {
        broken: Some(Broken {
            blocks: 1,
            length: 5,
            rate: 1.0,
            beside_change: true,
        }),
        changes: vec![6.0],
        ..Scenario::new(40)
    };
    let spec = BisectionSpec {
        strategy: Strategy::Pinpoint,
        ..BisectionSpec::new(scenario.range())
    };
    let holds = (0..40).filter(|seed| scenario.search(&spec, *seed).unwrap().holds);
    assert!(holds.count() >= 38);
}

/// A block that fails ends shortly before failures that last: only a run in between shows it.
#[test]
fn failures_last_only_where_no_commit_between_passes() {
    for (from, to, lasting) in [(14, 18, 22), (12, 16, 24), (22, 24, 29)] {
        for seed in 0..5 {
            let fails = |place| (from..=to).contains(&place) || place >= lasting;
            let found = outcome(seed, Strategy::Adaptive, fails, |_| 100.0);
            assert_eq!(culprits(&found), [at(lasting - 1)], "{found:?}");
        }
    }
}

fn worlds() -> Vec<Scenario> {
    let mut worlds = Vec::new();
    for (blocks, length, beside_change) in
        [(1, 1, false), (1, 5, false), (4, 1, false), (1, 3, true)]
    {
        for rate in [1.0, 0.5] {
            for changes in [vec![], vec![4.0]] {
                for failure_rates in [[0.0; 2], [0.1; 2]] {
                    worlds.push(Scenario {
                        broken: Some(Broken {
                            blocks,
                            length,
                            rate,
                            beside_change,
                        }),
                        changes: changes.clone(),
                        failure_rates,
                        ..Scenario::new(40)
                    });
                }
            }
        }
    }
    worlds
}

#[test]
fn broken_commits_are_borne_anywhere() {
    let mut all = Vec::new();
    for scenario in worlds() {
        let spec = BisectionSpec::new(scenario.range());
        let trials: Vec<Trial> = (0..4)
            .map(|seed| scenario.search(&spec, seed).unwrap())
            .collect();
        let is_false = Summary::of(&trials).false_culprits.value > 0.0;
        let holds = trials.iter().all(|trial| trial.holds);
        assert!(holds && !is_false, "{scenario:?}: {trials:?}");
        all.extend(trials);
    }
    let summary = Summary::of(&all);
    assert!(summary.exactly_right.value >= 0.95, "{summary:?}");
}

#[test]
fn a_culprit_finder_confirms_no_broken_commit() {
    let scenario = Scenario {
        noise: Noise::Normal,
        broken: Some(Broken {
            blocks: 2,
            length: 4,
            rate: 1.0,
            beside_change: false,
        }),
        changes: vec![4.0],
        ..Scenario::new(40)
    };
    let spec = CulpritFinderSpec {
        pairs: 10,
        ..CulpritFinderSpec::new(scenario.range())
    };
    let trials: Vec<Trial> = (0..30)
        .map(|seed| scenario.find_culprit(&spec, seed).unwrap())
        .collect();
    let summary = Summary::of(&trials);
    assert_eq!(summary.false_culprits.value, 0.0, "{trials:?}");
    assert!(summary.exactly_right.value >= 0.9, "{trials:?}");
}

#[test]
fn a_flaky_change_beside_a_broken_commit_is_not_hidden() {
    let scenario = Scenario {
        broken: Some(Broken {
            blocks: 1,
            length: 2,
            rate: 1.0,
            beside_change: false,
        }),
        changes: vec![0.0],
        failure_rates: [0.0, 0.5],
        ..Scenario::new(40)
    };
    let spec = BisectionSpec::new(scenario.range());
    let mut right = 0;
    for seed in 0..30 {
        let mut simulation = Simulation::new(&scenario, &spec, seed).unwrap();
        while simulation.step() {}
        let culprit = simulation.culprits().next().unwrap();
        let outcome = simulation.machine().outcome().unwrap();
        let expected = if culprit == 39 {
            Position::Higher
        } else {
            at(culprit)
        };
        right += u32::from(culprits(outcome) == [expected]);
    }
    assert!(right >= 25, "{right} of 30");
}

//! In any world and with any strategy, a simulated search ends, keeps its budget, and can be
//! repeated.

use pinpoint_core::simulation::{Noise, Scenario};
use pinpoint_core::{BisectionSpec, Magnitude, SpecError, Status, Strategy};
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

fn scenarios() -> impl proptest::strategy::Strategy<Value = Scenario> {
    let noise = prop_oneof![
        (0..Noise::FAMILIES.len()).prop_map(|family| Noise::FAMILIES[family].clone()),
        prop::collection::vec(-2.0..2.0, 0..5).prop_map(Noise::Measured),
    ];
    (
        1_u64..200,
        noise,
        prop::collection::vec(-4.0..4.0, 0..4),
        (0.0..1.0, 0.0..1.0),
        0.0..0.1,
        0_u32..4,
        0.0..0.5,
    )
        .prop_map(
            |(commits, noise, changes, (before, after), drift, bots, unbuildable)| Scenario {
                noise,
                changes,
                failure_rates: [before * after, after],
                drift,
                bots,
                unbuildable,
                ..Scenario::new(commits)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_search_ends_and_can_be_repeated(
        scenario in scenarios(),
        strategy in prop_oneof![Just(Strategy::Pinpoint), Just(Strategy::Adaptive)],
        magnitude in prop::option::of(0.1..4.0),
        seed: u64,
    ) {
        let spec = BisectionSpec {
            strategy,
            magnitude: magnitude.map(Magnitude::Absolute),
            max_runs: Some(200),
            ..BisectionSpec::new(scenario.range())
        };
        let trial = scenario.search(&spec, seed).expect("a valid spec");
        prop_assert!(trial.runs <= 200);
        prop_assert!(trial.builds <= scenario.commits + 1);
        prop_assert!(trial.changes as usize == scenario.changes.len().min(scenario.commits as usize));
        prop_assert!(trial.found <= trial.changes);
        prop_assert_eq!(trial.named.iter().filter(|(_, is_true)| *is_true).count(), trial.found as usize);
        // An end may fail in every run.
        let may_fail = strategy == Strategy::Adaptive
            && scenario.failure_rates.iter().any(|rate| *rate > 0.0);
        prop_assert!(may_fail || trial.status != Status::Failed);
        prop_assert_ne!(trial.status, Status::Canceled);
        prop_assert_eq!(scenario.search(&spec, seed), Ok(trial));
    }
}

#[test]
fn numbers_that_are_none_fail_the_trial() {
    for broken in [f64::NAN, f64::INFINITY] {
        let scenario = Scenario {
            level: broken,
            changes: vec![1.0],
            ..Scenario::new(4)
        };
        let spec = BisectionSpec::new(scenario.range());
        let trial = scenario.search(&spec, 1).expect("a valid spec");
        assert_eq!(trial.status, Status::Failed);
        assert!(!trial.is_exactly_right());
    }
}

#[test]
fn more_commits_than_can_be_searched_are_refused() {
    let scenario = Scenario {
        changes: vec![1.0],
        unbuildable: 0.5,
        ..Scenario::new(u64::MAX)
    };
    let spec = BisectionSpec::new(scenario.range());
    let refused = scenario.search(&spec, 1);
    assert!(
        matches!(refused, Err(SpecError::Commits { .. })),
        "{refused:?}"
    );
    assert_eq!(scenario.ideal(0.95, 1), None);
}

#[test]
fn the_ideal_searcher_needs_exactly_one_change() {
    let with = |changes| Scenario {
        changes,
        ..Scenario::new(16)
    };
    assert_eq!(with(vec![]).ideal(0.95, 1), None);
    assert_eq!(with(vec![1.0, 1.0]).ideal(0.95, 1), None);
    // One commit is known without any run.
    let one = Scenario {
        changes: vec![1.0],
        ..Scenario::new(1)
    };
    let ideal = one.ideal(0.95, 1).expect("one change");
    assert!(ideal.right && ideal.runs == 0 && ideal.builds == 0);
}

//! Invariants of a search under any events: it never panics, numbers each action once, keeps its
//! budget, ends, and is the same after a replay.

use crate::walk::landscape::landscapes;
use crate::walk::{How, Step, Walk, check_replay, state, steps};
use pinpoint_core::{
    Bisection, BisectionSpec, CombinedCommit, Commit, CulpritFinder, CulpritFinderSpec, Direction,
    Event, Machine, Magnitude, Pairwise, PairwiseSpec, Range, Task,
};
use proptest::prelude::*;

fn specs() -> impl Strategy<Value = BisectionSpec> {
    let end = |hash: &str| CombinedCommit::from(Commit::new("repository", hash));
    let range = prop_oneof![
        (0..200_u64).prop_map(|between| Range::Counted { between }),
        Just(Range::Between {
            good: end("a"),
            bad: end("b")
        }),
    ];
    let magnitude = prop_oneof![
        Just(None),
        (0.0..5.0_f64).prop_map(|m| Some(Magnitude::Absolute(m))),
        (0.0..200.0_f64).prop_map(|m| Some(Magnitude::Percent(m))),
    ];
    let direction = prop_oneof![
        Just(Direction::Up),
        Just(Direction::Down),
        Just(Direction::Unknown)
    ];
    let strategy = prop_oneof![
        Just(pinpoint_core::Strategy::Adaptive),
        Just(pinpoint_core::Strategy::Pinpoint)
    ];
    let limits = (
        prop::option::of(80_u64..2_000),
        prop::option::of(2_u64..20),
        prop::option::of(1_u64..1_000_000),
    );
    (
        range,
        strategy,
        magnitude,
        direction,
        any::<u64>(),
        proptest::option::of(1_u32..40),
        0.0..30.0_f64,
        limits,
    )
        .prop_map(
            |(range, strategy, magnitude, direction, seed, attempts, build_cost, limits)| {
                let (max_runs, max_builds, max_time) = limits;
                BisectionSpec {
                    strategy,
                    build_cost,
                    magnitude,
                    direction,
                    seed,
                    attempts,
                    max_runs,
                    max_builds,
                    max_time,
                    ..BisectionSpec::new(range)
                }
            },
        )
}

/// Walks at random, then answers everything well until the end.
fn walk(spec: BisectionSpec, steps: &[Step]) -> Walk<Bisection> {
    Walk::new(Bisection::new(spec).expect("a valid spec"), steps)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_walk_ends_within_its_budget(spec in specs(), steps in steps()) {
        let walk = walk(spec.clone(), &steps);
        let outcome = walk.machine.outcome().expect("an end");

        walk.check_actions();
        let runs = walk.count(|task| matches!(task, Task::Run { .. }));
        let builds = walk.count(|task| matches!(task, Task::Build { .. }));
        prop_assert!(spec.max_runs.is_none_or(|most| runs <= most), "{runs} runs");
        prop_assert!(spec.max_builds.is_none_or(|most| builds <= most), "{builds} builds");
        prop_assert!(outcome.runs <= runs && outcome.builds <= builds);

        // The end is the end.
        let mut machine = walk.machine.clone();
        machine.handle(Event::CancelRequested).unwrap();
        prop_assert_eq!(state(&machine), state(&walk.machine));
        prop_assert!(machine.outstanding().is_empty());
    }

    #[test]
    fn replaying_any_prefix_gives_the_same_machine(
        spec in specs(),
        steps in steps(),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = walk(spec.clone(), &steps);
        let cut = cut.index(whole.events.len() + 1);
        check_replay(|| Bisection::new(spec.clone()).unwrap(), &whole, cut);

        let seen = &whole.events[..cut];
        let replayed = Bisection::replay(spec.clone(), seen.iter().cloned()).unwrap();
        let mut handled = Bisection::new(spec).unwrap();
        for event in seen {
            handled.handle(event.clone()).unwrap();
        }
        prop_assert_eq!(state(&handled), state(&replayed));
        prop_assert_eq!(handled.progress(), replayed.progress());
    }

    /// Storing changes nothing: spec, events and outcome as JSON.
    #[test]
    fn spec_events_and_outcome_survive_being_written(spec in specs(), steps in steps()) {
        let whole = walk(spec.clone(), &steps);
        let read: BisectionSpec =
            serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
        let events: Vec<Event> =
            serde_json::from_str(&serde_json::to_string(&whole.events).unwrap()).unwrap();
        let machine = Bisection::replay(read, events).unwrap();
        let outcome = serde_json::to_string(machine.outcome().unwrap()).unwrap();
        prop_assert_eq!(&outcome, &serde_json::to_string(whole.machine.outcome().unwrap()).unwrap());
        let read: pinpoint_core::Outcome = serde_json::from_str(&outcome).unwrap();
        prop_assert_eq!(Some(&read), whole.machine.outcome());
    }
}

/// Of runs, of builds, and the magnitude looked for.
fn limits() -> impl Strategy<Value = (u64, Option<u64>, Option<Magnitude>)> {
    let magnitude = prop_oneof![
        Just(None),
        Just(Some(Magnitude::Absolute(20.0))),
        Just(Some(Magnitude::Percent(10.0))),
    ];
    (80..600_u64, prop::option::of(2..40_u64), magnitude)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_search_gets_to_an_end_in_any_landscape(
        landscape in landscapes(120),
        (max_runs, max_builds, magnitude) in limits(),
        strategy in prop_oneof![
            3 => Just(pinpoint_core::Strategy::Adaptive),
            1 => Just(pinpoint_core::Strategy::Pinpoint),
        ],
        seed in any::<u64>(),
    ) {
        let spec = BisectionSpec {
            strategy,
            magnitude,
            seed,
            max_runs: Some(max_runs),
            max_builds,
            ..BisectionSpec::new(Range::Counted { between: landscape.between() })
        };
        let mut search = Bisection::new(spec).unwrap();
        // Every action has one answer, and may be ended once.
        let builds = max_builds.unwrap_or(3 * (landscape.between() + 2));
        let (runs, built) = landscape.walk(&mut search, 2 * (max_runs + builds));
        prop_assert!(runs <= max_runs, "{runs} runs");
        prop_assert!(built <= builds, "{built} builds");
    }

    #[test]
    fn a_culprit_finder_gets_to_an_end_in_any_landscape(
        landscape in landscapes(60),
        (more_runs, max_builds, magnitude) in limits(),
        half in 3..8_u32,
        strategy in prop_oneof![
            Just(pinpoint_core::Strategy::Adaptive),
            Just(pinpoint_core::Strategy::Pinpoint),
        ],
        seed in any::<u64>(),
    ) {
        let range = Range::Counted { between: landscape.between() };
        let mut spec = CulpritFinderSpec::new(range);
        spec.pairs = 2 * half;
        // Two verifications and the first comparison of the search at least.
        let max_runs = 8 * u64::from(half) + more_runs;
        spec.bisection = BisectionSpec {
            strategy,
            magnitude,
            seed,
            max_runs: Some(max_runs),
            max_builds,
            ..spec.bisection
        };
        let mut finder = CulpritFinder::new(spec).unwrap();
        let builds = max_builds.unwrap_or(3 * (landscape.between() + 2));
        let (runs, built) = landscape.walk(&mut finder, 2 * (max_runs + builds));
        prop_assert!(runs <= max_runs, "{runs} runs");
        prop_assert!(built <= builds, "{built} builds");
    }

    #[test]
    fn a_comparison_gets_to_an_end_in_any_landscape(
        landscape in landscapes(60),
        half in 3..40_u32,
        early_stopping in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let spec = PairwiseSpec {
            pairs: 2 * half,
            seed,
            early_stopping,
            ..PairwiseSpec::unnamed()
        };
        let mut comparison = Pairwise::new(spec).unwrap();
        // Lost runs are asked for again, and most are not lost.
        landscape.walk(&mut comparison, 12 * u64::from(half) + 20);
    }
}

#[test]
fn a_walk_that_is_canceled_ends_too() {
    let spec = BisectionSpec::new(Range::Counted { between: 30 });
    let steps: Vec<Step> = (0..40)
        .map(|which| Step {
            which,
            how: How::Well(which as f64),
        })
        .chain([Step {
            which: 0,
            how: How::Cancel,
        }])
        .collect();
    let walk = walk(spec, &steps);
    assert!(walk.machine.outcome().is_some());
}

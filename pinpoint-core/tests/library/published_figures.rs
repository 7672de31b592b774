//! The reference strategy is the reference strategy: on simulated searches it is right as often,
//! and needs as many runs, as the original did in measurements.
//!
//! The published figures are for ranges of 128 and 1,024 commits, exactly one of
//! which changed the benchmark, each as likely as any other; one normally distributed
//! value a run; the strategy is given the true size of the change. Sizes are in
//! interquartile ranges of the noise. "Right" is that commit and no other.

#![expect(
    clippy::print_stdout,
    reason = "`cargo test -- --nocapture` shows the figures beside the published ones"
)]

use pinpoint_core::simulation::{Mean, Scenario, Simulation, Summary};
use pinpoint_core::{BisectionSpec, Machine, Magnitude, Outcome, Position, Strategy};

const COMMITS: u64 = 128;
const SEARCHES: u64 = 600;
/// A figure of this test may be this many standard errors from the published
/// one, whose own error is about as large: with so few figures a test that is
/// right fails once in many thousand seeds, and the seeds are fixed.
const STANDARD_ERRORS: f64 = 4.0;

fn spec(scenario: &Scenario, magnitude: f64) -> BisectionSpec {
    BisectionSpec {
        strategy: Strategy::Pinpoint,
        magnitude: Some(Magnitude::Absolute(magnitude)),
        ..BisectionSpec::new(scenario.range())
    }
}

fn summary(scenario: &Scenario, magnitude: f64) -> Summary {
    let spec = spec(scenario, magnitude);
    let trials: Vec<_> = (0..SEARCHES)
        .map(|seed| scenario.search(&spec, seed).expect("a valid spec"))
        .collect();
    Summary::of(&trials)
}

/// The published figure is rounded to a whole `unit`, and has an error, about as large as this
/// one's.
#[track_caller]
fn assert_agrees(what: &str, mean: Mean, published: f64, unit: f64) {
    let allowed = STANDARD_ERRORS * mean.standard_error * 2.0_f64.sqrt() + unit / 2.0;
    let report = format!(
        "{what}: {:.3} ± {:.3}, published {published}",
        mean.value, mean.standard_error
    );
    println!("{report}");
    assert!((mean.value - published).abs() <= allowed, "{report}");
}

#[track_caller]
fn check_change(commits: u64, change: f64, right: f64, runs: f64) {
    let scenario = Scenario {
        changes: vec![change],
        ..Scenario::new(commits)
    };
    let summary = summary(&scenario, change);
    let what = format!("{commits} commits, change {change}");
    assert_agrees(
        &format!("{what}, right"),
        summary.exactly_right,
        right,
        0.01,
    );
    assert_agrees(&format!("{what}, runs"), summary.runs.mean, runs, 1.0);
}

#[test]
fn half_an_interquartile_range() {
    check_change(128, 0.5, 0.74, 791.0);
}

#[test]
fn one_interquartile_range() {
    check_change(128, 1.0, 0.79, 213.0);
    check_change(1_024, 1.0, 0.80, 307.0);
}

#[test]
fn two_interquartile_ranges() {
    check_change(128, 2.0, 0.90, 100.0);
    check_change(1_024, 2.0, 0.90, 134.0);
}

#[test]
fn four_interquartile_ranges() {
    check_change(128, 4.0, 0.90, 96.0);
    check_change(1_024, 4.0, 0.90, 128.0);
}

#[test]
fn nothing_changed() {
    for (magnitude, runs) in [(1.0, 41.0), (0.5, 150.0)] {
        let summary = summary(&Scenario::new(COMMITS), magnitude);
        assert_agrees(
            &format!("nothing, told {magnitude}"),
            summary.runs.mean,
            runs,
            1.0,
        );
    }
}

/// The needs of the searcher that knows both distributions: so the limit against
/// which strategies are measured is the published one.
#[test]
fn the_ideal_searcher() {
    let check = |scenario: Scenario, runs: f64| {
        let ideals: Vec<_> = (0..SEARCHES)
            .map(|seed| scenario.ideal(0.95, seed).expect("one change"))
            .collect();
        let what = format!(
            "ideal, {} {:?} {:?}",
            scenario.commits, scenario.changes, scenario.failure_rates
        );
        let right = Mean::share(&ideals, |ideal| ideal.right);
        assert!(
            right.value + 4.0 * right.standard_error >= 0.95,
            "{what}: {right:?}"
        );
        let made = Mean::of(ideals.iter().map(|ideal| ideal.runs as f64));
        assert_agrees(&what, made, runs, 1.0);
    };
    for (commits, runs) in [
        (128, [98.0, 28.0, 11.0, 7.0]),
        (1_024, [141.0, 39.0, 15.0, 10.0]),
    ] {
        for (effect, runs) in [0.5, 1.0, 2.0, 4.0].into_iter().zip(runs) {
            let changes = vec![effect];
            check(
                Scenario {
                    changes,
                    ..Scenario::new(commits)
                },
                runs,
            );
        }
    }
    for (rates, runs) in [
        ([0.0, 1.0], 10.0),
        ([0.05, 0.95], 15.0),
        ([0.05, 0.5], 51.0),
        ([0.1, 0.3], 226.0),
        ([0.0, 0.2], 85.0),
    ] {
        let scenario = Scenario {
            changes: vec![0.0],
            failure_rates: rates,
            ..Scenario::new(1_024)
        };
        check(scenario, runs);
    }
}

fn outcome(scenario: &Scenario, seed: u64) -> Outcome {
    let mut simulation =
        Simulation::new(scenario, &spec(scenario, 1.0), seed).expect("a valid spec");
    while simulation.step() {}
    simulation.machine().outcome().expect("an outcome").clone()
}

fn at(offset: u64) -> Position {
    Position::Within { range: 0, offset }
}

/// A middle commit is compared with both its neighbors as soon as it has its runs: the older half's
/// wish for more does not hold up the newer half.
#[test]
fn both_halves_are_compared_with_the_same_runs_of_the_middle() {
    let scenario = Scenario {
        changes: vec![1.0],
        ..Scenario::new(COMMITS)
    };
    let mut seen = 0;
    for seed in 0..100 {
        let looks = outcome(&scenario, seed).comparisons;
        for offset in 0..COMMITS - 1 {
            let first = |runs: Vec<u32>| runs.into_iter().min();
            let newer = first(
                (looks.iter().filter(|look| look.lower == at(offset)))
                    .map(|look| look.lower_runs)
                    .collect(),
            );
            let older = first(
                (looks.iter().filter(|look| look.higher == at(offset)))
                    .map(|look| look.higher_runs)
                    .collect(),
            );
            assert_eq!(older, newer, "at {offset}: {looks:#?}");
            seen += u32::from(older.is_some());
        }
    }
    assert!(seen > 500, "{seen} middles");
}

//! Three answers to the magnitude: a change as large, a smaller one, or not decided.

use pinpoint_core::simulation::{Noise, Plan, Scatter, Scenario, Simulation, Summary};
use pinpoint_core::{
    BisectionSpec, Direction, Machine, Magnitude, Outcome, Position, Range, Status,
};

use crate::world::value_by_value;

/// A range of so many commits whose values change in the middle, by this fraction.
fn of_values(spec: BisectionSpec, good: f64, change: f64, noise: f64) -> Outcome {
    value_by_value(spec, |commit, index| {
        let is_changed = match commit {
            Position::Lower => false,
            Position::Within { offset, .. } => offset >= 3,
            Position::Higher => true,
        };
        let level = if is_changed {
            good * (1.0 + change)
        } else {
            good
        };
        // As far apart as quantiles of normal noise, in a fixed order.
        let quantiles = [-0.6, 0.9, 0.2, -1.3, 1.4, -0.2, 0.5, -0.9];
        Some(level * (1.0 + noise * quantiles[index as usize % quantiles.len()]))
    })
}

fn spec(percent: Option<f64>, direction: Direction) -> BisectionSpec {
    BisectionSpec {
        magnitude: percent.map(Magnitude::Percent),
        direction,
        ..BisectionSpec::new(Range::Counted { between: 5 })
    }
}

#[test]
fn a_change_below_the_magnitude_is_said_at_once() {
    for (change, noise) in [(0.0006, 0.0), (0.0006, 1e-5), (0.01, 0.0015), (-0.01, 0.0)] {
        let outcome = of_values(spec(Some(5.0), Direction::Unknown), 1e6, change, noise);
        assert_eq!(outcome.status, Status::NoRegression, "{outcome:?}");
        assert!(outcome.runs <= 12, "{} runs", outcome.runs);
        let posterior = outcome.posterior.unwrap();
        let other = posterior.other_change.unwrap();
        assert!(!other.is_better);
        let interval = other.effect.interval.unwrap();
        assert!(interval.contains(1e6 * change), "{interval:?}");
        assert!(!interval.contains(0.0));
        assert!(interval.high.abs().max(interval.low.abs()) < 0.05e6);
    }
}

#[test]
fn a_change_for_the_better_says_by_how_much() {
    for noise in [0.0, 0.002] {
        let outcome = of_values(spec(None, Direction::Down), 100.0, -0.2, noise);
        assert_eq!(outcome.status, Status::NoRegression, "{outcome:?}");
        let other = outcome.posterior.unwrap().other_change.unwrap();
        assert!(other.is_better);
        assert!(
            (other.effect.estimate.unwrap() + 20.0).abs() < 0.5,
            "{other:?}"
        );
    }
}

#[test]
fn a_metric_that_never_changes_is_decided_after_a_few_runs() {
    for percent in [None, Some(5.0)] {
        let outcome = of_values(spec(percent, Direction::Down), 100.0, 0.0, 0.0);
        assert_eq!(outcome.status, Status::NoRegression, "{outcome:?}");
        // Most of them of the bad end, which may fail now and then.
        assert!(outcome.runs <= 20, "{} runs", outcome.runs);
        let changed = of_values(spec(percent, Direction::Down), 100.0, 0.3, 0.0);
        assert_eq!(changed.status, Status::CulpritFound);
        assert!(changed.runs <= 16, "{} runs", changed.runs);
    }
}

/// The search ends for any size between too small and large enough.
#[test]
fn no_size_spends_the_budget() {
    for noise in [0.0, 0.002, 0.02] {
        for percent in [0.05, 0.5, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0] {
            let scenario = Scenario {
                noise: if noise > 0.0 {
                    Noise::Normal
                } else {
                    Noise::Measured(Vec::new())
                },
                proportional: (noise > 0.0).then_some(noise),
                changes: vec![if noise > 0.0 {
                    percent / 100.0
                } else {
                    percent
                }],
                ..Scenario::new(32)
            };
            for seed in 0..6 {
                let mut simulation =
                    Simulation::new(&scenario, &spec(Some(5.0), Direction::Unknown), seed).unwrap();
                while simulation.step() {}
                let outcome = simulation.machine().outcome().unwrap();
                let most = if noise < 0.01 { 60 } else { 1_000 };
                assert!(
                    outcome.runs <= most,
                    "{noise} {percent}: {} runs",
                    outcome.runs
                );
                if percent >= 5.0 {
                    assert_eq!(outcome.status, Status::CulpritFound, "{noise} {percent}");
                } else if percent <= 1.0 && noise < 0.01 {
                    assert_eq!(outcome.status, Status::NoRegression, "{noise} {percent}");
                }
            }
        }
    }
}

/// A plan knows the noise of some runs, and a search nothing: both come to the same cost.
#[test]
fn a_plan_says_what_a_search_costs() {
    let quantiles: Vec<f64> = (0..21).map(|k| f64::from(k - 10) / 10.0).collect();
    for noise in [0.0, 0.001, 0.01] {
        let values = quantiles
            .iter()
            .map(|at| 1_000.0 * (1.0 + noise * at))
            .collect();
        let scatter = Scatter::of_values(values, None).unwrap();
        for magnitude in [50.0, 200.0] {
            let plan = Plan::new(12, BisectionSpec::new(Range::Counted { between: 11 })).unwrap();
            let planned = plan.estimate(&scatter, Some(magnitude)).unwrap();
            for (estimate, change) in planned.iter().zip([Some(magnitude), None]) {
                let scenario = Scenario {
                    level: 1_000.0,
                    noise: Noise::Measured(
                        quantiles.iter().map(|at| 1_000.0 * noise * at).collect(),
                    ),
                    changes: change.into_iter().collect(),
                    ..Scenario::new(12)
                };
                let spec = BisectionSpec {
                    magnitude: Some(Magnitude::Percent(magnitude / 10.0)),
                    ..BisectionSpec::new(scenario.range())
                };
                let trials: Vec<_> = (0..20)
                    .map(|seed| scenario.search(&spec, seed + 1_000).unwrap())
                    .collect();
                let [planned, made] = [
                    estimate.summary.runs.mean.value,
                    Summary::of(&trials).runs.mean.value,
                ];
                assert!(
                    made <= 2.0 * planned && planned <= 2.0 * made,
                    "{noise} {magnitude} {change:?}: planned {planned}, made {made}"
                );
            }
        }
    }
}

/// A clear change is the answer, and no further one is looked for that is near the noise.
#[test]
fn a_clear_culprit_ends_the_search() {
    let scenario = Scenario {
        proportional: Some(0.005),
        changes: vec![0.295],
        ..Scenario::new(64)
    };
    let spec = BisectionSpec::new(scenario.range());
    for seed in 0..60 {
        let trial = scenario.search(&spec, seed).unwrap();
        assert!(trial.is_exactly_right(), "{trial:?}");
        assert_eq!(trial.candidates, 0);
        assert!(trial.runs <= 32, "{} runs", trial.runs);
    }
}

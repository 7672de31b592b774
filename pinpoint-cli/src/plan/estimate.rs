//! The simulated bisections of a plan.

use pinpoint_core::simulation::{Scenario, Summary};
use pinpoint_core::{BisectionSpec, Direction, Magnitude, SpecError};
use rayon::prelude::*;

use super::Question;
use super::scatter::Scatter;

/// Sizes of changes to try when none was named, in interquartile ranges.
const CHANGES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// The most commits of which a search can be simulated often enough in time.
pub(crate) const MOST_COMMITS: u64 = 100_000;
/// A simulated search is ended after so many runs.
const MOST_RUNS: u64 = 5_000;

/// What came of the searches for changes of one size.
#[derive(Debug, Clone)]
pub(crate) struct Estimate {
    /// The change, in the unit of the scatter; absent: nothing changed.
    pub(crate) change: Option<f64>,
    pub(crate) summary: Summary,
}

/// Simulates searches for the change named, or for changes of several sizes,
/// and at last for none.
pub(crate) fn estimate(
    question: &Question,
    scatter: &Scatter,
    magnitude: Option<f64>,
) -> Result<Vec<Estimate>, SpecError> {
    let spec = BisectionSpec {
        magnitude: magnitude.map(|magnitude| Magnitude::Absolute(magnitude / scatter.scale)),
        direction: scatter.direction,
        max_runs: Some(question.spec.max_runs.unwrap_or(MOST_RUNS)),
        ..question.spec.clone()
    };
    // A change for the worse, where that is known.
    let sign = match scatter.direction {
        Direction::Up => -1.0,
        Direction::Down | Direction::Unknown => 1.0,
    };
    let mut changes: Vec<Option<f64>> = match magnitude {
        Some(magnitude) => vec![Some(sign * magnitude)],
        None => CHANGES
            .map(|change| Some(sign * change * scatter.interquartile_range))
            .into(),
    };
    changes.push(None);
    let smallest = magnitude.map_or(CHANGES[0], |size| size / scatter.interquartile_range);
    let searches = searches(question.commits, smallest);
    changes
        .into_iter()
        .map(|change| {
            let scenario = Scenario {
                level: scatter.level,
                noise: scatter.noise.clone(),
                changes: change
                    .map(|change| change / scatter.scale)
                    .into_iter()
                    .collect(),
                weights: spec.priors.clone(),
                failure_rates: [scatter.failure_rate; 2],
                ..Scenario::new(question.commits)
            };
            let seeds = spec.seed..spec.seed.saturating_add(searches);
            let trials = seeds
                .into_par_iter()
                .map(|seed| scenario.search(&spec, seed))
                .collect::<Result<Vec<_>, _>>()?;
            let summary = Summary::of(&trials);
            Ok(Estimate { change, summary })
        })
        .collect()
}

/// So many searches of each size that all of them take a few seconds on two
/// cores. A fixed number, so that the same plan gives the same answer anywhere.
///
/// A change of half the size takes four times the runs, and each of these more
/// time to think about.
fn searches(commits: u64, smallest: f64) -> u64 {
    let most = if commits <= 1_024 { 400.0 } else { 200.0 };
    let ease = (smallest / 0.5).clamp(0.0, 1.0);
    (most * ease * ease * ease).max(20.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_searches_where_each_takes_longer() {
        assert_eq!(searches(16, 2.0), 400);
        assert_eq!(searches(1_024, 0.5), 400);
        assert_eq!(searches(1_024, 0.25), 50);
        assert_eq!(searches(100_000, 1.0), 200);
        // Noise of 0: any change is infinitely many times as large.
        assert_eq!(searches(16, f64::INFINITY), 400);
        assert_eq!(searches(100_000, 1e-9), 20);
    }
}

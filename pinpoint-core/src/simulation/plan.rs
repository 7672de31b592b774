//! The cost and the accuracy of a bisection, estimated before it is run.

use rayon::prelude::*;

use super::{Scatter, Scenario, Summary};
use crate::{Bisection, BisectionSpec, Direction, Magnitude, SpecError};

/// Sizes of changes to try when none was named, in interquartile ranges.
const CHANGES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// A simulated search is ended after this many runs.
const MOST_RUNS: u64 = 5_000;

/// A bisection that is planned.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Commits that may be the culprit.
    commits: u64,
    spec: BisectionSpec,
}

/// The searches for changes of one size.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// The change, in the unit of the scatter; absent: nothing changed.
    pub change: Option<f64>,
    /// A summary of their results.
    pub summary: Summary,
}

/// The reason why a bisection can't be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No search can be made with the spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// There is nothing to search.
    #[error("at least one commit is needed")]
    NoCommits,
    /// Simulating it would take too long.
    #[error(
        "{commits} commits are too many to simulate: plan for {} at most",
        Plan::MOST_COMMITS
    )]
    TooManyCommits {
        /// The number of commits.
        commits: u64,
    },
}

impl Plan {
    /// The most commits of which a search can be simulated often enough in time.
    pub const MOST_COMMITS: u64 = 100_000;

    /// A bisection among this many commits. The range and the magnitude of the spec are
    /// ignored.
    ///
    /// # Errors
    ///
    /// When there are no commits or too many, or the spec can't be searched.
    pub fn new(commits: u64, spec: BisectionSpec) -> Result<Self, PlanError> {
        let between = commits.checked_sub(1).ok_or(PlanError::NoCommits)?;
        let spec = BisectionSpec {
            range: crate::Range::Counted { between },
            magnitude: None,
            ..spec
        };
        Bisection::new(spec.clone())?;
        if commits > Self::MOST_COMMITS {
            return Err(PlanError::TooManyCommits { commits });
        }
        Ok(Self { commits, spec })
    }

    /// Commits that may be the culprit.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// The question.
    pub fn spec(&self) -> &BisectionSpec {
        &self.spec
    }

    /// Simulates searches for a change of this size, in the unit of the scatter, or for
    /// changes of several sizes, and finally for none.
    ///
    /// It takes some seconds on two cores, and uses all of them. The same plan gives the
    /// same answer on any machine.
    ///
    /// # Errors
    ///
    /// When the size can't be searched.
    pub fn estimate(
        &self,
        scatter: &Scatter,
        magnitude: Option<f64>,
    ) -> Result<Vec<Estimate>, SpecError> {
        let estimates = self.estimate_while(scatter, magnitude, || true)?;
        // Nobody has lost interest.
        Ok(estimates.unwrap_or_default())
    }

    /// As [`Plan::estimate`], for as long as somebody waits for it: `is_wanted` is asked before
    /// each search, which takes some milliseconds. Nothing once it has said no.
    ///
    /// # Errors
    ///
    /// When the size can't be searched.
    pub fn estimate_while(
        &self,
        scatter: &Scatter,
        magnitude: Option<f64>,
        is_wanted: impl Fn() -> bool + Sync,
    ) -> Result<Option<Vec<Estimate>>, SpecError> {
        let spec = BisectionSpec {
            magnitude: magnitude.map(|magnitude| Magnitude::Absolute(magnitude / scatter.scale)),
            direction: scatter.direction,
            max_runs: Some(self.spec.max_runs.unwrap_or(MOST_RUNS)),
            ..self.spec.clone()
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
        let searches = searches(self.commits, smallest);
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
                    ..Scenario::new(self.commits)
                };
                let seeds = spec.seed..spec.seed.saturating_add(searches);
                let trials = seeds
                    .into_par_iter()
                    .map(|seed| match is_wanted() {
                        true => scenario.search(&spec, seed).map(Some),
                        false => Ok(None),
                    })
                    .collect::<Result<Option<Vec<_>>, _>>()?;
                Ok(trials.map(|trials| Estimate {
                    change,
                    summary: Summary::of(&trials),
                }))
            })
            .collect()
    }
}

/// The number of searches of each size with which all of them take a few seconds on two
/// cores. It is fixed, so that the same plan gives the same answer anywhere.
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

    #[test]
    fn an_estimate_that_nobody_waits_for_ends() {
        let range = crate::Range::Between {
            good: crate::Commit::new("", "a").into(),
            bad: crate::Commit::new("", "b").into(),
        };
        let plan = Plan::new(8, BisectionSpec::new(range)).unwrap();
        let scatter = Scatter::normal(Magnitude::Percent(1.0)).unwrap();
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let searched = |most: usize| {
            asked.store(0, std::sync::atomic::Ordering::Relaxed);
            let is_wanted = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < most;
            plan.estimate_while(&scatter, Some(5.0), is_wanted).unwrap()
        };
        assert_eq!(searched(0).map(|it| it.len()), None);
        assert_eq!(searched(30).map(|it| it.len()), None);
        // At most one more of each thread, and not hundreds.
        assert!(asked.into_inner() < 300);
    }
}

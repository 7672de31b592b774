//! The cost and the accuracy of a job, estimated before it is run.

use rayon::prelude::*;

use super::{Scatter, Scenario, Summary, Trial};
use crate::{
    Bisection, BisectionSpec, CulpritFinder, CulpritFinderSpec, Direction, JobSpec, Magnitude,
    Pairwise, PairwiseSpec, SpecError,
};

/// Sizes of changes to try when none was named, in interquartile ranges.
const CHANGES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// A simulated search is ended after this many runs.
const MOST_RUNS: u64 = 5_000;

/// A job that is planned.
///
/// A comparison in pairs is right when it finds a change that was made (its *power*), or no
/// difference where none was (5 % of these comparisons find one, by the level of its test).
/// The runs of a simulated pair scatter like any two runs of the benchmark. Where a machine
/// is slower for a while and slows both down, a real pair scatters less, and finds more.
///
/// ```
/// use pinpoint_core::simulation::{Plan, Scatter};
/// use pinpoint_core::{Magnitude, PairwiseSpec};
///
/// let plan = Plan::new(1, PairwiseSpec::unnamed())?;
/// let noise = Scatter::normal(Magnitude::Percent(1.0))?;
/// let estimates = plan.estimate(&noise, Some(1.0))?;
/// // 30 pairs find a change as large as the noise.
/// assert!(estimates[0].summary.exactly_right.value > 0.9);
/// assert_eq!(estimates[0].summary.runs.percentile_95, 60);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    /// Commits that may be the culprit.
    commits: u64,
    spec: JobSpec,
}

/// The simulated jobs for changes of one size.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// The change, in the unit of the scatter; absent: nothing changed.
    pub change: Option<f64>,
    /// A summary of their results.
    pub summary: Summary,
}

/// The reason why a job can't be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No job can be made with the spec.
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
    /// Simulating it would take too long.
    #[error(
        "{pairs} pairs of runs are too many to simulate: plan for {} at most",
        Plan::MOST_PAIRS
    )]
    TooManyPairs {
        /// The number of pairs.
        pairs: u32,
    },
}

impl Plan {
    /// The most commits of which a search can be simulated often enough in time.
    pub const MOST_COMMITS: u64 = 100_000;

    /// The most pairs of runs in which a comparison can be simulated often enough in time.
    pub const MOST_PAIRS: u32 = 500;

    /// A search among this many commits, or a comparison of the commit before them with the
    /// last of them. The range and the magnitude of the spec are ignored.
    ///
    /// # Errors
    ///
    /// When there are no commits or too many, too many pairs, or no job can be made with the
    /// spec.
    pub fn new(commits: u64, spec: impl Into<JobSpec>) -> Result<Self, PlanError> {
        let between = commits.checked_sub(1).ok_or(PlanError::NoCommits)?;
        let of_range = |search: BisectionSpec| BisectionSpec {
            range: crate::Range::Counted { between },
            magnitude: None,
            ..search
        };
        let spec = match spec.into() {
            JobSpec::Bisection(spec) => JobSpec::Bisection(of_range(spec)),
            JobSpec::CulpritFinder(spec) => JobSpec::CulpritFinder(CulpritFinderSpec {
                bisection: of_range(spec.bisection),
                ..spec
            }),
            pairwise => pairwise,
        };
        if commits > Self::MOST_COMMITS {
            return Err(PlanError::TooManyCommits { commits });
        }
        match pairs_of(&spec) {
            Some(pairs) if pairs > Self::MOST_PAIRS => {
                return Err(PlanError::TooManyPairs { pairs });
            }
            _ => {}
        }
        match spec.clone() {
            JobSpec::Bisection(spec) => Bisection::new(spec).map(drop)?,
            JobSpec::Pairwise(spec) => Pairwise::new(spec).map(drop)?,
            JobSpec::CulpritFinder(spec) => CulpritFinder::new(spec).map(drop)?,
        }
        Ok(Self { commits, spec })
    }

    /// Commits that may be the culprit.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// The question.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// Simulates the job for a change of this size, in the unit of the scatter, or for
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
    ) -> Result<Vec<Estimate>, PlanError> {
        let estimates = self.estimate_while(scatter, magnitude, || true)?;
        // The caller never cancels.
        Ok(estimates.unwrap_or_default())
    }

    /// Like [`Plan::estimate`], as long as it is wanted: `is_wanted` is asked before each simulated
    /// job, which takes some milliseconds. `None` once it returns false.
    ///
    /// # Errors
    ///
    /// When the size can't be searched.
    pub fn estimate_while(
        &self,
        scatter: &Scatter,
        magnitude: Option<f64>,
        is_wanted: impl Fn() -> bool + Sync,
    ) -> Result<Option<Vec<Estimate>>, PlanError> {
        let spec = self.spec_for(scatter, magnitude);
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
        let trials = match &spec {
            JobSpec::Pairwise(spec) => comparisons(spec.pairs),
            _ => {
                let range = scatter.interquartile_range;
                searches(
                    self.commits,
                    magnitude.map_or(CHANGES[0], |size| size / range),
                )
            }
        };
        let (seed, weights) = match &spec {
            JobSpec::Bisection(spec) => (spec.seed, &spec.priors),
            JobSpec::CulpritFinder(spec) => (spec.bisection.seed, &spec.bisection.priors),
            JobSpec::Pairwise(spec) => (spec.seed, &None),
        };
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
                    weights: weights.clone(),
                    failure_rates: [scatter.failure_rate; 2],
                    ..Scenario::new(self.commits)
                };
                let seeds = seed..seed.saturating_add(trials);
                let trials = seeds
                    .into_par_iter()
                    .map(|seed| match is_wanted() {
                        true => trial(&scenario, &spec, seed).map(Some),
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

    /// The question in the unit of the simulation.
    fn spec_for(&self, scatter: &Scatter, magnitude: Option<f64>) -> JobSpec {
        let direction = scatter.direction;
        let search = |spec: &BisectionSpec| BisectionSpec {
            magnitude: magnitude.map(|magnitude| Magnitude::Absolute(magnitude / scatter.scale)),
            direction,
            max_runs: Some(spec.max_runs.unwrap_or(MOST_RUNS)),
            ..spec.clone()
        };
        match &self.spec {
            JobSpec::Bisection(spec) => search(spec).into(),
            JobSpec::CulpritFinder(spec) => JobSpec::CulpritFinder(CulpritFinderSpec {
                bisection: search(&spec.bisection),
                ..spec.clone()
            }),
            JobSpec::Pairwise(spec) => JobSpec::Pairwise(PairwiseSpec {
                direction,
                ..spec.clone()
            }),
        }
    }
}

fn trial(scenario: &Scenario, spec: &JobSpec, seed: u64) -> Result<Trial, SpecError> {
    match spec {
        JobSpec::Bisection(spec) => scenario.search(spec, seed),
        JobSpec::Pairwise(spec) => scenario.compare(spec, seed),
        JobSpec::CulpritFinder(spec) => scenario.find_culprit(spec, seed),
    }
}

/// The pairs of a comparison, where the job makes one.
fn pairs_of(spec: &JobSpec) -> Option<u32> {
    match spec {
        JobSpec::Bisection(_) => None,
        JobSpec::Pairwise(spec) => Some(spec.pairs),
        JobSpec::CulpritFinder(spec) => Some(spec.pairs),
    }
}

/// The number of comparisons of each size: enough to make a share certain to 3 %, and fewer where
/// each of them takes longer, as it does with the square of its pairs.
fn comparisons(pairs: u32) -> u64 {
    let ease = (100.0 / f64::from(pairs)).min(1.0);
    (1_000.0 * ease * ease).max(100.0) as u64
}

/// The number of searches of each size with which all of them take a few seconds on two
/// cores. It is fixed, so that the same plan gives the same answer anywhere.
///
/// A change of half the size takes four times the runs, and each of these more computing time.
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
        assert_eq!(
            [30, 100, 200, 500].map(comparisons),
            [1_000, 1_000, 250, 100]
        );
        assert_eq!(searches(16, 2.0), 400);
        assert_eq!(searches(1_024, 0.5), 400);
        assert_eq!(searches(1_024, 0.25), 50);
        assert_eq!(searches(100_000, 1.0), 200);
        // Noise of 0: any change is infinitely many times as large.
        assert_eq!(searches(16, f64::INFINITY), 400);
        assert_eq!(searches(100_000, 1e-9), 20);
    }

    /// Shares of the comparisons that find a change of each size.
    fn found(spec: PairwiseSpec, scatter: &Scatter) -> Vec<f64> {
        let estimates = Plan::new(1, spec).unwrap().estimate(scatter, None).unwrap();
        let shares = estimates.iter().map(|it| it.summary.exactly_right.value);
        shares.collect()
    }

    /// Where all of 6 pairs have to differ in the same way, and a pair does so with the
    /// probability Φ(d · 1.349 / √2) for a change of d interquartile ranges: Φ⁶. For 30 pairs,
    /// the power of Wilcoxon's test is nearly that of the t test on 95.5 % of them.
    #[test]
    fn a_comparison_finds_as_much_as_its_test_can() {
        let noise = Scatter::normal(Magnitude::Percent(1.0)).unwrap();
        for (pairs, expected) in [(6, [0.10, 0.33]), (30, [0.72, 1.0]), (150, [1.0, 1.0])] {
            let spec = PairwiseSpec {
                pairs,
                ..PairwiseSpec::unnamed()
            };
            let shares = found(spec, &noise);
            for (share, expected) in shares.iter().zip(expected) {
                assert!((share - expected).abs() < 0.05, "{pairs}: {shares:?}");
            }
            // Where nothing changed, at most one in twenty finds something.
            assert!(*shares.last().unwrap() > 0.93, "{pairs}: {shares:?}");
        }
    }

    #[test]
    fn a_change_is_looked_for_where_worse_lies() {
        let mut noise = Scatter::normal(Magnitude::Percent(1.0)).unwrap();
        let estimates = |noise: &Scatter| {
            let plan = Plan::new(1, PairwiseSpec::unnamed()).unwrap();
            plan.estimate(noise, Some(2.0)).unwrap()
        };
        assert_eq!(estimates(&noise)[0].change, Some(2.0));
        noise.direction = Direction::Up;
        let worse = &estimates(&noise)[0];
        assert_eq!(worse.change, Some(-2.0));
        assert!(worse.summary.exactly_right.value > 0.99);
        assert_eq!(worse.summary.runs.percentile_95, 60);
        assert_eq!(worse.summary.builds.percentile_95, 2);
    }

    #[test]
    fn early_stopping_saves_runs() {
        let noise = Scatter::normal(Magnitude::Percent(1.0)).unwrap();
        let spec = PairwiseSpec {
            early_stopping: true,
            ..PairwiseSpec::unnamed()
        };
        let plan = Plan::new(1, spec).unwrap();
        let estimates = plan.estimate(&noise, Some(4.0)).unwrap();
        assert!(estimates[0].summary.runs.mean.value < 40.0);
        assert!(estimates[1].summary.runs.mean.value > 58.0);
    }

    #[test]
    fn a_culprit_finder_names_only_what_it_confirmed() {
        let range = crate::Range::Counted { between: 0 };
        let noise = Scatter::normal(Magnitude::Percent(1.0)).unwrap();
        let spec = CulpritFinderSpec {
            pairs: 10,
            ..CulpritFinderSpec::new(range)
        };
        let plan = Plan::new(8, spec).unwrap();
        let estimates = plan.estimate(&noise, Some(4.0)).unwrap();
        let [found, nothing] = &estimates[..] else {
            panic!("{estimates:?}");
        };
        assert!(found.summary.exactly_right.value > 0.95, "{found:?}");
        // 20 runs verify the ends, and 20 more the culprit.
        assert!(found.summary.runs.mean.value > 40.0);
        assert!(nothing.summary.nothing_found.value > 0.9, "{nothing:?}");
        assert!(nothing.summary.runs.mean.value < 25.0);
    }

    #[test]
    fn what_pairs_can_not_compare_is_refused() {
        let pairs = |pairs| PairwiseSpec {
            pairs,
            ..PairwiseSpec::unnamed()
        };
        for (spec, expected) in [
            (pairs(502), PlanError::TooManyPairs { pairs: 502 }),
            (pairs(7), PlanError::Spec(SpecError::Pairs { found: 7 })),
        ] {
            assert_eq!(Plan::new(1, spec).unwrap_err(), expected);
        }
        let plan = Plan::new(1, pairs(6)).unwrap();
        // Noise that is so large that values are below 0, and values that are.
        let noise = Scatter::normal(Magnitude::Percent(100.0)).unwrap();
        let estimates = plan.estimate(&noise, None).unwrap();
        assert_eq!(estimates.len(), 5);
        let values = vec![-1.0, 2.0, 3.0, 4.0, 5.0];
        let scatter = Scatter::of_values(values, None).unwrap();
        assert_eq!(plan.estimate(&scatter, None).unwrap().len(), 5);
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

//! Many trials in a few numbers.

use super::Trial;
use crate::Status;

/// A mean over trials, or the share of them of which something is true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean, or a share between 0 and 1.
    pub value: f64,
    /// Its standard error. For a share, 0 when all trials agree.
    pub standard_error: f64,
}

/// The cost of trials, in runs or in builds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// The mean.
    pub mean: Mean,
    /// The cost that 95 of 100 trials did not exceed.
    pub percentile_95: u64,
}

/// The calibration: the stated probabilities of culprits, and the share that was right.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Calibration {
    /// Culprits that were named with a probability.
    pub culprits: usize,
    /// The mean stated probability.
    pub stated: f64,
    /// The share of them that are culprits.
    pub observed: Mean,
}

/// The results of many searches of the same scenario.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of trials.
    pub trials: usize,
    /// Trials that named the commits that changed something, and no others.
    pub exactly_right: Mean,
    /// The share of the commits that changed something that were named; absent
    /// where nothing changed.
    pub recall: Option<f64>,
    /// Commits named in a trial that changed nothing.
    pub false_culprits: Mean,
    /// Trials that named no commit, but left a range that holds all that changed
    /// something.
    pub right_ranges: Mean,
    /// Trials in which each culprit was named or left in a range.
    pub holds: Mean,
    /// Trials that reported that nothing changed.
    pub nothing_found: Mean,
    /// Absent when no culprit was named with a probability.
    pub calibration: Option<Calibration>,
    /// Runs that a trial made.
    pub runs: Cost,
    /// Commits that a trial built.
    pub builds: Cost,
}

impl Summary {
    /// Sums up trials. Without trials, everything is 0.
    pub fn of(trials: &[Trial]) -> Self {
        let share = |fits: &dyn Fn(&Trial) -> bool| Mean::share(trials, fits);
        let changes: u32 = trials.iter().map(|trial| trial.changes).sum();
        let found: u32 = trials.iter().map(|trial| trial.found).sum();
        let named: Vec<(f64, bool)> = trials
            .iter()
            .flat_map(|trial| &trial.named)
            .filter_map(|(probability, is_true)| Some(((*probability)?, *is_true)))
            .collect();
        Self {
            trials: trials.len(),
            exactly_right: share(&Trial::is_exactly_right),
            recall: (changes > 0).then(|| f64::from(found) / f64::from(changes)),
            false_culprits: Mean::of(trials.iter().map(|trial| f64::from(trial.false_culprits()))),
            right_ranges: share(&Trial::is_right_range),
            holds: share(&|trial| trial.holds),
            nothing_found: share(&|trial| trial.status == Status::NoRegression),
            calibration: (!named.is_empty()).then(|| Calibration {
                culprits: named.len(),
                stated: Mean::of(named.iter().map(|(stated, _)| *stated)).value,
                observed: Mean::share(&named, |(_, is_true)| *is_true),
            }),
            runs: Cost::of(trials.iter().map(|trial| trial.runs)),
            builds: Cost::of(trials.iter().map(|trial| trial.builds)),
        }
    }
}

impl Mean {
    /// The mean of numbers; of none it is 0.
    pub fn of(numbers: impl Iterator<Item = f64>) -> Self {
        // Welford's recurrence: squares of large numbers are never subtracted.
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for number in numbers {
            count += 1.0;
            let distance = number - mean;
            mean += distance / count;
            squares += distance * (number - mean);
        }
        let standard_error = if count > 1.0 {
            (squares / (count - 1.0) / count).sqrt()
        } else {
            0.0
        };
        Self {
            value: mean,
            standard_error,
        }
    }

    /// The share of the items for which this is true.
    pub fn share<T>(items: &[T], fits: impl Fn(&T) -> bool) -> Self {
        Self::of(items.iter().map(|item| if fits(item) { 1.0 } else { 0.0 }))
    }
}

impl Cost {
    /// The cost of trials; 0 without trials.
    pub fn of(costs: impl Iterator<Item = u64>) -> Self {
        let mut costs: Vec<u64> = costs.collect();
        costs.sort_unstable();
        // The smallest cost that at least 95 % do not exceed.
        let rank = (costs.len() * 95).div_ceil(100);
        Self {
            mean: Mean::of(costs.iter().map(|cost| *cost as f64)),
            percentile_95: costs.get(rank.saturating_sub(1)).copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial() -> Trial {
        Trial {
            status: Status::CulpritFound,
            changes: 1,
            found: 1,
            missed: Vec::new(),
            named: vec![(Some(0.97), true)],
            candidates: 0,
            indistinct: 0,
            least_candidates: 0,
            holds: true,
            runs: 10,
            builds: 4,
        }
    }

    #[test]
    fn what_counts_as_right() {
        let right = trial();
        let wrong = Trial {
            found: 0,
            named: vec![(Some(0.95), false)],
            holds: false,
            ..trial()
        };
        let range = Trial {
            status: Status::Inconclusive,
            found: 0,
            named: Vec::new(),
            candidates: 3,
            ..trial()
        };
        let summary = Summary::of(&[right, wrong, range]);
        assert_eq!(summary.trials, 3);
        for (name, share, expected) in [
            ("exactly right", summary.exactly_right, 1.0),
            ("right range", summary.right_ranges, 1.0),
            ("holds", summary.holds, 2.0),
            ("false culprits", summary.false_culprits, 1.0),
            ("nothing found", summary.nothing_found, 0.0),
        ] {
            assert!((share.value - expected / 3.0).abs() < 1e-15, "{name}");
        }
        assert_eq!(summary.recall, Some(1.0 / 3.0));
        let calibration = summary.calibration.expect("probabilities were stated");
        assert_eq!(calibration.culprits, 2);
        assert!((calibration.stated - 0.96).abs() < 1e-15);
        assert_eq!(calibration.observed.value, 0.5);
    }

    #[test]
    fn where_nothing_changed_only_saying_so_is_right() {
        let nothing = Trial {
            status: Status::NoRegression,
            changes: 0,
            found: 0,
            named: Vec::new(),
            ..trial()
        };
        assert!(nothing.is_exactly_right());
        let open = Trial {
            status: Status::Inconclusive,
            candidates: 5,
            ..nothing.clone()
        };
        assert!(!open.is_exactly_right());
        assert_eq!(Summary::of(&[nothing, open]).recall, None);
    }

    #[test]
    fn costs_have_a_mean_an_error_and_a_percentile() {
        let cost = Cost::of((1..=100).rev());
        assert_eq!(cost.mean.value, 50.5);
        // The standard deviation of 1 to 100 is √(100 × 101 / 12).
        let error = (100.0 * 101.0 / 12.0_f64).sqrt() / 10.0;
        assert!((cost.mean.standard_error - error).abs() < 1e-12);
        assert_eq!(cost.percentile_95, 95);
        assert_eq!(Cost::of([7].into_iter()).percentile_95, 7);
        assert_eq!(Cost::of([].into_iter()).percentile_95, 0);
    }

    #[test]
    fn no_trials_are_no_error() {
        let summary = Summary::of(&[]);
        assert_eq!(summary.trials, 0);
        assert_eq!(
            summary.exactly_right,
            Mean {
                value: 0.0,
                standard_error: 0.0
            }
        );
        assert_eq!(summary.calibration, None);
    }
}

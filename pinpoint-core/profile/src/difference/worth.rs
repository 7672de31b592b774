//! The limits of costs that are listed or tested.

use super::runs::Runs;

/// The least part of a side that a function has to have to be tested.
pub(super) const LEAST_SHARE: f64 = 0.001;

/// The whole costs of the sides, relative to which a part is great or small.
///
/// Listed parts have 0.1 % of a side. More are tested: all that cost as much over all runs, on
/// either side. The listed parts alone would be those that are greater on one side by chance, too.
pub(super) struct Worth {
    /// The sums over the runs of each side.
    wholes: [f64; 2],
    /// The number of runs of the base.
    base: usize,
    /// The least sum over all runs that is tested.
    least: f64,
}

impl Worth {
    pub(super) fn from_runs(runs: &Runs) -> Self {
        let wholes = runs.wholes();
        let (base, experiment) = wholes.split_at(runs.base);
        let wholes: [f64; 2] = [base, experiment].map(|side| side.iter().sum());
        let smaller_side = base.len().min(experiment.len()) as f64 / runs.all.len() as f64;
        Self {
            least: LEAST_SHARE * smaller_side * wholes.iter().sum::<f64>(),
            wholes,
            base: runs.base,
        }
    }

    /// The sums over the runs of each side, of a value for each run.
    pub(super) fn sums(&self, values: &[f64]) -> [f64; 2] {
        let (base, experiment) = values.split_at(self.base);
        [base, experiment].map(|side| side.iter().sum())
    }

    /// The greater of the parts of each side that these sums are.
    pub(super) fn share(&self, sums: [f64; 2]) -> f64 {
        let of = |side: usize| sums[side] / self.wholes[side].max(f64::MIN_POSITIVE);
        of(0).max(of(1))
    }

    pub(super) fn is_listed(&self, sums: [f64; 2]) -> bool {
        self.share(sums) >= LEAST_SHARE
    }

    pub(super) fn is_tested(&self, sums: [f64; 2]) -> bool {
        let sum = sums[0] + sums[1];
        sum > 0.0 && (sum >= self.least || self.is_listed(sums))
    }
}

//! One fit of the model of values, and what a step in each gap would add to it.

use libm::log;

use super::tuning::LEAST_REST;

/// Weighted least squares over level, known changes, drift and bots, and for
/// each gap what a step there would add.
pub(super) struct Fit {
    /// Log evidence of the nuisances, without a step.
    pub(super) evidence: f64,
    /// Residual sum of squares without a step.
    pub(super) rest: f64,
    /// For each gap the step's cross product with the residuals, and its own
    /// square, both after the nuisances are taken out.
    pub(super) steps: Vec<(f64, f64)>,
    /// Coefficients of the nuisances.
    pub(super) coefficients: Vec<f64>,
    /// Coefficients without a prior.
    pub(super) free: usize,
    /// The standard deviation of the noise.
    pub(super) scale: f64,
    /// The standard deviation of a value, given those before it.
    pub(super) fresh: f64,
}

impl Fit {
    /// The gap with the best step among those that fit.
    pub(super) fn best(&self, fits: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.steps.len())
            .filter(|gap| fits(*gap))
            .map(|gap| (gap, self.gain(gap)))
            .fold(None, |best: Option<(usize, f64)>, (gap, gain)| {
                if best.is_none_or(|(_, most)| gain > most) {
                    Some((gap, gain))
                } else {
                    best
                }
            })
            .map(|(gap, _)| gap)
    }

    /// The amount by which the best step in a gap reduces the residual sum of squares.
    fn gain(&self, gap: usize) -> f64 {
        let (cross, square) = self.steps[gap];
        if square > 0.0 {
            cross * cross / square
        } else {
            0.0
        }
    }

    /// The logarithm of the factor by which the best step improves the likelihood.
    pub(super) fn log_gain(&self, count: usize) -> f64 {
        let freedom = (count as f64 - self.free as f64).max(1.0);
        let gain = (self.best(|_| true)).map_or(0.0, |gap| self.gain(gap));
        -0.5 * freedom * log((1.0 - gain / self.rest).max(LEAST_REST))
    }

    /// The logarithms of the Bayes factors of steps in a gap whose sizes are normal, each
    /// about a centre. Hundreds of runs on either side of a large step make a factor that
    /// overflows.
    pub(super) fn log_factors<const COUNT: usize>(
        &self,
        gap: usize,
        centres: [f64; COUNT],
        spread: f64,
        freedom: f64,
    ) -> [f64; COUNT] {
        let (cross, square) = self.steps[gap];
        if square <= 0.0 {
            return [0.0; COUNT];
        }
        let information = square / (self.scale * self.scale);
        let shrink = 1.0 + information * spread * spread;
        let log_shrink = log(shrink);
        let estimate = cross / square;
        let least = (self.rest - cross * estimate).max(LEAST_REST * self.rest);
        centres.map(|centre| {
            let off = estimate - centre;
            let rest = least + off * off * square / shrink;
            -0.5 * log_shrink - 0.5 * freedom * log(rest / self.rest)
        })
    }
}

//! One fit of the model of values, and the gain from a step in each gap.

use std::f64::consts::FRAC_1_SQRT_2;

use libm::{erfc, log, log1p};

use super::tuning::LEAST_REST;

/// Weighted least squares over level, known changes, drift and bots, and for each gap the gain from
/// a step there.
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

    /// The steps in a gap whose sizes are normal beforehand, each about a center.
    pub(super) fn sized<const COUNT: usize>(
        &self,
        gap: usize,
        centers: [f64; COUNT],
        spread: f64,
        freedom: f64,
    ) -> [Sized; COUNT] {
        let (cross, square) = self.steps[gap];
        if square <= 0.0 {
            return centers.map(|center| Sized {
                log_factor: 0.0,
                mean: center,
                deviation: spread,
                freedom,
            });
        }
        let information = square / (self.scale * self.scale);
        let shrink = 1.0 + information * spread * spread;
        let log_shrink = log(shrink);
        let estimate = cross / square;
        let least = (self.rest - cross * estimate).max(LEAST_REST * self.rest);
        centers.map(|center| {
            let off = estimate - center;
            let rest = least + off * off * square / shrink;
            let variance = (rest / freedom) / (self.scale * self.scale);
            Sized {
                log_factor: -0.5 * log_shrink - 0.5 * freedom * log(rest / self.rest),
                mean: estimate - off / shrink,
                deviation: spread * (variance / shrink).sqrt(),
                freedom,
            }
        })
    }
}

/// A step whose size is normal beforehand, given the values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sized {
    /// The logarithm of its Bayes factor. Hundreds of runs on either side of a large step make a
    /// factor that overflows.
    pub(super) log_factor: f64,
    /// The mean of its size, which has a Student distribution, and the scale of that.
    mean: f64,
    deviation: f64,
    freedom: f64,
}

impl Sized {
    /// The probability that its size is at least this.
    pub(super) fn is_at_least(&self, size: f64) -> f64 {
        normal_upper_tail(self.deviate(size))
    }

    /// The probability that its size is at most this.
    pub(super) fn is_at_most(&self, size: f64) -> f64 {
        normal_upper_tail(-self.deviate(size))
    }

    fn deviate(&self, size: f64) -> f64 {
        let t = (size - self.mean) / self.deviation;
        // The normal deviate that is as far out (Wallace, Annals of Mathematical Statistics 30,
        // 1959).
        let freedom = self.freedom;
        let z = (freedom * log1p(t * t / freedom)).sqrt() * (8.0 * freedom + 1.0)
            / (8.0 * freedom + 3.0);
        z.copysign(t)
    }
}

/// The probability that a standard normal number is at least this.
pub(super) fn normal_upper_tail(at: f64) -> f64 {
    0.5 * erfc(at * FRAC_1_SQRT_2)
}

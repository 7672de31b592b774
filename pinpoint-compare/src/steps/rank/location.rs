//! Where a change is, at the moment of its alarm.

use super::scan::Scan;

/// The drop of the profile log likelihood at the ends of an interval. The likelihood is asked right
/// after an alarm, when it favors early luck, so the usual 1.92 is too small; by simulation, this
/// holds changes of 1 to 4 deviations in at least 95 %.
const DROP: f64 = 3.2;

/// Places of less probability than this are left out of a posterior.
const LEAST_PROBABILITY: f64 = 1e-4;

/// Splits of a window, by the number of values after them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Located {
    /// The likeliest number of values since the change.
    pub(super) after: usize,
    /// The most and the least number in the interval.
    pub(super) most: usize,
    pub(super) least: usize,
    /// Probabilities, from the oldest place to the newest; they add up to 1.
    pub(super) posterior: Vec<(usize, f64)>,
}

/// The profile log likelihood of a split after `left` of the values, over the means and the
/// deviation of both sides: −n/2 · ln(SSE).
pub(super) fn profile(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let count = n as f64;
    let total: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    let mut sum = 0.0;
    let sides = values.iter().enumerate().take(n - 1).map(|(i, value)| {
        sum += value;
        let (left, right) = ((i + 1) as f64, (n - i - 1) as f64);
        let rest = total - sum;
        let within = squares - sum * sum / left - rest * rest / right;
        -count / 2.0 * libm::log(within.max(f64::MIN_POSITIVE))
    });
    sides.collect()
}

/// Locates the change of the location or, if `sizes`, of the spread.
pub(super) fn locate(scan: &Scan, sizes: bool) -> Located {
    let values: Vec<f64> = if sizes {
        scan.whitened().iter().map(|v| v.abs()).collect()
    } else {
        scan.whitened().to_vec()
    };
    let n = values.len();
    let profile = profile(&values);
    let most = profile.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = profile.iter().map(|l| libm::exp(l - most)).collect();
    let sum: f64 = weights.iter().sum();
    let best = profile.iter().position(|&l| l == most).unwrap_or(0);
    let inside = |&(_, l): &(usize, &f64)| *l >= most - DROP;
    let first = profile.iter().enumerate().find(inside);
    let last = profile.iter().enumerate().rfind(inside);
    let after = |split: usize| n - 1 - split;
    let kept = weights.iter().enumerate();
    let kept: Vec<_> = kept
        .map(|(split, weight)| (after(split), weight / sum))
        .filter(|(_, p)| *p >= LEAST_PROBABILITY)
        .collect();
    let total: f64 = kept.iter().map(|(_, p)| p).sum();
    Located {
        after: after(best),
        most: after(first.map_or(best, |it| it.0)),
        least: after(last.map_or(best, |it| it.0)),
        posterior: kept.into_iter().map(|(k, p)| (k, p / total)).collect(),
    }
}

//! A drift told from a step, and a step that came back.

use super::location::profile;
use super::scan::{Scan, slope};

/// A step must explain the scores better than a line by this much of the log likelihood, or else the
/// change is a drift: of 1,000 values of a drift of 0.02 deviations a value, fewer than one is then
/// reported as a step.
const STEP_OVER_LINE: f64 = 1.1;

/// A line is there for as long as it explains this much.
const LINE_OVER_NOTHING: f64 = 6.0;

fn of_line(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let slope = slope(values);
    let explained = slope * slope * n * (n * n - 1.0) / 12.0;
    let likelihood = |within: f64| -n / 2.0 * libm::log(within.max(f64::MIN_POSITIVE));
    (likelihood(squares - explained), likelihood(squares))
}

/// Returns true if a line explains the scores about as well as the best step.
pub(super) fn is_drift(scan: &Scan) -> bool {
    let (line, _) = of_line(scan.whitened());
    let step = profile(scan.whitened());
    let step = step.into_iter().fold(f64::NEG_INFINITY, f64::max);
    step - line < STEP_OVER_LINE
}

/// Returns true if values with these ranks still follow a line.
pub(super) fn still_drifts(ranks: &[u8]) -> bool {
    let ranks: Vec<f64> = ranks.iter().map(|&rank| f64::from(rank)).collect();
    let (line, nothing) = of_line(&ranks);
    line - nothing > LINE_OVER_NOTHING
}

/// The least statistic by which the newest values differ from those since the change.
const BACK: f64 = 2.7;
/// The largest statistic by which they differ from those before it.
const SAME: f64 = 1.5;
/// The fewest and the most of the newest values that are asked.
const FEWEST: usize = 4;
const MOST: usize = 12;

/// Returns the number of newest values that are back where the values before a change were, if
/// there are some: by the Mann-Whitney statistic they differ from those since the change, on the
/// other side, and not from those before.
pub(super) fn came_back(before: &[f64], since: &[f64], rose: bool) -> Option<usize> {
    let most = MOST.min(since.len().saturating_sub(FEWEST));
    (FEWEST..=most).find(|&m| {
        let (change, newest) = since.split_at(since.len() - m);
        let against = standardized(change, newest);
        let against = if rose { -against } else { against };
        against >= BACK && standardized(before, newest).abs() <= SAME
    })
}

/// The standardized Mann-Whitney statistic, corrected for ties; positive if `y` tends to be larger.
pub(super) fn standardized(x: &[f64], y: &[f64]) -> f64 {
    let mut sorted = [x, y].concat();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| group.len() as f64)
        .map(|t| t * t * t - t)
        .sum();
    let (k, m) = (x.len() as f64, y.len() as f64);
    let variance = k * m / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    let apart = k * m / 2.0 * dominance(x, y);
    if variance > 0.0 {
        apart / variance.sqrt()
    } else {
        0.0
    }
}

/// P(y > x) − P(y < x), from −1 to 1 (Cliff's delta).
pub(super) fn dominance(x: &[f64], y: &[f64]) -> f64 {
    let mut sum = 0_i64;
    for a in x {
        for b in y {
            sum += i64::from(b > a) - i64::from(b < a);
        }
    }
    sum as f64 / (x.len().max(1) * y.len().max(1)) as f64
}

//! The thresholds between same, unknown and different.

use std::sync::OnceLock;

use crate::mann_whitney::pinpoint_p;
use crate::pooled::Pooled;
use crate::thresholds_table::{PERFORMANCE, STANDARD_ERROR};

/// p at most this: different.
pub const LOW_THRESHOLD: f64 = 0.05;

/// The share of true differences a high threshold may miss.
pub const FALSE_NEGATIVE_RATE: f64 = 0.01;

/// Row and column of a table: rows step by 0.1 from `first` tenths, `rows` of
/// them; both ends and the last entry of a row hold beyond the table.
fn entry<T: Copy>(
    rows: &[impl AsRef<[T]>],
    first: i64,
    magnitude: f64,
    sample_size: usize,
) -> Option<T> {
    // A cast saturates, so that infinity takes the last row.
    let row = ((magnitude * 10.0) as i64).clamp(first, first + rows.len() as i64 - 1) - first;
    let row = rows.get(row as usize)?.as_ref();
    let column = sample_size.clamp(1, row.len().max(1)) - 1;
    row.get(column).copied()
}

/// The high threshold of a performance comparison: p above it means same.
///
/// `magnitude` in interquartile ranges, `sample_size` a side. Rows step by 0.1 from 0.3 to 4.0
/// (rounded down); both ends and the last entry of a row hold beyond.
///
/// The entry is the 99th percentile of Mann-Whitney's p between two samples of that size from
/// normal distributions at that distance, rounded up to four digits, so that a true difference is
/// missed once in a hundred times. It was simulated with `examples/thresholds.rs`: 2²² replicates
/// for magnitudes 0.3 and 0.4, 2²⁴ for the others.
///
/// ```
/// use pinpoint_compare::high_threshold_performance;
///
/// // Two values a side can hardly tell anything: p has two values only.
/// assert_eq!(high_threshold_performance(0.3, 2), 0.6986);
/// assert!(high_threshold_performance(1.0, 30) < 0.05);
/// ```
pub fn high_threshold_performance(magnitude: f64, sample_size: usize) -> f64 {
    let ten_thousandths =
        entry::<u16>(&PERFORMANCE, 3, tame(magnitude), sample_size).unwrap_or(10_000);
    f64::from(ten_thousandths) / 10_000.0
}

/// The Monte-Carlo standard error of [`high_threshold_performance`], before it was rounded up: half
/// the difference of the p-values one standard error of the rank to either side. 0 where both
/// p-values are equal.
pub fn high_threshold_standard_error(magnitude: f64, sample_size: usize) -> f64 {
    f64::from(entry::<f32>(&STANDARD_ERROR, 3, tame(magnitude), sample_size).unwrap_or(0.0))
}

/// The high threshold of a functional comparison: p above it means same.
///
/// Computed from its definition: of `sample_size` runs that fail with probability
/// `error_rate`, at least k fail in 99 of 100 cases, k being the 1 % quantile of the
/// binomial distribution. The threshold is Mann-Whitney's p of no failure against k,
/// rounded up to four digits. Rates step by 0.1 from 0.1 to 1.0 (rounded down); a
/// row ends with its first entry below 0.01, which holds beyond.
///
/// ```
/// use pinpoint_compare::high_threshold_functional;
///
/// assert_eq!(high_threshold_functional(1.0, 5), 0.004);
/// assert_eq!(high_threshold_functional(0.5, 1), 1.0);
/// ```
pub fn high_threshold_functional(error_rate: f64, sample_size: usize) -> f64 {
    static ROWS: OnceLock<Vec<Vec<f64>>> = OnceLock::new();
    let rows = ROWS.get_or_init(|| (1..=10).map(functional_row).collect());
    entry(rows, 1, tame(error_rate), sample_size).unwrap_or(1.0)
}

fn tame(magnitude: f64) -> f64 {
    if magnitude.is_nan() {
        0.0
    } else {
        magnitude.abs()
    }
}

/// One row, up to and with the first entry below 0.01.
fn functional_row(tenths: u32) -> Vec<f64> {
    let rate = f64::from(tenths) / 10.0;
    let mut row = Vec::new();
    loop {
        let n = row.len() + 1;
        let p = functional_p(n, binomial_quantile(n, rate, FALSE_NEGATIVE_RATE));
        row.push(round_up(p));
        if p < 0.01 {
            return row;
        }
    }
}

/// p of n successes against n - failures successes and `failures` failures.
fn functional_p(n: usize, failures: usize) -> f64 {
    let (zeros, ones) = ((2 * n - failures) as u128, failures as u128);
    let pooled = Pooled {
        n1: n,
        n2: n,
        // Each failure loses to no control, each success ties with all.
        twice_u1: (n as u128) * (n - failures) as u128,
        ties: zeros * zeros * zeros - zeros + ones * ones * ones - ones,
        distance: (failures * n) as u128,
    };
    pinpoint_p(&pooled)
}

/// The smallest k with P(B <= k) >= p for B binomial with n trials.
fn binomial_quantile(n: usize, rate: f64, p: f64) -> usize {
    if rate >= 1.0 {
        return n;
    }
    // The chance of k failures, term by term from (1 - rate)^n.
    let odds = rate / (1.0 - rate);
    let mut chance = libm::pow(1.0 - rate, n as f64);
    let mut sum = chance;
    let mut k = 0;
    // The f64 nearest to 0.9 lies above it, so that P(B = 0) of two trials is just below 0.01, and
    // one failure is the quantile. No slack: it would give no failures.
    while sum < p && k < n {
        chance *= odds * (n - k) as f64 / (k + 1) as f64;
        k += 1;
        sum += chance;
    }
    k
}

/// Rounds up to four digits after the point.
fn round_up(p: f64) -> f64 {
    // A value that has four digits except for rounding keeps them.
    (p * 10_000.0 - 1e-9).ceil() / 10_000.0
}

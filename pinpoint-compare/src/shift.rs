//! The Hodges-Lehmann shift between two samples.

use crate::error::CompareError;
use crate::mann_whitney::count_u;
use crate::normal::upper_quantile;
use crate::scratch::Scratch;
use crate::select::Sums;
use crate::sorted::{check_finite, check_level, check_not_empty, midpoint, sort_into, value};
use crate::types::Interval;

/// Result of [`hodges_lehmann`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Shift {
    /// The median of all differences treatment - control.
    pub estimate: f64,
    /// Its confidence interval; absent when the samples are too small for the level.
    pub interval: Option<Interval>,
    /// The requested level.
    pub confidence: f64,
}

/// The Hodges-Lehmann estimate of the shift from control to treatment, with its confidence
/// interval, in the units of the samples.
///
/// # Formula
///
/// The median of all n·m differences treatmentⱼ - controlᵢ. The interval runs from the k-th
/// smallest to the k-th largest of them, where k is the largest rank with P(U <= k - 1) <= (1 -
/// confidence)/2 (Hodges & Lehmann 1963; Moses). U's distribution is exact for n·m <= 400 and
/// normal with continuity correction beyond; ties only make the interval wider than necessary.
///
/// # Assumptions
///
/// Independent values; the interval also that the treatment's distribution is the control's,
/// shifted.
///
/// # Errors
///
/// [`CompareError::Empty`], [`CompareError::NotFinite`], [`CompareError::NotALevel`], and
/// [`CompareError::Overflow`] when the shift leaves the range of `f64`.
///
/// # Cost
///
/// O((n + m)·log(n + m)) and O(n + m) memory: the differences are never stored.
///
/// # Example
///
/// ```
/// use pinpoint_compare::hodges_lehmann;
///
/// let control: Vec<f64> = (0..20).map(f64::from).collect();
/// let treatment: Vec<f64> = control.iter().map(|v| v + 3.0).collect();
/// let shift = hodges_lehmann(&control, &treatment, 0.95)?;
/// assert_eq!(shift.estimate, 3.0);
/// assert!(shift.interval.is_some_and(|i| i.contains(3.0) && i.contains(0.0)));
/// // Two values cannot give an interval at that level.
/// assert_eq!(hodges_lehmann(&[1.0], &[2.0], 0.95)?.interval, None);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn hodges_lehmann(
    control: &[f64],
    treatment: &[f64],
    confidence: f64,
) -> Result<Shift, CompareError> {
    hodges_lehmann_with(control, treatment, confidence, &mut Scratch::new())
}

/// [`hodges_lehmann`] with memory to reuse.
pub fn hodges_lehmann_with(
    control: &[f64],
    treatment: &[f64],
    confidence: f64,
    scratch: &mut Scratch,
) -> Result<Shift, CompareError> {
    check_not_empty("control", control)?;
    check_not_empty("treatment", treatment)?;
    check_finite("control", control)?;
    check_finite("treatment", treatment)?;
    check_level("confidence", confidence)?;
    sort_into(&mut scratch.first, control);
    sort_into(&mut scratch.second, treatment);
    shift_of_sorted("treatment", treatment, confidence, scratch)
}

/// The shift between the sorted samples in `scratch`; `second` is the name and the values of the
/// second sample, for errors.
pub(crate) fn shift_of_sorted(
    argument: &'static str,
    second_sample: &[f64],
    confidence: f64,
    scratch: &mut Scratch,
) -> Result<Shift, CompareError> {
    let Scratch {
        first,
        second,
        a,
        b,
        sums,
        counts,
        ..
    } = scratch;
    a.clear();
    a.extend(first.iter().rev().map(|&k| -value(k)));
    b.clear();
    b.extend(second.iter().map(|&k| value(k)));
    // Differences beyond the range of f64: work at half the scale, where they fit.
    let fits = (a[0] + b[0]).is_finite() && (a[a.len() - 1] + b[b.len() - 1]).is_finite();
    let scale = if fits { 1.0 } else { 2.0 };
    if !fits {
        a.iter_mut().chain(b.iter_mut()).for_each(|v| *v /= 2.0);
    }
    let differences = Sums::new(a, b);
    let count = differences.len();
    let middle = (count.div_ceil(2), count / 2 + 1);
    let rank = interval_rank(a.len(), b.len(), (1.0 - confidence) / 2.0, counts);
    let (low, high) = (rank.unwrap_or(1), count + 1 - rank.unwrap_or(1));
    let [low, (lower, upper), high] = differences.nth([(low, low), middle, (high, high)], sums);
    let estimate = midpoint(lower, upper) * scale;
    if !estimate.is_finite() {
        return Err(overflow(argument, second_sample));
    }
    let interval = rank.map(|_| Interval {
        low: low.0 * scale,
        high: high.0 * scale,
    });
    Ok(Shift {
        estimate: estimate + 0.0,
        interval,
        confidence,
    })
}

/// Blames the value of the largest magnitude.
pub(crate) fn overflow(argument: &'static str, values: &[f64]) -> CompareError {
    let largest = |best: usize, i: usize| {
        if values[i].abs() > values[best].abs() {
            i
        } else {
            best
        }
    };
    CompareError::Overflow {
        argument,
        index: (0..values.len()).fold(0, largest),
    }
}

/// The rank k of the interval's lower end among the differences: the largest k with P(U <= k - 1)
/// <= tail, so that [D(k), D(nm+1-k)] covers the shift with probability 1 - 2·tail. `None` when
/// even k = 1 does not.
fn interval_rank(n: usize, m: usize, tail: f64, counts: &mut Vec<u128>) -> Option<u64> {
    let pairs = n as u128 * m as u128;
    let rank = if pairs <= 400 {
        exact_rank(n.min(m), n.max(m), tail, counts)
    } else {
        let deviation = (pairs as f64 * ((n as f64 + m as f64 + 1.0) / 12.0)).sqrt();
        // P(U <= k - 1) is taken as Φ((k - 1/2 - nm/2) / sd).
        let rank = (pairs as f64 / 2.0 + 0.5 - upper_quantile(tail) * deviation).floor();
        if rank >= 1.0 { rank as u64 } else { 0 }
    };
    (rank >= 1).then(|| rank.min((pairs as u64).div_ceil(2)))
}

fn exact_rank(n: usize, m: usize, tail: f64, counts: &mut Vec<u128>) -> u64 {
    // Counts of U up to the middle; for n·m <= 400 they are below C(401, 1) or
    // C(40, 20), far within range.
    count_u(n, m, n * m / 2, counts);
    let total = (0..n).fold(1_u128, |product, i| {
        product * (n + m - i) as u128 / (i as u128 + 1)
    }) as f64;
    let mut below = 0_u128;
    let mut rank = 0;
    for &count in counts.iter() {
        below += count;
        if below as f64 / total > tail {
            break;
        }
        rank += 1;
    }
    rank
}

/// The median of a sample: of an even number of values the mean of the middle
/// two. `None` for an empty sample and for one with a NaN.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return None;
    }
    if let [value] = values {
        return Some(value + 0.0);
    }
    let mut copy: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
    let middle = copy.len() / 2;
    let odd = copy.len() % 2 == 1;
    let (below, upper, _) = copy.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(if lower == upper {
        upper
    } else {
        midpoint(lower, upper)
    })
}

//! The Wilcoxon signed-rank test, paired and for one sample.

use crate::error::CompareError;
use crate::pooled::Pooled;
use crate::scratch::Scratch;
use crate::select::Sums;
use crate::signed_ranks::{
    COUNTED_BELOW, asymptotic_p, cumulative, distribution, exact_p, interval_rank, share_up_to,
};
use crate::sorted::{check_finite, check_level, check_not_empty, key, midpoint, value};
use crate::tied::{last_place, rounding_half_width, tie_magnitudes};
use crate::types::{Alternative, Interval, Method};

/// Result of [`wilcoxon`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Wilcoxon {
    /// V: the sum of the ranks of the positive differences.
    pub statistic: f64,
    /// The p-value; 1 when every difference is zero. Absent only then, and only from
    /// [`wilcoxon_pinpoint`](crate::wilcoxon_pinpoint).
    pub p_value: Option<f64>,
    /// The method used: [`Method::Exact`] or [`Method::Asymptotic`].
    pub method: Method,
    /// The pseudomedian: the median of the Walsh averages of the differences. From
    /// [`wilcoxon_pinpoint`](crate::wilcoxon_pinpoint), of those other than zero, and absent when
    /// all are zero.
    pub estimate: Option<f64>,
    /// The confidence interval of the pseudomedian; absent when the differences are too few to
    /// bound it at all.
    pub interval: Option<Interval>,
    /// The requested level.
    pub confidence: f64,
    /// The level of the interval, which is lower than the requested one where so few differences
    /// can't reach that: 0.75 for three. Absent without an interval.
    pub achieved_confidence: Option<f64>,
    /// The number of differences that are not zero.
    pub nonzero: usize,
}

/// Wilcoxon's signed-rank test of one sample (`y` is `None`) or of paired samples.
///
/// # Hypothesis
///
/// The differences d = x - y (or x itself) are symmetric about 0. `alternative` says where they lie
/// otherwise: [`Alternative::Less`] below 0.
///
/// # Assumptions
///
/// Independent differences with a symmetric distribution, which need not be continuous: whole
/// milliseconds and counts tie, and everything below holds for them, too.
///
/// # Formula
///
/// *p-value.* Zeros drop out, leaving n differences. V is the sum of the ranks of |d| (mean ranks
/// for ties) over d > 0. For n < 50 p is exact: given the magnitudes, all 2ⁿ signs are equally
/// likely, and those are counted. Beyond, z = (V - n(n+1)/4 ± 1/2) / sqrt(n(n+1)(2n+1)/24 -
/// Σ(t³-t)/48) is taken as normal.
///
/// *Estimate.* The pseudomedian, the median of the N(N+1)/2 Walsh averages (dᵢ + dⱼ)/2 of all N
/// differences, zeros included.
///
/// *Interval.* From the k-th smallest to the k-th largest Walsh average, where k is the largest
/// rank with P(V <= k - 1) <= (1 - confidence)/2 and V the sum of a random subset of 1..=N (by the
/// normal approximation from N = 50 on). It covers the center of symmetry with at least that
/// confidence, and ties only make it wider than necessary (Noether 1967). Where even k = 1 excludes
/// more, it is the widest possible, with its own level in
/// [`achieved_confidence`](Wilcoxon::achieved_confidence).
///
/// *Ties.* Where ties make both ends one value, the interval is not a point. It reaches at least
/// halfway to the neighboring Walsh averages and to 0, and has at least the width of rounding:
/// values are known to half a unit in the last decimal place that any of them has, and the sum of
/// two such errors has a triangular distribution. It excludes 0 as the point did. Differences of
/// paired values that are equal except for the rounding of floats are ties.
///
/// Source: Wilcoxon 1945; Hollander & Wolfe, *Nonparametric Statistical Methods*, 1999, 3.1-3.3;
/// Pratt & Gibbons, *Concepts of Nonparametric Theory*, 1981, 3.7; Streitberg & Röhmel 1986 for
/// counting with ties.
///
/// # Errors
///
/// [`CompareError::Empty`], [`CompareError::NotFinite`], [`CompareError::LengthsDiffer`],
/// [`CompareError::Overflow`] when x - y leaves the range of `f64`, and [`CompareError::NotALevel`]
/// for a confidence outside (0, 1).
///
/// # Cost
///
/// O(N log N) time, O(N) memory; with ties, and fewer than 50 differences, O(N³) additions. The
/// distribution without ties is computed once per process for each N.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Alternative, Interval, Method, wilcoxon};
///
/// let after = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
/// let before = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
/// let result = wilcoxon(&after, Some(&before), Alternative::Greater, 0.95)?;
/// assert_eq!((result.statistic, result.method), (40.0, Method::Exact));
/// assert!((result.p_value.unwrap() - 0.01953125).abs() < 1e-12);
///
/// // Three pairs can't reach 95 %.
/// let few = wilcoxon(&[3.0, 1.0, 2.0], Some(&[1.0, 2.0, 3.0]), Alternative::TwoSided, 0.95)?;
/// assert_eq!(few.estimate, Some(-0.25));
/// assert_eq!(few.interval, Some(Interval { low: -1.0, high: 2.0 }));
/// assert_eq!(few.achieved_confidence, Some(0.75));
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
///
/// See [`wilcoxon_with`] for the variant that reuses memory.
pub fn wilcoxon(
    x: &[f64],
    y: Option<&[f64]>,
    alternative: Alternative,
    confidence: f64,
) -> Result<Wilcoxon, CompareError> {
    wilcoxon_with(x, y, alternative, confidence, &mut Scratch::new())
}

/// [`wilcoxon`] with memory to reuse.
pub fn wilcoxon_with(
    x: &[f64],
    y: Option<&[f64]>,
    alternative: Alternative,
    confidence: f64,
    scratch: &mut Scratch,
) -> Result<Wilcoxon, CompareError> {
    differences_of(x, y, confidence, &mut scratch.a)?;
    let second = y.unwrap_or_default();
    let rounding = Rounding {
        // One sample is used directly.
        of_floats: if second.is_empty() {
            0.0
        } else {
            rounding_of_floats(largest(x).max(largest(second)))
        },
        half_unit: &|confidence| rounding_half_width(last_place(&[x, second]), confidence),
    };
    Ok(signed_rank(alternative, confidence, rounding, scratch))
}

/// Puts x - y, or x, into `differences`.
pub(crate) fn differences_of(
    x: &[f64],
    y: Option<&[f64]>,
    confidence: f64,
    differences: &mut Vec<f64>,
) -> Result<(), CompareError> {
    check_not_empty("x", x)?;
    check_finite("x", x)?;
    check_level("confidence", confidence)?;
    differences.clear();
    let Some(y) = y else {
        differences.extend_from_slice(x);
        return Ok(());
    };
    check_finite("y", y)?;
    check_lengths("x", x, "y", y)?;
    differences.extend(x.iter().zip(y).map(|(x, y)| x - y));
    match differences.iter().position(|d| !d.is_finite()) {
        Some(index) => Err(CompareError::Overflow {
            argument: "x",
            index,
        }),
        None => Ok(()),
    }
}

pub(crate) fn check_lengths(
    first_name: &'static str,
    first: &[f64],
    second_name: &'static str,
    second: &[f64],
) -> Result<(), CompareError> {
    let (n, m) = (first.len(), second.len());
    if n == m {
        return Ok(());
    }
    let argument = if n > m { first_name } else { second_name };
    Err(CompareError::LengthsDiffer {
        argument,
        index: n.min(m),
        first: n,
        second: m,
    })
}

/// The largest magnitude.
pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, v| most.max(v.abs()))
}

/// The possible error between differences of values up to `magnitude` that are equal on paper: both
/// values are rounded, and so is their difference.
pub(crate) fn rounding_of_floats(magnitude: f64) -> f64 {
    8.0 * f64::EPSILON * magnitude
}

/// The precision of differences.
pub(crate) struct Rounding<'a> {
    /// Magnitudes no farther apart are ties.
    pub(crate) of_floats: f64,
    /// The largest error, with this confidence, of the difference of two values, from their number
    /// of decimals.
    pub(crate) half_unit: &'a dyn Fn(f64) -> f64,
}

/// The test of the differences in `scratch.a`, which are finite.
pub(crate) fn signed_rank(
    alternative: Alternative,
    confidence: f64,
    rounding: Rounding<'_>,
    scratch: &mut Scratch,
) -> Wilcoxon {
    let Scratch {
        first,
        second,
        a,
        sums,
        counts,
        ..
    } = scratch;
    let all = a.len();
    // Magnitudes of negative and of positive differences, each sorted once; the
    // ranks of the magnitudes come from merging the two, the order of the
    // differences from joining them.
    first.clear();
    second.clear();
    for &d in a.iter() {
        if d < 0.0 {
            first.push(key(-d));
        } else if d > 0.0 {
            second.push(key(d));
        }
    }
    first.sort_unstable();
    second.sort_unstable();
    tie_magnitudes(first, second, rounding.of_floats);
    let (negative, positive) = (&first[..], &second[..]);
    let n = negative.len() + positive.len();
    let pooled = Pooled::merge(positive, negative);
    let m = positive.len() as u128;
    // Ranks among the positive magnitudes themselves, and one for every
    // negative magnitude below.
    let twice_v = m * (m + 1) + pooled.twice_u1;
    let statistic = twice_v as f64 / 2.0;
    let (p_value, method) = if n >= COUNTED_BELOW {
        (
            asymptotic_p(statistic, n, pooled.ties, alternative),
            Method::Asymptotic,
        )
    } else if pooled.ties == 0 {
        (exact_p(statistic as usize, n, alternative), Method::Exact)
    } else {
        let ranks = twice_ranks(positive, negative);
        let p = tied_p(twice_v as usize, n, ranks, alternative, counts);
        (p, Method::Exact)
    };

    a.clear();
    a.extend(negative.iter().rev().map(|&k| -value(k)));
    a.extend(std::iter::repeat_n(0.0, all - n));
    a.extend(positive.iter().map(|&k| value(k)));
    let (estimate, interval) = pseudomedian_of(a, alternative, confidence, rounding, sums);
    Wilcoxon {
        statistic,
        p_value: Some(p_value),
        method,
        estimate: Some(estimate),
        interval: interval.map(|(interval, _)| interval),
        confidence,
        achieved_confidence: interval.map(|(_, achieved)| achieved),
        nonzero: n,
    }
}

/// Twice the rank of each magnitude of two sorted lists among all of them; the mean rank for ties.
fn twice_ranks(one: &[u64], other: &[u64]) -> impl Iterator<Item = usize> {
    let (mut i, mut j) = (0, 0);
    let (mut rank, mut left) = (0, 0);
    std::iter::from_fn(move || {
        if left == 0 {
            let magnitude = match (one.get(i), other.get(j)) {
                (Some(a), Some(b)) => a.min(b),
                (Some(a), None) => a,
                (None, Some(b)) => b,
                (None, None) => return None,
            };
            let equal = |list: &[u64]| list.iter().take_while(|it| *it == magnitude).count();
            let (from_one, from_other) = (equal(&one[i..]), equal(&other[j..]));
            let below = i + j;
            left = from_one + from_other;
            rank = 2 * below + left + 1;
            (i, j) = (i + from_one, j + from_other);
        }
        left -= 1;
        Some(rank)
    })
}

/// The p-value by counting the signs of n magnitudes with ties.
fn tied_p(
    twice_v: usize,
    n: usize,
    ranks: impl Iterator<Item = usize>,
    alternative: Alternative,
    counts: &mut Vec<u128>,
) -> f64 {
    // V and top - V have the same distribution.
    let top = n * (n + 1);
    match alternative {
        Alternative::Less => share_up_to(ranks, twice_v, counts),
        Alternative::Greater => share_up_to(ranks, top - twice_v, counts),
        Alternative::TwoSided => {
            let smaller = twice_v.min(top - twice_v);
            (2.0 * share_up_to(ranks, smaller, counts)).min(1.0)
        }
    }
}

/// The pseudomedian of sorted differences, and its interval with the confidence that it reaches.
fn pseudomedian_of(
    a: &mut [f64],
    alternative: Alternative,
    confidence: f64,
    rounding: Rounding<'_>,
    sums: &mut Vec<f64>,
) -> (f64, Option<(Interval, f64)>) {
    let n = a.len();
    // Where sums of two would overflow, everything works at half scale.
    let halved = a[0] < -f64::MAX / 2.0 || a[n - 1] > f64::MAX / 2.0;
    if halved {
        a.iter_mut().for_each(|d| *d /= 2.0);
    }
    let divisor = if halved { 1.0 } else { 2.0 };
    let sides = if alternative == Alternative::TwoSided {
        2.0
    } else {
        1.0
    };
    let wanted = interval_rank(n, (1.0 - confidence) / sides);
    let rank = wanted.max(1);
    let achieved = if n < COUNTED_BELOW {
        let outside = cumulative(distribution(n), n * (n + 1) / 2, rank as usize - 1);
        1.0 - sides * outside
    } else {
        // The first Walsh average excludes two sides of 2⁻ⁿ, regardless of the approximation.
        confidence.min(1.0 - sides * libm::exp2(-(n as f64)))
    };
    let walsh = Sums::within(a);
    let count = walsh.len();
    let middle = (count.div_ceil(2), count / 2 + 1);
    let opposite = count + 1 - rank;
    let [low, (lower, upper), high] = walsh.nth([(rank, rank), middle, (opposite, opposite)], sums);
    let estimate = midpoint(lower / divisor, upper / divisor) + 0.0;
    let closed = Interval {
        low: low.0 / divisor,
        high: high.0 / divisor,
    };
    let interval = match alternative {
        Alternative::Less => Interval {
            low: f64::NEG_INFINITY,
            ..closed
        },
        Alternative::Greater => Interval {
            high: f64::INFINITY,
            ..closed
        },
        Alternative::TwoSided if closed.low < closed.high => closed,
        // So few differences, all of them equal, bound nothing.
        Alternative::TwoSided if wanted == 0 => return (estimate, None),
        Alternative::TwoSided => {
            let (below, above) = walsh.neighbors(low.0);
            widened(
                closed.low,
                below.map(|sum| sum / divisor),
                above.map(|sum| sum / divisor),
                (rounding.half_unit)(achieved),
            )
        }
    };
    (estimate, Some((interval, achieved)))
}

/// The interval about a point, given its neighbors among the Walsh averages, where values are known
/// to `half`. It is as wide as both require, and does not reach 0 if the point is not 0.
fn widened(point: f64, below: Option<f64>, above: Option<f64>, half: f64) -> Interval {
    Interval {
        low: low_end(point, below, half),
        high: -low_end(-point, above.map(|above| -above), half),
    }
}

fn low_end(point: f64, below: Option<f64>, half: f64) -> f64 {
    let toward = |below: f64| midpoint(below.max(if point > 0.0 { 0.0 } else { below }), point);
    let rounded = point - half;
    if point > 0.0 && rounded <= 0.0 {
        toward(below.unwrap_or(0.0))
    } else {
        rounded.min(below.map_or(point, toward))
    }
}

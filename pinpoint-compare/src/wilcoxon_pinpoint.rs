//! The signed-rank test in the form of Pinpoint's published decisions, which is R's.
//!
//! Zeros drop out of everything, and with zeros or ties p-value and interval use the normal
//! approximation. For continuous values that is as good as [`wilcoxon`](crate::wilcoxon). For tied
//! values it is worse: p can be smaller than any that the signs allow, and the interval can exclude
//! its own estimate. It exists to compare decisions with Pinpoint's.

use crate::error::CompareError;
use crate::normal::upper_quantile;
use crate::pooled::Pooled;
use crate::scratch::Scratch;
use crate::select::Sums;
use crate::signed_ranks::{
    asymptotic_p, cumulative, distribution, exact_p, quantile, signed_rank_deviation,
};
use crate::sorted::{key, midpoint, value};
use crate::types::{Alternative, Interval, Method};
use crate::wilcoxon::{Wilcoxon, differences_of};

/// Wilcoxon's signed-rank test of one sample (`y` is `None`) or of paired samples, as in R's
/// `wilcox.test` and Pinpoint's published decisions.
///
/// # Formula
///
/// Zeros drop out, leaving n differences. V is the sum of the ranks of |d| (mean ranks for ties)
/// over d > 0. For n < 50 without ties or zeros p is exact: V is distributed as the sum of a random
/// subset of 1..=n. Otherwise z = (V - n(n+1)/4 ± 1/2) / sqrt(n(n+1)(2n+1)/24 - Σ(t³-t)/48) is
/// taken as normal. When all differences are zero, estimate, interval and, in the two-sided test,
/// p-value are absent.
///
/// The estimate is the pseudomedian of the differences other than zero, and the ends of its
/// interval are Walsh averages, too: those whose ranks are quantiles of V. For the asymptotic case
/// R looks for the root of a step function; here the step is found by counting, exactly. A level
/// out of reach of a tiny sample is lowered as R does, and the one reached is reported. With two or
/// three tied values the interval can exclude the estimate, as R's.
///
/// Source: R 4.2, `wilcox.test`; Hollander & Wolfe, *Nonparametric Statistical Methods*, 1999,
/// 3.1-3.3; Bauer 1972 for the interval.
///
/// # Errors
///
/// As of [`wilcoxon`](crate::wilcoxon).
///
/// # Cost
///
/// O(n log n) time, O(n) memory.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Alternative, wilcoxon, wilcoxon_pinpoint};
///
/// // Five equal differences: all five signs agree in 2 of 32 cases.
/// let differences = [1.0; 5];
/// let exact = wilcoxon(&differences, None, Alternative::TwoSided, 0.95)?.p_value;
/// let published = wilcoxon_pinpoint(&differences, None, Alternative::TwoSided, 0.95)?.p_value;
/// assert_eq!(exact, Some(0.0625));
/// assert!(published.is_some_and(|p| p < 0.04));
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn wilcoxon_pinpoint(
    x: &[f64],
    y: Option<&[f64]>,
    alternative: Alternative,
    confidence: f64,
) -> Result<Wilcoxon, CompareError> {
    let mut scratch = Scratch::new();
    differences_of(x, y, confidence, &mut scratch.a)?;
    Ok(signed_rank(alternative, confidence, &mut scratch))
}

/// The test of the differences in `scratch.a`, which are finite.
pub(crate) fn signed_rank(
    alternative: Alternative,
    confidence: f64,
    scratch: &mut Scratch,
) -> Wilcoxon {
    let Scratch {
        first,
        second,
        a,
        sums,
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
    let (negative, positive) = (&first[..], &second[..]);
    let n = negative.len() + positive.len();
    if n == 0 {
        return Wilcoxon {
            statistic: 0.0,
            p_value: (alternative != Alternative::TwoSided).then_some(1.0),
            method: Method::Asymptotic,
            estimate: None,
            interval: None,
            confidence,
            achieved_confidence: None,
            nonzero: 0,
        };
    }
    let pooled = Pooled::merge(positive, negative);
    let m = positive.len() as u128;
    // Ranks among the positive magnitudes themselves, and one for every
    // negative magnitude below.
    let statistic = (m * (m + 1) + pooled.twice_u1) as f64 / 2.0;
    let exact = n < 50 && n == all && pooled.ties == 0;

    a.clear();
    a.extend(negative.iter().rev().map(|&k| -value(k)));
    a.extend(positive.iter().map(|&k| value(k)));

    let (p_value, method) = if exact {
        (exact_p(statistic as usize, n, alternative), Method::Exact)
    } else {
        (
            asymptotic_p(statistic, n, pooled.ties, alternative),
            Method::Asymptotic,
        )
    };
    let (estimate, interval, achieved_confidence) =
        shift_with_interval(a, sums, exact, alternative, confidence);
    Wilcoxon {
        statistic,
        p_value: Some(p_value),
        method,
        estimate: Some(estimate),
        interval,
        confidence,
        achieved_confidence,
        nonzero: n,
    }
}

/// The Hodges-Lehmann estimate from sorted differences, none of which is 0, with its
/// interval and the confidence of that.
fn shift_with_interval(
    a: &mut [f64],
    sums: &mut Vec<f64>,
    exact: bool,
    alternative: Alternative,
    confidence: f64,
) -> (f64, Option<Interval>, Option<f64>) {
    let n = a.len();
    // Where sums of two would overflow, everything works at half scale.
    let halved = a[0] < -f64::MAX / 2.0 || a[n - 1] > f64::MAX / 2.0;
    if halved {
        a.iter_mut().for_each(|d| *d /= 2.0);
    }
    let walsh = WalshAverages::new(a, if halved { 1.0 } else { 2.0 });
    let limits = if exact {
        exact_limits(n, alternative, confidence)
    } else {
        asymptotic_limits(a, alternative, confidence)
    };
    let count = walsh.sums.len();
    let rank = |end: Option<End>| match end {
        Some(End::Walsh(rank)) => rank.clamp(1, count),
        // Not needed: the middle is looked for in any case.
        Some(End::Median) | None => count.div_ceil(2),
    };
    let ends = limits.map_or((None, None), |l| (l.low, l.high));
    let (low_rank, high_rank) = (rank(ends.0), rank(ends.1));
    let middle = (count.div_ceil(2), count / 2 + 1);
    let [low, (lower, upper), high] = walsh
        .sums
        .nth([(low_rank, low_rank), middle, (high_rank, high_rank)], sums);
    let estimate = midpoint(lower / walsh.divisor, upper / walsh.divisor);
    let resolve = |end: Option<End>, found: (f64, f64), open: f64| match end {
        None => open,
        Some(End::Walsh(_)) => found.0 / walsh.divisor,
        Some(End::Median) => median_of_sorted(a) * (2.0 / walsh.divisor),
    };
    let interval = limits.map(|_| Interval {
        low: resolve(ends.0, low, f64::NEG_INFINITY),
        high: resolve(ends.1, high, f64::INFINITY),
    });
    (estimate, interval, limits.map(|l| l.confidence))
}

/// The Walsh averages (a[i] + a[j]) / 2, i <= j, of ascending values.
struct WalshAverages<'a> {
    sums: Sums<'a>,
    /// The divisor of a sum: 2, or 1 when the values were halved before.
    divisor: f64,
}

impl<'a> WalshAverages<'a> {
    fn new(a: &'a [f64], divisor: f64) -> Self {
        // Values so large that their sums overflow come in halved.
        Self {
            sums: Sums::within(a),
            divisor,
        }
    }
}

/// An end of an interval: a Walsh average of some rank, or the sample median.
#[derive(Debug, Clone, Copy)]
enum End {
    Walsh(u64),
    Median,
}

fn median_of_sorted(a: &[f64]) -> f64 {
    let middle = a.len() / 2;
    if a.len() % 2 == 1 {
        a[middle]
    } else {
        midpoint(a[middle - 1], a[middle])
    }
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    low: Option<End>,
    high: Option<End>,
    confidence: f64,
}

fn exact_limits(n: usize, alternative: Alternative, confidence: f64) -> Option<Limits> {
    let (table, top) = (distribution(n), n * (n + 1) / 2);
    let alpha = 1.0 - confidence;
    let tail = if alternative == Alternative::TwoSided {
        alpha / 2.0
    } else {
        alpha
    };
    let rank = quantile(table, top, tail).max(1);
    let outside = cumulative(table, top, rank - 1);
    let error = if alternative == Alternative::TwoSided {
        2.0 * outside
    } else {
        outside
    };
    let low = End::Walsh(rank as u64);
    let high = End::Walsh((top - rank + 1) as u64);
    Some(Limits {
        low: (alternative != Alternative::Less).then_some(low),
        high: (alternative != Alternative::Greater).then_some(high),
        confidence: (1.0 - error).max(0.0),
    })
}

/// The result of R's root search for the asymptotic interval, solved exactly.
///
/// Between Walsh averages, W(d) = (V(d) - n(n+1)/4 ∓ 1/2) / sd, the corrected
/// z-score of the differences less d, is constant: V(d) is the number of Walsh
/// averages above d, and the ties are those of the differences themselves. Its
/// crossing of the normal quantile is therefore a Walsh average, and its rank
/// follows from the count alone.
fn asymptotic_limits(a: &[f64], alternative: Alternative, confidence: f64) -> Option<Limits> {
    let n = a.len();
    let w_at_min = end_score(a, alternative, true)?;
    let w_at_max = end_score(a, alternative, false)?;
    let deviation = signed_rank_deviation(n, tie_sum(a.iter().copied()));
    let count = (n as u128 * (n as u128 + 1) / 2) as f64;
    let two = alternative == Alternative::TwoSided;
    let mut alpha = 1.0 - confidence;
    let z_of = |alpha: f64| upper_quantile(if two { alpha / 2.0 } else { alpha });
    // A level that the ends of the sample cannot reach is lowered by doubling
    // the error rate.
    loop {
        let fails = match alternative {
            Alternative::TwoSided => w_at_min < z_of(alpha) || w_at_max > -z_of(alpha),
            Alternative::Greater => w_at_min < z_of(alpha),
            // R halves the error rate here although only one side is requested; results for tiny
            // samples follow it.
            Alternative::Less => w_at_max > -upper_quantile(alpha / 2.0),
        };
        if !fails || alpha >= 1.0 {
            break;
        }
        alpha *= 2.0;
    }
    if alpha >= 1.0 {
        return Some(Limits {
            low: (alternative != Alternative::Less).then_some(End::Median),
            high: (alternative != Alternative::Greater).then_some(End::Median),
            confidence: 0.0,
        });
    }
    let z = z_of(alpha);
    // The lower end, where V falls from above to below `level`.
    let rank_at = |level: f64| {
        let rank = (count - level).floor() + 1.0;
        End::Walsh(rank.clamp(1.0, count) as u64)
    };
    let (low_correction, high_correction) = match alternative {
        Alternative::TwoSided => (0.5 * sign(z), -0.5 * sign(z)),
        Alternative::Greater => (0.5, 0.0),
        Alternative::Less => (0.0, -0.5),
    };
    Some(Limits {
        low: (alternative != Alternative::Less)
            .then(|| rank_at(count / 2.0 + low_correction + z * deviation)),
        high: (alternative != Alternative::Greater)
            .then(|| rank_at(count / 2.0 + high_correction - z * deviation)),
        confidence: 1.0 - alpha,
    })
}

fn sign(v: f64) -> f64 {
    if v == 0.0 { 0.0 } else { v.signum() }
}

fn tie_sum(ascending: impl Iterator<Item = f64>) -> u128 {
    let (mut sum, mut run, mut last) = (0_u128, 0_u128, f64::NAN);
    for v in ascending {
        if v == last {
            run += 1;
        } else {
            sum += run * run * run - run;
            run = 1;
            last = v;
        }
    }
    sum + (run * run * run - run)
}

/// The corrected z-score of the values less the smallest (or the largest):
/// those equal to it become zero and drop out. `None` when none are left.
fn end_score(a: &[f64], alternative: Alternative, smallest: bool) -> Option<f64> {
    let end = if smallest { a[0] } else { a[a.len() - 1] };
    let rest = a.iter().copied().filter(|&v| v != end);
    let n = rest.clone().count();
    if n == 0 {
        return None;
    }
    // Subtracting rounds; equal magnitudes after rounding are ties.
    let deviation = signed_rank_deviation(n, tie_sum(rest.map(|v| v - end)));
    let center = (n as u128 * (n as u128 + 1)) as f64 / 4.0;
    let distance = if smallest { center } else { -center };
    let correction = match alternative {
        Alternative::TwoSided => 0.5 * sign(distance),
        Alternative::Greater => 0.5,
        Alternative::Less => -0.5,
    };
    Some((distance - correction) / deviation)
}

//! The Mann-Whitney U test (Wilcoxon's rank-sum test).

use crate::error::CompareError;
use crate::normal::{two_sided, upper_tail};
use crate::pooled::Pooled;
use crate::scratch::Scratch;
use crate::shift::{Shift, shift_of_sorted};
use crate::sorted::{check_finite, check_level, check_not_empty, sort_into};
use crate::types::{Alternative, Method};

/// Result of [`mann_whitney_u`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MannWhitney {
    /// U of the first sample: the pairs with x > y, ties counting half.
    pub statistic: f64,
    /// The p-value.
    pub p_value: f64,
    /// The method used; never [`Method::Auto`].
    pub method: Method,
    /// The rank-biserial correlation 2·U/(n·m) - 1, from -1 (every x below every y) to 1 (every x
    /// above); 0 when neither is larger overall.
    pub rank_biserial: f64,
    /// The Hodges-Lehmann shift from x to y; absent when not requested.
    pub shift: Option<Shift>,
}

/// Options of [`mann_whitney_u_with`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitneyOptions {
    /// The alternative to test for.
    pub alternative: Alternative,
    /// The method of computing p.
    pub method: Method,
    /// The level of the shift's interval; `None` leaves the shift out, which
    /// costs several times the rest.
    pub confidence: Option<f64>,
}

impl Default for MannWhitneyOptions {
    fn default() -> Self {
        Self {
            alternative: Alternative::TwoSided,
            method: Method::Auto,
            confidence: Some(0.95),
        }
    }
}

/// The Mann-Whitney U test of two independent samples, with the effect size and the Hodges-Lehmann
/// shift (from x to y, that is y - x) with its 95 % interval.
///
/// # Hypothesis
///
/// x and y come from one distribution, against one of them tending to larger values.
/// [`Alternative::Less`]: x to smaller ones.
///
/// # Assumptions
///
/// Independent values within and between the samples.
///
/// # Formula
///
/// U counts the pairs with x > y, ties half; n and m are the sizes, N = n + m.
///
/// - [`Method::Asymptotic`]: p = P(Z > z), z = (U - nm/2 - 1/2) / sd with sd² = nm/12 · (N + 1 -
///   Σ(t³-t)/(N(N-1))) over groups of t equal values; doubled and cut at 1 for two sides, with the
///   larger of U and nm - U.
/// - [`Method::Exact`]: without ties the count of arrangements (Mann & Whitney 1947); with ties the
///   permutation distribution of the mean ranks. Two-sided: the smaller tail doubled.
/// - [`Method::Auto`]: SciPy's rule: exact when a sample has at most 8 values and there are no
///   ties, otherwise asymptotic (also when counting is out of reach).
/// - [`Method::Pinpoint`]: two-sided only; as asymptotic, but P(|Z| > |z|). For U = nm/2 the
///   continuity correction makes z negative: [1, 4] against [2, 3] has p = 0.6985 here and 1
///   elsewhere.
///
/// When all values are equal p is 1.
///
/// # Errors
///
/// [`CompareError::Empty`], [`CompareError::NotFinite`]; [`CompareError::TooLarge`] when `Exact` is
/// requested and would take more than about a second; [`CompareError::NoSuchMethod`] for a
/// one-sided `Pinpoint`; [`CompareError::Overflow`] when the shift itself leaves the range of
/// `f64`.
///
/// # Cost
///
/// O(N log N) and O(N) memory; exact without ties O(n·U), with ties O(N·n·nN).
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Alternative, Method, mann_whitney_u};
///
/// let result = mann_whitney_u(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, 7.0], Alternative::TwoSided, Method::Auto)?;
/// assert_eq!((result.statistic, result.method, result.rank_biserial), (0.0, Method::Exact, -1.0));
/// assert!((result.p_value - 2.0 / 35.0).abs() < 1e-15);
/// assert_eq!(result.shift.unwrap().estimate, 3.5);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn mann_whitney_u(
    x: &[f64],
    y: &[f64],
    alternative: Alternative,
    method: Method,
) -> Result<MannWhitney, CompareError> {
    let options = MannWhitneyOptions {
        alternative,
        method,
        ..MannWhitneyOptions::default()
    };
    mann_whitney_u_with(x, y, &options, &mut Scratch::new())
}

/// [`mann_whitney_u`] with all options and with memory to reuse.
pub fn mann_whitney_u_with(
    x: &[f64],
    y: &[f64],
    options: &MannWhitneyOptions,
    scratch: &mut Scratch,
) -> Result<MannWhitney, CompareError> {
    check_not_empty("x", x)?;
    check_not_empty("y", y)?;
    check_finite("x", x)?;
    check_finite("y", y)?;
    if let Some(confidence) = options.confidence {
        check_level("confidence", confidence)?;
    }
    sort_into(&mut scratch.first, x);
    sort_into(&mut scratch.second, y);
    let pooled = Pooled::merge(&scratch.first, &scratch.second);
    let alternative = options.alternative;
    let (p_value, method) = match options.method {
        Method::Pinpoint => {
            if alternative != Alternative::TwoSided {
                return Err(CompareError::NoSuchMethod {
                    argument: "method",
                    test: "the one-sided Mann-Whitney test",
                    method: "pinpoint",
                });
            }
            (pinpoint_p(&pooled), Method::Pinpoint)
        }
        Method::Asymptotic => (asymptotic_p(&pooled, alternative), Method::Asymptotic),
        Method::Exact => (exact_p(&pooled, alternative, scratch)?, Method::Exact),
        Method::Auto => {
            let small = pooled.n1.min(pooled.n2) <= 8 && pooled.ties == 0;
            match small.then(|| exact_p(&pooled, alternative, scratch)) {
                Some(Ok(p)) => (p, Method::Exact),
                Some(Err(_)) | None => (asymptotic_p(&pooled, alternative), Method::Asymptotic),
            }
        }
    };
    let shift = match options.confidence {
        None => None,
        Some(confidence) => Some(shift_of_sorted("y", y, confidence, scratch)?),
    };
    Ok(MannWhitney {
        statistic: pooled.u1(),
        p_value,
        method,
        rank_biserial: rank_biserial(&pooled),
        shift,
    })
}

pub(crate) fn rank_biserial(pooled: &Pooled) -> f64 {
    let twice_u1 = pooled.twice_u1 as i128;
    (twice_u1 - pooled.pairs() as i128) as f64 / pooled.pairs() as f64
}

/// z before its lookup: (U - n·m/2 - 1/2) / sd for the U given as 2·U.
fn corrected_z(pooled: &Pooled, twice_u: u128) -> f64 {
    let distance = (twice_u as i128 - pooled.pairs() as i128) as f64 / 2.0;
    (distance - 0.5) / pooled.u_deviation()
}

pub(crate) fn asymptotic_p(pooled: &Pooled, alternative: Alternative) -> f64 {
    if pooled.u_deviation() == 0.0 {
        return 1.0;
    }
    let (u1, u2) = both_u(pooled);
    match alternative {
        Alternative::TwoSided => (2.0 * upper_tail(corrected_z(pooled, u1.max(u2)))).min(1.0),
        Alternative::Greater => upper_tail(corrected_z(pooled, u1)),
        Alternative::Less => upper_tail(corrected_z(pooled, u2)),
    }
}

/// The two-sided p-value of Pinpoint's decisions.
///
/// It differs from the asymptotic one only when U1 = U2: the continuity
/// correction then makes z negative, and Pinpoint takes its magnitude.
pub(crate) fn pinpoint_p(pooled: &Pooled) -> f64 {
    if pooled.u_deviation() == 0.0 {
        return 1.0;
    }
    let (u1, u2) = both_u(pooled);
    two_sided(corrected_z(pooled, u1.max(u2)))
}

/// 2·U1 and 2·U2.
fn both_u(pooled: &Pooled) -> (u128, u128) {
    (pooled.twice_u1, 2 * pooled.pairs() - pooled.twice_u1)
}

/// The most additions an exact distribution may take: about a second.
const MOST_WORK: u128 = 400_000_000;

fn exact_p(
    pooled: &Pooled,
    alternative: Alternative,
    scratch: &mut Scratch,
) -> Result<f64, CompareError> {
    if pooled.ties == 0 {
        exact_p_distinct(pooled, alternative, scratch)
    } else {
        exact_p_tied(pooled, alternative, scratch)
    }
}

fn too_large(pooled: &Pooled) -> CompareError {
    CompareError::TooLarge {
        argument: "method",
        first: pooled.n1,
        second: pooled.n2,
    }
}

/// Without ties, U is an integer, and the arrangements of the two samples with
/// U = u are counted by the coefficients of the Gaussian binomial
/// Π (1 - q^(m+i)) / (1 - q^i), i = 1..=n (Mann & Whitney 1947). The product is
/// taken modulo 2^128, in which subtraction and division by a power series are
/// exact; since no count exceeds C(n+m, n) < 2^128, the residues are the counts.
fn exact_p_distinct(
    pooled: &Pooled,
    alternative: Alternative,
    scratch: &mut Scratch,
) -> Result<f64, CompareError> {
    let (n, m) = (pooled.n1.min(pooled.n2), pooled.n1.max(pooled.n2));
    let (twice1, twice2) = both_u(pooled);
    let (u1, u2) = (twice1 / 2, twice2 / 2);
    let pairs = pooled.pairs();
    // P(U >= u) = P(U <= pairs - u); use the nearer end.
    let (upper, factor) = match alternative {
        Alternative::TwoSided => (u1.max(u2), 2.0),
        Alternative::Greater => (u1, 1.0),
        Alternative::Less => (u2, 1.0),
    };
    let below = pairs - upper;
    let (limit, complement) = if 2 * below < pairs {
        (Some(below), false)
    } else {
        // P(U <= below) = 1 - P(U <= pairs - below - 1)
        ((pairs - below).checked_sub(1), true)
    };
    let Some(limit) = limit else { return Ok(1.0) };
    let total = binomial(n + m, n).ok_or_else(|| too_large(pooled))?;
    if limit.saturating_mul(n as u128) > MOST_WORK {
        return Err(too_large(pooled));
    }
    count_u(n, m, limit as usize, &mut scratch.counts);
    let tail: u128 = scratch.counts.iter().sum();
    let favorable = if complement { total - tail } else { tail };
    Ok((factor * (favorable as f64 / total as f64)).min(1.0))
}

/// Counts the arrangements of n and m distinct values for each U up to `most`.
pub(crate) fn count_u(n: usize, m: usize, most: usize, counts: &mut Vec<u128>) {
    counts.clear();
    counts.resize(most + 1, 0);
    counts[0] = 1;
    for i in 1..=n {
        for u in (m + i..counts.len()).rev() {
            counts[u] = counts[u].wrapping_sub(counts[u - m - i]);
        }
        for u in i..counts.len() {
            counts[u] = counts[u].wrapping_add(counts[u - i]);
        }
    }
}

/// C(n, k), if it fits.
fn binomial(n: usize, k: usize) -> Option<u128> {
    (0..k.min(n - k)).try_fold(1_u128, |product, i| {
        // The product of i+1 consecutive integers is divisible by (i+1)!.
        Some(product.checked_mul((n - i) as u128)? / (i as u128 + 1))
    })
}

/// With ties: the permutation distribution of the rank sum, given the ranks. The
/// smaller sample draws c of each group of t equal values in C(t, c) ways; a
/// table over (values drawn, twice their rank sum) counts the draws, as
/// probabilities so that nothing overflows. Only sums of positive numbers occur,
/// so that tails keep their relative precision.
fn exact_p_tied(
    pooled: &Pooled,
    alternative: Alternative,
    scratch: &mut Scratch,
) -> Result<f64, CompareError> {
    let (n1, n2) = (pooled.n1, pooled.n2);
    let all = n1 + n2;
    let swapped = n2 < n1;
    let n = n1.min(n2);
    // Twice the rank sum of n of the values is at most this.
    let width = n * (2 * all - n + 1) + 1;
    let work = (all as u128) * (n as u128) * (width as u128);
    if work > MOST_WORK {
        return Err(too_large(pooled));
    }
    let Scratch {
        first,
        second,
        sums,
        ..
    } = scratch;
    sums.clear();
    sums.resize((n + 1) * width, 0.0);
    sums[0] = 1.0;
    // One value at a time: a value of the group joins the sample or not. The values are taken with
    // their conditional probability of being drawn, so that the entries are probabilities: after k
    // values, entry (c, s) is P(c of these k are drawn, with rank sum s).
    let (mut i, mut j, mut seen) = (0, 0, 0_usize);
    while i < n1 || j < n2 {
        let v = match (first.get(i), second.get(j)) {
            (Some(&x), Some(&y)) => x.min(y),
            (Some(&x), None) => x,
            (None, Some(&y)) => y,
            (None, None) => break,
        };
        let t1 = first[i..].iter().take_while(|&&x| x == v).count();
        let t2 = second[j..].iter().take_while(|&&y| y == v).count();
        let t = t1 + t2;
        // Twice the mid-rank of the group.
        let rank = 2 * (i + j) + t + 1;
        i += t1;
        j += t2;
        for _ in 0..t {
            let left = (all - seen) as f64;
            for c in (0..=n.min(seen)).rev() {
                let joins = (n - c) as f64 / left;
                let stays = 1.0 - joins;
                for s in 0..width {
                    let p = sums[c * width + s];
                    if p == 0.0 {
                        continue;
                    }
                    if c < n && s + rank < width {
                        sums[(c + 1) * width + s + rank] += p * joins;
                    }
                    sums[c * width + s] = p * stays;
                }
            }
            seen += 1;
        }
    }
    // Twice the rank sum observed in the smaller sample: 2U + n(n+1).
    let (twice1, twice2) = both_u(pooled);
    let observed = if swapped { twice2 } else { twice1 } as usize + n * (n + 1);
    let row = &sums[n * width..];
    let at_least: f64 = row[observed.min(width - 1)..].iter().sum();
    let at_most: f64 = row[..=observed.min(width - 1)].iter().sum();
    let (greater, less) = if swapped {
        (at_most, at_least)
    } else {
        (at_least, at_most)
    };
    Ok(match alternative {
        Alternative::TwoSided => 2.0 * greater.min(less),
        Alternative::Greater => greater,
        Alternative::Less => less,
    }
    .min(1.0))
}

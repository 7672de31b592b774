//! The two-sample Kolmogorov-Smirnov test.

use libm::exp;

use crate::error::CompareError;
use crate::pooled::Pooled;
use crate::scratch::Scratch;
use crate::sorted::{check_finite, check_not_empty, sort_into};
use crate::types::Method;

/// Result of [`ks_2samp`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct KolmogorovSmirnov {
    /// D: the largest distance between the two empirical distribution functions.
    pub statistic: f64,
    /// The two-sided p-value.
    pub p_value: f64,
    /// The method used; never [`Method::Auto`].
    pub method: Method,
}

/// The two-sample Kolmogorov-Smirnov test, two-sided.
///
/// # Hypothesis
///
/// x and y come from one distribution. The test detects changes of shape and spread as well as
/// shifts.
///
/// # Assumptions
///
/// Independent values. p-values are meant for continuous distributions; with ties they are too
/// large (conservative).
///
/// # Formula
///
/// D = max |F₁ - F₂| over the pooled values; n and m are the sizes.
///
/// - [`Method::Exact`]: the share of lattice paths from (0, 0) to (n, m) that reach a distance of D
///   (Hodges 1958), as if there were no ties.
/// - [`Method::Asymptotic`]: SciPy's: the distribution of the *one*-sample D for nm/(n+m) values,
///   rounded half to even (Marsaglia, Tsang & Wang 2003; in the tail twice Smirnov's one-sided
///   formula; above 20,000 values the limit with Vrbik's correction, 2018).
/// - [`Method::Auto`]: exact up to 10,000 values a sample, as SciPy.
/// - [`Method::Pinpoint`]: the limit distribution 2·Σ(-1)^(k-1)·exp(-2k²z²) at z = (e + 0.12 +
///   0.11/e)·D, e = sqrt(nm/(n+m)) (Stephens 1970).
///
/// # Errors
///
/// [`CompareError::Empty`], [`CompareError::NotFinite`], and [`CompareError::TooLarge`] when
/// `Exact` is requested with nm above a thousand million.
///
/// # Cost
///
/// O(N log N), O(N) memory; exact O(nm) at most.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Method, ks_2samp};
///
/// let result = ks_2samp(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], Method::Exact)?;
/// // 2 of the 20 arrangements are as far apart.
/// assert_eq!(result.statistic, 1.0);
/// assert!((result.p_value - 0.1).abs() < 1e-15);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn ks_2samp(x: &[f64], y: &[f64], method: Method) -> Result<KolmogorovSmirnov, CompareError> {
    ks_2samp_with(x, y, method, &mut Scratch::new())
}

/// [`ks_2samp`] with memory to reuse.
pub fn ks_2samp_with(
    x: &[f64],
    y: &[f64],
    method: Method,
    scratch: &mut Scratch,
) -> Result<KolmogorovSmirnov, CompareError> {
    check_not_empty("x", x)?;
    check_not_empty("y", y)?;
    check_finite("x", x)?;
    check_finite("y", y)?;
    sort_into(&mut scratch.first, x);
    sort_into(&mut scratch.second, y);
    let pooled = Pooled::merge(&scratch.first, &scratch.second);
    let (p_value, method) = match method {
        Method::Pinpoint => (pinpoint_p(&pooled), Method::Pinpoint),
        Method::Asymptotic => (asymptotic_p(&pooled, &mut scratch.sums), Method::Asymptotic),
        Method::Exact => {
            if pooled.pairs() > MOST_PAIRS {
                return Err(CompareError::TooLarge {
                    argument: "method",
                    first: pooled.n1,
                    second: pooled.n2,
                });
            }
            (exact_p(&pooled, &mut scratch.sums), Method::Exact)
        }
        Method::Auto => {
            if pooled.n1.max(pooled.n2) <= 10_000 {
                (exact_p(&pooled, &mut scratch.sums), Method::Exact)
            } else {
                (asymptotic_p(&pooled, &mut scratch.sums), Method::Asymptotic)
            }
        }
    };
    Ok(KolmogorovSmirnov {
        statistic: pooled.d(),
        p_value,
        method,
    })
}

/// The largest n·m that the exact method walks: some seconds.
const MOST_PAIRS: u128 = 1_000_000_000;

/// Pinpoint's p-value: the limit distribution at (e + 0.12 + 0.11/e)·D,
/// e = sqrt(n·m/(n+m)) (Stephens 1970).
pub(crate) fn pinpoint_p(pooled: &Pooled) -> f64 {
    if pooled.distance == 0 {
        return 1.0;
    }
    let e = (pooled.pairs() as f64 / (pooled.n1 + pooled.n2) as f64).sqrt();
    limit_tail((e + 0.12 + 0.11 / e) * pooled.d())
}

/// P(K > z) for Kolmogorov's limit distribution:
/// 2·Σ (-1)^(k-1)·exp(-2·k²·z²).
fn limit_tail(z: f64) -> f64 {
    if z <= 0.0 {
        return 1.0;
    }
    if z < 1.0 {
        // The alternating sum converges slowly here; Jacobi's theta
        // transformation of it has terms of one sign that vanish at once.
        let q = -core::f64::consts::PI * core::f64::consts::PI / (8.0 * z * z);
        let sum = exp(q) + exp(9.0 * q) + exp(25.0 * q) + exp(49.0 * q);
        return (1.0 - (2.0 * core::f64::consts::PI).sqrt() / z * sum).clamp(0.0, 1.0);
    }
    let q = -2.0 * z * z;
    2.0 * (exp(q) - exp(4.0 * q) + exp(9.0 * q) - exp(16.0 * q) + exp(25.0 * q))
}

/// Exact: P(D >= d) under the null hypothesis without ties.
///
/// The merged order of the samples is a lattice path from (0, 0) to (n, m), all
/// equally likely. The walk sums the probability of the paths at their first
/// point with |i/n - j/m| >= d, so that small p-values are sums of positive
/// numbers and keep their digits (Hodges 1958 counts the same paths).
fn exact_p(pooled: &Pooled, row: &mut Vec<f64>) -> f64 {
    if pooled.distance == 0 {
        return 1.0;
    }
    let (n, m) = (pooled.n1.min(pooled.n2), pooled.n1.max(pooled.n2));
    // Point (i, j) is inside when |i·m - j·n| < far.
    let far = pooled.distance as i128;
    let first_inside = |i: usize| {
        let center = i as i128 * m as i128;
        ((center - far).div_euclid(n as i128) + 1).max(0) as usize
    };
    let last_inside = |i: usize| {
        let center = i as i128 * m as i128;
        (((center + far - 1) / n as i128) as usize).min(m)
    };
    // row[j]: probability of reaching (i, j) without having been outside.
    row.clear();
    row.resize(m + 1, 0.0);
    row[0] = 1.0;
    let mut outside = 0.0;
    for i in 0..=n {
        let (first, last) = (first_inside(i), last_inside(i));
        if i > 0 {
            // A step up from (i - 1, j) is taken with probability
            // (values of the first sample left) / (all values left).
            let up = (n - i + 1) as f64;
            let start = first_inside(i - 1);
            let left = |j: usize| up + (m - j) as f64;
            for (j, p) in row.iter_mut().enumerate().take(last + 1).skip(start) {
                *p *= up / left(j);
            }
            for p in row.iter_mut().take(first.min(m + 1)).skip(start) {
                outside += *p;
                *p = 0.0;
            }
        }
        let mut along = 0.0;
        for (j, p) in row.iter_mut().enumerate().take(last + 1).skip(first) {
            *p += along;
            let right = (m - j) as f64;
            along = if j < m {
                *p * (right / ((n - i) as f64 + right))
            } else {
                0.0
            };
        }
        // A step along the row beyond its end goes outside.
        outside += along;
    }
    outside.min(1.0)
}

/// The exact distribution of the one-sample D for n·m/(n+m) rounded half to even.
fn asymptotic_p(pooled: &Pooled, spare: &mut Vec<f64>) -> f64 {
    if pooled.distance == 0 {
        return 1.0;
    }
    let n = (pooled.pairs() as f64 / (pooled.n1 + pooled.n2) as f64).round_ties_even();
    one_sample_tail(n, pooled.d(), spare)
}

/// P(D_n >= d) for one sample of n values from a continuous distribution.
fn one_sample_tail(n: f64, d: f64, spare: &mut Vec<f64>) -> f64 {
    if d >= 1.0 {
        return 0.0;
    }
    if n < 1.0 {
        return 1.0;
    }
    if 2.0 * n * d <= 1.0 {
        return 1.0;
    }
    if n * d * d >= 4.0 {
        return (2.0 * one_sided_tail(n, d)).min(1.0);
    }
    if n > 20_000.0 {
        // Vrbik's correction of the limit distribution.
        let root = n.sqrt();
        let z = root * d;
        return limit_tail(z + 1.0 / (6.0 * root) + (z - 1.0) / (4.0 * n));
    }
    1.0 - durbin(n as usize, d, spare)
}

/// P(D+ >= d), exactly (Smirnov 1944, Birnbaum & Tingey 1951):
/// d·Σ C(n,j)·(d + j/n)^(j-1)·(1 - d - j/n)^(n-j), j = 0..=⌊n(1-d)⌋.
fn one_sided_tail(n: f64, d: f64) -> f64 {
    let mut sum = 0.0;
    // ln C(n, j), grown term by term.
    let mut log_choose = 0.0;
    let mut j = 0.0;
    while j <= n * (1.0 - d) {
        let up = d + j / n;
        let down = 1.0 - up;
        if down <= 0.0 {
            if n == j {
                sum += libm::exp((j - 1.0) * libm::log(up));
            }
            break;
        }
        sum += exp(log_choose + (j - 1.0) * libm::log(up) + (n - j) * libm::log1p(-up));
        log_choose += libm::log((n - j) / (j + 1.0));
        j += 1.0;
    }
    d * sum
}

/// P(D_n < d), exactly: Durbin's matrix in the form of Marsaglia, Tsang and Wang (2003). Only one
/// entry of the n-th power is needed, so that a vector is multiplied n times; and since the entries
/// are 1/k!, those beyond the 24th below the diagonal are negligible.
fn durbin(n: usize, d: f64, spare: &mut Vec<f64>) -> f64 {
    let nd = n as f64 * d;
    let k = nd.floor() as usize + 1;
    let size = 2 * k - 1;
    let h = k as f64 - nd;
    const BAND: usize = 24;
    let mut inverse_factorial = [1.0_f64; BAND + 2];
    for i in 1..inverse_factorial.len() {
        inverse_factorial[i] = inverse_factorial[i - 1] / i as f64;
    }
    let inv = |i: usize| inverse_factorial.get(i).copied().unwrap_or(0.0);
    // Entries that differ from 1/(i-j+1)!: the first column, the last row (by
    // size - j), and the corner where they meet.
    let mut column = [0.0_f64; BAND + 1];
    let mut power = 1.0;
    for (i, entry) in column.iter_mut().enumerate() {
        power *= h;
        *entry = (1.0 - power) * inv(i + 1);
    }
    let corner_power = if size <= BAND + 1 {
        libm::pow(h, size as f64)
    } else {
        0.0
    };
    let corner = (1.0 - 2.0 * corner_power
        + if 2.0 * h > 1.0 {
            libm::pow(2.0 * h - 1.0, size as f64)
        } else {
            0.0
        })
        * inv(size);
    spare.clear();
    spare.resize(2 * size, 0.0);
    let (mut v, mut next) = spare.split_at_mut(size);
    v[k - 1] = 1.0;
    // The result is n!/n^n times an entry of the power. The factors i/n are dealt
    // out in the order of a golden-ratio stride, so that no part of the product
    // leaves the range of f64.
    let stride = coprime_near(n, n as f64 * 0.618_033_988_749_894_9);
    let mut turn = 0;
    for _ in 0..n {
        turn = (turn + stride) % n;
        let factor = (turn + 1) as f64 / n as f64;
        for (j, out) in next.iter_mut().enumerate() {
            let last = size - 1;
            let high = (j + BAND).min(last);
            let mut sum = 0.0;
            if j == 0 {
                for (i, entry) in column.iter().enumerate().take(high + 1) {
                    sum += v[i] * if i == last { corner } else { *entry };
                }
            } else {
                let inner = high.min(last - 1);
                for (vi, entry) in v[j - 1..=inner.max(j - 1)].iter().zip(&inverse_factorial) {
                    sum += vi * entry;
                }
                if high == last {
                    // The sum above stops before the last row, except where j - 1 is its only term.
                    sum += v[last] * column[last - j];
                }
            }
            *out = sum * factor;
        }
        core::mem::swap(&mut v, &mut next);
    }
    v[k - 1].clamp(0.0, 1.0)
}

/// The number closest above `start` without a common divisor with `n`.
fn coprime_near(n: usize, start: f64) -> usize {
    let mut stride = (start as usize).max(1);
    while gcd(stride, n) != 1 {
        stride += 1;
    }
    stride
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! The distribution of V, the sum of the ranks of the positive differences, if each difference
//! is as likely to be positive as negative.

use std::sync::OnceLock;

use crate::normal::{two_sided, upper_quantile, upper_tail};
use crate::types::Alternative;

/// Fewer differences than this are counted; of more, V is taken as normal.
pub(crate) const COUNTED_BELOW: usize = 50;

/// The distribution of V for n < 50: entry v is P(V <= v), up to half the range.
pub(crate) fn distribution(n: usize) -> &'static [f64] {
    static TABLES: [OnceLock<Box<[f64]>>; 50] = [const { OnceLock::new() }; 50];
    TABLES[n].get_or_init(|| {
        let top = n * (n + 1) / 2;
        // V is the sum of a random subset of 1..=n: count the subsets of each
        // sum. There are 2^n < 2^50 in all, so that every count is exact.
        let mut counts = vec![0_u64; top / 2 + 1];
        counts[0] = 1;
        for rank in 1..=n {
            for v in (rank..counts.len()).rev() {
                counts[v] += counts[v - rank];
            }
        }
        let all = (1_u64 << n) as f64;
        let mut sum = 0;
        counts
            .into_iter()
            .map(|c| {
                sum += c;
                sum as f64 / all
            })
            .collect()
    })
}

/// P(V <= v) for any v.
pub(crate) fn cumulative(table: &[f64], top: usize, v: usize) -> f64 {
    if v >= top {
        1.0
    } else if v < table.len() {
        table[v]
    } else {
        // V and top - V have the same distribution.
        1.0 - table[top - v - 1]
    }
}

/// P(V >= v) for any v.
fn at_least(table: &[f64], top: usize, v: usize) -> f64 {
    if v > top {
        0.0
    } else {
        cumulative(table, top, top - v)
    }
}

pub(crate) fn exact_p(v: usize, n: usize, alternative: Alternative) -> f64 {
    let (table, top) = (distribution(n), n * (n + 1) / 2);
    match alternative {
        Alternative::Less => cumulative(table, top, v),
        Alternative::Greater => at_least(table, top, v),
        Alternative::TwoSided => {
            let tail = if 2 * v > top {
                at_least(table, top, v)
            } else {
                cumulative(table, top, v)
            };
            (2.0 * tail).min(1.0)
        }
    }
}

pub(crate) fn asymptotic_p(v: f64, n: usize, ties: u128, alternative: Alternative) -> f64 {
    let center = (n as u128 * (n as u128 + 1)) as f64 / 4.0;
    let deviation = signed_rank_deviation(n, ties);
    let distance = v - center;
    match alternative {
        Alternative::Less => upper_tail(-(distance + 0.5) / deviation),
        Alternative::Greater => upper_tail((distance - 0.5) / deviation),
        Alternative::TwoSided => {
            let corrected = if distance == 0.0 {
                0.0
            } else {
                distance.abs() - 0.5
            };
            // |distance| can be 0.25 with ties: the correction then overshoots,
            // and 2·min(tails) takes the distance again.
            two_sided(corrected / deviation)
        }
    }
}

/// sqrt(n(n+1)(2n+1)/24 - Σ(t³-t)/48)
pub(crate) fn signed_rank_deviation(n: usize, ties: u128) -> f64 {
    let n = n as u128;
    let twice = 2 * n * (n + 1) * (2 * n + 1) - ties;
    (twice as f64 / 48.0).sqrt()
}

/// The smallest q with P(V <= q) >= p, forgiving p ten rounding errors.
pub(crate) fn quantile(table: &[f64], top: usize, p: f64) -> usize {
    let slack = 10.0 * f64::EPSILON;
    if p <= 0.5 {
        table.partition_point(|&below| below < p - slack)
    } else {
        let rest = 1.0 - p + slack;
        top - table.partition_point(|&below| below <= rest)
    }
}

/// The largest k with P(V <= k - 1) <= `tail`: the k-th smallest Walsh average of n differences is
/// the lower end of an interval that excludes no more than that. 0 where even the smallest average
/// excludes more. Never beyond the middle, so that the estimate is inside.
pub(crate) fn interval_rank(n: usize, tail: f64) -> u64 {
    let top = n as u64 * (n as u64 + 1) / 2;
    let rank = if n < COUNTED_BELOW {
        quantile(distribution(n), top as usize, tail) as u64
    } else {
        let deviation = signed_rank_deviation(n, 0);
        // P(V <= k - 1) is taken as Φ((k - 1/2 - n(n+1)/4) / sd).
        (top as f64 / 2.0 + 0.5 - upper_quantile(tail) * deviation).floor() as u64
    };
    rank.min(top.div_ceil(2))
}

/// The part of all signs with which ranks add up to at most `most`, given twice each rank (which
/// is an integer for the mean ranks of ties, too). There must be fewer than [`COUNTED_BELOW`].
///
/// The number of signs for each sum is the coefficient of x to that sum in Π (1 + x^r).
pub(crate) fn share_up_to(
    twice_ranks: impl Iterator<Item = usize>,
    most: usize,
    counts: &mut Vec<u128>,
) -> f64 {
    counts.clear();
    counts.resize(most + 1, 0);
    counts[0] = 1;
    let mut all = 1.0;
    for rank in twice_ranks {
        for sum in (rank..=most).rev() {
            counts[sum] += counts[sum - rank];
        }
        all *= 2.0;
    }
    counts.iter().sum::<u128>() as f64 / all
}

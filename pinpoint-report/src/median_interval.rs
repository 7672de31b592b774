//! The interval of a commit's median, from its runs alone.

use pinpoint_core::Interval;

/// The interval between two of the values that holds the true median with at least 95 %, whatever
/// the distribution: the ends are the values of rank `k` from below and from above, and the
/// interval misses only if fewer than `k` of `n` values fall on one side, each of which is as
/// likely as heads of a coin. Absent below six values, where no interval is that certain.
pub(super) fn median_interval(values: &[f64]) -> Option<Interval> {
    let rank = rank(values.len())?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(Interval {
        low: sorted[rank - 1],
        high: sorted[sorted.len() - rank],
    })
}

/// The largest `k` for which fewer than `k` heads in `n` throws have a
/// probability of at most 2.5 %.
fn rank(n: usize) -> Option<usize> {
    const TAIL: f64 = 0.025;
    /// Beyond this the binomial distribution is the normal one, to half a rank.
    const NORMAL_FROM: usize = 1000;
    if n > NORMAL_FROM {
        let n = n as f64;
        return Some((n / 2.0 - 0.98 * n.sqrt()).floor() as usize);
    }
    // 2^-1000 is still a normal number.
    let mut probability = (0..n).fold(1.0, |p, _| p / 2.0);
    let mut below = 0.0;
    let mut rank = 0;
    while rank <= n {
        below += probability;
        if below > TAIL {
            break;
        }
        probability *= (n - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // The sign test's tables, two-sided at 5 %: the critical value plus 1.
        for (n, expected) in [
            (5, None),
            (6, Some(1)),
            (9, Some(2)),
            (10, Some(2)),
            (20, Some(6)),
            (30, Some(10)),
            (50, Some(18)),
            (100, Some(40)),
        ] {
            assert_eq!(rank(n), expected, "{n}");
        }
    }

    #[test]
    fn many_values_go_on_where_few_end() {
        assert_eq!((rank(1000), rank(1001)), (Some(469), Some(469)));
    }

    #[test]
    fn the_order_of_the_values_does_not_matter() {
        let values = [5.0, 1.0, 3.0, 2.0, 6.0, 4.0];
        assert_eq!(
            median_interval(&values),
            Some(Interval {
                low: 1.0,
                high: 6.0
            })
        );
        assert_eq!(median_interval(&values[..5]), None);
    }
}

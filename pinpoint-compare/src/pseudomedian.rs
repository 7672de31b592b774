//! The pseudomedian of paired differences, with zeros and ties.
//!
//! [`wilcoxon`](crate::wilcoxon) gives the same estimate, and the same interval except where ties
//! make that a point. Here a point stays a point, for exact values: counts of profiles.

use crate::error::CompareError;
use crate::select::Sums;
use crate::shift::Shift;
use crate::signed_ranks::interval_rank;
use crate::sorted::{check_finite, check_level, check_not_empty, midpoint};
use crate::types::Interval;

/// The pseudomedian of differences with its confidence interval.
///
/// # Formula
///
/// The median of all n(n+1)/2 Walsh averages (dᵢ + dⱼ)/2. The interval runs from the k-th smallest
/// to the k-th largest of them, where k is the largest rank with P(V <= k - 1) <= (1 -
/// confidence)/2 and V the sum of a random subset of 1..=n (Hollander & Wolfe, *Nonparametric
/// Statistical Methods*, 1999, 3.3; for n above 49 by the normal approximation). Zeros and ties
/// only make it wider than necessary (Noether 1967).
///
/// # Assumptions
///
/// Independent differences with a symmetric distribution.
///
/// # Errors
///
/// [`CompareError::Empty`], [`CompareError::NotFinite`] and [`CompareError::NotALevel`].
///
/// # Cost
///
/// O(n log n) time, O(n) memory.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Interval, pseudomedian};
///
/// let shift = pseudomedian(&[295.0, 301.0, 295.0, 310.0, 295.0, 304.0, 306.0, 299.0], 0.95)?;
/// assert_eq!(shift.estimate, 300.5);
/// assert_eq!(shift.interval, Some(Interval { low: 295.0, high: 306.0 }));
/// // Five differences cannot give an interval at that level.
/// assert_eq!(pseudomedian(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95)?.interval, None);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn pseudomedian(differences: &[f64], confidence: f64) -> Result<Shift, CompareError> {
    check_not_empty("differences", differences)?;
    check_finite("differences", differences)?;
    check_level("confidence", confidence)?;
    // Of halves, so that no sum of two overflows.
    let mut halves: Vec<f64> = differences.iter().map(|d| d / 2.0).collect();
    halves.sort_unstable_by(f64::total_cmp);
    let averages = Sums::within(&halves);
    let count = averages.len();
    let rank = Some(interval_rank(halves.len(), (1.0 - confidence) / 2.0)).filter(|rank| *rank > 0);
    let (low, high) = (rank.unwrap_or(1), count + 1 - rank.unwrap_or(1));
    let middle = (count.div_ceil(2), count / 2 + 1);
    let mut scratch = Vec::new();
    let [low, (lower, upper), high] =
        averages.nth([(low, low), middle, (high, high)], &mut scratch);
    Ok(Shift {
        estimate: midpoint(lower, upper) + 0.0,
        interval: rank.map(|_| Interval {
            low: low.0 + 0.0,
            high: high.0 + 0.0,
        }),
        confidence,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Alternative, wilcoxon};

    proptest! {
        /// Without zeros and ties of magnitudes it equals R's.
        #[test]
        fn is_wilcoxons_without_ties(values in prop::collection::hash_set(1..1000_i32, 6..50), signs in any::<u64>()) {
            let signed = |(at, value): (usize, &i32)| f64::from(if signs >> at & 1 == 1 { *value } else { -*value });
            let differences: Vec<f64> = values.iter().enumerate().map(signed).collect();
            let test = wilcoxon(&differences, None, Alternative::TwoSided, 0.95).expect("they are finite");
            let shift = pseudomedian(&differences, 0.95).expect("they are finite");
            prop_assert_eq!(Some(shift.estimate), test.estimate);
            prop_assert_eq!(shift.interval, test.interval);
        }

        /// It equals the median of all sorted averages, and lies in its interval.
        #[test]
        fn is_the_median_of_all_averages(differences in prop::collection::vec((-4..5_i32).prop_map(f64::from), 1..70)) {
            let mut averages = Vec::new();
            for (at, first) in differences.iter().enumerate() {
                averages.extend(differences[at..].iter().map(|second| (first + second) / 2.0));
            }
            averages.sort_unstable_by(f64::total_cmp);
            let middle = (averages[(averages.len() - 1) / 2] + averages[averages.len() / 2]) / 2.0;
            let shift = pseudomedian(&differences, 0.95).expect("they are finite");
            prop_assert_eq!(shift.estimate, middle);
            prop_assert_eq!(shift.interval.is_some(), differences.len() >= 6);
            if let Some(interval) = shift.interval {
                prop_assert!(interval.contains(shift.estimate));
                prop_assert!(averages.contains(&interval.low) && averages.contains(&interval.high));
            }
        }

        /// Its interval excludes 0 only where counting all signs makes 0 unlikely.
        #[test]
        fn agrees_with_the_count_of_signs(differences in prop::collection::vec((-3..9_i32).prop_map(f64::from), 6..30)) {
            let interval = pseudomedian(&differences, 0.95).expect("they are finite").interval;
            let p = crate::sign_flips(&differences).expect("they are finite").p_value;
            prop_assert!(interval.is_some_and(|interval| interval.contains(0.0)) || p <= 0.05, "{p} {interval:?}");
        }
    }

    #[test]
    fn the_widest_range_is_no_overflow() {
        let shift = pseudomedian(&[f64::MAX; 8], 0.95).expect("they are finite");
        assert_eq!(shift.estimate, f64::MAX);
    }
}

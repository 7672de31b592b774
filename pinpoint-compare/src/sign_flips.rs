//! The signed-rank test given the magnitudes of the differences, including ties.
//!
//! If nothing changed, each difference is as likely to be negative as positive. With n of them that
//! are not 0, all 2ⁿ signs are equally likely, and the p-value is the share of them whose sum of
//! ranks is as far from the middle as the observed one. That holds for ties, too, where the normal
//! approximation gives 0.006 instead of 0.002: for ten pairs of profiles, whose values are
//! multiples of 10 ms.

use crate::error::CompareError;
use crate::signed_ranks::share_up_to;
use crate::sorted::{check_finite, key};
use crate::types::Alternative;
use crate::wilcoxon::wilcoxon;

/// Above this many differences the approximation is good, and counting takes longer.
const MAX_EXACT_PAIRS: usize = 49;

/// The result of [`sign_flips`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SignFlips {
    /// The two-sided p-value.
    pub p_value: f64,
    /// The smallest one that differences of these magnitudes could have given, with equal signs.
    pub least: f64,
}

/// Tests whether differences are as often negative as positive, and as large, by counting all
/// signs that they could have had. Zeros are left out. Without a difference, p is 1.
///
/// # Formula
///
/// With the doubled ranks r of the magnitudes (averages for ties, so that they are integers), the
/// number of signs for each sum of positive ranks is the coefficient of x to that sum in
/// Π (1 + x^r); the p-value is twice the smaller tail, at most 1. Source: Pratt & Gibbons, *Concepts
/// of Nonparametric Theory*, 1981, 3.7; Streitberg & Röhmel 1986 for the counting. For 50
/// differences and more it is the p-value of [`wilcoxon`](crate::wilcoxon).
///
/// # Errors
///
/// [`CompareError::Empty`] and [`CompareError::NotFinite`].
///
/// # Cost
///
/// O(n³) time for n differences below 50, O(n log n) above.
///
/// # Example
///
/// ```
/// use pinpoint_compare::sign_flips;
///
/// let test = sign_flips(&[10.0, 10.0, 20.0, 0.0, 10.0, 20.0, 30.0])?;
/// assert_eq!((test.p_value, test.least), (2.0 / 64.0, 2.0 / 64.0));
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn sign_flips(differences: &[f64]) -> Result<SignFlips, CompareError> {
    if differences.is_empty() {
        return Err(CompareError::Empty {
            argument: "differences",
        });
    }
    check_finite("differences", differences)?;
    let mut sorted: Vec<(u64, bool)> = differences
        .iter()
        .filter(|difference| **difference != 0.0)
        .map(|difference| (key(difference.abs()), *difference > 0.0))
        .collect();
    let least = sorted.iter().fold(2.0, |p: f64, _| p / 2.0).min(1.0);
    if sorted.len() > MAX_EXACT_PAIRS {
        let test = wilcoxon(differences, None, Alternative::TwoSided, 0.95)?;
        let p_value = test.p_value.unwrap_or(1.0);
        return Ok(SignFlips { p_value, least });
    }
    sorted.sort_unstable();
    let (mut ranks, mut positive, mut below) = (Vec::new(), 0, 0);
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        // Twice the average of the ranks from below + 1 to below + group.
        let rank = 2 * below + group.len() + 1;
        below += group.len();
        ranks.extend(group.iter().map(|_| rank));
        positive += rank * group.iter().filter(|(_, positive)| *positive).count();
    }
    let all: usize = ranks.iter().sum();
    let smaller = positive.min(all - positive);
    let tail = share_up_to(ranks.into_iter(), smaller, &mut Vec::new());
    let p_value = (2.0 * tail).min(1.0);
    Ok(SignFlips { p_value, least })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All signs, one after the other.
    fn counted(differences: &[f64]) -> f64 {
        let magnitudes: Vec<f64> = differences
            .iter()
            .map(|d| d.abs())
            .filter(|d| *d > 0.0)
            .collect();
        let rank = |of: f64| -> f64 {
            let count =
                |is: &dyn Fn(f64) -> bool| magnitudes.iter().filter(|m| is(**m)).count() as f64;
            count(&|m| m < of) + (count(&|m| m == of) + 1.0) / 2.0
        };
        let ranks: Vec<f64> = magnitudes.iter().map(|m| rank(*m)).collect();
        let middle = ranks.iter().sum::<f64>() / 2.0;
        let signs: Vec<bool> = differences
            .iter()
            .filter(|d| **d != 0.0)
            .map(|d| *d > 0.0)
            .collect();
        let distance = |positive: &dyn Fn(usize) -> bool| {
            let sum: f64 = (0..ranks.len())
                .filter(|at| positive(*at))
                .map(|at| ranks[at])
                .sum();
            (sum - middle).abs()
        };
        let found = distance(&|at| signs[at]);
        let all = 1_u32 << ranks.len();
        let as_far = (0..all).filter(|flips| distance(&|at| flips >> at & 1 == 1) >= found);
        as_far.count() as f64 / f64::from(all)
    }

    proptest! {
        #[test]
        fn is_the_share_of_all_signs(differences in prop::collection::vec((-4..5_i32).prop_map(f64::from), 1..11)) {
            let test = sign_flips(&differences).expect("they are finite");
            prop_assert!((test.p_value - counted(&differences)).abs() < 1e-12, "{test:?}");
            prop_assert!(test.least <= test.p_value);
        }

        /// Without ties it is Wilcoxon's exact test.
        #[test]
        fn is_wilcoxons_without_ties(values in prop::collection::hash_set(1..1000_i32, 1..50), signs in any::<u64>()) {
            let signed = |(at, value): (usize, &i32)| f64::from(if signs >> at & 1 == 1 { *value } else { -*value });
            let differences: Vec<f64> = values.iter().enumerate().map(signed).collect();
            let expected = wilcoxon(&differences, None, Alternative::TwoSided, 0.95).expect("they are finite");
            let test = sign_flips(&differences).expect("they are finite");
            prop_assert!((test.p_value - expected.p_value.expect("there are some")).abs() < 1e-12);
        }
    }

    /// From SciPy 1.17.1: `wilcoxon([1, 1, 2, -1, 3, 3, 0, 2],
    /// method=PermutationMethod(n_resamples=np.inf))`.
    #[test]
    fn is_scipys() {
        let test = sign_flips(&[1.0, 1.0, 2.0, -1.0, 3.0, 3.0, 0.0, 2.0]).expect("they are finite");
        assert_eq!(test.p_value, 0.0625);
    }

    #[test]
    fn many_differences_are_approximated_and_nothing_is_certain_of_zeros() {
        let many: Vec<f64> = (0..60).map(|at| f64::from(at % 7) - 2.0).collect();
        let expected = wilcoxon(&many, None, Alternative::TwoSided, 0.95).expect("they are finite");
        let test = sign_flips(&many).expect("they are finite");
        assert_eq!(Some(test.p_value), expected.p_value);
        let none = sign_flips(&[0.0, 0.0]).expect("they are finite");
        assert_eq!((none.p_value, none.least), (1.0, 1.0));
        assert!(sign_flips(&[]).is_err() && sign_flips(&[f64::NAN]).is_err());
    }
}

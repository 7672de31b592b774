//! Adjusts p-values of many comparisons for their number.

use crate::error::CompareError;
use crate::sorted::check_level;
use crate::wilcoxon::check_lengths;

/// Adjusts p-values so that of those at most `q` an expected share of `q` are false, for any number
/// of them (Benjamini and Hochberg's false discovery rate).
///
/// Of a hundred charts that nothing touched, five are different at p <= 0.05 by chance alone.
/// Calling a chart different only if its *adjusted* p is at most 0.05 keeps the share of such
/// charts among all that are called different at 5 %.
///
/// The result is in the order of `p_values`. Each is at least the p-value it came from and at most
/// 1, and greater p-values have no smaller adjusted ones.
///
/// # Formula
///
/// With the m p-values sorted upwards, the adjusted k-th is the least of p(i)·m/i over all i >= k,
/// and 1 at most. Source: Benjamini & Hochberg 1995; R's `p.adjust(p, "BH")`.
///
/// # Assumptions
///
/// Independent comparisons, or positively dependent ones.
///
/// # Errors
///
/// [`CompareError::NotAProbability`] for a value outside [0, 1].
///
/// # Cost
///
/// O(m log m).
///
/// # Example
///
/// ```
/// use pinpoint_compare::benjamini_hochberg;
///
/// let adjusted = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.5])?;
/// assert_eq!(adjusted[0], 0.04);
/// assert!((adjusted[1] - 0.16 / 3.0).abs() < 1e-15 && adjusted[1] == adjusted[2]);
/// assert_eq!(adjusted[3], 0.5);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn benjamini_hochberg(p_values: &[f64]) -> Result<Vec<f64>, CompareError> {
    check_probabilities("p_values", p_values)?;
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (position, &index) in order.iter().enumerate().rev() {
        // m/k first: it is at least 1 even when rounded, so p never shrinks.
        let factor = p_values.len() as f64 / (position + 1) as f64;
        least = least.min(p_values[index] * factor);
        adjusted[index] = least;
    }
    Ok(adjusted)
}

/// [`benjamini_hochberg`] among tests of few values, not all of which can give a small p-value:
/// those that cannot are left out, instead of making all others less certain.
///
/// `least` has the smallest p-value that each test could have given; see
/// [`sign_flips`](crate::sign_flips). It may depend on the magnitudes of the values, but not on the
/// tested property. A test that is left out has no adjusted p-value.
///
/// # Formula
///
/// Tarone's number K is the smallest k for which at most k tests have a `least` of at most
/// `level`/k; these are adjusted among themselves. If no test qualifies, those with a `least` of at
/// most `level` are: several small p-values can still be that rare among them. Source: Tarone 1990;
/// Gilbert 2005.
///
/// # Errors
///
/// [`CompareError::NotAProbability`] for a value outside [0, 1], [`CompareError::LengthsDiffer`],
/// and [`CompareError::NotALevel`] for a level outside (0, 1).
///
/// # Cost
///
/// O(m log m).
///
/// # Example
///
/// ```
/// use pinpoint_compare::{benjamini_hochberg, benjamini_hochberg_discrete};
///
/// // Ten functions, of which eight were seen in two of ten runs only.
/// let p = [0.002, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5];
/// let least = [0.002, 0.002, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5];
/// assert_eq!(benjamini_hochberg(&p)?[0], 0.02);
/// assert_eq!(benjamini_hochberg_discrete(&p, &least, 0.05)?[0], Some(0.004));
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn benjamini_hochberg_discrete(
    p_values: &[f64],
    least: &[f64],
    level: f64,
) -> Result<Vec<Option<f64>>, CompareError> {
    check_lengths("p_values", p_values, "least", least)?;
    check_probabilities("p_values", p_values)?;
    check_probabilities("least", least)?;
    check_level("level", level)?;
    let mut sorted = least.to_vec();
    sorted.sort_by(f64::total_cmp);
    let can_reach = |level: f64| sorted.partition_point(|least| *least <= level);
    let tarone = (1..=least.len()).find(|k| can_reach(level / *k as f64) <= *k);
    let reach = tarone
        .map(|k| level / k as f64)
        .filter(|reach| can_reach(*reach) > 0)
        .unwrap_or(level);
    let tested: Vec<usize> = (0..least.len()).filter(|&at| least[at] <= reach).collect();
    let among: Vec<f64> = tested.iter().map(|&at| p_values[at]).collect();
    let mut adjusted = vec![None; p_values.len()];
    for (&at, p) in tested.iter().zip(benjamini_hochberg(&among)?) {
        adjusted[at] = Some(p);
    }
    Ok(adjusted)
}

fn check_probabilities(argument: &'static str, values: &[f64]) -> Result<(), CompareError> {
    let outside = |p: &f64| !(0.0..=1.0).contains(p);
    match values.iter().position(outside) {
        None => Ok(()),
        Some(index) => Err(CompareError::NotAProbability {
            argument,
            index,
            value: values[index],
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(p_values: &[f64], expected: &[f64]) {
        let adjusted = benjamini_hochberg(p_values).expect("they are probabilities");
        assert_eq!(adjusted.len(), expected.len());
        for (found, expected) in adjusted.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }

    /// The fifteen p-values of the paper's example (section 3.1), where the
    /// procedure at 0.05 rejects the four smallest.
    #[test]
    fn the_papers_example() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let adjusted = benjamini_hochberg(&p).expect("they are probabilities");
        assert_eq!(adjusted.iter().filter(|p| **p <= 0.05).count(), 4);
        // p(i)·15/i by hand, the least from there on.
        check(
            &p,
            &[
                0.0015,
                0.003,
                0.0095,
                0.035_625,
                0.0603,
                0.063_857_142_857_142_86,
                0.063_857_142_857_142_86,
                0.0645,
                0.0765,
                0.486,
                0.581_181_818_181_818_2,
                0.714_875,
                0.753_230_769_230_769_2,
                0.813_214_285_714_285_7,
                1.0,
            ],
        );
    }

    #[test]
    fn one_is_left_as_it_is_and_none_is_none() {
        check(&[0.03], &[0.03]);
        check(&[], &[]);
        check(&[0.0, 1.0], &[0.0, 1.0]);
        check(&[0.2; 7], &[0.2; 7]);
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        for value in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let error = benjamini_hochberg(&[0.5, value]).expect_err("it is invalid");
            assert!(matches!(
                error,
                CompareError::NotAProbability { index: 1, .. }
            ));
        }
    }

    #[test]
    fn tests_that_cannot_tell_do_not_count() {
        let check = |p: &[f64], least: &[f64], expected: &[Option<f64>]| {
            let adjusted = benjamini_hochberg_discrete(p, least, 0.05);
            assert_eq!(adjusted.expect("they are probabilities"), expected);
        };
        // Two of five can reach 0.05/2.
        check(
            &[0.01, 0.04, 0.5, 0.25, 1.0],
            &[0.01, 0.02, 0.5, 0.25, 0.03],
            &[Some(0.02), Some(0.04), None, None, None],
        );
        // None of three can reach 0.05/3; still, several of them are rare by chance.
        check(&[0.02; 3], &[0.02; 3], &[Some(0.02); 3]);
        check(
            &[0.02, 0.02, 0.9],
            &[0.02; 3],
            &[Some(0.03), Some(0.03), Some(0.9)],
        );
        check(&[0.5], &[0.5], &[None]);
        check(&[], &[], &[]);
        for (p, least, level) in [
            (&[0.5][..], &[0.5, 0.5][..], 0.05),
            (&[1.5], &[0.5], 0.05),
            (&[0.5], &[f64::NAN], 0.05),
            (&[0.5], &[0.5], 1.0),
        ] {
            assert!(benjamini_hochberg_discrete(p, least, level).is_err());
        }
    }

    proptest! {
        /// Where all tests can give any p-value, none is left out.
        #[test]
        fn tests_that_can_all_tell_all_count(
            p in proptest::collection::vec(0.0..=1.0_f64, 0..40),
        ) {
            let adjusted = benjamini_hochberg_discrete(&p, &vec![0.0; p.len()], 0.05);
            let expected = benjamini_hochberg(&p).expect("they are probabilities");
            let expected = expected.into_iter().map(Some).collect();
            prop_assert_eq!(adjusted, Ok(expected));
        }

        /// The definition itself, in quadratic time.
        #[test]
        fn is_what_the_formula_says(p in proptest::collection::vec(0.0..=1.0_f64, 1..40)) {
            let adjusted = benjamini_hochberg(&p).expect("they are probabilities");
            let mut sorted = p.clone();
            sorted.sort_by(f64::total_cmp);
            for (index, value) in p.iter().enumerate() {
                let first = sorted.partition_point(|other| other < value);
                let least = (first..sorted.len())
                    .map(|i| sorted[i] * (p.len() as f64 / (i + 1) as f64))
                    .fold(1.0, f64::min);
                prop_assert_eq!(adjusted[index], least);
                prop_assert!(adjusted[index] >= *value && adjusted[index] <= 1.0);
            }
        }
    }
}

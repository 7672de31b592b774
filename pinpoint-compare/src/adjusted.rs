//! p-values of many tests at once.

use crate::error::CompareError;

/// Adjusts p-values of many tests for their number, by Benjamini and Hochberg.
///
/// Who tests 100 charts of two equal programs at 0.05 finds about five
/// differences. Who calls different what has an adjusted p-value of at most 0.05
/// expects at most one in twenty of *those calls* to be wrong: the false discovery
/// rate. The answers are in the order of the input, each at least as large as its
/// p-value, and at most 1.
///
/// The i-th smallest of m p-values becomes the smallest of m·p/j over itself and
/// all larger ones, j being their ranks (Benjamini & Hochberg, "Controlling the
/// false discovery rate", *Journal of the Royal Statistical Society* B 57, 1995;
/// in R, `p.adjust(p, "BH")`).
///
/// # Assumptions
///
/// Tests independent of each other, or positively dependent, as charts of the
/// same runs usually are (Benjamini & Yekutieli, 2001).
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
/// use pinpoint_compare::adjusted_p_values;
///
/// assert_eq!(adjusted_p_values(&[0.01, 0.5, 0.02])?, [0.03, 0.5, 0.03]);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn adjusted_p_values(p_values: &[f64]) -> Result<Vec<f64>, CompareError> {
    let wrong = p_values.iter().position(|p| !(0.0..=1.0).contains(p));
    if let Some(index) = wrong {
        return Err(CompareError::NotAProbability {
            argument: "p_values",
            index,
            value: p_values[index],
        });
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut smallest: f64 = 1.0;
    for (below, index) in order.into_iter().enumerate().rev() {
        let rank = (below + 1) as f64;
        smallest = smallest.min(p_values[index] * p_values.len() as f64 / rank);
        adjusted[index] = smallest;
    }
    Ok(adjusted)
}

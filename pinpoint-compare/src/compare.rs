//! The decisions on two samples: performance and functional comparisons.

use crate::error::CompareError;
use crate::kolmogorov_smirnov::pinpoint_p as ks_p;
use crate::mann_whitney::{pinpoint_p as mwu_p, rank_biserial};
use crate::pooled::Pooled;
use crate::scratch::Scratch;
use crate::shift::overflow;
use crate::sorted::{
    check_finite, check_not_empty, mean, median_of_keys, nth_of_union, sort_into, value,
};
use crate::thresholds::{LOW_THRESHOLD, high_threshold_functional, high_threshold_performance};
use crate::types::{Direction, Verdict};

/// The result of [`compare_performance`], with everything on which the verdict rests.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PerformanceComparison {
    /// The decision.
    pub verdict: Verdict,
    /// The smaller of the two p-values; absent when no test was run.
    pub p_value: Option<f64>,
    /// p of the Kolmogorov-Smirnov test.
    pub p_value_ks: Option<f64>,
    /// p of the Mann-Whitney test.
    pub p_value_mwu: Option<f64>,
    /// p at most this: different.
    pub low_threshold: Option<f64>,
    /// p above this: same.
    pub high_threshold: Option<f64>,
    /// Mean of the treatment less mean of the control; absent when a side is empty.
    pub mean_diff: Option<f64>,
    /// Median of the treatment less median of the control.
    pub median_diff: Option<f64>,
    /// Rank-biserial correlation: from -1 (every treatment value below every
    /// control value) to 1 (every one above).
    pub effect_size: Option<f64>,
    /// The magnitude in interquartile ranges of the pooled values, as looked up.
    pub normalized_magnitude: Option<f64>,
    /// The means differ by less than a tenth of the magnitude, so no test was run.
    pub is_too_small: bool,
    /// The means differ in the direction of improvement, so no test was run.
    pub is_improvement: bool,
    /// Number of control values.
    pub control_size: usize,
    /// Number of treatment values.
    pub treatment_size: usize,
}

impl PerformanceComparison {
    /// Returns true if the tests were run.
    pub fn tested(&self) -> bool {
        self.p_value.is_some()
    }
}

/// Result of [`compare_functional`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FunctionalComparison {
    /// The decision; never nil.
    pub verdict: Verdict,
    /// The smaller of the two p-values; absent when no test was run.
    pub p_value: Option<f64>,
    /// p of the Kolmogorov-Smirnov test.
    pub p_value_ks: Option<f64>,
    /// p of the Mann-Whitney test.
    pub p_value_mwu: Option<f64>,
    /// p at most this: different.
    pub low_threshold: Option<f64>,
    /// p above this: same.
    pub high_threshold: Option<f64>,
    /// Failure rate of the treatment less that of the control.
    pub mean_diff: f64,
    /// Share of failures in the control.
    pub control_rate: f64,
    /// Share of failures in the treatment.
    pub treatment_rate: f64,
    /// Fewer failures in the treatment, so no test was run.
    pub is_improvement: bool,
    /// Number of control values.
    pub control_size: usize,
    /// Number of treatment values.
    pub treatment_size: usize,
}

impl FunctionalComparison {
    /// Returns true if the tests were run.
    pub fn tested(&self) -> bool {
        self.p_value.is_some()
    }
}

/// Compares two samples of a measurement by Pinpoint's rule.
///
/// # The rule
///
/// 1. A side without values: [`Verdict::Nil`].
/// 2. Means that differ in the `direction` of improvement, or by less than a tenth of the
///    `magnitude`: same, untested.
/// 3. p is the smaller of Kolmogorov-Smirnov's and Mann-Whitney's, both by
///    [`Method::Pinpoint`](crate::Method::Pinpoint). p <= 0.05: different; p <= the [high
///    threshold](high_threshold_performance): unknown; else same.
///
/// The high threshold is looked up by the mean sample size (rounded down) and by the magnitude in
/// interquartile ranges of the pooled values: sorted, index 3n/4 less index n/4, divisions rounded
/// down. A range of 0 takes the largest magnitude of the table.
///
/// `magnitude`: the smallest change worth finding, in the units of the values; its sign does not
/// matter. `None`, 0 and anything up to 1e-9 mean one interquartile range.
///
/// # Assumptions
///
/// Independent values, and one look: see [`SequentialComparison`](crate::SequentialComparison).
///
/// # Errors
///
/// [`CompareError::NotFinite`], [`CompareError::NotANumber`] for the magnitude,
/// [`CompareError::Overflow`] when a difference of means leaves the range of `f64`.
///
/// # Cost
///
/// Two sorts and one merge, O(N log N); about 3 µs for 160 values a side.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Direction, Verdict, compare_performance};
///
/// let (slow, fast) = ([5.0, 5.1, 5.2, 5.3, 5.4], [4.0, 4.1, 4.2, 4.3, 4.4]);
/// let got = compare_performance(&slow, &fast, None, Direction::Unknown)?;
/// assert_eq!(got.verdict, Verdict::Different);
/// // Lower is better: an improvement, so nothing to pursue.
/// let got = compare_performance(&slow, &fast, None, Direction::Down)?;
/// assert_eq!((got.verdict, got.is_improvement, got.tested()), (Verdict::Same, true, false));
/// // Not worth finding: changes below a tenth of the magnitude.
/// assert!(compare_performance(&slow, &fast, Some(20.0), Direction::Unknown)?.is_too_small);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn compare_performance(
    control: &[f64],
    treatment: &[f64],
    magnitude: Option<f64>,
    direction: Direction,
) -> Result<PerformanceComparison, CompareError> {
    compare_performance_with(
        control,
        treatment,
        magnitude,
        direction,
        &mut Scratch::new(),
    )
}

/// [`compare_performance`] with memory to reuse.
pub fn compare_performance_with(
    control: &[f64],
    treatment: &[f64],
    magnitude: Option<f64>,
    direction: Direction,
    scratch: &mut Scratch,
) -> Result<PerformanceComparison, CompareError> {
    check_finite("control", control)?;
    check_finite("treatment", treatment)?;
    let magnitude = magnitude.unwrap_or(0.0).abs();
    if !magnitude.is_finite() {
        return Err(CompareError::NotANumber {
            argument: "magnitude",
            value: magnitude,
            negative_refused: false,
        });
    }
    let mut result = PerformanceComparison {
        verdict: Verdict::Nil,
        p_value: None,
        p_value_ks: None,
        p_value_mwu: None,
        low_threshold: None,
        high_threshold: None,
        mean_diff: None,
        median_diff: None,
        effect_size: None,
        normalized_magnitude: None,
        is_too_small: false,
        is_improvement: false,
        control_size: control.len(),
        treatment_size: treatment.len(),
    };
    if control.is_empty() || treatment.is_empty() {
        return Ok(result);
    }
    let Scratch { first, second, .. } = scratch;
    sort_into(first, control);
    sort_into(second, treatment);
    let mean_diff = mean(second) - mean(first);
    let median_diff = median_of_keys(second) - median_of_keys(first);
    if !(mean_diff.is_finite() && median_diff.is_finite()) {
        return Err(overflow("treatment", treatment));
    }
    result.mean_diff = Some(mean_diff);
    result.median_diff = Some(median_diff);
    result.is_improvement = direction.is_improvement(mean_diff);
    result.is_too_small = mean_diff.abs() < 0.1 * magnitude;
    if result.is_improvement || result.is_too_small {
        result.verdict = Verdict::Same;
        return Ok(result);
    }
    let pooled = Pooled::merge(first, second);
    let n = control.len() + treatment.len();
    let quartile = |quarters: usize| {
        // quarters·n/4 without overflow, n being a length.
        value(nth_of_union(
            first,
            second,
            quarters * (n / 4) + quarters * (n % 4) / 4,
        ))
    };
    let normalized = if magnitude <= 1e-9 {
        1.0
    } else {
        magnitude / (quartile(3) - quartile(1))
    };
    let high = high_threshold_performance(normalized, n / 2);
    let (ks, mwu) = (ks_p(&pooled), mwu_p(&pooled));
    let p = ks.min(mwu);
    result.p_value = Some(p);
    result.p_value_ks = Some(ks);
    result.p_value_mwu = Some(mwu);
    result.low_threshold = Some(LOW_THRESHOLD);
    result.high_threshold = Some(high);
    result.effect_size = Some(-rank_biserial(&pooled));
    result.normalized_magnitude = normalized.is_finite().then_some(normalized);
    result.verdict = decide(p, high);
    Ok(result)
}

fn decide(p: f64, high_threshold: f64) -> Verdict {
    if p <= LOW_THRESHOLD {
        Verdict::Different
    } else if p <= high_threshold {
        Verdict::Unknown
    } else {
        Verdict::Same
    }
}

/// Compares two samples of successes (0) and failures (1); fewer failures are better.
///
/// The rule is that of [`compare_performance`] without a magnitude; the
/// [high threshold](high_threshold_functional) depends on `expected_error_rate`,
/// the failure rate of a culprit worth finding (1: it always fails), and the mean
/// sample size. Rates beyond the table's 0.1 to 1.0 take its nearest row.
///
/// # Errors
///
/// [`CompareError::Empty`], [`CompareError::NotFinite`], [`CompareError::NotBinary`]
/// for values other than 0 and 1, [`CompareError::NotANumber`] for a rate that is
/// negative or not finite.
///
/// # Cost
///
/// O(n): nothing is sorted, only counted.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Verdict, compare_functional};
///
/// let got = compare_functional(&[0.0; 10], &[1.0; 10], 1.0)?;
/// assert_eq!(got.verdict, Verdict::Different);
/// // One failure in three might yet be a culprit that fails half the time.
/// let got = compare_functional(&[0.0; 3], &[0.0, 1.0, 0.0], 0.5)?;
/// assert_eq!(got.verdict, Verdict::Unknown);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn compare_functional(
    control: &[f64],
    treatment: &[f64],
    expected_error_rate: f64,
) -> Result<FunctionalComparison, CompareError> {
    let control_failures = count_failures("control", control)?;
    let treatment_failures = count_failures("treatment", treatment)?;
    if !expected_error_rate.is_finite() || expected_error_rate < 0.0 {
        return Err(CompareError::NotANumber {
            argument: "expected_error_rate",
            value: expected_error_rate,
            negative_refused: true,
        });
    }
    let (n1, n2) = (control.len(), treatment.len());
    let control_rate = control_failures as f64 / n1 as f64;
    let treatment_rate = treatment_failures as f64 / n2 as f64;
    let mean_diff = treatment_rate - control_rate;
    let mut result = FunctionalComparison {
        verdict: Verdict::Same,
        p_value: None,
        p_value_ks: None,
        p_value_mwu: None,
        low_threshold: None,
        high_threshold: None,
        mean_diff,
        control_rate,
        treatment_rate,
        is_improvement: Direction::Down.is_improvement(mean_diff),
        control_size: n1,
        treatment_size: n2,
    };
    if result.is_improvement {
        return Ok(result);
    }
    let pooled = binary_pooled(n1, control_failures, n2, treatment_failures);
    let high = high_threshold_functional(expected_error_rate, (n1 + n2) / 2);
    let (ks, mwu) = (ks_p(&pooled), mwu_p(&pooled));
    let p = ks.min(mwu);
    result.p_value = Some(p);
    result.p_value_ks = Some(ks);
    result.p_value_mwu = Some(mwu);
    result.low_threshold = Some(LOW_THRESHOLD);
    result.high_threshold = Some(high);
    result.verdict = decide(p, high);
    Ok(result)
}

fn count_failures(argument: &'static str, values: &[f64]) -> Result<usize, CompareError> {
    check_not_empty(argument, values)?;
    check_finite(argument, values)?;
    let mut failures = 0;
    for (index, &value) in values.iter().enumerate() {
        if value == 1.0 {
            failures += 1;
        } else if value != 0.0 {
            return Err(CompareError::NotBinary {
                argument,
                index,
                value,
            });
        }
    }
    Ok(failures)
}

/// The counts of [`Pooled::merge`] for zeros and ones, without sorting.
fn binary_pooled(n1: usize, ones1: usize, n2: usize, ones2: usize) -> Pooled {
    let (n1w, n2w, k1, k2) = (n1 as u128, n2 as u128, ones1 as u128, ones2 as u128);
    let (zeros1, zeros2) = (n1w - k1, n2w - k2);
    let (zeros, ones) = (zeros1 + zeros2, k1 + k2);
    let cube = |t: u128| if t == 0 { 0 } else { t * t * t - t };
    Pooled {
        n1,
        n2,
        twice_u1: 2 * k1 * zeros2 + k1 * k2 + zeros1 * zeros2,
        ties: cube(zeros) + cube(ones),
        distance: (zeros1 * n2w).abs_diff(zeros2 * n1w),
    }
}

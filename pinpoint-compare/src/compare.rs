//! The decisions: performance, functional and pairwise comparisons.

use libm::{expm1, log};

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
use crate::types::{Alternative, Direction, Interval, Verdict};
use crate::wilcoxon::{Wilcoxon, check_lengths, signed_rank};

/// Result of [`compare_performance`], with everything the verdict rests on.
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
    /// True when the tests were run.
    pub fn tested(&self) -> bool {
        self.p_value.is_some()
    }
}

/// Result of [`compare_functional`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// True when the tests were run.
    pub fn tested(&self) -> bool {
        self.p_value.is_some()
    }
}

/// The scale on which a pairwise comparison tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Transform {
    /// Differences of logarithms.
    Log,
    /// Differences in percent of the control's median; taken when a value is 1e-6 or less.
    Normalized,
    /// Plain differences; taken when the control's median is 0, too, so that
    /// there are no percentages.
    Difference,
}

/// Result of [`compare_pairwise`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PairwiseComparison {
    /// The decision; never nil or unknown.
    pub verdict: Verdict,
    /// p of the Wilcoxon signed-rank test; 1 when no pair differs.
    pub p_value: f64,
    /// The change in percent of control; absent when the control's median is 0.
    pub estimate: Option<f64>,
    /// The 95 % interval of the change in percent of control.
    pub interval: Option<Interval>,
    /// Median of the control.
    pub control_median: f64,
    /// Median of the treatment.
    pub treatment_median: f64,
    /// The change is significant, but an improvement, so the verdict is same.
    pub is_improvement: bool,
    /// The scale of `original`.
    pub transform: Transform,
    /// The test as run, on its own scale: differences of logarithms, percentages
    /// or plain differences.
    pub original: Wilcoxon,
    /// Number of pairs.
    pub pairs: usize,
}

/// Compares two samples of a measurement, as Pinpoint decides.
///
/// # The rule
///
/// 1. A side without values: [`Verdict::Nil`].
/// 2. Means that differ in the `direction` of improvement, or by less than a tenth
///    of the `magnitude`: same, untested.
/// 3. p is the smaller of Kolmogorov-Smirnov's and Mann-Whitney's, both by
///    [`Method::Pinpoint`](crate::Method::Pinpoint). p <= 0.05: different;
///    p <= the [high threshold](high_threshold_performance): unknown; else same.
///
/// The high threshold is looked up by the mean sample size (rounded down) and by the
/// magnitude in interquartile ranges of the pooled values: sorted, index 3n/4 less
/// index n/4, divisions rounded down. A range of 0 takes the largest magnitude
/// of the table.
///
/// `magnitude`: the smallest change worth finding, in the units of the values; its
/// sign does not matter. `None`, 0 and anything up to 1e-9 mean one interquartile range.
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

/// Compares paired measurements: values at the same index belong together.
///
/// # The rule
///
/// Wilcoxon's signed-rank test ([`wilcoxon`](crate::wilcoxon), 95 %) of the
/// differences of logarithms; where a value is 1e-6 or less, of the differences in
/// percent of the control's median; where that is 0, of the plain differences.
/// Different when p < 0.05 and the interval leaves out 0, unless all of it lies in
/// the `direction` of improvement. Estimate and interval are in percent of control;
/// the test on its own scale is in `original`.
///
/// When all differences are equal the interval is that point. Samples whose
/// logarithms are equal although the values are not have no interval.
///
/// # Errors
///
/// [`CompareError::Empty`], [`CompareError::NotFinite`], [`CompareError::Negative`],
/// [`CompareError::LengthsDiffer`], and [`CompareError::Overflow`] when a
/// percentage leaves the range of `f64`.
///
/// # Cost
///
/// O(n log n); about 4 µs for 30 pairs.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Direction, Verdict, compare_pairwise};
///
/// let control: Vec<f64> = (0..30).map(|i| 100.0 + f64::from(i % 7)).collect();
/// let treatment: Vec<f64> = control.iter().enumerate().map(|(i, c)| c * (1.02 + 1e-4 * i as f64)).collect();
/// let got = compare_pairwise(&control, &treatment, Direction::Down)?;
/// assert_eq!(got.verdict, Verdict::Different);
/// assert!((got.estimate.unwrap() - 2.145).abs() < 1e-3);
/// assert_eq!(got.control_median, 103.0);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn compare_pairwise(
    control: &[f64],
    treatment: &[f64],
    direction: Direction,
) -> Result<PairwiseComparison, CompareError> {
    compare_pairwise_with(control, treatment, direction, &mut Scratch::new())
}

/// [`compare_pairwise`] with memory to reuse.
pub fn compare_pairwise_with(
    control: &[f64],
    treatment: &[f64],
    direction: Direction,
    scratch: &mut Scratch,
) -> Result<PairwiseComparison, CompareError> {
    let (transform, medians) = differences_into(control, treatment, scratch)?;
    let [control_median, treatment_median] = medians;
    let differences = &scratch.a;
    let one_value = differences.iter().all(|d| *d == differences[0]);
    let identical = control == treatment;
    let original = signed_rank(Alternative::TwoSided, 0.95, scratch);
    let percent = |v: f64| match transform {
        Transform::Log => 100.0 * expm1(v),
        Transform::Normalized | Transform::Difference => v,
    };
    // Without a pair that differs there is no test: nothing indicates a change.
    let p_value = original.p_value.unwrap_or(1.0);
    let shift = original.estimate.unwrap_or(0.0);
    // Pairs that all differ by the same (or not at all) leave no interval to
    // estimate: it is that one point.
    let interval = match original.interval {
        Some(interval) => Some(interval),
        None if one_value && (original.nonzero > 0 || identical) => Some(Interval {
            low: shift,
            high: shift,
        }),
        None => None,
    };
    let excludes_zero = interval.is_some_and(|i| !i.contains(0.0));
    let significant = p_value < LOW_THRESHOLD && excludes_zero;
    let is_improvement = significant
        && interval
            .is_some_and(|i| direction.is_improvement(i.low) && direction.is_improvement(i.high));
    let (estimate, interval) = if transform == Transform::Difference {
        (None, None)
    } else {
        (
            Some(percent(shift)),
            interval.map(|i| Interval {
                low: percent(i.low),
                high: percent(i.high),
            }),
        )
    };
    let unbounded = |i: Interval| !(i.low.is_finite() && i.high.is_finite());
    if estimate.is_some_and(|e| !e.is_finite()) || interval.is_some_and(unbounded) {
        return Err(overflow("treatment", treatment));
    }
    Ok(PairwiseComparison {
        verdict: if significant && !is_improvement {
            Verdict::Different
        } else {
            Verdict::Same
        },
        p_value,
        estimate,
        interval,
        control_median,
        treatment_median,
        is_improvement,
        transform,
        original,
        pairs: control.len(),
    })
}

/// Puts the transformed differences of the pairs into `scratch.a`, and gives the
/// transform and the medians of both sides.
fn differences_into(
    control: &[f64],
    treatment: &[f64],
    scratch: &mut Scratch,
) -> Result<(Transform, [f64; 2]), CompareError> {
    for (argument, values) in [("control", control), ("treatment", treatment)] {
        check_not_empty(argument, values)?;
        check_finite(argument, values)?;
        if let Some((index, &value)) = values.iter().enumerate().find(|&(_, &v)| v < 0.0) {
            return Err(CompareError::Negative {
                argument,
                index,
                value,
            });
        }
    }
    check_lengths("control", control, "treatment", treatment)?;
    sort_into(&mut scratch.first, control);
    sort_into(&mut scratch.second, treatment);
    let control_median = median_of_keys(&scratch.first);
    let treatment_median = median_of_keys(&scratch.second);
    let smallest = value(scratch.first[0].min(scratch.second[0]));
    let transform = if smallest > 1e-6 {
        Transform::Log
    } else if control_median > 0.0 {
        Transform::Normalized
    } else {
        Transform::Difference
    };
    let pairs = control.iter().zip(treatment);
    let differences = &mut scratch.a;
    differences.clear();
    match transform {
        Transform::Log => differences.extend(pairs.map(|(c, t)| log(*t) - log(*c))),
        Transform::Normalized => {
            differences.extend(pairs.map(|(c, t)| (t - c) / control_median * 100.0));
        }
        Transform::Difference => differences.extend(pairs.map(|(c, t)| t - c)),
    }
    if let Some(index) = differences.iter().position(|d| !d.is_finite()) {
        return Err(CompareError::Overflow {
            argument: "treatment",
            index,
        });
    }
    Ok((transform, [control_median, treatment_median]))
}

//! The decision on two samples whose values belong together in pairs.

use libm::{expm1, log};

use crate::error::CompareError;
use crate::scratch::Scratch;
use crate::shift::overflow;
use crate::sorted::{check_finite, check_not_empty, median_of_keys, sort_into, value};
use crate::thresholds::LOW_THRESHOLD;
use crate::tied::{last_place, rounding_half_width};
use crate::types::{Alternative, Direction, Interval, Verdict};
use crate::wilcoxon::{
    Rounding, Wilcoxon, check_lengths, largest, rounding_of_floats, signed_rank,
};
use crate::wilcoxon_pinpoint;

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Up to this value there are no logarithms.
const SMALLEST_FOR_LOG: f64 = 1e-6;

/// The scale on which a pairwise comparison tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Transform {
    /// Differences of logarithms.
    Log,
    /// Differences in percent of the magnitude of the control's median; used when a value is 1e-6
    /// or less.
    Normalized,
    /// Plain differences; used where percentages make no sense: the control's median is 0, or
    /// values have both signs.
    Difference,
}

/// Result of [`compare_pairwise`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PairwiseComparison {
    /// The decision; never nil.
    pub verdict: Verdict,
    /// p of the Wilcoxon signed-rank test; 1 when no pair differs.
    pub p_value: f64,
    /// The change in percent of control; absent with [`Transform::Difference`].
    pub estimate: Option<f64>,
    /// The 95 % interval of the change in percent of control; absent with
    /// [`Transform::Difference`], and for fewer than six pairs, which can't reach 95 %.
    pub interval: Option<Interval>,
    /// Median of the control.
    pub control_median: f64,
    /// Median of the treatment.
    pub treatment_median: f64,
    /// The change is significant, but an improvement, so the verdict is same.
    pub is_improvement: bool,
    /// The scale of `original`.
    pub transform: Transform,
    /// The test as run, on its own scale: differences of logarithms, percentages or plain
    /// differences. Its interval has the level that this many pairs can reach.
    pub original: Wilcoxon,
    /// Number of pairs.
    pub pairs: usize,
}

impl PairwiseComparison {
    /// The smallest p-value that this many pairs can give, for any values.
    pub fn least_p_value(&self) -> f64 {
        least_p_value(self.pairs)
    }
}

/// The smallest two-sided p-value that the signed-rank test of `pairs` pairs can give: 2/2ⁿ, when
/// all differences have one sign. With 6 pairs it is 0.031.
///
/// ```
/// assert_eq!(pinpoint_compare::least_p_value(5), 0.0625);
/// assert_eq!(pinpoint_compare::least_p_value(0), 1.0);
/// ```
pub fn least_p_value(pairs: usize) -> f64 {
    libm::exp2(1.0 - pairs as f64).min(1.0)
}

/// Compares paired measurements: values at the same index belong together.
///
/// # The rule
///
/// Wilcoxon's signed-rank test ([`wilcoxon`](crate::wilcoxon), 95 %) of the differences of
/// logarithms; where a value is 1e-6 or less, of the differences in percent of the magnitude of the
/// control's median; where that is 0, or values have both signs, of the plain differences.
/// Different when p < 0.05 and the interval excludes 0, unless all of it lies in the `direction` of
/// improvement. Unknown when some pair differs, but the pairs are so few (fewer than six) that no
/// values of theirs could be different. Estimate and interval are in percent of control; the test
/// on its own scale is in `original`.
///
/// Values that tie, as whole milliseconds and counts do, are compared exactly: see
/// [`wilcoxon`](crate::wilcoxon). Samples whose logarithms are equal although the values are not
/// have no interval.
///
/// # Errors
///
/// [`CompareError::Empty`], [`CompareError::NotFinite`], [`CompareError::LengthsDiffer`], and
/// [`CompareError::Overflow`] when a percentage leaves the range of `f64`.
///
/// # Cost
///
/// O(n log n), with ties O(n³) additions for fewer than 50 pairs.
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
/// // Three pairs can show neither a difference nor its absence.
/// let got = compare_pairwise(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0], Direction::Down)?;
/// assert_eq!((got.verdict, got.interval), (Verdict::Unknown, None));
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
    check(control, treatment)?;
    let sides = Sides::from_samples(control, treatment, scratch);
    let transform = if sides.smallest > SMALLEST_FOR_LOG {
        Transform::Log
    } else if sides.control_median != 0.0 && (sides.smallest >= 0.0 || sides.largest <= 0.0) {
        Transform::Normalized
    } else {
        Transform::Difference
    };
    differences_into(control, treatment, transform, &sides, &mut scratch.a)?;
    let magnitude = largest(control).max(largest(treatment));
    let median = sides.control_median.abs();
    let half_unit = |confidence| {
        let half = rounding_half_width(last_place(&[control, treatment]), confidence);
        match transform {
            Transform::Log => half / median,
            Transform::Normalized => half / median * 100.0,
            Transform::Difference => half,
        }
    };
    let rounding = Rounding {
        of_floats: match transform {
            // A logarithm is off by its own rounding and by the value's, relatively.
            Transform::Log => rounding_of_floats(
                log(sides.smallest)
                    .abs()
                    .max(log(sides.largest).abs())
                    .max(1.0),
            ),
            Transform::Normalized => rounding_of_floats(magnitude / median * 100.0),
            Transform::Difference => rounding_of_floats(magnitude),
        },
        half_unit: &half_unit,
    };
    let original = signed_rank(Alternative::TwoSided, CONFIDENCE, rounding, scratch);
    let reached = original
        .achieved_confidence
        .is_some_and(|it| it >= CONFIDENCE);
    // Logarithms of values one bit apart are equal: their precision is unknown.
    let known = original.nonzero > 0 || control == treatment;
    let interval = original.interval.filter(|_| reached && known);
    let parts = Parts {
        sides,
        transform,
        interval,
        too_few: original.nonzero > 0 && least_p_value(control.len()) >= LOW_THRESHOLD,
        original,
    };
    parts.decide(treatment, direction)
}

/// [`compare_pairwise`] by Pinpoint's published rule.
///
/// The test is [`wilcoxon_pinpoint`](crate::wilcoxon_pinpoint), so that zero differences drop out
/// of the estimate, too, and p-values of ties are approximate. Negative values are rejected. When
/// all differences are equal the interval is that point. The verdict is never unknown.
///
/// # Errors
///
/// [`CompareError::Negative`], and those of [`compare_pairwise`].
///
/// # Cost
///
/// O(n log n); about 4 µs for 30 pairs.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{Direction, Verdict, compare_pairwise_pinpoint};
///
/// // Five pairs can't show anything: by chance, all five agree in sign in 1 of 16 cases.
/// let got = compare_pairwise_pinpoint(&[20.0; 5], &[21.0; 5], Direction::Down)?;
/// assert_eq!(got.verdict, Verdict::Different);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn compare_pairwise_pinpoint(
    control: &[f64],
    treatment: &[f64],
    direction: Direction,
) -> Result<PairwiseComparison, CompareError> {
    compare_pairwise_pinpoint_with(control, treatment, direction, &mut Scratch::new())
}

/// [`compare_pairwise_pinpoint`] with memory to reuse.
pub fn compare_pairwise_pinpoint_with(
    control: &[f64],
    treatment: &[f64],
    direction: Direction,
    scratch: &mut Scratch,
) -> Result<PairwiseComparison, CompareError> {
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
    check(control, treatment)?;
    let sides = Sides::from_samples(control, treatment, scratch);
    let transform = if sides.smallest > SMALLEST_FOR_LOG {
        Transform::Log
    } else if sides.control_median > 0.0 {
        Transform::Normalized
    } else {
        Transform::Difference
    };
    differences_into(control, treatment, transform, &sides, &mut scratch.a)?;
    let differences = &scratch.a;
    let one_value = differences.iter().all(|d| *d == differences[0]);
    let original = wilcoxon_pinpoint::signed_rank(Alternative::TwoSided, CONFIDENCE, scratch);
    let shift = original.estimate.unwrap_or(0.0);
    // Pairs that all differ by the same (or not at all) leave no interval to
    // estimate: it is that one point.
    let is_point = one_value && (original.nonzero > 0 || control == treatment);
    let point = Interval {
        low: shift,
        high: shift,
    };
    let parts = Parts {
        sides,
        transform,
        interval: original.interval.or(is_point.then_some(point)),
        too_few: false,
        original,
    };
    parts.decide(treatment, direction)
}

fn check(control: &[f64], treatment: &[f64]) -> Result<(), CompareError> {
    for (argument, values) in [("control", control), ("treatment", treatment)] {
        check_not_empty(argument, values)?;
        check_finite(argument, values)?;
    }
    check_lengths("control", control, "treatment", treatment)
}

/// Properties of both sides, before the comparison.
#[derive(Clone, Copy)]
struct Sides {
    control_median: f64,
    treatment_median: f64,
    smallest: f64,
    largest: f64,
}

impl Sides {
    fn from_samples(control: &[f64], treatment: &[f64], scratch: &mut Scratch) -> Self {
        let Scratch { first, second, .. } = scratch;
        sort_into(first, control);
        sort_into(second, treatment);
        Self {
            control_median: median_of_keys(first),
            treatment_median: median_of_keys(second),
            smallest: value(first[0].min(second[0])),
            largest: value(first[first.len() - 1].max(second[second.len() - 1])),
        }
    }
}

/// Puts the transformed differences of the pairs into `differences`.
fn differences_into(
    control: &[f64],
    treatment: &[f64],
    transform: Transform,
    sides: &Sides,
    differences: &mut Vec<f64>,
) -> Result<(), CompareError> {
    let pairs = control.iter().zip(treatment);
    let median = sides.control_median.abs();
    differences.clear();
    match transform {
        Transform::Log => differences.extend(pairs.map(|(c, t)| log(*t) - log(*c))),
        Transform::Normalized => differences.extend(pairs.map(|(c, t)| (t - c) / median * 100.0)),
        Transform::Difference => differences.extend(pairs.map(|(c, t)| t - c)),
    }
    match differences.iter().position(|d| !d.is_finite()) {
        Some(index) => Err(CompareError::Overflow {
            argument: "treatment",
            index,
        }),
        None => Ok(()),
    }
}

/// The basis of the decision.
struct Parts {
    sides: Sides,
    transform: Transform,
    original: Wilcoxon,
    /// The interval on the scale of the test.
    interval: Option<Interval>,
    /// True if no values of so few pairs could be different.
    too_few: bool,
}

impl Parts {
    fn decide(
        self,
        treatment: &[f64],
        direction: Direction,
    ) -> Result<PairwiseComparison, CompareError> {
        let Self {
            sides,
            transform,
            original,
            interval,
            too_few,
        } = self;
        // Without a differing pair no test exists: nothing indicates a change.
        let p_value = original.p_value.unwrap_or(1.0);
        let excludes_zero = interval.is_some_and(|i| !i.contains(0.0));
        let significant = p_value < LOW_THRESHOLD && excludes_zero;
        let is_improvement = significant
            && interval.is_some_and(|i| {
                direction.is_improvement(i.low) && direction.is_improvement(i.high)
            });
        let percent = |v: f64| match transform {
            Transform::Log => 100.0 * expm1(v),
            Transform::Normalized | Transform::Difference => v,
        };
        let (estimate, interval) = if transform == Transform::Difference {
            (None, None)
        } else {
            (
                Some(percent(original.estimate.unwrap_or(0.0))),
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
        let verdict = if significant && !is_improvement {
            Verdict::Different
        } else if too_few {
            Verdict::Unknown
        } else {
            Verdict::Same
        };
        Ok(PairwiseComparison {
            verdict,
            p_value,
            estimate,
            interval,
            control_median: sides.control_median,
            treatment_median: sides.treatment_median,
            is_improvement,
            transform,
            pairs: treatment.len(),
            original,
        })
    }
}

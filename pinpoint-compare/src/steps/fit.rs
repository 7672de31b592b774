//! One window, split in the middle.

use super::error::{StepError, check_finite, check_floor};
use super::statistic::{Side, Statistic};
use crate::mann_whitney::{MannWhitneyOptions, mann_whitney_u_with};
use crate::scratch::Scratch;
use crate::shift::median;
use crate::types::{Alternative, Method};

/// The least deviation that a statistic divides by, unless the caller says otherwise.
pub const FLOOR: f64 = 0.001;

/// The fewest values that have a step.
pub const LEAST_WINDOW: usize = 3;

/// The fewest values of Cohen's d: a sample deviation needs two on each side.
const LEAST_COHEN: usize = 4;

/// Samples of at most this many values have an exact Mann-Whitney test, without and with ties.
const EXACT: usize = 50;
const EXACT_WITH_TIES: usize = 25;

/// The largest share that [`Statistic::Percent`] reports: infinities become the largest `f32`.
const MOST_PERCENT: f64 = f32::MAX as f64;

/// A window's step and its statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct StepFit {
    /// The statistic that was computed.
    pub statistic: Statistic,
    /// The side of the threshold.
    pub side: Side,
    /// The index of the first value after the step, in the window.
    pub turning_point: usize,
    /// The mean before minus the mean after; negative for a rise. In units of the values, or of
    /// their deviation for [`Statistic::Original`].
    pub step_size: f64,
    /// The statistic R that is compared with the threshold.
    pub regression: f64,
    /// √(SSE before + SSE after) / n of the normalized window; [`Statistic::Original`] only.
    pub least_squares: Option<f64>,
}

/// Fits a step to the middle of a window.
///
/// The split is before index ⌊n/2⌋. `floor` is the least deviation to divide by, [`FLOOR`] in the
/// original. Of an odd number of values the last is left out, except by [`Statistic::Original`].
///
/// With the means ȳ0 and ȳ1 left and right, s = ȳ0 − ȳ1:
///
/// | statistic | R |
/// | --- | --- |
/// | `original` | s / max(√(SSE0+SSE1)/n, floor), of the window minus its mean, over its population deviation if that is above the floor |
/// | `absolute` | s |
/// | `percent`, `percent_median` | s/ȳ0, of means and of medians; ±∞ becomes ±3.4028235e38, NaN 0 |
/// | `const` | the size of the middle value |
/// | `cohen` | s over the mean of both sample deviations, at least the floor; 0 below 4 values |
/// | `stepiness` | sign(s)·(1 − √((SSE0+SSE1)/SSE)) |
/// | `mannwhitneyu` | the two-sided p-value, exact up to 50 values a side, 25 with ties |
///
/// # Errors
///
/// [`StepError::TooShort`], [`StepError::NotFinite`], [`StepError::BadThreshold`],
/// [`StepError::BadFloor`].
///
/// # Cost
///
/// O(n); O(n log n) for medians; the exact test is counted in O(n³), with ties O(n⁴).
///
/// ```
/// use pinpoint_compare::steps::{Side, Statistic, fit};
///
/// let window = [10.1, 9.9, 10.2, 9.8, 12.1, 11.9, 12.2, 11.8];
/// let found = fit(&window, Statistic::Cohen, 2.0, 0.001)?;
/// assert_eq!(found.side, Side::High);
/// assert!((found.regression - -10.9545).abs() < 1e-4);
/// # Ok::<(), pinpoint_compare::steps::StepError>(())
/// ```
pub fn fit(
    window: &[f64],
    statistic: Statistic,
    threshold: f64,
    floor: f64,
) -> Result<StepFit, StepError> {
    fit_with(window, statistic, threshold, floor, &mut Scratch::new())
}

/// [`fit`] with memory to reuse.
pub fn fit_with(
    window: &[f64],
    statistic: Statistic,
    threshold: f64,
    floor: f64,
    scratch: &mut Scratch,
) -> Result<StepFit, StepError> {
    statistic.check_threshold(threshold)?;
    check_floor(floor)?;
    check_finite("window", window)?;
    if window.len() < LEAST_WINDOW {
        return Err(StepError::TooShort {
            argument: "window",
            found: window.len(),
            needed: LEAST_WINDOW,
        });
    }
    let used = match statistic {
        Statistic::Original => window,
        _ => &window[..window.len() - window.len() % 2],
    };
    let turning_point = used.len() / 2;
    let (left, right) = used.split_at(turning_point);
    let halves = Halves::of(left, right);
    let mut step_size = halves.step();
    let mut least_squares = None;
    let regression = match statistic {
        Statistic::Original => {
            let (normal, error, regression) = halves.original(floor);
            step_size = normal;
            least_squares = Some(error);
            regression
        }
        Statistic::Absolute => step_size,
        Statistic::Percent => percent(step_size, halves.left_mean),
        Statistic::PercentMedian => {
            let (before, after) = (
                median(left).unwrap_or_default(),
                median(right).unwrap_or_default(),
            );
            step_size = before - after;
            percent(step_size, before)
        }
        Statistic::Const => {
            step_size = right.first().copied().unwrap_or_default().abs();
            step_size
        }
        Statistic::Cohen if used.len() < LEAST_COHEN => 0.0,
        Statistic::Cohen => {
            let deviation = |squares: f64, n: usize| (squares / (n as f64 - 1.0)).sqrt();
            let left = deviation(halves.left_squares, left.len());
            let right = deviation(halves.right_squares, right.len());
            step_size / ((left + right) / 2.0).max(floor)
        }
        Statistic::Stepiness => halves.stepiness(),
        Statistic::MannWhitneyU => p_value(left, right, scratch)?,
    };
    Ok(StepFit {
        statistic,
        side: statistic.side(regression, step_size, threshold),
        turning_point,
        step_size,
        regression,
        least_squares,
    })
}

/// Means and sums of squares of both sides of a split, from two passes over the values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Halves {
    left: f64,
    right: f64,
    left_mean: f64,
    /// The difference of the means, which has more digits than they have.
    step: f64,
    left_squares: f64,
    right_squares: f64,
}

impl Halves {
    pub(super) fn of(left: &[f64], right: &[f64]) -> Self {
        let center = left.first().copied().unwrap_or_default();
        let (left_mean, left_squares) = mean_and_squares(left, center);
        let (right_mean, right_squares) = mean_and_squares(right, center);
        Self {
            left: left.len() as f64,
            right: right.len() as f64,
            left_mean: center + left_mean,
            step: left_mean - right_mean,
            left_squares,
            right_squares,
        }
    }

    fn step(&self) -> f64 {
        self.step
    }

    fn within(&self) -> f64 {
        self.left_squares + self.right_squares
    }

    /// The sum of squares around the mean of all.
    fn all_squares(&self) -> f64 {
        let step = self.step();
        self.within() + step * step * (self.left * self.right / (self.left + self.right))
    }

    fn stepiness(&self) -> f64 {
        let (step, all) = (self.step(), self.all_squares());
        if step == 0.0 || all <= 0.0 {
            return 0.0;
        }
        (1.0 - (self.within() / all).sqrt()).copysign(step)
    }

    /// The step of the normalized values, its least squares error and R.
    pub(super) fn original(&self, floor: f64) -> (f64, f64, f64) {
        let n = self.left + self.right;
        let deviation = (self.all_squares() / n).sqrt();
        let scale = if deviation > floor { deviation } else { 1.0 };
        let step = self.step() / scale;
        let error = self.within().sqrt() / n / scale;
        (step, error, step / error.max(floor))
    }
}

/// The mean of the values minus `center`, and the sum of squares around it.
pub(super) fn mean_and_squares(values: &[f64], center: f64) -> (f64, f64) {
    let n = values.len() as f64;
    let rough = values.iter().map(|v| v - center).sum::<f64>() / n;
    // The second pass takes out the rounding of the first.
    let (mut rest, mut squares) = (0.0, 0.0);
    for value in values {
        let distance = (value - center) - rough;
        rest += distance;
        squares += distance * distance;
    }
    (rough + rest / n, (squares - rest * rest / n).max(0.0))
}

fn percent(step: f64, before: f64) -> f64 {
    let share = step / before;
    if share.is_nan() {
        0.0
    } else {
        share.clamp(-MOST_PERCENT, MOST_PERCENT)
    }
}

fn p_value(left: &[f64], right: &[f64], scratch: &mut Scratch) -> Result<f64, StepError> {
    let most = left.len().max(right.len());
    let mut sorted = [left, right].concat();
    sorted.sort_unstable_by(f64::total_cmp);
    let has_ties = sorted.windows(2).any(|pair| pair[0] == pair[1]);
    let limit = if has_ties { EXACT_WITH_TIES } else { EXACT };
    let method = if most <= limit {
        Method::Exact
    } else {
        Method::Asymptotic
    };
    let options = MannWhitneyOptions {
        alternative: Alternative::TwoSided,
        method,
        confidence: None,
    };
    Ok(mann_whitney_u_with(left, right, &options, scratch)?.p_value)
}

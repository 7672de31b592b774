//! The step of a whole tile: the best of all splits.

use super::error::{StepError, check_finite, check_floor};
use super::fit::{Halves, StepFit};
use super::statistic::Statistic;

/// The fewest values on each side of a split of a tile.
pub const LEAST_SIDE: usize = 5;

/// Fits a step to a whole tile: [`Statistic::Original`] at that split, [`LEAST_SIDE`] or more from
/// both ends, which leaves the least squares error; the first of several.
///
/// This is the form for which thresholds of 50 and 150 were made. R grows with √n.
///
/// # Errors
///
/// [`StepError::NotFinite`], [`StepError::BadThreshold`], [`StepError::BadFloor`],
/// [`StepError::TooShort`] below 10 values.
///
/// # Cost
///
/// O(n), by sums of the centered values; the split found is computed from its values.
pub fn fit_tile(values: &[f64], threshold: f64, floor: f64) -> Result<StepFit, StepError> {
    Statistic::Original.check_threshold(threshold)?;
    check_floor(floor)?;
    check_finite("values", values)?;
    let n = values.len();
    if n < 2 * LEAST_SIDE {
        return Err(StepError::TooShort {
            argument: "values",
            found: n,
            needed: 2 * LEAST_SIDE,
        });
    }
    let center = values.iter().sum::<f64>() / n as f64;
    let total: f64 = values.iter().map(|v| v - center).sum();
    // The squares around all are the same for each split, so the largest part between the sides
    // leaves the least within.
    let (mut before, mut best, mut turning_point) = (0.0, f64::NEG_INFINITY, LEAST_SIDE);
    for (i, value) in values.iter().enumerate().take(n - LEAST_SIDE + 1) {
        if i >= LEAST_SIDE {
            let (left, right) = (i as f64, (n - i) as f64);
            let after = total - before;
            let between = before * before / left + after * after / right;
            if between > best {
                (best, turning_point) = (between, i);
            }
        }
        before += value - center;
    }
    let (left, right) = values.split_at(turning_point);
    let (step_size, error, regression) = Halves::of(left, right).original(floor);
    Ok(StepFit {
        statistic: Statistic::Original,
        side: Statistic::Original.side(regression, step_size, threshold),
        turning_point,
        step_size,
        regression,
        least_squares: Some(error),
    })
}

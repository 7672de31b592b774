//! Windows that slide over a series point by point.

use super::error::{StepError, check_finite, check_floor};
use super::fit::{Halves, StepFit, fit_with};
use super::statistic::Statistic;
use crate::scratch::Scratch;

/// The neighbors on the left in a window of the original, unless an alert says otherwise.
pub const RADIUS: usize = 7;

/// The largest radius.
pub const MOST_RADIUS: usize = 1 << 20;

/// A fit and where it is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FitAt {
    /// The index in the series of the window's middle: the first value after the step.
    pub at: usize,
    /// The window's fit.
    pub fit: StepFit,
}

pub(super) fn check_radius(radius: usize) -> Result<(), StepError> {
    if (1..=MOST_RADIUS).contains(&radius) {
        Ok(())
    } else {
        Err(StepError::BadRadius {
            radius,
            most: MOST_RADIUS,
        })
    }
}

/// The ranges of the windows over the values that are present, as positions in `series`.
///
/// Each window is [`Statistic::window_length`] long and starts one value after the previous one.
/// This is how single traces are read: missing values take no place.
pub fn present(series: &[Option<f64>]) -> (Vec<f64>, Vec<usize>) {
    let values = series.iter().enumerate();
    let (indices, values) = values.filter_map(|(i, v)| v.map(|v| (i, v))).unzip();
    (values, indices)
}

/// Returns true if a window over commits is left out: its middle is missing, or more than half of a
/// side. The sides are the ⌊n/2⌋ values at either end.
pub fn is_left_out(window: &[Option<f64>]) -> bool {
    let side = window.len() / 2;
    let too_few =
        |half: &[Option<f64>]| 2 * half.iter().filter(|v| v.is_none()).count() > half.len();
    window.get(side).is_none_or(Option::is_none)
        || too_few(&window[..side])
        || too_few(&window[window.len() - side..])
}

/// The series with each missing value replaced by the next one that is present, and those at the
/// end by the last one.
///
/// # Errors
///
/// [`StepError::AllMissing`], [`StepError::NotFinite`].
pub fn filled(series: &[Option<f64>]) -> Result<Vec<f64>, StepError> {
    let mut next = series
        .iter()
        .rev()
        .find_map(|v| *v)
        .ok_or(StepError::AllMissing {
            argument: "series",
            length: series.len(),
        })?;
    let mut filled = vec![0.0; series.len()];
    for (slot, value) in filled.iter_mut().zip(series).rev() {
        next = value.unwrap_or(next);
        *slot = next;
    }
    check_finite("series", &filled)?;
    Ok(filled)
}

/// Fits a step at every point of a single trace whose window is full, over the values present.
///
/// # Errors
///
/// Those of [`fit`](super::fit()), [`StepError::BadRadius`], [`StepError::AllMissing`],
/// [`StepError::TooShort`] when fewer values are present than a window has.
pub fn fit_every_point(
    series: &[Option<f64>],
    radius: usize,
    statistic: Statistic,
    threshold: f64,
    floor: f64,
) -> Result<Vec<FitAt>, StepError> {
    check_radius(radius)?;
    let (values, indices) = present(series);
    if values.is_empty() && !series.is_empty() {
        return Err(StepError::AllMissing {
            argument: "series",
            length: series.len(),
        });
    }
    let length = statistic.window_length(radius).max(3);
    if values.len() < length {
        return Err(StepError::TooShort {
            argument: "series",
            found: values.len(),
            needed: length,
        });
    }
    let mut scratch = Scratch::new();
    let windows = values.windows(length).zip(&indices[length / 2..]);
    windows
        .map(|(window, &at)| {
            let fit = fit_with(window, statistic, threshold, floor, &mut scratch)?;
            Ok(FitAt { at, fit })
        })
        .collect()
}

/// R of [`Statistic::Original`] at every point whose window is full: `out[i]` belongs to the value
/// at index `i + radius`.
///
/// Sums of the centered values make it O(length) for any radius; windows whose sums cancel are
/// computed from their values. The result agrees with [`fit`](super::fit()) to 1e-6 for values near
/// 1e9 with deviation 1.
///
/// # Errors
///
/// [`StepError::NotFinite`], [`StepError::BadRadius`], [`StepError::BadFloor`],
/// [`StepError::TooShort`].
pub fn original_every_point(
    values: &[f64],
    radius: usize,
    floor: f64,
    sums: &mut Sums,
    out: &mut Vec<f64>,
) -> Result<(), StepError> {
    check_radius(radius)?;
    check_floor(floor)?;
    check_finite("values", values)?;
    let length = 2 * radius + 1;
    if values.len() < length {
        return Err(StepError::TooShort {
            argument: "values",
            found: values.len(),
            needed: length,
        });
    }
    sums.fill(values);
    sums.original(values, radius, floor, out);
    Ok(())
}

/// Memory of [`original_every_point`], to reuse from series to series.
#[derive(Debug, Default)]
pub struct Sums {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

/// A sum of squares below this share of the running sum has lost digits to cancellation.
const CANCELED: f64 = 1e-9;

impl Sums {
    fn fill(&mut self, values: &[f64]) {
        let n = values.len();
        // The middle of the ends is near the values, and subtracting it is exact where it matters.
        let center = values.iter().sum::<f64>() / n as f64;
        self.sums.resize(n + 1, 0.0);
        self.squares.resize(n + 1, 0.0);
        let (mut sum, mut square) = (0.0, 0.0);
        let places = self.sums.iter_mut().zip(&mut self.squares).skip(1);
        for ((sums, squares), value) in places.zip(values) {
            let distance = value - center;
            sum += distance;
            square += distance * distance;
            *sums = sum;
            *squares = square;
        }
    }

    fn original(&self, values: &[f64], radius: usize, floor: f64, out: &mut Vec<f64>) {
        let length = 2 * radius + 1;
        let windows = values.len() + 1 - length;
        let (left, right, n) = (radius as f64, (radius + 1) as f64, length as f64);
        let (per_left, per_right, per_n) = (1.0 / left, 1.0 / right, 1.0 / n);
        let total = self.squares.last().copied().unwrap_or_default();
        let suspect = total * CANCELED;
        out.clear();
        out.resize(windows, 0.0);
        let starts = self.sums.iter().zip(&self.squares);
        let middles = &self.sums[radius..];
        let ends = self.sums[length..].iter().zip(&self.squares[length..]);
        let mut is_suspect = false;
        for (((slot, (s0, q0)), s1), (s2, q2)) in out.iter_mut().zip(starts).zip(middles).zip(ends)
        {
            let (a, b) = ((s1 - s0) * per_left, (s2 - s1) * per_right);
            let step = a - b;
            let within = ((q2 - q0) - left * a * a - right * b * b).max(0.0);
            let all = within + step * step * (left * right * per_n);
            let deviation = (all * per_n).sqrt();
            let scale = if deviation > floor { deviation } else { 1.0 };
            *slot = step / (within.sqrt() * per_n).max(floor * scale);
            is_suspect |= within <= suspect;
        }
        if !is_suspect {
            return;
        }
        for (i, slot) in out.iter_mut().enumerate() {
            let (a, b) = (
                (self.sums[i + radius] - self.sums[i]) * per_left,
                (self.sums[i + length] - self.sums[i + radius]) * per_right,
            );
            let within = self.squares[i + length] - self.squares[i] - left * a * a - right * b * b;
            if within <= suspect {
                let window = &values[i..i + length];
                let (before, after) = window.split_at(radius);
                *slot = Halves::of(before, after).original(floor).2;
            }
        }
    }
}

/// [`original_every_point`] of many series on all cores: for each, the points where |R| reaches
/// `threshold`, with their R.
#[cfg(feature = "rayon")]
pub fn original_many<T: AsRef<[f64]> + Sync>(
    series: &[T],
    radius: usize,
    threshold: f64,
    floor: f64,
) -> Vec<Result<Vec<(usize, f64)>, StepError>> {
    use rayon::prelude::*;

    series
        .par_iter()
        .with_min_len(64)
        .map_init(
            || (Sums::default(), Vec::new()),
            |(sums, out), values| {
                Statistic::Original.check_threshold(threshold)?;
                original_every_point(values.as_ref(), radius, floor, sums, out)?;
                let points = out.iter().enumerate();
                let found = points.filter(|(_, r)| r.abs() >= threshold);
                Ok(found.map(|(i, &r)| (i + radius, r)).collect())
            },
        )
        .collect()
}

//! Where the change is, given that there is one: from the shape of the noise.
//!
//! Whether one value is of the old or of the new level is told by its likelihood
//! ratio: how much likelier it is at the one level than at the other. For normal
//! noise that is proportional to the value itself. For other shapes it is not:
//! an outlier tells nothing, however large it is, and where noise has a sharp
//! edge, a value below the edge tells all. So values are replaced by their
//! logarithmic likelihood ratios, with the shape of the noise estimated from the
//! distances of all values to their levels: normal, Student's, or smoothed from
//! the distances themselves, whichever predicts each distance best from the
//! others. Then the pooled means before and behind each gap are compared as those
//! of normal values with unknown variance, so that a wrong shape costs runs but
//! not honesty.

use libm::{exp, log};

use super::values::{Evidence, FittedSegment, Value};

/// Degrees of freedom of the Student distribution.
const FREEDOM: f64 = 4.0;
/// Smoothing widths, in scales of the noise, for 50 values.
const WIDTHS: [f64; 3] = [0.12, 0.25, 0.5];
/// Values that the Student distribution counts for in a smoothed shape.
const PRIOR_VALUES: f64 = 5.0;
/// By so much, in log likelihood, a smoothed shape must be the better one.
const PREFERENCE: f64 = 3.0;
/// The variance that the ratios have beside that of the noise, in parts of their
/// mean square. Without it, of answers stated with 99 % in noise of several modes
/// 22 % were wrong.
const UNCERTAINTY: f64 = 0.1;
/// Fewer values have no shape of their own.
const LEAST_VALUES: usize = 25;

/// A density of the noise.
#[derive(Debug)]
enum Shape {
    Normal { deviation: f64 },
    Student { scale: f64 },
    Smoothed(Smoothed),
}

/// Kernels on a grid.
#[derive(Debug)]
struct Smoothed {
    scale: f64,
    width: f64,
    step: f64,
    first: f64,
    sums: Vec<f64>,
    count: f64,
}

impl Shape {
    fn log_density(&self, at: f64, without: f64) -> f64 {
        match self {
            Self::Normal { deviation } => {
                let z = at / deviation;
                -0.5 * z * z - log(*deviation) - 0.918_938_533_204_672_7
            }
            Self::Student { scale } => log(student(at, *scale)),
            Self::Smoothed(smoothed) => log(smoothed.density(at, without)),
        }
    }
}

fn student(at: f64, scale: f64) -> f64 {
    let t = at / scale;
    let base = 1.0 + t * t / FREEDOM;
    // Its constant for 4 degrees of freedom is 3/8.
    0.375 / (base * base * base.sqrt()) / scale
}

impl Smoothed {
    fn new(distances: &[f64], scale: f64, width: f64) -> Self {
        let step = width / 3.0;
        let reach = 8.0 * scale;
        let cells = (2.0 * reach / step) as usize + 1;
        let mut smoothed = Self {
            scale,
            width,
            step,
            first: -reach,
            sums: vec![0.0; cells + 1],
            count: distances.len() as f64,
        };
        let kernel: Vec<f64> = (0..=12)
            .map(|k| smoothed.kernel(f64::from(k) * step))
            .collect();
        let mut counts = vec![0.0; cells + 1];
        for distance in distances {
            let cell = (distance - smoothed.first) / step;
            if cell >= 0.0 && cell < cells as f64 {
                let (low, part) = (cell as usize, cell.fract());
                counts[low] += 1.0 - part;
                counts[low + 1] += part;
            }
        }
        for (cell, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let from = cell.saturating_sub(12);
            let to = (cell + 12).min(cells);
            for (place, sum) in (from..=to).zip(&mut smoothed.sums[from..=to]) {
                *sum += count * kernel[place.abs_diff(cell)];
            }
        }
        smoothed
    }

    fn kernel(&self, distance: f64) -> f64 {
        let z = distance / self.width;
        exp(-0.5 * z * z) / (2.506_628_274_631_000_5 * self.width)
    }

    /// The density at a place, as it is without the value at a distance.
    fn density(&self, at: f64, without: f64) -> f64 {
        let cell = (at - self.first) / self.step;
        let sum = if cell >= 0.0 && cell < (self.sums.len() - 1) as f64 {
            let (low, part) = (cell as usize, cell.fract());
            self.sums[low] * (1.0 - part) + self.sums[low + 1] * part
        } else {
            0.0
        };
        let others = (sum - self.kernel(at - without)).max(0.0);
        (PRIOR_VALUES * student(at, 1.5 * self.scale) + others) / (PRIOR_VALUES + self.count - 1.0)
    }
}

/// All values, and what is known of their noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Residuals<'a> {
    /// The values without drift and bots.
    pub(crate) plain: &'a [f64],
    /// The same with them, and their sites.
    pub(crate) values: &'a [Value],
    /// Small where a value is far from every level.
    pub(crate) weights: &'a [f64],
    /// The standard deviation of the noise, outliers apart.
    pub(crate) scale: f64,
    /// The smallest distance of two values that differ.
    pub(crate) tick: f64,
}

/// Shares the evidence for a change in each segment among its gaps anew.
///
/// Cost: O(n + m) for n values at m sites.
pub(crate) fn locate(
    sample: Residuals<'_>,
    segments: &[FittedSegment],
    prior: &[f64],
    evidence: &mut Evidence,
) {
    let Residuals {
        plain,
        values,
        weights,
        ..
    } = sample;
    let segment_of = |site: usize| segments.iter().position(|segment| site <= segment.to);
    // Levels as means, weighted so that outliers count for little.
    let mut sums = vec![[[0.0; 2]; 2]; segments.len()];
    for ((plain, value), weight) in plain.iter().zip(values).zip(weights) {
        if let Some(index) = segment_of(value.site) {
            let side = usize::from(value.site > segments[index].best);
            sums[index][side][0] += weight * plain;
            sums[index][side][1] += weight;
        }
    }
    let level = |index: usize, side: usize| {
        let [sum, weight] = sums[index][side];
        (weight > 0.0).then(|| sum / weight)
    };
    let distances: Vec<f64> = (plain.iter().zip(values))
        .map(|(plain, value)| {
            segment_of(value.site)
                .and_then(|index| level(index, usize::from(value.site > segments[index].best)))
                .map_or(0.0, |level| plain - level)
        })
        .collect();
    let shape = choose_shape(&distances, sample.scale, sample.tick);
    for (index, segment) in segments.iter().enumerate() {
        let (Some(old), Some(new)) = (level(index, 0), level(index, 1)) else {
            continue;
        };
        let sites = segment.to - segment.from + 1;
        let mut by_site = vec![[0.0; 2]; sites];
        let mut squares = 0.0;
        for ((plain, value), distance) in plain.iter().zip(values).zip(&distances) {
            if (segment.from..=segment.to).contains(&value.site) {
                let ratio = shape.log_density(plain - new, *distance)
                    - shape.log_density(plain - old, *distance);
                let site = &mut by_site[value.site - segment.from];
                site[0] += ratio;
                site[1] += 1.0;
                squares += ratio * ratio;
            }
        }
        let [sum, count] = by_site
            .iter()
            .fold([0.0; 2], |all, site| [all[0] + site[0], all[1] + site[1]]);
        let freedom = (count - 2.0).max(1.0);
        // The shape is an estimate: where it tells all ratios apart without error,
        // a single value on the wrong side must not rule a place out for ever.
        // Levels closer than the noise allows to tell give ratios near 0.
        let floor = 1e-9 + UNCERTAINTY * squares / count;
        let mut before = [0.0; 2];
        let mut logs = vec![f64::NEG_INFINITY; sites - 1];
        for (gap, log_likelihood) in logs.iter_mut().enumerate() {
            before[0] += by_site[gap][0];
            before[1] += by_site[gap][1];
            let behind = [sum - before[0], count - before[1]];
            let mean_square = |side: [f64; 2]| {
                if side[1] > 0.0 {
                    side[0] * side[0] / side[1]
                } else {
                    0.0
                }
            };
            // The step has the sign of the best one.
            let rises = before[1] <= 0.0
                || behind[1] <= 0.0
                || behind[0] / behind[1] > before[0] / before[1];
            let explained = if rises {
                mean_square(before) + mean_square(behind)
            } else {
                sum * sum / count
            };
            let rest = (squares - explained).max(0.0) + floor * count;
            *log_likelihood = -0.5 * log(1.0 + before[1] * behind[1] / count)
                - 0.5 * freedom * log(rest / (squares + floor * count));
        }
        let gaps = segment.from..segment.to;
        let total = |logs: &[f64], largest: f64| -> f64 {
            (logs.iter().zip(gaps.clone()))
                .map(|(log, gap)| prior[gap] * exp(log - largest))
                .sum()
        };
        let highest = |logs: &[f64]| logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let old_logs = evidence.worse[gaps.clone()].to_vec();
        let (most_old, most_new) = (highest(&old_logs), highest(&logs));
        let (all_old, all_new) = (total(&old_logs, most_old), total(&logs, most_new));
        if all_old > 0.0 && all_new > 0.0 && most_old.is_finite() && most_new.is_finite() {
            let shift = most_old + log(all_old) - most_new - log(all_new);
            for (gap, log) in gaps.clone().zip(&logs) {
                evidence.worse[gap] = log + shift;
            }
        }
    }
}

/// The shape that predicts each distance best from the others.
fn choose_shape(distances: &[f64], scale: f64, tick: f64) -> Shape {
    let count = distances.len() as f64;
    let square: f64 = distances.iter().map(|distance| distance * distance).sum();
    let deviation = (square / (count - 2.0).max(1.0)).sqrt().max(1e-3 * scale);
    let fit = |shape: &Shape| -> f64 {
        distances
            .iter()
            .map(|distance| shape.log_density(*distance, *distance))
            .sum()
    };
    let mut best = Shape::Student { scale };
    let mut most = fit(&best);
    let normal = Shape::Normal { deviation };
    let found = fit(&normal);
    if found > most {
        (best, most) = (normal, found);
    }
    if distances.len() >= LEAST_VALUES {
        most += PREFERENCE;
        for width in WIDTHS {
            let width = width * scale * libm::pow(count / 50.0, -0.2);
            let width = width.max(0.7 * tick);
            let smoothed = Shape::Smoothed(Smoothed::new(distances, scale, width));
            let found = fit(&smoothed);
            if found > most {
                (best, most) = (smoothed, found);
            }
        }
    }
    best
}

//! The location of a change, given that there is one: from the shape of the noise.
//!
//! A value's likelihood ratio tells the old level from the new one: it is the value's likelihood at
//! the one relative to the other. For normal noise it is proportional to the value. For other
//! shapes it is not: an outlier says nothing, however large it is, and where noise has a sharp
//! edge, a value below the edge decides. So values are replaced by their logarithmic likelihood
//! ratios, with the shape of the noise estimated from the distances of all values to their levels:
//! normal, Student's, or smoothed from the distances themselves, whichever predicts each distance
//! best from the others. Then the pooled means before and after each gap are compared as those of
//! normal values with unknown variance, so that a wrong shape costs runs but not honesty.

use libm::{exp, log};

use super::log_sum::LogSum;
use super::memory::{EARLIER, Memory, Windows};
use super::tuning::{
    FREEDOM, GRID_PER_WIDTH, GRID_REACH, KERNEL_REACH, KERNEL_WIDTHS, LEAST_DEVIATION,
    LEAST_KERNEL_TICKS, LEAST_RATIO_VARIANCE, LEAST_SHAPE_VALUES, LEAST_STEP, PREFERENCE,
    PRIOR_SCALE, PRIOR_VALUES,
};

/// A density of the noise.
#[derive(Debug)]
enum Shape {
    Normal { deviation: f64, log_deviation: f64 },
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
    /// The kernel's largest value.
    peak: f64,
}

impl Shape {
    fn log_density(&self, at: f64, without: f64) -> f64 {
        match self {
            Self::Normal {
                deviation,
                log_deviation,
            } => {
                let z = at / deviation;
                -0.5 * z * z - log_deviation - 0.918_938_533_204_672_7
            }
            Self::Student { scale } => log(student(at, *scale)),
            Self::Smoothed(smoothed) => log(smoothed.density(at, without)),
        }
    }
}

pub(crate) fn student(at: f64, scale: f64) -> f64 {
    let t = at / scale;
    let base = 1.0 + t * t / FREEDOM;
    // Its constant for 4 degrees of freedom is 3/8.
    0.375 / (base * base * base.sqrt()) / scale
}

impl Smoothed {
    fn new(distances: &[f64], scale: f64, width: f64) -> Self {
        let step = width / GRID_PER_WIDTH;
        let reach = GRID_REACH * scale;
        let cells = (2.0 * reach / step) as usize + 1;
        let mut smoothed = Self {
            scale,
            width,
            step,
            first: -reach,
            sums: vec![0.0; cells + 1],
            count: distances.len() as f64,
            peak: 0.0,
        };
        smoothed.peak = smoothed.kernel(0.0);
        let mut kernel = [smoothed.peak; 2 * KERNEL_REACH + 1];
        for k in 1..=KERNEL_REACH {
            kernel[KERNEL_REACH + k] = smoothed.kernel(k as f64 * step);
            kernel[KERNEL_REACH - k] = kernel[KERNEL_REACH + k];
        }
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
            let from = cell.saturating_sub(KERNEL_REACH);
            let to = (cell + KERNEL_REACH).min(cells);
            let kernel = &kernel[from + KERNEL_REACH - cell..];
            for (sum, kernel) in smoothed.sums[from..=to].iter_mut().zip(kernel) {
                *sum += count * kernel;
            }
        }
        smoothed
    }

    fn kernel(&self, distance: f64) -> f64 {
        let z = distance / self.width;
        exp(-0.5 * z * z) / (2.506_628_274_631_000_5 * self.width)
    }

    /// The density at a distance, without the contribution of the value at another one.
    fn density(&self, at: f64, without: f64) -> f64 {
        let cell = (at - self.first) / self.step;
        let sum = if cell >= 0.0 && cell < (self.sums.len() - 1) as f64 {
            let (low, part) = (cell as usize, cell.fract());
            self.sums[low] * (1.0 - part) + self.sums[low + 1] * part
        } else {
            0.0
        };
        let own = if at == without {
            self.peak
        } else {
            self.kernel(at - without)
        };
        let others = (sum - own).max(0.0);
        (PRIOR_VALUES * student(at, PRIOR_SCALE * self.scale) + others)
            / (PRIOR_VALUES + self.count - 1.0)
    }
}

/// All values, and an estimate of their noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Residuals<'a> {
    /// The values without drift and bots.
    pub(crate) plain: &'a [f64],
    /// The site of each.
    pub(crate) sites: &'a [usize],
    /// The index of the value of the run before it on its bot.
    pub(crate) previous: &'a [Option<usize>],
    /// The windows of all values.
    pub(crate) windows: &'a Windows,
    /// Small where a value is far from every level.
    pub(crate) weights: &'a [f64],
    /// The standard deviation of the noise, outliers apart.
    pub(crate) scale: f64,
    /// The smallest distance of two values that differ.
    pub(crate) tick: f64,
}

/// The sites between two known changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FittedSegment {
    pub(crate) from: usize,
    /// The gap of the best step, or `to` where there is none.
    pub(crate) best: usize,
    pub(crate) to: usize,
}

/// Divides the evidence for a change in each segment among its gaps again. `worse` is the
/// logarithm of the evidence in each gap.
///
/// Cost: O(n + m) for n values at m sites.
pub(crate) fn locate(
    residuals: Residuals<'_>,
    segments: &[FittedSegment],
    prior: &[f64],
    (memories, uncertainty): (&[Memory], [f64; 2]),
    worse: &mut [f64],
) {
    let segment_of = |site: usize| segments.iter().position(|segment| site <= segment.to);
    let levels = levels(residuals, segments, segment_of);
    let distances: Vec<f64> = (residuals.plain.iter().zip(residuals.sites))
        .map(|(plain, site)| {
            segment_of(*site)
                .and_then(|index| levels[index][usize::from(*site > segments[index].best)])
                .map_or(0.0, |level| plain - level)
        })
        .collect();
    let shape = choose_shape(&distances, residuals.scale, residuals.tick);
    for (segment, level) in segments.iter().zip(&levels) {
        let [Some(old), Some(new)] = *level else {
            continue;
        };
        let is_inside =
            |index: usize| (segment.from..=segment.to).contains(&residuals.sites[index]);
        let ratio = |index: usize| {
            let (plain, distance) = (residuals.plain[index], distances[index]);
            shape.log_density(plain - new, distance) - shape.log_density(plain - old, distance)
        };
        let ratios = Ratios {
            ratios: (0..residuals.plain.len())
                .map(|index| if is_inside(index) { ratio(index) } else { 0.0 })
                .collect(),
            sites: (residuals.sites.iter())
                .map(|site| site.saturating_sub(segment.from))
                .collect(),
            inside: (0..residuals.plain.len())
                .filter(|index| is_inside(*index))
                .collect(),
            gaps: segment.to - segment.from,
        };
        let mut likelihoods = vec![LogSum::EMPTY; segment.to - segment.from];
        let of_segment = (segments.len() > 1).then(|| Windows::new(residuals.previous, is_inside));
        let windows = of_segment.as_ref().unwrap_or(residuals.windows);
        let (without, with): (Vec<Memory>, Vec<Memory>) =
            (memories.iter().copied()).partition(|memory| memory.is_none());
        let of_each = (without.iter().map(|_| ratios.without_memory(uncertainty)))
            .chain(ratios.with_memories(windows, &with, uncertainty));
        for (memory, of_memory) in without.iter().chain(&with).zip(of_each) {
            for (sum, likelihood) in likelihoods.iter_mut().zip(of_memory) {
                sum.add(log(memory.prior) + likelihood);
            }
        }
        let likelihoods: Vec<f64> = likelihoods.into_iter().map(LogSum::value).collect();
        let gaps = segment.from..segment.to;
        divide(&mut worse[gaps.clone()], &likelihoods, &prior[gaps]);
    }
}

/// The levels of each segment, before and after its best step: means, weighted so that
/// outliers count for little.
fn levels(
    residuals: Residuals<'_>,
    segments: &[FittedSegment],
    segment_of: impl Fn(usize) -> Option<usize>,
) -> Vec<[Option<f64>; 2]> {
    let mut sums = vec![[[0.0; 2]; 2]; segments.len()];
    for ((plain, site), weight) in (residuals.plain.iter())
        .zip(residuals.sites)
        .zip(residuals.weights)
    {
        if let Some(index) = segment_of(*site) {
            let side = usize::from(*site > segments[index].best);
            sums[index][side][0] += weight * plain;
            sums[index][side][1] += weight;
        }
    }
    (sums.into_iter())
        .map(|sides| sides.map(|[sum, weight]| (weight > 0.0).then(|| sum / weight)))
        .collect()
}

/// The logarithmic likelihood ratios of a segment's values.
struct Ratios {
    /// The ratio of each value; 0 outside.
    ratios: Vec<f64>,
    /// The site of each value, from the first of the segment.
    sites: Vec<usize>,
    /// The indices of the segment's values.
    inside: Vec<usize>,
    gaps: usize,
}

/// Sums over the sites after a gap, of the step's column: with itself, with the level's
/// and with the ratios.
#[derive(Clone, Copy, Default)]
struct StepSums {
    square: f64,
    level: f64,
    ratio: f64,
}

/// Sums over all sites, of the level's column and of the ratios.
#[derive(Clone, Copy, Default)]
struct LevelSums {
    /// The sum of the squared ratios.
    squares: f64,
    /// The sum of the squares of the level's column.
    level_square: f64,
    /// The sum of the products of both.
    level_ratio: f64,
}

impl Ratios {
    /// The logarithm of the likelihood of a step, for each gap, where each ratio scatters on
    /// its own.
    fn without_memory(&self, uncertainty: [f64; 2]) -> Vec<f64> {
        let mut by_site = vec![[0.0; 2]; self.gaps + 1];
        let mut squares = 0.0;
        for index in &self.inside {
            let (site, ratio) = (&mut by_site[self.sites[*index]], self.ratios[*index]);
            site[0] += ratio;
            site[1] += 1.0;
            squares += ratio * ratio;
        }
        let [sum, count] =
            (by_site.iter()).fold([0.0; 2], |all, site| [all[0] + site[0], all[1] + site[1]]);
        let freedom = (count - 2.0).max(1.0);
        let floor = Self::floor(squares, count, uncertainty);
        let mean_square = |side: [f64; 2]| {
            if side[1] > 0.0 {
                side[0] * side[0] / side[1]
            } else {
                0.0
            }
        };
        let mut before = [0.0; 2];
        (by_site[..self.gaps].iter())
            .map(|site| {
                before[0] += site[0];
                before[1] += site[1];
                let after = [sum - before[0], count - before[1]];
                // The step has the sign of the best one.
                let rises = before[1] <= 0.0
                    || after[1] <= 0.0
                    || after[0] / after[1] > before[0] / before[1];
                let explained = if rises {
                    mean_square(before) + mean_square(after)
                } else {
                    sum * sum / count
                };
                let rest = (squares - explained).max(0.0) + floor * count;
                -0.5 * log(1.0 + before[1] * after[1] / count)
                    - 0.5 * freedom * log(rest / (squares + floor * count))
            })
            .collect()
    }

    /// The least variance of the ratios. The shape is an estimate: where it separates all
    /// ratios without error, a single value on the wrong side must not rule a gap out.
    /// Levels closer than the noise can resolve give ratios near 0.
    fn floor(squares: f64, count: f64, uncertainty: [f64; 2]) -> f64 {
        LEAST_RATIO_VARIANCE + (uncertainty[0] + uncertainty[1] / count) * squares / count
    }

    /// The same in noise with each of these memories, some of them side by side (see
    /// `values::sums`).
    fn with_memories(
        &self,
        windows: &Windows,
        memories: &[Memory],
        uncertainty: [f64; 2],
    ) -> Vec<Vec<f64>> {
        let mut found = Vec::with_capacity(memories.len());
        let mut left = memories;
        loop {
            left = match *left {
                [a, b, c, d, ref rest @ ..] => {
                    found.extend(self.with_memory(windows, [a, b, c, d], uncertainty));
                    rest
                }
                [a, b, ref rest @ ..] => {
                    found.extend(self.with_memory(windows, [a, b], uncertainty));
                    rest
                }
                [a, ref rest @ ..] => {
                    found.extend(self.with_memory(windows, [a], uncertainty));
                    rest
                }
                [] => return found,
            }
        }
    }

    /// Generalized least squares, from the differences of the values.
    fn with_memory<const KINDS: usize>(
        &self,
        windows: &Windows,
        memories: [Memory; KINDS],
        uncertainty: [f64; 2],
    ) -> [Vec<f64>; KINDS] {
        let factors = memories.map(|memory| windows.factors(memory));
        let mut by_site = vec![[StepSums::default(); KINDS]; self.gaps + 1];
        let mut all = [LevelSums::default(); KINDS];
        let by_kind = std::array::from_fn(|kind| &factors[kind][..]);
        for (indices, factors) in windows.side_by_side::<{ EARLIER + 1 }, KINDS>(by_kind) {
            let (mut level, mut value) = ([0.0; KINDS], [0.0; KINDS]);
            for (index, factor) in indices.iter().zip(&factors) {
                for kind in 0..KINDS {
                    level[kind] += factor[kind];
                    value[kind] += factor[kind] * self.ratios[*index];
                }
            }
            for kind in 0..KINDS {
                all[kind].squares += value[kind] * value[kind];
                all[kind].level_square += level[kind] * level[kind];
                all[kind].level_ratio += level[kind] * value[kind];
            }
            let sites = indices.map(|index| self.sites[index]);
            for (part, site) in sites.into_iter().enumerate() {
                let factor = &factors[part];
                for kind in 0..KINDS {
                    let sums = &mut by_site[site][kind];
                    sums.square += factor[kind] * factor[kind];
                    sums.level += factor[kind] * level[kind];
                    sums.ratio += factor[kind] * value[kind];
                }
                for (other, another) in sites[part + 1..].iter().zip(&factors[part + 1..]) {
                    for (kind, sums) in by_site[site.min(*other)].iter_mut().enumerate() {
                        sums.square += 2.0 * factor[kind] * another[kind];
                    }
                }
            }
        }
        std::array::from_fn(|kind| {
            let density = (windows.differences(&factors[kind]))
                .fold(0.0, |sum, difference| sum + difference.log_density());
            let by_site = by_site.iter().map(|site| site[kind]);
            self.likelihoods(by_site, all[kind], density, windows.len(), uncertainty)
        })
    }

    /// The logarithm of the likelihood of a step, for each gap, from the sums over all
    /// differences.
    fn likelihoods(
        &self,
        by_site: impl DoubleEndedIterator<Item = StepSums> + ExactSizeIterator,
        level: LevelSums,
        density: f64,
        count: usize,
        uncertainty: [f64; 2],
    ) -> Vec<f64> {
        let count = count as f64;
        let freedom = (count - 2.0).max(1.0);
        let LevelSums {
            squares,
            level_square,
            level_ratio,
        } = level;
        let all: f64 = self.ratios.iter().map(|ratio| ratio * ratio).sum();
        let floor = Self::floor(all, count, uncertainty) * count;
        let explained_by_level = level_ratio * level_ratio / level_square;
        let mut after = StepSums::default();
        let mut likelihoods: Vec<f64> = (by_site.skip(1).rev())
            .map(|site| {
                after.square += site.square;
                after.level += site.level;
                after.ratio += site.ratio;
                // Without the part that the level explains.
                let square = after.square - after.level * after.level / level_square;
                let cross = after.ratio - after.level * level_ratio / level_square;
                // The step has the sign of the best one.
                let explained = if square > LEAST_STEP && cross > 0.0 {
                    explained_by_level + cross * cross / square
                } else {
                    explained_by_level
                };
                let rest = (squares - explained).max(0.0) + floor;
                density
                    - 0.5 * log(1.0 + square.max(0.0))
                    - 0.5 * freedom * log(rest / (all + floor))
            })
            .collect();
        likelihoods.reverse();
        likelihoods
    }
}

/// Divides the evidence of a segment in proportion to these likelihoods; its sum over
/// the gaps stays, unless there is none.
fn divide(evidence: &mut [f64], likelihoods: &[f64], prior: &[f64]) {
    let total = |logs: &[f64], largest: f64| -> f64 {
        (logs.iter().zip(prior))
            .map(|(log, prior)| prior * exp(log - largest))
            .sum()
    };
    let highest = |logs: &[f64]| logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (most_old, most_new) = (highest(evidence), highest(likelihoods));
    let (all_old, all_new) = (total(evidence, most_old), total(likelihoods, most_new));
    if all_old > 0.0 && all_new > 0.0 && most_old.is_finite() && most_new.is_finite() {
        let shift = most_old + log(all_old) - most_new - log(all_new);
        for (evidence, log) in evidence.iter_mut().zip(likelihoods) {
            *evidence = log + shift;
        }
    }
}

/// The shape that predicts each distance best from the others.
fn choose_shape(distances: &[f64], scale: f64, tick: f64) -> Shape {
    let count = distances.len() as f64;
    let square: f64 = distances.iter().map(|distance| distance * distance).sum();
    let deviation = (square / (count - 2.0).max(1.0))
        .sqrt()
        .max(LEAST_DEVIATION * scale);
    let fit = |shape: &Shape| -> f64 {
        distances
            .iter()
            .map(|distance| shape.log_density(*distance, *distance))
            .sum()
    };
    let mut best = Shape::Student { scale };
    let mut most = fit(&best);
    let normal = Shape::Normal {
        deviation,
        log_deviation: log(deviation),
    };
    let found = fit(&normal);
    if found > most {
        (best, most) = (normal, found);
    }
    if distances.len() >= LEAST_SHAPE_VALUES {
        most += PREFERENCE;
        for width in KERNEL_WIDTHS {
            let width = width * scale * libm::pow(count / 50.0, -0.2);
            let width = width.max(LEAST_KERNEL_TICKS * tick);
            let smoothed = Shape::Smoothed(Smoothed::new(distances, scale, width));
            let found = fit(&smoothed);
            if found > most {
                (best, most) = (smoothed, found);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

    use super::super::tuning::{QUARTILES, SCALE_OF_MEDIAN_DEVIATION};
    use super::*;

    #[test]
    fn densities_and_quartiles_are_those_of_their_distributions() {
        let t = StudentsT::new(0.0, 1.0, FREEDOM).unwrap();
        for step in -40..40 {
            let at = f64::from(step) / 4.0;
            let expected = t.pdf(at / 2.5) / 2.5;
            assert!((student(at, 2.5) / expected - 1.0).abs() < 1e-10, "{at}");
            let shape = Shape::Normal {
                deviation: 2.5,
                log_deviation: log(2.5),
            };
            let expected = Normal::new(0.0, 2.5).unwrap().ln_pdf(at);
            assert!(
                (shape.log_density(at, 0.0) - expected).abs() < 1e-12,
                "{at}"
            );
        }
        let quartile = t.inverse_cdf(0.75);
        assert!((QUARTILES - 2.0 * quartile).abs() < 1e-4);
        assert!((SCALE_OF_MEDIAN_DEVIATION - 1.0 / quartile).abs() < 1e-4);
    }
}

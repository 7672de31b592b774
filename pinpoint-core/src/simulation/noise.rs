//! The scatter of one commit's values from run to run.

use libm::{erfc, exp, log, log1p};

use crate::random::SplitMix64;

/// The scatter of one commit's values around its level.
///
/// Each family has an interquartile range of 1, so that the same change is as
/// many interquartile ranges in all of them. Its shape is scaled by the
/// interquartile range that the unscaled distribution has: exact where there is
/// a formula, else the quartiles were found by bisecting the distribution
/// function, to the last digit. The tests of this file check them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Noise {
    /// Normal.
    Normal,
    /// Heavy tails: Student's t with 2 degrees of freedom, whose variance is
    /// infinite.
    HeavyTails,
    /// Skewed: the exponential of a standard normal number, which has a sharp
    /// lower edge and a long upper tail. The level is the median.
    Skewed,
    /// Three normal modes at 0, 3 and 6 of their standard deviations, with 50,
    /// 30 and 20 % of the values. The level is the lowest mode.
    SeveralModes,
    /// Normal, and the value rounded to ticks of half an interquartile range:
    /// half of all pairs of runs are a tick or less apart, many are ties.
    Ticks,
    /// Normal, except for one value in twenty, which deviates ten times as much.
    Outliers,
    /// Deviations from the level that were measured, in the unit of the
    /// scenario: each run takes one of them, each as likely as any other. No
    /// deviations mean no noise.
    Measured(Vec<f64>),
}

/// Interquartile range of the standard normal distribution.
pub(super) const NORMAL_RANGE: f64 = 1.348_979_500_392_163_4;
/// The interquartile range of Student's t with 2 degrees of freedom: √(8/3).
const HEAVY_TAILS_RANGE: f64 = 1.632_993_161_855_452;
/// The interquartile range of the standard log-normal distribution: e^q - e^-q, where q is the
/// upper quartile of the standard normal one.
const SKEWED_RANGE: f64 = 1.453_614_800_294_979_6;
/// The interquartile range of the three modes before scaling.
const SEVERAL_MODES_RANGE: f64 = 3.920_938_992_651_792_4;
/// The interquartile range of the standard normal distribution with one value in twenty ten times
/// as far out.
const OUTLIERS_RANGE: f64 = 1.423_336_400_448_720_3;
/// Weights and places of the modes.
const MODES: [(f64, f64); 3] = [(0.5, 0.0), (0.3, 3.0), (0.2, 6.0)];
/// The distance of two neighboring values.
const TICK: f64 = 0.5;
const OUTLIER_RATE: f64 = 0.05;
const OUTLIER_SIZE: f64 = 10.0;

impl Noise {
    /// All that have a formula.
    pub const FAMILIES: [Self; 6] = [
        Self::Normal,
        Self::HeavyTails,
        Self::Skewed,
        Self::SeveralModes,
        Self::Ticks,
        Self::Outliers,
    ];

    /// A name without spaces, for tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::HeavyTails => "heavy-tails",
            Self::Skewed => "skewed",
            Self::SeveralModes => "several-modes",
            Self::Ticks => "ticks",
            Self::Outliers => "outliers",
            Self::Measured(_) => "measured",
        }
    }

    /// The value of one run of a commit with this level.
    pub(super) fn observe(&self, level: f64, random: &mut SplitMix64) -> f64 {
        match self {
            Self::Normal => level + random.normal() / NORMAL_RANGE,
            Self::HeavyTails => {
                // The quantile function at a uniform number.
                let p = random.uniform() - 0.5 / (1_u64 << 53) as f64;
                level + (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt() / HEAVY_TAILS_RANGE
            }
            Self::Skewed => level + (exp(random.normal()) - 1.0) / SKEWED_RANGE,
            Self::SeveralModes => {
                let mut share = random.uniform();
                let place = MODES
                    .into_iter()
                    .find(|(weight, _)| {
                        share -= weight;
                        share <= 0.0
                    })
                    .map_or(MODES[2].1, |(_, place)| place);
                level + (place + random.normal()) / SEVERAL_MODES_RANGE
            }
            Self::Ticks => ((level + random.normal() / NORMAL_RANGE) / TICK).round() * TICK,
            Self::Outliers => {
                let size = if random.chance(OUTLIER_RATE) {
                    OUTLIER_SIZE
                } else {
                    1.0
                };
                level + size * random.normal() / OUTLIERS_RANGE
            }
            Self::Measured(deviations) => {
                let deviations = at_least_one(deviations);
                level + deviations[random.below(deviations.len() as u64) as usize]
            }
        }
    }

    /// The logarithm of the density, or of the probability where values are
    /// discrete, with which a run of a commit with this level gives this value.
    /// Terms that do not depend on the level are left out.
    pub(super) fn log_likelihood(&self, value: f64, level: f64) -> f64 {
        let deviation = value - level;
        match self {
            Self::Normal => log_normal(deviation * NORMAL_RANGE),
            Self::HeavyTails => {
                let t = deviation * HEAVY_TAILS_RANGE;
                -1.5 * log1p(t * t / 2.0)
            }
            Self::Skewed => {
                let x = 1.0 + deviation * SKEWED_RANGE;
                if x <= 0.0 {
                    return f64::NEG_INFINITY;
                }
                log_normal(log(x)) - log(x)
            }
            Self::SeveralModes => {
                let z = deviation * SEVERAL_MODES_RANGE;
                log_sum(MODES.map(|(weight, place)| log(weight) + log_normal(z - place)))
            }
            Self::Ticks => {
                let edges = [deviation - TICK / 2.0, deviation + TICK / 2.0];
                let [low, high] = edges.map(|edge| edge * NORMAL_RANGE);
                // The difference of two tail probabilities on the side where
                // they are small keeps its digits.
                log(if low + high > 0.0 {
                    upper_tail(low) - upper_tail(high)
                } else {
                    upper_tail(-high) - upper_tail(-low)
                })
            }
            Self::Outliers => {
                let z = deviation * OUTLIERS_RANGE;
                log_sum([
                    log(1.0 - OUTLIER_RATE) + log_normal(z),
                    log(OUTLIER_RATE / OUTLIER_SIZE) + log_normal(z / OUTLIER_SIZE),
                ])
            }
            Self::Measured(deviations) => {
                // As likely as it was frequent; equal up to the rounding of sums.
                let tolerance = 1e-9 * (value.abs() + level.abs());
                let equal = |measured: &&f64| (deviation - **measured).abs() <= tolerance;
                log(at_least_one(deviations).iter().filter(equal).count() as f64)
            }
        }
    }
}

/// No deviations mean no noise.
fn at_least_one(deviations: &[f64]) -> &[f64] {
    if deviations.is_empty() {
        &[0.0]
    } else {
        deviations
    }
}

/// Logarithm of the standard normal density, up to a constant.
fn log_normal(z: f64) -> f64 {
    -0.5 * z * z
}

/// P(Z > z).
fn upper_tail(z: f64) -> f64 {
    0.5 * erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Logarithm of a sum, from the logarithms of its terms.
fn log_sum<const TERMS: usize>(logs: [f64; TERMS]) -> f64 {
    let largest = logs.into_iter().fold(f64::NEG_INFINITY, f64::max);
    largest + log(logs.into_iter().map(|term| exp(term - largest)).sum())
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, LogNormal, Normal, StudentsT};

    use super::*;

    /// P(X <= x).
    type Distribution = fn(f64) -> f64;

    fn normal(x: f64) -> f64 {
        Normal::standard().cdf(x)
    }

    /// The unscaled shape, and the range by which it is scaled.
    fn shape(noise: &Noise) -> Option<(Distribution, f64)> {
        Some(match noise {
            Noise::Normal => (normal, NORMAL_RANGE),
            Noise::HeavyTails => (
                |x| StudentsT::new(0.0, 1.0, 2.0).unwrap().cdf(x),
                HEAVY_TAILS_RANGE,
            ),
            Noise::Skewed => (|x| LogNormal::new(0.0, 1.0).unwrap().cdf(x), SKEWED_RANGE),
            Noise::SeveralModes => (
                |x| {
                    MODES
                        .iter()
                        .map(|(weight, place)| weight * normal(x - place))
                        .sum()
                },
                SEVERAL_MODES_RANGE,
            ),
            Noise::Outliers => (
                |x| (1.0 - OUTLIER_RATE) * normal(x) + OUTLIER_RATE * normal(x / OUTLIER_SIZE),
                OUTLIERS_RANGE,
            ),
            Noise::Ticks | Noise::Measured(_) => return None,
        })
    }

    fn quantile(distribution: Distribution, p: f64) -> f64 {
        let (mut low, mut high) = (-100.0, 100.0);
        for _ in 0..200 {
            let middle: f64 = 0.5 * (low + high);
            if distribution(middle) < p {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    #[test]
    fn shapes_are_scaled_by_their_interquartile_range() {
        for noise in Noise::FAMILIES {
            if let Some((distribution, range)) = shape(&noise) {
                let quartiles = [0.25, 0.75].map(|p| quantile(distribution, p));
                let found = quartiles[1] - quartiles[0];
                // `statrs` has ten digits.
                assert!((found - range).abs() < 1e-9, "{noise:?}: {found}");
            }
        }
    }

    fn draw(noise: &Noise, count: usize) -> Vec<f64> {
        let mut random = SplitMix64::new(5);
        (0..count)
            .map(|_| noise.observe(100.0, &mut random))
            .collect()
    }

    #[test]
    fn values_have_an_interquartile_range_of_one() {
        for noise in Noise::FAMILIES {
            let mut values = draw(&noise, 40_000);
            values.sort_by(f64::total_cmp);
            let range = values[30_000] - values[10_000];
            assert!((range - 1.0).abs() < 0.03, "{noise:?}: {range}");
        }
    }

    /// The mean of f(x - d) / f(x) over values x with the density f is 1: so the
    /// likelihood is that of the values which are drawn.
    #[test]
    fn the_likelihood_is_that_of_the_values() {
        for noise in Noise::FAMILIES {
            // The variance of the ratio grows fast with the shift.
            let ratio = |value: &f64| {
                exp(noise.log_likelihood(*value, 100.5) - noise.log_likelihood(*value, 100.0))
            };
            let values = draw(&noise, 100_000);
            let mean = values.iter().map(ratio).sum::<f64>() / values.len() as f64;
            assert!((mean - 1.0).abs() < 0.06, "{noise:?}: {mean}");
        }
    }

    #[test]
    fn likelihoods_of_far_values_are_no_nan() {
        for noise in Noise::FAMILIES {
            for value in [-1e6, 0.0, 99.0, 300.0, 1e6] {
                assert!(
                    !noise.log_likelihood(value, 100.0).is_nan(),
                    "{noise:?} {value}"
                );
            }
        }
    }

    #[test]
    fn ticks_give_many_ties() {
        let mut values = draw(&Noise::Ticks, 1_000);
        values.sort_by(f64::total_cmp);
        values.dedup();
        assert!(values.len() < 15, "{values:?}");
        assert!(values.iter().all(|value| (value / TICK).fract() == 0.0));
    }

    #[test]
    fn measured_deviations_come_as_often_as_they_were_measured() {
        let noise = Noise::Measured(vec![0.0, 0.0, 0.5]);
        let values = draw(&noise, 3_000);
        let high = values.iter().filter(|value| **value == 100.5).count();
        assert!((900..1_100).contains(&high), "{high}");
        let odds = noise.log_likelihood(100.0, 100.0) - noise.log_likelihood(100.5, 100.0);
        assert!((odds - log(2.0)).abs() < 1e-12);
        assert_eq!(noise.log_likelihood(100.25, 100.0), f64::NEG_INFINITY);
        assert_eq!(draw(&Noise::Measured(Vec::new()), 1), [100.0]);
    }
}

//! The memory of noise: a disturbance of a run affects those before and after it.
//!
//! The machine has a speed that changes slowly, and each run scatters about it. So the
//! noise of a run is correlated with that of an earlier one, and the more the closer they
//! are:
//!
//! ```text
//! correlation(runs apart) = share · decay^(runs apart)
//! ```
//!
//! Values like that are compared with their neighbors in time: each is replaced by its difference
//! from the prediction of the few before it. These differences are independent of each other, and
//! the machine's effect on all of them is gone. Between two runs of one commit there is nothing to
//! learn from that; between runs of two commits, made one after the other, their difference shows
//! although the machine's speed does not stand still.
//!
//! The prediction is the best linear one from the latest [`EARLIER`] values (the equations
//! of Yule and Walker; Brockwell and Davis, *Time Series: Theory and Methods*, 1991,
//! section 5.1). It is exact where all of the variance has a memory (a `share` of 1: an
//! autoregressive process), and loses little elsewhere.

use libm::{log, pow};

use super::cholesky::{backward, factorize, forward};

/// The number of earlier runs that a value is compared with.
pub(crate) const EARLIER: usize = 4;

/// An assumption on the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Memory {
    /// The prior probability of this assumption.
    pub(crate) prior: f64,
    /// The part of the variance that has a memory.
    pub(crate) share: f64,
    /// The factor by which the correlation falls with each run.
    pub(crate) decay: f64,
}

impl Memory {
    /// Each run scatters on its own.
    pub(crate) const NONE: Self = Self {
        prior: 1.0,
        share: 0.0,
        decay: 0.0,
    };

    pub(crate) fn is_none(self) -> bool {
        self.share == 0.0
    }

    /// The correlations of two values, by the number of runs that they are apart.
    fn correlations(self) -> Correlations {
        Correlations(std::array::from_fn(|apart| match apart {
            0 => 1.0,
            _ => self.share * pow(self.decay, apart as f64),
        }))
    }
}

/// The most runs that a value is apart from one that it is compared with.
const MOST_APART: usize = 2 * EARLIER;

/// See [`Memory::correlations`].
struct Correlations([f64; MOST_APART + 1]);

impl Correlations {
    /// The factors of a value and of those that many runs before it, nearest first, whose
    /// sum is independent of the earlier ones and has the variance of one value.
    fn factors(&self, runs_before: &[usize]) -> [f64; EARLIER + 1] {
        let count = runs_before.len();
        let mut matrix = [0.0; EARLIER * EARLIER];
        let mut factors = [0.0; EARLIER + 1];
        for (i, one) in runs_before.iter().enumerate() {
            for (j, other) in runs_before.iter().enumerate() {
                matrix[i * count + j] = self.0[one.abs_diff(*other)];
            }
            factors[1 + i] = self.0[*one];
        }
        let solved = &mut factors[1..=count];
        factorize(&mut matrix, count);
        forward(&matrix, solved, count);
        let variance = 1.0 - solved.iter().map(|x| x * x).sum::<f64>();
        backward(&matrix, solved, count);
        let own = 1.0 / variance.max(LEAST_FRESH).sqrt();
        factors.iter_mut().for_each(|factor| *factor *= -own);
        factors[0] = own;
        factors
    }
}

/// The assumptions on the noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assumptions {
    pub(crate) memories: &'static [Memory],
    /// Values may scatter in proportion to their level.
    pub(crate) may_be_proportional: bool,
    /// The additional variance of likelihood ratios, relative to their mean square: with
    /// many values, and so much more for a single one, divided by their number.
    pub(crate) shape_uncertainty: [f64; 2],
    /// A commit may fail on its own; a change worth finding has a size, and a smaller one is not a
    /// part of it; values that never vary are those of a measure without noise.
    pub(crate) distinguishes: bool,
}

/// The least part of the variance that earlier values do not predict.
const LEAST_FRESH: f64 = 1e-6;

/// The few values before each, for any memory.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    windows: Vec<Window>,
    /// The distances in runs that occur: those of the values before one, nearest first.
    distances: Vec<Vec<usize>>,
}

/// A value and those that it is compared with.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Its own index, then those of the values before it, nearest first.
    indices: [u32; EARLIER + 1],
    /// The index of their distances.
    distances: u32,
}

impl Windows {
    /// The window of each value that `is_inside`, with such values before it. `previous` has
    /// the index of the value of the run before each on its bot.
    pub(crate) fn new(previous: &[Option<usize>], is_inside: impl Fn(usize) -> bool) -> Self {
        let mut windows = Vec::with_capacity(previous.len());
        let mut distances: Vec<Vec<usize>> = Vec::new();
        for index in (0..previous.len()).filter(|index| is_inside(*index)) {
            let mut indices = [index as u32; EARLIER + 1];
            let mut runs_before = [0; EARLIER];
            let mut count = 0;
            let mut earlier = previous[index];
            for runs in 1..=MOST_APART {
                let Some(found) = earlier.filter(|_| count < EARLIER) else {
                    break;
                };
                if is_inside(found) {
                    runs_before[count] = runs;
                    count += 1;
                    indices[count] = found as u32;
                }
                earlier = previous[found];
            }
            let runs_before = &runs_before[..count];
            let known = distances.iter().rposition(|known| known == runs_before);
            windows.push(Window {
                indices,
                distances: known.unwrap_or(distances.len()) as u32,
            });
            if known.is_none() {
                distances.push(runs_before.to_vec());
            }
        }
        Self { windows, distances }
    }

    /// The factors of the values of each window, in noise with this memory.
    pub(crate) fn factors(&self, memory: Memory) -> Vec<Factors> {
        let correlations = memory.correlations();
        (self.distances.iter())
            .map(|runs_before| match memory.is_none() {
                true => Factors::new(&[1.0]),
                false => Factors::new(&correlations.factors(runs_before)[..=runs_before.len()]),
            })
            .collect()
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }

    /// The last value's own factor.
    pub(crate) fn last_own_factor(&self, factors: &[Factors]) -> f64 {
        (self.windows.last()).map_or(1.0, |last| factors[last.distances as usize].factors[0])
    }

    /// The difference of each value, with these factors.
    pub(crate) fn differences<'a>(
        &'a self,
        factors: &'a [Factors],
    ) -> impl Iterator<Item = Difference<'a>> {
        self.windows.iter().map(|window| Difference {
            indices: &window.indices,
            factors: &factors[window.distances as usize],
        })
    }
}

impl Windows {
    /// The indices of this many values for each value, with their factors in several kinds of
    /// noise; missing ones have the factor 0.
    pub(crate) fn side_by_side<const COUNT: usize, const KINDS: usize>(
        &self,
        factors: [&[Factors]; KINDS],
    ) -> impl Iterator<Item = ([usize; COUNT], [[f64; KINDS]; COUNT])> {
        let by_distances: Vec<[[f64; KINDS]; COUNT]> = (0..self.distances.len())
            .map(|distances| {
                std::array::from_fn(|part| factors.map(|of| of[distances].factors[part]))
            })
            .collect();
        self.windows.iter().map(move |window| {
            (
                std::array::from_fn(|part| window.indices[part] as usize),
                by_distances[window.distances as usize],
            )
        })
    }
}

/// The factors of a value and of those that it is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factors {
    factors: [f64; EARLIER + 1],
    count: usize,
    /// The logarithm of the factor by which the density of the difference exceeds that of
    /// the value.
    log_density: f64,
}

impl Factors {
    fn new(of: &[f64]) -> Self {
        let mut factors = [0.0; EARLIER + 1];
        factors[..of.len()].copy_from_slice(of);
        Self {
            factors,
            count: of.len(),
            log_density: log(of[0]),
        }
    }
}

/// A value and those that it is compared with, with their factors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Difference<'a> {
    indices: &'a [u32; EARLIER + 1],
    factors: &'a Factors,
}

impl Difference<'_> {
    /// The indices of the values, and their factors.
    pub(crate) fn parts(&self) -> (&[u32], &[f64]) {
        let count = self.factors.count;
        (&self.indices[..count], &self.factors.factors[..count])
    }

    /// The difference of these numbers.
    pub(crate) fn of(&self, numbers: &[f64]) -> f64 {
        let (indices, factors) = self.parts();
        (indices.iter().zip(factors))
            .map(|(index, factor)| factor * numbers[*index as usize])
            .sum()
    }

    /// The logarithm of the factor by which its density exceeds that of the value.
    pub(crate) fn log_density(&self) -> f64 {
        self.factors.log_density
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Memory = Memory {
        prior: 1.0,
        share: 0.6,
        decay: 0.9,
    };

    /// The covariance of two sums of noise: those of the factors of a value and of the
    /// values that many runs before it.
    fn covariance(memory: Memory, one: &[(usize, f64)], other: &[(usize, f64)]) -> f64 {
        let correlations = &memory.correlations().0;
        one.iter()
            .flat_map(|(at, factor)| {
                (other.iter()).map(move |(to, by)| factor * by * correlations[at.abs_diff(*to)])
            })
            .sum()
    }

    #[test]
    fn a_difference_is_independent_of_the_values_it_is_made_with() {
        for before in [&[][..], &[1], &[1, 2, 3, 4], &[1, 3, 4], &[2, 5, 6, 8]] {
            let factors = SLOW.correlations().factors(before);
            let parts: Vec<(usize, f64)> =
                ([0].iter().chain(before)).copied().zip(factors).collect();
            for earlier in before {
                let found = covariance(SLOW, &parts, &[(*earlier, 1.0)]);
                assert!(found.abs() < 1e-12, "{before:?}: {found}");
            }
            let variance = covariance(SLOW, &parts, &parts);
            assert!((variance - 1.0).abs() < 1e-12, "{before:?}: {variance}");
        }
    }

    #[test]
    fn an_autoregressive_value_needs_only_the_one_before_it() {
        let memory = Memory {
            share: 1.0,
            decay: 0.7,
            ..SLOW
        };
        let [own, first, rest @ ..] = memory.correlations().factors(&[1, 2, 3, 4]);
        assert!((own - 1.0 / (1.0_f64 - 0.49).sqrt()).abs() < 1e-12);
        assert!((first / own + 0.7).abs() < 1e-12);
        assert!(rest.iter().all(|factor| factor.abs() < 1e-12));
    }

    #[test]
    fn runs_of_other_segments_are_passed_over() {
        // Two bots: 0, 2, 4, 6, 8 and 1, 3, 5, 7.
        let previous: Vec<Option<usize>> = (0..9_usize).map(|at| at.checked_sub(2)).collect();
        let windows = Windows::new(&previous, |index| index != 4);
        let factors = windows.factors(SLOW);
        let found: Vec<Difference<'_>> = windows.differences(&factors).collect();
        let parts = |at: u32| -> Vec<u32> {
            (found.iter())
                .map(|difference| difference.parts().0)
                .find(|indices| indices[0] == at)
                .map_or(Vec::new(), <[u32]>::to_vec)
        };
        assert_eq!(found.len(), 8);
        assert_eq!(parts(8), [8, 6, 2, 0]);
        assert_eq!(parts(7), [7, 5, 3, 1]);
        assert_eq!(parts(0), [0]);
    }
}

//! The memory of noise: what disturbs a run disturbs those before and after it.
//!
//! The machine has a speed that changes slowly, and each run scatters about it. So the
//! noise of a run is correlated with that of an earlier one, and the more the closer they
//! are:
//!
//! ```text
//! correlation(runs apart) = share · decay^(runs apart)
//! ```
//!
//! Values like that are compared with their neighbours in time: each is replaced by its
//! difference from what the few before it predict. These differences are independent of
//! each other, and what the machine did to all of them is gone. Between two runs of one
//! commit there is nothing to learn from that; between runs of two commits, made one after
//! the other, their difference shows although the machine's speed does not stand still.
//!
//! The prediction is the best linear one from the latest [`EARLIER`] values (the equations
//! of Yule and Walker; Brockwell and Davis, *Time Series: Theory and Methods*, 1991,
//! section 5.1). It is exact where all of the variance has a memory (a `share` of 1: an
//! autoregressive process), and loses little elsewhere.

use libm::{log, pow};

use super::cholesky::{backward, factorise, forward};

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

    fn correlation(self, apart: i32) -> f64 {
        if apart == 0 {
            1.0
        } else {
            self.share * pow(self.decay, f64::from(apart))
        }
    }

    /// The factors of a value and of those that many runs before it, nearest first, whose
    /// sum is independent of the earlier ones and has the variance of one value.
    fn factors(self, runs_before: &[i32]) -> [f64; EARLIER + 1] {
        let count = runs_before.len();
        let mut matrix: Vec<f64> = (runs_before.iter())
            .flat_map(|one| {
                runs_before
                    .iter()
                    .map(move |other| self.correlation((one - other).abs()))
            })
            .collect();
        factorise(&mut matrix, count);
        let right: Vec<f64> = (runs_before.iter())
            .map(|runs| self.correlation(*runs))
            .collect();
        let solved = forward(&matrix, &right, count);
        let mut factors = [0.0; EARLIER + 1];
        factors[1..=count].copy_from_slice(&backward(&matrix, &solved, count));
        let variance = 1.0 - solved.iter().map(|x| x * x).sum::<f64>();
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
}

/// The least part of the variance that earlier values do not predict.
const LEAST_FRESH: f64 = 1e-6;

/// A value and those that it is compared with: the index and the factor of each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Difference {
    parts: [(usize, f64); EARLIER + 1],
    count: usize,
}

impl Difference {
    pub(crate) fn parts(&self) -> &[(usize, f64)] {
        &self.parts[..self.count]
    }

    /// The difference of these numbers.
    pub(crate) fn of(&self, number: impl Fn(usize) -> f64) -> f64 {
        (self.parts().iter())
            .map(|(index, factor)| factor * number(*index))
            .sum()
    }

    /// The logarithm of the factor by which its density exceeds that of the value.
    pub(crate) fn log_density(&self) -> f64 {
        log(self.parts[0].1)
    }
}

/// The difference for each value that `is_inside`, from such values before it.
/// `previous` has the index of the value of the run before each on its bot.
pub(crate) fn differences(
    memory: Memory,
    previous: &[Option<usize>],
    is_inside: impl Fn(usize) -> bool,
) -> Vec<Difference> {
    const NEAREST: [i32; EARLIER] = [1, 2, 3, 4];
    let usual = memory.factors(&NEAREST);
    (0..previous.len())
        .filter(|index| is_inside(*index))
        .map(|index| {
            let mut parts = [(index, 1.0); EARLIER + 1];
            let mut runs_before = [0; EARLIER];
            let mut count = 0;
            if !memory.is_none() {
                let mut earlier = previous[index];
                for runs in 1..=2 * EARLIER as i32 {
                    let Some(found) = earlier.filter(|_| count < EARLIER) else {
                        break;
                    };
                    if is_inside(found) {
                        runs_before[count] = runs;
                        count += 1;
                        parts[count].0 = found;
                    }
                    earlier = previous[found];
                }
            }
            let factors = if runs_before == NEAREST {
                usual
            } else {
                memory.factors(&runs_before[..count])
            };
            for (part, factor) in parts.iter_mut().zip(factors) {
                part.1 = factor;
            }
            Difference {
                parts,
                count: count + 1,
            }
        })
        .collect()
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
    fn covariance(memory: Memory, one: &[(i32, f64)], other: &[(i32, f64)]) -> f64 {
        one.iter()
            .flat_map(|(at, factor)| {
                (other.iter())
                    .map(move |(to, by)| factor * by * memory.correlation((at - to).abs()))
            })
            .sum()
    }

    #[test]
    fn a_difference_is_independent_of_the_values_it_is_made_with() {
        for before in [&[][..], &[1], &[1, 2, 3, 4], &[1, 3, 4], &[2, 5, 6, 8]] {
            let factors = SLOW.factors(before);
            let parts: Vec<(i32, f64)> = ([0].iter().chain(before)).copied().zip(factors).collect();
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
        let [own, first, rest @ ..] = memory.factors(&[1, 2, 3, 4]);
        assert!((own - 1.0 / (1.0_f64 - 0.49).sqrt()).abs() < 1e-12);
        assert!((first / own + 0.7).abs() < 1e-12);
        assert!(rest.iter().all(|factor| factor.abs() < 1e-12));
    }

    #[test]
    fn runs_of_other_segments_are_passed_over() {
        // Two bots: 0, 2, 4, 6, 8 and 1, 3, 5, 7.
        let previous: Vec<Option<usize>> = (0..9_usize).map(|at| at.checked_sub(2)).collect();
        let found = differences(SLOW, &previous, |index| index != 4);
        let parts = |at: usize| -> Vec<usize> {
            (found.iter())
                .find(|difference| difference.parts()[0].0 == at)
                .into_iter()
                .flat_map(|difference| difference.parts().iter().map(|(index, _)| *index))
                .collect()
        };
        assert_eq!(found.len(), 8);
        assert_eq!(parts(8), [8, 6, 2, 0]);
        assert_eq!(parts(7), [7, 5, 3, 1]);
        assert_eq!(parts(0), [0]);
    }
}

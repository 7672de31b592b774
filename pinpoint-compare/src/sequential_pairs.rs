//! A paired comparison that may be checked after every pair.
//!
//! The game is that of [`SequentialComparison`](crate::SequentialComparison), for pairs: if a
//! pair's two values come from one distribution, their difference is as likely positive as
//! negative, regardless of its size and of earlier pairs. A bet on the sign at even odds is fair,
//! and its stake may depend on the size of the difference. Half of the wealth stakes the same on
//! every pair (the sign test), half in proportion to the rank of the difference's size among those
//! so far (the signed-rank test); each is spread over several stakes of both signs. Such tests of
//! symmetry are described in Vovk & Wang, "Nonparametric e-tests of symmetry", *The New England
//! Journal of Statistics in Data Science* 2, 2024.
//!
//! A machine that slows down from pair to pair moves both values of a pair, not the sign of their
//! difference: drift does not look like a change, as it may to a comparison of two samples.

use libm::{exp, log};

use crate::error::CompareError;
use crate::sorted::{check_level, key};
use crate::types::Verdict;

/// The shares of the wealth staked on a pair, on either sign.
const STAKES: [f64; 5] = [0.1, 0.25, 0.45, 0.7, 0.95];

/// Compares two samples that grow pair by pair, and may be checked at any time.
///
/// # Hypothesis
///
/// The differences treatment minus control are symmetric about 0. If they are, the chance that
/// [`verdict`](Self::verdict) is *ever* different, when checked after every pair and without a time
/// limit, is at most `error_rate`.
///
/// # Assumptions
///
/// Given the earlier pairs, a pair's two values could equally have been swapped. The order in which
/// the two were measured has to be random, so that the second of two runs may be slower than the
/// first. No other assumptions: neither on the distribution nor on when to stop.
///
/// # Cost
///
/// O(n) for the n-th pair, most of it one `memmove`; O(n) memory.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{SequentialPairs, Verdict};
///
/// let mut comparison = SequentialPairs::new(0.05)?;
/// let mut pairs = 0;
/// while comparison.verdict() == Verdict::Unknown {
///     // The machine slows down all the time; the treatment is slower in each pair.
///     let drift = f64::from(pairs);
///     comparison.push(10.0 + drift, 10.1 + drift)?;
///     pairs += 1;
/// }
/// assert_eq!((comparison.verdict(), pairs), (Verdict::Different, 8));
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SequentialPairs {
    error_rate: f64,
    /// Sizes of the differences other than 0, in order.
    sizes: Vec<u64>,
    /// Logarithm of the wealth of each bet.
    log_wealth: [f64; 4 * STAKES.len()],
    /// The largest log wealth so far.
    log_peak: f64,
}

impl SequentialPairs {
    /// Creates a comparison without pairs.
    ///
    /// `error_rate`: the chance of ever calling equal samples different, in (0, 1).
    ///
    /// # Errors
    ///
    /// [`CompareError::NotALevel`] for an error rate outside (0, 1).
    pub fn new(error_rate: f64) -> Result<Self, CompareError> {
        check_level("error_rate", error_rate)?;
        Ok(Self {
            error_rate,
            sizes: Vec::new(),
            log_wealth: [0.0; 4 * STAKES.len()],
            log_peak: 0.0,
        })
    }

    /// Adds a pair.
    ///
    /// # Errors
    ///
    /// [`CompareError::NotANumber`] for a NaN or an infinity; the comparison stays unchanged.
    pub fn push(&mut self, control: f64, treatment: f64) -> Result<(), CompareError> {
        for (argument, value) in [("control", control), ("treatment", treatment)] {
            if !value.is_finite() {
                return Err(CompareError::NotANumber {
                    argument,
                    value,
                    negative_refused: false,
                });
            }
        }
        // Halved, so that it can't exceed the largest number.
        let difference = treatment / 2.0 - control / 2.0;
        if difference == 0.0 {
            return Ok(());
        }
        let size = key(difference.abs());
        let below = self.sizes.partition_point(|s| *s < size);
        let equal = self.sizes[below..].partition_point(|s| *s == size);
        self.sizes.insert(below, size);
        let rank = below as f64 + (equal as f64 + 2.0) / 2.0;
        let share = rank / self.sizes.len() as f64;
        for (i, stake) in STAKES.iter().enumerate() {
            let signed = stake.copysign(difference);
            for (j, bet) in [signed, -signed, signed * share, -signed * share]
                .into_iter()
                .enumerate()
            {
                self.log_wealth[4 * i + j] += log(1.0 + bet);
            }
        }
        self.log_peak = self.log_peak.max(self.log_e_value());
        Ok(())
    }

    /// Natural logarithm of the e-value: the evidence so far against "no difference". Always
    /// finite.
    pub fn log_e_value(&self) -> f64 {
        let top = (self.log_wealth.iter().copied()).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = self.log_wealth.iter().map(|w| exp(w - top)).sum();
        top + log(sum / self.log_wealth.len() as f64)
    }

    /// The p-value that is valid at every check: 1 divided by the largest e-value so far. It never
    /// rises.
    pub fn p_value(&self) -> f64 {
        exp(-self.log_peak)
    }

    /// Different once the p-value has come down to the error rate, and from then on; unknown
    /// before. It is never same: the lack of a difference so far is not evidence of its absence.
    pub fn verdict(&self) -> Verdict {
        if self.p_value() <= self.error_rate {
            Verdict::Different
        } else {
            Verdict::Unknown
        }
    }
}

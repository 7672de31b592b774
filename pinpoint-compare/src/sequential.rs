//! A comparison that may be checked after every run.
//!
//! A p-value is meant to be checked once. Checking after every run and stopping at the first p <=
//! 0.05 is wrong far more often than in one of twenty cases: with a check after each of 500 runs,
//! in more than a third. An *e-process* allows any number of checks: it is the wealth of a gambler
//! who starts with 1 and bets against "both samples come from one distribution" at fair odds, so
//! that, if that is true, the chance of its ever reaching 1/α is at most α (Ville's inequality).
//!
//! The bets are on ranks. If all values so far, of either sample, come from one distribution, the
//! newest is equally likely to fall into each of the gaps between the earlier ones, regardless of
//! the earlier values (the basis of conformal test martingales: Vovk, Gammerman & Shafer,
//! *Algorithmic Learning in a Random World*, 2005; Vovk, "Testing randomness online", 2021). Each
//! gap has a score: the share of the *other* sample's values below it. A bet λ multiplies the
//! wealth by 1 + λ·(score - mean score over the gaps); its mean over the gaps is 1, so that the
//! game is fair. Treatments that keep falling above the controls make bets with λ > 0 rich, and
//! with λ < 0 poor (for controls the signs are reversed). The wealth is spread over several λ of
//! both signs; the mean of fair games is fair.
//!
//! The score is that of the Mann-Whitney test: over many values the log wealth follows P(control <
//! treatment), and shapes of distributions do not matter.
//!
//! Equal values are put in order at random, from the seed. That keeps the game fair, and makes the
//! result depend on the seed when there are ties.

use libm::{exp, log};

use crate::error::CompareError;
use crate::sorted::{check_level, key};
use crate::types::Verdict;

/// The shares of the largest safe bet over which the wealth is spread, on either side.
const STAKES: [f64; 5] = [0.1, 0.25, 0.45, 0.7, 0.95];

/// Compares two samples that grow run by run, and may be checked at any time.
///
/// # Hypothesis
///
/// Control and treatment come from one distribution. If they do, the chance that
/// [`verdict`](Self::verdict) is *ever* different, when checked after every value and without a
/// time limit, is at most `error_rate`.
///
/// # Assumptions
///
/// Values independent of each other within and between the samples (or at least exchangeable if
/// nothing changed). No other assumptions: neither on the distribution or the variance, nor on
/// which sample is measured next or when to stop. Both decisions may depend on all earlier values.
///
/// # Cost
///
/// O(n) for the n-th value, most of it one `memmove`; O(n) memory.
///
/// # Example
///
/// ```
/// use pinpoint_compare::{SequentialComparison, Verdict};
///
/// let mut comparison = SequentialComparison::new(0.05, 1)?;
/// let mut runs = 0;
/// while comparison.verdict() == Verdict::Unknown && runs < 100 {
///     // Two samples that do not overlap are told apart in a few runs.
///     comparison.push_control(10.0 + f64::from(runs % 7))?;
///     comparison.push_treatment(20.0 + f64::from(runs % 5))?;
///     runs += 1;
/// }
/// assert_eq!(comparison.verdict(), Verdict::Different);
/// assert!(runs < 10);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SequentialComparison {
    error_rate: f64,
    random: u64,
    /// All values in order, with the sample each belongs to.
    pooled: Vec<Ranked>,
    controls: usize,
    treatments: usize,
    /// Sum of the treatments' ranks in `pooled`, from 1.
    treatment_ranks: u64,
    /// Logarithm of the wealth of each bet: rising treatments first, then falling.
    log_wealth: [f64; 2 * STAKES.len()],
    /// The largest log wealth so far.
    log_peak: f64,
}

#[derive(Debug, Clone, Copy)]
struct Ranked {
    key: u64,
    treatment: bool,
}

impl SequentialComparison {
    /// Creates a comparison without values.
    ///
    /// `error_rate`: the chance of ever calling equal samples different, in (0, 1). `seed`: breaks
    /// ties between equal values.
    ///
    /// # Errors
    ///
    /// [`CompareError::NotALevel`] for an error rate outside (0, 1).
    pub fn new(error_rate: f64, seed: u64) -> Result<Self, CompareError> {
        check_level("error_rate", error_rate)?;
        Ok(Self {
            error_rate,
            random: seed,
            pooled: Vec::new(),
            controls: 0,
            treatments: 0,
            treatment_ranks: 0,
            log_wealth: [0.0; 2 * STAKES.len()],
            log_peak: 0.0,
        })
    }

    /// Adds a value of the control.
    ///
    /// # Errors
    ///
    /// [`CompareError::NotFinite`] for a NaN or an infinity, with the index that the value would
    /// have had; the comparison stays unchanged.
    pub fn push_control(&mut self, value: f64) -> Result<(), CompareError> {
        if !value.is_finite() {
            return Err(CompareError::NotFinite {
                argument: "control",
                index: self.controls,
                value,
            });
        }
        self.push(value, false);
        Ok(())
    }

    /// Adds a value of the treatment.
    ///
    /// # Errors
    ///
    /// As [`push_control`](Self::push_control).
    pub fn push_treatment(&mut self, value: f64) -> Result<(), CompareError> {
        if !value.is_finite() {
            return Err(CompareError::NotFinite {
                argument: "treatment",
                index: self.treatments,
                value,
            });
        }
        self.push(value, true);
        Ok(())
    }

    fn push(&mut self, value: f64, treatment: bool) {
        let key = key(value);
        let count = self.pooled.len() as u64;
        let below = self.pooled.partition_point(|r| r.key < key);
        let equal = self.pooled[below..].partition_point(|r| r.key == key);
        let slot = below + self.pick(equal as u64 + 1) as usize;

        let others = if treatment {
            self.controls
        } else {
            self.treatments
        } as u64;
        if others > 0 {
            let all_ranks = count * (count + 1) / 2;
            let other_ranks = if treatment {
                all_ranks - self.treatment_ranks
            } else {
                self.treatment_ranks
            };
            let others_below = self.pooled[..slot]
                .iter()
                .filter(|r| r.treatment != treatment)
                .count() as u64;
            // A value of rank r lies below count + 1 - r of the count + 1 gaps.
            let total = others * (count + 1) - other_ranks;
            let mean = total as f64 / (others * (count + 1)) as f64;
            let score = others_below as f64 / others as f64 - mean;
            // Rising treatments lie above controls; rising controls do not.
            let score = if treatment { score } else { -score };
            // The score lies between these two, so that a bet of up to 1/bound
            // never loses everything.
            let bound = mean.max(1.0 - mean);
            for (i, stake) in STAKES.iter().enumerate() {
                let bet = stake / bound * score;
                self.log_wealth[2 * i] += log(1.0 + bet);
                self.log_wealth[2 * i + 1] += log(1.0 - bet);
            }
        }
        self.pooled.insert(slot, Ranked { key, treatment });
        let above = self.pooled[slot + 1..]
            .iter()
            .filter(|r| r.treatment)
            .count() as u64;
        self.treatment_ranks += above;
        if treatment {
            self.treatments += 1;
            self.treatment_ranks += slot as u64 + 1;
        } else {
            self.controls += 1;
        }
        self.log_peak = self.log_peak.max(self.log_e_value());
    }

    /// A number below `bound`, the next from the seed (SplitMix64).
    fn pick(&mut self, bound: u64) -> u64 {
        if bound <= 1 {
            return 0;
        }
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * u128::from(bound)) >> 64) as u64
    }

    /// Natural logarithm of the e-value: the evidence so far against "no difference". Always
    /// finite.
    pub fn log_e_value(&self) -> f64 {
        let top = self
            .log_wealth
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
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

    /// P(control < treatment) + P(control = treatment) / 2, estimated from the
    /// pairs so far, ties broken by the seed; absent until both samples have values.
    pub fn superiority(&self) -> Option<f64> {
        let (n, m) = (self.controls as u64, self.treatments as u64);
        (n > 0 && m > 0).then(|| (self.treatment_ranks - m * (m + 1) / 2) as f64 / (n * m) as f64)
    }

    /// The number of control values.
    pub fn control_size(&self) -> usize {
        self.controls
    }

    /// The number of treatment values.
    pub fn treatment_size(&self) -> usize {
        self.treatments
    }

    /// The requested error rate.
    pub fn error_rate(&self) -> f64 {
        self.error_rate
    }
}

//! A detector whose rate of false alarms is proven for any exchangeable past.

use std::collections::VecDeque;

use super::error::{StepError, check_finite};
use super::generator::mixed;

/// The values among which a new one is ranked.
const REFERENCE: usize = 500;

/// Options of a [`Conformal`] detector.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ConformalOptions {
    /// The values without change for each false alarm, at least: 10,000 for one in 10,000.
    pub values_per_alarm: f64,
    /// Draws the places of equal values.
    pub seed: u64,
}

impl Default for ConformalOptions {
    fn default() -> Self {
        Self {
            values_per_alarm: 10_000.0,
            seed: 0,
        }
    }
}

/// An alarm of a [`Conformal`] detector.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ConformalAlarm {
    /// The number of the value at which it was raised; the first value pushed has 0.
    pub raised_at: u64,
    /// The number of the value since which the bets have gained most.
    pub since: u64,
    /// True if the values rose.
    pub rose: bool,
    /// The evidence, at least the values for each alarm.
    pub evidence: f64,
}

/// An e-detector on conformal p-values (Shin, Ramdas, Rinaldo, NEJSDS 2024).
///
/// Each value is ranked among up to 500 before it since the last alarm; equal values are drawn by
/// the seed. Of exchangeable values, these p-values are independent and uniform. A bet
/// ∫₀¹ ε·p^(ε−1) dε = (1/p − 1 + ln p)/ln²p multiplies the evidence, R ← (R + 1)·bet
/// (Shiryaev-Roberts), for rises and falls apart. When their mean reaches N, an alarm is raised. The
/// expected number of values until then is at least N, whatever their distribution.
///
/// After an alarm it starts anew with nothing.
///
/// # Cost
///
/// O(500) for each value, and as much memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Conformal {
    options: ConformalOptions,
    reference: VecDeque<f64>,
    next: u64,
    /// The number of the first value since the last alarm.
    began: u64,
    /// Falls and rises.
    evidence: [f64; 2],
    /// The largest gain of the bets up to now, as a logarithm, and the value at which it starts.
    gains: [f64; 2],
    since: [u64; 2],
}

impl Conformal {
    /// A detector that has seen nothing.
    ///
    /// # Errors
    ///
    /// [`StepError::OutOfRange`] for fewer than 2 values for each alarm.
    pub fn new(options: ConformalOptions) -> Result<Self, StepError> {
        let n = options.values_per_alarm;
        if !(2.0..=1e15).contains(&n) {
            return Err(StepError::OutOfRange {
                argument: "values_per_alarm",
                value: n,
                least: 2.0,
                most: 1e15,
            });
        }
        Ok(Self {
            options,
            reference: VecDeque::new(),
            next: 0,
            began: 0,
            evidence: [0.0; 2],
            gains: [0.0; 2],
            since: [0; 2],
        })
    }

    /// The evidence for a change: an e-value for [`e_bh`](super::e_bh) when divided by the number
    /// of values since the last alarm.
    pub fn evidence(&self) -> f64 {
        (self.evidence[0] + self.evidence[1]) / 2.0
    }

    /// The evidence of one direction alone.
    pub fn evidence_of(&self, rose: bool) -> f64 {
        self.evidence[usize::from(rose)]
    }

    /// The number of values since the last alarm.
    pub fn count(&self) -> u64 {
        self.next - self.began
    }

    /// Adds a value.
    ///
    /// # Errors
    ///
    /// [`StepError::NotFinite`]; the value is then not counted.
    pub fn push(&mut self, value: f64) -> Result<Option<ConformalAlarm>, StepError> {
        check_finite("value", &[value])?;
        let number = self.next;
        self.next += 1;
        let (mut below, mut equal) = (0_usize, 0_usize);
        for other in &self.reference {
            below += usize::from(*other < value);
            equal += usize::from(*other == value);
        }
        let count = self.reference.len() + 1;
        let drawn = mixed(self.options.seed ^ mixed(number)) >> 11;
        let drawn = (drawn as f64 + 0.5) / (1_u64 << 53) as f64;
        let low = (below as f64 + drawn * (equal + 1) as f64) / count as f64;
        for (side, p) in [low, 1.0 - low].into_iter().enumerate() {
            let bet = bet(p);
            self.evidence[side] = (self.evidence[side] + 1.0) * bet;
            if self.gains[side] <= 0.0 {
                (self.gains[side], self.since[side]) = (0.0, number);
            }
            self.gains[side] += libm::log(bet);
        }
        if self.reference.len() == REFERENCE {
            self.reference.pop_front();
        }
        self.reference.push_back(value);
        let evidence = self.evidence();
        if evidence < self.options.values_per_alarm {
            return Ok(None);
        }
        let rose = self.evidence[1] > self.evidence[0];
        let since = self.since[usize::from(rose)];
        self.reference.clear();
        self.began = self.next;
        self.evidence = [0.0; 2];
        self.gains = [0.0; 2];
        Ok(Some(ConformalAlarm {
            raised_at: number,
            since,
            rose,
            evidence,
        }))
    }
}

/// ∫₀¹ ε·p^(ε−1) dε, whose mean over a uniform p is 1.
fn bet(p: f64) -> f64 {
    let log = -libm::log(p);
    if log < 1e-3 {
        // The series of the same: (e^L − 1 − L)/L².
        return 0.5 + log / 6.0 + log * log / 24.0;
    }
    (1.0 / p - 1.0 - log) / (log * log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bets_are_fair() {
        let steps = 100_000;
        let sum: f64 = (0..steps)
            .map(|i| bet((f64::from(i) + 0.5) / f64::from(steps)))
            .sum();
        // The part near 0, 1/ln(1/p), converges slowly.
        let missing = 1.0 - sum / f64::from(steps);
        assert!((0.0..0.1).contains(&missing), "{missing}");
        assert!((bet(0.999) - bet(0.998_999)).abs() < 1e-5);
    }
}

//! Sums of numbers that may overflow.

use libm::{exp, log};

/// A sum of numbers whose logarithms are given, any of which may overflow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSum {
    largest: f64,
    /// The sum, in units of the largest.
    sum: f64,
}

impl LogSum {
    pub(crate) const EMPTY: Self = Self {
        largest: f64::NEG_INFINITY,
        sum: 0.0,
    };

    pub(crate) fn add(&mut self, log: f64) {
        if log > self.largest {
            self.sum = self.sum * exp(self.largest - log) + 1.0;
            self.largest = log;
        } else if log > f64::NEG_INFINITY {
            self.sum += exp(log - self.largest);
        }
    }

    /// Returns true if a number of this logarithm is lost in the rounding of the sum.
    pub(crate) fn is_beyond(self, log: f64) -> bool {
        log < self.largest - 40.0
    }

    /// The sum's own logarithm.
    pub(crate) fn value(self) -> f64 {
        self.largest + log(self.sum)
    }
}

//! The difference between two failure rates.

use crate::error::CompareError;
use crate::normal::upper_quantile;
use crate::sorted::check_level;
use crate::types::Interval;

/// The difference of two rates, from [`difference_of_rates`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RateDifference {
    /// The treatment's rate less the control's, from -1 to 1.
    pub estimate: f64,
    /// The interval with the requested confidence.
    pub interval: Interval,
    /// Share of failures in the control.
    pub control_rate: f64,
    /// Share of failures in the treatment.
    pub treatment_rate: f64,
}

/// The difference of two rates of failure, with its interval at the level
/// `confidence`. Each side is given as (failures, runs).
///
/// Newcombe's hybrid score interval: Wilson's interval `[l, u]` for each rate
/// `p`, and from their distances to the rates the interval of the difference
/// `d = p2 - p1`,
///
/// ```text
/// d - sqrt((p2 - l2)² + (u1 - p1)²)   to   d + sqrt((u2 - p2)² + (p1 - l1)²)
/// ```
///
/// Unlike the textbook interval it stays within [-1, 1] and does not shrink to
/// a point where no run, or every run, fails. Source: Newcombe, "Interval
/// estimation for the difference between independent proportions", Statistics
/// in Medicine 17, 1998, method 10; Wilson, JASA 22, 1927. Cost: constant.
///
/// # Errors
///
/// A side without runs, more failures than runs, or a level outside (0, 1).
///
/// ```
/// let change = pinpoint_compare::difference_of_rates((0, 10), (10, 10), 0.95)?;
/// assert_eq!(change.estimate, 1.0);
/// assert!((change.interval.low - 0.6075).abs() < 5e-5);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn difference_of_rates(
    control: (u64, u64),
    treatment: (u64, u64),
    confidence: f64,
) -> Result<RateDifference, CompareError> {
    check_level("confidence", confidence)?;
    for (argument, (failures, runs)) in [("control", control), ("treatment", treatment)] {
        if runs == 0 {
            return Err(CompareError::Empty { argument });
        }
        if failures > runs {
            return Err(CompareError::TooManyFailures {
                argument,
                failures,
                runs,
            });
        }
    }
    let z = upper_quantile((1.0 - confidence) / 2.0);
    let (p1, l1, u1) = wilson(control, z);
    let (p2, l2, u2) = wilson(treatment, z);
    let estimate = p2 - p1;
    Ok(RateDifference {
        estimate,
        interval: Interval {
            low: (estimate - libm::hypot(p2 - l2, u1 - p1)).max(-1.0),
            high: (estimate + libm::hypot(u2 - p2, p1 - l1)).min(1.0),
        },
        control_rate: p1,
        treatment_rate: p2,
    })
}

/// The rate with its score interval.
fn wilson((failures, runs): (u64, u64), z: f64) -> (f64, f64, f64) {
    let n = runs as f64;
    let rate = failures as f64 / n;
    let shrink = 1.0 + z * z / n;
    let center = (rate + z * z / (2.0 * n)) / shrink;
    let half = z * (rate * (1.0 - rate) / n + z * z / (4.0 * n * n)).sqrt() / shrink;
    (rate, (center - half).max(0.0), (center + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_newcombes_published_examples() {
        // Table II of the paper, method 10: 56/70 less 48/80, 10/10 less 0/10.
        for (control, treatment, estimate, low, high) in [
            ((48, 80), (56, 70), 0.2, 0.0524, 0.3339),
            ((0, 10), (10, 10), 1.0, 0.6075, 1.0),
        ] {
            let change = difference_of_rates(control, treatment, 0.95).unwrap();
            assert!((change.estimate - estimate).abs() < 1e-12);
            assert!((change.interval.low - low).abs() < 5e-5, "{change:?}");
            assert!((change.interval.high - high).abs() < 5e-5, "{change:?}");
        }
    }

    #[test]
    fn refuses_what_is_no_rate() {
        assert!(difference_of_rates((0, 0), (1, 2), 0.95).is_err());
        assert!(difference_of_rates((1, 2), (3, 2), 0.95).is_err());
        assert!(difference_of_rates((1, 2), (1, 2), 1.0).is_err());
        assert!(difference_of_rates((1, 2), (1, 2), f64::NAN).is_err());
    }
}

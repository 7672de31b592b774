//! Checks that a difference that was measured without a profiler also shows under it.
//!
//! A profiler changes the run that it observes: callgrind counts instructions and sees no waiting,
//! a sampler sees no time in which the program sleeps. The changes in profiles explain a regression
//! only if they contain enough of it.

use super::Change;

/// A smaller part of the job's difference counts as none.
const LEAST_PART: f64 = 0.25;

/// Returns true if the profiles' whole cost changed in the direction of a job's difference, by at
/// least a quarter of it.
///
/// `measured` is the job's difference as a part of the level before it: 0.11 for 11 %, above
/// zero where the experiment costs more. Where the profiles give an interval, the end of
/// it that comes nearest to the job's difference decides. True without any difference to
/// compare with.
///
/// ```
/// use pinpoint_profile::{Change, shows_difference};
///
/// let whole = |difference| Change {
///     base: 100.0,
///     experiment: 100.0 + difference,
///     difference,
///     estimate: None,
///     interval: None,
/// };
/// assert!(shows_difference(0.11, &whole(14.0)));
/// assert!(!shows_difference(0.11, &whole(0.4)));
/// assert!(!shows_difference(0.11, &whole(-14.0)));
/// ```
pub fn shows_difference(measured: f64, whole: &Change) -> bool {
    if measured == 0.0 || !measured.is_finite() {
        return true;
    }
    let toward = |difference: f64| difference / whole.base * measured.signum();
    let nearest = match whole.interval {
        Some(interval) => toward(interval.low).max(toward(interval.high)),
        None => toward(whole.difference),
    };
    // Without a base there is nothing to compare with.
    nearest.is_nan() || nearest >= measured.abs() * LEAST_PART
}

#[cfg(test)]
mod tests {
    use pinpoint_compare::Interval;

    use super::*;

    #[test]
    fn an_interval_that_reaches_the_difference_shows_it() {
        let whole = |low, high| Change {
            base: 100.0,
            experiment: 100.0,
            difference: 0.0,
            estimate: Some(0.0),
            interval: Some(Interval { low, high }),
        };
        assert!(shows_difference(0.1, &whole(-5.0, 6.0)));
        assert!(!shows_difference(0.1, &whole(-5.0, 1.0)));
        assert!(shows_difference(-0.1, &whole(-5.0, 1.0)));
        assert!(!shows_difference(-0.1, &whole(-1.0, 20.0)));
        let none = Change {
            base: 0.0,
            ..whole(0.0, 0.0)
        };
        assert!(shows_difference(0.0, &none) && shows_difference(0.1, &none));
    }
}

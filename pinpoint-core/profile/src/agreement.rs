//! Whether a difference that was measured without a profiler shows under it, too.
//!
//! A profiler changes what it looks at: callgrind counts instructions and sees no waiting,
//! a sampler sees no time in which the program sleeps. What moved in the profiles explains
//! a regression only when enough of the regression is in them.

use super::Change;

/// Less than this part of the job's difference is as good as none.
const LEAST_PART: f64 = 0.25;

/// Whether the profiles' whole cost moved as a job says, at least by a quarter of that.
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

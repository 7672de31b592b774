//! Whether a difference that was measured without a profiler shows under it, too.
//!
//! A profiler changes what it looks at: callgrind counts instructions and sees no waiting,
//! a sampler sees no time in which the program sleeps. What moved in the profiles explains
//! a regression only when enough of the regression is in them.

use super::Change;
use crate::report::Usage;

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
/// use pinpoint_core::profile::{Change, shows_difference};
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

/// The seconds by which a run of the experiment waits longer than one of the base, where that is at
/// least half of the difference between their durations: below zero where it waits less. No
/// profiler of what runs sees that, be it sleep, input and output, or a lock.
///
/// A run waits for as long as it takes without processor time; one that keeps several processors
/// busy may wait unseen. Absent without runs.
///
/// ```
/// use pinpoint_core::Usage;
/// use pinpoint_core::profile::longer_wait;
///
/// let run = |wall, user| Usage { wall, user, ..Usage::default() };
/// let wait = longer_wait(&[run(1.0, 0.75)], &[run(1.5, 0.75)]);
/// assert_eq!(wait, Some(0.5));
/// assert_eq!(longer_wait(&[run(1.0, 0.75)], &[run(1.5, 1.25)]), None);
/// ```
pub fn longer_wait(base: &[Usage], experiment: &[Usage]) -> Option<f64> {
    let mean = |runs: &[Usage], of: fn(&Usage) -> f64| {
        runs.iter().map(of).sum::<f64>() / runs.len() as f64
    };
    let difference = |of| mean(experiment, of) - mean(base, of);
    let waits = difference(|run| (run.wall - run.user - run.system).max(0.0));
    let takes = difference(|run| run.wall);
    (takes != 0.0 && waits / takes >= 0.5).then_some(waits)
}

#[cfg(test)]
mod tests {
    use pinpoint_compare::Interval;

    use super::*;

    #[test]
    fn a_run_waits_while_it_takes_no_processor_time() {
        let run = |wall, user, system| Usage {
            wall,
            user,
            system,
            ..Usage::default()
        };
        let base = [run(1.0, 0.5, 0.25), run(2.0, 0.5, 0.25)];
        let slower = [run(2.0, 0.5, 0.25)];
        assert_eq!(longer_wait(&base, &slower), Some(0.5));
        assert_eq!(longer_wait(&slower, &base), Some(-0.5));
        // It computes longer, and on two processors.
        assert_eq!(longer_wait(&base, &[run(2.0, 1.5, 0.5)]), None);
        assert_eq!(longer_wait(&base, &[run(2.0, 3.0, 0.5)]), None);
        // Nothing moved, and nothing was measured.
        assert_eq!(longer_wait(&slower, &slower), None);
        assert_eq!(longer_wait(&base, &[]), None);
    }

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

//! The waiting times of the runs of two builds, which profilers of running code do not see.

use pinpoint_compare::sign_flips;
use serde::{Deserialize, Serialize};

use crate::report::Usage;

/// The greatest p-value of a difference that is certain.
const LEVEL: f64 = 0.05;

/// The waiting times of the runs of two sides: seconds of a run, the mean of each side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongerWait {
    /// The waiting time of a run of the base.
    pub base: f64,
    /// The waiting time of a run of the experiment.
    pub experiment: f64,
    /// True if the difference is significant: p is at most 0.05, for the differences of pairs.
    pub is_certain: bool,
}

impl LongerWait {
    /// The time by which a run of the experiment waits longer; below zero where it waits less.
    pub fn difference(&self) -> f64 {
        self.experiment - self.base
    }
}

/// The waiting times of runs, if the difference between experiment and base is at least half of the
/// difference between their durations. Profilers of running code do not see waiting, be it sleep,
/// input and output, or a lock.
///
/// A run's waiting time is its duration without its processor time; one that keeps several
/// processors busy may wait unseen. `None` without runs. The first run of each side belongs to the
/// first of the other, and so on.
///
/// ```
/// use pinpoint_core::Usage;
/// use pinpoint_core::profile::longer_wait;
///
/// let run = |wall, user| Usage { wall, user, ..Usage::default() };
/// let wait = longer_wait(&[run(1.0, 0.75)], &[run(1.5, 0.75)]).expect("it waits longer");
/// assert_eq!((wait.base, wait.experiment, wait.difference()), (0.25, 0.75, 0.5));
/// // One pair may be chance.
/// assert!(!wait.is_certain);
/// assert_eq!(longer_wait(&[run(1.0, 0.75)], &[run(1.5, 1.25)]), None);
/// ```
pub fn longer_wait(base: &[Usage], experiment: &[Usage]) -> Option<LongerWait> {
    let mean = |runs: &[Usage], of: fn(&Usage) -> f64| {
        runs.iter().map(of).sum::<f64>() / runs.len() as f64
    };
    let waits = |run: &Usage| (run.wall - run.user - run.system).max(0.0);
    let takes = mean(experiment, |run| run.wall) - mean(base, |run| run.wall);
    let pairs = base.iter().zip(experiment);
    let differences: Vec<f64> = pairs.map(|(a, b)| waits(b) - waits(a)).collect();
    let wait = LongerWait {
        base: mean(base, waits),
        experiment: mean(experiment, waits),
        is_certain: base.len() == experiment.len()
            && sign_flips(&differences).is_ok_and(|test| test.p_value <= LEVEL),
    };
    (takes != 0.0 && wait.difference() / takes >= 0.5).then_some(wait)
}

#[cfg(test)]
mod tests {
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
        let seconds = |base: &[Usage], experiment: &[Usage]| {
            longer_wait(base, experiment).map(|wait| wait.difference())
        };
        assert_eq!(seconds(&base, &slower), Some(0.5));
        assert_eq!(seconds(&slower, &base), Some(-0.5));
        // It computes longer, and on two processors.
        assert_eq!(longer_wait(&base, &[run(2.0, 1.5, 0.5)]), None);
        assert_eq!(longer_wait(&base, &[run(2.0, 3.0, 0.5)]), None);
        // Nothing moved, and nothing was measured.
        assert_eq!(longer_wait(&slower, &slower), None);
        assert_eq!(longer_wait(&base, &[]), None);
    }

    #[test]
    fn a_wait_is_certain_in_enough_pairs() {
        let runs = |sleeps: f64| -> Vec<Usage> {
            let run = |number: u32| Usage {
                wall: 0.01 + sleeps + 0.001 * f64::from(number % 3),
                user: 0.01,
                ..Usage::default()
            };
            (0..6).map(run).collect()
        };
        let wait = longer_wait(&runs(0.39), &runs(1.08)).unwrap();
        assert!(wait.is_certain, "{wait:?}");
        assert!(
            !longer_wait(&runs(0.39)[..5], &runs(1.08)[..5])
                .unwrap()
                .is_certain
        );
        assert_eq!(longer_wait(&runs(0.39), &runs(0.39)), None);
    }
}

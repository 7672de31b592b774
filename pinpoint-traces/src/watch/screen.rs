//! A screen before a run: which traces have news, from a small state of each.

use pinpoint_compare::steps::{Detector, DetectorOptions, StepError};

use super::detect::seed_of_trace;
use crate::commit::CommitNumber;
use crate::id::TraceId;

/// The answer of [`screen_values`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Screened {
    /// They have no news.
    Quiet {
        /// The state after them, to be stored: at most 1.5 KiB and 4 bytes.
        state: Vec<u8>,
    },
    /// The rank detector raised or retracted an alarm: run the alerts over the whole trace.
    Stirred {
        /// The state after them.
        state: Vec<u8>,
    },
    /// A value is not after all that the state has seen: run the alerts over the whole trace, and
    /// make its state again from all of its values.
    Late,
}

/// Puts new values of a trace, in the order of commits, through its rank detector, whose state was
/// stored after the ones before; without a state, give all values that the trace has.
///
/// [`run_alerts`](super::run_alerts) finds, with the same rate, news of a change in the values only
/// where this says [`Screened::Stirred`] or [`Screened::Late`]. So of many traces only those have to
/// be loaded, and those that have a regression already, whose standing may change. Each rate has a
/// state of its own.
///
/// # Errors
///
/// [`StepError::NotFinite`] for a value, [`StepError::OutOfRange`] for a rate,
/// [`StepError::BadState`] for bytes that are not a state.
///
/// # Cost
///
/// About 3 µs for each value, and as much for the state.
///
/// ```
/// use pinpoint_traces::{CommitNumber, TraceId, watch::{Screened, screen_values}};
///
/// let trace: TraceId = ",test=t,".parse()?;
/// let noise = |i: u32| f64::from((i * i * 37 + i * 11) % 101) / 101.0;
/// let history: Vec<_> = (0..60).map(|i| (CommitNumber(i), noise(i))).collect();
/// let Screened::Quiet { mut state } = screen_values(None, &trace, 1e-4, &history)? else { panic!() };
/// // From commit 60 on, values are larger.
/// let mut commit = 60;
/// while let Screened::Quiet { state: next } =
///     screen_values(Some(&state), &trace, 1e-4, &[(CommitNumber(commit), noise(commit) + 3.0)])?
/// {
///     (state, commit) = (next, commit + 1);
/// }
/// assert!(commit < 70);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn screen_values(
    state: Option<&[u8]>,
    trace: &TraceId,
    rate: f64,
    values: &[(CommitNumber, f64)],
) -> Result<Screened, StepError> {
    let options = DetectorOptions {
        rate,
        seed: seed_of_trace(trace),
    };
    let (mut detector, mut last) = match state {
        None => (Detector::new(options)?, None),
        Some(bytes) => {
            let (last, packed) = bytes.split_first_chunk().ok_or(StepError::BadState {
                reason: "its last commit is missing",
            })?;
            let last = CommitNumber(u32::from_le_bytes(*last));
            (Detector::unpack(packed, options)?, Some(last))
        }
    };
    let mut is_stirred = false;
    for (commit, value) in values {
        if last.is_some_and(|last| last >= *commit) {
            return Ok(Screened::Late);
        }
        last = Some(*commit);
        is_stirred |= detector.push(*value)?.is_some();
    }
    let last = last.unwrap_or_default();
    let mut state = last.0.to_le_bytes().to_vec();
    state.extend(detector.pack());
    Ok(if is_stirred {
        Screened::Stirred { state }
    } else {
        Screened::Quiet { state }
    })
}

#[cfg(test)]
mod tests {
    use super::super::detect::{Series, by_rank, noise};
    use super::*;
    use crate::frame::Columns;
    use proptest::prelude::*;

    /// Runs one value after the other, and returns the commits that stirred.
    fn stirred(trace: &TraceId, values: &[f64]) -> Vec<u32> {
        let mut stirred = Vec::new();
        let mut state: Option<Vec<u8>> = None;
        for (commit, value) in (0..).zip(values) {
            let new = [(CommitNumber(commit), *value)];
            let found = screen_values(state.as_deref(), trace, 1e-3, &new).unwrap();
            state = Some(match found {
                Screened::Quiet { state } => state,
                Screened::Stirred { state } => {
                    stirred.push(commit);
                    state
                }
                Screened::Late => panic!("no value is late"),
            });
            assert!(state.as_ref().is_some_and(|it| it.len() <= 1540));
        }
        stirred
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn each_change_that_a_run_finds_stirs(
            steps in proptest::collection::vec((0_usize..200, -4.0..4.0_f64), 0..4),
            whole in any::<bool>(),
        ) {
            let mut values = noise(200);
            for (from, size) in steps {
                values[from..].iter_mut().for_each(|it| *it += size);
            }
            if whole {
                values.iter_mut().for_each(|it| *it = it.round());
            }
            let trace: TraceId = ",a=b,".parse().unwrap();
            let columns = Columns::range(CommitNumber(0)..=CommitNumber(199));
            let series = Series::of(&trace, &columns, &values);
            let shown: Vec<u32> =
                by_rank(&series, 1e-3).unwrap().iter().map(|it| it.change.shown_at.0).collect();
            let stirred = stirred(&trace, &values);
            prop_assert!(shown.iter().all(|it| stirred.contains(it)), "{shown:?} {stirred:?}");
        }
    }

    #[test]
    fn late_values_and_damaged_states_are_told() {
        let trace: TraceId = ",a=b,".parse().unwrap();
        let at = |commit| [(CommitNumber(commit), 1.0)];
        let first = screen_values(None, &trace, 1e-4, &at(5)).unwrap();
        let Screened::Quiet { state } = first else {
            panic!("{first:?}");
        };
        for commit in [4, 5] {
            let late = screen_values(Some(&state), &trace, 1e-4, &at(commit));
            assert_eq!(late, Ok(Screened::Late));
        }
        assert!(matches!(
            screen_values(Some(&state), &trace, 1e-4, &at(6)),
            Ok(Screened::Quiet { .. })
        ));
        for bytes in [&state[..3], &state[..9], &[]] {
            let damaged = screen_values(Some(bytes), &trace, 1e-4, &at(6));
            assert!(
                matches!(damaged, Err(StepError::BadState { .. })),
                "{damaged:?}"
            );
        }
        let infinite = [(CommitNumber(9), f64::INFINITY)];
        assert!(screen_values(Some(&state), &trace, 1e-4, &infinite).is_err());
    }
}

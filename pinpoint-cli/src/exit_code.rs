//! Exit codes, as `pinpoint help` lists them.

use pinpoint_core::{PairwiseStatus, Status};

/// A culprit was found, or a difference.
pub(crate) const FOUND: u8 = 0;
/// The job failed.
pub(crate) const FAILED: u8 = 1;
/// The command line or the input was wrong.
pub(crate) const WRONG_INPUT: u8 = 2;
/// No difference was found.
pub(crate) const NO_DIFFERENCE: u8 = 3;
/// Undecided; a range is reported.
pub(crate) const UNDECIDED: u8 = 4;
/// The job has its result, but a report of it could not be sent.
#[cfg(feature = "luci")]
pub(crate) const NOT_REPORTED: u8 = 5;
/// The time limit came first, as of `timeout`.
pub(crate) const TIMED_OUT: u8 = 124;
/// Interrupted or canceled; the job can be resumed.
pub(crate) const INTERRUPTED: u8 = 130;

pub(crate) fn exit_code_of_search(status: Status) -> u8 {
    match status {
        Status::CulpritFound => FOUND,
        Status::NoRegression => NO_DIFFERENCE,
        Status::Failed => FAILED,
        Status::Canceled => INTERRUPTED,
        // An answer that this version doesn't know decides nothing here.
        _ => UNDECIDED,
    }
}

pub(crate) fn exit_code_of_pairwise(status: PairwiseStatus) -> u8 {
    match status {
        PairwiseStatus::Different => FOUND,
        PairwiseStatus::Same => NO_DIFFERENCE,
        PairwiseStatus::Failed => FAILED,
        PairwiseStatus::Canceled => INTERRUPTED,
        _ => UNDECIDED,
    }
}

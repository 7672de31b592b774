//! The failures of activities.

use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::ActivityError;

use crate::store::{JobId, StoreError};

/// The type of a failure: the job can't be carried out until the cause is mended.
pub(super) const REFUSED: &str = "Refused";

/// The type of a failure: somebody else has the job.
pub(super) const SUPERSEDED: &str = "Superseded";

/// The server refuses to start a job, and would refuse it again.
#[derive(Debug, thiserror::Error)]
#[error("Temporal does not start job {job}: {reason}")]
pub(super) struct NotStarted {
    pub(super) job: JobId,
    pub(super) reason: String,
}

pub(super) fn again(reason: impl ToString) -> ActivityError {
    ApplicationFailure::new(reason.to_string()).into()
}

pub(super) fn refused(reason: &str) -> ActivityError {
    lasting(REFUSED, reason)
}

/// Nothing that is done for the job counts any more.
pub(super) fn superseded(error: &StoreError) -> ActivityError {
    lasting(SUPERSEDED, &error.to_string())
}

fn lasting(kind: &str, reason: &str) -> ActivityError {
    lasting_failure(kind, reason).into()
}

pub(super) fn lasting_failure(kind: &str, reason: &str) -> ApplicationFailure {
    ApplicationFailure::builder(reason)
        .type_name(kind.to_owned())
        .non_retryable(true)
        .build()
}

pub(super) fn from_store(error: StoreError) -> ActivityError {
    match error {
        error @ StoreError::Leased { .. } => superseded(&error),
        // The owner may have taken it anew, when all of its workers were gone.
        error @ StoreError::LeaseLost { .. } => again(error),
        // A full disk can be emptied, and a server comes back.
        error if error.is_passing() || matches!(error, StoreError::Full { .. }) => again(error),
        error => refused(&error.to_string()),
    }
}

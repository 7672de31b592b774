//! The failures of activities.

use std::error::Error;
use std::time::Duration;

use pinpoint_core::DriveError;
use temporalio_client::errors::{
    WorkflowGetResultError, WorkflowInteractionError, WorkflowStartError, WorkflowUpdateError,
};
use temporalio_client::tonic::{Code, Status};
use temporalio_common::error::IncomingError;
use temporalio_sdk::activities::ActivityError;
use temporalio_sdk::{ActivityExecutionError, ApplicationFailure};

use crate::job::JobError;
use crate::store::{JobId, StoreError};

/// The type of a failure: the job can't be carried out until the cause is fixed.
pub(super) const REFUSED: &str = "Refused";

/// The type of a failure: the job has another holder.
pub(super) const SUPERSEDED: &str = "Superseded";

/// The type of a failure: no machine can do it for now.
pub(super) const UNABLE: &str = "Unable";

/// The delay before retrying something that another worker may be able to do, or this one a little
/// later.
const ELSEWHERE: Duration = Duration::from_millis(500);

/// The server refuses to start a job, and would refuse again.
#[derive(Debug, thiserror::Error)]
#[error("Temporal does not start job {job}: {reason}")]
pub(super) struct NotStarted {
    pub(super) job: JobId,
    pub(super) reason: String,
}

/// Checks whether an error comes from a server that does not answer.
pub(super) fn is_away(error: &(dyn Error + 'static)) -> bool {
    if let Some(JobError::Drive(DriveError::Refused(error))) = error.downcast_ref() {
        return is_away(&**error);
    }
    status_of(error).is_some_and(|status| {
        matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded)
            // The connection broke.
            || (status.code() == Code::Unknown && status.source().is_some())
    })
}

/// The gRPC status of a failed call.
fn status_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    if let Some(WorkflowStartError::Rpc(status)) = error.downcast_ref() {
        return Some(status);
    }
    if let Some(WorkflowInteractionError::Rpc(status)) = error.downcast_ref() {
        return Some(status);
    }
    if let Some(WorkflowUpdateError::Rpc(status)) = error.downcast_ref() {
        return Some(status);
    }
    if let Some(WorkflowGetResultError::Rpc(status)) = error.downcast_ref() {
        return Some(status);
    }
    error.downcast_ref()
}

/// The work was for a job of another store.
#[derive(Debug, thiserror::Error)]
#[error(
    "the worker on {machine} uses the store {name} ({store}), and gets work for jobs of another \
     one ({of_job}), which it leaves to others; workers of one namespace have to share one store"
)]
pub(super) struct OtherStoresJob {
    pub(super) machine: String,
    /// The name of its store.
    pub(super) name: String,
    /// The identity of that store.
    pub(super) store: String,
    /// The identity of the store of the job.
    pub(super) of_job: String,
}

/// This machine can't do something, but another may.
#[derive(Debug, thiserror::Error)]
#[error("{0}; left to another machine, or to this one a little later")]
pub(super) struct UnableHere(pub(super) String);

pub(super) fn again(reason: impl ToString) -> ActivityError {
    ApplicationFailure::new(reason.to_string()).into()
}

/// The failure of an action that another worker may be able to do.
pub(super) fn elsewhere(reason: impl ToString) -> ActivityError {
    ApplicationFailure::builder(reason.to_string())
        .next_retry_delay(ELSEWHERE)
        .build()
        .into()
}

pub(super) fn unable(reason: &str) -> ActivityError {
    lasting(UNABLE, reason)
}

pub(super) fn refused(reason: &str) -> ActivityError {
    lasting(REFUSED, reason)
}

/// The failure of work for a job that no longer counts.
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

fn application(error: &ActivityExecutionError) -> Option<&ApplicationFailure> {
    match error.reason()? {
        IncomingError::Application(failure) => Some(failure),
        _ => None,
    }
}

pub(super) fn type_of(error: &ActivityExecutionError) -> Option<&str> {
    application(error)?.type_name()
}

pub(super) fn reason_of(error: &ActivityExecutionError) -> String {
    match (application(error), error.as_timeout()) {
        (Some(failure), _) => failure.source_error().to_string(),
        (None, Some(timeout)) => format!("it took too long: {:?}", timeout.timeout_type()),
        (None, None) => error.to_string(),
    }
}

pub(super) fn from_store(error: StoreError) -> ActivityError {
    match error {
        error @ StoreError::Leased { .. } => superseded(&error),
        // The owner may have taken it anew, after all of its workers were gone.
        error @ StoreError::LeaseLost { .. } => again(error),
        // A full disk can be emptied, and a server can come back.
        error if error.is_passing() || matches!(error, StoreError::Full { .. }) => again(error),
        error => refused(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_away_differs_from_one_that_refuses() {
        let asked = |status| {
            let error = WorkflowInteractionError::Rpc(status);
            is_away(&JobError::Drive(DriveError::Refused(Box::new(error))))
        };
        assert!(asked(Status::unavailable("tcp connect error")));
        assert!(asked(Status::deadline_exceeded("timeout")));
        assert!(!asked(Status::permission_denied("no")));
        assert!(is_away(&Status::unavailable("tcp connect error")));
        assert!(!is_away(&JobError::Interrupted));
    }
}

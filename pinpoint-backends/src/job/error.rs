//! Why a job has no result.

use pinpoint_core::{DriveError, JournalError, MachineError, SpecError, UnknownJobKind};

use super::CommitError;
use crate::store::{JobId, LockError, StoreError};

/// Why a job has no result. Nothing in its journal is lost: it can be resumed once the
/// cause is gone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// This process was to end.
    #[error("interrupted")]
    Interrupted,
    /// Another process works on it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The store can't be used, or another machine has the job.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A newer version made it.
    #[error("job {job}: {source}")]
    Kind {
        /// The job.
        job: JobId,
        /// What is not known.
        source: UnknownJobKind,
    },
    /// Its spec can't be read.
    #[error("the spec of job {job} can't be read: {source}")]
    Unreadable {
        /// The job.
        job: JobId,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Its spec asks for what can't be searched.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It paused: something can't be carried out, or its records can't be used.
    #[error(transparent)]
    Drive(DriveError),
    /// A commit of its outcome can't be named.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl From<DriveError> for JobError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Detached => Self::Interrupted,
            error => Self::Drive(error),
        }
    }
}

impl From<JournalError> for JobError {
    fn from(error: JournalError) -> Self {
        Self::Drive(error.into())
    }
}

impl From<MachineError> for JobError {
    fn from(error: MachineError) -> Self {
        Self::Drive(error.into())
    }
}

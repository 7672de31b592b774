//! Errors of working on a job.

use pinpoint_core::job::ResultError;
use pinpoint_core::{DriveError, JournalError, MachineError, SpecError, UnknownJobKind};

#[cfg(feature = "local")]
use crate::local::LocalError;
use crate::store::{JobId, LockError, NewJobError, StoreError};

/// The reason why a job has no result. Nothing in its journal is lost: it can be resumed
/// once the cause is gone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// This process was asked to stop.
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
        /// Its kind.
        source: UnknownJobKind,
    },
    /// A part of it can't be read.
    #[error("the {what} of job {job} can't be read: {source}")]
    Unreadable {
        /// The job.
        job: JobId,
        /// The part: its spec, configuration or outcome.
        what: &'static str,
        /// The cause.
        source: serde_json::Error,
    },
    /// It is completed, and its outcome is gone.
    #[error("job {job} is completed and has no outcome")]
    NoOutcome {
        /// The job.
        job: JobId,
    },
    /// It can't be stored: the name of a file is not UTF-8, for instance.
    #[error("the job can't be stored: {0}")]
    Unwritable(#[source] serde_json::Error),
    /// A word of its request has no place in another API.
    #[cfg(feature = "api")]
    #[error(transparent)]
    Legacy(#[from] pinpoint_core::api::LegacyJobError),
    /// Its spec asks for a search that can't be made.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It paused: something can't be carried out, or its records can't be used.
    #[error(transparent)]
    Drive(DriveError),
    /// Only its creator can build or run for it.
    #[error("job {job} calls functions of the program that made it, which has to resume it")]
    NeedsFunctions {
        /// The job.
        job: JobId,
    },
    /// Its builds and runs are in LUCI, and this program can't end them.
    #[error(
        "job {job} is carried out in LUCI: only a program that reaches its services can end it"
    )]
    InLuci {
        /// The job.
        job: JobId,
    },
    /// It would be carried out in two places.
    #[error(
        "job {job} names commands of a machine and services of LUCI, and has to be carried out by one of the two"
    )]
    TwoPlaces {
        /// The job.
        job: JobId,
    },
    /// It inherits a variable that is not available here.
    #[error(
        "the job inherits the variable {name} of the environment: {source}; set it where the job is carried out"
    )]
    Environment {
        /// The variable.
        name: String,
        /// The reason.
        source: std::env::VarError,
    },
    /// Its result can't be assembled.
    #[error(transparent)]
    Result(#[from] ResultError),
}

impl From<NewJobError> for JobError {
    fn from(error: NewJobError) -> Self {
        match error {
            NewJobError::Spec(error) => Self::Spec(error),
            NewJobError::Unwritable(error) => Self::Unwritable(error),
        }
    }
}

impl JobError {
    /// Returns true if the store or this machine is in trouble, and not the job: the store does not
    /// answer, the disk is full, a repository can't be fetched. The job can continue later, or on
    /// another machine.
    pub fn is_infrastructure(&self) -> bool {
        match self {
            Self::Store(error) => error.is_of_store(),
            Self::Drive(DriveError::Journal(error)) => is_infrastructure(&*error.0),
            Self::Drive(DriveError::Refused(error)) => is_infrastructure(&**error),
            Self::Result(error) => is_infrastructure(error.cause()),
            _ => false,
        }
    }
}

/// As [`JobError::is_infrastructure`], for an executor's error.
pub(crate) fn is_infrastructure(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    #[cfg(feature = "local")]
    if let Some(error) = error.downcast_ref::<LocalError>() {
        return error.is_of_machine();
    }
    error.downcast_ref().is_some_and(StoreError::is_of_store)
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

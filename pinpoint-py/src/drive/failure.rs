//! Why a job did not end with an outcome.

use std::error::Error;
use std::fmt::Display;

use pinpoint_backends::local::{LocalError, RepositoryError};
use pinpoint_backends::store::{LockError, StoreError};
use pinpoint_core::{DriveError, ExecutorError, JournalError, MachineError, SpecError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Each kind is an exception in `python/pinpoint/_errors.py`.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for can't be done.
    Value(String),
    Repository(String),
    /// The commands can't be run, or Python's part has failed.
    Execution(String),
    /// The job's records can't be used.
    Job(String),
    Interrupted,
}

impl Failure {
    pub(crate) fn job(error: impl Display) -> Self {
        Self::Job(error.to_string())
    }

    /// What the store keeps of it.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Value(message)
            | Self::Repository(message)
            | Self::Execution(message)
            | Self::Job(message) => message,
            Self::Interrupted => "interrupted",
        }
    }

    pub(crate) fn into_exception(self, py: Python<'_>) -> PyErr {
        let (class, message) = match self {
            Self::Value(message) => return PyValueError::new_err(message),
            Self::Repository(message) => ("RepositoryError", message),
            Self::Execution(message) => ("ExecutionError", message),
            Self::Job(message) => ("JobError", message),
            Self::Interrupted => ("Stopped", "interrupted".into()),
        };
        let raised = (py.import("pinpoint._errors"))
            .and_then(|module| module.getattr(class))
            .and_then(|class| class.call1((message,)));
        raised.map_or_else(|error| error, PyErr::from_value)
    }
}

impl From<RepositoryError> for Failure {
    fn from(error: RepositoryError) -> Self {
        Self::Repository(error.to_string())
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::Value(error.to_string())
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        Self::Execution(with_advice(&error))
    }
}

impl From<ExecutorError> for Failure {
    fn from(error: ExecutorError) -> Self {
        match error {
            ExecutorError::Unavailable(error) | ExecutorError::Refused(error) => {
                Self::Execution(with_advice(&*error))
            }
            ExecutorError::Lost => Self::Execution(error.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Job(with_advice(&error))
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        Self::job(error)
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Self::job(error)
    }
}

impl From<MachineError> for Failure {
    fn from(error: MachineError) -> Self {
        DriveError::from(error).into()
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::job(error)
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Detached => Self::Interrupted,
            DriveError::Refused(error) => Self::Execution(with_advice(&*error)),
            other => Self::job(other),
        }
    }
}

/// The message of an error, with the argument of our functions that helps.
fn with_advice(error: &(dyn Error + 'static)) -> String {
    let local = error.downcast_ref().and_then(|error| match error {
        LocalError::NoSuchChart { .. } | LocalError::ManyCharts { .. } => Some("chart="),
        LocalError::NotAvailable { .. } => Some("repositories="),
        LocalError::StateDirNotUnicode { .. } => Some("state_dir="),
        _ => None,
    });
    let store = error.downcast_ref().and_then(|error| match error {
        StoreError::Directory { .. } | StoreError::Newer { .. } | StoreError::NotOurs { .. } => {
            Some("state_dir=")
        }
        StoreError::Unknown { .. } => Some("pinpoint.jobs() lists all jobs"),
        StoreError::SecondWriter { .. }
        | StoreError::BrokenOff { .. }
        | StoreError::Full { .. }
        | StoreError::Disk { .. } => Some("resume="),
        _ => None,
    });
    match local.or(store) {
        Some(advice) => format!("{error} ({advice})"),
        None => error.to_string(),
    }
}

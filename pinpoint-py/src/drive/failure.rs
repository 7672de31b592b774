//! The failures of jobs.

use std::error::Error;
use std::fmt::Display;

use pinpoint_backends::job::JobError;
use pinpoint_backends::local::{LFS_PULL, LocalError, MirrorError, RepositoryError};
use pinpoint_backends::store::{LockError, StoreError};
use pinpoint_core::results::MetricDoubt;
use pinpoint_core::{DriveError, NoMetric, SpecError};
use pinpoint_midpoint::{HistoryError, MidpointError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::good_end::GoodEndError;

/// A failure of a job. Each kind is an exception in `python/pinpoint/_errors.py`.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request is invalid.
    Value(String),
    Repository(String),
    /// The commands cannot be run, or Python's part has failed.
    Execution(String),
    /// The job's records cannot be used.
    Job(String),
    Interrupted,
}

impl Failure {
    pub(crate) fn job(error: impl Display) -> Self {
        Self::Job(error.to_string())
    }

    /// The message that the store keeps.
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

/// The error, with the argument or the function of the module that helps: libraries know none.
fn advised(error: &impl Display, advice: Option<impl Display>) -> String {
    match advice {
        Some(advice) => format!("{error} ({advice})"),
        None => error.to_string(),
    }
}

fn on_local(error: &LocalError) -> Option<String> {
    Some(match error {
        LocalError::Charts(error) => on_charts(error)?.into(),
        LocalError::Doubt(MetricDoubt::OtherValues { .. }) => {
            "chart=, or format=\"regex:…\"".into()
        }
        LocalError::Doubt(MetricDoubt::NotRead { .. }) => {
            "format=\"time\", or format=\"regex:…\"".into()
        }
        LocalError::Doubt(_) => "format=\"regex:…\"".into(),
        LocalError::MeasureOfOutput => "format= and results=, or measure=".into(),
        LocalError::NoSuchProcessor { .. } => "cpu=".into(),
        LocalError::CommandNotExecutable { .. } => "as in run=[\"sh\", …]".into(),
        LocalError::GoodFails {
            hint: Some(hint), ..
        } if hint.contains(LFS_PULL) => format!("build={LFS_PULL:?}"),
        LocalError::ResultsOutside { .. } => "results=".into(),
        LocalError::OutsideRead(_) => "allow_outside_reads=True, if that is meant".into(),
        LocalError::NoInstructionCounter { .. } => "measure=\"user\" needs neither".into(),
        LocalError::NotAvailable { repository }
        | LocalError::Mirror(MirrorError::NotPermitted { url: repository }) => clone_of(repository),
        LocalError::Midpoint(MidpointError::History(HistoryError::UnknownRepository {
            repository,
            ..
        })) => clone_of(repository),
        LocalError::Repository(error) => on_repository(error)?.into(),
        LocalError::StateDirNotUnicode { .. } => "state_dir=".into(),
        _ => return None,
    })
}

fn on_charts(error: &NoMetric) -> Option<&'static str> {
    match error {
        NoMetric::NoSuchChart { .. } => Some("chart="),
        NoMetric::ManyCharts { .. } => {
            Some("chart=; pinpoint.pairwise compares all charts of two commits")
        }
        NoMetric::NoAggregate { .. } => Some("aggregate="),
        _ => None,
    }
}

/// The error, with the keyword that has the invalid value.
pub(crate) fn spec_message(error: &SpecError) -> String {
    let keyword = match error {
        SpecError::Confidence(_) => Some("confidence="),
        SpecError::Magnitude(_) => Some("magnitude="),
        SpecError::Budget { what: "builds", .. } => Some("max_builds="),
        SpecError::Budget { .. } => Some("max_runs="),
        SpecError::Pairs { .. } => Some("pairs="),
        SpecError::BuildCost(_) => Some("build_cost="),
        SpecError::PriorsLength { .. } | SpecError::Prior { .. } | SpecError::PriorsSum => {
            Some("priors=")
        }
        _ => None,
    };
    advised(error, keyword)
}

fn clone_of(repository: &str) -> String {
    format!("repositories={{{repository:?}: …}}")
}

fn on_repository(error: &RepositoryError) -> Option<&'static str> {
    match error {
        RepositoryError::NotARepository { .. } | RepositoryError::NotCloned { .. } => Some("repo="),
        RepositoryError::NothingTouches { .. } => Some("paths="),
        RepositoryError::Reversed { .. } => Some("good=, bad=, direction="),
        _ => None,
    }
}

fn on_store(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Directory { .. } | StoreError::Newer { .. } | StoreError::NotOurs { .. } => {
            Some("state_dir=")
        }
        StoreError::Unknown { .. } => Some("pinpoint.jobs() lists all jobs"),
        StoreError::SecondWriter { .. }
        | StoreError::BrokenOff { .. }
        | StoreError::Full { .. }
        | StoreError::Disk { .. } => Some("resume="),
        StoreError::Leased { .. } => Some("pinpoint.cancel_job"),
        StoreError::LeaseLost { .. } | StoreError::Transition { .. } => {
            Some("pinpoint.jobs() gives its state")
        }
        _ => None,
    }
}

impl From<RepositoryError> for Failure {
    fn from(error: RepositoryError) -> Self {
        Self::Repository(advised(&error, on_repository(&error)))
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::Value(spec_message(&error))
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        let message = advised(&error, on_local(&error));
        match error {
            LocalError::MeasureOfOutput | LocalError::NoSuchProcessor { .. } => {
                Self::Value(message)
            }
            _ => Self::Execution(message),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Job(advised(&error, on_store(&error)))
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        let advice = matches!(error, LockError::Held { .. }).then_some("pinpoint.cancel_job");
        Self::Job(advised(&error, advice))
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Interrupted => Self::Interrupted,
            JobError::Spec(error) => error.into(),
            JobError::Store(error) => error.into(),
            JobError::Locked(error) => error.into(),
            JobError::Drive(DriveError::Refused(error)) => refused(error),
            JobError::Result(error) => Self::Execution(error.to_string()),
            other => Self::job(other),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::job(error)
    }
}

fn refused(error: Box<dyn Error + Send + Sync>) -> Failure {
    match error.downcast_ref() {
        Some(GoodEndError::ManyCharts { .. }) => return Failure::Value(error.to_string()),
        Some(_) => return Failure::Execution(error.to_string()),
        None => {}
    }
    match error.downcast::<LocalError>() {
        Ok(error) => (*error).into(),
        Err(error) => Failure::Execution(error.to_string()),
    }
}

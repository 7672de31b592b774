//! Errors that end the command.

use std::path::PathBuf;

use pinpoint_backends::job::{JobError, NotExplicable};
use pinpoint_backends::local::{LocalError, ProfilerError, RepositoryError};
#[cfg(feature = "luci")]
use pinpoint_backends::luci::LuciError;
use pinpoint_backends::store::{KeyError, LockError, StoreError};
use pinpoint_backends::traces::TraceStoreError;
use pinpoint_backends::worker::WorkerError;
use pinpoint_core::bots::{ConfigErrors, UnknownBot};
use pinpoint_core::{DriveError, ExecutorError, SpecError};
use pinpoint_midpoint::{HistoryError, MidpointError};
use pinpoint_report::ReportError;
use serde_json::Value;

use crate::exit_code::{FAILED, INTERRUPTED, TIMED_OUT, WRONG_INPUT};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    #[error("{error}\n\ndid you mean\n    {swapped}")]
    Reversed {
        error: RepositoryError,
        swapped: String,
    },
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The history of values.
    #[error(transparent)]
    Traces(#[from] TraceStoreError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Local(#[from] LocalError),
    #[error(transparent)]
    Midpoint(#[from] MidpointError),
    #[error(transparent)]
    UnknownBot(#[from] UnknownBot),
    #[error("the bot configurations can't be used\n{0}")]
    BotConfigs(ConfigErrors),
    #[error("{0}")]
    Input(String),
    #[error("{}: {source}", path.display())]
    Results {
        path: PathBuf,
        source: Box<pinpoint_core::results::ReadError>,
    },
    #[error("{}: {source}", path.display())]
    Profile {
        path: PathBuf,
        source: Box<pinpoint_core::profile::ReadProfileError>,
    },
    #[error(transparent)]
    Profiler(#[from] ProfilerError),
    #[error(transparent)]
    NotExplicable(#[from] NotExplicable),
    /// An explanation whose runs left nothing to compare.
    #[error("{0}")]
    NoProfiles(String),
    /// Options that the profiles of an explanation do not fit, which others may.
    #[error(
        "{reason}\n\nthe profiles of job {job} are kept; read them with other options:  {command}"
    )]
    UnfitOptions {
        job: String,
        reason: String,
        /// The beginning of such a command.
        command: String,
    },
    #[error("can't {action} {}: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A job can't be taken or read.
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Report(ReportError),
    /// Something stopped a measurement that belongs to no job.
    #[error(transparent)]
    Measurement(#[from] ExecutorError),
    /// The process was interrupted, and no job is left to resume.
    #[error("interrupted")]
    Interrupted,
    /// This process followed a job that others carry out, and was interrupted.
    #[error("interrupted")]
    Left { job: String },
    /// The process that has the job did not cancel it in time.
    #[error(
        "{holder} has the job and has not ended it yet; the request to cancel it stands for whoever has it or takes it next"
    )]
    StillHeld { job: String, holder: String },
    /// A job that was followed has ended without a result.
    #[error("{message}")]
    Ended {
        job: String,
        message: String,
        is_canceled: bool,
        /// Workers carry it out.
        by_workers: bool,
    },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[cfg(feature = "temporal")]
    #[error(transparent)]
    Temporal(#[from] pinpoint_backends::temporal::TemporalError),
    #[cfg(feature = "luci")]
    #[error(transparent)]
    Luci(#[from] LuciError),
    /// The job stopped, and can be resumed when this is fixed. The document has its results so far.
    #[error("{error}")]
    Stopped {
        job: String,
        error: Box<JobError>,
        document: Option<Value>,
        /// The further options of a command that resumes it.
        resume_options: Vec<String>,
        /// The command for the skipped rest, once the job has ended.
        afterwards: Option<String>,
    },
}

impl From<ReportError> for CliError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Store(error) => error.into(),
            ReportError::Job(error) => error.into(),
            ReportError::Local(error) => error.into(),
            error => Self::Report(error),
        }
    }
}

/// The error of a job that can't be carried out here.
pub(crate) fn refused(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> JobError {
    JobError::Drive(DriveError::Refused(error.into()))
}

/// Returns true if the command line is wrong, so that the same job can't succeed.
pub(crate) fn is_wrong_input(error: &JobError) -> bool {
    match error {
        JobError::Spec(_) => true,
        #[cfg(feature = "luci")]
        JobError::Drive(DriveError::Refused(error))
            if error.downcast_ref().is_some_and(is_wrong_for_luci) =>
        {
            true
        }
        JobError::Drive(DriveError::Refused(error)) => {
            error.downcast_ref().is_some_and(is_wrong_for_local)
        }
        _ => false,
    }
}

#[cfg(feature = "luci")]
fn is_wrong_for_luci(error: &LuciError) -> bool {
    matches!(
        error,
        LuciError::Plan(_)
            | LuciError::Command(_)
            | LuciError::Address(_)
            | LuciError::Charts(_)
            | LuciError::Profiler(_)
            | LuciError::Interval { .. }
            | LuciError::Table(_)
            | LuciError::IssueStatus(_)
            | LuciError::Hotlist(_)
    )
}

fn is_wrong_for_local(error: &LocalError) -> bool {
    matches!(
        error,
        LocalError::NoCommand
            | LocalError::ResultsOutside { .. }
            | LocalError::MeasureOfOutput
            | LocalError::NoInstructionCounter { .. }
            | LocalError::Profiler(_)
            | LocalError::CommandMissing { .. }
            | LocalError::CommandNotExecutable { .. }
            | LocalError::InterpreterMissing { .. }
            | LocalError::Charts(_)
            | LocalError::Doubt(_)
            | LocalError::GoodUnreadable { .. }
            | LocalError::NoSuchProcessor { .. }
            | LocalError::OutsideRead(_)
    )
}

/// Returns true if the benchmark, or its build, fails at the good end.
pub(crate) fn fails_at_good_end(error: &JobError) -> bool {
    let JobError::Drive(DriveError::Refused(error)) = error else {
        return false;
    };
    matches!(
        error.downcast_ref(),
        Some(LocalError::GoodFails { .. } | LocalError::GoodDoesNotBuild { .. })
    )
}

pub(crate) fn is_interrupt(error: &JobError) -> bool {
    matches!(error, JobError::Interrupted)
}

impl CliError {
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    /// Adds the command for the skipped rest, for use once a stopped job has ended.
    pub(crate) fn with_afterwards(mut self, command: String) -> Self {
        if let Self::Stopped { afterwards, .. } = &mut self {
            *afterwards = Some(command);
        }
        self
    }

    /// Returns true if a signal ended it.
    pub(crate) fn is_interrupt(&self) -> bool {
        match self {
            Self::Interrupted => true,
            Self::Stopped { error, .. } => is_interrupt(error),
            _ => false,
        }
    }

    /// Returns true if the store, or the server, does not answer: it may later.
    pub(crate) fn is_away(&self) -> bool {
        match self {
            Self::Store(error)
            | Self::Worker(WorkerError::Store(error))
            | Self::Traces(TraceStoreError::Database(error)) => matches!(
                error,
                StoreError::Unreachable { .. } | StoreError::Busy { .. }
            ),
            #[cfg(feature = "temporal")]
            Self::Temporal(error) => matches!(
                error,
                pinpoint_backends::temporal::TemporalError::Connect { .. }
            ),
            _ => false,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Repository(RepositoryError::Git { .. } | RepositoryError::Answer { .. })
            | Self::Midpoint(MidpointError::History(HistoryError::Unreadable { .. }))
            | Self::Lock(_)
            | Self::NoProfiles(_)
            | Self::File { .. } => FAILED,
            Self::Repository(_)
            | Self::Reversed { .. }
            | Self::Spec(_)
            | Self::Midpoint(_)
            | Self::UnknownBot(_)
            | Self::BotConfigs(_)
            | Self::Input(_)
            | Self::Key(_)
            | Self::Results { .. }
            | Self::Profile { .. }
            | Self::UnfitOptions { .. }
            | Self::Profiler(_)
            | Self::NotExplicable(_) => WRONG_INPUT,
            Self::Store(
                StoreError::Unknown { .. }
                | StoreError::Ambiguous { .. }
                | StoreError::Address { .. }
                | StoreError::Import { .. },
            ) => WRONG_INPUT,
            Self::Traces(error) => exit_code_of_history(error),
            Self::Interrupted
            | Self::Left { .. }
            | Self::Ended {
                is_canceled: true, ..
            } => INTERRUPTED,
            Self::StillHeld { .. } => TIMED_OUT,
            Self::Local(error) if is_wrong_for_local(error) => WRONG_INPUT,
            Self::Measurement(ExecutorError::Refused(error))
                if error.downcast_ref().is_some_and(is_wrong_for_local) =>
            {
                WRONG_INPUT
            }
            Self::Job(JobError::Kind { .. } | JobError::Spec(_)) => WRONG_INPUT,
            #[cfg(feature = "temporal")]
            Self::Temporal(_) => FAILED,
            #[cfg(feature = "luci")]
            Self::Luci(error) if is_wrong_for_luci(error) => WRONG_INPUT,
            #[cfg(feature = "luci")]
            Self::Luci(_) => FAILED,
            Self::Store(_)
            | Self::Local(_)
            | Self::Job(_)
            | Self::Measurement(_)
            | Self::Worker(_)
            | Self::Ended { .. }
            | Self::Report(_) => FAILED,
            Self::Stopped { error, .. } => {
                if is_interrupt(error) {
                    INTERRUPTED
                } else if is_wrong_input(error) {
                    WRONG_INPUT
                } else {
                    FAILED
                }
            }
        }
    }
}

fn exit_code_of_history(error: &TraceStoreError) -> u8 {
    match error {
        TraceStoreError::NoDataset(_)
        | TraceStoreError::NoTile { .. }
        | TraceStoreError::Commit(_)
        | TraceStoreError::TooLarge { .. }
        | TraceStoreError::TooMany { .. }
        | TraceStoreError::OtherCommit { .. }
        | TraceStoreError::NotFinite { .. }
        | TraceStoreError::NoShortcut(_)
        | TraceStoreError::NestedShortcuts(_)
        | TraceStoreError::NoTry { .. }
        | TraceStoreError::Evaluate(_)
        | TraceStoreError::Annotation(_)
        | TraceStoreError::NoAnnotation(_)
        | TraceStoreError::Alert(_)
        | TraceStoreError::NoAlert(_)
        | TraceStoreError::Database(StoreError::Address { .. }) => WRONG_INPUT,
        _ => FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_end_that_fails_needs_more_than_to_be_resumed() {
        let refused = |error: LocalError| JobError::Drive(DriveError::Refused(Box::new(error)));
        let does_not_build = LocalError::GoodDoesNotBuild {
            commit: "1f6d18".into(),
            reason: "failed with exit code 2".into(),
        };
        assert!(fails_at_good_end(&refused(does_not_build)));
        assert!(!fails_at_good_end(&refused(LocalError::NoCommand)));
        assert!(!fails_at_good_end(&JobError::Interrupted));
    }
}

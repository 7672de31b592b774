//! What ends the command, and with which exit code.

use std::error::Error;
use std::path::PathBuf;

use pinpoint_backends::local::{LocalError, RepositoryError};
use pinpoint_backends::store::{LockError, StoreError};
use pinpoint_core::bots::{ConfigErrors, UnknownBot};
use pinpoint_core::{DriveError, ExecutorError, PairwiseStatus, SpecError, Status};
use pinpoint_midpoint::{HistoryError, MidpointError};

use crate::arguments::Display;
use crate::storage::resume_command;

/// A culprit was found, or a difference.
pub(crate) const FOUND: u8 = 0;
/// The job failed.
pub(crate) const FAILED: u8 = 1;
/// The command line or the input was wrong.
pub(crate) const WRONG_INPUT: u8 = 2;
/// No difference was found.
pub(crate) const NO_DIFFERENCE: u8 = 3;
/// It was not decided; a range is reported.
pub(crate) const UNDECIDED: u8 = 4;
/// Interrupted or canceled; the job can be resumed.
pub(crate) const INTERRUPTED: u8 = 130;

pub(crate) fn exit_code(status: Status) -> u8 {
    match status {
        Status::CulpritFound => FOUND,
        Status::NoRegression => NO_DIFFERENCE,
        Status::Inconclusive => UNDECIDED,
        Status::Failed => FAILED,
        Status::Canceled => INTERRUPTED,
    }
}

pub(crate) fn exit_code_of_pairwise(status: PairwiseStatus) -> u8 {
    match status {
        PairwiseStatus::Different => FOUND,
        PairwiseStatus::Same => NO_DIFFERENCE,
        PairwiseStatus::Unknown => UNDECIDED,
        PairwiseStatus::Failed => FAILED,
        PairwiseStatus::Canceled => INTERRUPTED,
    }
}

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
    #[error("can't {action} {}: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("job {job} can't be read: {error}")]
    Unreadable { job: String, error: Box<Stopped> },
    #[error(transparent)]
    Picture(#[from] crate::report::PictureError),
    /// What stopped a measurement that belongs to no job.
    #[error(transparent)]
    Measurement(Box<Stopped>),
    /// The job stopped, and can be resumed when this is mended.
    #[error("{error}")]
    Stopped { job: String, error: Box<Stopped> },
}

/// What stopped a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Executor(#[from] ExecutorError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Local(#[from] LocalError),
    #[error(transparent)]
    Journal(#[from] pinpoint_core::JournalError),
    #[error(transparent)]
    Machine(#[from] pinpoint_core::MachineError),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error("the stored job can't be read: {0}")]
    Stored(#[from] serde_json::Error),
    #[error("interrupted")]
    Interrupted,
}

impl Stopped {
    pub(crate) fn is_interrupt(&self) -> bool {
        matches!(
            self,
            Self::Interrupted | Self::Drive(DriveError::Interrupted)
        )
    }

    /// Is something wrong with the command line, so that the same job can't
    /// succeed?
    fn is_wrong_input(&self) -> bool {
        let refused = match self {
            Self::Executor(ExecutorError::Refused(error))
            | Self::Drive(DriveError::Refused(error)) => error.downcast_ref::<LocalError>(),
            Self::Local(error) => Some(error),
            Self::Spec(_) => return true,
            _ => None,
        };
        matches!(
            refused,
            Some(
                LocalError::NoCommand
                    | LocalError::ResultsOutside { .. }
                    | LocalError::CommandMissing { .. }
                    | LocalError::CommandNotExecutable { .. }
                    | LocalError::InterpreterMissing { .. }
                    | LocalError::NoSuchChart { .. }
                    | LocalError::ManyCharts { .. }
                    | LocalError::GoodUnreadable { .. }
            )
        )
    }
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

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Repository(RepositoryError::Git { .. } | RepositoryError::Answer { .. })
            | Self::Midpoint(MidpointError::History(HistoryError::Unreadable { .. }))
            | Self::Lock(_)
            | Self::File { .. } => FAILED,
            Self::Repository(_)
            | Self::Reversed { .. }
            | Self::Spec(_)
            | Self::Midpoint(_)
            | Self::UnknownBot(_)
            | Self::BotConfigs(_)
            | Self::Input(_)
            | Self::Results { .. } => WRONG_INPUT,
            Self::Store(
                StoreError::Unknown { .. }
                | StoreError::Ambiguous { .. }
                | StoreError::Address { .. }
                | StoreError::Import { .. },
            ) => WRONG_INPUT,
            Self::Store(_) | Self::Local(_) | Self::Unreadable { .. } | Self::Picture(_) => FAILED,
            Self::Stopped { error, .. } | Self::Measurement(error) => {
                if error.is_interrupt() {
                    INTERRUPTED
                } else if error.is_wrong_input() {
                    WRONG_INPUT
                } else {
                    FAILED
                }
            }
        }
    }

    /// Says what went wrong, why, and what to do next.
    pub(crate) fn print(&self, display: &Display) {
        use crate::summary::{BOLD, ERROR, plain};
        if let Self::Stopped { job, error } = self {
            if error.is_interrupt() {
                anstream::eprintln!("{BOLD}interrupted{BOLD:#}; nothing is lost");
            } else {
                anstream::eprintln!("{ERROR}error:{ERROR:#} {}", plain(&with_sources(error)));
            }
            if !error.is_wrong_input() {
                anstream::eprintln!("\nto go on:  {}", resume_command(display, job));
            }
        } else {
            anstream::eprintln!("{ERROR}error:{ERROR:#} {}", plain(&with_sources(self)));
        }
    }
}

/// The message, followed by those of its sources that it does not hold itself.
fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    text
}

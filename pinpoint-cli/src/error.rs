//! Errors that end the command, and exit codes.

use std::error::Error;
use std::path::PathBuf;

use pinpoint_backends::job::{JobError, NotExplicable};
use pinpoint_backends::local::{LocalError, ProfilerError, RepositoryError};
#[cfg(feature = "luci")]
use pinpoint_backends::luci::LuciError;
use pinpoint_backends::store::{KeyError, LockError, StoreError};
use pinpoint_backends::worker::WorkerError;
use pinpoint_core::bots::{ConfigErrors, UnknownBot};
use pinpoint_core::job::RESULT_VERSION;
use pinpoint_core::{DriveError, ExecutorError, PairwiseStatus, SpecError, Status};
use pinpoint_midpoint::{HistoryError, MidpointError};
use pinpoint_report::ReportError;
use pinpoint_report::text::message;
use serde_json::{Value, json};

use crate::advice;
use crate::arguments::{Display, Output};
use crate::job::storage::{job_command, resume_command};
use crate::show::output::{errln, print_json};
use crate::show::text::{BOLD, ERROR};

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

/// Returns true if the command line is wrong, so that the same job can't succeed.
fn is_wrong_input(error: &JobError) -> bool {
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
fn fails_at_good_end(error: &JobError) -> bool {
    let JobError::Drive(DriveError::Refused(error)) = error else {
        return false;
    };
    matches!(
        error.downcast_ref(),
        Some(LocalError::GoodFails { .. } | LocalError::GoodDoesNotBuild { .. })
    )
}

fn is_interrupt(error: &JobError) -> bool {
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

    /// Returns true if the store, or the server, does not answer: it may later.
    pub(crate) fn is_away(&self) -> bool {
        match self {
            Self::Store(error) | Self::Worker(WorkerError::Store(error)) => matches!(
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

    /// Prints the problem, its cause, and the next step.
    pub(crate) fn print(&self, display: &Display) {
        if display.output == Output::Json {
            print_json(format_args!("{:#}", self.document()));
        }
        let resume = |label: &str, job: &str, options: &[String]| {
            let display = Display {
                resume_options: options.to_vec(),
                ..display.clone()
            };
            errln!("\n{label}:  {}", resume_command(&display, job));
        };
        if let Self::Stopped {
            job,
            error,
            resume_options,
            afterwards,
            ..
        } = self
        {
            if is_interrupt(error) {
                errln!("{BOLD}interrupted{BOLD:#}; nothing is lost");
            } else {
                errln!("{ERROR}error:{ERROR:#} {}", with_advice(&**error));
            }
            if !is_wrong_input(error) {
                let label = match fails_at_good_end(error) {
                    // With the same command it fails again, unless something else was mended.
                    true => "if that was mended outside of this command, resume with",
                    false => "resume with",
                };
                resume(label, job, resume_options);
                if let Some(command) = afterwards {
                    errln!("then:  {command}");
                }
            }
        } else if let Self::Left { job } = self {
            errln!(
                "the job continues\n\nfollow it with:  {}\ncancel it with:  {}",
                job_command(display, "wait", job),
                job_command(display, "cancel", job)
            );
        } else {
            errln!("{ERROR}error:{ERROR:#} {}", self.message());
        }
        if let Self::Ended {
            job, by_workers, ..
        } = self
        {
            resume("resume with", job, &options_of(*by_workers));
        }
    }

    fn message(&self) -> String {
        match self {
            // They end with a command to copy.
            Self::Reversed { .. } | Self::UnfitOptions { .. } => self.to_string(),
            _ => with_advice(self),
        }
    }

    /// The document that `--output json` prints.
    fn document(&self) -> Value {
        match self {
            Self::Stopped {
                document: Some(document),
                ..
            } => document.clone(),
            Self::Stopped { job, error, .. } => {
                without_result(Some(job), is_interrupt(error), &with_advice(&**error))
            }
            Self::Interrupted => without_result(None, true, &self.message()),
            Self::Left { job } => without_result(Some(job), true, &self.message()),
            Self::Ended { job, .. }
            | Self::StillHeld { job, .. }
            | Self::UnfitOptions { job, .. } => without_result(Some(job), false, &self.message()),
            _ => without_result(None, false, &self.message()),
        }
    }
}

/// The options of a command that resumes a job where it was carried out before.
pub(crate) fn options_of(by_workers: bool) -> Vec<String> {
    Vec::from_iter(by_workers.then(|| "--detach".to_owned()))
}

/// The document of a command that ended without a result.
pub(crate) fn without_result(job: Option<&str>, is_interrupt: bool, message: &str) -> Value {
    let status = if is_interrupt {
        "interrupted"
    } else {
        "failed"
    };
    json!({ "version": RESULT_VERSION, "job_id": job, "status": status, "error": message })
}

/// The message of an error, with the flags or the command that help.
pub(crate) fn with_advice(error: &(dyn Error + 'static)) -> String {
    match advice::on(error) {
        Some(advice) => format!("{} ({advice})", message(error)),
        None => message(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_does_not_repeat_megabytes_of_what_others_wrote() {
        let error = CliError::Input(format!("v: {} is not a number", "9".repeat(3_000_000)));
        let message = error.message();
        assert!(message.len() < 5_000, "{}", message.len());
        assert!(message.starts_with("v: 999") && message.ends_with("is not a number"));
        assert_eq!(error.document()["error"], message);
    }

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

    #[test]
    fn an_interruption_is_not_a_cancellation() {
        let interrupted = |document| CliError::Stopped {
            job: "0199".into(),
            error: Box::new(JobError::Interrupted),
            document,
            resume_options: Vec::new(),
            afterwards: None,
        };
        let document = interrupted(None).document();
        assert_eq!(document["status"], "interrupted");
        assert_eq!(document["job_id"], "0199");
        let own = json!({ "runs": 3 });
        assert_eq!(interrupted(Some(own.clone())).document(), own);
    }
}

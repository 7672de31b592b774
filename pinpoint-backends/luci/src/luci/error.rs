//! The errors of actions.

use std::ops::RangeInclusive;

use pinpoint_core::{ExecutorError, NoMetric};
use pinpoint_midpoint::{HistoryError, MidpointError};

use crate::buildbucket::{BuildStatus, PlanError};
use crate::cas::CasError;
use crate::google::{AddressError, ServiceError, TransportError};
use crate::issue_tracker::IssueTracker;
use crate::swarming::{CommandError, TaskState};
use pinpoint_local::{LocalError, Profiler};

/// An action failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LuciError {
    /// A service failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A commit cannot be found.
    #[error(transparent)]
    Midpoint(#[from] MidpointError),
    /// No builder can make the commit.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The benchmark cannot be run.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A build ended and says nothing about its commit.
    #[error("build {id} ended with {status:?}{reason}")]
    Build {
        /// The build.
        id: i64,
        /// Its status.
        status: BuildStatus,
        /// Its own words, after `: `.
        reason: String,
    },
    /// A build takes too long.
    #[error("build {0} has not ended after 4 h")]
    BuildTooLong(i64),
    /// A build succeeded without the target.
    #[error("build {id} succeeded and holds no target {target:?}")]
    NoTarget {
        /// The build.
        id: i64,
        /// The target.
        target: String,
    },
    /// A build that the job was given is not in CAS any more.
    #[error("CAS no longer has the files of the build {0}; give a newer build, or the commit")]
    GivenBuildGone(String),
    /// No build of the builder can be used.
    #[error(
        "builder {0:?} has made no build in the last 30 days that holds the target; name a commit"
    )]
    NoRecentBuild(String),
    /// A task ended and says nothing about its commit.
    #[error("task {id} ended with {state:?}")]
    Task {
        /// The task.
        id: String,
        /// Its state.
        state: TaskState,
    },
    /// A task cannot be run, now or later.
    #[error("the task can't be run: its request is at fault; see {page}")]
    TaskRefused {
        /// The address of its page.
        page: String,
    },
    /// No bot takes the task.
    #[error("no bot takes the run: {0} tasks ended with NO_RESOURCE")]
    NoResource(usize),
    /// No bot has the dimensions.
    #[error("no bot with the dimensions of {0:?} is free")]
    NoBots(String),
    /// The outputs of a task cannot be read at the moment.
    #[error("the output of task {id} can't be read: {source}")]
    Output {
        /// The task.
        id: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The end at which the metric is looked for does not build.
    #[error("the good end {commit} does not build{reason}; choose a good commit that builds")]
    GoodDoesNotBuild {
        /// Its hash.
        commit: String,
        /// The words of the build, after `: `.
        reason: String,
    },
    /// The benchmark fails where the metric is looked for.
    #[error(
        "the benchmark fails at the good end {commit}, {attempts} of {attempts} times: {reason}; choose a good commit where it passes"
    )]
    GoodFails {
        /// Its hash.
        commit: String,
        /// The number of tasks.
        attempts: usize,
        /// The reason for the last failure.
        reason: String,
    },
    /// The charts of a run give no metric.
    #[error(transparent)]
    Charts(#[from] NoMetric),
    /// The benchmark fails with profiling.
    #[error(
        "the benchmark fails when it writes profiles, {attempts} of {attempts} times at {commit}: {reason}"
    )]
    ProfiledFails {
        /// The hash of the base.
        commit: String,
        /// The number of tasks.
        attempts: usize,
        /// The reason for the last failure.
        reason: String,
    },
    /// The benchmark writes no profiles.
    #[error("the benchmark leaves no profile at {commit}: {reason}")]
    NoProfiles {
        /// The hash of the base.
        commit: String,
        /// The reason, with the files that it leaves instead.
        reason: String,
    },
    /// The profiler only works on this machine.
    #[error(
        "the profiler {0} can't be started on bots, where a benchmark writes profiles itself; take chrome or files:GLOB"
    )]
    Profiler(Profiler),
    /// A profile cannot be kept.
    #[error(transparent)]
    Kept(Box<LocalError>),
    /// An interval is out of its bounds.
    #[error(
        "intervals.{name} is {milliseconds}; it must be from {} to {} ms", .bounds.start(), .bounds.end()
    )]
    Interval {
        /// Its name in the settings.
        name: &'static str,
        /// Its value.
        milliseconds: u64,
        /// Its bounds.
        bounds: RangeInclusive<u64>,
    },
    /// The name of the table of culprits has the wrong form.
    #[error("reports.culprits is {0:?}; write PROJECT.DATASET.TABLE")]
    Table(String),
    /// The name of a table for runs has the wrong form.
    #[error("{0:?} is no table; write PROJECT.DATASET.TABLE")]
    ExportTable(String),
    /// The status of an issue is unknown.
    #[error("reports.status is {0:?}; choose one of {known}", known = IssueTracker::STATUSES.join(", "))]
    IssueStatus(String),
    /// The id of a hotlist is invalid.
    #[error("reports.hotlists has {0}; the id of a hotlist is a positive number")]
    Hotlist(i64),
    /// The address of a service is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// This machine cannot reach services.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The store of files cannot be read.
    #[error(transparent)]
    Cas(#[from] CasError),
    /// The work of a ticket is unknown.
    #[error("the work is not known any more")]
    Lost,
    /// The request is for another executor.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl LuciError {
    /// Returns whether the same request may succeed later.
    fn is_transient(&self) -> bool {
        match self {
            Self::Service(error) => error.is_transient(),
            Self::Midpoint(MidpointError::History(HistoryError::Unreadable { source, .. })) => {
                let service = source.downcast_ref::<ServiceError>();
                service.is_none_or(ServiceError::is_transient)
            }
            Self::Build { .. }
            | Self::BuildTooLong(_)
            | Self::Task { .. }
            | Self::NoResource(_)
            | Self::NoBots(_)
            | Self::Output { .. }
            | Self::Lost => true,
            Self::Midpoint(_)
            | Self::Plan(_)
            | Self::Command(_)
            | Self::NoTarget { .. }
            | Self::GivenBuildGone(_)
            | Self::NoRecentBuild(_)
            | Self::TaskRefused { .. }
            | Self::GoodDoesNotBuild { .. }
            | Self::GoodFails { .. }
            | Self::Charts(_)
            | Self::ProfiledFails { .. }
            | Self::NoProfiles { .. }
            | Self::Profiler(_)
            | Self::Kept(_)
            | Self::Interval { .. }
            | Self::Table(_)
            | Self::ExportTable(_)
            | Self::IssueStatus(_)
            | Self::Hotlist(_)
            | Self::Address(_)
            | Self::Transport(_)
            | Self::Cas(_)
            | Self::Unsupported(_) => false,
        }
    }
}

impl From<LuciError> for ExecutorError {
    fn from(error: LuciError) -> Self {
        match error {
            LuciError::Lost => Self::Lost,
            error if error.is_transient() => Self::Unavailable(Box::new(error)),
            error => Self::Refused(Box::new(error)),
        }
    }
}

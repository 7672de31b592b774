//! The events that a machine handles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Metric;

/// Something that happened. All but two kinds answer an action, and name it.
///
/// A machine is its spec and its events. A journal keeps the facts that events follow
/// from, see [`translate`](crate::translate).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The metric of the benchmark.
    MetricFound {
        /// The action answered.
        action: u64,
        /// The metric.
        metric: Metric,
    },
    /// The number of commits between two others.
    Listed {
        /// The action answered.
        action: u64,
        /// The range it asked about.
        range: u32,
        /// Commits strictly between the ends.
        count: u64,
    },
    /// The commit can be run.
    Built {
        /// The action answered.
        action: u64,
        /// Identifies all that the benchmark reads of the build, when known: builds with
        /// the same digest are the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        /// Nothing was built: it was already known to be the same as a commit built earlier.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        same: bool,
    },
    /// The commit does not build; or, as the answer to a run, the benchmark says that it can't be
    /// tested. Nothing more is asked of it.
    BuildFailed {
        /// The action answered.
        action: u64,
        /// The reason, in one line.
        reason: String,
    },
    /// One execution of the benchmark that gave values.
    Ran {
        /// The action answered.
        action: u64,
        /// The bot that it ran on, when known.
        #[serde(default)]
        bot: Option<String>,
        /// The start, in milliseconds since the job began.
        started: u64,
        /// The values of every chart that the spec names.
        values: BTreeMap<String, Vec<f64>>,
    },
    /// One execution of the benchmark that gave no value for a chart that the
    /// spec names: it failed, ran out of time, or printed something else.
    RunFailed {
        /// The action answered.
        action: u64,
        /// The bot that it ran on, when known.
        #[serde(default)]
        bot: Option<String>,
        /// The start, in milliseconds since the job began.
        started: u64,
        /// The reason, in one line.
        reason: String,
    },
    /// Two executions of the benchmark, back to back on one bot.
    RanPair {
        /// The action answered.
        action: u64,
        /// The bot that they ran on, when known.
        #[serde(default)]
        bot: Option<String>,
        /// The run that was asked for first.
        first: PairedRun,
        /// The one right after it.
        second: PairedRun,
    },
    /// The infrastructure failed, and retries did not help: this says nothing about the
    /// commit.
    GaveUp {
        /// The action answered.
        action: u64,
        /// The reason, in one line.
        reason: String,
    },
    /// An action was ended; answers [`Task::Cancel`](crate::Task::Cancel).
    #[serde(rename = "cancelled")]
    Canceled {
        /// The number of the `Cancel` action.
        action: u64,
    },
    /// The user wants the search to end.
    CancelRequested,
    /// The job's clock, for searches with a budget of time.
    TimePassed {
        /// Milliseconds spent so far.
        elapsed: u64,
    },
}

/// One of the two executions of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairedRun {
    /// The start, in milliseconds since the job began.
    pub started: u64,
    /// The values of every chart that the machine asked for; none when the run failed.
    pub values: BTreeMap<String, Vec<f64>>,
    /// The reason for its failure, in one line; absent when it gave values.
    #[serde(default)]
    pub failure: Option<String>,
}

impl Event {
    /// The commit can be run. It is not known to be the same as another.
    pub fn built(action: u64) -> Self {
        Self::Built {
            action,
            digest: None,
            same: false,
        }
    }

    /// The action that this answers.
    pub fn action(&self) -> Option<u64> {
        match self {
            Self::MetricFound { action, .. }
            | Self::Listed { action, .. }
            | Self::Built { action, .. }
            | Self::BuildFailed { action, .. }
            | Self::Ran { action, .. }
            | Self::RunFailed { action, .. }
            | Self::RanPair { action, .. }
            | Self::GaveUp { action, .. }
            | Self::Canceled { action } => Some(*action),
            Self::CancelRequested | Self::TimePassed { .. } => None,
        }
    }

    /// The same answer to the action of another number.
    pub(crate) fn answering(mut self, number: u64) -> Self {
        match &mut self {
            Self::MetricFound { action, .. }
            | Self::Listed { action, .. }
            | Self::Built { action, .. }
            | Self::BuildFailed { action, .. }
            | Self::Ran { action, .. }
            | Self::RunFailed { action, .. }
            | Self::RanPair { action, .. }
            | Self::GaveUp { action, .. }
            | Self::Canceled { action } => *action = number,
            Self::CancelRequested | Self::TimePassed { .. } => {}
        }
        self
    }
}

//! The actions that a machine decides on.

use serde::{Deserialize, Serialize};

/// The position of a commit in a search.
///
/// A machine knows the number of commits between two others, not their names: a range of 100,000
/// commits costs nothing until one is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// The lower end of the search.
    #[serde(alias = "good")]
    Lower,
    /// The higher end of the search.
    #[serde(alias = "bad")]
    Higher,
    /// A commit strictly between two others.
    Within {
        /// The range, by its number in [`Task::List`].
        range: u32,
        /// 0 is the oldest commit of the range.
        offset: u64,
    },
}

/// One action, with the number that its answer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Unique in the search, rising in the order of starting.
    pub number: u64,
    /// Its task.
    pub task: Task,
}

/// The task of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Task {
    /// Run the benchmark once, without counting it, to find its metric.
    FindMetric {
        /// The commit to build and to run.
        commit: Position,
    },
    /// Count the commits strictly between two others.
    List {
        /// The number of this range from now on.
        range: u32,
        /// The older end.
        lower: Position,
        /// The newer end.
        higher: Position,
    },
    /// Build a commit, or find an existing build.
    Build {
        /// The commit.
        commit: Position,
    },
    /// Run the benchmark once.
    Run {
        /// The commit, which has been built.
        commit: Position,
        /// The number of earlier runs of this commit. A run that was lost is asked for
        /// again under the same index.
        index: u32,
        /// The bot to run on; any when absent.
        bot: Option<String>,
    },
    /// Run the benchmark at two commits, back to back on one bot.
    RunPair {
        /// The commit to run first; it has been built.
        first: Position,
        /// The commit to run right after it; it has been built.
        second: Position,
        /// The number of earlier pairs of these two. A pair that was lost is asked for
        /// again under the same index.
        index: u32,
        /// The bot to run on; any when absent.
        bot: Option<String>,
    },
    /// End an action that is still under way.
    Cancel {
        /// The number of that action.
        action: u64,
    },
}

impl Task {
    /// Its kind, for traces.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::FindMetric { .. } => "find_metric",
            Self::List { .. } => "list",
            Self::Build { .. } => "build",
            Self::Run { .. } => "run",
            Self::RunPair { .. } => "run_pair",
            Self::Cancel { .. } => "cancel",
        }
    }
}

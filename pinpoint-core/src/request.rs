//! The requests to an executor.
//!
//! A request is plain data and complete: an executor needs nothing but the
//! request to carry it out, on any machine and at any time. Every request has a
//! [`Key`]; the same key is the same work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregate;
use crate::{Artifact, Charts, CombinedCommit, Listing, Metric};

/// Identifies a request: the same key is the same work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The job.
    pub job: String,
    /// The action in the job's machine.
    pub action: u64,
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "it is written down and read, one at a time"
)]
pub enum Request {
    /// Answered by [`Report::Metric`](crate::Report::Metric).
    FindMetric(FindMetricRequest),
    /// Answered by [`Report::Listed`](crate::Report::Listed).
    List(ListRequest),
    /// Answered by [`Report::Built`](crate::Report::Built).
    Build(BuildRequest),
    /// Answered by [`Report::Ran`](crate::Report::Ran).
    Run(RunRequest),
    /// Answered by [`Report::RanPair`](crate::Report::RanPair).
    RunPair(RunPairRequest),
}

impl Request {
    /// The key of the request.
    pub fn key(&self) -> &Key {
        match self {
            Self::FindMetric(request) => &request.key,
            Self::List(request) => &request.key,
            Self::Build(request) => &request.key,
            Self::Run(request) => &request.key,
            Self::RunPair(request) => &request.key,
        }
    }

    /// The name of the kind, as of its [`Task`](crate::Task::kind).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::FindMetric(_) => "find_metric",
            Self::List(_) => "list",
            Self::Build(_) => "build",
            Self::Run(_) => "run",
            Self::RunPair(_) => "run_pair",
        }
    }

    /// The charts that count; all of them where nothing is run for them.
    pub fn charts(&self) -> &Charts {
        match self {
            Self::Run(request) => &request.charts,
            Self::RunPair(request) => &request.charts,
            Self::FindMetric(_) | Self::List(_) | Self::Build(_) => &Charts::All,
        }
    }
}

/// Asks for the metrics of the benchmark, by one run that is not counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindMetricRequest {
    /// The key of this request.
    pub key: Key,
    /// The commit to build and to run.
    pub commit: CombinedCommit,
    /// The aggregate that will be applied to the values of a run: those of this one must
    /// allow it.
    #[serde(default)]
    pub aggregate: Option<Aggregate>,
}

/// A commit that has a name, or one that is still a place in a range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a request has one, and a box would stand in the way of taking it apart"
)]
pub enum Located {
    /// A commit by its name.
    Commit(CombinedCommit),
    /// The commit at an offset of a range, 0 being the oldest.
    Offset {
        /// The range.
        listing: Box<Listing>,
        /// The place in it, below `listing.count`.
        offset: u64,
    },
}

/// Asks for the number of commits between two others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRequest {
    /// The key of this request.
    pub key: Key,
    /// The older end.
    pub lower: CombinedCommit,
    /// The newer end.
    pub higher: CombinedCommit,
    /// The number of the range in its search; 0 is the one between the ends of the search, and
    /// others lie within it.
    #[serde(default)]
    pub range: u32,
}

/// Asks for a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRequest {
    /// The key of this request.
    pub key: Key,
    /// The commit to build.
    pub commit: Located,
}

/// Asks for one execution of the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The key of this request.
    pub key: Key,
    /// The commit to run, with its arguments.
    pub variant: Variant,
    /// The number of runs of this commit that the job asked for before this one.
    pub index: u32,
    /// The bot to run on; any when absent.
    #[serde(default)]
    pub bot: Option<String>,
    /// The charts that count.
    pub charts: Charts,
    /// The metric by which values are read, in a job that found it first.
    #[serde(default)]
    pub metric: Option<Metric>,
}

/// Asks for two executions of the benchmark, back to back on one bot, with
/// nothing else on that bot from the beginning of the first to the end of the
/// second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPairRequest {
    /// The key of this request.
    pub key: Key,
    /// The side to run first.
    pub first: Variant,
    /// The side to run right after it.
    pub second: Variant,
    /// The number of pairs of these two that the job asked for before this one.
    pub index: u32,
    /// The bot to run on; any when absent.
    #[serde(default)]
    pub bot: Option<String>,
    /// The charts that count.
    pub charts: Charts,
    /// The metric by which values are read, in a job that found it first.
    #[serde(default)]
    pub metric: Option<Metric>,
}

impl RunPairRequest {
    /// The two runs, as separate requests under the same key.
    pub fn runs(&self) -> [RunRequest; 2] {
        [&self.first, &self.second].map(|variant| RunRequest {
            key: self.key.clone(),
            variant: variant.clone(),
            index: self.index,
            bot: self.bot.clone(),
            charts: self.charts.clone(),
            metric: self.metric.clone(),
        })
    }
}

/// A commit that was built, and the additional arguments of the benchmark there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// The commit.
    pub commit: CombinedCommit,
    /// Its build, as [`BuildReport::artifact`](crate::BuildReport::artifact) named
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Arguments after those of the benchmark's command.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Variables set for the benchmark, not for the build.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl From<CombinedCommit> for Variant {
    fn from(commit: CombinedCommit) -> Self {
        Self {
            commit,
            artifact: None,
            arguments: Vec::new(),
            env: BTreeMap::new(),
        }
    }
}

//! The answers of an executor.
//!
//! A report holds facts: commits listed, builds, measurements. [`translate`](crate::translate)
//! makes events of them. Times are milliseconds since 1970.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CombinedCommit, Direction, ListRequest, Metric};

/// The answer to a [`Request`](crate::Request).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Report {
    /// The metrics that the benchmark gives.
    Metric(Metric),
    /// The commits between two others.
    Listed(Listing),
    /// The end of a build.
    Built(BuildReport),
    /// The end of a run.
    Ran(RunReport),
    /// The end of a pair of runs.
    RanPair(Box<PairReport>),
}

/// A range with its ends: the answer to a [`ListRequest`](crate::ListRequest).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The older end, not part of the range.
    pub lower: CombinedCommit,
    /// The newer end, not part of the range.
    pub higher: CombinedCommit,
    /// Commits strictly between them.
    pub count: u64,
    /// The dependencies that the two hold at different revisions, where the
    /// range was looked for in them: by path, then by repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<DependencyChange>,
    /// Where neither end is part of the other's history: the offset of the state that both
    /// come from. Before it, each commit takes back one that only the older end has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<u64>,
}

impl Listing {
    /// The answer to a request: this many commits strictly between its ends.
    pub fn new(request: &ListRequest, count: u64) -> Self {
        Self {
            lower: request.lower.clone(),
            higher: request.higher.clone(),
            count,
            changes: Vec::new(),
            merge_base: None,
        }
    }
}

/// A dependency that two commits hold at different revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyChange {
    /// The path given by the manifest, or the manifest's name for it.
    pub path: String,
    /// Its repository; of a package without one, its name.
    pub repository: String,
    /// The older end's revision or version; absent when it has no such
    /// dependency.
    pub before: Option<String>,
    /// The newer end's.
    pub after: Option<String>,
    /// Says whether its commits are part of the range, and in which direction.
    pub followed: Followed,
}

/// The search of a changed dependency's commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Followed {
    /// They are searched from the older to the newer.
    Forward,
    /// They are searched from the newer to the older: it was set back, and the range is walked in
    /// reverse.
    Backward,
    /// They are not searched, for a reason. The change may be the cause, and can't be bisected
    /// further.
    No {
        /// The reason.
        reason: String,
        /// It would be, if its repository were available.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unavailable: bool,
    },
}

/// Names a build for an executor that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Artifact {
    /// A directory of the machine that built.
    Directory(String),
    /// The digest under which a content-addressed storage has it.
    Digest(String),
    /// Any other name by which the executor knows a build.
    Handle(String),
}

/// The result of a build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BuildReport {
    /// The commit that was built, by name.
    pub commit: CombinedCommit,
    /// The reason for its failure, in one line; absent when it can be run.
    #[serde(default)]
    pub failure: Option<String>,
    /// The artifact of the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// The build existed already.
    #[serde(default)]
    pub cached: bool,
    /// Its duration, in milliseconds.
    #[serde(default)]
    pub duration: u64,
    /// The location of its output.
    #[serde(default)]
    pub log: Option<String>,
    /// Identifies all that the benchmark reads of the build: the benchmark can't tell two
    /// builds with the same digest apart. Absent where that is not proved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The commit whose build takes its place. Nothing was built: the two were already known to be
    /// the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<CombinedCommit>,
    /// The reason why a digest was asked for and is absent, or why no other commit can be
    /// known to be the same, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproved: Option<String>,
}

impl BuildReport {
    /// A build that can be run.
    pub fn built(commit: CombinedCommit) -> Self {
        Self {
            commit,
            failure: None,
            artifact: None,
            cached: false,
            duration: 0,
            log: None,
            digest: None,
            same_as: None,
            unproved: None,
        }
    }

    /// A commit that does not build, with the reason in a line.
    pub fn failed(commit: CombinedCommit, reason: impl Into<String>) -> Self {
        Self {
            failure: Some(reason.into()),
            ..Self::built(commit)
        }
    }

    /// Adds the place of the build.
    #[must_use]
    pub fn artifact(mut self, artifact: Artifact) -> Self {
        self.artifact = Some(artifact);
        self
    }
}

/// Measurements of one execution by the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Seconds from start to end.
    pub wall: f64,
    /// Seconds of processor time in the program and its children.
    pub user: f64,
    /// Seconds of processor time in the kernel on their behalf.
    pub system: f64,
    /// The largest resident set of any one of its processes, in bytes.
    pub peak_memory: u64,
    /// Instructions of the program and its children outside of the kernel, when they were
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
}

/// The values of one chart of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The values, in the order in which the benchmark gave them.
    pub values: Vec<f64>,
    /// The unit, as the benchmark writes it.
    #[serde(default)]
    pub unit: Option<String>,
    /// The direction of improvement, if the format of the output gives it.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub direction: Direction,
}

/// Returns true for an unknown direction, which is not written, so that records from before
/// directions existed read back unchanged.
fn is_unknown(direction: &Direction) -> bool {
    *direction == Direction::Unknown
}

/// The result of one execution of the benchmark.
///
/// ```
/// use pinpoint_core::RunReport;
///
/// let report = RunReport::new(1_700_000_000_000).value("time", 10.3).value("size", 4096.0);
/// assert_eq!(report.charts["time"].values, [10.3]);
/// assert!(RunReport::failed(1_700_000_000_000, "exit code 3").charts.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunReport {
    /// The bot that it ran on.
    #[serde(default)]
    pub bot: Option<String>,
    /// The time of its start.
    pub started: u64,
    /// The chart that decides, when the executor had to choose it.
    #[serde(default)]
    pub chart: Option<String>,
    /// The reason why there are no values, in one line; absent when there are.
    #[serde(default)]
    pub failure: Option<String>,
    /// Every value of every chart that the request wants. Others may be left
    /// out.
    #[serde(default)]
    pub charts: BTreeMap<String, Series>,
    /// Measurements by the operating system, when it made some.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// The exit code; absent when a signal ended it.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The location of its output.
    #[serde(default)]
    pub log: Option<String>,
    /// The task that made the run, where a service has tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<RunTask>,
    /// Notes for the user, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Besides the failure, the benchmark says that this commit can't be tested: no other run of
    /// the commit is asked for, as after a failed build.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untestable: bool,
}

/// A task of a service that made a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTask {
    /// Its id.
    pub id: String,
    /// It ended by itself, and not because it took too long.
    pub completed: bool,
    /// The digest of the files that it left, `INSTANCE/HASH/SIZE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl RunReport {
    /// A run that started at this time and has no values yet.
    pub fn new(started: u64) -> Self {
        Self {
            started,
            ..Self::default()
        }
    }

    /// A run that failed, with the reason in a line.
    pub fn failed(started: u64, reason: impl Into<String>) -> Self {
        Self {
            failure: Some(reason.into()),
            ..Self::new(started)
        }
    }

    /// Adds one more value of a chart.
    #[must_use]
    pub fn value(mut self, chart: impl Into<String>, value: f64) -> Self {
        self.charts
            .entry(chart.into())
            .or_default()
            .values
            .push(value);
        self
    }

    /// Adds all values of a chart.
    #[must_use]
    pub fn series(mut self, chart: impl Into<String>, series: Series) -> Self {
        self.charts.insert(chart.into(), series);
        self
    }

    /// Adds the bot that it ran on.
    #[must_use]
    pub fn bot(mut self, bot: impl Into<String>) -> Self {
        self.bot = Some(bot.into());
        self
    }
}

/// The results of the two executions of a pair, in the order asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairReport {
    /// The one that ran first.
    pub first: RunReport,
    /// The one that ran right after it, on the same bot.
    pub second: RunReport,
}

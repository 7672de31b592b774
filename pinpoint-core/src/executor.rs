//! The world, as a search needs it: list commits, build them, run them, alone or
//! in pairs.
//!
//! Requests and answers are plain values and every request carries a [`Key`],
//! so that a method can be called again after a crash, or on another machine,
//! without building or running twice what is finished.
//!
//! Three kinds of trouble are kept apart, because a search does different
//! things with them. A *failed build* skips the commit. A *failed run* is a
//! sample: pass/fail regressions are found with it. *Trouble of the
//! infrastructure* says nothing about the commit, and is tried again.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{CombinedCommit, Direction};

/// Names a request: the same key is the same work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The job.
    pub job: String,
    /// The action in the job's machine.
    pub action: u64,
}

/// A range with its ends: what [`Executor::list`] was asked and answered.
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
}

/// A dependency that two commits hold at different revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyChange {
    /// Where the manifest puts it, or what the manifest calls it.
    pub path: String,
    /// Its repository; of a package that is no repository, its name.
    pub repository: String,
    /// The older end's revision or version; absent when it has no such
    /// dependency.
    pub before: Option<String>,
    /// The newer end's.
    pub after: Option<String>,
    /// Whether its commits are part of the range.
    pub followed: Followed,
}

/// Whether the commits of a changed dependency are searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Followed {
    /// They are, from the older to the newer.
    Forward,
    /// They are, from the newer to the older: it was set back, and the range
    /// is walked in reverse.
    Backward,
    /// They are not: why, in a line. The change may be the cause, and can't be
    /// bisected further.
    No {
        /// Why.
        reason: String,
    },
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

/// Asks what lies between two commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRequest {
    /// The name of this request.
    pub key: Key,
    /// The older end.
    pub lower: CombinedCommit,
    /// The newer end.
    pub higher: CombinedCommit,
}

/// Asks for a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRequest {
    /// The name of this request.
    pub key: Key,
    /// What to build.
    pub commit: Located,
}

/// Asks for one execution of the benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The name of this request.
    pub key: Key,
    /// The commit, built before.
    pub commit: CombinedCommit,
    /// How many runs of this commit the job asked for before this one.
    pub index: u32,
    /// Where to run; anywhere when absent.
    pub bot: Option<String>,
}

/// A commit, and what the benchmark is given there beyond what it is given
/// everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// The commit.
    pub commit: CombinedCommit,
    /// Arguments behind those of the benchmark's command.
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
            arguments: Vec::new(),
            env: BTreeMap::new(),
        }
    }
}

/// Asks for two executions of the benchmark, back to back on one bot, with
/// nothing else on that bot from the beginning of the first to the end of the
/// second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPairRequest {
    /// The name of this request.
    pub key: Key,
    /// What to run first; it was built before.
    pub first: Variant,
    /// What to run right after it; it was built before.
    pub second: Variant,
    /// How many pairs of these two the job asked for before this one.
    pub index: u32,
    /// Where to run; anywhere when absent.
    pub bot: Option<String>,
}

/// How a build ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildReport {
    /// What was built, by name.
    pub commit: CombinedCommit,
    /// Why it failed, in a line; absent when it can be run.
    #[serde(default)]
    pub failure: Option<String>,
    /// The build existed already.
    #[serde(default)]
    pub cached: bool,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration: u64,
    /// Where its output is.
    #[serde(default)]
    pub log: Option<String>,
}

/// What the operating system measured of one execution.
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
}

/// The values of one chart of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The values, in the order in which the benchmark gave them.
    pub values: Vec<f64>,
    /// What they count, as the benchmark writes it.
    #[serde(default)]
    pub unit: Option<String>,
    /// Where better lies, if the format of the output says so.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub direction: Direction,
}

/// Nothing is written for it, so that what was stored before there were
/// directions reads back as it was.
fn is_unknown(direction: &Direction) -> bool {
    *direction == Direction::Unknown
}

/// How one execution of the benchmark ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The commit.
    pub commit: CombinedCommit,
    /// The index that the request gave.
    pub index: u32,
    /// Where it ran.
    #[serde(default)]
    pub bot: Option<String>,
    /// When it started, in milliseconds since the job began.
    pub started: u64,
    /// The chart that decides, where the executor was left to choose it.
    #[serde(default)]
    pub chart: Option<String>,
    /// Why there are no values, in a line; absent when there are.
    #[serde(default)]
    pub failure: Option<String>,
    /// Everything it measured, by chart.
    #[serde(default)]
    pub charts: BTreeMap<String, Series>,
    /// What the operating system measured, when it could.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// The exit code; absent when a signal ended it.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// Where its output is.
    #[serde(default)]
    pub log: Option<String>,
}

/// How the two executions of a pair ended, in the order asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairReport {
    /// The one that ran first.
    pub first: RunReport,
    /// The one that ran right after it, on the same bot.
    pub second: RunReport,
}

/// Why an executor could not answer.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// Trouble that may pass: the request is tried again, as the retry policy
    /// of the job says.
    #[error("{0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The request can't be carried out, now or later: the command does not
    /// exist, the disk is full. The job stops, and can be resumed once
    /// somebody has mended it.
    #[error("{0}")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Carries out what a search asks for.
///
/// Methods are called concurrently. Runs are called in the order in which they
/// are to start. Dropping the future of a call abandons the work: whatever it
/// started is ended.
#[async_trait]
pub trait Executor: Send + Sync {
    /// How many commits lie strictly between two.
    async fn list(&self, request: ListRequest) -> Result<Listing, ExecutorError>;

    /// Builds a commit. A failed build is an answer, not an error.
    async fn build(&self, request: BuildRequest) -> Result<BuildReport, ExecutorError>;

    /// Runs the benchmark once. A failed run is an answer, not an error.
    async fn run(&self, request: RunRequest) -> Result<RunReport, ExecutorError>;

    /// Runs the benchmark at two commits, one right after the other on the same
    /// bot. A failed run is an answer, and the other one is made nevertheless.
    async fn run_pair(&self, request: RunPairRequest) -> Result<PairReport, ExecutorError>;

    /// Ends the work under this key, if there is any, and returns once it has
    /// ended.
    async fn cancel(&self, key: Key) -> Result<(), ExecutorError>;

    /// Returns when the time has passed.
    async fn sleep(&self, duration: Duration);
}

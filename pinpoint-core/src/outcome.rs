//! What a bisection found, with the evidence for it.

use pinpoint_compare::{FunctionalComparison, Interval, PerformanceComparison, Verdict};
use serde::{Deserialize, Serialize};

use crate::Position;

/// The version of [`Outcome`] that this library writes.
pub const OUTCOME_VERSION: u32 = 1;

/// What a bisection found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The version of this record, [`OUTCOME_VERSION`].
    pub version: u32,
    /// The answer in a word.
    pub status: Status,
    /// Why the search ended.
    pub stopped: Stopped,
    /// The commits that changed the benchmark, oldest first.
    pub culprits: Vec<Culprit>,
    /// Commits that may hold a culprit that could not be told apart, oldest
    /// first. Empty when every difference was traced to one commit.
    pub candidates: Vec<Position>,
    /// Every comparison, in the order of the range, and within a pair in the
    /// order in which they were made.
    pub comparisons: Vec<Comparison>,
    /// Commits that could not be used, oldest first.
    pub skipped: Vec<Skipped>,
    /// Runs that were made, failed ones included.
    pub runs: u64,
    /// Commits that were built.
    pub builds: u64,
}

/// The answer in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// At least one culprit was found.
    CulpritFound,
    /// The ends do not differ, or for the better only.
    NoRegression,
    /// There is a difference, or may be one, that no single commit explains.
    Inconclusive,
    /// The search could not be carried out.
    Failed,
    /// Somebody ended it.
    Canceled,
}

/// Why a search ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// Nothing was left to decide.
    Decided,
    /// The next comparison would have exceeded the budget of runs.
    RunBudget,
    /// The next commit would have exceeded the budget of builds.
    BuildBudget,
    /// The budget of time was spent.
    TimeBudget,
    /// Somebody asked for it.
    Canceled,
    /// An end of the range can't be measured, or a range can't be listed.
    Failed {
        /// The end that can't be measured.
        commit: Option<Position>,
        /// What went wrong.
        reason: String,
    },
}

/// A commit that changed the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// The commit.
    pub commit: Position,
    /// Its nearest older commit, with which it was compared.
    pub prior: Position,
    /// How probable it is; the `pinpoint` strategy does not say.
    pub probability: Option<f64>,
    /// By how much it changed the benchmark.
    pub effect: Effect,
}

/// By how much two commits differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Which of a run's results differ.
    pub of: EffectOf,
    /// The difference, newer minus older: of values the Hodges-Lehmann shift,
    /// in the chart's unit; of failures the difference of their rates.
    pub estimate: f64,
    /// Where it lies with the confidence below; absent when the samples are
    /// too small to say.
    pub interval: Option<Interval>,
    /// The confidence of the interval.
    pub confidence: f64,
    /// The older commit's median, or its rate of failures.
    pub before: f64,
    /// The newer commit's median, or its rate of failures.
    pub after: f64,
}

/// Which of a run's results differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectOf {
    /// The values of the chart.
    Values,
    /// Whether runs fail.
    Failures,
}

/// One look at a pair of commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The older commit.
    pub lower: Position,
    /// The newer commit.
    pub higher: Position,
    /// Runs of the older commit.
    pub lower_runs: u32,
    /// Runs of the newer commit.
    pub higher_runs: u32,
    /// The decision.
    pub verdict: Verdict,
    /// Whether runs fail alike.
    pub functional: FunctionalComparison,
    /// Whether values are alike; absent when the failures decided.
    pub performance: Option<PerformanceComparison>,
}

/// A commit that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The commit.
    pub commit: Position,
    /// Why, in a line.
    pub reason: String,
}

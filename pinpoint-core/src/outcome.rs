//! The outcome of a bisection, with the evidence for it.
//!
//! Its parts refer to a commit by its place `C`: by its position in an outcome, by its name in
//! a [result](crate::job::BisectionResult).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use pinpoint_compare::{
    CompareError, FunctionalComparison, Interval, PerformanceComparison, Verdict,
    difference_of_rates, hodges_lehmann, median,
};
use serde::{Deserialize, Serialize};

use crate::{CombinedCommit, CommitNames, Position};

/// The version of [`Outcome`] that this library writes.
pub const OUTCOME_VERSION: u32 = 1;

/// The outcome of a bisection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The version of this record, [`OUTCOME_VERSION`].
    pub version: u32,
    /// The answer in a word.
    pub status: Status,
    /// The reason why the search ended.
    pub stopped: Stopped,
    /// The commits that changed the benchmark, oldest first.
    pub culprits: Vec<Culprit>,
    /// Commits that may hold a culprit but could not be distinguished, oldest
    /// first. Empty when every difference was traced to one commit, and when the search ended
    /// before its commits were listed.
    pub candidates: Vec<Position>,
    /// The probability of each commit to be a culprit that is not among those above; the
    /// `pinpoint` strategy does not give it.
    #[serde(default)]
    pub posterior: Option<Posterior>,
    /// Every comparison, in the order of the range, and within a pair in the
    /// order in which they were made. The `adaptive` strategy compares no pairs.
    pub comparisons: Vec<Comparison>,
    /// Commits that change nothing, since the builds on both sides are the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<Unchanged>,
    /// Commits that could not be used, oldest first.
    pub skipped: Vec<Skipped>,
    /// Ends of the range that gave no value in any run, where no culprit was
    /// found: failures were compared then, and values were not.
    #[serde(default)]
    pub unmeasured: Vec<Unmeasured>,
    /// Runs that were made, failed ones included.
    pub runs: u64,
    /// Commits that were built.
    pub builds: u64,
}

/// The place of the next change, according to the runs: the probabilities of
/// all spans and of none add up to 1.
///
/// No run distinguishes the commits between two measured neighbors, so that they form one span,
/// however many they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Posterior<C = Position> {
    /// The probability that there is no change worth finding, or no further one
    /// when culprits were found.
    pub no_change: f64,
    /// The part of this probability that belongs to changes for the better.
    #[serde(default)]
    pub better: f64,
    /// The largest change that may still be there, where none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_change: Option<LargestChange>,
    /// The change that still shows, where none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_change: Option<OtherChange>,
    /// Every commit after the good end, oldest first.
    pub spans: Vec<Span<C>>,
}

/// The largest change for the worse that may be there although none was found. Where the
/// direction is not known, every change is one for the worse.
///
/// The limit is for a lasting change, not for one that another undoes before the bad end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LargestChange {
    /// The size, in the chart's unit. Wherever between the ends the change is, it is not
    /// larger.
    pub amount: f64,
    /// The same as a fraction of the good end's median; absent where that is 0.
    pub relative: Option<f64>,
    /// The confidence with which this holds.
    pub confidence: f64,
    /// The interquartile range of the noise, in the chart's unit.
    pub scatter: f64,
}

impl LargestChange {
    /// Returns true if a change of more than a twentieth may be there: without its size, "no
    /// regression" would say too much.
    #[must_use]
    pub fn hides_much(&self) -> bool {
        self.relative.is_none_or(|relative| relative > 0.05)
    }
}

/// A change that shows in the values although the search looks for none like it: it is smaller
/// than the magnitude, or for the better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OtherChange {
    /// True if the change is for the better; else it is too small.
    pub is_better: bool,
    /// Its size, which is not 0 with the effect's confidence. The commit that made it was not
    /// looked for.
    pub effect: Effect,
}

/// Neighboring commits that no run distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Span<C = Position> {
    /// The measured commit before them.
    pub after: C,
    /// The newest of them, which is measured.
    pub last: C,
    /// The number of commits, the last one included.
    pub commits: u64,
    /// The probability that one of them is the culprit, of all together.
    pub probability: f64,
}

/// Neighboring commits none of which is the culprit: the build before them and that of the last one
/// are the same, so that a change between the two was undone between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Unchanged<C = Position> {
    /// The commit before them.
    pub after: C,
    /// The newest of them, whose build is the same.
    pub last: C,
    /// The number of commits, the last one included.
    pub commits: u64,
}

/// The answer in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// At least one culprit was found.
    CulpritFound,
    /// The ends do not differ, or only for the better.
    NoRegression,
    /// There is, or may be, a difference that no single commit explains.
    Inconclusive,
    /// The search could not be carried out.
    Failed,
    /// Canceled by a user.
    Canceled,
}

impl Status {
    /// The written form, the same everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CulpritFound => "culprit_found",
            Self::NoRegression => "no_regression",
            Self::Inconclusive => "inconclusive",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

/// The reason why a search ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stopped {
    /// Everything was decided.
    Decided,
    /// The commits hidden between two neighbors, such as a roll, could not be listed: which of them
    /// changed the benchmark is not known.
    Unlisted {
        /// The reason.
        reason: String,
    },
    /// Something was left to decide, but more runs would hardly help.
    NothingToLearn,
    /// Nothing was found and no magnitude was given, but the runs scatter so much that a change of
    /// more than half of the value is not excluded.
    TooNoisy,
    /// The next comparison would have exceeded the budget of runs.
    RunBudget,
    /// The next commit would have exceeded the budget of builds.
    BuildBudget,
    /// The budget of time was used up.
    TimeBudget,
    /// A user requested it.
    Canceled,
    /// An end of the range can't be measured, or the range can't be listed.
    Failed {
        /// The end that can't be measured, when it is one.
        commit: Option<Position>,
        /// The reason.
        reason: String,
    },
}

impl Stopped {
    /// A failure for this reason that is not about an end.
    pub(crate) fn failed(reason: impl std::fmt::Display) -> Self {
        Self::Failed {
            commit: None,
            reason: reason.to_string(),
        }
    }
}

/// The reason in words, with those of others unchanged: on any number of lines.
impl fmt::Display for Stopped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, reason) = match self {
            Self::Decided => ("no single commit explains what was measured", ""),
            Self::Unlisted { reason } => (
                "the commits between two neighbors could not be listed: ",
                &**reason,
            ),
            Self::NothingToLearn => ("more runs would add little information", ""),
            Self::TooNoisy => ("the runs scatter too much to exclude a large change", ""),
            Self::RunBudget => ("the budget of runs does not allow the next comparison", ""),
            Self::BuildBudget => ("the budget of builds does not allow the next commit", ""),
            Self::TimeBudget => ("the time budget is used up", ""),
            Self::Canceled => ("it was canceled", ""),
            Self::Failed { commit, reason } => match commit {
                Some(Position::Lower) => ("the good end can't be measured: ", &**reason),
                Some(_) => ("the bad end can't be measured: ", &**reason),
                None => ("", &**reason),
            },
        };
        write!(formatter, "{what}{reason}")
    }
}

/// A commit that changed the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Culprit {
    /// The commit.
    pub commit: Position,
    /// Its nearest older commit, with which it was compared.
    pub prior: Position,
    /// The name of the commit. A machine knows positions only, and leaves it out;
    /// [`Engine::outcome`](crate::Engine::outcome) adds it, and so does [`drive`](crate::drive()).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_name: Option<CombinedCommit>,
    /// The name of its nearest older commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_name: Option<CombinedCommit>,
    /// The probability of the culprit, given the others; the `pinpoint` strategy does not
    /// give it.
    pub probability: Option<f64>,
    /// The size of the change.
    pub effect: Effect,
}

impl Culprit {
    /// Adds the names of both commits.
    pub(crate) fn name(&mut self, names: &CommitNames) {
        self.commit_name = names.commit(self.commit).cloned();
        self.prior_name = names.commit(self.prior).cloned();
    }
}

/// The difference of two commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Effect {
    /// The part of a run's results that differs.
    pub of: EffectOf,
    /// The difference, newer minus older: of values the step that the strategy `adaptive`
    /// measures, or the Hodges-Lehmann shift, in the chart's unit; of failures the difference
    /// of their rates. Absent when it is beyond the range of `f64`.
    pub estimate: Option<f64>,
    /// The interval of the effect with the confidence below; absent when the samples are
    /// too small, or an end of it is beyond the range of `f64`.
    pub interval: Option<Interval>,
    /// The confidence of the interval.
    pub confidence: f64,
    /// The older commit's median, or its rate of failures; if `adjusted`, its level.
    pub before: f64,
    /// The newer commit's median, or its rate of failures; if `adjusted`, its level.
    pub after: f64,
    /// True where most runs of the two sides met different states of the machine, which the strategy
    /// `adaptive` leaves out of the estimate: then `before` and `after` are levels without these, and
    /// no medians.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjusted: bool,
    /// The most common reason for failures of the older commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_failure: Option<CommonFailure>,
    /// The most common reason for failures of the newer commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_failure: Option<CommonFailure>,
}

/// The commonest reason why runs of a commit failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonFailure {
    /// The reason, in the executor's words.
    pub reason: String,
    /// The number of runs that failed for it.
    pub runs: u64,
    /// The number of runs that failed, for any reason.
    pub failed: u64,
}

impl CommonFailure {
    /// The commonest of these reasons, one for each failed run; of equally common ones the
    /// first. None without a failed run.
    pub(crate) fn from_reasons<'a>(reasons: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut counted: BTreeMap<&str, (u64, Reverse<u64>)> = BTreeMap::new();
        let mut failed = 0;
        for reason in reasons {
            let count = counted.entry(reason).or_insert((0, Reverse(failed)));
            count.0 += 1;
            failed += 1;
        }
        let (reason, (runs, _)) = counted.into_iter().max_by_key(|(_, count)| *count)?;
        Some(Self {
            reason: reason.to_owned(),
            runs,
            failed,
        })
    }
}

impl Effect {
    /// The shift from one sample of values to another.
    pub(crate) fn of_values(
        before: &[f64],
        after: &[f64],
        confidence: f64,
    ) -> Result<Self, CompareError> {
        let (estimate, interval) = match hodges_lehmann(before, after, confidence) {
            Ok(shift) => (Some(shift.estimate), shift.interval),
            Err(CompareError::Overflow { .. }) => (None, None),
            Err(error) => return Err(error),
        };
        Ok(Self {
            of: EffectOf::Values,
            estimate,
            interval: interval
                .filter(|interval| interval.low.is_finite() && interval.high.is_finite()),
            confidence,
            before: median(before).unwrap_or_default(),
            after: median(after).unwrap_or_default(),
            adjusted: false,
            before_failure: None,
            after_failure: None,
        })
    }

    /// The difference of two rates of failure, each given as (failures, runs).
    pub(crate) fn of_failures(
        before: (u64, u64),
        after: (u64, u64),
        confidence: f64,
    ) -> Result<Self, CompareError> {
        let change = difference_of_rates(before, after, confidence)?;
        Ok(Self {
            of: EffectOf::Failures,
            estimate: Some(change.estimate),
            interval: Some(change.interval),
            confidence,
            before: change.control_rate,
            after: change.treatment_rate,
            adjusted: false,
            // The caller, which has the runs, sets the reasons.
            before_failure: None,
            after_failure: None,
        })
    }
}

/// The part of a run's results that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectOf {
    /// The values of the chart.
    Values,
    /// The failures of runs.
    Failures,
}

impl EffectOf {
    /// The written form, the same everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Failures => "failures",
        }
    }
}

/// One look at a pair of commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison<C = Position> {
    /// The older commit.
    pub lower: C,
    /// The newer commit.
    pub higher: C,
    /// Runs of the older commit.
    pub lower_runs: u32,
    /// Runs of the newer commit.
    pub higher_runs: u32,
    /// The decision.
    pub verdict: Verdict,
    /// The comparison of failures.
    pub functional: FunctionalComparison,
    /// The comparison of values; absent when the failures decided.
    pub performance: Option<PerformanceComparison>,
}

/// An end of the range none of whose runs gave a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Unmeasured<C = Position> {
    /// The end.
    pub commit: C,
    /// Its runs, all of which failed.
    pub runs: u32,
    /// The reason in the first of them.
    pub reason: Option<String>,
}

/// A commit that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skipped<C = Position> {
    /// The commit.
    pub commit: C,
    /// The reason, in one line.
    pub reason: String,
}

//! The findings of a pairwise comparison, with their evidence.

use pinpoint_compare::{
    Direction, FunctionalComparison, LOW_THRESHOLD, PairwiseComparison, Verdict, least_p_value,
};
use serde::{Deserialize, Serialize};

use crate::{CommonFailure, Stopped};

/// The version of [`PairwiseOutcome`] that this library writes.
pub const PAIRWISE_OUTCOME_VERSION: u32 = 1;

/// The findings of a pairwise comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairwiseOutcome {
    /// The version of this record, [`PAIRWISE_OUTCOME_VERSION`].
    pub version: u32,
    /// The answer in a word.
    pub status: PairwiseStatus,
    /// The reason why it ended.
    pub stopped: Stopped,
    /// The comparison of failures; absent when there were no runs.
    pub functional: Option<FunctionalComparison>,
    /// The commonest reason why runs of the base failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_failure: Option<CommonFailure>,
    /// The commonest reason why runs of the experiment failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment_failure: Option<CommonFailure>,
    /// The comparison of values, for every chart that both sides have, by name.
    pub charts: Vec<ChartComparison>,
    /// Charts that only the base has.
    pub only_base: Vec<String>,
    /// Charts that only the experiment has.
    pub only_experiment: Vec<String>,
    /// The fewest pairs in which a change of one of so many charts could have been found.
    /// Absent where there were enough, or one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs_needed: Option<u32>,
    /// Pairs that were asked for at first.
    pub pairs_planned: u32,
    /// Pairs that were run, failed ones included.
    pub pairs: u32,
    /// True when it ended before the last pair because a difference was certain.
    pub stopped_early: bool,
    /// Runs that were made, failed ones included.
    pub runs: u64,
    /// Commits that were built.
    pub builds: u64,
}

/// The answer in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PairwiseStatus {
    /// The experiment fails more often, or a chart moved.
    Different,
    /// No difference was found, or only one for the better. Without any pairs: the builds
    /// are the same.
    Same,
    /// There was too little to compare: no values, or too few pairs for so many charts.
    Unknown,
    /// The comparison could not be carried out.
    Failed,
    /// The comparison was canceled.
    Canceled,
}

impl PairwiseStatus {
    /// The written form, the same everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Different => "different",
            Self::Same => "same",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

/// The comparison of one chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChartComparison {
    /// The chart.
    pub chart: String,
    /// The direction of improvement.
    pub direction: Direction,
    /// The comparison, control being the base; absent when there was none.
    pub comparison: Option<PairwiseComparison>,
    /// Its p-value, adjusted for the number of charts compared
    /// ([`pinpoint_compare::benjamini_hochberg`]).
    pub adjusted_p_value: Option<f64>,
    /// The p-value that holds at every look at once
    /// ([`pinpoint_compare::SequentialPairs`]), where early stopping was asked for.
    pub anytime_p_value: Option<f64>,
    /// Pairs left out because a run gave no value for this chart.
    pub failed_pairs: u32,
    /// Intact pairs left out so that each side was first in half of the rest.
    pub surplus_pairs: u32,
    /// The reason why there is no comparison.
    pub error: Option<String>,
}

impl ChartComparison {
    /// Returns true if the chart moved, its p-value adjusted for the number of charts; not if for
    /// the better.
    pub fn moved(&self) -> bool {
        self.is_significant() && self.verdict() == Verdict::Different
    }

    /// Returns true if the chart moved for the better, its p-value adjusted for the number of
    /// charts.
    pub fn improved(&self) -> bool {
        self.is_significant()
            && (self.comparison.as_ref()).is_some_and(|comparison| comparison.is_improvement)
    }

    /// Returns true if the chart is neither the same nor found to have moved: it differs alone but
    /// not among so many charts, or there were too few pairs.
    pub fn is_undecided(&self) -> bool {
        let alone = match self.verdict() {
            Verdict::Different | Verdict::Unknown => true,
            Verdict::Same | Verdict::Nil => false,
        };
        alone && !self.is_significant()
    }

    /// The verdict on this chart alone, as if there were no others.
    pub fn verdict(&self) -> Verdict {
        (self.comparison.as_ref()).map_or(Verdict::Nil, |comparison| comparison.verdict)
    }

    fn is_significant(&self) -> bool {
        self.adjusted_p_value.is_some_and(|p| p < LOW_THRESHOLD)
    }
}

/// The fewest pairs, an even number, in which a change of one chart among so many can be found. Its
/// p-value is at least that of this many pairs, and its adjusted one that times the number of
/// charts.
///
/// ```
/// use pinpoint_core::fewest_pairs;
///
/// assert_eq!([1, 2, 6, 7, 100].map(fewest_pairs), [6, 8, 8, 10, 12]);
/// ```
pub fn fewest_pairs(charts: usize) -> u32 {
    let is_enough = |pairs: &u32| least_p_value(*pairs as usize) * (charts as f64) < LOW_THRESHOLD;
    // Of more charts than any memory holds, 200 pairs are enough.
    (2..200).step_by(2).find(is_enough).unwrap_or(200)
}

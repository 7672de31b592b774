//! The result of a job, with commits by their names: plain data, as a store keeps it and
//! every frontend shows it.

use crate::{
    ChartComparison, CombinedCommit, Commit, CommonFailure, Comparison, DependencyChange, Effect,
    FunctionalComparison, JobKind, JobState, LargestChange, MeasuredMetric, PairwiseOutcome,
    PairwiseStatus, Posterior, Skipped, Status, Stopped, Unchanged, Unmeasured, Variant,
};
use serde::{Deserialize, Deserializer, Serialize};

/// The version of these records.
pub const RESULT_VERSION: u32 = 1;

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "a job has one, and a box would stand in the way of taking it apart"
)]
pub enum JobResult {
    /// The result of a bisection.
    Bisection(BisectionResult),
    /// The result of a comparison of two commits.
    Pairwise(PairwiseResult),
    /// The result of a verified bisection.
    CulpritFinder(Box<CulpritFinderResult>),
}

/// The result of a bisection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BisectionResult {
    /// The version of this record, [`RESULT_VERSION`].
    pub version: u32,
    /// The job.
    pub job_id: String,
    /// The answer in a word.
    pub status: Status,
    /// The reason why the search ended.
    pub stopped: Stopped,
    /// The lower end.
    pub good: CombinedCommit,
    /// The higher end.
    pub bad: CombinedCommit,
    /// Where neither end is part of the other's history: the state that both come from. The
    /// range goes from the good end back to it, and from there to the bad end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<CombinedCommit>,
    /// The metric that decided.
    pub chart: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
    /// The metric in full; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<MeasuredMetric>,
    /// The commits that changed it.
    pub culprits: Vec<NamedCulprit>,
    /// The remaining range, oldest first; empty when found.
    pub candidates: Vec<CombinedCommit>,
    /// The probable places of the next change; absent for the strategy `pinpoint`.
    #[serde(default)]
    pub posterior: Option<Posterior<CombinedCommit>>,
    /// Runs that were made.
    pub runs: u64,
    /// Commits that were built.
    pub builds: u64,
    /// Every comparison of two commits.
    pub comparisons: Vec<Comparison<CombinedCommit>>,
    /// Commits that change nothing, since the builds on both sides are the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<Unchanged<CombinedCommit>>,
    /// Commits that could not be measured.
    pub skipped: Vec<Skipped<CombinedCommit>>,
    /// Remarks on the runs, a sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Ends that gave no value in any run, so that only failures were compared.
    #[serde(default)]
    pub unmeasured: Vec<Unmeasured<CombinedCommit>>,
    /// Seconds for which the job was worked on, without those when it was stopped or waited for a
    /// worker.
    pub duration_s: f64,
}

impl BisectionResult {
    /// The change that a search which found nothing can't exclude, where it is so large that the
    /// answer has to name it (see [`LargestChange::hides_much`]). `None` where another change shows,
    /// or nothing was measured.
    pub fn change_not_excluded(&self) -> Option<&LargestChange> {
        let posterior = self.posterior.as_ref()?;
        let is_all = posterior.other_change.is_none()
            && self.status == Status::NoRegression
            && self.unmeasured.is_empty()
            && self.runs > 0;
        let largest = posterior.largest_change.as_ref();
        largest.filter(|largest| is_all && largest.hides_much())
    }
}

/// A commit that changed the metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NamedCulprit {
    /// The culprit.
    pub commit: CombinedCommit,
    /// The state before it.
    pub prior: CombinedCommit,
    /// The probability that it is the culprit; absent for the strategy `pinpoint`.
    pub probability: Option<f64>,
    /// The size of the change.
    pub effect: Effect,
    /// The comparison with its prior in separate runs, where requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// The commit to blame, as its repository has it: of the main repository, of
    /// a merged branch, or of a dependency.
    pub blamed: Commit,
    /// It is to blame because the culprit lacks it: a dependency was set back, or only the
    /// good end ever had it.
    pub undone: bool,
    /// The commit of the main repository whose roll brought in the commit to blame, or took it
    /// back: the first of those searched, if the range leaves out the roll itself. Absent outside
    /// of rolls, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_by: Option<Commit>,
    /// The other commits that may be to blame, oldest first: they could not be measured one by one,
    /// since they conflict with the other commits of such a state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Commit>,
    /// The other differences between the two, which can't be bisected further.
    pub other_changes: Vec<DependencyChange>,
    /// The command that compares the two again, if there is one.
    pub reproduce: Option<String>,
}

/// The comparison of a culprit with its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Confirmation {
    /// Absent when the budget or the search ended before.
    pub comparison: Option<PairwiseOutcome>,
    /// True if this is the comparison of the two ends.
    pub reused: bool,
}

/// The result of a comparison of two commits in pairs of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairwiseResult {
    /// The version of this record, [`RESULT_VERSION`].
    pub version: u32,
    /// The job.
    pub job_id: String,
    /// The status of the comparison.
    pub status: PairwiseStatus,
    /// The reason why it ended.
    pub stopped: Stopped,
    /// The baseline.
    pub base: Variant,
    /// The variant that is compared with it.
    pub experiment: Variant,
    /// The metric, or the settings by which all are read; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<MeasuredMetric>,
    /// The comparison of the failures of runs.
    pub functional: Option<FunctionalComparison>,
    /// The commonest reason why runs of the base failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_failure: Option<CommonFailure>,
    /// The commonest reason why runs of the experiment failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment_failure: Option<CommonFailure>,
    /// Every chart.
    pub charts: Vec<NamedChart>,
    /// The number of charts that moved, for the worse or where the direction of
    /// improvement is unknown. Their p-values are adjusted for the number of charts.
    pub moved: usize,
    /// The number of charts that moved for the better.
    pub improved: usize,
    /// Charts that only the baseline has.
    pub only_base: Vec<String>,
    /// Charts that only the experiment has.
    pub only_experiment: Vec<String>,
    /// Pairs of runs that were made.
    pub pairs: u32,
    /// The fewest pairs in which a change of one of so many charts could have been found.
    /// Absent where there were enough, or one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs_needed: Option<u32>,
    /// Pairs that were planned.
    pub pairs_planned: u32,
    /// It ended before the last pair because a difference was certain.
    pub stopped_early: bool,
    /// Runs that were made.
    pub runs: u64,
    /// Commits that were built.
    pub builds: u64,
    /// Remarks on the runs, a sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Seconds for which the job was worked on, without those when it was stopped or waited for a
    /// worker.
    pub duration_s: f64,
}

/// A chart that was compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedChart {
    /// The unit of its values.
    pub unit: Option<String>,
    /// The comparison of the two commits in it.
    #[serde(flatten)]
    pub comparison: ChartComparison,
}

/// The result of a bisection whose ends and culprits were verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CulpritFinderResult {
    /// The bisection. Its culprits are those that were confirmed.
    #[serde(flatten)]
    pub search: BisectionResult,
    /// The comparison of the two ends.
    pub verification: PairwiseOutcome,
    /// Culprits of the search that were not confirmed.
    pub unconfirmed: Vec<NamedCulprit>,
    /// Runs of the verification that served the search, too.
    pub reused_runs: u64,
}

impl JobResult {
    /// Reads a result of this kind.
    ///
    /// # Errors
    ///
    /// When it is not a result of this kind.
    pub fn deserialize_as<'de, D: Deserializer<'de>>(
        kind: JobKind,
        result: D,
    ) -> Result<Self, D::Error> {
        Ok(match kind {
            JobKind::Bisection => Self::Bisection(Deserialize::deserialize(result)?),
            JobKind::Pairwise => Self::Pairwise(Deserialize::deserialize(result)?),
            JobKind::CulpritFinder => Self::CulpritFinder(Deserialize::deserialize(result)?),
        })
    }

    /// The result of the search for a culprit, if the job made one.
    pub fn bisection(&self) -> Option<&BisectionResult> {
        match self {
            Self::Bisection(result) => Some(result),
            Self::CulpritFinder(result) => Some(&result.search),
            Self::Pairwise(_) => None,
        }
    }

    /// The culprits of the search that were not confirmed.
    pub fn unconfirmed(&self) -> &[NamedCulprit] {
        match self {
            Self::CulpritFinder(result) => &result.unconfirmed,
            Self::Bisection(_) | Self::Pairwise(_) => &[],
        }
    }

    /// The reason why the job ended.
    pub fn stopped(&self) -> &Stopped {
        match self {
            Self::Bisection(result) => &result.stopped,
            Self::Pairwise(result) => &result.stopped,
            Self::CulpritFinder(result) => &result.search.stopped,
        }
    }

    /// Seconds for which the job was worked on, without those when it was stopped or waited for a
    /// worker.
    pub fn duration_s(&self) -> f64 {
        match self {
            Self::Bisection(result) => result.duration_s,
            Self::Pairwise(result) => result.duration_s,
            Self::CulpritFinder(result) => result.search.duration_s,
        }
    }

    /// The state of a job with this result.
    pub fn state(&self) -> JobState {
        match self {
            Self::Bisection(result) => JobState::from(result.status),
            Self::Pairwise(result) => JobState::from(result.status),
            Self::CulpritFinder(result) => JobState::from(result.search.status),
        }
    }

    /// The metric that was compared; absent in results of earlier versions.
    pub fn metric(&self) -> Option<&MeasuredMetric> {
        match self {
            Self::Bisection(result) => result.metric.as_ref(),
            Self::Pairwise(result) => result.metric.as_ref(),
            Self::CulpritFinder(result) => result.search.metric.as_ref(),
        }
    }

    /// Remarks on the runs, a sentence each.
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::Bisection(result) => &result.warnings,
            Self::Pairwise(result) => &result.warnings,
            Self::CulpritFinder(result) => &result.search.warnings,
        }
    }

    /// The culprits of a search, confirmed or not.
    pub fn culprits_mut(&mut self) -> impl Iterator<Item = &mut NamedCulprit> {
        let (found, unconfirmed) = match self {
            Self::Bisection(result) => (&mut result.culprits[..], &mut [][..]),
            Self::Pairwise(_) => (&mut [][..], &mut [][..]),
            Self::CulpritFinder(result) => {
                (&mut result.search.culprits[..], &mut result.unconfirmed[..])
            }
        };
        found.iter_mut().chain(unconfirmed)
    }
}

impl NamedCulprit {
    /// The hashes of the state before and of the culprit, if each is a plain commit of
    /// the main repository.
    pub fn plain_ends(&self) -> Option<(&str, &str)> {
        let plain =
            |state: &CombinedCommit| state.modified_deps.is_empty() && state.main.merged.is_empty();
        (plain(&self.prior) && plain(&self.commit))
            .then_some((&*self.prior.main.git_hash, &*self.commit.main.git_hash))
    }
}

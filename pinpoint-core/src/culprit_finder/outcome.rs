//! The findings of a culprit finder, with their evidence.

use serde::{Deserialize, Serialize};

use crate::{Culprit, Outcome, PairwiseOutcome, Status, Stopped};

/// The version of [`CulpritFinderOutcome`] that this library writes.
pub const CULPRIT_FINDER_OUTCOME_VERSION: u32 = 1;

/// The findings of a culprit finder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CulpritFinderOutcome {
    /// The version of this record, [`CULPRIT_FINDER_OUTCOME_VERSION`].
    pub version: u32,
    /// The answer in a word. A culprit was found only if it was confirmed.
    pub status: Status,
    /// The reason why it ended.
    pub stopped: Stopped,
    /// The comparison of the two ends.
    pub verification: PairwiseOutcome,
    /// The search; absent when the ends were found not to differ, or could not
    /// be compared.
    pub bisection: Option<Outcome>,
    /// Culprits that differ from their parent in a separate comparison, oldest first.
    pub culprits: Vec<CheckedCulprit>,
    /// Culprits of the search that do not, or were not compared.
    pub unconfirmed: Vec<CheckedCulprit>,
    /// Runs of the verification that served as samples of the search, too.
    pub reused_runs: u64,
    /// Runs that were made, failed ones included; each is counted once.
    pub runs: u64,
    /// Commits that were built; each is counted once.
    pub builds: u64,
}

/// A culprit, with its comparison with its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CheckedCulprit {
    /// The culprit, as the search found it.
    pub culprit: Culprit,
    /// The comparison: its base is the culprit's parent, its experiment the
    /// culprit. Absent when the search ended, or its budget, before it.
    pub comparison: Option<PairwiseOutcome>,
    /// True when the comparison is that of the two ends: they are this culprit and
    /// its parent.
    pub reused: bool,
}

//! The question of a pairwise comparison.

use std::collections::BTreeMap;

use pinpoint_compare::Direction;
use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregate;
use crate::{CombinedCommit, Limits, RetryPolicy, SpecError, Variant};

/// The version of [`PairwiseSpec`] that this library writes. It reads all up to it.
pub const PAIRWISE_SPEC_VERSION: u32 = 3;

/// The last version whose comparisons are those that Pinpoint publishes.
const PUBLISHED_VERSION: u32 = 2;

/// A comparison of two commits in pairs of runs: its sides, its charts, its size.
///
/// Later versions add fields: end a literal with `..PairwiseSpec::new(base, experiment)`.
///
/// ```
/// use pinpoint_core::{CombinedCommit, Commit, PairwiseSpec};
///
/// let commit = |hash: &str| CombinedCommit::from(Commit::new("/src/tool", hash));
/// let spec = PairwiseSpec {
///     early_stopping: true,
///     ..PairwiseSpec::new(commit("1f2e3d"), commit("4c5b6a"))
/// };
/// assert_eq!(spec.pairs, 30);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairwiseSpec {
    /// The version of this record, [`PAIRWISE_SPEC_VERSION`].
    pub version: u32,
    /// The two sides; absent when only the caller knows.
    pub sides: Option<Sides>,
    /// The only chart that is compared. All of them when absent, so that runs
    /// give the values of every chart they have.
    pub chart: Option<String>,
    /// The aggregate of the values that one run gives for a chart: one value by this
    /// method, or all of them count when absent.
    #[serde(default)]
    pub aggregate: Option<Aggregate>,
    /// The direction of improvement.
    pub direction: Direction,
    /// The directions of charts that differ from it.
    #[serde(default)]
    pub directions: BTreeMap<String, Direction>,
    /// Pairs of runs: an even number, so that each side is first in half of them.
    pub pairs: u32,
    /// True to end as soon as a difference is certain.
    pub early_stopping: bool,
    /// True to run nothing when the two builds are known to be the same: the answer is that
    /// the sides are, too. It is not for sides with other arguments or variables.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_same_builds: bool,
    /// True when the runs are made under a profiler, whose profiles are compared later: then
    /// one pair may be enough, and any number of them is accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub profiled: bool,
    /// True to compare as Pinpoint publishes its decisions
    /// ([`compare_pairwise_pinpoint`](pinpoint_compare::compare_pairwise_pinpoint)), ties and
    /// all; so are jobs of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub published: bool,
    /// Decides which pairs begin with the base.
    pub seed: u64,
    /// The longest the job may take, in milliseconds.
    pub max_time: Option<u64>,
    /// The policy for infrastructure failures.
    pub retry: RetryPolicy,
    /// Limits on the time of a try and on concurrent work.
    #[serde(default)]
    pub limits: Limits,
    /// The bots to run on: both orders are run on all of these equally often. Any bot
    /// when empty.
    #[serde(default)]
    pub bots: Vec<String>,
}

/// The two sides of a pairwise comparison. They may be the same commit: with other arguments, or to
/// see how much the benchmark scatters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides {
    /// The baseline.
    pub base: Variant,
    /// The commit to compare with it.
    pub experiment: Variant,
}

impl PairwiseSpec {
    /// Two commits with every other choice at its default.
    pub fn new(base: impl Into<Variant>, experiment: impl Into<Variant>) -> Self {
        Self {
            sides: Some(Sides {
                base: base.into(),
                experiment: experiment.into(),
            }),
            ..Self::unnamed()
        }
    }

    /// Two sides that only the caller knows, with every other choice at its
    /// default.
    pub fn unnamed() -> Self {
        Self {
            version: PAIRWISE_SPEC_VERSION,
            sides: None,
            chart: None,
            aggregate: None,
            direction: Direction::Unknown,
            directions: BTreeMap::new(),
            pairs: 30,
            early_stopping: false,
            skip_same_builds: false,
            profiled: false,
            published: false,
            seed: 0,
            max_time: None,
            retry: RetryPolicy::default(),
            limits: Limits::default(),
            bots: Vec::new(),
        }
    }

    /// The direction of improvement of a chart.
    pub(crate) fn direction_of(&self, chart: &str) -> Direction {
        self.directions
            .get(chart)
            .copied()
            .unwrap_or(self.direction)
    }

    /// Returns true if it is compared as Pinpoint publishes its decisions.
    pub(crate) fn is_published(&self) -> bool {
        self.published || self.version <= PUBLISHED_VERSION
    }

    pub(crate) fn ends(&self) -> Option<(&CombinedCommit, &CombinedCommit)> {
        let sides = self.sides.as_ref()?;
        Some((&sides.base.commit, &sides.experiment.commit))
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if !(1..=PAIRWISE_SPEC_VERSION).contains(&self.version) {
            return Err(SpecError::Version {
                found: self.version,
            });
        }
        match self.profiled {
            true => check_profiled_pairs(self.pairs)?,
            false => check_pairs(self.pairs)?,
        }
        self.limits.check()?;
        self.retry.check()
    }
}

/// Six pairs are the fewest in which Wilcoxon's test can get below 0.05.
pub(crate) fn check_pairs(pairs: u32) -> Result<(), SpecError> {
    if pairs.is_multiple_of(2) && (6..=SpecError::MOST_ATTEMPTS).contains(&pairs) {
        Ok(())
    } else {
        Err(SpecError::Pairs { found: pairs })
    }
}

fn check_profiled_pairs(pairs: u32) -> Result<(), SpecError> {
    match (1..=SpecError::MOST_ATTEMPTS).contains(&pairs) {
        true => Ok(()),
        false => Err(SpecError::ProfiledPairs { found: pairs }),
    }
}

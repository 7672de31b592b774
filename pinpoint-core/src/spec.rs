//! The question of a search.

use pinpoint_compare::Direction;
use serde::{Deserialize, Serialize};

use crate::CombinedCommit;
use crate::aggregate::Aggregate;

/// The version of [`BisectionSpec`] that this library writes. It reads all versions up to
/// it.
pub const SPEC_VERSION: u32 = 6;

/// A bisection: its range, its question, its limits.
///
/// Later versions add fields: end a literal with `..BisectionSpec::new(range)`.
///
/// ```
/// use pinpoint_core::{BisectionSpec, Range};
///
/// let spec = BisectionSpec {
///     max_runs: Some(500),
///     ..BisectionSpec::new(Range::Counted { between: 62 })
/// };
/// assert_eq!(spec.confidence, 0.95);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectionSpec {
    /// The version of this record, [`SPEC_VERSION`].
    pub version: u32,
    /// The range to search.
    pub range: Range,
    /// The strategy to search with.
    pub strategy: Strategy,
    /// The chart that decides. When absent, a run gives values for exactly one.
    pub chart: Option<String>,
    /// The smallest change worth finding.
    pub magnitude: Option<Magnitude>,
    /// The aggregate of the values that one run gives: one value by this method, or all
    /// of them count when absent.
    #[serde(default)]
    pub aggregate: Option<Aggregate>,
    /// The direction of improvement.
    pub direction: Direction,
    /// The confidence of the intervals reported, between 0 and 1, and for the
    /// `adaptive` strategy the probability with which an answer is right.
    pub confidence: f64,
    /// Runs of each end before anything is decided. When absent, and at least,
    /// 10 with the `pinpoint` strategy, and 3 with `adaptive`.
    #[serde(default)]
    pub attempts: Option<u32>,
    /// Decides the order of runs.
    pub seed: u64,
    /// The cost of a build, in runs. The `adaptive` strategy weighs one against
    /// the other; `pinpoint` does not.
    #[serde(default = "one_run")]
    pub build_cost: f64,
    /// The weight of suspicion of each commit of the outermost range: relative,
    /// oldest first, from the first commit after the good end to the bad end,
    /// so one more than there are commits between the ends. All alike when
    /// absent. The `pinpoint` strategy does not use them.
    #[serde(default)]
    pub priors: Option<Vec<f64>>,
    /// The most runs to ask for.
    pub max_runs: Option<u64>,
    /// The most builds to ask for.
    pub max_builds: Option<u64>,
    /// The longest the job may take, in milliseconds.
    pub max_time: Option<u64>,
    /// The policy for infrastructure failures.
    pub retry: RetryPolicy,
    /// Limits on the time of a try and on concurrent work.
    #[serde(default)]
    pub limits: Limits,
    /// The bots to run on: each commit is run on all of these about equally often. Any bot when
    /// empty.
    #[serde(default)]
    pub bots: Vec<String>,
}

impl BisectionSpec {
    /// A search of this range with every other choice at its default.
    pub fn new(range: Range) -> Self {
        Self {
            version: SPEC_VERSION,
            range,
            strategy: Strategy::default(),
            chart: None,
            aggregate: None,
            magnitude: None,
            direction: Direction::Unknown,
            confidence: 0.95,
            attempts: None,
            seed: 0,
            build_cost: one_run(),
            priors: None,
            max_runs: None,
            max_builds: None,
            max_time: None,
            retry: RetryPolicy::default(),
            limits: Limits::default(),
            bots: Vec::new(),
        }
    }
}

fn one_run() -> f64 {
    1.0
}

/// The range to search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a search has one, and a box would stand in the way of writing it down"
)]
#[non_exhaustive]
pub enum Range {
    /// Between two commits; the executor lists those between them.
    Between {
        /// The commit that was fast.
        good: CombinedCommit,
        /// The commit that is slow.
        bad: CombinedCommit,
    },
    /// Between two commits that only the caller knows, with a known number of
    /// commits strictly between them. Nothing is ever listed.
    Counted {
        /// Commits strictly between the ends, at most
        /// [`SpecError::MOST_COMMITS`].
        between: u64,
    },
}

/// The strategy of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// Keeps a probability for every commit, makes the runs that give most information for their
    /// cost, and stops when the answer has the certainty asked for.
    #[default]
    Adaptive,
    /// Searches like Chromium's Pinpoint: pairwise comparisons, samples doubled until a pair is
    /// decided, both halves of a difference explored.
    Pinpoint,
}

/// The smallest change worth finding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Magnitude {
    /// An amount in the unit of the chart.
    Absolute(f64),
    /// A percentage of the good end's median.
    Percent(f64),
}

/// The number of retries and the waits before them after infrastructure failures. The
/// waits grow by the factor until the longest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Tries in all, the first included. By default 3.
    pub tries: u32,
    /// Milliseconds before the second try. By default 1,000.
    pub first_wait: u64,
    /// The factor by which each wait is longer than the one before: 1 or more. By default
    /// 2.
    pub factor: f64,
    /// The longest wait, in milliseconds. By default 60,000.
    pub longest_wait: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries: 3,
            first_wait: 1_000,
            factor: 2.0,
            longest_wait: 60_000,
        }
    }
}

/// Limits on the time of a try and on concurrent work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Milliseconds for a try to list, build or run, from its ticket to its answer; after
    /// it the work is canceled and the try has failed. Time spent in a queue of the executor
    /// counts. No limit when absent, as by default.
    pub longest_try: Option<u64>,
    /// Milliseconds that work elsewhere may show no sign of life; after them, too, the work
    /// is canceled and the try has failed. Work in this process is not watched. By default
    /// 15 minutes.
    pub heartbeat: Option<u64>,
    /// Builds under way at once, at most. By default 64.
    pub builds: u32,
    /// Runs, and pairs of them, under way at once, at most. By default 64.
    pub runs: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            longest_try: None,
            heartbeat: Some(15 * 60 * 1000),
            builds: 64,
            runs: 64,
        }
    }
}

impl Limits {
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if self.builds > 0 && self.runs > 0 {
            Ok(())
        } else {
            Err(SpecError::Limits)
        }
    }
}

impl RetryPolicy {
    /// Milliseconds to wait after the `failed`-th try, counted from 1; absent
    /// when that was the last one.
    pub fn wait_after(&self, failed: u32) -> Option<u64> {
        if failed >= self.tries {
            return None;
        }
        let longest = self.longest_wait as f64;
        let mut wait = self.first_wait as f64;
        for _ in 1..failed {
            wait *= self.factor;
            if wait >= longest {
                break;
            }
        }
        // A cast from a float saturates, and takes NaN to 0.
        Some(wait.min(longest) as u64)
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        // JSON has no NaN.
        if self.factor.is_finite() && self.factor >= 1.0 {
            Ok(())
        } else {
            Err(SpecError::RetryFactor(self.factor))
        }
    }
}

/// The reason why a spec can't be searched.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Written by a later version of this library.
    #[error(
        "the search was described by a newer version ({found}) than this one reads ({SPEC_VERSION}): use a newer pinpoint"
    )]
    Version {
        /// The version it names.
        found: u32,
    },
    /// A confidence outside of 0 to 1.
    #[error("the confidence must lie between 0 and 1, both excluded; it is {0}")]
    Confidence(f64),
    /// A magnitude that is not finite.
    #[error("the magnitude must be a finite number; it is {0}")]
    Magnitude(f64),
    /// An implausible number of first runs.
    #[error("the first number of runs must lie between 1 and {most}; it is {found}", most = Self::MOST_ATTEMPTS)]
    Attempts {
        /// The number asked for.
        found: u32,
    },
    /// The first comparison alone would exceed the budget.
    #[error(
        "the first comparison needs {needed} {what}, but the budget allows {allowed}: raise the budget"
    )]
    Budget {
        /// Runs or builds.
        what: &'static str,
        /// The least number of runs that a search takes.
        needed: u64,
        /// The budget.
        allowed: u64,
    },
    /// More commits than any repository has.
    #[error("the range has {found} commits between its ends; at most {most} can be searched", most = Self::MOST_COMMITS)]
    Commits {
        /// Commits between the ends.
        found: u64,
    },
    /// A number of pairs that can't be balanced, or is too small for any test.
    #[error(
        "the number of pairs must be even, so that each side is first in half of them, and lie between 6 and {most}, since fewer can't show a difference; it is {found}", most = Self::MOST_ATTEMPTS
    )]
    Pairs {
        /// The number asked for.
        found: u32,
    },
    /// A number of pairs under a profiler that is 0, or too large.
    #[error(
        "the number of pairs under a profiler must lie between 1 and {most}; it is {found}", most = Self::MOST_ATTEMPTS
    )]
    ProfiledPairs {
        /// The number asked for.
        found: u32,
    },
    /// A factor by which waits can't grow.
    #[error("the waits between tries must grow by a finite factor of at least 1; it is {0}")]
    RetryFactor(f64),
    /// An invalid cost of a build.
    #[error("a build must cost a finite number of runs, 0 or more; it is {0}")]
    BuildCost(f64),
    /// Weights for another number of commits.
    #[error(
        "there are {found} prior weights for {expected} commits: give one for each commit after the good end, the bad end last"
    )]
    PriorsLength {
        /// Weights given.
        found: usize,
        /// Commits that may be the culprit.
        expected: u64,
    },
    /// A weight that is negative or not finite.
    #[error(
        "the prior weight at index {index} is {value}: weights must be finite and not negative"
    )]
    Prior {
        /// The index of the weight.
        index: usize,
        /// The weight.
        value: f64,
    },
    /// No commit may be the culprit.
    #[error(
        "the prior weights must have a positive, finite sum: give some commit a weight above 0"
    )]
    PriorsSum,
    /// Limits that allow no work at all.
    #[error("at least one build and one run must be allowed at once")]
    Limits,
    /// The ends are the same state.
    #[error("both ends of the search are the same commit")]
    SameEnds,
}

impl SpecError {
    /// The most runs of one commit that a spec may ask for at once.
    pub const MOST_ATTEMPTS: u32 = 100_000;
    /// The most commits between two ends. Commits that a search can't distinguish it
    /// lists one by one, so their number must fit in memory.
    pub const MOST_COMMITS: u64 = 10_000_000;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_until_the_longest_and_end_with_the_last_try() {
        let policy = RetryPolicy {
            tries: 5,
            first_wait: 100,
            factor: 3.0,
            longest_wait: 500,
        };
        let waits: Vec<_> = (1..=5).map(|failed| policy.wait_after(failed)).collect();
        assert_eq!(waits, [Some(100), Some(300), Some(500), Some(500), None]);
    }
}

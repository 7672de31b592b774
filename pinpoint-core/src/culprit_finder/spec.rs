//! The question of a culprit finder.

use serde::{Deserialize, Serialize};

use crate::bisection::first_runs;
use crate::pairwise::check_pairs;
use crate::{BisectionSpec, PairwiseSpec, Range, SpecError, Strategy};

/// The version of [`CulpritFinderSpec`] that this library writes. It reads all up to it.
pub const CULPRIT_FINDER_SPEC_VERSION: u32 = 3;

/// Runs of each end with which the search of the reference begins.
const ATTEMPTS: u32 = 20;

/// A search that verifies the regression first and each culprit last.
///
/// Later versions add fields: end a literal with `..CulpritFinderSpec::new(range)`.
///
/// ```
/// use pinpoint_core::{CulpritFinderSpec, Range};
///
/// let spec = CulpritFinderSpec::new(Range::Counted { between: 62 });
/// assert_eq!(spec.pairs, 30);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CulpritFinderSpec {
    /// The version of this record, [`CULPRIT_FINDER_SPEC_VERSION`].
    pub version: u32,
    /// The search between the two verifications. Its chart, direction, seed, time and retry policy
    /// are those of the whole. Without a magnitude, it is the difference of the ends' medians just
    /// verified; with no attempts given, 20 runs of each end are those of the verification with the
    /// strategy `pinpoint`, and all of them with `adaptive`. Its budget of runs is for everything;
    /// runs that are reused count once.
    pub bisection: BisectionSpec,
    /// Pairs of runs of each verification: an even number.
    pub pairs: u32,
}

impl CulpritFinderSpec {
    /// A search of this range with every other choice at its default.
    pub fn new(range: Range) -> Self {
        Self {
            version: CULPRIT_FINDER_SPEC_VERSION,
            bisection: BisectionSpec::new(range),
            pairs: 30,
        }
    }

    /// Runs of one verification.
    pub(crate) fn verification_runs(&self) -> u64 {
        2 * u64::from(self.pairs)
    }

    /// Runs of each end with which the search begins; this many already exist.
    pub(crate) fn attempts(&self, known: u32) -> u32 {
        (self.bisection.attempts).unwrap_or(match self.bisection.strategy {
            Strategy::Adaptive => known.max(1),
            Strategy::Pinpoint => ATTEMPTS,
        })
    }

    /// A verification of the range's own ends.
    pub(crate) fn verification(&self) -> PairwiseSpec {
        let unnamed = PairwiseSpec {
            chart: self.bisection.chart.clone(),
            direction: self.bisection.direction,
            pairs: self.pairs,
            seed: self.bisection.seed,
            max_time: self.bisection.max_time,
            aggregate: self.bisection.aggregate,
            limits: self.bisection.limits.clone(),
            bots: self.bisection.bots.clone(),
            retry: self.bisection.retry.clone(),
            // As the search, which knows them since this version.
            skip_same_builds: self.bisection.version >= 3,
            // As the strategy, and as in jobs of earlier versions.
            published: self.bisection.strategy == Strategy::Pinpoint || self.version < 3,
            ..PairwiseSpec::unnamed()
        };
        match &self.bisection.range {
            Range::Between { good, bad } => PairwiseSpec {
                sides: PairwiseSpec::new(good.clone(), bad.clone()).sides,
                ..unnamed
            },
            Range::Counted { .. } => unnamed,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if !(1..=CULPRIT_FINDER_SPEC_VERSION).contains(&self.version) {
            return Err(SpecError::Version {
                found: self.version,
            });
        }
        check_pairs(self.pairs)?;
        let search = BisectionSpec {
            attempts: Some(self.attempts(0)),
            ..self.bisection.clone()
        };
        let needed = 2 * self.verification_runs() + first_runs(&search);
        match self.bisection.max_runs.filter(|allowed| *allowed < needed) {
            Some(allowed) => Err(SpecError::Budget {
                what: "runs",
                needed,
                allowed,
            }),
            None => Ok(()),
        }
    }
}

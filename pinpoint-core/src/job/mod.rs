//! A job: one of the three questions, with its spec, its machine and its outcome.
//!
//! | kind | spec | machine | outcome |
//! | --- | --- | --- | --- |
//! | `bisection` | [`BisectionSpec`] | [`Bisection`] | [`Outcome`] |
//! | `pairwise` | [`PairwiseSpec`] | [`Pairwise`] | [`PairwiseOutcome`] |
//! | `culprit_finder` | [`CulpritFinderSpec`] | [`CulpritFinder`] | [`CulpritFinderOutcome`] |
//!
//! An outcome speaks of positions. A [`JobResult`] says the same with the names of
//! commits, and names the commit to blame.
//!
//! [`BisectionSpec`]: crate::BisectionSpec
//! [`Bisection`]: crate::Bisection
//! [`Outcome`]: crate::Outcome
//! [`PairwiseSpec`]: crate::PairwiseSpec
//! [`Pairwise`]: crate::Pairwise
//! [`PairwiseOutcome`]: crate::PairwiseOutcome
//! [`CulpritFinderSpec`]: crate::CulpritFinderSpec
//! [`CulpritFinder`]: crate::CulpritFinder
//! [`CulpritFinderOutcome`]: crate::CulpritFinderOutcome

mod kind;
mod lost_pairs;
mod machine;
mod metric;
mod naming;
mod result;
mod search;
mod state;
mod unvarying;

pub use self::kind::{JobKind, JobOutcome, JobSpec, UnknownJobKind};
pub use self::machine::{FindMetric, JobMachine};
pub use self::metric::{DirectionSource, MeasuredMetric};
pub use self::naming::{Blamed, ResultError, ResultSource};
pub use self::result::{
    BisectionResult, Confirmation, CulpritFinderResult, JobResult, NamedChart, NamedCulprit,
    PairwiseResult, RESULT_VERSION,
};
pub use self::search::Search;
pub use self::state::{JobState, UnknownJobState};

//! A and B: two commits compared in pairs of runs.
//!
//! Two runs back to back on one bot share the disturbances of that bot, so that their difference is
//! that of the commits. A difference of 1 % can be seen where runs of the same commit differ by 10
//! % from hour to hour.

mod columns;
mod comparison;
mod early_stopping;
mod machine;
mod outcome;
mod spec;

pub use self::machine::Pairwise;
pub use self::outcome::{
    ChartComparison, PAIRWISE_OUTCOME_VERSION, PairwiseOutcome, PairwiseStatus, fewest_pairs,
};
pub(crate) use self::spec::check_pairs;
pub use self::spec::{PAIRWISE_SPEC_VERSION, PairwiseSpec, Sides};

//! The machines, for callers who build and run the benchmark themselves.

mod batches;
mod bisection;
mod culprit_finder;
mod methods;
mod pairwise;
mod reported_runs;

pub(crate) use batches::caveat;
pub(crate) use bisection::Bisection;
pub(crate) use culprit_finder::CulpritFinder;
pub(crate) use pairwise::{Pairwise, pairwise_outcome};

//! Verify, bisect, verify: the search whose answer has been checked.
//!
//! A bisection looks at many pairs of commits, and in each it may see a change
//! that is not there. So the regression is verified before any commit is
//! searched for, and each culprit is compared with its parent once more, by runs
//! that were not used to choose it.
//!
//! # Runs that are used twice
//!
//! *The verification of the ends, as the first samples of the search.* The search compares the ends
//! first in any case and continues only if they differ: reusing the runs that already showed it
//! selects nothing that the search would not select itself. It makes the ends look a little further
//! apart than they are, but no culprit benefits from that, since
//!
//! *the runs of the search never confirm a culprit*: it was chosen because they
//! differ, and would be found to differ again. A confirmation makes new runs.
//!
//! *The verification of the ends, as that of a culprit*, if the culprit is the one
//! end and its parent the other: the question is the same, and it was asked before
//! any choice was made.

mod machine;
mod outcome;
mod routes;
mod spec;

pub use self::machine::CulpritFinder;
pub use self::outcome::{CULPRIT_FINDER_OUTCOME_VERSION, CheckedCulprit, CulpritFinderOutcome};
pub use self::spec::{CULPRIT_FINDER_SPEC_VERSION, CulpritFinderSpec};

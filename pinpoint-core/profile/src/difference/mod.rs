//! The differences between the profiles of two builds, and their certainty.
//!
//! Each run of a side gives one profile. For each function, its own cost is compared over the runs:
//! in pairs by Wilcoxon's signed-rank test, which gives the pseudomedian of the differences and its
//! interval; else by Mann and Whitney's, with the shift of Hodges and Lehmann. Functions with at
//! least 0.1 % of a side are listed. These and all others that cost as much over all runs are
//! tested, and their p-values adjusted for their number (Benjamini and Hochberg): a difference with
//! an adjusted p of at most 0.05 is *certain*, so that of two profiles of the same build a function
//! is named in one comparison of twenty at most. Where too few runs cannot give such a p, none is
//! given. Functions that were seen in a few runs only, as most of a profiler with a hundred samples
//! a second are, cannot have a small p-value and do not count among the many (Tarone; Gilbert).
//!
//! Shares come from means, which add up: the own differences of all functions are the
//! whole difference.
//!
//! Threads, by their names, and categories of costs are compared in the same way (`parts.rs`), and
//! so are, for pictures, the paths of the call tree (`stack_paths.rs`) and the callers of a
//! function (`caller_paths.rs`), and the entries of timelines (`entries.rs`).
//!
//! Go's garbage collector counts as one function (`collector.rs`).
//!
//! Cost that a function gains and its callees lose, or the other way round, is *moved*: that is the
//! effect of inlining, and not a change.

mod caller_paths;
mod calls;
mod entries;
mod error;
mod explanation;
mod functions;
mod groups;
mod moved;
mod options;
mod parts;
mod path;
mod renamed;
mod runs;
mod stack_paths;
mod statistics;
mod thread_name;
mod worth;

pub use caller_paths::CallerPathChange;
pub use calls::{CallChange, StackComparison, compare_stacks};
pub use entries::{
    EntryComparison, EntryGroup, EntryGroups, EntryKind, EntryTrack, compare_entries,
};
pub use error::ExplainError;
pub use explanation::{
    Change, Design, Explanation, FunctionChange, PartChange, PathStep, UnlistedFunctions, Verdict,
};
pub use functions::explain;
pub use groups::Grouping;
pub use options::ExplainOptions;
pub use renamed::RenameGuess;
pub use stack_paths::PathChange;
pub use statistics::Detectable;

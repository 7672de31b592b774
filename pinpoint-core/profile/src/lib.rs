//! Profiles: reading them, and comparing those of two builds.
//!
//! A [`Profile`] is the same for every profiler: functions, stacks as a tree, samples with a
//! weight. [`Profile::read`] recognizes the format by its content, plain or compressed with gzip;
//! each format has its own file in `read/`, and [`ProfileFormat`] lists them. A profile that is
//! damaged anywhere gives an error with the place, never half of its samples.
//!
//! [`explain`] compares the profiles of two builds: `identity` finds the functions that are the
//! same in both, `difference` their changes. [`export()`] writes them for other tools.
//! [`compare_stacks`] gives the changes of each stack and between callers and callees. [`Owner`] is
//! the owner of a function's code, and [`CostCategory`] the category of its cost. [`Timeline`] has
//! the events and calls of one run over time, for flame charts and trees, and [`compare_entries`]
//! gives the changes of these trees over all runs. [`SourceDiff`] matches changes with the lines
//! that a commit changes, and [`shows_difference`] compares them with a job's measurement without a
//! profiler. [`FormatsDiffer`] warns of sides that were recorded by different tools.
//!
//! Anyone can make a profile: limits are checked while it grows, nothing recurses over stacks, and
//! exceeding one is an error.
//!
//! Everything here is pure.

mod agreement;
mod builder;
mod bundles;
mod collector;
mod comparability;
mod cost_category;
mod costs;
mod difference;
mod error;
mod export;
mod flame_chart;
mod format;
mod identity;
mod matching;
mod merge;
mod model;
mod names;
mod owner;
mod read;
mod recognize;
mod source_diff;
mod stack_tree;
mod symbol;
mod timeline;
mod window;

pub use agreement::shows_difference;
pub use comparability::{CallersMissing, FormatsDiffer, UnmatchedParts};
pub use cost_category::CostCategory;
pub use costs::Costs;
pub use difference::{
    CallChange, CallerPathChange, Change, Design, Detectable, EntryComparison, EntryGroup,
    EntryGroups, EntryKind, EntryTrack, ExplainError, ExplainOptions, Explanation, FunctionChange,
    Grouping, PartChange, PathChange, PathStep, RenameGuess, StackComparison, UnlistedFunctions,
    Verdict, compare_entries, compare_stacks, explain,
};
pub use error::{ProfileWarning, ReadProfileError};
pub use export::{ExportError, ExportFormat, ExportFormatError, Exported, export};
pub use flame_chart::{ChartCall, ChartTrack};
pub use format::ProfileFormat;
pub use identity::Function;
pub use matching::PlaceMatch;
pub use model::{
    Call, Frame, FrameId, Mark, Profile, ProfileUnit, Sample, StackId, Stacks, ThreadId,
};
pub use names::{NameId, Names};
pub use owner::Owner;
pub use source_diff::{DiffMatch, DiffMatchKind, SourceDiff};
pub use stack_tree::{StackNode, StackTree};
pub use timeline::{
    CallFrames, Category, Entry, EntryId, EntryTree, EventKey, EventKeyError, FunctionId, Kind,
    KindId, Nesting, PageFrame, ScriptFunction, Source, Span, StackPart, Timeline, Track,
};
pub use window::{Window, WindowError};

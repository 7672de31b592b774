//! The search for the commit that changed a benchmark.
mod action;
mod commit;
mod event;
mod executor;
mod job;
mod journal;
pub mod results;

pub use action::{Action, Position, Task};
pub use commit::{CombinedCommit, Commit, ModifiedDependency, Patch};
pub use event::Event;
pub use executor::{
    BuildReport, BuildRequest, Executor, ExecutorError, Key, ListRequest, Listing, Located,
    RunReport, RunRequest, Series, Usage,
};
pub use job::{JobState, UnknownJobState};
pub use journal::{Detail, Journal, JournalError, Record};

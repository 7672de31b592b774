//! The search for the commit that changed a benchmark.
mod action;
mod atlas;
mod bisection;
mod commit;
mod drive;
mod event;
mod executor;
mod job;
mod journal;
mod lab;
mod machine;
mod outcome;
mod pinpoint;
mod random;
pub mod results;
mod spec;

pub use action::{Action, Position, Task};
pub use atlas::Atlas;
pub use bisection::{Bisection, MeasuredCommit, OpenRange, Progress, ReplayError};
pub use commit::{CombinedCommit, Commit, ModifiedDependency, Patch};
pub use drive::{DriveError, Driven, Moment, Stop, drive, drive_watched};
pub use event::Event;
pub use executor::{
    BuildReport, BuildRequest, Executor, ExecutorError, Key, ListRequest, Listing, Located,
    RunReport, RunRequest, Series, Usage,
};
pub use job::{JobState, UnknownJobState};
pub use journal::{Detail, Journal, JournalError, Record};
pub use machine::{Machine, MachineError};
pub use outcome::{
    Comparison, Culprit, Effect, EffectOf, OUTCOME_VERSION, Outcome, Skipped, Status, Stopped,
};
pub use pinpoint_compare::{
    Direction, FunctionalComparison, Interval, PerformanceComparison, Verdict,
};
pub use spec::{BisectionSpec, Magnitude, Range, RetryPolicy, SPEC_VERSION, SpecError, Strategy};

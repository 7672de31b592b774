//! The search for the commit that changed a benchmark.
//!
//! The heart is a [`Machine`] that does no I/O. It handles each [`Event`], and decides
//! on the next [`Action`]: list a range,
//! build a commit, run the benchmark once or in a pair. It reads no clock and no random
//! source but its seed, so that the same spec and the same events in the same
//! order give the same actions and the same [`Outcome`], bit for bit. A saved
//! search is its spec and its events.
//!
//! There are two ways to use it.
//!
//! # Bring your own loop
//!
//! [`Bisection`] is the machine. Poll it for actions, carry them out in any way, and report the
//! result of each as an event. Its documentation shows a whole search.
//!
//! # Bring an executor and a journal
//!
//! [`drive`] runs the loop on the caller's async runtime. An [`Executor`] lists,
//! builds and runs; a [`Journal`] keeps every fact, written before the machine
//! handles it. A job that was killed is driven again with the same journal, and
//! nothing that is written there is done twice.
//!
//! Work that ends with its process is an [`InProcess`] executor, of two methods. Work elsewhere,
//! which outlives the process, is an [`Executor`]: it is started, its [`Ticket`] is journaled, and
//! this process or the next one waits for it.
//!
//! ```
//! use std::time::Duration;
//!
//! use async_trait::async_trait;
//! use pinpoint_core::prelude::*;
//!
//! /// Commits are numbers, and the commit 5 is where it became slower.
//! struct Numbers;
//!
//! #[async_trait]
//! impl InProcess for Numbers {
//!     async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
//!         let number = |commit: &CombinedCommit| commit.main.git_hash.parse::<u64>().unwrap();
//!         let count = number(&request.higher) - number(&request.lower) - 1;
//!         Ok(Listing::new(request, count))
//!     }
//!
//!     async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
//!         Ok(BuildReport::built(match &request.commit {
//!             Located::Commit(commit) => commit.clone(),
//!             // The range begins after the commit 0.
//!             Located::Offset { offset, .. } => Commit::new("numbers", (offset + 1).to_string()).into(),
//!         }))
//!     }
//!
//!     async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
//!         let slow = request.variant.commit.main.git_hash.parse::<u64>().unwrap() >= 5;
//!         let time = if slow { 12.0 } else { 10.0 } + 0.01 * f64::from(request.index % 7);
//!         Ok(RunReport::default().value("time", time))
//!     }
//! }
//!
//! #[async_trait]
//! impl Clock for Numbers {
//!     async fn sleep(&self, duration: Duration) {
//!         tokio::time::sleep(duration).await;
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let end = |number: &str| CombinedCommit::from(Commit::new("numbers", number));
//! let spec = BisectionSpec::new(Range::Between { good: end("0"), bad: end("9") });
//! let machine = Bisection::new(spec)?;
//! let mut journal = MemoryJournal::new("a job");
//! let never = std::future::pending();
//! let found = drive(machine, &Numbers, &mut journal, &Numbers, never).await?;
//! let culprit = &found.outcome.culprits[0];
//! assert_eq!(culprit.commit_name, Some(end("5")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Bring another driver
//!
//! [`drive`] is a short loop over an [`Engine`], which returns the next actions and takes events,
//! and over the pure functions of [`translate`]. A workflow, or a custom loop, uses the same.
//!
//! # Contents
//!
//! | | |
//! | --- | --- |
//! | the questions | find the commit: [`Bisection`]; compare two: [`Pairwise`]; both: [`CulpritFinder`] |
//! | specs | [`BisectionSpec`], [`PairwiseSpec`], [`CulpritFinderSpec`], [`Range`], [`Strategy`], [`Magnitude`], [`RetryPolicy`] |
//! | commits | [`CombinedCommit`], [`Commit`], [`ModifiedDependency`], [`Patch`] |
//! | the machine | [`Machine`], [`Progress`] |
//! | its actions and events | [`Action`], [`Task`], [`Position`], [`Event`] |
//! | outcomes | [`Outcome`], [`PairwiseOutcome`], [`CulpritFinderOutcome`], [`Culprit`], [`Effect`], [`Comparison`], [`Posterior`] |
//! | jobs | [`JobSpec`], [`JobMachine`], [`JobOutcome`], [`JobState`], [`FindMetric`] |
//! | the loop | [`drive`], [`Driver`], [`Stop`], [`DriveError`], [`Clock`] |
//! | the state that follows from a journal | [`Engine`], [`Answers`], [`CommitNames`], [`CommitOrder`], [`translate`] |
//! | the world | [`Executor`], [`InProcess`], [`Request`], [`Report`], [`Ticket`], [`ExecutorError`] |
//! | the memory of a job | [`Journal`], [`Record`] |
//! | outputs of benchmarks | [`results`] |
//! | requests of clients and their answers | [`api`] |
//! | bots that run benchmarks | [`bots`] |
//! | suspicion of commits by their files | [`suspicion`] |
//! | accuracy and cost of a strategy | [`simulation`] |
//!
//! The statistics are those of the crate `pinpoint-compare`; the types that an outcome
//! shows are exported here as well.

#![forbid(unsafe_code)]

mod action;
mod adaptive;
mod aggregate;
mod answers;
#[cfg(feature = "api")]
pub mod api;
mod bisection;
#[cfg(feature = "bots")]
pub mod bots;
mod budget;
mod clock;
mod commit;
mod commit_names;
mod commit_order;
mod culprit_finder;
mod drive;
mod engine;
mod event;
mod executor;
pub mod job;
mod journal;
mod machine;
mod metric;
mod outcome;
mod pairwise;
mod pinpoint;
/// Profiles: reading them, and comparing those of two builds.
#[cfg(feature = "profile")]
pub mod profile {
    pub use pinpoint_profile::*;

    pub use crate::waiting_time::{LongerWait, longer_wait};
}
mod random;
mod report;
mod request;
#[cfg(feature = "results")]
pub mod results;
mod rotation;
mod search_state;
#[cfg(feature = "simulation")]
pub mod simulation;
mod spec;
mod strategy;
pub mod suspicion;
pub mod translate;
mod unit;
#[cfg(feature = "profile")]
mod waiting_time;

pub use action::{Action, Position, Task};
pub use aggregate::{
    Aggregate, AggregateError, Filter, Filters, Method, UnknownAggregate, UnknownSubtest,
};
pub use answers::{Answered, Answers};
pub use bisection::{Bisection, MeasuredCommit, Progress, ReplayError};
pub use clock::Clock;
pub use commit::{CombinedCommit, Commit, ModifiedDependency, Patch};
pub use commit_names::CommitNames;
pub use commit_order::CommitOrder;
pub use culprit_finder::{
    CULPRIT_FINDER_OUTCOME_VERSION, CULPRIT_FINDER_SPEC_VERSION, CheckedCulprit, CulpritFinder,
    CulpritFinderOutcome, CulpritFinderSpec,
};
pub use drive::{DriveError, DriveEvent, Driven, Driver, Stop, drive, replay};
pub use engine::{Applied, Engine};
pub use event::{Event, PairedRun};
pub use executor::{Executor, ExecutorError, Heartbeat, InProcess, Ticket};
pub use job::{
    DirectionSource, FindMetric, JobKind, JobMachine, JobOutcome, JobSpec, JobState,
    MeasuredMetric, Search, UnknownJobKind, UnknownJobState,
};
pub use journal::{
    DetailVersion1, JobKey, Journal, JournalError, MemoryJournal, Record, RecordVersion1,
};
pub use machine::{Charts, Machine, MachineError};
pub use metric::{
    ChartChoice, Measure, Metric, MetricSource, NoMetric, OtherUnit, deciding_chart, metric_of,
};
pub use outcome::{
    CommonFailure, Comparison, Culprit, Effect, EffectOf, LargestChange, OUTCOME_VERSION,
    OtherChange, Outcome, Posterior, Skipped, Span, Status, Stopped, Unchanged, Unmeasured,
};
pub use pairwise::{
    ChartComparison, PAIRWISE_OUTCOME_VERSION, PAIRWISE_SPEC_VERSION, Pairwise, PairwiseOutcome,
    PairwiseSpec, PairwiseStatus, Sides, fewest_pairs,
};
pub use pinpoint_compare::{
    Direction, FunctionalComparison, Interval, PairwiseComparison, PerformanceComparison, Verdict,
};
pub use random::SplitMix64;
pub use report::{
    Artifact, BuildReport, DependencyChange, Followed, Listing, PairReport, Report, RunReport,
    RunTask, Series, Usage,
};
pub use request::{
    BuildRequest, FindMetricRequest, Key, ListRequest, Located, Request, RunPairRequest,
    RunRequest, Variant,
};
pub use spec::{
    BisectionSpec, Limits, Magnitude, Range, RetryPolicy, SPEC_VERSION, SpecError, Strategy,
};
pub use strategy::OpenRange;
pub use unit::{convert_factor, direction_of, is_memory};

/// The items that most embedders need.
pub mod prelude {
    pub use crate::{
        Artifact, Bisection, BisectionSpec, BuildReport, BuildRequest, Clock, CombinedCommit,
        Commit, Direction, DriveError, Executor, ExecutorError, Heartbeat, InProcess, JobKey,
        Journal, JournalError, ListRequest, Listing, Located, Magnitude, MemoryJournal, Range,
        Record, Report, Request, RunReport, RunRequest, Stop, Ticket,
    };
    // By its full path, since `crate::drive` is the module as well.
    pub use crate::drive::drive;
}

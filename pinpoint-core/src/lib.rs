//! The search for the commit that changed a benchmark.
//!
//! The heart is a [`Machine`] that does no I/O. It is told what happened, an
//! [`Event`], and answers what it wants done, an [`Action`]: list a range,
//! build a commit, run the benchmark once or in a pair. It reads no clock and no random
//! source but its seed, so that the same spec and the same events in the same
//! order give the same actions and the same [`Outcome`], bit for bit. A saved
//! search is its spec and its events.
//!
//! There are two ways to use it.
//!
//! # Bring your own loop
//!
//! [`Bisection`] is the machine. Poll it for actions, do them however you like,
//! and tell it what came of each. Its own documentation shows a whole search.
//!
//! # Bring an executor and a journal
//!
//! [`drive`] runs the loop on the caller's async runtime. An [`Executor`] lists,
//! builds and runs; a [`Journal`] keeps every event, written before the machine
//! hears it. A job that was killed is driven again with the same journal, and
//! nothing that is written there is done twice.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::time::Duration;
//!
//! use async_trait::async_trait;
//! use pinpoint_core::*;
//!
//! /// Commits are numbers, and the commit 5 is where it became slower.
//! struct Numbers;
//!
//! #[async_trait]
//! impl Executor for Numbers {
//!     async fn list(&self, request: ListRequest) -> Result<Listing, ExecutorError> {
//!         let number = |commit: &CombinedCommit| commit.main.git_hash.parse::<u64>().unwrap();
//!         let count = number(&request.higher) - number(&request.lower) - 1;
//!         Ok(Listing { lower: request.lower, higher: request.higher, count, changes: Vec::new() })
//!     }
//!
//!     async fn build(&self, request: BuildRequest) -> Result<BuildReport, ExecutorError> {
//!         let commit = match request.commit {
//!             Located::Commit(commit) => commit,
//!             // The range begins behind the commit 0.
//!             Located::Offset { offset, .. } => Commit::new("numbers", (offset + 1).to_string()).into(),
//!         };
//!         Ok(BuildReport { commit, failure: None, cached: false, duration: 0, log: None })
//!     }
//!
//!     async fn run(&self, request: RunRequest) -> Result<RunReport, ExecutorError> {
//!         let slow = request.commit.main.git_hash.parse::<u64>().unwrap() >= 5;
//!         let time = if slow { 12.0 } else { 10.0 } + 0.01 * f64::from(request.index % 7);
//!         Ok(RunReport {
//!             commit: request.commit,
//!             index: request.index,
//!             bot: None,
//!             started: 0,
//!             chart: None,
//!             failure: None,
//!             charts: BTreeMap::from([("time".into(), Series { values: vec![time], ..Series::default() })]),
//!             usage: None,
//!             exit_code: Some(0),
//!             log: None,
//!         })
//!     }
//!
//!     async fn run_pair(&self, _: RunPairRequest) -> Result<PairReport, ExecutorError> {
//!         Err(ExecutorError::Refused("a bisection asks for no pairs".into()))
//!     }
//!
//!     async fn cancel(&self, _: Key) -> Result<(), ExecutorError> {
//!         Ok(())
//!     }
//!
//!     async fn sleep(&self, _: Duration) {}
//! }
//!
//! /// Forgets everything when the process ends; a real one writes to a disk.
//! #[derive(Default)]
//! struct Memory(Vec<Record>);
//!
//! #[async_trait]
//! impl Journal for Memory {
//!     fn job(&self) -> &str {
//!         "a job"
//!     }
//!
//!     async fn records(&mut self) -> Result<Vec<Record>, JournalError> {
//!         Ok(self.0.clone())
//!     }
//!
//!     async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
//!         self.0.push(record.clone());
//!         Ok(())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let end = |number: &str| CombinedCommit::from(Commit::new("numbers", number));
//! let spec = BisectionSpec::new(Range::Between { good: end("0"), bad: end("9") });
//! let machine = Bisection::new(spec)?;
//! let found = drive(machine, &Numbers, &mut Memory::default(), std::future::pending()).await?;
//! let culprit = found.outcome.culprits[0].commit;
//! assert_eq!(found.atlas.commit(culprit), Some(&end("5")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to find what
//!
//! | | |
//! | --- | --- |
//! | the questions | which commit: [`Bisection`]; do two differ: [`Pairwise`]; both: [`CulpritFinder`] |
//! | what is asked | [`BisectionSpec`], [`PairwiseSpec`], [`CulpritFinderSpec`], [`Range`], [`Strategy`], [`Magnitude`], [`RetryPolicy`] |
//! | what is built | [`CombinedCommit`], [`Commit`], [`ModifiedDependency`], [`Patch`] |
//! | the machine | [`Machine`], [`Progress`] |
//! | what it says and hears | [`Action`], [`Task`], [`Position`], [`Event`] |
//! | what it found | [`Outcome`], [`PairwiseOutcome`], [`CulpritFinderOutcome`], [`Culprit`], [`Effect`], [`Comparison`], [`Posterior`] |
//! | the loop | [`drive`], [`drive_watched`], [`Atlas`], [`Stop`], [`DriveError`] |
//! | the world behind it | [`Executor`], its requests and reports, [`ExecutorError`] |
//! | the memory of a job | [`Journal`], [`Record`], [`JobState`] |
//! | what a benchmark printed | [`results`] |
//! | what clients ask and hear | [`api`] |
//! | where benchmarks run | [`bots`] |
//! | how often a strategy is right, and what it costs | [`simulation`] |
//!
//! The statistics are those of the crate `pinpoint-compare`; what an outcome
//! shows of them is exported here as well.

#![forbid(unsafe_code)]

mod action;
mod adaptive;
#[cfg(feature = "api")]
pub mod api;
mod atlas;
mod bisection;
#[cfg(feature = "bots")]
pub mod bots;
mod budget;
mod commit;
mod culprit_finder;
mod drive;
mod event;
mod executor;
mod job;
mod journal;
mod lab;
mod machine;
mod outcome;
mod pairwise;
mod pinpoint;
mod random;
#[cfg(feature = "results")]
pub mod results;
#[cfg(feature = "simulation")]
pub mod simulation;
mod spec;

pub use action::{Action, Position, Task};
pub use atlas::Atlas;
pub use bisection::{Bisection, MeasuredCommit, OpenRange, Progress, ReplayError};
pub use commit::{CombinedCommit, Commit, ModifiedDependency, Patch};
pub use culprit_finder::{
    CULPRIT_FINDER_OUTCOME_VERSION, CULPRIT_FINDER_SPEC_VERSION, CheckedCulprit, CulpritFinder,
    CulpritFinderOutcome, CulpritFinderSpec,
};
pub use drive::{DriveError, Driven, Moment, Stop, drive, drive_watched};
pub use event::{Event, PairedRun};
pub use executor::{
    BuildReport, BuildRequest, DependencyChange, Executor, ExecutorError, Followed, Key,
    ListRequest, Listing, Located, PairReport, RunPairRequest, RunReport, RunRequest, Series,
    Usage, Variant,
};
pub use job::{JobState, UnknownJobState};
pub use journal::{Detail, Journal, JournalError, Record};
pub use machine::{Charts, Machine, MachineError};
pub use outcome::{
    Comparison, Culprit, Effect, EffectOf, OUTCOME_VERSION, Outcome, Posterior, Skipped, Span,
    Status, Stopped, Unmeasured,
};
pub use pairwise::{
    ChartComparison, PAIRWISE_OUTCOME_VERSION, PAIRWISE_SPEC_VERSION, Pairwise, PairwiseOutcome,
    PairwiseSpec, PairwiseStatus, Sides,
};
pub use pinpoint_compare::{
    Direction, FunctionalComparison, Interval, PairwiseComparison, PerformanceComparison, Verdict,
};
pub use spec::{BisectionSpec, Magnitude, Range, RetryPolicy, SPEC_VERSION, SpecError, Strategy};

//! The life of a job: one definition of it for the command line, Python, a service and its workers,
//! over any store and any executor.
//!
//! A [`JobRequest`] describes a job for the store. The job is taken ([`TakenJob::take`]), worked on
//! until it ends or this process has to stop ([`TakenJob::work`]), and released. An idle job is
//! ended by [`TakenJob::cancel`], and any other by [`cancel`]. [`machine_of`] and [`stored_result`]
//! show a job without taking it, [`waiting()`] returns the reason why one waits, and
//! [`interrupted`] finds jobs whose process is gone.
//!
//! An active job is held by a lock, against other processes of this machine, and by a lease,
//! against other machines. The lease is renewed during the work; a worker that loses it stops.
//!
//! The ends of the outputs of its runs, and the other small files that its report needs, go with it
//! through the store, into the directory of the next worker.
//!
//! # Traces
//!
//! With a subscriber of [`tracing`], the work of a process on a job is a span `work` with the id of
//! that `job` and its `bot`, around those of [`drive`](pinpoint_core::drive), in which each `build`
//! and `run` is one more. Its field `traceparent` names its trace: see [`TraceParent`]. The end of
//! a job is an event.
//!
//! # Cancellation
//!
//! Anyone may request it in the store while a job is active. The worker notices within half a
//! second, ends all work in progress, and keeps the result as far as it is known. Resuming a
//! canceled job withdraws the request. A job whose worker was killed while ending continues to end.
//! A job without a worker is canceled by [`TakenJob::cancel`], or by [`TakenJob::cancel_with`] if
//! builds and runs may be in progress elsewhere.
//!
//! # A custom executor
//!
//! ```
//! use std::future::pending;
//!
//! use async_trait::async_trait;
//! use pinpoint_backends::job::{TakenJob, Worker};
//! use pinpoint_backends::store::{JobStore, NewJob};
//! use pinpoint_backends::{job_dir, owner};
//! use pinpoint_core::job::{JobResult, ResultError, ResultSource};
//! use pinpoint_core::prelude::*;
//!
//! /// Commits are numbers, and the commit 5 is where it became slower.
//! struct Numbers;
//!
//! fn commit(number: u64) -> CombinedCommit {
//!     Commit::new("numbers", number.to_string()).into()
//! }
//!
//! fn named(located: &Located) -> CombinedCommit {
//!     match located {
//!         Located::Commit(commit) => commit.clone(),
//!         // The range begins after the commit 0.
//!         Located::Offset { offset, .. } => commit(offset + 1),
//!     }
//! }
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
//!         Ok(BuildReport::built(named(&request.commit)))
//!     }
//!
//!     async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
//!         let slow = request.variant.commit.main.git_hash.parse::<u64>().unwrap() >= 5;
//!         let time = if slow { 12.0 } else { 10.0 } + 0.01 * f64::from(request.index % 7);
//!         Ok(RunReport::new(0).value("time", time))
//!     }
//! }
//!
//! #[async_trait]
//! impl ResultSource for Numbers {
//!     async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
//!         Ok(located.iter().map(named).collect())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let state_dir = directory.path();
//! let store = JobStore::open(state_dir).await?;
//! let spec = BisectionSpec {
//!     magnitude: Some(Magnitude::Absolute(1.0)),
//!     ..BisectionSpec::new(Range::Between { good: commit(0), bad: commit(9) })
//! };
//! let job = NewJob { title: "the slow number".into(), ..NewJob::new(spec)? };
//! let id = store.jobs().create(&job).await?;
//!
//! // From here on the same again after a kill: nothing that was recorded is done twice.
//! let owner = owner(state_dir, "this machine")?;
//! let taken = TakenJob::take(&store, &id, &owner, &job_dir(state_dir, id.as_str())).await?;
//! let worker = Worker { executor: &Numbers, source: &Numbers };
//! let result = taken.work(worker, pending(), |_, _| {}).await;
//! taken.release().await;
//! if let JobResult::Bisection(found) = result? {
//!     assert_eq!(found.culprits[0].blamed.git_hash, "5");
//! }
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "local")]
mod cancel;
#[cfg(feature = "local")]
mod config;
#[cfg(feature = "api")]
mod configured;
mod error;
#[cfg(feature = "local")]
mod explained;
mod files;
#[cfg(feature = "api")]
mod legacy;
mod proof;
#[cfg(feature = "local")]
mod request;
#[cfg(feature = "api")]
mod scheduled;
mod stored;
mod taken;
mod trace;
mod waiting;

#[cfg(feature = "local")]
pub use cancel::{CancelOptions, cancel};
#[cfg(feature = "local")]
pub use config::{CommandLine, JobConfig, inherited_values, open_local, open_provided};
#[cfg(feature = "api")]
pub use configured::{RequestError, WorkloadRequest};
pub use error::JobError;
#[cfg(feature = "temporal")]
pub(crate) use error::is_infrastructure;
#[cfg(feature = "local")]
pub use explained::{
    Explained, ExplainedChanges, MissingProfile, NotExplicable, ProfilePair, explain_job,
    profile_pairs,
};
pub use files::{PATCH, fetch_files};
#[cfg(feature = "api")]
pub use legacy::{LegacyContext, legacy_response};
#[cfg(feature = "local")]
pub use request::{JobRequest, RequestedMeasure};
#[cfg(feature = "api")]
pub use scheduled::ScheduleRequest;
pub use stored::{kind_of, machine_of, spec_of, stored_result};
#[cfg(feature = "temporal")]
pub(crate) use taken::message;
pub use taken::{TakeOptions, TakenJob, Worker};
#[cfg(feature = "temporal")]
pub(crate) use trace::trace_end;
pub use trace::{NoTraceParent, TraceParent};
#[cfg(feature = "temporal")]
pub(crate) use waiting::ON_TEMPORAL;
pub use waiting::{WaitingReason, interrupted, waiting};

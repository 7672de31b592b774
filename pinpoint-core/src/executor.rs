//! The contract of executors: for a process on this machine, a build of six hours
//! on another one, and a service.
//!
//! Work is *started* and *waited for*. [`Executor::start`] gives a [`Ticket`]. A
//! ticket with a handle names work that outlives this process: it is journaled
//! before anything waits for it, so that the next process waits for the same work.
//! A ticket without one is for work inside this process.
//!
//! Three kinds of trouble are kept apart, because a search treats them differently. A *failed
//! build* skips the commit. A *failed run* is a sample: pass/fail regressions are found with it.
//! *Infrastructure trouble*, an [`ExecutorError`], says nothing about the commit, and is retried.
//!
//! An embedder whose work ends with its process implements [`InProcess`]: `build`
//! and `run`, and has the rest by default.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    BuildReport, BuildRequest, FindMetricRequest, Key, ListRequest, Listing, Metric, PairReport,
    Report, Request, RunPairRequest, RunReport, RunRequest,
};

/// Work that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The key of the request.
    pub key: Key,
    /// The id by which another process finds the work: of a build, of a task. Absent for
    /// work that ends with this process.
    pub handle: Option<String>,
}

impl Ticket {
    /// The ticket of work that ends with this process.
    pub fn in_process(key: Key) -> Self {
        Self { key, handle: None }
    }

    /// The ticket of work that outlives this process.
    pub fn durable(key: Key, handle: impl Into<String>) -> Self {
        Self {
            key,
            handle: Some(handle.into()),
        }
    }

    /// Returns true if the work outlives the process that started it.
    pub fn is_durable(&self) -> bool {
        self.handle.is_some()
    }
}

/// The reason why an executor could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorError {
    /// Trouble that may pass: after a pause the request is started again.
    #[error("{0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The ticket's work is not known any more, or was canceled: the request is started
    /// again at once.
    #[error("the work is not known any more")]
    Lost,
    /// The request can't be carried out, now or later: the command does not
    /// exist, the disk is full. The job pauses, and can be resumed once
    /// the cause is fixed.
    #[error("{0}")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Reports that work continues, while it is waited for.
#[derive(Debug, Default)]
pub struct Heartbeat(AtomicU64);

impl Heartbeat {
    /// Reports that the work continues.
    pub fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of reports so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Carries out the requests of a search.
///
/// Methods are called concurrently. Runs are started in the order in which they
/// are to be executed.
///
/// # Tries
///
/// A try is a start and a wait. [`ExecutorError::Unavailable`] and [`ExecutorError::Lost`] end it,
/// from either of the two, and the next one starts the request under the same key, as often as
/// [`RetryPolicy::tries`](crate::RetryPolicy::tries) allows. A wait that exceeds the
/// [`Limits`](crate::Limits) of the job is dropped, its work is canceled, and the try has failed as
/// well. `start` and `cancel` are not limited: the services they call must answer or fail.
///
/// # Work that can't be found by its key
///
/// Where a service gives each piece of work a new id and can't be asked for a key, every start is
/// new work. Work that a process had started but not journaled when it was killed or detached then
/// continues unused, and nothing ends it.
#[async_trait]
pub trait Executor: Send + Sync {
    /// Starts the work. Work under this key that is still running is found, not started twice; work
    /// that was lost or canceled, or that ended without a report, is started anew.
    ///
    /// A request that `wait` answers alone, such as a [`Request::List`], needs
    /// [`Ticket::in_process`] alone.
    async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError>;

    /// Waits for the end of the work. A failed build and a failed run are answers,
    /// not errors.
    ///
    /// It may be called again, and by another process. Work with a handle continues when the future
    /// is dropped; work without one may end with it. While work with a handle is running, the heart
    /// beats at least as often as [`Limits::heartbeat`](crate::Limits::heartbeat) asks.
    async fn wait(
        &self,
        request: &Request,
        ticket: &Ticket,
        heartbeat: &Heartbeat,
    ) -> Result<Report, ExecutorError>;

    /// Ends the work, if it is still running, and returns once it has ended. If the start was not
    /// answered, the ticket has no handle: the key finds the work.
    async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError>;
}

/// An executor for work that ends with this process.
///
/// Each method does its work within its future, and ends it when the future is
/// dropped. Every such type is an [`Executor`].
#[async_trait]
pub trait InProcess: Send + Sync {
    /// Builds a commit. A failed build is an answer, not an error.
    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError>;

    /// Runs the benchmark once. A failed run is an answer, not an error.
    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError>;

    /// The number of commits strictly between two. Needed for ranges that are not
    /// [counted](crate::Range::Counted).
    async fn list(&self, _: &ListRequest) -> Result<Listing, ExecutorError> {
        Err(ExecutorError::Refused(
            "this executor lists no commits: count them when the job is created".into(),
        ))
    }

    /// Runs the benchmark at two commits, one right after the other on the same
    /// bot. When one fails the other one is run nevertheless.
    async fn run_pair(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError> {
        let [first, second] = request.runs();
        Ok(PairReport {
            first: self.run(&first).await?,
            second: self.run(&second).await?,
        })
    }

    /// Finds the metric of the benchmark. Needed for jobs that do not name their
    /// metric.
    async fn find_metric(&self, _: &FindMetricRequest) -> Result<Metric, ExecutorError> {
        Err(ExecutorError::Refused(
            "this executor finds no metric: name a chart when the job is created".into(),
        ))
    }

    /// Returns once nothing is left of the work under this key, whose future was
    /// dropped.
    async fn ended(&self, _: &Key) -> Result<(), ExecutorError> {
        Ok(())
    }
}

#[async_trait]
impl<T: InProcess> Executor for T {
    async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError> {
        Ok(Ticket::in_process(request.key().clone()))
    }

    async fn wait(
        &self,
        request: &Request,
        _: &Ticket,
        _: &Heartbeat,
    ) -> Result<Report, ExecutorError> {
        Ok(match request {
            Request::FindMetric(request) => Report::Metric(self.find_metric(request).await?),
            Request::List(request) => Report::Listed(self.list(request).await?),
            Request::Build(request) => Report::Built(self.build(request).await?),
            Request::Run(request) => Report::Ran(self.run(request).await?),
            Request::RunPair(request) => Report::RanPair(Box::new(self.run_pair(request).await?)),
        })
    }

    async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError> {
        self.ended(&ticket.key).await
    }
}

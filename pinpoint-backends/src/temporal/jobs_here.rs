//! The jobs whose actions this process carries out, each with its executor.
//!
//! An executor stays open for a while after its last action, since the next one mostly
//! comes at once. Meanwhile no other process of this machine works on the job.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pinpoint_core::job::JobState;
use temporalio_sdk::activities::ActivityError;
use tokio::sync::{Mutex, OnceCell};

use super::failures::{from_store, superseded};
use super::metrics::Metrics;
use crate::job::{JobError, TakenJob};
use crate::local::LocalExecutor;
use crate::store::{Job, JobId, JobStore, Lease, LockError, StoreError};
use crate::worker::{WorkerOptions, open_executor};

/// The time for which a job stays open without an action.
const LINGER: Duration = Duration::from_secs(20);

/// The time between two looks whether another process of this machine has released a job.
const LOOK: Duration = Duration::from_millis(200);

/// The time for which an operation on a store that does not answer is tried again.
const PATIENCE: Duration = Duration::from_secs(30);

/// A job that this process works on.
pub(crate) struct JobHere {
    pub(crate) taken: TakenJob,
    pub(crate) executor: LocalExecutor,
}

/// Filled once the job is open. A job in use has more owners than this.
type Entry = Arc<OnceCell<Arc<JobHere>>>;

/// The jobs of this process.
pub(crate) struct JobsHere {
    store: JobStore,
    options: WorkerOptions,
    /// Of the leases.
    owner: String,
    metrics: Metrics,
    open: Mutex<BTreeMap<String, (Entry, Instant)>>,
}

impl JobsHere {
    pub(crate) fn new(
        store: JobStore,
        options: WorkerOptions,
        owner: String,
        metrics: Metrics,
    ) -> Self {
        Self {
            store,
            options,
            owner,
            metrics,
            open: Mutex::default(),
        }
    }

    pub(crate) fn store(&self) -> &JobStore {
        &self.store
    }

    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) async fn read(&self, job: &str) -> Result<Job, ActivityError> {
        self.store.get(job).await.map_err(from_store)
    }

    pub(crate) async fn lease(&self, job: &JobId) -> Result<Lease, ActivityError> {
        match self.store.share_lease(job, &self.owner, PATIENCE).await {
            Err(error @ StoreError::LeaseLost { .. }) => match self.read(job.as_str()).await?.state
            {
                // It waits for somebody to take it again.
                JobState::Pending | JobState::Running => Err(from_store(error)),
                _ => Err(superseded(&error)),
            },
            lease => lease.map_err(from_store),
        }
    }

    /// Releases the lease of a job that has ended.
    pub(crate) async fn release(&self, job: &JobId) -> Result<(), ActivityError> {
        let lease = match self.store.share_lease(job, &self.owner, PATIENCE).await {
            Err(StoreError::LeaseLost { .. } | StoreError::Leased { .. }) => return Ok(()),
            lease => lease.map_err(from_store)?,
        };
        self.store.release(&lease).await.map_err(from_store)
    }

    pub(crate) fn state_dir(&self) -> &Path {
        &self.options.state_dir
    }

    pub(crate) fn machine(&self) -> &str {
        &self.options.machine
    }

    /// Opens a job, or finds it open; it stays open for as long as the answer is kept. Waits
    /// for as long as another process of this machine works on it.
    pub(crate) async fn open(&self, job: &JobId) -> Result<Arc<JobHere>, JobError> {
        let entry = {
            let mut open = self.open.lock().await;
            let (entry, used) = open
                .entry(job.to_string())
                .or_insert_with(|| (Arc::default(), Instant::now()));
            *used = Instant::now();
            Arc::clone(entry)
        };
        let here = entry.get_or_try_init(|| self.begin(job)).await?;
        Ok(Arc::clone(here))
    }

    async fn begin(&self, job: &JobId) -> Result<Arc<JobHere>, JobError> {
        let state_dir = &self.options.state_dir;
        let taken = loop {
            let joined = TakenJob::join(&self.store, job, &self.owner, state_dir, PATIENCE).await;
            match joined {
                Err(JobError::Locked(LockError::Held { .. })) => tokio::time::sleep(LOOK).await,
                joined => break joined?,
            }
        };
        let executor = open_executor(&self.options, taken.job()).await?;
        Ok(Arc::new(JobHere { taken, executor }))
    }

    /// Forgets a job whose lease has changed, once nothing is done with it any more.
    pub(crate) async fn forget(&self, job: &JobId) {
        self.open.lock().await.remove(job.as_str());
    }

    /// Closes jobs that were not used for a while; never returns.
    pub(crate) async fn close_idle(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(LINGER / 4).await;
            self.close(|used| used.elapsed() > LINGER).await;
        }
    }

    /// Closes all jobs that are not in use.
    pub(crate) async fn close_all(&self) {
        self.close(|_| true).await;
    }

    async fn close(&self, fits: impl Fn(&Instant) -> bool) {
        // One that is being opened has another owner, too.
        let is_idle = |entry: &Entry| {
            let is_used = entry.get().is_some_and(|here| Arc::strong_count(here) > 1);
            Arc::strong_count(entry) == 1 && !is_used
        };
        let idle: Vec<_> = {
            let mut open = self.open.lock().await;
            let idle = open.extract_if(.., |_, (entry, used)| is_idle(entry) && fits(used));
            idle.filter_map(|(_, (entry, _))| entry.get().cloned())
                .collect()
        };
        for here in idle {
            here.executor.end().await;
        }
    }
}

//! Workers: processes that take the jobs of bots from a store and carry them out on their machine,
//! one at a time.
//!
//! A worker holds its job by a lease. When it is killed, or does not renew the lease for another
//! reason, another worker continues from the journal; when it comes back, its writes are ignored. A
//! job that can't be carried out is marked as failed, with the reason, and is not taken again until
//! it is resumed. After several such jobs in a row a worker pauses for longer each time, up to a
//! quarter of a minute: a broken machine must not fail a whole queue before anyone notices.
//!
//! Any number of workers share a machine: its lock lets one benchmark run at a time, and none
//! alongside a build. The store knows the workers and their jobs; see [`JobStore::workers`].

mod carry_out;
mod presence;

use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt;
use pinpoint_core::job::JobResult;

use crate::job::{JobError, TakeOptions, TakenJob};
use crate::local::{LocalError, Provisions};
use crate::store::{
    Announcement, Job, JobFilter, JobId, JobStore, LockError, PublicKey, StoreError,
};
#[cfg(feature = "temporal")]
pub(crate) use carry_out::{in_words, open_executor};
pub(crate) use presence::{Presence, WorkerSlot};

/// The least time between queries for a job.
pub(crate) const POLL: Duration = Duration::from_secs(1);

/// The longest pause after trouble.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The time for which a job belongs to a worker that has died.
pub const LEASE: Duration = Duration::from_secs(30);

/// The options of a worker.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// The bots whose jobs it takes.
    pub bots: Vec<String>,
    /// The keys that it trusts, if it takes only signed jobs.
    pub trusted: Option<Vec<PublicKey>>,
    /// The name of its machine.
    pub machine: String,
    /// The directory for its builds and work trees.
    pub state_dir: PathBuf,
    /// The most builds at one time, even if a job allows more.
    pub build_jobs: Option<u32>,
    /// The time left for work in progress, once the worker has to stop.
    pub drain: Duration,
    /// The time after which others may take its job unless it renews the lease: [`LEASE`].
    pub lease: Duration,
    /// True if it examines the state of the machine when it takes a job.
    pub diagnose: bool,
    /// The repositories and builds that it has for jobs created elsewhere.
    pub provisions: Provisions,
}

/// A step of a worker.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerEvent<'a> {
    /// It serves its bots from now on.
    Began(&'a Announcement),
    /// It works on a job.
    Took(&'a Job),
    /// It has released a job, which has ended or not.
    Ended(&'a JobId, &'a Result<JobResult, JobError>),
    /// It can't take a job, for this reason, and will try again.
    NotTaken(&'a JobError),
}

/// The reason why a worker can't start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The state directory can't be used.
    #[error("cannot use {}: {source}; make it writable, or choose another state directory", .path.display())]
    StateDir {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It can't get a place among the workers of this state directory.
    #[error(transparent)]
    Place(#[from] LockError),
    /// The locks of the machine can't be used.
    #[error(transparent)]
    Machine(#[from] LocalError),
    /// The store can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes jobs and carries them out until `stop` resolves. Then the run and the builds in progress
/// are given time to end, and the job is released, so that another worker can take it at once.
///
/// A store that does not answer is polled.
///
/// # Errors
///
/// When the worker can't start.
pub async fn serve(
    store: &JobStore,
    options: &WorkerOptions,
    stop: impl Future<Output = ()>,
    tell: impl FnMut(WorkerEvent<'_>),
) -> Result<(), WorkerError> {
    let place = WorkerSlot::take(options)?;
    let worker = Serving {
        store,
        options,
        owner: place.owner.clone(),
        presence: Presence::new(store, &place, options),
    };
    match worker.presence.announce().await {
        // The announcement is repeated.
        Err(error) if !error.is_passing() => return Err(error.into()),
        _ => {}
    }
    tokio::select! {
        biased;
        () = worker.take_jobs(stop, tell) => {}
        never = worker.presence.keep() => match never {},
    }
    worker.presence.end().await;
    Ok(())
}

/// A worker at work.
struct Serving<'a> {
    store: &'a JobStore,
    options: &'a WorkerOptions,
    /// The owner of the leases.
    owner: String,
    presence: Presence<'a>,
}

impl Serving<'_> {
    async fn take_jobs(
        &self,
        stop: impl Future<Output = ()>,
        mut tell: impl FnMut(WorkerEvent<'_>),
    ) {
        let stop = stop.shared();
        let filter = JobFilter {
            bots: self.options.bots.clone(),
            by_workers: true,
            ..JobFilter::default()
        };
        tell(WorkerEvent::Began(&self.presence.announcement()));
        let mut pauses = Pauses::default();
        while stop.clone().now_or_never().is_none() {
            // Not canceled halfway: it may have the job already.
            let pause = match self.take(&filter).await {
                Ok(Some(taken)) => {
                    let id = &taken.job().id.clone();
                    tell(WorkerEvent::Took(taken.job()));
                    self.presence.works_on(Some(id));
                    let result = self.carry_out(&taken, stop.clone()).await;
                    taken.release().await;
                    self.presence.works_on(None);
                    tell(WorkerEvent::Ended(id, &result));
                    if is_harmless(&result) {
                        pauses = Pauses::default();
                        continue;
                    }
                    pauses.after_trouble()
                }
                Ok(None) => POLL,
                Err(error) => {
                    tell(WorkerEvent::NotTaken(&error));
                    pauses.after_trouble()
                }
            };
            tokio::select! {
                biased;
                () = stop.clone() => {}
                () = tokio::time::sleep(jittered(pause)) => {}
            }
        }
    }

    async fn take(&self, filter: &JobFilter) -> Result<Option<TakenJob>, JobError> {
        let options = TakeOptions {
            trusted: self.options.trusted.as_deref(),
            owner: &self.owner,
            state_dir: &self.options.state_dir,
            lease: self.options.lease,
        };
        TakenJob::take_next(self.store, filter, options).await
    }

    fn state_dir(&self) -> &Path {
        &self.options.state_dir
    }
}

/// The pauses between jobs that could not be carried out.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    last: Duration,
}

impl Pauses {
    pub(crate) fn after_trouble(&mut self) -> Duration {
        self.last = (self.last * 2).clamp(POLL, LONGEST_PAUSE);
        self.last
    }
}

/// Returns true if the end of a job does not indicate a broken machine.
fn is_harmless(result: &Result<JobResult, JobError>) -> bool {
    matches!(
        result,
        Ok(_) | Err(JobError::Interrupted | JobError::Store(StoreError::LeaseLost { .. }))
    )
}

/// A pause that is up to a quarter longer, so that workers that began together do not poll
/// together.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    pause + pause.mul_f64(0.25 * (random >> 11) as f64 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_while_there_is_trouble() {
        let mut pauses = Pauses::default();
        let seconds: Vec<_> = (0..6).map(|_| pauses.after_trouble().as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 15, 15]);
    }

    #[test]
    fn a_pause_is_never_shorter_than_asked() {
        let pauses: Vec<_> = (0..100).map(|_| jittered(POLL)).collect();
        assert!(pauses.iter().all(|pause| (POLL..POLL * 2).contains(pause)));
        assert!(pauses.iter().any(|pause| pause != &pauses[0]));
    }
}

//! Cancels a job that another process may be working on.

use std::path::Path;
use std::time::{Duration, Instant};

use pinpoint_core::JobState;
use pinpoint_core::job::ResultSource;

use super::{JobConfig, JobError, TakenJob, Worker, open_local};
use crate::job_dir;
use crate::store::{CancelRequest, JobId, JobStore, LockError, StoreError};

/// The time in which a process working on a job notices a request to end it, if all of the job's
/// work ends quickly.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time after a lease has expired until the job is taken.
const MARGIN: Duration = Duration::from_secs(5);

/// The way in which [`cancel`] ends a job.
#[derive(Clone, Copy)]
pub struct CancelOptions<'a> {
    /// The owner of the lease under which this process ends it.
    pub owner: &'a str,
    /// The state directory.
    pub state_dir: &'a Path,
    /// The patience with another process that works on the job. Unless it is zero, the wait lasts
    /// at least until its first lease has expired, in case it is dead.
    pub patience: Duration,
    /// The request that the job keeps.
    pub request: &'a CancelRequest,
    /// Ends builds and runs in progress elsewhere.
    pub worker: Option<Worker<'a>>,
}

/// Ends a job of this machine on a request, and returns its state. Another process that works on it
/// is asked to end it, and waited for. `waits` is called once with the reason for waiting:
/// [`JobError::Locked`] or [`StoreError::Leased`].
///
/// # Errors
///
/// [`JobError::Locked`] or [`StoreError::Leased`] when the other process still works on it: the
/// request stands. When the job can't be ended. A job in LUCI on which no process works needs a
/// worker, unless it was imported: it has no requests here.
pub async fn cancel(
    store: &JobStore,
    id: &JobId,
    options: &CancelOptions<'_>,
    waits: impl FnOnce(&JobError),
) -> Result<JobState, JobError> {
    let asked = Instant::now();
    let job_dir = job_dir(options.state_dir, id.as_str());
    let mut waits = Some(waits);
    let mut until = None;
    let taken = loop {
        match TakenJob::take(store, id, options.owner, &job_dir).await {
            Err(
                held @ (JobError::Locked(LockError::Held { .. })
                | JobError::Store(StoreError::Leased { .. })),
            ) => {
                // More than once: a process that has just started working on the job clears earlier
                // requests.
                match store
                    .cancellations()
                    .request(id, options.request, None)
                    .await
                {
                    // It has ended, and is about to be released.
                    Err(StoreError::Transition { .. }) => {}
                    asked => asked?,
                }
                let until =
                    *until.get_or_insert_with(|| asked + longest_wait(options.patience, &held));
                if Instant::now() >= until {
                    return Err(held);
                }
                // A live holder has ended it by then.
                if asked.elapsed() > NOTICE_TIMEOUT
                    && let Some(waits) = waits.take()
                {
                    waits(&held);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            taken => break taken?,
        }
    };
    let ended = match taken.job().state {
        // By the process that received the request.
        state @ (JobState::Canceled | JobState::Completed) => Ok(state),
        _ => cancel_taken(store, &taken, options).await,
    };
    taken.release().await;
    ended
}

/// The time after which a held job can be taken, if its holder is dead.
fn longest_wait(patience: Duration, held: &JobError) -> Duration {
    match held {
        JobError::Store(StoreError::Leased { seconds, .. }) if !patience.is_zero() => {
            let expiry = Duration::from_secs(u64::try_from(*seconds).unwrap_or_default());
            patience.max(expiry + MARGIN)
        }
        _ => patience,
    }
}

async fn cancel_taken(
    store: &JobStore,
    taken: &TakenJob,
    options: &CancelOptions<'_>,
) -> Result<JobState, JobError> {
    let job = taken.job();
    let config = JobConfig::of(job).unwrap_or_default();
    if options.worker.is_none() && config.luci.is_some() && !job.imported {
        return Err(JobError::InLuci {
            job: job.id.clone(),
        });
    }
    store
        .cancellations()
        .request(&job.id, options.request, None)
        .await?;
    if let Some(worker) = options.worker {
        return taken.cancel_with(worker).await;
    }
    // Its commits have names only where its repository is; ending it needs none.
    let (state_dir, id) = (options.state_dir.to_owned(), job.id.clone());
    // It runs git, and may wait for the disk.
    let open = move || (config.local).and_then(|it| open_local(&it, &state_dir, &id).ok());
    let local = tokio::task::spawn_blocking(open).await.ok().flatten();
    let source = local.as_ref().map(|local| local as &dyn ResultSource);
    taken.cancel(source).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_of_a_dead_process_is_waited_for() {
        let leased = |seconds| {
            JobError::Store(StoreError::Leased {
                id: JobId::parse("0199f3c1a2b37f0e8d1c2b3a49586776").unwrap(),
                owner: "rack-1".into(),
                seconds,
            })
        };
        let wait = |patience, held| longest_wait(Duration::from_secs(patience), &held).as_secs();
        assert_eq!(wait(75, leased(112)), 117);
        assert_eq!(wait(75, leased(20)), 75);
        assert_eq!(wait(0, leased(112)), 0);
        assert_eq!(
            wait(75, JobError::Locked(LockError::Held { pid: None })),
            75
        );
    }
}

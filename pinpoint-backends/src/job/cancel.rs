//! Ending a job that another process may work on.

use std::path::Path;
use std::time::{Duration, Instant};

use pinpoint_core::JobState;
use pinpoint_core::job::ResultSource;

use super::{JobConfig, JobError, TakenJob, Worker, open_local};
use crate::state_dir::job_dir;
use crate::store::{CancelRequest, JobId, JobStore, LockError, StoreError};

/// The time in which a process that works on a job notices a request to end it, if nothing
/// of the job takes long to end.
const SOON: Duration = Duration::from_secs(1);

/// Ends a job of this machine on this request, and returns its state. Another process that
/// works on it is asked to end it, and waited for with this patience; `waits` is called once with what is
/// waited for: [`JobError::Locked`] or [`StoreError::Leased`].
///
/// # Errors
///
/// When the other process still works on it, or the job can't be ended. A job in LUCI on which no
/// process works needs [`cancel_with`].
pub async fn cancel(
    store: &JobStore,
    id: &JobId,
    owner: &str,
    state_dir: &Path,
    patience: Duration,
    request: &CancelRequest,
    waits: impl FnOnce(&JobError),
) -> Result<JobState, JobError> {
    let taken = match released(store, id, owner, state_dir, patience, request, waits).await? {
        Released::Ended(state) => return Ok(state),
        Released::Taken(taken) => taken,
    };
    let ended = match JobConfig::of(taken.job()) {
        Ok(JobConfig { luci: Some(_), .. }) => Err(JobError::InLuci { job: id.clone() }),
        config => {
            // Its commits have names only where its repository is; ending it needs none.
            let local = config.ok().and_then(|it| it.local);
            let local = local.and_then(|local| open_local(&local, state_dir, id).ok());
            let source = local.as_ref().map(|local| local as &dyn ResultSource);
            taken.cancel(source).await
        }
    };
    taken.release().await;
    ended
}

/// As [`cancel`], of a job whose builds and runs go on elsewhere: this executor ends them.
///
/// # Errors
///
/// As [`cancel`], and when the executor can't end them.
#[expect(
    clippy::too_many_arguments,
    reason = "those of `cancel`, and the executor"
)]
pub async fn cancel_with(
    worker: Worker<'_>,
    store: &JobStore,
    id: &JobId,
    owner: &str,
    state_dir: &Path,
    patience: Duration,
    request: &CancelRequest,
    waits: impl FnOnce(&JobError),
) -> Result<JobState, JobError> {
    let taken = match released(store, id, owner, state_dir, patience, request, waits).await? {
        Released::Ended(state) => return Ok(state),
        Released::Taken(taken) => taken,
    };
    let ended = taken.cancel_with(worker).await;
    taken.release().await;
    ended
}

/// A job on which no other process works.
enum Released {
    /// It was ended by the one that did.
    Ended(JobState),
    /// It is ended here.
    Taken(Box<TakenJob>),
}

async fn released(
    store: &JobStore,
    id: &JobId,
    owner: &str,
    state_dir: &Path,
    patience: Duration,
    request: &CancelRequest,
    waits: impl FnOnce(&JobError),
) -> Result<Released, JobError> {
    let asked = Instant::now();
    let job_dir = job_dir(state_dir, id.as_str());
    let mut waits = Some(waits);
    let taken = loop {
        match TakenJob::take(store, id, owner, &job_dir).await {
            Err(
                held @ (JobError::Locked(LockError::Held { .. })
                | JobError::Store(StoreError::Leased { .. })),
            ) => {
                // More than once: a process that has just started to work on the job
                // clears earlier requests.
                match store.request_cancel(id, request, None).await {
                    // It has ended, and is about to be let go.
                    Err(StoreError::Transition { .. }) => {}
                    asked => asked?,
                }
                if asked.elapsed() >= patience {
                    return Err(held);
                }
                // One that lives has ended it by then.
                if asked.elapsed() > SOON
                    && let Some(waits) = waits.take()
                {
                    waits(&held);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            taken => break taken?,
        }
    };
    match taken.job().state {
        // By the process that was asked to.
        state @ (JobState::Canceled | JobState::Completed) => {
            taken.release().await;
            Ok(Released::Ended(state))
        }
        JobState::Pending | JobState::Running | JobState::Failed => {
            store.request_cancel(id, request, None).await?;
            Ok(Released::Taken(Box::new(taken)))
        }
    }
}

//! The reason why a job without a worker waits.

use std::path::Path;
use std::time::Duration;

use pinpoint_core::JobState;

use crate::job_dir;
use crate::store::{
    Holder, Job, JobId, JobLock, JobStore, PublicKey, Signature, StoreError, WorkerEntry,
};

/// The reason why no worker has a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingReason {
    /// It is paused.
    Paused,
    /// It was imported, and no user has allowed its commands to run.
    Untrusted,
    /// No worker serves its bot.
    NoWorker {
        /// The bot.
        bot: String,
        /// The time when the last one was seen, in milliseconds since 1970.
        last_seen: Option<i64>,
    },
    /// All workers of its bot take signed jobs only, and trust none of its signers.
    NotTrusted {
        /// The bot.
        bot: String,
        /// The signatures of the job, including invalid ones.
        signatures: Vec<Signature>,
    },
    /// All workers of its bot are busy.
    Queued {
        /// The workers.
        workers: u64,
        /// The job's position in the queue, from 1.
        place: u64,
    },
    /// A worker is free, and about to take it.
    AboutToBegin,
    /// Temporal has it, or a worker has tried it, and it does not proceed.
    Stuck {
        /// The reason, as a sentence.
        reason: String,
    },
    /// The worker that has it has stopped giving signs of life. Others can't take it yet.
    Silent {
        /// The worker.
        worker: String,
        /// The time when it was last seen, in milliseconds since 1970.
        seen: i64,
        /// The seconds left until its hold on the job expires.
        seconds: i64,
    },
}

/// The beginning of the lease owner's name of a job that Temporal has.
pub(crate) const ON_TEMPORAL: &str = "Temporal, namespace ";

/// The time without a sign of life after which a worker is likely to be dead, in
/// milliseconds.
const SILENT: i64 = 15_000;

/// The reason why a job waits; absent if it has ended, or a process seems to work on it.
///
/// # Errors
///
/// When the store cannot be read.
pub async fn waiting(store: &JobStore, job: &Job) -> Result<Option<WaitingReason>, StoreError> {
    match job.state {
        state if state.has_ended() => return Ok(None),
        JobState::Pending if job.paused => return Ok(Some(WaitingReason::Paused)),
        _ => {}
    }
    let workers = store.workers().list().await?;
    if !store.queue().needs_worker(&job.id).await? {
        return match silent(&job.id, &workers) {
            Some(silent) => Ok(Some(silent)),
            None => on_temporal(store, job, &workers).await,
        };
    }
    if job.imported {
        return Ok(Some(WaitingReason::Untrusted));
    }
    let of_bot = workers.iter().filter(|it| it.bots.contains(&job.bot));
    let (gone, mut there): (Vec<_>, Vec<_>) = of_bot.partition(|worker| worker.gone);
    if there.is_empty() {
        return Ok(Some(WaitingReason::NoWorker {
            bot: job.bot.clone(),
            last_seen: gone.iter().map(|worker| worker.seen).max(),
        }));
    }
    // Only workers with keys require signatures.
    if there.iter().any(|worker| worker.trusted.is_some()) {
        let signatures = store.signatures().list(job).await?;
        there.retain(|worker| trusts(worker, &signatures));
        if there.is_empty() {
            return Ok(Some(WaitingReason::NotTrusted {
                bot: job.bot.clone(),
                signatures,
            }));
        }
    }
    // Jobs before it that these workers don't take are not counted.
    let keys = there.iter().map(|worker| worker.trusted.as_deref());
    let keys: Option<Vec<&[PublicKey]>> = keys.collect();
    let keys = keys.map(|keys| keys.concat());
    let before = store
        .queue()
        .waiting_before(&job.id, keys.as_deref())
        .await?;
    Ok(
        before.map(|before| match (in_queue(before, &there), &job.error) {
            // A worker that takes it meets the same problem, or finds it gone.
            (WaitingReason::AboutToBegin, Some(reason)) => WaitingReason::Stuck {
                reason: reason.clone(),
            },
            (waits, _) => waits,
        }),
    )
}

/// Returns the reason why a job on Temporal does not proceed. The workers of its namespace share
/// one lease.
async fn on_temporal(
    store: &JobStore,
    job: &Job,
    workers: &[WorkerEntry],
) -> Result<Option<WaitingReason>, StoreError> {
    // No owner has this name: the answer names the holder of the lease.
    match store.leases().share(&job.id, "", Duration::ZERO).await {
        Err(StoreError::Leased { owner, .. }) if owner.starts_with(ON_TEMPORAL) => {
            Ok(stuck(job, workers))
        }
        Ok(_) | Err(StoreError::Leased { .. } | StoreError::LeaseLost { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn stuck(job: &Job, workers: &[WorkerEntry]) -> Option<WaitingReason> {
    let of_bot = workers.iter().filter(|it| it.bots.contains(&job.bot));
    let (gone, there): (Vec<_>, Vec<_>) = of_bot.partition(|worker| worker.gone);
    if there.is_empty() {
        return Some(WaitingReason::NoWorker {
            bot: job.bot.clone(),
            last_seen: gone.iter().map(|worker| worker.seen).max(),
        });
    }
    let reason = job.error.clone();
    reason.map(|reason| WaitingReason::Stuck { reason })
}

/// The jobs among these that the store lists as running, but whose processes are gone: their leases
/// have expired, or they were held for this `owner`, as of [`owner`](crate::owner), and no process
/// has their locks.
///
/// # Errors
///
/// When the store cannot be read.
pub async fn interrupted(
    store: &JobStore,
    jobs: &[JobId],
    owner: Option<&str>,
    state_dir: &Path,
) -> Result<Vec<JobId>, StoreError> {
    let holders = store.leases().holders(jobs).await?;
    let is_gone = |holder: &Holder| {
        // Several processes of this machine may share a job for workers.
        let is_ours = !holder.by_workers && owner == Some(holder.owner.as_str());
        let job_dir = job_dir(state_dir, holder.job.as_str());
        holder.expired || (is_ours && JobLock::is_held(&job_dir) == Some(false))
    };
    let gone = holders.into_iter().filter(is_gone);
    Ok(gone.map(|holder| holder.job).collect())
}

/// The worker that has a job, if it is likely to be dead.
fn silent(job: &JobId, workers: &[WorkerEntry]) -> Option<WaitingReason> {
    (workers.iter())
        .filter(|worker| worker.job.as_ref() == Some(job))
        .filter(|worker| worker.gone || worker.silent > SILENT)
        .find_map(|worker| {
            Some(WaitingReason::Silent {
                worker: worker.name.clone(),
                seen: worker.seen,
                seconds: worker.holds?,
            })
        })
}

/// Checks whether a worker takes jobs with these signatures.
fn trusts(worker: &WorkerEntry, signatures: &[Signature]) -> bool {
    let Some(keys) = &worker.trusted else {
        return true;
    };
    (signatures.iter()).any(|signature| signature.fits && keys.contains(&signature.key))
}

/// The position of a job before which these workers take `before` jobs.
fn in_queue(before: u64, workers: &[&WorkerEntry]) -> WaitingReason {
    let free = workers.iter().filter(|worker| worker.job.is_none()).count() as u64;
    match before < free {
        true => WaitingReason::AboutToBegin,
        false => WaitingReason::Queued {
            workers: workers.len() as u64,
            place: before - free + 1,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job_of(state: JobState) -> Job {
        serde_json::from_value(json!({
            "id": "0199f3c1a2b37f0e8d1c2b3a49586776", "kind": "bisection", "state": state,
            "created": 1, "updated": 1, "duration": null, "name": "", "benchmark": "",
            "bot": "", "user": "", "repository": "", "title": "", "spec": {}, "config": {},
            "outcome": null, "error": null, "runs": 0, "builds": 0, "journal_version": 1,
            "written_by": "0.1.0",
        }))
        .unwrap()
    }

    fn worker(bot: &str, seen: i64, gone: bool, busy: bool) -> WorkerEntry {
        serde_json::from_value(json!({
            "name": "rack-1", "machine": "rack-1", "bots": ["other", bot], "host": null,
            "version": "0.1.0", "started": 0, "seen": seen, "gone": gone,
            "job": busy.then_some("0199f3c1a2b37f0e8d1c2b3a49586776"), "activity": "",
            "holds": busy.then_some(20),
        }))
        .unwrap()
    }

    #[test]
    fn a_worker_that_is_silent_holds_its_job_for_a_while() {
        let (mut busy, idle) = (worker("lab", 7, false, true), worker("lab", 7, true, false));
        let job = busy.job.clone().unwrap();
        let found = |busy: &WorkerEntry| silent(&job, &[idle.clone(), busy.clone()]);
        assert_eq!(found(&busy), None);
        busy.silent = SILENT + 1;
        let waits = WaitingReason::Silent {
            worker: "rack-1".into(),
            seen: 7,
            seconds: 20,
        };
        assert_eq!(found(&busy), Some(waits.clone()));
        (busy.silent, busy.gone) = (0, true);
        assert_eq!(found(&busy), Some(waits));
        busy.holds = None;
        assert_eq!(found(&busy), None);
    }

    #[test]
    fn a_job_with_temporal_waits_for_workers_or_says_why_it_stands_still() {
        let mut job = job_of(JobState::Running);
        job.bot = "lab".into();
        let (there, gone) = (
            worker("lab", 7, false, false),
            worker("lab", 9, true, false),
        );
        assert_eq!(stuck(&job, std::slice::from_ref(&there)), None);
        let no_worker = WaitingReason::NoWorker {
            bot: "lab".into(),
            last_seen: Some(9),
        };
        assert_eq!(stuck(&job, std::slice::from_ref(&gone)), Some(no_worker));
        job.error = Some("its workflow is paused".into());
        let reason = "its workflow is paused".into();
        assert_eq!(
            stuck(&job, &[gone, there]),
            Some(WaitingReason::Stuck { reason })
        );
    }

    #[test]
    fn a_job_waits_for_a_worker_that_is_free() {
        let queued = |workers, place| WaitingReason::Queued { workers, place };
        let (busy, free) = (
            worker("lab", 9, false, true),
            worker("lab", 9, false, false),
        );
        assert_eq!(in_queue(0, &[&busy]), queued(1, 1));
        assert_eq!(in_queue(2, &[&busy]), queued(1, 3));
        assert_eq!(in_queue(0, &[&busy, &free]), WaitingReason::AboutToBegin);
        assert_eq!(in_queue(2, &[&busy, &free]), queued(2, 2));
    }
}

//! Carrying out one job.

use std::future::Future;
use std::time::Duration;

use pinpoint_core::job::{JobResult, ResultSource};
use pinpoint_core::{DriveError, DriveEvent};

use super::{POLL, Serving, WorkerOptions};
use crate::job::{
    JobConfig, JobError, TakenJob, Worker, inherited_values, open_local, open_provided,
};
use crate::job_dir;
use crate::local::doctor::{Diagnosis, examine};
use crate::local::{
    CpuList, LocalConfig, LocalError, LocalExecutor, default_machine_dir, note_session,
};
use crate::store::{Job, JobId};

/// The time for which the state of the machine is examined before a job.
const BUSY_SAMPLE_TIME: Duration = Duration::from_millis(250);

impl Serving<'_> {
    /// Works on a job until it has a result, or until the worker has to stop.
    pub(super) async fn carry_out(
        &self,
        taken: &TakenJob,
        stop: impl Future<Output = ()> + Clone,
    ) -> Result<JobResult, JobError> {
        let opened = open_executor(self.options, taken.job());
        let opened = taken.prepare(stop.clone(), opened).await;
        let executor = match opened {
            Ok(Ok(executor)) => executor,
            Ok(Err(error)) => {
                taken.give_up(&error, Some(&self.options.machine)).await?;
                return Err(error);
            }
            Err(error) => {
                if self
                    .store
                    .cancellations()
                    .is_requested(&taken.job().id)
                    .await?
                {
                    let source = self.where_it_was_made(taken.job()).await;
                    let source = source.as_ref().map(|source| source as &dyn ResultSource);
                    taken.cancel(source).await?;
                }
                return Err(error);
            }
        };
        let worker = Worker {
            executor: &executor,
            source: &executor,
        };
        let interrupted = async {
            tokio::select! {
                () = stop => {}
                () = async {
                    self.paused(&taken.job().id).await;
                    // However long the current run takes.
                    executor.drain().await;
                } => return,
            }
            // Work that does not end by then is aborted.
            let _ = tokio::time::timeout(self.options.drain, executor.drain()).await;
        };
        let result = taken.work(worker, interrupted, |event, _| {
            if let DriveEvent::Started(action) = event {
                self.presence.does(in_words(action.task.kind()));
            }
        });
        let result = result.await;
        // Nothing else waits for a child that ignores requests to end.
        executor.end().await;
        result
    }

    /// Returns once the job is paused.
    async fn paused(&self, job: &JobId) {
        loop {
            tokio::time::sleep(POLL).await;
            // An unreadable store fails at the next record.
            if self.store.jobs().is_paused(job).await.unwrap_or(false) {
                return;
            }
        }
    }

    /// The executor of a job at its original path, if that is on this machine.
    async fn where_it_was_made(&self, job: &Job) -> Option<LocalExecutor> {
        let local = JobConfig::of(job).ok()?.local?;
        let (state_dir, id) = (self.state_dir().to_owned(), job.id.clone());
        let open = move || open_local(&local, &state_dir, &id);
        tokio::task::spawn_blocking(open).await.ok()?.ok()
    }
}

/// The executor of a job on this machine. Its repository may be fetched, which takes long.
pub(crate) async fn open_executor(
    options: &WorkerOptions,
    job: &Job,
) -> Result<LocalExecutor, JobError> {
    let config = JobConfig::of(job)?;
    let local = { config.local.clone() }
        .filter(|_| !config.needs_functions())
        .ok_or_else(|| JobError::NeedsFunctions {
            job: job.id.clone(),
        })?;
    let most = options.build_jobs.unwrap_or(u32::MAX);
    let mut local = LocalConfig {
        build_jobs: local.build_jobs.min(most),
        ..local
    };
    local.env.extend(inherited_values(&config.inherited_env)?);
    let diagnosis = match options.diagnose {
        true => diagnosis(local.cpus.clone()).await,
        false => None,
    };
    let (state_dir, id) = (&options.state_dir, &job.id);
    let opened = async {
        note_session(&job_dir(state_dir, id.as_str()), diagnosis)?;
        let executor = open_provided(&local, state_dir, id, options.provisions.clone());
        Ok::<_, LocalError>(
            executor
                .await?
                .of_bot(&job.bot)
                .on_machine(&options.machine),
        )
    };
    (opened.await).map_err(|error| JobError::Drive(DriveError::Refused(error.into())))
}

/// Describes the work of a task or request, by its kind.
pub(crate) fn in_words(kind: &str) -> &'static str {
    match kind {
        "find_metric" => "finds the metric",
        "list" => "lists commits",
        "build" => "builds",
        "run" => "runs",
        "run_pair" => "runs a pair",
        _ => "ends a run or build",
    }
}

/// The state of the machine, where available.
async fn diagnosis(cpus: Option<CpuList>) -> Option<Diagnosis> {
    let look = move || examine(BUSY_SAMPLE_TIME, cpus.as_ref(), &default_machine_dir());
    tokio::task::spawn_blocking(look).await.ok()?.ok()
}

//! `pinpoint jobs cancel`.

use std::future::pending;
use std::time::Duration;

use pinpoint_backends::job::{self, CancelOptions, JobConfig, JobError, Worker};
use pinpoint_backends::store::{CancelRequest, Job, LockError, StoreError};
use pinpoint_core::JobState;
use serde_json::json;
use tokio::time::sleep;

use crate::arguments::{Display, LuciTokens, Output};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::report;
use crate::job::storage::Storage;
use crate::job::work::in_python;
use crate::job::{luci, wait};
use crate::show::output::{errln, outln, print_json};

/// The time that `jobs cancel` waits for the process that works on the job: longer than
/// the lease of a process that has died.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(75);

/// The time after which a user is told why `jobs cancel` waits in LUCI.
const SAY_WAITING_AFTER: Duration = Duration::from_secs(2);

pub(super) async fn cancel(
    storage: &Storage,
    job: &Job,
    tokens: &LuciTokens,
    display: &Display,
) -> Result<u8, CliError> {
    let over = |state: &str| CliError::Input(format!("job {} is {state}", job.id));
    match job.state {
        JobState::Completed => return Err(over("finished")),
        JobState::Canceled => return Err(over("canceled already")),
        _ => {}
    }
    let (owner, directory) = (storage.owner()?, &storage.state_dir);
    let say_waits = |error: &JobError| match error {
        _ if display.quiet => {}
        JobError::Store(StoreError::Leased { owner, seconds, .. }) => errln!(
            "waiting for {owner}, which has the job, to end it; if that is dead, for {seconds} s"
        ),
        _ => errln!("waiting for the process of this machine that has the job to end it"),
    };
    let request = CancelRequest {
        by: whoami::username().unwrap_or_default(),
        ..CancelRequest::default()
    };
    let (jobs, id) = (&storage.store, &job.id);
    let config = JobConfig::of(job);
    let executor = match &config {
        // The addresses of an imported job get no token of a user who has not confirmed them.
        Ok(config) if config.luci.is_some() && !job.imported => {
            Some(luci::open(config, tokens, directory, None)?)
        }
        _ => None,
    };
    let worker = executor.as_ref().map(|executor| Worker {
        executor: &**executor,
        source: &**executor,
    });
    let options = CancelOptions {
        owner: &owner,
        state_dir: directory,
        patience: CANCEL_TIMEOUT,
        request: &request,
        worker,
    };
    let ended = job::cancel(jobs, id, &options, say_waits);
    let say_luci = async {
        sleep(SAY_WAITING_AFTER).await;
        if worker.is_some() && !display.quiet {
            errln!("waiting for the builds and tasks of the job in LUCI to end");
        }
        pending().await
    };
    let ended = tokio::select! {
        ended = ended => ended,
        never = say_luci => never,
    };
    let ended = ended.map_err(|error| {
        let holder = match error {
            JobError::Locked(LockError::Held { pid: Some(pid) }) => format!("process {pid}"),
            JobError::Locked(LockError::Held { pid: None }) => "a process of this machine".into(),
            JobError::Store(StoreError::Leased { owner, .. }) => owner,
            error => return error.into(),
        };
        CliError::StillHeld {
            job: job.id.to_string(),
            holder,
        }
    })?;
    // The file of an imported job is whatever its author wrote.
    if !job.imported
        && let Ok(Some(file)) = config.map(|config| config.report)
        && let Err(error) = report::write(storage, &job.id, &file).await
    {
        report::say_unwritten(&error, &job.id);
    }
    match ended {
        JobState::Canceled => say_canceled(&wait::resumed_by(job, display), job),
        _ => Err(over("finished")),
    }
}

fn say_canceled(display: &Display, job: &Job) -> Result<u8, CliError> {
    let id = job.id.as_str();
    match display.output {
        Output::Json => print_json(json!({ "job_id": id, "status": "canceled" })),
        Output::Text => outln!(
            "job {id} was canceled; to resume it anyway:  {}",
            in_python(job).unwrap_or_else(|| display.resume_command(id))
        ),
    }
    Ok(FOUND)
}

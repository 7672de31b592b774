//! A job, from its beginning or from where it was left, to its outcome.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pinpoint_backends::job::{
    self, CancelOptions, JobConfig, JobError, TakenJob, Worker, kind_of, open_local, spec_of,
};
use pinpoint_backends::store::{CancelRequest, Job, JobId, JobStore, LockError, StoreError};
use pinpoint_backends::{job_dir, owner};
use pinpoint_core::{DriveEvent, Engine, JobKind, JobMachine, JobState};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::bridge::Bridge;
use super::executor::PythonExecutor;
use super::failure::Failure;
use super::outcome::document;
use super::progress;
use super::search::{Search, host};

#[derive(Deserialize)]
struct Request {
    state_dir: PathBuf,
    kind: JobKind,
    /// The job to continue; otherwise `search` describes a new one.
    resume: Option<String>,
    search: Option<Search>,
    /// The steps that Python's caller has functions for.
    builds: bool,
    runs: bool,
    executor: bool,
}

/// Drives a job to its outcome, which is returned as JSON.
pub(super) async fn run(
    request: &str,
    bridge: &Arc<Bridge>,
    stop: &Notify,
) -> Result<String, Failure> {
    let mut request: Request =
        serde_json::from_str(request).map_err(|error| Failure::Value(error.to_string()))?;
    let new = request.search.take().map(Search::into_job).transpose()?;
    let found = with_store(&request.state_dir, async |store| {
        let id = match (&request.resume, new) {
            (Some(id), _) => store.jobs().find(&id.parse()?).await?.id,
            (None, Some(new)) => store.jobs().create(&new).await?,
            (None, None) => return Err(Failure::Value("there is nothing to do".into())),
        };
        bridge.tell("job", 0, &id);
        let taken = take(store, &request.state_dir, &id).await?;
        let found = work(store, &taken, &request, bridge, stop).await;
        taken.release().await;
        found
    });
    Ok(found.await?.to_string())
}

/// Does something with a store, and leaves no connection open: a process may fork after
/// this.
pub(crate) async fn with_store<T>(
    state_dir: &Path,
    work: impl AsyncFnOnce(&JobStore) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let store = JobStore::open(state_dir).await?;
    let done = work(&store).await;
    store.close().await;
    done
}

async fn take(store: &JobStore, state_dir: &Path, id: &JobId) -> Result<TakenJob, Failure> {
    let owner = owner(state_dir, &host()).map_err(Failure::job)?;
    Ok(TakenJob::take(store, id, &owner, &job_dir(state_dir, id.as_str())).await?)
}

async fn work(
    store: &JobStore,
    taken: &TakenJob,
    request: &Request,
    bridge: &Arc<Bridge>,
    stop: &Notify,
) -> Result<Value, Failure> {
    let job = taken.job();
    let kind = kind_of(job)?;
    if kind != request.kind {
        return Err(Failure::Value(format!(
            "job {} was begun by another function; continue it with pinpoint.{}(resume={:?}, …)",
            job.id,
            kind.command(),
            job.id.as_str()
        )));
    }
    if let (JobState::Completed, Some(outcome)) = (job.state, &job.outcome) {
        return document(store, job, outcome.clone()).await;
    }
    let config = JobConfig::of(job)?;
    check_functions(&config, request)?;
    if job.imported {
        return Err(Failure::Job(format!(
            "job {0} was imported, and may run anything; `pinpoint jobs resume {0}` shows its commands, and asks",
            job.id
        )));
    }
    let executor = match open(request, job, config, bridge) {
        Ok(executor) => executor,
        Err(failure) => {
            taken.fail(failure.message()).await?;
            return Err(failure);
        }
    };
    let worker = Worker {
        executor: &executor,
        source: &executor,
    };
    let progress = RefCell::default();
    let watch = |event: DriveEvent<'_>, engine: &Engine<JobMachine>| {
        progress::tell(bridge, &event, engine.machine(), &mut progress.borrow_mut());
    };
    let tell_waits = async {
        if let Some(local) = &executor.local {
            let mut waiting = local.waiting();
            while waiting.wait_for(Option::is_some).await.is_ok() {
                progress::tell_wait(bridge, &progress.borrow());
                drop(waiting.wait_for(Option::is_none).await);
            }
        }
        std::future::pending().await
    };
    let result = tokio::select! {
        biased;
        result = taken.work(worker, stop.notified(), watch) => result,
        never = tell_waits => never,
    };
    if let Some(local) = &executor.local {
        // Nothing else waits for a child that does not want to end.
        local.end().await;
    }
    document(store, job, json!(result?)).await
}

/// Checks that Python has the functions that it had before.
fn check_functions(config: &JobConfig, request: &Request) -> Result<(), Failure> {
    if config.luci.is_some() {
        return Err(Failure::Value(
            "the job is in LUCI: resume it with `pinpoint jobs resume`".into(),
        ));
    }
    let is_executor = config.local.is_none();
    let functions = [
        ("executor", is_executor, request.executor),
        ("build", config.builds && !is_executor, request.builds),
        ("run", config.runs && !is_executor, request.runs),
    ];
    let wrong: Vec<&str> = (functions.into_iter())
        .filter(|(_, was, is)| was != is)
        .map(|(name, ..)| name)
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::Value(format!(
        "the job is resumed with the functions that it was begun with, and no others: see to `{}`",
        wrong.join("` and `")
    )))
}

fn open(
    request: &Request,
    job: &Job,
    mut config: JobConfig,
    bridge: &Arc<Bridge>,
) -> Result<PythonExecutor, Failure> {
    if let Some(local) = &mut config.local {
        for name in &config.inherited_env {
            let value = std::env::var(name).map_err(|error| {
                Failure::Value(format!(
                    "the job inherits the variable {name}: {error}; set it in os.environ"
                ))
            })?;
            local.env.insert(name.clone(), value);
        }
    }
    let local = (config.local.as_ref())
        .map(|local| open_local(local, &request.state_dir, &job.id))
        .transpose()?;
    let spec = spec_of(job)?;
    let (builds, runs) = (config.builds, config.runs);
    let bridge = Arc::clone(bridge);
    Ok(PythonExecutor::new(
        bridge,
        local,
        (builds, runs),
        config.skip,
        spec,
    ))
}

/// Ends an idle job, and returns its state. If another process works on the job, asks that process
/// to end it, and returns no state yet.
pub(crate) async fn try_to_cancel(
    state_dir: &Path,
    store: &JobStore,
    job: &str,
) -> Result<Option<JobState>, Failure> {
    let id = store.jobs().find(&job.parse()?).await?.id;
    let owner = owner(state_dir, &host()).map_err(Failure::job)?;
    let request = CancelRequest {
        by: whoami::username().unwrap_or_default(),
        ..CancelRequest::default()
    };
    let options = CancelOptions {
        owner: &owner,
        state_dir,
        patience: Duration::ZERO,
        request: &request,
        worker: None,
    };
    match job::cancel(store, &id, &options, |_| {}).await {
        Err(
            JobError::Locked(LockError::Held { .. }) | JobError::Store(StoreError::Leased { .. }),
        ) => Ok(None),
        ended => Ok(Some(ended?)),
    }
}

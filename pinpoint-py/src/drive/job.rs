//! A job, from its beginning or from where it was left, to its outcome.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pinpoint_backends::TokioClock;
use pinpoint_backends::local::{LocalExecutor, Location, Metric, default_machine_dir};
use pinpoint_backends::store::{Job, JobId, JobJournal, JobLock, JobStore, NewJob};
use pinpoint_core::{
    Bisection, BuildRequest, CombinedCommit, CulpritFinder, DriveEvent, Driven, Event, InProcess,
    JobState, Journal, Key, Located, Pairwise, Stop, drive_watched,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::bridge::Bridge;
use super::executor::PythonExecutor;
use super::failure::Failure;
use super::good_end::GoodEnd;
use super::kind::{Kind, Progress, Runnable};
use super::outcome::Naming;
use super::runs::{Run, runs};
use super::search::{Config, Search};

/// How soon a job hears of `pinpoint jobs cancel`.
const CANCEL_POLL: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
struct Request {
    state_dir: PathBuf,
    kind: Kind,
    /// The job to go on with; else `search` says what to begin.
    resume: Option<String>,
    search: Option<Search>,
    /// What Python's caller has functions for, when a job is resumed.
    builds: bool,
    runs: bool,
    executor: bool,
}

/// Drives a job to its outcome, which is answered as JSON.
pub(super) async fn run(
    request: &str,
    bridge: &Arc<Bridge>,
    stop: &Notify,
) -> Result<String, Failure> {
    let mut request: Request =
        serde_json::from_str(request).map_err(|error| Failure::Value(error.to_string()))?;
    let new = request.search.take().map(Search::into_job).transpose()?;
    let store = JobStore::open(&request.state_dir).await?;
    let found = in_store(&store, &request, new, bridge, stop).await;
    // No connection is left open: a process may fork after this.
    store.close().await;
    found
}

async fn in_store(
    store: &JobStore,
    request: &Request,
    new: Option<NewJob>,
    bridge: &Arc<Bridge>,
    stop: &Notify,
) -> Result<String, Failure> {
    let job = match (&request.resume, new) {
        (Some(id), _) => store.get(id).await?,
        (None, Some(new)) => {
            let id = store.create(&new).await?;
            store.get(id.as_str()).await?
        }
        (None, None) => return Err(Failure::Value("there is nothing to do".into())),
    };
    bridge.tell("job", 0, &job.id);
    let directory = job_dir(&request.state_dir, &job.id);
    fs::create_dir_all(&directory).map_err(Failure::job)?;
    let _lock = JobLock::acquire(&directory)?;
    // Read only now: whoever held the lock may have written until then.
    let job = store.get(job.id.as_str()).await?;
    match Kind::of(&job.kind) {
        Some(kind) if kind == request.kind => {}
        Some(kind) => {
            return Err(Failure::Value(format!(
                "job {} is one of another function: go on with pinpoint.{}(resume={:?}, …)",
                job.id,
                kind.function(),
                job.id.as_str()
            )));
        }
        None => {
            return Err(Failure::Value(format!(
                "job {} was not begun in Python: go on with `pinpoint jobs resume {}`",
                job.id, job.id
            )));
        }
    }
    if let (JobState::Completed, Some(outcome)) = (job.state, &job.outcome) {
        return Ok(outcome.to_string());
    }
    let config: Config = serde_json::from_value(job.config.clone())?;
    if request.resume.is_some() {
        check_functions(&config, request.builds, request.runs, request.executor)?;
    }
    let session = Session {
        store,
        job: &job,
        config,
        bridge,
    };
    let driven = match request.kind {
        Kind::Bisection => session.work::<Bisection>(&request.state_dir, stop).await,
        Kind::Pairwise => session.work::<Pairwise>(&request.state_dir, stop).await,
        Kind::CulpritFinder => {
            session
                .work::<CulpritFinder>(&request.state_dir, stop)
                .await
        }
    };
    let (state, error, outcome) = match &driven {
        Ok((state, found)) => (*state, None, Some(found)),
        Err(Failure::Interrupted) => (JobState::Pending, None, None),
        Err(failure) => (JobState::Failed, Some(failure.message()), None),
    };
    let kept = store.set_state(&job.id, state, error, outcome).await;
    let (_, found) = driven?;
    kept?;
    Ok(found.to_string())
}

/// Where a job keeps what is not in the store.
fn job_dir(state_dir: &Path, id: &JobId) -> PathBuf {
    state_dir.join("jobs").join(id.as_str())
}

/// What Python did before, it must do again.
fn check_functions(
    config: &Config,
    builds: bool,
    runs: bool,
    executor: bool,
) -> Result<(), Failure> {
    let needed: Vec<&str> = match &config.local {
        None if executor => vec![],
        None => vec!["executor"],
        Some(_) => [("build", config.builds, builds), ("run", config.runs, runs)]
            .into_iter()
            .filter(|(_, was, is)| was != is)
            .map(|(name, ..)| name)
            .collect(),
    };
    if needed.is_empty() {
        return Ok(());
    }
    Err(Failure::Value(format!(
        "the job is resumed with the functions that it was begun with, and no others: see to `{}`",
        needed.join("` and `")
    )))
}

struct Session<'a> {
    store: &'a JobStore,
    job: &'a Job,
    config: Config,
    bridge: &'a Arc<Bridge>,
}

/// What is told of a step.
#[derive(Serialize)]
struct Step {
    event: &'static str,
    #[serde(flatten)]
    progress: Progress,
}

impl Session<'_> {
    /// Works on the job until it ends: its state, and what it found.
    async fn work<M: Runnable>(
        &self,
        state_dir: &Path,
        stop: &Notify,
    ) -> Result<(JobState, Value), Failure> {
        let id = &self.job.id;
        self.store.withdraw_cancellation(id).await?;
        // A killed job is found as it was: running.
        if self.job.state != JobState::Running {
            (self.store)
                .set_state(id, JobState::Running, None, None)
                .await?;
        }
        let spec: M::Spec = serde_json::from_value(self.job.spec.clone())?;
        let mut journal = self.store.journal(id).await?;
        let records = journal.records().await?;
        let is_new = records.is_empty();
        let machine = M::of(spec)?;
        let runs = runs(journal.job(), machine.clone(), records)?;
        let executor = self.executor(state_dir, good_end(&machine, &runs).again())?;
        let found = (self.drive::<M>(&executor, &mut journal, is_new, stop)).await;
        if let Some(local) = &executor.local {
            // Nobody else sees to a child that does not want to end.
            local.end().await;
        }
        found
    }

    fn executor(&self, state_dir: &Path, good: GoodEnd) -> Result<PythonExecutor, Failure> {
        let location = Location {
            state_dir: state_dir.to_owned(),
            job_dir: job_dir(state_dir, &self.job.id),
            machine_dir: default_machine_dir(),
        };
        let local = (self.config.local.clone())
            .map(|config| LocalExecutor::open(config, location, self.job.id.as_str()))
            .transpose()?;
        Ok(PythonExecutor {
            bridge: Arc::clone(self.bridge),
            local,
            builds: self.config.builds,
            runs: self.config.runs,
            skip: self.config.skip.clone(),
            good,
            built: Mutex::default(),
            refused: watch::Sender::new(false),
        })
    }

    async fn drive<M: Runnable>(
        &self,
        executor: &PythonExecutor,
        journal: &mut JobJournal,
        is_new: bool,
        stop: &Notify,
    ) -> Result<(JobState, Value), Failure> {
        let id = &self.job.id;
        let mut spec: M::Spec = serde_json::from_value(self.job.spec.clone())?;
        let mut stopping = std::pin::pin!(self.stop(stop));
        if let Some(local) = executor.local.as_ref().filter(|_| !executor.runs)
            && is_new
        {
            let metric = tokio::select! {
                metric = self.prepare(executor, local) => metric?,
                _ = &mut stopping => return Err(Failure::Interrupted),
            };
            M::fix(&mut spec, &metric, self.config.direction_by_unit);
            (self.store)
                .set_spec(id, &serde_json::to_value(&spec)?)
                .await?;
        }
        let machine = M::of(spec)?;
        let Driven { outcome, engine } = drive_watched(
            machine.clone(),
            executor,
            journal,
            &TokioClock,
            stopping,
            |event, engine| self.watch(&event, engine.machine()),
        )
        .await?;
        let runs = runs(journal.job(), machine.clone(), journal.records().await?)?;
        let state = M::state(&outcome);
        if executor.runs && state == JobState::Completed {
            let checked = good_end(&machine, &runs).check_all();
            checked.map_err(|error| Failure::Execution(error.to_string()))?;
        }
        let naming = Naming {
            job: self.job,
            executor,
            names: engine.names(),
        };
        Ok((state, M::found(&naming, outcome, &runs).await?))
    }

    /// Fixes the metric at the good end. What Python builds there must be there
    /// before.
    async fn prepare(
        &self,
        executor: &PythonExecutor,
        local: &LocalExecutor,
    ) -> Result<Metric, Failure> {
        if let Some(config) = self.config.local.as_ref().filter(|_| executor.builds) {
            let request = BuildRequest {
                key: Key {
                    job: self.job.id.to_string(),
                    action: u64::MAX,
                },
                commit: Located::Commit(config.good.clone()),
            };
            if let Some(reason) = executor.build(&request).await?.failure {
                return Err(Failure::Execution(format!(
                    "the good end does not build: {reason}"
                )));
            }
        }
        Ok(local.prepare().await?)
    }

    fn watch<M: Runnable>(&self, event: &DriveEvent<'_>, machine: &M) {
        let event = match event {
            DriveEvent::Replayed(0) | DriveEvent::Started(_) => None,
            DriveEvent::Replayed(_) => Some("resumed"),
            DriveEvent::Recorded { event, .. } => match event {
                Some(Event::Built { .. }) => Some("built"),
                Some(Event::BuildFailed { .. }) => Some("build_failed"),
                Some(Event::Ran { .. }) => Some("ran"),
                Some(Event::RanPair { first, second, .. }) => {
                    let failed = first.failure.is_some() || second.failure.is_some();
                    Some(if failed { "run_failed" } else { "ran" })
                }
                Some(Event::RunFailed { .. }) => Some("run_failed"),
                Some(Event::GaveUp { .. }) => Some("gave_up"),
                _ => None,
            },
        };
        let is_finished = machine.outcome().is_some();
        let finished = is_finished.then_some("finished");
        for event in event.into_iter().chain(finished) {
            let mut progress = machine.progress();
            if is_finished {
                progress.runs_to_come = 0;
            }
            self.bridge.tell("progress", 0, &Step { event, progress });
        }
    }

    /// Resolves when the job is to stop.
    async fn stop(&self, interrupted: &Notify) -> Stop {
        let canceled = async {
            loop {
                tokio::time::sleep(CANCEL_POLL).await;
                // A store that can't be read shows itself at the next record.
                if (self.store.cancel_requested(&self.job.id).await).unwrap_or(false) {
                    return;
                }
            }
        };
        tokio::select! {
            () = interrupted.notified() => Stop::Detach,
            () = canceled => Stop::Cancel,
        }
    }
}

/// The end at which the benchmark must work, after these runs.
fn good_end<M: Runnable>(machine: &M, runs: &[Run]) -> GoodEnd {
    let commit: Option<&CombinedCommit> = machine.ends().map(|(good, _)| good);
    GoodEnd::new(commit, M::chart(machine.spec()), runs)
}

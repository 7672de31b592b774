//! Collects the contents of a report, from the store, the state directory and git.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pinpoint_backends::job::{JobConfig, fetch_files, kind_of, machine_of, open_local};
use pinpoint_backends::job_dir;
use pinpoint_backends::local::{
    LocalExecutor, OutputTail, Repository, output_tails, run_warnings, sessions,
};
use pinpoint_backends::store::{Job, JobStore};
use pinpoint_core::job::JobResult;
use pinpoint_core::{
    Answered, Answers, BuildReport, Engine, Event, JobKey, JobMachine, Journal, Machine, Posterior,
    Record, Report as Answer,
};

use super::builds;
use super::foreign::output;
use super::link::commit_page;
use super::measurements::Measurements;
use super::model::{Report, Source};
use crate::ReportError;
use crate::results::{add_commands, stored};
use crate::text::message;

pub(super) async fn gather(
    store: &JobStore,
    state_dir: Option<&Path>,
    job: Job,
) -> Result<Report, ReportError> {
    let is_kept = state_dir.is_some();
    let temporary;
    let state_dir = match state_dir {
        Some(state_dir) => state_dir,
        None => {
            temporary = tempfile::tempdir().map_err(ReportError::Directory)?;
            temporary.path()
        }
    };
    let kind = kind_of(&job)?;
    let config = JobConfig::of(&job)?;
    let mut journal = store.journals().open(&job.id).await?;
    // A damaged journal is no reason to withhold the rest.
    let (records, damage) = match journal.records().await {
        Ok(records) => (records, None),
        Err(error) => (
            Vec::new(),
            Some(format!("the journal can't be read: {}", message(&error))),
        ),
    };
    let mut gathered = known(state_dir, &job, &config, journal.job(), records).await?;
    gathered.missing.extend(damage);
    let job_dir = job_dir(state_dir, job.id.as_str());
    fetch_files(store, &job.id, &job_dir).await?;
    let mut tails = output_tails(&job_dir)?;
    let reports = gathered.answers.iter().map(|answer| &answer.report);
    let failed_builds = builds::failed(reports.filter_map(built), &job_dir);
    let mut measured = Measurements::of(gathered.answers, gathered.engine.names());
    for run in &mut measured.runs {
        run.output = tails.remove(&run.name).map(|tail| joined(&tail));
        if let Some(log) = run.report.log.as_mut().filter(|_| is_kept) {
            // It may have come from another machine.
            let here = (Path::new(log).file_name()).map(|name| job_dir.join("runs").join(name));
            if let Some(here) = here.filter(|here| here.exists()) {
                *log = here.display().to_string();
            }
        }
    }
    let local = config.local.as_ref();
    let repository = local.and_then(|local| Repository::at(&local.repository).ok());
    let remote = repository.and_then(|repository| repository.remote_url().ok().flatten());
    // A result says more than the notes of its runs, which a job without one has.
    let mut warnings = run_warnings(&job_dir)?;
    if let Some(result) = &gathered.result {
        let of_runs = std::mem::replace(&mut warnings, result.warnings().to_vec());
        warnings.extend(
            of_runs
                .into_iter()
                .filter(|it| !result.warnings().contains(it)),
        );
    }
    let mut report = Report {
        builds: gathered.builds,
        failed_builds,
        result: gathered.result,
        missing: gathered.missing,
        warnings,
        posterior: gathered.posterior,
        sources: Vec::new(),
        sessions: sessions(&job_dir)?,
        made: now(),
        kind,
        config,
        measured,
        remote,
        job_dir: is_kept.then_some(job_dir),
        job,
    };
    report.sources = sources(&report, gathered.executor.as_ref());
    Ok(report)
}

fn built(report: &Answer) -> Option<BuildReport> {
    match report {
        Answer::Built(report) => Some(report.clone()),
        _ => None,
    }
}

/// The facts of a job from its journal, before its runs are put in order.
struct JournalFacts {
    result: Option<JobResult>,
    posterior: Option<Posterior>,
    missing: Vec<String>,
    answers: Vec<Answered>,
    engine: Engine<JobMachine>,
    executor: Option<LocalExecutor>,
    builds: u64,
}

async fn known(
    state_dir: &Path,
    job: &Job,
    config: &JobConfig,
    key: JobKey,
    records: Vec<Record>,
) -> Result<JournalFacts, ReportError> {
    let is_begun = !records.is_empty();
    let machine = machine_of(job, !is_begun)?;
    let Answers {
        engine,
        answers,
        error,
        ..
    } = Answers::of(key, machine, records);
    let mut missing = Vec::new();
    let outcome = engine.machine().outcome().filter(|_| error.is_none());
    if let Some(error) = error {
        missing.push(format!(
            "the journal can't be replayed to its end ({error}); the runs after that are left out"
        ));
    }
    // Names are asked of the repository, which may be gone.
    let stored = job.state.has_ended().then(|| stored(job)).flatten();
    let executor = match &config.local {
        Some(local) => open_local(local, state_dir, &job.id)
            .map_err(|error| missing.push(error.to_string()))
            .ok(),
        None => {
            missing.extend(match (&config.luci, &stored) {
                (Some(_), Some(_)) => None,
                (Some(_), None) => {
                    Some("commits of a job in LUCI are named when it ends".to_owned())
                }
                (None, _) => Some("only the creator of the job can carry it out".to_owned()),
            });
            None
        }
    };
    let posterior = outcome.and_then(|outcome| outcome.bisection()?.posterior.clone());
    let result = match (stored, outcome, &executor) {
        (Some(stored), ..) => Some(stored),
        (None, Some(outcome), Some(executor)) if is_begun => {
            let worked = u64::try_from(job.duration.unwrap_or_default()).unwrap_or_default();
            match JobResult::new(&engine, outcome.clone(), executor, worked).await {
                Ok(mut result) => {
                    add_commands(&mut result, config);
                    Some(result)
                }
                Err(error) => {
                    missing.push(error.to_string());
                    None
                }
            }
        }
        _ => None,
    };
    let built = |answer: &&Answered| matches!(answer.event, Event::Built { same: false, .. });
    Ok(JournalFacts {
        builds: answers.iter().filter(built).count() as u64,
        result,
        posterior,
        missing,
        answers,
        engine,
        executor,
    })
}

/// The kept output of a run.
fn joined(tail: &OutputTail) -> String {
    let parts = [&tail.stdout, &tail.stderr].map(|text| output(text));
    let text = match &parts {
        [stdout, stderr] if !stdout.is_empty() && !stderr.is_empty() => {
            format!("{stdout}\n\n[standard error]\n{stderr}")
        }
        [stdout, stderr] => format!("{stdout}{stderr}"),
    };
    match &tail.left {
        Some(left) => format!("{text}\n\n[after its end {}]", output(left)),
        None => text,
    }
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// The facts that git knows of the commits to blame.
fn sources(report: &Report, executor: Option<&LocalExecutor>) -> Vec<Source> {
    let confirmed = report.search().map(|document| &document.culprits);
    let unconfirmed = match &report.result {
        Some(JobResult::CulpritFinder(document)) => Some(&document.unconfirmed),
        _ => None,
    };
    let culprits = confirmed.into_iter().chain(unconfirmed).flatten();
    culprits
        .map(|culprit| {
            let commit = culprit.blamed.clone();
            let repository = executor.and_then(|executor| executor.repository_of(&commit));
            let files = (repository.as_ref())
                .and_then(|repository| repository.changed_files(commit.newest()).ok());
            let remote = repository.and_then(|repository| repository.remote_url().ok().flatten());
            let page = [Some(commit.repository.clone()), remote]
                .into_iter()
                .flatten()
                .find_map(|url| commit_page(&url, commit.newest()));
            Source {
                commit,
                files,
                page,
            }
        })
        .collect()
}

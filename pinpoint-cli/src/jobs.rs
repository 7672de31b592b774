//! `pinpoint jobs`: looking at jobs, taking them up again, ending them.

use std::path::PathBuf;
use std::time::{Duration, Instant, UNIX_EPOCH};

use pinpoint_backends::sqlite::{Job, JobSummary, LockError, Store};
use pinpoint_core::JobState;
use serde_json::json;

use crate::arguments::{Display, Jobs, Output};
use crate::error::{CliError, FOUND};
use crate::job::Session;
use crate::job_result::JobResult;
use crate::quantity::count;
use crate::report;
use crate::storage::{resume_command, state_dir};
use crate::summary::{BOLD, DIM, ERROR};

/// How long `jobs cancel` waits for the process that works on the job.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn run(command: Jobs, display: Display) -> Result<u8, CliError> {
    let store = Store::open(&state_dir(&display)?).await?;
    match command {
        Jobs::List { state, limit } => list(&store.list(state, limit).await?, &display),
        Jobs::Show { job } => show(&store.get(&job).await?, &display),
        Jobs::Resume { job, report } => {
            let job = store.get(&job).await?;
            resume(&store, &job, report, &display).await
        }
        Jobs::Report { job, file } => {
            let job = store.get(&job).await?;
            write_report(&store, &job, file, &display).await
        }
        Jobs::Cancel { job } => cancel(&store, &store.get(&job).await?, &display).await,
    }
}

fn list(jobs: &[JobSummary], display: &Display) -> Result<u8, CliError> {
    if display.output == Output::Json {
        anstream::println!("{}", json!(jobs));
        return Ok(FOUND);
    }
    if jobs.is_empty() {
        anstream::eprintln!(
            "there are no jobs; `pinpoint bisect`, `pairwise`, `culprit` and `demo` make some"
        );
    }
    for job in jobs {
        anstream::println!(
            "{BOLD}{}{BOLD:#}  {:<9}  {}  {:>9}  {:>10}  {}",
            job.id,
            job.state.as_str(),
            date(job.created),
            count(job.runs, "run"),
            count(job.builds, "build"),
            job.title,
        );
    }
    Ok(FOUND)
}

fn show(job: &Job, display: &Display) -> Result<u8, CliError> {
    if display.output == Output::Json {
        anstream::println!("{}", json!(job));
        return Ok(FOUND);
    }
    anstream::println!("{BOLD}job {}{BOLD:#}: {}", job.id, job.state);
    anstream::println!("{DIM}{}{DIM:#}", job.title);
    anstream::println!("in {}, created {}", job.repository, date(job.created));
    if let Some(error) = &job.error {
        anstream::println!("{ERROR}error:{ERROR:#} {error}");
    }
    match JobResult::stored(job) {
        Some(result) => result.print(display),
        None => anstream::println!("to go on:  {}", resume_command(display, job.id.as_str())),
    }
    Ok(FOUND)
}

async fn resume(
    store: &Store,
    job: &Job,
    file: Option<PathBuf>,
    display: &Display,
) -> Result<u8, CliError> {
    let file = file.as_deref().map(report::destination).transpose()?;
    if job.state == JobState::Completed
        && let Some(result) = JobResult::stored(job)
    {
        // It was finished, perhaps just before its process was killed.
        if let Some(file) = &file {
            report::write(store, &job.id, file).await?;
        }
        result.print(display);
        return Ok(result.exit_code());
    }
    let mut session = Session::take(store, &job.id).await?;
    if let Some(file) = file {
        session.report_to(file);
    }
    if job.state == JobState::Canceled {
        store.withdraw_cancellation(&job.id).await?;
    }
    let result = session.run(display).await?;
    result.print(display);
    Ok(result.exit_code())
}

async fn write_report(
    store: &Store,
    job: &Job,
    file: Option<PathBuf>,
    display: &Display,
) -> Result<u8, CliError> {
    let file = file.unwrap_or_else(|| format!("pinpoint-{}.html", job.id).into());
    let file = report::destination(&file)?;
    report::write(store, &job.id, &file).await?;
    match display.output {
        Output::Json => anstream::println!("{}", json!({ "job_id": job.id, "report": file })),
        Output::Text => anstream::println!("{}", file.display()),
    }
    Ok(FOUND)
}

async fn cancel(store: &Store, job: &Job, display: &Display) -> Result<u8, CliError> {
    let over = |state: &str| CliError::Input(format!("job {} is {state}", job.id));
    match job.state {
        JobState::Completed => return Err(over("finished")),
        JobState::Canceled => return Err(over("canceled already")),
        JobState::Pending | JobState::Running | JobState::Failed => {}
    }
    let asked = Instant::now();
    loop {
        match Session::take(store, &job.id).await {
            Ok(session) => {
                let state = match session.job().state {
                    // By the process that was asked to.
                    JobState::Canceled => JobState::Canceled,
                    JobState::Completed => JobState::Completed,
                    JobState::Pending | JobState::Running | JobState::Failed => {
                        session.cancel().await?.state()
                    }
                };
                return match state {
                    JobState::Canceled => say_canceled(display, job.id.as_str()),
                    _ => Err(over("finished")),
                };
            }
            Err(CliError::Lock(LockError::Held { .. })) if asked.elapsed() < PATIENCE => {
                // More than once: whoever has just begun to work on the job
                // forgets what was asked before.
                store.request_cancel(&job.id).await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

fn say_canceled(display: &Display, id: &str) -> Result<u8, CliError> {
    match display.output {
        Output::Json => anstream::println!("{}", json!({ "job_id": id, "status": "canceled" })),
        Output::Text => anstream::println!(
            "job {id} is canceled; to go on after all:  {}",
            resume_command(display, id)
        ),
    }
    Ok(FOUND)
}

pub(crate) fn date(milliseconds: i64) -> String {
    let since = Duration::from_millis(u64::try_from(milliseconds).unwrap_or_default());
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

//! `pinpoint jobs list` and `pinpoint jobs show`.

use pinpoint_backends::job::{TraceParent, WaitingReason, waiting};
use pinpoint_backends::store::{Job, JobFilter, JobId, Page, PagePosition, Total};
use pinpoint_core::JobState;
use pinpoint_report::results::stored;
use serde_json::json;

use crate::advice::with_advice;
use crate::arguments::{Display, Output};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::storage::Storage;
use crate::job::work::{in_python, shown};
use crate::job::{explanation, wait};
use crate::show::job_list;
use crate::show::output::{self, errln, outln, print_json, print_short_json};
use crate::show::worker_list;

pub(super) fn count_jobs(total: Total, display: &Display) -> Result<u8, CliError> {
    let (jobs, more) = match total {
        Total::Exactly(jobs) => (jobs, false),
        Total::MoreThan(jobs) => (jobs, true),
    };
    match display.output {
        Output::Json => print_json(json!({ "jobs": jobs, "more": more })),
        Output::Text if more => outln!("more than {jobs}"),
        Output::Text => outln!("{jobs}"),
    }
    Ok(FOUND)
}

pub(super) fn list(
    page: &Page,
    interrupted: &[JobId],
    place: &PagePosition,
    filter: &JobFilter,
    display: &Display,
) -> Result<u8, CliError> {
    if display.output == Output::Json {
        let jobs = page.jobs.iter().map(|job| {
            let mut document = json!(job);
            if interrupted.contains(&job.id) {
                document["interrupted"] = json!(true);
            }
            document
        });
        let jobs: Vec<_> = jobs.collect();
        print_json(json!({ "jobs": jobs, "more": page.more }));
        return Ok(FOUND);
    }
    output::print(format_args!("{}", job_list::render(page, interrupted)));
    if let Some(note) = job_list::note(page, place, filter) {
        errln!("{note}");
    }
    if let Some(job) = interrupted.first() {
        errln!(
            "interrupted: no process is running it anymore; continue with:  {}",
            display.job_command("resume", job.as_str())
        );
    }
    Ok(FOUND)
}

pub(super) async fn show(storage: &Storage, job: &Job, display: &Display) -> Result<u8, CliError> {
    let display = &wait::resumed_by(job, display);
    let waits = match wait::by_workers(job) {
        true => waiting(&storage.store, job).await?,
        false => None,
    };
    let is_error =
        matches!(&waits, Some(WaitingReason::Stuck { .. })) && job.state == JobState::Pending;
    let waits = waits.map(|waits| worker_list::in_words(&waits, crate::job::clock::now()));
    let workers = storage.store.workers().list().await?;
    let holder = (workers.iter())
        .find(|worker| worker.job.as_ref() == Some(&job.id) && worker.holds.is_some());
    let signatures = storage.store.signatures().list(job).await?;
    let is_interrupted = job.state == JobState::Running
        && !(storage.interrupted(std::slice::from_ref(&job.id)).await?).is_empty();
    if display.output == Output::Json {
        let mut document = shown(job);
        document["interrupted"] = json!(is_interrupted);
        document["waits_for"] = json!(waits);
        document["signatures"] = json!(signatures);
        document["trace_id"] = json!(TraceParent::of(job).trace_id());
        document["held_by"] = json!(holder.map(|worker| &worker.name));
        document["held_for_s"] = json!(holder.and_then(|worker| worker.holds));
        match explanation::stored::document(storage, job, display).await {
            Ok(Some(explanation)) => document["explanation"] = explanation,
            Ok(None) => {}
            Err(error) => document["explanation"] = json!({ "error": with_advice(&error) }),
        }
        print_short_json(&document);
        return Ok(FOUND);
    }
    output::print(format_args!("{}", job_list::about(job, is_interrupted)));
    for signature in &signatures {
        match signature.fits {
            true => outln!("signed with {}", signature.key),
            false => outln!("not as it was when it was signed with {}", signature.key),
        }
    }
    if let (Some(worker), None) = (holder, &waits) {
        outln!(
            "worker {} has it; if that dies, another may take it in {} s",
            worker.name,
            worker.holds.unwrap_or_default()
        );
    }
    // Unless it was just shown as the error.
    if let Some(waits) = waits.filter(|_| !is_error) {
        outln!("waiting: {waits}");
    }
    match stored(job) {
        Some(result) => {
            explanation::stored::end(storage, &job.id, &result, display).await?;
        }
        None if job.state == JobState::Completed => {
            outln!("its result was stored by an earlier version and can't be shown");
        }
        None if wait::by_workers(job)
            && matches!(job.state, JobState::Pending | JobState::Running) =>
        {
            outln!(
                "follow with:  {}",
                display.job_command("wait", job.id.as_str())
            );
        }
        None => match in_python(job) {
            Some(hint) => outln!("resume in Python with:  {hint}"),
            None => outln!("resume with:  {}", display.resume_command(job.id.as_str())),
        },
    }
    Ok(FOUND)
}

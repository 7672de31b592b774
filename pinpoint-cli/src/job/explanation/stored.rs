//! Explanations among the jobs of the store, by their results.

use std::path::Path;

use pinpoint_backends::job::{Explained, JobConfig};
use pinpoint_backends::store::{Job, JobFilter, JobId, ListOrder, PagePosition};
use pinpoint_core::job::JobResult;
use pinpoint_core::{JobState, PairwiseStatus};
use pinpoint_report::results::stored;
use serde_json::Value;

use super::explanation_report::{ExplanationReport, Written};
use super::made::{keep, made, made_or_kept};
use crate::advice::with_advice;
use crate::arguments::Display;
use crate::error::CliError;
use crate::job::report;
use crate::job::storage::Storage;
use crate::show::job_result::{exit_code, print_result};
use crate::show::output::errln;
use crate::show::text::FOUND as WARNING;

/// Prints the result of a job, which may be an explanation, and returns the exit code.
pub(crate) async fn end(
    storage: &Storage,
    id: &JobId,
    result: &JobResult,
    display: &Display,
) -> Result<u8, CliError> {
    let job = storage.store.jobs().get(id).await?;
    match report_of(storage, &job, result, display).await? {
        Some(answer) => answer.print(&Written::default(), display),
        None => {
            print_result(result, display);
            Ok(exit_code(result))
        }
    }
}

/// The answer of an explanation whose runs were made just now, with their profiles, which a kept
/// one lacks; absent for another job. Options that the profiles do not fit are errors.
pub(crate) async fn new_report(
    storage: &Storage,
    id: &JobId,
    result: &JobResult,
    display: &Display,
) -> Result<Option<ExplanationReport>, CliError> {
    let job = storage.store.jobs().get(id).await?;
    let Some(explains) = explanation_of(&job, result)? else {
        return Ok(None);
    };
    let answer = made(storage, &job, &explains, display).await?;
    keep(storage, &job, &answer);
    Ok(Some(answer))
}

/// The question of an explanation that has ended with profiles; none for other jobs.
fn explanation_of(job: &Job, result: &JobResult) -> Result<Option<Explained>, CliError> {
    let is_over = match result {
        JobResult::Pairwise(result) => !matches!(
            result.status,
            PairwiseStatus::Failed | PairwiseStatus::Canceled
        ),
        _ => false,
    };
    Ok(JobConfig::of(job)?.explains.filter(|_| is_over))
}

/// The answer of such an explanation, kept or made again; absent for another job. Options that its
/// profiles do not fit are left out.
pub(crate) async fn report_of(
    storage: &Storage,
    job: &Job,
    result: &JobResult,
    display: &Display,
) -> Result<Option<ExplanationReport>, CliError> {
    match explanation_of(job, result)? {
        Some(explains) => made_or_kept(storage, job, &explains, display)
            .await
            .map(Some),
        None => Ok(None),
    }
}

/// The document of an explanation; absent for another job.
pub(crate) async fn document(
    storage: &Storage,
    job: &Job,
    display: &Display,
) -> Result<Option<Value>, CliError> {
    let Some(result) = stored(job) else {
        return Ok(None);
    };
    let answer = report_of(storage, job, &result, display).await?;
    Ok(answer.map(|answer| answer.document()))
}

/// Writes the report on a job as it is now, with the latest explanation of its result.
pub(crate) async fn write_report(
    storage: &Storage,
    job: &Job,
    file: &Path,
    display: &Display,
) -> Result<(), CliError> {
    let explanation = latest_of(storage, job).await?;
    let answer = match &explanation {
        Some((explanation, result)) => report_of(storage, explanation, result, display).await,
        None => Ok(None),
    };
    match (answer, explanation) {
        (Ok(Some(answer)), _) => {
            answer
                .write_into(job.id.as_str(), file, None, display)
                .await
        }
        (Err(error), Some((explanation, _))) => {
            errln!(
                "{WARNING}warning:{WARNING:#} the report lacks explanation {}: {}",
                explanation.id,
                with_advice(&error)
            );
            report::write(storage, &job.id, file).await
        }
        _ => report::write(storage, &job.id, file).await,
    }
}

/// The jobs that are read together.
const PAGE: u32 = 100;

/// The latest explanation of a job that has a result, or the job itself if it is one.
async fn latest_of(storage: &Storage, job: &Job) -> Result<Option<(Job, JobResult)>, CliError> {
    let explains = |job: &Job| JobConfig::of(job).ok()?.explains;
    if explains(job).is_some() {
        return Ok(stored(job).map(|result| (job.clone(), result)));
    }
    let filter = JobFilter {
        kinds: vec!["pairwise".into()],
        state: Some(JobState::Completed),
        since: Some(job.created),
        ..JobFilter::default()
    };
    let mut place = PagePosition::First;
    loop {
        let page = storage
            .store
            .jobs()
            .list(&filter, ListOrder::default(), &place, PAGE);
        let page = page.await?;
        for other in &page.jobs {
            let other = storage.store.jobs().get(&other.id).await?;
            if explains(&other).is_some_and(|it| it.job == job.id.as_str())
                && let Some(result) = stored(&other)
            {
                return Ok(Some((other, result)));
            }
        }
        match page.jobs.last() {
            Some(last) if page.more => place = PagePosition::After(last.id.clone().into()),
            _ => return Ok(None),
        }
    }
}

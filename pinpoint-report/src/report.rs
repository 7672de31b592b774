//! Reports, from a job in the store to its page.

use std::path::Path;

use pinpoint_backends::store::{Job, JobStore};

use crate::error::ReportError;
use crate::{gather, page, profile};

/// The report on the current state of a job.
///
/// It needs files that went through the store with the job. They are written to the job's directory
/// in the state directory, and the report names that place. Without a state directory, only the
/// report keeps them.
///
/// # Errors
///
/// When the job, or its kept data, cannot be read. The report names missing parts, such as its
/// repository.
pub async fn report(
    store: &JobStore,
    state_dir: Option<&Path>,
    job: Job,
) -> Result<String, ReportError> {
    let report = gather::gather(store, state_dir, job).await?;
    page::page(&report, None)
}

/// The report on a job with the explanation of its result.
///
/// # Errors
///
/// Those of [`report`].
pub async fn report_explained(
    store: &JobStore,
    state_dir: Option<&Path>,
    job: Job,
    explanation: &profile::Section<'_>,
) -> Result<String, ReportError> {
    let report = gather::gather(store, state_dir, job).await?;
    page::page(&report, Some(explanation))
}

//! The report on a job: one self-contained HTML file.
//!
//! [`report`] collects the facts about a job from the store, the state directory and git; the page
//! is a pure function of them. Nothing in it is fetched: style, script, pictures and logs are in
//! the file, and its content security policy forbids the rest. Without scripts, or printed,
//! everything can be read except the table of the single runs with their logs, which is unpacked on
//! demand.
//!
//! The report on an [explanation](profile), with flame graphs, is another page by the same rules.
//!
//! Its [pictures](picture), [words] and [numbers](quantity) are for other pages and for a terminal,
//! too, so that all of them show the same thing in the same way. Foreign text gets into a page as
//! [`Foreign`].

#![forbid(unsafe_code)]

mod about;
mod answer;
mod builds;
pub mod command_line;
pub mod findings;
mod foreign;
mod gather;
mod link;
mod measurements;
mod median_interval;
mod model;
mod pack;
mod page;
mod pairs;
pub mod picture;
mod posterior;
pub mod profile;
pub mod quantity;
pub mod results;
mod runs;
mod search;
pub mod text;
pub mod words;

use std::io;
use std::path::Path;

use pinpoint_backends::job::JobError;
use pinpoint_backends::local::LocalError;
use pinpoint_backends::store::{Job, JobStore, StoreError};
use pinpoint_core::profile::ExplainError;

pub use answer::{Answer, of_result};
pub use foreign::{Foreign, clean};
pub use link::commit_page;
pub use measurements::{ChartValues, Measurements, Pair, Place, Run};
pub use page::content_security_policy;
pub use pairs::chart_pictures;
pub use search::{commit_name, measured, subject};

use picture::PictureError;

/// A report could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The store cannot be read, or the job's directory cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The job cannot be read: another version made it, or it is damaged.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The files of the job cannot be read.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The profiles cannot be compared.
    #[error(transparent)]
    Explain(#[from] ExplainError),
    /// No directory for the files of the job could be made.
    #[error("a temporary directory can't be made: {0}")]
    Directory(#[source] io::Error),
    /// The table of the runs cannot be packed.
    #[error("the runs can't be packed: {0}")]
    Pack(#[source] io::Error),
}

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

//! The reasons why there is no report.

use std::io;

use pinpoint_backends::job::JobError;
use pinpoint_backends::local::LocalError;
use pinpoint_backends::store::StoreError;
use pinpoint_core::profile::ExplainError;

use crate::picture::PictureError;

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

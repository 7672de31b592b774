//! Faults of files of results.

use super::place::ResultPlace;
use crate::id::{IdError, TraceId};
use crate::points::CommitNameError;

/// A file of results that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}: {fault}", place_in_words(.place.as_deref()))]
pub struct ResultFileError {
    /// The path of the file.
    pub path: String,
    /// The place in the file, for a fault that has one.
    pub place: Option<Box<ResultPlace>>,
    /// The fault.
    pub fault: ResultFault,
}

fn place_in_words(place: Option<&ResultPlace>) -> String {
    place.map_or_else(String::new, |place| format!(", {place}"))
}

/// The fault of a file of results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResultFault {
    /// The file has no text.
    #[error("the file is empty")]
    Empty,
    /// The file is not text; the byte, counted from 0.
    #[error("byte {0} is not UTF-8")]
    NotUtf8(usize),
    /// The document is damaged, or has other members than the format.
    #[error("{0}")]
    Json(String),
    /// The version is unknown, and the file does not have the older form.
    #[error(
        "version {0} of the format is unknown: version 1 is read, and the older form with `gitHash`"
    )]
    Version(String),
    /// The commit has no name.
    #[error("{0}")]
    Commit(#[source] CommitNameError),
    /// A trace has no id.
    #[error("{0}")]
    Id(#[source] IdError),
    /// A result has neither `measurement` nor `measurements`, or both.
    #[error("a result has one of `measurement` and `measurements`")]
    Measurement,
    /// A trace has two values.
    #[error("the trace `{0}` has a value already")]
    Duplicate(TraceId),
    /// There is nothing to read.
    #[error("the file has no results")]
    NoResults,
}

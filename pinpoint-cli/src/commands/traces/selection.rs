//! The values of a query or a formula at the commits that the options name.

use pinpoint_backends::traces::{TraceValues, ValuesAt, ValuesOf};

use super::open_dataset::OpenDataset;
use super::warn;
use crate::arguments::CommitOptions;
use crate::error::CliError;

/// The values; keys and values of the query that no trace has are told.
pub(crate) async fn values(
    opened: &OpenDataset,
    of: ValuesOf<'_>,
    commits: &CommitOptions,
) -> Result<TraceValues, CliError> {
    let at = match &commits.commits {
        Some(range) => ValuesAt::Range(opened.range(range).await?),
        None => ValuesAt::Last(commits.last as usize),
    };
    let values = opened.history.values(of, &at, commits.limit).await?;
    let unknown: Vec<String> = values.unknown.iter().map(ToString::to_string).collect();
    warn(&unknown);
    Ok(values)
}

pub(crate) fn wrong(error: impl std::fmt::Display) -> CliError {
    CliError::Input(error.to_string())
}

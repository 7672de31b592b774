//! The errors of BigQuery.

use std::time::Duration;

use super::SchemaError;
use crate::google::ServiceError;

/// A table cannot be made, filled or queried. Contains no secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BigQueryError {
    /// The service refuses, or cannot be reached.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The name is not valid for a table.
    #[error("{0:?} can't be the name of a table; write PROJECT, DATASET and TABLE")]
    Name(String),
    /// A type has no schema.
    #[error("the type can't be the row of a table: {0}")]
    Schema(#[from] SchemaError),
    /// A row cannot be written as JSON.
    #[error("a row or parameter can't be written as JSON: {0}")]
    Unwritable(#[source] serde_json::Error),
    /// A row is larger than a request may be.
    #[error("the row {insert_id:?} has {bytes} bytes, and a request may have {limit}")]
    TooLarge {
        /// The row.
        insert_id: String,
        /// Its size.
        bytes: usize,
        /// The maximum size of a request.
        limit: usize,
    },
    /// Some rows were refused; all others are in the table.
    #[error(
        "{} rows were refused, all others are in the table; the first, {:?}: {}",
        .0.len(),
        .0.first().map(|it| it.insert_id.as_str()).unwrap_or_default(),
        .0.first().map(|it| it.problems.join("; ")).unwrap_or_default()
    )]
    Rejected(Vec<RejectedRow>),
    /// The query is wrong.
    #[error("the query failed: {0}")]
    Query(String),
    /// The query is still running.
    #[error("the query has not ended after {} s", .0.as_secs())]
    Unfinished(Duration),
    /// The answer has a different shape from the requested rows.
    #[error("row {row} of the answer can't be read: {problem}")]
    Row {
        /// The row, counted from 0.
        row: usize,
        /// The problem.
        problem: String,
    },
    /// The answer has more rows than requested.
    #[error("the answer has more than {0} rows; ask for fewer, with LIMIT or WHERE")]
    TooManyRows(usize),
}

impl BigQueryError {
    /// Returns whether the service reported that the table does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::Service(ServiceError::Status { status: 404, .. })
        )
    }
}

/// A row that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRow {
    /// Its index among the rows, counted from 0.
    pub index: usize,
    /// Its `insertId`.
    pub insert_id: String,
    /// The service's own words, `REASON at COLUMN: MESSAGE`.
    pub problems: Vec<String>,
}

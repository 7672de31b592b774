//! Requests to end jobs in their rows: read, and withdrawn.

use super::database::{Row, Transaction};
use super::error::StoreError;
use super::job::{CancelRequest, JobId};
use super::rows::{count_anew, one};

impl CancelRequest {
    /// Reads the columns `cancel_by` and `cancel_reason`, which begin here.
    pub(super) fn from_row(row: &Row, column: usize) -> Result<Option<Self>, sqlx::Error> {
        let by = row.optional_text(column)?;
        let reason = row.optional_text(column + 1)?;
        Ok(by.map(|by| Self {
            by,
            reason: reason.unwrap_or_default(),
        }))
    }
}

pub(super) const CLEAR: &str = "UPDATE jobs SET cancel_requested = 0, cancel_by = NULL, cancel_reason = NULL, paused = 0, \
     deaths = 0 \
     WHERE id = $1";

/// Withdraws the request to end a job.
pub(super) async fn clear(transaction: &mut Transaction, id: &JobId) -> Result<(), StoreError> {
    one(id, transaction.execute(CLEAR, [id.as_str().into()]).await?)
}

/// The same, with the records about it.
pub(super) async fn withdraw(transaction: &mut Transaction, id: &JobId) -> Result<u64, StoreError> {
    clear(transaction, id).await?;
    let withdrawn = transaction
        .execute(
            "UPDATE records SET withdrawn = 1 \
             WHERE job = (SELECT number FROM jobs WHERE id = $1) AND withdrawn = 0 \
             AND sequence >= (SELECT min(sequence) FROM records \
                              WHERE job = (SELECT number FROM jobs WHERE id = $1) \
                              AND withdrawn = 0 AND kind = 'cancel_requested')",
            [id.as_str().into()],
        )
        .await?;
    count_anew(transaction, id).await?;
    Ok(withdrawn)
}

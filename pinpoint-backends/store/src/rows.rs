//! Rows of jobs that several files read or change.

use pinpoint_core::JobState;

use super::damage::damaged;
use super::database::{Database, Row, Transaction};
use super::error::StoreError;
use super::job::JobId;
use super::order::set_runs_key;

/// Recounts the runs and builds of a job in its journal.
pub(super) async fn count_anew(
    transaction: &mut Transaction,
    id: &JobId,
) -> Result<(), StoreError> {
    transaction
        .execute(
            "UPDATE jobs SET runs = \
             (SELECT count(*) FROM records AS r WHERE r.job = jobs.number AND r.withdrawn = 0 \
              AND r.kind IN ('ran', 'run_failed')) \
             + 2 * (SELECT count(*) FROM records AS r WHERE r.job = jobs.number \
              AND r.withdrawn = 0 AND r.kind = 'ran_pair'), \
             builds = (SELECT count(*) FROM records AS r WHERE r.job = jobs.number \
              AND r.withdrawn = 0 AND r.kind = 'built') WHERE id = $1",
            [id.as_str().into()],
        )
        .await?;
    let sql = format!("UPDATE jobs SET {} WHERE id = $1", set_runs_key("state"));
    transaction.execute(&sql, [id.as_str().into()]).await?;
    Ok(())
}

pub(super) fn unknown(id: &JobId) -> StoreError {
    StoreError::Unknown {
        prefix: id.to_string(),
    }
}

/// Succeeds if one job was changed; otherwise the job does not exist.
pub(super) fn one(id: &JobId, changed: u64) -> Result<(), StoreError> {
    match changed {
        0 => Err(unknown(id)),
        _ => Ok(()),
    }
}

pub(super) fn state(
    database: &Database,
    id: &JobId,
    row: &Row,
    column: usize,
) -> Result<JobState, StoreError> {
    let state = row.text(column).map_err(|source| database.failed(source))?;
    state
        .parse()
        .map_err(|_| damaged(&database.name, format!("the state of job {id}"), &state))
}

pub(super) fn version(row: &Row, column: usize) -> Result<u32, sqlx::Error> {
    let version = row.int(column)?;
    u32::try_from(version).map_err(|error| sqlx::Error::Decode(error.into()))
}

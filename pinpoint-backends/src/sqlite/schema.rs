//! The tables, and how an older file becomes a newer one.

use std::path::Path;

use sqlx::{Connection, SqliteConnection};

use super::StoreError;

/// Step n brings a file from version n to n + 1, in one transaction.
const STEPS: [&str; 1] = [include_str!("schema/1.sql")];

/// The version of the tables that this program reads and writes, kept in the
/// file's `user_version`.
pub const SCHEMA_VERSION: u32 = STEPS.len() as u32;

/// The file's `application_id`, as `schema/1.sql` sets it.
const APPLICATION_ID: u32 = 0x5049_4e50;

/// Tells whether the file is one of ours that this program can use, and which
/// version it has. Changes nothing in it.
pub(super) async fn version(
    connection: &mut SqliteConnection,
    path: &Path,
) -> Result<u32, StoreError> {
    let failed = |source| StoreError::from_database(path, source);
    let found: u32 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let application: u32 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let objects: u32 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let empty = objects == 0 && application == 0 && found == 0;
    if !empty && application != APPLICATION_ID {
        return Err(StoreError::NotOurs { path: path.into() });
    }
    if found > SCHEMA_VERSION {
        return Err(StoreError::Newer {
            found,
            supported: SCHEMA_VERSION,
            path: path.into(),
        });
    }
    Ok(found)
}

/// Brings the file to [`SCHEMA_VERSION`]; all of it or nothing.
pub(super) async fn bring_up_to_date(
    connection: &mut SqliteConnection,
    found: u32,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for step in &STEPS[found as usize..] {
        sqlx::raw_sql(*step).execute(&mut *transaction).await?;
    }
    transaction.commit().await
}

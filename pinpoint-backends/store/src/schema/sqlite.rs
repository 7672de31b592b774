//! The tables of a SQLite file, and the upgrade of older files.

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::super::database::{Dialect, Row, Value, bound};
use super::derived::{DERIVED, set_derived};
use super::{SCHEMA_VERSION, statements};

/// The statements before and after creating the tables of version 2 in a file of version
/// 1, separated by a line.
const FROM_1: &str = include_str!("sqlite-1-to-2.sql");
const PARTED_BY: &str = "-- then: the tables of version 2\n";

/// The file's `application_id`: "PINP" in ASCII.
pub(crate) const APPLICATION_ID: u32 = 0x5049_4e50;

/// Brings the file to [`SCHEMA_VERSION`]; all of it or nothing.
pub(crate) async fn bring_up_to_date(
    connection: &mut SqliteConnection,
    found: u32,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let (before, after) = match found {
        1 => FROM_1.split_once(PARTED_BY).unwrap_or_default(),
        _ => ("", ""),
    };
    let marks =
        format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}");
    // The tables of version 1 step aside for new ones.
    let made = if found == 1 { 0 } else { found };
    let (tables, indices) = statements(Dialect::Sqlite, made);
    let tables = [before.to_owned()].into_iter().chain(tables);
    for step in tables.chain([after.to_owned()]) {
        run(&mut transaction, step).await?;
    }
    set_derived!(transaction, made);
    for step in indices.into_iter().chain([marks]) {
        run(&mut transaction, step).await?;
    }
    transaction.commit().await
}

async fn run(connection: &mut SqliteConnection, step: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(step))
        .execute(connection)
        .await
        .map(drop)
}

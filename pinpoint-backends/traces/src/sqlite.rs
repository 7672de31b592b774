//! A history in a SQLite file.

use std::path::Path;

use pinpoint_store::Durability;
use pinpoint_store::sql::{Dialect, SqliteFile, open_database};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::schema::{MARK, TRACE_SCHEMA_VERSION, statements};
use super::{TraceStore, TraceStoreError};

const FILE: SqliteFile = SqliteFile {
    name: "traces.db",
    lock: "traces.lock",
    application_id: MARK,
    version: TRACE_SCHEMA_VERSION,
    bring_up_to_date: |connection, found| Box::pin(bring_up_to_date(connection, found)),
};

impl TraceStore {
    /// Opens the history of a state directory, the file `traces.db`, creating both if need be, and
    /// brings an older file up to date.
    /// Acknowledged writes survive a loss of power. Takes milliseconds whatever its size.
    ///
    /// # Errors
    ///
    /// A file that is newer, damaged, or not ours is refused, and not touched.
    pub async fn open(state_dir: &Path) -> Result<Self, TraceStoreError> {
        let database = open_database(state_dir, &FILE, Durability::Power).await?;
        Ok(Self::new(database))
    }
}

async fn bring_up_to_date(
    connection: &mut SqliteConnection,
    found: u32,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for statement in statements(Dialect::Sqlite, found) {
        sqlx::raw_sql(statement).execute(&mut *transaction).await?;
    }
    let marks =
        format!("PRAGMA application_id = {MARK}; PRAGMA user_version = {TRACE_SCHEMA_VERSION}");
    let marks = sqlx::raw_sql(AssertSqlSafe(marks));
    marks.execute(&mut *transaction).await?;
    transaction.commit().await
}

//! A history in a PostgreSQL database.

use pinpoint_store::sql::{Dialect, connect_database};
use pinpoint_store::{Patience, StoreError};
use sqlx::{Connection, PgConnection};

use super::schema::{MARK, TRACE_SCHEMA_VERSION, statements};
use super::{TraceStore, TraceStoreError};

const SCHEMA: &str = "pinpoint_traces";

impl TraceStore {
    /// Opens the history in a database, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, and makes
    /// its tables or brings older ones up to date, in a schema named `pinpoint_traces`. Jobs may be in the same
    /// database. Missing parts of the address are taken from the environment, as of a job store.
    ///
    /// # Errors
    ///
    /// When the database cannot be reached, is newer, or is not ours.
    pub async fn connect(url: &str) -> Result<Self, TraceStoreError> {
        // A tile that is sealed takes a while.
        let patience = Patience {
            answer: Patience::default().long_answer,
            ..Patience::default()
        };
        Self::connect_with(url, patience).await
    }

    /// Like [`TraceStore::connect`], with a choice of timeouts for the database.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn connect_with(url: &str, patience: Patience) -> Result<Self, TraceStoreError> {
        let prepare = async |connection: &mut PgConnection, store: &str| {
            prepare(connection, store).await.map(Some)
        };
        let database = connect_database(url, patience, prepare).await?;
        Ok(Self::new(database))
    }
}

/// Makes the tables or brings older ones up to date, and returns their schema.
async fn prepare(connection: &mut PgConnection, store: &str) -> Result<&'static str, StoreError> {
    let failed = |source| StoreError::from_database(store, Dialect::Postgres, source);
    let not_ours = || StoreError::NotOurs {
        store: store.into(),
    };
    let mut transaction = connection.begin().await.map_err(failed)?;
    // Of several processes, one at a time makes tables.
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(i64::from(MARK))
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT CAST(relname AS TEXT) FROM pg_catalog.pg_class \
         WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1)",
    )
    .bind(SCHEMA)
    .fetch_all(&mut *transaction)
    .await
    .map_err(failed)?;
    let is_ours = tables.iter().any(|name| name == "pinpoint_traces_schema");
    let found = if is_ours {
        let found: i64 =
            sqlx::query_scalar("SELECT max(version) FROM pinpoint_traces.pinpoint_traces_schema")
                .fetch_one(&mut *transaction)
                .await
                .map_err(|_| not_ours())?;
        match u32::try_from(found) {
            Ok(TRACE_SCHEMA_VERSION) => return Ok(SCHEMA),
            Ok(found) if found > TRACE_SCHEMA_VERSION => {
                return Err(StoreError::Newer {
                    found,
                    supported: TRACE_SCHEMA_VERSION,
                    store: store.into(),
                });
            }
            Ok(found) if found > 0 => found,
            _ => return Err(not_ours()),
        }
    } else if tables.is_empty() {
        0
    } else {
        return Err(not_ours());
    };
    let path = "CREATE SCHEMA IF NOT EXISTS pinpoint_traces; \
                SET LOCAL search_path = pinpoint_traces";
    sqlx::raw_sql(path)
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    for statement in statements(Dialect::Postgres, found) {
        sqlx::raw_sql(statement)
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
    }
    sqlx::query("INSERT INTO pinpoint_traces_schema (version) VALUES ($1)")
        .bind(i64::from(TRACE_SCHEMA_VERSION))
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)?;
    Ok(SCHEMA)
}

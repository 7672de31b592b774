//! The tables of a PostgreSQL database, and the upgrade of older ones.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::super::StoreError;
use super::super::database::{Dialect, Row, Value, bound};
use super::derived::{DERIVED, set_derived};
use super::{SCHEMA_VERSION, statements};

/// Held while the tables are made: "PINP" in ASCII.
const LOCK: i64 = 0x5049_4e50;

/// The first version that had PostgreSQL.
const FIRST: u32 = 2;

/// The schema of the tables.
const SCHEMA: &str = "pinpoint";

/// Makes the tables if they do not exist, and those that an earlier version lacked; all of them or
/// none. Returns the schema to look for them in, unless they are where the search path finds them:
/// an earlier version made them there.
pub(crate) async fn prepare(
    connection: &mut PgConnection,
    store: &str,
) -> Result<Option<&'static str>, StoreError> {
    let failed = |source| failed(store, source);
    if is_visible(connection).await.map_err(failed)? {
        if check(connection, store).await? < SCHEMA_VERSION {
            let mut transaction = connection.begin().await.map_err(failed)?;
            lock(&mut transaction).await.map_err(failed)?;
            // In the schema of the existing tables, wherever the search path begins.
            let sql = "SELECT set_config('search_path', CAST(relnamespace::regnamespace AS TEXT), true) \
                       FROM pg_catalog.pg_class \
                       WHERE relname = 'pinpoint_schema' AND pg_catalog.pg_table_is_visible(oid)";
            run(&mut transaction, sql.into()).await.map_err(failed)?;
            bring_up_to_date(&mut transaction, store).await?;
            transaction.commit().await.map_err(failed)?;
        }
        return Ok(None);
    }
    let mut transaction = connection.begin().await.map_err(failed)?;
    lock(&mut transaction).await.map_err(failed)?;
    if !has_schema(&mut transaction).await.map_err(failed)? {
        run(&mut transaction, format!("CREATE SCHEMA {SCHEMA}"))
            .await
            .map_err(failed)?;
    }
    run(
        &mut transaction,
        format!("SET LOCAL search_path = {SCHEMA}"),
    )
    .await
    .map_err(failed)?;
    if is_visible(&mut transaction).await.map_err(failed)? {
        bring_up_to_date(&mut transaction, store).await?;
        transaction.commit().await.map_err(failed)?;
        return Ok(Some(SCHEMA));
    }
    // A schema of this name with other contents belongs to another program.
    if !is_empty(&mut transaction).await.map_err(failed)? {
        return Err(not_ours(store));
    }
    make(&mut transaction, 0).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)?;
    Ok(Some(SCHEMA))
}

/// The version of the tables, if they exist; changes nothing.
pub(crate) async fn version(
    connection: &mut PgConnection,
    store: &str,
) -> Result<Option<u32>, StoreError> {
    let failed = |source| failed(store, source);
    if !is_visible(connection).await.map_err(failed)? {
        run(connection, format!("SET search_path = {SCHEMA}"))
            .await
            .map_err(failed)?;
        if !is_visible(connection).await.map_err(failed)? {
            return match is_empty(connection).await.map_err(failed)? {
                true => Ok(None),
                false => Err(not_ours(store)),
            };
        }
    }
    check(connection, store).await.map(Some)
}

/// Of several processes, one at a time makes tables.
async fn lock(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(connection)
        .await
        .map(drop)
}

/// Adds the missing parts of the tables in the first schema of the search path.
async fn bring_up_to_date(connection: &mut PgConnection, store: &str) -> Result<(), StoreError> {
    // Another process may have done it in between.
    match check(connection, store).await? {
        SCHEMA_VERSION => Ok(()),
        found => (make(connection, found).await).map_err(|source| failed(store, source)),
    }
}

async fn make(connection: &mut PgConnection, found: u32) -> Result<(), sqlx::Error> {
    let (tables, indices) = statements(Dialect::Postgres, found);
    for statement in tables {
        run(connection, statement).await?;
    }
    set_derived!(connection, found);
    for statement in indices {
        run(connection, statement).await?;
    }
    sqlx::query("INSERT INTO pinpoint_schema (version) VALUES ($1)")
        .bind(i64::from(SCHEMA_VERSION))
        .execute(connection)
        .await
        .map(drop)
}

async fn run(connection: &mut PgConnection, statement: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(connection)
        .await
        .map(drop)
}

/// Returns whether the search path leads to a table with the version.
async fn is_visible(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    // Not `to_regclass`, which may answer from before the lock was taken.
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class \
         WHERE relname = 'pinpoint_schema' AND pg_catalog.pg_table_is_visible(oid))",
    )
    .fetch_one(connection)
    .await
}

async fn has_schema(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)")
        .bind(SCHEMA)
        .fetch_one(connection)
        .await
}

async fn is_empty(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT NOT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace AS n WHERE nspname = $1 AND \
         (EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relnamespace = n.oid) \
          OR EXISTS (SELECT 1 FROM pg_catalog.pg_type WHERE typnamespace = n.oid)))",
    )
    .bind(SCHEMA)
    .fetch_one(connection)
    .await
}

/// The version of the tables, if this program can use them.
async fn check(connection: &mut PgConnection, store: &str) -> Result<u32, StoreError> {
    let found: Result<i64, _> =
        sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM pinpoint_schema")
            .fetch_one(connection)
            .await;
    match found.map(u32::try_from) {
        Ok(Ok(found @ FIRST..=SCHEMA_VERSION)) => Ok(found),
        Ok(Ok(found)) if found > SCHEMA_VERSION => Err(StoreError::Newer {
            found,
            supported: SCHEMA_VERSION,
            store: store.into(),
        }),
        Ok(_) => Err(not_ours(store)),
        // A table of the same name with other columns.
        Err(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => Err(not_ours(store)),
        Err(error) if class(&error).as_deref() == Some("42") => Err(not_ours(store)),
        Err(error) => Err(failed(store, error)),
    }
}

/// The first two characters of the code, unless access was denied.
fn class(error: &sqlx::Error) -> Option<String> {
    let code = error.as_database_error()?.code()?;
    (code != "42501").then(|| code.chars().take(2).collect())
}

fn not_ours(store: &str) -> StoreError {
    StoreError::NotOurs {
        store: store.into(),
    }
}

fn failed(store: &str, source: sqlx::Error) -> StoreError {
    StoreError::from_database(store, Dialect::Postgres, source)
}

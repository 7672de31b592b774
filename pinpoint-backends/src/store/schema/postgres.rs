//! How a PostgreSQL database gets its tables.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::super::StoreError;
use super::super::database::Dialect;
use super::{SCHEMA_VERSION, Target, statements};

/// Held while the tables are made: "PINP" in ASCII.
const LOCK: i64 = 0x5049_4e50;

/// Makes the tables if there are none, all of them or none.
pub(in crate::store) async fn prepare(
    connection: &mut PgConnection,
    store: &str,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::from_database(store, Dialect::Postgres, source);
    if is_there(connection, "pinpoint_schema")
        .await
        .map_err(failed)?
    {
        return check(connection, store).await;
    }
    let mut transaction = connection.begin().await.map_err(failed)?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    // Somebody else may have made them meanwhile.
    if is_there(&mut transaction, "pinpoint_schema")
        .await
        .map_err(failed)?
    {
        return check(&mut transaction, store).await;
    }
    for table in ["jobs", "records"] {
        if is_there(&mut transaction, table).await.map_err(failed)? {
            return Err(StoreError::NotOurs {
                store: store.into(),
            });
        }
    }
    for statement in statements(Target::Postgres) {
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
    }
    sqlx::query("INSERT INTO pinpoint_schema (version) VALUES ($1)")
        .bind(i64::from(SCHEMA_VERSION))
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

async fn is_there(connection: &mut PgConnection, table: &str) -> Result<bool, sqlx::Error> {
    // Not `to_regclass`, which may answer from before the lock was had.
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class \
         WHERE relname = $1 AND pg_table_is_visible(oid))",
    )
    .bind(table)
    .fetch_one(connection)
    .await
}

async fn check(connection: &mut PgConnection, store: &str) -> Result<(), StoreError> {
    let found: i64 = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM pinpoint_schema")
        .fetch_one(connection)
        .await
        .map_err(|source| StoreError::from_database(store, Dialect::Postgres, source))?;
    match u32::try_from(found) {
        Ok(SCHEMA_VERSION) => Ok(()),
        Ok(found) if found > SCHEMA_VERSION => Err(StoreError::Newer {
            found,
            supported: SCHEMA_VERSION,
            store: store.into(),
        }),
        _ => Err(StoreError::NotOurs {
            store: store.into(),
        }),
    }
}

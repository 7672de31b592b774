//! A store in a PostgreSQL database.

use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::database::{Database, Dialect, Pool};
use super::{JobStore, StoreError, schema, without_password};

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// Enough for one process; a server has about a hundred for all.
const CONNECTIONS: u32 = 8;

impl JobStore {
    /// Opens the store in a database, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`,
    /// and makes its tables if there are none. What the address leaves open is taken
    /// from the environment (`PGHOST`, `PGPASSWORD` and their like) and `~/.pgpass`.
    ///
    /// # Errors
    ///
    /// A database that can't be reached, is newer, or not ours.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let wrong = |reason: String| StoreError::Address {
            url: without_password(url),
            reason,
        };
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong("it does not begin with postgres://".into()));
        }
        let options: PgConnectOptions = url
            .parse()
            .map_err(|error: sqlx::Error| wrong(error.to_string()))?;
        let options = options.application_name("pinpoint").options([
            // A machine that died between two statements holds up nobody for long.
            ("idle_in_transaction_session_timeout", "60s"),
            // What is asked for decides the plan: a rare word needs another than
            // a common one, which no plan for all words knows.
            ("plan_cache_mode", "force_custom_plan"),
        ]);
        let name = without_password(url);
        let failed = |source| StoreError::from_database(&name, Dialect::Postgres, source);
        let prepared = async {
            let mut connection = options.connect().await.map_err(failed)?;
            schema::postgres::prepare(&mut connection, &name).await?;
            connection.close().await.map_err(failed)
        };
        // A server may accept and then say nothing.
        let prepared = tokio::time::timeout(PATIENCE, prepared).await;
        prepared.unwrap_or_else(|_| Err(failed(sqlx::Error::PoolTimedOut)))?;
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(PATIENCE)
            .connect_lazy_with(options);
        Ok(Self::new(Database {
            pool: Pool::Postgres(pool),
            name,
        }))
    }
}

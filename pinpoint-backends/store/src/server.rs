//! A PostgreSQL server over a network: every wait for it ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::TryStreamExt;
use sqlx::Connection;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow, Postgres};

use super::database::{Row, Value, bound};

/// Enough for one process; a server has about a hundred for all.
const CONNECTIONS: u32 = 8;

/// A connection used more recently than this is used again without a check.
const FRESH: Duration = Duration::from_secs(1);

/// The timeouts of a database. Answers that are late count as a broken connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// The timeout for the answer to one statement of a running job.
    pub answer: Duration,
    /// The timeout for one statement that may go over many jobs: lists, exports,
    /// imports and purges.
    pub long_answer: Duration,
    /// The total time for operations that are retried and belong to no lease.
    pub retry: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(10),
            long_answer: Duration::from_secs(120),
            retry: Duration::from_secs(30),
        }
    }
}

impl Patience {
    /// The timeout for a question whose answer costs the server nothing.
    fn ping(self) -> Duration {
        self.answer.min(Duration::from_secs(3))
    }
}

/// The connections to a server.
#[derive(Debug, Clone)]
pub struct Server {
    pool: PgPool,
    pub(super) patience: Patience,
    /// The timeout for the answer to one statement.
    answer: Duration,
    /// True after a caller's time was up without an answer. Until something answers, callers
    /// without a lease try only once.
    given_up: Arc<AtomicBool>,
}

impl Server {
    pub(super) fn new(options: PgConnectOptions, patience: Patience) -> Self {
        let ping = patience.ping();
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(patience.connect)
            // Checked below, with a limit.
            .test_before_acquire(false)
            .before_acquire(move |connection, idle| {
                Box::pin(async move {
                    if idle.idle_for > FRESH {
                        within(ping, connection.ping()).await?;
                    }
                    Ok(true)
                })
            })
            // The pool checks a connection once more before it keeps it, and without a
            // limit.
            .after_release(move |connection, _| {
                Box::pin(async move {
                    within(ping, connection.ping()).await?;
                    Ok(true)
                })
            })
            .connect_lazy_with(options);
        Self {
            pool,
            patience,
            answer: patience.answer,
            given_up: Arc::default(),
        }
    }

    pub(super) fn unhurried(&self) -> Self {
        Self {
            answer: self.patience.long_answer,
            ..self.clone()
        }
    }

    /// A connection, for one statement or one transaction.
    pub(super) async fn hold(&self) -> Result<ServerConnection, sqlx::Error> {
        let connection = match self.pool.acquire().await {
            Err(sqlx::Error::PoolTimedOut) => return Err(late(self.patience.connect)),
            connection => connection?,
        };
        Ok(ServerConnection {
            connection: Some(connection),
            answer: self.answer,
            given_up: self.given_up.clone(),
        })
    }

    /// Drops the connections that are not in use, when one broke: the others are likely to be
    /// broken, and each would take time to detect.
    pub(super) fn broke(&self, is_over: bool) -> bool {
        while let Some(connection) = self.pool.try_acquire() {
            drop(connection.detach());
        }
        if is_over {
            self.given_up.store(true, Ordering::Relaxed);
        }
        self.given_up.load(Ordering::Relaxed)
    }

    pub(super) async fn close(&self) {
        // Dropping them has the same effect.
        let _ = tokio::time::timeout(self.patience.ping(), self.pool.close()).await;
    }
}

/// A connection in use. It is closed hard when this is dropped, unless it was given back: more may
/// still arrive over it, and the server rolls back uncommitted changes.
pub struct ServerConnection {
    connection: Option<PoolConnection<Postgres>>,
    answer: Duration,
    given_up: Arc<AtomicBool>,
}

impl ServerConnection {
    fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.connection
            .as_deref_mut()
            .ok_or(sqlx::Error::PoolClosed)
    }

    pub(super) async fn execute(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, sqlx::Error> {
        let answer = self.answer;
        let query = bound!(sql, values);
        let done = within(answer, query.execute(self.connection()?)).await?;
        Ok(done.rows_affected())
    }

    pub(super) async fn fetch(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, sqlx::Error> {
        let answer = self.answer;
        let query = bound!(sql, values);
        let rows = within(answer, query.fetch_all(self.connection()?)).await?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// Row by row, for as long as the caller takes them.
    pub(super) async fn fetch_each<E>(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
        mut take: impl FnMut(PgRow) -> Result<(), E>,
    ) -> Result<Result<(), E>, sqlx::Error> {
        let answer = self.answer;
        let mut rows = bound!(sql, values).fetch(self.connection()?);
        while let Some(row) = within(answer, rows.try_next()).await? {
            if let Err(error) = take(row) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Gives back a connection on which every request was answered.
    pub(super) fn give_back(mut self) {
        self.given_up.store(false, Ordering::Relaxed);
        drop(self.connection.take());
    }
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(connection.detach());
        }
    }
}

/// Turns a timeout into the error of a broken connection.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(late(limit)),
    }
}

fn late(limit: Duration) -> sqlx::Error {
    let message = format!("no answer within {limit:?}");
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, message))
}

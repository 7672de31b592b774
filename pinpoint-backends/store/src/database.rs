//! The few operations common to both databases.
//!
//! All statements are written once, with parameters `$1`, `$2`, …, which both
//! databases understand; a [`Dialect`] fills in the few words in which they differ.
//!
//! The store of the history of values is over the same operations, by [`sql`](super::sql).

use std::time::{Duration, Instant};

#[cfg(feature = "sqlite")]
use futures_util::stream::TryStreamExt;
#[cfg(feature = "postgres")]
use sqlx::postgres::PgRow;
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{SqlitePool, SqliteRow};

use super::StoreError;
#[cfg(feature = "postgres")]
use super::server::{Server, ServerConnection};
use super::text::SearchWord;

/// A parameter of a statement.
#[derive(Debug, Clone)]
pub enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl From<Option<String>> for Value {
    /// PostgreSQL has no text with the character 0, so it is stored everywhere as the
    /// replacement character.
    fn from(value: Option<String>) -> Self {
        Self::Text(value.map(storable))
    }
}

/// The text as it is stored.
pub(super) fn storable(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}"),
        false => text,
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Some(value).into()
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

/// The words in which databases differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// The time in milliseconds since 1970, by the clock that all users of the
    /// database share.
    pub fn now(self) -> &'static str {
        match self {
            Self::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Self::Postgres => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    /// Appended to a query: no one else changes these rows before the end of the transaction.
    /// SQLite has only one writer anyway.
    pub fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE",
        }
    }

    /// Like [`Self::for_update`], skipping rows that another transaction holds.
    pub fn skip_locked(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// The query that waits for the lock of a name, `$1`, and holds it until the end of the
    /// transaction. SQLite has only one writer anyway.
    pub fn lock_name(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            // The first number is "PINP" in ASCII.
            Self::Postgres => Some("SELECT 1 FROM pg_advisory_xact_lock(1346981456, hashtext($1))"),
        }
    }

    /// The query for the version of the tables.
    pub fn version(self) -> &'static str {
        match self {
            Self::Sqlite => "PRAGMA user_version",
            Self::Postgres => "SELECT max(version) FROM pinpoint_schema",
        }
    }

    /// The function that returns the position of a part in a text, from 1 on: 0 where it does not
    /// occur.
    pub fn place_of_part(self) -> &'static str {
        match self {
            Self::Sqlite => "instr",
            Self::Postgres => "strpos",
        }
    }

    /// The query for the index of words, in its own language. The words hold no quotes.
    pub(super) fn text_query(self, wanted: &[SearchWord]) -> String {
        let (star, and) = match self {
            Self::Sqlite => ("*", " AND "),
            Self::Postgres => (":*", " & "),
        };
        let quote = match self {
            Self::Sqlite => '"',
            Self::Postgres => '\'',
        };
        let terms: Vec<String> = wanted
            .iter()
            .map(|SearchWord { word, prefix }| {
                let star = if *prefix { star } else { "" };
                format!("{quote}{word}{quote}{star}")
            })
            .collect();
        terms.join(and)
    }
}

/// The purpose of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Sees one state of the database, regardless of other writers.
    Read,
    /// No one else writes the rows that it has read for update.
    Write,
}

/// A pool of connections.
#[derive(Debug, Clone)]
pub enum Pool {
    #[cfg(feature = "sqlite")]
    Sqlite(SqlitePool),
    #[cfg(feature = "postgres")]
    Postgres(Server),
}

/// The same in every arm.
macro_rules! either {
    ($self:expr, $inner:ident => $body:expr) => {
        match $self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite($inner) => $body,
            #[cfg(feature = "postgres")]
            Self::Postgres($inner) => $body,
        }
    };
}

/// A statement with its parameters.
macro_rules! bound {
    ($sql:expr, $values:expr) => {{
        let mut query = sqlx::query(sqlx::AssertSqlSafe($sql.to_owned()));
        for value in $values {
            query = match value {
                Value::Int(value) => query.bind(value),
                Value::Text(value) => query.bind(value),
                Value::Bytes(value) => query.bind(value),
            };
        }
        query
    }};
}
pub(super) use bound;

/// A database, and its name in messages.
#[derive(Debug, Clone)]
pub struct Database {
    pub pool: Pool,
    pub name: String,
}

impl Database {
    pub fn dialect(&self) -> Dialect {
        match self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(_) => Dialect::Sqlite,
            #[cfg(feature = "postgres")]
            Pool::Postgres(_) => Dialect::Postgres,
        }
    }

    pub fn failed(&self, source: sqlx::Error) -> StoreError {
        StoreError::from_database(&self.name, self.dialect(), source)
    }

    /// Executes a statement, and returns the number of rows it changed. It is retried
    /// where the connection breaks, so executing it twice must be the same as once.
    pub async fn execute(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, StoreError> {
        self.execute_until(None, sql, values).await
    }

    /// Like [`Self::execute`], until its lease expires.
    pub async fn execute_until(
        &self,
        until: Option<Instant>,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, StoreError> {
        let values: Vec<Value> = values.into_iter().collect();
        let mut tries = self.tries(until);
        loop {
            let done = self.pool.execute(sql, values.clone()).await;
            match done.map_err(|source| self.failed(source)) {
                Err(error) if tries.again(&error).await => {}
                done => return done,
            }
        }
    }

    /// Like [`Self::execute`], for a statement that returns rows.
    pub async fn fetch(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.fetch_until(None, sql, values).await
    }

    /// Like [`Self::fetch`], until its lease expires.
    pub async fn fetch_until(
        &self,
        until: Option<Instant>,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, StoreError> {
        let values: Vec<Value> = values.into_iter().collect();
        let mut tries = self.tries(until);
        loop {
            let rows = self.pool.fetch(sql, values.clone()).await;
            match rows.map_err(|source| self.failed(source)) {
                Err(error) if tries.again(&error).await => {}
                rows => return rows,
            }
        }
    }

    /// Like [`Self::fetch`], row by row as they arrive, without retries: with many rows, the
    /// database reads ahead.
    pub async fn fetch_each(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
        mut take: impl FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |source| self.failed(source);
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(pool) => {
                let mut rows = bound!(sql, values).fetch(pool);
                while let Some(row) = rows.try_next().await.map_err(failed)? {
                    take(row.into())?;
                }
            }
            #[cfg(feature = "postgres")]
            Pool::Postgres(server) => {
                let mut held = server.hold().await.map_err(failed)?;
                held.fetch_each(sql, values, |row| take(row.into()))
                    .await
                    .map_err(failed)??;
                held.give_back();
            }
        }
        Ok(())
    }

    /// Retries: until the operation's lease expires, or for as long as the store's
    /// [`Patience`](super::Patience) says.
    pub fn tries(&self, lease: Option<Instant>) -> Tries<'_> {
        let patience = || Instant::now() + self.pool.patience();
        Tries {
            database: self,
            is_leased: lease.is_some(),
            until: lease.unwrap_or_else(patience),
            pause: FIRST_PAUSE,
        }
    }

    /// The same database, with more time for each answer: for long operations that no
    /// running job waits for.
    pub fn unhurried(&self) -> Self {
        Self {
            pool: match &self.pool {
                #[cfg(feature = "sqlite")]
                Pool::Sqlite(pool) => Pool::Sqlite(pool.clone()),
                #[cfg(feature = "postgres")]
                Pool::Postgres(server) => Pool::Postgres(server.unhurried()),
            },
            name: self.name.clone(),
        }
    }

    /// Undone if it is dropped before its commit.
    pub async fn begin(&self, access: Access) -> Result<Transaction, StoreError> {
        let begun = self.pool.begin(access).await;
        let inner = begun.map_err(|source| self.failed(source))?;
        Ok(Transaction {
            inner,
            name: self.name.clone(),
            dialect: self.dialect(),
        })
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Retries operations that a broken connection has ended.
pub struct Tries<'a> {
    database: &'a Database,
    is_leased: bool,
    until: Instant,
    pause: Duration,
}

impl Tries<'_> {
    /// Waits briefly if the operation is to be retried after this error; false if it
    /// is not.
    pub async fn again(&mut self, error: &StoreError) -> bool {
        // SQLite has waited for its turn already.
        if self.database.dialect() == Dialect::Sqlite || !error.is_passing() {
            return false;
        }
        let is_over = Instant::now() + self.pause > self.until;
        let is_given_up = self.database.pool.broke(is_over);
        if is_over || (is_given_up && !self.is_leased) {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}

impl Pool {
    /// The time for retries of operations that belong to no lease.
    fn patience(&self) -> Duration {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Duration::ZERO,
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => server.patience.retry,
        }
    }

    /// Records that a connection broke, and whether a caller's time is up. Returns whether a
    /// caller's time was up, with nothing answered since.
    fn broke(&self, is_over: bool) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => is_over,
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => server.broke(is_over),
        }
    }

    async fn execute(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, sqlx::Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(pool) => Ok(bound!(sql, values).execute(pool).await?.rows_affected()),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => {
                let mut held = server.hold().await?;
                let done = held.execute(sql, values).await?;
                held.give_back();
                Ok(done)
            }
        }
    }

    async fn fetch(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, sqlx::Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(pool) => {
                let rows = bound!(sql, values).fetch_all(pool).await?;
                Ok(rows.into_iter().map(Row::from).collect())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => {
                let mut held = server.hold().await?;
                let rows = held.fetch(sql, values).await?;
                held.give_back();
                Ok(rows)
            }
        }
    }

    async fn begin(&self, access: Access) -> Result<OpenTransaction, sqlx::Error> {
        Ok(match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(pool) => OpenTransaction::Sqlite(
                pool.begin_with(match access {
                    Access::Read => "BEGIN",
                    // Between reading and writing no one else may write.
                    Access::Write => "BEGIN IMMEDIATE",
                })
                .await?,
            ),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => {
                let mut held = server.hold().await?;
                let begin = match access {
                    Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                    Access::Write => "BEGIN",
                };
                held.execute(begin, []).await?;
                OpenTransaction::Postgres(held)
            }
        })
    }

    async fn close(&self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(pool) => pool.close().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => server.close().await,
        }
    }
}

/// Statements that take effect together, or not at all.
pub struct Transaction {
    inner: OpenTransaction,
    name: String,
    dialect: Dialect,
}

enum OpenTransaction {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
    /// Undone by the server when the connection is dropped with it.
    #[cfg(feature = "postgres")]
    Postgres(ServerConnection),
}

impl Transaction {
    /// Like [`Database::execute`], without a name for the failure.
    pub(super) async fn try_execute(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, sqlx::Error> {
        self.inner.execute(sql, values).await
    }

    pub async fn execute(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, StoreError> {
        let done = self.inner.execute(sql, values).await;
        done.map_err(|source| self.failed(source))
    }

    pub async fn fetch(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.inner.fetch(sql, values).await;
        rows.map_err(|source| self.failed(source))
    }

    pub async fn commit(self) -> Result<(), StoreError> {
        let Self {
            inner,
            name,
            dialect,
        } = self;
        let done = inner.commit().await;
        done.map_err(|source| StoreError::from_database(&name, dialect, source))
    }

    /// Undoes everything, and keeps the connection.
    pub async fn roll_back(self) -> Result<(), StoreError> {
        let Self {
            inner,
            name,
            dialect,
        } = self;
        let done = inner.roll_back().await;
        done.map_err(|source| StoreError::from_database(&name, dialect, source))
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub fn failed(&self, source: sqlx::Error) -> StoreError {
        StoreError::from_database(&self.name, self.dialect, source)
    }
}

impl OpenTransaction {
    async fn execute(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, sqlx::Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(transaction) => {
                let done = bound!(sql, values).execute(&mut **transaction).await?;
                Ok(done.rows_affected())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(held) => held.execute(sql, values).await,
        }
    }

    async fn fetch(
        &mut self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, sqlx::Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(transaction) => {
                let rows = bound!(sql, values).fetch_all(&mut **transaction).await?;
                Ok(rows.into_iter().map(Row::from).collect())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(held) => held.fetch(sql, values).await,
        }
    }

    async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(transaction) => transaction.commit().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(mut held) => {
                held.execute("COMMIT", []).await?;
                held.give_back();
                Ok(())
            }
        }
    }

    async fn roll_back(self) -> Result<(), sqlx::Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(transaction) => transaction.rollback().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(mut held) => {
                held.execute("ROLLBACK", []).await?;
                held.give_back();
                Ok(())
            }
        }
    }
}

/// A row of an answer.
pub enum Row {
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteRow),
    #[cfg(feature = "postgres")]
    Postgres(PgRow),
}

#[cfg(feature = "sqlite")]
impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

#[cfg(feature = "postgres")]
impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl Row {
    pub fn int(&self, column: usize) -> Result<i64, sqlx::Error> {
        either!(self, row => sqlx::Row::try_get(row, column))
    }

    pub fn optional_int(&self, column: usize) -> Result<Option<i64>, sqlx::Error> {
        either!(self, row => sqlx::Row::try_get(row, column))
    }

    pub fn text(&self, column: usize) -> Result<String, sqlx::Error> {
        either!(self, row => sqlx::Row::try_get(row, column))
    }

    pub fn bytes(&self, column: usize) -> Result<Vec<u8>, sqlx::Error> {
        either!(self, row => sqlx::Row::try_get(row, column))
    }

    pub fn optional_text(&self, column: usize) -> Result<Option<String>, sqlx::Error> {
        either!(self, row => sqlx::Row::try_get(row, column))
    }
}

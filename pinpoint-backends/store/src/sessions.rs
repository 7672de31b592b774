//! Sessions of signed-in people, and sign-ins under way.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::change::Change;
use super::damage::parsed;
use super::database::{Access, Transaction, Value};
use super::leases::milliseconds;
use super::secret::sha256;
use super::views::Sessions;
use super::{AuditEntry, Secret, StoreError};

/// The maximum number of sessions of a user: one more ends the oldest.
pub const MOST_SESSIONS: u32 = 20;

/// The maximum duration of a sign-in.
pub const SIGN_IN: Duration = Duration::from_secs(10 * 60);

/// The most expired rows that one operation removes.
const REMOVED_AT_ONCE: u32 = 100;

/// A session of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Session {
    /// The user.
    pub user: String,
    /// The groups of which the user was a member at the beginning.
    pub groups: Vec<String>,
    /// The time at which it began, in milliseconds since 1970.
    pub created: i64,
    /// The time at which it ends, in milliseconds since 1970.
    pub expires: i64,
}

impl Sessions<'_> {
    /// Begins a session of this length and returns its secret, which the store does not keep. The
    /// previous one of the same browser ends; beyond [`MOST_SESSIONS`] the user's oldest does.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[tracing::instrument(name = "store::begin_session", level = "debug", skip_all)]
    pub async fn begin(
        self,
        user: &str,
        groups: &[String],
        length: Duration,
        before: Option<&str>,
        entry: Option<&AuditEntry>,
    ) -> Result<Secret, StoreError> {
        let secret = Secret::new("")?;
        let before = before.map(|before| sha256(before.as_bytes()));
        let values = [
            sha256(secret.as_str().as_bytes()).into(),
            user.into(),
            Json::from(groups).to_string().into(),
            milliseconds(length).into(),
        ];
        let mut change = Change::new(self.database, entry);
        loop {
            let tried = self.try_begin_session(&change, user, values.clone(), before.clone());
            match tried.await {
                Err(error) if change.again(&error).await => {}
                done => return done.map(|()| secret),
            }
        }
    }

    /// Makes one attempt, which is idempotent.
    async fn try_begin_session(
        self,
        change: &Change<'_>,
        user: &str,
        values: [Value; 4],
        before: Option<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let now = self.database.dialect().now();
        let Some(mut transaction) = change.begin().await? else {
            return Ok(());
        };
        if let Some(before) = before {
            let sql = "DELETE FROM sessions WHERE hash = $1";
            transaction.execute(sql, [before.into()]).await?;
        }
        self.remove_expired(&mut transaction, "sessions").await?;
        let sql = format!(
            "INSERT INTO sessions (hash, username, user_groups, created, expires) \
             VALUES ($1, $2, $3, {now}, {now} + $4) ON CONFLICT DO NOTHING"
        );
        transaction.execute(&sql, values).await?;
        let sql = format!(
            "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE username = $1 \
             ORDER BY created DESC, hash LIMIT {REMOVED_AT_ONCE} OFFSET {MOST_SESSIONS})"
        );
        transaction.execute(&sql, [user.into()]).await?;
        change.commit(transaction).await
    }

    /// The session of a secret, unless it has ended.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::find_session", level = "debug", skip_all)]
    pub async fn find(self, secret: &str) -> Result<Option<Session>, StoreError> {
        let failed = |source| self.database.failed(source);
        let sql = format!(
            "SELECT username, user_groups, created, expires FROM sessions \
             WHERE hash = $1 AND expires > {}",
            self.database.dialect().now()
        );
        let values = [sha256(secret.as_bytes()).into()];
        let rows = self.database.fetch(&sql, values).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let user = row.text(0).map_err(failed)?;
        let place = || format!("a session of {user}");
        let groups = row.text(1).map_err(failed)?;
        Ok(Some(Session {
            groups: parsed(&self.database.name, place, &groups)?,
            created: row.int(2).map_err(failed)?,
            expires: row.int(3).map_err(failed)?,
            user,
        }))
    }

    /// Ends the session of a secret, if it exists; otherwise nothing is written.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[tracing::instrument(name = "store::end_session", level = "debug", skip_all)]
    pub async fn end(self, secret: &str, entry: Option<&AuditEntry>) -> Result<(), StoreError> {
        let hash = sha256(secret.as_bytes());
        let mut change = Change::new(self.database, entry);
        loop {
            match try_end_session(&change, &hash).await {
                Err(error) if change.again(&error).await => {}
                done => return done,
            }
        }
    }

    /// Keeps the data that a sign-in needs at its end, for ten minutes, and returns the parameter
    /// `state` that leads to it.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[tracing::instrument(name = "store::begin_sign_in", level = "debug", skip_all)]
    pub async fn begin_sign_in(self, value: &Json) -> Result<Secret, StoreError> {
        let state = Secret::new("")?;
        let values: [Value; 3] = [
            sha256(state.as_str().as_bytes()).into(),
            value.to_string().into(),
            milliseconds(SIGN_IN).into(),
        ];
        let mut tries = self.database.tries(None);
        loop {
            match self.try_begin_sign_in(values.clone()).await {
                Err(error) if tries.again(&error).await => {}
                done => return done.map(|()| state),
            }
        }
    }

    /// Makes one attempt, which is idempotent.
    async fn try_begin_sign_in(self, values: [Value; 3]) -> Result<(), StoreError> {
        let now = self.database.dialect().now();
        let mut transaction = self.database.begin(Access::Write).await?;
        self.remove_expired(&mut transaction, "sign_ins").await?;
        let sql = format!(
            "INSERT INTO sign_ins (hash, value, expires) VALUES ($1, $2, {now} + $3) \
             ON CONFLICT DO NOTHING"
        );
        transaction.execute(&sql, values).await?;
        transaction.commit().await
    }

    /// Takes the data of a sign-in: once, and within ten minutes.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written. Where the connection broke, it may be gone: the
    /// sign-in has to start again.
    #[tracing::instrument(name = "store::take_sign_in", level = "debug", skip_all)]
    pub async fn take_sign_in(self, state: &str) -> Result<Option<Json>, StoreError> {
        let sql = format!(
            "DELETE FROM sign_ins WHERE hash = $1 AND expires > {} RETURNING value",
            self.database.dialect().now()
        );
        let values = [sha256(state.as_bytes()).into()];
        let rows = self.database.fetch(&sql, values).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let value = row.text(0).map_err(|source| self.database.failed(source))?;
        let place = || "a sign-in under way".to_owned();
        parsed(&self.database.name, place, &value).map(Some)
    }

    /// Removes some of the expired rows from a table.
    async fn remove_expired(
        self,
        transaction: &mut Transaction,
        table: &str,
    ) -> Result<(), StoreError> {
        let dialect = self.database.dialect();
        let sql = format!(
            "DELETE FROM {table} WHERE hash IN (SELECT hash FROM {table} WHERE expires <= \
             (SELECT {}) ORDER BY expires LIMIT {REMOVED_AT_ONCE}{})",
            dialect.now(),
            dialect.skip_locked()
        );
        transaction.execute(&sql, []).await.map(drop)
    }
}

async fn try_end_session(change: &Change<'_>, hash: &[u8]) -> Result<(), StoreError> {
    let Some(mut transaction) = change.begin().await? else {
        return Ok(());
    };
    let sql = "DELETE FROM sessions WHERE hash = $1";
    match transaction.execute(sql, [hash.to_vec().into()]).await? {
        0 => transaction.commit().await,
        _ => change.commit(transaction).await,
    }
}

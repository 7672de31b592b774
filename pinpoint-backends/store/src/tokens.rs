//! API tokens: secrets by which programs act for a user.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::change::Change;
use super::damage::parsed;
use super::database::{Row, Value};
use super::secret::sha256;
use super::views::Tokens;
use super::{AuditEntry, Secret, StoreError};

/// The prefix of every token, by which scanners for leaked secrets recognize it.
const PREFIX: &str = "pinpoint_";

/// The columns that [`Tokens::token_of`] reads.
const COLUMNS: &str = "name, username, rights, created, expires, revoked, used";

/// The milliseconds within which repeated uses of a token are not noted again.
const USED_ANEW: i64 = 60 * 1000;

/// The fields of a new token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// Its name, unique among all tokens, including revoked ones.
    pub name: String,
    /// The user for whom it acts.
    pub user: String,
    /// The names of its roles and rights.
    pub rights: Vec<String>,
    /// The time at which it expires, in milliseconds since 1970, if it does.
    pub expires: Option<i64>,
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Token {
    /// Its name.
    pub name: String,
    /// The user for whom it acts.
    pub user: String,
    /// The names of its roles and rights.
    pub rights: Vec<String>,
    /// The time at which it was made, in milliseconds since 1970.
    pub created: i64,
    /// The time at which it expires, if it does.
    pub expires: Option<i64>,
    /// The time at which it was revoked.
    pub revoked: Option<i64>,
    /// The time of its last use, give or take a minute.
    pub used: Option<i64>,
}

/// The result of checking the secret of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenCheck {
    /// The secret is valid.
    Valid(Token),
    /// Its token has expired.
    Expired(Token),
    /// Its token was revoked.
    Revoked(Token),
    /// It belongs to no token.
    Unknown,
}

impl Tokens<'_> {
    /// Makes a token and returns its secret, which the store does not keep.
    ///
    /// # Errors
    ///
    /// [`StoreError::TokenExists`], or when the store cannot be written.
    #[tracing::instrument(name = "store::create_token", level = "debug", skip_all)]
    pub async fn create(
        self,
        token: &NewToken,
        entry: Option<&AuditEntry>,
    ) -> Result<Secret, StoreError> {
        let secret = Secret::new(PREFIX)?;
        let hash = sha256(secret.as_str().as_bytes());
        let mut change = Change::new(self.database, entry);
        loop {
            match try_create(&change, token, &hash).await {
                Err(error) if change.again(&error).await => {}
                done => return done.map(|()| secret),
            }
        }
    }

    /// All tokens, including expired and revoked ones, sorted by name.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::tokens", level = "debug", skip_all)]
    pub async fn list(self) -> Result<Vec<Token>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM tokens ORDER BY name");
        let rows = self.database.fetch(&sql, []).await?;
        rows.iter().map(|row| self.token_of(row)).collect()
    }

    /// Revokes a token. One that was revoked already stays as it is.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoToken`], or when the store cannot be written.
    #[tracing::instrument(name = "store::revoke_token", level = "debug", skip_all)]
    pub async fn revoke(self, name: &str, entry: Option<&AuditEntry>) -> Result<(), StoreError> {
        let mut change = Change::new(self.database, entry);
        loop {
            match try_revoke(&change, name).await {
                Err(error) if change.again(&error).await => {}
                done => return done,
            }
        }
    }

    /// The token of a secret. The store notes that a valid one was used.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    #[tracing::instrument(name = "store::find_token", level = "debug", skip_all)]
    pub async fn find(self, secret: &str) -> Result<TokenCheck, StoreError> {
        let now = self.database.dialect().now();
        let hash = sha256(secret.as_bytes());
        let sql = format!("SELECT {COLUMNS}, {now} FROM tokens WHERE hash = $1");
        let rows = self.database.fetch(&sql, [hash.clone().into()]).await?;
        let Some(row) = rows.first() else {
            return Ok(TokenCheck::Unknown);
        };
        let time = row.int(7).map_err(|source| self.database.failed(source))?;
        let token = self.token_of(row)?;
        if token.revoked.is_some() {
            return Ok(TokenCheck::Revoked(token));
        }
        if token.expires.is_some_and(|expires| expires <= time) {
            return Ok(TokenCheck::Expired(token));
        }
        if token.used.is_none_or(|used| used <= time - USED_ANEW) {
            let sql = "UPDATE tokens SET used = $2 WHERE hash = $1";
            let values = [hash.into(), time.into()];
            self.database.execute(sql, values).await?;
        }
        Ok(TokenCheck::Valid(token))
    }

    fn token_of(self, row: &Row) -> Result<Token, StoreError> {
        let failed = |source| self.database.failed(source);
        let name = row.text(0).map_err(failed)?;
        let place = || format!("token {name}");
        let rights = row.text(2).map_err(failed)?;
        Ok(Token {
            user: row.text(1).map_err(failed)?,
            rights: parsed(&self.database.name, place, &rights)?,
            created: row.int(3).map_err(failed)?,
            expires: row.optional_int(4).map_err(failed)?,
            revoked: row.optional_int(5).map_err(failed)?,
            used: row.optional_int(6).map_err(failed)?,
            name,
        })
    }
}

async fn try_create(change: &Change<'_>, token: &NewToken, hash: &[u8]) -> Result<(), StoreError> {
    let Some(mut transaction) = change.begin().await? else {
        return Ok(());
    };
    let sql = format!(
        "INSERT INTO tokens (name, hash, username, rights, created, expires) \
         VALUES ($1, $2, $3, $4, {}, $5) ON CONFLICT DO NOTHING",
        transaction.dialect().now()
    );
    let values: [Value; 5] = [
        token.name.as_str().into(),
        hash.to_vec().into(),
        token.user.as_str().into(),
        Json::from(token.rights.clone()).to_string().into(),
        token.expires.into(),
    ];
    if transaction.execute(&sql, values).await? == 0 {
        // Perhaps by an unacknowledged attempt.
        let sql = "SELECT 1 FROM tokens WHERE hash = $1";
        return match transaction.fetch(sql, [hash.to_vec().into()]).await?[..] {
            [] => Err(StoreError::TokenExists {
                name: token.name.clone(),
            }),
            _ => Ok(()),
        };
    }
    change.commit(transaction).await
}

async fn try_revoke(change: &Change<'_>, name: &str) -> Result<(), StoreError> {
    let Some(mut transaction) = change.begin().await? else {
        return Ok(());
    };
    let sql = format!(
        "UPDATE tokens SET revoked = coalesce(revoked, {}) WHERE name = $1",
        transaction.dialect().now()
    );
    match transaction.execute(&sql, [name.into()]).await? {
        0 => Err(StoreError::NoToken { name: name.into() }),
        _ => change.commit(transaction).await,
    }
}

//! The preferences of a user: a document that interfaces read and write, and the store does not.

use serde_json::{Map, Value};

use super::change::Change;
use super::damage::parsed;
use super::views::Preferences;
use super::{AuditEntry, StoreError};

/// The longest preferences that are kept, in bytes of JSON.
pub const MOST_PREFERENCES_BYTES: usize = 16 << 10;

impl Preferences<'_> {
    /// The preferences of a user; none at first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or is damaged.
    #[tracing::instrument(name = "store::preferences", level = "debug", skip_all)]
    pub async fn get(self, user: &str) -> Result<Map<String, Value>, StoreError> {
        let sql = "SELECT document FROM preferences WHERE username = $1";
        let rows = self.database.fetch(sql, [user.into()]).await?;
        let Some(row) = rows.first() else {
            return Ok(Map::new());
        };
        let document = row.text(0).map_err(|source| self.database.failed(source))?;
        let place = || "the preferences of a user".to_owned();
        parsed(&self.database.name, place, &document)
    }

    /// Replaces the preferences of a user. To change one of them, change it in the result of
    /// [`Preferences::get`]: fields of later versions are kept so.
    ///
    /// # Errors
    ///
    /// [`StoreError::PreferencesTooLong`], or when the store cannot be written.
    #[tracing::instrument(name = "store::set_preferences", level = "debug", skip_all)]
    pub async fn set(
        self,
        user: &str,
        preferences: &Map<String, Value>,
        entry: Option<&AuditEntry>,
    ) -> Result<(), StoreError> {
        let document = Value::Object(preferences.clone()).to_string();
        if document.len() > MOST_PREFERENCES_BYTES {
            return Err(StoreError::PreferencesTooLong);
        }
        let mut change = Change::new(self.database, entry);
        loop {
            match try_set(&change, user, &document).await {
                Err(error) if change.again(&error).await => {}
                done => return done,
            }
        }
    }
}

async fn try_set(change: &Change<'_>, user: &str, document: &str) -> Result<(), StoreError> {
    let Some(mut transaction) = change.begin().await? else {
        return Ok(());
    };
    let sql = "INSERT INTO preferences (username, document) VALUES ($1, $2) \
               ON CONFLICT (username) DO UPDATE SET document = excluded.document";
    let values = [user.into(), document.into()];
    transaction.execute(sql, values).await?;
    change.commit(transaction).await
}

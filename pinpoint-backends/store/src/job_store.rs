//! The store itself: an open database.

use super::database::Database;
use super::error::StoreError;
use super::rows::version;

/// Jobs and their journals, in a SQLite file or a PostgreSQL database. Clones share
/// their connections.
#[derive(Debug, Clone)]
pub struct JobStore {
    pub(super) database: Database,
}

impl JobStore {
    pub(super) fn new(database: Database) -> Self {
        Self { database }
    }

    /// The name of the file or the database in messages.
    pub fn name(&self) -> &str {
        &self.database.name
    }

    /// The current version of the tables: a newer program may have migrated them since the store
    /// was opened.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::version", level = "debug", skip_all)]
    pub async fn version(&self) -> Result<u32, StoreError> {
        let sql = self.database.dialect().version();
        let rows = self.database.fetch(sql, []).await?;
        let found = rows.first().map_or(Ok(0), |row| version(row, 0));
        found.map_err(|source| self.database.failed(source))
    }

    /// Closes every connection. Dropping a store is as safe; this waits for it.
    pub async fn close(self) {
        self.database.close().await;
    }
}

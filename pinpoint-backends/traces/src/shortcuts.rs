//! Shortcuts: sets of names, by a name of their own.

use pinpoint_store::sql::Access;
use pinpoint_traces::{Shortcut, ShortcutId};

use super::ingest::json;
use super::{History, TraceStoreError};

impl History {
    /// Keeps a set of names. Returns the name of the shortcut, which is the same for the same set.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub async fn keep_shortcut(&self, shortcut: &Shortcut) -> Result<ShortcutId, TraceStoreError> {
        let id = shortcut.id();
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        let sql = "INSERT INTO shortcuts (dataset, name, ids) VALUES ($1, $2, $3) \
                   ON CONFLICT (dataset, name) DO NOTHING";
        let values = [
            dataset.number.into(),
            id.to_string().into(),
            json(shortcut)?.into(),
        ];
        transaction.execute(sql, values).await?;
        transaction.commit().await?;
        Ok(id)
    }

    /// The set of a name.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoShortcut`], [`TraceStoreError::NoDataset`]; when the store cannot be
    /// read, or is damaged.
    pub async fn shortcut(&self, id: &ShortcutId) -> Result<Shortcut, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT ids FROM shortcuts WHERE dataset = $1 AND name = $2";
        let values = [dataset.number.into(), id.to_string().into()];
        let rows = transaction.fetch(sql, values).await?;
        transaction.roll_back().await?;
        let row = rows.first();
        let row = row.ok_or_else(|| TraceStoreError::NoShortcut(id.to_string()))?;
        let shortcut = serde_json::from_str(&row.text(0)?);
        shortcut.map_err(|error| self.store.damaged(format!("shortcut {id}"), error))
    }
}

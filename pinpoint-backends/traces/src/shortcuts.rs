//! Shortcuts: sets of names, by a name of their own.

use md5::{Digest, Md5};
use pinpoint_store::sql::Access;
use pinpoint_traces::TraceName;

use super::ingest::json;
use super::{History, TraceStoreError};

/// The name of a shortcut to these names: `X` and the MD5, in hex, of the sorted names one after
/// the other.
pub fn shortcut_name(names: &[TraceName]) -> String {
    let mut digest = Md5::new();
    sorted(names).iter().for_each(|name| digest.update(name));
    format!("X{}", hex::encode(digest.finalize()))
}

fn sorted(names: &[TraceName]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(TraceName::to_string).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl History {
    /// Keeps a set of names: ids of traces, and formulas. Returns the name of the shortcut, which is
    /// the same for the same set.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub async fn keep_shortcut(&self, names: &[TraceName]) -> Result<String, TraceStoreError> {
        let name = shortcut_name(names);
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        let sql = "INSERT INTO shortcuts (dataset, name, ids) VALUES ($1, $2, $3) \
                   ON CONFLICT (dataset, name) DO NOTHING";
        let ids = json(&sorted(names))?;
        let values = [dataset.number.into(), name.as_str().into(), ids.into()];
        transaction.execute(sql, values).await?;
        transaction.commit().await?;
        Ok(name)
    }

    /// The names of a shortcut, ascending.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoShortcut`], [`TraceStoreError::NoDataset`]; when the store cannot be
    /// read, or is damaged.
    pub async fn shortcut(&self, name: &str) -> Result<Vec<TraceName>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT ids FROM shortcuts WHERE dataset = $1 AND name = $2";
        let rows = transaction
            .fetch(sql, [dataset.number.into(), name.into()])
            .await?;
        transaction.roll_back().await?;
        let row = rows.first();
        let row = row.ok_or_else(|| TraceStoreError::NoShortcut(name.to_owned()))?;
        let names = serde_json::from_str(&row.text(0)?);
        names.map_err(|error| self.store.damaged(format!("shortcut {name}"), error))
    }
}

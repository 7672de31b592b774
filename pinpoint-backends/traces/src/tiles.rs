//! The tiles of a dataset, and their removal.

use pinpoint_store::sql::{Access, Dialect};
use pinpoint_traces::CommitNumber;

use super::rows::number;
use super::seal::partition;
use super::{History, TraceStoreError};

/// A tile of scale 0 that has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredTile {
    /// Its number.
    pub number: u32,
    /// The number of times that its sealed values changed.
    pub version: u64,
    /// True if all of its values are sealed.
    pub is_sealed: bool,
    /// The last commit with a value.
    pub last: CommitNumber,
}

impl History {
    /// The tiles that have values, ascending.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read.
    pub async fn tiles(&self) -> Result<Vec<StoredTile>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT tile, version, appended, last FROM tiles WHERE dataset = $1 \
                   ORDER BY tile";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        transaction.roll_back().await?;
        let tile = |row: &_| {
            Ok(StoredTile {
                number: number(row, 0)?,
                version: number(row, 1)?.into(),
                is_sealed: row.int(2)? == 0,
                last: CommitNumber(number(row, 3)?),
            })
        };
        rows.iter().map(tile).collect()
    }

    /// Removes the tiles before one, all at once. Their values are gone; traces keep their ids,
    /// commits, files and annotations stay, and files that still come for them are left out.
    /// Returns how many tiles there were.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be written.
    pub async fn remove_tiles_before(&self, tile: u32) -> Result<u64, TraceStoreError> {
        let mut tries = self.store.database.tries(None);
        loop {
            match self.try_remove_tiles(tile).await {
                Err(TraceStoreError::Database(error)) if tries.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_remove_tiles(&self, tile: u32) -> Result<u64, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Write).await?;
        // Nothing is made for a name that is not there.
        self.row(&mut transaction).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        let values = [dataset.number.into(), i64::from(tile).into()];
        let sql = "SELECT tile FROM tiles WHERE dataset = $1 AND tile < $2";
        let rows = transaction.fetch(sql, values.clone()).await?;
        for row in &rows {
            if self.store.database.dialect() == Dialect::Postgres {
                let name = partition(&dataset, number(row, 0)?);
                let sql = format!("DROP TABLE IF EXISTS {name}");
                transaction.execute(&sql, []).await?;
            }
        }
        for table in ["blocks", "parts", "tile_traces", "tiles"] {
            let sql = format!("DELETE FROM {table} WHERE dataset = $1 AND tile < $2");
            transaction.execute(&sql, values.clone()).await?;
        }
        let sql = "UPDATE datasets SET first_tile = $2 WHERE number = $1 AND first_tile < $2";
        transaction.execute(sql, values).await?;
        transaction.commit().await?;
        Ok(rows.len() as u64)
    }
}

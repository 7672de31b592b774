//! Sealing: parts of a tile become blocks, a section of traces after the other.
//!
//! A section is sealed in one transaction, in which its parts go away. So each value is in one of
//! the two at any time, whatever ends the process. Blocks that are there take late values the same
//! way.

use std::collections::BTreeMap;

use pinpoint_store::sql::{Access, Database, Dialect, Transaction, Value};
use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::append::PART_WEIGHT;
use super::block::{Block, BlockError, BlockRow, ROWS};
use super::merge::Merged;
use super::rows::{insert, number};
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// The newest tile is sealed early when its parts weigh more than this: reading them takes time.
const MOST_APPENDED: i64 = 1 << 22;

const TRACES_OF_BLOCK: u32 = ROWS as u32;

impl History {
    /// Seals the tiles that are due: those behind the newest one, and that, too, where much was
    /// appended to it. Every ingest does so after its values are safe; it is for a process that was
    /// killed before. Returns the number of values that were moved.
    ///
    /// # Errors
    ///
    /// When the store cannot be written, or a block is damaged. What was sealed stays so.
    pub async fn seal_due(&self) -> Result<u64, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = match self.row(&mut transaction).await {
            Err(TraceStoreError::NoDataset(_)) => return Ok(0),
            row => row?,
        };
        let sql = "SELECT tile FROM tiles WHERE dataset = $1 AND appended > 0 AND (appended > $2 \
                   OR tile < (SELECT max(tile) FROM tiles WHERE dataset = $1)) ORDER BY tile";
        let values = [dataset.number.into(), MOST_APPENDED.into()];
        let due = transaction.fetch(sql, values).await?;
        transaction.roll_back().await?;
        let mut moved = 0;
        for row in due {
            moved += self.seal(number(&row, 0)?).await?;
        }
        Ok(moved)
    }

    /// Seals a tile, due or not. Returns the number of values that were moved.
    ///
    /// # Errors
    ///
    /// Those of [`History::seal_due`].
    pub async fn seal(&self, tile: u32) -> Result<u64, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT DISTINCT section FROM parts WHERE dataset = $1 AND tile = $2 \
                   ORDER BY section";
        let values = [dataset.number.into(), i64::from(tile).into()];
        let sections = transaction.fetch(sql, values).await?;
        transaction.roll_back().await?;
        let mut moved = 0;
        for section in sections {
            let section = number(&section, 0)?;
            let mut tries = self.store.database.tries(None);
            moved += loop {
                match self.seal_section(tile, section).await {
                    Err(TraceStoreError::Database(error)) if tries.again(&error).await => {}
                    done => break done?,
                }
            };
        }
        Ok(moved)
    }

    async fn seal_section(&self, tile: u32, section: u32) -> Result<u64, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        make_partition(&self.store.database, &mut transaction, &dataset, tile).await?;
        let place: [Value; 3] = [
            dataset.number.into(),
            i64::from(tile).into(),
            i64::from(section).into(),
        ];
        let sql = "SELECT section, commit_number, source, content FROM parts \
                   WHERE dataset = $1 AND tile = $2 AND section = $3 \
                   ORDER BY commit_number, source";
        let parts = transaction.fetch(sql, place.clone()).await?;
        let mut merged = Merged::default();
        let mut moved = 0;
        for part in &parts {
            moved += self.put_part(tile, part, &mut merged, None)? as u64;
        }
        if parts.is_empty() {
            // Another process was quicker.
            transaction.roll_back().await?;
            return Ok(0);
        }
        self.merge_into_blocks(&mut transaction, &dataset, tile, merged)
            .await?;
        let sql = "DELETE FROM parts WHERE dataset = $1 AND tile = $2 AND section = $3";
        transaction.execute(sql, place).await?;
        let weight = moved + parts.len() as u64 * PART_WEIGHT;
        let sql = "UPDATE tiles SET version = version + 1, appended = appended - $3 \
                   WHERE dataset = $1 AND tile = $2";
        let values = [
            dataset.number.into(),
            i64::from(tile).into(),
            i64::try_from(weight).unwrap_or(i64::MAX).into(),
        ];
        transaction.execute(sql, values).await?;
        transaction.commit().await?;
        Ok(moved)
    }

    /// Writes rows into blocks, with what those have already. The dataset must be locked.
    pub(super) async fn merge_into_blocks(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        tile: u32,
        mut merged: Merged,
    ) -> Result<(), TraceStoreError> {
        let traces: RoaringBitmap = merged.rows.keys().copied().collect();
        let held = self.blocks(transaction, dataset, tile, &traces).await?;
        for (trace, row) in self.decoded(tile, held, None).await? {
            for ((offset, value), source) in row.offsets().zip(row.values).zip(row.sources) {
                // An offset in a tile has 7 bits.
                merged.put(trace, offset as u32, value, source);
            }
        }
        merged.settle(self, transaction, dataset).await?;
        let blocks = encoded(merged.rows).await?;
        let lines = blocks.into_iter().map(|(slot, content)| {
            vec![
                dataset.number.into(),
                i64::from(tile).into(),
                i64::from(slot).into(),
                content.into(),
            ]
        });
        let sql = "INSERT INTO blocks (dataset, tile, slot, content)";
        let then = "ON CONFLICT (dataset, tile, slot) DO UPDATE SET content = excluded.content";
        insert(transaction, sql, lines.collect(), then).await
    }
}

/// The rows as blocks, on all cores.
async fn encoded(rows: BTreeMap<u32, BlockRow>) -> Result<Vec<(u32, Vec<u8>)>, TraceStoreError> {
    let encode = move || {
        let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
        for (trace, row) in rows {
            let block = blocks.entry(trace / TRACES_OF_BLOCK).or_default();
            if let Some(place) = block.rows.get_mut((trace % TRACES_OF_BLOCK) as usize) {
                *place = row;
            }
        }
        let blocks = blocks.par_iter();
        let encoded = blocks.map(|(slot, block)| Ok((*slot, block.encode()?)));
        encoded.collect::<Result<Vec<_>, BlockError>>()
    };
    let encoded = tokio::task::spawn_blocking(encode).await;
    let encoded = encoded.map_err(|_| TraceStoreError::Interrupted)?;
    encoded.map_err(|error| TraceStoreError::Row(error.to_string()))
}

/// The table of a tile's blocks in PostgreSQL: old tiles go with their tables.
pub(super) fn partition(dataset: &DatasetRow, tile: u32) -> String {
    format!("blocks_{}_{tile}", dataset.number)
}

/// Makes that table, if need be. Readers are not disturbed: attaching a table locks no rows.
pub(super) async fn make_partition(
    database: &Database,
    transaction: &mut Transaction,
    dataset: &DatasetRow,
    tile: u32,
) -> Result<(), TraceStoreError> {
    if database.dialect() == Dialect::Sqlite {
        return Ok(());
    }
    let (name, number) = (partition(dataset, tile), dataset.number);
    let sql = "SELECT CAST(count(*) AS BIGINT) FROM pg_catalog.pg_class \
               WHERE relname = $1 AND pg_catalog.pg_table_is_visible(oid)";
    let rows = transaction.fetch(sql, [name.as_str().into()]).await?;
    if rows.first().map_or(Ok(0), |row| row.int(0))? > 0 {
        return Ok(());
    }
    let sql = format!("CREATE TABLE {name} (LIKE blocks INCLUDING ALL)");
    transaction.execute(&sql, []).await?;
    let sql = format!(
        "ALTER TABLE blocks ATTACH PARTITION {name} \
         FOR VALUES FROM ({number}, {tile}) TO ({number}, {})",
        i64::from(tile) + 1
    );
    transaction.execute(&sql, []).await?;
    Ok(())
}

//! The rows of a tile: blocks, and the parts that are not in blocks yet.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_store::sql::{Row, Transaction, Value};
use pinpoint_traces::TILE_SIZE;
use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::block::{Block, BlockRow, ROWS};
use super::merge::Merged;
use super::part::{SECTION, decode};
use super::rows::{fetch_of_list, number};
use super::store::DatasetRow;
use super::{History, TraceStoreError};

const TRACES_OF_BLOCK: u32 = ROWS as u32;

impl History {
    /// The rows of these traces in a tile, by the trace's number.
    pub(super) async fn tile_rows(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        tile: u32,
        wanted: &RoaringBitmap,
    ) -> Result<BTreeMap<u32, BlockRow>, TraceStoreError> {
        let blocks = self.blocks(transaction, dataset, tile, wanted).await?;
        let mut merged = Merged::of(self.decoded(tile, blocks, Some(wanted)).await?);
        self.add_parts(transaction, dataset, tile, wanted, &mut merged)
            .await?;
        merged.settle(self, transaction, dataset).await?;
        Ok(merged.rows)
    }

    /// The blocks with any of these traces, each with its place.
    pub(super) async fn blocks(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        tile: u32,
        wanted: &RoaringBitmap,
    ) -> Result<Vec<(u32, Vec<u8>)>, TraceStoreError> {
        let slots: BTreeSet<u32> = wanted.iter().map(|it| it / TRACES_OF_BLOCK).collect();
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
            return Ok(Vec::new());
        };
        let of_tile = [dataset.number.into(), i64::from(tile).into()];
        // Many neighbors are read sooner as a range.
        let rows: Vec<Row> = if slots.len() * 2 > (last - first) as usize {
            let sql = "SELECT slot, content FROM blocks \
                       WHERE dataset = $1 AND tile = $2 AND slot BETWEEN $3 AND $4";
            let [dataset, tile] = of_tile;
            let values = [
                dataset,
                tile,
                i64::from(*first).into(),
                i64::from(*last).into(),
            ];
            transaction.fetch(sql, values).await?
        } else {
            let sql = "SELECT slot, content FROM blocks \
                       WHERE dataset = $1 AND tile = $2 AND slot IN ({list})";
            let list: Vec<Value> = slots.iter().map(|it| i64::from(*it).into()).collect();
            fetch_of_list(transaction, sql, &of_tile, &list).await?
        };
        let mut blocks = Vec::with_capacity(rows.len());
        for row in rows {
            let slot = number(&row, 0)?;
            if slots.contains(&slot) {
                blocks.push((slot, row.bytes(1)?));
            }
        }
        Ok(blocks)
    }

    /// The rows in these blocks, on all cores; all of them, or those of some traces.
    pub(super) async fn decoded(
        &self,
        tile: u32,
        blocks: Vec<(u32, Vec<u8>)>,
        wanted: Option<&RoaringBitmap>,
    ) -> Result<BTreeMap<u32, BlockRow>, TraceStoreError> {
        let wanted = wanted.cloned();
        let decode = move || {
            let rows = blocks.par_iter().map(|(slot, content)| {
                let block = Block::decode(content).map_err(|error| (*slot, error))?;
                let first = slot * TRACES_OF_BLOCK;
                let rows = (first..).zip(block.rows).filter(|(trace, row)| {
                    let is_wanted = wanted.as_ref().is_none_or(|it| it.contains(*trace));
                    row.commits != 0 && is_wanted
                });
                Ok(rows.collect::<Vec<_>>())
            });
            rows.collect::<Result<Vec<_>, _>>()
        };
        let rows = tokio::task::spawn_blocking(decode).await;
        let rows = rows.map_err(|_| TraceStoreError::Interrupted)?;
        let rows = rows.map_err(|(slot, error)| {
            self.store
                .damaged(format!("block {slot} of tile {tile}"), error)
        })?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Adds the parts of these traces.
    async fn add_parts(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        tile: u32,
        wanted: &RoaringBitmap,
        merged: &mut Merged,
    ) -> Result<(), TraceStoreError> {
        let sections: BTreeSet<u32> = wanted.iter().map(|it| it / SECTION).collect();
        let list: Vec<Value> = sections.iter().map(|it| i64::from(*it).into()).collect();
        let sql = "SELECT section, commit_number, source, content FROM parts \
                   WHERE dataset = $1 AND tile = $2 AND section IN ({list}) \
                   ORDER BY section, commit_number, source";
        let of_tile = [dataset.number.into(), i64::from(tile).into()];
        for row in fetch_of_list(transaction, sql, &of_tile, &list).await? {
            self.put_part(tile, &row, merged, Some(wanted))?;
        }
        Ok(())
    }

    /// Adds a part: section, commit, source and content. Returns how many values it has.
    pub(super) fn put_part(
        &self,
        tile: u32,
        row: &Row,
        merged: &mut Merged,
        wanted: Option<&RoaringBitmap>,
    ) -> Result<usize, TraceStoreError> {
        let (section, commit, source) = (number(row, 0)?, number(row, 1)?, number(row, 2)?);
        let values = decode(&row.bytes(3)?).map_err(|error| {
            self.store.damaged(
                format!("the values of commit {commit} in tile {tile}"),
                error,
            )
        })?;
        let (first, offset) = (section * SECTION, commit % TILE_SIZE);
        for (trace, value) in &values {
            let trace = first + u32::from(*trace);
            if wanted.is_none_or(|it| it.contains(trace)) {
                merged.put(trace, offset, *value, source);
            }
        }
        Ok(values.len())
    }
}

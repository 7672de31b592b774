//! Values of traces from several files: of two at one commit, that of the later file stays.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pinpoint_store::sql::{Transaction, Value};

use super::block::BlockRow;
use super::rows::{fetch_of_list, number};
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// The rows of a tile, by the numbers of their traces.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) rows: BTreeMap<u32, BlockRow>,
    /// Values for places that have one: trace, offset of the commit, value, source.
    contested: Vec<(u32, u32, f64, u32)>,
}

impl Merged {
    pub(super) fn of(rows: BTreeMap<u32, BlockRow>) -> Self {
        Self {
            rows,
            contested: Vec::new(),
        }
    }

    /// Adds a value at the offset of its commit in the tile.
    pub(super) fn put(&mut self, trace: u32, offset: u32, value: f64, source: u32) {
        let row = self.rows.entry(trace).or_default();
        let bit = 1_u128 << offset;
        if row.commits & bit != 0 {
            self.contested.push((trace, offset, value, source));
            return;
        }
        let at = place(row, offset);
        row.commits |= bit;
        row.values.insert(at, value);
        row.sources.insert(at, source);
    }

    /// Decides between values of the same place.
    pub(super) async fn settle(
        &mut self,
        history: &History,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
    ) -> Result<(), TraceStoreError> {
        if self.contested.is_empty() {
            return Ok(());
        }
        let mut sources = BTreeSet::new();
        for (trace, offset, _, source) in &self.contested {
            sources.insert(*source);
            let held = self.rows.get(trace);
            sources.extend(held.and_then(|row| row.sources.get(place(row, *offset))));
        }
        let ranks = history.ranks(transaction, dataset, &sources).await?;
        for (trace, offset, value, source) in std::mem::take(&mut self.contested) {
            let Some(row) = self.rows.get_mut(&trace) else {
                continue;
            };
            let at = place(row, offset);
            let (Some(held), Some(held_source)) = (row.values.get_mut(at), row.sources.get_mut(at))
            else {
                continue;
            };
            // A source without a rank was removed, and is older than all.
            if ranks.get(&source) > ranks.get(held_source) {
                (*held, *held_source) = (value, source);
            }
        }
        Ok(())
    }
}

/// The place of a commit's value among those of its row.
pub(super) fn place(row: &BlockRow, offset: u32) -> usize {
    let before = (1_u128 << offset) - 1;
    (row.commits & before).count_ones() as usize
}

impl History {
    async fn ranks(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        sources: &BTreeSet<u32>,
    ) -> Result<HashMap<u32, Vec<u8>>, TraceStoreError> {
        let list: Vec<Value> = sources.iter().map(|it| i64::from(*it).into()).collect();
        let sql = "SELECT number, rank FROM sources WHERE dataset = $1 AND number IN ({list})";
        let rows = fetch_of_list(transaction, sql, &[dataset.number.into()], &list).await?;
        rows.iter()
            .map(|row| Ok((number(row, 0)?, row.bytes(1)?)))
            .collect()
    }
}

//! One value of each trace: the latest, that of a commit, the nearest to it.

use std::collections::BTreeMap;

use pinpoint_store::sql::{Access, Transaction};
use pinpoint_traces::{CommitNumber, TILE_SIZE, TraceId};
use roaring::RoaringBitmap;

use super::frames::{first_of, last_of};
use super::store::DatasetRow;
use super::{History, Select, TraceStoreError};

/// Where in the history of each trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueAt {
    /// The last value.
    Latest,
    /// The last value at this commit or before it.
    UpTo(CommitNumber),
    /// The value of this commit alone.
    At(CommitNumber),
    /// The value nearest to this commit; of two that are as near, the earlier one.
    Nearest(CommitNumber),
}

/// A value of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TracePoint {
    /// The trace.
    pub trace: TraceId,
    /// The commit of the value.
    pub commit: CommitNumber,
    /// The value.
    pub value: f64,
}

type Found = BTreeMap<u32, (u32, f64)>;

impl History {
    /// One value of each trace that has one, by id. Tiles are read from there on until each trace has
    /// its value.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; [`TraceStoreError::TooMany`] beyond the limit; when the store
    /// cannot be read, or is damaged.
    pub async fn values_at(
        &self,
        select: Select<'_>,
        at: ValueAt,
        limit: u64,
    ) -> Result<Vec<TracePoint>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let traces = self
            .selected(&mut transaction, &dataset, select, limit)
            .await?;
        let inner = &mut transaction;
        let found = match at {
            ValueAt::Latest => self.before(inner, &dataset, &traces, u32::MAX).await?,
            ValueAt::UpTo(commit) => self.before(inner, &dataset, &traces, commit.0).await?,
            ValueAt::At(CommitNumber(commit)) => {
                let tile = commit / TILE_SIZE;
                let here = self.tile_traces(inner, &dataset, tile).await? & &traces;
                let rows = self.tile_rows(inner, &dataset, tile, &here).await?;
                let last = |row| last_of(row, commit % TILE_SIZE);
                let last = rows
                    .iter()
                    .filter_map(|(trace, row)| Some((*trace, last(row)?)));
                last.filter(|(_, (offset, _))| *offset == commit % TILE_SIZE)
                    .map(|(trace, (_, value))| (trace, (commit, value)))
                    .collect()
            }
            ValueAt::Nearest(CommitNumber(commit)) => {
                let mut found = self.before(inner, &dataset, &traces, commit).await?;
                for (trace, later) in self.after(inner, &dataset, &traces, commit).await? {
                    let nearest = found.entry(trace).or_insert(later);
                    if later.0.abs_diff(commit) < nearest.0.abs_diff(commit) {
                        *nearest = later;
                    }
                }
                found
            }
        };
        let present: RoaringBitmap = found.keys().copied().collect();
        let ids = self.ids_of(&mut transaction, &dataset, &present).await?;
        transaction.roll_back().await?;
        let points = ids.into_iter().zip(found.into_values());
        let point = |(trace, (commit, value))| TracePoint {
            trace,
            commit: CommitNumber(commit),
            value,
        };
        let mut points: Vec<TracePoint> = points.map(point).collect();
        points.sort_unstable_by(|a, b| a.trace.cmp(&b.trace));
        Ok(points)
    }

    /// The last value of each trace up to a commit.
    async fn before(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        traces: &RoaringBitmap,
        commit: u32,
    ) -> Result<Found, TraceStoreError> {
        let commits = CommitNumber(0)..=CommitNumber(commit);
        let mut tiles = self.tiles_of(transaction, dataset, &commits).await?;
        tiles.reverse();
        let last = |tile: u32| match tile == commit / TILE_SIZE {
            true => commit % TILE_SIZE,
            false => TILE_SIZE - 1,
        };
        self.search(transaction, dataset, traces, &tiles, |tile, row| {
            last_of(row, last(tile))
        })
        .await
    }

    /// The first value of each trace from a commit on.
    async fn after(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        traces: &RoaringBitmap,
        commit: u32,
    ) -> Result<Found, TraceStoreError> {
        let commits = CommitNumber(commit)..=CommitNumber(u32::MAX);
        let tiles = self.tiles_of(transaction, dataset, &commits).await?;
        let first = |tile: u32| match tile == commit / TILE_SIZE {
            true => commit % TILE_SIZE,
            false => 0,
        };
        self.search(transaction, dataset, traces, &tiles, |tile, row| {
            first_of(row, first(tile))
        })
        .await
    }

    /// The first value that `value_of` finds in these tiles, for each trace.
    async fn search(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        traces: &RoaringBitmap,
        tiles: &[u32],
        value_of: impl Fn(u32, &super::block::BlockRow) -> Option<(u32, f64)>,
    ) -> Result<Found, TraceStoreError> {
        let mut found = Found::new();
        let mut rest = traces.clone();
        for tile in tiles {
            if rest.is_empty() {
                break;
            }
            let here = self.tile_traces(transaction, dataset, *tile).await? & &rest;
            for (trace, row) in self.tile_rows(transaction, dataset, *tile, &here).await? {
                if let Some((offset, value)) = value_of(*tile, &row) {
                    found.insert(trace, (tile * TILE_SIZE + offset, value));
                    rest.remove(trace);
                }
            }
        }
        Ok(found)
    }
}

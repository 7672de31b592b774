//! Values of traces as frames.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use pinpoint_store::sql::{Access, Transaction};
use pinpoint_traces::{Columns, CommitNumber, Frame, TILE_SIZE, Tile, TraceName};
use roaring::RoaringBitmap;

use super::block::BlockRow;
use super::store::DatasetRow;
use super::{History, Select, TraceStoreError};

/// The most values of a frame: two gigabytes.
const MOST_VALUES: usize = 1 << 28;

impl History {
    /// The values of traces at each commit of a range; rows ascend by id. A trace without a value
    /// there has a row, too.
    ///
    /// A frame is in memory as a whole: eight bytes for each trace and commit.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; [`TraceStoreError::TooMany`] beyond the limit, and
    /// [`TraceStoreError::TooLarge`] beyond 2^28 values; when the store cannot be read, or is
    /// damaged.
    pub async fn frame(
        &self,
        select: Select<'_>,
        commits: RangeInclusive<CommitNumber>,
        limit: u64,
    ) -> Result<Frame, TraceStoreError> {
        let columns = Columns::range(commits.clone());
        let first = commits.start().0;
        let column = |commit: u32| {
            let is_inside = commits.contains(&CommitNumber(commit));
            is_inside.then(|| (commit - first) as usize)
        };
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let traces = self
            .selected(&mut transaction, &dataset, select, limit)
            .await?;
        let tiles = self.tiles_of(&mut transaction, &dataset, &commits).await?;
        let frame = self
            .frame_of(&mut transaction, &dataset, &traces, &tiles, columns, column)
            .await?;
        transaction.roll_back().await?;
        Ok(frame)
    }

    /// The values of traces in a tile of any scale: 128 columns, each with the last value present
    /// among its commits, and named for the first of them. A tile of scale s reads 4^s tiles.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoTile`] where no trace has a value; otherwise those of
    /// [`History::frame`].
    pub async fn tile_frame(
        &self,
        select: Select<'_>,
        tile: Tile,
        limit: u64,
    ) -> Result<Frame, TraceStoreError> {
        let firsts = (0..TILE_SIZE as usize).filter_map(|point| tile.commits_of_point(point));
        let firsts = firsts.map(|commits| *commits.start()).collect();
        let columns = Columns::list(firsts).map_err(|error| self.store.damaged("a tile", error))?;
        let column = |commit: u32| tile.point_of(CommitNumber(commit));
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let tiles = self
            .tiles_of(&mut transaction, &dataset, &tile.commits())
            .await?;
        if tiles.is_empty() {
            return Err(self.no_tile(tile));
        }
        let traces = self
            .selected(&mut transaction, &dataset, select, limit)
            .await?;
        let frame = self
            .frame_of(&mut transaction, &dataset, &traces, &tiles, columns, column)
            .await?;
        transaction.roll_back().await?;
        Ok(frame)
    }

    pub(super) fn no_tile(&self, tile: Tile) -> TraceStoreError {
        TraceStoreError::NoTile {
            dataset: self.name.to_string(),
            tile,
        }
    }

    async fn frame_of(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        traces: &RoaringBitmap,
        tiles: &[u32],
        columns: Columns,
        column: impl Fn(u32) -> Option<usize>,
    ) -> Result<Frame, TraceStoreError> {
        let ids = self.ids_of(transaction, dataset, traces).await?;
        let mut order: Vec<(pinpoint_traces::TraceId, u32)> = ids.into_iter().zip(traces).collect();
        order.sort_unstable();
        let width = columns.len();
        let cells = order.len().checked_mul(width);
        let cells = cells.filter(|cells| *cells <= MOST_VALUES);
        let Some(cells) = cells else {
            return Err(TraceStoreError::TooLarge {
                traces: order.len(),
                commits: width,
            });
        };
        let mut values = vec![f64::NAN; cells];
        let starts = order.iter().enumerate();
        let starts: HashMap<u32, usize> = starts.map(|(at, it)| (it.1, at * width)).collect();
        for tile in tiles {
            let here = self.tile_traces(transaction, dataset, *tile).await? & traces;
            let rows = self.tile_rows(transaction, dataset, *tile, &here).await?;
            for (trace, row) in rows {
                let Some(start) = starts.get(&trace) else {
                    continue;
                };
                for (offset, value) in row.offsets().zip(row.values) {
                    // Commits ascend, so the last one of a column stays.
                    let place = column(tile * TILE_SIZE + offset as u32);
                    let place = place.and_then(|place| values.get_mut(start + place));
                    place.into_iter().for_each(|place| *place = value);
                }
            }
        }
        let names = order.into_iter().map(|(id, _)| TraceName::Stored(id));
        Frame::from_parts(columns, names.collect(), values)
            .map_err(|error| self.store.damaged("the values of a tile", error))
    }
}

/// The last value of a row at an offset or before it.
pub(super) fn last_of(row: &BlockRow, offset: u32) -> Option<(u32, f64)> {
    let until = u128::MAX >> (TILE_SIZE - 1 - offset);
    let at = (row.commits & until).checked_ilog2()?;
    let value = row.values.get(super::merge::place(row, at))?;
    Some((at, *value))
}

/// The first value of a row at an offset or behind it.
pub(super) fn first_of(row: &BlockRow, offset: u32) -> Option<(u32, f64)> {
    let rest = row.commits & (u128::MAX << offset);
    let at = (rest != 0).then(|| rest.trailing_zeros())?;
    let value = row.values.get(super::merge::place(row, at))?;
    Some((at, *value))
}

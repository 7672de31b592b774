//! A whole tile, a section of traces after the other.

use pinpoint_store::sql::Access;
use pinpoint_traces::{Tile, TraceId};
use roaring::RoaringBitmap;

use super::part::SECTION;
use super::{History, Select, TraceStoreError};

/// The traces of a stream that are read at once.
const AT_ONCE: u32 = SECTION / 4;

/// The values of one trace in a tile.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceRow {
    /// The trace.
    pub trace: TraceId,
    /// A bit for each commit of the tile that has a value, from the lowest on.
    pub commits: u128,
    /// The values, by commit.
    pub values: Vec<f64>,
    /// The number of the file of each, for [`History::source`].
    pub sources: Vec<u32>,
}

/// Reads a tile. See [`History::stream`].
#[derive(Debug)]
pub struct TileStream {
    history: History,
    tile: u32,
    traces: RoaringBitmap,
    next: u64,
}

impl History {
    /// All values of traces in a tile of scale 0, some thousand traces at a time, in no order that
    /// means anything. What is in memory does not depend on the size of the tile: 4,096 traces.
    ///
    /// Each part is as of one moment. Traces that come to the tile meanwhile are left out.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoTile`] where no trace has a value; when the store cannot be read.
    pub async fn stream(
        &self,
        tile: u32,
        select: Option<Select<'_>>,
    ) -> Result<TileStream, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let mut traces = self.tile_traces(&mut transaction, &dataset, tile).await?;
        if traces.is_empty() {
            return Err(self.no_tile(Tile::new(tile, 0)?));
        }
        if let Some(select) = select {
            let inner = &mut transaction;
            traces &= self.selected(inner, &dataset, select, u64::MAX).await?;
        }
        transaction.roll_back().await?;
        Ok(TileStream {
            history: self.clone(),
            tile,
            traces,
            next: 0,
        })
    }
}

impl TileStream {
    /// The number of traces in all.
    pub fn len(&self) -> u64 {
        self.traces.len()
    }

    /// Returns true where no trace was selected.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// The next rows; none at the end.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or is damaged. The tile may have been removed meanwhile: then
    /// its rows are missing.
    pub async fn next(&mut self) -> Result<Option<Vec<TraceRow>>, TraceStoreError> {
        loop {
            let Ok(first) = u32::try_from(self.next) else {
                return Ok(None);
            };
            let Some(first) = self.traces.range(first..).next() else {
                return Ok(None);
            };
            let begin = first - first % AT_ONCE;
            self.next = u64::from(begin) + u64::from(AT_ONCE);
            let mut wanted = RoaringBitmap::new();
            wanted.insert_range(begin..=begin + (AT_ONCE - 1));
            wanted &= &self.traces;
            let history = &self.history;
            let mut transaction = history.store.database.begin(Access::Read).await?;
            let dataset = history.row(&mut transaction).await?;
            let inner = &mut transaction;
            let rows = history
                .tile_rows(inner, &dataset, self.tile, &wanted)
                .await?;
            let present: RoaringBitmap = rows.keys().copied().collect();
            let ids = history.ids_of(inner, &dataset, &present).await?;
            transaction.roll_back().await?;
            let rows = ids.into_iter().zip(rows.into_values());
            let rows: Vec<TraceRow> = rows
                .map(|(trace, row)| TraceRow {
                    trace,
                    commits: row.commits,
                    values: row.values,
                    sources: row.sources,
                })
                .collect();
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
    }
}

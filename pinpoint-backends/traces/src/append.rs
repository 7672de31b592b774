//! Values of the history as they come: parts of the tile of their commit.

use std::collections::BTreeMap;

use pinpoint_store::sql::{Transaction, Value};
use pinpoint_traces::{CommitNumber, TILE_SIZE};
use roaring::RoaringBitmap;

use super::column::SEGMENT;
use super::part::{SECTION, encode};
use super::rows::{insert, number};
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// The weight of a part in `tiles.appended`, in values: a tile is sealed where many wait, and where
/// many small ones do.
pub(super) const PART_WEIGHT: u64 = 256;

/// Values of one file at one commit, by the numbers of their traces, ascending.
pub(super) struct Arrived {
    pub(super) source: u32,
    pub(super) commit: CommitNumber,
    pub(super) values: Vec<(u32, f64)>,
}

impl History {
    /// Writes values to the tiles of their commits, unless those were removed. The dataset must be
    /// locked. Returns how many were written.
    pub(super) async fn append(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        arrived: &[Arrived],
    ) -> Result<u64, TraceStoreError> {
        let mut lines = Vec::new();
        let mut tiles: BTreeMap<u32, (u64, u32, RoaringBitmap)> = BTreeMap::new();
        let mut count = 0;
        let mut noted = Vec::new();
        for arrived in arrived {
            let tile = arrived.commit.0 / TILE_SIZE;
            if tile < dataset.first_tile || arrived.values.is_empty() {
                continue;
            }
            let (appended, last, traces) = tiles.entry(tile).or_default();
            *last = (*last).max(arrived.commit.0);
            let here: RoaringBitmap = arrived.values.iter().map(|(trace, _)| *trace).collect();
            *traces |= &here;
            noted.push((arrived.commit, here));
            count += arrived.values.len() as u64;
            for part in arrived
                .values
                .chunk_by(|(a, _), (b, _)| a / SECTION == b / SECTION)
            {
                let section = part.first().map_or(0, |(trace, _)| trace / SECTION);
                *appended += part.len() as u64 + PART_WEIGHT;
                // An offset in a section has 14 bits.
                let offset = |trace: u32| u16::try_from(trace % SECTION).unwrap_or(u16::MAX);
                let values: Vec<(u16, f64)> = part
                    .iter()
                    .map(|(trace, value)| (offset(*trace), *value))
                    .collect();
                lines.push(vec![
                    dataset.number.into(),
                    i64::from(tile).into(),
                    i64::from(section).into(),
                    i64::from(arrived.commit.0).into(),
                    i64::from(arrived.source).into(),
                    encode(&values).into(),
                ]);
            }
        }
        let sql = "INSERT INTO parts (dataset, tile, section, commit_number, source, content)";
        insert(transaction, sql, lines, "").await?;
        for (tile, (appended, last, traces)) in tiles {
            self.note_tile(transaction, dataset, tile, appended, last)
                .await?;
            self.note_traces(transaction, dataset, tile, &traces)
                .await?;
        }
        if !noted.is_empty() {
            self.note_arrivals(transaction, dataset, noted).await?;
        }
        Ok(count)
    }

    /// Notes that a tile has more values.
    pub(super) async fn note_tile(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        tile: u32,
        appended: u64,
        last: u32,
    ) -> Result<(), TraceStoreError> {
        let sql = "INSERT INTO tiles (dataset, tile, appended, last) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (dataset, tile) DO UPDATE SET \
                   appended = tiles.appended + excluded.appended, \
                   last = CASE WHEN excluded.last > tiles.last THEN excluded.last \
                          ELSE tiles.last END";
        let values = [
            dataset.number.into(),
            i64::from(tile).into(),
            i64::try_from(appended).unwrap_or(i64::MAX).into(),
            i64::from(last).into(),
        ];
        transaction.execute(sql, values).await?;
        Ok(())
    }

    /// Notes that traces have values in a tile.
    pub(super) async fn note_traces(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        tile: u32,
        traces: &RoaringBitmap,
    ) -> Result<(), TraceStoreError> {
        let (Some(first), Some(last)) = (traces.min(), traces.max()) else {
            return Ok(());
        };
        let (first, last) = (first / SEGMENT, last / SEGMENT);
        let mut known = self
            .tile_segments(transaction, dataset, tile, first, last)
            .await?;
        let mut lines: Vec<Vec<Value>> = Vec::new();
        for segment in first..=last {
            let begin = segment * SEGMENT;
            let mut of_segment = RoaringBitmap::new();
            of_segment.insert_range(begin..=begin + (SEGMENT - 1));
            of_segment &= traces;
            let mut all = known.remove(&segment).unwrap_or_default();
            if of_segment.is_subset(&all) {
                continue;
            }
            all |= of_segment;
            all.optimize();
            let mut content = Vec::with_capacity(all.serialized_size());
            all.serialize_into(&mut content)
                .map_err(|error| TraceStoreError::Row(error.to_string()))?;
            lines.push(vec![
                dataset.number.into(),
                i64::from(tile).into(),
                i64::from(segment).into(),
                content.into(),
            ]);
        }
        let sql = "INSERT INTO tile_traces (dataset, tile, segment, content)";
        let then = "ON CONFLICT (dataset, tile, segment) DO UPDATE SET content = excluded.content";
        insert(transaction, sql, lines, then).await
    }

    async fn tile_segments(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        tile: u32,
        first: u32,
        last: u32,
    ) -> Result<BTreeMap<u32, RoaringBitmap>, TraceStoreError> {
        let sql = "SELECT segment, content FROM tile_traces \
                   WHERE dataset = $1 AND tile = $2 AND segment BETWEEN $3 AND $4";
        let values = [
            dataset.number.into(),
            i64::from(tile).into(),
            i64::from(first).into(),
            i64::from(last).into(),
        ];
        let mut segments = BTreeMap::new();
        for row in transaction.fetch(sql, values).await? {
            let content = row.bytes(1)?;
            let traces = RoaringBitmap::deserialize_from(content.as_slice());
            let traces = traces.map_err(|error| {
                self.store
                    .damaged(format!("the traces of tile {tile}"), error)
            })?;
            segments.insert(number(&row, 0)?, traces);
        }
        Ok(segments)
    }

    /// The traces that have values in a tile.
    pub(super) async fn tile_traces(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        tile: u32,
    ) -> Result<RoaringBitmap, TraceStoreError> {
        let last = dataset.traces / SEGMENT;
        let segments = self
            .tile_segments(transaction, dataset, tile, 0, last)
            .await?;
        Ok(segments
            .into_values()
            .fold(RoaringBitmap::new(), |all, it| all | it))
    }
}

//! Values of a tile that come trace by trace, such as those of another store.

use std::collections::BTreeMap;

use pinpoint_store::sql::Access;
use pinpoint_traces::{
    CommitName, CommitNumber, Links, Params, ResultFile, Source, TILE_SIZE, Tile, TraceId,
};
use roaring::RoaringBitmap;

use super::block::BlockRow;
use super::ingest::json;
use super::merge::Merged;
use super::rows::number;
use super::seal::make_partition;
use super::source::{digest, rank};
use super::{History, TraceStoreError};

/// The values of one trace in a tile.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedRow {
    /// The trace.
    pub trace: TraceId,
    /// A value for each commit of the tile from its first one on, NaN where there is none.
    pub values: Vec<f64>,
}

impl History {
    /// Writes values of traces of a tile into sealed blocks, without files of results: those of
    /// one `source`. All of them or none; the same ones again change nothing. For many traces call
    /// it with parts of some ten thousand. Returns the number of values.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NotFinite`] for an infinite value; [`TraceStoreError::NoTile`] for one that
    /// was removed; when the store cannot be written.
    pub async fn load(
        &self,
        tile: u32,
        source: &Source,
        rows: &[LoadedRow],
    ) -> Result<u64, TraceStoreError> {
        let mut tries = self.store.database.tries(None);
        loop {
            match self.try_load(tile, source, rows).await {
                Err(TraceStoreError::Database(error)) if tries.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_load(
        &self,
        tile: u32,
        source: &Source,
        rows: &[LoadedRow],
    ) -> Result<u64, TraceStoreError> {
        let whole = Tile::new(tile, 0)?;
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let mut dataset = self.locked_row(&mut transaction).await?;
        if tile < dataset.first_tile {
            return Err(self.no_tile(whole));
        }
        make_partition(&self.store.database, &mut transaction, &dataset, tile).await?;
        let digest = digest(&ResultFile {
            source: source.clone(),
            commit: CommitName::Number(CommitNumber(0)),
            tried: None,
            key: Params::default(),
            links: Links::new(),
            points: Vec::new(),
            samples: BTreeMap::new(),
        });
        let sql = "SELECT number FROM sources WHERE dataset = $1 AND digest = $2";
        let values = [dataset.number.into(), digest.clone().into()];
        let known = transaction.fetch(sql, values).await?;
        let source_number = match known.first() {
            Some(row) => number(row, 0)?,
            None => {
                let next = dataset.sources;
                let after = next
                    .checked_add(1)
                    .ok_or(TraceStoreError::Exhausted("sources"))?;
                let sql = "INSERT INTO sources \
                           (dataset, number, digest, rank, path, modified, links) \
                           VALUES ($1, $2, $3, $4, $5, $6, $7)";
                let values = [
                    dataset.number.into(),
                    i64::from(next).into(),
                    digest.clone().into(),
                    rank(source, &digest).into(),
                    source.path.as_str().into(),
                    source.modified.into(),
                    json(&Links::new())?.into(),
                ];
                transaction.execute(sql, values).await?;
                let sql = "UPDATE datasets SET sources = $2 WHERE number = $1";
                let values = [dataset.number.into(), i64::from(after).into()];
                transaction.execute(sql, values).await?;
                next
            }
        };
        let traces = rows.iter().map(|row| &row.trace);
        let numbers = self
            .number_traces(&mut transaction, &mut dataset, traces)
            .await?;
        let mut merged = Merged::default();
        let mut last = 0;
        let mut count = 0;
        for row in rows {
            let number = numbers.get(&row.trace.trace_hash()).copied();
            let number = number.ok_or(TraceStoreError::Exhausted("traces"))?;
            let mut loaded = BlockRow::default();
            for (offset, value) in (0..TILE_SIZE).zip(&row.values) {
                if value.is_nan() {
                    continue;
                }
                if value.is_infinite() {
                    return Err(TraceStoreError::NotFinite {
                        path: source.path.clone(),
                        trace: row.trace.to_string(),
                        value: *value,
                    });
                }
                loaded.commits |= 1 << offset;
                loaded.values.push(*value);
                loaded.sources.push(source_number);
                last = last.max(offset);
            }
            count += loaded.values.len() as u64;
            if loaded.commits != 0 {
                merged.rows.insert(number, loaded);
            }
        }
        if count > 0 {
            let traces: RoaringBitmap = merged.rows.keys().copied().collect();
            let mut noted: BTreeMap<CommitNumber, RoaringBitmap> = BTreeMap::new();
            for (trace, row) in &merged.rows {
                for offset in row.offsets() {
                    let commit = CommitNumber(tile * TILE_SIZE + offset as u32);
                    noted.entry(commit).or_default().insert(*trace);
                }
            }
            let inner = &mut transaction;
            self.note_arrivals(inner, &dataset, noted).await?;
            self.merge_into_blocks(inner, &dataset, tile, merged)
                .await?;
            self.note_tile(inner, &dataset, tile, 0, tile * TILE_SIZE + last)
                .await?;
            self.note_traces(inner, &dataset, tile, &traces).await?;
            let sql = "UPDATE tiles SET version = version + 1 WHERE dataset = $1 AND tile = $2";
            let values = [dataset.number.into(), i64::from(tile).into()];
            transaction.execute(sql, values).await?;
        }
        transaction.commit().await?;
        Ok(count)
    }
}

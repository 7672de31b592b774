//! Where values come from.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use pinpoint_store::sql::{Access, Row, Transaction, Value};
use pinpoint_traces::{CommitNumber, Links, Source, TILE_SIZE, TraceId};
use roaring::RoaringBitmap;

use super::rows::{fetch_of_list, number};
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// A file of results, and its links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSource {
    /// The file.
    pub source: Source,
    /// Links of the whole file.
    pub links: Links,
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct SourcedValue {
    /// The commit.
    pub commit: CommitNumber,
    /// The value.
    pub value: f64,
    /// Its file.
    pub file: KnownSource,
    /// Links of this value alone.
    pub links: Links,
}

impl History {
    /// The values of a trace at the commits of a range, ascending, each with its file and links. A
    /// trace that is not known has none.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read, or is damaged.
    pub async fn sourced_values(
        &self,
        trace: &TraceId,
        commits: RangeInclusive<CommitNumber>,
    ) -> Result<Vec<SourcedValue>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let inner = &mut transaction;
        let known = self
            .known_traces(inner, &dataset, &[trace.trace_hash()])
            .await?;
        let Some(trace) = known.into_values().next() else {
            return Ok(Vec::new());
        };
        let wanted = RoaringBitmap::from([trace]);
        let mut values = Vec::new();
        for tile in self.tiles_of(inner, &dataset, &commits).await? {
            for row in self
                .tile_rows(inner, &dataset, tile, &wanted)
                .await?
                .into_values()
            {
                let sourced = row.offsets().zip(row.values).zip(row.sources);
                values.extend(sourced.filter_map(|((offset, value), source)| {
                    let commit = CommitNumber(tile * TILE_SIZE + offset as u32);
                    let is_inside = commits.contains(&commit);
                    is_inside.then_some((commit, value, source))
                }));
            }
        }
        let sources: BTreeSet<u32> = values.iter().map(|(_, _, source)| *source).collect();
        let list: Vec<Value> = sources.iter().map(|it| i64::from(*it).into()).collect();
        let files = self.sources(inner, &dataset, &list).await?;
        let sql = "SELECT source, links FROM value_links \
                   WHERE dataset = $1 AND trace = $2 AND source IN ({list})";
        let of_trace = [dataset.number.into(), i64::from(trace).into()];
        let mut links: HashMap<u32, Links> = HashMap::new();
        for row in fetch_of_list(inner, sql, &of_trace, &list).await? {
            links.insert(number(&row, 0)?, self.links(&row, 1)?);
        }
        transaction.roll_back().await?;
        let sourced = values.into_iter().map(|(commit, value, source)| {
            let file = files.get(&source).cloned();
            let lost = || {
                self.store
                    .damaged(format!("source {source}"), "it is missing")
            };
            Ok(SourcedValue {
                commit,
                value,
                file: file.ok_or_else(lost)?,
                links: links.get(&source).cloned().unwrap_or_default(),
            })
        });
        sourced.collect()
    }

    /// A file by its number, which [`TraceRow`](super::TraceRow) has.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read.
    pub async fn source(&self, source: u32) -> Result<Option<KnownSource>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let list = [i64::from(source).into()];
        let mut files = self.sources(&mut transaction, &dataset, &list).await?;
        transaction.roll_back().await?;
        Ok(files.remove(&source))
    }

    pub(super) async fn sources(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        list: &[Value],
    ) -> Result<HashMap<u32, KnownSource>, TraceStoreError> {
        let sql = "SELECT number, path, modified, links FROM sources \
                   WHERE dataset = $1 AND number IN ({list})";
        let mut files = HashMap::new();
        for row in fetch_of_list(transaction, sql, &[dataset.number.into()], list).await? {
            let file = KnownSource {
                source: Source::new(row.text(1)?, row.int(2)?),
                links: self.links(&row, 3)?,
            };
            files.insert(number(&row, 0)?, file);
        }
        Ok(files)
    }

    fn links(&self, row: &Row, column: usize) -> Result<Links, TraceStoreError> {
        let links = serde_json::from_str(&row.text(column)?);
        links.map_err(|error| self.store.damaged("links", error))
    }
}

//! Tries: values of changes under review, apart from the history.

use std::collections::BTreeMap;

use pinpoint_store::sql::{Access, Value};

use pinpoint_traces::{
    CommitNumber, HISTORY, Point, Query, TILE_SIZE, TraceId, Try, TryReport, try_report,
};

use super::ingest::StoredPoint;
use super::rows::number;
use super::{History, KnownSource, Select, TraceStoreError};

/// The values of one file for a change under review.
#[derive(Debug, Clone, PartialEq)]
pub struct TryFile {
    /// The file.
    pub file: KnownSource,
    /// Its values.
    pub points: Vec<Point>,
}

impl History {
    /// The changes with tries, and their versions, ascending as texts.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read.
    pub async fn tries(&self) -> Result<Vec<Try>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT DISTINCT issue, patchset FROM tries WHERE dataset = $1 \
                   ORDER BY issue, patchset";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        transaction.roll_back().await?;
        let tried = rows.iter().map(|row| {
            Ok(Try {
                issue: row.text(0)?,
                patchset: row.text(1)?,
            })
        });
        tried.collect()
    }

    /// The files of a try, the latest last: where two have a value of a trace, the last one counts.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read, or is damaged.
    pub async fn try_files(&self, tried: &Try) -> Result<Vec<TryFile>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT tries.source, tries.content FROM tries JOIN sources \
                   ON sources.dataset = tries.dataset AND sources.number = tries.source \
                   WHERE tries.dataset = $1 AND issue = $2 AND patchset = $3 ORDER BY rank";
        let values = [
            dataset.number.into(),
            tried.issue.as_str().into(),
            tried.patchset.as_str().into(),
        ];
        let rows = transaction.fetch(sql, values).await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            found.push((number(row, 0)?, row.bytes(1)?));
        }
        let list: Vec<Value> = found.iter().map(|(it, _)| i64::from(*it).into()).collect();
        let mut files = self.sources(&mut transaction, &dataset, &list).await?;
        transaction.roll_back().await?;
        let files = found.into_iter().map(|(source, content)| {
            let lost = || {
                self.store
                    .damaged(format!("source {source}"), "it is missing")
            };
            let points: Result<Vec<StoredPoint>, _> = serde_json::from_slice(&content);
            let points = points.map_err(|error| self.store.damaged("a try", error))?;
            let point = |point: StoredPoint| Point {
                trace: point.trace,
                value: point.value,
                links: point.links,
            };
            Ok(TryFile {
                file: files.remove(&source).ok_or_else(lost)?,
                points: points.into_iter().map(point).collect(),
            })
        });
        files.collect()
    }

    /// The values of a try for the traces of a query; of two of a trace, the later one.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoTry`]; [`TraceStoreError::NoDataset`]; when the store cannot be read, or
    /// is damaged.
    pub async fn try_values(
        &self,
        tried: &Try,
        query: &Query,
    ) -> Result<BTreeMap<TraceId, f64>, TraceStoreError> {
        let files = self.try_files(tried).await?;
        if files.is_empty() {
            return Err(TraceStoreError::NoTry {
                issue: tried.issue.clone(),
                patchset: tried.patchset.clone(),
            });
        }
        let points = files.into_iter().flat_map(|it| it.points);
        let points = points.filter(|it| query.matches_id(&it.trace));
        Ok(points.map(|it| (it.trace, it.value)).collect())
    }

    /// The values of a try beside the last ones of their traces. Reads the newest tiles, as many as
    /// it takes.
    ///
    /// # Errors
    ///
    /// Those of [`History::try_values`].
    pub async fn try_report(
        &self,
        tried: &Try,
        query: &Query,
    ) -> Result<TryReport, TraceStoreError> {
        let values = self.try_values(tried, query).await?;
        let mut histories: BTreeMap<TraceId, Vec<f64>> = BTreeMap::new();
        for tile in self.tiles().await?.into_iter().rev() {
            let is_short = |id: &&TraceId| histories.get(*id).map_or(0, Vec::len) < HISTORY;
            let short: Vec<TraceId> = values.keys().filter(is_short).cloned().collect();
            if short.is_empty() {
                break;
            }
            let first = CommitNumber(tile.number * TILE_SIZE);
            let select = Select::Ids(&short);
            let frame = self.frame(select, first..=tile.last, u64::MAX).await?;
            for (name, row) in frame.rows() {
                let Some(id) = name.stored() else { continue };
                let earlier = row.iter().copied().filter(|it| !it.is_nan());
                let history = histories.entry(id.clone()).or_default();
                history.splice(0..0, earlier.collect::<Vec<f64>>());
            }
        }
        let values = values.into_iter();
        Ok(try_report(values.map(|(id, value)| {
            let history = histories.remove(&id).unwrap_or_default();
            (id, history, value)
        })))
    }
}

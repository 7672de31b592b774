//! Traces that a reader asks for.

use pinpoint_store::sql::{Access, Transaction};
use pinpoint_traces::{CommitNumber, ParamSet, Query, TILE_SIZE, TraceId, UnknownName};
use roaring::RoaringBitmap;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::rows::number;
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// Which traces.
#[derive(Debug, Clone, Copy)]
pub enum Select<'a> {
    /// Those that match.
    Query(&'a Query),
    /// These; those that the store does not have are left out.
    Ids(&'a [TraceId]),
}

/// The matches of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// The number of traces that match.
    pub count: u64,
    /// The parameters that they have.
    pub params: ParamSet,
    /// The number of those traces for each value of each key.
    pub counts: BTreeMap<String, BTreeMap<String, u64>>,
    /// Keys and values of the query that no trace of the dataset has.
    pub unknown: Vec<UnknownName>,
}

impl History {
    /// The number of traces that match a query, and their parameters: of the whole dataset, or of those with
    /// values in the tiles of a range of commits.
    ///
    /// The time grows with the traces of the dataset times the keys of the query, and with the traces
    /// that match times their keys. Columns that were read stay in memory, up to 96 MiB for each
    /// process.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read.
    pub async fn survey(
        &self,
        query: &Query,
        commits: Option<RangeInclusive<CommitNumber>>,
    ) -> Result<Survey, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let mut traces = self.matching(&mut transaction, &dataset, query).await?;
        if let Some(commits) = commits {
            let mut present = RoaringBitmap::new();
            for tile in self.tiles_of(&mut transaction, &dataset, &commits).await? {
                present |= self.tile_traces(&mut transaction, &dataset, tile).await?;
            }
            traces &= present;
        }
        let counts = self.counts_of(&mut transaction, &dataset, &traces).await?;
        let mut params = ParamSet::default();
        for (key, values) in &counts {
            values.keys().for_each(|value| params.insert(key, value));
        }
        let survey = Survey {
            count: traces.len(),
            params,
            counts,
            unknown: self.unknown(&mut transaction, &dataset, query).await?,
        };
        transaction.roll_back().await?;
        Ok(survey)
    }

    /// The ids of these traces, ascending.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; [`TraceStoreError::TooMany`] beyond the limit; when the store
    /// cannot be read.
    pub async fn ids(
        &self,
        select: Select<'_>,
        limit: u64,
    ) -> Result<Vec<TraceId>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let traces = self
            .selected(&mut transaction, &dataset, select, limit)
            .await?;
        let mut ids = self.ids_of(&mut transaction, &dataset, &traces).await?;
        transaction.roll_back().await?;
        ids.sort_unstable();
        Ok(ids)
    }

    pub(super) async fn selected(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        select: Select<'_>,
        limit: u64,
    ) -> Result<RoaringBitmap, TraceStoreError> {
        let traces = match select {
            Select::Query(query) => self.matching(transaction, dataset, query).await?,
            Select::Ids(ids) => {
                let hashes: Vec<_> = ids.iter().map(TraceId::trace_hash).collect();
                let known = self.known_traces(transaction, dataset, &hashes).await?;
                known.into_values().collect()
            }
        };
        match traces.len() {
            found if found > limit => Err(TraceStoreError::TooMany { found, limit }),
            _ => Ok(traces),
        }
    }

    /// The tiles with values that hold any commit of a range, ascending.
    pub(super) async fn tiles_of(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        commits: &RangeInclusive<CommitNumber>,
    ) -> Result<Vec<u32>, TraceStoreError> {
        let sql = "SELECT tile FROM tiles WHERE dataset = $1 AND tile BETWEEN $2 AND $3 \
                   ORDER BY tile";
        let values = [
            dataset.number.into(),
            i64::from(commits.start().0 / TILE_SIZE).into(),
            i64::from(commits.end().0 / TILE_SIZE).into(),
        ];
        let rows = transaction.fetch(sql, values).await?;
        rows.iter().map(|row| number(row, 0)).collect()
    }
}

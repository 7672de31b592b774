//! Values that came, until the watch has seen them.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_store::sql::{Access, Transaction};
use pinpoint_traces::{CommitNumber, TraceId};
use roaring::RoaringBitmap;

use super::rows::{insert, number};
use super::store::DatasetRow;
use super::watch_log::Stage;
use super::{History, TraceStoreError};

/// The values that a watch has not seen yet. [`History::append_seen`] notes that it has.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Unseen {
    /// True before the first run of a watch: all values of the history are new.
    pub is_all: bool,
    /// The commits of the new values, by trace. Before the first run it is empty.
    pub values: BTreeMap<TraceId, BTreeSet<CommitNumber>>,
    /// The number of the last arrival among them.
    pub(super) last: i64,
}

impl Unseen {
    /// Returns true if there is nothing new.
    pub fn is_empty(&self) -> bool {
        !self.is_all && self.values.is_empty()
    }
}

impl History {
    /// The values that the watch has not seen yet. The first call begins the watch: from then on,
    /// values are noted as they come. Until the first [`History::append_seen`] all values are new.
    ///
    /// A value that came late, or replaced another one, is new as well. Tries are no values of the
    /// history. Values that come while the first run reads all of them may be new once more.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read, or is damaged.
    pub async fn unseen(&self) -> Result<Unseen, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let watch = self.watch_row(&mut transaction, &dataset).await?;
        let mut unseen = Unseen {
            is_all: watch.stage != Stage::Watched,
            values: BTreeMap::new(),
            last: watch.arrivals,
        };
        if !unseen.is_all {
            unseen.values = self.arrived(&mut transaction, &dataset).await?;
        }
        transaction.roll_back().await?;
        if watch.stage == Stage::None {
            self.begin_watch().await?;
        }
        Ok(unseen)
    }

    /// Returns true once the first run of a watch is over: from then on, only values that come are
    /// new, for alerts that are added later, too.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read.
    pub async fn is_watched(&self) -> Result<bool, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let watch = self.watch_row(&mut transaction, &dataset).await?;
        transaction.roll_back().await?;
        Ok(watch.stage == Stage::Watched)
    }

    /// Has values noted from now on.
    async fn begin_watch(&self) -> Result<(), TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        let sql = "INSERT INTO watches (dataset, stage) VALUES ($1, 1) \
                   ON CONFLICT (dataset) DO UPDATE SET stage = 1 WHERE watches.stage = 0";
        transaction.execute(sql, [dataset.number.into()]).await?;
        Ok(transaction.commit().await?)
    }

    async fn arrived(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
    ) -> Result<BTreeMap<TraceId, BTreeSet<CommitNumber>>, TraceStoreError> {
        let sql = "SELECT commit_number, traces FROM arrivals WHERE dataset = $1";
        let mut by_commit: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        for row in transaction.fetch(sql, [dataset.number.into()]).await? {
            let traces = RoaringBitmap::deserialize_from(row.bytes(1)?.as_slice());
            let traces = traces.map_err(|error| self.store.damaged("an arrival", error))?;
            *by_commit.entry(number(&row, 0)?).or_default() |= traces;
        }
        let all = (by_commit.values()).fold(RoaringBitmap::new(), |all, it| all | it);
        let ids = self.ids_of(transaction, dataset, &all).await?;
        let ids: BTreeMap<u32, TraceId> = all.iter().zip(ids).collect();
        let mut values: BTreeMap<TraceId, BTreeSet<CommitNumber>> = BTreeMap::new();
        for (commit, traces) in by_commit {
            for id in traces.iter().filter_map(|it| ids.get(&it)) {
                let commits = values.entry(id.clone()).or_default();
                commits.insert(CommitNumber(commit));
            }
        }
        Ok(values)
    }

    /// Notes the traces that have new values at commits, if somebody watches. The dataset must be
    /// locked.
    pub(super) async fn note_arrivals(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        arrived: impl IntoIterator<Item = (CommitNumber, RoaringBitmap)>,
    ) -> Result<(), TraceStoreError> {
        let watch = self.watch_row(transaction, dataset).await?;
        if watch.stage == Stage::None {
            return Ok(());
        }
        let mut last = watch.arrivals;
        let mut lines = Vec::new();
        for (commit, mut traces) in arrived {
            traces.optimize();
            let mut content = Vec::with_capacity(traces.serialized_size());
            traces
                .serialize_into(&mut content)
                .map_err(|error| TraceStoreError::Row(error.to_string()))?;
            last += 1;
            lines.push(vec![
                dataset.number.into(),
                last.into(),
                i64::from(commit.0).into(),
                content.into(),
            ]);
        }
        let sql = "INSERT INTO arrivals (dataset, number, commit_number, traces)";
        insert(transaction, sql, lines, "").await?;
        let sql = "UPDATE watches SET arrivals = $2 WHERE dataset = $1";
        let values = [dataset.number.into(), last.into()];
        transaction.execute(sql, values).await?;
        Ok(())
    }
}

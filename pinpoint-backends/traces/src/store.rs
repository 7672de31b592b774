//! The store itself: an open database, and the datasets in it.

use std::sync::Arc;

use pinpoint_store::sql::{Database, Row, Transaction, Value};
use pinpoint_traces::Dataset;

use super::TraceStoreError;
use super::cache::Cache;
use super::rows::number;

/// The histories of values, in a SQLite file or a PostgreSQL database. Clones share their
/// connections and what they remember.
#[derive(Debug, Clone)]
pub struct TraceStore {
    pub(super) database: Database,
    pub(super) cache: Arc<Cache>,
}

impl TraceStore {
    pub(super) fn new(database: Database) -> Self {
        Self {
            database,
            cache: Arc::default(),
        }
    }

    /// The name of the file or the database in messages.
    pub fn name(&self) -> &str {
        &self.database.name
    }

    /// The names of all datasets, ascending.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub async fn datasets(&self) -> Result<Vec<Dataset>, TraceStoreError> {
        let rows = self
            .database
            .fetch("SELECT name FROM datasets ORDER BY name", []);
        let names = rows.await?.into_iter().map(|row| {
            let name = row.text(0)?;
            let parsed = name.parse();
            parsed.map_err(|_| self.damaged("a dataset's name", name))
        });
        names.collect()
    }

    /// The history of a dataset, whether it exists yet or not.
    pub fn history(&self, dataset: &Dataset) -> History {
        History {
            store: self.clone(),
            name: dataset.clone(),
        }
    }

    /// Closes every connection. Dropping a store is as safe; this waits for it.
    pub async fn close(self) {
        self.database.close().await;
    }

    pub(super) fn damaged(
        &self,
        place: impl Into<String>,
        reason: impl ToString,
    ) -> TraceStoreError {
        TraceStoreError::Damaged {
            store: self.database.name.clone(),
            place: place.into(),
            reason: reason.to_string(),
        }
    }
}

/// One dataset of a [`TraceStore`]. The first write makes it.
#[derive(Debug, Clone)]
pub struct History {
    pub(super) store: TraceStore,
    pub(super) name: Dataset,
}

/// The row of a dataset, as of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct DatasetRow {
    pub(super) number: i64,
    pub(super) traces: u32,
    pub(super) sources: u32,
    pub(super) annotations: i64,
    pub(super) first_tile: u32,
}

const COLUMNS: &str = "SELECT number, traces, sources, annotations, first_tile FROM datasets";

fn dataset_row(row: &Row) -> Result<DatasetRow, TraceStoreError> {
    Ok(DatasetRow {
        number: row.int(0)?,
        traces: number(row, 1)?,
        sources: number(row, 2)?,
        annotations: row.int(3)?,
        first_tile: number(row, 4)?,
    })
}

impl History {
    /// The dataset's name.
    pub fn dataset(&self) -> &Dataset {
        &self.name
    }

    /// The row of the dataset.
    pub(super) async fn row(
        &self,
        transaction: &mut Transaction,
    ) -> Result<DatasetRow, TraceStoreError> {
        let sql = format!("{COLUMNS} WHERE name = $1");
        let rows = transaction.fetch(&sql, [self.name.as_str().into()]).await?;
        match rows.first() {
            Some(row) => dataset_row(row),
            None => Err(TraceStoreError::NoDataset(self.name.to_string())),
        }
    }

    /// The row of the dataset, which is made if need be. Until the end of the transaction no one
    /// else writes to the dataset.
    pub(super) async fn locked_row(
        &self,
        transaction: &mut Transaction,
    ) -> Result<DatasetRow, TraceStoreError> {
        if let Some(lock) = transaction.dialect().lock_name() {
            // A dataset is made by one at a time, whatever its name.
            let lock_of = |name: &str| Value::from(format!("traces {name}"));
            transaction
                .fetch(lock, [lock_of(self.name.as_str())])
                .await?;
        }
        match self.row(transaction).await {
            Err(TraceStoreError::NoDataset(_)) => {
                if let Some(lock) = transaction.dialect().lock_name() {
                    transaction.fetch(lock, ["datasets".into()]).await?;
                }
                let sql = "INSERT INTO datasets (number, name) \
                           SELECT coalesce(max(number), 0) + 1, $1 FROM datasets";
                transaction
                    .execute(sql, [self.name.as_str().into()])
                    .await?;
                self.row(transaction).await
            }
            row => row,
        }
    }
}

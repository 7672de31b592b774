//! Tables by the names that users give them.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::error::LuciError;
use crate::bigquery::{BigQuery, BigQueryError, Query, Row, Table};

/// The interval between tries to insert rows into a new table.
const BETWEEN: Duration = Duration::from_secs(5);

/// The most such tries.
const MOST_TRIES: u32 = 24;

/// A table at BigQuery.
pub(super) struct NamedTable {
    service: BigQuery,
    table: Table,
    project: String,
    /// With dataset, as in queries.
    name: String,
}

impl NamedTable {
    /// The table of the name `PROJECT.DATASET.TABLE`; `None` for a name of another form.
    pub(super) fn new(service: BigQuery, name: &str) -> Option<Self> {
        // A project may have dots in its name.
        let mut parts = name.rsplitn(3, '.');
        let (table, dataset, project) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            service,
            table: Table::new(project, dataset, table).ok()?,
            project: project.into(),
            name: format!("{dataset}.{table}"),
        })
    }

    pub(super) fn whole_name(&self) -> String {
        format!("{}.{}", self.project, self.name)
    }

    /// Inserts rows, by their ids. The table is made if there is none; the service may say for a
    /// while that it does not exist.
    pub(super) async fn insert<T>(&self, rows: &[(String, T)]) -> Result<(), BigQueryError>
    where
        T: Serialize + DeserializeOwned,
    {
        let mut made = false;
        let mut tries = 0;
        loop {
            let rows = rows.iter().map(|(id, row)| Row::new(id.clone(), row));
            match self.service.insert(&self.table, rows).await {
                Err(error) if error.is_not_found() && tries < MOST_TRIES => {
                    if !made {
                        self.service.create::<T>(&self.table).await?;
                        made = true;
                    }
                    tries += 1;
                    sleep(BETWEEN).await;
                }
                inserted => return inserted,
            }
        }
    }

    /// The rows whose column has this value.
    pub(super) async fn rows<T: DeserializeOwned>(
        &self,
        columns: &str,
        (column, parameter): (&str, &str),
        value: &str,
    ) -> Result<Vec<T>, BigQueryError> {
        let sql = format!(
            "SELECT {columns} FROM `{}` WHERE {column} = @{parameter}",
            self.name
        );
        let query = Query::new(sql).with(parameter, value).uncached();
        self.service.query(&self.project, &query).await
    }
}

/// The error for the name of a table.
pub(super) fn no_table(name: &str) -> LuciError {
    LuciError::ExportTable(name.into())
}

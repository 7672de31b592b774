//! The table of culprits.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::sleep;

use super::row::CulpritRow;
use super::{LuciError, ReportError};
use crate::bigquery::{BigQuery, BigQueryError, Query, Row, Table};

/// The interval between polls for inserted rows, and between tries to insert rows into a new table.
const BETWEEN: Duration = Duration::from_secs(5);

/// The most such polls and tries.
const MOST_LOOKS: u32 = 24;

/// The table of culprits.
pub(super) struct Culprits {
    service: BigQuery,
    table: Table,
    project: String,
    /// With dataset, as in queries.
    name: String,
}

/// A row of the table.
#[derive(Deserialize)]
struct CulpritNumberRow {
    number: i64,
}

impl Culprits {
    pub(super) fn new(service: BigQuery, name: &str) -> Result<Self, LuciError> {
        let wrong = || LuciError::Table(name.into());
        // A project may have dots in its name.
        let mut parts = name.rsplitn(3, '.');
        let (Some(table), Some(dataset), Some(project)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        Ok(Self {
            service,
            table: Table::new(project, dataset, table).map_err(|_| wrong())?,
            project: project.into(),
            name: format!("{dataset}.{table}"),
        })
    }

    pub(super) fn whole_name(&self) -> String {
        format!("{}.{}", self.project, self.name)
    }

    /// Adds the missing rows of a job, and waits until the table shows them. The service recognizes
    /// a repeated row for some minutes only.
    pub(super) async fn add(&self, rows: Vec<CulpritRow>) -> Result<(), ReportError> {
        let failed = |source| ReportError::Culprits {
            table: self.whole_name(),
            source,
        };
        match self.missing(&rows).await {
            Ok(missing) if missing.is_empty() => return Ok(()),
            Ok(missing) => self.insert(missing).await.map_err(failed)?,
            Err(error) if error.is_not_found() => {
                let made = self.service.create::<CulpritRow>(&self.table).await;
                made.map_err(failed)?;
                self.insert_into_new(&rows).await.map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        for _ in 0..MOST_LOOKS {
            match self.missing(&rows).await {
                Ok(missing) if missing.is_empty() => return Ok(()),
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(failed(error)),
            }
            sleep(BETWEEN).await;
        }
        Err(ReportError::Unseen(self.whole_name()))
    }

    /// Inserts rows into a new table. The service may say for a while that it does not exist.
    async fn insert_into_new(&self, rows: &[CulpritRow]) -> Result<(), BigQueryError> {
        for _ in 1..MOST_LOOKS {
            match self.insert(rows.iter().collect()).await {
                Err(error) if error.is_not_found() => sleep(BETWEEN).await,
                inserted => return inserted,
            }
        }
        self.insert(rows.iter().collect()).await
    }

    async fn insert(&self, rows: Vec<&CulpritRow>) -> Result<(), BigQueryError> {
        let rows = rows.into_iter();
        let rows = rows.map(|row| Row::new(format!("{}/{}", row.job, row.number), row));
        self.service.insert(&self.table, rows).await
    }

    /// The rows of a job that the table does not show.
    async fn missing<'a>(
        &self,
        rows: &'a [CulpritRow],
    ) -> Result<Vec<&'a CulpritRow>, BigQueryError> {
        let Some(first) = rows.first() else {
            return Ok(Vec::new());
        };
        let known = format!("SELECT number FROM `{}` WHERE job = @job", self.name);
        let known = Query::new(known).with("job", &*first.job).uncached();
        let known: Vec<CulpritNumberRow> = self.service.query(&self.project, &known).await?;
        let is_missing = |row: &&CulpritRow| known.iter().all(|it| it.number != row.number);
        Ok(rows.iter().filter(is_missing).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::google::{TokenSource, Tokens, Web};

    #[test]
    fn the_name_of_a_table_has_three_parts() {
        let web = Arc::new(Web::new().unwrap());
        let culprits = |name: &str| {
            let tokens = Tokens::new(TokenSource::None, &[], web.clone());
            let service = BigQuery::new(BigQuery::GOOGLE, tokens, web.clone()).unwrap();
            Culprits::new(service, name)
        };
        let found = culprits("example.com:perf.pinpoint.culprits").unwrap();
        assert_eq!(found.project, "example.com:perf");
        assert_eq!(found.name, "pinpoint.culprits");
        for wrong in ["", "culprits", "pinpoint.culprits", "p..t", "p.d.t`"] {
            let Err(error) = culprits(wrong) else {
                panic!("{wrong}");
            };
            assert!(
                error.to_string().contains("PROJECT.DATASET.TABLE"),
                "{error}"
            );
        }
    }
}

//! Tables in BigQuery: made from Rust types, filled and queried.
//!
//! ```no_run
//! use std::sync::Arc;
//! use pinpoint_luci::bigquery::{BigQuery, Query, Row, Table};
//! use pinpoint_luci::google::{TokenSource, Tokens, Web, scope};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Culprit {
//!     job: String,
//!     hash: String,
//!     samples: Vec<f64>,
//! }
//!
//! # async fn example(found: Vec<Culprit>) -> Result<(), Box<dyn std::error::Error>> {
//! let web = Arc::new(Web::new()?);
//! let source: TokenSource = "metadata".parse()?;
//! let tokens = Tokens::new(source, &[scope::CLOUD_PLATFORM], web.clone());
//! let bigquery = BigQuery::new(BigQuery::GOOGLE, tokens, web)?;
//! let table = Table::new("chromeperf", "pinpoint", "culprits")?;
//! bigquery.create::<Culprit>(&table).await?;
//! // The same job and hash is the same row, however often it is sent.
//! let rows = found.iter().map(|it| Row::new(format!("{}/{}", it.job, it.hash), it));
//! bigquery.insert(&table, rows).await?;
//! let query = Query::new("SELECT * FROM pinpoint.culprits WHERE job = @job").with("job", "j1");
//! let rows: Vec<Culprit> = bigquery.query("chromeperf", &query).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Source: the [reference](https://cloud.google.com/bigquery/docs/reference/rest) of version 2,
//! methods `tables.insert`, `tabledata.insertAll`, `jobs.query` and `jobs.getQueryResults`.

mod error;
mod insert;
mod query;
mod schema;
mod value;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::google::{
    AddressError, Backoff, Client, HttpRequest, HttpResponse, ServiceError, Tokens, Transport,
};

pub use error::{BigQueryError, RejectedRow};
pub use insert::Row;
pub use query::{Parameter, Query};
pub use schema::{ColumnMode, ColumnType, Field, SchemaError, schema};

/// The name of the service in errors.
const NAME: &str = "BigQuery";

/// A client of BigQuery.
pub struct BigQuery(Client);

/// The name of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    project: String,
    dataset: String,
    table: String,
}

/// A moment, as text: `2026-01-31T12:30:00.5Z` (RFC 3339) when it is sent, seconds since 1970
/// when it comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "pinpoint::bigquery::Timestamp")]
pub struct Timestamp(pub String);

impl Table {
    /// The table of this name.
    ///
    /// # Errors
    ///
    /// If one of the names is invalid.
    pub fn new(project: &str, dataset: &str, table: &str) -> Result<Self, BigQueryError> {
        let is_name = |name: &str, more: &[u8]| {
            let mut bytes = name.bytes();
            !name.is_empty() && bytes.all(|it| it.is_ascii_alphanumeric() || more.contains(&it))
        };
        // A project may belong to a domain: `example.com:project`.
        if is_name(project, b"-.:") && is_name(dataset, b"_") && is_name(table, b"_-") {
            return Ok(Self {
                project: project.into(),
                dataset: dataset.into(),
                table: table.into(),
            });
        }
        Err(BigQueryError::Name(format!("{project}.{dataset}.{table}")))
    }

    fn path(&self, rest: &str) -> String {
        let Self {
            project, dataset, ..
        } = self;
        format!("/bigquery/v2/projects/{project}/datasets/{dataset}/tables{rest}")
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewTable<'a> {
    table_reference: TableReference<'a>,
    schema: Schema,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TableReference<'a> {
    project_id: &'a str,
    dataset_id: &'a str,
    table_id: &'a str,
}

/// The columns of a table or an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Schema {
    #[serde(default)]
    fields: Vec<Field>,
}

impl BigQuery {
    /// The address of Google's.
    pub const GOOGLE: &str = "https://bigquery.googleapis.com";

    /// A client of the service at this address. Google's needs tokens with the scope
    /// [`scope::CLOUD_PLATFORM`](crate::google::scope::CLOUD_PLATFORM).
    ///
    /// # Errors
    ///
    /// When the address is invalid, or tokens would cross the network without HTTPS.
    pub fn new(
        address: &str,
        tokens: Tokens,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, AddressError> {
        Client::new(NAME, address, tokens, transport).map(Self)
    }

    /// Sets the backoff; the default is [`Backoff::default`].
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> Self {
        self.0 = self.0.with_backoff(backoff);
        self
    }

    /// Makes a table with a column for each field of `T`; see [`schema`](fn@schema). An existing
    /// one stays as it is.
    ///
    /// # Errors
    ///
    /// [`BigQueryError::Schema`], and trouble with the service.
    pub async fn create<T: DeserializeOwned>(&self, table: &Table) -> Result<(), BigQueryError> {
        let new = NewTable {
            table_reference: TableReference {
                project_id: &table.project,
                dataset_id: &table.dataset,
                table_id: &table.table,
            },
            schema: Schema {
                fields: schema::<T>()?,
            },
        };
        let request = HttpRequest::post_json(table.path(""), json(&new)?);
        match self.0.send(&request).await {
            Ok(_) | Err(ServiceError::Status { status: 409, .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn ask<T: DeserializeOwned>(&self, request: &HttpRequest) -> Result<T, BigQueryError> {
        let HttpResponse { body, .. } = self.0.send(request).await?;
        serde_json::from_slice(&body).map_err(|error| {
            let reason = error.to_string();
            BigQueryError::Service(ServiceError::Unreadable {
                service: NAME,
                reason,
            })
        })
    }
}

fn json(message: &impl Serialize) -> Result<Vec<u8>, BigQueryError> {
    serde_json::to_vec(message).map_err(BigQueryError::Unwritable)
}

//! Queries of tables.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{BigQuery, BigQueryError, Schema, Timestamp, value};
use crate::google::{HttpRequest, ServiceError, random_seed};

/// The rows in a page. The service sends fewer where they are long.
const PAGE: usize = 10_000;

/// The time that the service may wait for the end of a query before it answers that it is still
/// running.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The interval between polls of a running query.
const BETWEEN: Duration = Duration::from_secs(1);

/// The maximum duration of a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(600);

/// A query in standard SQL, with parameters by name: `@name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    sql: String,
    parameters: Vec<(String, Parameter)>,
    location: Option<String>,
    most_rows: usize,
    is_uncached: bool,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "they are what they hold")]
pub enum Parameter {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Timestamp(Timestamp),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<String>),
}

macro_rules! from {
    ($($from:ty => $variant:ident;)*) => {
        $(impl From<$from> for Parameter {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

from! {
    bool => Bool;
    i32 => Integer;
    u32 => Integer;
    i64 => Integer;
    f64 => Float;
    &str => Text;
    String => Text;
    Timestamp => Timestamp;
    Vec<i64> => Integers;
    Vec<f64> => Floats;
    Vec<String> => Texts;
}

impl Query {
    /// A query without parameters.
    pub fn new(sql: impl Into<String>) -> Self {
        Self {
            sql: sql.into(),
            parameters: Vec::new(),
            location: None,
            most_rows: 100_000,
            is_uncached: false,
        }
    }

    /// Sets the value of `@name`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Parameter>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Sets a location such as `US`; by default the service finds the tables.
    #[must_use]
    pub fn at(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// Reads the tables as they are, without cached results.
    #[must_use]
    pub fn uncached(mut self) -> Self {
        self.is_uncached = true;
        self
    }

    /// Sets the maximum number of rows of the answer; the default is 100,000.
    #[must_use]
    pub fn most_rows(mut self, most_rows: usize) -> Self {
        self.most_rows = most_rows;
        self
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QueryRequest<'a> {
    query: &'a str,
    use_legacy_sql: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter_mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    query_parameters: Vec<QueryParameter<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_query_cache: Option<bool>,
    max_results: usize,
    timeout_ms: u64,
    /// The same text is the same query, for 15 minutes.
    request_id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QueryParameter<'a> {
    name: &'a str,
    parameter_type: ParameterType,
    parameter_value: ParameterValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ParameterType {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    array_type: Option<Box<ParameterType>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum ParameterValue {
    Value(String),
    ArrayValues(Vec<ParameterValue>),
}

impl Parameter {
    fn parts(&self) -> (ParameterType, ParameterValue) {
        fn one(kind: &'static str, value: &impl ToString) -> (ParameterType, ParameterValue) {
            let kind = ParameterType {
                r#type: kind,
                array_type: None,
            };
            (kind, ParameterValue::Value(value.to_string()))
        }
        fn many(kind: &'static str, values: &[impl ToString]) -> (ParameterType, ParameterValue) {
            let (inner, _) = one(kind, &"");
            let kind = ParameterType {
                r#type: "ARRAY",
                array_type: Some(Box::new(inner)),
            };
            let values = values
                .iter()
                .map(|it| ParameterValue::Value(it.to_string()));
            (kind, ParameterValue::ArrayValues(values.collect()))
        }
        match self {
            Self::Bool(value) => one("BOOL", value),
            Self::Integer(value) => one("INT64", value),
            Self::Float(value) => one("FLOAT64", value),
            Self::Text(value) => one("STRING", value),
            Self::Timestamp(Timestamp(value)) => one("TIMESTAMP", value),
            Self::Integers(values) => many("INT64", values),
            Self::Floats(values) => many("FLOAT64", values),
            Self::Texts(values) => many("STRING", values),
        }
    }
}

/// Of `jobs.query` and `jobs.getQueryResults`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    job_complete: bool,
    #[serde(default)]
    job_reference: JobReference,
    schema: Option<Schema>,
    #[serde(default)]
    rows: Vec<Value>,
    #[serde(default)]
    page_token: String,
    #[serde(default)]
    errors: Vec<ErrorProto>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
struct JobReference {
    job_id: String,
    location: String,
}

#[derive(Deserialize)]
struct ErrorProto {
    #[serde(default)]
    message: String,
}

impl BigQuery {
    /// Runs a query in a project, and reads every row of the answer.
    ///
    /// The columns are read by their names into `T`, as [`schema`](fn@super::schema) would write
    /// them. Numbers that are not finite come as text.
    ///
    /// # Errors
    ///
    /// [`BigQueryError::Row`], [`BigQueryError::TooManyRows`], [`BigQueryError::Unfinished`] after
    /// 10 minutes, [`BigQueryError::Query`] if it fails after it began, and trouble with the service, which is also how it says that the
    /// query is wrong.
    pub async fn query<T: DeserializeOwned>(
        &self,
        project: &str,
        query: &Query,
    ) -> Result<Vec<T>, BigQueryError> {
        // The same checks.
        super::Table::new(project, "d", "t")?;
        let path = format!("/bigquery/v2/projects/{project}/queries");
        let last = Instant::now() + QUERY_TIMEOUT;
        let mut page = self.begin(&path, query).await?;
        let job = page.job_reference.clone();
        let mut rows = Vec::new();
        let mut schema = None;
        loop {
            if !page.job_complete {
                if Instant::now() >= last {
                    return Err(BigQueryError::Unfinished(QUERY_TIMEOUT));
                }
                sleep(BETWEEN).await;
                page = self.page(&path, &job, "").await?;
                continue;
            }
            let Some(columns) = page.schema.take().or(schema) else {
                let problems = page.errors.iter().map(|it| it.message.as_str());
                return Err(BigQueryError::Query(
                    problems.collect::<Vec<_>>().join("; "),
                ));
            };
            if rows.len() + page.rows.len() > query.most_rows {
                return Err(BigQueryError::TooManyRows(query.most_rows));
            }
            for row in page.rows {
                let read = value::object(&columns.fields, row)
                    .and_then(|row| serde_json::from_value(row).map_err(|it| it.to_string()));
                rows.push(read.map_err(|problem| BigQueryError::Row {
                    row: rows.len(),
                    problem,
                })?);
            }
            if page.page_token.is_empty() {
                return Ok(rows);
            }
            schema = Some(columns);
            page = self.page(&path, &job, &page.page_token).await?;
        }
    }

    async fn begin(&self, path: &str, query: &Query) -> Result<Page, BigQueryError> {
        let parameters = query.parameters.iter().map(|(name, value)| {
            let (parameter_type, parameter_value) = value.parts();
            QueryParameter {
                name,
                parameter_type,
                parameter_value,
            }
        });
        let request = QueryRequest {
            query: &query.sql,
            use_legacy_sql: false,
            parameter_mode: (!query.parameters.is_empty()).then_some("NAMED"),
            query_parameters: parameters.collect(),
            location: query.location.as_deref(),
            use_query_cache: query.is_uncached.then_some(false),
            max_results: PAGE,
            timeout_ms: ANSWER_TIMEOUT.as_millis() as u64,
            request_id: format!("pinpoint-{:016x}{:016x}", random_seed(), random_seed()),
        };
        let body = super::json(&request)?;
        self.ask(&HttpRequest::post_json(path, body)).await
    }

    /// The next page, or a poll of a running query.
    async fn page(
        &self,
        path: &str,
        job: &JobReference,
        token: &str,
    ) -> Result<Page, BigQueryError> {
        if job.job_id.is_empty() {
            let reason = "the query has more to come, and no job id".into();
            let service = super::NAME;
            return Err(ServiceError::Unreadable { service, reason }.into());
        }
        let most = PAGE.to_string();
        let patience = ANSWER_TIMEOUT.as_millis().to_string();
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("maxResults", &most);
        query.append_pair("timeoutMs", &patience);
        for (name, value) in [("location", &*job.location), ("pageToken", token)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        let id: String = form_urlencoded::byte_serialize(job.job_id.as_bytes()).collect();
        self.ask(&HttpRequest::get(format!("{path}/{id}?{}", query.finish())))
            .await
    }
}

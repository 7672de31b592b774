//! A BigQuery on loopback that accepts only valid requests.
//!
//! It keeps tables, inserts rows as the reference says (one row that is wrong keeps all of its
//! request out; the same `insertId` is the same row), and answers one form of query:
//! `SELECT * FROM DATASET.TABLE [WHERE COLUMN = @NAME | COLUMN IN UNNEST(@NAME)]`.

mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};

use crate::server::{Arrived, Server};
use rows::{check_fields, check_record, name_modes, parameter, record, select};

/// Rows in a page of an answer, at most.
const PAGE: usize = 3;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) tables: BTreeMap<String, Table>,
    /// Failures that come first: a status instead of an answer (`true`: after the work was done).
    pub(crate) faults: Vec<(u16, bool)>,
    /// The rows of each request that inserts.
    pub(crate) inserted: Vec<usize>,
    /// Bytes of the largest request.
    pub(crate) largest: usize,
    /// Job names look like BigQuery's own: Google's client does not escape others.
    pub(crate) has_plain_names: bool,
    /// Answers of queries, by request and then by job.
    queries: BTreeMap<String, String>,
    jobs: BTreeMap<String, Job>,
}

#[derive(Default)]
pub(crate) struct Table {
    pub(crate) fields: Vec<Value>,
    /// By `insertId`, in the order of their arrival.
    pub(crate) rows: Vec<Value>,
    ids: BTreeSet<String>,
}

struct Job {
    fields: Vec<Value>,
    rows: Vec<Value>,
    /// Polls until it is complete.
    looks: usize,
}

pub(crate) struct Fake {
    pub(crate) server: Server,
    pub(crate) state: Arc<Mutex<State>>,
}

fn refuse(status: StatusCode, message: impl std::fmt::Display) -> Response {
    let error = json!({"error": {"code": status.as_u16(), "message": message.to_string()}});
    (status, error.to_string()).into_response()
}

fn bad(message: impl std::fmt::Display) -> Response {
    refuse(StatusCode::BAD_REQUEST, message)
}

/// The members of an object, all of which are known.
fn members<'a>(value: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let object = value
        .as_object()
        .ok_or_else(|| format!("{value} is not an object"))?;
    match object.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("unknown name {name:?}")),
        None => Ok(object),
    }
}

impl Fake {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let server = Server::answering(move |request| {
            let mut state = shared.lock().unwrap();
            let fault = (!state.faults.is_empty()).then(|| state.faults.remove(0));
            if let Some((status, false)) = fault {
                return refuse(StatusCode::from_u16(status).unwrap(), "a fault");
            }
            let answer = state.answer(request);
            match fault {
                Some((status, _)) => refuse(StatusCode::from_u16(status).unwrap(), "lost"),
                None => answer,
            }
        })
        .await;
        Self { server, state }
    }
}

impl State {
    fn answer(&mut self, request: &Arrived) -> Response {
        let path = request.uri.path().strip_prefix("/bigquery/v2/projects/p/");
        let Some(path) = path else {
            return refuse(StatusCode::NOT_FOUND, "no such project");
        };
        let parts: Vec<&str> = path.split('/').collect();
        let body: Value = match &request.method {
            &Method::POST => {
                assert_eq!(request.header("content-type"), "application/json");
                serde_json::from_slice(&request.body).unwrap()
            }
            _ => Value::Null,
        };
        let answer = match (&request.method, &parts[..]) {
            (&Method::POST, ["datasets", "d", "tables"]) => self.create(&body),
            (&Method::POST, ["datasets", "d", "tables", table, "insertAll"]) => {
                self.largest = self.largest.max(request.body.len());
                self.insert(table, &body)
            }
            (&Method::POST, ["queries"]) => self.query(&body),
            (&Method::GET, ["queries", job]) => {
                self.page(job, request.uri.query().unwrap_or_default())
            }
            _ => return refuse(StatusCode::NOT_FOUND, format!("no such method: {path}")),
        };
        match answer {
            Ok(answer) => answer,
            Err(problem) => bad(problem),
        }
    }

    fn create(&mut self, body: &Value) -> Result<Response, String> {
        let body = members(body, &["tableReference", "schema"])?;
        let names = members(
            &body["tableReference"],
            &["projectId", "datasetId", "tableId"],
        )?;
        if names["projectId"] != "p" || names["datasetId"] != "d" {
            return Err("the reference is not as the address".into());
        }
        let fields = members(&body["schema"], &["fields"])?["fields"]
            .as_array()
            .cloned();
        let mut fields = fields.ok_or("no fields")?;
        name_modes(&mut fields);
        check_fields(&fields)?;
        let name = names["tableId"].as_str().ok_or("no table")?.to_owned();
        if self.tables.contains_key(&name) {
            return Ok(refuse(StatusCode::CONFLICT, "Already Exists"));
        }
        let table = Table {
            fields,
            ..Table::default()
        };
        self.tables.insert(name, table);
        Ok(json!({"kind": "bigquery#table"})
            .to_string()
            .into_response())
    }

    fn insert(&mut self, table: &str, body: &Value) -> Result<Response, String> {
        let Some(table) = self.tables.get_mut(table) else {
            return Ok(refuse(StatusCode::NOT_FOUND, "no such table"));
        };
        let rows = members(body, &["rows"])?["rows"]
            .as_array()
            .ok_or("no rows")?;
        if rows.is_empty() || rows.len() > 50_000 || body.to_string().len() > 10_000_000 {
            return Err("too many rows, or none".into());
        }
        self.inserted.push(rows.len());
        let mut errors = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let row = members(row, &["insertId", "json"])?;
            if row["insertId"].as_str().is_none_or(|id| id.len() > 128) {
                return Err("insertId is not text of at most 128 characters".into());
            }
            if let Err(problem) = check_record(&table.fields, &row["json"]) {
                let problem = json!({"reason": "invalid", "location": "", "message": problem});
                errors.push(json!({"index": index, "errors": [problem]}));
            }
        }
        if errors.is_empty() {
            for row in rows {
                if table.ids.insert(row["insertId"].as_str().unwrap().into()) {
                    table.rows.push(row["json"].clone());
                }
            }
        } else {
            let wrong: BTreeSet<u64> = errors
                .iter()
                .map(|it| it["index"].as_u64().unwrap())
                .collect();
            for index in (0..rows.len() as u64).filter(|index| !wrong.contains(index)) {
                errors.push(json!({"index": index, "errors": [{"reason": "stopped"}]}));
            }
        }
        let mut answer = json!({"kind": "bigquery#tableDataInsertAllResponse"});
        if !errors.is_empty() {
            answer["insertErrors"] = errors.into();
        }
        Ok(answer.to_string().into_response())
    }

    fn query(&mut self, body: &Value) -> Result<Response, String> {
        let known = [
            "query",
            "useLegacySql",
            "parameterMode",
            "queryParameters",
            "location",
            "maxResults",
            "timeoutMs",
            "requestId",
            "formatOptions",
            "useQueryCache",
        ];
        let body = members(body, &known)?;
        if body["useLegacySql"] != json!(false) {
            return Err("legacy SQL".into());
        }
        let options = body.get("formatOptions");
        let microseconds = options.is_some_and(|it| it["useInt64Timestamp"] == json!(true));
        let request = body["requestId"].as_str().filter(|id| id.len() <= 36 + 9);
        let request = request.ok_or("requestId")?;
        let parameters = match body.get("queryParameters") {
            None => BTreeMap::new(),
            Some(list) => {
                // Google's client leaves it out.
                if body
                    .get("parameterMode")
                    .is_some_and(|mode| mode != "NAMED")
                {
                    return Err("parameters are not named".into());
                }
                let list = list.as_array().ok_or("no list")?;
                list.iter().map(parameter).collect::<Result<_, String>>()?
            }
        };
        let number = self.jobs.len();
        let job = self.queries.entry(request.into());
        let name = match self.has_plain_names {
            true => format!("job-{number}"),
            false => format!("job {number}/ü"),
        };
        let job = job.or_insert(name).clone();
        if !self.jobs.contains_key(&job) {
            let sql = body["query"].as_str().ok_or("query")?;
            let (fields, rows) = select(&self.tables, sql, &parameters)?;
            let looks = number % 3;
            self.jobs.insert(
                job.clone(),
                Job {
                    fields,
                    rows,
                    looks,
                },
            );
        }
        self.look(&job, 0, microseconds)
    }

    fn page(&mut self, job: &str, query: &str) -> Result<Response, String> {
        let job = percent_decoded(job);
        let mut skip = 0;
        let (mut location, mut microseconds) = (false, false);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "maxResults" | "timeoutMs" => drop(value.parse::<u64>().unwrap()),
                // The format of the answer, and its requested members.
                "alt" | "prettyPrint" | "fields" => {}
                "formatOptions.useInt64Timestamp" => microseconds = value == "true",
                "startIndex" => skip = value.parse().unwrap(),
                "location" => location = value == "EU",
                "pageToken" => skip = value.strip_prefix("after ").unwrap().parse().unwrap(),
                _ => return Err(format!("unknown: {name}")),
            }
        }
        if !location {
            return Ok(refuse(StatusCode::NOT_FOUND, "the job is elsewhere"));
        }
        self.look(&job, skip, microseconds)
    }

    /// A page of an answer, perhaps with moments in microseconds since 1970.
    fn look(&mut self, name: &str, skip: usize, microseconds: bool) -> Result<Response, String> {
        let job = self.jobs.get_mut(name).ok_or("no such job")?;
        let reference = json!({"projectId": "p", "jobId": name, "location": "EU"});
        if job.looks > 0 {
            job.looks -= 1;
            let answer = json!({"jobComplete": false, "jobReference": reference});
            return Ok(answer.to_string().into_response());
        }
        let rows: Vec<Value> = (job.rows.iter().skip(skip).take(PAGE))
            .map(|row| record(&job.fields, row, microseconds))
            .collect();
        let mut answer = json!({
            "jobComplete": true, "jobReference": reference, "schema": {"fields": job.fields},
            "totalRows": job.rows.len().to_string(),
        });
        if !rows.is_empty() {
            answer["rows"] = rows.into();
        }
        if skip + PAGE < job.rows.len() {
            answer["pageToken"] = format!("after {}", skip + PAGE).into();
        }
        Ok(answer.to_string().into_response())
    }
}

fn percent_decoded(text: &str) -> String {
    let pair = format!("x={text}");
    form_urlencoded::parse(pair.as_bytes())
        .next()
        .unwrap()
        .1
        .into_owned()
}

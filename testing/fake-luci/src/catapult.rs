//! Catapult's database, which takes from a job what the original's receiver reads of it, and
//! nothing else.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};

use crate::services::FakeLuci;

/// A job as the database has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedJob {
    /// Its id.
    pub id: String,
    /// 0 up, 1 down, 4 unknown.
    pub improvement_direction: i64,
    /// The number of culprits, as far as it was said.
    pub difference_count: Option<i64>,
    /// The number of its issue.
    pub bug_id: Option<u64>,
    /// The words of its request.
    pub arguments: BTreeMap<String, String>,
    /// The commits that were run.
    pub states: Vec<ReceivedState>,
}

/// A state and its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedState {
    /// Its commits: repository and hash.
    pub commits: Vec<(String, String)>,
    /// Its runs.
    pub attempts: Vec<ReceivedAttempt>,
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedAttempt {
    /// The bot that the build was for.
    pub builder: String,
    /// The build: its instance of CAS and its digest.
    pub build: (String, String),
    /// The bot.
    pub bot: String,
    /// The task.
    pub task: String,
    /// The digest of what it left.
    pub output: String,
    /// Its values.
    pub values: Vec<f64>,
}

/// The repositories that the database knows.
const REPOSITORIES: [&str; 2] = ["chromium", "v8"];

/// Answers `POST /api/job`.
pub(crate) async fn store(
    State(luci): State<FakeLuci>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let is_protobuf = headers
        .get("content-type")
        .is_some_and(|it| it == "application/protobuf");
    if !is_protobuf {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    let body = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    let mut state = luci.state();
    *state.calls.entry("Catapult".into()).or_default() += 1;
    if state.catapult_refuses > 0 {
        state.catapult_refuses -= 1;
        return (StatusCode::FORBIDDEN, "not for this account").into_response();
    }
    match read(&body) {
        Ok(job) => {
            let id = job.id.clone();
            state.received_jobs.retain(|known| known.id != id);
            state.received_jobs.push(job);
            axum::Json(json!({"kind": "Job", "id": id})).into_response()
        }
        Err(missing) => (StatusCode::BAD_REQUEST, missing).into_response(),
    }
}

impl FakeLuci {
    /// The jobs that Catapult's database has.
    pub fn received_jobs(&self) -> Vec<ReceivedJob> {
        self.state().received_jobs.clone()
    }

    /// Has Catapult's database refuse the next jobs, as one that a right is missing for.
    pub fn refuse_jobs(&self, count: usize) {
        self.state().catapult_refuses = count;
    }
}

fn read(body: &Value) -> Result<ReceivedJob, String> {
    let missing = |field: &str| format!("no {field}");
    let seconds = |time: &Value| time["seconds"].as_i64();
    for field in ["created", "updated"] {
        seconds(&body[field]).ok_or_else(|| missing(field))?;
    }
    let words = body["arguments"]
        .as_object()
        .ok_or_else(|| missing("arguments"))?;
    let arguments: BTreeMap<String, String> = { words.iter() }
        .filter_map(|(name, value)| Some((name.clone(), scalar(value)?)))
        .collect();
    for field in ["comparison_mode", "configuration", "target"] {
        let text = arguments.get(field).filter(|text| !text.is_empty());
        text.ok_or_else(|| missing(field))?;
    }
    let direction = ["improvementDirection", "improvement_direction"];
    let direction = direction.iter().find_map(|name| body[*name].as_i64());
    let states = body["state"].as_array().cloned().unwrap_or_default();
    let states = states.iter().map(read_state);
    Ok(ReceivedJob {
        id: body["job_id"]
            .as_str()
            .ok_or_else(|| missing("job_id"))?
            .into(),
        improvement_direction: direction.unwrap_or(4),
        difference_count: body["differenceCount"].as_i64(),
        bug_id: body["bug_id"].as_str().and_then(|id| id.parse().ok()),
        arguments,
        states: states.collect::<Result<_, _>>()?,
    })
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn read_state(state: &Value) -> Result<ReceivedState, String> {
    let commits = state["change"]["commits"].as_array().cloned();
    let commits = commits.ok_or("no commits")?;
    let commits = commits.iter().map(|commit| {
        commit["created"]["seconds"]
            .as_i64()
            .ok_or("no created of a commit")?;
        let url = commit["repository"].as_str().ok_or("no repository")?;
        let name = url.rsplit('/').next().unwrap_or_default();
        let name = match name.trim_end_matches(".git") {
            "src" => "chromium",
            name => name,
        };
        if !REPOSITORIES.contains(&name) {
            return Err(format!("no repository {name}"));
        }
        let hash = commit["git_hash"].as_str().ok_or("no git_hash")?;
        Ok((name.to_owned(), hash.to_owned()))
    });
    let attempts = state["attempts"].as_array().cloned().unwrap_or_default();
    Ok(ReceivedState {
        commits: commits.collect::<Result<_, String>>()?,
        attempts: attempts.iter().map(read_attempt).collect(),
    })
}

/// Executions, and what is known of them, have their meaning by their places.
fn read_attempt(attempt: &Value) -> ReceivedAttempt {
    let none = Map::new();
    let detail = |execution: usize, place: usize| {
        let detail = &attempt["executions"][execution]["details"][place];
        let detail = detail.as_object().unwrap_or(&none);
        let text = |name: &str| detail.get(name).and_then(Value::as_str).unwrap_or_default();
        (text("value").to_owned(), text("url").to_owned())
    };
    let (digest, url) = detail(0, 1);
    let instance = url.trim_start_matches("https://cas-viewer.appspot.com/");
    let instance = instance.split("/blobs/").next().unwrap_or_default();
    let values = attempt["result_values"].as_array().cloned();
    ReceivedAttempt {
        builder: detail(0, 0).0,
        build: (instance.into(), digest),
        bot: detail(1, 0).0,
        task: detail(1, 1).0,
        output: detail(1, 2).0,
        values: values
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_f64)
            .collect(),
    }
}

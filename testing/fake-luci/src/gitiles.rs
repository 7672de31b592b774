//! Gitiles: the part of its interface that histories are read by.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::git::{Commit, Repository};
use crate::services::FakeLuci;

#[derive(Deserialize)]
pub(crate) struct Parameters {
    format: Option<String>,
    n: Option<usize>,
    s: Option<String>,
    #[serde(rename = "first-parent")]
    first_parent: Option<String>,
}

/// Commits of a page, unless asked otherwise.
const PAGE: usize = 100;

/// The most commits of a page.
const LONGEST_PAGE: usize = 10_000;

/// Answers `/HOST/PROJECT/+show/…`, short `/HOST/PROJECT/+/…`, and `/HOST/PROJECT/+log/…`.
pub(crate) async fn answer(
    State(luci): State<FakeLuci>,
    Path((host, path)): Path<(String, String)>,
    Query(parameters): Query<Parameters>,
) -> Response {
    let path = path.strip_prefix("a/").unwrap_or(&path);
    let not_found = || {
        (
            StatusCode::NOT_FOUND,
            "NOT_FOUND: Requested entity was not found.",
        )
    };
    let Some((project, question)) = path.split_once("/+") else {
        return not_found().into_response();
    };
    let url = format!("https://{host}/{project}");
    let Some(repository) = luci.repository(&url) else {
        return not_found().into_response();
    };
    let answer = match question.split_once('/') {
        Some(("log", range)) => log(&repository, range, &parameters),
        // What is at a place shows what kind it is.
        Some(("show" | "", place)) => show(&repository, place, &parameters),
        _ => None,
    };
    answer.unwrap_or_else(|| not_found().into_response())
}

fn guarded(value: &Value) -> Response {
    format!(")]}}'\n{value}\n").into_response()
}

fn commit_json(commit: &Commit) -> Value {
    let [author, committer] = commit
        .people
        .each_ref()
        .map(|[name, email, time]| json!({"name": name, "email": email, "time": time}));
    json!({
        "commit": commit.hash,
        "tree": commit.tree,
        "parents": commit.parents,
        "author": author,
        "committer": committer,
        "message": commit.message,
    })
}

fn log(repository: &Repository, range: &str, parameters: &Parameters) -> Option<Response> {
    let (without, of) = match range.split_once("..") {
        Some((without, of)) => (Some(repository.resolve(without)?), of),
        None => (None, range),
    };
    let of = repository.resolve(of)?;
    let first_parent = parameters.first_parent.as_deref() == Some("1");
    let without = without.map(|commit| &*commit.hash);
    let log = repository.log(without, &of.hash, first_parent);
    let start = match &parameters.s {
        Some(next) => log.iter().position(|commit| commit.hash == *next)?,
        None => 0,
    };
    let n = parameters.n.unwrap_or(PAGE).clamp(1, LONGEST_PAGE);
    let page = &log[start..];
    let mut answer = json!({
        "log": page.iter().take(n).map(|commit| commit_json(commit)).collect::<Vec<_>>(),
    });
    if let Some(next) = page.get(n) {
        answer["next"] = json!(next.hash);
    }
    Some(guarded(&answer))
}

fn show(repository: &Repository, place: &str, parameters: &Parameters) -> Option<Response> {
    // A name of a branch holds slashes, too: the shortest name that means a commit counts.
    let ends = place
        .match_indices('/')
        .map(|(end, _)| end)
        .chain([place.len()]);
    let (commit, path) = ends.filter(|end| *end > 0).find_map(|end| {
        let commit = repository.resolve(&place[..end])?;
        Some((commit, place.get(end + 1..)))
    })?;
    let Some(path) = path else {
        return Some(guarded(&commit_json(commit)));
    };
    let (mode, kind, hash, _) = repository.entry(commit, path)?;
    match (parameters.format.as_deref(), &*kind) {
        (Some("TEXT"), "blob") => {
            let text = BASE64_STANDARD.encode(repository.blob(&hash));
            let headers = [
                ("x-gitiles-path-mode", mode),
                ("x-gitiles-object-type", kind),
            ];
            Some((headers, text).into_response())
        }
        (Some("JSON"), "tree") => {
            let entries = repository
                .tree(&hash)
                .into_iter()
                .map(|(mode, kind, id, name)| {
                    let mode = u32::from_str_radix(&mode, 8).unwrap_or_default();
                    json!({"mode": mode, "type": kind, "id": id, "name": name})
                });
            Some(guarded(
                &json!({"id": hash, "entries": entries.collect::<Vec<_>>()}),
            ))
        }
        _ => None,
    }
}

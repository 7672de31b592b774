//! The issue tracker: the part of its interface that reports need.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::json;

use crate::services::FakeLuci;

/// An issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Issue {
    /// Its comments, oldest first.
    pub comments: Vec<String>,
    /// Its status.
    pub status: String,
    /// The hotlists that it is in.
    pub hotlists: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Modify {
    issue_comment: Comment,
    #[serde(default)]
    add: Added,
    #[serde(default)]
    add_mask: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Comment {
    comment: String,
    formatting_mode: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Added {
    status: Option<String>,
    hotlist_ids: Vec<String>,
}

/// Answers `issues.issueUpdates.list`.
pub(crate) async fn updates(State(luci): State<FakeLuci>, Path(issue): Path<u64>) -> Response {
    let state = luci.state();
    let Some(issue) = state.issues.get(&issue) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let updates = issue.comments.iter();
    let updates = updates.map(|comment| json!({"issueComment": {"comment": comment}}));
    Json(json!({"issueUpdates": updates.collect::<Vec<_>>()})).into_response()
}

/// Answers `issues.modify`, whose path ends with `ID:modify`.
pub(crate) async fn modify(
    State(luci): State<FakeLuci>,
    Path(path): Path<String>,
    Json(asked): Json<Modify>,
) -> Response {
    let issue = path
        .strip_suffix(":modify")
        .and_then(|id| id.parse::<u64>().ok());
    let mut state = luci.state();
    let Some(issue) = issue.and_then(|issue| state.issues.get_mut(&issue)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mask: Vec<&str> = asked
        .add_mask
        .split(',')
        .filter(|it| !it.is_empty())
        .collect();
    let named = [
        ("status", asked.add.status.is_some()),
        ("hotlistIds", !asked.add.hotlist_ids.is_empty()),
    ];
    let fits = named
        .iter()
        .all(|(name, is_named)| mask.contains(name) == *is_named);
    if !fits || asked.issue_comment.formatting_mode != "MARKDOWN" {
        return StatusCode::BAD_REQUEST.into_response();
    }
    issue.comments.push(asked.issue_comment.comment);
    if let Some(status) = asked.add.status {
        issue.status = status;
    }
    issue.hotlists.extend(asked.add.hotlist_ids);
    Json(json!({})).into_response()
}

impl FakeLuci {
    /// Makes an issue without comments.
    pub fn add_issue(&self, id: u64) {
        self.state().issues.insert(id, Issue::default());
    }

    /// An issue by its id.
    pub fn issue(&self, id: u64) -> Option<Issue> {
        self.state().issues.get(&id).cloned()
    }
}

//! Gerrit: the part of its interface that patch sets are looked up by.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::services::FakeLuci;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    o: String,
}

/// A change under review.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) project: String,
    pub(crate) patchsets: u64,
}

impl FakeLuci {
    /// A change under review, with patch sets from 1 on.
    pub fn add_change(&self, number: u64, project: &str, patchsets: u64) {
        let change = Change {
            project: project.into(),
            patchsets,
        };
        self.state().changes.insert(number, change);
    }
}

/// Answers `/HOST/changes/NUMBER`.
pub(crate) async fn change(
    State(luci): State<FakeLuci>,
    Path((_, number)): Path<(String, u64)>,
    Query(parameters): Query<Parameters>,
) -> Response {
    let state = luci.state();
    let Some(change) = state.changes.get(&number) else {
        return (StatusCode::NOT_FOUND, "Not found: 1").into_response();
    };
    if parameters.o != "ALL_REVISIONS" {
        return (StatusCode::BAD_REQUEST, "o").into_response();
    }
    let revisions = (1..=change.patchsets).map(|number| {
        let hash = format!("{number:040x}");
        (hash, json!({"_number": number, "kind": "REWORK"}))
    });
    let revisions: Map<String, Value> = revisions.collect();
    let answer = json!({
        "project": change.project,
        "branch": "main",
        "_number": number,
        "revisions": revisions,
    });
    format!(")]}}'\n{answer}\n").into_response()
}

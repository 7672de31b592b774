//! crrev: commits of the main repository by number.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use crate::services::FakeLuci;
use crate::world::MAIN;

/// Answers `/_ah/api/crrev/v1/redirect/NUMBER_OR_HASH`.
pub(crate) async fn redirect(State(luci): State<FakeLuci>, Path(asked): Path<String>) -> Response {
    let Some(main) = luci.repository(MAIN) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let footer = format!("Cr-Commit-Position: refs/heads/main@{{#{asked}}}\n");
    let tip = main
        .resolve("main")
        .map(|tip| tip.hash.clone())
        .unwrap_or_default();
    let line = main.line(&tip);
    let mut found = line.iter();
    match found.find(|commit| commit.hash == asked || commit.message.ends_with(&footer)) {
        Some(commit) => Json(json!({
            "git_sha": commit.hash,
            "project": "chromium",
            "repo": "chromium/src",
            "redirect_url": format!("{}/+/{}", MAIN, commit.hash),
        }))
        .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

//! A Gerrit on loopback.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::response::IntoResponse;
use axum::routing::get;
use http::StatusCode;
use pinpoint_service::Gerrit;
use serde_json::json;

pub(crate) const PATCH: &[u8] =
    b"From 1f2e Mon Sep 17 00:00:00 2001\nSubject: [PATCH] Faster\n\ndiff --git a/x b/x\n";

static PORT: OnceLock<u16> = OnceLock::new();

/// A Gerrit of this host, with three changes of the bot's repository and one of another. Change
/// 12345 has six patch sets, the others two.
pub(crate) async fn gerrit(host: &str) -> Gerrit {
    let change = async |Path(number): Path<u64>| {
        let (project, newest) = match number {
            7 | 8 => ("tool", 2),
            9 => ("other", 2),
            12345 => ("tool", 6),
            _ => return StatusCode::NOT_FOUND.into_response(),
        };
        let revision = json!({
            "_number": newest, "created": "2013-02-02 10:00:00.000000000",
            "commit": { "author": { "name": "Bo", "email": "bo@example.org" }, "subject": "Faster" },
        });
        let change = json!({
            "project": project, "current_revision": "ab", "revisions": { "ab": revision },
        });
        format!(")]}}'\n{change}").into_response()
    };
    let file = async |Path(_): Path<(u64, u64)>| {
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, PATCH)
    };
    if PORT.get().is_none() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        PORT.set(listener.local_addr().unwrap().port()).unwrap();
        let routes = axum::Router::new()
            .route("/changes/{number}", get(change))
            .route("/changes/{number}/revisions/{patchset}/patch", get(file));
        tokio::spawn(async move { axum::serve(listener, routes).await });
    }
    let gerrit = Gerrit::new(vec![host.into()]).unwrap();
    gerrit.reached_by(|_| format!("http://127.0.0.1:{}", PORT.get().unwrap()))
}

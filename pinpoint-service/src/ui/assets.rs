//! The files that pages need: each with its hash in its name, so that browsers keep it for good,
//! and a page of a newer version asks for a newer one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use pinpoint_report::picture::{self, Theme};
use sha2::{Digest, Sha256};

use crate::api::rest::Problem;

/// The name of each file, and its text.
fn files() -> [(&'static str, Cow<'static, str>); 3] {
    [
        ("icon.svg", include_str!("assets/icon.svg").into()),
        ("style.css", style().into()),
        ("page.js", script().into()),
    ]
}

/// The script of all pages: their common part, and a part for each, which does nothing where its
/// elements are absent. Parts can't see each other's names.
fn script() -> String {
    let parts = [
        include_str!("assets/jobs.js"),
        include_str!("assets/job.js"),
        include_str!("assets/new.js"),
    ];
    let parts = parts.map(|part| format!("{{\n{part}}}\n"));
    include_str!("assets/page.js").to_owned() + &parts.concat()
}

/// The style sheet of the pictures, in the colors of the theme that the user has chosen, and that
/// of the pages.
fn style() -> String {
    let mut text = picture::style();
    for (name, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
        let colors = picture::colors(theme);
        text.push_str(&format!(":root[data-theme=\"{name}\"]{{{colors}}}\n"));
    }
    text + include_str!("assets/style.css")
}

struct Asset {
    /// With the hash.
    path: String,
    kind: &'static str,
    text: Cow<'static, str>,
}

static ASSETS: LazyLock<BTreeMap<&str, Asset>> = LazyLock::new(|| {
    let files = files().into_iter().map(|(name, text)| {
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        let kind = match ending {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            _ => "image/svg+xml",
        };
        let hash = Sha256::digest(text.as_bytes());
        let hash = hex::encode(&hash[..8]);
        let path = format!("/assets/{stem}.{hash}.{ending}");
        (name, Asset { path, kind, text })
    });
    files.collect()
});

/// The path of a file.
pub(super) fn path(name: &str) -> &'static str {
    // A test of the pages asks for each name, and so finds wrong ones.
    ASSETS
        .get(name)
        .map_or("/assets/unknown", |asset| &asset.path)
}

/// GET `/assets/{name}`.
pub(super) async fn answer(Path(name): Path<String>) -> Response {
    let path = format!("/assets/{name}");
    let Some(asset) = ASSETS.values().find(|asset| asset.path == path) else {
        return Problem::path(&path).into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    (headers, &*asset.text).into_response()
}

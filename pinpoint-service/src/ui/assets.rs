//! The files that pages need: each with its hash in its name, so that browsers keep it for good,
//! and a page of a newer version asks for a newer one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use pinpoint_report::picture::{Theme, colours, style};
use sha2::{Digest, Sha256};

use crate::rest::Problem;

/// The name of each file, its kind and its text. Modules come after those that they import.
const FILES: &[(&str, &str, &str)] = &[
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("assets/style.css"),
    ),
    (
        "page.js",
        "text/javascript; charset=utf-8",
        include_str!("assets/page.js"),
    ),
    (
        "job.js",
        "text/javascript; charset=utf-8",
        include_str!("assets/job.js"),
    ),
];

/// The style sheet of the pictures, in the theme that was chosen.
fn of_pictures() -> String {
    let chosen =
        |name: &str, theme| format!(":root[data-theme=\"{name}\"]{{{}}}\n", colours(theme));
    style() + &chosen("light", Theme::Light) + &chosen("dark", Theme::Dark)
}

struct Asset {
    /// With the hash.
    path: String,
    kind: &'static str,
    text: Cow<'static, str>,
}

static ASSETS: LazyLock<BTreeMap<&str, Asset>> = LazyLock::new(|| {
    let files = FILES
        .iter()
        .map(|(name, kind, text)| (*name, *kind, Cow::Borrowed(*text)));
    let pictures = Cow::Owned(of_pictures());
    let pictures = ("pictures.css", "text/css; charset=utf-8", pictures);
    let files = files.chain([pictures]).map(|(name, kind, text)| {
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        let hash = Sha256::digest(text.as_bytes());
        let hash: String = (hash.iter().take(8))
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let path = format!("/assets/{stem}.{hash}.{ending}");
        (name, Asset { path, kind, text })
    });
    files.collect()
});

/// The path of a file.
pub(super) fn path(name: &str) -> &'static str {
    // A name that is none is found by the test of the pages, which asks for each.
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

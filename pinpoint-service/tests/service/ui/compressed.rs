//! Pages and their files, compressed, and how large they are.

use std::collections::BTreeSet;
use std::io::Read;

use axum::body::{Body, to_bytes};
use flate2::read::GzDecoder;
use http::{HeaderMap, Request};

use super::jobs::made;
use super::{BROWSER, get};
use crate::world::World;

/// The most bytes of a page, compressed.
const MOST_OF_A_PAGE: usize = 60_000;

/// The most bytes of all scripts, compressed.
const MOST_OF_SCRIPTS: usize = 30_000;

/// An answer to a browser that accepts this encoding: its headers, and its bytes.
async fn asked(world: &World, path: &str, accept: &str, encoding: &str) -> (HeaderMap, Vec<u8>) {
    let request = Request::get(path)
        .header("accept", accept)
        .header("accept-encoding", encoding);
    let response = world.send(request.body(Body::empty()).unwrap()).await;
    let headers = response.headers().clone();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (headers, body.into())
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn pages_are_compressed_for_those_who_accept_it_and_answers_to_programs_never() {
    let world = World::new("ada").await;
    for path in ["/workers", "/nowhere"] {
        let (headers, bytes) = asked(&world, path, BROWSER, "gzip, br").await;
        assert_eq!(headers["content-encoding"], "gzip");
        assert!(
            headers
                .get_all("vary")
                .iter()
                .any(|it| it == "accept-encoding")
        );
        let length = headers
            .get("content-length")
            .map(|it| it.to_str().unwrap().to_owned());
        assert!(length.is_none_or(|it| it == bytes.len().to_string()));
        assert!(unpacked(&bytes).ends_with("</html>"));
        let (headers, bytes) = asked(&world, path, BROWSER, "gzip;q=0").await;
        assert!(!headers.contains_key("content-encoding"));
        assert!(
            headers
                .get_all("vary")
                .iter()
                .any(|it| it == "accept-encoding")
        );
        assert!(bytes.ends_with(b"</html>"));
    }
    let id = made(&world, "A job").await;
    for (path, accept) in [
        ("/api/v2/jobs".to_owned(), "*/*"),
        (format!("/api/v2/jobs/{id}/events"), "text/event-stream"),
        ("/bots".to_owned(), "*/*"),
        ("/healthz".to_owned(), BROWSER),
        (format!("/api/v2/jobs/{id}/report"), BROWSER),
    ] {
        let request = Request::get(&path)
            .header("accept", accept)
            .header("accept-encoding", "gzip");
        let response = world.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 200, "{path}");
        assert!(
            !response.headers().contains_key("content-encoding"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn pages_and_scripts_are_small() {
    let world = World::new("ada@example.org").await;
    for number in 0..100 {
        made(
            &world,
            &format!("Why speedometer {number} got slower on {}", number * 7919),
        )
        .await;
    }
    let mut scripts = BTreeSet::new();
    for path in [
        "/?size=100",
        "/account",
        "/admin?from=",
        "/bots",
        "/workers",
    ] {
        let (_, bytes) = asked(&world, path, BROWSER, "gzip").await;
        assert!(bytes.len() <= MOST_OF_A_PAGE, "{path}: {}", bytes.len());
        let text = get(&world, path).await.ok();
        let found = text
            .split("src=\"")
            .skip(1)
            .map(|it| it.split('"').next().unwrap());
        scripts.extend(found.filter(|it| it.ends_with(".js")).map(str::to_owned));
    }
    assert!(!scripts.is_empty());
    let mut size = 0;
    for path in &scripts {
        let (headers, bytes) = asked(&world, path, "*/*", "gzip").await;
        assert_eq!(headers["content-type"], "text/javascript; charset=utf-8");
        size += bytes.len();
    }
    assert!(size <= MOST_OF_SCRIPTS, "{size}: {scripts:?}");
}

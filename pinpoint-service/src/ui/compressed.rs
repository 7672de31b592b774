//! Pages and their files, compressed for browsers that accept it. Answers to programs, events
//! and gRPC stay as they are.

use std::io::Write;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Method, header};
use tonic::Status;

use crate::api::rest::Problem;

/// The kinds of answers that are compressed: none of them is streamed.
const KINDS: [&str; 4] = ["text/html", "text/css", "text/javascript", "image/svg+xml"];

/// Compresses the answer, if it is a page or one of its files.
pub(crate) async fn compressed(request: Request, next: Next) -> Response {
    let is_accepted = accepts_gzip(request.headers()) && request.method() != Method::HEAD;
    let mut response = next.run(request).await;
    if !is_compressible(response.headers()) {
        return response;
    }
    let by_encoding = HeaderValue::from_static("accept-encoding");
    response.headers_mut().append(header::VARY, by_encoding);
    if !is_accepted {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let packed = async {
        let body = to_bytes(body, usize::MAX).await.ok()?;
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&body).ok()?;
        packer.finish().ok()
    };
    let Some(packed) = packed.await else {
        return Problem::from(Status::internal("the page can't be compressed")).into_response();
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    let gzip = HeaderValue::from_static("gzip");
    parts.headers.insert(header::CONTENT_ENCODING, gzip);
    Response::from_parts(parts, Body::from(packed))
}

fn is_compressible(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // A report may be long, and has its runs packed already.
    let is_file = headers.contains_key(header::CONTENT_DISPOSITION);
    KINDS.contains(&kind) && !is_file && !headers.contains_key(header::CONTENT_ENCODING)
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let accepted = accepted.filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        let is_wanted = weight
            .trim()
            .parse::<f32>()
            .is_ok_and(|weight| weight > 0.0);
        name.trim().eq_ignore_ascii_case("gzip") && is_wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_accept_it() {
        let accepts = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            accepts_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]))
        };
        for good in ["gzip", "br, GZIP;q=0.5", "deflate,gzip ; q=1"] {
            assert!(accepts(good), "{good}");
        }
        for bad in ["", "br", "gzip;q=0", "gzip;q=0.000", "xgzip", "*;q=0"] {
            assert!(!accepts(bad), "{bad}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn pages_and_their_files_are_compressed_and_nothing_else() {
        let is = |kind: &'static str| {
            let kind = HeaderValue::from_static(kind);
            is_compressible(&HeaderMap::from_iter([(header::CONTENT_TYPE, kind)]))
        };
        assert!(is("text/html; charset=utf-8"));
        assert!(is("text/css"));
        for other in [
            "application/json",
            "text/event-stream",
            "application/grpc",
            "text/plain",
        ] {
            assert!(!is(other), "{other}");
        }
    }
}

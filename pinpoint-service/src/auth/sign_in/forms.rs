//! Forms of this service's own pages: each carries a token that other sites can't know.

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::Method;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use ring::hmac;
use tonic::Status;
use uuid::Uuid;

use crate::api::rest::Problem;
use crate::transport::arriving;

/// The field of a form with the token.
const FIELD: &str = "form_token";

/// The purpose that the token signs, so that it is useless elsewhere.
const PURPOSE: &[u8] = b"a form of pinpoint-service";

/// Marks the refusal of a form from a page of an earlier session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlierSession;

fn key(session: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, session.as_bytes())
}

/// A value of the field `form_token`, which each form of a page has to send: `session` is the
/// secret in the visitor's cookie. Each value differs, so that the lengths of compressed pages
/// reveal nothing of it.
pub fn form_token(session: &str) -> String {
    let salt = Uuid::now_v7();
    let tag = hmac::sign(&key(session), &signed(salt.as_bytes()));
    BASE64_URL_SAFE_NO_PAD.encode([salt.as_bytes(), tag.as_ref()].concat())
}

fn signed(salt: &[u8]) -> Vec<u8> {
    [PURPOSE, salt].concat()
}

fn is_token(session: &str, text: &str) -> bool {
    let token = BASE64_URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    let parts = token.split_at_checked(size_of::<Uuid>());
    parts.is_some_and(|(salt, tag)| hmac::verify(&key(session), &signed(salt), tag).is_ok())
}

/// Checks a request that a browser sends with the cookie of a session: one that a form could make
/// needs its token, which is taken out. No form sends JSON or gRPC, and a script of another site is
/// not allowed to.
pub(crate) async fn check(session: &str, request: Request) -> Result<Request, Response> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(request);
    }
    let kind = request.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind == "application/json" || kind.starts_with("application/grpc") {
        return Ok(request);
    }
    let refused = || {
        Problem::from(Status::permission_denied(
            "with the cookie of a session, send application/json, or a form with the field `form_token` of this session's pages",
        ))
        .into_response()
    };
    if kind != "application/x-www-form-urlencoded" {
        return Err(refused());
    }
    let (mut parts, body) = request.into_parts();
    let body = arriving::whole(body).await;
    let body = body.map_err(IntoResponse::into_response)?;
    let mut tokens = Vec::new();
    let rest: Vec<_> = body
        .split(|byte| *byte == b'&')
        .filter(|pair| match form_urlencoded::parse(pair).next() {
            Some((name, value)) if name == FIELD => {
                tokens.push(value.into_owned());
                false
            }
            _ => true,
        })
        .collect();
    match &*tokens {
        [token] if is_token(session, token) => {
            let rest = rest.join(&b'&');
            // The body has another length now.
            parts.headers.remove(CONTENT_LENGTH);
            Ok(Request::from_parts(parts, Body::from(rest)))
        }
        [] => Err(refused()),
        _ => Err(of_earlier_session()),
    }
}

fn of_earlier_session() -> Response {
    let refused = "this form is from a page of an earlier session";
    let mut refused = Problem::from(Status::permission_denied(refused)).into_response();
    refused.extensions_mut().insert(EarlierSession);
    refused
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use crate::transport::arriving::MOST_BODY_BYTES;

    use super::*;

    async fn checked(kind: &str, body: &str) -> Result<Request, Response> {
        let request = http::Request::post("/a").header(CONTENT_TYPE, kind);
        let request = request.body(Body::from(body.to_owned())).unwrap();
        check("secret", request).await
    }

    async fn sent(kind: &str, body: &str) -> Option<String> {
        let body = checked(kind, body).await.ok()?.into_body();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Some(String::from_utf8(bytes.into()).unwrap())
    }

    #[tokio::test]
    async fn a_form_needs_the_token_of_its_session() {
        let form = "application/x-www-form-urlencoded";
        let token = form_token("secret");
        assert!(!token.contains("secret"));
        assert_ne!(token, form_token("secret"));
        let good = format!("a=1&form_token={token}&b=%26");
        assert_eq!(sent(form, &good).await.as_deref(), Some("a=1&b=%26"));
        let escaped = format!("form%5Ftoken={token}");
        assert_eq!(sent(form, &escaped).await.as_deref(), Some(""));
        for bad in [
            "",
            "a=1",
            "form_token=",
            &format!("form_token={}", form_token("other")),
            &format!("form_token={token}&form_token={token}"),
            &format!("FORM_TOKEN={token}"),
        ] {
            assert_eq!(sent(form, bad).await, None, "{bad}");
        }
        let large = format!("{good}&c={}", "c".repeat(MOST_BODY_BYTES));
        let large = checked(form, &large).await.unwrap_err();
        assert_eq!(large.status(), 413);
        for kind in ["", "text/plain", "multipart/form-data", "application/jsonp"] {
            assert_eq!(sent(kind, &good).await, None, "{kind}");
        }
        for kind in [
            "application/json",
            "application/json; charset=utf-8",
            "application/grpc-web+proto",
        ] {
            assert_eq!(sent(kind, "{}").await.as_deref(), Some("{}"), "{kind}");
        }
    }
}

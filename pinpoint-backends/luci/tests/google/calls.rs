//! The conditions under which a request is sent again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode};
use axum::response::IntoResponse as _;
use futures_util::future::join_all;
use pinpoint_backends::google::{
    AddressError, Backoff, Client, HttpRequest, Pace, Prpc, ServiceError, TokenSource, Tokens, Web,
};
use serde_json::{Value, json};

use crate::server::{Server, raw};

/// Retries without much of a wait.
const SHORT: Backoff = Backoff {
    retries: 3,
    first: Duration::from_millis(2),
    longest: Duration::from_millis(4),
};

pub(crate) fn client(address: &str) -> Client {
    let web = Arc::new(Web::new().unwrap());
    let tokens = Tokens::new(TokenSource::None, &[], web.clone());
    let client = Client::new("Service", address, tokens, web).unwrap();
    client.with_backoff(SHORT)
}

#[tokio::test]
async fn trouble_that_may_pass_is_tried_again() {
    for status in [408, 429, 500, 502, 503, 504] {
        let status = StatusCode::from_u16(status).unwrap();
        let server = Server::with([
            status.into_response(),
            status.into_response(),
            "found".into_response(),
        ])
        .await;
        let answer = client(&server.address)
            .send(&HttpRequest::get("/x?y=z"))
            .await;
        assert_eq!(answer.unwrap().body, b"found");
        let uris: Vec<_> = server
            .arrived()
            .iter()
            .map(|it| it.uri.to_string())
            .collect();
        assert_eq!(uris, ["/x?y=z"; 3]);
    }
}

#[tokio::test]
async fn what_will_not_pass_is_asked_once() {
    for status in [301, 400, 403, 404, 409, 501] {
        let status = StatusCode::from_u16(status).unwrap();
        let server = Server::with([(status, "why\nnot").into_response()]).await;
        let error = client(&server.address).send(&HttpRequest::get("/")).await;
        let expected = format!(
            "Service answers with HTTP status {}: why not",
            status.as_u16()
        );
        assert_eq!(error.unwrap_err().to_string(), expected);
        assert_eq!(server.arrived().len(), 1);
    }
}

#[tokio::test]
async fn the_last_error_remains_when_tries_are_used_up() {
    let server = Server::answering(|_| StatusCode::BAD_GATEWAY.into_response()).await;
    let error = client(&server.address).send(&HttpRequest::get("/")).await;
    assert!(matches!(
        error.unwrap_err(),
        ServiceError::Status { status: 502, .. }
    ));
    assert_eq!(server.arrived().len(), 4);
}

#[tokio::test]
async fn an_answer_of_the_wrong_form_is_asked_for_three_times_in_all() {
    let server = Server::answering(|_| "<html>Sign in</html>".into_response()).await;
    let ten = Backoff {
        retries: 10,
        ..SHORT
    };
    let client = client(&server.address).with_backoff(ten);
    let prpc = Prpc::new(client, "Builds");
    let error = prpc
        .call::<Value>("GetBuild", &json!({}))
        .await
        .unwrap_err();
    assert!(matches!(error, ServiceError::Unreadable { .. }), "{error}");
    assert_eq!(server.arrived().len(), 3);
}

#[tokio::test]
async fn what_may_not_arrive_twice_is_not_sent_again() {
    let post = HttpRequest::post_json("/", b"{}".to_vec()).once();
    let server = Server::answering(|_| StatusCode::SERVICE_UNAVAILABLE.into_response()).await;
    assert!(client(&server.address).send(&post).await.is_err());
    assert_eq!(server.arrived().len(), 1);
    // The service says that it did nothing.
    let busy = StatusCode::TOO_MANY_REQUESTS.into_response();
    let server = Server::with([busy, "done".into_response()]).await;
    assert!(client(&server.address).send(&post).await.is_ok());
}

#[tokio::test]
async fn cut_connections_are_trouble_that_may_pass() {
    let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nfound";
    let half = &whole[..whole.len() - 2];
    let address = raw(vec![b"", half, b"garbage\r\n\r\n", whole]).await;
    let answer = client(&address).send(&HttpRequest::get("/")).await;
    assert_eq!(answer.unwrap().body, b"found");
    // Nothing listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = client(&address)
        .send(&HttpRequest::get("/"))
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error}");
}

#[tokio::test]
async fn a_try_without_an_answer_ends() {
    let address = raw(Vec::new()).await;
    let client = client(&address).with_deadline(Duration::from_millis(20));
    let error = client.send(&HttpRequest::get("/")).await.unwrap_err();
    assert!(matches!(error, ServiceError::TimedOut { .. }), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_refused_at_once() {
    let server = Server::answering(|_| "x".repeat(1001).into_response()).await;
    let client = client(&server.address).with_most_bytes(1000);
    let error = client.send(&HttpRequest::get("/")).await.unwrap_err();
    assert!(
        error.to_string().contains("more than 1000 bytes"),
        "{error}"
    );
    assert_eq!(server.arrived().len(), 1);
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_allowed() {
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let handle = async || {
        let now = UNDER_WAY.fetch_add(1, Ordering::SeqCst) + 1;
        MOST.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(1)).await;
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    };
    let routes = axum::Router::new().fallback(handle);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let client = client(&address).with_pace(Pace::new(3, None));
    let get = HttpRequest::get("/");
    let all = join_all((0..60).map(|_| client.send(&get))).await;
    assert!(all.iter().all(Result::is_ok));
    let most = MOST.load(Ordering::SeqCst);
    assert!((1..=3).contains(&most), "{most}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let location = [("location", "/elsewhere")];
    let server = Server::with([(StatusCode::FOUND, location).into_response()]).await;
    assert!(
        client(&server.address)
            .send(&HttpRequest::get("/"))
            .await
            .is_err()
    );
    assert_eq!(server.arrived().len(), 1);
}

#[test]
fn tokens_cross_the_network_protected_or_not_at_all() {
    let web = Arc::new(Web::new().unwrap());
    let source = TokenSource::Metadata("http://metadata".into());
    let tokens = Tokens::new(source, &[], web.clone());
    let new = |address| Client::new("Service", address, tokens.clone(), web.clone());
    assert!(new("https://example.org").is_ok());
    assert!(new("http://127.0.0.1:80/").is_ok());
    let unprotected = new("http://example.org").err();
    assert!(matches!(unprotected, Some(AddressError::Unprotected(_))));
    for more in ["https://a@b", "https://a?b", "https://a#b"] {
        let refused = new(more).err();
        assert!(
            matches!(refused, Some(AddressError::Superfluous { .. })),
            "{more}"
        );
    }
    for none in ["", "example.org", "ftp://x", "https://"] {
        let refused = new(none).err();
        assert!(
            matches!(refused, Some(AddressError::NotAnAddress(_))),
            "{none}"
        );
    }
}

#[test]
fn a_request_is_shown_without_its_token() {
    let client = client("http://127.0.0.1:7/");
    let key = pinpoint_backends::google::Secret::new("hidden");
    let post = HttpRequest::post_json("/a", br#"{"b":1}"#.to_vec()).secret_header("x-key", &key);
    let post = post.header("x-other", HeaderValue::from_static("shown"));
    assert_eq!(
        client.rendered(&post),
        "POST http://127.0.0.1:7/a\n{\n  \"b\": 1\n}"
    );
    assert!(!format!("{post:?}").contains("hidden"));
    let get = HttpRequest::get("/a?b=c");
    assert_eq!(client.rendered(&get), "GET http://127.0.0.1:7/a?b=c");
}

//! Tokens reach their services, and are shown nowhere.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use pinpoint_backends::google::{Backoff, Client, HttpRequest, Prpc, TokenSource, Tokens, Web};
use serde_json::{Value, json};
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::server::Server;

/// Collects every field of every span and event, of every crate.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<String>>);

impl Lines {
    fn field(&self, field: &Field, value: &dyn Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut |field: &Field, value: &dyn Debug| self.field(field, value));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut |field: &Field, value: &dyn Debug| self.field(field, value));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut |field: &Field, value: &dyn Debug| self.field(field, value));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Gives out tokens by number, each good for an hour.
async fn metadata() -> Server {
    let made = Mutex::new(0);
    Server::answering(move |_| {
        let mut made = made.lock().unwrap();
        *made += 1;
        json!({"access_token": format!("hidden-{made}"), "expires_in": 3600})
            .to_string()
            .into_response()
    })
    .await
}

fn client(address: &str, metadata: &Server) -> Client {
    let web = Arc::new(Web::new().unwrap());
    let source: TokenSource = format!("metadata:{}", metadata.address).parse().unwrap();
    let tokens = Tokens::new(source, &["a", "b"], web.clone());
    let backoff = Backoff {
        retries: 1,
        first: Duration::from_millis(1),
        longest: Duration::from_millis(1),
    };
    let client = Client::new("Service", address, tokens, web).unwrap();
    client.with_backoff(backoff)
}

#[tokio::test]
async fn a_token_that_a_service_refuses_is_renewed_once() {
    let lines = Lines::default();
    // A subscriber of one thread would miss spans that other tests have met first.
    tracing::subscriber::set_global_default(lines.clone()).unwrap();
    let metadata = metadata().await;
    let service = Server::answering(|request| match request.header("authorization") {
        "Bearer hidden-2" if request.uri != "/never" => "welcome".into_response(),
        _ => StatusCode::UNAUTHORIZED.into_response(),
    })
    .await;
    let client = client(&service.address, &metadata);
    let answer = client.send(&HttpRequest::get("/?key=hidden-query")).await;
    assert_eq!(answer.unwrap().body, b"welcome");
    assert_eq!(metadata.arrived()[0].uri.query(), Some("scopes=a,b"));
    let error = client.send(&HttpRequest::get("/never")).await.unwrap_err();
    assert!(!error.is_transient());
    assert_eq!(metadata.arrived().len(), 3);
    assert_eq!(service.arrived().len(), 4);
    // No such port: the error of the HTTP library names the address.
    let lost = self::client("http://127.0.0.1:1", &metadata);
    let error = lost
        .send(&HttpRequest::get("/?key=hidden-query"))
        .await
        .unwrap_err();
    assert!(
        !format!("{error} {error:?}").contains("hidden"),
        "{error:?}"
    );
    let lines = lines.0.lock().unwrap();
    assert!(lines.contains("\"Service\""), "the spans were collected");
    assert!(!lines.contains("hidden"), "{lines}");
}

#[tokio::test]
async fn the_code_of_prpc_renews_a_token_too() {
    let metadata = metadata().await;
    let service = Server::answering(|request| match request.header("authorization") {
        "Bearer hidden-2" => ([("x-prpc-grpc-code", "0")], ")]}'\n{}").into_response(),
        _ => ([("x-prpc-grpc-code", "16")], "expired").into_response(),
    })
    .await;
    let prpc = Prpc::new(client(&service.address, &metadata), "Tasks");
    let answer: Value = prpc.call("GetTask", &json!({})).await.unwrap();
    assert_eq!(answer, json!({}));
}

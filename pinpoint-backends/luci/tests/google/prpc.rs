//! pRPC over HTTP.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use pinpoint_backends::google::{Code, Prpc, ServiceError};
use serde_json::{Value, json};

use crate::calls::client;
use crate::server::Server;

fn answer(status: u16, code: &'static str, body: &'static str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, [("x-prpc-grpc-code", code)], body).into_response()
}

async fn call(server: &Server) -> Result<Value, ServiceError> {
    let prpc = Prpc::new(client(&server.address), "buildbucket.v2.Builds");
    prpc.call("GetBuild", &json!({"id": "1"})).await
}

#[tokio::test]
async fn a_call_is_a_post_of_json() {
    let server = Server::with([answer(200, "0", ")]}'\n{\"id\": \"1\"}")]).await;
    assert_eq!(call(&server).await.unwrap(), json!({"id": "1"}));
    let [arrived] = &server.arrived()[..] else {
        panic!("one request");
    };
    assert_eq!(arrived.method, "POST");
    assert_eq!(arrived.uri, "/prpc/buildbucket.v2.Builds/GetBuild");
    assert_eq!(arrived.header("content-type"), "application/json");
    assert_eq!(arrived.header("accept"), "application/json");
    assert_eq!(&arrived.body[..], br#"{"id":"1"}"#);
}

#[tokio::test]
async fn transient_codes_garbage_and_gateways_are_tried_again() {
    for trouble in [
        answer(500, "2", "unknown"),
        answer(200, "13", "internal"),
        answer(503, "14", "unavailable"),
        answer(200, "0", "<html>"),
        answer(200, "0", ")]}'\n{\"id\": "),
        answer(200, "zero", ")]}'\n{}"),
        (StatusCode::BAD_GATEWAY, "gateway").into_response(),
        "no code".into_response(),
    ] {
        let server = Server::with([trouble, answer(200, "0", ")]}'\n{}")]).await;
        assert_eq!(call(&server).await.unwrap(), json!({}));
        assert_eq!(server.arrived().len(), 2);
    }
}

#[tokio::test]
async fn other_codes_are_answers() {
    for code in [
        "1", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "15", "16",
    ] {
        let server = Server::with([answer(200, code, "reason")]).await;
        let error = call(&server).await.unwrap_err();
        let expected = Code(code.parse().unwrap());
        assert!(
            matches!(&error, ServiceError::Code { code, text, .. } if *code == expected && text == ": reason"),
            "{error}"
        );
        assert_eq!(server.arrived().len(), 1);
    }
}

//! The service as its operators see it: probes, its end, ids and traces of requests.

use axum::body::{Body, to_bytes};
use http::Response;
use pinpoint_backends::job::TraceParent;
use pinpoint_backends::store::AuditFilter;
use pinpoint_service::{Phase, SignIn};
use serde_json::Value;

use crate::pinpoint::bisection;
use crate::world::World;

const CHECK: &str = "grpc.health.v1.Health/Check";
const WATCH: &str = "grpc.health.v1.Health/Watch";

/// The answer of health, as a message of gRPC: `SERVING` is 1, `NOT_SERVING` 2.
async fn health(world: &World, authorization: &str) -> Vec<u8> {
    let headers = [("authorization", authorization)];
    let response = world.call(CHECK, &headers, &[]).await;
    read(response).await
}

async fn read(response: Response<Body>) -> Vec<u8> {
    let frame = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    frame.get(5..).unwrap_or_default().to_vec()
}

/// A probe that is configured with a token continues when the token has ended.
#[tokio::test]
async fn what_everybody_may_ask_needs_no_sound_token() {
    let world = World::with(SignIn::Tokens).await;
    for authorization in ["Bearer pinpoint_revoked", "Basic YTpi", "x"] {
        let headers = [("authorization", authorization)];
        let get = async |path: &str| world.send_with("GET", path, &headers, &Value::Null).await;
        assert_eq!(get("/healthz").await.ok(), "ok\n");
        assert_eq!(get("/readyz").await.ok()["ready"], true);
        assert_eq!(health(&world, authorization).await, [8, 1]);
        get("/pinpoint/v1/user").await.fails(401, 16);
        let rpc = "pinpoint.v1.PinpointGateway/GetUserInfo";
        let refused = world.call(rpc, &headers, &[]).await;
        assert_eq!(refused.headers()["grpc-status"], "16");
    }
}

#[tokio::test]
async fn a_service_says_that_it_leaves_before_it_does() {
    let world = World::new("ada").await;
    assert_eq!(health(&world, "").await, [8, 1]);
    let watching = world.call(WATCH, &[], &[]).await;
    world.phase.send_replace(Phase::Leaving);
    while health(&world, "").await != [8, 2] {
        tokio::task::yield_now().await;
    }
    let answer = world.get("/readyz").await;
    assert_eq!(answer.status.as_u16(), 503);
    assert_eq!(answer.body["problem"], "the service is about to end");
    // It answers all the same.
    world.get("/pinpoint/v1/user").await.ok();
    world.phase.send_replace(Phase::Ending);
    // A stream ends, having said why.
    let seen = read(watching).await;
    assert!(seen.ends_with(&[8, 2]), "{seen:?}");
}

#[tokio::test]
async fn a_job_belongs_to_the_trace_of_its_request() {
    let world = World::new("ada").await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let json = ("content-type", "application/json");
    let made = async |traceparent| {
        let headers = [json, ("traceparent", traceparent)];
        let path = "/pinpoint/v1/bisection";
        let made = world.send_with("POST", path, &headers, &bisection()).await;
        let id = made.ok()["jobId"].as_str().unwrap().to_owned();
        world.job(&id).await
    };
    // Workers continue this span.
    let job = made(parent).await;
    assert_eq!(TraceParent::asked_in(&job), parent.parse().ok());
    assert_eq!(TraceParent::of(&job).trace_id(), parent[3..35]);
    assert_eq!(TraceParent::asked_in(&made("unreadable").await), None);
}

#[tokio::test]
async fn a_request_has_an_id() {
    let world = World::new("ada").await;
    let path = "/pinpoint/v1/bisection";
    let send = async |id: &str| {
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .header("x-request-id", id);
        let body = bisection().to_string();
        let response = world.send(request.body(body.into()).unwrap()).await;
        let id = response.headers()["x-request-id"].to_str().unwrap();
        id.to_owned()
    };
    assert_eq!(send("build-4711").await, "build-4711");
    let own = send("two words").await;
    assert!(
        own.len() == 36 && own != send(&"x".repeat(129)).await,
        "{own}"
    );
    let rows = world
        .store
        .audit()
        .list(&AuditFilter::default(), 0, 10)
        .await;
    let rows = rows.unwrap();
    assert_eq!(rows[0].entry.request, "build-4711");
    assert_eq!(rows[1].entry.request, own);
    // An error has one, too.
    let response = world.call("no/method", &[("x-request-id", "a")], &[]).await;
    assert_eq!(response.headers()["x-request-id"], "a");
}

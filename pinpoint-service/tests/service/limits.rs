//! Every limit: requests beyond it are refused, with the time at which to try again.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use http::{Request, Response};
use pinpoint_backends::store::AuditFilter;
use pinpoint_service::SignIn;
use pinpoint_service::config::{Limit, LimitsConfig, OwnLimits};
use serde_json::Value;

use crate::pinpoint::bisection;
use crate::world::{BOTS, World};

const USER: &str = "/pinpoint/v1/user";
const WATCH: &str = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const GET_USER: &str = "pinpoint.v1.PinpointGateway/GetUserInfo";

async fn limited(limits: LimitsConfig) -> World {
    World::limited(SignIn::Tokens, BOTS, limits).await
}

fn none() -> LimitsConfig {
    LimitsConfig::none()
}

/// The authorization of a user with this role.
async fn bearer(world: &World, user: &str, role: &str) -> String {
    format!("Bearer {}", world.token(user, &[role]).await)
}

/// A request from an address.
fn from(address: &str, authorization: &str) -> Request<Body> {
    let peer = SocketAddr::new(address.parse::<IpAddr>().unwrap(), 1);
    let request = Request::get(USER).header("authorization", authorization);
    request
        .extension(ConnectInfo(peer))
        .body(Body::empty())
        .unwrap()
}

/// The seconds of a refusal that gives the time to try again in every way, and the limit.
async fn refused(response: Response<Body>) -> (u64, String) {
    assert_eq!(response.status().as_u16(), 429);
    let after = response.headers()["retry-after"]
        .to_str()
        .unwrap()
        .to_owned();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["code"], 8);
    let details = body["details"].as_array().unwrap();
    let of = |name: &str| {
        let kind = format!("type.googleapis.com/google.rpc.{name}");
        details
            .iter()
            .find(|detail| detail["@type"] == *kind)
            .unwrap()
    };
    assert_eq!(of("RetryInfo")["retryDelay"], format!("{after}s"));
    let limit = &of("QuotaFailure")["violations"][0]["description"];
    (after.parse().unwrap(), limit.as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_user_sends_so_many_requests_a_minute() {
    let limits = LimitsConfig {
        requests_a_minute: Limit::new(2),
        users: [(
            "ci".to_owned(),
            OwnLimits {
                requests_a_minute: Some(Limit::new(3)),
                ..OwnLimits::default()
            },
        )]
        .into(),
        ..none()
    };
    let world = limited(limits).await;
    for (user, most) in [("ada", 2), ("ci", 3)] {
        let bearer = bearer(&world, user, "viewer").await;
        for _ in 0..most {
            world.answer(from("192.0.2.1", &bearer)).await.ok();
        }
        let (seconds, limit) = refused(world.send(from("192.0.2.2", &bearer)).await).await;
        assert_eq!(limit, "requests_a_minute");
        assert!((1..=30).contains(&seconds), "{seconds}");
        // The same over gRPC.
        let response = world
            .call(GET_USER, &[("authorization", &bearer)], &[])
            .await;
        assert_eq!(response.headers()["grpc-status"], "8");
        assert!(response.headers().contains_key("retry-after"));
        assert!(response.headers().contains_key("grpc-status-details-bin"));
    }
}

/// An anonymous client that tries tokens costs no query beyond the limit.
#[tokio::test]
async fn an_address_sends_so_many_requests_a_minute() {
    let limits = LimitsConfig {
        address_requests_a_minute: Limit::new(3),
        ..none()
    };
    let world = limited(limits).await;
    let guess = "Bearer pinpoint_guess";
    for _ in 0..3 {
        world.answer(from("192.0.2.1", guess)).await.fails(401, 16);
    }
    refused(world.send(from("192.0.2.1", guess)).await).await;
    let bearer = bearer(&world, "ada", "viewer").await;
    refused(world.send(from("192.0.2.1", &bearer)).await).await;
    world.answer(from("192.0.2.2", &bearer)).await.ok();
}

async fn create(world: &World, bearer: &str, key: &str) -> Response<Body> {
    let request = Request::post("/pinpoint/v1/bisection")
        .header("authorization", bearer)
        .header("idempotency-key", key)
        .header("content-type", "application/json");
    let body = bisection().to_string();
    world.send(request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn a_user_makes_so_many_jobs() {
    let hour = LimitsConfig {
        jobs_an_hour: Limit::new(2),
        ..none()
    };
    let under_way = LimitsConfig {
        jobs_under_way: Limit::new(2),
        ..none()
    };
    for (limits, limit, wait) in [
        (hour, "jobs_an_hour", 3000..=3601),
        (under_way, "jobs_under_way", 1..=3600),
    ] {
        let world = limited(limits).await;
        let ada = bearer(&world, "ada", "editor").await;
        for key in ["a", "b"] {
            assert_eq!(create(&world, &ada, key).await.status().as_u16(), 200);
        }
        let (seconds, reached) = refused(create(&world, &ada, "c").await).await;
        assert_eq!(reached, limit);
        assert!(wait.contains(&seconds), "{seconds}");
        // A repeated request is not a further job.
        assert_eq!(create(&world, &ada, "a").await.status().as_u16(), 200);
        let bo = bearer(&world, "bo", "editor").await;
        assert_eq!(create(&world, &bo, "a").await.status().as_u16(), 200);
        let rows = world
            .store
            .audit()
            .list(&AuditFilter::default(), 0, 10)
            .await;
        let results: Vec<_> = (rows.unwrap().into_iter())
            .map(|row| row.entry.result)
            .collect();
        assert_eq!(results, ["ok", "ok", "resource_exhausted", "ok"]);
    }
}

#[tokio::test]
async fn refusals_of_one_token_do_not_fill_the_audit_log() {
    let world = limited(none()).await;
    let viewer = bearer(&world, "ada", "viewer").await;
    for _ in 0..40 {
        assert_eq!(create(&world, &viewer, "a").await.status().as_u16(), 403);
    }
    let rows = world
        .store
        .audit()
        .list(&AuditFilter::default(), 0, 100)
        .await;
    let rows = rows.unwrap().len();
    // One more for each 6 s that this took.
    assert!((10..40).contains(&rows), "{rows}");
    let bo = bearer(&world, "bo", "viewer").await;
    create(&world, &bo, "a").await;
    let filter = AuditFilter {
        user: Some("bo".into()),
        ..AuditFilter::default()
    };
    assert_eq!(
        world
            .store
            .audit()
            .list(&filter, 0, 10)
            .await
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_user_has_so_many_streams() {
    let limits = LimitsConfig {
        streams: Limit::new(2),
        ..none()
    };
    let world = limited(limits).await;
    let ada = bearer(&world, "ada", "viewer").await;
    let watch = async |bearer: &str| world.call(WATCH, &[("authorization", bearer)], &[]).await;
    let is_refused = |response: &Response<Body>| {
        let status = response.headers().get("grpc-status");
        status.is_some_and(|status| status == "8")
    };
    let first = watch(&ada).await;
    let _second = watch(&ada).await;
    assert!(!is_refused(&first));
    assert!(is_refused(&watch(&ada).await));
    let bo = bearer(&world, "bo", "viewer").await;
    assert!(!is_refused(&watch(&bo).await));
    drop(first);
    assert!(!is_refused(&watch(&ada).await));
}

#[tokio::test]
async fn a_body_is_bounded() {
    let world = World::new("ada").await;
    let path = "/pinpoint/v1/bisection";
    let large = |bytes: usize| format!("{{\"newer\": \"{}\"}}", "x".repeat(bytes));
    // As far as this field goes, it would be read.
    world
        .post_as(path, "application/json", large(1_000_000))
        .await
        .fails(400, 3);
    world
        .post_as(path, "application/json", large(1 << 20))
        .await
        .fails(413, 8);
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!("{{\"newer\": {open}{close}}}")
    };
    let deep = async |levels| {
        let body = nested(levels);
        let answer = world.post_as(path, "application/json", body).await;
        answer.fails(400, 3)
    };
    assert!(deep(70).await.contains("more than 64 levels"));
    assert!(!deep(60).await.contains("levels"));
    let message = vec![0; (1 << 20) + 1];
    let rpc = "pinpoint.v1.Pinpoint/ScheduleBisection";
    let response = world.call(rpc, &[], &message).await;
    assert_eq!(response.headers()["grpc-status"], "11");
}

#[tokio::test]
async fn a_body_that_never_ends_is_cut_off() {
    let limits = LimitsConfig {
        deadline: Duration::from_millis(200),
        ..none()
    };
    let world = World::limited(SignIn::Nobody("ada".into()), BOTS, limits).await;
    let never = || Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, String>>());
    let request = Request::post("/pinpoint/v1/bisection")
        .header("content-type", "application/json")
        .body(never());
    world.answer(request.unwrap()).await.fails(504, 4);
    let request = Request::post(format!("/{GET_USER}"))
        .version(http::Version::HTTP_2)
        .header("content-type", "application/grpc")
        .body(never());
    let response = world.send(request.unwrap()).await;
    assert_eq!(response.headers()["grpc-status"], "4");
}

#[tokio::test]
async fn the_case_of_addresses_does_not_count() {
    let world = limited(none()).await;
    let editor = bearer(&world, "Editor@Example.org", "editor").await;
    let admin = bearer(&world, "ada@example.org", "admin").await;
    assert_eq!(
        world.answer(from("192.0.2.1", &editor)).await.ok()["email"],
        "editor@example.org"
    );
    let mut named = bisection();
    named["user"] = "EDITOR@example.org".into();
    for (bearer, body) in [(&editor, bisection()), (&admin, named)] {
        let headers = [("authorization", &**bearer)];
        let path = "/pinpoint/v1/bisection";
        world.send_with("POST", path, &headers, &body).await.ok();
    }
    let headers = [("authorization", &*admin)];
    for path in [
        "/api/v2/jobs?filter.user=Editor@Example.org",
        "/pinpoint/v1/jobs?user=Editor@Example.org",
    ] {
        let found = world.send_with("GET", path, &headers, &Value::Null);
        let found = found.await.ok();
        assert_eq!(found["jobs"].as_array().unwrap().len(), 2, "{found}");
    }
}

/// While the store is away, a question after a token takes seconds.
#[tokio::test]
async fn what_everybody_may_ask_for_costs_no_question_after_a_token() {
    let world = limited(none()).await;
    let bearer = bearer(&world, "ada", "viewer").await;
    let headers = [("authorization", &*bearer)];
    let was_used = async || world.store.tokens().list().await.unwrap()[0].used.is_some();
    for path in ["/healthz", "/readyz"] {
        let answer = world.send_with("GET", path, &headers, &Value::Null).await;
        assert_eq!(answer.status, 200);
    }
    for rpc in ["grpc.health.v1.Health/Check", "grpc.health.v1.Health/Watch"] {
        let answer = world.call(rpc, &headers, &[]).await;
        assert_eq!(answer.status(), 200);
    }
    assert!(!was_used().await);
    world.answer(from("192.0.2.1", &bearer)).await.ok();
    assert!(was_used().await);
}

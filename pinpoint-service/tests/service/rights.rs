//! The rights of roles, idempotent requests, and the audit log.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use http::Request;
use http::request::Builder;
use pinpoint_backends::store::{AuditCheck, ListOrder, NewToken, PagePosition};
use pinpoint_core::JobState;
use pinpoint_service::{ROLES, Right, SignIn, operations};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::pinpoint::bisection;
use crate::provider::Provider;
use crate::sign_in::{CERTIFICATE, assertion, bearer, certificate, oidc, ways};
use crate::world::World;

/// A way of signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// With a token of the store.
    Token,
    /// With the cookie of a session.
    Session,
    /// With a token that an issuer signs.
    Bearer,
    /// Through a proxy that signs its header.
    Assertion,
    /// Through a proxy that shows a certificate.
    Certificate,
}

/// Adds to a request the proof that it is sent in this role, by a user of that role.
async fn as_role(
    request: Builder,
    way: Way,
    role: &str,
    world: &World,
    provider: &Provider,
) -> Builder {
    let user = match role {
        "admin" => "ada@admins.example.org".to_owned(),
        role => format!("{role}@example.org"),
    };
    match way {
        Way::Token => {
            let token = world.token(&Uuid::now_v7().to_string(), &[role]).await;
            request.header("authorization", format!("Bearer {token}"))
        }
        Way::Session => {
            let length = Duration::from_secs(60);
            let session = world
                .store
                .sessions()
                .begin(&user, &[], length, None, None)
                .await
                .unwrap();
            let cookie = format!("__Host-pinpoint={}", session.as_str());
            // As a script sends it: a form has its own test.
            request
                .header("cookie", cookie)
                .header("content-type", "application/json")
        }
        Way::Bearer => {
            let token = provider.key.sign(&provider.claims("api", &user));
            request.header("authorization", format!("Bearer {token}"))
        }
        Way::Assertion => {
            let token = provider.key.sign(&provider.claims("proxy", &user));
            request.header("x-assertion", token)
        }
        Way::Certificate => request
            .header("x-webauth-user", user)
            .extension(certificate("proxy.example.org")),
    }
}

/// Every route of the table, in every way of signing in: as nobody, in every role, and in
/// none. A route that its right does not guard fails here.
#[tokio::test]
async fn every_route_is_open_to_those_with_its_right_alone() {
    let provider = Provider::start().await;
    let all = oidc(&provider) + &bearer(&provider) + &assertion(&provider);
    let all = World::with(ways(&all)).await;
    let proxied = World::with(ways(CERTIFICATE)).await;
    let tokens = World::with(SignIn::Tokens).await;
    let roles: Vec<_> = ROLES
        .iter()
        .copied()
        .chain([("stranger", &[][..])])
        .collect();
    for (way, world) in [
        (Way::Token, &tokens),
        (Way::Token, &all),
        (Way::Session, &all),
        (Way::Bearer, &all),
        (Way::Assertion, &all),
        (Way::Certificate, &proxied),
    ] {
        let mut tried = 0;
        for (method, path, right) in operations() {
            let path = path.replace(['{', '}'], "");
            if right.is_some() {
                let nobody = world.send_with(method, &path, &[], &Value::Null).await;
                nobody.fails(401, 16);
                // The body of an anonymous request is not even read.
                let broken = world.send_with(method, &path, &[], &Value::from("{")).await;
                broken.fails(401, 16);
            }
            for (role, rights) in &roles {
                let request = Request::builder().method(method).uri(&path);
                let request = as_role(request, way, role, world, &provider).await;
                // The body is not read: that of a stream does not end.
                let answer = world.send(request.body(Body::empty()).unwrap()).await;
                let status = answer.status().as_u16();
                let may = right.is_none_or(|right| rights.contains(&right));
                let asked = format!("{way:?} {role} {method} {path}: {answer:?}");
                assert_eq!(status != 403, may, "{asked}");
                // The user was identified, too.
                let is_known = status != 401 || path == "/sign-in/callback";
                assert!(is_known, "{asked}");
                tried += 1;
            }
        }
        assert!(tried > 20);
    }
}

/// The other test takes rights from the table: a row that lost its right would pass it.
#[test]
fn all_but_these_routes_need_the_right_to_see() {
    let create = Some(Right::Create);
    let end = Some(Right::End);
    let audit = Some(Right::ReadAudit);
    let expected = BTreeSet::from([
        ("GET", "/healthz", None),
        ("GET", "/readyz", None),
        ("GET", "/sign-in", None),
        ("POST", "/sign-in", None),
        ("GET", "/sign-in/callback", None),
        ("POST", "/sign-out", None),
        ("GET", "/assets/{name}", None),
        ("GET", "/favicon.ico", None),
        ("POST", "/pinpoint/v1/bisection", create),
        ("POST", "/pinpoint/v1/schedule", create),
        ("POST", "/pinpoint/v1/culprit_finder", create),
        ("POST", "/pinpoint/v1/culprit-finder", create),
        ("POST", "/pinpoint/v1/pairwise", create),
        ("POST", "/pinpoint/v1/new", create),
        ("POST", "/api/v2/jobs", create),
        ("POST", "/api/v2/plans", create),
        ("POST", "/api/v2/jobs/{job_id}/retry", create),
        ("POST", "/jobs/{id}/retry", create),
        ("GET", "/new", create),
        ("POST", "/new", create),
        ("GET", "/new/estimate", create),
        ("GET", "/new/commands", create),
        ("POST", "/pinpoint/v1/cancel", end),
        ("POST", "/pinpoint/v1/job/cancel", end),
        ("POST", "/api/v2/jobs/{job_id}/cancel", end),
        ("POST", "/api/v2/jobs/{job_id}/pause", end),
        ("POST", "/api/v2/jobs/{job_id}/resume", end),
        ("GET", "/jobs/{id}/cancel", end),
        ("POST", "/jobs/{id}/cancel", end),
        ("POST", "/jobs/{id}/pause", end),
        ("POST", "/jobs/{id}/resume", end),
        ("GET", "/api/v2/audit", audit),
        ("GET", "/admin", audit),
        ("POST", "/admin/verify", audit),
    ]);
    let others = operations().filter(|(_, _, right)| *right != Some(Right::See));
    assert_eq!(others.collect::<BTreeSet<_>>(), expected);
}

#[tokio::test]
async fn tokens_that_have_ended_or_never_were_open_nothing() {
    let world = World::with(SignIn::Tokens).await;
    let token = world.token("ada", &["viewer"]).await;
    let path = "/pinpoint/v1/query?job_id=0199f3c1-a2b3-7f0e-8d1c-2b3a49586776";
    let get = async |authorization: &str| {
        let headers = [("authorization", authorization)];
        world.send_with("GET", path, &headers, &Value::Null).await
    };
    get(&format!("Bearer {token}")).await.fails(404, 5);
    let unknown = get("Bearer pinpoint_unheard").await.fails(401, 16);
    assert!(unknown.contains("is not known"), "{unknown}");
    get(&format!("Basic {token}")).await.fails(401, 16);
    world
        .store
        .tokens()
        .revoke("ada viewer", None)
        .await
        .unwrap();
    let revoked = get(&format!("Bearer {token}")).await.fails(401, 16);
    assert!(revoked.contains("was revoked"), "{revoked}");
    let old = NewToken {
        name: "old".into(),
        user: "ada".into(),
        rights: vec!["viewer".into()],
        expires: Some(1),
    };
    let old = world.store.tokens().create(&old, None).await.unwrap();
    let expired = get(&format!("Bearer {}", old.as_str()))
        .await
        .fails(401, 16);
    assert!(expired.contains("has expired"), "{expired}");
}

/// The original lets anybody end anybody's job, and claim any name.
#[tokio::test]
async fn an_editor_acts_in_her_own_name_alone() {
    let world = World::with(SignIn::Tokens).await;
    let mut bearers = Vec::new();
    for (user, role) in [
        ("ada@example.org", "editor"),
        ("bo@example.org", "editor"),
        ("root@example.org", "admin"),
    ] {
        bearers.push(format!("Bearer {}", world.token(user, &[role]).await));
    }
    let post = async |who: usize, path: &str, body: &Value| {
        let headers = [
            ("authorization", &*bearers[who]),
            ("content-type", "application/json"),
        ];
        world.send_with("POST", path, &headers, body).await
    };
    let [ada, bo, root] = [0, 1, 2];
    let path = "/pinpoint/v1/bisection";
    let mut claimed = bisection();
    claimed["user"] = "bo@example.org".into();
    post(ada, path, &claimed).await.fails(403, 7);
    let named = post(root, path, &claimed).await.ok();
    let named = world.job(named["jobId"].as_str().unwrap()).await;
    assert_eq!(named.user, "bo@example.org");

    let made = post(ada, path, &bisection()).await.ok();
    let id = made["jobId"].as_str().unwrap();
    assert_eq!(world.job(id).await.user, "ada@example.org");
    let cancel = json!({ "job_id": id, "reason": "no longer needed" });
    post(bo, "/pinpoint/v1/cancel", &cancel).await.fails(403, 7);
    assert_eq!(world.job(id).await.state, JobState::Pending);
    assert_eq!(
        post(root, "/pinpoint/v1/cancel", &cancel).await.ok()["state"],
        "Canceled"
    );
    let ended = world.job(id).await.cancel.unwrap();
    assert_eq!(
        (&*ended.by, &*ended.reason),
        ("root@example.org", "no longer needed")
    );

    let expected = [
        ("ada@example.org", "ScheduleBisection", "permission_denied"),
        ("root@example.org", "ScheduleBisection", "ok"),
        ("ada@example.org", "ScheduleBisection", "ok"),
        ("bo@example.org", "CancelJob", "permission_denied"),
        ("root@example.org", "CancelJob", "ok"),
    ];
    let expected =
        expected.map(|(user, operation, result)| (user.into(), operation.into(), result.into()));
    assert_eq!(world.audited().await, expected);
    let whole = world.store.audit().verify().await.unwrap();
    assert!(
        matches!(whole, AuditCheck::Whole { rows: 5, .. }),
        "{whole:?}"
    );
}

/// The original makes a second job of a repeated call.
#[tokio::test]
async fn a_request_with_a_key_is_one_job() {
    let world = World::new("ada").await;
    let post = async |key: &str, body: &Value| {
        let headers = [
            ("idempotency-key", key),
            ("content-type", "application/json"),
        ];
        world
            .send_with("POST", "/pinpoint/v1/bisection", &headers, body)
            .await
    };
    let first = post("k1", &bisection()).await.ok();
    assert_eq!(post("k1", &bisection()).await.ok(), first);
    assert_ne!(post("k2", &bisection()).await.ok(), first);
    let mut other = bisection();
    other["story"] = "large".into();
    post("k1", &other).await.fails(409, 6);
    post("with space", &bisection()).await.fails(400, 3);
    let json = ("content-type", "application/json");
    let twice = [("idempotency-key", "k1"), ("idempotency-key", "k1"), json];
    let path = "/pinpoint/v1/bisection";
    let twice = world.send_with("POST", path, &twice, &bisection()).await;
    twice.fails(400, 3);
    let mut long = bisection();
    long["story"] = "x".repeat(2000).into();
    post("k3", &long).await.fails(400, 3);
    let jobs = world
        .store
        .jobs()
        .list(
            &Default::default(),
            ListOrder::default(),
            &PagePosition::First,
            10,
        )
        .await
        .unwrap();
    assert_eq!(jobs.jobs.len(), 2);
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let world = World::new("ada").await;
    let post = async |name: &str, value: &str| {
        let json = ("content-type", "application/json");
        let headers = [("host", "127.0.0.1"), json, (name, value)];
        world
            .send_with("POST", "/pinpoint/v1/bisection", &headers, &bisection())
            .await
    };
    post("origin", "https://evil.example").await.fails(403, 7);
    post("sec-fetch-site", "cross-site").await.fails(403, 7);
    post("x-forwarded-for", "10.0.0.1").await.fails(403, 7);
    post("origin", "http://127.0.0.1").await.ok();
    let rebound = [("host", "evil.example")];
    let user = world.send_with("GET", "/pinpoint/v1/user", &rebound, &Value::Null);
    user.await.fails(403, 7);
}

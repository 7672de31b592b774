//! Requests with mistakes: all of them are reported at once, each with its field, and none is
//! ignored.

use http::header::X_CONTENT_TYPE_OPTIONS;
use pinpoint_service::SignIn;
use serde_json::{Value, json};

use crate::v2::bisection;
use crate::world::World;

/// The fields that a job is refused for.
async fn wrong(world: &World, body: &Value) -> Vec<String> {
    let answer = world.post("/api/v2/jobs", body).await;
    assert_eq!(answer.status.as_u16(), 400, "{}", answer.body);
    let details = answer.body["details"][0]["fieldViolations"].as_array();
    let fields = details.unwrap_or_else(|| panic!("{}", answer.body));
    let mut fields: Vec<_> = { fields.iter() }
        .map(|it| it["field"].as_str().unwrap().to_owned())
        .collect();
    fields.sort();
    fields
}

#[tokio::test]
async fn all_mistakes_of_a_job_are_told_at_once() {
    let world = World::new("ada").await;
    let mut body = bisection();
    body["bugId"] = (-1).into();
    body["name"] = "   ".into();
    body["chart"] = "x".repeat(900_000).into();
    body["bencmark"] = "parsing".into();
    body["direction"] = "SIDEWAYS".into();
    body["bisection"]["magnitude"] = json!({ "percent": 0 });
    body["bisection"]["confidence"] = 0.0001.into();
    body["bisection"]["maxRun"] = 5.into();
    body["bisection"]["maxRuns"] = 0.into();
    body["bisection"]["maxSeconds"] = 0.into();
    body["bisection"]["attempts"] = "many".into();
    body["bisection"]["buildCost"] = (-1.0).into();
    let expected = [
        "bencmark",
        "bisection.attempts",
        "bisection.build_cost",
        "bisection.confidence",
        "bisection.magnitude",
        "bisection.maxRun",
        "bisection.max_runs",
        "bisection.max_seconds",
        "bug_id",
        "chart",
        "direction",
        "name",
    ];
    assert_eq!(wrong(&world, &body).await, expected);
    let listed = world.get("/api/v2/jobs").await.ok();
    assert_eq!(listed["jobs"], json!([]));
}

#[tokio::test]
async fn each_number_of_a_job_has_its_range() {
    let world = World::new("ada").await;
    for (name, bad) in [
        ("magnitude", json!({ "absolute": -1 })),
        ("magnitude", json!({ "percent": "NaN" })),
        ("confidence", json!(1)),
        ("confidence", json!(0.49)),
        ("attempts", json!(0)),
        ("attempts", json!(1e9)),
        ("maxBuilds", json!(1)),
        ("maxRuns", json!(-5)),
        ("maxRuns", json!(1.5)),
    ] {
        let mut body = bisection();
        body["bisection"][name] = bad.clone();
        let fields = wrong(&world, &body).await;
        let snake = match name {
            "maxBuilds" => "max_builds",
            "maxRuns" => "max_runs",
            name => name,
        };
        assert_eq!(fields.len(), 1, "{bad}: {fields:?}");
        assert!(
            fields[0].starts_with(&format!("bisection.{snake}")),
            "{fields:?}"
        );
    }
    let pairs = json!({
        "bot": "lab", "benchmark": "parsing", "story": "small",
        "pairwise": { "base": "a".repeat(40), "experiment": "b".repeat(40), "pairs": 7 },
    });
    assert_eq!(wrong(&world, &pairs).await, ["pairwise.pairs"]);
}

#[tokio::test]
async fn a_name_that_no_field_has_is_a_mistake_in_our_own_api_alone() {
    let world = World::new("ada").await;
    let refused = world.get("/api/v2/jobs?filter.stat=RUNNING").await;
    let message = refused.fails(400, 3);
    assert!(
        message.contains("filter.stat") && message.contains("`state`"),
        "{message}"
    );
    world.get("/pinpoint/v1/jobs?unheard=1").await.ok();
    let mut body = crate::pinpoint::bisection();
    body["unheard"] = 1.into();
    world.post("/pinpoint/v1/bisection", &body).await.ok();
}

#[tokio::test]
async fn a_message_that_can_not_be_read_is_the_clients_mistake() {
    let world = World::new("ada").await;
    for rpc in [
        "pinpoint.v2.Pinpoint/GetJob",
        "pinpoint.v2.Pinpoint/WatchJob",
    ] {
        let answer = world.call(rpc, &[], &[0xff, 0xff, 0xff]).await;
        assert_eq!(answer.headers()["grpc-status"], "3", "{rpc}");
    }
    let message = world.get("/api/v2/jobs?page_size=99999999999").await;
    assert!(!message.fails(400, 3).contains("body"));
}

#[tokio::test]
async fn no_answer_is_taken_for_another_kind_than_it_says() {
    let world = World::new("ada").await;
    for path in ["/api/v2/jobs", "/healthz", "/openapi.json", "/no/page"] {
        let request = http::Request::get(path).body(axum::body::Body::empty());
        let answer = world.send(request.unwrap()).await;
        assert_eq!(
            answer.headers()[X_CONTENT_TYPE_OPTIONS],
            "nosniff",
            "{path}"
        );
        assert!(!answer.headers().contains_key("strict-transport-security"));
    }
    let mut request = http::Request::get("/healthz")
        .body(axum::body::Body::empty())
        .unwrap();
    request.extensions_mut().insert(http::uri::Scheme::HTTPS);
    let answer = world.send(request).await;
    assert!(answer.headers().contains_key("strict-transport-security"));
}

#[tokio::test]
async fn a_view_that_is_too_long_is_refused_and_keeps_nobody_out() {
    let world = World::with(SignIn::Nobody("ada".into())).await;
    for length in [5_000, 16 << 10] {
        let form = format!("text={}", "x".repeat(length));
        let kind = "application/x-www-form-urlencoded";
        let answer = world.post_as("/view", kind, form).await;
        assert_eq!(answer.status.as_u16(), 400, "{length}");
    }
    // A view that an earlier version has kept.
    let kept = format!("text={}", "x".repeat(5_000));
    let preferences = json!({ "jobs": kept });
    let preferences = preferences.as_object().unwrap();
    let store = &world.store;
    store
        .preferences()
        .set("ada", preferences, None)
        .await
        .unwrap();
    let answer = world.get("/").await;
    assert_eq!(answer.status.as_u16(), 303);
}

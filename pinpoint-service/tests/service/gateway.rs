//! The API of Chromium's page.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::pinpoint::bisection;
use crate::world::World;

fn try_job() -> Value {
    json!({
        "benchmark": "parsing",
        "configuration": "lab",
        "story": "small",
        "base": { "commit": "a".repeat(40) },
        "experiment": { "commit": "b".repeat(40) },
        "attemptCount": 10,
        "bugId": "1234",
    })
}

#[tokio::test]
async fn a_form_is_filled_from_what_can_be_run() {
    let world = World::new("ada@example.org").await;
    let get = async |path: &str| world.get(&format!("/pinpoint/v1/{path}")).await;
    assert_eq!(
        get("user").await.ok(),
        json!({ "email": "ada@example.org" })
    );
    assert_eq!(
        get("bot-configurations").await.ok(),
        json!({ "configurations": ["lab"] })
    );
    assert_eq!(
        get("benchmarks").await.ok(),
        json!({ "benchmarks": ["parsing"] })
    );
    let stories = json!({ "benchmark": "parsing", "stories": ["small", "large"], "storyTags": [] });
    assert_eq!(get("benchmark-info/parsing").await.ok(), stories);
    // The original's is an empty answer.
    get("benchmark-info/unheard").await.fails(404, 5);
    assert_eq!(get("recent-builds/lab").await.ok(), json!({ "builds": [] }));
    // Without the operator's leave, nothing is fetched or asked for.
    get("commit/HEAD").await.fails(400, 9);
    get("patch?host=a.example&change=1").await.fails(400, 9);
    get("benchmark-info/%80").await.fails(400, 3);
}

#[tokio::test]
async fn jobs_are_listed_page_by_page_in_both_directions() {
    let world = World::new("ada@example.org").await;
    let made = world.post("/pinpoint/v1/new", &try_job()).await.ok();
    for _ in 0..26 {
        world
            .post("/pinpoint/v1/bisection", &bisection())
            .await
            .ok();
    }
    let list = async |query: &str| world.get(&format!("/pinpoint/v1/jobs{query}")).await;
    let newest = list("").await.ok();
    assert_eq!(newest["jobs"].as_array().unwrap().len(), 25);
    assert_eq!(
        (
            &newest["pagination"]["hasPrev"],
            &newest["pagination"]["hasNext"]
        ),
        (&json!(false), &json!(true))
    );
    let next = newest["pagination"]["nextCursor"].as_str().unwrap();
    let older = list(&format!("?pagination.nextCursor={next}")).await.ok();
    let jobs = older["jobs"].as_array().unwrap();
    assert_eq!(
        (jobs.len(), &older["pagination"]["hasNext"]),
        (2, &json!(false))
    );
    let job = &jobs[1];
    assert_eq!(job["jobId"], made["jobId"]);
    let shown = ["name", "story", "jobType", "jobStatus", "user", "bugId"].map(|name| &job[name]);
    let expected = [
        "Try job on lab/parsing",
        "small",
        "JOB_TYPE_TRY",
        "JOB_STATUS_QUEUED",
        "ada@example.org",
        "1234",
    ];
    assert_eq!(shown, expected);
    assert!(job["created"].as_str().unwrap().ends_with('Z'));
    assert_eq!(older["pagination"]["hasPrev"], true);
    let prev = older["pagination"]["prevCursor"].as_str().unwrap();
    assert!(prev.starts_with("before-"), "{prev}");
    let back = list(&format!("?pagination.prev_cursor={prev}")).await.ok();
    assert_eq!(back["jobs"], newest["jobs"]);
    // The verification contains a bisection, too.
    let mut verified = bisection();
    verified["improvement_direction"] = "UP".into();
    let made = world
        .post("/pinpoint/v1/culprit-finder", &verified)
        .await
        .ok();
    let bisections = list("?job_type=JOB_TYPE_BISECT").await.ok();
    let first = &bisections["jobs"][0];
    assert_eq!(
        (&first["jobId"], &first["jobType"]),
        (&made["jobId"], &json!("JOB_TYPE_BISECT"))
    );
    assert_eq!(bisections["jobs"][1]["jobType"], "JOB_TYPE_BISECT");
    let tries = list("?job_type=JOB_TYPE_TRY&user=ada@example.org")
        .await
        .ok();
    assert_eq!(tries["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(list("?configuration=other").await.ok()["jobs"], json!([]));
    list("?pagination.next_cursor=x").await.fails(400, 3);
    list("?job_type=9").await.fails(400, 3);
}

/// The names of the store's operations on this thread.
#[derive(Clone, Default)]
struct Operations(Arc<Mutex<Vec<&'static str>>>);

impl<S: Subscriber> Layer<S> for Operations {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let name = span.metadata().name();
        if name.starts_with("store::") {
            self.0.lock().unwrap().push(name);
        }
    }
}

/// However long the page is.
#[tokio::test]
async fn a_page_of_jobs_is_one_query() {
    let world = World::new("ada").await;
    for _ in 0..5 {
        world
            .post("/pinpoint/v1/bisection", &bisection())
            .await
            .ok();
    }
    let operations = Operations::default();
    let subscriber = tracing_subscriber::registry().with(operations.clone());
    let watched = tracing::subscriber::set_default(subscriber);
    let page = world.get("/pinpoint/v1/jobs").await.ok();
    drop(watched);
    assert_eq!(page["jobs"].as_array().unwrap().len(), 5);
    let operations = operations.0.lock().unwrap();
    assert_eq!(*operations, ["store::list"]);
}

#[tokio::test]
async fn a_try_job_is_a_comparison() {
    let world = World::new("ada@example.org").await;
    let made = world.post("/pinpoint/v1/new", &try_job()).await.ok();
    let id = made["jobId"].as_str().unwrap();
    let job = world.job(id).await;
    assert_eq!((&*job.kind, &job.spec["pairs"]), ("pairwise", &json!(10)));
    assert_eq!(
        world
            .post("/pinpoint/v1/job/cancel", &json!({ "jobId": id }))
            .await
            .ok(),
        json!({})
    );
    assert_eq!(world.job(id).await.state.as_str(), "canceled");
    // All problems, by the names that were sent.
    let mut request = try_job();
    request["attemptCount"] = json!(-1);
    request["base"] = Value::Null;
    request["experiment"] = json!({ "commit": "HEAD" });
    request["story"] = "".into();
    let refused = world.post("/pinpoint/v1/new", &request).await;
    let violations = &refused.body["details"][0]["fieldViolations"];
    let violations = violations.as_array().unwrap().iter();
    let fields: Vec<_> = violations.map(|found| found["field"].as_str()).collect();
    let expected = ["attempt_count", "base", "experiment.commit", "story"].map(Some);
    assert_eq!(fields, expected);
    refused.fails(400, 3);
    for (field, value) in [
        ("attemptCount", json!(0)),
        ("base", Value::Null),
        (
            "experiment",
            json!({ "commit": "b".repeat(40), "patch": "1234" }),
        ),
        ("experiment", json!({ "commit": "HEAD" })),
        (
            "base",
            json!({ "commit": "a".repeat(40), "extraArgs": { "jsFlags": "--x" } }),
        ),
    ] {
        let mut request = try_job();
        request[field] = value;
        world.post("/pinpoint/v1/new", &request).await.fails(400, 3);
    }
}

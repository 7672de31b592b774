//! Chromium's Pinpoint over REST.

use pinpoint_backends::store::{ListOrder, PagePosition};
use pinpoint_core::JobState;
use serde_json::{Value, json};

use crate::world::World;

pub(crate) fn bisection() -> Value {
    json!({
        "start_git_hash": "a".repeat(40),
        "endGitHash": "b".repeat(40),
        "configuration": "lab",
        "benchmark": "parsing",
        "story": "small",
        "chart": "time",
        "bug_id": null,
    })
}

/// The id of a bisection that was asked for.
async fn made(world: &World) -> String {
    let made = world.post("/pinpoint/v1/bisection", &bisection()).await;
    made.ok()["jobId"].as_str().unwrap().to_owned()
}

fn pairwise() -> Value {
    let commit = |hash: &str| json!({ "main": { "git_hash": hash.repeat(40) } });
    json!({
        "start_commit": commit("a"),
        "end_commit": commit("b"),
        "bot_name": "lab",
        "benchmark": "parsing",
        "story": "large",
    })
}

/// Published clients send query or form fields to the first two, since these bind no body.
#[tokio::test]
async fn a_job_is_made_from_a_body_a_form_or_a_query() {
    let world = World::new("ada@example.org").await;
    let body = bisection();
    let fields = body.as_object().unwrap().iter();
    let pairs: Vec<_> = (fields.filter_map(|(name, value)| Some((name, value.as_str()?))))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let query = pairs.join("&");
    let form = "application/x-www-form-urlencoded";
    for answer in [
        world.post("/pinpoint/v1/bisection", &body).await,
        world
            .post_as("/pinpoint/v1/schedule", form, query.clone())
            .await,
        world
            .post_as(&format!("/pinpoint/v1/schedule?{query}"), "", String::new())
            .await,
    ] {
        let made = answer.ok();
        // Unset fields are there, too, as gateways write them.
        assert_eq!(
            (&made["culprits"], &made["detailedCulprits"]),
            (&json!([]), &json!([]))
        );
        let job = world.job(made["jobId"].as_str().unwrap()).await;
        assert_eq!((&*job.benchmark, &*job.bot), ("parsing", "lab"));
        assert_eq!(job.user, "ada@example.org");
        assert_eq!(job.title, "Bisection of parsing/small on lab");
    }
}

#[tokio::test]
async fn all_problems_of_a_request_are_told_at_once() {
    let world = World::new("ada").await;
    let request = json!({ "start_git_hash": "HEAD", "configuration": "lap" });
    let answer = world.post("/pinpoint/v1/bisection", &request).await;
    let violations = &answer.body["details"][0]["fieldViolations"];
    let fields = violations
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["field"].as_str().unwrap());
    let fields: Vec<_> = fields.collect();
    assert!(
        ["start_git_hash", "end_git_hash", "configuration"]
            .iter()
            .all(|name| fields.contains(name)),
        "{fields:?}"
    );
    answer.fails(400, 3);
    let jobs = world
        .store
        .jobs()
        .list(
            &Default::default(),
            ListOrder::default(),
            &PagePosition::First,
            1,
        )
        .await
        .unwrap();
    assert!(jobs.jobs.is_empty());
}

/// The original's is an empty answer.
#[tokio::test]
async fn an_unknown_benchmark_or_bot_is_an_error() {
    let world = World::new("ada").await;
    for (field, value) in [("benchmark", "unheard"), ("configuration", "unheard")] {
        let mut request = bisection();
        request[field] = value.into();
        let message = world
            .post("/pinpoint/v1/bisection", &request)
            .await
            .fails(400, 3);
        assert!(message.contains("unheard"), "{message}");
    }
}

/// The original has no query for a bisection, and a 500 for other jobs.
#[tokio::test]
async fn jobs_are_asked_for() {
    let world = World::new("ada").await;
    let id = &made(&world).await;
    let asked = world
        .get(&format!("/pinpoint/v1/query?job_id={id}"))
        .await
        .ok();
    assert_eq!(
        asked,
        json!({ "jobId": id, "culprits": [], "detailedCulprits": [] })
    );
    // A job of another kind has no pairs.
    world
        .get(&format!("/pinpoint/v1/query-pairwise?jobId={id}"))
        .await
        .fails(404, 5);

    let made = world.post("/pinpoint/v1/pairwise", &pairwise()).await.ok();
    let id = made["jobId"].as_str().unwrap();
    let asked = world
        .get(&format!("/pinpoint/v1/query-pairwise?jobId={id}"))
        .await
        .ok();
    let running = json!({ "status": "PAIRWISE_JOB_STATUS_RUNNING", "execution": null });
    assert_eq!(asked, running);

    let absent = "0199f3c1-a2b3-7f0e-8d1c-2b3a49586776";
    world
        .get(&format!("/pinpoint/v1/query?job_id={absent}"))
        .await
        .fails(404, 5);
    world.get("/pinpoint/v1/query?job_id=1").await.fails(400, 3);
    world.get("/pinpoint/v1/query").await.fails(400, 3);
    let twice = format!("/pinpoint/v1/query?job_id={id}&jobId={id}");
    assert!(
        world
            .get(&twice)
            .await
            .fails(400, 3)
            .contains("is given twice")
    );
}

/// The original's is a GET, and answers `Cancelled` whatever the job does.
#[tokio::test]
async fn a_job_that_nobody_works_on_is_ended_at_once() {
    let world = World::new("ada").await;
    let id = &made(&world).await;
    world
        .get(&format!("/pinpoint/v1/cancel?job_id={id}"))
        .await
        .fails(405, 12);
    assert_eq!(world.job(id).await.state, JobState::Pending);
    let cancel = json!({ "job_id": id, "reason": "no longer needed" });
    let ended = world.post("/pinpoint/v1/cancel", &cancel).await.ok();
    assert_eq!(ended, json!({ "jobId": id, "state": "Canceled" }));
    assert_eq!(world.job(id).await.state, JobState::Canceled);
    // Once more is the same.
    assert_eq!(
        world.post("/pinpoint/v1/cancel", &cancel).await.ok()["state"],
        "Canceled"
    );
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let world = World::new("ada").await;
    let path = "/pinpoint/v1/bisection";
    world
        .post_as(path, "application/json", "{".into())
        .await
        .fails(400, 3);
    world
        .post_as(path, "application/json", "[]".into())
        .await
        .fails(400, 3);
    world
        .post_as(path, "text/xml", "<a/>".into())
        .await
        .fails(415, 3);
    let large = format!("{{\"story\": \"{}\"}}", "x".repeat(1 << 20));
    world
        .post_as(path, "application/json", large)
        .await
        .fails(413, 8);
    let bad = r#"{"story": {"no": "text"}}"#;
    world
        .post_as(path, "application/json", bad.into())
        .await
        .fails(400, 3);
    world.get("/nowhere").await.fails(404, 5);
}

#[tokio::test]
async fn its_health_can_be_asked_for() {
    let world = World::new("ada").await;
    assert_eq!(world.get("/healthz").await.ok(), "ok\n");
    let ready = world.get("/readyz").await.ok();
    assert_eq!(ready["ready"], true);
    assert_eq!(ready["store"]["version"], ready["store"]["supported"]);
}

//! The paths of the older page.

use serde_json::{Value, json};

use crate::pinpoint::bisection;
use crate::world::World;

#[tokio::test]
async fn a_form_of_the_older_page_is_filled() {
    let world = World::new("ada").await;
    let get = async |path: &str| world.get(path).await;
    assert_eq!(get("/benchmarks").await.ok(), json!(["parsing"]));
    assert_eq!(get("/bots").await.ok(), json!(["lab"]));
    assert_eq!(get("/bots?benchmark=parsing").await.ok(), json!(["lab"]));
    let stories = get("/stories?benchmark=parsing").await.ok();
    assert_eq!(stories, json!(["small", "large"]));
    // The original's are an empty answer, and one of the wrong kind.
    for path in ["/bots", "/stories"] {
        get(&format!("{path}?benchmark=unheard"))
            .await
            .fails(404, 5);
    }
    get("/stories").await.fails(400, 3);
    get("/stories?benchmark=parsing&benchmark=parsing")
        .await
        .fails(400, 3);
}

#[tokio::test]
async fn jobs_are_listed_by_parts_of_their_names() {
    let world = World::new("ada@example.org").await;
    for story in ["small", "large"] {
        let mut request = bisection();
        request["story"] = story.into();
        world.post("/pinpoint/v1/bisection", &request).await.ok();
    }
    let list = async |query: &str| world.get(&format!("/json/jobs/list{query}")).await;
    let all = list("").await.ok();
    let newest = &all[0];
    let expected = [
        "Bisection of parsing/large on lab",
        "Bisection",
        "parsing",
        "Pending",
        "lab",
        "ada@example.org",
    ];
    let names = [
        "job_name",
        "job_type",
        "benchmark",
        "job_status",
        "bot_name",
        "user",
    ];
    assert_eq!(names.map(|name| &newest[name]), expected);
    assert_eq!(newest.as_object().unwrap().len(), 8);
    let created = newest["created_date"].as_str().unwrap();
    assert!(created.ends_with('Z'), "{created}");
    let today = &created[..10];
    for (query, expected) in [
        ("?search_term=of+parsing".into(), 2),
        ("?search_term=/large".into(), 1),
        ("?benchmark=pars&bot_name=la&user=ada%40".into(), 2),
        ("?benchmark=x".into(), 0),
        ("?bot_name=x".into(), 0),
        ("?user=bo".into(), 0),
        ("?limit=1".into(), 1),
        ("?limit=0".into(), 2),
        ("?limit=100&offset=1".into(), 1),
        ("?offset=2".into(), 0),
        (format!("?start_date={today}&end_date={today}"), 2),
        ("?start_date=2001-01-01&end_date=2001-12-31".into(), 0),
    ] {
        let found = list(&query).await.ok();
        assert_eq!(found.as_array().unwrap().len(), expected, "{query}");
    }
    for bad in [
        "limit=101",
        "limit=-1",
        "offset=-1",
        "offset=x",
        "start_date=2024-02-29",
        "start_date=2024-02-29&end_date=2024-02-28",
        "user=a&user=b",
    ] {
        list(&format!("?{bad}")).await.fails(400, 3);
    }
}

#[tokio::test]
async fn a_job_is_shown_in_one_piece() {
    let world = World::new("ada").await;
    let mut request = bisection();
    request["bug_id"] = "1234".into();
    let made = world.post("/pinpoint/v1/bisection", &request).await.ok();
    let id = made["jobId"].as_str().unwrap();
    let mut job = world.get(&format!("/json/job/{id}")).await.ok();
    assert!(job["CreatedDate"].take().as_str().unwrap().ends_with('Z'));
    let expected = json!({
        "JobID": id,
        "JobName": "Bisection of parsing/small on lab",
        "JobStatus": "Pending",
        "JobType": "Bisection",
        "SubmittedBy": "ada",
        "Benchmark": "parsing",
        "BotName": "lab",
        "CreatedDate": null,
        "ErrorMessage": "",
        "AdditionalRequestParameters": {
            "start_commit_githash": "a".repeat(40),
            "end_commit_githash": "b".repeat(40),
            "story": "small",
            "story_tags": "",
            "initial_attempt_count": "",
            "aggregation_method": "",
            "target": "",
            "project": "",
            "bug_id": "1234",
            "chart": "time",
            "duration": "",
            "commit_runs": null,
        },
        "MetricSummary": null,
    });
    assert_eq!(job, expected);
    // The original's are a 500.
    let absent = "0199f3c1-a2b3-7f0e-8d1c-2b3a49586776";
    world
        .get(&format!("/json/job/{absent}"))
        .await
        .fails(404, 5);
    world.get("/json/job/1").await.fails(400, 3);
    let changed = world.post("/json/jobs/list", &Value::Null).await;
    changed.fails(405, 12);
}

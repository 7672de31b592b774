//! Our own API.

use std::time::Duration;

use pinpoint_backends::job::{JobConfig, JobRequest};
use pinpoint_backends::store::{AuditFilter, JobFilter, JobId, ListOrder, NewJob, PagePosition};
use pinpoint_core::{
    BisectionSpec, CombinedCommit, Commit, CulpritFinderSpec, Magnitude, PairwiseSpec, Range,
    Strategy,
};
use pinpoint_service::SignIn;
use pinpoint_service::config::LimitsConfig;
use serde_json::{Value, json};

use crate::pinpoint;
use crate::world::{BOTS, World};

const JOBS: &str = "/api/v2/jobs";

pub(crate) fn bisection() -> Value {
    json!({
        "bot": "lab",
        "benchmark": "parsing",
        "story": "small",
        "chart": "time",
        "bisection": { "good": "a".repeat(40), "bad": "b".repeat(40) },
    })
}

/// The id of a job.
pub(crate) fn id_of(job: &Value) -> String {
    job["summary"]["jobId"].as_str().unwrap().to_owned()
}

async fn made(world: &World, request: &Value) -> String {
    id_of(&world.post(JOBS, request).await.ok())
}

#[tokio::test]
async fn a_job_of_each_kind_is_made_as_it_is_asked_for() {
    let world = World::new("ada@example.org").await;
    let mut request = bisection();
    request["direction"] = "DOWN".into();
    request["name"] = "the slow one".into();
    request["aggregate"] = "max".into();
    let search = &mut request["bisection"];
    search["strategy"] = "PINPOINT".into();
    search["confidence"] = 0.99.into();
    search["magnitude"] = json!({ "percent": 5 });
    search["attempts"] = 20.into();
    search["maxRuns"] = "500".into();
    search["max_builds"] = 30.into();
    search["maxSeconds"] = 3600.into();
    search["seed"] = 7.into();
    let shown = world.post(JOBS, &request).await.ok();
    let summary = &shown["summary"];
    let told = ["kind", "state", "name", "title", "bot", "user"].map(|name| &summary[name]);
    let expected = [
        "BISECTION",
        "PENDING",
        "the slow one",
        "Bisection of parsing/small on lab",
        "lab",
        "ada@example.org",
    ];
    assert_eq!(told, expected);
    assert_eq!(shown["waitsFor"], "no worker serves bot `lab`");
    assert_eq!(shown["arguments"]["bisection"]["maxSeconds"], "3600");
    let job = world.job(&id_of(&shown)).await;
    let spec: BisectionSpec = serde_json::from_value(job.spec).unwrap();
    assert_eq!((spec.strategy, spec.confidence), (Strategy::Pinpoint, 0.99));
    assert_eq!(spec.magnitude, Some(Magnitude::Percent(5.0)));
    assert_eq!(
        (spec.attempts, spec.max_runs, spec.max_builds, spec.max_time),
        (Some(20), Some(500), Some(30), Some(3_600_000))
    );
    assert_eq!(
        (spec.seed, spec.aggregate.unwrap().to_string()),
        (7, "max".into())
    );
    assert_eq!(job.config["local"]["command"], json!(["./bench", "small"]));
    assert_eq!(job.config["by_workers"], true);

    let mut request = bisection();
    request.as_object_mut().unwrap().remove("bisection");
    request["culpritFinder"] = json!({ "bisection": bisection()["bisection"], "pairs": 20 });
    let id = made(&world, &request).await;
    let job = world.job(&id).await;
    let spec: CulpritFinderSpec = serde_json::from_value(job.spec).unwrap();
    assert_eq!((spec.pairs, spec.bisection.magnitude), (20, None));
    // Without a direction in the request, the format is asked.
    assert_eq!(job.config["find_metric"]["directions"], true);

    request.as_object_mut().unwrap().remove("culpritFinder");
    request["chart"] = "".into();
    request["pairwise"] = json!({
        "base": "a".repeat(40), "experiment": "b".repeat(40), "earlyStopping": true,
    });
    let id = made(&world, &request).await;
    let job = world.job(&id).await;
    let spec: PairwiseSpec = serde_json::from_value(job.spec).unwrap();
    assert!(spec.early_stopping && spec.chart.is_none());
    let base = spec.sides.unwrap().base.commit.main;
    assert_eq!(base.repository, "https://example.org/tool.git");
}

#[tokio::test]
async fn what_is_no_job_is_refused_with_all_its_problems() {
    let world = World::new("ada").await;
    let fields = async |request: &Value| -> Vec<String> {
        let answer = world.post(JOBS, request).await;
        let found = answer.body["details"][0]["fieldViolations"].clone();
        answer.fails(400, 3);
        let found = found.as_array().cloned().unwrap_or_default();
        let names = found
            .iter()
            .map(|it| it["field"].as_str().unwrap().to_owned());
        names.collect()
    };
    let nothing = fields(&json!({})).await;
    assert_eq!(nothing, ["bot", "benchmark", "question"]);
    let mut request = bisection();
    request["bisection"] = json!({ "good": "--upload-pack=x", "magnitude": {}, "strategy": 9 });
    let names = ["good", "bad", "strategy", "magnitude"].map(|name| format!("bisection.{name}"));
    assert_eq!(fields(&request).await, names);
    for (field, value) in [
        ("bot", "unheard"),
        ("benchmark", "unheard"),
        ("story", "unheard"),
    ] {
        let mut request = bisection();
        request[field] = value.into();
        assert_eq!(fields(&request).await, [field]);
    }
    let mut request = bisection();
    request["bisection"]["confidence"] = 2.into();
    fields(&request).await;
    let jobs = world
        .store
        .jobs()
        .list(
            &JobFilter::default(),
            ListOrder::default(),
            &PagePosition::First,
            1,
        )
        .await;
    assert!(jobs.unwrap().jobs.is_empty());
}

#[tokio::test]
async fn a_creation_with_a_key_is_one_job() {
    let world = World::new("ada").await;
    let post = async |path: &str, key: &str, body: &Value| {
        let headers = [
            ("idempotency-key", key),
            ("content-type", "application/json"),
        ];
        world.send_with("POST", path, &headers, body).await
    };
    let first = id_of(&post(JOBS, "k1", &bisection()).await.ok());
    assert_eq!(id_of(&post(JOBS, "k1", &bisection()).await.ok()), first);
    let retry = format!("{JOBS}/{first}/retry");
    // The same arguments, and not the same request.
    post(&retry, "k1", &Value::Null).await.fails(409, 6);
    let second = id_of(&post(&retry, "k2", &Value::Null).await.ok());
    assert_eq!(id_of(&post(&retry, "k2", &Value::Null).await.ok()), second);
    assert_ne!(first, second);
}

/// The ids of the jobs on a page.
fn ids(page: &Value) -> Vec<String> {
    let jobs = page["jobs"].as_array().unwrap().iter();
    jobs.map(|job| job["jobId"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn pages_go_on_in_both_directions_while_jobs_are_made() {
    let world = World::new("ada").await;
    let mut all = Vec::new();
    for _ in 0..7 {
        all.insert(0, made(&world, &bisection()).await);
    }
    let page = async |token: &Value| {
        let token = token.as_str().unwrap();
        let path = format!("{JOBS}?page_size=3&filter.bots=lab&page_token={token}");
        world.get(&path).await.ok()
    };
    let first = page(&"".into()).await;
    assert_eq!(ids(&first), all[..3]);
    assert_eq!(first["previousPageToken"], "");
    let newer = made(&world, &bisection()).await;
    let second = page(&first["nextPageToken"]).await;
    assert_eq!(ids(&second), all[3..6]);
    let third = page(&second["nextPageToken"]).await;
    assert_eq!(ids(&third), all[6..]);
    assert_eq!(third["nextPageToken"], "");
    assert_eq!(ids(&page(&third["previousPageToken"]).await), all[3..6]);
    let back = page(&second["previousPageToken"]).await;
    assert_eq!(ids(&back), all[..3]);
    // New jobs are on the page before.
    let newest = page(&back["previousPageToken"]).await;
    assert_eq!(ids(&newest), [newer]);

    // A cursor fits only its filter, and must not be altered.
    let token = first["nextPageToken"].as_str().unwrap();
    let other = format!("{JOBS}?page_token={token}");
    world.get(&other).await.fails(400, 3);
    let altered: String = token.chars().rev().collect();
    let altered = format!("{JOBS}?filter.bots=lab&page_token={altered}");
    world.get(&altered).await.fails(400, 3);
    for size in [0, 501] {
        world
            .get(&format!("{JOBS}?page_size={size}"))
            .await
            .fails(400, 3);
    }
    // Another process of the same store reads it as well.
    let path = format!("{JOBS}?page_size=3&filter.bots=lab&page_token={token}");
    assert_eq!(ids(&world.other().await.get(&path).await.ok()), all[3..6]);
}

#[tokio::test]
async fn jobs_come_in_any_order_page_by_page() {
    let world = World::new("ada").await;
    let mut jobs = Vec::new();
    for name in ["beta", "Alpha", "gamma", "alpha", ""] {
        let mut request = bisection();
        request["name"] = name.into();
        request["story"] = "small".into();
        request["bugId"] = "77".into();
        jobs.push(made(&world, &request).await);
    }
    let page = async |order: &str, token: &Value| {
        let token = token.as_str().unwrap();
        let path = format!("{JOBS}?page_size=2&{order}&page_token={token}");
        world.get(&path).await.ok()
    };
    let titled = |at: usize| jobs[at].clone();
    for (order, sorted) in [
        // The title of the one without a name begins with `bisection`.
        ("order=NAME&ascending=true", [1, 3, 0, 4, 2]),
        ("order=NAME", [2, 4, 0, 3, 1]),
        ("order=CREATED&ascending=true", [0, 1, 2, 3, 4]),
        ("order=RUNS", [4, 3, 2, 1, 0]),
    ] {
        let sorted = sorted.map(titled);
        let first = page(order, &"".into()).await;
        assert_eq!(ids(&first), sorted[..2], "{order}");
        assert_eq!(first["jobs"][0]["story"], "small");
        assert_eq!(first["jobs"][0]["bugId"], "77");
        let second = page(order, &first["nextPageToken"]).await;
        assert_eq!(ids(&second), sorted[2..4], "{order}");
        let third = page(order, &second["nextPageToken"]).await;
        assert_eq!(ids(&third), sorted[4..], "{order}");
        assert_eq!(third["nextPageToken"], "");
        assert_eq!(
            ids(&page(order, &second["previousPageToken"]).await),
            sorted[..2]
        );
        // A cursor fits only its order.
        let token = first["nextPageToken"].as_str().unwrap();
        let other = format!("{JOBS}?page_size=2&order=BOT&page_token={token}");
        world.get(&other).await.fails(400, 3);
    }
    for order in ["order=SIZE", "order=99"] {
        world.get(&format!("{JOBS}?{order}")).await.fails(400, 3);
    }
}

#[tokio::test]
async fn jobs_are_found_by_each_condition() {
    let world = World::new("ada@example.org").await;
    let mut request = bisection();
    request["name"] = "nightly".into();
    let one = made(&world, &request).await;
    let canceled = made(&world, &bisection()).await;
    let cancel = format!("{JOBS}/{canceled}/cancel");
    world.post(&cancel, &json!({})).await.ok();
    let count = async |filter: &str| {
        let listed = world.get(&format!("{JOBS}?{filter}")).await.ok();
        let counted = world.get(&format!("{JOBS}/count?{filter}")).await.ok();
        let listed = ids(&listed);
        assert_eq!(counted["jobs"], listed.len().to_string(), "{filter}");
        listed
    };
    assert_eq!(count("").await.len(), 2);
    for (filter, found) in [
        ("filter.name=nightly", &one),
        ("filter.state=PENDING", &one),
        ("filter.state=CANCELED", &canceled),
        ("filter.text=night*", &one),
    ] {
        assert_eq!(count(filter).await, std::slice::from_ref(found), "{filter}");
    }
    for (filter, found) in [
        ("filter.benchmark=parsing", 2),
        ("filter.benchmark=other", 0),
        ("filter.bots=lab&filter.bots=other", 2),
        ("filter.bots=other", 0),
        ("filter.by_workers=true", 2),
        ("filter.user=ada@example.org", 2),
        ("filter.user=bo", 0),
        ("filter.kind=BISECTION", 2),
        ("filter.kind=PAIRWISE", 0),
        ("filter.since=2020-01-01T00:00:00Z", 2),
        ("filter.until=2020-01-01T00:00:00Z", 0),
    ] {
        assert_eq!(count(filter).await.len(), found, "{filter}");
    }
    world
        .get(&format!("{JOBS}?filter.kind=99"))
        .await
        .fails(400, 3);
    // A database would give up.
    let words = "word ".repeat(1000);
    for filter in [
        format!("filter.text={words}").replace(' ', "+"),
        "filter.bots=b&".repeat(101),
    ] {
        world.get(&format!("{JOBS}?{filter}")).await.fails(400, 3);
    }
    world
        .get(&format!("{JOBS}?filter.state=99"))
        .await
        .fails(400, 3);
}

#[tokio::test]
async fn a_job_is_repeated_and_its_arguments_are_given() {
    let world = World::new("ada").await;
    let mut request = bisection();
    request["bugId"] = "1234".into();
    request["bisection"]["magnitude"] = json!({ "percent": 5.0 });
    let first = made(&world, &request).await;
    let arguments = world.get(&format!("{JOBS}/{first}/arguments")).await.ok();
    assert_eq!(arguments["bugId"], "1234");
    assert_eq!(
        arguments["bisection"]["magnitude"],
        json!({ "percent": 5.0 })
    );
    let again = made(&world, &arguments).await;
    let retried = world
        .post(&format!("{JOBS}/{first}/retry"), &json!({}))
        .await;
    let retried = retried.ok();
    assert_eq!(retried["retryOf"], first);
    let [first, again, retried] = [first, again, id_of(&retried)];
    let spec = async |id: &str| world.job(id).await.spec;
    assert_eq!(spec(&first).await, spec(&again).await);
    assert_eq!(spec(&first).await, spec(&retried).await);

    // Of a request of Chromium's API, as well.
    let made = world
        .post("/pinpoint/v1/bisection", &pinpoint::bisection())
        .await;
    let id = made.ok()["jobId"].as_str().unwrap().to_owned();
    let retried = world.post(&format!("{JOBS}/{id}/retry"), &json!({})).await;
    assert_eq!(spec(&id).await, spec(&id_of(&retried.ok())).await);

    // A job from a command line ran a command that no operator has configured.
    let other = NewJob::new(BisectionSpec::new(pinpoint_core::Range::Counted {
        between: 8,
    }));
    let id = world.store.jobs().create(&other.unwrap()).await.unwrap();
    world
        .post(&format!("{JOBS}/{id}/retry"), &json!({}))
        .await
        .fails(400, 9);
    world
        .get(&format!("{JOBS}/{id}/arguments"))
        .await
        .fails(400, 9);
    world.get(&format!("{JOBS}/{id}")).await.ok();
}

#[tokio::test]
async fn a_paused_job_waits_until_it_is_resumed() {
    let world = World::new("ada").await;
    let id = made(&world, &bisection()).await;
    let post = async |what: &str| world.post(&format!("{JOBS}/{id}/{what}"), &json!({})).await;
    let paused = post("pause").await.ok();
    assert_eq!(paused["summary"]["paused"], true);
    assert_eq!(paused["waitsFor"], "it is paused");
    let take = async || {
        let filter = JobFilter::default();
        let lease = Duration::from_secs(60);
        world
            .store
            .leases()
            .take(&filter, "test", lease)
            .await
            .unwrap()
    };
    assert!(take().await.is_none());
    assert_eq!(post("resume").await.ok()["summary"]["paused"], false);
    let (job, lease) = take().await.unwrap();
    assert_eq!(job.id.as_str(), id);
    // A job with a worker can be paused, and resumed before the worker has let it go.
    assert_eq!(post("pause").await.ok()["summary"]["paused"], true);
    assert!(world.store.jobs().is_paused(&job.id).await.unwrap());
    assert_eq!(post("resume").await.ok()["summary"]["paused"], false);
    world.store.leases().release(&lease).await.unwrap();

    let cancel = format!("{JOBS}/{id}/cancel");
    let reason = json!({ "reason": "no longer needed" });
    let canceled = world.post(&cancel, &reason).await.ok();
    assert_eq!(canceled["summary"]["state"], "CANCELED");
    let why = json!({ "reason": "no longer needed", "by": "ada" });
    assert_eq!(canceled["cancellation"], why);
    let ended = post("pause").await.fails(400, 9);
    assert!(ended.contains("has ended (canceled)"), "{ended}");
    let resumed = post("resume").await.ok();
    assert_eq!(resumed["summary"]["state"], "PENDING");
    assert_eq!(resumed["cancellation"], Value::Null);
    assert!(take().await.is_some());
}

#[tokio::test]
async fn a_job_of_another_is_left_alone_without_the_right() {
    let world = World::with(SignIn::Tokens).await;
    let ada = format!("Bearer {}", world.token("ada", &["editor"]).await);
    let bo = format!("Bearer {}", world.token("bo", &["editor"]).await);
    let root = format!("Bearer {}", world.token("root", &["admin"]).await);
    let post = async |who: &str, path: &str, body: &Value| {
        let headers = [("authorization", who), ("content-type", "application/json")];
        world.send_with("POST", path, &headers, body).await
    };
    let id = id_of(&post(&ada, JOBS, &bisection()).await.ok());
    for what in ["pause", "resume", "cancel"] {
        let path = format!("{JOBS}/{id}/{what}");
        post(&bo, &path, &json!({})).await.fails(403, 7);
        post(&root, &path, &json!({})).await.ok();
    }
    let mut claimed = bisection();
    claimed["user"] = "ada".into();
    post(&bo, JOBS, &claimed).await.fails(403, 7);
    let get = async |who: &str, path: &str| {
        let headers = [("authorization", who)];
        world.send_with("GET", path, &headers, &Value::Null).await
    };
    get(&bo, "/api/v2/quota?user=ada").await.fails(403, 7);
    assert_eq!(
        get(&root, "/api/v2/quota?user=ada").await.ok()["user"],
        "ada"
    );
    get(&bo, "/api/v2/audit").await.fails(403, 7);

    let mut seen = Vec::new();
    let mut token = String::new();
    loop {
        let path = format!("/api/v2/audit?page_size=2&job_id={id}&page_token={token}");
        let page = get(&root, &path).await.ok();
        let rows = page["rows"].as_array().unwrap();
        assert!(rows.len() <= 2);
        for row in rows {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            let operation = text("operation").rsplit('/').next().unwrap().to_owned();
            seen.push((text("user"), operation, text("result")));
        }
        token = page["nextPageToken"].as_str().unwrap().to_owned();
        if token.is_empty() {
            break;
        }
        get(&root, &format!("/api/v2/audit?page_token={token}"))
            .await
            .fails(400, 3);
    }
    let row = |user: &str, operation: &str, result: &str| {
        (user.to_owned(), operation.to_owned(), result.to_owned())
    };
    let expected = [
        row("ada", "CreateJob", "ok"),
        row("bo", "PauseJob", "permission_denied"),
        row("root", "PauseJob", "ok"),
        row("bo", "ResumeJob", "permission_denied"),
        row("root", "ResumeJob", "ok"),
        row("bo", "CancelJob", "permission_denied"),
        row("root", "CancelJob", "ok"),
    ];
    assert_eq!(seen, expected);
    let all = world
        .store
        .audit()
        .list(&AuditFilter::default(), 0, 100)
        .await;
    assert!(all.unwrap().len() > expected.len());
}

#[tokio::test]
async fn a_plan_says_what_a_bisection_costs() {
    let world = World::new("ada").await;
    let plan = async |request: &Value| world.post("/api/v2/plans", request).await;
    let request = json!({
        "commits": 16, "magnitude": { "percent": 8 }, "scatter": { "percent": 1 },
    });
    let planned = plan(&request).await.ok();
    let estimates = planned["estimates"].as_array().unwrap();
    assert_eq!((estimates.len(), &planned["unit"]), (2, &json!("%")));
    let right = estimates[0]["right"].as_f64().unwrap();
    assert!(right > 0.9, "{right}");
    assert!(estimates[0]["runs"].as_f64().unwrap() > 6.0);
    assert_eq!(estimates[1].get("change"), None);
    for (field, value) in [
        ("commits", json!(0)),
        ("maxRuns", json!(5001)),
        ("commits", json!(10_001)),
        ("confidence", json!(1)),
        ("scatter", json!({ "percent": 0 })),
        ("scatter", Value::Null),
        ("magnitude", json!({ "absolute": 1 })),
    ] {
        let mut request = request.clone();
        request[field] = value;
        plan(&request).await.fails(400, 3);
    }
    let few = json!({ "commits": 16, "values": { "values": [1, 2] } });
    plan(&few).await.fails(400, 3);
}

#[tokio::test]
async fn a_plan_says_how_often_pairs_find_a_change() {
    let world = World::new("ada").await;
    let plan = async |request: &Value| world.post("/api/v2/plans", request).await;
    let request = json!({
        "kind": "PAIRWISE", "pairs": 10,
        "magnitude": { "percent": 2 }, "scatter": { "percent": 1 },
    });
    let planned = plan(&request).await.ok();
    let estimates = planned["estimates"].as_array().unwrap();
    assert_eq!(estimates.len(), 2, "{planned}");
    assert_eq!(
        (&estimates[0]["runs"], &estimates[0]["builds"]),
        (&json!(20.0), &json!(2.0))
    );
    let right = |row: usize| estimates[row]["right"].as_f64().unwrap();
    assert!(right(0) > 0.9 && right(1) > 0.93, "{planned}");
    // Fewer pairs find it less often.
    let mut six = request.clone();
    six["pairs"] = json!(6);
    let fewer = plan(&six).await.ok();
    assert!(fewer["estimates"][0]["right"].as_f64().unwrap() < right(0));
    for (field, value) in [
        ("pairs", json!(7)),
        ("pairs", json!(502)),
        ("kind", json!(9)),
    ] {
        let mut request = request.clone();
        request[field] = value;
        plan(&request).await.fails(400, 3);
    }
    // A culprit finder verifies the ends, and then the culprit.
    let mut finder = request.clone();
    finder["kind"] = json!("CULPRIT_FINDER");
    finder["magnitude"] = json!({ "percent": 4 });
    plan(&finder).await.fails(400, 3);
    finder["commits"] = json!(8);
    let planned = plan(&finder).await.ok();
    let row = &planned["estimates"][0];
    assert!(row["right"].as_f64().unwrap() > 0.9, "{planned}");
    assert!(row["runs"].as_f64().unwrap() > 40.0, "{planned}");
}

#[tokio::test]
async fn two_jobs_are_shown_side_by_side() {
    let world = World::new("ada").await;
    let one = made(&world, &bisection()).await;
    let other = made(&world, &bisection()).await;
    let compared = world
        .get(&format!("{JOBS}/{one}/compare/{other}"))
        .await
        .ok();
    assert_eq!(id_of(&compared["job"]), one);
    assert_eq!(id_of(&compared["other"]), other);
    assert_eq!(compared["charts"], json!([]));
    let absent = "0199f3c1a2b37f0e8d1c2b3a49586776";
    world
        .get(&format!("{JOBS}/{one}/compare/{absent}"))
        .await
        .fails(404, 5);
}

#[tokio::test]
async fn bots_workers_and_quotas_are_shown() {
    let world = World::new("ada").await;
    made(&world, &bisection()).await;
    let bots = world.get("/api/v2/bots").await.ok();
    let lab = &bots["bots"][0];
    assert_eq!(
        (&lab["name"], &lab["pending"]),
        (&json!("lab"), &json!("1"))
    );
    assert_eq!(lab["workers"], 0);
    let workers = world.get("/api/v2/workers").await.ok();
    assert_eq!(workers, json!({ "workers": [] }));
    let quota = world.get("/api/v2/quota").await.ok();
    let used = ["jobsLastHour", "jobsUnderWay", "runsLastDay"].map(|name| &quota[name]);
    assert_eq!(
        (&quota["user"], used),
        (&json!("ada"), [&json!("1"), &json!("1"), &json!("0")])
    );
    // There is no limit here.
    assert_eq!(quota.get("mostJobsAnHour"), None);
    let sign_in = SignIn::Nobody("ada".into());
    let limited = World::limited(sign_in, BOTS, LimitsConfig::default()).await;
    let quota = limited.get("/api/v2/quota").await.ok();
    let most = LimitsConfig::default().quota_of("ada");
    let told = ["mostJobsAnHour", "mostJobsUnderWay", "mostRunsADay"].map(|name| &quota[name]);
    let expected = [most.jobs_an_hour, most.jobs_under_way, most.runs_a_day].map(|it| json!(it));
    assert_eq!(told.map(Clone::clone), expected);
}

#[tokio::test]
async fn a_job_of_no_worker_is_left_to_the_command_that_made_it() {
    let world = World::new("ada").await;
    let [good, bad] = ["a", "b"].map(|it| CombinedCommit::from(Commit::new("https://x/src", it)));
    let spec = BisectionSpec::new(Range::Between { good, bad });
    let config = JobConfig {
        luci: Some(json!({})),
        ..JobConfig::default()
    };
    let job = NewJob {
        user: "ada".into(),
        ..JobRequest::new(spec, config).into_job().unwrap()
    };
    let id = world.store.jobs().create(&job).await.unwrap();
    for (what, why) in [
        ("pause", "by the command that made it"),
        ("resume", "by the command that made it"),
        ("cancel", "carried out in LUCI"),
    ] {
        let path = format!("{JOBS}/{id}/{what}");
        let refused = world.post(&path, &json!({})).await.fails(400, 9);
        assert!(refused.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn a_job_that_is_not_there_is_not_found() {
    let world = World::new("ada").await;
    let absent = JobId::parse("0199f3c1a2b37f0e8d1c2b3a49586776").unwrap();
    for what in ["", "/runs", "/builds", "/events", "/arguments"] {
        world
            .get(&format!("{JOBS}/{absent}{what}"))
            .await
            .fails(404, 5);
        world.get(&format!("{JOBS}/x{what}")).await.fails(400, 3);
    }
    for what in ["cancel", "pause", "resume", "retry"] {
        world
            .post(&format!("{JOBS}/{absent}/{what}"), &json!({}))
            .await
            .fails(404, 5);
    }
}

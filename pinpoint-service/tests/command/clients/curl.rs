//! `curl`, as the published pages call.

use std::process::Command;

use serde_json::{Value, json};

use super::{Service, bisection, succeeded};

/// The status and the JSON of an answer.
fn call(service: &Service, words: &[&str], path: &str) -> (u16, Value) {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", "240"])
        .arg("--cacert")
        .arg(service.authority())
        .args([
            "--header",
            &format!("Authorization: Bearer {}", service.token),
        ])
        .args(["--write-out", "\n%{http_code}"])
        .args(words)
        .arg(format!("https://{}{path}", service.address));
    let answer = succeeded("curl (Debian: curl)", &mut curl);
    let (body, status) = answer.rsplit_once('\n').unwrap();
    let body = serde_json::from_str(body).unwrap_or_else(|_| body.into());
    (status.parse().unwrap(), body)
}

#[test]
#[ignore = "needs curl; see .ci/run"]
fn pages_are_answered() {
    let service = Service::start();
    let get = |path: &str| call(&service, &[], path);
    let json = |path: &str, body: &Value| {
        let kind = "Content-Type: application/json";
        call(
            &service,
            &["--header", kind, "--data", &body.to_string()],
            path,
        )
    };
    assert_eq!(
        get("/pinpoint/v1/user"),
        (200, json!({ "email": "ada@example.org" }))
    );
    // HTTP/1.1 and HTTP/2 alike.
    for version in ["--http1.1", "--http2"] {
        let (status, benchmarks) = call(&service, &[version], "/pinpoint/v1/benchmarks");
        assert_eq!(
            (status, &benchmarks["benchmarks"]),
            (200, &json!(["parsing"]))
        );
    }
    let stories = get("/pinpoint/v1/benchmark-info/parsing").1;
    assert_eq!(stories["stories"], json!(["small", "large"]));

    // The page of try jobs.
    let request = json!({
        "benchmark": "parsing",
        "configuration": "lab",
        "story": "small",
        "base": { "commit": "a".repeat(40) },
        "experiment": {
            "commit": "b".repeat(40),
            "extraArgs": { "benchmarkRunnerArgs": "--repeat=2" },
        },
        "attemptCount": 10,
    });
    let (status, tried) = json("/pinpoint/v1/new", &request);
    assert_eq!(status, 200, "{tried}");
    // Clients of `/schedule` send a query and no body, or a form.
    let fields = bisection();
    let fields = fields.as_object().unwrap().iter();
    let fields: Vec<_> = fields
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
        .collect();
    let query = fields.join("&");
    let (status, _) = call(
        &service,
        &["--request", "POST"],
        &format!("/pinpoint/v1/schedule?{query}"),
    );
    assert_eq!(status, 200);
    let (status, made) = call(&service, &["--data", &query], "/pinpoint/v1/schedule");
    assert_eq!(status, 200, "{made}");
    let id = made["jobId"].as_str().unwrap();
    let (status, found) = get(&format!("/pinpoint/v1/query?job_id={id}"));
    assert_eq!((status, &found["culprits"]), (200, &json!([])));

    let list = get("/pinpoint/v1/jobs?jobType=JOB_TYPE_TRY&pagination.nextCursor=").1;
    assert_eq!(list["jobs"][0]["jobId"], tried["jobId"]);
    let list = get("/json/jobs/list?search_term=Try&limit=50&offset=0").1;
    assert_eq!(list[0]["job_id"], tried["jobId"]);
    let job = get(&format!("/json/job/{}", tried["jobId"].as_str().unwrap())).1;
    assert_eq!(
        (&job["JobStatus"], &job["JobType"]),
        (&json!("Pending"), &json!("Pairwise"))
    );
    assert_eq!(
        get("/stories?benchmark=parsing").1,
        json!(["small", "large"])
    );
    assert_eq!(get("/stories?benchmark=unheard").0, 404);

    assert_eq!(get(&format!("/pinpoint/v1/cancel?job_id={id}")).0, 405);
    let ended = json(
        "/pinpoint/v1/cancel",
        &json!({ "job_id": id, "reason": "r" }),
    );
    assert_eq!(ended, (200, json!({ "jobId": id, "state": "Canceled" })));
    let bad = ["--header", "Authorization: Bearer pinpoint_x"];
    assert_ne!(call(&service, &bad, "/pinpoint/v1/user").0, 200);
}

//! Any input: each decoder and each reader of a query gives an answer or an error of the client's,
//! and never fails itself.

use std::collections::BTreeSet;
use std::sync::Mutex;

use axum::body::Body;
use http::Request;
use pinpoint_backends::store::{ListOrder, PagePosition};
use pinpoint_service::{SignIn, operations};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::world::World;

const RPCS: [&str; 17] = [
    "/pinpoint.v1.Pinpoint/ScheduleBisection",
    "/pinpoint.v1.Pinpoint/ScheduleCulpritFinder",
    "/pinpoint.v1.Pinpoint/SchedulePairwise",
    "/pinpoint.v1.Pinpoint/CancelJob",
    "/pinpoint.v1.Pinpoint/LegacyJobQuery",
    "/pinpoint.v1.PinpointGateway/QueryJobList",
    "/pinpoint.v1.PinpointGateway/CreateTryJob",
    "/pinpoint.v1.PinpointGateway/GetBenchmark",
    "/pinpoint.v2.Pinpoint/CreateJob",
    "/pinpoint.v2.Pinpoint/PlanJob",
    "/pinpoint.v2.Pinpoint/ListJobs",
    "/pinpoint.v2.Pinpoint/ListRuns",
    "/pinpoint.v2.Pinpoint/WatchJob",
    "/pinpoint.v2.Pinpoint/CompareJobs",
    "/pinpoint.v2.Pinpoint/GetAudit",
    "/grpc.health.v1.Health/Check",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
];

const KINDS: [&str; 7] = [
    "",
    "application/json",
    "Application/JSON; charset=utf-8",
    "application/x-www-form-urlencoded",
    "application/grpc",
    "application/grpc-web+proto",
    "application/grpc-web-text",
];

/// Names of fields and of headers, and texts that their readers know.
const WORDS: [&str; 44] = [
    "start_git_hash",
    "startGitHash",
    "end_git_hash",
    "configuration",
    "benchmark",
    "story",
    "chart",
    "bug_id",
    "job_id",
    "reason",
    "user",
    "pagination",
    "pagination.next_cursor",
    "pagination.hasNext",
    "job_type",
    "JOB_TYPE_TRY",
    "comparison_magnitude",
    "start_commit.main",
    "bot",
    "bisection",
    "pairwise",
    "culprit_finder",
    "magnitude",
    "percent",
    "good",
    "commits",
    "scatter",
    "values",
    "filter",
    "filter.bots",
    "filter.text",
    "page_token",
    "story_tags",
    "lab",
    "parsing",
    "small",
    "true",
    "-1",
    "1e999",
    "after-",
    "before-",
    "0199f3c1a2b37f0e8d1c2b3a49586776",
    "after-0199f3c1a2b37f0e8d1c2b3a49586776",
    "é\u{0}",
];

/// Fields with a value that is sound, so that more than a reader is reached.
const SOUND: [(&str, &str); 12] = [
    ("start_git_hash", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ("endGitHash", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"),
    ("configuration", "lab"),
    ("benchmark", "parsing"),
    ("story", "small"),
    ("chart", "time"),
    ("job_id", "0199f3c1-a2b3-7f0e-8d1c-2b3a49586776"),
    (
        "pagination.nextCursor",
        "after-0199f3c1a2b37f0e8d1c2b3a49586776",
    ),
    (
        "pagination.prev_cursor",
        "before-0199f3c1a2b37f0e8d1c2b3a49586776",
    ),
    ("job_type", "JOB_TYPE_TRY"),
    ("start_commit.main.git_hash", "aaaaaaaa"),
    ("attempt_count", "10"),
];

const HEADERS: [&str; 10] = [
    "authorization",
    "cookie",
    "idempotency-key",
    "last-event-id",
    "x-request-id",
    "traceparent",
    "grpc-timeout",
    "grpc-encoding",
    "origin",
    "host",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ]
}

/// A field and its text: several of them are a request, now and then.
fn field() -> impl Strategy<Value = (String, String)> {
    let sound = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    prop_oneof![
        3 => prop::sample::select(&SOUND[..]).prop_map(sound),
        1 => (word(), word()),
    ]
}

/// Those of a bisection, mostly, and others.
fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    let whole = prop::sample::subsequence(&SOUND[..6], 0..=6);
    let whole = prop_oneof![Just(SOUND[..6].to_vec()), whole];
    (whole, prop::collection::vec(field(), 0..4)).prop_map(|(sound, others)| {
        let sound = sound.into_iter();
        let sound = sound.map(|(name, value)| (name.to_owned(), value.to_owned()));
        sound.chain(others).collect()
    })
}

/// A JSON document, whole or not.
fn json() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        word().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let value = leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    let fields = fields().prop_map(|fields| {
        let fields = fields.into_iter().map(|(name, text)| (name, text.into()));
        Value::Object(fields.collect())
    });
    (
        prop_oneof![value, fields],
        any::<prop::sample::Index>(),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(value, end, is_whole)| {
            let mut bytes = value.to_string().into_bytes();
            if !is_whole {
                bytes.truncate(end.index(bytes.len() + 1));
            }
            bytes
        })
}

/// A query or a form.
fn pairs() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => fields().prop_map(|pairs| {
            form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
        }),
        1 => "[!-~&&[^#\"<>`{|}\\\\^]]{0,40}",
        2 => Just(String::new()),
    ]
}

/// Frames of gRPC, with lengths that are right or wrong.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![8 => Just(None), 1 => any::<u32>().prop_map(Some)];
    let message = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        // Fields with texts.
        prop::collection::vec((1u8..15, word()), 0..6).prop_map(|fields| {
            let field = |(number, text): (u8, String)| {
                let length = u8::try_from(text.len()).unwrap_or(0);
                let text = text.into_bytes().into_iter().take(length.into());
                [number << 3 | 2, length].into_iter().chain(text)
            };
            fields.into_iter().flat_map(field).collect()
        }),
    ];
    let flag = prop_oneof![8 => Just(0), 1 => any::<u8>()];
    prop::collection::vec((flag, length, message), 0..3).prop_map(|frames| {
        let frame = |(flag, length, message): (u8, Option<u32>, Vec<u8>)| {
            let length = length.unwrap_or(u32::try_from(message.len()).unwrap_or(0));
            [vec![flag], length.to_be_bytes().to_vec(), message].concat()
        };
        frames.into_iter().flat_map(frame).collect()
    })
}

fn request() -> impl Strategy<Value = Request<Vec<u8>>> {
    let routes: Vec<_> = operations()
        .map(|(method, path, _)| (method.to_owned(), path.to_owned()))
        .chain(RPCS.map(|path| ("POST".into(), path.into())))
        .collect();
    let part = "[A-Za-z0-9%._~-]{1,20}";
    let form = || pairs().prop_map(String::into_bytes);
    let any_body = prop_oneof![
        json(),
        form(),
        frames(),
        prop::collection::vec(any::<u8>(), 0..60),
    ];
    let content = prop_oneof![
        2 => json().prop_map(|body| (KINDS[1], body)),
        1 => form().prop_map(|body| (KINDS[3], body)),
        1 => frames().prop_map(|body| (KINDS[4], body)),
        1 => Just(("", Vec::new())),
        2 => (prop::sample::select(&KINDS[..]), any_body),
    ];
    let header = (
        prop::sample::select(&HEADERS[..]),
        prop_oneof![
            word().prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..40)
        ],
    );
    let method = prop_oneof![8 => Just(None), 1 => "[A-Z]{1,8}".prop_map(Some)];
    let parts = (
        prop::sample::select(routes),
        method,
        part,
        pairs(),
        content,
        prop::collection::vec(header, 0..3),
    );
    parts.prop_filter_map(
        "is a request",
        |((usual, path), method, part, query, (kind, body), headers)| {
            let path = path.replace("{benchmark}", &part);
            let method = method.unwrap_or(usual);
            let mut request = Request::builder()
                .method(&*method)
                .version(http::Version::HTTP_2)
                .uri(format!("{path}?{query}"))
                .header("content-type", kind);
            for (name, value) in headers {
                if let Ok(value) = http::HeaderValue::from_bytes(&value) {
                    request = request.header(name, value);
                }
            }
            request.body(body).ok()
        },
    )
}

/// Sends so many requests from a seed.
fn send_all(cases: u32, seed: RngSeed) {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(World::with(SignIn::Tokens));
    let token = runtime.block_on(world.token("ada", &["admin"]));
    let bearer: http::HeaderValue = format!("Bearer {token}").parse().unwrap();
    let config = Config {
        cases,
        rng_seed: seed,
        failure_persistence: None,
        // Invalid paths are not a test.
        max_local_rejects: u32::MAX,
        ..Config::default()
    };
    let seen = Mutex::new(BTreeSet::new());
    let mut runner = TestRunner::new(config);
    let run = runner.run(&request(), |mut request| {
        let told = format!("{request:?}");
        // The body of an anonymous request is not read.
        let headers = request.headers_mut();
        headers.entry("authorization").or_insert(bearer.clone());
        let kind = request.headers()["content-type"].as_bytes();
        let is_grpc = kind.starts_with(b"application/grpc");
        let answered = runtime.block_on(async {
            let response = world.send(request.map(Body::from)).await;
            let status = response.status();
            let code = response.headers().get("grpc-status").cloned();
            // A stream of a valid request does not end.
            let kind = response.headers().get("content-type");
            let body = match kind.is_some_and(|kind| kind == "text/event-stream") {
                true => Body::empty(),
                false => response.into_body(),
            };
            let read = axum::body::to_bytes(body, usize::MAX);
            let within = std::time::Duration::from_secs(300);
            let body = tokio::time::timeout(within, read).await;
            (status, code, body)
        });
        let (status, code, body) = answered;
        let body = body.map_err(|_| TestCaseError::fail(format!("no end: {told}")))?;
        let body = body.map_err(|error| TestCaseError::fail(format!("{error}: {told}")))?;
        let text = String::from_utf8_lossy(&body);
        seen.lock().unwrap().insert(status.as_u16());
        // 501 is for missing methods; internal failures are 500.
        prop_assert!(status.as_u16() != 500, "{status} {text}\n{told}");
        if let Some(code) = code {
            // UNKNOWN, INTERNAL, DATA_LOSS.
            prop_assert!(
                !["2", "15"].contains(&code.to_str().unwrap()),
                "{code:?}\n{told}"
            );
        }
        if status.is_client_error() && !is_grpc {
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            prop_assert!(
                body["code"].is_u64() && body["message"].is_string(),
                "{text}\n{told}"
            );
        }
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    // Many are refused, and some are done.
    let seen = seen.into_inner().unwrap();
    assert!(
        [200, 400, 401, 404].iter().all(|it| seen.contains(it)),
        "{seen:?}"
    );
    let jobs = runtime.block_on(world.store.jobs().list(
        &Default::default(),
        ListOrder::default(),
        &PagePosition::First,
        1,
    ));
    assert!(!jobs.unwrap().jobs.is_empty());
}

#[tokio::test]
async fn a_path_that_is_no_text_is_an_error_like_any_other() {
    let world = World::new("ada").await;
    let answer = world.get("/pinpoint/v1/benchmark-info/%80").await;
    let message = answer.fails(400, 3);
    assert!(message.contains("benchmark"), "{message}");
}

#[test]
fn no_request_makes_the_service_fail() {
    send_all(400, RngSeed::Fixed(17));
}

/// Runs as long as `PINPOINT_FUZZ_REQUESTS` says, from another seed each time, which a failure
/// shows.
#[test]
#[ignore = "by hand, for as long as one likes"]
fn no_request_of_very_many_makes_the_service_fail() {
    let requests = std::env::var("PINPOINT_FUZZ_REQUESTS");
    let requests = requests.map_or(1_000_000, |it| it.parse().unwrap());
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = seed.unwrap().as_secs();
    println!("seed {seed}");
    send_all(requests, RngSeed::Fixed(seed));
}

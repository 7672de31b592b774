//! Jobs in the form of the API that Chromium's Pinpoint replaced.

// Clippy's exception for tests knows functions marked as tests only, not their helpers.
#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use pinpoint_core::api::{LegacyJob, LegacyJobResponse, ScheduleBisectRequest, write_back_body};
use pinpoint_core::prelude::*;
use pinpoint_core::{
    Answers, Artifact, Direction, JobKey, JobMachine, Magnitude, RunTask, Strategy,
};
use serde_json::{Value, json};

const INSTANCE: &str = "projects/p/instances/i";

/// Commits are numbers; from 5 on they are slower, and from 7 on they fail.
struct Numbers {
    fails_from: u64,
}

fn number(commit: &CombinedCommit) -> u64 {
    commit.main.git_hash.parse().unwrap()
}

fn named(number: u64) -> CombinedCommit {
    Commit {
        author: Some("Ada <ada@example.org>".into()),
        created: Some("2026-08-21T11:08:42Z".into()),
        subject: Some(format!("Change {number}")),
        ..Commit::new("https://example.org/chromium/src", number.to_string())
    }
    .into()
}

#[async_trait]
impl InProcess for Numbers {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let count = number(&request.higher) - number(&request.lower) - 1;
        Ok(Listing::new(request, count))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        let commit = match &request.commit {
            Located::Commit(commit) => named(number(commit)),
            Located::Offset { listing, offset } => named(number(&listing.lower) + offset + 1),
        };
        let hash = format!("{:064x}", number(&commit));
        let digest = format!("{INSTANCE}/{hash}/7");
        Ok(BuildReport::built(commit).artifact(Artifact::Digest(digest)))
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let commit = number(&request.variant.commit);
        let task = |completed| {
            let output = format!("{INSTANCE}/{}/9", "ab".repeat(32));
            Some(RunTask {
                id: format!("t{commit}-{}", request.index),
                completed,
                output: Some(output),
            })
        };
        if commit >= self.fails_from {
            let mut failed = RunReport::failed(1_000, "it crashed");
            failed.bot = Some("build1".into());
            failed.task = task(false);
            return Ok(failed);
        }
        let slow = if commit >= 5 { 12.0 } else { 10.0 };
        let time = slow + 0.01 * f64::from(request.index % 7);
        let report = RunReport::new(1_000 + u64::from(request.index));
        let mut report = report.value("time", time);
        report.bot = request.index.is_multiple_of(2).then(|| "build2".into());
        report.task = task(true);
        Ok(report)
    }
}

#[async_trait]
impl Clock for Numbers {
    async fn sleep(&self, _: std::time::Duration) {}
}

fn spec() -> BisectionSpec {
    BisectionSpec {
        chart: Some("time".into()),
        strategy: Strategy::Pinpoint,
        magnitude: Some(Magnitude::Absolute(1.0)),
        direction: Direction::Down,
        ..BisectionSpec::new(Range::Between {
            good: named(0),
            bad: named(9),
        })
    }
}

async fn searched(fails_from: u64) -> Answers {
    let numbers = Numbers { fails_from };
    let mut journal = MemoryJournal::new("job");
    let machine = JobMachine::new(spec()).unwrap();
    let never = std::future::pending();
    let driven = drive(machine.clone(), &numbers, &mut journal, &numbers, never);
    driven.await.unwrap();
    let job = JobKey {
        id: "job".into(),
        created: 0,
    };
    Answers::of(job, machine, journal.records)
}

fn request() -> ScheduleBisectRequest {
    ScheduleBisectRequest {
        comparison_mode: "performance".into(),
        start_git_hash: "0".into(),
        end_git_hash: "9".into(),
        configuration: "linux-perf".into(),
        benchmark: "speedometer3.crossbench".into(),
        story: "default".into(),
        chart: "time".into(),
        comparison_magnitude: "1.5".into(),
        initial_attempt_count: "20".into(),
        tags: r#"{"aTag": "x"}"#.into(),
        bug_id: "1234".into(),
        extra_args: "--a 'b c'".into(),
        pin: "p".into(),
        ..ScheduleBisectRequest::default()
    }
}

fn converted(answers: &Answers, request: &ScheduleBisectRequest) -> LegacyJobResponse {
    legacy(request).response(answers).unwrap()
}

fn legacy(request: &ScheduleBisectRequest) -> LegacyJob<'_> {
    LegacyJob {
        id: "0199",
        request,
        target: "performance_test_suite",
        host: "desk",
        status: "Completed",
        result: None,
        search: None,
        exception: "",
        cancel_reason: "",
        created: 1_700_000_000_500,
        now: 1_700_000_100_000,
        page: "https://pinpoint.example.org/jobs/0199",
        message: &|commit| {
            let number = &commit.git_hash;
            Some(format!(
                "Change {number}\n\nWhy.\n\nCr-Commit-Position: refs/heads/main@{{#{number}}}\n"
            ))
        },
    }
}

#[tokio::test]
async fn a_job_has_every_state_that_was_run_in_the_order_of_the_history() {
    let answers = searched(99).await;
    let spec = spec();
    let request = request();
    let job = LegacyJob {
        search: Some(&spec),
        ..legacy(&request)
    };
    let shown = job.response(&answers).unwrap();
    let hashes = shown.state.iter().map(|state| {
        let commits = &state.change.as_ref().unwrap().commits;
        commits[0].git_hash.parse::<u64>().unwrap()
    });
    let hashes: Vec<_> = hashes.collect();
    assert!(hashes.is_sorted() && hashes.len() > 3, "{hashes:?}");
    assert_eq!((hashes.first(), hashes.last()), (Some(&0), Some(&9)));
    assert!(hashes.contains(&4) && hashes.contains(&5));
    let verdicts = shown.state.iter().map(|state| {
        let compared = state.comparisons.as_ref().unwrap();
        (&*compared.prev, &*compared.next)
    });
    for ((prev, next), hash) in verdicts.zip(&hashes) {
        let expected = match hash {
            0 => ("", "same"),
            4 => ("same", "different"),
            5 => ("different", "same"),
            9 => ("same", ""),
            _ => ("same", "same"),
        };
        assert_eq!((prev, next), expected, "{hash}");
    }
    assert_eq!(shown.bots, ["build2", "desk"]);
    assert_eq!(shown.quests, ["Build", "Test", "Get values"]);
    assert_eq!((shown.improvement_direction, &*shown.metric), (1, "time"));
    assert_eq!(shown.user, "chromeperf@appspot.gserviceaccount.com");
    assert_eq!(
        shown.name,
        "[Skia] Performance bisect on linux-perf/speedometer3.crossbench"
    );
    assert_eq!(
        shown.created.unwrap().to_string(),
        "2023-11-14T22:13:20.500Z"
    );
    assert_eq!(shown.started_time.unwrap().seconds, 1);
    let arguments = shown.arguments.as_ref().unwrap();
    assert_eq!(arguments.initial_attempt_count, 20);
    assert_eq!(arguments.comparison_magnitude, 1.5);
    assert_eq!(arguments.tags["aTag"], "x");
    assert_eq!(arguments.extra_test_args, "--a 'b c'");
    assert_eq!(arguments.target, "performance_test_suite");
    assert_eq!(
        [&*arguments.pin, &*arguments.trace, &*arguments.batch_id],
        [""; 3]
    );

    let state = &shown.state[0];
    let commit = &state.change.as_ref().unwrap().commits[0];
    assert_eq!(
        (&*commit.author, &*commit.subject),
        ("ada@example.org", "Change 0")
    );
    assert!(commit.message.starts_with("Why."), "{}", commit.message);
    // A position of 0 is damaged; this one is not.
    let last = shown.state.last().unwrap().change.as_ref().unwrap();
    assert_eq!(last.commits[0].commit_position, 9);
    assert_eq!(state.values.len(), state.attempts.len());
    let [build, test, values] = &state.attempts[0].executions[..] else {
        panic!("three executions");
    };
    let details =
        |execution: &pinpoint_core::api::legacy_job_response::state::attempt::Execution| {
            let details = execution.details.iter();
            let shown = details.map(|it| format!("{}={} {}", it.key, it.value, it.url));
            shown.collect::<Vec<_>>()
        };
    let zero = "0".repeat(64);
    let viewer = "https://cas-viewer.appspot.com";
    assert_eq!(
        details(build),
        [
            "builder=build2 ".to_owned(),
            format!("isolate={zero}/7 {viewer}/{INSTANCE}/blobs/{zero}/7/tree"),
        ]
    );
    let left = "ab".repeat(32);
    assert_eq!(
        details(test),
        [
            "bot=build2 ".to_owned(),
            "task=t0-0 https://chrome-swarming.appspot.com/task?id=t0-0".to_owned(),
            format!("isolate={left}/9 {viewer}/{INSTANCE}/blobs/{left}/9/tree"),
        ]
    );
    assert!(values.completed && values.details.is_empty());
}

#[tokio::test]
async fn states_that_fail_are_compared_by_their_failures() {
    let answers = searched(5).await;
    let request = request();
    let shown = converted(&answers, &request);
    let failed = shown.state.last().unwrap();
    assert!(failed.values.is_empty());
    let test = &failed.attempts[0].executions[1];
    assert!(!test.completed);
    assert_eq!(test.exception, "it crashed");
    let isolate = &test.details[2];
    assert_eq!((&*isolate.key, &*isolate.value), ("isolate", ""));
    let verdicts = shown
        .state
        .iter()
        .map(|state| &*state.comparisons.as_ref().unwrap().next);
    assert_eq!(verdicts.filter(|next| *next == "different").count(), 1);
}

#[tokio::test]
async fn a_word_that_is_not_of_its_form_is_named() {
    type Change = fn(&mut ScheduleBisectRequest);
    let answers = searched(99).await;
    let changes: [(Change, &str); 3] = [
        (
            |it| it.initial_attempt_count = "many".into(),
            "initial_attempt_count",
        ),
        (
            |it| it.comparison_magnitude = "inf".into(),
            "comparison_magnitude",
        ),
        (|it| it.tags = "[1]".into(), "tags"),
    ];
    for (change, field) in changes {
        let mut wrong = request();
        change(&mut wrong);
        let error = legacy(&wrong).response(&answers).unwrap_err();
        assert_eq!(error.field, field);
    }
}

#[tokio::test]
async fn what_is_written_back_has_zeros_under_both_names() {
    let answers = searched(99).await;
    let request = request();
    let mut shown = converted(&answers, &request);
    shown.improvement_direction = 0;
    shown.difference_count = 0;
    let body = write_back_body(&shown).unwrap();
    for (name, expected) in [
        ("improvement_direction", json!(0)),
        ("improvementDirection", json!(0)),
        ("difference_count", json!(0)),
        ("differenceCount", json!(0)),
        (
            "created",
            json!({"seconds": 1_700_000_000, "nanos": 500_000_000}),
        ),
        ("updated", json!({"seconds": 1_700_000_100, "nanos": 0})),
        ("job_id", json!("0199")),
        ("status", Value::Null),
        ("started_time", Value::Null),
    ] {
        assert_eq!(body[name], expected, "{name}");
    }
    assert_eq!(body["arguments"]["tags"]["aTag"], "x");
    assert_eq!(body["arguments"]["initial_attempt_count"], 20);
    let state = &body["state"][0];
    assert_eq!(
        state["change"]["commits"][0]["created"]["seconds"],
        1_787_310_522
    );
    assert_eq!(state["attempts"][0]["result_values"][0], 10.0);
}

#[tokio::test]
async fn what_catapult_would_not_store_is_not_sent() {
    type Change = fn(&mut LegacyJobResponse);
    let answers = searched(99).await;
    let request = request();
    let changes: [(Change, &str); 4] = [
        (|it| it.created = None, "created"),
        (|it| it.updated = None, "updated"),
        (
            |it| it.arguments.as_mut().unwrap().comparison_mode.clear(),
            "arguments.comparison_mode",
        ),
        (
            |it| it.state[1].change.as_mut().unwrap().commits[0].created = None,
            "state[1].change.commits[0].created",
        ),
    ];
    for (change, field) in changes {
        let mut shown = converted(&answers, &request);
        change(&mut shown);
        assert_eq!(write_back_body(&shown).unwrap_err().0, field);
    }
}

/// Every commit is slower than the one before.
struct Stairs;

#[async_trait]
impl InProcess for Stairs {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let count = number(&request.higher) - number(&request.lower) - 1;
        Ok(Listing::new(request, count))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        Numbers { fails_from: 99 }.build(request).await
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let stairs = 10.0 * number(&request.variant.commit) as f64;
        let time = stairs + 0.01 * f64::from(request.index % 7);
        Ok(RunReport::new(1).value("time", time))
    }
}

/// `cargo test --release -p pinpoint-core-tests --all-features --test library -- --ignored
/// --nocapture job_of_40_states` measures the conversion, which is to take 50 ms.
#[tokio::test]
#[ignore = "measures"]
async fn a_job_of_40_states_and_6400_runs_converts() {
    let spec = BisectionSpec {
        attempts: Some(160),
        range: Range::Between {
            good: named(0),
            bad: named(39),
        },
        ..spec()
    };
    let mut journal = MemoryJournal::new("job");
    let machine = JobMachine::new(spec).unwrap();
    let never = std::future::pending();
    let clock = Numbers { fails_from: 99 };
    let driven = drive(machine.clone(), &Stairs, &mut journal, &clock, never);
    driven.await.unwrap();
    let job = JobKey {
        id: "job".into(),
        created: 0,
    };
    let answers = Answers::of(job, machine, journal.records);
    let request = request();
    let began = std::time::Instant::now();
    let shown = converted(&answers, &request);
    let body = write_back_body(&shown).unwrap();
    let took = began.elapsed();
    assert_eq!(shown.state.len(), 40);
    let runs: usize = shown.state.iter().map(|state| state.attempts.len()).sum();
    println!("{runs} runs, {} bytes: {took:?}", body.to_string().len());
}

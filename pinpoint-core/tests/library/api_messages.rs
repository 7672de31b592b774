//! Every message on the wire and as JSON, written down by hand: names and
//! numbers are a contract with clients that exist.

// Clippy's exception for tests knows functions marked as tests only, not their helpers.
#![allow(clippy::unwrap_used)]

use std::fmt::Debug;

use pinpoint_core::api::*;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The message has these bytes and this JSON, is read from both, and also when both hold unknown
/// fields.
#[track_caller]
fn check<M>(message: M, bytes: &[u8], json: Value)
where
    M: Message + Default + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
{
    assert_eq!(message.encode_to_vec(), bytes, "{message:?}");
    assert_eq!(M::decode(bytes).unwrap(), message);
    // Field 1000, of a wire type that holds bytes.
    let unknown = [bytes, b"\xc2\x3e\x03new"].concat();
    assert_eq!(M::decode(&unknown[..]).unwrap(), message);

    assert_eq!(serde_json::to_value(&message).unwrap(), json);
    assert_eq!(from_json::<M>(&json.to_string()).unwrap(), message);
    let mut more = json;
    surround(&mut more);
    assert_eq!(from_json::<M>(&more.to_string()).unwrap(), message);

    assert_eq!(M::decode(&[][..]).unwrap(), M::default());
    assert_eq!(from_json::<M>("{}").unwrap(), M::default());
    assert_eq!(serde_json::to_value(M::default()).unwrap(), json!({}));
}

/// Puts a field that no message has into every object, maps of strings aside.
fn surround(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(surround);
            if !members.contains_key("a tag") && !members.contains_key("a chart") {
                members.insert("unheardOf".into(), json!([{ "deep": null }]));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(surround),
        _ => {}
    }
}

fn commit() -> (Commit, &'static [u8], Value) {
    (
        Commit {
            git_hash: "1".into(),
            repository: "2".into(),
            url: "3".into(),
            author: "4".into(),
            created: Some(Timestamp {
                seconds: 300,
                nanos: 5_000_000,
            }),
            subject: "6".into(),
            message: "7".into(),
            commit_branch: "8".into(),
            commit_position: 300,
            review_url: "10".into(),
            change_id: "11".into(),
        },
        b"\x0a\x011\x12\x012\x1a\x013\x22\x014\
          \x2a\x08\x08\xac\x02\x10\xc0\x96\xb1\x02\
          \x32\x016\x3a\x017\x42\x018\x48\xac\x02\x52\x0210\x5a\x0211",
        json!({
            "gitHash": "1", "repository": "2", "url": "3", "author": "4",
            "created": "1970-01-01T00:05:00.005Z", "subject": "6", "message": "7",
            "commitBranch": "8", "commitPosition": 300, "reviewUrl": "10", "changeId": "11",
        }),
    )
}

/// A commit of which only the hash is known, as a state.
fn state(hash: &str) -> CombinedCommit {
    CombinedCommit {
        main: Some(Commit {
            git_hash: hash.into(),
            ..Commit::default()
        }),
        ..CombinedCommit::default()
    }
}

#[test]
fn schedule_bisect_request() {
    check(
        ScheduleBisectRequest {
            comparison_mode: "a".into(),
            start_git_hash: "b".into(),
            end_git_hash: "c".into(),
            configuration: "d".into(),
            benchmark: "e".into(),
            story: "f".into(),
            chart: "g".into(),
            statistic: "h".into(),
            comparison_magnitude: "i".into(),
            pin: "j".into(),
            project: "k".into(),
            bug_id: "l".into(),
            user: "m".into(),
            aggregation_method: "n".into(),
            story_tags: "o".into(),
            initial_attempt_count: "p".into(),
            tags: "q".into(),
            improvement_direction: "r".into(),
            extra_args: "s".into(),
        },
        b"\x0a\x01a\x12\x01b\x1a\x01c\x22\x01d\x2a\x01e\x32\x01f\x3a\x01g\x42\x01h\x4a\x01i\
          \x52\x01j\x5a\x01k\x62\x01l\x6a\x01m\x72\x01n\x7a\x01o\x82\x01\x01p\x8a\x01\x01q\
          \x92\x01\x01r\x9a\x01\x01s",
        json!({
            "comparisonMode": "a", "startGitHash": "b", "endGitHash": "c", "configuration": "d",
            "benchmark": "e", "story": "f", "chart": "g", "statistic": "h",
            "comparisonMagnitude": "i", "pin": "j", "project": "k", "bugId": "l", "user": "m",
            "aggregationMethod": "n", "storyTags": "o", "initialAttemptCount": "p", "tags": "q",
            "improvementDirection": "r", "extraArgs": "s",
        }),
    );
}

#[test]
fn schedule_pairwise_request() {
    let build = |hash: &str| CasReference {
        cas_instance: String::new(),
        digest: Some(cas_reference::Digest {
            hash: hash.into(),
            size_bytes: 0,
        }),
    };
    check(
        SchedulePairwiseRequest {
            start_commit: Some(state("a")),
            end_commit: Some(state("b")),
            configuration: "c".into(),
            benchmark: "d".into(),
            story: "e".into(),
            chart: "f".into(),
            aggregation_method: "g".into(),
            target: "h".into(),
            project: "i".into(),
            bug_id: "j".into(),
            initial_attempt_count: "k".into(),
            improvement_direction: "l".into(),
            start_build: Some(build("m")),
            end_build: Some(build("n")),
            story_tags: "o".into(),
            user_email: "p".into(),
            job_name: "q".into(),
            base_extra_args: "r".into(),
            experiment_extra_args: "s".into(),
        },
        b"\x0a\x05\x0a\x03\x0a\x01a\x12\x05\x0a\x03\x0a\x01b\x1a\x01c\x22\x01d\x2a\x01e\x32\x01f\
          \x3a\x01g\x42\x01h\x4a\x01i\x52\x01j\x5a\x01k\x62\x01l\x6a\x05\x12\x03\x0a\x01m\
          \x72\x05\x12\x03\x0a\x01n\x7a\x01o\x82\x01\x01p\x8a\x01\x01q\x92\x01\x01r\x9a\x01\x01s",
        json!({
            "startCommit": { "main": { "gitHash": "a" } },
            "endCommit": { "main": { "gitHash": "b" } },
            "bot_name": "c", "benchmark": "d", "story": "e", "measurement": "f",
            "aggregationMethod": "g", "target": "h", "project": "i", "bugId": "j",
            "initialAttemptCount": "k", "improvement_dir": "l",
            "startBuild": { "digest": { "hash": "m" } },
            "endBuild": { "digest": { "hash": "n" } },
            "storyTags": "o", "userEmail": "p", "jobName": "q", "baseExtraArgs": "r",
            "experimentExtraArgs": "s",
        }),
    );
}

#[test]
fn schedule_culprit_finder_request() {
    check(
        ScheduleCulpritFinderRequest {
            start_git_hash: "a".into(),
            end_git_hash: "b".into(),
            configuration: "c".into(),
            benchmark: "d".into(),
            story: "e".into(),
            chart: "f".into(),
            statistic: "g".into(),
            aggregation_method: "h".into(),
            improvement_direction: "i".into(),
            comparison_magnitude: "j".into(),
            bug_id: "k".into(),
        },
        b"\x0a\x01a\x12\x01b\x1a\x01c\x22\x01d\x2a\x01e\x32\x01f\x3a\x01g\x42\x01h\x4a\x01i\
          \x52\x01j\x5a\x01k",
        json!({
            "startGitHash": "a", "endGitHash": "b", "bot_name": "c", "benchmark": "d",
            "story": "e", "measurement": "f", "statistic": "g", "aggregationMethod": "h",
            "improvement_dir": "i", "comparisonMagnitude": "j", "bugId": "k",
        }),
    );
}

#[test]
fn commits_and_what_is_laid_on_top() {
    let (message, bytes, json) = commit();
    check(message, bytes, json);
    check(
        CombinedCommit {
            modified_deps: vec![Commit {
                git_hash: "b".into(),
                ..Commit::default()
            }],
            patch: Some(GerritChange {
                host: "c".into(),
                ..GerritChange::default()
            }),
            ..state("a")
        },
        b"\x0a\x03\x0a\x01a\x12\x03\x0a\x01b\x1a\x03\x0a\x01c",
        json!({
            "main": { "gitHash": "a" },
            "modifiedDeps": [{ "gitHash": "b" }],
            "patch": { "host": "c" },
        }),
    );
    check(
        GerritChange {
            host: "a".into(),
            project: "b".into(),
            change: 5_000_000_000,
            patchset: 3,
            patchset_hash: "e".into(),
        },
        b"\x0a\x01a\x12\x01b\x18\x80\xe4\x97\xd0\x12\x20\x03\x2a\x01e",
        json!({
            "host": "a", "project": "b", "change": "5000000000", "patchset": "3",
            "patchsetHash": "e",
        }),
    );
    check(
        CasReference {
            cas_instance: "a".into(),
            digest: Some(cas_reference::Digest {
                hash: "b".into(),
                size_bytes: i64::MAX,
            }),
        },
        b"\x0a\x01a\x12\x0d\x0a\x01b\x10\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        json!({ "casInstance": "a", "digest": { "hash": "b", "sizeBytes": "9223372036854775807" } }),
    );
}

#[test]
fn executions() {
    check(
        BisectExecution {
            job_id: "a".into(),
            culprits: vec![state("b"), state("c")],
            detailed_culprits: vec![Culprit {
                prior: Some(state("d")),
                culprit: Some(state("e")),
            }],
        },
        b"\x0a\x01a\x12\x05\x0a\x03\x0a\x01b\x12\x05\x0a\x03\x0a\x01c\
          \x1a\x0e\x0a\x05\x0a\x03\x0a\x01d\x12\x05\x0a\x03\x0a\x01e",
        json!({
            "jobId": "a",
            "culprits": [{ "main": { "gitHash": "b" } }, { "main": { "gitHash": "c" } }],
            "detailedCulprits": [{
                "prior": { "main": { "gitHash": "d" } },
                "culprit": { "main": { "gitHash": "e" } },
            }],
        }),
    );
    let pairwise = PairwiseExecution {
        job_id: "a".into(),
        results: [(
            "a chart".into(),
            pairwise_execution::WilcoxonResult {
                p_value: 0.5,
                confidence_interval_lower: -1.0,
                confidence_interval_higher: 2.0,
                control_median: 3.0,
                treatment_median: 4.0,
                significant: true,
            },
        )]
        .into(),
        left_swarming_status: vec![SwarmingTaskStatus {
            task_id: "b".into(),
            status: SwarmingStatus::BenchmarkFailure.into(),
        }],
        right_swarming_status: vec![SwarmingTaskStatus {
            task_id: "c".into(),
            status: SwarmingStatus::Running.into(),
        }],
        culprit_candidate: Some(state("d")),
    };
    let bytes = b"\x12\x01a\
          \x2a\x3a\x0a\x07a chart\x12\x2f\x09\0\0\0\0\0\0\xe0\x3f\x11\0\0\0\0\0\0\xf0\xbf\
          \x19\0\0\0\0\0\0\0\x40\x21\0\0\0\0\0\0\x08\x40\x29\0\0\0\0\0\0\x10\x40\x30\x01\
          \x32\x05\x0a\x01b\x10\x02\x3a\x05\x0a\x01c\x10\x04\x42\x05\x0a\x03\x0a\x01d";
    let json = json!({
        "jobId": "a",
        "results": { "a chart": {
            "pValue": 0.5, "confidenceIntervalLower": -1.0, "confidenceIntervalHigher": 2.0,
            "controlMedian": 3.0, "treatmentMedian": 4.0, "significant": true,
        } },
        "leftSwarmingStatus": [{ "taskId": "b", "status": "BENCHMARK_FAILURE" }],
        "rightSwarmingStatus": [{ "taskId": "c", "status": "RUNNING" }],
        "culpritCandidate": { "main": { "gitHash": "d" } },
    });
    check(pairwise.clone(), bytes, json);
    check(
        QueryPairwiseResponse {
            status: PairwiseJobStatus::Completed.into(),
            execution: Some(PairwiseExecution {
                job_id: "a".into(),
                ..PairwiseExecution::default()
            }),
        },
        b"\x08\x02\x12\x03\x12\x01a",
        json!({ "status": "PAIRWISE_JOB_STATUS_COMPLETED", "execution": { "jobId": "a" } }),
    );
    check(
        CulpritFinderExecution {
            job_id: "a".into(),
            regression_verified: true,
            culprits: vec![state("b")],
        },
        b"\x0a\x01a\x10\x01\x1a\x05\x0a\x03\x0a\x01b",
        json!({
            "jobId": "a", "regressionVerified": true,
            "culprits": [{ "main": { "gitHash": "b" } }],
        }),
    );
}

#[test]
fn queries_and_the_end_of_a_job() {
    let job_id = || "a".to_owned();
    let (bytes, json) = (b"\x0a\x01a", || json!({ "jobId": "a" }));
    check(QueryBisectRequest { job_id: job_id() }, bytes, json());
    check(QueryPairwiseRequest { job_id: job_id() }, bytes, json());
    check(LegacyJobRequest { job_id: job_id() }, bytes, json());
    check(
        CancelJobRequest {
            job_id: job_id(),
            reason: "b".into(),
        },
        b"\x0a\x01a\x12\x01b",
        json!({ "jobId": "a", "reason": "b" }),
    );
    check(
        CancelJobResponse {
            job_id: job_id(),
            state: "b".into(),
        },
        b"\x0a\x01a\x12\x01b",
        json!({ "jobId": "a", "state": "b" }),
    );
    check(
        CulpritProcessingCallbackParams {
            anomaly_group_id: "a".into(),
            culprit_service_url: "b".into(),
            temporal_task_queue_name: "c".into(),
        },
        b"\x0a\x01a\x12\x01b\x1a\x01c",
        json!({
            "anomalyGroupId": "a", "culpritServiceUrl": "b", "temporalTaskQueueName": "c",
        }),
    );
}

#[test]
fn legacy_job_response() {
    use legacy_job_response::*;
    let moment = |seconds| Some(Timestamp { seconds, nanos: 0 });
    check(
        LegacyJobResponse {
            job_id: "a".into(),
            configuration: "b".into(),
            results_url: "c".into(),
            improvement_direction: 4,
            arguments: Some(Argument {
                comparison_mode: "a".into(),
                target: "b".into(),
                start_git_hash: "c".into(),
                end_git_hash: "d".into(),
                trace: "e".into(),
                tags: [("a tag".into(), "f".into())].into(),
                initial_attempt_count: 7,
                configuration: "h".into(),
                benchmark: "i".into(),
                story: "j".into(),
                story_tags: "k".into(),
                chart: "l".into(),
                statistic: "m".into(),
                comparison_magnitude: 1.0,
                extra_test_args: "o".into(),
                pin: "p".into(),
                project: "q".into(),
                bug_id: "r".into(),
                batch_id: "s".into(),
            }),
            bug_id: "f".into(),
            project: "g".into(),
            comparison_mode: "h".into(),
            name: "i".into(),
            user: "j".into(),
            created: moment(1),
            updated: moment(2),
            started_time: moment(3),
            difference_count: 14,
            exception: "o".into(),
            status: "p".into(),
            cancel_reason: "q".into(),
            batch_id: "r".into(),
            bots: vec!["s".into(), "S".into()],
            metric: "t".into(),
            quests: vec!["u".into()],
            state: vec![State {
                change: Some(state::Change {
                    commits: vec![Commit {
                        git_hash: "a".into(),
                        ..Commit::default()
                    }],
                }),
                attempts: vec![state::Attempt {
                    executions: vec![state::attempt::Execution {
                        completed: true,
                        exception: "b".into(),
                        details: vec![state::attempt::execution::Detail {
                            key: "c".into(),
                            value: "d".into(),
                            url: "e".into(),
                        }],
                    }],
                    result_values: vec![0.5],
                }],
                comparisons: Some(state::Comparison {
                    next: "f".into(),
                    prev: "g".into(),
                }),
                values: vec![1.0, 2.0],
            }],
            skia_workflow_url: "w".into(),
        },
        b"\x0a\x01a\x12\x01b\x1a\x01c\x20\x04\
          \x2a\x4b\x0a\x01a\x12\x01b\x1a\x01c\x22\x01d\x2a\x01e\x32\x0a\x0a\x05a tag\x12\x01f\
          \x38\x07\x42\x01h\x4a\x01i\x52\x01j\x5a\x01k\x62\x01l\x6a\x01m\
          \x71\0\0\0\0\0\0\xf0\x3f\x7a\x01o\x82\x01\x01p\x8a\x01\x01q\x92\x01\x01r\x9a\x01\x01s\
          \x32\x01f\x3a\x01g\x42\x01h\x4a\x01i\x52\x01j\x5a\x02\x08\x01\x62\x02\x08\x02\
          \x6a\x02\x08\x03\x70\x0e\x7a\x01o\x82\x01\x01p\x8a\x01\x01q\x92\x01\x01r\
          \x9a\x01\x01s\x9a\x01\x01S\xa2\x01\x01t\xaa\x01\x01u\
          \xb2\x01\x3f\x0a\x05\x0a\x03\x0a\x01a\
          \x12\x1c\x0a\x10\x08\x01\x12\x01b\x1a\x09\x0a\x01c\x12\x01d\x1a\x01e\
          \x12\x08\0\0\0\0\0\0\xe0\x3f\
          \x1a\x06\x0a\x01f\x12\x01g\x22\x10\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40\
          \xba\x01\x01w",
        json!({
            "jobId": "a", "configuration": "b", "resultsUrl": "c", "improvementDirection": 4,
            "arguments": {
                "comparisonMode": "a", "target": "b", "startGitHash": "c", "endGitHash": "d",
                "trace": "e", "tags": { "a tag": "f" }, "initialAttemptCount": 7,
                "configuration": "h", "benchmark": "i", "story": "j", "storyTags": "k",
                "chart": "l", "statistic": "m", "comparisonMagnitude": 1.0,
                "extraTestArgs": "o", "pin": "p", "project": "q", "bugId": "r", "batchId": "s",
            },
            "bugId": "f", "project": "g", "comparisonMode": "h", "name": "i", "user": "j",
            "created": "1970-01-01T00:00:01Z", "updated": "1970-01-01T00:00:02Z",
            "startedTime": "1970-01-01T00:00:03Z", "differenceCount": 14, "exception": "o",
            "status": "p", "cancelReason": "q", "batchId": "r", "bots": ["s", "S"],
            "metric": "t", "quests": ["u"],
            "state": [{
                "change": { "commits": [{ "gitHash": "a" }] },
                "attempts": [{
                    "executions": [{
                        "completed": true, "exception": "b",
                        "details": [{ "key": "c", "value": "d", "url": "e" }],
                    }],
                    "resultValues": [0.5],
                }],
                "comparisons": { "next": "f", "prev": "g" },
                "values": [1.0, 2.0],
            }],
            "skiaWorkflowUrl": "w",
        }),
    );
}

#[test]
fn enums_by_name_and_number() {
    let statuses = [
        (SwarmingStatus::Unspecified, "UNSPECIFIED"),
        (SwarmingStatus::Completed, "COMPLETED"),
        (SwarmingStatus::BenchmarkFailure, "BENCHMARK_FAILURE"),
        (SwarmingStatus::Failure, "FAILURE"),
        (SwarmingStatus::Running, "RUNNING"),
    ];
    for (number, (status, name)) in (0..).zip(statuses) {
        assert_eq!((status as i32, status.as_str_name()), (number, name));
        assert_eq!(serde_json::to_value(status).unwrap(), name);
    }
    let statuses = [
        (PairwiseJobStatus::Unspecified, "UNSPECIFIED"),
        (PairwiseJobStatus::Running, "RUNNING"),
        (PairwiseJobStatus::Completed, "COMPLETED"),
        (PairwiseJobStatus::Failed, "FAILED"),
        (PairwiseJobStatus::Canceled, "CANCELED"),
    ];
    for (number, (status, name)) in (0..).zip(statuses) {
        let name = format!("PAIRWISE_JOB_STATUS_{name}");
        assert_eq!((status as i32, status.as_str_name()), (number, &*name));
        assert_eq!(serde_json::to_value(status).unwrap(), name);
        let text = format!(r#"{{ "status": {number} }}"#);
        let read: QueryPairwiseResponse = from_json(&text).unwrap();
        assert_eq!(read.status(), status);
    }
    let newer = r#"{ "status": "PAIRWISE_JOB_STATUS_PAUSED", "execution": { "jobId": "a" } }"#;
    let read: QueryPairwiseResponse = from_json(newer).unwrap();
    assert_eq!(read.status(), PairwiseJobStatus::Unspecified);
    assert_eq!(read.execution.unwrap().job_id, "a");
    let newer = r#"{ "leftSwarmingStatus": [{ "taskId": "b", "status": "NEWER" }] }"#;
    let read: PairwiseExecution = from_json(newer).unwrap();
    assert_eq!(
        read.left_swarming_status[0].status(),
        SwarmingStatus::Unspecified
    );
}

#[test]
fn names_of_the_proto_file_numbers_for_strings_and_null() {
    let read: SchedulePairwiseRequest = from_json(
        r#"{
            "configuration": "c", "chart": null, "improvement_direction": "Up",
            "start_commit": { "main": null, "patch": { "change": 12, "patchset": "3" } },
            "end_commit": null
        }"#,
    )
    .unwrap();
    let patch = GerritChange {
        change: 12,
        patchset: 3,
        ..GerritChange::default()
    };
    let expected = SchedulePairwiseRequest {
        configuration: "c".into(),
        improvement_direction: "Up".into(),
        start_commit: Some(CombinedCommit {
            patch: Some(patch),
            ..CombinedCommit::default()
        }),
        ..SchedulePairwiseRequest::default()
    };
    assert_eq!(read, expected);
}

#[test]
fn what_is_no_such_message_is_refused() {
    for text in [
        "",
        "[]",
        r#"{ "job_id": 5 }"#,
        r#"{ "jobId": "a", "job_id": "b" }"#,
        r#"{ "jobId": "a" "#,
    ] {
        let read = from_json::<CancelJobRequest>(text);
        assert!(read.is_err(), "{text}: {read:?}");
    }
    let read = from_json::<Commit>(r#"{ "created": "yesterday" }"#).unwrap_err();
    assert!(read.to_string().contains("2024-02-29T12:00:00Z"), "{read}");
    // A length beyond the end.
    assert!(CancelJobRequest::decode(&b"\x0a\x05a"[..]).is_err());
}

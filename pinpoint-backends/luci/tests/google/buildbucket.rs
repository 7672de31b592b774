//! Our client of Buildbucket, against Buildbucket's own handlers.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use pinpoint_backends::buildbucket::{
    Build, BuildPlan, BuildStatus, Buildbucket, BuilderId, GerritChange, build_of,
};
use pinpoint_backends::google::{Client, TokenSource, Tokens, Web};
use pinpoint_core::{CombinedCommit, Commit, ModifiedDependency, Patch};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::programs::Serving;

const SRC: &str = "https://chromium.googlesource.com/chromium/src";
const TARGET: &str = "performance_test_suite";

/// A moment after all of the builds, in milliseconds since 1970.
const NOW: u64 = 1_790_000_000_000;
const ENDED: &str = "2026-09-20T00:00:00Z";

fn commit(hash: &str) -> CombinedCommit {
    Commit::new(SRC, hash.repeat(20)).into()
}

fn patched(hash: &str) -> CombinedCommit {
    let patch = Patch::Gerrit {
        host: "chromium-review.googlesource.com".into(),
        project: "chromium/src".into(),
        change: 7,
        patchset: 2,
        hash: None,
    };
    CombinedCommit {
        patch: Some(patch),
        ..commit(hash)
    }
}

fn rolled(hash: &str) -> CombinedCommit {
    let dependency = Commit::new("https://chromium.googlesource.com/v8/v8", "d1".repeat(20));
    let mut commit = commit(hash);
    commit.modified_deps.push(ModifiedDependency {
        commit: dependency,
        named_by: SRC.into(),
    });
    commit
}

fn builder() -> BuilderId {
    BuilderId::new("luci.chrome.try", "Linux Builder Perf").unwrap()
}

/// A build in Buildbucket's own form, requested as this plan says.
fn build(id: i64, commit: &CombinedCommit, key: &str, status: &str) -> Value {
    let plan = BuildPlan::new(commit).unwrap();
    let asked = json!(plan.schedule(&builder(), "job", key, "id"));
    let mut tags = asked["tags"].as_array().unwrap().clone();
    // Buildbucket adds one for each change.
    for GerritChange {
        host,
        change,
        patchset,
        ..
    } in &plan.changes
    {
        let value = format!("patch/gerrit/{host}/{change}/{patchset}");
        tags.push(json!({"key": "buildset", "value": value}));
    }
    let mut build = json!({
        "id": id.to_string(),
        "builder": asked["builder"],
        "number": 3,
        "status": status,
        "createTime": "2026-09-19T23:00:00Z",
        "tags": tags,
        "input": {
            "properties": asked["properties"],
            "gerritChanges": plan.changes,
            "gitilesCommit": asked["gitilesCommit"],
        },
    });
    if status == "SUCCESS" {
        build["endTime"] = json!(ENDED);
        let property = "swarm_hashes_refs/heads/main(at){#7}_without_patch";
        build["output"] = json!({"properties": {property: {TARGET: "ab/12"}}});
    }
    build
}

/// The handlers over these builds, and the file that holds them.
fn serving(builds: &[Value]) -> (Serving, NamedTempFile) {
    let mut file = NamedTempFile::new().unwrap();
    for build in builds {
        writeln!(file, "{build}").unwrap();
    }
    let served = Serving::start("buildbucket", &[file.path().to_str().unwrap()]);
    (served, file)
}

fn client(handlers: &Serving, tokens: &str) -> Buildbucket {
    let web = Arc::new(Web::new().unwrap());
    let source: TokenSource = tokens.parse().unwrap();
    let tokens = Tokens::new(source, &["scope"], web.clone());
    let client = Client::new("Buildbucket", &handlers.address, tokens, web);
    Buildbucket::new(client.unwrap())
}

const SIGNED_IN: &str = "command:echo token";

fn ids(builds: &[Build]) -> Vec<i64> {
    builds.iter().map(|build| build.id).collect()
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn builds_of_the_same_are_found_newest_first() {
    // Later builds have lower ids. There are more of the first commit than of a page.
    let mut builds: Vec<Value> = (1000..1250)
        .map(|id| build(id, &commit("a1"), &format!("job/{id}"), "FAILURE"))
        .collect();
    builds.extend([
        build(1300, &commit("a1"), "job/1300", "SUCCESS"),
        build(900, &rolled("a1"), "job/900", "SUCCESS"),
        build(901, &patched("a1"), "job/901", "SCHEDULED"),
        build(902, &commit("b2"), "job/902", "SUCCESS"),
    ]);
    let (handlers, _file) = serving(&builds);
    let client = client(&handlers, SIGNED_IN);
    let search = async |commit: &CombinedCommit| {
        let plan = BuildPlan::new(commit).unwrap();
        let found = client.search(&plan.search(&builder())).await.unwrap();
        let fits = build_of(&plan, TARGET, &found, NOW).map(|build| build.id);
        (ids(&found), fits)
    };

    let (found, fits) = search(&commit("a1")).await;
    let expected: Vec<i64> = (900..902).chain(1000..1250).chain([1300]).collect();
    assert_eq!((found, fits), (expected, Some(1300)));
    assert_eq!(search(&rolled("a1")).await.1, Some(900));
    assert_eq!(search(&patched("a1")).await.0, [901]);
    assert_eq!(search(&commit("b2")).await, (vec![902], Some(902)));
    assert_eq!(search(&commit("c3")).await, (Vec::new(), None));
    let asked_for = client.asked_for(&builder(), "job/1007").await.unwrap();
    assert_eq!(ids(&asked_for), [1007]);
    assert_eq!(client.asked_for(&builder(), "job/1").await.unwrap(), []);
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn a_build_is_shown_as_it_is() {
    let (handlers, _file) = serving(&[
        build(900, &patched("a1"), "job/900", "SCHEDULED"),
        build(902, &rolled("a1"), "job/902", "SUCCESS"),
    ]);
    let client = client(&handlers, SIGNED_IN);
    let waits = client.get(900).await.unwrap();
    assert_eq!(waits.status, BuildStatus::Scheduled);
    let changes = BuildPlan::new(&patched("a1")).unwrap().changes;
    assert_eq!(waits.input.gerrit_changes, changes);
    let mut made = client.get(902).await.unwrap();
    made.tags.sort();
    let mut expected: Build =
        serde_json::from_value(build(902, &rolled("a1"), "job/902", "SUCCESS")).unwrap();
    expected.tags.sort();
    assert_eq!(made, expected);
    assert!(client.get(7).await.unwrap_err().is_not_found());
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn a_build_is_canceled() {
    let (handlers, _file) = serving(&[
        build(900, &commit("a1"), "job/900", "STARTED"),
        build(902, &commit("a1"), "job/902", "SUCCESS"),
    ]);
    let client = client(&handlers, SIGNED_IN);
    let reason = "Pinpoint does not need it any more.";
    let mut build = client.cancel(900, reason).await.unwrap();
    assert_eq!(build.status, BuildStatus::Started);
    // Canceling twice has the effect of once.
    client.cancel(900, reason).await.unwrap();
    while !build.status.is_final() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        build = client.get(900).await.unwrap();
    }
    assert_eq!(build.status, BuildStatus::Canceled);
    assert!(build.summary_markdown.contains(reason), "{build:?}");
    let ended = client.cancel(902, reason).await.unwrap();
    assert_eq!(ended.status, BuildStatus::Success);
    assert!(client.cancel(7, reason).await.unwrap_err().is_not_found());
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn a_caller_without_the_right_is_told_so() {
    let (handlers, _file) = serving(&[build(900, &commit("a1"), "job/900", "STARTED")]);
    let client = client(&handlers, "none");
    let plan = BuildPlan::new(&commit("a1")).unwrap();
    let errors = [
        client.search(&plan.search(&builder())).await.unwrap_err(),
        client.get(900).await.unwrap_err(),
        client.cancel(900, "why").await.unwrap_err(),
    ];
    for error in errors {
        assert!(!error.is_transient(), "{error}");
        assert!(error.to_string().contains("permission"), "{error}");
    }
}

//! Reports on jobs.

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use http::Request;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use pinpoint_backends::job::{CommandLine, JobConfig, JobRequest, TakenJob, Worker};
use pinpoint_backends::local::note_session;
use pinpoint_backends::store::{JobId, NewJob};
use pinpoint_core::job::ResultSource;
use pinpoint_core::{
    BuildReport, BuildRequest, CombinedCommit, Commit, ExecutorError, InProcess, Located,
    PairwiseSpec, RunReport, RunRequest, Variant,
};
use serde_json::json;

use crate::v2::{bisection, id_of};
use crate::world::World;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\" onload='x'\u{202e}\u{0}";

/// Runs in which each side has different values.
struct Hostile;

#[async_trait]
impl InProcess for Hostile {
    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        match &request.commit {
            Located::Commit(commit) => Ok(BuildReport::built(commit.clone())),
            Located::Offset { .. } => Err(ExecutorError::Refused("no range".into())),
        }
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let level = match request.variant.commit.main.git_hash.as_str() {
            "a" => 10.0,
            _ => 12.0,
        };
        let noise = f64::from(request.index * 7 % 11);
        Ok(RunReport::new(0).value(HOSTILE, level + 0.01 * noise))
    }
}

#[async_trait]
impl ResultSource for Hostile {}

/// A comparison that this process has carried out, in a directory that is gone.
async fn compared(world: &World) -> JobId {
    let side = |hash| {
        let mut commit = Commit::new(HOSTILE, hash);
        commit.subject = Some(HOSTILE.into());
        Variant::from(CombinedCommit::from(commit))
    };
    let spec = PairwiseSpec {
        pairs: 10,
        chart: Some(HOSTILE.into()),
        ..PairwiseSpec::new(side("a"), side("b"))
    };
    let job = NewJob {
        title: HOSTILE.into(),
        ..JobRequest::new(spec, JobConfig::default())
            .into_job()
            .unwrap()
    };
    let id = world.store.jobs().create(&job).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    note_session(directory.path(), None).unwrap();
    let taken = TakenJob::take(&world.store, &id, "test", directory.path()).await;
    let taken = taken.unwrap();
    let worker = Worker {
        executor: &Hostile,
        source: &Hostile,
    };
    let never = std::future::pending::<()>();
    taken.work(worker, never, |_, _| {}).await.unwrap();
    taken.release().await;
    id
}

fn path(id: &str) -> String {
    format!("/api/v2/jobs/{id}/report")
}

async fn html(world: &World, id: &str) -> String {
    let answer = world.get(&path(id)).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    answer.body.as_str().unwrap().to_owned()
}

/// A report without the parts in which two of the same job differ: the time at which it was
/// made, and the directory in which files stay.
fn lasting(html: &str) -> String {
    let (head, tail) = html.split_once("<footer>").unwrap();
    let rest = &tail[tail.find("</footer>").unwrap()..];
    let Some((head, tail)) = head.split_once("<p class=\"note\">The ends of all outputs") else {
        return head.to_owned() + rest;
    };
    let end = tail.find("</p>").unwrap() + "</p>".len();
    [head, &tail[end..], rest].concat()
}

#[tokio::test]
async fn a_report_is_the_file_that_the_command_line_writes() {
    let world = World::new("ada").await;
    let id = compared(&world).await;
    let request = Request::get(path(id.as_str())).body(Body::empty()).unwrap();
    let response = world.send(request).await;
    let headers = response.headers();
    assert_eq!(headers[CONTENT_TYPE], "text/html; charset=utf-8");
    let file = format!("attachment; filename=\"pinpoint-{id}.html\"");
    assert_eq!(headers[CONTENT_DISPOSITION], file);
    let policy = headers[CONTENT_SECURITY_POLICY]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let sent = String::from_utf8(body.to_vec()).unwrap();
    assert!(sent.contains(&policy));
    // The machine was noted in the directory of the process that had the job.
    assert!(sent.contains("kernel") && !sent.contains("The machine is not known"));
    assert!(
        !world
            .directory
            .path()
            .join("jobs")
            .join(id.as_str())
            .exists()
    );

    let directory = tempfile::tempdir().unwrap();
    let job = world.store.jobs().get(&id).await.unwrap();
    let state_dir = Some(directory.path());
    let written = pinpoint_report::report(&world.store, state_dir, job).await;
    let written = written.unwrap();
    assert!(written.contains("The ends of all outputs are in "));
    assert!(!sent.contains("The ends of all outputs are in "));
    assert_eq!(lasting(&sent), lasting(&written));
    assert!(sent.contains("moved") && sent.contains("<svg"), "{sent}");
}

#[tokio::test]
async fn a_report_is_sent_over_grpc() {
    let world = World::new("ada").await;
    let id = compared(&world).await;
    // Field 1, a text.
    let length = u8::try_from(id.as_str().len()).unwrap();
    let message = [&[10, length], id.as_str().as_bytes()].concat();
    let rpc = "pinpoint.v2.Pinpoint/GetReport";
    let response = world.call(rpc, &[], &message).await;
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8_lossy(&body);
    assert!(text.contains(&format!("pinpoint-{id}.html")) && text.contains("<!DOCTYPE html>"));
}

#[tokio::test]
async fn texts_of_others_are_text_in_a_report() {
    let world = World::new("ada").await;
    let id = compared(&world).await;
    let sent = html(&world, id.as_str()).await;
    assert!(sent.contains("&lt;img src=x onerror=alert(1)&gt;"));
    for unsafe_text in ["<img", "\" onload", "\u{202e}", "\0"] {
        assert!(!sent.contains(unsafe_text), "{unsafe_text:?}");
    }
}

#[tokio::test]
async fn a_job_that_has_not_begun_has_a_report() {
    let world = World::new("ada").await;
    let made = world.post("/api/v2/jobs", &bisection()).await.ok();
    let sent = html(&world, &id_of(&made)).await;
    assert!(sent.contains("This job has not started."), "{sent}");
    assert!(sent.contains("This report is not complete"));
    assert!(sent.contains("./bench small"));
}

#[tokio::test]
async fn a_report_on_nothing_is_not_found() {
    let world = World::new("ada").await;
    let absent = "0199f3c1-a2b3-7f0e-8d1c-2b3a49586776";
    world.get(&path(absent)).await.fails(404, 5);
}

#[tokio::test]
async fn a_report_that_is_too_large_is_not_sent() {
    let world = World::new("ada").await;
    let config = JobConfig {
        command_line: Some(CommandLine {
            words: vec!["x".repeat(33 << 20)],
            ends: None,
        }),
        ..JobConfig::default()
    };
    let side = |hash| Variant::from(CombinedCommit::from(Commit::new("app", hash)));
    let spec = PairwiseSpec::new(side("a"), side("b"));
    let job = JobRequest::new(spec, config).into_job().unwrap();
    let id = world.store.jobs().create(&job).await.unwrap();
    let refused = world.get(&path(id.as_str())).await;
    assert!(refused.body["message"].as_str().unwrap().contains("33 MiB"));
    refused.fails(400, 9);
}

#[tokio::test]
async fn a_report_is_described_as_a_page() {
    let world = World::new("ada").await;
    let described = world.get("/openapi.json").await.ok();
    let content = &described["paths"]["/api/v2/jobs/{job_id}/report"]["get"]["responses"]["200"];
    let page = json!({ "text/html; charset=utf-8": { "schema": { "type": "string" } } });
    assert_eq!(content["content"], page);
}

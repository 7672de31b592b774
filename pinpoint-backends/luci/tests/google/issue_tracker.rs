//! Comments on the issue tracker, against one on loopback that is strict and fails by seed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use pinpoint_backends::google::{Backoff, Secret, TokenSource, Tokens, Web};
use pinpoint_backends::issue_tracker::{CommentOutcome, IssueChange, IssueTracker, TrackerError};
use pinpoint_core::SplitMix64;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::server::{Arrived, Server};

const ISSUE: u64 = 330_000_001;

/// The tracker's reaction to a request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Does nothing, and reports a transient error.
    Unavailable,
    Busy,
    /// Carries out the request, but the answer is lost.
    Lost,
}

#[derive(Default)]
struct State {
    /// The newest first, as the tracker lists them.
    updates: Vec<Value>,
    status: Option<String>,
    hotlists: Vec<String>,
    faults: Vec<Fault>,
    requests: usize,
}

struct Tracker {
    web: Arc<Web>,
    server: Server,
    state: Arc<Mutex<State>>,
    arrived: Arc<Notify>,
}

/// Updates in a page, whatever size is asked for.
const PAGE: usize = 3;

fn refuse(problem: &str) -> Response {
    let error = json!({"error": {"code": 400, "message": problem, "status": "INVALID_ARGUMENT"}});
    (StatusCode::BAD_REQUEST, error.to_string()).into_response()
}

impl State {
    fn list(&self, query: &str) -> Response {
        let mut skip = 0;
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "pageSize" => assert!(value.parse::<usize>().unwrap() <= 500),
                "pageToken" => skip = value.strip_prefix("after ").unwrap().parse().unwrap(),
                _ => return refuse(&format!("unknown: {name}")),
            }
        }
        let page: Vec<_> = self.updates.iter().skip(skip).take(PAGE).collect();
        let mut answer = json!({"issueUpdates": page, "totalSize": self.updates.len()});
        if skip + PAGE < self.updates.len() {
            answer["nextPageToken"] = format!("after {}", skip + PAGE).into();
        }
        answer.to_string().into_response()
    }

    fn modify(&mut self, body: &[u8]) -> Response {
        let body: Value = serde_json::from_slice(body).unwrap();
        let mut mask = Vec::new();
        for (name, value) in body.as_object().unwrap() {
            match &**name {
                "issueComment" => {
                    let members: Vec<_> = value.as_object().unwrap().keys().collect();
                    assert_eq!(members, ["comment", "formattingMode"]);
                    assert_eq!(value["formattingMode"], "MARKDOWN");
                }
                "add" => mask.extend(value.as_object().unwrap().keys().cloned()),
                "addMask" => assert_eq!(
                    value.as_str().unwrap().split(',').count(),
                    body["add"].as_object().unwrap().len()
                ),
                _ => return refuse(&format!("unknown: {name}")),
            }
        }
        let named: Vec<_> = body["addMask"]
            .as_str()
            .unwrap_or_default()
            .split(',')
            .collect();
        for name in &mask {
            if !named.contains(&name.as_str()) {
                return refuse("add is not as addMask says");
            }
            match name.as_str() {
                "status" => self.status = Some(body["add"]["status"].as_str().unwrap().into()),
                "hotlistIds" => {
                    for id in body["add"]["hotlistIds"].as_array().unwrap() {
                        // 64 bits are text.
                        id.as_str().unwrap().parse::<i64>().unwrap();
                        self.hotlists.push(id.as_str().unwrap().into());
                    }
                }
                _ => return refuse(&format!("unknown: {name}")),
            }
        }
        let number = self.updates.len() + 1;
        self.add(number, body["issueComment"]["comment"].as_str().unwrap());
        json!({"issueId": ISSUE.to_string()})
            .to_string()
            .into_response()
    }

    fn add(&mut self, number: usize, comment: &str) {
        let update = json!({
            "author": {"emailAddress": "a@example.org"},
            "timestamp": "2026-01-31T12:30:00.5Z",
            "issueComment": {"comment": comment, "commentNumber": number, "issueId": ISSUE.to_string()},
        });
        self.updates.insert(0, update);
    }
}

impl Tracker {
    async fn start() -> Self {
        Self::reached_by(Arc::new(Web::new().unwrap())).await
    }

    async fn reached_by(web: Arc<Web>) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let arrived = Arc::new(Notify::new());
        let (shared, notify) = (state.clone(), arrived.clone());
        let server = Server::answering(move |request: &Arrived| {
            let mut state = shared.lock().unwrap();
            state.requests += 1;
            assert_eq!(request.header("x-goog-api-key"), "hidden-key");
            let fault = state.faults.pop().unwrap_or(Fault::None);
            let (path, query) = (request.uri.path(), request.uri.query().unwrap_or_default());
            let answer = match fault {
                Fault::Unavailable => StatusCode::SERVICE_UNAVAILABLE.into_response(),
                Fault::Busy => StatusCode::TOO_MANY_REQUESTS.into_response(),
                _ if request.method == Method::GET
                    && path == format!("/v1/issues/{ISSUE}/issueUpdates") =>
                {
                    state.list(query)
                }
                _ if request.method == Method::POST
                    && path == format!("/v1/issues/{ISSUE}:modify") =>
                {
                    assert_eq!(request.header("content-type"), "application/json");
                    state.modify(&request.body)
                }
                _ => StatusCode::NOT_FOUND.into_response(),
            };
            notify.notify_one();
            match fault {
                Fault::Lost => StatusCode::BAD_GATEWAY.into_response(),
                _ => answer,
            }
        })
        .await;
        Self {
            web,
            server,
            state,
            arrived,
        }
    }

    fn client(&self) -> IssueTracker {
        let web = self.web.clone();
        let tokens = Tokens::new(TokenSource::None, &[], web.clone());
        let key = Some(Secret::new("hidden-key"));
        let client = IssueTracker::new(&self.server.address, key, tokens, web).unwrap();
        client.with_backoff(Backoff {
            retries: 8,
            first: Duration::from_millis(1),
            longest: Duration::from_millis(2),
        })
    }

    fn comments(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let comments = state.updates.iter().rev();
        comments
            .map(|it| it["issueComment"]["comment"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[tokio::test]
async fn a_comment_is_made_with_its_status_and_hotlists() {
    let tracker = Tracker::start().await;
    let client = tracker.client();
    let change = IssueChange {
        comment: "Found it.\n\n".into(),
        status: Some("ASSIGNED".into()),
        hotlists: vec![5_000_000_000, 7],
    };
    let posted = client.post(ISSUE, "job-1/culprits", &change).await.unwrap();
    assert_eq!(posted, CommentOutcome::Now);
    assert_eq!(
        tracker.comments(),
        ["Found it.\n\n`pinpoint_key: job-1/culprits`\n"]
    );
    {
        let state = tracker.state.lock().unwrap();
        assert_eq!(state.status.as_deref(), Some("ASSIGNED"));
        assert_eq!(state.hotlists, ["5000000000", "7"]);
    }
    let posted = client.post(ISSUE, "job-1/culprits", &change).await.unwrap();
    assert_eq!(posted, CommentOutcome::Before);
    // A key with another as its prefix is a different key.
    let posted = client
        .post(ISSUE, "job-1/culprit", &IssueChange::comment("x"))
        .await;
    assert_eq!(posted.unwrap(), CommentOutcome::Now);
    assert_eq!(tracker.comments().len(), 2);
    let shown = client.rendered(ISSUE, "k", &change);
    assert!(
        shown.contains(":modify") && shown.contains("`pinpoint_key: k`"),
        "{shown}"
    );
    assert!(!shown.contains("hidden"), "{shown}");
}

#[tokio::test]
async fn an_older_comment_is_found_on_a_later_page() {
    let tracker = Tracker::start().await;
    let client = tracker.client();
    client
        .post(ISSUE, "a", &IssueChange::comment("first"))
        .await
        .unwrap();
    for number in 2..12 {
        tracker
            .state
            .lock()
            .unwrap()
            .add(number, "more\n> `pinpoint_key: b`");
    }
    let posted = client
        .post(ISSUE, "a", &IssueChange::comment("first"))
        .await
        .unwrap();
    assert_eq!(posted, CommentOutcome::Before);
    // A quoted key does not count.
    let posted = client
        .post(ISSUE, "b", &IssueChange::comment("second"))
        .await
        .unwrap();
    assert_eq!(posted, CommentOutcome::Now);
}

#[tokio::test]
async fn errors_name_the_issue_and_no_secret() {
    let tracker = Tracker::start().await;
    let client = tracker.client();
    let error = client
        .post(7, "a", &IssueChange::comment("x"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("issue 7: the issue tracker answers with HTTP status 404"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("hidden-key"), "{error:?}");
    for key in ["", "a b", "a`", "a\nb", "é"] {
        let error = client
            .post(ISSUE, key, &IssueChange::comment("x"))
            .await
            .unwrap_err();
        assert!(matches!(error, TrackerError::Key(_)), "{error}");
    }
    // All requests fail: nothing is claimed.
    tracker.state.lock().unwrap().faults = vec![Fault::Unavailable; 100];
    let error = client
        .post(ISSUE, "a", &IssueChange::comment("x"))
        .await
        .unwrap_err();
    assert!(
        matches!(error, TrackerError::Service { issue: ISSUE, .. }),
        "{error}"
    );
    assert!(tracker.comments().is_empty());
}

#[tokio::test]
async fn a_key_does_not_cross_the_network_without_https() {
    let web = Arc::new(Web::new().unwrap());
    let open = |key: Option<&str>| {
        let tokens = Tokens::new(TokenSource::None, &[], web.clone());
        let key = key.map(Secret::new);
        IssueTracker::new("http://issues.example.org", key, tokens, web.clone()).map(|_| ())
    };
    open(None).unwrap();
    let error = open(Some("hidden-key")).unwrap_err().to_string();
    assert!(
        error.contains("without HTTPS") && !error.contains("hidden"),
        "{error}"
    );
}

/// Answers are lost, and the process ends at any request: its successor posts the same.
#[tokio::test]
async fn a_comment_is_there_once_whatever_fails() {
    let web = Arc::new(Web::new().unwrap());
    for seed in 0..150 {
        let mut random = SplitMix64::new(seed);
        let tracker = Tracker::reached_by(web.clone()).await;
        let faults = [Fault::None, Fault::Unavailable, Fault::Busy, Fault::Lost];
        // At most as many as the client's retries.
        let planned = (0..random.below(9)).map(|_| faults[random.below(4) as usize]);
        tracker.state.lock().unwrap().faults = planned.collect();
        let mut lives = random.below(4);
        loop {
            let client = tracker.client();
            let change = IssueChange::comment("Found it.");
            let post = client.post(ISSUE, "job/culprits", &change);
            if lives == 0 {
                // The last one lives.
                match post.await {
                    Ok(_) => break,
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }
            lives -= 1;
            let last = 1 + random.below(4);
            let killed = async {
                for _ in 0..last {
                    tracker.arrived.notified().await;
                }
            };
            tokio::select! {
                biased;
                () = killed => {}
                done = post => {
                    done.unwrap();
                }
            }
        }
        let comments = tracker.comments();
        assert_eq!(comments.len(), 1, "seed {seed}: {comments:?}");
    }
}

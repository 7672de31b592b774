//! Watching a job, over gRPC and as server-sent events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use http::{Request, Response, StatusCode};
use pinpoint_backends::store::{JobId, Lease};
use pinpoint_core::{JobState, Journal, Record};
use pinpoint_service::{Phase, SignIn, Watches};
use serde_json::{Value, json};
use tonic::client::Grpc;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::v2::{bisection, id_of};
use crate::world::World;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<i64>,
    pub(crate) data: Value,
}

/// The events of a stream so far.
pub(crate) struct Events {
    body: axum::body::BodyDataStream,
    text: String,
}

impl Events {
    pub(crate) async fn watch(world: &World, job: &str, after: Option<i64>) -> Self {
        let mut request = Request::get(format!("/api/v2/jobs/{job}/events"));
        if let Some(id) = after {
            request = request.header("last-event-id", id);
        }
        Self::read(world.send(request.body(Body::empty()).unwrap()).await)
    }

    fn read(response: Response<Body>) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            body: response.into_body().into_data_stream(),
            text: String::new(),
        }
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let lines: BTreeMap<_, _> = block
                    .lines()
                    .filter_map(|line| line.split_once(": "))
                    .collect();
                let Some(name) = lines.get("event") else {
                    continue;
                };
                return Some(Event {
                    name: (*name).to_owned(),
                    id: lines.get("id").map(|id| id.parse().unwrap()),
                    data: serde_json::from_str(lines["data"]).unwrap(),
                });
            }
            let more = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    /// The ids of the next records.
    async fn records(&mut self, count: usize) -> Vec<i64> {
        let mut ids = Vec::new();
        while ids.len() < count {
            let event = self.next().await.expect("a record");
            ids.extend(event.id);
        }
        ids
    }

    /// The next event of this name.
    pub(crate) async fn named(&mut self, name: &str) -> Option<Event> {
        loop {
            let event = self.next().await?;
            if event.name == name {
                return Some(event);
            }
        }
    }

    /// All events until the end.
    pub(crate) async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// A job that this test works on.
struct Worked {
    id: JobId,
    lease: Lease,
}

impl Worked {
    async fn begin(world: &World) -> Self {
        let made = world.post("/api/v2/jobs", &bisection()).await.ok();
        Self::lease(world, &made).await
    }

    /// Takes a job that was made.
    async fn lease(world: &World, made: &Value) -> Self {
        let id = JobId::parse(&id_of(made)).unwrap();
        let lease = Duration::from_secs(600);
        let lease = world
            .store
            .leases()
            .grant(&id, "test", lease)
            .await
            .unwrap();
        let running = world
            .store
            .leases()
            .set_state(&lease, JobState::Running, None, None);
        running.await.unwrap();
        Self { id, lease }
    }

    /// Adds so many records, one by one.
    async fn record(&self, world: &World, count: u64) {
        let mut journal = world
            .store
            .journals()
            .open_leased(&self.lease)
            .await
            .unwrap();
        for elapsed in 0..count {
            journal
                .append(&Record::TimePassed { elapsed })
                .await
                .unwrap();
        }
    }

    async fn end(&self, world: &World, state: JobState) {
        let ended = world
            .store
            .leases()
            .set_state(&self.lease, state, None, None);
        ended.await.unwrap();
        world.store.leases().release(&self.lease).await.unwrap();
    }
}

#[tokio::test]
async fn a_watcher_goes_on_at_another_process_without_a_gap_or_a_double() {
    let world = World::new("ada").await;
    let job = Worked::begin(&world).await;
    job.record(&world, 3).await;
    let mut events = Events::watch(&world, job.id.as_str(), None).await;
    assert_eq!(events.records(3).await, [0, 1, 2]);
    job.record(&world, 2).await;
    assert_eq!(events.records(2).await, [3, 4]);
    drop(events);
    job.record(&world, 2).await;
    let other = world.other().await;
    let mut events = Events::watch(&other, job.id.as_str(), Some(4)).await;
    assert_eq!(events.records(2).await, [5, 6]);
    let state = events.named("state").await.unwrap();
    assert_eq!(
        (state.id, &state.data["state"]["state"]),
        (None, &json!("RUNNING"))
    );
    job.record(&world, 1).await;
    job.end(&world, JobState::Failed).await;
    let rest = events.rest().await;
    assert_eq!(
        rest.iter().filter_map(|event| event.id).collect::<Vec<_>>(),
        [7]
    );
    let last = rest.last().unwrap();
    assert_eq!(
        (&*last.name, &last.data["state"]["state"]),
        ("state", &json!("FAILED"))
    );
    // The end of an ended job is sent at once.
    let all = Events::watch(&world, job.id.as_str(), None)
        .await
        .rest()
        .await;
    let ids: Vec<_> = all.iter().filter_map(|event| event.id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7]);
    let rest = Events::watch(&world, job.id.as_str(), Some(6))
        .await
        .rest()
        .await;
    assert_eq!(rest[0].id, Some(7));
    let path = format!("/api/v2/jobs/{}/events", job.id);
    let headers = [("last-event-id", "x")];
    world
        .send_with("GET", &path, &headers, &Value::Null)
        .await
        .fails(400, 3);
}

#[tokio::test]
async fn records_that_were_withdrawn_are_told() {
    let world = World::new("ada").await;
    let job = Worked::begin(&world).await;
    job.record(&world, 2).await;
    let mut journal = world
        .store
        .journals()
        .open_leased(&job.lease)
        .await
        .unwrap();
    journal.append(&Record::CancelRequested).await.unwrap();
    let mut events = Events::watch(&world, job.id.as_str(), None).await;
    assert_eq!(events.records(3).await, [0, 1, 2]);
    job.end(&world, JobState::Canceled).await;
    assert_eq!(
        events.rest().await.last().unwrap().data["state"]["state"],
        "CANCELED"
    );
    world
        .store
        .jobs()
        .resume(&job.id, None, None)
        .await
        .unwrap();
    let lease = Duration::from_secs(600);
    let lease = world
        .store
        .leases()
        .grant(&job.id, "test", lease)
        .await
        .unwrap();
    let job = Worked { id: job.id, lease };
    job.record(&world, 1).await;
    // A client that has seen them learns that they no longer count.
    let mut events = Events::watch(&world, job.id.as_str(), Some(2)).await;
    let first = events.next().await.unwrap();
    let ranges = json!({ "withdrawn": { "ranges": [{ "first": "2", "last": "2" }] } });
    assert_eq!((&*first.name, first.data), ("withdrawn", ranges));
    assert_eq!(events.records(1).await, [3]);
    // Other clients do not.
    let mut events = Events::watch(&world, job.id.as_str(), None).await;
    assert_eq!(events.records(3).await, [0, 1, 3]);
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_cut_off_and_holds_up_no_other() {
    let (interval, patience) = (Duration::from_millis(5), Duration::from_secs(1));
    let watches = Watches::new(interval, patience, Duration::from_secs(600));
    let world = World::new("ada").await.watched_by(watches).await;
    let job = Worked::begin(&world).await;
    job.record(&world, 1000).await;
    let slow = Events::watch(&world, job.id.as_str(), None).await;
    let mut events = Events::watch(&world, job.id.as_str(), None).await;
    assert_eq!(events.records(1000).await.last(), Some(&999));
    job.record(&world, 1).await;
    assert_eq!(events.records(1).await, [1000]);
    tokio::time::sleep(2 * patience).await;
    // It gets the waiting events, and the end.
    let got = slow.rest().await;
    let ids: Vec<_> = got.iter().filter_map(|event| event.id).collect();
    let last = *ids.last().unwrap();
    assert!(last < 1000);
    assert_eq!(ids, (0..=last).collect::<Vec<_>>());
    let mut events = Events::watch(&world, job.id.as_str(), Some(last)).await;
    let rest = usize::try_from(1000 - last).unwrap();
    assert_eq!(
        events.records(rest).await,
        (last + 1..=1000).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_process_that_ends_holds_no_watcher() {
    let world = World::new("ada").await;
    let job = Worked::begin(&world).await;
    job.record(&world, 1).await;
    let mut events = Events::watch(&world, job.id.as_str(), None).await;
    events.named("state").await.unwrap();
    world.phase.send_replace(Phase::Ending);
    let rest = events.rest().await;
    assert!(rest.iter().all(|event| event.name != "state"), "{rest:?}");
    world.phase.send_replace(Phase::Serving);
    let mut events = Events::watch(&world.other().await, job.id.as_str(), Some(0)).await;
    job.record(&world, 1).await;
    assert_eq!(events.records(1).await, [1]);
}

#[tokio::test]
async fn a_browser_that_knows_all_of_an_ended_job_is_told_to_stay_away() {
    let reads = Arc::new(AtomicUsize::new(0));
    let spans = Spans("store::journal::entries_after", reads.clone());
    let _counts = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans));
    let world = World::new("ada").await;
    let job = Worked::begin(&world).await;
    job.record(&world, 3).await;
    job.end(&world, JobState::Failed).await;
    let path = format!("/api/v2/jobs/{}/events", job.id);
    for id in ["2", "3"] {
        let headers = [("last-event-id", id)];
        let answer = world.send_with("GET", &path, &headers, &Value::Null).await;
        assert_eq!(
            (answer.status, answer.body),
            (StatusCode::NO_CONTENT, "".into())
        );
    }
    assert_eq!(reads.load(Ordering::Relaxed), 0);
    // The state of the job is shared while there is a reader.
    let mut slow = Events::watch(&world, job.id.as_str(), None).await;
    slow.records(3).await;
    let again = Events::watch(&world, job.id.as_str(), Some(1)).await;
    assert_eq!(again.rest().await[0].id, Some(2));
}

/// A caller may have lost the right since, and has to come with it again.
#[tokio::test]
async fn a_stream_ends_by_itself_and_is_taken_up_again() {
    let lifetime = Duration::from_millis(300);
    let watches = Watches::new(Duration::from_millis(5), Duration::from_secs(30), lifetime);
    let world = World::with(SignIn::Tokens).await.watched_by(watches).await;
    let token = world.token("ada", &["editor"]).await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", &*bearer)];
    let made = world
        .send_with("POST", "/api/v2/jobs", &headers, &bisection())
        .await;
    let job = Worked::lease(&world, &made.ok()).await;
    let watch = async |after: i64| {
        let request = Request::get(format!("/api/v2/jobs/{}/events", job.id))
            .header("authorization", &bearer)
            .header("last-event-id", after);
        world.send(request.body(Body::empty()).unwrap()).await
    };
    let mut ids = Vec::new();
    job.record(&world, 3).await;
    // The job continues: its stream would not end.
    while ids.len() < 3 {
        let events = Events::read(watch(ids.last().copied().unwrap_or(-1)).await);
        ids.extend(events.rest().await.iter().filter_map(|event| event.id));
    }
    assert_eq!(ids, [0, 1, 2]);
    world
        .store
        .tokens()
        .revoke("ada editor", None)
        .await
        .unwrap();
    assert_eq!(watch(2).await.status(), StatusCode::UNAUTHORIZED);
}

/// Counts the spans of a name.
struct Spans(&'static str, Arc<AtomicUsize>);

impl<S: tracing::Subscriber> Layer<S> for Spans {
    fn on_new_span(
        &self,
        span: &tracing::span::Attributes<'_>,
        _: &tracing::span::Id,
        _: Context<'_, S>,
    ) {
        if span.metadata().name() == self.0 {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test]
async fn many_watchers_of_a_job_cause_one_read() {
    let reads = Arc::new(AtomicUsize::new(0));
    let spans = Spans("store::journal::entries_after", reads.clone());
    let _counts = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans));
    let world = World::new("ada").await;
    let job = Worked::begin(&world).await;
    job.record(&world, 3).await;
    let mut watchers = Vec::new();
    for _ in 0..100 {
        watchers.push(Events::watch(&world, job.id.as_str(), None).await);
    }
    for watcher in &mut watchers {
        assert_eq!(watcher.records(3).await, [0, 1, 2]);
    }
    assert_eq!(reads.load(Ordering::Relaxed), 1);
    job.record(&world, 1).await;
    for watcher in &mut watchers {
        assert_eq!(watcher.records(1).await, [3]);
    }
    assert_eq!(reads.load(Ordering::Relaxed), 2);
}

/// The messages of the `.proto` file, as far as this test reads them.
#[derive(Clone, PartialEq, prost::Message)]
struct WatchJobRequest {
    #[prost(string, tag = "1")]
    job_id: String,
    #[prost(int64, optional, tag = "2")]
    after: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct WatchJobEvent {
    #[prost(message, optional, tag = "1")]
    record: Option<RecordMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RecordMessage {
    #[prost(int64, tag = "1")]
    sequence: i64,
}

#[tokio::test]
async fn a_job_is_watched_over_grpc() {
    let world = World::with(SignIn::Nobody("ada".into())).await;
    let job = Worked::begin(&world).await;
    job.record(&world, 3).await;
    let mut client = Grpc::new(world.router().clone());
    client.ready().await.unwrap();
    let request = WatchJobRequest {
        job_id: job.id.to_string(),
        after: Some(0),
    };
    let path = "/pinpoint.v2.Pinpoint/WatchJob".parse().unwrap();
    let codec = tonic_prost::ProstCodec::<WatchJobRequest, WatchJobEvent>::default();
    let request = tonic::Request::new(request);
    let events = client.server_streaming(request, path, codec).await.unwrap();
    job.end(&world, JobState::Failed).await;
    let events: Vec<_> = events.into_inner().collect().await;
    let records = events.into_iter().filter_map(|event| event.unwrap().record);
    let sequences: Vec<_> = records.map(|record| record.sequence).collect();
    assert_eq!(sequences, [1, 2]);
}

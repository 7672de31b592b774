//! The page of a job as it changes: the state that is kept of a job between two looks, and the
//! events for its followers.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use http::{Request, StatusCode};
use pinpoint_backends::store::{JobId, Lease, NewJob};
use pinpoint_core::{
    BisectionSpec, CulpritFinderSpec, JobSpec, JobState, PairwiseSpec, Range, Record, RunReport,
};
use pinpoint_service::SignIn;
use serde_json::Value;

use super::get;
use super::simulated::{commit, ended_with, report};
use crate::world::World;

fn bisection() -> BisectionSpec {
    BisectionSpec {
        chart: Some("time".into()),
        ..BisectionSpec::new(Range::Between {
            good: commit(0),
            bad: commit(16),
        })
    }
}

/// Runs of which some fail, and some have another metric besides.
fn runs(number: u64, index: u32) -> RunReport {
    let level = if number < 11 { 100.0 } else { 120.0 };
    let value = level + f64::from((index * 7 + number as u32 * 3) % 11) / 4.0;
    match index % 6 {
        4 => RunReport::failed(0, "exit code 3"),
        5 => report(&[("time", "ms", value), ("size", "bytes", 2.0 * value)]),
        _ => report(&[("time", "ms", value)]),
    }
}

/// A job that has begun, and the records with which another one of the same question ended.
async fn begun(world: &World, spec: impl Into<JobSpec>) -> (JobId, Lease, Vec<Record>) {
    let spec = spec.into();
    // One commit in the middle does not build.
    let other = ended_with(world, spec.clone(), runs, &[8], NewJob::default()).await;
    let mut journal = world.store.journals().open(&other).await.unwrap();
    let records = journal.records().await.unwrap();
    let id = world
        .store
        .jobs()
        .create(&NewJob::new(spec).unwrap())
        .await
        .unwrap();
    let lease = world
        .store
        .leases()
        .grant(&id, "test", Duration::from_secs(600));
    let lease = lease.await.unwrap();
    let state = JobState::Running;
    let running = world.store.leases().set_state(&lease, state, None, None);
    running.await.unwrap();
    (id, lease, records)
}

/// A page without parts that differ each time: the keys of its forms, and ages.
fn steady(page: &str) -> String {
    let cut = |text: &str, from: &str, to: &str| {
        let mut parts = text.split(from);
        let mut left = parts.next().unwrap().to_owned();
        for part in parts {
            let (_, rest) = part.split_once(to).unwrap();
            left.push_str(rest);
        }
        left
    };
    let text = cut(page, "name=\"key\" value=\"", "\"");
    let text = cut(&text, "<time", "</time>");
    cut(&text, "shown=", "\"")
}

async fn fragment(world: &World, id: &JobId, query: &str) -> String {
    get(world, &format!("/jobs/{id}?fragment=1{query}"))
        .await
        .ok()
}

#[tokio::test]
async fn at_every_record_what_is_kept_shows_what_a_replay_of_the_whole_journal_shows() {
    let world = World::new("ada").await;
    let mut finder = CulpritFinderSpec::new(bisection().range);
    finder.bisection = bisection();
    finder.pairs = 6;
    let pairs = PairwiseSpec {
        pairs: 6,
        ..PairwiseSpec::new(commit(0), commit(12))
    };
    let specs: [JobSpec; 3] = [bisection().into(), finder.into(), pairs.into()];
    for spec in specs {
        let (id, lease, records) = begun(&world, spec).await;
        let mut journal = world.store.journals().open_leased(&lease).await.unwrap();
        // In ones, and now and then more.
        let mut rest = &records[..];
        let mut before = String::new();
        for group in (0..).map(|step| if step % 5 == 3 { 4 } else { 1 }) {
            // Several ways to look at it.
            for query in ["", "&chart=time&commits=1"] {
                let kept = steady(&fragment(&world, &id, query).await);
                let replayed = steady(&fragment(&world.other().await, &id, query).await);
                assert_eq!(kept, replayed, "{} records to come", rest.len());
                if query.is_empty() {
                    assert_ne!(kept, before);
                    before = kept;
                }
            }
            if rest.is_empty() {
                break;
            }
            let (next, after) = rest.split_at(group.min(rest.len()));
            journal.append_all(next).await.unwrap();
            rest = after;
        }
        // And each moment of it, with kept state and without.
        for at in [0, 1, records.len() / 2, records.len()] {
            let query = format!("&at={at}");
            let kept = steady(&fragment(&world, &id, &query).await);
            let replayed = steady(&fragment(&world.other().await, &id, &query).await);
            assert_eq!(kept, replayed, "after record {at}");
        }
    }
}

#[tokio::test]
async fn records_that_are_withdrawn_are_not_kept() {
    let world = World::new("ada").await;
    let (id, lease, records) = begun(&world, bisection()).await;
    let mut journal = world.store.journals().open_leased(&lease).await.unwrap();
    journal.append_all(&records[..9]).await.unwrap();
    let before = fragment(&world, &id, "").await;
    journal
        .append_all(&[Record::CancelRequested])
        .await
        .unwrap();
    let state = JobState::Canceled;
    let canceled = world.store.leases().set_state(&lease, state, None, None);
    canceled.await.unwrap();
    world.store.leases().release(&lease).await.unwrap();
    let canceled = fragment(&world, &id, "").await;
    assert!(!canceled.contains("data-live"), "{canceled}");
    world.store.jobs().resume(&id, None, None).await.unwrap();
    let resumed = fragment(&world, &id, "").await;
    let replayed = fragment(&world.other().await, &id, "").await;
    assert_eq!(steady(&resumed), steady(&replayed));
    assert!(resumed.contains("max=\"9\"") && before.contains("max=\"9\""));
}

/// The elements of a page that have ids, found independently.
fn element<'a>(page: &'a str, id: &str) -> &'a str {
    let at = page.find(&format!(" id=\"{id}\"")).unwrap();
    let start = page[..at].rfind('<').unwrap();
    let name = page[start + 1..].split([' ', '>']).next().unwrap();
    let (mut depth, mut end) = (0, start);
    loop {
        let rest = &page[end..];
        let next = rest.find('<').unwrap();
        let tag = &rest[next + 1..];
        let is_it =
            |tag: &str| tag.starts_with(name) && tag[name.len()..].starts_with([' ', '>', '/']);
        depth += i32::from(is_it(tag)) - i32::from(tag.strip_prefix('/').is_some_and(is_it));
        end += next + 1 + tag.find('>').unwrap() + 1;
        if depth == 0 || name == "input" {
            return &page[start..end];
        }
    }
}

/// The page that an event makes of another one.
fn applied(page: &str, changes: &str) -> String {
    let mut parts = changes.split(" data-same>");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let start = text.rfind('<').unwrap();
        let tag = text.split_off(start);
        let name = tag[1..].split(' ').next().unwrap();
        let id = tag.split(" id=\"").nth(1).unwrap().trim_end_matches('"');
        text.push_str(element(page, id));
        text.push_str(part.strip_prefix(&format!("</{name}>")).unwrap_or(part));
    }
    text
}

/// A client that follows a page.
struct Follower {
    events: BodyDataStream,
    rest: String,
}

impl Follower {
    async fn at(world: &World, path: &str) -> Self {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = world.send(request).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            events: response.into_body().into_data_stream(),
            rest: String::new(),
        }
    }

    /// The name of the next event and its data; nothing at the end.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.rest = rest;
                let Some((name, data)) = event.split_once("\ndata: ") else {
                    continue;
                };
                let name = name.strip_prefix("event: ").unwrap().to_owned();
                return Some((name, serde_json::from_str(data).unwrap()));
            }
            let data = self.events.next().await?.unwrap();
            self.rest.push_str(std::str::from_utf8(&data).unwrap());
        }
    }
}

fn live(page: &str) -> String {
    let live = page.split("data-live=\"").nth(1).unwrap();
    live.split('"').next().unwrap().replace("&amp;", "&")
}

/// The content of the element that changes.
fn inner(page: &str) -> String {
    let page = element(page, "job");
    let (_, inner) = page.split_once('>').unwrap();
    inner.strip_suffix("</div>").unwrap().to_owned()
}

#[tokio::test]
async fn those_who_follow_a_page_come_to_what_the_page_shows() {
    let world = World::new("ada").await;
    let (id, lease, records) = begun(&world, bisection()).await;
    let mut journal = world.store.journals().open_leased(&lease).await.unwrap();
    journal.append_all(&records[..4]).await.unwrap();
    let page = fragment(&world, &id, "").await;
    let path = live(&page);
    assert!(
        path.starts_with(&format!("/jobs/{id}/events?shown=")),
        "{path}"
    );
    let mut followers = [
        (Follower::at(&world, &path).await, inner(&page)),
        (Follower::at(&world, &path).await, inner(&page)),
    ];
    let mut address = path.clone();
    let mut left_out = 0;
    for group in records[4..20].chunks(4) {
        journal.append_all(group).await.unwrap();
        let expected = inner(&fragment(&world, &id, "").await);
        for (follower, shown) in &mut followers {
            while steady(shown) != steady(&expected) {
                let (name, data) = follower.next().await.unwrap();
                assert_eq!(name, "changes");
                let html = data["html"].as_str().unwrap();
                // The buttons stay as they are for the viewer.
                assert!(html.contains("<i id=\"actions\" data-same></i>"), "{html}");
                left_out += usize::from(html.contains("<section id=\"more\" data-same></section>"));
                *shown = applied(shown, html);
                data["live"].as_str().unwrap().clone_into(&mut address);
            }
        }
    }
    // The first event may describe all, for a client that comes late.
    assert!(left_out >= 6, "{left_out}");
    let [(_, shown), _] = followers;
    // A client that was away resumes from where it was, and an up-to-date one gets nothing.
    let mut back = Follower::at(&world, &path).await;
    let (name, data) = back.next().await.unwrap();
    assert_eq!(name, "changes");
    let whole = applied(&inner(&page), data["html"].as_str().unwrap());
    assert_eq!(steady(&whole), steady(&shown));
    let mut at_it = Follower::at(&world, &address).await;
    journal.append_all(&records[20..21]).await.unwrap();
    let told = at_it.next().await.unwrap();
    assert_eq!(told, back.next().await.unwrap());
    assert!(told.1["html"].as_str().unwrap().contains("data-same"));
    // Parts that depend on the viewer are requested, and so is the end.
    world.store.jobs().pause(&id, None).await.unwrap();
    let looked = async |follower: &mut Follower| {
        loop {
            let (name, _) = follower.next().await.unwrap();
            if name == "look" {
                return;
            }
        }
    };
    looked(&mut at_it).await;
    let mut late = Follower::at(&world, &address).await;
    looked(&mut late).await;
    world.store.jobs().resume(&id, None, None).await.unwrap();
    looked(&mut at_it).await;
    let state = JobState::Failed;
    let failed = world
        .store
        .leases()
        .set_state(&lease, state, Some("no"), None);
    failed.await.unwrap();
    looked(&mut at_it).await;
    assert_eq!(at_it.next().await, None);
}

#[tokio::test]
async fn only_those_who_may_see_a_job_follow_it() {
    let world = World::with(SignIn::Tokens).await;
    let (id, ..) = begun(&world, bisection()).await;
    let status = async |token: Option<String>, path: &str| {
        let mut request = Request::get(path);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Body::empty()).unwrap();
        world.send(request).await.status().as_u16()
    };
    let path = format!("/jobs/{id}/events");
    let viewer = world.token("ada", &["viewer"]).await;
    assert_eq!(status(Some(viewer.clone()), &path).await, 200);
    assert_eq!(status(None, &path).await, 401);
    let nowhere = format!("/jobs/{}/events", "0".repeat(32));
    assert_eq!(status(Some(viewer.clone()), &nowhere).await, 404);
    let bad = format!("{path}?at=x");
    assert_eq!(status(Some(viewer), &bad).await, 400);
}

//! The stream of the list: events between the page and the stream, and a newer service.

use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use http::Request;

use super::jobs::made;
use super::{get, post};
use crate::world::World;

/// The address of the stream, as the script of a page with these jobs asks for it.
async fn stream_of(world: &World, jobs: &str) -> String {
    let page = get(world, "/?size=25").await.ok();
    let events = page.split("data-events=\"").nth(1).unwrap();
    let events = events.split('"').next().unwrap();
    format!("{}&jobs={jobs}", events.replace("&amp;", "&"))
}

/// The text of the stream until it has this text.
async fn told(world: &World, path: &str, text: &str) -> String {
    let request = Request::get(path).body(Body::empty()).unwrap();
    let response = world.send(request).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut stream = response.into_body().into_data_stream();
    let told = async {
        let mut told = String::new();
        while !told.contains(text) {
            let part = stream.next().await.expect("the stream goes on").unwrap();
            told.push_str(std::str::from_utf8(&part).unwrap());
        }
        told
    };
    let limit = Duration::from_secs(300);
    tokio::time::timeout(limit, told).await.unwrap()
}

#[tokio::test]
async fn what_happened_before_the_stream_began_is_told() {
    let world = World::new("ada").await;
    let id = made(&world, "Since Monday").await;
    let events = stream_of(&world, &id).await;
    // The connection was lost in the meantime.
    let fields = [("reason", "not needed")];
    post(&world, &format!("/jobs/{id}/cancel"), &fields).await;
    let told = told(&world, &events, "event: row").await;
    assert!(told.contains("Canceled"), "{told}");
}

#[tokio::test]
async fn ages_are_told_that_are_others_than_on_the_page() {
    let world = World::new("ada").await;
    let id = made(&world, "Since Monday").await;
    let events = stream_of(&world, &id).await;
    let (before, rest) = events.split_once("since=").unwrap();
    let (since, after) = rest.split_once('&').unwrap();
    // As if the page had said that the job was made two hours ago.
    let since: i64 = since.parse::<i64>().unwrap() + 2 * 60 * 60 * 1000;
    let events = format!("{before}since={since}&{after}");
    let told = told(&world, &events, "event: ages").await;
    let expected = format!("event: ages\ndata: {{\"{id}\":\"just now\"}}\n\n");
    assert!(told.contains(&expected), "{told}");
}

#[tokio::test]
async fn a_page_of_another_version_is_told_so() {
    let world = World::new("ada").await;
    let id = made(&world, "Since Monday").await;
    let events = stream_of(&world, &id).await;
    let older = events.replace("version=/assets/page.", "version=/assets/page.0");
    assert_ne!(older, events);
    told(&world, &older, "event: newer").await;
}

#[tokio::test]
async fn the_first_job_of_an_empty_list_is_announced() {
    let world = World::new("ada").await;
    let events = stream_of(&world, "").await;
    made(&world, "Since Monday").await;
    let told = told(&world, &events, "event: new").await;
    assert!(told.contains("1 new job"), "{told}");
}

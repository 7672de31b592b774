//! The pages of bots and of workers.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use pinpoint_backends::store::{Announcement, JobId};
use pinpoint_service::SignIn;
use serde_json::json;

use super::get;
use super::jobs::{HOSTILE, made};
use crate::world::World;

fn worker(name: &str, bot: &str, job: Option<JobId>) -> Announcement {
    Announcement {
        id: name.into(),
        name: name.into(),
        machine: format!("{name}'s machine"),
        bots: vec![bot.into()],
        trusted: None,
        host: json!({}),
        started: 1_700_000_000_000,
        job,
        activity: "builds 1a2b".into(),
    }
}

/// One path, for programs of the older page and for people.
#[tokio::test]
async fn programs_get_the_names_of_bots_and_browsers_a_page() {
    let world = World::new("ada").await;
    for accept in ["", "*/*", "application/json"] {
        let request = Request::get("/bots").header("accept", accept);
        let response = world.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.headers()["vary"], "accept");
        let headers = [("accept", accept)];
        let names = world.send_with("GET", "/bots", &headers, &json!(null));
        assert_eq!(names.await.ok(), json!(["lab"]), "{accept}");
    }
    let page = get(&world, "/bots").await;
    let vary: Vec<_> = page.headers.get_all("vary").iter().collect();
    assert!(vary.iter().any(|it| *it == "accept"), "{vary:?}");
    let text = page.ok();
    assert!(
        text.contains("<h1>Bots</h1>") && text.contains("No worker"),
        "{text}"
    );
}

#[tokio::test]
async fn a_store_without_workers_and_a_service_without_bots_say_so() {
    let world = World::of(SignIn::Nobody("ada".into()), "").await;
    let bots = get(&world, "/bots").await.ok();
    assert!(bots.contains("No bots are configured."), "{bots}");
    let workers = get(&world, "/workers").await.ok();
    assert!(workers.contains("pinpoint worker"), "{workers}");
}

#[tokio::test]
async fn bots_and_workers_show_what_they_do_and_what_waits_for_them() {
    let world = World::new("ada").await;
    let (id, _) = (made(&world, "First").await, made(&world, "Second").await);
    let job = JobId::parse(&id).unwrap();
    let hour = Duration::from_secs(3600);
    let busy = worker("rack-1", "lab", Some(job));
    world.store.announce(&busy, hour).await.unwrap();
    let gone = worker("rack-2", "lab", None);
    world.store.announce(&gone, Duration::ZERO).await.unwrap();
    let hostile = worker(HOSTILE, HOSTILE, None);
    world.store.announce(&hostile, hour).await.unwrap();
    let link = format!(r#"<a href="/jobs/{id}">"#);
    let queue = r#"href="/?bot=lab&amp;state=pending""#;

    let bots = get(&world, "/bots").await.ok();
    assert!(bots.contains(&link) && bots.contains("Working"), "{bots}");
    assert!(
        bots.contains(&format!(r#"{queue} aria-label="2 pending on lab">2<"#)),
        "{bots}"
    );
    assert!(
        bots.contains("rack-1") && !bots.contains("rack-2"),
        "{bots}"
    );
    let listed = get(&world, "/?bot=lab&state=pending").await.ok();
    assert!(
        listed.contains("First") && listed.contains("Second"),
        "{listed}"
    );

    let workers = get(&world, "/workers").await.ok();
    for shown in [
        &link,
        queue,
        "builds 1a2b",
        "rack-2",
        "Gone",
        "Working",
        "Idle",
        "just now",
    ] {
        assert!(workers.contains(shown), "{shown}: {workers}");
    }
    assert!(workers.contains(env!("CARGO_PKG_VERSION")), "{workers}");
    for text in [bots, workers] {
        assert!(
            !text.contains("<img") && !text.contains('\u{202e}'),
            "{text}"
        );
    }
}

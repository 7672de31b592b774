//! The pages of bots and of workers.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use pinpoint_backends::store::{Announcement, JobId, NewJob};
use pinpoint_core::{BisectionSpec, PairwiseSpec, Range, RunReport};
use pinpoint_service::SignIn;
use serde_json::json;

use super::get;
use super::job::rows;
use super::jobs::{HOSTILE, made};
use super::simulated::{Runs, commit, ended, ended_with};
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
    let world = World::with_bots(SignIn::Nobody("ada".into()), "").await;
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
    world.store.workers().announce(&busy, hour).await.unwrap();
    let gone = worker("rack-2", "lab", None);
    world
        .store
        .workers()
        .announce(&gone, Duration::ZERO)
        .await
        .unwrap();
    let hostile = worker(HOSTILE, HOSTILE, None);
    world
        .store
        .workers()
        .announce(&hostile, hour)
        .await
        .unwrap();
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

/// A search on a machine that scatters by 2 % of 100 ms, and one that is a tenth slower.
fn run(machine: &str, factor: f64, number: u64, index: u32) -> RunReport {
    let noise = f64::from((index * 7 + number as u32 * 3) % 11) / 2.5;
    let level = if number < 5 { 100.0 } else { 130.0 };
    RunReport::new(1_700_000_000_000)
        .value("time", factor * (level + noise))
        .bot(machine)
}

#[tokio::test]
async fn the_noise_and_the_offset_of_machines_are_measured_from_past_runs() {
    let world = World::new("ada").await;
    let hour = Duration::from_secs(3600);
    for name in ["rack-1", "rack-2", "rack-3"] {
        let worker = worker(name, "lab", None);
        world.store.workers().announce(&worker, hour).await.unwrap();
    }
    let shown = async || rows(&get(&world, "/workers").await.ok(), "machines");
    let unmeasured = |name: &str| {
        let machine = format!("{name}'s machine");
        let none = "not enough runs";
        [&machine, "0 runs", none, none, none].map(str::to_owned)
    };
    let before = shown().await;
    assert_eq!(before, ["rack-1", "rack-2", "rack-3"].map(unmeasured));
    let search = || BisectionSpec {
        chart: Some("time".into()),
        attempts: Some(10),
        ..BisectionSpec::new(Range::Between {
            good: commit(0),
            bad: commit(8),
        })
    };
    let names = || NewJob {
        bot: "lab".into(),
        benchmark: "parsing".into(),
        ..NewJob::default()
    };
    let first = |number, index| run("rack-1's machine", 1.0, number, index);
    let second = |number, index| run("rack-2's machine", 1.1, number, index);
    ended_with(&world, search(), first, &[], names()).await;
    let alone = shown().await;
    assert_eq!(alone[0][3..], ["not enough runs", "not enough runs"]);
    ended_with(&world, search(), second, &[], names()).await;
    // Of another benchmark, which ran nowhere else.
    let other = NewJob {
        benchmark: "layout".into(),
        ..names()
    };
    let third = |number, index| run(HOSTILE, 2.0, number, index);
    ended_with(&world, search(), third, &[], other).await;

    let page = get(&world, "/workers").await.ok();
    assert!(
        !page.contains("<img") && !page.contains('\u{202e}'),
        "{page}"
    );
    let measured = shown().await;
    assert_eq!(measured.len(), 4);
    let number = |text: &str| {
        let text = text.split(' ').next().unwrap();
        text.parse::<f64>().unwrap()
    };
    let of = |machine: &str| {
        measured
            .iter()
            .find(|row| row[0].starts_with(machine))
            .unwrap()
    };
    let (one, two) = (of("rack-1"), of("rack-2"));
    assert!((number(&two[4]) - 10.0).abs() < 0.5, "{two:?}");
    assert!((number(&one[4]) + 9.1).abs() < 0.5, "{one:?}");
    assert!(
        two[5].starts_with('+') && two[5].contains(" to +"),
        "{two:?}"
    );
    // The same scatter, in percent.
    let scatters = [&one[2], &one[3], &two[2], &two[3]].map(|text| number(text));
    assert!(
        scatters.iter().all(|it| (1.0..4.0).contains(it)),
        "{scatters:?}"
    );
    assert_eq!(of("rack-3")[1..], unmeasured("rack-3")[1..]);
    let stranger = of("&lt;img").to_vec();
    assert!(
        number(&stranger[2]) > 0.0 && stranger[4] == "not enough runs",
        "{stranger:?}"
    );
    // Known values are not read again, and are the same.
    assert_eq!(shown().await, measured);
}

/// A look at a store with many jobs reads as much as one at a store with a few.
#[tokio::test]
async fn machines_are_measured_from_the_newest_jobs_alone() {
    const LOOKED_AT: usize = 50;
    let world = World::new("ada").await;
    let spec = || PairwiseSpec {
        pairs: 6,
        chart: Some("time".into()),
        ..PairwiseSpec::new(commit(0), commit(1))
    };
    for number in 0..LOOKED_AT + 2 {
        let runs: Runs = match number {
            0 | 1 => |number, index| run("retired", 1.0, number, index),
            2 => |number, index| run("oldest", 1.0, number, index),
            _ => |number, index| run("newer", 1.0, number, index),
        };
        ended(&world, spec(), runs).await;
    }
    let page = get(&world, "/workers").await.ok();
    let shown = rows(&page, "machines");
    let runs = |machine: &str| {
        let row = shown.iter().find(|row| row[0] == machine);
        row.map(|row| row[1].clone())
    };
    assert_eq!(runs("retired"), None, "{shown:?}");
    assert_eq!(runs("oldest").as_deref(), Some("12 runs"), "{shown:?}");
    let newer = format!("{} runs", 12 * (LOOKED_AT - 1));
    assert_eq!(runs("newer"), Some(newer), "{shown:?}");
    // One more takes the place of the oldest.
    ended(&world, spec(), |number, index| {
        run("newest", 1.0, number, index)
    })
    .await;
    let page = get(&world, "/workers").await.ok();
    assert!(
        page.contains("newest") && !page.contains("oldest"),
        "{page}"
    );
}

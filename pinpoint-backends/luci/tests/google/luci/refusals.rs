//! Tasks that no bot takes, and what is asked again.

use fake_luci::{Faults, Task};
use pinpoint_core::{
    Artifact, Charts, Executor, ExecutorError, Heartbeat, Key, Report, Request, RunPairRequest,
    RunRequest, Variant,
};

use super::fixture::{Fixture, NOWHERE};
use super::jobs::build;

fn key(action: u64) -> Key {
    Key {
        job: "job".into(),
        action,
    }
}

/// A commit with its build.
async fn built(fixture: &Fixture) -> Variant {
    let executor = fixture.executor();
    let request = build(fixture, "job");
    let ticket = executor.start(&request).await.unwrap();
    let heartbeat = Heartbeat::default();
    let waited = executor.wait(&request, &ticket, &heartbeat);
    let Report::Built(report) = waited.await.unwrap() else {
        panic!("a build");
    };
    let Some(Artifact::Digest(digest)) = report.artifact else {
        panic!("a digest");
    };
    Variant {
        artifact: Some(Artifact::Digest(digest)),
        ..Variant::from(fixture.commit(3))
    }
}

fn run(variant: Variant) -> Request {
    Request::Run(RunRequest {
        key: key(7),
        variant,
        index: 0,
        bot: None,
        charts: Charts::All,
        metric: None,
    })
}

fn names_bot(task: &Task) -> bool {
    task.tags.iter().any(|tag| tag.starts_with("id:"))
}

#[tokio::test(start_paused = true)]
async fn a_run_that_its_bot_does_not_take_may_go_to_any_other() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let request = run(built(&fixture).await);
    fixture.luci.refuse_bot_ids(true);
    let executor = fixture.executor();
    let ticket = executor.start(&request).await.unwrap();
    let heartbeat = Heartbeat::default();
    let waited = executor.wait(&request, &ticket, &heartbeat);
    let Report::Ran(report) = waited.await.unwrap() else {
        panic!("a run");
    };
    assert_eq!(report.failure, None);
    let [refused, taken] = &fixture.luci.all_tasks()[..] else {
        panic!("two tasks");
    };
    assert_eq!((refused.state, names_bot(refused)), ("NO_RESOURCE", true));
    assert_eq!((taken.state, names_bot(taken)), ("COMPLETED", false));
}

#[tokio::test(start_paused = true)]
async fn each_try_of_a_run_has_its_own_refusals() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let request = run(built(&fixture).await);
    let none = Faults {
        no_resource: 1_000,
        ..Faults::default()
    };
    fixture.luci.set_faults(none);
    for tries in 1..=2 {
        let refused = fixture.executor().start(&request).await;
        assert!(matches!(refused, Err(ExecutorError::Unavailable(_))));
        assert_eq!(fixture.luci.all_tasks().len(), 3 * tries);
    }
    fixture.luci.set_faults(Faults::default());
    fixture.executor().start(&request).await.unwrap();
    assert_eq!(fixture.luci.all_tasks().len(), 7);
}

#[tokio::test(start_paused = true)]
async fn bots_are_asked_for_again_after_a_refusal_and_after_a_while() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let variant = built(&fixture).await;
    let executor = fixture.executor();
    // Two pages each.
    let asked = || fixture.luci.calls("Bots/ListBots") / 2;
    let pair = |action| {
        Request::RunPair(RunPairRequest {
            key: key(action),
            first: variant.clone(),
            second: variant.clone(),
            index: 0,
            bot: None,
            charts: Charts::All,
            metric: None,
        })
    };
    executor.start(&pair(1)).await.unwrap();
    executor.start(&pair(2)).await.unwrap();
    assert_eq!(asked(), 1);
    tokio::time::sleep(std::time::Duration::from_secs(601)).await;
    executor.start(&pair(3)).await.unwrap();
    assert_eq!(asked(), 2);
    fixture.luci.refuse_bot_ids(true);
    assert!(executor.start(&pair(4)).await.is_err());
    // The first of three tries has the bots still.
    assert_eq!(asked(), 4);
    // Both runs of a pair name one bot, whatever was refused.
    assert!(fixture.luci.all_tasks().iter().all(names_bot));
}

#[tokio::test(start_paused = true)]
async fn a_build_is_polled_by_its_status() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    built(&fixture).await;
    // At first and in the end.
    assert_eq!(fixture.luci.calls("GetBuild"), 2);
    assert!(fixture.luci.calls("GetBuildStatus") > 100);
}

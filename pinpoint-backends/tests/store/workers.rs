//! The workers of a store, and the jobs that they may take.

use std::time::Duration;

use pinpoint_backends::store::{Announcement, JobFilter, NewJob, StoreError};
use pinpoint_core::JobState;
use serde_json::json;

use crate::common::{Fixture, found, new_job};
use crate::on_both;

on_both! {
    workers_are_listed_with_what_they_are_at,
    what_nobody_has_allowed_or_knows_is_not_taken,
    a_damaged_job_is_left_failed,
    a_job_knows_how_many_are_before_it,
}

const LONG: Duration = Duration::from_secs(3600);

fn worker(id: &str, name: &str) -> Announcement {
    Announcement {
        id: id.into(),
        name: name.into(),
        machine: "rack".into(),
        bots: vec!["lab".into(), "desk".into()],
        trusted: None,
        host: json!({ "processors": 2 }),
        started: 17,
        job: None,
        activity: String::new(),
    }
}

async fn workers_are_listed_with_what_they_are_at(fixture: Fixture) {
    let store = &fixture.store;
    assert_eq!(store.workers().list().await.unwrap(), []);
    let job = fixture.job().await;
    let first = worker("a", "rack-2");
    store.workers().announce(&first, LONG).await.unwrap();
    store
        .workers()
        .announce(&worker("b", "rack-1"), LONG)
        .await
        .unwrap();
    let busy = Announcement {
        job: Some(job.clone()),
        activity: "runs".into(),
        ..first.clone()
    };
    store.workers().announce(&busy, LONG).await.unwrap();
    let list = store.workers().list().await.unwrap();
    let names: Vec<_> = list.iter().map(|worker| &*worker.name).collect();
    assert_eq!(names, ["rack-1", "rack-2"]);
    assert_eq!((list[0].gone, &list[0].job), (false, &None));
    let second = &list[1];
    assert_eq!((second.gone, &second.job), (false, &Some(job)));
    assert_eq!(
        (
            &second.bots,
            &second.host,
            second.started,
            &*second.activity
        ),
        (&first.bots, &first.host, 17, "runs")
    );
    assert!(!second.version.is_empty() && second.seen >= list[0].seen);

    // It has ended, and is remembered for a while.
    store
        .workers()
        .announce(&first, Duration::ZERO)
        .await
        .unwrap();
    let list = store.workers().list().await.unwrap();
    assert_eq!((list[0].gone, list[1].gone), (false, true));
    let long_ago = "UPDATE workers SET seen = 5 WHERE id = 'a'";
    fixture.behind_its_back(long_ago).await;
    store
        .workers()
        .announce(&worker("b", "rack-1"), LONG)
        .await
        .unwrap();
    let list = store.workers().list().await.unwrap();
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].name, "rack-1");
}

async fn what_nobody_has_allowed_or_knows_is_not_taken(fixture: Fixture) {
    let store = &fixture.store;
    let (imported, later) = (fixture.job().await, fixture.job().await);
    for sql in [
        format!("UPDATE jobs SET lease = -5 WHERE id = '{imported}'"),
        format!("UPDATE jobs SET journal_version = 99 WHERE id = '{later}'"),
    ] {
        fixture.behind_its_back(&sql).await;
    }
    let take = async || {
        let taken = store
            .leases()
            .take(&JobFilter::default(), "ada", LONG)
            .await;
        taken.unwrap().map(|(job, _)| job.id)
    };
    assert_eq!(take().await, None);
    store.jobs().trust(&imported).await.unwrap();
    assert_eq!(take().await, Some(imported));
    assert_eq!(take().await, None);
}

async fn a_damaged_job_is_left_failed(fixture: Fixture) {
    let store = &fixture.store;
    let (damaged, dead, sound) = (
        fixture.job().await,
        fixture.job().await,
        fixture.job().await,
    );
    let lease = store.leases().grant(&dead, "bob", LONG).await.unwrap();
    let running = JobState::Running;
    store
        .leases()
        .set_state(&lease, running, None, None)
        .await
        .unwrap();
    store.leases().renew(&lease, Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let damage = format!("UPDATE jobs SET spec = '{{' WHERE id IN ('{damaged}', '{dead}')");
    fixture.behind_its_back(&damage).await;
    let take = async || {
        store
            .leases()
            .take(&JobFilter::default(), "ada", LONG)
            .await
    };
    for _ in 0..2 {
        let error = take().await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
    assert_eq!(take().await.unwrap().unwrap().0.id, sound);
    assert!(take().await.unwrap().is_none());
    let failed = JobFilter {
        state: Some(JobState::Failed),
        ..JobFilter::default()
    };
    let failed = found(store, failed).await;
    assert_eq!(failed.len(), 2);
    for job in failed {
        assert!(job.error.unwrap().contains("is damaged at spec of job"));
    }
}

async fn a_job_knows_how_many_are_before_it(fixture: Fixture) {
    let store = &fixture.store;
    let mut ids = Vec::new();
    for bot in ["lab", "desk", "lab", "lab"] {
        let job = NewJob {
            bot: bot.into(),
            config: serde_json::json!({ "by_workers": true }),
            ..new_job("a job")
        };
        ids.push(store.jobs().create(&job).await.unwrap());
    }
    let before = async |job: usize| store.queue().waiting_before(&ids[job], None).await.unwrap();
    assert_eq!((before(0).await, before(1).await), (Some(0), Some(0)));
    assert_eq!((before(2).await, before(3).await), (Some(1), Some(2)));
    let lease = store.leases().grant(&ids[0], "ada", LONG).await.unwrap();
    assert_eq!((before(0).await, before(3).await), (None, Some(1)));
    // One whose worker has gone is the next.
    let running = JobState::Running;
    store
        .leases()
        .set_state(&lease, running, None, None)
        .await
        .unwrap();
    assert_eq!(before(0).await, None);
    store.leases().renew(&lease, Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(before(0).await, Some(0));
    store
        .leases()
        .set_state(&lease, JobState::Completed, None, None)
        .await
        .unwrap();
    assert_eq!((before(0).await, before(3).await), (None, Some(1)));
}

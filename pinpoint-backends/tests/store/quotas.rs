//! Limits of users, which hold under any number of concurrent requests.

use pinpoint_backends::store::{
    AuditEntry, AuditFilter, Created, Creation, IdempotencyKey, JobStore, NewJob, Quota,
    QuotaLimit, StoreError,
};
use pinpoint_core::{JobState, Record};

use crate::a_run::run;
use crate::common::{Fixture, all, new_job, open};
use crate::on_both;

on_both! {
    a_user_makes_so_many_jobs_an_hour,
    a_user_has_so_many_jobs_under_way,
    a_user_makes_so_many_runs_a_day,
    what_a_limit_refuses_leaves_nothing,
    two_who_ask_at_once_do_not_both_take_the_last_place,
}

const HOUR: i64 = 3_600_000;

fn quota_of_jobs(jobs_an_hour: u32) -> Quota {
    Quota {
        jobs_an_hour: Some(jobs_an_hour),
        ..Quota::default()
    }
}

async fn create(store: &JobStore, user: &str, quota: Quota) -> Result<Created, StoreError> {
    let job = NewJob {
        user: user.into(),
        ..new_job("a job")
    };
    let creation = Creation {
        quota: Some(quota),
        ..Creation::default()
    };
    store.jobs().create_with(&job, &creation).await
}

/// The limit that is reached, its value, and the time when it passes.
#[track_caller]
fn reached<T: std::fmt::Debug>(result: Result<T, StoreError>) -> (QuotaLimit, u32, Option<i64>) {
    match result.unwrap_err() {
        StoreError::QuotaReached {
            limit, most, until, ..
        } => (limit, most, until),
        other => panic!("{other}"),
    }
}

async fn a_user_makes_so_many_jobs_an_hour(fixture: Fixture) {
    let store = &fixture.store;
    let ada = async || create(store, "ada", quota_of_jobs(2)).await;
    let first = ada().await.unwrap().id;
    ada().await.unwrap();
    let created = store.jobs().get(&first).await.unwrap().created;
    // One is free when the first one's hour is over.
    let until = Some(created + HOUR + 1);
    assert_eq!(reached(ada().await), (QuotaLimit::JobsAnHour, 2, until));
    create(store, "bo", quota_of_jobs(2)).await.unwrap();
    create(store, "ada", quota_of_jobs(3)).await.unwrap();
    // As if all had been created an hour before.
    let hour = HOUR + 60_000;
    fixture
        .behind_its_back(&format!("UPDATE jobs SET number = number - {}", hour << 18))
        .await;
    ada().await.unwrap();
}

async fn a_user_has_so_many_jobs_under_way(fixture: Fixture) {
    let store = &fixture.store;
    let quota = Quota {
        jobs_under_way: Some(1),
        ..Quota::default()
    };
    let ada = async || create(store, "ada", quota).await;
    let first = ada().await.unwrap().id;
    let expected = (QuotaLimit::JobsUnderWay, 1, None);
    assert_eq!(reached(ada().await), expected);
    let set = async |state| {
        store
            .jobs()
            .set_state(&first, state, None, None)
            .await
            .unwrap()
    };
    set(JobState::Running).await;
    assert_eq!(reached(ada().await), expected);
    set(JobState::Failed).await;
    let second = ada().await.unwrap().id;
    // A resumed one counts again.
    let resume = async || store.jobs().resume(&first, Some(&quota), None).await;
    assert_eq!(reached(resume().await), expected);
    let state = store.jobs().get(&first).await.unwrap().state;
    assert_eq!(state, JobState::Failed);
    for state in [JobState::Running, JobState::Failed] {
        store
            .jobs()
            .set_state(&second, state, None, None)
            .await
            .unwrap();
    }
    resume().await.unwrap();
}

async fn a_user_makes_so_many_runs_a_day(fixture: Fixture) {
    let store = &fixture.store;
    let quota = Quota {
        runs_a_day: Some(3),
        ..Quota::default()
    };
    let ada = async || create(store, "ada", quota).await;
    let id = ada().await.unwrap().id;
    let mut journal = store.journals().open(&id).await.unwrap();
    let runs: Vec<Record> = (0..2).map(run).collect();
    journal.append_all(&runs).await.unwrap();
    ada().await.unwrap();
    journal.append_all(&[run(2)]).await.unwrap();
    let (limit, most, until) = reached(ada().await);
    assert_eq!((limit, most), (QuotaLimit::RunsADay, 3));
    // The hour of the runs has to be a day ago.
    let created = store.jobs().get(&id).await.unwrap().created;
    let until = until.unwrap();
    assert_eq!(until % HOUR, 0);
    assert!(
        (24 * HOUR..=26 * HOUR).contains(&(until - created)),
        "{until}"
    );
    fixture
        .behind_its_back("UPDATE run_counts SET hour = hour - 25")
        .await;
    ada().await.unwrap();
}

async fn what_a_limit_refuses_leaves_nothing(fixture: Fixture) {
    let store = &fixture.store;
    let entry = AuditEntry::default();
    let keyed = async |key: &str, quota: Quota| {
        let creation = Creation {
            entry: Some(&entry),
            once: Some(IdempotencyKey {
                user: "",
                key,
                digest: [1; 32],
            }),
            quota: Some(quota),
            ..Creation::default()
        };
        store.jobs().create_with(&new_job("a job"), &creation).await
    };
    let first = keyed("a", quota_of_jobs(1)).await.unwrap();
    reached(keyed("b", quota_of_jobs(1)).await);
    assert_eq!(all(store).await.len(), 1);
    let rows = store
        .audit()
        .list(&AuditFilter::default(), 0, 10)
        .await
        .unwrap();
    assert_eq!(rows.len(), 1);
    // A repeated request does not create another job.
    assert_eq!(keyed("a", quota_of_jobs(1)).await.unwrap().id, first.id);
    // The rejected key is still free.
    assert!(keyed("b", quota_of_jobs(2)).await.unwrap().is_new);
}

async fn two_who_ask_at_once_do_not_both_take_the_last_place(fixture: Fixture) {
    let stores = [fixture.store.clone(), open(&fixture.place()).await];
    let quota = Quota {
        jobs_under_way: Some(3),
        ..quota_of_jobs(3)
    };
    let mut creating = tokio::task::JoinSet::new();
    for creator in 0..10 {
        let store = stores[creator % 2].clone();
        creating.spawn(async move { create(&store, "ada", quota).await.is_ok() });
    }
    let created = creating.join_all().await;
    assert_eq!(created.iter().filter(|is_made| **is_made).count(), 3);
    assert_eq!(all(&fixture.store).await.len(), 3);
}

//! Leases: their holders, and former holders.

use std::collections::BTreeSet;
use std::time::Duration;

use pinpoint_backends::store::{JobFilter, JobId, JobStore, Lease, NewJob, StoreError};
use pinpoint_core::{JobState, Journal, Record};

use crate::common::{Fixture, append_all, cause, new_job, open, tick, ticks};
use crate::on_both;

on_both! {
    a_job_has_one_holder,
    a_lease_that_is_lost_is_worth_nothing,
    a_lease_that_is_renewed_is_kept,
    a_journal_ends_when_the_job_is_taken,
    the_oldest_that_fits_is_taken_first,
    what_a_dead_worker_held_is_taken_again,
    a_running_job_that_is_let_go_waits_again,
    workers_take_what_was_left_to_them_alone,
    a_job_that_its_workers_die_of_is_left_failed,
    workers_never_take_the_same_job,
    old_jobs_are_removed_in_batches_with_all_that_is_theirs,
    a_job_whose_process_may_be_suspended_is_not_removed,
    only_the_holder_changes_a_configuration,
    time_after_the_end_of_a_lease_is_not_spent_running,
}

const LONG: Duration = Duration::from_secs(3600);
/// Over as soon as the clock has advanced.
const OVER: Duration = Duration::ZERO;

/// Takes a job as soon as its lease has expired.
async fn after_its_end(store: &JobStore, id: &JobId, owner: &str) -> Lease {
    loop {
        match store.leases().grant(id, owner, LONG).await {
            Ok(lease) => return lease,
            Err(StoreError::Leased { .. }) => tokio::time::sleep(Duration::from_millis(1)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

fn lost<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    let error = result.unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
}

async fn a_job_has_one_holder(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let lease = store.leases().grant(&id, "ada", LONG).await.unwrap();
    assert_eq!(lease.id(), &id);
    match store.leases().grant(&id, "bob", LONG).await.unwrap_err() {
        StoreError::Leased { owner, seconds, .. } => {
            assert_eq!(owner, "ada");
            assert!((3500..=3600).contains(&seconds), "{seconds}");
        }
        other => panic!("{other}"),
    }
    store.leases().release(&lease).await.unwrap();
    let other = store.leases().grant(&id, "bob", LONG).await.unwrap();
    // A released lease can't be released again.
    store.leases().release(&lease).await.unwrap();
    store.leases().renew(&other, LONG).await.unwrap();

    let nobody = fixture.job().await;
    fixture.behind_its_back("DELETE FROM jobs").await;
    let error = store
        .leases()
        .grant(&nobody, "ada", LONG)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Unknown { .. }), "{error}");
    lost(store.leases().renew(&other, LONG).await);
}

async fn a_lease_that_is_lost_is_worth_nothing(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let first = store.leases().grant(&id, "ada", OVER).await.unwrap();
    let mut journal = store.journals().open_leased(&first).await.unwrap();
    append_all(&mut journal, &ticks(2)).await;
    store
        .leases()
        .set_state(&first, JobState::Running, None, None)
        .await
        .unwrap();

    let second = after_its_end(store, &id, "bob").await;
    let mut other = store.journals().open_leased(&second).await.unwrap();
    lost(journal.append_all(&ticks(3)).await);
    lost(store.leases().renew(&first, LONG).await);
    lost(
        store
            .leases()
            .set_state(&first, JobState::Failed, Some("late"), None)
            .await,
    );
    assert_eq!(other.records().await.unwrap(), ticks(2));
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!((job.state, job.error), (JobState::Running, None));

    append_all(&mut other, &[tick(2)]).await;
    store
        .leases()
        .set_state(&second, JobState::Completed, None, None)
        .await
        .unwrap();
    store.leases().release(&second).await.unwrap();
    lost(other.append_all(&[tick(3)]).await);
    assert_eq!(other.records().await.unwrap(), ticks(3));

    // A worker that takes a job again counts as another one than before: a process that was thought
    // dead can't disturb its replacement.
    let third = store.leases().grant(&id, "ada", LONG).await.unwrap();
    let fourth = store.leases().grant(&id, "ada", LONG).await.unwrap();
    lost(store.leases().renew(&third, LONG).await);
    store.leases().renew(&fourth, LONG).await.unwrap();
}

async fn a_lease_that_is_renewed_is_kept(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let lease = store.leases().grant(&id, "ada", OVER).await.unwrap();
    // It has expired, but no other worker has taken the job.
    tokio::time::sleep(Duration::from_millis(5)).await;
    store.leases().renew(&lease, LONG).await.unwrap();
    let error = store.leases().grant(&id, "bob", LONG).await.unwrap_err();
    assert!(error.to_string().contains("is leased by ada"), "{error}");
    assert!(
        store
            .leases()
            .take(&JobFilter::default(), "bob", LONG)
            .await
            .unwrap()
            .is_none()
    );
}

async fn a_journal_ends_when_the_job_is_taken(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let mut journal = store.journals().open(&id).await.unwrap();
    append_all(&mut journal, &ticks(1)).await;
    let lease = store.leases().grant(&id, "ada", LONG).await.unwrap();
    lost(journal.append(&tick(9)).await.map_err(cause));
    let mut leased = store.journals().open_leased(&lease).await.unwrap();
    append_all(&mut leased, &[tick(1)]).await;
    assert_eq!(journal.records().await.unwrap(), ticks(2));
}

async fn the_oldest_that_fits_is_taken_first(fixture: Fixture) {
    let store = &fixture.store;
    let mut ids = Vec::new();
    for bot in ["x", "y", "x", "y", "y"] {
        let job = NewJob {
            bot: bot.into(),
            ..new_job("a job")
        };
        ids.push(store.jobs().create(&job).await.unwrap());
    }
    // One that has ended, and one that runs without a lease: workers can't take them.
    for id in &ids[..2] {
        store
            .jobs()
            .set_state(id, JobState::Running, None, None)
            .await
            .unwrap();
    }
    store
        .jobs()
        .set_state(&ids[0], JobState::Completed, None, None)
        .await
        .unwrap();
    let take = async |bot: Option<&str>| {
        let filter = JobFilter {
            bots: bot.into_iter().map(str::to_owned).collect(),
            ..JobFilter::default()
        };
        let taken = store.leases().take(&filter, "ada", LONG).await.unwrap();
        taken.map(|(job, lease)| {
            assert_eq!(&job.id, lease.id());
            job.id
        })
    };
    assert_eq!(take(Some("y")).await.as_ref(), Some(&ids[3]));
    assert_eq!(take(None).await.as_ref(), Some(&ids[2]));
    assert_eq!(take(Some("x")).await, None);
    assert_eq!(take(Some("y")).await.as_ref(), Some(&ids[4]));
    assert_eq!(take(None).await, None);
}

async fn what_a_dead_worker_held_is_taken_again(fixture: Fixture) {
    let store = &fixture.store;
    let (running, pending) = (fixture.job().await, fixture.job().await);
    let lease = store.leases().grant(&running, "ada", OVER).await.unwrap();
    store
        .leases()
        .set_state(&lease, JobState::Running, None, None)
        .await
        .unwrap();
    store.leases().grant(&pending, "ada", OVER).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    for expected in [Some(&running), Some(&pending), None] {
        let taken = store
            .leases()
            .take(&JobFilter::default(), "bob", LONG)
            .await
            .unwrap();
        assert_eq!(taken.as_ref().map(|(job, _)| &job.id), expected);
    }
}

async fn a_running_job_that_is_let_go_waits_again(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let lease = store.leases().grant(&id, "ada", LONG).await.unwrap();
    let running = store
        .leases()
        .set_state(&lease, JobState::Running, None, None);
    running.await.unwrap();
    store.leases().release(&lease).await.unwrap();
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!(job.state, JobState::Pending);
    assert!(job.duration.is_some());
    let taken = store
        .leases()
        .take(&JobFilter::default(), "bob", LONG)
        .await;
    assert_eq!(taken.unwrap().unwrap().0.id, id);
}

async fn workers_take_what_was_left_to_them_alone(fixture: Fixture) {
    let store = &fixture.store;
    fixture.job().await;
    let left = NewJob {
        config: serde_json::json!({ "by_workers": true }),
        ..new_job("left to workers")
    };
    let left = store.jobs().create(&left).await.unwrap();
    let filter = JobFilter {
        by_workers: true,
        ..JobFilter::default()
    };
    for expected in [Some(&left), None] {
        let taken = store.leases().take(&filter, "bob", LONG).await.unwrap();
        assert_eq!(taken.as_ref().map(|(job, _)| &job.id), expected);
    }
}

async fn a_job_that_its_workers_die_of_is_left_failed(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let mut taken = 0;
    // The third one records something before it dies.
    while let Some((_, lease)) = store
        .leases()
        .take(&JobFilter::default(), "bob", OVER)
        .await
        .unwrap()
    {
        taken += 1;
        assert!(taken < 20);
        if taken == 1 {
            let running = store
                .leases()
                .set_state(&lease, JobState::Running, None, None);
            running.await.unwrap();
        }
        if taken == 3 {
            store.leases().renew(&lease, LONG).await.unwrap();
            let mut journal = store.journals().open_leased(&lease).await.unwrap();
            append_all(&mut journal, &[tick(1)]).await;
            store.leases().renew(&lease, OVER).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!((taken, job.state), (7, JobState::Failed));
    let reason = job.error.unwrap();
    assert!(reason.contains("5 workers in a row have died"), "{reason}");
    // When it is resumed, deaths are counted anew.
    let lease = store.leases().grant(&id, "ada", OVER).await.unwrap();
    let running = store
        .leases()
        .set_state(&lease, JobState::Running, None, None);
    running.await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(
        store
            .leases()
            .take(&JobFilter::default(), "bob", LONG)
            .await
            .unwrap()
            .is_some()
    );
}

async fn workers_never_take_the_same_job(fixture: Fixture) {
    const JOBS: usize = 60;
    for _ in 0..JOBS {
        fixture.job().await;
    }
    let mut workers = tokio::task::JoinSet::new();
    for number in 0..6 {
        let place = fixture.place();
        workers.spawn(async move {
            let store = open(&place).await;
            let owner = number.to_string();
            let mut taken = Vec::new();
            while let Some((job, _)) = store
                .leases()
                .take(&JobFilter::default(), &owner, LONG)
                .await
                .unwrap()
            {
                taken.push(job.id);
            }
            taken
        });
    }
    let mut seen = BTreeSet::new();
    let mut busy = 0;
    while let Some(taken) = workers.join_next().await {
        let taken = taken.unwrap();
        busy += usize::from(!taken.is_empty());
        for id in taken {
            assert!(seen.insert(id), "taken twice");
        }
    }
    assert_eq!(seen.len(), JOBS);
    assert!(busy > 1, "one worker took everything");
}

async fn old_jobs_are_removed_in_batches_with_all_that_is_theirs(fixture: Fixture) {
    let store = &fixture.store;
    let mut ids = Vec::new();
    for _ in 0..5 {
        let id = fixture.job().await;
        append_all(&mut store.journals().open(&id).await.unwrap(), &ticks(2)).await;
        ids.push(id);
        // So that no two are of the same millisecond.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let before = store.jobs().get(&ids[4]).await.unwrap().created;
    let held = store.leases().grant(&ids[1], "ada", LONG).await.unwrap();
    assert_eq!(store.jobs().purge(0, 10).await.unwrap(), []);
    let mut removed = store.jobs().purge(before, 2).await.unwrap();
    assert_eq!(removed.len(), 2);
    removed.extend(store.jobs().purge(before, 2).await.unwrap());
    removed.sort();
    assert_eq!(removed, [&ids[0], &ids[2], &ids[3]].map(Clone::clone));
    assert_eq!(store.jobs().purge(before, 2).await.unwrap(), []);
    store.leases().release(&held).await.unwrap();
    assert_eq!(store.jobs().purge(before, 2).await.unwrap(), ids[1..2]);
    let left = "SELECT event, kind FROM records";
    assert_eq!(fixture.seen_behind_its_back(left).await.len(), 2);
    let text = JobFilter {
        text: Some("job".into()),
        ..JobFilter::default()
    };
    assert_eq!(crate::common::found(store, text).await.len(), 1);
}

async fn a_job_whose_process_may_be_suspended_is_not_removed(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let lease = store.leases().grant(&id, "ada", OVER).await.unwrap();
    let mut journal = store.journals().open_leased(&lease).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(store.jobs().purge(i64::MAX, 10).await.unwrap(), []);
    assert_eq!(store.jobs().held_before(i64::MAX).await.unwrap(), 1);
    // It continues.
    append_all(&mut journal, &ticks(2)).await;
    fixture
        .behind_its_back("UPDATE jobs SET lease_expires = lease_expires - 86460000")
        .await;
    assert_eq!(store.jobs().held_before(i64::MAX).await.unwrap(), 0);
    assert_eq!(store.jobs().purge(i64::MAX, 10).await.unwrap(), [id]);
    lost(journal.append_all(&ticks(1)).await);
}

async fn only_the_holder_changes_a_configuration(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let config = |number: u64| serde_json::json!({ "number": number });
    let first = store.leases().grant(&id, "ada", OVER).await.unwrap();
    let second = after_its_end(store, &id, "bob").await;
    lost(store.leases().set_config(&first, &config(1)).await);
    store
        .leases()
        .set_config(&second, &config(2))
        .await
        .unwrap();
    assert_eq!(store.jobs().get(&id).await.unwrap().config, config(2));

    // A job that is canceled before it starts has started no work.
    let mut journal = store.journals().open_leased(&second).await.unwrap();
    journal.append(&Record::CancelRequested).await.unwrap();
    assert!(!journal.is_empty().await.unwrap());
    assert_eq!(store.cancellations().withdraw(&id).await.unwrap(), 1);
    assert!(journal.is_empty().await.unwrap());
    store
        .leases()
        .set_config(&second, &config(3))
        .await
        .unwrap();

    append_all(&mut journal, &ticks(1)).await;
    let error = (store.leases().set_config(&second, &config(4)).await).unwrap_err();
    assert!(matches!(error, StoreError::Begun { .. }), "{error}");
    assert_eq!(store.jobs().get(&id).await.unwrap().config, config(3));
}

async fn time_after_the_end_of_a_lease_is_not_spent_running(fixture: Fixture) {
    const HOUR: i64 = 60 * 60 * 1000;
    let store = &fixture.store;
    // Begun three hours ago, and silent for the last two of them.
    let silent = async || {
        let id = fixture.job().await;
        let lease = store.leases().grant(&id, "ada", LONG).await.unwrap();
        store
            .leases()
            .set_state(&lease, JobState::Running, None, None)
            .await
            .unwrap();
        fixture
            .behind_its_back(
                "UPDATE jobs SET updated = updated - 3 * 3600000, \
                 lease_expires = lease_expires - 3 * 3600000 WHERE lease_owner IS NOT NULL",
            )
            .await;
        (id, lease)
    };
    let hours = async |id: &JobId| {
        let duration = store.jobs().get(id).await.unwrap().duration.unwrap();
        // A test takes less than half an hour.
        (duration + HOUR / 2) / HOUR
    };
    let complete = async |lease: &Lease| {
        let state = JobState::Completed;
        store
            .leases()
            .set_state(lease, state, None, None)
            .await
            .unwrap();
        store.leases().release(lease).await.unwrap();
    };
    // When resumed, it ends at once.
    let (id, lease) = silent().await;
    complete(&lease).await;
    assert_eq!(hours(&id).await, 1);
    // When resumed, it continues.
    let (id, lease) = silent().await;
    store.leases().renew(&lease, LONG).await.unwrap();
    assert_eq!(hours(&id).await, 1);
    complete(&lease).await;
    assert_eq!(hours(&id).await, 1);
    // Another takes it.
    let (id, _) = silent().await;
    let lease = store.leases().grant(&id, "bob", LONG).await.unwrap();
    complete(&lease).await;
    assert_eq!(hours(&id).await, 1);
    let (id, _) = silent().await;
    let (job, lease) = store
        .leases()
        .take(&JobFilter::default(), "bob", LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(job.id, id);
    complete(&lease).await;
    assert_eq!(hours(&id).await, 1);
}

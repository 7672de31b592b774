//! Watching jobs of other workers.

use std::time::Duration;

use pinpoint_backends::store::{CancelRequest, JobFilter, JobId, JobMark, StoreError};
use pinpoint_core::{JobState, Record};

use crate::a_run::run;
use crate::common::{Fixture, append_all, new_job, open, tick, ticks};
use crate::on_both;

on_both! {
    a_journal_is_read_on_while_another_writes_it,
    a_mark_changes_with_its_job,
    a_paused_job_is_not_taken,
    a_secret_is_shared,
}

async fn a_journal_is_read_on_while_another_writes_it(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let reader = store.journals().open(&id).await.unwrap();
    assert_eq!(reader.entries_after(None, 10).await.unwrap(), []);
    // From here on others may not write.
    let lease = store
        .leases()
        .grant(&id, "ada", Duration::from_secs(3600))
        .await;
    let mut journal = store.journals().open_leased(&lease.unwrap()).await.unwrap();
    append_all(&mut journal, &ticks(5)).await;
    let read = async |after, limit| -> Vec<(i64, Record, bool)> {
        let entries = reader.entries_after(after, limit).await.unwrap();
        assert!(
            entries
                .iter()
                .all(|entry| entry.recorded > 1_700_000_000_000)
        );
        let parts = entries.into_iter();
        parts
            .map(|entry| (entry.sequence, entry.record, entry.withdrawn))
            .collect()
    };
    let first = read(None, 2).await;
    assert_eq!(first, [(0, tick(0), false), (1, tick(1), false)]);
    assert_eq!(read(Some(1), 10).await.len(), 3);
    assert_eq!(read(Some(4), 10).await, []);
    append_all(&mut journal, &[Record::CancelRequested, run(1)]).await;
    assert_eq!(
        read(Some(4), 10).await,
        [(5, Record::CancelRequested, false), (6, run(1), false)]
    );
    store.cancellations().withdraw(&id).await.unwrap();
    append_all(&mut journal, &[tick(9)]).await;
    assert_eq!(
        read(Some(4), 10).await,
        [
            (5, Record::CancelRequested, true),
            (6, run(1), true),
            (7, tick(9), false)
        ]
    );
}

async fn a_mark_changes_with_its_job(fixture: Fixture) {
    let store = &fixture.store;
    let (id, other) = (fixture.job().await, fixture.job().await);
    let mark = async || -> JobMark {
        let marks = store.jobs().marks(std::slice::from_ref(&id)).await.unwrap();
        assert_eq!(marks.len(), 1);
        marks[0].clone()
    };
    let first = mark().await;
    assert_eq!(
        (&first.id, first.state, first.last),
        (&id, JobState::Pending, None)
    );
    store
        .jobs()
        .set_state(&other, JobState::Running, None, None)
        .await
        .unwrap();
    assert_eq!(mark().await, first);
    store
        .jobs()
        .set_state(&id, JobState::Running, None, None)
        .await
        .unwrap();
    let second = mark().await;
    assert_eq!((second.state, second == first), (JobState::Running, false));
    let mut journal = store.journals().open(&id).await.unwrap();
    append_all(&mut journal, &ticks(2)).await;
    assert_eq!(mark().await.last, Some(1));
    let request = CancelRequest::default();
    store
        .cancellations()
        .request(&id, &request, None)
        .await
        .unwrap();
    assert!(mark().await.cancel_requested);

    // Many at once, and jobs that are gone.
    let mut ids = vec![id, other];
    for number in 0..3 {
        ids.push(
            store
                .jobs()
                .create(&new_job(&number.to_string()))
                .await
                .unwrap(),
        );
    }
    let gone = |number| JobId::parse(&format!("01900000-0000-7000-8000-{number:012x}")).unwrap();
    ids.extend((0..600).map(gone));
    ids.reverse();
    let marks = store.jobs().marks(&ids).await.unwrap();
    assert_eq!(marks.len(), 5);
    assert_eq!(store.jobs().marks(&[]).await.unwrap(), []);
}

async fn a_paused_job_is_not_taken(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let take = async || {
        let filter = JobFilter::default();
        store
            .leases()
            .take(&filter, "ada", Duration::from_secs(60))
            .await
    };
    store.jobs().pause(&id, None).await.unwrap();
    assert!(store.jobs().is_paused(&id).await.unwrap());
    let paused = store.jobs().marks(std::slice::from_ref(&id)).await.unwrap();
    assert!(paused[0].paused && store.jobs().get(&id).await.unwrap().paused);
    assert!(take().await.unwrap().is_none());
    store.jobs().resume(&id, None, None).await.unwrap();
    let (_, lease) = take().await.unwrap().unwrap();
    let running = store
        .leases()
        .set_state(&lease, JobState::Running, None, None);
    running.await.unwrap();
    // Its worker still has it when it is resumed.
    store.jobs().pause(&id, None).await.unwrap();
    store.jobs().resume(&id, None, None).await.unwrap();
    assert!(!store.jobs().is_paused(&id).await.unwrap());
    let done = store
        .leases()
        .set_state(&lease, JobState::Completed, None, None);
    done.await.unwrap();
    let ended = store.jobs().pause(&id, None).await.unwrap_err();
    assert!(matches!(ended, StoreError::Transition { .. }), "{ended}");
    let absent = JobId::parse("0199f3c1a2b37f0e8d1c2b3a49586776").unwrap();
    let unknown = store.jobs().pause(&absent, None).await.unwrap_err();
    assert!(matches!(unknown, StoreError::Unknown { .. }), "{unknown}");
}

async fn a_secret_is_shared(fixture: Fixture) {
    let store = &fixture.store;
    let secret = store.shared_secret("cursors").await.unwrap();
    assert!(secret.as_str().len() > 40);
    let other = open(&fixture.place()).await;
    assert_eq!(other.shared_secret("cursors").await.unwrap(), secret);
    assert_ne!(other.shared_secret("forms").await.unwrap(), secret);
}

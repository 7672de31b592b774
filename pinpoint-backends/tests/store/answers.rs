//! Journals with many writers, which share one lease.

use std::collections::BTreeMap;
use std::time::Duration;

use pinpoint_backends::store::{CancelRequest, JobId, JobJournal, JobStore, Placed, StoreError};
use pinpoint_core::{Journal, Key, Record, Ticket};

use crate::common::{Fixture, open};
use crate::on_both;

on_both! {
    an_answer_is_recorded_once,
    tickets_are_passed_over,
    a_record_that_a_writer_knows_and_the_journal_lacks_is_not_passed_over,
    many_writers_leave_one_chain,
    a_journal_is_read_in_pieces,
    only_who_works_for_the_holder_shares_a_lease,
    leases_that_expire_are_found,
    requests_to_cancel_are_found,
    a_file_grows_by_several_writers,
}

const LONG: Duration = Duration::from_secs(3600);

fn gave_up(action: u64, reason: &str) -> Record {
    Record::GaveUp {
        action,
        reason: reason.into(),
    }
}

fn started(action: u64, handle: &str) -> Record {
    let key = Key {
        job: "job".into(),
        action,
    };
    Record::Started {
        action,
        ticket: Ticket::durable(key, handle),
    }
}

async fn shared(store: &JobStore, id: &JobId) -> JobJournal {
    let lease = store.leases().share(id, "pool", LONG).await.unwrap();
    store.journals().open_leased(&lease).await.unwrap()
}

/// The order that follows from the records' own fields.
fn chained(records: &[Placed]) -> Vec<Record> {
    let mut next: BTreeMap<Option<i64>, &Placed> = BTreeMap::new();
    for placed in records {
        let before = next.insert(placed.previous, placed);
        assert!(before.is_none_or(|before| before == placed));
    }
    let mut order = Vec::new();
    let mut last = None;
    while let Some(placed) = next.get(&last) {
        order.push(placed.record.clone());
        last = Some(placed.sequence);
    }
    order
}

async fn an_answer_is_recorded_once(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    store.leases().grant(&id, "pool", LONG).await.unwrap();
    let mut journal = shared(store, &id).await;
    let first = journal
        .record_once(&gave_up(3, "first"), None)
        .await
        .unwrap();
    assert_eq!((first.sequence, first.previous), (0, None));
    // Another answer to the same action, of another kind.
    let other = shared(store, &id).await;
    let again = other
        .record_once(&gave_up(3, "second"), None)
        .await
        .unwrap();
    assert_eq!(again, first);
    let canceled = Record::Canceled { action: 3 };
    assert_eq!(other.record_once(&canceled, None).await.unwrap(), first);
    // A record before the writer's last one is a different case.
    let later = other
        .record_once(&gave_up(3, "later"), Some(0))
        .await
        .unwrap();
    assert_eq!((later.sequence, later.previous), (1, Some(0)));
    for _ in 0..2 {
        let asked = journal
            .record_once(&Record::CancelRequested, Some(1))
            .await
            .unwrap();
        assert_eq!((asked.sequence, asked.previous), (2, Some(1)));
    }
    let elapsed = Record::TimePassed { elapsed: 5 };
    let placed = journal.record_once(&elapsed, Some(1)).await.unwrap();
    assert_eq!((placed.sequence, placed.previous), (3, Some(2)));
    let records = journal.records().await.unwrap();
    assert_eq!(
        records,
        [first.record, later.record, Record::CancelRequested, elapsed]
    );
}

async fn a_record_that_a_writer_knows_and_the_journal_lacks_is_not_passed_over(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    store.leases().grant(&id, "pool", LONG).await.unwrap();
    let journal = shared(store, &id).await;
    journal.record_once(&gave_up(0, ""), None).await.unwrap();
    let error = journal.record_once(&gave_up(1, ""), Some(3)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("is damaged at record 3 of job"), "{error}");
}

async fn tickets_are_passed_over(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    store.leases().grant(&id, "pool", LONG).await.unwrap();
    let mut journal = shared(store, &id).await;
    for _ in 0..2 {
        let ticket = journal.record_once(&started(1, "a"), None).await.unwrap();
        assert_eq!(ticket.sequence, 0);
    }
    // The work was lost, and restarted.
    let second = journal.record_once(&started(1, "b"), None).await.unwrap();
    assert_eq!(second.sequence, 1);
    let other = journal.record_once(&gave_up(0, ""), None).await.unwrap();
    assert_eq!((other.sequence, other.previous), (2, None));
    let answer = journal.record_once(&gave_up(1, ""), None).await.unwrap();
    assert_eq!((answer.sequence, answer.previous), (3, Some(2)));
    let heard = journal.records_after(None, 10).await.unwrap();
    assert_eq!(heard, [other, answer]);
    assert_eq!(journal.records().await.unwrap().len(), 4);
}

async fn many_writers_leave_one_chain(fixture: Fixture) {
    const ACTIONS: u64 = 40;
    const WRITERS: u64 = 4;
    let store = &fixture.store;
    let id = fixture.job().await;
    store.leases().grant(&id, "pool", LONG).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let (store, id) = (store.clone(), id.clone());
        writers.spawn(async move {
            let journal = shared(&store, &id).await;
            let mut placed = Vec::new();
            for step in 0..ACTIONS {
                // Every action is done by two of them, in different orders.
                let action = (step * 7 + writer * 11) % ACTIONS;
                if (action + writer).is_multiple_of(2) {
                    let record = gave_up(action, &format!("by {writer}"));
                    placed.push(journal.record_once(&record, None).await.unwrap());
                }
            }
            placed
        });
    }
    let heard: Vec<Placed> = writers.join_all().await.concat();
    let records = shared(store, &id).await.records().await.unwrap();
    assert_eq!(records.len() as u64, ACTIONS);
    assert_eq!(chained(&heard), records);
}

async fn a_journal_is_read_in_pieces(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    store.leases().grant(&id, "pool", LONG).await.unwrap();
    let journal = shared(store, &id).await;
    for action in 0..7 {
        if action == 4 {
            journal.record_once(&started(4, "a"), None).await.unwrap();
        }
        journal
            .record_once(&gave_up(action, ""), None)
            .await
            .unwrap();
    }
    let mut heard = Vec::new();
    loop {
        let after = heard.last().map(|last: &Placed| last.sequence);
        let piece = journal.records_after(after, 3).await.unwrap();
        if piece.is_empty() {
            break;
        }
        heard.extend(piece);
    }
    let records = (0..7).map(|action| gave_up(action, "")).collect::<Vec<_>>();
    assert_eq!(chained(&heard), records);
    assert_eq!(heard.len(), 7);
}

async fn only_who_works_for_the_holder_shares_a_lease(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let error = store.leases().share(&id, "pool", LONG).await.unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
    let lease = store.leases().grant(&id, "pool", LONG).await.unwrap();
    match store.leases().share(&id, "ada", LONG).await.unwrap_err() {
        StoreError::Leased { owner, .. } => assert_eq!(owner, "pool"),
        other => panic!("{other}"),
    }
    let mut journal = shared(store, &id).await;
    journal.record_once(&gave_up(0, ""), None).await.unwrap();
    // An event of the lease affects all who share it.
    store.leases().release(&lease).await.unwrap();
    let error = journal
        .record_once(&gave_up(1, ""), None)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
    store.leases().grant(&id, "ada", LONG).await.unwrap();
    let error = journal.append(&gave_up(1, "")).await.unwrap_err();
    assert!(error.to_string().contains("another"), "{error}");
}

async fn leases_that_expire_are_found(fixture: Fixture) {
    let store = &fixture.store;
    let (soon, late, other) = (
        fixture.job().await,
        fixture.job().await,
        fixture.job().await,
    );
    store
        .leases()
        .grant(&soon, "pool", Duration::from_secs(30))
        .await
        .unwrap();
    store.leases().grant(&late, "pool", LONG).await.unwrap();
    store
        .leases()
        .grant(&other, "ada", Duration::from_secs(30))
        .await
        .unwrap();
    let minute = Duration::from_secs(60);
    let found = store.leases().expiring("pool", minute, 10).await.unwrap();
    assert_eq!(
        found.iter().map(|lease| lease.id()).collect::<Vec<_>>(),
        [&soon]
    );
    store.leases().renew(&found[0], LONG).await.unwrap();
    assert_eq!(
        store.leases().expiring("pool", minute, 10).await.unwrap(),
        []
    );
    let all = store.leases().expiring("pool", LONG * 2, 1).await.unwrap();
    assert_eq!(all.len(), 1);
}

async fn requests_to_cancel_are_found(fixture: Fixture) {
    let store = &fixture.store;
    let (asked, other) = (fixture.job().await, fixture.job().await);
    for id in [&asked, &other] {
        store.leases().grant(id, "pool", LONG).await.unwrap();
    }
    assert_eq!(store.cancellations().held_by("pool", 10).await.unwrap(), []);
    let request = CancelRequest {
        reason: "wrong range".into(),
        by: "ada".into(),
    };
    store
        .cancellations()
        .request(&asked, &request, None)
        .await
        .unwrap();
    assert_eq!(store.cancellations().held_by("ada", 10).await.unwrap(), []);
    assert_eq!(
        store.cancellations().held_by("pool", 10).await.unwrap(),
        [(asked.clone(), request)]
    );
    store.cancellations().clear(&asked).await.unwrap();
    assert_eq!(store.cancellations().held_by("pool", 10).await.unwrap(), []);
}

async fn a_file_grows_by_several_writers(fixture: Fixture) {
    let (store, second) = (&fixture.store, open(&fixture.place()).await);
    let id = fixture.job().await;
    let lease = store.leases().grant(&id, "pool", LONG).await.unwrap();
    for (writer, line) in [(store, "one\n"), (&second, "two\n"), (store, "three\n")] {
        let shared = writer.leases().share(&id, "pool", LONG).await.unwrap();
        assert!(
            writer
                .files()
                .add(&shared, "tails", line.as_bytes())
                .await
                .unwrap()
        );
    }
    let files = store.files().list(&id).await.unwrap();
    assert_eq!(files[0].content, b"one\ntwo\nthree\n");
    store.leases().release(&lease).await.unwrap();
    let error = second
        .files()
        .add(&lease, "tails", b"four\n")
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
}

//! The audit log: appended to by many, tamper-evident, atomic with the changes that it records.

use pinpoint_backends::store::{
    AuditCheck, AuditEntry, AuditFault, AuditFilter, AuditRow, CancelRequest, Creation,
    IdempotencyKey, JobId, JobStore, NewToken, StoreError, Total,
};
use pinpoint_core::{JobState, Record};
use serde_json::json;

use crate::a_run::run;
use crate::common::{Fixture, append_all, new_job, open, ticks};
use crate::on_both;

on_both! {
    an_entry_comes_back_as_it_went_in,
    rows_are_found_by_what_they_tell,
    many_writers_keep_one_chain,
    every_change_of_a_stored_row_is_found,
    a_change_and_its_entry_are_one,
    no_change_lasts_whose_entry_fails,
    a_job_that_has_ended_is_resumed_with_an_entry,
}

fn entry(user: &str, operation: &str) -> AuditEntry {
    AuditEntry {
        user: user.into(),
        address: "192.0.2.7".into(),
        operation: operation.into(),
        result: "ok".into(),
        request: "r-1".into(),
        ..AuditEntry::default()
    }
}

async fn all_rows(store: &JobStore) -> Vec<AuditRow> {
    let all = AuditFilter::default();
    store.audit().list(&all, 0, 1000).await.unwrap()
}

/// The operations and the jobs of all rows, which are complete.
async fn told(store: &JobStore) -> Vec<(String, Option<JobId>)> {
    let rows = all_rows(store).await;
    let expected = AuditCheck::Whole {
        rows: rows.len() as u64,
        hash: rows.last().map_or_else(String::new, |row| row.hash.clone()),
    };
    assert_eq!(store.audit().verify().await.unwrap(), expected);
    let told = rows.into_iter();
    told.map(|row| (row.entry.operation, row.entry.job))
        .collect()
}

async fn an_entry_comes_back_as_it_went_in(fixture: Fixture) {
    let store = &fixture.store;
    let empty = AuditCheck::Whole {
        rows: 0,
        hash: String::new(),
    };
    assert_eq!(store.audit().verify().await.unwrap(), empty);
    let id = fixture.job().await;
    let details = json!({ "reason": "é \"x\"\u{0}", "tiny": 5e-324, "zero": -0.0, "none": null });
    let written = AuditEntry {
        user: "ada\u{0}".into(),
        job: Some(id),
        result: "permission_denied".into(),
        details: details.as_object().unwrap().clone(),
        ..entry("", "CancelJob")
    };
    store.audit().append(&written).await.unwrap();
    // A repetition is another row.
    store.audit().append(&written).await.unwrap();
    let rows = all_rows(store).await;
    let read = AuditEntry {
        user: "ada\u{fffd}".into(),
        ..written
    };
    for (row, number) in rows.iter().zip(1..) {
        assert_eq!((row.number, &row.entry), (number, &read));
        assert!(row.time > 1_700_000_000_000);
        assert_eq!(row.hash.len(), 64);
    }
    assert_eq!(told(store).await.len(), 2);
}

async fn rows_are_found_by_what_they_tell(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let of_job = AuditEntry {
        job: Some(id.clone()),
        ..entry("ada", "CancelJob")
    };
    for entry in [&of_job, &entry("bob", "CancelJob"), &entry("ada", "GetJob")] {
        store.audit().append(entry).await.unwrap();
    }
    let numbers = async |filter: AuditFilter, after, limit| -> Vec<i64> {
        let rows = store.audit().list(&filter, after, limit).await.unwrap();
        rows.iter().map(|row| row.number).collect()
    };
    let any = AuditFilter::default;
    assert_eq!(numbers(any(), 0, 2).await, [1, 2]);
    assert_eq!(numbers(any(), 2, 2).await, [3]);
    let user = Some("ada".into());
    assert_eq!(numbers(AuditFilter { user, ..any() }, 0, 9).await, [1, 3]);
    let job = Some(id);
    assert_eq!(numbers(AuditFilter { job, ..any() }, 0, 9).await, [1]);
    let operation = Some("CancelJob".to_owned());
    let ended = || AuditFilter {
        operation: operation.clone(),
        ..any()
    };
    assert_eq!(numbers(ended(), 0, 9).await, [1, 2]);
    let user = Some("bob".into());
    assert_eq!(numbers(AuditFilter { user, ..ended() }, 0, 9).await, [2]);
    assert_eq!(numbers(ended(), 2, 9).await, [0; 0]);
    let times: Vec<i64> = all_rows(store).await.iter().map(|row| row.time).collect();
    let since = times.iter().max().map(|time| time + 1);
    assert_eq!(numbers(AuditFilter { since, ..any() }, 0, 9).await, [0; 0]);
    let until = since;
    assert_eq!(
        numbers(AuditFilter { until, ..any() }, 0, 9).await,
        [1, 2, 3]
    );
}

async fn many_writers_keep_one_chain(fixture: Fixture) {
    let stores = [fixture.store.clone(), open(&fixture.place()).await];
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let store = stores[writer % 2].clone();
        writers.spawn(async move {
            for number in 0..5 {
                let entry = entry(&format!("writer {writer}"), &number.to_string());
                let creation = Creation {
                    entry: Some(&entry),
                    ..Creation::default()
                };
                match number % 2 {
                    0 => store.audit().append(&entry).await.unwrap(),
                    _ => drop(
                        store
                            .jobs()
                            .create_with(&new_job("x"), &creation)
                            .await
                            .unwrap(),
                    ),
                }
            }
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    assert_eq!(told(&fixture.store).await.len(), 40);
}

async fn every_change_of_a_stored_row_is_found(fixture: Fixture) {
    let store = &fixture.store;
    for operation in ["one", "two", "three"] {
        store
            .audit()
            .append(&entry("ada", operation))
            .await
            .unwrap();
    }
    fixture
        .behind_its_back("CREATE TABLE kept AS SELECT * FROM audit")
        .await;
    for (change, number, fault) in [
        (
            "UPDATE audit SET time = time + 1 WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        (
            "UPDATE audit SET username = 'eve' WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        (
            "UPDATE audit SET address = '' WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        (
            "UPDATE audit SET operation = 'x' WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        (
            "UPDATE audit SET job = '' WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        (
            "UPDATE audit SET result = 'x' WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        (
            "UPDATE audit SET request = 'x' WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        (
            "UPDATE audit SET details = '{ }' WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        (
            "UPDATE audit SET hash = (SELECT hash FROM kept WHERE number = 1) WHERE number = 2",
            2,
            AuditFault::Altered,
        ),
        ("DELETE FROM audit WHERE number = 1", 1, AuditFault::Missing),
        ("DELETE FROM audit WHERE number = 2", 2, AuditFault::Missing),
        ("DELETE FROM audit WHERE number = 3", 3, AuditFault::Missing),
        (
            "UPDATE audit SET number = 7 WHERE number = 3",
            3,
            AuditFault::Missing,
        ),
        (
            "UPDATE audit SET number = -1 WHERE number = 1",
            -1,
            AuditFault::Inserted,
        ),
        (
            "INSERT INTO audit SELECT 9, time, username, address, operation, job, result, \
             request, details, hash FROM kept WHERE number = 3",
            9,
            AuditFault::Inserted,
        ),
    ] {
        fixture.behind_its_back(change).await;
        let found = store.audit().verify().await.unwrap();
        assert_eq!(found, AuditCheck::Broken { number, fault }, "{change}");
        fixture.behind_its_back("DELETE FROM audit").await;
        fixture
            .behind_its_back("INSERT INTO audit SELECT * FROM kept")
            .await;
    }
    assert_eq!(told(store).await.len(), 3);
}

async fn a_change_and_its_entry_are_one(fixture: Fixture) {
    let store = &fixture.store;
    let created = entry("ada", "create");
    let creation = Creation {
        entry: Some(&created),
        once: Some(IdempotencyKey {
            user: "ada",
            key: "k",
            digest: [1; 32],
        }),
        ..Creation::default()
    };
    let id = store.jobs().create_with(&new_job("a job"), &creation).await;
    let id = id.unwrap().id;
    let mut expected = vec![("create".to_owned(), Some(id.clone()))];
    assert_eq!(told(store).await, expected);
    // A repeated one changes nothing.
    let again = store.jobs().create_with(&new_job("a job"), &creation).await;
    assert!(!again.unwrap().is_new);
    assert_eq!(told(store).await, expected);

    let about = |operation: &str| AuditEntry {
        job: Some(id.clone()),
        ..entry("ada", operation)
    };
    let request = CancelRequest::default();
    let canceled = about("cancel");
    (store
        .cancellations()
        .request(&id, &request, Some(&canceled))
        .await)
        .unwrap();
    expected.push(("cancel".into(), Some(id.clone())));
    let token = NewToken {
        name: "ci".into(),
        ..NewToken::default()
    };
    let made = entry("ada", "token");
    store.tokens().create(&token, Some(&made)).await.unwrap();
    let revoked = entry("ada", "revoke");
    store.tokens().revoke("ci", Some(&revoked)).await.unwrap();
    expected.extend([("token".into(), None), ("revoke".into(), None)]);
    assert_eq!(told(store).await, expected);

    // Nothing was done, so nothing is recorded.
    store
        .tokens()
        .create(&token, Some(&made))
        .await
        .unwrap_err();
    let missing = store.tokens().revoke("missing", Some(&revoked)).await;
    assert!(matches!(missing, Err(StoreError::NoToken { .. })));
    fixture.behind_its_back("DELETE FROM jobs").await;
    let unknown = store
        .cancellations()
        .request(&id, &request, Some(&canceled))
        .await;
    assert!(matches!(unknown, Err(StoreError::Unknown { .. })));
    assert_eq!(told(store).await, expected);
}

/// The log can't be written after each change and before its commit.
async fn no_change_lasts_whose_entry_fails(fixture: Fixture) {
    let store = &fixture.store;
    let (running, ended) = (fixture.job().await, fixture.job().await);
    let request = CancelRequest::default();
    store
        .cancellations()
        .request(&ended, &request, None)
        .await
        .unwrap();
    for state in [JobState::Running, JobState::Canceled] {
        store
            .jobs()
            .set_state(&ended, state, None, None)
            .await
            .unwrap();
    }
    let token = |name: &str| NewToken {
        name: name.into(),
        ..NewToken::default()
    };
    store.tokens().create(&token("kept"), None).await.unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let session = store.sessions().begin("ada", &[], hour, None, None).await;
    let session = session.unwrap();
    let jobs = async || {
        let (running, ended) = (store.jobs().get(&running), store.jobs().get(&ended));
        (running.await.unwrap(), ended.await.unwrap())
    };
    let before = (jobs().await, store.tokens().list().await.unwrap());

    let away = "ALTER TABLE audit RENAME TO audit_away";
    fixture.behind_its_back(away).await;
    let told = &entry("ada", "change");
    let creation = Creation {
        entry: Some(told),
        ..Creation::default()
    };
    let theme = json!({ "theme": "dark" }).as_object().unwrap().clone();
    let old = session.as_str();
    let failures = [
        (store
            .jobs()
            .create_with(&new_job("another"), &creation)
            .await)
            .map(drop),
        store
            .cancellations()
            .request(&running, &request, Some(told))
            .await
            .map(drop),
        store.jobs().pause(&running, Some(told)).await,
        store.jobs().resume(&ended, None, Some(told)).await,
        store
            .tokens()
            .create(&token("new"), Some(told))
            .await
            .map(drop),
        store.tokens().revoke("kept", Some(told)).await,
        store.preferences().set("ada", &theme, Some(told)).await,
        (store
            .sessions()
            .begin("ada", &[], hour, Some(old), Some(told))
            .await)
            .map(drop),
        store.sessions().end(old, Some(told)).await,
    ];
    for (number, failed) in failures.iter().enumerate() {
        assert!(failed.is_err(), "change {number}");
    }
    let back = "ALTER TABLE audit_away RENAME TO audit";
    fixture.behind_its_back(back).await;
    assert_eq!((jobs().await, store.tokens().list().await.unwrap()), before);
    assert!(!store.cancellations().is_requested(&running).await.unwrap());
    assert!(!store.jobs().is_paused(&running).await.unwrap());
    assert!(store.preferences().get("ada").await.unwrap().is_empty());
    assert!(store.sessions().find(old).await.unwrap().is_some());
    let total = store.jobs().count(&Default::default()).await.unwrap();
    assert_eq!(total, Total::Exactly(2));

    // With its entry, each persists.
    let next = store
        .sessions()
        .begin("ada", &[], hour, Some(old), Some(told))
        .await;
    assert!(store.sessions().find(old).await.unwrap().is_none());
    let next = next.unwrap();
    store
        .sessions()
        .end(next.as_str(), Some(told))
        .await
        .unwrap();
    // Nothing is left to end, so nothing is recorded.
    store
        .sessions()
        .end(next.as_str(), Some(told))
        .await
        .unwrap();
    store
        .preferences()
        .set("ada", &theme, Some(told))
        .await
        .unwrap();
    assert_eq!(self::told(store).await.len(), 3);
}

async fn a_job_that_has_ended_is_resumed_with_an_entry(fixture: Fixture) {
    let store = &fixture.store;
    let resumed = entry("ada", "resume");
    let resume = async |id: &JobId| store.jobs().resume(id, None, Some(&resumed)).await;
    let hour = std::time::Duration::from_secs(3600);
    let id = fixture.job().await;
    let lease = store.leases().grant(&id, "pool", hour).await.unwrap();
    store
        .leases()
        .set_state(&lease, JobState::Running, None, None)
        .await
        .unwrap();
    let leased = resume(&id).await;
    assert!(matches!(leased, Err(StoreError::Leased { .. })));
    let mut journal = store.journals().open_leased(&lease).await.unwrap();
    append_all(&mut journal, &ticks(2)).await;
    append_all(&mut journal, &[run(2), Record::CancelRequested, run(3)]).await;
    let request = CancelRequest {
        reason: "wrong range".into(),
        by: "ada".into(),
    };
    store
        .cancellations()
        .request(&id, &request, None)
        .await
        .unwrap();
    let outcome = json!({ "status": "canceled" });
    store
        .leases()
        .set_state(&lease, JobState::Canceled, None, Some(&outcome))
        .await
        .unwrap();
    store.leases().release(&lease).await.unwrap();
    assert_eq!(told(store).await, []);

    let before = store.jobs().get(&id).await.unwrap();
    assert_eq!(before.cancel, Some(request));
    resume(&id).await.unwrap();
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!(
        (job.state, job.cancel, job.outcome),
        (JobState::Pending, None, None)
    );
    assert_eq!((job.runs, job.duration), (1, before.duration));
    assert!(!store.cancellations().is_requested(&id).await.unwrap());
    let mut journal = store.journals().open(&id).await.unwrap();
    assert_eq!(journal.records().await.unwrap().len(), 3);
    let taken = store
        .leases()
        .take(&Default::default(), "pool", hour)
        .await
        .unwrap();
    let (job, lease) = taken.unwrap();
    assert_eq!(job.id, id);

    store
        .leases()
        .set_state(&lease, JobState::Running, None, None)
        .await
        .unwrap();
    store
        .leases()
        .set_state(&lease, JobState::Failed, Some("no disk"), None)
        .await
        .unwrap();
    store.leases().release(&lease).await.unwrap();
    resume(&id).await.unwrap();
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!((job.state, job.error), (JobState::Pending, None));

    // It is waiting already, and is not asked to end again.
    let request = CancelRequest::default();
    store
        .cancellations()
        .request(&id, &request, None)
        .await
        .unwrap();
    resume(&id).await.unwrap();
    assert!(!store.cancellations().is_requested(&id).await.unwrap());

    store
        .jobs()
        .set_state(&id, JobState::Running, None, None)
        .await
        .unwrap();
    store
        .jobs()
        .set_state(&id, JobState::Completed, None, None)
        .await
        .unwrap();
    let finished = resume(&id).await;
    assert!(matches!(finished, Err(StoreError::Transition { .. })));
    assert_eq!(told(store).await.len(), 3);
}

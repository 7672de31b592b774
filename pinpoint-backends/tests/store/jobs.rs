//! Jobs: created, found, listed, moved from state to state.

use pinpoint_backends::store::{
    AuditEntry, AuditFilter, CancelRequest, JOURNAL_VERSION, JobFilter, JobId, StoreError,
};
use pinpoint_core::{JobState, Record};

use crate::a_run::run;
use crate::common::{
    Fixture, all, append_all, built, found, new_job, open, run_failed, tick, ticks,
};
use crate::on_both;

on_both! {
    a_job_comes_back_as_it_went_in,
    a_job_is_found_by_the_beginning_of_its_name,
    a_list_is_newest_first_and_counts,
    only_legal_transitions_are_made,
    error_and_outcome_belong_to_the_state,
    a_cancellation_is_asked_for_seen_and_forgotten,
    the_first_reason_is_kept_until_it_is_withdrawn,
    a_job_that_has_ended_is_not_asked_to_end,
    a_withdrawn_cancellation_is_kept_and_not_replayed,
    what_is_asked_of_no_job_is_an_error,
}

/// A valid name that no job has.
async fn nobody(fixture: &Fixture) -> JobId {
    let id = fixture.job().await;
    fixture.behind_its_back("DELETE FROM jobs").await;
    id
}

async fn a_job_comes_back_as_it_went_in(fixture: Fixture) {
    let id = fixture.job().await;
    fixture.store.clone().close().await;

    let store = open(&fixture.place()).await;
    let job = store.jobs().get(&id).await.unwrap();
    let new = new_job("a job");
    assert_eq!((&job.id, job.state), (&id, JobState::Pending));
    assert_eq!(
        (job.kind, job.title, job.repository),
        (new.kind, new.title, new.repository)
    );
    assert_eq!((job.spec, job.config), (new.spec, new.config));
    assert_eq!((job.outcome, job.error), (None, None));
    assert_eq!(job.journal_version, JOURNAL_VERSION);
    assert_eq!(job.written_by, env!("CARGO_PKG_VERSION"));
    assert!(job.created > 1_700_000_000_000 && job.created == job.updated);
}

async fn a_job_is_found_by_the_beginning_of_its_name(fixture: Fixture) {
    let first = fixture.job().await;
    let second = fixture.job().await;
    let get = async |prefix: &str| fixture.store.jobs().find(&prefix.parse()?).await;

    let short = &first.as_str()[..31];
    assert_eq!(get(short).await.unwrap().id, first);
    assert_eq!(get(&short.to_uppercase()).await.unwrap().id, first);
    let hyphenated = format!("{}-{}", &short[..8], &short[8..]);
    assert_eq!(get(&hyphenated).await.unwrap().id, first);

    match get(&first.as_str()[..4]).await.unwrap_err() {
        StoreError::Ambiguous { matches, .. } => assert_eq!(matches, [second, first]),
        other => panic!("{other}"),
    }
    for nothing in ["", "ffff", "%", "_", "' OR 1", "-", "é"] {
        let error = get(nothing).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Unknown { .. }),
            "{nothing}: {error}"
        );
    }
}

async fn a_list_is_newest_first_and_counts(fixture: Fixture) {
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(
            fixture
                .store
                .jobs()
                .create(&new_job(&number.to_string()))
                .await
                .unwrap(),
        );
    }
    fixture
        .store
        .jobs()
        .set_state(&ids[1], JobState::Running, None, None)
        .await
        .unwrap();
    let mut journal = fixture.store.journals().open(&ids[1]).await.unwrap();
    append_all(&mut journal, &[built(1), run(2), run_failed(3), tick(9)]).await;

    let list = all(&fixture.store).await;
    let titles: Vec<&str> = list.iter().map(|job| job.title.as_str()).collect();
    assert_eq!(titles, ["4", "3", "2", "1", "0"]);
    assert_eq!((list[3].runs, list[3].builds), (2, 1));
    assert_eq!((list[0].runs, list[0].builds), (0, 0));

    let in_state = async |state| {
        let filter = JobFilter {
            state: Some(state),
            ..JobFilter::default()
        };
        found(&fixture.store, filter).await
    };
    assert_eq!(in_state(JobState::Running).await, list[3..4]);
    assert_eq!(in_state(JobState::Failed).await, []);
}

async fn only_legal_transitions_are_made(fixture: Fixture) {
    use JobState::*;
    for from in JobState::ALL {
        for to in JobState::ALL {
            let id = fixture.job().await;
            let way = match from {
                Pending => vec![],
                Running => vec![Running],
                ended => vec![Running, ended],
            };
            for state in way {
                fixture
                    .store
                    .jobs()
                    .set_state(&id, state, None, None)
                    .await
                    .unwrap();
            }
            let result = fixture.store.jobs().set_state(&id, to, None, None).await;
            let now = fixture.store.jobs().get(&id).await.unwrap().state;
            if from.can_become(to) {
                result.unwrap();
                assert_eq!(now, to);
            } else {
                let error = result.unwrap_err();
                assert!(
                    matches!(error, StoreError::Transition { from: f, to: t, .. } if f == from && t == to)
                );
                assert_eq!(now, from);
            }
        }
    }
}

async fn error_and_outcome_belong_to_the_state(fixture: Fixture) {
    let id = fixture.job().await;
    let set = async |state, error, outcome: Option<serde_json::Value>| {
        let store = &fixture.store;
        store
            .jobs()
            .set_state(&id, state, error, outcome.as_ref())
            .await
            .unwrap();
        let job = store.jobs().get(&id).await.unwrap();
        (job.error, job.outcome)
    };
    set(JobState::Running, None, None).await;
    let failed = set(JobState::Failed, Some("the good end does not build"), None).await;
    assert_eq!(failed, (Some("the good end does not build".into()), None));
    assert_eq!(set(JobState::Running, None, None).await, (None, None));
    let outcome = serde_json::json!({ "culprits": [3], "effect": 0.1 });
    let completed = set(JobState::Completed, None, Some(outcome.clone())).await;
    assert_eq!(completed, (None, Some(outcome)));
}

async fn a_cancellation_is_asked_for_seen_and_forgotten(fixture: Fixture) {
    let (id, other) = (fixture.job().await, fixture.job().await);
    let store = &fixture.store;
    assert!(!store.cancellations().is_requested(&id).await.unwrap());
    store
        .cancellations()
        .request(&id, &CancelRequest::default(), None)
        .await
        .unwrap();
    assert!(store.cancellations().is_requested(&id).await.unwrap());
    assert!(!store.cancellations().is_requested(&other).await.unwrap());
    store.cancellations().clear(&id).await.unwrap();
    assert!(!store.cancellations().is_requested(&id).await.unwrap());
}

async fn the_first_reason_is_kept_until_it_is_withdrawn(fixture: Fixture) {
    let id = fixture.job().await;
    let store = &fixture.store;
    let asked = async |reason: &str, by: &str| {
        let (reason, by) = (reason.into(), by.into());
        let request = CancelRequest { reason, by };
        store
            .cancellations()
            .request(&id, &request, None)
            .await
            .unwrap();
        request
    };
    let kept = async || store.jobs().get(&id).await.unwrap().cancel;
    assert_eq!(kept().await, None);
    let first = asked("", "").await;
    asked("wrong range", "ada").await;
    assert_eq!(kept().await, Some(first));
    store.cancellations().clear(&id).await.unwrap();
    assert_eq!(kept().await, None);
    let second = asked("wrong range", "ada").await;
    asked("no more needed", "bob").await;
    assert_eq!(kept().await, Some(second));
    store.cancellations().withdraw(&id).await.unwrap();
    assert_eq!(kept().await, None);
}

/// A request just after its end did not end it.
async fn a_job_that_has_ended_is_not_asked_to_end(fixture: Fixture) {
    let store = &fixture.store;
    let request = CancelRequest {
        reason: "too late".into(),
        by: "ada".into(),
    };
    let entry = AuditEntry::default();
    for ended in [JobState::Completed, JobState::Canceled] {
        let id = fixture.job().await;
        for state in [JobState::Running, ended] {
            store
                .jobs()
                .set_state(&id, state, None, None)
                .await
                .unwrap();
        }
        match store
            .cancellations()
            .request(&id, &request, Some(&entry))
            .await
        {
            Err(StoreError::Transition { from, .. }) => assert_eq!(from, ended),
            other => panic!("{other:?}"),
        }
        assert_eq!(store.jobs().get(&id).await.unwrap().cancel, None);
        assert!(!store.cancellations().is_requested(&id).await.unwrap());
    }
    let rows = store.audit().list(&AuditFilter::default(), 0, 10).await;
    assert_eq!(rows.unwrap(), []);
    // A failed one may be resumed, or ended for good.
    let id = fixture.job().await;
    for state in [JobState::Running, JobState::Failed] {
        store
            .jobs()
            .set_state(&id, state, None, None)
            .await
            .unwrap();
    }
    store
        .cancellations()
        .request(&id, &request, None)
        .await
        .unwrap();
    assert!(store.cancellations().is_requested(&id).await.unwrap());
}

async fn a_withdrawn_cancellation_is_kept_and_not_replayed(fixture: Fixture) {
    let (id, other) = (fixture.job().await, fixture.job().await);
    let cancel = Record::CancelRequested;
    let mut journal = fixture.store.journals().open(&id).await.unwrap();
    append_all(&mut journal, &ticks(3)).await;
    append_all(
        &mut journal,
        &[cancel.clone(), run(8), cancel.clone(), run(9)],
    )
    .await;
    let mut untouched = fixture.store.journals().open(&other).await.unwrap();
    append_all(&mut untouched, &[tick(0), cancel.clone()]).await;
    fixture
        .store
        .cancellations()
        .request(&id, &CancelRequest::default(), None)
        .await
        .unwrap();

    assert_eq!(
        fixture.store.cancellations().withdraw(&id).await.unwrap(),
        4
    );
    assert!(
        !fixture
            .store
            .cancellations()
            .is_requested(&id)
            .await
            .unwrap()
    );
    assert_eq!(journal.records().await.unwrap(), ticks(3));
    assert_eq!(untouched.records().await.unwrap().len(), 2);
    assert_eq!(
        fixture.store.cancellations().withdraw(&id).await.unwrap(),
        0
    );
    assert_eq!(all(&fixture.store).await[1].runs, 0);

    // The journal continues, and a second cancellation can also be withdrawn.
    append_all(&mut journal, &[tick(3), cancel, run(10)]).await;
    assert_eq!(
        fixture.store.cancellations().withdraw(&id).await.unwrap(),
        2
    );
    let mut anew = fixture.store.journals().open(&id).await.unwrap();
    assert_eq!(anew.records().await.unwrap(), ticks(4));

    let kept = "SELECT kind, event FROM records WHERE withdrawn = 1";
    assert_eq!(fixture.seen_behind_its_back(kept).await.len(), 6);
}

async fn what_is_asked_of_no_job_is_an_error(fixture: Fixture) {
    let id = nobody(&fixture).await;
    let store = &fixture.store;
    let unknown = |error: StoreError| assert!(matches!(error, StoreError::Unknown { .. }));
    unknown(store.jobs().get(&id).await.unwrap_err());
    unknown(
        store
            .jobs()
            .set_state(&id, JobState::Running, None, None)
            .await
            .unwrap_err(),
    );
    unknown(store.journals().open(&id).await.unwrap_err());
    unknown(
        store
            .cancellations()
            .request(&id, &CancelRequest::default(), None)
            .await
            .unwrap_err(),
    );
    unknown(store.cancellations().is_requested(&id).await.unwrap_err());
    unknown(store.cancellations().clear(&id).await.unwrap_err());
    unknown(store.cancellations().withdraw(&id).await.unwrap_err());
}

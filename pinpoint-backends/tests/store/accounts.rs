//! Tokens, sessions and sign-ins; idempotent creations; counts for quotas.

use std::time::Duration;

use pinpoint_backends::store::{
    CancelRequest, Created, Creation, IdempotencyKey, JobId, JobStore, MOST_PREFERENCES_BYTES,
    MOST_SESSIONS, NewJob, NewToken, StoreError, Token, TokenCheck,
};
use pinpoint_core::{JobState, Record};
use serde_json::json;

use crate::a_run::run;
use crate::common::{Fixture, all, append_all, new_job, open, run_failed, tick};
use crate::on_both;

on_both! {
    a_token_is_found_by_its_secret_until_it_ends,
    a_use_of_a_token_is_noted_once_a_minute,
    a_session_lasts_until_its_end,
    a_user_has_so_many_sessions,
    what_is_over_is_removed,
    a_sign_in_ends_once,
    a_request_that_is_repeated_makes_one_job,
    an_idempotency_key_is_forgotten_after_a_day,
    many_with_one_idempotency_key_make_one_job,
    jobs_and_runs_of_a_user_are_counted,
    preferences_are_kept_as_they_were_written,
}

async fn preferences_are_kept_as_they_were_written(fixture: Fixture) {
    let store = &fixture.store;
    assert!(store.preferences().get("ada").await.unwrap().is_empty());
    let object = |value: serde_json::Value| value.as_object().unwrap().clone();
    let first = object(json!({ "theme": "dark", "of a later version": [1.5, null, "\u{0}"] }));
    store.preferences().set("ada", &first, None).await.unwrap();
    assert_eq!(store.preferences().get("ada").await.unwrap(), first);
    // A field that this program does not know survives the change of another.
    let mut second = store.preferences().get("ada").await.unwrap();
    second.insert("theme".into(), "light".into());
    store.preferences().set("ada", &second, None).await.unwrap();
    let kept = store.preferences().get("ada").await.unwrap();
    assert_eq!(kept["theme"], "light");
    assert_eq!(kept["of a later version"], first["of a later version"]);
    assert!(store.preferences().get("eve").await.unwrap().is_empty());

    let of_length =
        |length: usize| object(json!({ "a": "x".repeat(length - r#"{"a":""}"#.len()) }));
    let longest = of_length(MOST_PREFERENCES_BYTES);
    store
        .preferences()
        .set("ada", &longest, None)
        .await
        .unwrap();
    let refused = store
        .preferences()
        .set("ada", &of_length(MOST_PREFERENCES_BYTES + 1), None)
        .await;
    assert!(matches!(refused, Err(StoreError::PreferencesTooLong)));
    assert_eq!(store.preferences().get("ada").await.unwrap(), longest);
}

const HOUR: Duration = Duration::from_secs(3600);

fn named(name: &str) -> NewToken {
    NewToken {
        name: name.into(),
        user: "ada".into(),
        rights: vec!["editor".into(), "jobs.run \"x\"".into()],
        expires: None,
    }
}

async fn a_token_is_found_by_its_secret_until_it_ends(fixture: Fixture) {
    let store = &fixture.store;
    let secret = store.tokens().create(&named("ci"), None).await.unwrap();
    assert!(secret.as_str().starts_with("pinpoint_"));
    assert_eq!(secret.as_str().len(), "pinpoint_".len() + 43);
    assert!(!format!("{secret:?}").contains(&secret.as_str()[9..]));
    let valid = |check| match check {
        TokenCheck::Valid(token) => token,
        other => panic!("{other:?}"),
    };
    let token = valid(store.tokens().find(secret.as_str()).await.unwrap());
    let Token {
        name, user, rights, ..
    } = &token;
    assert_eq!((&**name, &**user, rights), ("ci", "ada", &named("").rights));
    let taken = store.tokens().create(&named("ci"), None).await;
    assert!(matches!(taken, Err(StoreError::TokenExists { .. })));
    for wrong in ["", "pinpoint_", &secret.as_str()[9..], "x"] {
        let found = store.tokens().find(wrong).await.unwrap();
        assert_eq!(found, TokenCheck::Unknown);
    }

    let now = token.created;
    let until = |name: &str, expires| NewToken {
        expires: Some(expires),
        ..named(name)
    };
    let later = until("later", now + 3_600_000);
    let later = store.tokens().create(&later, None).await.unwrap();
    valid(store.tokens().find(later.as_str()).await.unwrap());
    let over = store
        .tokens()
        .create(&until("over", now), None)
        .await
        .unwrap();
    match store.tokens().find(over.as_str()).await.unwrap() {
        TokenCheck::Expired(token) => assert_eq!((&*token.name, token.used), ("over", None)),
        other => panic!("{other:?}"),
    }

    store.tokens().revoke("ci", None).await.unwrap();
    let TokenCheck::Revoked(revoked) = store.tokens().find(secret.as_str()).await.unwrap() else {
        panic!("it was revoked");
    };
    store.tokens().revoke("ci", None).await.unwrap();
    let tokens = store.tokens().list().await.unwrap();
    let names: Vec<&str> = tokens.iter().map(|token| &*token.name).collect();
    assert_eq!(names, ["ci", "later", "over"]);
    assert_eq!(tokens[0], revoked);
    assert!(revoked.revoked >= Some(now) && revoked.used.is_some());
    let kept = "SELECT name, name || username || rights FROM tokens";
    for (_, kept) in fixture.seen_behind_its_back(kept).await {
        assert!(!kept.contains(&secret.as_str()[9..]));
    }
}

async fn a_use_of_a_token_is_noted_once_a_minute(fixture: Fixture) {
    let store = &fixture.store;
    let secret = store.tokens().create(&named("ci"), None).await.unwrap();
    let used = async || {
        store.tokens().find(secret.as_str()).await.unwrap();
        store.tokens().list().await.unwrap()[0].used.unwrap()
    };
    assert_eq!(store.tokens().list().await.unwrap()[0].used, None);
    used().await;
    // As if it had been used at another time.
    for (ago, is_noted) in [(-3_600_000, false), (90_000, true)] {
        let sql = format!("UPDATE tokens SET used = created - ({ago})");
        fixture.behind_its_back(&sql).await;
        let before = store.tokens().list().await.unwrap()[0].used.unwrap();
        assert_eq!(used().await != before, is_noted);
    }
}

async fn a_session_lasts_until_its_end(fixture: Fixture) {
    let store = &fixture.store;
    let groups = ["perf".to_owned(), "a,b \"c\"".to_owned()];
    let secret = store
        .sessions()
        .begin("ada", &groups, HOUR, None, None)
        .await
        .unwrap();
    let other = store
        .sessions()
        .begin("ada", &[], HOUR, None, None)
        .await
        .unwrap();
    let session = store
        .sessions()
        .find(secret.as_str())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((&*session.user, &session.groups[..]), ("ada", &groups[..]));
    assert!(session.expires - session.created >= 3_600_000);
    for wrong in ["", "x", &secret.as_str()[1..]] {
        assert_eq!(store.sessions().find(wrong).await.unwrap(), None);
    }
    store.sessions().end(secret.as_str(), None).await.unwrap();
    store.sessions().end(secret.as_str(), None).await.unwrap();
    assert_eq!(store.sessions().find(secret.as_str()).await.unwrap(), None);
    let found = store.sessions().find(other.as_str()).await.unwrap();
    assert_eq!(found.unwrap().groups, [""; 0]);
    let over = store
        .sessions()
        .begin("ada", &[], Duration::ZERO, None, None)
        .await;
    let over = over.unwrap();
    assert_eq!(store.sessions().find(over.as_str()).await.unwrap(), None);
}

async fn a_user_has_so_many_sessions(fixture: Fixture) {
    let store = &fixture.store;
    let begin = async |user: &str| {
        store
            .sessions()
            .begin(user, &[], HOUR, None, None)
            .await
            .unwrap()
    };
    let others = begin("bob").await;
    let oldest = begin("ada").await;
    // As if they had started one after the other.
    let older = "UPDATE sessions SET created = created - 1000";
    fixture.behind_its_back(older).await;
    let second = begin("ada").await;
    fixture.behind_its_back(older).await;
    for _ in 2..MOST_SESSIONS {
        begin("ada").await;
    }
    assert!(
        store
            .sessions()
            .find(oldest.as_str())
            .await
            .unwrap()
            .is_some()
    );
    let newest = begin("ada").await;
    assert_eq!(store.sessions().find(oldest.as_str()).await.unwrap(), None);
    for there in [second, newest, others] {
        assert!(
            store
                .sessions()
                .find(there.as_str())
                .await
                .unwrap()
                .is_some()
        );
    }
}

async fn what_is_over_is_removed(fixture: Fixture) {
    let store = &fixture.store;
    let value = json!({});
    for number in 0..3 {
        let user = number.to_string();
        store
            .sessions()
            .begin(&user, &[], HOUR, None, None)
            .await
            .unwrap();
        store.sessions().begin_sign_in(&value).await.unwrap();
    }
    for table in ["sessions", "sign_ins"] {
        let sql = format!("UPDATE {table} SET expires = expires - 3600001");
        fixture.behind_its_back(&sql).await;
    }
    store
        .sessions()
        .begin("ada", &[], HOUR, None, None)
        .await
        .unwrap();
    store.sessions().begin_sign_in(&value).await.unwrap();
    let left = "SELECT 'session', username FROM sessions UNION ALL SELECT 'sign-in', value \
                FROM sign_ins ORDER BY 1";
    let left = fixture.seen_behind_its_back(left).await;
    let expected = [("session", "ada"), ("sign-in", "{}")];
    assert_eq!(left, expected.map(|(one, two)| (one.into(), two.into())));
}

async fn a_sign_in_ends_once(fixture: Fixture) {
    let store = &fixture.store;
    let value = json!({ "nonce": "n", "verifier": "v", "return": "/jobs?user=é" });
    let state = store.sessions().begin_sign_in(&value).await.unwrap();
    assert_eq!(store.sessions().take_sign_in("x").await.unwrap(), None);
    let stores = [store.clone(), open(&fixture.place()).await];
    let mut taking = tokio::task::JoinSet::new();
    for taker in 0..8 {
        let (store, state) = (stores[taker % 2].clone(), state.clone());
        taking.spawn(async move { store.sessions().take_sign_in(state.as_str()).await.unwrap() });
    }
    let taken: Vec<_> = taking.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken, std::slice::from_ref(&value));

    let late = store.sessions().begin_sign_in(&value).await.unwrap();
    fixture
        .behind_its_back("UPDATE sign_ins SET expires = expires - 600001")
        .await;
    assert_eq!(
        store.sessions().take_sign_in(late.as_str()).await.unwrap(),
        None
    );
}

async fn create(store: &JobStore, user: &str, digest: u8) -> Result<Created, StoreError> {
    let creation = Creation {
        once: Some(IdempotencyKey {
            user,
            key: "key",
            digest: [digest; 32],
        }),
        ..Creation::default()
    };
    store.jobs().create_with(&new_job("once"), &creation).await
}

async fn a_request_that_is_repeated_makes_one_job(fixture: Fixture) {
    let store = &fixture.store;
    let first = create(store, "ada", 1).await.unwrap();
    assert!(first.is_new);
    let mut again = first.clone();
    again.is_new = false;
    assert_eq!(create(store, "ada", 1).await.unwrap(), again);
    let other = create(store, "bob", 2).await.unwrap();
    assert!(other.is_new && other.id != first.id);
    let reused = create(store, "ada", 2).await.unwrap_err();
    assert!(matches!(reused, StoreError::KeyReused { .. }), "{reused}");
    assert_eq!(create(store, "ada", 1).await.unwrap(), again);
    assert_eq!(all(store).await.len(), 2);
    // Without a key each creates a job.
    fixture.job().await;
    fixture.job().await;
    assert_eq!(all(store).await.len(), 4);
}

async fn an_idempotency_key_is_forgotten_after_a_day(fixture: Fixture) {
    let store = &fixture.store;
    let first = create(store, "ada", 1).await.unwrap();
    create(store, "bob", 1).await.unwrap();
    let older = async |milliseconds: i64| {
        let sql = format!("UPDATE idempotency_keys SET created = created - {milliseconds}");
        fixture.behind_its_back(&sql).await;
    };
    older(23 * 3_600_000).await;
    assert_eq!(create(store, "ada", 1).await.unwrap().id, first.id);
    older(3_600_001).await;
    let next = create(store, "ada", 2).await.unwrap();
    assert!(next.is_new && next.id != first.id);
    let kept = "SELECT username, job FROM idempotency_keys";
    let kept = fixture.seen_behind_its_back(kept).await;
    assert_eq!(kept, [("ada".into(), next.id.to_string())]);
}

async fn many_with_one_idempotency_key_make_one_job(fixture: Fixture) {
    let stores = [fixture.store.clone(), open(&fixture.place()).await];
    let mut creating = tokio::task::JoinSet::new();
    for creator in 0..8 {
        let store = stores[creator % 2].clone();
        creating.spawn(async move { create(&store, "ada", 1).await.unwrap() });
    }
    let created = creating.join_all().await;
    assert_eq!(created.iter().filter(|created| created.is_new).count(), 1);
    let job = &all(&fixture.store).await[..];
    assert_eq!(job.len(), 1);
    assert!(created.iter().all(|created| created.id == job[0].id));
}

async fn jobs_and_runs_of_a_user_are_counted(fixture: Fixture) {
    let store = &fixture.store;
    let of = async |user: &str| -> JobId {
        let job = NewJob {
            user: user.into(),
            ..new_job("a job")
        };
        store.jobs().create(&job).await.unwrap()
    };
    let ids = [of("ada").await, of("ada").await, of("bob").await];
    let created = store.jobs().get(&ids[0]).await.unwrap().created;
    assert_eq!(
        store.quotas().jobs_created("ada", created).await.unwrap(),
        2
    );
    assert_eq!(
        store
            .quotas()
            .jobs_created("ada", created + 60_000)
            .await
            .unwrap(),
        0
    );
    assert_eq!(store.quotas().jobs_under_way("ada").await.unwrap(), 2);
    for state in [JobState::Running, JobState::Completed] {
        store
            .jobs()
            .set_state(&ids[0], state, None, None)
            .await
            .unwrap();
    }
    assert_eq!(store.quotas().jobs_under_way("ada").await.unwrap(), 1);
    assert_eq!(store.quotas().jobs_under_way("bob").await.unwrap(), 1);
    assert_eq!(store.quotas().jobs_under_way("eve").await.unwrap(), 0);

    for (id, count) in ids.iter().zip([2, 3, 1]) {
        let mut journal = store.journals().open(id).await.unwrap();
        let runs: Vec<Record> = (0..count).map(run).collect();
        append_all(&mut journal, &[tick(1), run_failed(7)]).await;
        journal.append_all(&runs).await.unwrap();
        journal.record_once(&run(9), None).await.unwrap();
        journal.record_once(&run(9), None).await.unwrap();
    }
    let runs = async |user: &str, since| store.quotas().runs_recorded(user, since).await.unwrap();
    assert_eq!(
        (runs("ada", created).await, runs("bob", created).await),
        (9, 3)
    );
    assert_eq!(runs("ada", created + 2 * 3_600_000).await, 0);
    // Withdrawn runs still count as made.
    let request = CancelRequest::default();
    store
        .cancellations()
        .request(&ids[1], &request, None)
        .await
        .unwrap();
    let mut journal = store.journals().open(&ids[1]).await.unwrap();
    append_all(&mut journal, &[Record::CancelRequested, run(5)]).await;
    assert_eq!(store.cancellations().withdraw(&ids[1]).await.unwrap(), 2);
    assert_eq!(runs("ada", created).await, 10);
    // As if some had been made hours before.
    fixture
        .behind_its_back("UPDATE run_counts SET hour = hour - 2 WHERE username = 'ada'")
        .await;
    assert_eq!(runs("ada", created).await, 0);
    assert_eq!(runs("ada", created - 2 * 3_600_000).await, 10);
    // The job is gone, but the runs of its hour remain.
    store.jobs().purge(created - 3_600_000, 10).await.unwrap();
    assert_eq!(runs("ada", 0).await, 0);
    assert_eq!(runs("bob", 0).await, 3);
}

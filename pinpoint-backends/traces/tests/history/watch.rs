//! Alerts, the log of a watch, and the values that it has not seen.

use std::collections::BTreeMap;

use pinpoint_trace_store::{History, LoadedRow, TraceStoreError, Unseen};
use pinpoint_traces::watch::{
    Alert, AlertId, AlertState, Event, EventKind, Label, WatchState, change_by_hand,
};
use pinpoint_traces::{Columns, CommitName, CommitNumber, Source, Try, watch::CommitRange};

use crate::common::{Fixture, commit, file, id, query};

crate::on_both! {
    alerts_are_numbered_replaced_and_kept,
    one_of_two_writers_appends,
    values_are_new_until_they_were_seen,
    a_state_is_made_from_the_log_without_its_snapshot,
    what_was_told_is_noted,
}

fn alert(text: &str) -> Alert {
    Alert::from_json(text).unwrap()
}

/// A dataset with a value.
async fn begun(fixture: &Fixture) -> &History {
    let made = file("first", 0, 1, &[(",test=a,", 1.0)]);
    fixture.history.ingest(&[made], &[]).await.unwrap();
    &fixture.history
}

fn tested(values: u64) -> Event {
    let alert = AlertId(1);
    Event::new(5, "test", EventKind::Tested { alert, values })
}

async fn alerts_are_numbered_replaced_and_kept(fixture: Fixture) {
    let none = fixture.history.add_alert(&alert(r#"{"query": ""}"#)).await;
    assert!(matches!(none, Err(TraceStoreError::NoDataset(_))));
    let history = begun(&fixture).await;
    assert!(history.alerts().await.unwrap().is_empty());
    let rules = r#"{"id_as_string": "77", "query": "os=linux", "group_by": "test", "rate": 0.001,
        "least_share": 0.02, "command": "./b {test}"}"#;
    let first = history.add_alert(&alert(rules)).await.unwrap();
    let second = history.add_alert(&alert(r#"{"query": ""}"#)).await.unwrap();
    assert_eq!((first, second), (AlertId(1), AlertId(2)));
    let stored = history.alert(first).await.unwrap();
    let expected = Alert {
        id: first,
        ..alert(rules)
    };
    assert_eq!(stored, expected);
    let changed = Alert {
        owner: "ada".into(),
        ..stored
    };
    history.replace_alert(&changed).await.unwrap();
    history.delete_alert(second).await.unwrap();
    let all = history.alerts().await.unwrap();
    assert_eq!(all[0], changed);
    assert_eq!((all[1].id, all[1].state), (second, AlertState::Deleted));
    // A number is not given again.
    let third = history.add_alert(&changed).await.unwrap();
    assert_eq!(third, AlertId(3));
    let unknown = Alert {
        id: AlertId(9),
        ..changed.clone()
    };
    for error in [
        history.replace_alert(&unknown).await.unwrap_err(),
        history.delete_alert(AlertId(9)).await.unwrap_err(),
        history.alert(AlertId(9)).await.unwrap_err(),
    ] {
        assert!(
            matches!(error, TraceStoreError::NoAlert(AlertId(9))),
            "{error}"
        );
    }
    let wrong = Alert {
        rate: 0.5,
        ..changed
    };
    let error = history.replace_alert(&wrong).await.unwrap_err();
    assert!(matches!(error, TraceStoreError::Alert(_)), "{error}");
    // Each dataset has its own.
    let other = fixture.store.history(&"other".parse().unwrap());
    let made = file("first", 0, 1, &[(",test=a,", 1.0)]);
    other.ingest(&[made], &[]).await.unwrap();
    assert!(other.alerts().await.unwrap().is_empty());
}

async fn one_of_two_writers_appends(fixture: Fixture) {
    let mut state = WatchState::default();
    let none = fixture
        .history
        .append_events(&mut state, &[tested(1)])
        .await;
    assert!(matches!(none, Err(TraceStoreError::NoDataset(_))));
    let history = begun(&fixture).await;
    let (mut one, mut other) = (
        history.watch_state().await.unwrap(),
        history.watch_state().await.unwrap(),
    );
    let events = [tested(1), tested(2)];
    history.append_events(&mut one, &events).await.unwrap();
    let error = history
        .append_events(&mut other, &events)
        .await
        .unwrap_err();
    assert!(
        matches!(error, TraceStoreError::WatchConflict { known: 0, found: 2 }),
        "{error}"
    );
    assert_eq!((one.events, other.events), (2, 0));
    let mut other = history.watch_state().await.unwrap();
    assert_eq!(other, one);
    history
        .append_events(&mut other, &[tested(3)])
        .await
        .unwrap();
    // An event that does not fit: nothing of its list is written.
    let absent = EventKind::Firm {
        regression: "r0".into(),
    };
    let events = [tested(4), Event::new(6, "x", absent)];
    let error = history
        .append_events(&mut other, &events)
        .await
        .unwrap_err();
    assert!(matches!(error, TraceStoreError::Watch(_)), "{error}");
    assert_eq!(other.events, 3);
    let log = history.watch_events(1, 10).await.unwrap();
    assert_eq!(log, [tested(2), tested(3)]);
    assert_eq!(history.watch_events(0, 1).await.unwrap(), [tested(1)]);
}

/// The new values, by trace.
async fn new_values(history: &History) -> (bool, BTreeMap<String, Vec<u32>>) {
    let unseen = history.unseen().await.unwrap();
    let values = unseen.values.into_iter();
    let values = values.map(|(trace, commits)| {
        let commits = commits.into_iter().map(|it| it.0);
        (trace.to_string(), commits.collect())
    });
    (unseen.is_all, values.collect())
}

async fn seen(history: &History, unseen: &Unseen) {
    let mut state = history.watch_state().await.unwrap();
    history
        .append_seen(&mut state, &[tested(1)], unseen)
        .await
        .unwrap();
}

async fn values_are_new_until_they_were_seen(fixture: Fixture) {
    let none = fixture.history.unseen().await;
    assert!(matches!(none, Err(TraceStoreError::NoDataset(_))));
    let history = begun(&fixture).await;
    for _ in 0..2 {
        let unseen = history.unseen().await.unwrap();
        assert!(unseen.is_all && !unseen.is_empty() && unseen.values.is_empty());
    }
    // It comes while the first run reads.
    let unseen = history.unseen().await.unwrap();
    let during = file("during", 0, 2, &[(",test=a,", 2.0)]);
    history.ingest(&[during], &[]).await.unwrap();
    seen(history, &unseen).await;
    let of = |list: &[(&str, &[u32])]| {
        let list = list.iter();
        list.map(|(trace, commits)| ((*trace).to_owned(), commits.to_vec()))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(
        new_values(history).await,
        (false, of(&[(",test=a,", &[2])]))
    );
    // A late value, one that replaces another, a new trace, a file that waits, a try.
    let mut waiting = file("waits", 0, 0, &[(",test=a,", 3.0)]);
    waiting.commit = CommitName::Hash(commit(9).hash);
    let mut tried = file("tried", 0, 5, &[(",test=a,", 3.0)]);
    tried.tried = Some(Try {
        issue: "7".into(),
        patchset: "1".into(),
    });
    let files = [
        file("late", 0, 0, &[(",test=a,", 0.5)]),
        file("again", 9, 2, &[(",test=a,", 2.5), (",test=b,", 4.0)]),
        waiting,
        tried,
    ];
    history.ingest(&files, &[]).await.unwrap();
    let unseen = history.unseen().await.unwrap();
    assert_eq!(
        new_values(history).await,
        (false, of(&[(",test=a,", &[0, 2]), (",test=b,", &[2])]))
    );
    history.add_commits(&[commit(9)]).await.unwrap();
    let rows = [LoadedRow {
        trace: id(",test=c,"),
        values: vec![f64::NAN, 1.0, f64::NAN, 2.0],
    }];
    history.load(1, &Source::new("l", 0), &rows).await.unwrap();
    let mut state = history.watch_state().await.unwrap();
    history
        .append_events(&mut state, &[tested(1)])
        .await
        .unwrap();
    let all = of(&[
        (",test=a,", &[0, 2, 9]),
        (",test=b,", &[2]),
        (",test=c,", &[129, 131]),
    ]);
    assert_eq!(new_values(history).await, (false, all));
    // Those that came after a run had read are new for the next one.
    seen(history, &unseen).await;
    let rest = of(&[(",test=a,", &[9]), (",test=c,", &[129, 131])]);
    assert_eq!(new_values(history).await, (false, rest));
    let unseen = history.unseen().await.unwrap();
    // A writer that has not read the log has seen nothing.
    let mut stale = WatchState::default();
    let conflict = history.append_seen(&mut stale, &[], &unseen).await;
    assert!(matches!(
        conflict,
        Err(TraceStoreError::WatchConflict { .. })
    ));
    assert!(!history.unseen().await.unwrap().is_empty());
    seen(history, &unseen).await;
    assert!(history.unseen().await.unwrap().is_empty());
    // The same file again changes nothing.
    history.ingest(&files[..2], &[]).await.unwrap();
    assert!(history.unseen().await.unwrap().is_empty());
}

async fn a_state_is_made_from_the_log_without_its_snapshot(fixture: Fixture) {
    let history = begun(&fixture).await;
    let columns = Columns::range(CommitNumber(0)..=CommitNumber(3));
    let range = CommitRange::new(CommitNumber(1), CommitNumber(2)).unwrap();
    let row = [1.0 / 3.0, 0.1, 0.7, 1e-300];
    let change = change_by_hand(&id(",test=a,"), range, &columns, &row).unwrap();
    let label = Label {
        alert: AlertId(1),
        query: query("test=a"),
        value: "x".into(),
    };
    let made = EventKind::MadeByHand {
        label: Some(label),
        change,
    };
    let mut state = history.watch_state().await.unwrap();
    let first = [Event::new(7, "ada", made)];
    history.append_events(&mut state, &first).await.unwrap();
    for values in 0..300 {
        history
            .append_events(&mut state, &[tested(values)])
            .await
            .unwrap();
    }
    let log = history.watch_events(0, 1000).await.unwrap();
    assert_eq!(WatchState::of(&log).unwrap(), state);
    assert_eq!(history.watch_state().await.unwrap(), state);
    for snapshot in [
        "'no state'",
        "replace(snapshot, '\"version\":1', '\"version\":0')",
    ] {
        let sql = format!("UPDATE watches SET snapshot = {snapshot}");
        fixture.behind_its_back(&sql).await;
        assert_eq!(history.watch_state().await.unwrap(), state, "{snapshot}");
    }
    // It is stored again, and makes the beginning of the log dispensable.
    let events: Vec<Event> = (0..300).map(tested).collect();
    history.append_events(&mut state, &events).await.unwrap();
    fixture
        .behind_its_back("UPDATE watch_events SET content = '?' WHERE number < 512")
        .await;
    assert_eq!(history.watch_state().await.unwrap(), state);
    let newer = "UPDATE watch_events SET content = '{\"version\": 99}' WHERE number = 600; \
                 UPDATE watches SET snapshot = NULL";
    fixture.behind_its_back(newer).await;
    let error = history.watch_events(600, 1).await.unwrap_err();
    assert!(error.to_string().contains("newer Pinpoint"), "{error}");
    assert!(history.watch_state().await.is_err());
}

async fn what_was_told_is_noted(fixture: Fixture) {
    let history = begun(&fixture).await;
    assert_eq!(history.told_events().await.unwrap(), 0);
    let mut state = history.watch_state().await.unwrap();
    let events = [tested(1), tested(2), tested(3)];
    history.append_events(&mut state, &events).await.unwrap();
    history.note_told(2).await.unwrap();
    history.note_told(1).await.unwrap();
    assert_eq!(history.told_events().await.unwrap(), 2);
}

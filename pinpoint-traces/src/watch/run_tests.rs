//! Tests of runs: what is reported, and what is not reported twice.

use std::collections::BTreeMap;

use pinpoint_compare::steps::Triage;
use proptest::prelude::*;

use super::alert::{Alert, AlertId};
use super::detect::noise;
use super::event::{Event, EventKind};
use super::range::range;
use super::run::{RunInput, run_alerts};
use super::standing::Standing;
use super::state::WatchState;
use crate::annotation::{Annotation, AnnotationKind, MachineChange};
use crate::commit::CommitNumber;
use crate::frame::{Columns, Frame};
use crate::id::TraceId;

const A: &str = ",benchmark=b,config=8888,test=a,";
const B: &str = ",benchmark=b,config=gpu,test=b,";

/// Levels above 10 from commits on.
fn values(count: u32, levels: &[(u32, f64)]) -> Vec<f64> {
    let level = |i: u32| {
        levels
            .iter()
            .rev()
            .find(|(from, _)| i >= *from)
            .map_or(0.0, |(_, it)| *it)
    };
    (0..)
        .zip(noise(count))
        .map(|(i, it)| it + level(i))
        .collect()
}

fn frame(rows: &[(&str, Vec<f64>)]) -> Frame {
    let last = rows.iter().map(|(_, row)| row.len()).max().unwrap() as u32 - 1;
    let mut frame = Frame::new(Columns::range(CommitNumber(0)..=CommitNumber(last)));
    for (trace, row) in rows {
        frame
            .push(trace.parse::<TraceId>().unwrap().into(), row)
            .unwrap();
    }
    frame
}

fn alert(id: i64, more: &str) -> Alert {
    Alert::from_json(&format!(r#"{{"id_as_string": "{id}", "query": ""{more}}}"#)).unwrap()
}

fn fresh(traces: &[&str], commits: std::ops::Range<u32>) -> Vec<(TraceId, CommitNumber)> {
    let one = |trace: &&str| {
        let trace: TraceId = trace.parse().unwrap();
        commits
            .clone()
            .map(move |it| (trace.clone(), CommitNumber(it)))
    };
    traces.iter().flat_map(one).collect()
}

fn run(
    state: &WatchState,
    alerts: &[Alert],
    frame: &Frame,
    ingested: &[(TraceId, CommitNumber)],
    annotations: &[Annotation],
) -> Vec<EventKind> {
    let commits = BTreeMap::new();
    let input = RunInput {
        alerts,
        frame,
        ingested,
        annotations,
        commits: &commits,
    };
    run_alerts(state, input).unwrap()
}

fn apply(state: &mut WatchState, at: i64, events: &[Event]) {
    for event in events {
        state
            .apply(&Event {
                at,
                ..event.clone()
            })
            .unwrap();
    }
}

fn applied(state: &mut WatchState, at: i64, kinds: Vec<EventKind>) {
    let events: Vec<Event> = kinds
        .into_iter()
        .map(|it| Event::new(at, "detector", it))
        .collect();
    apply(state, at, &events);
}

fn names(kinds: &[EventKind]) -> Vec<&'static str> {
    let kind = |kind: &EventKind| match kind {
        EventKind::Detected { .. } => "detected",
        EventKind::Labeled { .. } => "labeled",
        EventKind::Firm { .. } => "firm",
        EventKind::Retracted { .. } => "retracted",
        EventKind::Stands { .. } => "stands",
        EventKind::Tested { .. } => "tested",
        EventKind::Clustered { .. } => "clustered",
        _ => "other",
    };
    kinds.iter().map(kind).collect()
}

#[test]
fn values_commit_by_commit_give_what_all_at_once_give() {
    let rows = [
        (A, values(100, &[(60, 3.0)])),
        (B, values(100, &[(60, -2.0), (63, 0.0)])),
    ];
    let alerts = [alert(1, "")];
    let whole = frame(&rows);
    let mut at_once = WatchState::default();
    let all = run(&at_once, &alerts, &whole, &fresh(&[A, B], 0..100), &[]);
    applied(&mut at_once, 0, all);
    let mut one_by_one = WatchState::default();
    for commit in 30..100 {
        let until = commit as usize + 1;
        let cut: Vec<_> = rows
            .iter()
            .map(|(id, row)| (*id, row[..until].to_vec()))
            .collect();
        let ingested = fresh(
            &[A, B],
            if commit == 30 {
                0..31
            } else {
                commit..commit + 1
            },
        );
        let kinds = run(&one_by_one, &alerts, &frame(&cut), &ingested, &[]);
        applied(&mut one_by_one, 0, kinds);
    }
    assert_eq!(at_once.regressions, one_by_one.regressions);
    assert_eq!(at_once.tested, one_by_one.tested);
    assert_eq!(at_once.groups(), one_by_one.groups());
    assert!(!at_once.regressions.is_empty());
    // A run over the same values has no news.
    let again = run(&at_once, &alerts, &whole, &fresh(&[A, B], 0..100), &[]);
    assert_eq!(names(&again), ["tested"]);
}

#[test]
fn one_change_is_one_regression_of_many_alerts() {
    let whole = frame(&[(A, values(100, &[(60, 3.0)]))]);
    let alerts = [
        alert(1, ""),
        alert(2, r#", "group_by": "config""#),
        alert(
            3,
            r#", "algo": "stepfit", "step": "cohen", "interesting": 3"#,
        ),
        alert(4, r#", "algo": "conformal", "rate": 0.001"#),
        alert(5, r#", "direction": "DOWN""#),
        alert(6, r#", "least_share": 0.5"#),
        alert(
            7,
            r#", "least_share": 0.5, "floors": [{"query": "config=8888", "least_share": 0.05}]"#,
        ),
    ];
    let mut state = WatchState::default();
    let kinds = run(&state, &alerts, &whole, &fresh(&[A], 0..100), &[]);
    applied(&mut state, 7, kinds);
    assert_eq!(state.regressions.len(), 1);
    let regression = state.regressions.values().next().unwrap();
    let seen: Vec<i64> = regression.alerts.keys().map(|it| it.0).collect();
    assert_eq!(seen, [1, 2, 3, 4, 7]);
    assert_eq!(
        regression.alerts[&AlertId(2)].query,
        "config=8888".parse().unwrap()
    );
    assert_eq!(regression.alerts[&AlertId(2)].value, "b");
    assert!(regression.change.is_firm);
    assert_eq!(regression.now, Some(Standing::StillThere));
}

#[test]
fn only_queries_that_new_values_match_are_run() {
    let whole = frame(&[
        (A, values(100, &[(60, 3.0)])),
        (B, values(100, &[(60, 3.0)])),
    ]);
    let alerts = [alert(1, r#", "group_by": "config""#)];
    let kinds = run(
        &WatchState::default(),
        &alerts,
        &whole,
        &fresh(&[B], 0..100),
        &[],
    );
    assert_eq!(names(&kinds), ["detected", "tested", "stands"]);
    let EventKind::Detected { label, change } = &kinds[0] else {
        panic!("{kinds:?}");
    };
    assert_eq!(
        (change.trace.as_str(), label.query.to_string()),
        (B, "config=gpu".into())
    );
    assert!(run(&WatchState::default(), &alerts, &whole, &[], &[]).is_empty());
    // A trace that a screen left out was tested, too.
    let screened = frame(&[(B, values(100, &[(60, 3.0)]))]);
    let state = WatchState::default();
    let kinds = run(&state, &alerts, &screened, &fresh(&[A, B], 0..100), &[]);
    let tested = EventKind::Tested {
        alert: AlertId(1),
        values: 200,
    };
    assert!(kinds.contains(&tested), "{kinds:?}");
    // Old news is not told: it showed before the new value.
    let late = run(
        &WatchState::default(),
        &alerts,
        &whole,
        &fresh(&[B], 99..100),
        &[],
    );
    assert_eq!(names(&late), ["tested"]);
}

#[test]
fn what_people_did_survives_the_next_run() {
    let whole = frame(&[
        (A, values(100, &[(60, 3.0)])),
        (B, values(100, &[(60, 3.0)])),
    ]);
    let alerts = [alert(1, "")];
    let ingested = fresh(&[A, B], 0..100);
    let mut state = WatchState::default();
    let kinds = run(&state, &alerts, &whole, &ingested, &[]);
    applied(&mut state, 1, kinds);
    let of = |state: &WatchState, trace: &str| {
        let mut all = state.regressions.values();
        all.find(|it| it.change.trace.as_str() == trace)
            .unwrap()
            .clone()
    };
    let (a, b) = (of(&state, A).id, of(&state, B).id);
    let moved = EventKind::Moved {
        regression: a.clone(),
        range: range(70, 71),
    };
    let triaged = EventKind::Triaged {
        regression: a.clone(),
        triage: Triage::Bug,
        message: "mine".into(),
    };
    let taken_back = EventKind::TakenBack {
        regression: b,
        message: "noise".into(),
    };
    for kind in [moved, triaged, taken_back] {
        state.apply(&Event::new(2, "ann", kind)).unwrap();
    }
    let kinds = run(&state, &alerts, &whole, &ingested, &[]);
    assert_eq!(names(&kinds), ["tested"]);
    // The history begins later, so that the detector places the change elsewhere.
    let rows = [A, B].map(|id| {
        let mut row = values(100, &[(60, 3.0)]);
        row[..10].fill(f64::NAN);
        row[59] += 2.9;
        (id, row)
    });
    let kinds = run(&state, &alerts, &frame(&rows), &ingested, &[]);
    assert_eq!(names(&kinds), ["tested"], "{kinds:?}");
    let a = of(&state, A);
    assert_eq!((a.range, a.message.as_str()), (range(70, 71), "mine"));
    assert_eq!(a.triaged_by.as_deref(), Some("ann"));
}

#[test]
fn spikes_are_retracted_and_fixes_are_seen() {
    let alerts = [alert(1, "")];
    let mut state = WatchState::default();
    let spike = frame(&[(A, values(140, &[(80, 5.0), (92, 0.0)]))]);
    let kinds = run(&state, &alerts, &spike, &fresh(&[A], 0..140), &[]);
    applied(&mut state, 0, kinds);
    let regression = state
        .regressions
        .values()
        .find(|it| it.change.rose)
        .unwrap();
    assert_eq!(regression.back_at, Some(CommitNumber(92)));
    assert!(
        state
            .groups()
            .iter()
            .all(|it| !it.members.contains(&regression.id))
    );
    let mut state = WatchState::default();
    let fixed = frame(&[(A, values(160, &[(60, 3.0), (120, 0.0)]))]);
    let kinds = run(&state, &alerts, &fixed, &fresh(&[A], 0..160), &[]);
    applied(&mut state, 0, kinds);
    assert_eq!(state.regressions.len(), 2);
    let regression = state
        .regressions
        .values()
        .find(|it| it.change.rose)
        .unwrap();
    let commit = CommitNumber(120);
    assert_eq!(regression.now, Some(Standing::Gone { commit }));
}

#[test]
fn a_change_of_the_machine_is_said() {
    let whole = frame(&[
        (A, values(100, &[(60, 3.0)])),
        (B, values(100, &[(60, 3.0)])),
    ]);
    let annotation = Annotation {
        commit: CommitNumber(60),
        query: "config=8888".parse().unwrap(),
        kind: AnnotationKind::MachineChange(MachineChange {
            key: "host".into(),
            before: "a".into(),
            after: "b".into(),
        }),
        text: String::new(),
        author: "x".into(),
        created: 0,
        edited: None,
    };
    let kinds = run(
        &WatchState::default(),
        &[alert(1, "")],
        &whole,
        &fresh(&[A, B], 0..100),
        &[annotation],
    );
    let machines: Vec<bool> = kinds
        .iter()
        .filter_map(|it| match it {
            EventKind::Detected { change, .. } => Some(change.machine.is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(machines, [true, false]);
}

#[test]
fn clusters_become_fingerprints_and_regressions() {
    let rows: Vec<(String, Vec<f64>)> = (0..6)
        .map(|i| {
            let moved = if i < 4 { vec![(20, 30.0)] } else { vec![] };
            let shifted = values(40 + i, &[]).split_off(i as usize);
            let level = values(40, &moved)
                .into_iter()
                .zip(noise(40))
                .map(|(a, b)| a - b);
            let row = level.zip(shifted).map(|(a, b)| a + b).collect();
            (format!(",benchmark=b,t={i},"), row)
        })
        .collect();
    let rows: Vec<(&str, Vec<f64>)> = rows.iter().map(|(id, row)| (&**id, row.clone())).collect();
    let ids: Vec<&str> = rows.iter().map(|(id, _)| *id).collect();
    let alerts = [alert(
        1,
        r#", "algo": "kmeans", "radius": 3, "k": 2, "interesting": 30"#,
    )];
    let mut state = WatchState::default();
    for end in [22..24, 24..25, 25..26] {
        let until = end.end as usize;
        let cut: Vec<_> = rows
            .iter()
            .map(|(id, row)| (*id, row[..until].to_vec()))
            .collect();
        let kinds = run(&state, &alerts, &frame(&cut), &fresh(&ids, end), &[]);
        applied(&mut state, 0, kinds);
    }
    let stored = &state.fingerprints[&AlertId(1)][""];
    assert_eq!(stored.len(), 1, "{stored:?}");
    assert!(stored[0].cluster.regression < -30.0);
    let places: Vec<_> = state
        .regressions
        .values()
        .map(|it| it.range.commit().0)
        .collect();
    assert_eq!(places.len(), 4, "{places:?}");
    let triaged = EventKind::FingerprintTriaged {
        alert: AlertId(1),
        query: "".parse().unwrap(),
        fingerprint: stored[0].id,
        triage: Triage::Ignore,
        message: "known".into(),
    };
    state.apply(&Event::new(1, "ann", triaged)).unwrap();
    assert_eq!(
        state.fingerprints[&AlertId(1)][""][0].triage,
        Triage::Ignore
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the values arrive, in the order of commits, the regressions are the same; and a run
    /// over what is known tells nothing.
    #[test]
    fn values_in_any_parts_give_the_same_regressions(
        steps in proptest::collection::vec((0_u32..150, -3.0..3.0_f64), 0..4),
        ends in proptest::collection::btree_set(1_usize..150, 0..8),
        algo in prop_oneof![Just("rank"), Just("conformal")],
    ) {
        let mut steps = steps;
        steps.sort_by_key(|(from, _)| *from);
        let alerts = [alert(1, &format!(r#", "algo": "{algo}", "rate": 0.001"#))];
        let row = values(150, &steps);
        let (mut state, mut start) = (WatchState::default(), 0);
        for end in ends.into_iter().chain([150]) {
            let part = frame(&[(A, row[..end].to_vec())]);
            let ingested = fresh(&[A], start..end as u32);
            let kinds = run(&state, &alerts, &part, &ingested, &[]);
            applied(&mut state, 0, kinds);
            start = end as u32;
        }
        let whole = frame(&[(A, row)]);
        let all = fresh(&[A], 0..150);
        let mut at_once = WatchState::default();
        let kinds = run(&at_once, &alerts, &whole, &all, &[]);
        applied(&mut at_once, 0, kinds);
        prop_assert_eq!(&state.regressions, &at_once.regressions);
        let again = run(&state, &alerts, &whole, &all, &[]);
        prop_assert_eq!(names(&again), ["tested"]);
    }
}

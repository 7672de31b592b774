//! Tests of plans: when a group is due, and what is done with it.

use pinpoint_core::Direction;

use super::alert::{Alert, AlertId};
use super::bridge::{GroupFault, Plan, PlanFault, PlanOptions, PlanTime, plan, plan_group};
use super::change::step;
use super::event::{Event, EventKind};
use super::job::NotBisected;
use super::outcome::BisectionOutcome;
use super::range::range;
use super::regression::Label;
use super::state::{DAY, WatchState};
use super::template::TemplateError;
use crate::annotation::MachineChange;
use crate::commit::CommitNumber;

const MINUTE: i64 = 60_000;

fn alert(id: i64, more: &str) -> Alert {
    let text = format!(
        r#"{{"id_as_string": "{id}", "query": "", "action": "bisect",
            "command": "./bench --only {{test}}"{more}}}"#
    );
    Alert::from_json(&text).unwrap()
}

fn label(alert: i64, value: &str) -> Label {
    Label {
        alert: AlertId(alert),
        query: "".parse().unwrap(),
        value: value.into(),
    }
}

/// A state with a step in each of these traces, seen by alert 1 at the time 0: trace, benchmark,
/// interval, level after 100.
fn state(steps: &[(&str, &str, (u32, u32), f64)]) -> WatchState {
    let mut state = WatchState::default();
    for (trace, benchmark, (previous, commit), after) in steps {
        let change = step(trace, *previous, *commit, 100.0, *after);
        let label = label(1, benchmark);
        state
            .apply(&Event::new(
                0,
                "rank",
                EventKind::Detected { label, change },
            ))
            .unwrap();
    }
    state
}

fn at(now: i64) -> PlanTime {
    PlanTime {
        now,
        last_ingest: None,
    }
}

fn act(state: &mut WatchState, now: i64, plan: Plan) {
    for action in plan.actions {
        state
            .apply(&Event::new(now, "watch", action.into_event()))
            .unwrap();
    }
}

const UP: &str = ",improvement_direction=up,test=up,";
const DOWN: &str = ",improvement_direction=down,test=down,";

#[test]
fn a_group_that_is_due_is_bisected_for_its_largest_regression() {
    let mut state = state(&[
        (UP, "b", (10, 14), 190.0),
        (DOWN, "b", (12, 20), 130.0),
        (",test=plain,", "b", (9, 13), 120.0),
    ]);
    let alerts = [alert(1, "")];
    let options = PlanOptions::default();
    assert_eq!(
        plan(&state, &alerts, at(30 * MINUTE - 1), &options),
        Plan::default()
    );
    let found = plan(&state, &alerts, at(30 * MINUTE), &options);
    let [action] = found.actions.as_slice() else {
        panic!("{found:?}");
    };
    let job = action.job.clone().unwrap();
    assert_eq!(action.group.range, range(12, 13));
    // The improvement is larger and comes last.
    assert_eq!((job.trace.as_str(), job.range), (DOWN, range(12, 20)));
    assert_eq!(
        (&*job.command, &*job.chart),
        ("./bench --only down", "down")
    );
    assert_eq!((job.magnitude, job.direction), (30.0, Direction::Down));
    assert_eq!(
        (job.priors.len(), job.name.clone()),
        (8, action.group.name.clone())
    );
    // A crash behind the event: the same job is pending, and no other group is due.
    act(&mut state, 30 * MINUTE, found);
    assert_eq!(state.pending_jobs().collect::<Vec<_>>(), [&job]);
    assert_eq!(
        plan(&state, &alerts, at(90 * MINUTE), &options),
        Plan::default()
    );
    let outcome = BisectionOutcome::Culprit {
        commit: CommitNumber(13),
        hash: "abc".into(),
        probability: Some(0.98),
    };
    let kind = EventKind::Bisected {
        group: job.name.clone(),
        outcome,
    };
    state.apply(&Event::new(99, "bisect", kind)).unwrap();
    assert_eq!(state.pending_jobs().count(), 0);
    assert_eq!(state.culprits()[&CommitNumber(13)], [&job.name]);
    for regression in state.regressions.values() {
        assert_eq!(regression.triage, pinpoint_compare::steps::Triage::Bug);
        assert_eq!(
            regression.message,
            "commit 13 (abc), with probability 0.980"
        );
    }
}

#[test]
fn the_next_ingest_ends_the_quiet_time() {
    let state = state(&[(UP, "b", (10, 11), 50.0)]);
    let time = |last_ingest| PlanTime {
        now: 1,
        last_ingest: Some(last_ingest),
    };
    let due = |last_ingest| {
        let options = PlanOptions::default();
        plan(&state, &[alert(1, "")], time(last_ingest), &options)
            .actions
            .len()
    };
    assert_eq!((due(0), due(1)), (0, 1));
}

#[test]
fn improvements_come_last_and_are_pursued() {
    let state = state(&[
        (UP, "a", (10, 11), 900.0),
        (DOWN, "b", (30, 31), 101.0),
        (UP, "c", (50, 51), 98.0),
    ]);
    let options = PlanOptions {
        max_jobs: 2,
        ..PlanOptions::default()
    };
    let now = at(60 * MINUTE);
    let found = plan(&state, &[alert(1, "")], now, &options);
    let shown: Vec<_> = found.actions.iter().map(|it| &*it.group.value).collect();
    assert_eq!((shown, found.waiting.len()), (vec!["c", "b"], 1));
    let mut later = state.clone();
    act(&mut later, now.now, found);
    // A day later, there is room for the improvement.
    let next = plan(&later, &[alert(1, "")], at(now.now + DAY), &options);
    let job = next.actions[0].job.as_ref().unwrap();
    assert_eq!((job.direction, job.magnitude), (Direction::Unknown, 800.0));
    assert_eq!(
        plan(&later, &[alert(1, "")], at(now.now + 1), &options)
            .actions
            .len(),
        0
    );
}

#[test]
fn changes_of_a_machine_are_told_and_not_bisected() {
    let mut change = step(UP, 10, 12, 100.0, 50.0);
    change.machine = Some(MachineChange {
        key: "bot".into(),
        before: "a".into(),
        after: "b".into(),
    });
    let label = label(1, "b");
    let mut state = WatchState::default();
    state
        .apply(&Event::new(
            0,
            "rank",
            EventKind::Detected { label, change },
        ))
        .unwrap();
    let found = plan(&state, &[alert(1, "")], at(DAY), &PlanOptions::default());
    assert_eq!(found.actions[0].job, None);
    assert!(matches!(
        found.actions[0].not_bisected,
        Some(NotBisected::Machine { .. })
    ));
    act(&mut state, DAY, found);
    assert_eq!(
        plan(
            &state,
            &[alert(1, "")],
            at(2 * DAY),
            &PlanOptions::default()
        ),
        Plan::default()
    );
}

#[test]
fn one_regression_of_two_alerts_is_searched_for_once() {
    let mut state = state(&[(UP, "b", (10, 11), 50.0)]);
    let regression = state.regressions.keys().next().unwrap().clone();
    let label = label(2, "b");
    state
        .apply(&Event::new(
            0,
            "rank",
            EventKind::Labeled { regression, label },
        ))
        .unwrap();
    assert_eq!(state.groups().len(), 2);
    let alerts = [alert(1, ""), alert(2, "")];
    let found = plan(&state, &alerts, at(DAY), &PlanOptions::default());
    assert_eq!(
        found.actions.iter().filter(|it| it.job.is_some()).count(),
        1
    );
    let job = found.actions[0].group.name.clone();
    assert_eq!(
        found.actions[1].not_bisected,
        Some(NotBisected::Searched { job })
    );
}

#[test]
fn actions_follow_the_alert() {
    let state = state(&[(UP, "b", (10, 11), 50.0)]);
    let planned = |more: &str| plan(&state, &[alert(1, more)], at(DAY), &PlanOptions::default());
    assert_eq!(planned(r#", "state": "DELETED""#), Plan::default());
    assert_eq!(planned(r#", "minimum_num": 2"#), Plan::default());
    let clustered = planned(r#", "minimum_num": 100, "algo": "kmeans""#);
    assert_eq!(clustered.actions.len(), 1);
    let lacks = planned(r#", "chart": "{story}""#);
    assert!(matches!(
        lacks.faults[0].1,
        PlanFault::Template(TemplateError::LacksKey { .. })
    ));
    let alert = |action: &str| {
        let text = format!(r#"{{"id_as_string": "1", "query": "", "action": "{action}"}}"#);
        [Alert::from_json(&text).unwrap()]
    };
    let options = PlanOptions::default();
    assert_eq!(
        plan(&state, &alert("noaction"), at(DAY), &options),
        Plan::default()
    );
    let told = plan(&state, &alert("report"), at(DAY), &options);
    assert_eq!(
        (
            told.actions[0].job.clone(),
            told.actions[0].not_bisected.clone()
        ),
        (None, None)
    );
    let fault = plan(&state, &alert("bisect"), at(DAY), &options);
    assert_eq!(fault.faults[0].1, PlanFault::NoCommand);
}

#[test]
fn a_group_that_was_reported_is_bisected_when_a_person_asks_once() {
    let mut state = state(&[(DOWN, "b", (12, 20), 130.0)]);
    let reporting = Alert {
        action: super::alert::AlertAction::Report,
        ..alert(1, "")
    };
    let alerts = [reporting.clone()];
    let options = PlanOptions::default();
    let found = plan(&state, &alerts, at(30 * MINUTE), &options);
    act(&mut state, 30 * MINUTE, found);
    let group = state.groups().remove(0);
    assert!(group.acted.is_some());
    let action = plan_group(&state, &reporting, group, &options).unwrap();
    let job = action.job.clone().unwrap();
    assert_eq!(
        (job.range, &*job.command),
        (range(12, 20), "./bench --only down")
    );
    let event = Event::new(31 * MINUTE, "ann", action.into_event());
    state.apply(&event).unwrap();
    assert_eq!(state.pending_jobs().collect::<Vec<_>>(), [&job]);
    let group = state.groups().remove(0);
    let name = group.name.clone();
    assert_eq!(
        plan_group(&state, &reporting, group, &options),
        Err(GroupFault::Bisected(name))
    );
    // A second watcher asks for it at the same time.
    assert!(state.apply(&event).is_err());
}

#[test]
fn a_bisection_that_failed_is_made_again_if_a_person_asks_for_it() {
    let mut state = state(&[(DOWN, "b", (12, 20), 130.0)]);
    let (alert, options) = (alert(1, ""), PlanOptions::default());
    let started = |state: &mut WatchState, at: i64| {
        let group = state.groups().remove(0);
        let action = plan_group(state, &alert, group, &options)?;
        let event = Event::new(at, "ann", action.into_event());
        state.apply(&event).unwrap();
        Ok::<_, GroupFault>(())
    };
    let ended = |state: &mut WatchState, at: i64, outcome| {
        let group = state.groups().remove(0).name;
        let kind = EventKind::Bisected { group, outcome };
        state.apply(&Event::new(at, "watch", kind)).unwrap();
    };
    let reason = "no such chart".to_owned();
    started(&mut state, MINUTE).unwrap();
    ended(&mut state, 2 * MINUTE, BisectionOutcome::Failed { reason });
    let member = |state: &WatchState| state.regressions.values().next().unwrap().clone();
    assert!(member(&state).message.contains("no such chart"));
    // Not by itself.
    let alerts = [alert.clone()];
    assert_eq!(
        plan(&state, &alerts, at(60 * MINUTE), &options),
        Plan::default()
    );
    started(&mut state, 3 * MINUTE).unwrap();
    let group = state.groups().remove(0);
    assert_eq!(group.acted.unwrap().at, 3 * MINUTE);
    assert_eq!((group.outcome, state.pending_jobs().count()), (None, 1));
    let regression = member(&state);
    assert_eq!((regression.outcome, &*regression.message), (None, ""));
    let again = started(&mut state, 4 * MINUTE);
    assert!(matches!(again, Err(GroupFault::Bisected(_))), "{again:?}");
    ended(&mut state, 5 * MINUTE, BisectionOutcome::NotReproduced);
    let again = started(&mut state, 6 * MINUTE);
    assert!(matches!(again, Err(GroupFault::Bisected(_))), "{again:?}");
}

#[test]
fn a_group_without_a_step_or_a_command_is_not_bisected() {
    let mut state = state(&[(DOWN, "b", (12, 20), 130.0)]);
    let group = state.groups().remove(0);
    let bare = Alert {
        command: None,
        ..alert(1, "")
    };
    let options = PlanOptions::default();
    assert_eq!(
        plan_group(&state, &bare, group.clone(), &options),
        Err(GroupFault::Plan(PlanFault::NoCommand))
    );
    let regression = group.members.first().unwrap().clone();
    let message = String::new();
    let taken_back = EventKind::TakenBack {
        regression,
        message,
    };
    state.apply(&Event::new(1, "ann", taken_back)).unwrap();
    let fault = plan_group(&state, &alert(1, ""), group.clone(), &options);
    let reason = NotBisected::Closed;
    let group = group.name;
    assert_eq!(fault, Err(GroupFault::NotBisected { group, reason }));
}

#[test]
fn a_group_that_is_passed_over_holds_up_no_other() {
    let mut state = state(&[(DOWN, "b", (12, 20), 130.0)]);
    let regression = state.regressions.keys().next().unwrap().clone();
    let second = EventKind::Labeled {
        regression,
        label: label(2, "b"),
    };
    state.apply(&Event::new(0, "rank", second)).unwrap();
    let alerts = [alert(1, ""), alert(2, "")];
    let options = PlanOptions {
        max_jobs: 1,
        ..PlanOptions::default()
    };
    let found = plan(&state, &alerts, at(30 * MINUTE), &options);
    let first = found.actions.iter().find(|it| it.job.is_some()).unwrap();
    let options = PlanOptions {
        passed_over: [first.group.name.clone()].into(),
        ..options
    };
    let other = plan(&state, &alerts, at(30 * MINUTE), &options);
    let [action] = other.actions.as_slice() else {
        panic!("{other:?}");
    };
    assert!(action.job.is_some() && action.group.name != first.group.name);
}

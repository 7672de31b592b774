//! Laws of the state on random events.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::steps::Triage;
use proptest::prelude::*;

use super::alert::AlertId;
use super::change::{RegressionId, step};
use super::event::{Event, EventKind};
use super::outcome::BisectionOutcome;
use super::range::{CommitRange, range};
use super::state::WatchState;
use super::state_tests::{acted_on, label};
use crate::commit::CommitNumber;

/// A step of a random walk. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Step {
    Detect {
        trace: u32,
        alert: i64,
        range: CommitRange,
        rose: bool,
    },
    Retract(usize),
    Triage(usize, Triage),
    Move(usize, CommitRange),
    TakeBack(usize),
    Split(i64, Vec<usize>),
    Join(i64, Vec<usize>),
    Act(usize, bool),
    Bisect(usize, u32),
}

fn a_range() -> impl Strategy<Value = CommitRange> {
    (0_u32..20, 1_u32..6).prop_map(|(previous, length)| range(previous, previous + length))
}

fn a_detection() -> impl Strategy<Value = Step> {
    (0_u32..5, 1_i64..3, a_range(), any::<bool>()).prop_map(|(trace, alert, range, rose)| {
        Step::Detect {
            trace,
            alert,
            range,
            rose,
        }
    })
}

fn some() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(any::<usize>(), 1..4)
}

fn a_step() -> impl Strategy<Value = Step> {
    let triage = prop_oneof![Just(Triage::New), Just(Triage::Ignore), Just(Triage::Bug)];
    prop_oneof![
        6 => a_detection(),
        1 => any::<usize>().prop_map(Step::Retract),
        1 => (any::<usize>(), triage).prop_map(|(it, triage)| Step::Triage(it, triage)),
        1 => (any::<usize>(), a_range()).prop_map(|(it, range)| Step::Move(it, range)),
        1 => any::<usize>().prop_map(Step::TakeBack),
        1 => (1_i64..3, some()).prop_map(|(alert, it)| Step::Split(alert, it)),
        1 => (1_i64..3, some()).prop_map(|(alert, it)| Step::Join(alert, it)),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(it, job)| Step::Act(it, job)),
        1 => (any::<usize>(), 0_u32..30).prop_map(|(it, commit)| Step::Bisect(it, commit)),
    ]
}

fn detection(trace: u32, alert: i64, range: CommitRange, rose: bool) -> EventKind {
    let after = if rose { 2.0 } else { 0.5 };
    let (previous, commit) = (range.previous().0, range.commit().0);
    EventKind::Detected {
        label: label(alert, if trace < 3 { "x" } else { "y" }),
        change: step(&format!(",t={trace},"), previous, commit, 1.0, after),
    }
}

/// The same detection, with an interval that follows from trace and commit.
fn of_its_trace(step: Step) -> Step {
    match step {
        Step::Detect {
            trace,
            alert,
            range: found,
            rose,
        } => {
            let commit = found.commit().0;
            let length = 1 + (commit * 7 + trace) % 5;
            let range = range(commit.saturating_sub(length), commit);
            Step::Detect {
                trace,
                alert,
                range,
                rose,
            }
        }
        other => other,
    }
}

/// The event of a step, if the state has what it needs.
fn event(state: &WatchState, step: Step) -> Option<EventKind> {
    let ids: Vec<&RegressionId> = state.regressions.keys().collect();
    let one = |index: usize| ids.get(index % ids.len().max(1)).map(|it| (*it).clone());
    let all = |list: Vec<usize>| list.into_iter().filter_map(one).collect::<Vec<_>>();
    Some(match step {
        Step::Detect {
            trace,
            alert,
            range,
            rose,
        } => detection(trace, alert, range, rose),
        Step::Retract(it) => EventKind::Retracted {
            regression: one(it)?,
            back_at: CommitNumber(40),
        },
        Step::Triage(it, triage) => EventKind::Triaged {
            regression: one(it)?,
            triage,
            message: format!("{triage:?}"),
        },
        Step::Move(it, range) => EventKind::Moved {
            regression: one(it)?,
            range,
        },
        Step::TakeBack(it) => EventKind::TakenBack {
            regression: one(it)?,
            message: "no".into(),
        },
        Step::Split(alert, list) => EventKind::Split {
            alert: AlertId(alert),
            regressions: all(list),
        },
        Step::Join(alert, list) => EventKind::Joined {
            alert: AlertId(alert),
            regressions: all(list),
        },
        Step::Act(it, is_bisected) => {
            let groups: Vec<_> = state
                .groups()
                .into_iter()
                .filter(|it| it.acted.is_none())
                .collect();
            acted_on(state, groups.get(it % groups.len().max(1))?, is_bisected)
        }
        Step::Bisect(it, commit) => {
            let names: Vec<_> = state.kept_groups.keys().collect();
            let group = (*names.get(it % names.len().max(1))?).clone();
            let outcome = match commit % 3 {
                0 => BisectionOutcome::NotReproduced,
                _ => BisectionOutcome::Culprit {
                    commit: CommitNumber(commit),
                    hash: String::new(),
                    probability: Some(0.5),
                },
            };
            EventKind::Bisected { group, outcome }
        }
    })
}

/// The log of a walk. Events that do not fit leave the state as it was.
fn walk(steps: Vec<Step>) -> (Vec<Event>, WatchState) {
    let (mut events, mut state) = (Vec::new(), WatchState::default());
    for (at, step) in (0..).zip(steps) {
        let Some(kind) = event(&state, step) else {
            continue;
        };
        let event = Event::new(at, "ann", kind);
        let before = state.clone();
        match state.apply(&event) {
            Ok(()) => events.push(event),
            Err(_) => assert_eq!(state, before),
        }
    }
    (events, state)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_same_events_give_the_same_state_also_as_text(
        steps in proptest::collection::vec(a_step(), 0..40),
        at in any::<prop::sample::Index>(),
    ) {
        let (events, state) = walk(steps);
        let lines: Vec<String> = events.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
        let read: Vec<Event> = lines.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
        prop_assert_eq!(&read, &events);
        prop_assert_eq!(WatchState::of(&read).unwrap(), state.clone());
        // A state that was stored goes on as if it had not been.
        let cut = at.index(events.len() + 1);
        let text = serde_json::to_string(&WatchState::of(&events[..cut]).unwrap()).unwrap();
        let mut stored: WatchState = serde_json::from_str(&text).unwrap();
        for event in &events[cut..] {
            stored.apply(event).unwrap();
        }
        prop_assert_eq!(stored, state);
    }

    #[test]
    fn each_open_regression_is_in_one_group_of_each_alert(
        steps in proptest::collection::vec(a_step(), 0..40),
    ) {
        let (_, state) = walk(steps);
        let mut places: BTreeMap<(AlertId, RegressionId), usize> = BTreeMap::new();
        let mut names = BTreeSet::new();
        for group in state.groups() {
            prop_assert!(names.insert(group.name.clone()), "{group:?}");
            for member in &group.members {
                *places.entry((group.alert, member.clone())).or_default() += 1;
                let regression = &state.regressions[member];
                prop_assert!(regression.alerts.contains_key(&group.alert));
                if group.is_open() {
                    prop_assert_eq!(group.range.intersection(regression.interval), Some(group.range));
                    prop_assert_eq!(&regression.alerts[&group.alert].value, &group.value);
                }
            }
        }
        prop_assert!(places.values().all(|it| *it == 1), "{places:?}");
        for regression in state.regressions.values().filter(|it| it.is_open()) {
            for alert in regression.alerts.keys() {
                prop_assert!(places.contains_key(&(*alert, regression.id.clone())));
            }
        }
    }

    #[test]
    fn the_order_of_detections_makes_no_difference_until_a_group_is_acted_on(
        (steps, order) in proptest::collection::vec(a_detection(), 0..12).prop_flat_map(|it| {
            let order = Just((0..it.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(it), order)
        }),
    ) {
        let state_of = |steps: Vec<Step>| {
            let mut state = WatchState::default();
            for step in steps {
                let kind = event(&state, step).unwrap();
                state.apply(&Event::new(0, "rank", kind)).unwrap();
            }
            state
        };
        // What a trace has at a commit does not depend on who asks.
        let steps: Vec<Step> = steps.into_iter().map(of_its_trace).collect();
        let shuffled = order.iter().map(|it| steps[*it].clone()).collect();
        let (one, other) = (state_of(steps), state_of(shuffled));
        prop_assert_eq!(one.groups(), other.groups());
        prop_assert_eq!(one, other);
    }

    #[test]
    fn detections_never_change_what_people_said(
        steps in proptest::collection::vec(a_step(), 0..30),
        later in proptest::collection::vec(a_detection(), 0..10),
    ) {
        let (_, mut state) = walk(steps);
        let before = state.regressions.clone();
        for step in later {
            let kind = event(&state, step).unwrap();
            state.apply(&Event::new(99, "rank", kind)).unwrap();
        }
        for (id, was) in before.iter().filter(|(_, it)| it.triaged_by.is_some() || it.is_moved) {
            let is = &state.regressions[id];
            prop_assert_eq!((is.range, is.interval, is.is_moved), (was.range, was.interval, was.is_moved));
            prop_assert_eq!((is.is_taken_back, &is.triaged_by), (was.is_taken_back, &was.triaged_by));
            if was.triaged_by.is_some() {
                prop_assert_eq!((is.triage, &is.message), (was.triage, &was.message));
            }
        }
    }
}

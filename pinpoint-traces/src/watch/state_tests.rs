//! Tests of the state: what people and bisections do to regressions and groups.

use pinpoint_compare::steps::Triage;

use super::alert::AlertId;
use super::change::{RegressionId, step};
use super::event::{Event, EventKind};
use super::group::Group;
use super::job::BisectionJob;
use super::outcome::BisectionOutcome;
use super::range::range;
use super::regression::Label;
use super::standing::Standing;
use super::state::{WatchError, WatchState};
use crate::commit::CommitNumber;
use pinpoint_core::Direction;

pub(super) fn label(alert: i64, value: &str) -> Label {
    Label {
        alert: AlertId(alert),
        query: "a=b".parse().unwrap(),
        value: value.into(),
    }
}

pub(super) fn detected(trace: &str, previous: u32, commit: u32) -> EventKind {
    EventKind::Detected {
        label: label(1, "b"),
        change: step(trace, previous, commit, 10.0, 12.0),
    }
}

/// The event that acts on a group with a bisection, or by telling somebody.
pub(super) fn acted_on(state: &WatchState, group: &Group, is_bisected: bool) -> EventKind {
    let regression = group.members.first().unwrap().clone();
    let job = BisectionJob {
        name: group.name.clone(),
        alert: group.alert,
        trace: state.regressions[&regression].change.trace.clone(),
        regression,
        range: group.range,
        priors: vec![1.0],
        magnitude: 2.0,
        direction: Direction::Unknown,
        command: "./bench".into(),
        chart: "t".into(),
    };
    EventKind::ActedOn {
        group: group.clone(),
        job: is_bisected.then_some(job),
        not_bisected: None,
    }
}

fn culprit(commit: u32) -> BisectionOutcome {
    BisectionOutcome::Culprit {
        commit: CommitNumber(commit),
        hash: "abc".into(),
        probability: None,
    }
}

/// A log and its state.
struct Log {
    events: Vec<Event>,
    state: WatchState,
}

impl Log {
    fn of(kinds: impl IntoIterator<Item = EventKind>) -> Self {
        let mut log = Self {
            events: Vec::new(),
            state: WatchState::default(),
        };
        kinds.into_iter().for_each(|it| log.add(it));
        log
    }

    fn add(&mut self, kind: EventKind) {
        self.try_add(kind).unwrap();
    }

    fn try_add(&mut self, kind: EventKind) -> Result<(), WatchError> {
        let event = Event::new(self.events.len() as i64, "ann", kind);
        self.state.apply(&event)?;
        self.events.push(event);
        Ok(())
    }

    fn id(&self, trace: &str) -> RegressionId {
        let mut all = self.state.regressions.values();
        all.find(|it| it.change.trace.as_str() == trace)
            .unwrap()
            .id
            .clone()
    }

    /// The members of each group, as traces.
    fn groups(&self) -> Vec<(u32, u32, Vec<&str>)> {
        let trace = |id: &RegressionId| self.state.regressions[id].change.trace.as_str();
        let mut groups: Vec<_> = (self.state.groups().iter())
            .map(|it| {
                let mut traces: Vec<&str> = it.members.iter().map(trace).collect();
                traces.sort_unstable();
                (it.range.previous().0, it.range.commit().0, traces)
            })
            .collect();
        groups.sort();
        groups
    }
}

#[test]
fn half_open_ranges_that_touch_are_two_groups() {
    let log = Log::of([
        detected(",t=1,", 10, 11),
        detected(",t=2,", 11, 12),
        detected(",t=3,", 9, 11),
    ]);
    assert_eq!(
        log.groups(),
        [(10, 11, vec![",t=1,", ",t=3,"]), (11, 12, vec![",t=2,"])]
    );
}

#[test]
fn people_split_and_join_and_a_new_regression_regroups_the_rest() {
    let mut log = Log::of([
        detected(",t=1,", 10, 14),
        detected(",t=2,", 10, 14),
        detected(",t=3,", 20, 21),
    ]);
    let (one, two, three) = (log.id(",t=1,"), log.id(",t=2,"), log.id(",t=3,"));
    log.add(EventKind::Split {
        alert: AlertId(1),
        regressions: vec![one.clone()],
    });
    log.add(detected(",t=4,", 12, 15));
    assert_eq!(
        log.groups(),
        [
            (10, 14, vec![",t=1,"]),
            (12, 14, vec![",t=2,", ",t=4,"]),
            (20, 21, vec![",t=3,"])
        ]
    );
    // Whether they meet or not.
    log.add(EventKind::Joined {
        alert: AlertId(1),
        regressions: vec![one.clone(), three],
    });
    assert_eq!(
        log.groups(),
        [
            (10, 21, vec![",t=1,", ",t=3,"]),
            (12, 14, vec![",t=2,", ",t=4,"])
        ]
    );
    // A group that was acted on takes the others.
    let group = log
        .state
        .groups()
        .into_iter()
        .find(|it| it.is_open())
        .unwrap();
    log.add(acted_on(&log.state, &group, true));
    log.add(EventKind::Joined {
        alert: AlertId(1),
        regressions: vec![one, two],
    });
    assert_eq!(
        log.groups(),
        [
            (10, 21, vec![",t=3,"]),
            (12, 14, vec![",t=1,", ",t=2,", ",t=4,"])
        ]
    );
    let stranger = EventKind::Split {
        alert: AlertId(2),
        regressions: vec![log.id(",t=1,")],
    };
    assert!(matches!(
        log.try_add(stranger),
        Err(WatchError::NotSeen { .. })
    ));
    let regressions = Vec::new();
    let none = EventKind::Joined {
        alert: AlertId(1),
        regressions,
    };
    assert_eq!(log.try_add(none), Err(WatchError::NoMembers));
}

#[test]
fn a_group_that_was_acted_on_stays_and_takes_what_it_explains() {
    let mut log = Log::of([detected(",t=1,", 10, 14), detected(",t=2,", 12, 16)]);
    let group = log.state.groups().remove(0);
    log.add(acted_on(&log.state, &group, true));
    // Twice is an error: another watcher was first.
    let again = acted_on(&log.state, &group, true);
    assert_eq!(
        log.try_add(again),
        Err(WatchError::ActedOn(group.name.clone()))
    );
    log.add(detected(",t=3,", 13, 14));
    log.add(detected(",t=4,", 15, 18));
    assert_eq!(
        log.groups(),
        [
            (12, 14, vec![",t=1,", ",t=2,", ",t=3,"]),
            (15, 18, vec![",t=4,"])
        ]
    );
    log.add(EventKind::Bisected {
        group: group.name.clone(),
        outcome: culprit(13),
    });
    // Once the culprit is known, what holds it belongs to it.
    log.add(detected(",t=5,", 12, 13));
    log.add(detected(",t=6,", 13, 14));
    let kept = &log.state.kept_groups[&group.name];
    assert!(kept.members.contains(&log.id(",t=5,")) && !kept.members.contains(&log.id(",t=6,")));
    let late = &log.state.regressions[&log.id(",t=5,")];
    assert_eq!(
        (late.triage, &*late.message),
        (Triage::Bug, "commit 13 (abc)")
    );
}

#[test]
fn outcomes_are_written_to_members_unless_a_person_spoke() {
    let mut log = Log::of([
        detected(",t=1,", 10, 14),
        detected(",t=2,", 10, 14),
        detected(",t=3,", 10, 14),
    ]);
    log.add(EventKind::Triaged {
        regression: log.id(",t=2,"),
        triage: Triage::Bug,
        message: "mine".into(),
    });
    let group = log.state.groups().remove(0);
    log.add(acted_on(&log.state, &group, true));
    log.add(EventKind::TakenBack {
        regression: log.id(",t=3,"),
        message: "noise".into(),
    });
    log.add(EventKind::Bisected {
        group: group.name.clone(),
        outcome: BisectionOutcome::NotReproduced,
    });
    let of = |log: &Log, trace: &str| log.state.regressions[&log.id(trace)].clone();
    let one = of(&log, ",t=1,");
    assert_eq!(
        (one.triage, &*one.message),
        (Triage::New, "no difference at the ends")
    );
    assert_eq!(
        (&*of(&log, ",t=2,").message, &*of(&log, ",t=3,").message),
        ("mine", "noise")
    );
    assert_eq!(
        (
            of(&log, ",t=2,").outcome.is_some(),
            of(&log, ",t=3,").outcome
        ),
        (true, None)
    );
    // A search without a difference explains no later regression.
    log.add(detected(",t=4,", 12, 13));
    assert!(
        !log.state.kept_groups[&group.name]
            .members
            .contains(&log.id(",t=4,"))
    );
}

#[test]
fn groups_with_one_culprit_share_it() {
    let mut log = Log::of([detected(",t=1,", 10, 14), detected(",t=2,", 14, 18)]);
    for group in log.state.groups() {
        log.add(acted_on(&log.state, &group, true));
        log.add(EventKind::Bisected {
            group: group.name,
            outcome: culprit(14),
        });
    }
    assert_eq!(log.state.culprits()[&CommitNumber(14)].len(), 2);
    assert_eq!(log.state.job_times().len(), 2);
}

#[test]
fn a_regression_that_moves_leaves_the_group_that_does_not_explain_it() {
    let mut log = Log::of([detected(",t=1,", 10, 14), detected(",t=2,", 10, 14)]);
    let group = log.state.groups().remove(0);
    log.add(acted_on(&log.state, &group, false));
    log.add(EventKind::Moved {
        regression: log.id(",t=2,"),
        range: range(30, 31),
    });
    assert_eq!(
        log.groups(),
        [(10, 14, vec![",t=1,"]), (30, 31, vec![",t=2,"])]
    );
    log.add(EventKind::Stands {
        regression: log.id(",t=2,"),
        now: Standing::Gone {
            commit: CommitNumber(40),
        },
    });
    log.add(EventKind::MadeByHand {
        label: Some(label(1, "b")),
        change: step(",t=9,", 29, 31, 1.0, 2.0),
    });
    assert_eq!(log.groups()[1], (30, 31, vec![",t=2,", ",t=9,"]));
    let of_two = log.events.iter().filter(|it| it.names(&log.id(",t=2,")));
    assert_eq!(of_two.count(), 4);
}

#[test]
fn events_have_stable_names() {
    let json = |kind: EventKind| serde_json::to_string(&Event::new(5, "ann", kind)).unwrap();
    assert_eq!(
        json(EventKind::Stands {
            regression: "r1".into(),
            now: Standing::Gone {
                commit: CommitNumber(4)
            },
        }),
        r#"{"version":1,"at":5,"by":"ann","event":"stands","regression":"r1","standing":"gone","commit":4}"#
    );
    assert_eq!(
        json(EventKind::Bisected {
            group: "g1".into(),
            outcome: culprit(4)
        }),
        r#"{"version":1,"at":5,"by":"ann","event":"bisected","group":"g1","outcome":"culprit","commit":4,"hash":"abc"}"#
    );
    assert_eq!(
        json(detected(",t=1,", 10, 14)),
        concat!(
            r#"{"version":1,"at":5,"by":"ann","event":"detected","#,
            r#""label":{"alert":"1","query":"a=b","value":"b"},"#,
            r#""change":{"trace":",t=1,","range":{"previous":10,"commit":14},"#,
            r#""interval":{"previous":10,"commit":14},"shape":"step","rose":true,"#,
            r#""before":10.0,"after":12.0,"shown_at":19,"algo":"rank","is_firm":false}}"#
        )
    );
}

#[test]
fn records_of_a_newer_version_are_refused() {
    let newer = r#"{"version":2,"at":5,"by":"ann","event":"blessed"}"#;
    assert_eq!(Event::from_json(newer), Err(WatchError::Version(2)));
    assert_eq!(
        WatchState::from_json(r#"{"version":2}"#),
        Err(WatchError::Version(2))
    );
    let unknown = newer.replace('2', "1");
    assert!(matches!(
        Event::from_json(&unknown),
        Err(WatchError::Json(_))
    ));
    let event = Event::new(
        5,
        "ann",
        EventKind::Firm {
            regression: "r1".into(),
        },
    );
    let text = serde_json::to_string(&event).unwrap();
    assert_eq!(Event::from_json(&text).as_ref(), Ok(&event));
    let newer = Event {
        version: 2,
        ..event
    };
    assert_eq!(
        WatchState::default().apply(&newer),
        Err(WatchError::Version(2))
    );
    let state = WatchState::default();
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(WatchState::from_json(&text), Ok(state));
}

#[test]
fn a_person_may_say_that_a_spike_is_a_regression() {
    let mut log = Log::of([detected(",t=1,", 10, 14)]);
    let id = log.id(",t=1,");
    let back = EventKind::Retracted {
        regression: id.clone(),
        back_at: CommitNumber(20),
    };
    log.add(back.clone());
    assert!(log.groups().is_empty());
    let change = log.state.regressions[&id].change.clone();
    log.add(EventKind::MadeByHand {
        label: None,
        change,
    });
    assert_eq!(log.groups(), [(10, 14, vec![",t=1,"])]);
    log.add(back);
    assert!(log.state.regressions[&id].is_open());
}

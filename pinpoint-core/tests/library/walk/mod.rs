//! Machines walked through at random: any open action is answered, in any way, even an impossible
//! one.

#![allow(
    dead_code,
    reason = "each test file uses its own part of the vocabulary"
)]

pub(crate) mod landscape;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use pinpoint_core::{Action, Event, Machine, PairedRun, Position, Task};
use proptest::prelude::*;

/// One step of a walk: the open action that is answered, and the answer.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) which: usize,
    pub(crate) how: How,
}

#[derive(Debug, Clone)]
pub(crate) enum How {
    Well(f64),
    Badly,
    Lost,
    WrongKind,
    NotANumber,
    NoValue,
    Unknown(u64),
    Cancel,
    Time(u64),
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        40 => (0..6_u8, 0.0..1.0_f64).prop_map(|(level, noise)| How::Well(f64::from(level) + noise)),
        6 => any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(How::Well),
        8 => Just(How::Badly),
        3 => Just(How::Lost),
        2 => Just(How::WrongKind),
        1 => Just(How::NotANumber),
        1 => Just(How::NoValue),
        2 => (0..2_000_u64).prop_map(How::Unknown),
        1 => (0..100_000_u64).prop_map(How::Time),
    ]
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<prop::sample::Index>(), how()).prop_map(|(which, how)| Step {
        which: which.index(1_000_000),
        how,
    });
    prop::collection::vec(step, 10..400)
}

fn values(value: f64) -> BTreeMap<String, Vec<f64>> {
    BTreeMap::from([("time".to_owned(), vec![value])])
}

pub(crate) fn gave(value: f64) -> PairedRun {
    PairedRun {
        started: 0,
        values: values(value),
        failure: None,
    }
}

pub(crate) fn failed() -> PairedRun {
    PairedRun {
        started: 0,
        values: BTreeMap::new(),
        failure: Some("exit code 1".into()),
    }
}

fn answer(action: &Action, how: &How) -> Event {
    let number = action.number;
    let reason = || "as it happens".to_owned();
    let ran = |action, values| Event::Ran {
        action,
        bot: None,
        started: 0,
        values,
    };
    let ran_pair = |first, second| Event::RanPair {
        action: number,
        bot: None,
        first,
        second,
    };
    match (how, &action.task) {
        (How::Unknown(number), _) => ran(1_000_000 + number, values(1.0)),
        (How::Cancel, _) => Event::CancelRequested,
        (How::Time(elapsed), _) => Event::TimePassed { elapsed: *elapsed },
        (How::Lost, _) => Event::GaveUp {
            action: number,
            reason: reason(),
        },
        (How::WrongKind, Task::Run { .. } | Task::RunPair { .. }) => Event::built(number),
        (How::WrongKind, _) => ran(number, values(1.0)),
        (How::NotANumber, Task::RunPair { .. }) => ran_pair(gave(1.0), gave(f64::NAN)),
        (How::NotANumber, _) => ran(number, values(f64::INFINITY)),
        (How::NoValue, Task::RunPair { .. }) => ran_pair(
            PairedRun {
                values: BTreeMap::new(),
                ..gave(1.0)
            },
            gave(1.0),
        ),
        (How::NoValue, _) => ran(number, BTreeMap::new()),
        (_, Task::Cancel { .. }) => Event::Canceled { action: number },
        (_, Task::FindMetric { .. }) => unreachable!("a search knows its metric"),
        (How::Well(value), Task::List { range, .. }) => Event::Listed {
            action: number,
            range: *range,
            // Ranges inside ranges are short, or the walk would take long.
            count: if *range == 0 {
                30
            } else {
                (value.abs() % 3.0) as u64 / 2
            },
        },
        (How::Badly, Task::List { range, .. }) => Event::Listed {
            action: number,
            range: *range,
            count: 0,
        },
        (How::Well(_), Task::Build { .. }) => Event::built(number),
        (How::Badly, Task::Build { .. }) => Event::BuildFailed {
            action: number,
            reason: reason(),
        },
        (How::Well(value), Task::Run { .. }) => ran(number, values(*value)),
        (How::Badly, Task::Run { .. }) => Event::RunFailed {
            action: number,
            bot: None,
            started: 0,
            reason: reason(),
        },
        // The ends differ, so that a search that verifies them continues; other pairs do or do not.
        (How::Well(value), Task::RunPair { first, second, .. }) => {
            let run = |position| match position {
                Position::Lower => gave(value.fract().abs()),
                Position::Higher => gave(value.fract().abs() + 2.0),
                Position::Within { offset, .. } => gave(*value + (offset % 3) as f64),
            };
            ran_pair(run(*first), run(*second))
        }
        (How::Badly, Task::RunPair { index, .. }) => match index % 3 {
            0 => ran_pair(failed(), gave(1.0)),
            1 => ran_pair(gave(1.0), failed()),
            _ => ran_pair(failed(), failed()),
        },
        (How::Well(_) | How::Badly, other) => panic!("a new task: {other:?}"),
    }
}

/// Everything that a machine shows.
pub(crate) fn state(machine: &impl Debug) -> String {
    format!("{machine:?}")
}

pub(crate) struct Walk<M> {
    pub(crate) machine: M,
    pub(crate) events: Vec<Event>,
    pub(crate) asked: Vec<Action>,
}

impl<M: Machine + Debug> Walk<M> {
    /// Walks at random, then answers everything well until the end.
    pub(crate) fn new(mut machine: M, steps: &[Step]) -> Self {
        let mut events = Vec::new();
        let mut asked = machine.poll();
        let well = Step {
            which: 0,
            how: How::Well(1.0),
        };
        // Far more than any search of these ranges asks for.
        for step in steps.iter().chain(std::iter::repeat_n(&well, 200_000)) {
            if machine.outcome().is_some() {
                break;
            }
            let open = machine.outstanding();
            assert!(!open.is_empty(), "waits for nothing");
            let event = answer(&open[step.which % open.len()], &step.how);
            let wrong = matches!(step.how, How::WrongKind | How::NotANumber | How::NoValue);
            let before = wrong.then(|| state(&machine));
            match machine.handle(event.clone()) {
                Ok(()) => events.push(event),
                Err(error) => {
                    assert_eq!(Some(state(&machine)), before, "an error changed it");
                    let number = event.action().expect("an answer").to_string();
                    assert!(error.to_string().contains(&format!("action {number}")));
                }
            }
            asked.extend(machine.poll());
        }
        assert!(machine.outcome().is_some(), "no end");
        Self {
            machine,
            events,
            asked,
        }
    }

    /// Numbers are unique and rise; nothing is open at the end; ended actions were asked for
    /// before.
    pub(crate) fn check_actions(&self) {
        let numbers: Vec<u64> = self.asked.iter().map(|action| action.number).collect();
        let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
        assert_eq!(distinct.len(), numbers.len(), "a number was used twice");
        assert!(numbers.is_sorted(), "numbers do not rise");
        for action in &self.asked {
            if let Task::Cancel { action: ended } = action.task {
                assert!(ended < action.number, "{action:?}");
            }
        }
        assert!(self.machine.outstanding().is_empty());
    }

    /// The number of actions of a kind that were asked for.
    pub(crate) fn count(&self, fits: impl Fn(&Task) -> bool) -> u64 {
        (self.asked.iter())
            .filter(|action| fits(&action.task))
            .count() as u64
    }
}

/// The machine after some of these events is the same if it was polled between them or never, and
/// comes to the same end.
pub(crate) fn check_replay<M>(begin: impl Fn() -> M, whole: &Walk<M>, cut: usize)
where
    M: Machine + Debug,
    M::Outcome: Debug + PartialEq,
{
    let (seen, unseen) = whole.events.split_at(cut);
    let (mut polled, mut replayed) = (begin(), begin());
    for event in seen {
        polled.poll();
        polled
            .handle(event.clone())
            .expect("it was possible before");
        replayed
            .handle(event.clone())
            .expect("it was possible before");
    }
    assert_eq!(polled.outstanding(), replayed.outstanding());
    polled.poll();
    replayed.poll();
    assert_eq!(state(&polled), state(&replayed));
    for event in unseen {
        replayed
            .handle(event.clone())
            .expect("it was possible before");
        replayed.poll();
    }
    assert_eq!(replayed.outcome(), whole.machine.outcome());
}

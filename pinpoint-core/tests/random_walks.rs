//! Whatever happens, a search stays a search: it never panics, numbers each
//! action once, keeps its budget, ends, and is the same after a replay.

mod world;

use std::collections::BTreeSet;

use pinpoint_core::{
    Action, Bisection, BisectionSpec, CombinedCommit, Commit, Direction, Event, Machine, Magnitude,
    Range, Task,
};
use proptest::prelude::*;
use world::ran;

/// One step of a walk: which open action is answered, and how.
#[derive(Debug, Clone)]
struct Step {
    which: usize,
    how: How,
}

#[derive(Debug, Clone)]
enum How {
    Well(f64),
    Badly,
    Lost,
    WrongKind,
    NotANumber,
    Unknown(u64),
    Cancel,
    Time(u64),
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        40 => (0..6_u8, 0.0..1.0_f64).prop_map(|(level, noise)| How::Well(f64::from(level) + noise)),
        6 => any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(How::Well),
        8 => Just(How::Badly),
        5 => Just(How::Lost),
        2 => Just(How::WrongKind),
        1 => Just(How::NotANumber),
        2 => (0..2_000_u64).prop_map(How::Unknown),
        1 => (0..100_000_u64).prop_map(How::Time),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<prop::sample::Index>(), how()).prop_map(|(which, how)| Step {
        which: which.index(1_000_000),
        how,
    });
    prop::collection::vec(step, 50..400)
}

fn specs() -> impl Strategy<Value = BisectionSpec> {
    let end = |hash: &str| CombinedCommit::from(Commit::new("repository", hash));
    let range = prop_oneof![
        (0..200_u64).prop_map(|between| Range::Counted { between }),
        Just(Range::Between {
            good: end("a"),
            bad: end("b")
        }),
    ];
    let magnitude = prop_oneof![
        Just(None),
        (0.0..5.0_f64).prop_map(|m| Some(Magnitude::Absolute(m))),
        (0.0..200.0_f64).prop_map(|m| Some(Magnitude::Percent(m))),
    ];
    let direction = prop_oneof![
        Just(Direction::Up),
        Just(Direction::Down),
        Just(Direction::Unknown)
    ];
    let strategy = prop_oneof![
        Just(pinpoint_core::Strategy::Adaptive),
        Just(pinpoint_core::Strategy::Pinpoint)
    ];
    let limits = (
        prop::option::of(80_u64..2_000),
        prop::option::of(2_u64..20),
        prop::option::of(1_u64..1_000_000),
    );
    (
        range,
        strategy,
        magnitude,
        direction,
        any::<u64>(),
        1_u32..40,
        0.0..30.0_f64,
        limits,
    )
        .prop_map(
            |(range, strategy, magnitude, direction, seed, attempts, build_cost, limits)| {
                let (max_runs, max_builds, max_time) = limits;
                BisectionSpec {
                    strategy,
                    build_cost,
                    magnitude,
                    direction,
                    seed,
                    attempts,
                    max_runs,
                    max_builds,
                    max_time,
                    ..BisectionSpec::new(range)
                }
            },
        )
}

fn answer(action: &Action, how: &How) -> Event {
    let number = action.number;
    let reason = || "as it happens".to_owned();
    match (how, &action.task) {
        (How::Unknown(number), _) => ran(1_000_000 + number, 1.0),
        (How::Cancel, _) => Event::CancelRequested,
        (How::Time(elapsed), _) => Event::TimePassed { elapsed: *elapsed },
        (How::Lost, _) => Event::GaveUp {
            action: number,
            reason: reason(),
        },
        (How::WrongKind, Task::Run { .. }) => Event::Built { action: number },
        (How::WrongKind, _) => ran(number, 1.0),
        (How::NotANumber, _) => ran(number, f64::NAN),
        (_, Task::Cancel { .. }) => Event::Cancelled { action: number },
        (How::Well(value), Task::List { range, .. }) => Event::Listed {
            action: number,
            range: *range,
            // Ranges inside ranges are short, or the walk would go on for long.
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
        (How::Well(_), Task::Build { .. }) => Event::Built { action: number },
        (How::Badly, Task::Build { .. }) => Event::BuildFailed {
            action: number,
            reason: reason(),
        },
        (How::Well(value), Task::Run { .. }) => ran(number, *value),
        (How::Badly, Task::Run { .. }) => Event::RunFailed {
            action: number,
            bot: None,
            started: 0,
            reason: reason(),
        },
    }
}

/// Everything that a machine shows.
fn state(machine: &Bisection) -> String {
    format!("{machine:?}")
}

struct Walk {
    machine: Bisection,
    events: Vec<Event>,
    asked: Vec<Action>,
}

/// Walks at random, then answers everything well until the end.
fn walk(spec: BisectionSpec, steps: &[Step]) -> Walk {
    let mut machine = Bisection::new(spec).expect("a valid spec");
    let mut events = Vec::new();
    let mut asked = machine.poll();
    let well = Step {
        which: 0,
        how: How::Well(1.0),
    };
    // Far above what any budget-free search of these ranges asks for.
    for step in steps.iter().chain(std::iter::repeat_n(&well, 200_000)) {
        if machine.outcome().is_some() {
            break;
        }
        let open = machine.outstanding();
        assert!(!open.is_empty(), "waits for nothing");
        let event = answer(&open[step.which % open.len()], &step.how);
        let wrong = matches!(step.how, How::WrongKind | How::NotANumber);
        let before = wrong.then(|| state(&machine));
        match machine.handle(event.clone()) {
            Ok(()) => events.push(event),
            Err(_) => assert_eq!(
                Some(state(&machine)),
                before,
                "an error changed the machine"
            ),
        }
        if wrong {
            let _ = machine.progress();
        }
        asked.extend(machine.poll());
    }
    Walk {
        machine,
        events,
        asked,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_walk_ends_within_its_budget(spec in specs(), steps in steps()) {
        let walk = walk(spec.clone(), &steps);
        let outcome = walk.machine.outcome().expect("an end");

        let numbers: Vec<u64> = walk.asked.iter().map(|action| action.number).collect();
        let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
        prop_assert_eq!(distinct.len(), numbers.len(), "a number was used twice");
        prop_assert!(numbers.is_sorted(), "numbers do not rise");

        let count = |fits: fn(&Task) -> bool| {
            walk.asked.iter().filter(|action| fits(&action.task)).count() as u64
        };
        let runs = count(|task| matches!(task, Task::Run { .. }));
        let builds = count(|task| matches!(task, Task::Build { .. }));
        prop_assert!(spec.max_runs.is_none_or(|most| runs <= most), "{runs} runs");
        prop_assert!(spec.max_builds.is_none_or(|most| builds <= most), "{builds} builds");
        prop_assert!(outcome.runs <= runs && outcome.builds <= builds);

        // The end is the end.
        let mut machine = walk.machine.clone();
        machine.handle(Event::CancelRequested).unwrap();
        prop_assert_eq!(state(&machine), state(&walk.machine));
        prop_assert!(machine.outstanding().is_empty());
    }

    #[test]
    fn replaying_any_prefix_gives_the_same_machine(
        spec in specs(),
        steps in steps(),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = walk(spec.clone(), &steps);
        let cut = cut.index(whole.events.len() + 1);
        let (seen, unseen) = whole.events.split_at(cut);

        // One machine is polled between any two events, the other never: what
        // is decided must not depend on it.
        let mut polled = Bisection::new(spec.clone()).unwrap();
        for event in seen {
            polled.poll();
            polled.handle(event.clone()).unwrap();
        }
        let mut replayed = Bisection::replay(spec, seen.iter().cloned()).unwrap();
        prop_assert_eq!(polled.outstanding(), replayed.outstanding());
        prop_assert_eq!(polled.progress(), replayed.progress());
        polled.poll();
        replayed.poll();
        prop_assert_eq!(state(&polled), state(&replayed));

        for event in unseen {
            replayed.handle(event.clone()).unwrap();
            replayed.poll();
        }
        prop_assert_eq!(replayed.outcome(), whole.machine.outcome());
    }

    /// What is stored is what was: spec, events and outcome as JSON.
    #[test]
    fn spec_events_and_outcome_survive_being_written(spec in specs(), steps in steps()) {
        let whole = walk(spec.clone(), &steps);
        let read: BisectionSpec =
            serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
        let events: Vec<Event> =
            serde_json::from_str(&serde_json::to_string(&whole.events).unwrap()).unwrap();
        let machine = Bisection::replay(read, events).unwrap();
        let outcome = serde_json::to_string(machine.outcome().unwrap()).unwrap();
        prop_assert_eq!(&outcome, &serde_json::to_string(whole.machine.outcome().unwrap()).unwrap());
        let read: pinpoint_core::Outcome = serde_json::from_str(&outcome).unwrap();
        prop_assert_eq!(Some(&read), whole.machine.outcome());
    }
}

#[test]
fn a_walk_that_is_cancelled_ends_too() {
    let spec = BisectionSpec::new(Range::Counted { between: 30 });
    let steps: Vec<Step> = (0..40)
        .map(|which| Step {
            which,
            how: How::Well(which as f64),
        })
        .chain([Step {
            which: 0,
            how: How::Cancel,
        }])
        .collect();
    let walk = walk(spec, &steps);
    assert!(walk.machine.outcome().is_some());
}

//! Verify, bisect, verify: the runs that are made, those that serve twice, and the report.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;

use crate::walk::{Walk, check_replay, failed, gave, state, steps};
use pinpoint_core::{
    Action, BisectionSpec, CulpritFinder, CulpritFinderOutcome, CulpritFinderSpec, Direction,
    Event, Machine, Magnitude, PairedRun, PairwiseStatus, Position, Range, SpecError, Status,
    Stopped, Strategy as SearchStrategy, Task,
};
use proptest::prelude::*;

/// The behavior of commits, which depends on the kind of run.
struct World {
    between: u64,
    /// The slowdown of commits from this place on, alone and, between the
    /// ends, in pairs. 0 is the first commit after the good end.
    alone: BTreeMap<u64, f64>,
    in_pairs: BTreeMap<u64, f64>,
    fails_from: Option<u64>,
}

impl World {
    fn slower_from(between: u64, steps: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let steps: BTreeMap<u64, f64> = steps.into_iter().collect();
        Self {
            between,
            alone: steps.clone(),
            in_pairs: steps,
            fails_from: None,
        }
    }

    fn spec(&self) -> CulpritFinderSpec {
        let mut spec = CulpritFinderSpec::new(Range::Counted {
            between: self.between,
        });
        spec.bisection.strategy = SearchStrategy::Pinpoint;
        spec
    }

    fn ordinal(&self, commit: Position) -> u64 {
        match commit {
            Position::Lower => 0,
            Position::Higher => self.between + 1,
            Position::Within { offset, .. } => offset + 1,
        }
    }

    fn run(&self, steps: &BTreeMap<u64, f64>, commit: Position, index: u32) -> PairedRun {
        let ordinal = self.ordinal(commit);
        if self.fails_from.is_some_and(|place| ordinal > place) {
            return failed();
        }
        let slower: f64 = steps.range(..ordinal).map(|(_, by)| by).sum();
        // SplitMix64's output function.
        let mut z = (ordinal << 32 | u64::from(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let noise = (z >> 40) as f64 / f64::from(1 << 24) * 0.1;
        gave(10.0 + slower + noise)
    }

    fn answer(&self, action: &Action) -> Event {
        let number = action.number;
        match &action.task {
            Task::Build { .. } => Event::built(number),
            Task::Run { commit, index, .. } => {
                let run = self.run(&self.alone, *commit, *index);
                match run.failure {
                    None => Event::Ran {
                        action: number,
                        bot: None,
                        started: 0,
                        values: run.values,
                    },
                    Some(reason) => Event::RunFailed {
                        action: number,
                        bot: None,
                        started: 0,
                        reason,
                    },
                }
            }
            Task::RunPair {
                first,
                second,
                index,
                ..
            } => {
                let run = |commit| match commit {
                    Position::Lower | Position::Higher => self.run(&self.alone, commit, *index),
                    Position::Within { .. } => self.run(&self.in_pairs, commit, *index),
                };
                Event::RanPair {
                    action: number,
                    bot: Some("bot".into()),
                    first: run(*first),
                    second: run(*second),
                }
            }
            Task::Cancel { .. } => Event::Canceled { action: number },
            Task::List { .. } => unreachable!("the range is counted"),
            _ => unreachable!("a search that knows its metric asks for nothing else"),
        }
    }

    fn find(&self, spec: CulpritFinderSpec) -> Found {
        let mut machine = CulpritFinder::new(spec).unwrap();
        let mut asked = Vec::new();
        while machine.outcome().is_none() {
            let actions = machine.poll();
            assert!(!actions.is_empty(), "stuck: {machine:?}");
            for action in actions {
                machine.handle(self.answer(&action)).unwrap();
                asked.push(action.task);
            }
        }
        Found {
            outcome: machine.outcome().unwrap().clone(),
            asked,
        }
    }
}

struct Found {
    outcome: CulpritFinderOutcome,
    asked: Vec<Task>,
}

impl Found {
    fn pairs_of(&self, one: Position, other: Position) -> usize {
        let fits = |task: &&Task| match task {
            Task::RunPair { first, second, .. } => {
                [(one, other), (other, one)].contains(&(*first, *second))
            }
            _ => false,
        };
        self.asked.iter().filter(fits).count()
    }

    fn culprits(&self) -> Vec<Position> {
        (self.outcome.culprits.iter())
            .map(|checked| checked.culprit.commit)
            .collect()
    }
}

fn at(offset: u64) -> Position {
    Position::Within { range: 0, offset }
}

#[test]
fn ends_whose_builds_are_the_same_are_not_run() {
    let mut machine = CulpritFinder::new(World::slower_from(4, []).spec()).unwrap();
    for action in machine.poll() {
        let built = Event::Built {
            action: action.number,
            digest: Some("a".into()),
            same: false,
        };
        machine.handle(built).unwrap();
    }
    let outcome = machine.outcome().unwrap();
    assert_eq!(outcome.status, Status::NoRegression);
    assert_eq!((outcome.runs, outcome.builds), (0, 2));
}

#[test]
fn each_culprit_is_confirmed_by_runs_of_its_own() {
    let world = World::slower_from(62, [(20, 2.0), (45, 1.5)]);
    let found = world.find(world.spec());
    let outcome = &found.outcome;
    assert_eq!(outcome.status, Status::CulpritFound);
    assert_eq!(found.culprits(), [at(20), at(45)]);
    assert_eq!(outcome.unconfirmed, []);
    for (culprit, parent) in [(at(20), at(19)), (at(45), at(44))] {
        assert_eq!(found.pairs_of(culprit, parent), 30);
    }
    assert_eq!(found.pairs_of(Position::Lower, Position::Higher), 30);
    for checked in &outcome.culprits {
        let comparison = checked.comparison.as_ref().unwrap();
        assert_eq!(comparison.status, PairwiseStatus::Different);
        assert!(!checked.reused);
        let values = comparison.charts[0].comparison.as_ref().unwrap();
        assert!(values.treatment_median > values.control_median + 1.0);
    }

    // Every run is counted once, and every build.
    let asked =
        |fits: fn(&Task) -> bool| found.asked.iter().filter(|task| fits(task)).count() as u64;
    let runs = asked(|task| matches!(task, Task::Run { .. }));
    let pairs = asked(|task| matches!(task, Task::RunPair { .. }));
    assert_eq!(outcome.runs, runs + 2 * pairs);
    assert_eq!(
        outcome.builds,
        asked(|task| matches!(task, Task::Build { .. }))
    );
    let search = outcome.bisection.as_ref().unwrap();
    assert_eq!(search.runs, runs + outcome.reused_runs);
}

#[test]
fn the_verification_of_the_ends_serves_the_search() {
    let world = World::slower_from(62, [(20, 2.0)]);
    let found = world.find(world.spec());
    let outcome = &found.outcome;
    // The ends have 30 runs each, of which the first total takes 20.
    assert_eq!(outcome.reused_runs, 40);
    let at_ends = |task: &&Task| {
        matches!(
            task,
            Task::Run {
                commit: Position::Lower | Position::Higher,
                ..
            }
        )
    };
    assert_eq!(found.asked.iter().filter(at_ends).count(), 0);
    let search = outcome.bisection.as_ref().unwrap();
    let ends = &search.comparisons[0];
    assert_eq!((ends.lower_runs, ends.higher_runs), (20, 20));

    // The first total of the job goes before those 30; the rest is made.
    let mut spec = world.spec();
    spec.bisection.attempts = Some(35);
    let found = world.find(spec);
    assert_eq!(found.outcome.reused_runs, 60);
    let more: Vec<u32> = (found.asked.iter().filter(at_ends))
        .map(|task| match task {
            Task::Run { index, .. } => *index,
            _ => unreachable!(),
        })
        .collect();
    assert_eq!(more.len(), 10);
    assert!(more.iter().all(|index| (30..35).contains(index)));
}

#[test]
fn the_magnitude_is_the_difference_just_verified_unless_one_is_told() {
    let world = World::slower_from(30, [(10, 2.0)]);
    let magnitude_of = |told| {
        let mut spec = world.spec();
        spec.bisection.magnitude = told;
        let mut machine = CulpritFinder::new(spec).unwrap();
        while machine.bisection().is_none() {
            for action in machine.poll() {
                machine.handle(world.answer(&action)).unwrap();
            }
        }
        let magnitude = machine.bisection().unwrap().spec().magnitude;
        let verified = machine.verification().outcome().unwrap().charts[0]
            .comparison
            .clone();
        (magnitude, verified.unwrap())
    };
    let (magnitude, verified) = magnitude_of(None);
    let difference = verified.treatment_median - verified.control_median;
    assert_eq!(magnitude, Some(Magnitude::Absolute(difference)));
    assert!((1.9..2.1).contains(&difference));
    let told = Some(Magnitude::Percent(5.0));
    assert_eq!(magnitude_of(told).0, told);
}

#[test]
fn without_a_regression_it_ends_after_the_pairs() {
    for (world, direction) in [
        (World::slower_from(62, []), Direction::Unknown),
        // Faster is not a regression of a time.
        (World::slower_from(62, [(20, -2.0)]), Direction::Down),
    ] {
        let mut spec = world.spec();
        spec.bisection.direction = direction;
        let found = world.find(spec);
        assert_eq!(found.outcome.status, Status::NoRegression);
        assert_eq!(found.outcome.stopped, Stopped::Decided);
        assert_eq!(found.outcome.bisection, None);
        assert_eq!((found.outcome.runs, found.outcome.builds), (60, 2));
    }
}

#[test]
fn a_culprit_that_pairs_do_not_confirm_is_listed_with_its_figures() {
    // In single runs a second commit looks slower, as when the machine has slowed down.
    let world = World {
        alone: BTreeMap::from([(20, 2.0), (45, 1.5)]),
        ..World::slower_from(62, [(20, 2.0)])
    };
    let found = world.find(world.spec());
    assert_eq!(found.outcome.status, Status::CulpritFound);
    assert_eq!(found.culprits(), [at(20)]);
    let [unconfirmed] = &found.outcome.unconfirmed[..] else {
        panic!("{:?}", found.outcome.unconfirmed);
    };
    assert_eq!(unconfirmed.culprit.commit, at(45));
    let comparison = unconfirmed.comparison.as_ref().unwrap();
    assert_eq!(comparison.status, PairwiseStatus::Same);
    assert!(comparison.charts[0].comparison.is_some());

    // With nothing confirmed there is no culprit.
    let world = World {
        alone: BTreeMap::from([(20, 2.0)]),
        ..World::slower_from(62, [])
    };
    let found = world.find(world.spec());
    assert_eq!(found.outcome.status, Status::Inconclusive);
    assert_eq!(found.outcome.unconfirmed.len(), 1);
}

#[test]
fn two_neighbors_need_no_second_comparison() {
    let world = World::slower_from(0, [(0, 2.0)]);
    let found = world.find(world.spec());
    assert_eq!(found.culprits(), [Position::Higher]);
    let checked = &found.outcome.culprits[0];
    assert!(checked.reused);
    assert_eq!(
        checked.comparison.as_ref(),
        Some(&found.outcome.verification)
    );
    // Nothing was run besides the 30 pairs.
    assert_eq!(found.outcome.runs, 60);
}

#[test]
fn failures_are_found_and_confirmed_as_well() {
    let world = World {
        fails_from: Some(30),
        ..World::slower_from(62, [])
    };
    let found = world.find(world.spec());
    assert_eq!(found.culprits(), [at(30)]);
    let comparison = found.outcome.culprits[0].comparison.as_ref().unwrap();
    assert_eq!(comparison.functional.as_ref().unwrap().treatment_rate, 1.0);
}

#[test]
fn a_budget_is_for_everything_and_keeps_one_confirmation_back() {
    let world = World::slower_from(62, [(20, 2.0), (45, 1.5)]);
    let budget = |max_runs| {
        let mut spec = world.spec();
        spec.bisection.max_runs = Some(max_runs);
        spec
    };
    let needed = 60 + 60 + 40;
    let error = CulpritFinder::new(budget(needed - 1)).unwrap_err();
    assert_eq!(
        error,
        SpecError::Budget {
            what: "runs",
            needed,
            allowed: needed - 1
        }
    );
    let whole = world.find(world.spec()).outcome.runs;
    for max_runs in (needed..whole + 80).step_by(20) {
        let found = world.find(budget(max_runs));
        assert!(
            found.outcome.runs <= max_runs,
            "{max_runs}: {}",
            found.outcome.runs
        );
        let search = found.outcome.bisection.as_ref().unwrap();
        // Findings are confirmed as far as the budget goes, oldest first.
        if let Some(first) = search.culprits.first() {
            assert_eq!(found.culprits()[0], first.commit);
        }
        for unconfirmed in &found.outcome.unconfirmed {
            assert_eq!(unconfirmed.comparison, None);
        }
        if search.culprits.is_empty() {
            assert_eq!(found.outcome.status, Status::Inconclusive);
            assert_eq!(found.outcome.stopped, Stopped::RunBudget);
        }
    }
}

#[test]
fn a_budget_of_any_size_is_one() {
    let world = World::slower_from(62, [(20, 2.0)]);
    let mut spec = world.spec();
    spec.bisection.max_runs = Some(u64::MAX);
    assert_eq!(world.find(spec).culprits(), [at(20)]);
}

#[test]
fn either_strategy_can_search_between_the_verifications() {
    let world = World::slower_from(62, [(20, 2.0)]);
    let adaptive = |max_runs| {
        let mut spec = world.spec();
        spec.bisection.strategy = SearchStrategy::Adaptive;
        spec.bisection.max_runs = max_runs;
        spec
    };
    let found = world.find(adaptive(None));
    assert_eq!(found.outcome.status, Status::CulpritFound);
    assert_eq!(found.culprits(), [at(20)]);
    assert!(found.outcome.reused_runs > 0);
    assert!(found.outcome.culprits[0].culprit.probability.is_some());
    let search = found.outcome.bisection.as_ref().unwrap();
    assert!(search.posterior.is_some());

    // Its ends need fewer runs than `attempts`, and that decides the least budget.
    let SpecError::Budget { needed, .. } = CulpritFinder::new(adaptive(Some(1))).unwrap_err()
    else {
        panic!("a budget of one run was accepted");
    };
    assert!((60 + 60 + 1..60 + 60 + 40).contains(&needed), "{needed}");
    CulpritFinder::new(adaptive(Some(needed))).unwrap();
}

#[test]
fn a_spec_that_can_not_be_carried_out_is_refused_before_anything_is_run() {
    let spec = || CulpritFinderSpec::new(Range::Counted { between: 3 });
    let refused = |change: fn(&mut CulpritFinderSpec)| {
        let mut spec = spec();
        change(&mut spec);
        CulpritFinder::new(spec).unwrap_err()
    };
    assert_eq!(
        refused(|spec| spec.version = 7),
        SpecError::Version { found: 7 }
    );
    assert_eq!(
        refused(|spec| spec.bisection.version = 7),
        SpecError::Version { found: 7 }
    );
    assert_eq!(
        refused(|spec| spec.pairs = 7),
        SpecError::Pairs { found: 7 }
    );
    assert_eq!(
        refused(|spec| spec.bisection.confidence = 2.0),
        SpecError::Confidence(2.0)
    );
    assert_eq!(
        refused(|spec| spec.bisection.max_builds = Some(1)),
        SpecError::Budget {
            what: "builds",
            needed: 2,
            allowed: 1
        }
    );
}

/// Ends the open actions, as a driver does.
fn end(machine: &mut CulpritFinder, event: Event) -> CulpritFinderOutcome {
    machine.handle(event).unwrap();
    for action in machine.poll() {
        let Task::Cancel { .. } = action.task else {
            panic!("{action:?}");
        };
        let action = action.number;
        machine.handle(Event::Canceled { action }).unwrap();
    }
    machine.outcome().expect("an end").clone()
}

#[test]
fn it_can_be_ended_at_any_time_by_somebody_or_by_the_clock() {
    let world = World::slower_from(62, [(20, 2.0), (45, 1.5)]);
    let mut spec = world.spec();
    spec.bisection.max_time = Some(1_000);
    let answers = {
        let mut machine = CulpritFinder::new(spec.clone()).unwrap();
        let mut events = Vec::new();
        while machine.outcome().is_none() {
            for action in machine.poll() {
                let event = world.answer(&action);
                machine.handle(event.clone()).unwrap();
                events.push(event);
            }
        }
        events
    };
    let mut seen = [0; 3];
    for answered in (0..answers.len()).step_by(7) {
        let mut machine = CulpritFinder::new(spec.clone()).unwrap();
        for event in &answers[..answered] {
            machine.poll();
            machine.handle(event.clone()).unwrap();
        }
        machine.poll();
        let phase = match (machine.bisection(), machine.confirmations().next()) {
            (None, _) => 0,
            (Some(_), None) => 1,
            _ => 2,
        };
        seen[phase] += 1;
        let canceled = end(&mut machine.clone(), Event::CancelRequested);
        assert_eq!(
            (canceled.status, canceled.stopped),
            (Status::Canceled, Stopped::Canceled)
        );
        let late = end(&mut machine, Event::TimePassed { elapsed: 1_000 });
        assert_eq!(late.stopped, Stopped::TimeBudget);
        assert!(matches!(
            late.status,
            Status::Inconclusive | Status::CulpritFound
        ));
    }
    assert!(seen.iter().all(|times| *times > 2), "{seen:?}");
}

fn specs() -> impl Strategy<Value = CulpritFinderSpec> {
    (
        0..40_u64,
        3..20_u32,
        any::<u64>(),
        prop::option::of(0_u64..1_000),
        prop::option::of(2_u64..12),
        prop::option::of(1_u64..1_000_000),
        prop_oneof![
            Just(Direction::Up),
            Just(Direction::Down),
            Just(Direction::Unknown)
        ],
    )
        .prop_map(
            |(between, half, seed, max_runs, max_builds, max_time, direction)| {
                let mut spec = CulpritFinderSpec::new(Range::Counted { between });
                spec.pairs = 2 * half;
                spec.bisection = BisectionSpec {
                    strategy: SearchStrategy::Pinpoint,
                    seed,
                    // Two verifications and the ends of the search fit at least.
                    max_runs: max_runs.map(|more| 8 * u64::from(half) + 40 + more),
                    max_builds,
                    max_time,
                    direction,
                    ..spec.bisection
                };
                spec
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_walk_ends_within_its_budget(spec in specs(), steps in steps()) {
        let walk = Walk::new(CulpritFinder::new(spec.clone()).unwrap(), &steps);
        walk.check_actions();
        let outcome = walk.machine.outcome().unwrap();
        // Each commit is built at most three times: lost builds are tried again.
        for action in &walk.asked {
            if let Task::Build { commit } = action.task {
                let times = walk.count(|task| *task == Task::Build { commit });
                prop_assert!(times <= 3, "{commit:?} was built {times} times");
            }
        }
        let runs = walk.count(|task| matches!(task, Task::Run { .. }))
            + 2 * walk.count(|task| matches!(task, Task::RunPair { .. }));
        let builds = walk.count(|task| matches!(task, Task::Build { .. }));
        prop_assert!(spec.bisection.max_runs.is_none_or(|most| runs <= most), "{runs} runs");
        prop_assert!(spec.bisection.max_builds.is_none_or(|most| builds <= most), "{builds} builds");
        prop_assert!(outcome.runs <= runs && outcome.builds <= builds);
        for checked in &outcome.culprits {
            let comparison = checked.comparison.as_ref().unwrap();
            prop_assert_eq!(comparison.status, PairwiseStatus::Different);
        }
        prop_assert_eq!(outcome.status == Status::CulpritFound,
            !outcome.culprits.is_empty() && !matches!(outcome.stopped, Stopped::Failed { .. } | Stopped::Canceled));

        // The end is the end.
        let mut machine = walk.machine.clone();
        machine.handle(Event::CancelRequested).unwrap();
        prop_assert_eq!(state(&machine), state(&walk.machine));
    }

    #[test]
    fn replaying_any_prefix_gives_the_same_machine(
        spec in specs(),
        steps in steps(),
        cut in any::<prop::sample::Index>(),
    ) {
        let begin = || CulpritFinder::new(spec.clone()).unwrap();
        let whole = Walk::new(begin(), &steps);
        check_replay(begin, &whole, cut.index(whole.events.len() + 1));
    }

    /// Storing changes nothing: spec, events and outcome as JSON.
    #[test]
    fn spec_events_and_outcome_survive_being_written(spec in specs(), steps in steps()) {
        let whole = Walk::new(CulpritFinder::new(spec.clone()).unwrap(), &steps);
        let read: CulpritFinderSpec =
            serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
        let events: Vec<Event> =
            serde_json::from_str(&serde_json::to_string(&whole.events).unwrap()).unwrap();
        let mut machine = CulpritFinder::new(read).unwrap();
        for event in events {
            machine.handle(event).unwrap();
        }
        let outcome = serde_json::to_string(machine.outcome().unwrap()).unwrap();
        let read: CulpritFinderOutcome = serde_json::from_str(&outcome).unwrap();
        prop_assert_eq!(Some(&read), whole.machine.outcome());
    }
}

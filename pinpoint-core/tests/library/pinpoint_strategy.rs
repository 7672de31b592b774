//! The reference strategy, rule by rule.
#![allow(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach their helpers"
)]
#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::world::{World, at, culprits, ran, value_by_value};
use pinpoint_core::{
    Bisection, BisectionSpec, CombinedCommit, Commit, Direction, EffectOf, Event, Machine,
    Magnitude, Outcome, Position, Range, RetryPolicy, SpecError, Status, Stopped, Strategy, Task,
    Verdict,
};
use proptest::prelude::*;

#[test]
fn finds_the_one_commit_that_is_slower() {
    for place in 0..=14 {
        let world = World::new(14).slower_from(place, 5.0);
        let outcome = world.search().outcome();
        let expected = if place == 14 {
            Position::Higher
        } else {
            at(place)
        };
        assert_eq!(outcome.status, Status::CulpritFound);
        assert_eq!(culprits(&outcome), [expected]);
        assert_eq!(outcome.candidates, []);
        let effect = &outcome.culprits[0].effect;
        assert_eq!(effect.of, EffectOf::Values);
        assert!((effect.estimate.unwrap() - 5.0).abs() < 0.1, "{effect:?}");
    }
}

#[test]
fn finds_several_culprits_in_both_halves() {
    let world = World::new(30)
        .slower_from(3, 5.0)
        .slower_from(20, 5.0)
        .slower_from(21, 5.0);
    let outcome = world.search().outcome();
    assert_eq!(culprits(&outcome), [at(3), at(20), at(21)]);
}

#[test]
fn a_range_without_a_change_takes_twenty_runs() {
    let (outcome, search) = World::new(1_000).search().finish();
    assert_eq!(outcome.status, Status::NoRegression);
    assert_eq!((outcome.runs, outcome.builds), (20, 2));
    assert_eq!(search.runs_of(Position::Lower), 10);
}

#[test]
fn the_middle_is_the_earlier_of_two_and_runs_as_often_as_the_lower() {
    // C1..C4: C2 is the middle.
    let (_, search) = World::new(2).slower_from(2, 5.0).search().finish();
    assert_eq!(search.runs[20..30], [at(0); 10]);
    // C1..C5: C3.
    let (_, search) = World::new(3).slower_from(3, 5.0).search().finish();
    assert_eq!(search.runs[20..30], [at(1); 10]);
}

#[test]
fn the_first_runs_are_interleaved_by_the_seed() {
    let order = |seed| {
        let world = World::new(6);
        let spec = BisectionSpec {
            seed,
            ..world.spec()
        };
        world.search_for(spec).finish().1.runs
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    // Each round of two has both ends.
    for round in order(3).chunks(2) {
        assert_ne!(round[0], round[1]);
    }
}

fn adjacent() -> BisectionSpec {
    World::new(0).spec()
}

/// A machine whose two ends give values that keep the verdict unknown.
fn undecided_ends(spec: BisectionSpec) -> Vec<(u32, u32)> {
    let mut machine = Bisection::new(spec).unwrap();
    while machine.outcome().is_none() {
        for action in machine.poll() {
            let event = match action.task {
                Task::Run { commit, index, .. } => {
                    // Two mixed samples, the bad one a little higher: the
                    // p-value is between the thresholds for a while.
                    let noise = f64::from(index * 37 % 101) / 101.0;
                    let shift = if commit == Position::Higher {
                        0.07
                    } else {
                        0.0
                    };
                    ran(action.number, 10.0 + noise + shift)
                }
                Task::Build { .. } => Event::built(action.number),
                _ => Event::Canceled {
                    action: action.number,
                },
            };
            machine.handle(event).unwrap();
        }
    }
    let outcome = machine.outcome().unwrap();
    outcome
        .comparisons
        .iter()
        .filter(|look| (look.lower, look.higher) == (Position::Lower, Position::Higher))
        .map(|look| (look.lower_runs, look.higher_runs))
        .collect()
}

#[test]
fn totals_double_from_ten_to_a_hundred_and_sixty() {
    let spec = BisectionSpec {
        magnitude: Some(Magnitude::Absolute(0.1)),
        ..adjacent()
    };
    let looks = undecided_ends(spec);
    let ladder: Vec<u32> = looks.iter().map(|look| look.0).collect();
    assert!(looks.iter().all(|(lower, higher)| lower == higher));
    assert!([10, 20, 40, 80, 160].starts_with(&ladder), "{ladder:?}");
    assert!(ladder.len() >= 3, "{ladder:?}");
}

#[test]
fn the_first_total_may_be_raised_but_not_lowered() {
    for (attempts, first) in [(1, 10), (20, 20), (30, 30), (200, 200)] {
        let spec = BisectionSpec {
            attempts: Some(attempts),
            ..adjacent()
        };
        assert_eq!(undecided_ends(spec)[0], (first, first));
    }
}

#[test]
fn after_a_raised_first_total_the_ladder_goes_on_above_it() {
    let spec = BisectionSpec {
        attempts: Some(30),
        magnitude: Some(Magnitude::Absolute(0.1)),
        ..adjacent()
    };
    let looks = undecided_ends(spec);
    assert_eq!(looks[..2], [(30, 30), (40, 40)]);
}

#[test]
fn a_change_for_the_better_is_no_regression() {
    let world = World::new(6).slower_from(2, -5.0);
    let down = BisectionSpec {
        direction: Direction::Down,
        ..world.spec()
    };
    assert_eq!(
        world.search_for(down).outcome().status,
        Status::NoRegression
    );
    let up = BisectionSpec {
        direction: Direction::Up,
        ..world.spec()
    };
    assert_eq!(culprits(&world.search_for(up).outcome()), [at(2)]);
    assert_eq!(culprits(&world.search().outcome()), [at(2)]);
}

#[test]
fn a_difference_below_a_tenth_of_the_magnitude_is_not_tested() {
    let world = World::new(6).slower_from(2, 0.5);
    for (magnitude, found) in [
        (Magnitude::Absolute(4.9), true),
        (Magnitude::Absolute(-4.9), true),
        (Magnitude::Absolute(5.2), false),
        // The good end's median is about 10.
        (Magnitude::Percent(48.0), true),
        (Magnitude::Percent(52.0), false),
    ] {
        let spec = BisectionSpec {
            magnitude: Some(magnitude),
            ..world.spec()
        };
        let outcome = world.search_for(spec).outcome();
        assert_eq!(
            outcome.status == Status::CulpritFound,
            found,
            "{magnitude:?}"
        );
        if !found {
            let look = outcome.comparisons[0].performance.as_ref().unwrap();
            assert!(look.is_too_small);
        }
    }
}

#[test]
fn failing_runs_are_a_functional_regression() {
    let outcome = World::new(14).fails_from(9).search().outcome();
    assert_eq!(culprits(&outcome), [at(9)]);
    let culprit = &outcome.culprits[0];
    assert_eq!(culprit.effect.of, EffectOf::Failures);
    assert_eq!((culprit.effect.before, culprit.effect.after), (0.0, 1.0));
    assert!(
        outcome.comparisons[0].performance.is_none(),
        "functional comes first"
    );
}

#[test]
fn failing_and_slowing_down_are_told_apart() {
    let outcome = World::new(14)
        .slower_from(4, 5.0)
        .fails_from(9)
        .search()
        .outcome();
    assert_eq!(culprits(&outcome), [at(4), at(9)]);
    assert_eq!(outcome.culprits[0].effect.of, EffectOf::Values);
    assert_eq!(outcome.culprits[1].effect.of, EffectOf::Failures);
}

#[test]
fn a_commit_that_does_not_build_is_replaced_by_its_nearest_older_first() {
    let world = World::new(7).slower_from(6, 5.0).broken_at([3]);
    let (outcome, search) = world.search().finish();
    assert_eq!(culprits(&outcome), [at(6)]);
    assert_eq!(search.runs[20], at(2));
    assert_eq!(outcome.skipped[0].commit, at(3));
    let (_, search) = World::new(7)
        .broken_at([3, 2])
        .slower_from(6, 5.0)
        .search()
        .finish();
    assert_eq!(search.runs[20], at(4));
}

#[test]
fn what_does_not_build_next_to_the_culprit_is_reported_as_a_range() {
    let world = World::new(7).slower_from(4, 5.0).broken_at([3, 4]);
    let outcome = world.search().outcome();
    assert_eq!(outcome.status, Status::Inconclusive);
    assert_eq!(outcome.candidates, [at(3), at(4), at(5)]);
    assert_eq!(outcome.skipped.len(), 2);
}

/// Looking for a neighbor costs the same however many were tried: if each began in the middle
/// again, this would take a minute.
#[test]
fn tens_of_thousands_of_commits_that_do_not_build_are_walked_over_once() {
    let world = World::new(100_000)
        .slower_from(90_000, 5.0)
        .broken_at(30_000..70_000);
    let (outcome, search) = world.search().finish();
    assert_eq!(culprits(&outcome), [at(90_000)]);
    assert_eq!(outcome.skipped.len(), 40_000);
    // 49,999 is the middle; on a tie the older one is nearer.
    assert_eq!(search.runs[20], at(29_999));
}

#[test]
fn an_end_that_does_not_build_fails_the_job() {
    let mut machine = Bisection::new(World::new(7).spec()).unwrap();
    let actions = machine.poll();
    machine
        .handle(Event::BuildFailed {
            action: actions[1].number,
            reason: "no compiler".into(),
        })
        .unwrap();
    // The other build is ended first.
    assert!(machine.outcome().is_none());
    let cancels = machine.poll();
    assert_eq!(
        cancels[0].task,
        Task::Cancel {
            action: actions[0].number
        }
    );
    machine
        .handle(Event::Canceled {
            action: cancels[0].number,
        })
        .unwrap();
    let outcome = machine.outcome().unwrap();
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(
        outcome.stopped,
        Stopped::Failed {
            commit: Some(Position::Higher),
            reason: "no compiler".into()
        }
    );
}

fn between_commits() -> BisectionSpec {
    let end = |hash| CombinedCommit::from(Commit::new("repository", hash));
    BisectionSpec {
        strategy: Strategy::Pinpoint,
        ..BisectionSpec::new(Range::Between {
            good: end("a"),
            bad: end("b"),
        })
    }
}

#[test]
fn adjacent_commits_are_listed_again_and_a_roll_is_followed() {
    let world = World::new(6).slower_from(4, 5.0).roll(4, 9, 7);
    let outcome = world.search_for(between_commits()).outcome();
    assert_eq!(outcome.culprits.len(), 1);
    let Position::Within { range, offset } = outcome.culprits[0].commit else {
        panic!("{outcome:?}");
    };
    assert!(range > 0);
    assert_eq!(offset, 7);
}

#[test]
fn a_listing_of_nothing_makes_the_higher_commit_the_culprit() {
    let world = World::new(6).slower_from(4, 5.0);
    assert_eq!(
        culprits(&world.search_for(between_commits()).outcome()),
        [at(4)]
    );
    // Good and bad are adjacent.
    let world = World::new(0).slower_from(0, 5.0);
    let outcome = world.search_for(between_commits()).outcome();
    assert_eq!(culprits(&outcome), [Position::Higher]);
}

#[test]
fn a_lost_run_is_asked_for_again_and_three_in_a_row_fail_an_end() {
    let world = World::new(3);
    let mut search = world.search();
    search.step();
    let lose = |machine: &mut Bisection, commit: Position| {
        let action = machine
            .outstanding()
            .into_iter()
            .find(|action| matches!(action.task, Task::Run { commit: c, .. } if c == commit))
            .expect("an open run");
        let Task::Run { index, .. } = action.task else {
            unreachable!()
        };
        machine
            .handle(Event::GaveUp {
                action: action.number,
                reason: "bot died".into(),
            })
            .unwrap();
        index
    };
    let index = lose(&mut search.machine, Position::Lower);
    let again = search.machine.outstanding().pop().unwrap();
    assert_eq!(
        again.task,
        Task::Run {
            commit: Position::Lower,
            index,
            bot: None
        }
    );
    lose(&mut search.machine, Position::Lower);
    assert!(
        search
            .machine
            .outstanding()
            .iter()
            .any(|a| matches!(a.task, Task::Run { .. }))
    );
    lose(&mut search.machine, Position::Lower);
    let (outcome, _) = search.finish();
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(outcome.runs, 0);
}

#[test]
fn losses_in_between_are_forgiven_once_a_run_succeeds() {
    let world = World::new(3);
    let mut machine = Bisection::new(world.spec()).unwrap();
    let mut opened = Default::default();
    let mut lost_last = std::collections::BTreeMap::new();
    while machine.outcome().is_none() {
        let action = machine.outstanding().remove(0);
        let mut event = world.answer(&action, &mut opened);
        if let Task::Run { commit, .. } = action.task {
            let losses: &mut u32 = lost_last.entry(commit).or_default();
            *losses += 1;
            if !losses.is_multiple_of(3) {
                event = Event::GaveUp {
                    action: action.number,
                    reason: "bot died".into(),
                };
            }
        }
        machine.handle(event).unwrap();
    }
    assert_eq!(machine.outcome().unwrap().status, Status::NoRegression);
    assert_eq!(machine.outcome().unwrap().runs, 20);
}

#[test]
fn budgets_end_the_search_with_the_range_that_remains() {
    let world = World::new(62).slower_from(40, 5.0);
    let spec = BisectionSpec {
        max_runs: Some(45),
        ..world.spec()
    };
    let outcome = world.search_for(spec).outcome();
    assert_eq!(outcome.status, Status::Inconclusive);
    assert_eq!(outcome.stopped, Stopped::RunBudget);
    assert_eq!(outcome.runs, 40);
    assert!(outcome.candidates.contains(&at(40)));
    assert!(
        outcome.candidates.len() < 20,
        "{:?}",
        outcome.candidates.len()
    );

    let spec = BisectionSpec {
        max_builds: Some(3),
        ..world.spec()
    };
    let outcome = world.search_for(spec).outcome();
    assert_eq!(outcome.stopped, Stopped::BuildBudget);
    assert_eq!(outcome.builds, 3);
    assert!(outcome.candidates.contains(&at(40)));
}

#[test]
fn time_ends_the_search_and_its_actions() {
    let world = World::new(62).slower_from(40, 5.0);
    let spec = BisectionSpec {
        max_time: Some(60_000),
        ..world.spec()
    };
    let mut search = world.search_for(spec);
    search.step();
    search
        .machine
        .handle(Event::TimePassed { elapsed: 59_999 })
        .unwrap();
    assert!(
        !search
            .machine
            .outstanding()
            .iter()
            .any(|a| matches!(a.task, Task::Cancel { .. }))
    );
    search
        .machine
        .handle(Event::TimePassed { elapsed: 60_000 })
        .unwrap();
    assert!(
        search
            .machine
            .outstanding()
            .iter()
            .all(|a| matches!(a.task, Task::Cancel { .. }))
    );
    let (outcome, _) = search.finish();
    assert_eq!(outcome.stopped, Stopped::TimeBudget);
    assert_eq!(outcome.status, Status::Inconclusive);
}

#[test]
fn a_canceled_search_ends_what_is_under_way_and_ignores_its_answers() {
    let world = World::new(62).slower_from(40, 5.0);
    let mut search = world.search();
    search.step();
    let open = search.machine.poll();
    search.machine.handle(Event::CancelRequested).unwrap();
    let late = world.answer(&open[0], &mut Default::default());
    search.machine.handle(late).unwrap();
    let (outcome, _) = search.finish();
    assert_eq!(outcome.status, Status::Canceled);
    assert_eq!(outcome.runs, 0);
}

#[test]
fn specs_that_make_no_sense_are_refused() {
    let spec = || World::new(3).spec();
    let refused = |spec: BisectionSpec| Bisection::new(spec).expect_err("refused");
    assert_eq!(
        refused(BisectionSpec {
            version: 99,
            ..spec()
        }),
        SpecError::Version { found: 99 }
    );
    assert_eq!(
        refused(BisectionSpec {
            max_runs: Some(19),
            ..spec()
        }),
        SpecError::Budget {
            what: "runs",
            needed: 20,
            allowed: 19
        }
    );
    assert_eq!(
        refused(BisectionSpec {
            max_builds: Some(1),
            ..spec()
        }),
        SpecError::Budget {
            what: "builds",
            needed: 2,
            allowed: 1
        }
    );
    for confidence in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(matches!(
            refused(BisectionSpec {
                confidence,
                ..spec()
            }),
            SpecError::Confidence(_)
        ));
    }
    let magnitude = Some(Magnitude::Percent(f64::INFINITY));
    assert!(matches!(
        refused(BisectionSpec {
            magnitude,
            ..spec()
        }),
        SpecError::Magnitude(_)
    ));
    assert!(matches!(
        refused(BisectionSpec {
            attempts: Some(0),
            ..spec()
        }),
        SpecError::Attempts { .. }
    ));
    let end = || CombinedCommit::from(Commit::new("r", "h"));
    let range = Range::Between {
        good: end(),
        bad: end(),
    };
    assert_eq!(refused(BisectionSpec::new(range)), SpecError::SameEnds);
    let found = u64::MAX;
    let range = Range::Counted { between: found };
    assert_eq!(
        refused(BisectionSpec::new(range)),
        SpecError::Commits { found }
    );
    for factor in [f64::NAN, f64::INFINITY, 0.5, -2.0] {
        let retry = RetryPolicy {
            factor,
            ..RetryPolicy::default()
        };
        assert!(matches!(
            refused(BisectionSpec { retry, ..spec() }),
            SpecError::RetryFactor(_)
        ));
    }
}

/// Answers listings with `list`, and everything else well.
fn with_listings(list: impl FnMut(u64, u32) -> Event) -> Outcome {
    with_listings_of(Strategy::Pinpoint, list)
}

fn with_listings_of(strategy: Strategy, mut list: impl FnMut(u64, u32) -> Event) -> Outcome {
    let world = World::new(30).slower_from(3, 5.0).slower_from(20, 5.0);
    let spec = BisectionSpec {
        strategy,
        ..between_commits()
    };
    let mut machine = Bisection::new(spec).unwrap();
    let mut opened = Default::default();
    while machine.outcome().is_none() {
        for action in machine.poll() {
            let event = match action.task {
                Task::List { range, .. } => list(action.number, range),
                _ => world.answer(&action, &mut opened),
            };
            machine.handle(event).unwrap();
        }
    }
    machine.outcome().unwrap().clone()
}

#[test]
fn a_range_of_impossible_length_fails_the_job() {
    let outcome = with_listings(|action, range| Event::Listed {
        action,
        range,
        count: u64::MAX,
    });
    assert_eq!(outcome.status, Status::Failed);
    let Stopped::Failed { reason, .. } = outcome.stopped else {
        panic!("{outcome:?}");
    };
    assert!(reason.contains("18446744073709551615 commits"), "{reason}");
}

/// Only the ends concern the job: commits hidden between two neighbors concern only these.
#[test]
fn a_listing_that_is_lost_leaves_the_commit_that_it_would_have_opened() {
    for strategy in [Strategy::Pinpoint, Strategy::Adaptive] {
        let lost = |action| Event::GaveUp {
            action,
            reason: "no network".into(),
        };
        let listed = |action, range, count| Event::Listed {
            action,
            range,
            count,
        };
        let outcome = with_listings_of(strategy, |action, range| match range {
            0 => listed(action, range, 30),
            _ => lost(action),
        });
        assert_eq!(outcome.status, Status::Inconclusive, "{outcome:?}");
        assert_eq!(outcome.candidates, [at(3), at(20)]);
        let reason = "no network".to_owned();
        assert_eq!(outcome.stopped, Stopped::Unlisted { reason });

        // The other one is still found.
        let outcome = with_listings_of(strategy, |action, range| match range {
            0 => listed(action, range, 30),
            1 => lost(action),
            _ => listed(action, range, 0),
        });
        assert_eq!(outcome.status, Status::CulpritFound, "{outcome:?}");
        let mut all = culprits(&outcome);
        assert_eq!((all.len(), outcome.candidates.len()), (1, 1));
        all.extend(outcome.candidates);
        all.sort_unstable();
        assert_eq!(all, [at(3), at(20)]);

        // As is it when there would be more than can be searched.
        let outcome = with_listings_of(strategy, |action, range| match range {
            0 => listed(action, range, 30),
            _ => listed(action, range, u64::MAX),
        });
        assert_eq!(outcome.status, Status::Inconclusive, "{outcome:?}");
        assert_eq!(outcome.candidates, [at(3), at(20)]);

        let outcome = with_listings_of(strategy, |action, _| lost(action));
        assert_eq!(outcome.status, Status::Failed);
    }
}

#[test]
fn an_effect_beyond_the_range_of_numbers_costs_nothing_but_itself() {
    for strategy in [Strategy::Pinpoint, Strategy::Adaptive] {
        // Between the highest and lowest values, but not the middle ones, in the
        // last case.
        for (low, high, spread) in [
            (-1.7e308, 1.7e308, 0.0),
            (-0.7e308, 1.0e308, 0.0),
            (-0.87e308, 0.87e308, 0.06),
        ] {
            let spec = BisectionSpec {
                strategy,
                ..World::new(6).spec()
            };
            let outcome = value_by_value(spec, |commit, index| {
                let level = match commit {
                    Position::Lower => low,
                    Position::Within { offset, .. } if offset < 4 => low,
                    _ => high,
                };
                Some(level * (1.0 + spread * (f64::from(index % 3) - 1.0)))
            });
            assert_eq!(culprits(&outcome), [at(4)], "{outcome:?}");
            let effect = &outcome.culprits[0].effect;
            assert_eq!(effect.estimate.is_none(), high - low == f64::INFINITY);
            let text = serde_json::to_string(&outcome).unwrap();
            let read: Outcome = serde_json::from_str(&text).unwrap();
            assert_eq!(read, outcome);
        }
    }
}

/// The reference compares only the rates of failure. The outcome says that nothing else was
/// measured.
#[test]
fn ends_that_only_fail_are_the_same_and_said_to_be_unmeasured() {
    let outcome = value_by_value(World::new(6).spec(), |_, _| None);
    assert_eq!(outcome.status, Status::NoRegression);
    let ends: Vec<_> = (outcome.unmeasured.iter())
        .map(|end| (end.commit, end.runs, end.reason.as_deref()))
        .collect();
    let reason = Some("Address already in use");
    assert_eq!(
        ends,
        [
            (Position::Lower, 10, reason),
            (Position::Higher, 10, reason)
        ]
    );
    let outcome = World::new(6).search().outcome();
    assert_eq!(outcome.unmeasured, []);
    // Earlier files lack it.
    let mut old = serde_json::to_value(&outcome).unwrap();
    old.as_object_mut().unwrap().remove("unmeasured");
    assert_eq!(serde_json::from_value::<Outcome>(old).unwrap(), outcome);
}

#[test]
fn lost_listings_count_in_a_row_only() {
    // Each of the three listings is lost twice, and then made.
    let mut asked = 0;
    let outcome = with_listings(|action, range| {
        asked += 1;
        if asked % 3 == 0 {
            let count = if range == 0 { 30 } else { 0 };
            Event::Listed {
                action,
                range,
                count,
            }
        } else {
            Event::GaveUp {
                action,
                reason: "no network".into(),
            }
        }
    });
    assert_eq!(asked, 9);
    assert_eq!(culprits(&outcome), [at(3), at(20)]);
}

#[test]
fn a_budget_that_ends_in_a_long_range_leaves_all_of_it() {
    let world = World::new(100_000).slower_from(70_000, 5.0);
    let spec = BisectionSpec {
        max_builds: Some(2),
        ..world.spec()
    };
    let outcome = world.search_for(spec).outcome();
    assert_eq!(outcome.stopped, Stopped::BuildBudget);
    assert_eq!(outcome.candidates.len(), 100_001);
    assert!(
        outcome
            .candidates
            .is_sorted_by_key(|position| match position {
                Position::Within { offset, .. } => *offset,
                _ => u64::MAX,
            })
    );
}

#[test]
fn every_look_is_kept_as_evidence() {
    let outcome = World::new(6).slower_from(2, 5.0).search().outcome();
    let root = &outcome.comparisons[0];
    assert_eq!(
        (root.lower, root.higher),
        (Position::Lower, Position::Higher)
    );
    assert_eq!(root.verdict, Verdict::Different);
    let performance = root.performance.as_ref().unwrap();
    assert_eq!(
        (performance.control_size, performance.treatment_size),
        (10, 10)
    );
    assert!(performance.p_value.unwrap() < 0.05);
    assert!(
        outcome
            .comparisons
            .iter()
            .any(|look| look.verdict == Verdict::Same)
    );
}

proptest! {
    /// Against the truth: on values without overlap every change between two neighbors that both
    /// build is found, and nothing else.
    #[test]
    fn agrees_with_a_linear_scan(
        between in 0_u64..70,
        steps in prop::collection::btree_map(0_u64..70, 1.0..3.0_f64, 0..5),
        broken in prop::collection::btree_set(0_u64..70, 0..20),
    ) {
        let mut world = World::new(between).broken_at(broken.into_iter().filter(|b| *b < between));
        for (place, by) in steps {
            if place <= between {
                world = world.slower_from(place, by);
            }
        }
        let outcome = world.search().outcome();
        let usable = |place: u64| place == between || !world.broken.contains(&place);
        let before_usable = |place: u64| place == 0 || !world.broken.contains(&(place - 1));
        let position = |place: u64| if place == between { Position::Higher } else { at(place) };
        let found = culprits(&outcome);
        for &place in world.steps.keys() {
            let exact = usable(place) && before_usable(place);
            if exact {
                prop_assert!(found.contains(&position(place)), "missed {place}: {outcome:?}");
            } else {
                prop_assert!(outcome.candidates.contains(&position(place)), "lost {place}: {outcome:?}");
            }
        }
        for culprit in &found {
            let place = match culprit {
                Position::Higher => between,
                Position::Within { offset, .. } => *offset,
                Position::Lower => unreachable!(),
            };
            prop_assert!(world.steps.contains_key(&place), "invented {place}");
        }
        if world.steps.is_empty() {
            prop_assert_eq!(outcome.status, Status::NoRegression);
        }
    }
}

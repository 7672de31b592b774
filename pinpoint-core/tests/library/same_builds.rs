//! Builds that are known to be the same: nothing is searched between them.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_core::{
    Bisection, BisectionSpec, Event, Machine, Outcome, Position, Range, Status, Stopped, Strategy,
    Task,
};

const BOTH: [Strategy; 2] = [Strategy::Adaptive, Strategy::Pinpoint];

/// A history of commits, each a letter: commits with the same letter are the same build.
/// Small letters have no digest. The first is the good end, the last the bad one.
struct History<'a> {
    commits: &'a str,
    level: fn(char) -> f64,
    /// Builds whose digest is known without building them, once another like them was
    /// built.
    foreseen: bool,
}

struct Search {
    outcome: Outcome,
    /// The positions that were built, in the order of their builds, the ends first.
    built: Vec<Position>,
    ran: BTreeSet<Position>,
}

impl History<'_> {
    fn at(&self, position: Position) -> char {
        let last = self.commits.len() - 1;
        let place = match position {
            Position::Lower => 0,
            Position::Higher => last,
            Position::Within { offset, .. } => offset as usize + 1,
        };
        self.commits.chars().nth(place).unwrap()
    }

    fn search(&self, spec: impl FnOnce(BisectionSpec) -> BisectionSpec) -> Search {
        let between = self.commits.len() as u64 - 2;
        let spec = spec(BisectionSpec::new(Range::Counted { between }));
        let mut machine = Bisection::new(spec.clone()).unwrap();
        let (mut built, mut ran) = (Vec::new(), BTreeSet::new());
        let mut events = Vec::new();
        while machine.outcome().is_none() {
            let actions = machine.poll();
            assert!(!actions.is_empty(), "the search is stuck: {machine:?}");
            for action in actions {
                let number = action.number;
                let event = match action.task {
                    Task::Build { commit } => {
                        let letter = self.at(commit);
                        let known = built.iter().any(|other| self.at(*other) == letter);
                        built.push(commit);
                        Event::Built {
                            action: number,
                            digest: letter.is_uppercase().then(|| letter.to_string()),
                            same: self.foreseen && known,
                        }
                    }
                    Task::Run { commit, index, .. } => {
                        ran.insert(commit);
                        let value =
                            (self.level)(self.at(commit)) + 0.01 * f64::from(index * 7 % 10);
                        Event::Ran {
                            action: number,
                            bot: None,
                            started: 0,
                            values: BTreeMap::from([("time".to_owned(), vec![value])]),
                        }
                    }
                    Task::Cancel { .. } => Event::Canceled { action: number },
                    other => unreachable!("{other:?}"),
                };
                events.push(event.clone());
                machine.handle(event).unwrap();
            }
        }
        let outcome = machine.outcome().unwrap().clone();
        let replayed = Bisection::replay(spec, events).unwrap();
        assert_eq!(replayed.outcome(), Some(&outcome));
        Search {
            outcome,
            built,
            ran,
        }
    }
}

fn with(strategy: Strategy) -> impl Fn(BisectionSpec) -> BisectionSpec {
    move |spec| BisectionSpec { strategy, ..spec }
}

fn at(offset: u64) -> Position {
    Position::Within { range: 0, offset }
}

fn culprits(outcome: &Outcome) -> Vec<Position> {
    outcome.culprits.iter().map(|it| it.commit).collect()
}

/// B and later are slow.
fn slow_from_b(letter: char) -> f64 {
    if letter.eq_ignore_ascii_case(&'a') {
        10.0
    } else {
        12.0
    }
}

#[test]
fn ends_that_are_the_same_need_no_run() {
    for strategy in BOTH {
        let history = History {
            commits: "AbcdA",
            level: slow_from_b,
            foreseen: false,
        };
        let search = history.search(with(strategy));
        assert_eq!(search.outcome.status, Status::NoRegression, "{strategy:?}");
        assert_eq!(search.outcome.stopped, Stopped::Decided);
        assert_eq!(search.outcome.runs, 0);
        assert_eq!(search.outcome.candidates, []);
        let [all] = &search.outcome.unchanged[..] else {
            panic!("{:?}", search.outcome.unchanged)
        };
        assert_eq!((all.after, all.last), (Position::Lower, Position::Higher));
        assert_eq!(all.commits, 4);
    }
}

#[test]
fn commits_between_equal_builds_are_not_suspected() {
    for strategy in BOTH {
        let history = History {
            commits: "AAAAAAAABBBBBBBB",
            level: slow_from_b,
            foreseen: false,
        };
        let search = history.search(with(strategy));
        assert_eq!(culprits(&search.outcome), [at(7)], "{strategy:?}");
        // Each build except the ends is the same as one of them, and tells its level at once.
        if strategy == Strategy::Adaptive {
            let inner = search
                .ran
                .iter()
                .filter(|it| matches!(it, Position::Within { .. }));
            assert_eq!(inner.count(), 0, "{:?}", search.ran);
        }
        let excluded: u64 = search
            .outcome
            .unchanged
            .iter()
            .map(|span| span.commits)
            .sum();
        assert_eq!(excluded, 14);
    }
}

#[test]
fn without_digests_nothing_is_excluded() {
    let history = History {
        commits: "aaaaaaaabbbbbbbb",
        level: slow_from_b,
        foreseen: false,
    };
    for strategy in BOTH {
        let search = history.search(with(strategy));
        assert_eq!(culprits(&search.outcome), [at(7)]);
        assert_eq!(search.outcome.unchanged, []);
        assert!(search.ran.contains(&at(6)) && search.ran.contains(&at(7)));
    }
}

#[test]
fn a_job_of_an_earlier_version_decides_as_it_began() {
    let history = History {
        commits: "AAAAAAAABBBBBBBB",
        level: slow_from_b,
        foreseen: false,
    };
    for strategy in BOTH {
        let search = history.search(|spec| BisectionSpec {
            version: 2,
            ..with(strategy)(spec)
        });
        assert_eq!(culprits(&search.outcome), [at(7)]);
        assert_eq!(search.outcome.unchanged, []);
    }
}

#[test]
fn where_no_commit_left_was_suspected_all_of_them_are() {
    let history = History {
        commits: "AAABB",
        level: slow_from_b,
        foreseen: false,
    };
    let search = history.search(|spec| BisectionSpec {
        priors: Some(vec![1.0, 0.0, 0.0, 0.0]),
        ..spec
    });
    assert_eq!(culprits(&search.outcome), [at(2)]);
}

#[test]
fn a_change_that_was_undone_between_equal_builds_is_passed_over() {
    // B is much slower than either end, and gone before the bad end: the runs of a
    // commit with it say nothing about the difference of the ends.
    let history = History {
        commits: "AAAABBBBAAAACCCC",
        level: |letter| match letter {
            'A' => 10.0,
            'B' => 50.0,
            _ => 12.0,
        },
        foreseen: false,
    };
    let search = history.search(with(Strategy::Adaptive));
    assert_eq!(culprits(&search.outcome), [at(11)]);
    let effect = &search.outcome.culprits[0].effect;
    assert!((effect.before - 10.0).abs() < 0.1, "{effect:?}");
    assert!((effect.after - 12.0).abs() < 0.1, "{effect:?}");
}

#[test]
fn of_a_change_made_undone_and_made_again_one_is_found() {
    // Both of its commits lie between equal builds.
    for strategy in BOTH {
        for middle in ["ABA", "ABAABBA", "ABABABA"] {
            let commits = format!("{middle}B");
            let history = History {
                commits: &commits,
                level: slow_from_b,
                foreseen: false,
            };
            let search = history.search(with(strategy));
            assert_eq!(search.outcome.status, Status::CulpritFound, "{commits}");
            for culprit in culprits(&search.outcome) {
                assert_eq!(history.at(culprit), 'B', "{commits}: {culprit:?}");
            }
        }
    }
}

#[test]
fn a_commit_that_need_not_be_built_is_no_build_and_costs_none_of_the_budget() {
    let history = History {
        commits: "AAAAAAAABBBBBBBB",
        level: slow_from_b,
        foreseen: true,
    };
    let search = history.search(|spec| BisectionSpec {
        max_builds: Some(2),
        ..spec
    });
    // With a budget of the ends alone nothing more may be asked for.
    assert_eq!(search.outcome.stopped, Stopped::BuildBudget);
    let search = history.search(|spec| BisectionSpec {
        max_builds: Some(3),
        ..spec
    });
    assert_eq!(culprits(&search.outcome), [at(7)]);
    assert_eq!(search.outcome.builds, 2);
    assert!(search.built.len() > 3);
}

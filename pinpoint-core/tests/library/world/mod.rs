//! A world in which the truth is known: the behavior of each commit when it is built and run.

#![allow(
    dead_code,
    reason = "each test file uses its own part of the vocabulary"
)]

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_core::{
    Action, Bisection, BisectionSpec, Event, Machine, Outcome, Position, Range, Strategy, Task,
};

/// Values without noise: the machine's decisions on them are certain.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) strategy: Strategy,
    pub(crate) between: u64,
    /// From this place on, the value is larger by this much. 0 is the first
    /// commit after the good end, `between` the bad end.
    pub(crate) steps: BTreeMap<u64, f64>,
    /// Places that do not build.
    pub(crate) broken: BTreeSet<u64>,
    /// From this place on, every run fails.
    pub(crate) fails_from: Option<u64>,
    /// Adjacent commits, by the place of the newer one, that hide a range of
    /// this many commits whose last but `n` carries the step of that place.
    pub(crate) rolls: BTreeMap<u64, (u64, u64)>,
    /// The spread of values, over the index of the run.
    pub(crate) spread: f64,
}

impl World {
    pub(crate) fn new(between: u64) -> Self {
        Self {
            strategy: Strategy::Pinpoint,
            between,
            steps: BTreeMap::new(),
            broken: BTreeSet::new(),
            fails_from: None,
            rolls: BTreeMap::new(),
            spread: 0.01,
        }
    }

    /// To be searched with the strategy `adaptive`, not the reference.
    pub(crate) fn adaptive(mut self) -> Self {
        self.strategy = Strategy::Adaptive;
        self
    }

    pub(crate) fn slower_from(mut self, place: u64, by: f64) -> Self {
        self.steps.insert(place, by);
        self
    }

    pub(crate) fn broken_at(mut self, places: impl IntoIterator<Item = u64>) -> Self {
        self.broken.extend(places);
        self
    }

    pub(crate) fn fails_from(mut self, place: u64) -> Self {
        self.fails_from = Some(place);
        self
    }

    /// The commit at this place rolled a dependency by `commits` commits, of
    /// which the one at `culprit` made the difference.
    pub(crate) fn roll(mut self, place: u64, commits: u64, culprit: u64) -> Self {
        self.rolls.insert(place, (commits, culprit));
        self
    }

    /// 0 for the good end, then 1 for the first commit, and so on.
    fn ordinal(&self, commit: Position) -> u64 {
        match commit {
            Position::Lower => 0,
            Position::Higher => self.between + 1,
            Position::Within { range: 0, offset } => offset + 1,
            Position::Within { .. } => panic!("inside a roll"),
        }
    }

    fn level(&self, commit: Position, opened: &BTreeMap<u32, (Position, Position)>) -> f64 {
        let steps_before = |ordinal: u64| {
            self.steps
                .iter()
                .filter(|(place, _)| **place < ordinal)
                .map(|(_, by)| by)
                .sum::<f64>()
        };
        match commit {
            Position::Within { range, offset } if range > 0 => {
                let (lower, higher) = opened[&range];
                let place = self.ordinal(higher) - 1;
                if offset >= self.rolls[&place].1 {
                    self.level(higher, opened)
                } else {
                    self.level(lower, opened)
                }
            }
            outer => 10.0 + steps_before(self.ordinal(outer)),
        }
    }

    /// The result of this task.
    pub(crate) fn answer(
        &self,
        action: &Action,
        opened: &mut BTreeMap<u32, (Position, Position)>,
    ) -> Event {
        let number = action.number;
        match &action.task {
            Task::List {
                range,
                lower,
                higher,
            } => {
                opened.insert(*range, (*lower, *higher));
                let count = if *range == 0 {
                    self.between
                } else {
                    match higher {
                        Position::Within { range, .. } if *range > 0 => 0,
                        outer => self
                            .rolls
                            .get(&(self.ordinal(*outer) - 1))
                            .filter(
                                |_| !matches!(lower, Position::Within { range, .. } if *range > 0),
                            )
                            .map_or(0, |roll| roll.0),
                    }
                };
                Event::Listed {
                    action: number,
                    range: *range,
                    count,
                }
            }
            Task::Build { commit } => match commit {
                Position::Within { range: 0, offset } if self.broken.contains(offset) => {
                    Event::BuildFailed {
                        action: number,
                        reason: "does not compile".into(),
                    }
                }
                _ => Event::built(number),
            },
            Task::Run { commit, index, .. } => {
                let fails = !matches!(commit, Position::Within { range, .. } if *range > 0)
                    && self
                        .fails_from
                        .is_some_and(|place| self.ordinal(*commit) > place);
                if fails {
                    Event::RunFailed {
                        action: number,
                        bot: None,
                        started: 0,
                        reason: "exit code 1".into(),
                    }
                } else {
                    let value =
                        self.level(*commit, opened) + self.spread * f64::from(index * 7 % 10);
                    ran(number, value)
                }
            }
            Task::Cancel { .. } => Event::Canceled { action: number },
            _ => unreachable!("a bisection asks for nothing else"),
        }
    }

    pub(crate) fn spec(&self) -> BisectionSpec {
        BisectionSpec {
            strategy: self.strategy,
            ..BisectionSpec::new(Range::Counted {
                between: self.between,
            })
        }
    }

    pub(crate) fn search(&self) -> Search {
        self.search_for(self.spec())
    }

    pub(crate) fn search_for(&self, spec: BisectionSpec) -> Search {
        Search {
            world: self.clone(),
            machine: Bisection::new(spec).expect("a valid spec"),
            opened: BTreeMap::new(),
            runs: Vec::new(),
            events: Vec::new(),
        }
    }
}

/// A search of a counted range in which everything builds, and a run gives this
/// value or fails.
pub(crate) fn value_by_value(
    spec: BisectionSpec,
    value: impl Fn(Position, u32) -> Option<f64>,
) -> Outcome {
    let mut machine = Bisection::new(spec).expect("a valid spec");
    while machine.outcome().is_none() {
        let actions = machine.poll();
        assert!(!actions.is_empty(), "the search is stuck: {machine:?}");
        for action in actions {
            let number = action.number;
            let event = match action.task {
                Task::Build { .. } => Event::built(number),
                Task::Run { commit, index, .. } => match value(commit, index) {
                    Some(value) => ran(number, value),
                    None => Event::RunFailed {
                        action: number,
                        bot: None,
                        started: 0,
                        reason: "Address already in use".into(),
                    },
                },
                Task::Cancel { .. } => Event::Canceled { action: number },
                other => unreachable!("{other:?}"),
            };
            machine.handle(event).expect("a possible event");
        }
    }
    machine.outcome().expect("an outcome").clone()
}

pub(crate) fn ran(action: u64, value: f64) -> Event {
    Event::Ran {
        action,
        bot: None,
        started: 0,
        values: BTreeMap::from([("time".to_owned(), vec![value])]),
    }
}

/// A search under way in a world.
pub(crate) struct Search {
    world: World,
    pub(crate) machine: Bisection,
    opened: BTreeMap<u32, (Position, Position)>,
    /// Every run, in the order asked for.
    pub(crate) runs: Vec<Position>,
    pub(crate) events: Vec<Event>,
}

impl Search {
    /// Answers everything, in the order asked, until the outcome is there.
    pub(crate) fn finish(mut self) -> (Outcome, Self) {
        while self.machine.outcome().is_none() {
            self.step();
        }
        (self.machine.outcome().expect("an outcome").clone(), self)
    }

    pub(crate) fn outcome(self) -> Outcome {
        self.finish().0
    }

    /// Answers the current actions.
    pub(crate) fn step(&mut self) {
        let actions = self.machine.poll();
        assert!(
            !actions.is_empty(),
            "the search is stuck: {:?}",
            self.machine
        );
        for action in actions {
            if let Task::Run { commit, .. } = action.task {
                self.runs.push(commit);
            }
            let event = self.world.answer(&action, &mut self.opened);
            self.events.push(event.clone());
            self.machine.handle(event).expect("a possible event");
        }
    }

    pub(crate) fn runs_of(&self, commit: Position) -> usize {
        self.runs.iter().filter(|run| **run == commit).count()
    }
}

pub(crate) fn at(offset: u64) -> Position {
    Position::Within { range: 0, offset }
}

/// The places found, with the bad end as the last.
pub(crate) fn culprits(outcome: &Outcome) -> Vec<Position> {
    outcome
        .culprits
        .iter()
        .map(|culprit| culprit.commit)
        .collect()
}

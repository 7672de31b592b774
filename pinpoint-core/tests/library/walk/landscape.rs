//! Worlds in which a search may continue without progress: several large changes among many small
//! ones, noise in two modes, ties, runs that fail and answers that are lost.

use std::collections::BTreeMap;

use pinpoint_core::{Action, Event, Machine, PairedRun, Position, Task};
use proptest::prelude::*;

/// The values of each commit, with chances that depend on the action alone.
#[derive(Debug, Clone)]
pub(crate) struct Landscape {
    /// Of each commit, both ends included.
    levels: Vec<f64>,
    /// The amount by which the values of the slow mode are larger.
    mode: f64,
    /// Values are multiples of it; 0 for unrounded values.
    tick: f64,
    /// The parts of runs that fail, and of answers that are lost.
    failing: f64,
    lost: f64,
    seed: u64,
}

/// Landscapes with at most this many commits, both ends included.
pub(crate) fn landscapes(most: usize) -> impl Strategy<Value = Landscape> {
    let step = prop_oneof![
        12 => 0.98..1.02_f64,
        1 => Just(0.6),
        1 => Just(1.6),
    ];
    (
        prop::collection::vec(step, 2..most),
        prop_oneof![Just(1.0), Just(1.6), Just(3.0)],
        prop_oneof![2 => Just(0.0), 1 => Just(5.0), 1 => Just(40.0)],
        prop_oneof![3 => Just(0.0), 1 => Just(0.1), 1 => Just(1.0)],
        prop_oneof![3 => Just(0.0), 1 => Just(0.1)],
        any::<u64>(),
    )
        .prop_map(|(steps, mode, tick, failing, lost, seed)| {
            let mut level = 50.0;
            let levels = steps.into_iter().map(|step| {
                level *= step;
                level
            });
            Landscape {
                levels: levels.collect(),
                mode,
                tick,
                failing,
                lost,
                seed,
            }
        })
}

impl Landscape {
    /// Commits strictly between the ends.
    pub(crate) fn between(&self) -> u64 {
        self.levels.len() as u64 - 2
    }

    /// Between 0 and 1, by SplitMix64's output function.
    fn chance(&self, action: u64, which: u64) -> f64 {
        let mut z = (self.seed ^ (action << 3) ^ which).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn run(&self, commit: Position, action: u64, which: u64) -> PairedRun {
        let chance = |purpose: u64| self.chance(action, 4 * which + purpose);
        if chance(0) < self.failing {
            return super::failed();
        }
        let ordinal = match commit {
            Position::Lower => 0,
            Position::Within { offset, .. } => offset as usize + 1,
            Position::Higher => self.levels.len() - 1,
        };
        let mode = if chance(1) < 0.3 { self.mode } else { 1.0 };
        let value = self.levels[ordinal] * mode * (0.97 + 0.06 * chance(2));
        super::gave(if self.tick > 0.0 {
            (value / self.tick).round() * self.tick
        } else {
            value
        })
    }

    fn answer(&self, action: &Action) -> Event {
        let number = action.number;
        if !matches!(action.task, Task::Cancel { .. }) && self.chance(number, 3) < self.lost {
            return Event::GaveUp {
                action: number,
                reason: "lost".into(),
            };
        }
        match action.task {
            Task::List { range, .. } => Event::Listed {
                action: number,
                range,
                count: if range == 0 { self.between() } else { 0 },
            },
            Task::Build { .. } => Event::built(number),
            Task::Run { commit, .. } => {
                let PairedRun {
                    started,
                    values,
                    failure,
                } = self.run(commit, number, 0);
                let bot = None;
                match failure {
                    None => Event::Ran {
                        action: number,
                        bot,
                        started,
                        values,
                    },
                    Some(reason) => Event::RunFailed {
                        action: number,
                        bot,
                        started,
                        reason,
                    },
                }
            }
            Task::RunPair { first, second, .. } => Event::RanPair {
                action: number,
                bot: None,
                first: self.run(first, number, 0),
                second: self.run(second, number, 1),
            },
            Task::Cancel { .. } => Event::Canceled { action: number },
            _ => unreachable!("a search that knows its metric asks for nothing else"),
        }
    }

    /// Answers everything until the end, within this many events; gives the runs
    /// and the builds asked for.
    pub(crate) fn walk<M: Machine>(&self, machine: &mut M, most: u64) -> (u64, u64) {
        let mut asked: BTreeMap<&str, u64> = BTreeMap::new();
        let mut events = 0;
        while machine.outcome().is_none() {
            let actions = machine.poll();
            assert!(!actions.is_empty(), "it waits for nothing");
            for action in actions {
                let (what, amount) = match action.task {
                    Task::Run { .. } => ("runs", 1),
                    Task::RunPair { .. } => ("runs", 2),
                    Task::Build { .. } => ("builds", 1),
                    _ => ("free", 1),
                };
                *asked.entry(what).or_default() += amount;
                (machine.handle(self.answer(&action))).expect("a possible event");
                events += 1;
                assert!(events <= most, "no end after {events} events: {asked:?}");
            }
        }
        let asked = |what| asked.get(what).copied().unwrap_or_default();
        (asked("runs"), asked("builds"))
    }
}

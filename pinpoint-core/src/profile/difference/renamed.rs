//! Functions of one side that look like one of the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FunctionChange;
use super::runs::Runs;

/// How alike callers and callees have to be.
const LEAST_ALIKE: f64 = 0.8;

/// A function that may have another name in the other build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenameGuess {
    /// Its name in the base.
    pub base: String,
    /// Its name in the experiment.
    pub experiment: String,
    /// How alike their callers and callees are, from 0 to 1.
    pub alike: f64,
}

/// Which functions call which, and how much of each side's cost goes that way.
pub(super) struct Neighbours {
    /// By callee and caller.
    callers: BTreeMap<usize, BTreeMap<usize, f64>>,
    /// By caller and callee, with what the caller costs by itself under [`ITSELF`].
    callees: BTreeMap<usize, BTreeMap<usize, f64>>,
}

/// In place of a callee: of two functions that compute, a few samples of the kernel's interrupts
/// below one of them make no difference.
const ITSELF: usize = usize::MAX;

impl Neighbours {
    /// Those of the functions tested, weighed by what they cost.
    pub(super) fn of(runs: &Runs, tested: &[usize]) -> Self {
        let mut neighbours = Self {
            callers: BTreeMap::new(),
            callees: BTreeMap::new(),
        };
        let last = tested.last().map_or(0, |last| last + 1);
        let mut is_tested = vec![false; last];
        tested
            .iter()
            .for_each(|function| is_tested[*function] = true);
        let is_tested = |function: usize| is_tested.get(function).copied().unwrap_or(false);
        for run in &runs.all {
            let mut edge = |edge: super::runs::Edge| {
                if edge.caller == edge.callee {
                    return;
                }
                if is_tested(edge.callee) {
                    let callers = neighbours.callers.entry(edge.callee).or_default();
                    *callers.entry(edge.caller).or_default() += edge.weight;
                }
                if is_tested(edge.caller) {
                    let callees = neighbours.callees.entry(edge.caller).or_default();
                    *callees.entry(edge.callee).or_default() += edge.weight;
                }
            };
            if run.calls.is_some() {
                run.counted_calls().for_each(&mut edge);
            } else {
                run.seen_calls().for_each(&mut edge);
            }
            for function in tested {
                let callees = neighbours.callees.entry(*function).or_default();
                *callees.entry(ITSELF).or_default() += run.own[*function];
            }
        }
        neighbours
    }

    /// The caller through which most of a function's cost comes.
    pub(super) fn caller(&self, function: usize) -> Option<usize> {
        let callers = self.callers.get(&function)?;
        let most = callers.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(*most.0)
    }

    /// The one is seen to call the other.
    pub(super) fn calls(&self, caller: usize, callee: usize) -> bool {
        let callees = self.callees.get(&caller);
        callees.is_some_and(|callees| callees.contains_key(&callee))
    }
}

/// The part that two distributions have in common.
fn overlap(a: Option<&BTreeMap<usize, f64>>, b: Option<&BTreeMap<usize, f64>>) -> f64 {
    let (a, b) = match (a, b) {
        (None, None) => return 1.0,
        (Some(a), Some(b)) => (a, b),
        _ => return 0.0,
    };
    let sum = |of: &BTreeMap<usize, f64>| of.values().sum::<f64>().max(f64::MIN_POSITIVE);
    let (a_sum, b_sum) = (sum(a), sum(b));
    let common = a.iter().filter_map(|(key, weight)| {
        let other = b.get(key)?;
        Some((weight / a_sum).min(other / b_sum))
    });
    common.sum()
}

/// Pairs of a function that only the base has and one that only the experiment has, each
/// in one pair, the most alike first.
pub(super) fn guesses(
    changes: &[FunctionChange],
    tested: &[usize],
    neighbours: &Neighbours,
) -> Vec<RenameGuess> {
    let only = |in_base: bool| {
        let is = move |change: &FunctionChange| match in_base {
            true => change.total.experiment == 0.0,
            false => change.total.base == 0.0,
        };
        let pairs = changes.iter().zip(tested);
        pairs.filter(move |(change, _)| is(change))
    };
    let mut pairs = Vec::new();
    for (gone, gone_function) in only(true) {
        for (new, new_function) in only(false) {
            let ratio = new.total.experiment / gone.total.base;
            if !(0.5..=2.0).contains(&ratio) {
                continue;
            }
            let common = |table: &BTreeMap<usize, BTreeMap<usize, f64>>| {
                overlap(table.get(gone_function), table.get(new_function))
            };
            let alike = (common(&neighbours.callers) + common(&neighbours.callees)) / 2.0;
            if alike >= LEAST_ALIKE {
                pairs.push((alike, ratio, gone, new));
            }
        }
    }
    // Equally alike: those whose costs are nearest.
    let distance = |ratio: f64| (ratio - 1.0).abs();
    pairs.sort_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then(distance(a.1).total_cmp(&distance(b.1)))
    });
    let mut guesses: Vec<RenameGuess> = Vec::new();
    for (alike, _, gone, new) in pairs {
        let (base, experiment) = (&gone.function.name, &new.function.name);
        let is_taken = |guess: &RenameGuess| guess.base == *base || guess.experiment == *experiment;
        if !guesses.iter().any(is_taken) {
            guesses.push(RenameGuess {
                base: base.clone(),
                experiment: experiment.clone(),
                alike,
            });
        }
    }
    guesses
}

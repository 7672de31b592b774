//! Functions of one side that look like one of the other.
//!
//! Both have to be certain: of two profiles of one build, each has functions that the other one
//! lacks by chance, and of those with a few samples any two are alike.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use pinpoint_compare::CompareError;

use super::runs::Runs;
use super::statistics;
use crate::identity::Identified;

/// The least similarity of callers and callees.
const LEAST_ALIKE: f64 = 0.8;

/// At most this many functions that only one side has are compared with those of the other:
/// those that cost most. Each is compared with each.
const MOST_COMPARED: usize = 500;

/// A function that may have another name in the other build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RenameGuess {
    /// Its name in the base.
    pub base: String,
    /// Its name in the experiment.
    pub experiment: String,
    /// The similarity of their callers and callees, from 0 to 1.
    pub alike: f64,
    /// The pair for [`ExplainOptions::same`](super::super::ExplainOptions::same): the names, with
    /// the places of the functions where others have the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<(String, String)>,
}

/// The same guess, by the places of the functions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    pub(super) base: usize,
    pub(super) experiment: usize,
    alike: f64,
}

impl Guess {
    pub(super) fn named(&self, identified: &Identified) -> RenameGuess {
        let name = |function: usize| identified.functions[function].name.clone();
        RenameGuess {
            base: name(self.base),
            experiment: name(self.experiment),
            alike: self.alike,
            same: Some(identified.told_apart(self.base, self.experiment).into()),
        }
    }
}

/// The calls between functions, with the part of each side's cost in each.
pub(super) struct Neighbors {
    /// The calls by callee and caller.
    callers: BTreeMap<usize, BTreeMap<usize, f64>>,
    /// The calls by caller and callee, with the caller's own cost under [`ITSELF`].
    callees: BTreeMap<usize, BTreeMap<usize, f64>>,
}

/// In place of a callee: of two functions that compute, a few samples of the kernel's interrupts
/// below one of them make no difference.
const ITSELF: usize = usize::MAX;

impl Neighbors {
    /// Those of some functions, in ascending order, weighed by their cost.
    pub(super) fn from_runs(runs: &Runs, chosen: &[usize]) -> Self {
        let mut neighbors = Self {
            callers: BTreeMap::new(),
            callees: BTreeMap::new(),
        };
        let last = chosen.last().map_or(0, |last| last + 1);
        let mut is_chosen = vec![false; last];
        chosen
            .iter()
            .for_each(|function| is_chosen[*function] = true);
        let is_chosen = |function: usize| is_chosen.get(function).copied().unwrap_or(false);
        for run in &runs.all {
            let mut edge = |edge: super::runs::Edge| {
                if edge.caller == edge.callee {
                    return;
                }
                if is_chosen(edge.callee) {
                    let callers = neighbors.callers.entry(edge.callee).or_default();
                    *callers.entry(edge.caller).or_default() += edge.weight;
                }
                if is_chosen(edge.caller) {
                    let callees = neighbors.callees.entry(edge.caller).or_default();
                    *callees.entry(edge.callee).or_default() += edge.weight;
                }
            };
            if run.calls.is_some() {
                run.counted_calls().for_each(&mut edge);
            } else {
                run.seen_calls().for_each(&mut edge);
            }
            for function in chosen {
                let callees = neighbors.callees.entry(*function).or_default();
                *callees.entry(ITSELF).or_default() += run.own[*function];
            }
        }
        neighbors
    }

    /// The caller through which most of a function's cost comes.
    pub(super) fn caller(&self, function: usize) -> Option<usize> {
        let callers = self.callers.get(&function)?;
        let most = callers.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(*most.0)
    }

    /// The same without nameless callers, in which broken stacks end.
    pub(super) fn without(mut self, is_nameless: impl Fn(usize) -> bool) -> Self {
        self.callers.retain(|_, callers| {
            callers.retain(|caller, _| !is_nameless(*caller));
            !callers.is_empty()
        });
        self
    }

    /// The functions that it is seen to call.
    pub(super) fn callees(&self, caller: usize) -> impl Iterator<Item = usize> {
        let callees = self.callees.get(&caller).into_iter().flatten();
        callees.map(|(callee, _)| *callee)
    }
}

/// The part that two distributions have in common; absent where both are empty.
fn overlap(a: Option<&BTreeMap<usize, f64>>, b: Option<&BTreeMap<usize, f64>>) -> Option<f64> {
    let (a, b) = match (a, b) {
        (None, None) => return None,
        (Some(a), Some(b)) => (a, b),
        _ => return Some(0.0),
    };
    let sum = |of: &BTreeMap<usize, f64>| of.values().sum::<f64>().max(f64::MIN_POSITIVE);
    let (a_sum, b_sum) = (sum(a), sum(b));
    let common = a.iter().filter_map(|(key, weight)| {
        let other = b.get(key)?;
        Some((weight / a_sum).min(other / b_sum))
    });
    Some(common.sum())
}

/// Pairs of a function that only the base has and one that only the experiment has, each certainly
/// so and in one pair, the most alike first.
pub(super) fn guesses(
    runs: &Runs,
    chosen: &[usize],
    neighbors: &Neighbors,
    exact: bool,
) -> Result<Vec<Guess>, CompareError> {
    let totals: Vec<Vec<f64>> = (chosen.iter())
        .map(|function| runs.values(|run| run.total[*function]))
        .collect();
    let found = statistics::together(totals.iter().map(Vec::as_slice), runs, exact)?;
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    for (&function, found) in chosen.iter().zip(found).filter(|(_, it)| it.is_certain) {
        match [found.change.base, found.change.experiment] {
            [base, 0.0] => gone.push((function, base)),
            [0.0, experiment] => new.push((function, experiment)),
            _ => {}
        }
    }
    for functions in [&mut gone, &mut new] {
        functions.sort_by(|a, b| b.1.total_cmp(&a.1));
        functions.truncate(MOST_COMPARED);
    }
    let mut pairs = Vec::new();
    for &(base, before) in &gone {
        for &(experiment, after) in &new {
            let ratio = after / before;
            if !(0.5..=2.0).contains(&ratio) {
                continue;
            }
            let common = |table: &BTreeMap<usize, BTreeMap<usize, f64>>| {
                overlap(table.get(&base), table.get(&experiment))
            };
            // Functions that only compute differ by their callers.
            let Some(callers) = common(&neighbors.callers) else {
                continue;
            };
            let alike = (callers + common(&neighbors.callees).unwrap_or(1.0)) / 2.0;
            if alike >= LEAST_ALIKE {
                let guess = Guess {
                    base,
                    experiment,
                    alike,
                };
                pairs.push((guess, ratio));
            }
        }
    }
    // Equally alike: those whose costs are nearest.
    let distance = |ratio: f64| (ratio - 1.0).abs();
    pairs.sort_by(|(a, a_ratio), (b, b_ratio)| {
        (b.alike.total_cmp(&a.alike)).then(distance(*a_ratio).total_cmp(&distance(*b_ratio)))
    });
    let mut taken = BTreeSet::new();
    let mut guesses = Vec::new();
    for (guess, _) in pairs {
        let both = [guess.base, guess.experiment];
        if both.iter().all(|function| !taken.contains(function)) {
            taken.extend(both);
            guesses.push(guess);
        }
    }
    Ok(guesses)
}

//! The path of the change: from the outermost function inward. A function that is probably renamed
//! is one with the other: apart, each has all that it costs as a difference.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::CompareError;

use super::explanation::{Change, PathStep};
use super::renamed::Guess;
use super::runs::{Run, Runs};
use super::statistics::change;
use crate::identity::Function;

/// The part of the whole difference that a function on the path has at least.
const LEAST_PART: f64 = 0.6;

/// A smaller part of the earlier cost is rounding, not a difference.
const ROUNDING: f64 = 1e-12;

/// The longest path that is followed.
const MAX_PATH_STEPS: usize = 1000;

/// Goes from the root into the function that has most of the difference, as long as it
/// has 60 % of it.
pub(super) fn of_change(
    runs: &Runs,
    functions: &[Function],
    renamed: &[Guess],
    whole: &Change,
) -> Result<Vec<PathStep>, CompareError> {
    if whole.difference.abs() <= ROUNDING * whole.base.max(whole.experiment) {
        return Ok(Vec::new());
    }
    let whole = whole.difference;
    let names: BTreeMap<usize, usize> = renamed
        .iter()
        .map(|guess| (guess.base, guess.experiment))
        .collect();
    let one = |function: usize| names.get(&function).copied().unwrap_or(function);
    let mut path = Vec::new();
    // Where calls are counted there are no stacks.
    let counted = runs.all.iter().any(|run| run.calls.is_some());
    let mut place = if counted {
        PathEnd::calls(runs)
    } else {
        PathEnd::stacks(runs)
    };
    while path.len() < MAX_PATH_STEPS
        && let Some((function, difference)) = place.greatest(runs, one, whole)
        && difference / whole >= LEAST_PART
    {
        place.enter(runs, one, function);
        let values = place.values(runs);
        let interval = values.map(|values| change(&values, runs)).transpose()?;
        path.push(PathStep {
            name: functions[function].name.clone(),
            difference,
            interval: interval.and_then(|change| change.interval),
        });
    }
    Ok(path)
}

/// The current end of the path.
enum PathEnd {
    /// The stacks of each run that begin with the path.
    Stacks(Vec<Vec<usize>>),
    /// The function, `None` before the first, and those that were passed.
    Calls(Option<usize>, BTreeSet<usize>),
}

impl PathEnd {
    fn stacks(runs: &Runs) -> Self {
        Self::Stacks(vec![vec![0]; runs.all.len()])
    }

    fn calls(_: &Runs) -> Self {
        Self::Calls(None, BTreeSet::new())
    }

    /// The next function with the greatest part of the difference.
    fn greatest(
        &self,
        runs: &Runs,
        one: impl Fn(usize) -> usize,
        whole: f64,
    ) -> Option<(usize, f64)> {
        let mut differences: BTreeMap<usize, f64> = BTreeMap::new();
        for (index, (run, weight)) in runs.signed().enumerate() {
            match self {
                Self::Stacks(stacks) => {
                    for &stack in &stacks[index] {
                        let mut child = run.children.first(stack);
                        while let Some(next) = child {
                            if let Some(function) = run.function(next) {
                                *differences.entry(one(function)).or_default() +=
                                    run.below[next] * weight;
                            }
                            child = run.children.after(next);
                        }
                    }
                }
                Self::Calls(Some(function), passed) => {
                    for edge in run.counted_calls() {
                        let callee = one(edge.callee);
                        if one(edge.caller) == *function && !passed.contains(&callee) {
                            *differences.entry(callee).or_default() += edge.weight * weight;
                        }
                    }
                }
                // The first one is a function without callers.
                Self::Calls(None, _) => {
                    let called: BTreeSet<usize> = run
                        .counted_calls()
                        .filter(|edge| edge.caller != edge.callee)
                        .map(|edge| edge.callee)
                        .collect();
                    for (function, total) in run.total.iter().enumerate() {
                        if *total > 0.0 && !called.contains(&function) {
                            *differences.entry(one(function)).or_default() += total * weight;
                        }
                    }
                }
            }
        }
        let greatest = |a: &(usize, f64), b: &(usize, f64)| (a.1 / whole).total_cmp(&(b.1 / whole));
        differences.into_iter().max_by(greatest)
    }

    /// The cost of each run here and below, where there are stacks.
    fn values(&self, runs: &Runs) -> Option<Vec<f64>> {
        let Self::Stacks(stacks) = self else {
            return None;
        };
        let pairs = runs.all.iter().zip(stacks);
        let value =
            |(run, stacks): (&Run, &Vec<usize>)| stacks.iter().map(|at| run.below[*at]).sum();
        Some(pairs.map(value).collect())
    }

    fn enter(&mut self, runs: &Runs, one: impl Fn(usize) -> usize, function: usize) {
        match self {
            Self::Stacks(stacks) => {
                for (run, stacks) in runs.all.iter().zip(stacks) {
                    let mut inside = Vec::new();
                    for stack in stacks.iter() {
                        let mut child = run.children.first(*stack);
                        while let Some(next) = child {
                            if run.function(next).map(&one) == Some(function) {
                                inside.push(next);
                            }
                            child = run.children.after(next);
                        }
                    }
                    *stacks = inside;
                }
            }
            Self::Calls(at, passed) => {
                passed.insert(function);
                *at = Some(function);
            }
        }
    }
}

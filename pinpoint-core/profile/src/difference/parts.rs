//! Changes of threads, categories of costs and the program's own code.

use std::collections::BTreeMap;

use pinpoint_compare::CompareError;

use super::explanation::PartChange;
use super::runs::{Run, Runs};
use super::statistics::part_changes;
use super::thread_name::without_numbers;
use super::worth::LEAST_SHARE;
use crate::{CostCategory, Function, Owner};

/// At most this many threads: those that took most.
const MOST_THREADS: usize = 100;

/// At most this many of the program's own functions: those that moved most.
const MOST_OWN: usize = 100;

/// The name of all others together.
const OTHER_THREADS: &str = "(other threads)";

/// The name of threads without a name.
const NAMELESS: &str = "(no name)";

/// A value for each run.
type Values = Vec<f64>;

/// The change of the threads of each name; none where no thread has one. A thread has the name of
/// its program, which may have another one in the experiment, as these pairs say.
pub(super) fn of_threads(
    runs: &Runs,
    renamed: &[(&str, &str)],
    exact: bool,
) -> Result<Vec<PartChange>, CompareError> {
    let mut threads: BTreeMap<String, Thread> = BTreeMap::new();
    for (place, run) in runs.all.iter().enumerate() {
        let mut own = vec![0.0; run.profile.threads.len()];
        for sample in run.busy_samples() {
            if let Some(own) = own.get_mut(sample.thread.index() as usize) {
                *own += sample.weight;
            }
        }
        for (name, own) in run.profile.threads.iter().zip(own) {
            let name = run.profile.names.get(*name);
            let name = match renamed.iter().find(|(old, _)| is_of(name, old)) {
                Some((old, new)) if place < runs.base => &name.replacen(old, new, 1),
                _ => name,
            };
            let thread = threads
                .entry(without_numbers(name))
                .or_insert_with(|| Thread {
                    name: name.to_owned(),
                    values: vec![0.0; runs.all.len()],
                });
            if thread.name != name {
                // The common part of several names.
                thread.name = without_numbers(name);
            }
            thread.values[place] += own;
        }
    }
    if threads.values().all(|thread| thread.name.is_empty()) {
        return Ok(Vec::new());
    }
    let mut parts: Vec<(String, Values)> = threads
        .into_values()
        .map(|thread| match thread.name.as_str() {
            "" => (NAMELESS.to_owned(), thread.values),
            _ => (thread.name, thread.values),
        })
        .collect();
    gather_small(&mut parts, runs);
    part_changes(parts, runs, exact)
}

/// A thread of this program: its name, and perhaps a number.
fn is_of(thread: &str, program: &str) -> bool {
    without_numbers(thread) == without_numbers(program)
}

struct Thread {
    name: String,
    values: Values,
}

/// Takes all but the greatest together, so that the parts still add up to the whole.
fn gather_small(parts: &mut Vec<(String, Values)>, runs: &Runs) {
    parts.retain(|(_, values)| values.iter().any(|value| *value > 0.0));
    if parts.len() <= MOST_THREADS {
        return;
    }
    let sum = |values: &Values| values.iter().sum::<f64>();
    parts.sort_by(|a, b| sum(&b.1).total_cmp(&sum(&a.1)));
    let small = parts.split_off(MOST_THREADS);
    let mut values = vec![0.0; runs.all.len()];
    for (_, more) in small {
        for (value, more) in values.iter_mut().zip(more) {
            *value += more;
        }
    }
    parts.push((OTHER_THREADS.to_owned(), values));
}

/// The change of each category. Time in which nothing ran is one, too: all others add up to the
/// whole.
pub(super) fn of_categories(
    runs: &Runs,
    functions: &[Function],
    exact: bool,
) -> Result<Vec<PartChange>, CompareError> {
    let pages = runs.all.iter().flat_map(|run| {
        let names = &run.profile.names;
        run.profile.pages.iter().map(|page| names.get(*page))
    });
    let mut own_sites: Vec<Owner> = pages.filter_map(Owner::site).collect();
    own_sites.sort();
    own_sites.dedup();
    let of_functions: Vec<CostCategory> = functions
        .iter()
        .map(|function| CostCategory::of(function, &own_sites))
        .collect();
    let mut categories: BTreeMap<CostCategory, Values> = BTreeMap::new();
    for (place, run) in runs.all.iter().enumerate() {
        let collects = below_collectors(run, &of_functions);
        for sample in &run.profile.samples {
            let stack = sample.stack.index() as usize;
            let Some(function) = run.function(stack) else {
                continue;
            };
            let category = match of_functions[function] {
                category @ (CostCategory::Idle | CostCategory::Kernel) => category,
                _ if collects[stack] => CostCategory::GarbageCollection,
                category => category.during(sample.event),
            };
            let values = categories.entry(category);
            values.or_insert_with(|| vec![0.0; runs.all.len()])[place] += sample.weight;
        }
    }
    let parts = categories.into_iter();
    let parts = parts.map(|(category, values)| (category.as_str().to_owned(), values));
    part_changes(parts.collect(), runs, exact)
}

/// The certain changes of the program's own functions with all that they call of libraries, the
/// runtime and the kernel, until one of its own is called again. None where calls are counted and
/// there are no stacks.
pub(super) fn of_own_code(
    runs: &Runs,
    functions: &[Function],
    exact: bool,
) -> Result<Vec<PartChange>, CompareError> {
    if runs.all.iter().any(|run| run.calls.is_some()) {
        return Ok(Vec::new());
    }
    let is_own = |function: usize| {
        let function = &functions[function];
        function.owner.is_none() && !function.is_nameless()
    };
    let mut values: BTreeMap<usize, Values> = BTreeMap::new();
    for (place, run) in runs.all.iter().enumerate() {
        let mut nearest: Vec<Option<usize>> = vec![None; run.below.len()];
        // A parent stands before its children.
        for stack in 1..nearest.len() {
            let function = run.function(stack).filter(|function| is_own(*function));
            nearest[stack] = function.or(nearest[run.parent(stack)]);
        }
        for sample in run.busy_samples() {
            if let Some(function) = nearest[sample.stack.index() as usize] {
                let values = values.entry(function);
                values.or_insert_with(|| vec![0.0; runs.all.len()])[place] += sample.weight;
            }
        }
    }
    // As of all functions: there may be a million.
    let least = runs.least(LEAST_SHARE);
    let parts = values.into_iter();
    let parts = parts.filter(|(_, values)| values.iter().sum::<f64>() >= least);
    let parts = parts.map(|(function, values)| (functions[function].name.clone(), values));
    let mut changes = part_changes(parts.collect(), runs, exact)?;
    changes.retain(|change| change.is_certain);
    changes.truncate(MOST_OWN);
    Ok(changes)
}

/// Returns true for each stack with a garbage collector on it: all that the collector calls is its
/// work.
fn below_collectors(run: &Run, categories: &[CostCategory]) -> Vec<bool> {
    let collects = |function| categories[function] == CostCategory::GarbageCollection;
    let mut below = vec![false; run.below.len()];
    // A parent stands before its children.
    for stack in 1..below.len() {
        below[stack] = below[run.parent(stack)] || run.function(stack).is_some_and(collects);
    }
    below
}

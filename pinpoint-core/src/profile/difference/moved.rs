//! What one function gains and others beside it in a stack lose, or the other way round.
//!
//! A function that calls nothing often has no frame of its own, and then a stack that is
//! followed by frame pointers leaves out the function that calls it: the two seem to be
//! called by the same one. So that counts, too, where one of them is on one side only, as a
//! function is that was inlined everywhere.
//!
//! What is left of the two is a change, though, if it is certain and a good part of the whole
//! difference: then the function was inlined, and is slower. Such functions are listed by what is
//! left, or else one that is inlined, and a little faster by that, would come before the one that
//! is slower.
//!
//! A function that is probably renamed is gone under its old name alone, and what it cost is
//! found under the other.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::CompareError;

use super::renamed::{Guess, Neighbours};
use super::{COLLECTOR, FunctionChange, Verdict};

/// The part of a change that may be left when it is only moved.
const LEAST_LEFT: f64 = 0.2;

/// The part that may be left where a function is on one side only, and what it cost is partly
/// found beside it: then both are changes, but not by as much as they moved.
const LEAST_LEFT_OF_ONE_SIDE: f64 = 0.5;

/// Marks certain changes that cancel out between callers and callees. Each function is in one
/// such group at most: the greatest changes look first, and take what fits best. One function
/// is inlined into several, and several into one.
/// `differ_together` says of functions whether what is left of them is a change.
///
/// Gives what is left of functions that exchanged something and are changes, by their indices.
pub(super) fn find(
    changes: &mut [FunctionChange],
    renamed: &[Guess],
    neighbours: &Neighbours,
    differ_together: impl Fn(&[usize]) -> Result<bool, CompareError>,
) -> Result<BTreeMap<usize, f64>, CompareError> {
    let is_renamed = |function: usize| {
        let mut guesses = renamed.iter();
        guesses.any(|guess| guess.base == function || guess.experiment == function)
    };
    let can_move = |at: &usize| {
        let change = &changes[*at];
        change.is_certain() && !is_renamed(change.index) && change.function.name != COLLECTOR
    };
    let mut hubs: Vec<usize> = (0..changes.len()).filter(can_move).collect();
    hubs.sort_by(|a, b| size(changes, *b).total_cmp(&size(changes, *a)));
    let calls = Calls::between(&hubs, changes, neighbours);
    let mut left = BTreeMap::new();
    for &hub in &hubs {
        if !changes[hub].is_certain() {
            continue;
        }
        let Some((group, is_part)) = group(hub, &calls, changes, neighbours) else {
            continue;
        };
        let all = || [hub].into_iter().chain(group.iter().copied());
        let functions: Vec<usize> = all().map(|at| changes[at].index).collect();
        if is_part || differ_together(&functions)? {
            let together: f64 = all().map(|at| changes[at].own.difference).sum();
            for function in functions {
                left.entry(function).or_insert(together);
            }
            continue;
        }
        changes[hub].verdict = Verdict::Moved { with: group[0] };
        for at in group {
            changes[at].verdict = Verdict::Moved { with: hub };
        }
    }
    Ok(left)
}

/// The functions that gained what the hub lost, or the other way round, the greatest first, and
/// whether that is only a part of it. Calls that were seen count before those that may be hidden.
fn group(
    hub: usize,
    calls: &Calls,
    changes: &[FunctionChange],
    neighbours: &Neighbours,
) -> Option<(Vec<usize>, bool)> {
    let best = |beside: [BTreeSet<usize>; 2], most_left: f64| {
        let [above, below] = beside.map(|functions| fitting(hub, functions, changes, most_left));
        let group = if below.is_empty() { above } else { below };
        (!group.is_empty()).then_some(group)
    };
    let seen = calls.beside(hub, changes);
    if let Some(group) = best(seen.clone(), LEAST_LEFT) {
        return Some((group, false));
    }
    if let Some(group) = best(seen.clone(), LEAST_LEFT_OF_ONE_SIDE)
        && (is_of_one_side(&changes[hub]) || group.iter().all(|at| is_of_one_side(&changes[*at])))
    {
        return Some((group, true));
    }
    let hidden = calls.hidden(hub, changes, neighbours);
    let all = seen.map(|functions| &functions | &hidden);
    best(all, LEAST_LEFT).map(|group| (group, false))
}

fn is_of_one_side(change: &FunctionChange) -> bool {
    matches!(change.verdict, Verdict::New | Verdict::Gone)
}

fn size(changes: &[FunctionChange], at: usize) -> f64 {
    changes[at].own.difference.abs()
}

/// Which of the changed functions call each other, by their places among the changes.
struct Calls<'a> {
    all: &'a [usize],
    callers: BTreeMap<usize, Vec<usize>>,
    callees: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Calls<'a> {
    fn between(all: &'a [usize], changes: &[FunctionChange], neighbours: &Neighbours) -> Self {
        let places: BTreeMap<usize, usize> =
            all.iter().map(|at| (changes[*at].index, *at)).collect();
        let mut calls = Self {
            all,
            callers: BTreeMap::new(),
            callees: BTreeMap::new(),
        };
        for &caller in all {
            let callees = neighbours.callees(changes[caller].index);
            for callee in callees.filter_map(|callee| places.get(&callee).copied()) {
                calls.callees.entry(caller).or_default().push(callee);
                calls.callers.entry(callee).or_default().push(caller);
            }
        }
        calls
    }

    /// What changed the other way round: the callers of a function, and what it calls, with what
    /// that calls in turn, as where one is inlined into another that is inlined, too.
    fn beside(&self, hub: usize, changes: &[FunctionChange]) -> [BTreeSet<usize>; 2] {
        let of = |table: &BTreeMap<usize, Vec<usize>>, function: usize| -> Vec<usize> {
            let functions = table.get(&function).into_iter().flatten().copied();
            functions
                .filter(|at| is_opposite(hub, *at, changes))
                .collect()
        };
        let above = of(&self.callers, hub).into_iter().collect();
        let mut below = BTreeSet::new();
        let mut pending = vec![hub];
        while let Some(from) = pending.pop() {
            let callees = of(&self.callees, from).into_iter();
            pending.extend(callees.filter(|callee| below.insert(*callee)));
        }
        [above, below]
    }

    /// What changed the other way round, and may be a caller or a callee of a function.
    fn hidden(
        &self,
        hub: usize,
        changes: &[FunctionChange],
        neighbours: &Neighbours,
    ) -> BTreeSet<usize> {
        let may_hide = |at: &usize| {
            is_opposite(hub, *at, changes)
                && may_hide_caller([&changes[hub], &changes[*at]], neighbours)
        };
        self.all.iter().copied().filter(may_hide).collect()
    }
}

fn is_opposite(hub: usize, at: usize, changes: &[FunctionChange]) -> bool {
    let is_more = |at: usize| changes[at].own.difference > 0.0;
    changes[at].is_certain() && is_more(at) != is_more(hub)
}

/// One of two that seem to be called by the same function may call the other. If both are on one
/// side only, one is perhaps the other's name.
fn may_hide_caller(changes: [&FunctionChange; 2], neighbours: &Neighbours) -> bool {
    let [a, b] = changes.map(is_of_one_side);
    let [first, second] = changes.map(|change| neighbours.caller(change.index));
    a != b && first.is_some() && first == second
}

/// Those that lost what the hub gained, or gained what it lost: the one that fits best, or as
/// many as it takes, the greatest first. `most_left` is the part that may be left.
fn fitting(
    hub: usize,
    beside: BTreeSet<usize>,
    changes: &[FunctionChange],
    most_left: f64,
) -> Vec<usize> {
    let mut beside: Vec<usize> = beside.into_iter().collect();
    beside.sort_by(|a, b| size(changes, *b).total_cmp(&size(changes, *a)));
    let difference = |at: usize| changes[at].own.difference;
    let most_left = most_left * difference(hub).abs();
    let left = |at: usize| (difference(at) + difference(hub)).abs();
    let best = beside
        .iter()
        .copied()
        .min_by(|a, b| left(*a).total_cmp(&left(*b)));
    if let Some(best) = best
        && left(best) <= most_left
    {
        return vec![best];
    }
    let mut open = difference(hub);
    let mut group = Vec::new();
    for at in beside {
        let next = open + difference(at);
        if next.abs() <= most_left || (next > 0.0) == (difference(hub) > 0.0) {
            open = next;
            group.push(at);
        }
    }
    if open.abs() <= most_left {
        group
    } else {
        Vec::new()
    }
}

//! Cost that one function gains and others next to it in a stack lose, or the other way round.
//!
//! A function that calls nothing often has no frame, and then a stack that is followed by frame
//! pointers leaves out the function that calls it: the two seem to be called by the same one. So
//! such pairs count, too, where one of them is on one side only, like a function that was inlined
//! everywhere.
//!
//! And where stacks name no caller at all, as in a program without frame pointers, any pair may
//! count.
//!
//! The remaining difference of the two is a change, though, if it is certain and a good part of the
//! whole difference: then the function was inlined, and is slower. A function of which nothing
//! remains is still marked as moved. The exchanged cost does not count for the place of the other
//! one in the list: a function that is inlined, and a little faster by that, would come before the
//! one that is slower.
//!
//! A function that is probably renamed is gone under its old name only, and its cost is found under
//! the new one.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::CompareError;

use super::explanation::{FunctionChange, Verdict};
use super::renamed::{Guess, Neighbors};
use crate::collector::COLLECTOR;

/// The part of a change that may be left when it is only moved.
const MOST_LEFT: f64 = 0.2;

/// Marks certain changes that cancel out between callers and callees. Each function is in one such
/// group at most: the greatest changes choose first, and take the best fit. One function is inlined
/// into several, and several into one. `differ_together` returns true for functions whose remaining
/// difference is a change.
pub(super) fn find(
    changes: &mut [FunctionChange],
    renamed: &[Guess],
    neighbors: &Neighbors,
    differ_together: impl Fn(&[usize]) -> Result<bool, CompareError>,
) -> Result<(), CompareError> {
    let hubs = can_exchange(changes, renamed);
    let calls = Calls::between(&hubs, changes, neighbors);
    for &hub in &hubs {
        if !changes[hub].is_certain() {
            continue;
        }
        let [above, below] = calls.beside(hub, changes, neighbors).map(|mut beside| {
            beside.sort_by(|a, b| size(changes, *b).total_cmp(&size(changes, *a)));
            fitting(hub, &beside, changes)
        });
        let group = if below.is_empty() { above } else { below };
        let Some(&greatest) = group.first() else {
            continue;
        };
        let functions: Vec<usize> = [hub]
            .iter()
            .chain(&group)
            .map(|at| changes[*at].index)
            .collect();
        if differ_together(&functions)? {
            continue;
        }
        changes[hub].verdict = Verdict::Moved { with: greatest };
        for at in group {
            changes[at].verdict = Verdict::Moved { with: hub };
        }
    }
    Ok(())
}

/// The change of each function without the cost it exchanged with others: a function that is on one
/// side only took over as much as its callers and callees lost, or left to them as much as they
/// gained. Each amount counts once: small functions take of it before great ones, and from the
/// greatest first. Functions that are called more or less often at the same cost took over nothing.
///
/// The groups of [`find`] no longer count as changes. A function of which nothing remains does not
/// either: it is marked as moved to or from the one with which it exchanged most.
pub(super) fn left(
    changes: &mut [FunctionChange],
    renamed: &[Guess],
    neighbors: &Neighbors,
) -> Vec<f64> {
    let mut left: Vec<f64> = changes.iter().map(|it| it.own.difference).collect();
    let mut able = can_exchange(changes, renamed);
    able.retain(|at| {
        let verdict = &changes[*at].verdict;
        !matches!(verdict, Verdict::CalledMoreOften | Verdict::CalledLessOften)
    });
    let calls = Calls::between(&able, changes, neighbors);
    let mut most: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
    let is_on_one_side = |at: &&usize| is_on_one_side(&changes[**at]);
    for &at in able.iter().rev().filter(is_on_one_side) {
        let mut beside: Vec<usize> = [&calls.callers, &calls.callees]
            .into_iter()
            .filter_map(|table| table.get(&at))
            .flatten()
            .copied()
            .collect();
        beside.sort_by(|a, b| left[*b].abs().total_cmp(&left[*a].abs()).then(a.cmp(b)));
        for other in beside {
            if left[at] * left[other] < 0.0 {
                let exchanged = left[at].abs().min(left[other].abs());
                left[at] -= exchanged.copysign(left[at]);
                left[other] -= exchanged.copysign(left[other]);
                for (one, with) in [(at, other), (other, at)] {
                    let most = most.entry(one).or_insert((exchanged, with));
                    if exchanged > most.0 {
                        *most = (exchanged, with);
                    }
                }
            }
        }
    }
    for (at, (_, with)) in most {
        if left[at] == 0.0 {
            changes[at].verdict = Verdict::Moved { with };
        }
    }
    left
}

/// The certain changes that others can have taken over or left, by their places, the greatest
/// first. A renamed function became another, and a collector takes over nothing.
fn can_exchange(changes: &[FunctionChange], renamed: &[Guess]) -> Vec<usize> {
    let is_renamed = |function: usize| {
        let mut guesses = renamed.iter();
        guesses.any(|guess| guess.base == function || guess.experiment == function)
    };
    let is_able = |at: &usize| {
        let change = &changes[*at];
        change.is_certain() && !is_renamed(change.index) && change.function.name != COLLECTOR
    };
    let mut able: Vec<usize> = (0..changes.len()).filter(is_able).collect();
    able.sort_by(|a, b| size(changes, *b).total_cmp(&size(changes, *a)));
    able
}

fn size(changes: &[FunctionChange], at: usize) -> f64 {
    changes[at].own.difference.abs()
}

fn is_on_one_side(change: &FunctionChange) -> bool {
    matches!(change.verdict, Verdict::New | Verdict::Gone)
}

/// The calls between the changed functions, by their places among the changes.
struct Calls<'a> {
    all: &'a [usize],
    callers: BTreeMap<usize, Vec<usize>>,
    callees: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Calls<'a> {
    fn between(all: &'a [usize], changes: &[FunctionChange], neighbors: &Neighbors) -> Self {
        let places: BTreeMap<usize, usize> =
            all.iter().map(|at| (changes[*at].index, *at)).collect();
        let mut calls = Self {
            all,
            callers: BTreeMap::new(),
            callees: BTreeMap::new(),
        };
        for &caller in all {
            let callees = neighbors.callees(changes[caller].index);
            for callee in callees.filter_map(|callee| places.get(&callee).copied()) {
                calls.callees.entry(caller).or_default().push(callee);
                calls.callers.entry(callee).or_default().push(caller);
            }
        }
        calls
    }

    /// The functions that changed the other way: the callers of a function and its callees, with
    /// the callees of these, as where one is inlined into another that is inlined, too.
    fn beside(
        &self,
        hub: usize,
        changes: &[FunctionChange],
        neighbors: &Neighbors,
    ) -> [Vec<usize>; 2] {
        let is_more = |at: usize| changes[at].own.difference > 0.0;
        let is_opposite = |at: &usize| changes[*at].is_certain() && is_more(*at) != is_more(hub);
        let of = |table: &BTreeMap<usize, Vec<usize>>, function: usize| -> Vec<usize> {
            let functions = table.get(&function).into_iter().flatten().copied();
            functions.filter(is_opposite).collect()
        };
        let hidden = self.all.iter().copied().filter(|at| {
            is_opposite(at) && may_hide_caller([&changes[hub], &changes[*at]], neighbors)
        });
        let hidden: BTreeSet<usize> = hidden.collect();
        let (mut above, mut below) = (hidden.clone(), hidden);
        above.extend(of(&self.callers, hub));
        let mut pending = vec![hub];
        while let Some(from) = pending.pop() {
            let callees = of(&self.callees, from).into_iter();
            pending.extend(callees.filter(|callee| below.insert(*callee)));
        }
        [above, below].map(|functions| functions.into_iter().collect())
    }
}

/// One of two that seem to be called by the same function may call the other. If both are on one
/// side only, one is perhaps the other's name. Two without known callers may, if one of them is on
/// one side only. Where calls are counted, no caller is hidden.
fn may_hide_caller(changes: [&FunctionChange; 2], neighbors: &Neighbors) -> bool {
    if changes.iter().any(|change| change.calls.is_some()) {
        return false;
    }
    let [a, b] = changes.map(is_on_one_side);
    let [first, second] = changes.map(|change| neighbors.caller(change.index));
    match (first, second) {
        (None, None) => a || b,
        (first, second) => a != b && first == second,
    }
}

/// Those that lost what the hub gained, or gained what it lost: the best fit, or as many as needed,
/// the greatest first.
fn fitting(hub: usize, beside: &[usize], changes: &[FunctionChange]) -> Vec<usize> {
    let difference = |at: usize| changes[at].own.difference;
    let most_left = MOST_LEFT * difference(hub).abs();
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
    for &at in beside {
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

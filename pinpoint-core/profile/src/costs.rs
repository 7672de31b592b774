//! Costs of functions, their own and with all that they call.

use super::{FrameId, Profile};

/// The cost of each function of a profile, by the function's index.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// The cost in the function itself.
    pub own: Vec<f64>,
    /// The cost in the function and all that it called. A function that calls itself, however far
    /// below, counts once: at the outermost.
    pub total: Vec<f64>,
    /// The number of calls, where they are counted.
    pub calls: Option<Vec<f64>>,
}

impl Costs {
    /// The function's own cost.
    pub fn own_of(&self, frame: FrameId) -> f64 {
        self.own.get(frame.0 as usize).copied().unwrap_or(0.0)
    }

    /// Its cost with all that it called.
    pub fn total_of(&self, frame: FrameId) -> f64 {
        self.total.get(frame.0 as usize).copied().unwrap_or(0.0)
    }
}

impl Profile {
    /// The cost of each function: own costs add up to [`Profile::total`].
    ///
    /// # Cost
    ///
    /// Proportional to the stacks and samples, at any depth.
    pub fn costs(&self) -> Costs {
        let functions: Vec<u32> = (0..self.frames.len() as u32).collect();
        costs(self, &functions, self.frames.len(), &[])
    }
}

/// [`Profile::costs`], with frames taken together: `functions` has the function of each
/// frame, of which there are `count`. Samples in which one of `idle` was on top do not count.
pub(super) fn costs(profile: &Profile, functions: &[u32], count: usize, idle: &[bool]) -> Costs {
    let mut costs = Costs {
        own: vec![0.0; count],
        total: vec![0.0; count],
        calls: None,
    };
    let function = |stack: usize| {
        let frame = profile.stacks.frames.get(stack)?;
        functions
            .get(*frame as usize)
            .map(|function| *function as usize)
    };
    let mut below = vec![0.0; profile.stacks.len()];
    for sample in &profile.samples {
        let stack = sample.stack.0 as usize;
        let function = function(stack);
        if function.is_some_and(|function| idle.get(function).is_some_and(|is_idle| *is_idle)) {
            continue;
        }
        below[stack] += sample.weight;
        if let Some(function) = function {
            costs.own[function] += sample.weight;
        }
    }
    if profile.calls.is_empty() {
        add_up(profile, &mut below);
        outermost(profile, function, |stack, function| {
            costs.total[function] += below[stack];
        });
    } else {
        from_calls(profile, functions, &mut costs);
    }
    costs
}

/// Adds the cost of each stack to its caller's.
pub(super) fn add_up(profile: &Profile, below: &mut [f64]) {
    for stack in (1..profile.stacks.len()).rev() {
        below[profile.stacks.parents[stack] as usize] += below[stack];
    }
}

/// Calls `take` for each stack whose function is not on it a second time, further out.
///
/// The stacks are walked depth first, with a count of the functions that are open: asking
/// each stack's ancestors would take the square of the depth.
pub(super) fn outermost(
    profile: &Profile,
    function: impl Fn(usize) -> Option<usize>,
    mut take: impl FnMut(usize, usize),
) {
    let children = Children::from_profile(profile);
    let mut open: Vec<u32> = Vec::new();
    let mut path = Vec::new();
    let mut next = children.first(0);
    loop {
        if let Some(stack) = next {
            if let Some(function) = function(stack) {
                if open.len() <= function {
                    open.resize(function + 1, 0);
                }
                if open[function] == 0 {
                    take(stack, function);
                }
                open[function] += 1;
            }
            path.push(stack);
            next = children.first(stack);
        } else if let Some(stack) = path.pop() {
            if let Some(function) = function(stack) {
                open[function] -= 1;
            }
            next = children.after(stack);
        } else {
            return;
        }
    }
}

/// The children of each stack, as lists in two tables.
pub(super) struct Children {
    first: Vec<u32>,
    after: Vec<u32>,
}

impl Children {
    pub(super) fn from_profile(profile: &Profile) -> Self {
        let count = profile.stacks.len();
        let (mut first, mut after) = (vec![0; count], vec![0; count]);
        for stack in (1..count).rev() {
            let parent = profile.stacks.parents[stack] as usize;
            after[stack] = first[parent];
            first[parent] = stack as u32;
        }
        Self { first, after }
    }

    pub(super) fn first(&self, stack: usize) -> Option<usize> {
        // The empty stack is not a child.
        Some(self.first[stack] as usize).filter(|stack| *stack != 0)
    }

    pub(super) fn after(&self, stack: usize) -> Option<usize> {
        Some(self.after[stack] as usize).filter(|stack| *stack != 0)
    }
}

/// A function's total is its own cost and that of its calls, but not of those to itself.
/// Functions that call each other in a circle are counted with each other's calls, as
/// callgrind_annotate has it, but never with more than the whole.
fn from_calls(profile: &Profile, functions: &[u32], costs: &mut Costs) {
    let whole: f64 = costs.own.iter().sum();
    let mut calls = vec![0.0; costs.own.len()];
    costs.total.clone_from(&costs.own);
    let function = |frame: FrameId| functions.get(frame.0 as usize).map(|f| *f as usize);
    for call in &profile.calls {
        let (Some(caller), Some(callee)) = (function(call.caller), function(call.callee)) else {
            continue;
        };
        calls[callee] += call.count;
        if caller != callee {
            costs.total[caller] = (costs.total[caller] + call.weight).min(whole);
        }
    }
    costs.calls = Some(calls);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Straight from the definition: each sample counts once for every function on
        /// its stack.
        #[test]
        fn costs_are_what_samples_say(
            samples in proptest::collection::vec(
                (proptest::collection::vec(0..6_u8, 1..12), 1..50_u32), 1..40,
            )
        ) {
            let mut text = String::new();
            for (stack, count) in &samples {
                let names: Vec<_> = stack.iter().map(|name| format!("f{name}")).collect();
                text += &format!("{} {count}\n", names.join(";"));
            }
            let profile = Profile::read(text.as_bytes()).unwrap();
            let costs = profile.costs();
            for index in 0..profile.frames.len() {
                let frame = FrameId(index as u32);
                let name = profile.name(frame);
                let (mut own, mut total) = (0.0, 0.0);
                for (stack, count) in &samples {
                    let names: BTreeSet<_> = stack.iter().map(|name| format!("f{name}")).collect();
                    if names.contains(name) {
                        total += f64::from(*count);
                    }
                    if stack.last().map(|name| format!("f{name}")).as_deref() == Some(name) {
                        own += f64::from(*count);
                    }
                }
                prop_assert_eq!(costs.own_of(frame), own);
                prop_assert_eq!(costs.total_of(frame), total);
            }
        }
    }
}

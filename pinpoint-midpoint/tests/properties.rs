//! Properties of every world: random repositories that roll one another, forwards and backwards,
//! several at once, and sometimes in a circle.

mod world;

use std::collections::BTreeSet;

use pinpoint_core::CombinedCommit;
use proptest::prelude::*;
use world::{World, hash, state, wait, written};

/// The commit of each repository that every commit of one names; `None` if it does not name it.
type Plan = Vec<Vec<Vec<Option<usize>>>>;

const NAMES: [&str; 4] = ["A", "B", "C", "D"];
const COMMITS: usize = 7;

fn plan() -> impl Strategy<Value = Plan> {
    let names = proptest::option::weighted(0.8, 0..COMMITS);
    let commit = proptest::collection::vec(names, NAMES.len());
    let fresh = (commit, 0..3_u8);
    let repository = proptest::collection::vec(fresh, COMMITS).prop_map(|commits| {
        let mut plan: Vec<Vec<Option<usize>>> = Vec::new();
        for (fresh, what) in commits {
            // Most commits roll nothing, some a little, some everything.
            let next = match (what, plan.last()) {
                (0, Some(last)) => last.clone(),
                (1, Some(last)) => {
                    let mut next = last.clone();
                    let at = fresh[0].unwrap_or(0) % NAMES.len();
                    next[at] = fresh[at];
                    next
                }
                _ => fresh,
            };
            plan.push(next);
        }
        plan
    });
    proptest::collection::vec(repository, NAMES.len())
}

/// Repositories name later ones, and with `circles` any other.
fn build(plan: &Plan, circles: bool) -> World {
    let mut world = World::default();
    for (index, commits) in plan.iter().enumerate() {
        let manifests: Vec<String> = commits
            .iter()
            .map(|names| {
                let lines: Vec<String> = names
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other > index || (circles && *other != index))
                    .filter_map(|(other, number)| {
                        let name = NAMES[other];
                        number.map(|number| format!("{name} {name} {}", hash(name, number)))
                    })
                    .collect();
                lines.join("\n")
            })
            .collect();
        let manifests: Vec<&str> = manifests.iter().map(String::as_str).collect();
        world = world.with(NAMES[index], &manifests);
    }
    world
}

fn last() -> CombinedCommit {
    state(&format!("A@{}", COMMITS - 1))
}

/// Opens everything that can be opened, and returns all states in order.
fn everything(
    world: &World,
    lower: &CombinedCommit,
    higher: &CombinedCommit,
) -> Vec<CombinedCommit> {
    let (_, states) = world.between(lower, higher).expect("an answer");
    if states.is_empty() {
        return Vec::new();
    }
    let mut ends = vec![lower.clone()];
    ends.extend(states);
    ends.push(higher.clone());
    let mut all = Vec::new();
    for pair in ends.windows(2) {
        all.extend(everything(world, &pair[0], &pair[1]));
        all.push(pair[1].clone());
    }
    all.pop();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A search for any one state as the first slow one ends there, in steps
    /// that are logarithmic in the ranges plus one for each that was opened.
    #[test]
    fn a_search_ends_with_the_culprit(plan in plan(), circles: bool, at: prop::sample::Index) {
        let world = build(&plan, circles);
        let (first, last) = (state("A@0"), last());
        let mut all = everything(&world, &first, &last);
        let between: BTreeSet<String> = all.iter().map(written).collect();
        prop_assert_eq!(between.len(), all.len(), "every state comes once");
        prop_assert!(!all.contains(&first) && !all.contains(&last));
        all.push(last.clone());
        let culprit = at.index(all.len());
        let is_slow = |state: &CombinedCommit| {
            all.iter().position(|known| known == state).expect("a known state") >= culprit
        };
        let midpoints = world.midpoints();
        let (mut lower, mut higher) = (first, last);
        let (mut steps, mut allowed) = (0, 0);
        let mut opened = true;
        loop {
            if opened {
                let (between, _) = world.between(&lower, &higher).expect("an answer");
                allowed += 1 + u64::BITS - between.count().leading_zeros();
            }
            let middle = wait(midpoints.midpoint(&lower, &higher)).expect("a midpoint");
            if middle == lower {
                break;
            }
            prop_assert_ne!(&middle, &higher);
            steps += 1;
            let depth = middle.modified_deps.len();
            if is_slow(&middle) { higher = middle } else { lower = middle }
            // Something new was opened when no states were left in between.
            let (between, states) = world.between(&lower, &higher).expect("an answer");
            opened = states.iter().any(|state| state.modified_deps.len() > depth)
                || between.count() == 0;
        }
        prop_assert_eq!(written(&higher), written(&all[culprit]));
        prop_assert!(steps <= allowed, "{} steps, {} allowed", steps, allowed);
    }

    /// The states between two states of a range are the part of the range between them.
    #[test]
    fn a_range_is_made_of_its_parts(plan in plan(), circles: bool, pick: prop::sample::Index) {
        let world = build(&plan, circles);
        let mut open = vec![(state("A@0"), last())];
        let mut deepest = 0;
        while let Some((lower, higher)) = open.pop() {
            let (_, states) = world.between(&lower, &higher).expect("an answer");
            if states.is_empty() {
                continue;
            }
            deepest = deepest.max(states[0].modified_deps.len());
            prop_assert!(deepest < 20, "it never ends");
            let at = pick.index(states.len());
            if at > 0 {
                let (_, before) = world.between(&lower, &states[at]).expect("an answer");
                prop_assert_eq!(&before, &states[..at]);
            }
            if at + 1 < states.len() {
                let (_, after) = world.between(&states[at], &higher).expect("an answer");
                prop_assert_eq!(&after, &states[at + 1..]);
            }
            open.push((lower, states[0].clone()));
            open.push((states[at].clone(), states.get(at + 1).unwrap_or(&higher).clone()));
            open.push((states[states.len() - 1].clone(), higher));
        }
    }
}

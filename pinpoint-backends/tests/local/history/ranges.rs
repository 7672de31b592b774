//! Random histories, and long ones.

use proptest::prelude::*;

use super::{Truth, is_ancestor, listed};
use crate::world::{World, git};
use pinpoint_midpoint::History;

/// Parents for a number of commits: mostly one, sometimes two or three, and
/// sometimes none.
fn histories() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let commit = (
        0..12_u8,
        proptest::collection::vec(any::<prop::sample::Index>(), 3),
    );
    proptest::collection::vec(commit, 1..14).prop_map(|commits| {
        let parents = |(index, (shape, chosen)): (usize, (u8, Vec<prop::sample::Index>))| {
            let count = match shape {
                0 => 0,
                1..=7 => 1,
                8..=10 => 2,
                _ => 3,
            };
            let mut parents = Vec::new();
            for parent in chosen.into_iter().take(if index == 0 { 0 } else { count }) {
                // Often one of the newest.
                let parent = index - 1 - parent.index(index.min(4));
                if !parents.contains(&parent) {
                    parents.push(parent);
                }
            }
            parents
        };
        commits.into_iter().enumerate().map(parents).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn random_histories_are_listed_as_git_lists_them(
        parents in histories(),
        indexed in any::<prop::sample::Index>(),
        with_graph in any::<bool>(),
    ) {
        let world = World::new();
        let commits = world.make(&parents);
        if with_graph {
            // Commits made after it are missing from it.
            let last = indexed.index(commits.len());
            for place in last + 1..commits.len() {
                git(&world.repository, &["update-ref", "-d", &format!("refs/made/{}", place + 1)]);
            }
            git(&world.repository, &["update-ref", "refs/heads/main", &commits[last]]);
            git(&world.repository, &["commit-graph", "write", "--reachable"]);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let truth = Truth::new(&world.repository, &commits);
        runtime.block_on(truth.holds_for(&world.history()));
    }
}

/// Long enough for first parents to be extracted, and for ranges to be parts of others.
#[tokio::test]
async fn a_long_history() {
    const COMMITS: usize = 6_000;
    let world = World::new();
    // Every tenth commit merges a branch of two that left four commits earlier.
    let mut parents: Vec<Vec<usize>> = vec![vec![]];
    let mut line = vec![0];
    while parents.len() < COMMITS {
        let next = parents.len();
        let tip = line[line.len() - 1];
        if line.len() % 10 == 0 {
            parents.extend([vec![line[line.len() - 5]], vec![next], vec![tip, next + 1]]);
        } else {
            parents.push(vec![tip]);
        }
        line.push(parents.len() - 1);
    }
    let commits = world.make(&parents);
    git(&world.repository, &["commit-graph", "write", "--reachable"]);
    let history = world.history();
    let last = &commits[commits.len() - 1];
    // On the line, and merged into it.
    for lower in [0, 12, 13, COMMITS / 2 + 1, COMMITS - 6] {
        let lower = &commits[lower];
        let expected = listed(&world.repository, lower, last);
        let count = expected.len() as u64;
        assert_eq!(history.count(lower, last).await.unwrap(), count, "{lower}");
        for offset in [0, count / 3, count - 1] {
            let found = history.nth(lower, last, offset).await.unwrap();
            assert_eq!(found, expected[offset as usize], "{offset} from {lower}");
            // A part of it, to there and from there.
            let parts = [(lower.clone(), found.clone()), (found, last.clone())];
            for (lower, higher) in parts {
                let expected = listed(&world.repository, &lower, &higher);
                assert_eq!(
                    history.count(&lower, &higher).await.unwrap(),
                    expected.len() as u64
                );
                assert_eq!(
                    history.is_ancestor(&lower, &higher).await.unwrap(),
                    is_ancestor(&world.repository, &lower, &higher)
                );
            }
        }
    }
}

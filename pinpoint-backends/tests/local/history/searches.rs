//! Searches of random histories in real repositories: every commit except merges adds its own file,
//! some add none, and commits with the file of one of them are slow.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use pinpoint_backends::local::{LocalRepositories, Repository};
use pinpoint_core::job::Blamed;
use pinpoint_core::{CombinedCommit, Commit};
use pinpoint_midpoint::{History, Midpoints};
use proptest::prelude::*;

use crate::world::{World, git};

/// The parents of each commit, and true if it adds a file.
type GeneratedHistory = Vec<(Vec<usize>, bool)>;

fn histories() -> impl Strategy<Value = GeneratedHistory> {
    let commit = (
        0..12_u8,
        proptest::collection::vec(any::<prop::sample::Index>(), 3),
    );
    proptest::collection::vec(commit, 6..16).prop_map(|commits| {
        let parents = |(index, (shape, chosen)): (usize, (u8, Vec<prop::sample::Index>))| {
            let count = match shape {
                _ if index == 0 => 0,
                0 => 0,
                1..=5 => 1,
                6..=10 => 2,
                _ => 3,
            };
            let mut parents = Vec::new();
            for parent in chosen.into_iter().take(count) {
                let parent = index - 1 - parent.index(index.min(5));
                if !parents.contains(&parent) {
                    parents.push(parent);
                }
            }
            let adds = parents.len() < 2 && shape != 5;
            (parents, adds)
        };
        commits.into_iter().enumerate().map(parents).collect()
    })
}

/// The commits that each includes, with itself.
fn included(made: &GeneratedHistory) -> Vec<BTreeSet<usize>> {
    let mut included: Vec<BTreeSet<usize>> = Vec::new();
    for (index, (parents, _)) in made.iter().enumerate() {
        let mut all: BTreeSet<usize> = parents
            .iter()
            .flat_map(|it| included[*it].clone())
            .collect();
        all.insert(index);
        included.push(all);
    }
    included
}

fn make(world: &World, made: &GeneratedHistory) -> Vec<String> {
    let included = included(made);
    let mut stream = String::new();
    for (index, (parents, _)) in made.iter().enumerate() {
        let date = 1_700_000_000 + index;
        writeln!(stream, "commit refs/made/{index}\nmark :{}", index + 1).unwrap();
        writeln!(stream, "committer Ada <ada@example.org> {date} +0100").unwrap();
        writeln!(stream, "data <<END\nChange {index}\nEND").unwrap();
        for (place, parent) in parents.iter().enumerate() {
            let relation = if place == 0 { "from" } else { "merge" };
            writeln!(stream, "{relation} :{}", parent + 1).unwrap();
        }
        stream.push_str("deleteall\n");
        for file in included[index].iter().filter(|commit| made[**commit].1) {
            writeln!(stream, "M 644 inline file{file}\ndata <<END\n{file}\nEND").unwrap();
        }
        stream.push('\n');
    }
    world.import(&stream);
    let hash = |index| {
        git(
            &world.repository,
            &["rev-parse", &format!("refs/made/{index}")],
        )
    };
    let hashes: Vec<String> = (0..made.len()).map(hash).collect();
    git(
        &world.repository,
        &["update-ref", "refs/heads/main", &hashes[0]],
    );
    hashes
}

struct Search {
    world: World,
    midpoints: Midpoints,
    slow: usize,
}

impl Search {
    async fn is_slow(&self, state: &CombinedCommit) -> bool {
        let Commit {
            git_hash, merged, ..
        } = &state.main;
        let name = format!("file{}", self.slow);
        let history = self.world.history();
        let file = history.file(git_hash, merged, &name, 1_000).await;
        file.unwrap().is_some()
    }

    async fn run(&self, mut lower: CombinedCommit, mut higher: CombinedCommit) -> Blamed {
        let good = self.is_slow(&lower).await;
        loop {
            let middle = self.midpoints.midpoint(&lower, &higher).await.unwrap();
            if middle == lower {
                return self.midpoints.blamed(&lower, &higher).await.unwrap();
            }
            match self.is_slow(&middle).await == good {
                true => lower = middle,
                false => higher = middle,
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn the_slow_commit_of_a_random_history_is_named(
        made in histories(),
        ends in proptest::collection::vec(any::<[prop::sample::Index; 3]>(), 12),
    ) {
        let included = included(&made);
        let ranges = ends.iter().filter_map(|[good, bad, slow]| {
            let (good, bad) = (good.index(made.len()), bad.index(made.len()));
            let shared = included[good].intersection(&included[bad]).count();
            let differ = included[good].symmetric_difference(&included[bad]);
            let differ: Vec<usize> = differ.copied().filter(|commit| made[*commit].1).collect();
            let is_range = shared > 0 && !included[good].contains(&bad) && !differ.is_empty();
            is_range.then(|| (good, bad, differ[slow.index(differ.len())]))
        });
        let ranges: Vec<_> = ranges.take(3).collect();
        if ranges.is_empty() {
            return Ok(());
        }
        let world = World::new();
        let commits = make(&world, &made);
        let main = Repository::discover(&world.repository).unwrap();
        let name = world.repository.to_str().unwrap().to_owned();
        let repositories = LocalRepositories::new(main, [], &world.path("state"));
        let mut search = Search {
            midpoints: Midpoints::new(Arc::new(repositories)),
            world,
            slow: 0,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (good, bad, slow) in ranges {
            search.slow = slow;
            let state = |commit: usize| Commit::new(&*name, &*commits[commit]).into();
            let blamed = runtime.block_on(search.run(state(good), state(bad)));
            prop_assert_eq!(
                (&*blamed.commit.git_hash, blamed.undone, blamed.alternatives),
                (&*commits[slow], included[good].contains(&slow), vec![]),
                "{}..{}, {}", good, bad, slow
            );
        }
    }
}

//! Searches of random histories of every shape, without noise: branches that merge, update and
//! cross one another, octopuses, reverse merges, imported roots, release branches, commits that
//! change nothing, and merges that conflict.
//!
//! A commit's content is the set of commits that it includes. One of them is slow, and every state
//! that includes it. The search has to name it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use pinpoint_core::job::Blamed;
use pinpoint_core::{CombinedCommit, Commit};
use pinpoint_midpoint::{History, HistoryError, MidpointError, Midpoints, Repositories};

/// A repository whose commits are numbers; parents come before their children.
#[derive(Debug, Clone, Default)]
struct Graph {
    parents: Vec<Vec<usize>>,
    /// The commits that each commit includes, with itself, as a set of bits.
    includes: Vec<u64>,
    /// Commits that themselves change something.
    changes: u64,
    /// Pairs of commits that conflict unless a commit that includes both is present.
    conflicts: Vec<(usize, usize)>,
}

fn hash(number: usize) -> String {
    format!("{number:040x}")
}

fn number(hash: &str) -> usize {
    usize::from_str_radix(hash, 16).expect("a number")
}

impl Graph {
    fn add(&mut self, parents: &[usize], changes: bool) -> usize {
        let number = self.parents.len();
        assert!(number < 64);
        let includes = parents.iter().map(|parent| self.includes[*parent]);
        let includes = includes.fold(1 << number, |all, some| all | some);
        self.parents.push(parents.to_vec());
        self.includes.push(includes);
        if changes {
            self.changes |= 1 << number;
        }
        number
    }

    fn has(&self, commit: usize, included: usize) -> bool {
        self.includes[commit] >> included & 1 == 1
    }

    /// Makes two commits conflict; a commit that joins them resolves that, which is a separate
    /// change.
    fn conflict(&mut self, one: usize, other: usize) {
        if self.has(one, other) || self.has(other, one) {
            return;
        }
        self.changes |= 1 << one | 1 << other;
        self.conflicts.push((one, other));
        for commit in 0..self.parents.len() {
            let both = |of: usize| self.has(of, one) && self.has(of, other);
            if both(commit) && !self.parents[commit].iter().any(|parent| both(*parent)) {
                self.changes |= 1 << commit;
            }
        }
    }

    fn conflicts_in(&self, includes: u64) -> bool {
        let is_in = |commit: usize| includes >> commit & 1 == 1;
        (self.conflicts.iter()).any(|&(one, other)| {
            is_in(one)
                && is_in(other)
                && !(0..self.parents.len())
                    .any(|by| is_in(by) && self.has(by, one) && self.has(by, other))
        })
    }

    /// The commits that a state includes; absent when it conflicts.
    fn merged(&self, commit: usize, merged: &[String]) -> Option<u64> {
        let mut includes = self.includes[commit];
        for merged in merged {
            includes |= self.includes[number(merged)];
            if self.conflicts_in(includes) {
                return None;
            }
        }
        Some(includes)
    }

    /// The line of first parents, newest first, without the history of `lower`.
    fn line(&self, lower: usize, higher: usize) -> Vec<usize> {
        let mut line = Vec::new();
        let mut next = Some(higher);
        while let Some(commit) = next.filter(|commit| !self.has(lower, *commit)) {
            line.push(commit);
            next = self.parents[commit].first().copied();
        }
        line
    }
}

#[async_trait]
impl History for Graph {
    async fn resolve(&self, name: &str) -> Result<String, HistoryError> {
        Ok(name.to_owned())
    }

    async fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool, HistoryError> {
        Ok(self.has(number(descendant), number(ancestor)))
    }

    async fn count(&self, lower: &str, higher: &str) -> Result<u64, HistoryError> {
        Ok(self.line(number(lower), number(higher)).len() as u64)
    }

    async fn nth(&self, lower: &str, higher: &str, offset: u64) -> Result<String, HistoryError> {
        let line = self.line(number(lower), number(higher));
        let place = line.len().checked_sub(offset as usize + 1);
        match place {
            Some(place) => Ok(hash(line[place])),
            None => Err(HistoryError::NoSuchOffset {
                lower: lower.into(),
                higher: higher.into(),
                offset,
                count: line.len() as u64,
            }),
        }
    }

    async fn parents(&self, commit: &str) -> Result<Vec<String>, HistoryError> {
        Ok(self.parents[number(commit)]
            .iter()
            .copied()
            .map(hash)
            .collect())
    }

    async fn file(
        &self,
        _: &str,
        _: &[String],
        _: &str,
        _: usize,
    ) -> Result<Option<Vec<u8>>, HistoryError> {
        Ok(None)
    }

    async fn gitlinks(
        &self,
        _: &str,
        _: &[String],
        _: &[String],
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        Ok(BTreeMap::new())
    }

    async fn merged_tree(
        &self,
        commit: &str,
        merged: &[String],
    ) -> Result<Option<String>, HistoryError> {
        let includes = self.merged(number(commit), merged);
        Ok(includes.map(|includes| format!("{:x}", includes & self.changes)))
    }

    async fn merge_bases(&self, one: &str, other: &str) -> Result<Vec<String>, HistoryError> {
        let common = self.includes[number(one)] & self.includes[number(other)];
        let is_in = |commit: &usize| common >> commit & 1 == 1;
        let best = |commit: &usize| {
            (0..self.parents.len())
                .filter(is_in)
                .all(|other| other == *commit || !self.has(other, *commit))
        };
        let all = (0..self.parents.len()).rev().filter(is_in);
        Ok(all.filter(best).map(hash).collect())
    }
}

struct OneRepository(Arc<Graph>);

#[async_trait]
impl Repositories for OneRepository {
    async fn open(&self, _: &str) -> Result<Arc<dyn History>, HistoryError> {
        Ok(Arc::clone(&self.0) as Arc<dyn History>)
    }
}

/// Numbers from a seed: xorshift.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn below(&mut self, most: usize) -> usize {
        self.next() as usize % most
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// Typical team work: a main branch and others, which are merged in every way.
fn of_branches(random: &mut Random, commits: usize) -> Graph {
    let mut graph = Graph::default();
    let mut tips = vec![graph.add(&[], true)];
    while graph.parents.len() < commits {
        let branch = random.below(tips.len());
        let other = random.below(tips.len());
        let (tip, merged) = (tips[branch], tips[other]);
        match random.below(16) {
            // A branch leaves; rarely it starts anew.
            0 if tips.len() < 5 => tips.push(graph.add(&[], true)),
            1 | 2 if tips.len() < 5 => {
                let from = random.below(graph.parents.len());
                let changes = !random.one_in(4);
                tips.push(graph.add(&[from], changes));
            }
            // A merge: of a branch into main, of main into a branch, of any into any.
            3..=6 if !graph.has(tip, merged) => {
                let changes = random.one_in(8);
                tips[branch] = graph.add(&[tip, merged], changes);
                // Both continue from there, as after a fast-forward.
                if random.one_in(3) {
                    tips[other] = tips[branch];
                }
            }
            // Two merges that cross.
            7 if !graph.has(tip, merged) && !graph.has(merged, tip) => {
                tips[branch] = graph.add(&[tip, merged], false);
                tips[other] = graph.add(&[merged, tip], false);
            }
            // An octopus.
            8 => {
                let mut parents = vec![tip];
                for tip in tips.clone() {
                    if !parents.iter().any(|parent| graph.has(*parent, tip)) {
                        parents.push(tip);
                    }
                }
                let changes = random.one_in(8);
                tips[branch] = graph.add(&parents, changes);
            }
            _ => {
                let changes = !random.one_in(4);
                tips[branch] = graph.add(&[tip], changes);
            }
        }
    }
    // Usually, everything is merged in the end.
    if !random.one_in(4) {
        let mut parents: Vec<usize> = Vec::new();
        for tip in tips {
            if !parents.iter().any(|parent| graph.has(*parent, tip)) {
                parents.push(tip);
            }
        }
        graph.add(&parents, false);
    }
    graph
}

/// A graph of any shape.
fn of_any_shape(random: &mut Random, commits: usize) -> Graph {
    let mut graph = Graph::default();
    for number in 0..commits {
        let count = match random.below(12) {
            _ if number == 0 => 0,
            0 => 0,
            1..=6 => 1,
            7..=10 => 2,
            _ => 4,
        };
        let mut parents = Vec::new();
        for _ in 0..count {
            let parent = number - 1 - random.below(number.min(6));
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        let changes = if count < 2 {
            !random.one_in(4)
        } else {
            random.one_in(6)
        };
        graph.add(&parents, changes);
    }
    graph
}

fn history(seed: u64) -> (Graph, Random) {
    let mut random = Random::new(seed);
    let commits = 6 + random.below(34);
    let graph = match seed % 3 {
        0 => of_any_shape(&mut random, commits),
        _ => of_branches(&mut random, commits),
    };
    (graph, random)
}

fn state(commit: usize) -> CombinedCommit {
    Commit::new("repository", hash(commit)).into()
}

struct Search<'a> {
    graph: &'a Graph,
    midpoints: Midpoints,
    slow: usize,
    steps: u64,
}

impl Search<'_> {
    fn is_slow(&self, state: &CombinedCommit) -> bool {
        let state = &state.main;
        let includes = self.graph.merged(number(&state.git_hash), &state.merged);
        includes.expect("a state that merges") >> self.slow & 1 == 1
    }

    /// Bisects, and finds the commit to blame.
    async fn run(
        &mut self,
        mut lower: CombinedCommit,
        mut higher: CombinedCommit,
        choose: &mut Random,
    ) -> Result<Blamed, MidpointError> {
        let good = self.is_slow(&lower);
        loop {
            let between = self.midpoints.between(&lower, &higher).await?;
            if between.count() == 0 {
                return self.midpoints.blamed(&lower, &higher).await;
            }
            self.steps += 1;
            assert!(self.steps < 200, "it never ends");
            // Not only the middle: a search measures anywhere.
            let offset = match choose.one_in(2) {
                true => (between.count() - 1) / 2,
                false => choose.below(between.count() as usize) as u64,
            };
            let state = self.midpoints.nth(&between, offset).await?;
            assert!(state != lower && state != higher);
            match self.is_slow(&state) == good {
                true => lower = state,
                false => higher = state,
            }
        }
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// The end of a search of a range with one slow commit.
#[derive(Debug, PartialEq)]
enum Ended {
    Named,
    /// It is among those that can't be told apart.
    Among,
    Wrong(Blamed),
}

fn search(graph: &Graph, good: usize, bad: usize, slow: usize, random: &mut Random) -> Ended {
    let mut search = Search {
        graph,
        midpoints: Midpoints::new(Arc::new(OneRepository(Arc::new(graph.clone())))),
        slow,
        steps: 0,
    };
    let blamed = wait(search.run(state(good), state(bad), random)).expect("an answer");
    let is_undone = graph.has(good, slow);
    let alternatives: Vec<usize> = (blamed.alternatives.iter())
        .map(|commit| number(&commit.git_hash))
        .collect();
    if blamed.undone != is_undone {
        Ended::Wrong(blamed)
    } else if number(&blamed.commit.git_hash) == slow && alternatives.is_empty() {
        Ended::Named
    } else if number(&blamed.commit.git_hash) == slow || alternatives.contains(&slow) {
        Ended::Among
    } else {
        Ended::Wrong(blamed)
    }
}

/// Every pair of ends of which one is part of the other's history, or of which neither is, and
/// every slow commit that only one of them has: a few of each.
fn ranges(graph: &Graph, random: &mut Random, apart: bool) -> Vec<(usize, usize, usize)> {
    let mut ranges = Vec::new();
    for _ in 0..200 {
        let (good, bad) = (
            random.below(graph.parents.len()),
            random.below(graph.parents.len()),
        );
        let is_apart = !graph.has(bad, good) && !graph.has(good, bad);
        let shared = graph.includes[good] & graph.includes[bad];
        if (apart && !is_apart) || (!apart && (good == bad || !graph.has(bad, good))) || shared == 0
        {
            continue;
        }
        let differ = (graph.includes[good] ^ graph.includes[bad]) & graph.changes;
        let slow: Vec<usize> = (0..graph.parents.len())
            .filter(|commit| differ >> commit & 1 == 1)
            .collect();
        if !slow.is_empty() {
            ranges.push((good, bad, slow[random.below(slow.len())]));
        }
        if ranges.len() == 4 {
            break;
        }
    }
    ranges
}

fn check(histories: std::ops::Range<u64>, apart: bool, conflicts: bool) -> [usize; 2] {
    let (mut named, mut among) = (0, 0);
    let mut wrong = BTreeSet::new();
    for seed in histories {
        let (mut graph, mut random) = history(seed);
        if conflicts {
            for _ in 0..3 {
                let one = random.below(graph.parents.len());
                let other = random.below(graph.parents.len());
                graph.conflict(one, other);
            }
        }
        for (good, bad, slow) in ranges(&graph, &mut random, apart) {
            match search(&graph, good, bad, slow, &mut random) {
                Ended::Named => named += 1,
                Ended::Among if conflicts => among += 1,
                Ended::Among => drop(wrong.insert(format!("{seed}: {good}..{bad}, {slow}: among"))),
                Ended::Wrong(blamed) => drop(wrong.insert(format!(
                    "{seed}: {good}..{bad}, slow {slow}, blamed {} (undone: {})",
                    number(&blamed.commit.git_hash),
                    blamed.undone,
                ))),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    [named, among]
}

#[test]
fn the_slow_commit_of_a_history_of_any_shape_is_named() {
    let [named, _] = check(0..500, false, false);
    assert!(named > 1_500, "{named}");
}

#[test]
fn the_slow_commit_is_named_where_the_histories_of_the_ends_parted() {
    let [named, _] = check(0..500, true, false);
    assert!(named > 1_000, "{named}");
}

#[test]
fn where_merges_conflict_it_is_among_those_that_cannot_be_told_apart() {
    for apart in [false, true] {
        let [named, among] = check(0..500, apart, true);
        assert!(among < named, "{named}, {among}");
    }
}

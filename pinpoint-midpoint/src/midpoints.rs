//! Finding the states between two commits.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use pinpoint_core::job::Blamed;
use pinpoint_core::{CombinedCommit, Commit, DependencyChange, Followed};

use crate::held::DependencyTree;
use crate::line::{self, Blame, Line, Relation};
use crate::manifest::{self, Manifest};
use crate::rolls::{ComparedRepository, Roll};
use crate::sources::Sources;
use crate::{History, HistoryError, MidpointError, Repositories};

/// The number of pairs of commits whose states in between are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// Finds the states between two commits, over given repositories.
///
/// Clones share a bounded cache: the manifests of the last 256 revisions, and the states between
/// the last 256 pairs.
#[derive(Clone)]
pub struct Midpoints {
    sources: Arc<Sources>,
    pairs: Arc<Mutex<Pairs>>,
}

type Pairs = LruCache<(CombinedCommit, CombinedCommit), Arc<Between>>;

/// The states strictly between two commits, oldest first.
///
/// It has the number of states, and names each on demand; plain commits of a line of history are
/// not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Between {
    lower: CombinedCommit,
    higher: CombinedCommit,
    parts: Vec<Part>,
    changes: Vec<DependencyChange>,
    merge_base: Option<u64>,
}

/// States that follow one another.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// One repository moves along a line of its history.
    Line {
        /// The tree in which it moves.
        tree: DependencyTree,
        /// The path to it from the main repository, which is left out.
        way: Vec<String>,
        line: Line,
    },
    /// One state.
    State(DependencyTree),
}

impl Part {
    fn count(&self) -> u64 {
        match self {
            Self::Line { line, .. } => line.count(),
            Self::State(_) => 1,
        }
    }
}

impl Between {
    /// The older end.
    pub fn lower(&self) -> &CombinedCommit {
        &self.lower
    }

    /// The newer end.
    pub fn higher(&self) -> &CombinedCommit {
        &self.higher
    }

    /// The number of states strictly between the ends.
    pub fn count(&self) -> u64 {
        self.parts.iter().map(Part::count).sum()
    }

    /// The dependencies that the ends hold at different revisions, by path, then repository; empty
    /// while commits of the main repository are between them.
    pub fn changes(&self) -> &[DependencyChange] {
        &self.changes
    }

    /// The offset of the state from which the histories of the ends parted, where neither is
    /// part of the other's. The states before it go back from the lower end, those after it
    /// lead to the higher end.
    pub fn merge_base(&self) -> Option<u64> {
        self.merge_base
    }
}

impl Midpoints {
    /// Finds midpoints in these repositories, with every known kind of manifest.
    pub fn new(repositories: Arc<dyn Repositories>) -> Self {
        Self::with_manifests(repositories, &manifest::all())
    }

    /// Finds midpoints in these repositories, with these kinds of manifest.
    pub fn with_manifests(
        repositories: Arc<dyn Repositories>,
        readers: &[&'static dyn Manifest],
    ) -> Self {
        Self {
            sources: Arc::new(Sources::new(repositories, readers)),
            pairs: Arc::new(Mutex::new(LruCache::new(REMEMBERED))),
        }
    }

    /// The commit in the middle between two; of two middle ones the older. The lower one itself if
    /// there is no middle, so that the higher is to blame for all differences.
    ///
    /// # Errors
    ///
    /// As [`between`](Self::between).
    pub async fn midpoint(
        &self,
        lower: &CombinedCommit,
        higher: &CombinedCommit,
    ) -> Result<CombinedCommit, MidpointError> {
        let between = self.between(lower, higher).await?;
        match between.count().checked_sub(1) {
            None => Ok(lower.clone()),
            Some(last) => self.nth(&between, last / 2).await,
        }
    }

    /// The states strictly between two commits.
    ///
    /// The coarsest answer that is not empty: first the main repository's line of history; between
    /// neighbors on it the branches that were merged; then the dependencies that rolled, one after
    /// the other by path and URL, each along its own line; between neighbors there, the same inside
    /// the dependency.
    ///
    /// Cost: a few calls to the repositories, for ranges of any length; opening a merge takes a
    /// trial merge for each commit of its branch.
    ///
    /// # Errors
    ///
    /// One error for each reason why no range exists: see [`MidpointError`].
    pub async fn between(
        &self,
        lower: &CombinedCommit,
        higher: &CombinedCommit,
    ) -> Result<Arc<Between>, MidpointError> {
        let pair = (lower.clone(), higher.clone());
        if let Some(known) = self.pairs().get(&pair) {
            return Ok(Arc::clone(known));
        }
        let between = Arc::new(self.look(lower, higher).await?);
        self.pairs().put(pair, Arc::clone(&between));
        Ok(between)
    }

    /// The state at an offset, 0 being the oldest.
    ///
    /// # Errors
    ///
    /// [`MidpointError::NoSuchOffset`] at the count and beyond.
    pub async fn nth(
        &self,
        between: &Between,
        offset: u64,
    ) -> Result<CombinedCommit, MidpointError> {
        let mut rest = offset;
        for part in &between.parts {
            if rest >= part.count() {
                rest -= part.count();
                continue;
            }
            return match part {
                Part::State(tree) => Ok(tree.clone().flatten(&between.lower)),
                Part::Line { tree, way, line } => {
                    let mut tree = tree.clone();
                    if let Some(moving) = tree.at_mut(way) {
                        let repository = &moving.commit.repository;
                        let history = self.sources.open(repository).await?;
                        let commit = line.nth(&*history, repository, rest).await?;
                        if let Some(commit) = commit {
                            *moving = DependencyTree::alone(commit);
                        }
                    }
                    Ok(tree.flatten(&between.lower))
                }
            };
        }
        Err(MidpointError::NoSuchOffset {
            offset,
            count: between.count(),
        })
    }

    /// The commit that made the difference between a state and the one directly before it: see
    /// [`CombinedCommit::moved_since`]; by its own hash.
    ///
    /// A merge is not to blame for the changes of the commits that it merged, or that the state
    /// before has, too. Where the later state lacks a commit of the earlier one, it is the lost
    /// commit.
    ///
    /// # Errors
    ///
    /// When a repository can't be read.
    pub async fn blamed(
        &self,
        prior: &CombinedCommit,
        culprit: &CombinedCommit,
    ) -> Result<Blamed, MidpointError> {
        let moved = culprit.moved_since(prior);
        let (mut commits, undone) = match self.before(prior, culprit, moved).await? {
            Some(before) => {
                let history = self.sources.open(&moved.repository).await?;
                match line::blame(&*history, &before, moved).await? {
                    Blame::Added(commits) => (commits, false),
                    Blame::Undone(commits) => (commits, true),
                    Blame::Apart => (Vec::new(), false),
                }
            }
            None => (Vec::new(), false),
        };
        let named = |hash: &str| Commit::new(&*moved.repository, hash);
        let Some(last) = commits.pop() else {
            return Ok(Blamed::one(named(moved.newest())));
        };
        Ok(Blamed {
            commit: named(&last),
            undone,
            alternatives: commits.iter().map(|hash| named(hash)).collect(),
        })
    }

    /// The revision that a state has in the place of another state's commit; `None` where it has no
    /// such repository.
    async fn before(
        &self,
        prior: &CombinedCommit,
        culprit: &CombinedCommit,
        moved: &Commit,
    ) -> Result<Option<Commit>, MidpointError> {
        let mut held = prior.modified_deps.iter();
        if let Some(held) = held.rfind(|held| held.commit.repository == moved.repository) {
            return Ok(Some(held.commit.clone()));
        }
        if *moved == culprit.main {
            return Ok(Some(prior.main.clone()));
        }
        // It is held where a manifest names it.
        let between = self.between(prior, culprit).await?;
        let roll = between.changes.iter().find(|change| {
            change.repository == moved.repository && !matches!(change.followed, Followed::No { .. })
        });
        let mut hashes = roll
            .and_then(|roll| roll.before.as_deref())
            .into_iter()
            .flat_map(|revision| revision.split('+'))
            .map(str::to_owned);
        Ok(hashes.next().map(|hash| Commit {
            merged: hashes.collect(),
            ..Commit::new(&*moved.repository, hash)
        }))
    }

    /// Rejects ends of which the higher is part of the lower one's history: the states between them
    /// would go back in time.
    ///
    /// # Errors
    ///
    /// [`MidpointError::Reversed`], or when a repository can't be read.
    pub async fn check_order(
        &self,
        lower: &CombinedCommit,
        higher: &CombinedCommit,
    ) -> Result<(), MidpointError> {
        let (older, newer) = (&lower.main, &higher.main);
        if older.repository != newer.repository || older.git_hash == newer.git_hash {
            return Ok(());
        }
        let history = self.sources.open(&older.repository).await?;
        if history
            .is_ancestor(&newer.git_hash, &older.git_hash)
            .await?
        {
            return Err(MidpointError::Reversed {
                lower: older.revision(),
                higher: newer.revision(),
            });
        }
        Ok(())
    }

    /// Holds a dependency of the commit at another revision. The repository that names it is found
    /// in the manifests: those of the main repository first, then those of the dependencies held,
    /// the last one first.
    ///
    /// # Arguments
    ///
    /// `dependency` is its URL, or its path in the manifest; `revision` is any name for
    /// [`History::resolve`](crate::History::resolve).
    ///
    /// # Errors
    ///
    /// [`MidpointError::NotNamed`] when no manifest names it.
    pub async fn hold(
        &self,
        state: &CombinedCommit,
        dependency: &str,
        revision: &str,
    ) -> Result<CombinedCommit, MidpointError> {
        let mut tree = DependencyTree::from_combined(state)?;
        // The main repository first, then the last one held.
        let mut ways = self.ways(state, &mut tree).await?;
        ways[1..].reverse();
        for (way, manifests) in ways {
            let Some(namer) = tree.at_mut(&way) else {
                continue;
            };
            let found = self.sources.find(&namer.commit, &manifests, dependency);
            let Some(named) = found.await? else {
                continue;
            };
            let history = self.sources.open(&named.repository).await?;
            let hash = history.resolve(revision).await?;
            let repository = self.name_held(namer, named.repository).await?;
            namer.hold(DependencyTree::alone(Commit::new(repository, hash)));
            return Ok(tree.flatten(state));
        }
        Err(MidpointError::NotNamed {
            dependency: dependency.to_owned(),
            repository: state.main.repository.clone(),
            revision: state.main.revision(),
        })
    }

    /// The paths to all dependencies of a state, in its order, with their effective manifests.
    async fn ways(
        &self,
        state: &CombinedCommit,
        tree: &mut DependencyTree,
    ) -> Result<Vec<(Vec<String>, Vec<String>)>, MidpointError> {
        let mut ways = vec![(Vec::new(), self.sources.every_manifest())];
        // The length of each path follows from the list before it.
        for held in &state.modified_deps {
            let found = ways.iter().rfind(|(way, _): &&(Vec<String>, Vec<String>)| {
                way.last().unwrap_or(&state.main.repository) == &held.named_by
            });
            if let Some((way, manifests)) = found.cloned()
                && let Some(namer) = tree.at_mut(&way)
                && let Some(named) = self
                    .sources
                    .find(&namer.commit, &manifests, &held.commit.repository)
                    .await?
            {
                let mut way = way;
                way.push(held.commit.repository.clone());
                ways.push((way, named.nested));
            }
        }
        Ok(ways)
    }

    /// The existing name of a held repository, if it has one, even by another URL.
    async fn name_held(
        &self,
        namer: &DependencyTree,
        repository: String,
    ) -> Result<String, HistoryError> {
        let held = namer.below.iter().map(|held| &held.commit.repository);
        let names = held.clone().cloned().chain([repository.clone()]).collect();
        let identities = self.sources.identities(names).await?;
        let same = |held: &&String| identities.get(*held) == identities.get(&repository);
        Ok({ held }.find(same).cloned().unwrap_or(repository))
    }

    async fn look(
        &self,
        lower: &CombinedCommit,
        higher: &CombinedCommit,
    ) -> Result<Between, MidpointError> {
        if lower == higher {
            return Err(MidpointError::SameCommit(lower.main.revision()));
        }
        if lower.main.repository != higher.main.repository {
            return Err(MidpointError::DifferentRepositories {
                lower: lower.main.repository.clone(),
                higher: higher.main.repository.clone(),
            });
        }
        if lower.patch != higher.patch {
            return Err(MidpointError::DifferentPatches);
        }
        let mut tree = DependencyTree::from_combined(lower)?;
        let higher_tree = DependencyTree::from_combined(higher)?;
        let mut between = Between {
            lower: lower.clone(),
            higher: higher.clone(),
            parts: Vec::new(),
            changes: Vec::new(),
            merge_base: None,
        };
        if tree.commit != higher_tree.commit {
            (between.parts, between.merge_base) = self.main_line(&tree, &higher_tree).await?;
            if between.count() > 0 {
                return Ok(between);
            }
        }
        let mut place = ComparedRepository::main(&self.sources, tree.clone(), higher_tree).await?;
        // Each turn is one dependency deeper, and no dependency comes twice.
        loop {
            let rolls = place.rolls(&self.sources).await?;
            between.parts = one_after_the_other(&tree, &place, &rolls.followed);
            between.changes = rolls.changes;
            if between.count() > 0 || !place.is_at_one_revision() {
                return Ok(between);
            }
            let Ok([roll]) = <[Roll; 1]>::try_from(rolls.followed) else {
                return Ok(between);
            };
            // A named dependency is held explicitly once something below it is.
            if let Some(namer) = tree.at_mut(&place.way[1..]) {
                namer.hold(roll.place.lower.clone());
            }
            place = roll.place;
        }
    }

    /// The commits of the main repository strictly between two trees, and the offset of their
    /// merge base if it is among them.
    async fn main_line(
        &self,
        lower: &DependencyTree,
        higher: &DependencyTree,
    ) -> Result<(Vec<Part>, Option<u64>), MidpointError> {
        let (older, newer) = (&lower.commit, &higher.commit);
        let history = self.sources.open(&older.repository).await?;
        let part = |from: &Commit, line| Part::Line {
            tree: DependencyTree::alone(from.clone()),
            way: Vec::new(),
            line,
        };
        let (mut parts, merge_base) = match line::between(&*history, older, newer).await? {
            Relation::Forward(line) | Relation::Backward(line) => (vec![part(older, line)], None),
            Relation::Apart => {
                let Some(base) = merge_base(&*history, older, newer).await? else {
                    return Err(MidpointError::Apart {
                        lower: older.revision(),
                        higher: newer.revision(),
                    });
                };
                let back = part(older, base.back);
                let offset = back.count();
                let turn = Part::State(DependencyTree::alone(base.commit.clone()));
                (
                    vec![back, turn, part(&base.commit, base.forth)],
                    Some(offset),
                )
            }
        };
        if !higher.below.is_empty() {
            parts.push(Part::State(DependencyTree::alone(newer.clone())));
        }
        Ok((parts, merge_base))
    }

    /// Locks the cached pairs. No holder of the lock panics.
    fn pairs(&self) -> MutexGuard<'_, Pairs> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state from which two histories parted, with the lines between it and their ends.
struct MergeBase {
    commit: Commit,
    back: Line,
    forth: Line,
}

/// The common state of two commits: their merge base, with the others merged into it where there
/// are several. Where these conflict, the first of them.
async fn merge_base(
    history: &dyn History,
    older: &Commit,
    newer: &Commit,
) -> Result<Option<MergeBase>, HistoryError> {
    let bases = history
        .merge_bases(&older.git_hash, &newer.git_hash)
        .await?;
    let Some((first, others)) = bases.split_first() else {
        return Ok(None);
    };
    let first = Commit::new(&*older.repository, first);
    let all = Commit {
        merged: others.to_vec(),
        ..first.clone()
    };
    for commit in [all, first] {
        let is_one = history
            .merged_tree(&commit.git_hash, &commit.merged)
            .await?;
        if is_one.is_some()
            && let Relation::Backward(back) = line::between(history, older, &commit).await?
            && let Relation::Forward(forth) = line::between(history, &commit, newer).await?
        {
            return Ok(Some(MergeBase {
                commit,
                back,
                forth,
            }));
        }
    }
    Ok(None)
}

/// The dependencies of a place roll one after the other, from the lower state on, until all have
/// rolled. The result is an additional state unless it is the higher state.
fn one_after_the_other(
    tree: &DependencyTree,
    place: &ComparedRepository,
    rolls: &[Roll],
) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut tree = tree.clone();
    let way = &place.way[1..];
    for (index, roll) in rolls.iter().enumerate() {
        let (rolled, line) = (&roll.place, &roll.line);
        let (lower, higher) = (&rolled.lower, &rolled.higher);
        let mut moving = tree.clone();
        if let Some(namer) = moving.at_mut(way) {
            namer.hold(lower.clone());
        }
        parts.push(Part::Line {
            tree: moving.clone(),
            way: rolled.way[1..].to_vec(),
            line: line.clone(),
        });
        if !higher.below.is_empty() && lower.commit != higher.commit {
            if let Some(namer) = moving.at_mut(way) {
                namer.hold(DependencyTree::alone(higher.commit.clone()));
            }
            parts.push(Part::State(moving));
        }
        if let Some(namer) = tree.at_mut(way) {
            namer.hold(higher.clone());
        }
        if index + 1 < rolls.len() || !place.is_at_one_revision() {
            parts.push(Part::State(tree.clone()));
        }
    }
    parts
}

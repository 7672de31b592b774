//! The commits of a repository, as numbers.
//!
//! A history of a million commits is walked in milliseconds only if each step reads a number, not
//! an object. Git's [commit-graph] file has such numbers: a commit's place among all hashes in
//! order, and the places of its parents and its *generation*, which is greater than that of any of
//! its ancestors.
//!
//! ```text
//! place        0     1     2     3     |  4     5
//! commit       02f…  31c…  8a0…  e77…  |  c11…  5d2…   (as found)
//! 1st parent   2     none  1     0     |  3     4
//! generation   3     1     2     4     |  infinite
//!              in the commit-graph     |  newer than it
//! ```
//!
//! Commits that are not in the file get the numbers after it as they are found, and are read from
//! the object database, once. They are never ancestors of those in the file. Without the file, this
//! holds for all commits: the answers are the same, and take as long as reading the commits.
//!
//! As in git, the file is ignored where it may be wrong: in a shallow clone, and where commits are
//! replaced or grafted.
//!
//! [commit-graph]: https://git-scm.com/docs/gitformat-commit-graph

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use gix_commitgraph::{Graph, Position};
use gix_hash::ObjectId;
use gix_object::{FindExt, FindHeader};
use pinpoint_midpoint::HistoryError;

use super::objects::{self, Objects};
use crate::git::remote_url::RemoteUrl;
use crate::git::repository::Repository;
use crate::process::sync::locked;

/// Never the number of a commit: a commit-graph ends well below.
const NO_PARENT: u32 = u32::MAX;
const UNREAD: u32 = u32::MAX - 1;

/// The known commits of a repository.
pub(super) struct Commits {
    /// The name of the repository in messages.
    name: String,
    /// True for a mirror, whose name is its URL.
    is_mirror: bool,
    git_dir: PathBuf,
    store: Arc<gix_odb::Store>,
    graph: Option<Graph>,
    /// The number of commits in the graph.
    indexed: u32,
    /// The first parent of each commit in the graph, or [`NO_PARENT`].
    first_parents: OnceLock<Vec<u32>>,
    /// Parents that replace those in the commit: empty at the end of a shallow clone.
    grafts: HashMap<ObjectId, Vec<ObjectId>>,
    shallow: bool,
    newer: Mutex<Newer>,
}

/// The commits that the graph lacks, in the order in which they were found.
#[derive(Default)]
struct Newer {
    ids: Vec<ObjectId>,
    numbers: HashMap<ObjectId, u32>,
    /// [`UNREAD`], [`NO_PARENT`] or a number.
    first_parents: Vec<u32>,
    /// The second and further parents of merges.
    other_parents: HashMap<u32, Vec<u32>>,
}

impl Commits {
    /// Reads those of a repository, or of the mirror of a URL.
    pub(super) fn open(
        repository: &Repository,
        mirrored: Option<&RemoteUrl>,
    ) -> Result<Self, HistoryError> {
        let name = &*mirrored.map_or_else(|| repository.name(), RemoteUrl::to_string);
        let git_dir = repository.common_dir();
        let store = objects::open(repository).map_err(|error| unreadable(name, error))?;
        let hash = store.object_hash();
        let mut grafts = HashMap::new();
        for line in lines(name, &git_dir.join("info/grafts"))? {
            let ids = line.split_ascii_whitespace().map(|id| parse(id, hash));
            let ids: Option<Vec<_>> = ids.collect();
            // Git warns of other lines and continues.
            if let Some([commit, parents @ ..]) = ids.as_deref() {
                grafts.insert(*commit, parents.to_vec());
            }
        }
        let ends = lines(name, &git_dir.join("shallow"))?;
        grafts.extend(
            ends.iter()
                .filter_map(|id| Some((parse(id, hash)?, vec![]))),
        );
        let mut graph = None;
        if grafts.is_empty() && store.replacements().next().is_none() {
            // An unreadable graph counts as a missing one.
            let found = Graph::at(&store.path().join("info"), hash, None).ok();
            graph = found.filter(has_generations);
        }
        if graph.is_some() {
            let enabled = objects::is_enabled(repository, "core.commitGraph");
            let enabled = enabled.map_err(|error| unreadable(name, error))?;
            graph = graph.filter(|_| enabled);
        }
        Ok(Self {
            name: name.into(),
            is_mirror: mirrored.is_some(),
            git_dir: git_dir.into(),
            indexed: graph.as_ref().map_or(0, Graph::num_commits),
            store,
            graph,
            first_parents: OnceLock::new(),
            grafts,
            shallow: !ends.is_empty(),
            newer: Mutex::default(),
        })
    }

    /// Starts a walk, for one thread.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk {
            commits: self,
            newer: locked(&self.newer),
            objects: self.objects(),
            buffer: Vec::new(),
        }
    }

    pub(super) fn objects(&self) -> Objects {
        self.store.to_cache_arc()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub(super) fn unreadable(
        &self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> HistoryError {
        unreadable(&self.name, source)
    }

    pub(super) fn unknown(&self, revision: &str) -> HistoryError {
        HistoryError::UnknownRevision {
            repository: self.name.clone(),
            revision: revision.into(),
            hint: match self.is_mirror {
                true => "push it there",
                false => crate::git::repository_error::fetch_hint(self.shallow),
            }
            .into(),
        }
    }
}

/// The commits, while one question is answered.
pub(super) struct Walk<'a> {
    pub(super) commits: &'a Commits,
    pub(super) objects: Objects,
    newer: MutexGuard<'a, Newer>,
    buffer: Vec<u8>,
}

impl Walk<'_> {
    /// The number of a commit, by its full hash.
    pub(super) fn number(&mut self, hash: &str) -> Result<u32, HistoryError> {
        let unknown = || self.commits.unknown(hash);
        let id = parse(hash, self.commits.store.object_hash()).ok_or_else(unknown)?;
        if let Some(number) = self.known(id) {
            return Ok(number);
        }
        let header = self.objects.try_header(&id);
        let header = header.map_err(|error| self.commits.unreadable(error))?;
        if header.is_none_or(|header| header.kind != gix_object::Kind::Commit) {
            return Err(unknown());
        }
        Ok(self.number_of(id))
    }

    pub(super) fn id(&self, number: u32) -> ObjectId {
        match &self.commits.graph {
            Some(graph) if self.is_indexed(number) => graph.id_at(Position(number)).to_owned(),
            _ => self.newer.ids[self.behind(number)],
        }
    }

    /// Checks whether the commit is in the commit-graph.
    pub(super) fn is_indexed(&self, number: u32) -> bool {
        number < self.commits.indexed
    }

    /// Greater than that of any ancestor; `u32::MAX` outside of the
    /// commit-graph.
    pub(super) fn generation(&self, number: u32) -> u32 {
        match &self.commits.graph {
            Some(graph) if self.is_indexed(number) => {
                graph.commit_at(Position(number)).generation()
            }
            _ => u32::MAX,
        }
    }

    /// Adds a commit of the graph to a list, and the rest of its line.
    ///
    /// A commit-graph has 36 bytes or more for every commit, in the order of their hashes, so that
    /// every step of a walk reads elsewhere and waits for memory. A list of first parents alone is
    /// read in order and fits into the processor's cache; and as other processes use that, too, a
    /// hundred walks run at once, so that their waits overlap. They start at fixed places and end
    /// at any of those, and the line is put together from them ([list ranking] by sampling, Helman
    /// and JáJá 1999).
    ///
    /// [list ranking]: https://doi.org/10.1007/3-540-48518-X_3
    pub(super) fn rest_of_line(
        &self,
        commit: u32,
        into: &mut Vec<u32>,
    ) -> Result<(), HistoryError> {
        const WALKS: usize = 128;
        let parents = self.first_parents()?;
        // A power of two, so that a start is identified by its last bits.
        let apart = (parents.len() / WALKS).next_power_of_two();
        let is_start = |number: u32| number as usize & (apart - 1) == 0;
        let starts = (0..parents.len()).step_by(apart).map(|start| start as u32);
        let mut walks: Vec<(u32, Vec<u32>)> = starts
            .chain([commit])
            .map(|start| (start, Vec::new()))
            .collect();
        let mut going: Vec<usize> = (0..walks.len()).collect();
        while !going.is_empty() {
            going.retain(|walk| {
                let (next, passed) = &mut walks[*walk];
                passed.push(*next);
                *next = parents[*next as usize];
                *next != NO_PARENT && !is_start(*next) && passed.len() < parents.len()
            });
        }
        let mut walk = walks.len() - 1;
        let longest = into.len() + parents.len();
        loop {
            let (next, passed) = &walks[walk];
            into.extend(passed);
            if *next == NO_PARENT {
                return Ok(());
            }
            if !is_start(*next) || into.len() > longest {
                return Err(self.damaged_graph());
            }
            walk = *next as usize / apart;
        }
    }

    /// The first parents of all commits in the graph.
    fn first_parents(&self) -> Result<&[u32], HistoryError> {
        if let Some(known) = self.commits.first_parents.get() {
            return Ok(known);
        }
        let commits = self.commits.graph.iter().flat_map(Graph::iter_commits);
        let parents = commits.map(|commit| {
            let parent = commit.parent1()?;
            Ok(parent.map_or(NO_PARENT, |parent| parent.0))
        });
        let parents: gix_error::Result<Vec<u32>> = parents.collect();
        let parents = parents.map_err(|error| self.commits.unreadable(error))?;
        Ok(self.commits.first_parents.get_or_init(|| parents))
    }

    pub(super) fn first_parent(&mut self, number: u32) -> Result<Option<u32>, HistoryError> {
        let parent = match &self.commits.graph {
            Some(graph) if self.is_indexed(number) => {
                let parent = graph.commit_at(Position(number)).parent1();
                let parent = parent.map_err(|error| self.commits.unreadable(error))?;
                parent.map_or(NO_PARENT, |parent| parent.0)
            }
            _ => {
                self.read(number)?;
                self.newer.first_parents[self.behind(number)]
            }
        };
        Ok((parent != NO_PARENT).then_some(parent))
    }

    /// Adds a commit's parents to a list, the first one first.
    pub(super) fn parents(&mut self, number: u32, into: &mut Vec<u32>) -> Result<(), HistoryError> {
        match &self.commits.graph {
            Some(graph) if self.is_indexed(number) => {
                for parent in graph.commit_at(Position(number)).iter_parents() {
                    into.push(parent.map_err(|error| self.commits.unreadable(error))?.0);
                }
            }
            _ => {
                into.extend(self.first_parent(number)?);
                if let Some(others) = self.newer.other_parents.get(&number) {
                    into.extend(others);
                }
            }
        }
        Ok(())
    }

    /// Reads the parents of a commit that is not in the graph.
    fn read(&mut self, number: u32) -> Result<(), HistoryError> {
        let place = self.behind(number);
        if self.newer.first_parents[place] != UNREAD {
            return Ok(());
        }
        let id = self.newer.ids[place];
        let parents = match self.commits.grafts.get(&id) {
            Some(parents) => parents.clone(),
            None => {
                let commit = self.objects.find_commit_iter(&id, &mut self.buffer);
                let commit = commit.map_err(|error| self.commits.unreadable(error))?;
                commit.parent_ids().collect()
            }
        };
        let parents: Vec<u32> = parents.into_iter().map(|id| self.number_of(id)).collect();
        self.newer.first_parents[place] = parents.first().copied().unwrap_or(NO_PARENT);
        if let [_, others @ ..] = &parents[..]
            && !others.is_empty()
        {
            self.newer.other_parents.insert(number, others.to_vec());
        }
        Ok(())
    }

    fn number_of(&mut self, id: ObjectId) -> u32 {
        if let Some(number) = self.known(id) {
            return number;
        }
        // Memory runs out long before numbers do.
        let number = self.commits.indexed + self.newer.ids.len() as u32;
        self.newer.ids.push(id);
        self.newer.numbers.insert(id, number);
        self.newer.first_parents.push(UNREAD);
        number
    }

    fn known(&self, id: ObjectId) -> Option<u32> {
        let in_graph = self
            .commits
            .graph
            .as_ref()
            .and_then(|graph| graph.lookup(id));
        match in_graph {
            Some(place) => Some(place.0),
            None => self.newer.numbers.get(&id).copied(),
        }
    }

    /// First parents form a circle.
    fn damaged_graph(&self) -> HistoryError {
        self.commits.unreadable(
            "its commit-graph is damaged; write it again with `git commit-graph write --reachable`",
        )
    }

    fn behind(&self, number: u32) -> usize {
        (number - self.commits.indexed) as usize
    }
}

/// Git 2.18 wrote commit-graphs without generations, as zeros; graphs written later on top of them
/// may have some.
fn has_generations(graph: &Graph) -> bool {
    let Some(last) = graph.num_commits().checked_sub(1) else {
        return false;
    };
    [0, last].map(|place| graph.commit_at(Position(place)).generation()) != [0, 0]
}

fn parse(hash: &str, kind: gix_hash::Kind) -> Option<ObjectId> {
    let id = ObjectId::from_hex(hash.as_bytes()).ok()?;
    (id.kind() == kind).then_some(id)
}

/// The lines of an optional file, without comments.
fn lines(name: &str, path: &Path) -> Result<Vec<String>, HistoryError> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            Ok(lines.map(str::to_owned).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unreadable(name, error)),
    }
}

pub(super) fn unreadable(
    name: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> HistoryError {
    HistoryError::Unreadable {
        repository: name.into(),
        source: source.into(),
    }
}

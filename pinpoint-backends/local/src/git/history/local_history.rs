//! The history of one repository on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gix_hash::ObjectId;
use gix_object::FindExt;
use pinpoint_midpoint::{History, HistoryError};

use super::commits::{Commits, Walk};
use super::line::{self, Range, Ranges};
use super::merges::Merges;
use super::objects::{self, Objects};
use super::position;
use crate::blocking::blocking;
use crate::error::LocalError;
use crate::git::mirror_error::MirrorError;
use crate::git::mirrors::{LocatedRepository, Mirror};
use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;
use crate::git::workspace::Workspace;
use crate::process::sync::locked;

/// The history of one local repository.
///
/// Clones share what they have read: the ranges used last, up to 4 million commits at 4 bytes each,
/// the first parents of a commit-graph, and the commits beyond that.
///
/// # Cost
///
/// With a commit-graph (`git commit-graph write --reachable`; newer git writes it during
/// maintenance) a range of a million commits takes some 40 ms to walk, once, and 12 MB. Without,
/// every commit of it is read from the object database, which takes seconds.
///
/// # Definition of history
///
/// The history that `git log` shows: commits replaced with `git replace` are read as their
/// replacements, `info/grafts` is obeyed, and a shallow clone ends where it was cut off.
#[derive(Clone)]
pub struct LocalHistory(Arc<Inner>);

pub(super) struct Inner {
    repository: Repository,
    /// Fetches missing commits.
    mirror: Option<Mirror>,
    pub(super) commits: Commits,
    ranges: Mutex<Ranges>,
    state_dir: PathBuf,
    merges: Merges,
}

impl LocalHistory {
    /// The history of a repository. Merges are made in the state directory.
    ///
    /// # Errors
    ///
    /// [`HistoryError::Unreadable`] when it is damaged or of an unknown kind.
    pub fn open(repository: &Repository, state_dir: &Path) -> Result<Self, HistoryError> {
        Self::open_located(repository.clone().into(), state_dir)
    }

    /// Like [`open`](Self::open). The mirror fetches what is missing.
    pub(crate) fn open_located(
        located: LocatedRepository,
        state_dir: &Path,
    ) -> Result<Self, HistoryError> {
        let LocatedRepository { repository, mirror } = located;
        Ok(Self(Arc::new(Inner {
            commits: Commits::open(&repository, mirror.as_ref().map(Mirror::url))?,
            repository,
            mirror,
            ranges: Mutex::default(),
            state_dir: state_dir.into(),
            merges: Merges::default(),
        })))
    }

    /// The repository of this history.
    pub fn repository(&self) -> &Repository {
        &self.0.repository
    }

    /// The mirror that it is in, if it is in one.
    pub(super) fn mirror(&self) -> Option<&Mirror> {
        self.0.mirror.as_ref()
    }

    /// A commit that is the result of merging commits into another, one after the other; `None`
    /// when they conflict, and where git is older than 2.38, which can't merge without a work tree.
    /// With nothing to merge, the commit itself.
    ///
    /// Its hash is always the same for the same commits. It is in our own bare repository
    /// (`STATE/repositories/<hash>`), from which it can be checked out until that is removed;
    /// another call makes it again.
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRevision`], and [`HistoryError::Unreadable`] also when the state
    /// directory can't be written.
    pub async fn merged_commit(
        &self,
        commit: &str,
        merged: &[String],
    ) -> Result<Option<String>, HistoryError> {
        let look = |_: &Inner, _: &Objects, commit| Ok(commit);
        let state = self.merged(commit, merged, look).await?;
        Ok(state.map(|commit| commit.to_string()))
    }

    /// Checks whether two commits have the same contents at these paths. Of a directory only its
    /// existence counts, and for a path with `true`, its names.
    pub(crate) async fn are_same_at(
        &self,
        [one, other]: [&str; 2],
        paths: BTreeMap<String, bool>,
    ) -> Result<bool, HistoryError> {
        let hashes = [one.to_owned(), other.to_owned()];
        self.ask(move |inner| {
            let [one, other] = {
                let mut walk = inner.commits.walk();
                let mut id = |hash: &String| walk.number(hash).map(|number| walk.id(number));
                [id(&hashes[0])?, id(&hashes[1])?]
            };
            let objects = inner.commits.objects();
            let same = objects::are_same_at(&objects, [one, other], &paths);
            same.map_err(|error| inner.commits.of_object(error, "its files", &hashes[1], 0))
        })
        .await
    }

    /// Examines a commit with others merged into it, in a repository that has it; `None` when they
    /// conflict.
    async fn merged<T: Send + 'static>(
        &self,
        commit: &str,
        merged: &[String],
        look: impl Fn(&Inner, &Objects, ObjectId) -> Result<T, HistoryError> + Send + Sync + 'static,
    ) -> Result<Option<T>, HistoryError> {
        let (commit, merged) = (commit.to_owned(), merged.to_vec());
        let ids = self.ask(move |inner| {
            let mut walk = inner.commits.walk();
            let mut id = |hash: &String| walk.number(hash).map(|number| walk.id(number));
            let merged: Result<Vec<_>, _> = merged.iter().map(&mut id).collect();
            Ok((id(&commit)?, merged?))
        });
        let (commit, merged) = ids.await?;
        if merged.is_empty() {
            let look = move |inner: &Inner| look(inner, &inner.commits.objects(), commit).map(Some);
            return self.ask(look).await;
        }
        let inner = &self.0;
        let borrowed = async {
            let workspace = Workspace::open(&inner.state_dir)?;
            workspace.borrow_objects(&inner.repository).await
        };
        let (ours, alone) = borrowed
            .await
            .map_err(|error| inner.commits.unreadable(error))?;
        self.ask(move |inner| {
            // No process removes our repository in the meantime.
            let _alone = &alone;
            let unreadable = |error| inner.commits.unreadable(error);
            let store = objects::store(ours.path(), commit.kind(), Vec::new());
            let objects = store.map_err(unreadable)?.to_cache_arc();
            let users = &inner.repository;
            let state = { &inner.merges }.commit(ours.path(), &objects, users, commit, &merged);
            match state.map_err(unreadable)? {
                Some(state) => look(inner, &objects, state).map(Some),
                None => Ok(None),
            }
        })
        .await
    }

    /// The error for a state that can't be made.
    fn conflict(&self, commit: &str, merged: &[String]) -> HistoryError {
        HistoryError::UnknownRevision {
            repository: self.0.repository.path().to_string_lossy().into_owned(),
            revision: revision(commit, merged),
            hint: "merging these conflicts".into(),
        }
    }

    /// Answers on a thread that may block. Objects that a mirror lacks are fetched, and the
    /// question is repeated.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl Fn(&Inner) -> Result<T, HistoryError> + Send + Sync + 'static,
    ) -> Result<T, HistoryError> {
        let question = Arc::new(question);
        let mut fetched = false;
        loop {
            let (inner, asked) = (Arc::clone(&self.0), Arc::clone(&question));
            let answer = blocking((), move || Ok(asked(&inner))).await;
            let answer = answer.map_err(|error| self.0.commits.unreadable(error))?;
            match (answer, self.mirror()) {
                (Err(HistoryError::UnknownRevision { revision, .. }), Some(mirror)) if !fetched => {
                    fetched = true;
                    match mirror.bring(&revision, None).await {
                        // The answer reports missing objects.
                        Ok(()) | Err(LocalError::Mirror(MirrorError::NoCommit { .. })) => {}
                        Err(LocalError::Mirror(error)) => {
                            return Err(self.0.commits.unreadable(error));
                        }
                        Err(error) => return Err(self.0.commits.unreadable(error)),
                    }
                }
                (answer, _) => return answer,
            }
        }
    }
}

impl Inner {
    fn between(
        &self,
        walk: &mut Walk<'_>,
        lower: &str,
        higher: &str,
    ) -> Result<Range, HistoryError> {
        let (lower, higher) = (walk.number(lower)?, walk.number(higher)?);
        locked(&self.ranges).between(walk, lower, higher)
    }

    fn resolve(&self, name: &str) -> Result<String, HistoryError> {
        // For git, `main@{#x}` would mean an earlier state of main.
        if name.contains("@{#") {
            let found = match position::parse(name) {
                Some(position) => position::find(self, &position)?,
                None => None,
            };
            return found.ok_or_else(|| self.commits.unknown(name));
        }
        self.full_hash(name)?
            .ok_or_else(|| self.commits.unknown(name))
    }

    /// The hash that git resolves a name to.
    pub(super) fn full_hash(&self, name: &str) -> Result<Option<String>, HistoryError> {
        match self.repository.full_hash(name) {
            Ok(hash) => Ok(Some(hash)),
            Err(RepositoryError::UnknownRevision { .. }) => Ok(None),
            Err(RepositoryError::Ambiguous { path, revision }) => {
                Err(HistoryError::UnknownRevision {
                    repository: path.to_string_lossy().into_owned(),
                    revision,
                    hint: "several commits have this name: write more of the hash".into(),
                })
            }
            Err(error) => Err(self.commits.unreadable(error)),
        }
    }
}

/// A commit with others merged into it, for messages.
fn revision(commit: &str, merged: &[String]) -> String {
    let merged = merged.iter().map(String::as_str);
    [commit]
        .into_iter()
        .chain(merged)
        .collect::<Vec<_>>()
        .join("+")
}

#[async_trait]
impl History for LocalHistory {
    async fn resolve(&self, name: &str) -> Result<String, HistoryError> {
        let name = name.to_owned();
        self.ask(move |inner| inner.resolve(&name)).await
    }

    async fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool, HistoryError> {
        let (ancestor, descendant) = (ancestor.to_owned(), descendant.to_owned());
        self.ask(move |inner| {
            let mut walk = inner.commits.walk();
            let (ancestor, descendant) = (walk.number(&ancestor)?, walk.number(&descendant)?);
            line::is_ancestor(&mut walk, ancestor, descendant)
        })
        .await
    }

    async fn count(&self, lower: &str, higher: &str) -> Result<u64, HistoryError> {
        let (lower, higher) = (lower.to_owned(), higher.to_owned());
        self.ask(move |inner| {
            let range = inner.between(&mut inner.commits.walk(), &lower, &higher)?;
            Ok(range.newest_first().len() as u64)
        })
        .await
    }

    async fn nth(&self, lower: &str, higher: &str, offset: u64) -> Result<String, HistoryError> {
        let (lower, higher) = (lower.to_owned(), higher.to_owned());
        self.ask(move |inner| {
            let mut walk = inner.commits.walk();
            let range = inner.between(&mut walk, &lower, &higher)?;
            let mut oldest_first = range.newest_first().iter().rev();
            let commit = usize::try_from(offset)
                .ok()
                .and_then(|offset| oldest_first.nth(offset));
            match commit {
                Some(commit) => Ok(walk.id(*commit).to_string()),
                None => Err(HistoryError::NoSuchOffset {
                    lower: lower.clone(),
                    higher: higher.clone(),
                    offset,
                    count: range.newest_first().len() as u64,
                }),
            }
        })
        .await
    }

    async fn parents(&self, commit: &str) -> Result<Vec<String>, HistoryError> {
        let commit = commit.to_owned();
        self.ask(move |inner| {
            let mut walk = inner.commits.walk();
            let commit = walk.number(&commit)?;
            let mut parents = Vec::new();
            walk.parents(commit, &mut parents)?;
            Ok(parents
                .into_iter()
                .map(|parent| walk.id(parent).to_string())
                .collect())
        })
        .await
    }

    async fn merge_bases(&self, one: &str, other: &str) -> Result<Vec<String>, HistoryError> {
        let (one, other) = (one.to_owned(), other.to_owned());
        self.ask(move |inner| {
            let ids = {
                let mut walk = inner.commits.walk();
                let mut id = |hash: &String| walk.number(hash).map(|number| walk.id(number));
                [id(&one)?, id(&other)?].map(|id| id.to_string())
            };
            let found = inner.repository.merge_bases(&ids[0], &ids[1]);
            found.map_err(|error| inner.commits.unreadable(error))
        })
        .await
    }

    /// Reads regular files only; a symbolic link counts as missing.
    async fn file(
        &self,
        commit: &str,
        merged: &[String],
        path: &str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, HistoryError> {
        let (path, name) = (path.to_owned(), revision(commit, merged));
        let file = self.merged(commit, merged, move |inner, objects, commit| {
            let file = objects::file(objects, commit, &path, most);
            file.map_err(|error| inner.commits.of_object(error, &path, &name, most))
        });
        file.await?.ok_or_else(|| self.conflict(commit, merged))
    }

    async fn gitlinks(
        &self,
        commit: &str,
        merged: &[String],
        paths: &[String],
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        let (paths, name) = (paths.to_vec(), revision(commit, merged));
        let links = self.merged(commit, merged, move |inner, objects, commit| {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let links = objects::gitlinks(objects, commit, &paths);
            links.map_err(|error| inner.commits.of_object(error, "submodules", &name, 0))
        });
        links.await?.ok_or_else(|| self.conflict(commit, merged))
    }

    async fn merged_tree(
        &self,
        commit: &str,
        merged: &[String],
    ) -> Result<Option<String>, HistoryError> {
        let tree = self.merged(commit, merged, |inner, objects, commit| {
            let mut buffer = Vec::new();
            let commit = objects.find_commit(&commit, &mut buffer);
            let commit = commit.map_err(|error| inner.commits.unreadable(error))?;
            Ok(commit.tree().to_string())
        });
        tree.await
    }
}

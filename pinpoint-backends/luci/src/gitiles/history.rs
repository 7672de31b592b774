//! A repository at Gitiles as a [`History`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use pinpoint_midpoint::{History, HistoryError};

use super::repository::{CommitInfo, Repository};
use crate::crrev::{CommitPosition, Crrev};
use crate::google::ServiceError;

/// The history of one repository. Clones share read data.
#[derive(Clone)]
pub struct GitilesHistory {
    repository: Arc<Repository>,
    crrev: Option<Arc<Crrev>>,
}

impl GitilesHistory {
    pub(super) fn new(repository: Repository, crrev: Option<Arc<Crrev>>) -> Self {
        Self {
            repository: Arc::new(repository),
            crrev,
        }
    }

    /// A commit by its full hash.
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRevision`] when it does not exist.
    pub async fn commit(&self, hash: &str) -> Result<Arc<CommitInfo>, HistoryError> {
        let found = self.repository.commit(hash).await;
        found
            .map_err(|error| self.unreadable(error))?
            .ok_or_else(|| self.unknown(hash, "the repository has no such commit"))
    }

    /// The request for the commits between two full hashes, as text for `--dry-run`.
    pub fn rendered_range(&self, lower: &str, higher: &str) -> String {
        self.repository.rendered_range(lower, higher)
    }

    fn unreadable(&self, source: ServiceError) -> HistoryError {
        HistoryError::Unreadable {
            repository: self.repository.name().into(),
            source: Box::new(source),
        }
    }

    fn unknown(&self, revision: &str, hint: &str) -> HistoryError {
        HistoryError::UnknownRevision {
            repository: self.repository.name().into(),
            revision: revision.into(),
            hint: hint.into(),
        }
    }

    fn unknown_one(&self, one: &str, other: &str) -> HistoryError {
        self.unknown(
            one,
            &format!("or none {other}: the repository lacks one of them"),
        )
    }

    async fn at_position(&self, position: &CommitPosition) -> Result<String, HistoryError> {
        let name = position.to_string();
        let Some(crrev) = &self.crrev else {
            return Err(self.unknown(
                &name,
                "commit positions are looked up by crrev: set its address",
            ));
        };
        if position.branch != CommitPosition::MAIN {
            return Err(self.unknown(&name, "crrev numbers the commits of main only"));
        }
        let found = crrev.commit(&position.number.to_string()).await;
        match found.map_err(|error| self.unreadable(error))? {
            Some(found) if found.is_of(self.repository.project()) => Ok(found.git_sha),
            Some(found) => {
                let hint = format!("crrev has this number in {}", found.place());
                Err(self.unknown(&name, &hint))
            }
            None => Err(self.unknown(&name, "crrev has no such number")),
        }
    }

    /// The entries of the folders of a commit that contain these paths.
    async fn gitlinks_of(
        &self,
        commit: &str,
        paths: &[String],
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        let root = self.commit(commit).await?;
        let mut links = BTreeMap::new();
        // Folders still to be read, by their paths with a slash at the end, with their trees.
        let mut open = BTreeMap::from([(String::new(), root.tree.clone())]);
        while let Some((folder, tree)) = open.pop_first() {
            let found = self.repository.tree(commit, &folder, &tree).await;
            let Some(found) = found.map_err(|error| self.unreadable(error))? else {
                continue;
            };
            let below = paths.iter().filter_map(|path| path.strip_prefix(&*folder));
            let wanted: BTreeSet<&str> = below.collect();
            for entry in found.entries {
                let path = format!("{folder}{}", entry.name);
                let inside = format!("{}/", entry.name);
                match &*entry.r#type {
                    "commit" if wanted.contains(&*entry.name) => {
                        links.insert(path, entry.id);
                    }
                    "tree" if wanted.iter().any(|path| path.starts_with(&inside)) => {
                        open.insert(format!("{path}/"), entry.id);
                    }
                    _ => {}
                }
            }
        }
        Ok(links)
    }
}

/// A full hash of SHA-1 or SHA-256.
pub fn is_full_hash(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a name is valid in a request. `..` would make it a range, and the others are in
/// no name.
fn is_name(name: &str) -> bool {
    let is_odd = |character: char| {
        character.is_whitespace() || character.is_control() || "?*[\\:{}".contains(character)
    };
    !name.is_empty()
        && !name.starts_with(['-', '/', '^'])
        && !name.contains("..")
        && !name.contains(is_odd)
}

#[async_trait]
impl History for GitilesHistory {
    async fn resolve(&self, name: &str) -> Result<String, HistoryError> {
        if is_full_hash(name) {
            let hash = name.to_ascii_lowercase();
            return Ok(self.commit(&hash).await?.git_hash.clone());
        }
        let hash = match name.parse::<CommitPosition>() {
            Ok(position) => Some(self.at_position(&position).await?),
            Err(_) if is_name(name) => {
                let named = self.repository.named(name).await;
                let named = named.map_err(|error| self.unreadable(error))?;
                named.map(|commit| commit.git_hash.clone())
            }
            Err(_) => None,
        };
        hash.ok_or_else(|| self.unknown(name, "write a hash, a branch, a tag or a commit position"))
    }

    async fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool, HistoryError> {
        if ancestor == descendant {
            return Ok(true);
        }
        let answer = self.repository.is_ancestor(ancestor, descendant).await;
        answer
            .map_err(|error| self.unreadable(error))?
            .ok_or_else(|| self.unknown_one(ancestor, descendant))
    }

    async fn count(&self, lower: &str, higher: &str) -> Result<u64, HistoryError> {
        let range = self.repository.range(lower, higher).await;
        let range = range.map_err(|error| self.unreadable(error))?;
        let range = range.ok_or_else(|| self.unknown_one(lower, higher))?;
        Ok(range.len() as u64)
    }

    async fn nth(&self, lower: &str, higher: &str, offset: u64) -> Result<String, HistoryError> {
        let range = self.repository.range(lower, higher).await;
        let range = range.map_err(|error| self.unreadable(error))?;
        let range = range.ok_or_else(|| self.unknown_one(lower, higher))?;
        let place = usize::try_from(offset).ok();
        let hash = place.and_then(|place| range.get(place));
        hash.cloned().ok_or_else(|| HistoryError::NoSuchOffset {
            lower: lower.into(),
            higher: higher.into(),
            offset,
            count: range.len() as u64,
        })
    }

    async fn parents(&self, commit: &str) -> Result<Vec<String>, HistoryError> {
        Ok(self.commit(commit).await?.parents.clone())
    }

    /// A regular file; a symbolic link counts as absent.
    async fn file(
        &self,
        commit: &str,
        merged: &[String],
        path: &str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, HistoryError> {
        self.refuse_merges(commit, merged)?;
        let file = self.repository.file(commit, path).await;
        let file = file.map_err(|error| self.unreadable(error))?;
        match file {
            Some(file) if file.len() > most => Err(HistoryError::TooLarge {
                repository: self.repository.name().into(),
                path: path.into(),
                object: format!("{commit}:{path}"),
                size: file.len() as u64,
                most,
            }),
            other => Ok(other),
        }
    }

    async fn gitlinks(
        &self,
        commit: &str,
        merged: &[String],
        paths: &[String],
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        self.refuse_merges(commit, merged)?;
        self.gitlinks_of(commit, paths).await
    }

    /// Gitiles cannot merge: where a merge is needed, the answer is a conflict.
    async fn merged_tree(
        &self,
        commit: &str,
        merged: &[String],
    ) -> Result<Option<String>, HistoryError> {
        if !merged.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.commit(commit).await?.tree.clone()))
    }

    fn can_merge(&self) -> bool {
        false
    }
}

impl GitilesHistory {
    fn refuse_merges(&self, commit: &str, merged: &[String]) -> Result<(), HistoryError> {
        if merged.is_empty() {
            return Ok(());
        }
        let revision = format!("{commit}+{}", merged.join("+"));
        Err(self.unknown(&revision, "Gitiles merges nothing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_another_question_is_no_name() {
        for name in [
            "main",
            "refs/heads/main",
            "v1.0",
            "main~3",
            "HEAD^",
            "0123abc",
        ] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "", "a..b", "^a", "-x", "/x", "a b", "a?b", "a:b", "main@{1}", "a\nb",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}

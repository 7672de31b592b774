//! Interfaces to repositories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;

/// The history of one repository.
///
/// Commits are named by full hashes in hexadecimal; [`resolve`](Self::resolve) makes them of other
/// names. The *line* of a commit is the commit, its first parent, the first parent of that, and so
/// on: the successive states of a branch, including all that was merged into it.
#[async_trait]
pub trait History: Send + Sync {
    /// The full hash for a name: a hash or the beginning of one, a branch, a tag, any other name in
    /// the repository, or a commit position (`refs/heads/main@{#1234}`).
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRevision`] when it names nothing, or several commits.
    async fn resolve(&self, name: &str) -> Result<String, HistoryError>;

    /// Returns true if one commit is the other, or is part of its history.
    async fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool, HistoryError>;

    /// The number of commits of `higher`'s line that are not in the history of `lower`, `higher`
    /// included: 1 for a commit and its first parent.
    ///
    /// Where `lower` is on the line these are the commits after it. Where it came in by a merge,
    /// they begin after the commit from which its branch had started.
    async fn count(&self, lower: &str, higher: &str) -> Result<u64, HistoryError>;

    /// The hash at an offset of the commits that [`count`](Self::count)
    /// counts, 0 being the oldest.
    ///
    /// # Errors
    ///
    /// [`HistoryError::NoSuchOffset`] at the count and beyond.
    async fn nth(&self, lower: &str, higher: &str, offset: u64) -> Result<String, HistoryError>;

    /// The parents of a commit, the first one first.
    async fn parents(&self, commit: &str) -> Result<Vec<String>, HistoryError>;

    /// A file of a commit, by its path from the top; absent if missing. A file of more than `most`
    /// bytes is not loaded.
    ///
    /// `merged` is merged into the commit first, in order, as in
    /// [`Commit::merged`](pinpoint_core::Commit::merged).
    ///
    /// # Errors
    ///
    /// [`HistoryError::TooLarge`] for a file of more than `most` bytes.
    async fn file(
        &self,
        commit: &str,
        merged: &[String],
        path: &str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, HistoryError>;

    /// The commits of other repositories that are checked out at these paths (tree entries of mode
    /// 160000); other paths are left out.
    async fn gitlinks(
        &self,
        commit: &str,
        merged: &[String],
        paths: &[String],
    ) -> Result<BTreeMap<String, String>, HistoryError>;

    /// The tree that results from merging commits into another, one after the
    /// other; absent when they conflict. With nothing to merge, the commit's
    /// own tree.
    async fn merged_tree(
        &self,
        commit: &str,
        merged: &[String],
    ) -> Result<Option<String>, HistoryError>;

    /// Returns true if it can merge commits. If not, [`merged_tree`](Self::merged_tree) reports
    /// that all conflict.
    fn can_merge(&self) -> bool {
        true
    }

    /// The newest common commits of two commits, the best first; empty without a common history.
    ///
    /// By default, it is at most one: the newest commit of `other`'s line that is in the history of
    /// `one`.
    async fn merge_bases(&self, one: &str, other: &str) -> Result<Vec<String>, HistoryError> {
        if self.count(one, other).await? == 0 {
            return Ok(vec![other.to_owned()]);
        }
        let parents = self.parents(&self.nth(one, other, 0).await?).await?;
        Ok(parents.into_iter().take(1).collect())
    }
}

/// Repositories, by their URLs or paths.
#[async_trait]
pub trait Repositories: Send + Sync {
    /// The history of a repository, named by a URL or an absolute path.
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRepository`] when it is not available locally.
    async fn open(&self, repository: &str) -> Result<Arc<dyn History>, HistoryError>;

    /// The identity of each of these repositories: two names have the same identity if they mean
    /// the same repository, available or not.
    ///
    /// By default, every name means another repository.
    ///
    /// # Errors
    ///
    /// When it can't be determined.
    async fn identities(
        &self,
        repositories: BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, HistoryError> {
        let identity = |name: String| (name.clone(), name);
        Ok(repositories.into_iter().map(identity).collect())
    }
}

/// The reason why a question about a history has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The repository is not available locally.
    #[error("the repository {repository} is not available locally; {hint}")]
    UnknownRepository {
        /// Its name.
        repository: String,
        /// Advice for the user.
        hint: String,
    },
    /// No commit has this name, or several have.
    #[error("{repository} has no commit {revision:?}; {hint}")]
    UnknownRevision {
        /// The repository.
        repository: String,
        /// The name given.
        revision: String,
        /// Advice for the user.
        hint: String,
    },
    /// The file is larger than the limit.
    #[error("{path} in {repository} has {size} bytes, more than {most}")]
    TooLarge {
        /// The repository.
        repository: String,
        /// The file.
        path: String,
        /// The hash of its content.
        object: String,
        /// Its size in bytes.
        size: u64,
        /// The most bytes that are read.
        most: usize,
    },
    /// The offset is outside of the range.
    #[error("the commits from {lower} to {higher} have no offset {offset}, only {count}")]
    NoSuchOffset {
        /// The older end.
        lower: String,
        /// The newer end.
        higher: String,
        /// The requested offset.
        offset: u64,
        /// The number of commits.
        count: u64,
    },
    /// The repository can't be read: it is damaged, out of reach, or not
    /// readable.
    #[error("{repository} can't be read: {source}")]
    Unreadable {
        /// The repository.
        repository: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

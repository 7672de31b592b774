//! Which commit is to blame for what a culprit changed.

use pinpoint_core::{CombinedCommit, Commit, CommitNames, Followed, Position};

use super::error::LocalError;
use super::executor::LocalExecutor;

/// The commit to blame for a culprit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blamed {
    /// The commit as its repository has it, with author, date and subject: of the
    /// main repository, of a merged branch, or of a dependency.
    pub commit: Commit,
    /// A dependency was set back, and the culprit is to blame for losing this
    /// commit, not for adding it.
    pub undone: bool,
}

impl LocalExecutor {
    /// The commit that made the difference between a culprit and its prior.
    /// `position` is the culprit's place in the search whose commits `names` knows.
    ///
    /// # Errors
    ///
    /// When a repository can't be read.
    pub async fn blamed(
        &self,
        names: &CommitNames,
        position: Position,
        culprit: &CombinedCommit,
        prior: &CombinedCommit,
    ) -> Result<Blamed, LocalError> {
        let lost = lost(names, position, culprit, prior);
        let undone = lost.is_some();
        let commit = match lost {
            Some(lost) => lost,
            None => self.sources()?.midpoints.blamed(prior, culprit).await?,
        };
        Ok(Blamed {
            commit: self.describe_commit(commit).await?,
            undone,
        })
    }
}

/// The commit that a culprit lost against its prior, where a dependency was set
/// back.
fn lost(
    names: &CommitNames,
    position: Position,
    commit: &CombinedCommit,
    prior: &CombinedCommit,
) -> Option<Commit> {
    let Position::Within { range, .. } = position else {
        return None;
    };
    let moved = commit.moved_since(prior);
    let change = names.range(range)?.changes.iter().find(|change| {
        change.repository == moved.repository && change.followed == Followed::Backward
    })?;
    let held = prior.modified_deps.iter().rfind(|held| {
        held.commit.repository == moved.repository && !commit.modified_deps.contains(held)
    });
    let hash = match held {
        Some(held) => held.commit.newest(),
        None => change.before.as_deref()?,
    };
    Some(Commit::new(&*moved.repository, hash))
}

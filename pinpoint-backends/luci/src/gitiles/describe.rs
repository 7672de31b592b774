//! Author, date and subject of commits.

use pinpoint_core::{CombinedCommit, Commit};
use pinpoint_midpoint::HistoryError;

use super::repositories::Gitiles;

impl Gitiles {
    /// Adds author, date and subject to each commit of a state, except for commits of a repository
    /// that is not at Gitiles.
    ///
    /// # Errors
    ///
    /// When a repository lacks the commit, or cannot be asked.
    pub async fn describe(
        &self,
        mut state: CombinedCommit,
    ) -> Result<CombinedCommit, HistoryError> {
        let held = state.modified_deps.iter_mut().map(|held| &mut held.commit);
        for commit in std::iter::once(&mut state.main).chain(held) {
            if commit.subject.is_none() {
                self.describe_commit(commit).await?;
            }
        }
        Ok(state)
    }

    async fn describe_commit(&self, commit: &mut Commit) -> Result<(), HistoryError> {
        let history = match self.history(&commit.repository) {
            Err(HistoryError::UnknownRepository { .. }) => return Ok(()),
            other => other?,
        };
        let info = history.commit(commit.newest()).await?;
        commit.author = Some(info.author.clone());
        commit.created.clone_from(&info.created);
        commit.subject = Some(info.subject().to_owned());
        Ok(())
    }
}

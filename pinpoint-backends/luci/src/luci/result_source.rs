//! Names for the result of a job.

use async_trait::async_trait;
use pinpoint_core::job::{Blamed, ResultError, ResultSource};
use pinpoint_core::{CombinedCommit, Commit, Located};

use super::executor::LuciExecutor;

#[async_trait]
impl ResultSource for LuciExecutor {
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
        let mut commits = Vec::with_capacity(located.len());
        for located in located {
            let commit = LuciExecutor::resolve(self, located).await;
            commits.push(commit.map_err(ResultError::new)?);
        }
        Ok(commits)
    }

    async fn blamed(
        &self,
        prior: &CombinedCommit,
        culprit: &CombinedCommit,
    ) -> Result<Blamed, ResultError> {
        let blamed = self.sources.blamed(prior, culprit).await;
        blamed.map_err(ResultError::new)
    }

    async fn describe(&self, commit: Commit) -> Result<Commit, ResultError> {
        (self.describe_commit(commit).await).map_err(ResultError::new)
    }
}

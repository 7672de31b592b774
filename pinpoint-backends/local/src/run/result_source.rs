//! Local facts of a job besides its journal.

use async_trait::async_trait;
use pinpoint_core::job::{Blamed, ResultError, ResultSource};
use pinpoint_core::{CombinedCommit, Commit, Located, Metric};

use crate::executor::LocalExecutor;

#[async_trait]
impl ResultSource for LocalExecutor {
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
        (self.resolve_all(located).await).map_err(ResultError::new)
    }

    async fn blamed(
        &self,
        prior: &CombinedCommit,
        culprit: &CombinedCommit,
    ) -> Result<Blamed, ResultError> {
        let sources = self.sources().map_err(ResultError::new)?;
        let blamed = sources.midpoints.blamed(prior, culprit).await;
        blamed.map_err(ResultError::new)
    }

    async fn describe(&self, commit: Commit) -> Result<Commit, ResultError> {
        (self.describe_commit(commit).await).map_err(ResultError::new)
    }

    fn metric(&self) -> Option<Metric> {
        self.metric_of_old_job()
    }

    fn warnings(&self) -> Result<Vec<String>, ResultError> {
        LocalExecutor::warnings(self).map_err(ResultError::new)
    }
}

//! The newest commit that is built already.

use super::builds::waterfall;
use super::error::LuciError;
use super::executor::LuciExecutor;
use crate::buildbucket::{newest_commit, search_newest};
use crate::gitiles::RepositoryUrl;

impl LuciExecutor {
    /// The commit of the newest build that a job can use without building anything: of the
    /// continuous build, or where the bot's builder has none, of that builder.
    ///
    /// # Errors
    ///
    /// When there is none, or Buildbucket cannot be asked.
    pub async fn recent(&self, repository: &RepositoryUrl) -> Result<String, LuciError> {
        let builder = self.config.builder()?;
        let builder = waterfall(&builder).unwrap_or(builder);
        let search = search_newest(&builder);
        let builds = self.services.buildbucket.search_page(&search).await?;
        let target = &self.config.benchmark.target;
        let newest = newest_commit(repository, target, &builds, self.clock.now());
        newest.ok_or(LuciError::NoRecentBuild(builder.builder))
    }
}

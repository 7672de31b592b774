//! The requests of an action, sent by nobody.

use pinpoint_core::CombinedCommit;

use super::error::LuciError;
use super::executor::LuciExecutor;
use crate::buildbucket::BuildPlan;
use crate::swarming::{CasReference, TaskPlan, uuid};

impl LuciExecutor {
    /// The requests by which a commit is built and run once, in their order, without tokens.
    /// What only an answer would tell, such as the digest of the build, is made up.
    ///
    /// # Errors
    ///
    /// When the commit can't be built, or the benchmark can't be run.
    pub fn rendered(&self, commit: &CombinedCommit, job: &str) -> Result<Vec<String>, LuciError> {
        let (plan, builder) = (BuildPlan::new(commit)?, self.config.builder()?);
        let key = format!("{job}/1");
        let id = uuid(&["build", &key, "0"]);
        let buildbucket = &self.services.buildbucket;
        let swarming = &self.services.swarming;
        let build = CasReference {
            cas_instance: self.config.cas_instance.clone(),
            digest: crate::swarming::Digest {
                hash: "0".repeat(64),
                size_bytes: 0,
            },
        };
        let task = TaskPlan {
            job,
            key: &format!("{job}/2"),
            part: "1",
            build: &build,
            command: &self.config.command(&commit.main.git_hash, &[])?,
            dimensions: &self.config.machines.dimensions,
            bot: None,
        };
        Ok(vec![
            buildbucket.rendered_search(&plan.search(&builder))?,
            buildbucket.rendered(&plan.schedule(&builder, job, &key, &id))?,
            swarming.rendered_bots(&self.config.machines.dimensions)?,
            swarming.rendered(&task.request(&self.config.tasks))?,
        ])
    }
}

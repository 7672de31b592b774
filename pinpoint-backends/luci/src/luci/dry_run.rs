//! The requests of a job, as text, without sending them.

use pinpoint_core::Variant;
use serde_json::{Value, json};

use super::error::LuciError;
use super::executor::LuciExecutor;
use super::given::build_given;
use crate::buildbucket::BuildPlan;
use crate::swarming::{CasReference, Digest, TaskPlan, uuid};

/// In place of the id of a build.
const A_BUILD: i64 = 1;

/// In place of the id of a task, and of a bot.
const A_TASK: &str = "TASK";
const A_BOT: &str = "BOT";

impl LuciExecutor {
    /// The requests to build and run each of these variants once, in their order, without tokens.
    /// Parts that only an answer would show, such as the digest of the build, are made up.
    ///
    /// # Errors
    ///
    /// When a commit cannot be built, or the benchmark cannot be run.
    pub fn rendered(&self, variants: &[Variant], job: &str) -> Result<Vec<String>, LuciError> {
        let mut requests = Vec::new();
        for (index, variant) in variants.iter().enumerate() {
            let keys = [1, 2].map(|action| format!("{job}/{}", 2 * index + action));
            requests.extend(self.rendered_variant(variant, job, &keys)?);
        }
        Ok(requests)
    }

    fn rendered_variant(
        &self,
        variant: &Variant,
        job: &str,
        [build_key, run_key]: &[String; 2],
    ) -> Result<Vec<String>, LuciError> {
        let commit = &variant.commit;
        let given = build_given(commit);
        let (buildbucket, swarming) = (&self.services.buildbucket, &self.services.swarming);
        let dimensions = &self.config.machines.dimensions;
        let build = given.clone().unwrap_or_else(|| CasReference {
            cas_instance: self.config.settings.cas_instance.clone(),
            digest: Digest {
                hash: "0".repeat(64),
                size_bytes: 0,
            },
        });
        let task = TaskPlan {
            job,
            key: run_key,
            part: "1",
            build: &build,
            command: &self
                .config
                .command(&commit.main.git_hash, &variant.arguments)?,
            dimensions,
            bot: Some(A_BOT),
        };
        let mut requests = Vec::new();
        if given.is_none() {
            let (plan, builder) = (BuildPlan::new(commit)?, self.config.builder()?);
            let id = uuid(&["build", build_key, "0"]);
            requests.push(buildbucket.rendered_asked_for(&builder, build_key)?);
            for builder in self.builders_of(&plan, &builder) {
                requests.push(buildbucket.rendered_search(&plan.search(&builder))?);
            }
            requests.extend([
                buildbucket.rendered(&plan.schedule(&builder, job, build_key, &id))?,
                buildbucket.rendered_get(A_BUILD)?,
                buildbucket.rendered_status(A_BUILD)?,
            ]);
        }
        requests.extend([
            swarming.rendered_tagged(&self.tags_of(run_key))?,
            swarming.rendered_bots(dimensions)?,
            swarming.rendered(&task.request(&self.config.settings.tasks))?,
            swarming.rendered_results(&[A_TASK.to_owned()])?,
        ]);
        let root = json!({"rootDigest": build.digest});
        let files = json!({"digests": [build.digest]});
        requests.push(self.rendered_read("GetTree", root));
        requests.push(self.rendered_read("BatchReadBlobs", files));
        Ok(requests)
    }

    /// A question to the store of files.
    fn rendered_read(&self, method: &str, mut message: Value) -> String {
        let settings = &self.config.settings;
        message["instanceName"] = json!(settings.cas_instance);
        format!(
            "gRPC {}/build.bazel.remote.execution.v2.ContentAddressableStorage/{method}\n{message:#}",
            settings.addresses.cas
        )
    }
}

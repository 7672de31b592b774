//! Builds: found, requested, waited for.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pinpoint_core::{Artifact, BuildReport, CombinedCommit, Heartbeat};
use serde::Deserialize;
use tokio::time::sleep;

use super::error::LuciError;
use super::executor::LuciExecutor;
use super::given::build_given;
use super::handle::Handle;
use super::once::Tries;
use crate::buildbucket::{
    Build, BuildPlan, BuildStatus, BuilderId, KEY_TAG, MAX_BUILD_TIME, Tag, build_of, targets,
    waterfall_of,
};
use crate::google::{ServiceError, unix_milliseconds};
use crate::swarming::{CasReference, uuid};

/// Builders of the continuous build, by the builders of the try jobs.
#[derive(Deserialize)]
struct Waterfall {
    builders: BTreeMap<String, String>,
}

static WATERFALL: LazyLock<Waterfall> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../buildbucket/waterfall.json"))
        .expect("the table is readable, as a test makes sure")
});

/// The builder of the continuous build that makes the same as this one, if it exists.
pub(super) fn waterfall(builder: &BuilderId) -> Option<BuilderId> {
    waterfall_of(builder, &WATERFALL.builders)
}

impl LuciExecutor {
    /// Finds a build of a commit, or requests one.
    pub(super) async fn start_build(
        &self,
        commit: &CombinedCommit,
        key: &str,
    ) -> Result<Handle, LuciError> {
        let plan = BuildPlan::new(commit)?;
        let builder = self.config.builder()?;
        let ours = self.services.buildbucket.asked_for(&builder, key).await?;
        let is_answer = |build: &&Build| {
            let is_judged = matches!(build.status, BuildStatus::Success | BuildStatus::Failure);
            is_judged || !build.status.is_final()
        };
        if let Some(build) = ours.iter().find(is_answer) {
            return Ok(Handle::Build(build.id));
        }
        if let Some(build) = self.existing(&plan, &builder, &[]).await? {
            return Ok(Handle::Reused(build.id));
        }
        self.schedule(&plan, &builder, key, ours.len())
            .await
            .map(Handle::Build)
    }

    /// Requests a new build in place of one whose files are gone. Runs that miss the same files
    /// share it.
    pub(super) async fn start_rebuild(
        &self,
        commit: &CombinedCommit,
        key: &str,
        missing: &[String],
    ) -> Result<Handle, LuciError> {
        if let Some(build) = build_given(commit) {
            return Err(LuciError::GivenBuildGone(build.to_string()));
        }
        let plan = BuildPlan::new(commit)?;
        let builder = self.config.builder()?;
        // Others would request the same at the same time.
        let _alone = self.rebuilding.lock().await;
        let ours = self.services.buildbucket.asked_for(&builder, key).await?;
        if let Some(build) = ours.iter().find(|build| !build.status.is_final()) {
            return Ok(Handle::Rebuild(build.id));
        }
        let id = match self.existing(&plan, &builder, missing).await? {
            Some(build) => build.id,
            None => self.schedule(&plan, &builder, key, ours.len()).await?,
        };
        Ok(Handle::Rebuild(id))
    }

    async fn schedule(
        &self,
        plan: &BuildPlan,
        builder: &BuilderId,
        key: &str,
        attempt: usize,
    ) -> Result<i64, LuciError> {
        let job = key.rsplit_once('/').map_or(key, |(job, _)| job);
        let id = uuid(&["build", key, &attempt.to_string()]);
        let request = plan.schedule(builder, job, key, &id);
        let buildbucket = &self.services.buildbucket;
        let mut tries = Tries::new(self.config.seed);
        loop {
            match buildbucket.schedule(&request).await {
                Ok(build) => return Ok(build.id),
                Err(error) => tries.wait_after(error).await?,
            }
            let ours = buildbucket.asked_for(builder, key).await?;
            if let Some(newest) = ours.first().filter(|_| ours.len() > attempt) {
                return Ok(newest.id);
            }
        }
    }

    /// The builders that may have made the same build.
    pub(super) fn builders_of(&self, plan: &BuildPlan, builder: &BuilderId) -> Vec<BuilderId> {
        let waterfall = plan.waterfall(builder, &WATERFALL.builders);
        std::iter::once(builder.clone()).chain(waterfall).collect()
    }

    /// A build of the same commit by any requester, whose files are not among the missing ones.
    async fn existing(
        &self,
        plan: &BuildPlan,
        builder: &BuilderId,
        missing: &[String],
    ) -> Result<Option<Build>, LuciError> {
        let target = &self.config.benchmark.target;
        for builder in self.builders_of(plan, builder) {
            let mut builds = self
                .services
                .buildbucket
                .search(&plan.search(&builder))
                .await?;
            let is_missing = |build: &Build| {
                let digest = targets(build).remove(target);
                digest.is_some_and(|digest| missing.contains(&digest))
            };
            builds.retain(|build| !is_missing(build));
            if let Some(build) = build_of(plan, target, &builds, self.clock.now()) {
                return Ok(Some(build.clone()));
            }
        }
        Ok(None)
    }

    /// Waits for the end of a build that says something about its commit. One that takes too long
    /// is canceled if the action of this key requested it, and otherwise left alone.
    pub(super) async fn build_ended(
        &self,
        id: i64,
        key: &str,
        heartbeat: &Heartbeat,
    ) -> Result<Build, LuciError> {
        let mut first: Option<(u64, bool)> = None;
        loop {
            match self.looked_at(id, first.is_none()).await {
                Ok(build) if build.status.is_final() => return self.judged(build),
                Ok(build) => {
                    heartbeat.beat();
                    let now = self.clock.now();
                    let created = build.create_time.as_deref().and_then(unix_milliseconds);
                    let is_ours = build.tags.contains(&Tag::new(KEY_TAG, key));
                    let (since, is_ours) = *first.get_or_insert((created.unwrap_or(now), is_ours));
                    if now.saturating_sub(since) > MAX_BUILD_TIME.as_millis() as u64 {
                        if is_ours {
                            self.cancel_build(id).await?;
                        }
                        return Err(LuciError::BuildTooLong(id));
                    }
                }
                Err(error) if error.is_not_found() => return Err(LuciError::Lost),
                // The silence of the heart ends the wait when it takes too long.
                Err(error) if error.is_transient() => {
                    tracing::warn!(%error, id, "a build can't be asked for; it is waited for nevertheless");
                }
                Err(error) => return Err(error.into()),
            }
            sleep(self.config.settings.intervals.builds()).await;
        }
    }

    /// A build: all of it at the first look and at its end, and between its status alone, which
    /// costs Buildbucket less.
    async fn looked_at(&self, id: i64, is_first: bool) -> Result<Build, ServiceError> {
        let buildbucket = &self.services.buildbucket;
        let build = match is_first {
            true => return buildbucket.get(id).await,
            false => buildbucket.status(id).await?,
        };
        match build.status.is_final() {
            true => buildbucket.get(id).await,
            false => Ok(build),
        }
    }

    fn judged(&self, build: Build) -> Result<Build, LuciError> {
        match build.status {
            BuildStatus::Success | BuildStatus::Failure => Ok(build),
            status => Err(LuciError::Build {
                id: build.id,
                status,
                reason: build.reason(),
            }),
        }
    }

    /// The files of the target from a build.
    pub(super) fn artifact(&self, build: &Build) -> Result<CasReference, LuciError> {
        let target = &self.config.benchmark.target;
        let digest = targets(build).remove(target);
        let digest = digest.and_then(|digest| digest.parse().ok());
        Ok(CasReference {
            cas_instance: self.config.settings.cas_instance.clone(),
            digest: digest.ok_or_else(|| LuciError::NoTarget {
                id: build.id,
                target: target.clone(),
            })?,
        })
    }

    /// The report of a build that ended.
    pub(super) fn built(&self, build: &Build, commit: CombinedCommit, cached: bool) -> BuildReport {
        let mut report = match (build.status, self.artifact(build)) {
            (BuildStatus::Success, Ok(artifact)) => {
                let mut report = BuildReport::built(commit);
                report.digest = Some(artifact.digest.to_string());
                report.artifact(Artifact::Digest(artifact.to_string()))
            }
            // Another commit may have the target.
            (BuildStatus::Success, Err(error)) => BuildReport::failed(commit, error.to_string()),
            _ => {
                let reason = format!("build {} failed{}", build.id, build.reason());
                BuildReport::failed(commit, reason)
            }
        };
        report.cached = cached;
        report.log = Some(format!("https://ci.chromium.org/b/{}", build.id));
        let time = |text: &Option<String>| text.as_deref().and_then(unix_milliseconds);
        if let (Some(from), Some(to), false) =
            (time(&build.create_time), time(&build.end_time), cached)
        {
            report.duration = to.saturating_sub(from);
        }
        report
    }

    /// Cancels a build, and returns once it has ended.
    pub(super) async fn cancel_build(&self, id: i64) -> Result<(), LuciError> {
        let buildbucket = &self.services.buildbucket;
        let mut build = buildbucket
            .cancel(id, "Pinpoint does not need it any more.")
            .await?;
        while !build.status.is_final() {
            sleep(self.config.settings.intervals.builds()).await;
            build = buildbucket.status(id).await?;
        }
        Ok(())
    }

    /// Cancels the builds that an action requested.
    pub(super) async fn cancel_builds(&self, key: &str) -> Result<(), LuciError> {
        let builder = self.config.builder()?;
        for build in self.services.buildbucket.asked_for(&builder, key).await? {
            if !build.status.is_final() {
                self.cancel_build(build.id).await?;
            }
        }
        Ok(())
    }
}

impl Build {
    /// The first line of a build's summary, after a colon.
    pub(super) fn reason(&self) -> String {
        match self.summary_markdown.lines().next() {
            Some(line) if !line.trim().is_empty() => format!(": {}", line.trim()),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_whole() {
        assert_eq!(super::WATERFALL.builders.len(), 18);
    }
}

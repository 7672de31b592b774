//! The requests for a commit.

use std::collections::BTreeMap;

use pinpoint_core::{CombinedCommit, Patch};
use serde_json::{Map, Value, json};

use super::messages::{
    BuildStatus, BuilderId, GerritChange, GitilesCommit, Mask, Predicate, ScheduleBuildRequest,
    SearchBuilds, Tag,
};
use crate::gitiles::RepositoryUrl;

/// The branch that commits are assumed to be on.
const BRANCH: &str = "refs/heads/main";

/// Builds of a page.
const PAGE: u32 = 100;

/// The tag by which a build or a task of an action is found.
pub(crate) const KEY_TAG: &str = "pinpoint_key";

/// The tag of all builds and tasks of a job.
pub(crate) const JOB_TAG: &str = "pinpoint_job_id";

/// A build of this commit cannot be requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// It is not at Gitiles.
    #[error("{0} is no repository at Gitiles, so that no builder can check it out")]
    Repository(String),
    /// It was made on this machine.
    #[error("{0} was made by merging on this machine: no builder can check it out")]
    Merged(String),
    /// The patch is a file.
    #[error("the patch {0:?} is a file: upload it to Gerrit, from where builders take it")]
    PatchFile(String),
    /// A number that is invalid at Gerrit.
    #[error("the change {change} with the patch set {patchset} can't exist")]
    Numbers {
        /// The change.
        change: u64,
        /// The patch set.
        patchset: u64,
    },
    /// The bucket's name has an unknown form.
    #[error("the bucket {0:?} has no name like luci.PROJECT.BUCKET")]
    Bucket(String),
}

/// The inputs that determine a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildPlan {
    /// The main repository.
    pub repository: RepositoryUrl,
    /// Its commit, by the full hash.
    pub revision: String,
    /// Dependencies that are pinned to other commits than `DEPS` names: hashes by URL.
    pub overrides: BTreeMap<String, String>,
    /// The patch.
    pub changes: Vec<GerritChange>,
}

impl BuildPlan {
    /// The plan for a commit.
    ///
    /// # Errors
    ///
    /// When no builder can make it.
    pub fn new(commit: &CombinedCommit) -> Result<Self, PlanError> {
        let main = &commit.main;
        let at_gitiles = |name: &str| -> Result<RepositoryUrl, PlanError> {
            name.parse().map_err(|_| PlanError::Repository(name.into()))
        };
        let held = commit.modified_deps.iter().map(|held| &held.commit);
        if let Some(merged) = std::iter::once(main)
            .chain(held.clone())
            .find(|it| !it.merged.is_empty())
        {
            return Err(PlanError::Merged(merged.revision()));
        }
        let overrides = held.map(|held| {
            let url = at_gitiles(&held.repository)?;
            Ok((url.to_string(), held.git_hash.clone()))
        });
        Ok(Self {
            repository: at_gitiles(&main.repository)?,
            revision: main.git_hash.clone(),
            overrides: overrides.collect::<Result<_, _>>()?,
            changes: commit.patch.iter().map(change).collect::<Result<_, _>>()?,
        })
    }

    /// The tag that Buildbucket gives to all builds of a commit, patched or not.
    fn buildset(&self) -> Tag {
        let RepositoryUrl { host, project } = &self.repository;
        let value = format!("commit/gitiles/{host}/{project}/+/{}", self.revision);
        Tag::new("buildset", value)
    }

    fn properties(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        properties.insert("clobber".into(), json!(false));
        properties.insert("git_repo".into(), json!(self.repository.to_string()));
        properties.insert("revision".into(), json!(self.revision));
        properties.insert("staging".into(), json!(false));
        if !self.overrides.is_empty() {
            properties.insert("deps_revision_overrides".into(), json!(self.overrides));
        }
        properties
    }

    /// The request for the build.
    ///
    /// # Arguments
    ///
    /// `job` is the id of the job, `key` that of the action, and `request_id` the same when
    /// the request is sent again.
    pub fn schedule(
        &self,
        builder: &BuilderId,
        job: &str,
        key: &str,
        request_id: &str,
    ) -> ScheduleBuildRequest {
        ScheduleBuildRequest {
            request_id: request_id.into(),
            builder: builder.clone(),
            properties: self.properties(),
            gitiles_commit: GitilesCommit {
                host: self.repository.host.clone(),
                project: self.repository.project.clone(),
                id: self.revision.clone(),
                r#ref: BRANCH.into(),
            },
            gerrit_changes: self.changes.clone(),
            tags: vec![
                Tag::new(JOB_TAG, job),
                Tag::new(KEY_TAG, key),
                Tag::new("skia_pinpoint", "true"),
                self.buildset(),
            ],
        }
    }

    /// The search for builds of the same commit, of which [`build_of`](super::build_of) finds the
    /// one that fits.
    pub fn search(&self, builder: &BuilderId) -> SearchBuilds {
        let predicate = Predicate {
            builder: builder.clone(),
            tags: vec![self.buildset()],
            status: None,
            gerrit_changes: self.changes.clone(),
        };
        search(predicate)
    }

    /// The builder of the continuous build that may have made the same, if it exists: it builds
    /// commits as they are.
    pub fn waterfall(
        &self,
        builder: &BuilderId,
        waterfall_builders: &BTreeMap<String, String>,
    ) -> Option<BuilderId> {
        let plain = self.overrides.is_empty() && self.changes.is_empty();
        waterfall_of(builder, waterfall_builders).filter(|_| plain)
    }
}

/// The search for the builds that an action has asked for.
pub(super) fn search_by_key(builder: &BuilderId, key: &str) -> SearchBuilds {
    search(Predicate {
        builder: builder.clone(),
        tags: vec![Tag::new(KEY_TAG, key)],
        status: None,
        gerrit_changes: Vec::new(),
    })
}

/// The search for the newest builds of a builder that succeeded.
pub(crate) fn search_newest(builder: &BuilderId) -> SearchBuilds {
    search(Predicate {
        builder: builder.clone(),
        tags: Vec::new(),
        status: Some(BuildStatus::Success),
        gerrit_changes: Vec::new(),
    })
}

/// The builder of the continuous build that makes the same as a builder of try jobs, if it exists.
pub(crate) fn waterfall_of(
    builder: &BuilderId,
    waterfall_builders: &BTreeMap<String, String>,
) -> Option<BuilderId> {
    let name = waterfall_builders.get(&builder.builder)?;
    Some(BuilderId {
        project: builder.project.clone(),
        bucket: "ci".into(),
        builder: name.clone(),
    })
}

fn search(predicate: Predicate) -> SearchBuilds {
    SearchBuilds {
        predicate,
        mask: Mask::default(),
        page_size: PAGE,
        page_token: String::new(),
    }
}

fn change(patch: &Patch) -> Result<GerritChange, PlanError> {
    let (host, project, change, patchset) = match patch {
        Patch::Gerrit {
            host,
            project,
            change,
            patchset,
            ..
        } => (host, project, *change, *patchset),
        Patch::File { name, .. } => return Err(PlanError::PatchFile(name.clone())),
        other => return Err(PlanError::PatchFile(format!("{other:?}"))),
    };
    let numbers = || PlanError::Numbers { change, patchset };
    Ok(GerritChange {
        host: host.clone(),
        project: project.clone(),
        change: change.try_into().map_err(|_| numbers())?,
        patchset: patchset.try_into().map_err(|_| numbers())?,
    })
}

#[cfg(test)]
mod tests {
    use pinpoint_core::{Commit, ModifiedDependency};

    use super::*;

    const SRC: &str = "https://chromium.googlesource.com/chromium/src.git";

    fn builder() -> BuilderId {
        BuilderId::new("luci.chrome.try", "Linux Builder Perf").unwrap()
    }

    fn commit() -> CombinedCommit {
        Commit::new(SRC, "a1").into()
    }

    #[test]
    fn a_plain_commit_is_asked_for_as_published() {
        let plan = BuildPlan::new(&commit()).unwrap();
        let asked = plan.schedule(&builder(), "job", "job/7", "id");
        let expected = json!({
            "requestId": "id",
            "builder": {"project": "chrome", "bucket": "try", "builder": "Linux Builder Perf"},
            "properties": {
                "clobber": false,
                "git_repo": "https://chromium.googlesource.com/chromium/src",
                "revision": "a1",
                "staging": false,
            },
            "gitilesCommit": {
                "host": "chromium.googlesource.com",
                "project": "chromium/src",
                "id": "a1",
                "ref": "refs/heads/main",
            },
            "tags": [
                {"key": "pinpoint_job_id", "value": "job"},
                {"key": "pinpoint_key", "value": "job/7"},
                {"key": "skia_pinpoint", "value": "true"},
                {
                    "key": "buildset",
                    "value": "commit/gitiles/chromium.googlesource.com/chromium/src/+/a1",
                },
            ],
        });
        assert_eq!(serde_json::to_value(asked).unwrap(), expected);
    }

    #[test]
    fn dependencies_and_a_patch_are_part_of_it() {
        let mut commit = commit();
        commit.modified_deps.push(ModifiedDependency {
            commit: Commit::new("https://chromium.googlesource.com/v8/v8.git", "d1"),
            named_by: SRC.into(),
        });
        commit.patch = Some(Patch::Gerrit {
            host: "chromium-review.googlesource.com".into(),
            project: "chromium/src".into(),
            change: 7,
            patchset: 2,
            hash: None,
        });
        let plan = BuildPlan::new(&commit).unwrap();
        let asked = serde_json::to_value(plan.schedule(&builder(), "job", "job/7", "id")).unwrap();
        let held = json!({"https://chromium.googlesource.com/v8/v8": "d1"});
        assert_eq!(asked["properties"]["deps_revision_overrides"], held);
        let change = json!([{
            "host": "chromium-review.googlesource.com",
            "project": "chromium/src",
            "change": "7",
            "patchset": "2",
        }]);
        assert_eq!(asked["gerritChanges"], change);
        let search = serde_json::to_value(plan.search(&builder())).unwrap();
        assert_eq!(search["predicate"]["gerritChanges"], change);
        let builders = BTreeMap::from([("Linux Builder Perf".into(), "linux-builder-perf".into())]);
        assert_eq!(plan.waterfall(&builder(), &builders), None);
        let plain = BuildPlan::new(&self::commit()).unwrap();
        let waterfall = plain.waterfall(&builder(), &builders).unwrap();
        assert_eq!(
            (&*waterfall.bucket, &*waterfall.builder),
            ("ci", "linux-builder-perf")
        );
    }

    #[test]
    fn what_no_builder_can_make_is_refused() {
        let mut file = commit();
        file.patch = Some(Patch::File {
            name: "try.diff".into(),
            sha256: "00".into(),
        });
        let refused = BuildPlan::new(&file).unwrap_err();
        assert_eq!(refused, PlanError::PatchFile("try.diff".into()));
        let local = CombinedCommit::from(Commit::new("/home/ada/src", "a1"));
        let refused = BuildPlan::new(&local).unwrap_err();
        assert_eq!(refused, PlanError::Repository("/home/ada/src".into()));
        let mut merged = commit();
        merged.main.merged.push("b2".into());
        let refused = BuildPlan::new(&merged).unwrap_err();
        assert_eq!(refused, PlanError::Merged("a1+b2".into()));
        assert_eq!(BuilderId::new("chrome.try", "x"), None);
    }
}

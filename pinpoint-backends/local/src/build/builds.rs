//! The source of a job's builds.

use std::path::PathBuf;
use std::sync::Arc;

use pinpoint_core::CombinedCommit;

use crate::build::finished_build::{Build, BuildOutcome};
use crate::build::maker::Builder;
use crate::error::LocalError;
use crate::process::child::Processes;

/// The builds of a job.
pub(crate) enum Builds {
    /// They are made of commits.
    OfCommits(Box<Builder>),
    /// They existed before the job: each is in the directory that its state names.
    Prebuilt,
}

impl Builds {
    /// The build of a commit, made if it does not exist.
    pub(crate) async fn get(
        &self,
        commit: &CombinedCommit,
        processes: &Arc<Processes>,
    ) -> Result<BuildOutcome, LocalError> {
        match self {
            Self::OfCommits(builder) => builder.build(commit, processes).await,
            Self::Prebuilt => {
                let build = Build::prebuilt(PathBuf::from(&commit.main.repository));
                build.check_tree()?;
                Ok(BuildOutcome::Ready(Arc::new(build)))
            }
        }
    }

    /// Checks, after a failed run, that the build was complete. `run` names it; without a name only
    /// the work tree as a whole matters.
    ///
    /// # Errors
    ///
    /// [`LocalError::BuildDamaged`], after which the build is made again, or
    /// [`LocalError::BuildGone`].
    pub(crate) fn check(&self, build: &Arc<Build>, run: Option<&str>) -> Result<(), LocalError> {
        match self {
            Self::OfCommits(builder) => builder.check(build, run),
            Self::Prebuilt => build.check_tree(),
        }
    }

    /// Makes the next user of a build look for it again.
    pub(crate) fn forget(&self, build: &Arc<Build>) {
        if let Self::OfCommits(builder) = self {
            builder.forget(build);
        }
    }

    /// The hash of a commit; absent for a build of an unknown commit.
    pub(crate) fn hash<'a>(&self, commit: &'a CombinedCommit) -> Option<&'a str> {
        match self {
            Self::OfCommits(_) => Some(&commit.main.git_hash),
            Self::Prebuilt => None,
        }
    }

    /// The name of a commit in messages: its hash, or the directory of the build.
    pub(crate) fn name(&self, commit: &CombinedCommit) -> String {
        let name = self.hash(commit).unwrap_or(&commit.main.repository);
        name.to_owned()
    }
}

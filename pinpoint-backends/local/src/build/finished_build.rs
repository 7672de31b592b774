//! A build of a job: that it exists, and how its tracked files are kept.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pinpoint_core::CombinedCommit;
use serde::{Deserialize, Serialize};

use crate::build::build_dir::{BuildDir, Marker};
use crate::build::tracked_files::{Restored, TrackedFiles};
use crate::error::LocalError;
use crate::process::files::Locked;
use crate::process::sync::locked;
use crate::trace::Traced;

/// The state of a build in this job.
#[derive(Debug, Clone)]
pub(crate) enum BuildOutcome {
    Ready(Arc<Build>),
    Failed(Arc<Failure>),
}

/// A build that exists, and stays while this value lives.
#[derive(Debug)]
pub(crate) struct Build {
    /// Identifies the build, and when it was made.
    pub(crate) key: String,
    /// The work tree in which it is run.
    pub(crate) tree: PathBuf,
    pub(crate) cached: bool,
    pub(crate) duration: u64,
    /// Absent for one that is not ours.
    pub(super) ours: Option<Ours>,
    /// The reads of the build and the benchmark, if traced.
    pub(crate) traced: Option<Traced>,
    /// The commit that was built; absent for one that is not ours.
    pub(crate) commit: Option<CombinedCommit>,
}

/// One of our work trees.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) dir: BuildDir,
    pub(super) marker: Marker,
    /// Its tracked files, once they were restored; absent inside where nothing is recorded.
    pub(super) tracked: Mutex<Option<Option<TrackedFiles>>>,
    pub(super) _in_use: Locked,
}

/// Tracked files of a build were restored.
pub(crate) struct RestoredBuild {
    pub(crate) restored: Restored,
    /// The job has not run anything in it so far.
    pub(crate) is_first: bool,
}

impl Build {
    /// A build that existed before the job.
    pub(crate) fn prebuilt(tree: PathBuf) -> Self {
        Self {
            key: tree.display().to_string(),
            tree,
            cached: true,
            duration: 0,
            ours: None,
            traced: None,
            commit: None,
        }
    }

    /// Restores the tracked files that have changed since it was made, or since the last call.
    ///
    /// Only for the holder of the machine: another job may run in the same build. The next user of
    /// a build that can't be restored makes it again.
    ///
    /// # Errors
    ///
    /// [`LocalError::BuildDamaged`] when it can't be restored.
    pub(crate) fn restore(&self, results: Option<&Path>) -> Result<RestoredBuild, LocalError> {
        let nothing = |is_first| RestoredBuild {
            restored: Restored::default(),
            is_first,
        };
        let Some(Ours { dir, tracked, .. }) = self.ours.as_ref().filter(|_| self.tree.is_dir())
        else {
            return Ok(nothing(false));
        };
        let mut tracked = locked(tracked);
        let restored = match &mut *tracked {
            Some(None) => return Ok(nothing(false)),
            Some(Some(tracked)) => tracked.restore().map(|restored| RestoredBuild {
                restored,
                is_first: false,
            }),
            unknown => TrackedFiles::open(dir, results).map(|opened| {
                let (found, restored) =
                    opened.map_or((None, Restored::default()), |(it, was)| (Some(it), was));
                *unknown = Some(found);
                RestoredBuild {
                    restored,
                    is_first: true,
                }
            }),
        };
        restored.or_else(|error| {
            // It was removed in the meantime, or git's data of it is damaged.
            if let LocalError::Io { .. } = error {
                return Err(error);
            }
            dir.discard()?;
            Err(LocalError::BuildDamaged {
                path: dir.path.clone(),
                missing: format!("its tracked files ({error})"),
            })
        })
    }

    /// Accepts its tracked files as they are from now on: something else is built in it.
    pub(crate) fn forget_tracked(&self) -> Result<(), LocalError> {
        match &self.ours {
            Some(ours) => TrackedFiles::forget(&ours.dir),
            None => Ok(()),
        }
    }

    /// Checks that its work tree still exists.
    pub(crate) fn check_tree(&self) -> Result<(), LocalError> {
        if self.tree.is_dir() {
            return Ok(());
        }
        Err(LocalError::BuildGone {
            path: self.tree.clone(),
        })
    }
}

/// Kept with the job, which does not retry; other jobs may, since the machine may have
/// been at fault.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) duration: u64,
}

//! Work trees for callers who build or run something in them.

use std::path::Path;
use std::sync::Arc;

use pinpoint_core::{CombinedCommit, Key};
use tokio::sync::{MutexGuard, SemaphorePermit};

use crate::build::builds::Builds;
use crate::build::finished_build::{Build, BuildOutcome};
use crate::error::LocalError;
use crate::executor::LocalExecutor;
use crate::process::child::CancelGuard;
use crate::process::machine_lock::{BuildHold, RunHold};
use crate::run::runner::WarmedUp;

/// Two commits that are built, with the machine to run something in their work trees,
/// one right after the other.
///
/// The work trees stay, and the machine is held, while this value lives.
#[derive(Debug)]
pub struct CheckoutPair<'a> {
    builds: [Option<Arc<Build>>; 2],
    _machine: Machine<'a>,
}

impl CheckoutPair<'_> {
    /// The work trees; absent for a commit that no longer builds.
    pub fn trees(&self) -> [Option<&Path>; 2] {
        (self.builds.each_ref()).map(|build| build.as_ref().map(|build| build.tree.as_path()))
    }
}

/// A commit that is built, with the machine to do something in its work tree.
///
/// The work tree stays, and the machine is held, while this value lives.
#[derive(Debug)]
pub struct Checkout<'a> {
    build: Arc<Build>,
    _machine: Machine<'a>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "what is held is let go of when it is dropped")]
enum Machine<'a> {
    /// Shared with other builds, in one of the job's slots.
    Shared(Option<SemaphorePermit<'a>>, BuildHold),
    /// Alone, and first of those waiting to run.
    Alone(MutexGuard<'a, WarmedUp>, RunHold),
}

impl Checkout<'_> {
    /// The work tree.
    pub fn tree(&self) -> &Path {
        &self.build.tree
    }

    /// A directory next to the work tree that is removed with it, for notes on its use.
    pub fn notes(&self) -> &Path {
        self.tree().parent().unwrap_or(self.tree())
    }
}

impl LocalExecutor {
    /// Lends the work tree of a commit to build something there, alongside other builds. `None`
    /// when the commit does not build.
    ///
    /// # Errors
    ///
    /// When the build can't be tried, or the machine is not available; and
    /// [`LocalError::Canceled`].
    pub async fn lend_for_build(
        &self,
        key: &Key,
        commit: &CombinedCommit,
    ) -> Result<Option<Checkout<'_>>, LocalError> {
        let Some(build) = self.lendable(key, commit).await? else {
            return Ok(None);
        };
        build.forget_tracked()?;
        let slot = match &*self.builds {
            Builds::OfCommits(builder) => Some(builder.slot().await?),
            Builds::Prebuilt => None,
        };
        let machine = self.runner.machine.for_build(&build.tree).await?;
        Ok(Some(Checkout {
            build,
            _machine: Machine::Shared(slot, machine),
        }))
    }

    /// Lends the work tree of a commit to run something there, with the whole machine: turns come
    /// in the order of the calls. `None` when the commit no longer builds.
    ///
    /// # Errors
    ///
    /// As [`lend_for_build`](Self::lend_for_build).
    pub async fn lend_for_run(
        &self,
        key: &Key,
        commit: &CombinedCommit,
    ) -> Result<Option<Checkout<'_>>, LocalError> {
        let turn = self.runner.turn.lock().await;
        let Some(build) = self.lendable(key, commit).await? else {
            return Ok(None);
        };
        let machine = self.runner.machine.for_run().await?;
        self.runner.settle().await?;
        Ok(Some(Checkout {
            build,
            _machine: Machine::Alone(turn, machine),
        }))
    }

    /// Lends the work trees of two commits to run something in both, with the whole
    /// machine from the beginning of the first run to the end of the second.
    ///
    /// # Errors
    ///
    /// As [`lend_for_build`](Self::lend_for_build).
    pub async fn lend_for_pair(
        &self,
        key: &Key,
        [first, second]: [&CombinedCommit; 2],
    ) -> Result<CheckoutPair<'_>, LocalError> {
        let turn = self.runner.turn.lock().await;
        // Both before the machine is taken: a build needs it, too.
        let builds = [
            self.lendable(key, first).await?,
            self.lendable(key, second).await?,
        ];
        let machine = self.runner.machine.for_run().await?;
        if builds.iter().any(Option::is_some) {
            self.runner.settle().await?;
        }
        Ok(CheckoutPair {
            builds,
            _machine: Machine::Alone(turn, machine),
        })
    }

    async fn lendable(
        &self,
        key: &Key,
        commit: &CombinedCommit,
    ) -> Result<Option<Arc<Build>>, LocalError> {
        let CancelGuard(processes) = &self.begin(key);
        let made = self.builds.get(commit, processes);
        Ok(match processes.unless_canceled(made).await? {
            BuildOutcome::Ready(build) => Some(build),
            BuildOutcome::Failed(_) => None,
        })
    }
}

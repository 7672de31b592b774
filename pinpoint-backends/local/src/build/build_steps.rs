//! The steps of one build: commands whose output goes to one log.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::{CombinedCommit, Commit};
use pinpoint_midpoint::{History, HistoryError, MidpointError};
use tracing::Instrument;

use crate::blocking::blocking;
use crate::build::build_dir::BuildDir;
use crate::error::LocalError;
use crate::git::history::LocalHistory;
use crate::git::local_clones::LocalClones;
use crate::git::mirror_error::MirrorError;
use crate::git::mirrors::{FetchingBuild, LocatedRepository};
use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;
use crate::git::workspace::{self, Workspace};
use crate::process::child::{self, Ended, Launch, NotRun, Processes};
use crate::process::error_line;
use crate::process::files::Locked;
use crate::process::machine_lock::BuildHold;

/// A build that is being made.
pub(crate) struct BuildSteps<'a> {
    pub(crate) commit: &'a CombinedCommit,
    /// The user has named clones of other repositories.
    pub(crate) names_clones: bool,
    pub(crate) workspace: &'a Workspace,
    pub(crate) clones: &'a LocalClones,
    pub(crate) dir: &'a BuildDir,
    pub(crate) log: &'a Path,
    pub(crate) holds: Arc<Holds>,
    pub(crate) processes: &'a Arc<Processes>,
}

/// All that is held while a build is made.
pub(crate) struct Holds {
    pub(crate) machine: BuildHold,
    pub(crate) _dir: Locked,
    pub(crate) _repositories: Locked,
}

/// The reason why a step of a build failed.
pub(crate) enum BuildStepError {
    /// The commit does not build.
    Build(String),
    /// The step could not even be tried.
    Local(LocalError),
}

impl<E: Into<LocalError>> From<E> for BuildStepError {
    fn from(error: E) -> Self {
        Self::Local(error.into())
    }
}

impl BuildSteps<'_> {
    /// The local clone of a repository.
    pub(crate) async fn located(&self, url: &str) -> Result<Option<LocatedRepository>, LocalError> {
        self.clones.locate(url, Some(self)).await
    }

    /// Like [`hash_of`], while this is built.
    pub(crate) async fn hash_of(
        &self,
        clone: &LocatedRepository,
        commit: &Commit,
    ) -> Result<String, BuildStepError> {
        hash_of(self.workspace, clone, commit, Some(self)).await
    }

    /// Makes a work tree of a commit, and returns which of our repositories it
    /// belongs to.
    pub(crate) async fn check_out(
        &self,
        repository: &Repository,
        hash: &str,
        tree: &Path,
    ) -> Result<PathBuf, LocalError> {
        let (borrowed, listed) = self.workspace.borrow_objects(repository).await?;
        let (ours, users) = (borrowed.clone(), repository.clone());
        let listed = blocking((), move || ours.take_tags(&users).map(|()| listed)).await?;
        // Held to the end of the process, even if this future is dropped.
        let ended = self
            .step_holding(listed, borrowed.add_tree(tree, hash), None)
            .await?;
        self.succeeded(ended, "worktree add", tree)?;
        let ended = self.step(workspace::fill_tree(tree), None).await?;
        if !ended.status.success() {
            let (clone, hash) = (repository.clone(), hash.to_owned());
            let lacking = blocking((), move || Ok(clone.lacking(&hash)?)).await?;
            if let Some(error) = lacking {
                return Err(error.into());
            }
        }
        self.succeeded(ended, "reset --hard", tree)?;
        Ok(borrowed.path().to_owned())
    }

    /// Runs one command with its output in the log.
    pub(crate) async fn step(
        &self,
        command: Command,
        timeout: Option<Duration>,
    ) -> Result<Ended, LocalError> {
        self.step_holding((), command, timeout).await
    }

    /// Like [`step`](Self::step), and keeps `hold` until the command has ended.
    pub(crate) async fn step_holding<H: Send + 'static>(
        &self,
        hold: H,
        command: Command,
        timeout: Option<Duration>,
    ) -> Result<Ended, LocalError> {
        let append = || {
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(self.log)
                .map_err(LocalError::io("open", self.log))
        };
        let program = command.get_program().to_string_lossy().into_owned();
        let launch = Launch {
            command,
            stdout: append()?,
            stderr: append()?,
            cpus: None,
            count_instructions: false,
        };
        let key = self.processes.key();
        let span = tracing::info_span!(
            "build",
            job = key.job,
            action = key.action,
            bot = self.processes.bot(),
            commit = %self.commit.main.revision(),
            program,
        );
        let register = self.holds.machine.register()?;
        let holds = (hold, Arc::clone(&self.holds));
        let ended = child::execute(self.processes, launch, timeout, register, holds)
            .instrument(span)
            .await
            .map_err(|error| match error {
                NotRun::Interrupted(reason) => reason.into(),
                // No program can start in a missing directory.
                NotRun::Spawn(_) if !self.dir.path.is_dir() => LocalError::BuildDamaged {
                    path: self.dir.path.clone(),
                    missing: "tree".into(),
                },
                NotRun::Spawn(source) if program == "git" => {
                    RepositoryError::not_started(source).into()
                }
                NotRun::Spawn(source) => LocalError::Spawn { program, source },
            })?;
        if let Some(left) = ended.left.in_words() {
            let note = |mut log: File| writeln!(log, "pinpoint: after this step {left}");
            note(append()?).map_err(LocalError::io("write", self.log))?;
        }
        Ok(ended)
    }

    /// Git's own steps do not fail because of the commit.
    pub(crate) fn succeeded(
        &self,
        ended: Ended,
        command: &str,
        tree: &Path,
    ) -> Result<(), LocalError> {
        if ended.status.success() {
            return Ok(());
        }
        Err(RepositoryError::Git {
            command: command.into(),
            path: tree.into(),
            status: ended.status.to_string(),
            reason: failure_line(self.log)?,
        }
        .into())
    }
}

#[async_trait]
impl FetchingBuild for BuildSteps<'_> {
    fn log(&self) -> &Path {
        self.log
    }

    async fn run_git(
        &self,
        lock: Arc<Locked>,
        command: Command,
        timeout: Duration,
    ) -> Result<Ended, LocalError> {
        self.step_holding(lock, command, Some(timeout)).await
    }
}

/// The hash by which a commit is checked out, in our own repository for a clone: for a merge that
/// is on no branch, one that is made here.
pub(crate) async fn hash_of(
    workspace: &Workspace,
    clone: &LocatedRepository,
    commit: &Commit,
    build: Option<&dyn FetchingBuild>,
) -> Result<String, BuildStepError> {
    let does_not_build = |error| match error {
        HistoryError::UnknownRevision { .. } => BuildStepError::Build(error.to_string()),
        other => MidpointError::from(other).into(),
    };
    // Fetched here, and not by the history, which does not know a build's locks.
    if let Some(mirror) = &clone.mirror {
        for revision in [&commit.git_hash].into_iter().chain(&commit.merged) {
            match mirror.bring(revision, build).await {
                Err(LocalError::Mirror(error @ MirrorError::NoCommit { .. })) => {
                    return Err(BuildStepError::Build(error.to_string()));
                }
                other => other?,
            }
        }
    }
    let clone = clone.repository.clone();
    let state_dir = workspace.state_dir().to_owned();
    let history = blocking((), move || {
        LocalHistory::open(&clone, &state_dir).map_err(|error| MidpointError::from(error).into())
    })
    .await?;
    // A branch moves, and its present commit may not be the one built.
    let revision = &commit.git_hash;
    let is_hash = revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = if is_hash || revision.starts_with("refs/tags/") {
        revision.clone()
    } else {
        format!("refs/tags/{revision}")
    };
    let hash = history.resolve(&name).await.map_err(does_not_build)?;
    let merged = history.merged_commit(&hash, &commit.merged).await;
    merged.map_err(does_not_build)?.ok_or_else(|| {
        BuildStepError::Build(format!(
            "merging {} into {} of {} gives conflicts",
            commit.merged.join(" and "),
            commit.git_hash,
            commit.repository
        ))
    })
}

/// Adds to a log a failure that does not matter to the job.
pub(crate) fn note(log: &Path, what: impl Display) -> Result<(), LocalError> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(log)
        .and_then(|mut log| writeln!(log, "pinpoint: {what}"))
        .map_err(LocalError::io("write", log))
}

/// The line of a log that explains the failure of its last step.
pub(crate) fn failure_line(path: &Path) -> Result<String, LocalError> {
    File::open(path)
        .and_then(|file| error_line::of_run(&file))
        .map_err(LocalError::io("read", path))
}

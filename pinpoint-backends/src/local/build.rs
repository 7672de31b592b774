//! Making a build, or finding it.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pinpoint_core::{Artifact, BuildReport, CombinedCommit, Commit, Located, Patch};
use pinpoint_midpoint::{History, HistoryError, MidpointError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::executor::{Sources, blocking, locked};
use super::files::{self, Locked};
use super::machine_lock::BuildHold;
use super::process::{self, Beyond, Ended, Launch, Limits, NotRun, Work};
use super::run::MOST_OUTPUT;
use super::workspace::{self, Found, LaidOut, Marker, Place, Whole, hexadecimal};
use super::{LocalError, LocalExecutor, LocalHistory, Repository, RepositoryError};

/// Further places for a build whose own can't be used.
const MOST_PLACES: u32 = 16;

/// What became of a build in this job.
#[derive(Debug, Clone)]
pub(super) enum Made {
    Ready(Arc<Build>),
    Failed(Arc<Failure>),
}

/// A build that is there, and stays while this value lives.
#[derive(Debug)]
pub(super) struct Build {
    /// Names what was built, and which making of it this is.
    pub(super) key: String,
    /// Where it is run.
    pub(super) tree: PathBuf,
    cached: bool,
    duration: u64,
    /// Absent for one that is not ours.
    ours: Option<Ours>,
}

/// What makes a build ours.
#[derive(Debug)]
struct Ours {
    place: Place,
    marker: Marker,
    _in_use: Locked,
}

impl Build {
    /// Whether it is a work tree of ours.
    pub(super) fn is_ours(&self) -> bool {
        self.ours.is_some()
    }
}

/// Kept with the job, which does not try again; other jobs may, since the
/// machine may have been at fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) duration: u64,
}

/// What is held while a build is made.
struct Hold {
    machine: BuildHold,
    _place: Locked,
    _repositories: Locked,
}

/// A build in the making: where, and what is held meanwhile.
pub(super) struct Making<'a> {
    pub(super) executor: &'a LocalExecutor,
    pub(super) sources: &'a Sources,
    pub(super) place: &'a Place,
    log: &'a Path,
    holds: Arc<Hold>,
    work: &'a Arc<Work>,
}

/// Why a step of a build did not go well.
pub(super) enum Trouble {
    /// The commit does not build.
    Build(String),
    /// It could not even be tried.
    Local(LocalError),
}

impl<E: Into<LocalError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Local(error.into())
    }
}

impl LocalExecutor {
    pub(super) async fn build_located(
        &self,
        located: &Located,
        work: &Arc<Work>,
    ) -> Result<BuildReport, LocalError> {
        let commit = self.name(located).await?;
        let log = match &self.sources {
            Some(sources) => {
                self.build_log(&workspace::key(&commit, &self.config, &sources.at_hand))
            }
            None => PathBuf::new(),
        };
        // Git takes its time to describe a commit, and the build does not need it.
        let (made, commit) =
            tokio::try_join!(self.built(&commit, work), self.describe(commit.clone()))?;
        let mut report = BuildReport::built(commit);
        report.log = log.exists().then(|| log.display().to_string());
        match made {
            Made::Ready(build) => {
                report.cached = build.cached;
                report.duration = build.duration;
                report.artifact = Some(Artifact::Directory(build.tree.display().to_string()));
            }
            Made::Failed(failure) => {
                report.failure = Some(failure.reason.clone());
                report.duration = failure.duration;
            }
        }
        Ok(report)
    }

    fn build_log(&self, key: &str) -> PathBuf {
        self.job_dir.join("builds").join(format!("{key}.log"))
    }

    /// The build of a commit, made when it is not there. Whoever asks while
    /// another does waits for the same build.
    pub(super) async fn built(
        &self,
        commit: &CombinedCommit,
        work: &Arc<Work>,
    ) -> Result<Made, LocalError> {
        if let Some(Patch::Gerrit { host, change, .. }) = &commit.patch {
            return Err(LocalError::PatchAtGerrit {
                host: host.clone(),
                change: *change,
            });
        }
        let Some(sources) = &self.sources else {
            return made_already(commit);
        };
        let key = workspace::key(commit, &self.config, &sources.at_hand);
        loop {
            let build = Arc::clone(locked(&self.builds).entry(key.clone()).or_default());
            let made = build
                .get_or_try_init(|| self.make(commit, &key, sources, work))
                .await?
                .clone();
            match &made {
                // It was removed by another program.
                Made::Ready(ready) if !ready.tree.is_dir() => self.forget(ready),
                _ => return Ok(made),
            }
        }
    }

    /// Has a build looked for again when it is needed next.
    fn forget(&self, damaged: &Arc<Build>) {
        locked(&self.builds).retain(|_, cell| match cell.get() {
            Some(Made::Ready(build)) => !Arc::ptr_eq(build, damaged),
            _ => true,
        });
    }

    /// After a run that failed: was it made in all of the build?
    ///
    /// What removes part of a build is no fault of the commit, so the run is made
    /// again in a new one; but one that fails so twice does it itself, and counts.
    /// `run` names it; without a name only the work tree as a whole matters.
    ///
    /// # Errors
    ///
    /// [`LocalError::BuildDamaged`], after which the build is made again.
    pub(super) fn check_build(
        &self,
        build: &Arc<Build>,
        run: Option<&str>,
    ) -> Result<(), LocalError> {
        let Some(Ours { place, marker, .. }) = &build.ours else {
            return match build.tree.is_dir() {
                true => Ok(()),
                false => Err(LocalError::BuildGone {
                    path: build.tree.clone(),
                }),
            };
        };
        let whole = Whole::But(self.config.results.as_deref());
        let Some(missing) = place.missing(marker, whole)? else {
            return Ok(());
        };
        self.forget(build);
        let counts = match run {
            Some(run) => !locked(&self.damaged_runs).insert(run.to_owned()),
            None => true,
        };
        if counts && build.tree.is_dir() {
            return Ok(());
        }
        Err(LocalError::BuildDamaged {
            path: place.directory.clone(),
            missing,
        })
    }

    async fn make(
        &self,
        commit: &CombinedCommit,
        key: &str,
        sources: &Sources,
        work: &Arc<Work>,
    ) -> Result<Made, LocalError> {
        /// Others hold the lock for a moment, to see whether it is there; who holds
        /// a damaged build for longer uses it.
        const MOMENTS: u32 = 50;
        let is_skipped = |hash| self.config.skip.contains(hash);
        if is_skipped(&commit.main.git_hash) || commit.main.merged.iter().any(is_skipped) {
            return Ok(Made::Failed(Arc::new(Failure {
                reason: "skipped on request".into(),
                duration: 0,
            })));
        }
        let remembered = self.job_dir.join("builds").join(format!("{key}.json"));
        if let Some(failure) = files::read_json(&remembered)? {
            return Ok(Made::Failed(Arc::new(failure)));
        }
        let (mut place, mut further) = (self.workspace.place(key, 0), 0);
        let log = self.build_log(key);
        let mut whole = Whole::But(self.config.results.as_deref());
        let mut slot = None;
        let mut moments = 0;
        loop {
            let (found, in_use) = place.use_it(whole).await?;
            if let Some(marker) = self.usable(&found, sources).await? {
                let making = self.makings.fetch_add(1, Ordering::Relaxed);
                return Ok(Made::Ready(Arc::new(Build {
                    key: format!("{key} {making}"),
                    tree: place.tree.clone(),
                    cached: matches!(whole, Whole::But(_)),
                    duration: marker.duration,
                    ours: Some(Ours {
                        marker: marker.clone(),
                        place,
                        _in_use: in_use,
                    }),
                })));
            }
            drop(in_use);
            if slot.is_none() {
                slot = Some(self.build_slots.acquire().await);
                continue;
            }
            let Some(alone) = place.make_it()? else {
                moments += 1;
                let is_used = !matches!(found, Found::Nothing);
                if is_used && moments > MOMENTS && further < MOST_PLACES {
                    moments = 0;
                    further += 1;
                    place = self.workspace.place(key, further);
                } else {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                continue;
            };
            // Somebody may have made it meanwhile.
            let found = place.look(whole)?;
            if self.usable(&found, sources).await?.is_some() {
                continue;
            }
            if further == 0 {
                files::create(&log)?;
            }
            let holds = self.hold(&place, alone).await?;
            let empty = place.clone();
            let removed = blocking(Arc::clone(&holds), move || Ok(empty.remove())).await?;
            if let Err(error) = removed {
                note(&log, &error)?;
                if further == MOST_PLACES {
                    return Err(error);
                }
                further += 1;
                place = self.workspace.place(key, further);
                continue;
            }
            let making = Making {
                executor: self,
                sources,
                place: &place,
                log: &log,
                holds,
                work,
            };
            if let Some(failure) = self.make_alone(commit, making).await? {
                files::write_json(&remembered, &failure)?;
                return Ok(Made::Failed(Arc::new(failure)));
            }
            whole = Whole::Tree;
        }
    }

    /// The marker of a build that is whole, and of which nothing was left out that
    /// is there now.
    async fn usable<'a>(
        &self,
        found: &'a Found,
        sources: &Sources,
    ) -> Result<Option<&'a Marker>, LocalError> {
        let Found::Whole(marker) = found else {
            return Ok(None);
        };
        for (url, revision) in &marker.left_out {
            let Some(clone) = sources.at_hand.locate(url)? else {
                continue;
            };
            match self.hash_of(&clone, &Commit::new(url, revision)).await {
                Ok(_) => return Ok(None),
                Err(Trouble::Build(_)) => {}
                Err(Trouble::Local(error)) => return Err(error),
            }
        }
        Ok(Some(marker))
    }

    /// What is held while a build is made at this place.
    async fn hold(&self, place: &Place, alone: Locked) -> Result<Arc<Hold>, LocalError> {
        Ok(Arc::new(Hold {
            _place: alone,
            _repositories: self.workspace.keep_repositories().await?,
            // Making room and removing disturb a measurement as building does,
            // so the machine is held until all is done.
            machine: self.machine.for_build(&place.tree).await?,
        }))
    }

    /// Makes a build; the answer is why it failed, if it did.
    async fn make_alone(
        &self,
        commit: &CombinedCommit,
        making: Making<'_>,
    ) -> Result<Option<Failure>, LocalError> {
        let (place, holds) = (making.place, Arc::clone(&making.holds));
        let began = Instant::now();
        place.create()?;
        let log = making.log.to_owned();
        match making.take_steps(commit).await {
            Ok(_) if !place.tree.is_dir() => Ok(Some(Failure {
                reason: "the build command removed its work tree".into(),
                duration: milliseconds(began.elapsed()),
            })),
            Ok(made) => {
                let place = place.clone();
                let workspace = self.workspace.clone();
                let cache_size = self.config.cache_size;
                blocking(holds, move || {
                    place.finish(made, began.elapsed())?;
                    for (path, reason) in workspace.shrink(cache_size)?.failed {
                        note(&log, format!("can't remove {}: {reason}", path.display()))?;
                    }
                    Ok(None)
                })
                .await
            }
            Err(Trouble::Build(reason)) => {
                let place = place.clone();
                let duration = milliseconds(began.elapsed());
                blocking(holds, move || {
                    workspace::check_room(&place.tree)?;
                    if let Err(error) = place.remove() {
                        note(&log, error)?;
                    }
                    Ok(Some(Failure { reason, duration }))
                })
                .await
            }
            Err(Trouble::Local(error)) => {
                // A full disk fails in many ways; say the one that matters.
                workspace::check_room(&place.directory)?;
                Err(error)
            }
        }
    }

    /// Gives a command the environment of builds and runs.
    pub(super) fn set_environment(&self, command: &mut Command, commit: &CombinedCommit) {
        // By name, and not all at once: `process::execute` can't see that.
        for (name, _) in std::env::vars_os() {
            if !self.environment.iter().any(|(kept, _)| *kept == name) {
                command.env_remove(name);
            }
        }
        command
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("PINPOINT_JOB", &self.job)
            .envs(&self.config.env);
        if self.sources.is_some() {
            command.env("PINPOINT_COMMIT", &commit.main.git_hash);
        }
    }

    /// Why a process did not succeed, in a line; absent when it did.
    pub(super) fn why_failed(
        &self,
        ended: &Ended,
        output: &Path,
    ) -> Result<Option<String>, LocalError> {
        if self.how_failed(ended, "").is_none() {
            return Ok(None);
        }
        Ok(self.how_failed(ended, &last_line(output)?))
    }

    /// As [`why_failed`](Self::why_failed), with the last that it wrote.
    pub(super) fn how_failed(&self, ended: &Ended, last_line: &str) -> Option<String> {
        match ended.beyond {
            Some(Beyond::Timeout) => {
                let limit = self.config.timeout.unwrap_or_default();
                return Some(format!("timed out after {limit:?}"));
            }
            Some(Beyond::Output) => {
                return Some(format!(
                    "wrote more than {} MiB of output; send what is not needed to /dev/null",
                    MOST_OUTPUT >> 20
                ));
            }
            None => {}
        }
        if ended.status.success() {
            return None;
        }
        let how = match ended.status.code() {
            Some(code) => format!("failed with exit code {code}"),
            None => format!("was ended by a {}", ended.status),
        };
        Some(match last_line {
            "" => how,
            line => format!("{how}: {line}"),
        })
    }
}

impl Making<'_> {
    /// Fills the work tree and runs the build command in it.
    async fn take_steps(&self, commit: &CombinedCommit) -> Result<LaidOut, Trouble> {
        let config = &self.executor.config;
        let repository = &self.sources.repository;
        let tree = &self.place.tree;
        let hash = self.executor.hash_of(repository, &commit.main).await?;
        let borrowed = self.check_out(repository, &hash, tree).await?;
        let mut made = self.place_dependencies(commit).await?;
        made.repositories.insert(borrowed);
        if let Some(Patch::File { name, sha256 }) = &commit.patch {
            let patch = self.patch_file(name, sha256)?;
            let ended = self.step(workspace::apply_patch(tree, patch), None).await?;
            if !ended.status.success() {
                return Err(Trouble::Build(format!(
                    "the patch {name} does not apply: {}",
                    last_line(self.log)?
                )));
            }
        }
        if let Some(script) = &config.build {
            let mut command = Command::new("sh");
            command.arg("-c").arg(script).current_dir(tree);
            self.executor.set_environment(&mut command, commit);
            let ended = self.step(command, config.timeout).await?;
            if let Some(reason) = self.executor.why_failed(&ended, self.log)? {
                return Err(Trouble::Build(format!("the build command {reason}")));
            }
        }
        Ok(made)
    }
}

impl LocalExecutor {
    /// The hash that a commit is checked out by, in our own repository for a
    /// clone: of a merge that no branch holds, one that is made here.
    pub(super) async fn hash_of(
        &self,
        clone: &Repository,
        commit: &Commit,
    ) -> Result<String, Trouble> {
        let does_not_build = |error| match error {
            HistoryError::UnknownRevision { .. } => Trouble::Build(error.to_string()),
            other => MidpointError::from(other).into(),
        };
        let clone = clone.clone();
        let state_dir = self.workspace.state_dir().to_owned();
        let history = blocking((), move || {
            LocalHistory::open(&clone, &state_dir)
                .map_err(|error| MidpointError::from(error).into())
        })
        .await?;
        // A branch moves, and says nothing about what was built then.
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
            Trouble::Build(format!(
                "merging {} into {} of {} gives conflicts",
                commit.merged.join(" and "),
                commit.git_hash,
                commit.repository
            ))
        })
    }
}

impl Making<'_> {
    /// Makes a work tree of a commit, and tells which of our repositories it
    /// belongs to.
    pub(super) async fn check_out(
        &self,
        repository: &Repository,
        hash: &str,
        tree: &Path,
    ) -> Result<PathBuf, LocalError> {
        let (borrowed, listed) = self.executor.workspace.borrow_objects(repository).await?;
        let (ours, users) = (borrowed.clone(), repository.clone());
        let listed = blocking((), move || ours.take_tags(&users).map(|()| listed)).await?;
        // Held to the end of the process, whatever becomes of this future.
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
    pub(super) async fn step(
        &self,
        command: Command,
        timeout: Option<Duration>,
    ) -> Result<Ended, LocalError> {
        self.step_holding((), command, timeout).await
    }

    async fn step_holding<H: Send + 'static>(
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
        };
        let limits = Limits {
            timeout,
            output: MOST_OUTPUT,
        };
        let register = self.holds.machine.register()?;
        let holds = (hold, Arc::clone(&self.holds));
        let ended = process::execute(self.work, launch, limits, register, holds)
            .await
            .map_err(|error| match error {
                NotRun::Failed(error) => error,
                // No program starts in a directory that is gone.
                NotRun::Spawn(_) if !self.place.directory.is_dir() => LocalError::BuildDamaged {
                    path: self.place.directory.clone(),
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

    /// Git's own steps fail for no fault of the commit.
    pub(super) fn succeeded(
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
            reason: last_line(self.log)?,
        }
        .into())
    }

    /// The file of a patch, if it is still the one that the commit names.
    fn patch_file(&self, name: &str, sha256: &str) -> Result<&Path, LocalError> {
        let changed = || LocalError::PatchChanged {
            name: name.into(),
            path: self.executor.config.patch.clone(),
        };
        let path = self.executor.config.patch.as_deref().ok_or_else(changed)?;
        let bytes = fs::read(path).map_err(LocalError::io("read", path))?;
        if hexadecimal(&Sha256::digest(&bytes)) != sha256 {
            return Err(changed());
        }
        Ok(path)
    }
}

/// A build that was made already is where its state says.
fn made_already(commit: &CombinedCommit) -> Result<Made, LocalError> {
    let directory = PathBuf::from(&commit.main.repository);
    if !directory.is_dir() {
        return Err(LocalError::BuildGone { path: directory });
    }
    Ok(Made::Ready(Arc::new(Build {
        key: commit.main.repository.clone(),
        tree: directory,
        cached: true,
        duration: 0,
        ours: None,
    })))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Adds to a log what could not be done, and does not matter to the job.
fn note(log: &Path, what: impl Display) -> Result<(), LocalError> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(log)
        .and_then(|mut log| writeln!(log, "pinpoint: {what}"))
        .map_err(LocalError::io("write", log))
}

/// The last line of a file that says something.
fn last_line(path: &Path) -> Result<String, LocalError> {
    let text = tail(path)?;
    Ok(text.lines().last().unwrap_or_default().trim().to_owned())
}

/// The end of a file that may be long: no more than a screen shows.
fn tail(path: &Path) -> Result<String, LocalError> {
    File::open(path)
        .and_then(|file| files::tail(&file))
        .map_err(LocalError::io("read", path))
}

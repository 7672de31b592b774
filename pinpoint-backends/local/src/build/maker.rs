//! Making or finding a build.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pinpoint_core::{CombinedCommit, Commit, Patch};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::blocking::blocking;
use crate::build::build_dir::{
    BuildDir, BuildOnDisk, LaidOut, Marker, RequiredParts, milliseconds,
};
use crate::build::build_key::{key, stored_key};
use crate::build::build_steps::{BuildStepError, BuildSteps, Holds, failure_line, hash_of, note};
use crate::build::build_store::{self, BuildLookup, BuildStore};
use crate::build::finished_build::{Build, BuildOutcome, Failure, Ours};
use crate::build::incomplete_checkout;
use crate::build::traced_builds::TRACED;
use crate::build::tracked_files::TrackedFiles;
use crate::config::LocalConfig;
use crate::error::LocalError;
use crate::git::local_clones::LocalClones;
use crate::git::mirrors::LocatedRepository;
use crate::git::workspace::{self, Workspace};
use crate::process::child::Processes;
use crate::process::environment::Environment;
use crate::process::error_line;
use crate::process::files::{self, Locked};
use crate::process::machine_lock::MachineLock;
use crate::process::sync::locked;
use crate::trace::{BuildSnapshot, Traced, Tracer};

/// Further places for a build whose first place can't be used.
const MOST_PLACES: u32 = 16;

/// The end of the names of files that describe damage to stored builds.
const DAMAGED: &str = ".damaged.json";

/// Makes the builds of a job, several at once, each once.
pub(crate) struct Builder {
    pub(super) config: Arc<LocalConfig>,
    pub(super) environment: Arc<Environment>,
    /// The directory for logs and the reasons of failures.
    pub(super) logs: PathBuf,
    pub(super) workspace: Workspace,
    pub(super) repository: LocatedRepository,
    clones: LocalClones,
    machine: Arc<MachineLock>,
    slots: Semaphore,
    builds: Mutex<HashMap<String, Arc<OnceCell<BuildOutcome>>>>,
    /// The number of builds made or found: it distinguishes a build from one made after
    /// it.
    makings: AtomicU64,
    /// Runs that failed in a build which had lost something.
    damaged_runs: Mutex<HashSet<String>>,
    /// Opened when something is traced: reports need none.
    pub(super) tracer: OnceCell<Tracer>,
    store: Option<BuildStore>,
}

impl Builder {
    pub(crate) fn new(
        config: &Arc<LocalConfig>,
        environment: &Arc<Environment>,
        logs: PathBuf,
        workspace: Workspace,
        (repository, clones): (LocatedRepository, LocalClones),
        machine: &Arc<MachineLock>,
        store: Option<BuildStore>,
    ) -> Self {
        let slots = usize::try_from(config.build_jobs.max(1)).unwrap_or(usize::MAX);
        Self {
            tracer: OnceCell::new(),
            store,
            config: Arc::clone(config),
            environment: Arc::clone(environment),
            logs,
            workspace,
            repository,
            clones,
            machine: Arc::clone(machine),
            slots: Semaphore::new(slots.min(Semaphore::MAX_PERMITS)),
            builds: Mutex::default(),
            makings: AtomicU64::default(),
            damaged_runs: Mutex::default(),
        }
    }

    /// The path of a build's log, if there is one.
    pub(crate) fn log_of(&self, commit: &CombinedCommit) -> Option<String> {
        let log = self.log(&self.key(commit));
        log.exists().then(|| log.display().to_string())
    }

    /// The name of a build here. Where the job was created elsewhere, that does not depend
    /// on where its creator has the repository.
    fn key(&self, commit: &CombinedCommit) -> String {
        match self.clones.by_url(commit, &self.config.urls) {
            Some(commit) => key(&commit, &self.config, self.clones.names()),
            None => key(commit, &self.config, self.clones.names()),
        }
    }

    /// The store, and the name of a build in it; absent for one that is not stored.
    fn stored_key(&self, commit: &CombinedCommit, made: &LaidOut) -> Option<(BuildStore, String)> {
        // Dependencies left to the build command are unknown.
        if !made.left_out.is_empty() {
            return None;
        }
        let key = stored_key(commit, &self.config, &made.checkouts)?;
        Some((self.store.clone()?, key))
    }

    fn job_dir(&self) -> &Path {
        self.logs.parent().unwrap_or(&self.logs)
    }

    fn log(&self, key: &str) -> PathBuf {
        self.logs.join(format!("{key}.log"))
    }

    /// Waits for one of the job's slots for builds.
    pub(crate) async fn slot(&self) -> Result<SemaphorePermit<'_>, LocalError> {
        // It is never closed.
        (self.slots.acquire().await).map_err(|_| LocalError::ShutDown)
    }

    /// The build of a commit, made if it does not exist. Callers that ask for it at the
    /// same time wait for the same build.
    pub(crate) async fn build(
        &self,
        commit: &CombinedCommit,
        processes: &Arc<Processes>,
    ) -> Result<BuildOutcome, LocalError> {
        if let Some(Patch::Gerrit { host, change, .. }) = &commit.patch {
            return Err(LocalError::PatchAtGerrit {
                host: host.clone(),
                change: *change,
            });
        }
        let key = self.key(commit);
        loop {
            let build = Arc::clone(locked(&self.builds).entry(key.clone()).or_default());
            let made = build
                .get_or_try_init(|| self.make(commit, &key, processes))
                .await?
                .clone();
            match &made {
                // It was removed by another program.
                BuildOutcome::Ready(ready) if !ready.tree.is_dir() => self.forget(ready),
                _ => return Ok(made),
            }
        }
    }

    /// Makes the next user of a build look for it again.
    pub(crate) fn forget(&self, damaged: &Arc<Build>) {
        locked(&self.builds).retain(|_, cell| match cell.get() {
            Some(BuildOutcome::Ready(build)) => !Arc::ptr_eq(build, damaged),
            _ => true,
        });
    }

    /// Checks, after a failed run, that the build was complete.
    ///
    /// It is not the commit's fault that part of a build was removed, so the run is made again in a
    /// new one; but if it fails so twice it removes the part itself, and counts. `run` names the
    /// run; without a name only the work tree as a whole matters.
    ///
    /// # Errors
    ///
    /// [`LocalError::BuildDamaged`], after which the build is made again.
    pub(crate) fn check(&self, build: &Arc<Build>, run: Option<&str>) -> Result<(), LocalError> {
        let Some(Ours { dir, marker, .. }) = &build.ours else {
            return Ok(());
        };
        let whole = RequiredParts::But(self.config.results.as_deref());
        let Some(missing) = dir.missing(marker, whole)? else {
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
            path: dir.path.clone(),
            missing,
        })
    }

    async fn make(
        &self,
        commit: &CombinedCommit,
        key: &str,
        processes: &Arc<Processes>,
    ) -> Result<BuildOutcome, LocalError> {
        /// Others hold the lock briefly, to see whether it is there; a process that holds
        /// a damaged build for longer uses it.
        const MOMENTS: u32 = 50;
        let is_skipped = |hash| self.config.skip.contains(hash);
        if is_skipped(&commit.main.git_hash) || commit.main.merged.iter().any(is_skipped) {
            return Ok(BuildOutcome::Failed(Arc::new(Failure {
                reason: "skipped on request".into(),
                duration: 0,
            })));
        }
        let remembered = self.logs.join(format!("{key}.json"));
        if let Some(failure) = files::read_json(&remembered)? {
            return Ok(BuildOutcome::Failed(Arc::new(failure)));
        }
        if let Some(same) = self.same_build(commit, key, processes).await? {
            return Ok(same);
        }
        let (mut dir, mut further) = (self.workspace.build_dir(key, 0), 0);
        let log = self.log(key);
        let mut whole = RequiredParts::But(self.config.results.as_deref());
        let mut was_stored = false;
        let mut slot = None;
        let mut moments = 0;
        loop {
            let (found, in_use) = dir.use_it(whole).await?;
            if let Some(marker) = self.usable(&found).await? {
                let making = self.makings.fetch_add(1, Ordering::Relaxed);
                for (remark, sentence) in &marker.remarks {
                    remark.note(self.job_dir(), sentence)?;
                }
                let traced: Option<Traced> = match self.config.trace {
                    true => files::read_json(&dir.traced())?.map(Traced::if_still_true),
                    false => None,
                };
                if let Some(traced) = &traced {
                    let note = self.logs.join(format!("{key}{TRACED}"));
                    files::write_json(&note, &(commit, traced))?;
                }
                return Ok(BuildOutcome::Ready(Arc::new(Build {
                    traced,
                    commit: Some(commit.clone()),
                    key: format!("{key} {making}"),
                    tree: dir.tree.clone(),
                    cached: was_stored || matches!(whole, RequiredParts::But(_)),
                    duration: marker.duration,
                    ours: Some(Ours {
                        marker: marker.clone(),
                        dir,
                        tracked: Mutex::default(),
                        _in_use: in_use,
                    }),
                })));
            }
            drop(in_use);
            if slot.is_none() {
                slot = Some(self.slot().await?);
                continue;
            }
            let Some(alone) = dir.make_it()? else {
                moments += 1;
                let is_used = !matches!(found, BuildOnDisk::Nothing);
                if is_used && moments > MOMENTS && further < MOST_PLACES {
                    moments = 0;
                    further += 1;
                    dir = self.workspace.build_dir(key, further);
                } else {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                continue;
            };
            // Another process may have made it in the meantime.
            let found = dir.look(whole)?;
            if self.usable(&found).await?.is_some() {
                continue;
            }
            if further == 0 {
                files::create(&log)?;
            }
            let holds = self.hold(&dir, alone).await?;
            let empty = dir.clone();
            let removed = blocking(Arc::clone(&holds), move || Ok(empty.remove())).await?;
            if let Err(error) = removed {
                note(&log, &error)?;
                if further == MOST_PLACES {
                    return Err(error);
                }
                further += 1;
                dir = self.workspace.build_dir(key, further);
                continue;
            }
            let steps = BuildSteps {
                commit,
                names_clones: !self.config.repositories.is_empty(),
                workspace: &self.workspace,
                clones: &self.clones,
                dir: &dir,
                log: &log,
                holds,
                processes,
            };
            match self.make_alone(steps).await? {
                Ok(stored) => was_stored = stored,
                Err(failure) => {
                    files::write_json(&remembered, &failure)?;
                    return Ok(BuildOutcome::Failed(Arc::new(failure)));
                }
            }
            whole = RequiredParts::Tree;
        }
    }

    /// The marker of a complete build from which nothing was left out that is available now.
    async fn usable<'a>(&self, found: &'a BuildOnDisk) -> Result<Option<&'a Marker>, LocalError> {
        let BuildOnDisk::Whole(marker) = found else {
            return Ok(None);
        };
        for (url, revision) in &marker.left_out {
            let Some(clone) = self.clones.locate(url, None).await? else {
                continue;
            };
            let commit = Commit::new(url, revision);
            match hash_of(&self.workspace, &clone, &commit, None).await {
                Ok(_) => return Ok(None),
                Err(BuildStepError::Build(_)) => {}
                Err(BuildStepError::Local(error)) => return Err(error),
            }
        }
        Ok(Some(marker))
    }

    /// Takes everything that is held while a build is made.
    async fn hold(&self, dir: &BuildDir, alone: Locked) -> Result<Arc<Holds>, LocalError> {
        Ok(Arc::new(Holds {
            _dir: alone,
            _repositories: self.workspace.keep_repositories().await?,
            // Making room and removing disturb a measurement as much as building,
            // so the machine is held until all is done.
            machine: self.machine.for_build(&dir.tree).await?,
        }))
    }

    /// Makes a build, with the locks it holds; returns whether it was in the store, or the
    /// reason for its failure.
    async fn make_alone(&self, steps: BuildSteps<'_>) -> Result<Result<bool, Failure>, LocalError> {
        let (dir, holds) = (steps.dir, Arc::clone(&steps.holds));
        let began = Instant::now();
        dir.create()?;
        let log = steps.log.to_owned();
        match self.take(&steps).await {
            Ok(_) if !dir.tree.is_dir() => Ok(Err(Failure {
                reason: "the build command removed its work tree".into(),
                duration: milliseconds(began.elapsed()),
            })),
            Ok(made) => {
                let dir = dir.clone();
                let workspace = self.workspace.clone();
                let cache_size = self.config.cache_size;
                let was_stored = made.stored;
                blocking(holds, move || {
                    dir.finish(made, began)?;
                    for (path, reason) in workspace.shrink(cache_size)?.failed {
                        note(&log, format!("can't remove {}: {reason}", path.display()))?;
                    }
                    Ok(Ok(was_stored))
                })
                .await
            }
            Err(BuildStepError::Build(reason)) => {
                let dir = dir.clone();
                let duration = milliseconds(began.elapsed());
                blocking(holds, move || {
                    files::check_room(&dir.tree)?;
                    if let Err(error) = dir.remove() {
                        note(&log, error)?;
                    }
                    Ok(Err(Failure { reason, duration }))
                })
                .await
            }
            Err(BuildStepError::Local(error)) => {
                // A full disk fails in many ways; this reports the real cause.
                files::check_room(&dir.path)?;
                Err(error)
            }
        }
    }

    /// Fills the work tree: the commit, its dependencies and its patch.
    async fn lay_out(&self, steps: &BuildSteps<'_>) -> Result<LaidOut, BuildStepError> {
        let (commit, repository, tree) = (steps.commit, &self.repository, &steps.dir.tree);
        let hash = steps.hash_of(repository, &commit.main).await?;
        let borrowed = steps.check_out(&repository.repository, &hash, tree).await?;
        let mut made = steps.place_dependencies().await?;
        made.repositories.insert(borrowed);
        let checkout = (commit.main.repository.clone(), hash);
        made.checkouts.insert("tree".into(), checkout);
        if let Some(Patch::File { name, sha256 }) = &commit.patch {
            let patch = self.patch_file(name, sha256)?;
            let ended = steps
                .step(workspace::apply_patch(tree, patch), None)
                .await?;
            if !ended.status.success() {
                return Err(BuildStepError::Build(format!(
                    "the patch {name} does not apply: {}",
                    failure_line(steps.log)?
                )));
            }
        }
        Ok(made)
    }

    /// Fills the work tree and runs the build command in it.
    async fn take(&self, steps: &BuildSteps<'_>) -> Result<LaidOut, BuildStepError> {
        let (commit, tree) = (steps.commit, &steps.dir.tree);
        let mut made = self.lay_out(steps).await?;
        let stored = self.stored_key(commit, &made);
        if let Some((store, key)) = &stored {
            let (store, key, dir) = (store.clone(), key.clone(), steps.dir.clone());
            let taken = blocking(Arc::clone(&steps.holds), move || {
                store.take(&key, &dir.path)
            });
            match taken.await? {
                BuildLookup::Whole => {
                    made.stored = true;
                    return Ok(self.examined(steps, made).await?);
                }
                BuildLookup::Nothing => {}
                BuildLookup::Damaged(reason) => {
                    self.note_damage(steps, &reason)?;
                    let dir = steps.dir.clone();
                    let again = move || dir.remove().and_then(|()| dir.create());
                    blocking(Arc::clone(&steps.holds), again).await?;
                    made = self.lay_out(steps).await?;
                }
                BuildLookup::Unreadable(reason) => {
                    let problem = format!("the stored build can't be read: {reason}");
                    note(steps.log, problem)?;
                }
            }
        }
        let before = match &stored {
            Some(_) => {
                let dir = steps.dir.clone();
                let look = move || build_store::files_before(&dir.path);
                blocking(Arc::clone(&steps.holds), look).await?
            }
            None => None,
        };
        let tracer = self.tracer().await?;
        let mut reads = None;
        if let Some(script) = &self.config.build {
            let mut command = Command::new("sh");
            command.arg("-c").arg(script).current_dir(tree);
            (self.environment).set(&mut command, Some(&commit.main.git_hash));
            let ended = match tracer {
                None => steps.step(command, self.config.timeout).await?,
                Some(tracer) => {
                    let dir = steps.dir.clone();
                    let before = move || Ok(BuildSnapshot::from_directory(&dir.path)?);
                    let before = blocking(Arc::clone(&steps.holds), before).await?;
                    let (ended, mut read) = self.step_traced(tracer, steps, command).await?;
                    if let Some(link) = before.changed_link(&steps.dir.path) {
                        let link = link.display();
                        (read.doubt).get_or_insert_with(|| {
                            format!("it replaces or removes the link {link}")
                        });
                    }
                    reads = Some(read);
                    ended
                }
            };
            if let Some(reason) = ended.failure(&error_line::of_build(steps.log)?) {
                let traced = match tracer {
                    Some(_) => " (it was traced, and may build without that)",
                    None => "",
                };
                return Err(BuildStepError::Build(format!(
                    "the build command {reason}{traced}"
                )));
            }
        }
        if let (Some((store, key)), Some(before)) = (stored, before) {
            let dir = steps.dir.clone();
            let put = move || {
                let put = store.put(&key, &dir.path, &before);
                Ok((put, store.shrink_after_put()))
            };
            let (put, shrunk) = blocking(Arc::clone(&steps.holds), put).await?;
            // The build is fine without the store.
            if let Err(reason) = put {
                note(steps.log, format!("the build is not stored: {reason}"))?;
            }
            match shrunk {
                Ok(report) => {
                    for (path, reason) in report.failed {
                        note(
                            steps.log,
                            format!("can't remove {}: {reason}", path.display()),
                        )?;
                    }
                }
                Err(reason) => note(steps.log, reason)?,
            }
        }
        made = self.examined(steps, made).await?;
        if let Some(tracer) = tracer
            && tree.is_dir()
        {
            made.contents = Some(steps.dir.contents()?);
            let traced = self.trace_benchmark(tracer, steps, reads).await?;
            let (dir, results) = (steps.dir.clone(), self.config.results.clone());
            let restore = move || TrackedFiles::open(&dir, results.as_deref());
            blocking(Arc::clone(&steps.holds), restore).await?;
            files::write_json(&steps.dir.traced(), &traced)?;
        }
        Ok(made)
    }

    /// Records the tracked files as the build command left them, and finds missing parts.
    async fn examined(
        &self,
        steps: &BuildSteps<'_>,
        mut made: LaidOut,
    ) -> Result<LaidOut, LocalError> {
        let (dir, users, log) = (
            steps.dir.clone(),
            self.repository.repository.clone(),
            steps.log.to_owned(),
        );
        blocking(Arc::clone(&steps.holds), move || {
            if !dir.tree.is_dir() {
                return Ok(made);
            }
            made.tracked = TrackedFiles::record(&dir)?;
            if !made.tracked {
                note(
                    &log,
                    "what a run changes of tracked files will not be noticed",
                )?;
            }
            made.remarks = incomplete_checkout::lacks(&dir.tree, &users)?;
            Ok(made)
        })
        .await
    }

    /// Records the damage of a stored build.
    fn note_damage(&self, steps: &BuildSteps<'_>, reason: &str) -> Result<(), LocalError> {
        let commit = steps.commit.main.revision();
        let sentence =
            format!("the stored build of {commit} was damaged, and made again: {reason}");
        note(steps.log, &sentence)?;
        let name = format!("{}{DAMAGED}", self.key(steps.commit));
        Ok(files::write_json(&self.logs.join(name), &sentence)?)
    }

    /// The notes on builds of this job whose names have this ending.
    pub(super) fn notes<T: DeserializeOwned>(&self, end: &str) -> Result<Vec<T>, LocalError> {
        let unreadable = |error| LocalError::io("read", &self.logs)(error);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.logs).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.to_string_lossy().ends_with(end) {
                found.extend(files::read_json(&path)?);
            }
        }
        Ok(found)
    }

    /// Stored builds that were damaged, and reasons why the inputs of builds are unknown, a
    /// sentence each.
    pub(crate) fn warnings(&self) -> Result<Vec<String>, LocalError> {
        let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
        for (_, traced) in self.all_traced()? {
            if let Some(reason) = traced.unproved {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        let sentence = |(reason, builds)| {
            let builds = match builds {
                1 => "1 build".to_owned(),
                builds => format!("{builds} builds"),
            };
            format!("the inputs of {builds} are unknown: {reason}")
        };
        let mut warnings: Vec<String> = self.notes(DAMAGED)?;
        warnings.extend(reasons.into_iter().map(sentence));
        Ok(warnings)
    }

    /// The file of a patch, if it is still the one that the commit names.
    fn patch_file(&self, name: &str, sha256: &str) -> Result<&Path, LocalError> {
        let changed = || LocalError::PatchChanged {
            name: name.into(),
            path: self.config.patch.clone(),
        };
        let path = self.config.patch.as_deref().ok_or_else(changed)?;
        let bytes = fs::read(path).map_err(LocalError::io("read", path))?;
        if hex::encode(Sha256::digest(&bytes)) != sha256 {
            return Err(changed());
        }
        Ok(path)
    }
}

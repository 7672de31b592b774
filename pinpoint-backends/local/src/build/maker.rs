//! Making or finding a build.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pinpoint_core::{CombinedCommit, Commit, Patch};
use pinpoint_midpoint::MidpointError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::build::build_key::{key, stored_key};
use crate::build::build_steps::{BuildStepError, BuildSteps, Holds, failure_line, hash_of, note};
use crate::build::build_store::{self, BuildLookup, BuildStore};
use crate::build::workspace::{
    self, BuildDir, BuildOnDisk, LaidOut, Marker, RequiredParts, Workspace, milliseconds,
};
use crate::config::LocalConfig;
use crate::error::LocalError;
use crate::git::history::LocalHistory;
use crate::git::incomplete_checkout;
use crate::git::local_clones::LocalClones;
use crate::git::repository::Repository;
use crate::git::tracked_files::{Restored, TrackedFiles};
use crate::process::child::{Ended, Processes};
use crate::process::environment::Environment;
use crate::process::error_line;
use crate::process::files::{self, Locked};
use crate::process::machine_lock::MachineLock;
use crate::process::sync::{blocking, locked};
use crate::run::benchmark;
use crate::run::results;
use crate::trace::{self, BuildSnapshot, Reads, Traced, Tracer};

/// Further places for a build whose first place can't be used.
const MOST_PLACES: u32 = 16;

/// The end of the names of files with the commits of traced builds, and their reads.
const TRACED: &str = ".traced.json";

/// The end of the names of files that describe damage to stored builds.
const DAMAGED: &str = ".damaged.json";

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
    ours: Option<Ours>,
    /// The reads of the build and the benchmark, if traced.
    pub(crate) traced: Option<Traced>,
    /// The commit that was built; absent for one that is not ours.
    pub(crate) commit: Option<CombinedCommit>,
}

/// One of our work trees.
#[derive(Debug)]
struct Ours {
    dir: BuildDir,
    marker: Marker,
    /// Its tracked files, once they were restored; absent inside where nothing is recorded.
    tracked: Mutex<Option<Option<TrackedFiles>>>,
    _in_use: Locked,
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

/// Makes the builds of a job, several at once, each once.
pub(crate) struct Builder {
    config: Arc<LocalConfig>,
    environment: Arc<Environment>,
    /// The directory for logs and the reasons of failures.
    logs: PathBuf,
    workspace: Workspace,
    repository: Repository,
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
    tracer: OnceCell<Tracer>,
    store: Option<BuildStore>,
}

impl Builder {
    pub(crate) fn new(
        config: &Arc<LocalConfig>,
        environment: &Arc<Environment>,
        logs: PathBuf,
        workspace: Workspace,
        (repository, clones): (Repository, LocalClones),
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
                config: &self.config,
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
                    workspace::check_room(&dir.tree)?;
                    if let Err(error) = dir.remove() {
                        note(&log, error)?;
                    }
                    Ok(Err(Failure { reason, duration }))
                })
                .await
            }
            Err(BuildStepError::Local(error)) => {
                // A full disk fails in many ways; this reports the real cause.
                workspace::check_room(&dir.path)?;
                Err(error)
            }
        }
    }

    /// Fills the work tree: the commit, its dependencies and its patch.
    async fn lay_out(&self, steps: &BuildSteps<'_>) -> Result<LaidOut, BuildStepError> {
        let (commit, repository, tree) = (steps.commit, &self.repository, &steps.dir.tree);
        let hash = steps.hash_of(repository, &commit.main).await?;
        let borrowed = steps.check_out(repository, &hash, tree).await?;
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
                    let before = move || BuildSnapshot::from_directory(&dir.path);
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
            self.repository.clone(),
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
        files::write_json(&self.logs.join(name), &sentence)
    }

    /// The means to trace, in a job whose builds are traced.
    async fn tracer(&self) -> Result<Option<&Tracer>, LocalError> {
        if !self.config.trace {
            return Ok(None);
        }
        let open = || blocking((), Tracer::open);
        self.tracer.get_or_try_init(open).await.map(Some)
    }

    /// Runs the benchmark once in a build that was just made, and traces its reads.
    async fn trace_benchmark(
        &self,
        tracer: &Tracer,
        steps: &BuildSteps<'_>,
        build: Option<Reads>,
    ) -> Result<Traced, LocalError> {
        let dir = steps.dir.clone();
        let results = self.config.results.clone();
        let before = blocking(Arc::clone(&steps.holds), move || {
            if let Some(name) = results {
                // If that fails, the runs that count will say so.
                let _ = results::remove_old(&dir.tree, &name);
            }
            BuildSnapshot::from_directory(&dir.path)
        })
        .await?;
        let mut command = Command::new(benchmark::program(&self.config, &steps.dir.tree));
        command
            .args(&self.config.command[1..])
            .current_dir(&steps.dir.tree);
        (self.environment).set(&mut command, None);
        // As the first run that counts.
        command.env("PINPOINT_RUN", "0");
        let (ended, mut reads) = self.step_traced(tracer, steps, command).await?;
        if let Some(reason) = ended.failure(&failure_line(steps.log)?) {
            reads.doubt = Some(format!("it {reason}"));
        }
        let dir = steps.dir.clone();
        blocking(Arc::clone(&steps.holds), move || {
            let digest = before.digest(&dir.path, &reads)?;
            Ok(Traced::new(build, reads, digest))
        })
        .await
    }

    async fn step_traced(
        &self,
        tracer: &Tracer,
        steps: &BuildSteps<'_>,
        command: Command,
    ) -> Result<(Ended, Reads), LocalError> {
        let trace = steps.dir.path.join("trace");
        let command = tracer.command(&command, &trace);
        let timeout = tracer.timeout(self.config.timeout);
        let ended = steps.step(command, timeout).await?;
        let dir = steps.dir.clone();
        let repositories = self.workspace.repositories();
        let reads = blocking(Arc::clone(&steps.holds), move || {
            trace::read(&trace, &dir, &repositories)
        })
        .await?;
        Ok((ended, reads))
    }

    /// The builds of this job that were traced, by this process or an earlier one.
    fn all_traced(&self) -> Result<Vec<(CombinedCommit, Traced)>, LocalError> {
        self.notes(TRACED)
    }

    /// The notes on builds of this job whose names have this ending.
    fn notes<T: DeserializeOwned>(&self, end: &str) -> Result<Vec<T>, LocalError> {
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

    /// The build of another commit that is known to be the same as one not built yet.
    async fn same_build(
        &self,
        commit: &CombinedCommit,
        key: &str,
        processes: &Arc<Processes>,
    ) -> Result<Option<BuildOutcome>, LocalError> {
        if !self.config.trace || !is_plain(commit) {
            return Ok(None);
        }
        // A commit that was built keeps its build: no two replace each other.
        if self.logs.join(format!("{key}{TRACED}")).exists() {
            return Ok(None);
        }
        let remembered = self.logs.join(format!("{key}.same.json"));
        let same = match files::read_json(&remembered)? {
            Some(same) => Some(same),
            None => self.find_same(commit).await?,
        };
        let Some(same) = same else { return Ok(None) };
        files::write_json(&remembered, &same)?;
        // It was itself built, so this goes no deeper.
        Box::pin(self.build(&same, processes)).await.map(Some)
    }

    async fn find_same(
        &self,
        commit: &CombinedCommit,
    ) -> Result<Option<CombinedCommit>, LocalError> {
        let mut candidates: Vec<_> = (self.all_traced()?.into_iter())
            .filter(|(other, _)| is_plain(other) && other != commit)
            .filter_map(|(other, traced)| Some((other, traced.reads()?)))
            .collect();
        if candidates.is_empty() {
            return Ok(None);
        }
        // Always the same one first.
        candidates.sort_by(|(one, _), (other, _)| one.cmp(other));
        let (clone, state_dir) = (
            self.repository.clone(),
            self.workspace.state_dir().to_owned(),
        );
        let history = blocking((), move || {
            Ok(LocalHistory::open(&clone, &state_dir).map_err(MidpointError::from)?)
        })
        .await?;
        for (other, reads) in candidates {
            let hashes = [&*other.main.git_hash, &*commit.main.git_hash];
            let same = history.are_same_at(hashes, reads).await;
            if same.map_err(MidpointError::from)? {
                return Ok(Some(other));
            }
        }
        Ok(None)
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

/// Checks whether it is a commit of the main repository's history, and nothing else.
fn is_plain(commit: &CombinedCommit) -> bool {
    commit.modified_deps.is_empty() && commit.main.merged.is_empty() && commit.patch.is_none()
}

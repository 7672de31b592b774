//! The executor: implements [`pinpoint_core::Executor`] on this machine.

use std::collections::HashMap;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pinpoint_core::{
    Artifact, BuildReport, BuildRequest, CombinedCommit, Commit, ExecutorError, FindMetricRequest,
    InProcess, Key, ListRequest, Listing, Located, Metric, PairReport, RunPairRequest, RunReport,
    RunRequest,
};
use pinpoint_midpoint::{MidpointError, Repositories as _};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::config::{LocalConfig, Location};
use super::error::LocalError;
use super::sources::Sources;
use crate::blocking::blocking;
use crate::build::build_store::BuildStore;
use crate::build::builds::Builds;
use crate::build::finished_build::BuildOutcome;
use crate::build::maker::Builder;
use crate::git::local_clones::LocalClones;
use crate::git::mirrors::Mirrors;
use crate::git::repository::Repository;
use crate::git::workspace::Workspace;
use crate::process::child::{CancelGuard, Processes, Supervisors};
use crate::process::environment::Environment;
use crate::process::files;
use crate::process::machine_lock::MachineLock;
use crate::process::sync::locked;
use crate::run::outside_reads;
use crate::run::runner::Runner;
use crate::run::settle::SettleWait;

/// A machine's provisions for jobs created elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Provisions {
    /// The repositories of jobs that were created elsewhere, by their URLs. Absent where
    /// jobs use the clones that they name.
    pub mirrors: Option<Mirrors>,
    /// The builds that machines share.
    pub build_store: Option<BuildStore>,
}

/// Lists, builds and runs the commits of one job on this machine.
///
/// Builds run side by side, up to [`LocalConfig::build_jobs`]. Benchmarks run one at a time on the
/// whole machine, and never alongside a build of any job: in the order in which the futures of
/// [`run`](InProcess::run) and [`run_pair`](InProcess::run_pair) are first polled, with nothing
/// between the two of a pair. It must be used within a `tokio` runtime that has its clock enabled.
pub struct LocalExecutor {
    /// Absent where the builds existed before the job.
    sources: Option<Sources>,
    pub(super) builds: Arc<Builds>,
    pub(super) runner: Runner,
    works: Mutex<HashMap<Key, Arc<Processes>>>,
    supervisors: Arc<Supervisors>,
    /// The bot that traces name.
    bot: Option<Arc<str>>,
}

impl LocalExecutor {
    /// Starts or resumes a job.
    ///
    /// # Errors
    ///
    /// When the repository is not on this machine, no command is given, or a directory of the
    /// location can't be used.
    pub fn open(
        config: LocalConfig,
        location: Location,
        job: impl Into<String>,
    ) -> Result<Self, LocalError> {
        check(&config)?;
        let sources = match config.made {
            true => None,
            false => Some(Sources::open(&config, &location.state_dir)?),
        };
        Self::assemble(config, location, job.into(), sources, None)
    }

    /// Like [`open`](Self::open), with this machine's provisions for jobs created elsewhere. Their
    /// repository is fetched now, if necessary.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and when a repository can't be fetched.
    pub async fn open_with(
        config: LocalConfig,
        location: Location,
        job: impl Into<String>,
        provisions: Provisions,
    ) -> Result<Self, LocalError> {
        check(&config)?;
        let sources = match provisions.mirrors {
            _ if config.made => None,
            None => {
                let (config, state_dir) = (config.clone(), location.state_dir.clone());
                // It reads the repository, which may be far away.
                Some(blocking((), move || Sources::open(&config, &state_dir)).await?)
            }
            Some(mirrors) => Some(Sources::elsewhere(&config, mirrors, &location.state_dir).await?),
        };
        let store = provisions.build_store;
        Self::assemble(config, location, job.into(), sources, store)
    }

    fn assemble(
        config: LocalConfig,
        location: Location,
        job: String,
        sources: Option<Sources>,
        store: Option<BuildStore>,
    ) -> Result<Self, LocalError> {
        let job_dir = location.job_dir;
        files::create_dir(&job_dir.join("builds"))?;
        files::create_dir(&job_dir.join("runs"))?;
        // Commands run elsewhere and are given files in it.
        let job_dir = job_dir
            .canonicalize()
            .map_err(LocalError::io("read", &job_dir))?;
        let workspace = Workspace::open(&location.state_dir)?;
        let machine = Arc::new(MachineLock::open(&location.machine_dir)?);
        let environment = Arc::new(Environment::new(job, config.env.clone(), config.trace));
        let config = Arc::new(config);
        let builds = match &sources {
            None => Builds::Prebuilt,
            Some(sources) => {
                let clones = LocalClones::open(sources.repositories.clone(), &config.repositories)?;
                let logs = job_dir.join("builds");
                let of = (sources.repository.clone(), clones);
                let builder =
                    Builder::new(&config, &environment, logs, workspace, of, &machine, store);
                Builds::OfCommits(Box::new(builder))
            }
        };
        let builds = Arc::new(builds);
        let user_trees = (sources.as_ref())
            .filter(|sources| sources.repository.mirror.is_none())
            .map(|sources| outside_reads::user_trees(&sources.repository.repository))
            .unwrap_or_default();
        let of = Arc::clone(&builds);
        Ok(Self {
            sources,
            runner: Runner::open(config, environment, job_dir, of, machine, user_trees)?,
            builds,
            works: Mutex::default(),
            supervisors: Arc::default(),
            bot: None,
        })
    }

    /// Names the bot in the spans of its builds and runs.
    #[must_use]
    pub fn of_bot(self, bot: &str) -> Self {
        let bot = Some(bot.into());
        Self { bot, ..self }
    }

    /// Sets the name of the machine, which its runs report.
    #[must_use]
    pub fn on_machine(mut self, name: &str) -> Self {
        self.runner.machine_name = Some(name.to_owned());
        self
    }

    /// The metric of a job that found it before metrics were journaled.
    pub fn metric_of_old_job(&self) -> Option<Metric> {
        self.runner.old_metric.clone()
    }

    /// The current wait of a run for a quiet machine.
    pub fn waiting(&self) -> watch::Receiver<Option<SettleWait>> {
        self.runner.waiting.subscribe()
    }

    /// The number of runs and builds that wait for another process to measure or build on this
    /// machine.
    pub fn waiting_for_machine(&self) -> watch::Receiver<u32> {
        self.runner.machine.waiting()
    }

    /// Ends all work in progress, and returns when all of its processes are gone.
    ///
    /// When a future is dropped, its process is asked to end; if it does not it is killed after a
    /// grace period, for which this process has to stay alive.
    pub async fn end(&self) {
        let works: Vec<_> = std::mem::take(&mut *locked(&self.works))
            .into_values()
            .collect();
        for processes in &works {
            processes.cancel();
        }
        for processes in works {
            processes.ended().await;
        }
    }

    /// Prevents new runs and builds, and returns when those in progress have ended and are about to
    /// be reported. The others wait until they are dropped.
    pub async fn drain(&self) {
        self.runner.machine.drain().await;
    }

    /// Warnings about the runs of the job, a sentence each.
    ///
    /// # Errors
    ///
    /// When the notes of the job can't be read.
    pub fn warnings(&self) -> Result<Vec<String>, LocalError> {
        let mut warnings = self.runner.warnings()?;
        if let Builds::OfCommits(builder) = &*self.builds {
            warnings.extend(builder.warnings()?);
        }
        Ok(warnings)
    }

    /// The name of a commit, with author, date and subject.
    ///
    /// # Errors
    ///
    /// When the range has no such offset, or the repository no such commit.
    pub async fn resolve(&self, located: &Located) -> Result<CombinedCommit, LocalError> {
        self.described(self.name(located).await?).await
    }

    /// Like [`resolve`](Self::resolve), for many at once, in the same order.
    ///
    /// # Errors
    ///
    /// When one of them can't be resolved.
    pub async fn resolve_all(
        &self,
        located: &[Located],
    ) -> Result<Vec<CombinedCommit>, LocalError> {
        let mut commits = Vec::with_capacity(located.len());
        for located in located {
            commits.push(self.name(located).await?);
        }
        self.describe(&mut commits).await?;
        Ok(commits)
    }

    /// A commit of any repository available locally, with author, date and subject.
    ///
    /// # Errors
    ///
    /// When the repository has no such commit.
    pub async fn describe_commit(&self, commit: Commit) -> Result<Commit, LocalError> {
        Ok(self.described(commit.into()).await?.main)
    }

    /// The repository of a commit, if it is available locally.
    pub fn repository_of(&self, commit: &Commit) -> Option<Repository> {
        let repositories = &self.sources.as_ref()?.repositories;
        repositories.located(&commit.repository)
    }

    /// The name of a commit alone.
    async fn name(&self, located: &Located) -> Result<CombinedCommit, LocalError> {
        match located {
            Located::Commit(commit) => Ok(commit.clone()),
            Located::Offset { listing, offset } => self.sources()?.nth(listing, *offset).await,
        }
    }

    async fn described(&self, commit: CombinedCommit) -> Result<CombinedCommit, LocalError> {
        let mut commits = [commit];
        self.describe(&mut commits).await?;
        let [commit] = commits;
        Ok(commit)
    }

    /// Adds author, date and subject to names.
    async fn describe(&self, commits: &mut [CombinedCommit]) -> Result<(), LocalError> {
        match &self.sources {
            Some(sources) => sources.repositories.describe_all(commits).await,
            None => Ok(()),
        }
    }

    /// # Errors
    ///
    /// When the job has builds instead: no states lie between them.
    pub(super) fn sources(&self) -> Result<&Sources, LocalError> {
        self.sources.as_ref().ok_or(LocalError::NoHistory)
    }

    pub(super) fn begin(&self, key: &Key) -> CancelGuard {
        let supervisors = Arc::clone(&self.supervisors);
        let processes = Processes::new(key.clone(), self.bot.clone(), supervisors);
        let mut works = locked(&self.works);
        works.retain(|_, processes| !processes.is_over());
        works.insert(key.clone(), Arc::clone(&processes));
        CancelGuard(processes)
    }

    /// Identifies the sources of a build: commits with the same files have the same sources, as
    /// where one reverts another.
    async fn source_digest(&self, commit: &CombinedCommit) -> Result<Option<String>, LocalError> {
        let Some(sources) = &self.sources else {
            return Ok(None);
        };
        let Commit {
            repository,
            git_hash,
            merged,
            ..
        } = &commit.main;
        let history = sources.repositories.open(repository).await;
        let history = history.map_err(MidpointError::from)?;
        let tree = history.merged_tree(git_hash, merged).await;
        let tree = tree.map_err(MidpointError::from)?;
        Ok(tree.map(|tree| {
            let mut state = commit.clone();
            state.main = Commit::new(repository, tree);
            let mut digest = Sha256::new_with_prefix("sources, 1");
            for field in state.identity() {
                digest.update((field.len() as u64).to_le_bytes());
                digest.update(field);
            }
            hex::encode(digest.finalize())
        }))
    }

    async fn build_now(
        &self,
        located: &Located,
        processes: &Arc<Processes>,
    ) -> Result<BuildReport, LocalError> {
        let commit = self.name(located).await?;
        // Describing a commit takes git a while, and the build does not need it.
        let (made, described) = tokio::try_join!(
            self.builds.get(&commit, processes),
            self.described(commit.clone())
        )?;
        let mut report = BuildReport::built(described);
        if let Builds::OfCommits(builder) = &*self.builds {
            report.log = builder.log_of(&commit);
        }
        match made {
            BuildOutcome::Ready(build) => {
                report.cached = build.cached;
                report.duration = build.duration;
                report.artifact = Some(Artifact::Directory(build.tree.display().to_string()));
                let traced = build.traced.as_ref();
                report.digest = match traced.and_then(|traced| traced.digest.clone()) {
                    Some(digest) => Some(digest),
                    None => self.source_digest(&commit).await?,
                };
                report.unproved = traced.and_then(|traced| traced.unproved.clone());
                report.same_as = (build.commit.clone()).filter(|built| *built != commit);
                if let Some(same) = report.same_as.take() {
                    report.duration = 0;
                    report.same_as = Some(self.described(same).await?);
                }
            }
            BuildOutcome::Failed(failure) => {
                report.failure = Some(failure.reason.clone());
                report.duration = failure.duration;
            }
        }
        Ok(report)
    }
}

#[async_trait]
impl InProcess for LocalExecutor {
    async fn find_metric(&self, request: &FindMetricRequest) -> Result<Metric, ExecutorError> {
        let CancelGuard(processes) = &self.begin(&request.key);
        let found = self.runner.find_metric(request, processes);
        Ok(processes.unless_canceled(found).await?)
    }

    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        Ok(self.sources()?.list(request).await?)
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        let CancelGuard(processes) = &self.begin(&request.key);
        let built = self.build_now(&request.commit, processes);
        Ok(processes.unless_canceled(built).await?)
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let CancelGuard(processes) = &self.begin(&request.key);
        let ran = self.runner.run(request, processes);
        Ok(processes.unless_canceled(ran).await?)
    }

    async fn run_pair(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError> {
        let CancelGuard(processes) = &self.begin(&request.key);
        let ran = self.runner.run_pair(request, processes);
        Ok(processes.unless_canceled(ran).await?)
    }

    async fn ended(&self, key: &Key) -> Result<(), ExecutorError> {
        let processes = locked(&self.works).remove(key);
        if let Some(processes) = processes {
            processes.cancel();
            processes.ended().await;
        }
        Ok(())
    }
}

/// Checks that the configuration can be carried out.
fn check(config: &LocalConfig) -> Result<(), LocalError> {
    if config.command.first().is_none_or(String::is_empty) {
        return Err(LocalError::NoCommand);
    }
    if let Some(cpus) = &config.cpus {
        cpus.check()?;
    }
    if let Some(results) = &config.results
        && !is_inside(results)
    {
        return Err(LocalError::ResultsOutside {
            path: results.clone(),
        });
    }
    Ok(())
}

/// Checks that the path, by its components, names something below its base directory.
fn is_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

//! The executor: what [`pinpoint_core::Executor`] asks, done on this machine.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pinpoint_core::{
    BuildReport, BuildRequest, CombinedCommit, Commit, ExecutorError, FindMetricRequest, InProcess,
    Key, ListRequest, Listing, Located, Metric, PairReport, RunPairRequest, RunReport, RunRequest,
};
use pinpoint_midpoint::{Between, History, MidpointError, Midpoints, Repositories};
use tokio::sync::{OnceCell, Semaphore};

use super::at_hand::AtHand;
use super::build::Made;
use super::files;
use super::history::LocalRepositories;
use super::machine_lock::MachineLock;
use super::process::Work;
use super::reports::Reports;
use super::repository::{Hashes, Repository, is_gits};
use super::tails::Tails;
use super::workspace::Workspace;
use super::{LocalConfig, LocalError, Location};

/// Lists, builds and runs the commits of one job on this machine.
///
/// Builds run side by side, up to [`LocalConfig::build_jobs`]. Benchmarks run
/// one at a time on the whole machine, the two of a pair with nothing between, in the order in which the futures of
/// [`run`](InProcess::run) and [`run_pair`](InProcess::run_pair) are first polled,
/// and never beside a build of any job. It must be used within a `tokio` runtime
/// that has its clock enabled.
pub struct LocalExecutor {
    pub(super) config: LocalConfig,
    pub(super) job: String,
    pub(super) job_dir: PathBuf,
    /// Where commits come from; absent where builds are made already.
    pub(super) sources: Option<Sources>,
    pub(super) workspace: Workspace,
    pub(super) machine: MachineLock,
    /// What builds and runs inherit, taken once so that it is the same for all.
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) build_slots: Arc<Semaphore>,
    pub(super) builds: Mutex<HashMap<String, Arc<OnceCell<Made>>>>,
    /// How many builds were made or found: tells a build from one made after it.
    pub(super) makings: AtomicU64,
    /// Runs that failed in a build which had lost something.
    pub(super) damaged_runs: Mutex<HashSet<String>>,
    /// Whose turn it is to run. Holds how often each build was warmed up.
    pub(super) turn: tokio::sync::Mutex<HashMap<String, u32>>,
    /// Of a job that found it before that was journaled.
    pub(super) metric: OnceCell<Metric>,
    pub(super) reports: Mutex<Reports>,
    pub(super) tails: Mutex<Tails>,
    /// What `--path` leaves of ranges.
    path_ranges: Mutex<HashMap<(String, String), Arc<Hashes>>>,
    /// By the request; what [`LocalExecutor::prepare`] does has none.
    works: Mutex<HashMap<Option<Key>, Arc<Work>>>,
    /// The same moment on both clocks.
    opened: (Duration, Instant),
}

/// Where commits come from.
pub(super) struct Sources {
    pub(super) repository: Repository,
    pub(super) at_hand: AtHand,
    repositories: LocalRepositories,
    pub(super) midpoints: Midpoints,
}

impl Sources {
    fn open(config: &LocalConfig, state_dir: &Path) -> Result<Self, LocalError> {
        let repository = Repository::discover(&config.repository)?;
        let named = config.repositories.clone();
        let repositories = LocalRepositories::new(repository.clone(), named, state_dir);
        Ok(Self {
            at_hand: AtHand::open(repositories.clone(), &config.repositories)?,
            midpoints: Midpoints::new(Arc::new(repositories.clone())),
            repositories,
            repository,
        })
    }
}

/// What lies between two commits.
enum Found {
    /// The commits that touch the paths of the job.
    Paths(Arc<Hashes>),
    Between(Arc<Between>),
}

/// Ends the work when the future that does it is dropped.
pub(super) struct EndOnDrop(pub(super) Arc<Work>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl LocalExecutor {
    /// Takes up a job: a new one, or one that was interrupted.
    ///
    /// # Errors
    ///
    /// When there is no repository or no command, or when a directory of the
    /// location can't be used.
    pub fn open(
        config: LocalConfig,
        location: Location,
        job: impl Into<String>,
    ) -> Result<Self, LocalError> {
        if config.command.first().is_none_or(String::is_empty) {
            return Err(LocalError::NoCommand);
        }
        if let Some(results) = &config.results
            && !is_inside(results)
        {
            return Err(LocalError::ResultsOutside {
                path: results.clone(),
            });
        }
        let sources = if config.made {
            None
        } else {
            Some(Sources::open(&config, &location.state_dir)?)
        };
        let job_dir = location.job_dir;
        files::create_dir(&job_dir.join("builds"))?;
        files::create_dir(&job_dir.join("runs"))?;
        // Commands run elsewhere and are given files in it.
        let job_dir = job_dir
            .canonicalize()
            .map_err(LocalError::io("read", &job_dir))?;
        let metric = files::read_json(&job_dir.join("metric.json"))?;
        let build_slots = usize::try_from(config.build_jobs.max(1))
            .unwrap_or(usize::MAX)
            .min(Semaphore::MAX_PERMITS);
        let inherited = |name: &OsString| {
            // Ours would be those of a Pinpoint that runs this one.
            !is_gits(name) && !name.as_encoded_bytes().starts_with(b"PINPOINT_")
        };
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Self {
            sources,
            workspace: Workspace::open(&location.state_dir)?,
            machine: MachineLock::open(&location.machine_dir)?,
            environment: std::env::vars_os()
                .filter(|(name, _)| inherited(name))
                .collect(),
            build_slots: Arc::new(Semaphore::new(build_slots)),
            builds: Mutex::default(),
            makings: AtomicU64::default(),
            damaged_runs: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            metric: OnceCell::new_with(metric),
            reports: Mutex::new(Reports::open(&job_dir.join("runs.jsonl"))?),
            tails: Mutex::new(Tails::open(&job_dir)?),
            path_ranges: Mutex::default(),
            works: Mutex::default(),
            opened: (unix.unwrap_or_default(), Instant::now()),
            config,
            job: job.into(),
            job_dir,
        })
    }

    /// The metric of a job that found it before that was journaled.
    pub fn metric_of_old_job(&self) -> Option<Metric> {
        self.metric.get().cloned()
    }

    /// The metric that [`prepare`](Self::prepare) found, now or in an earlier process.
    pub fn metric(&self) -> Option<Metric> {
        self.metric_of_old_job()
    }

    /// Finds the metric at the good end, and keeps it, unless it was kept before.
    ///
    /// # Errors
    ///
    /// [`ExecutorError::Refused`] with what is wrong.
    pub async fn prepare(&self) -> Result<Metric, ExecutorError> {
        let work = self.begin(None);
        let found = async {
            let metric = self
                .find_metric_once(&self.config.good, None, &work.0)
                .await?;
            files::write_json(&self.job_dir.join("metric.json"), &metric)?;
            Ok::<_, LocalError>(metric)
        };
        Ok(self.metric.get_or_try_init(|| found).await?.clone())
    }

    /// Ends whatever is under way, and returns when no process of it is left.
    ///
    /// A future that is dropped has its process asked to end; one that does not
    /// want to is killed after a grace, which this process has to live to see.
    pub async fn end(&self) {
        let works: Vec<_> = std::mem::take(&mut *locked(&self.works))
            .into_values()
            .collect();
        for work in &works {
            work.abandon();
        }
        for work in works {
            work.over().await;
        }
    }

    /// The name of a commit, with author, date and subject.
    ///
    /// # Errors
    ///
    /// When the range has no such offset, or the repository no such commit.
    pub async fn resolve(&self, located: &Located) -> Result<CombinedCommit, LocalError> {
        self.describe(self.name(located).await?).await
    }

    /// As [`resolve`](Self::resolve), for many at once, in the same order.
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
        if let Some(sources) = &self.sources {
            sources.repositories.describe_all(&mut commits).await?;
        }
        Ok(commits)
    }

    /// A commit of any repository at hand, with author, date and subject.
    ///
    /// # Errors
    ///
    /// When the repository has no such commit.
    pub async fn describe_commit(&self, commit: Commit) -> Result<Commit, LocalError> {
        Ok(self.describe(commit.into()).await?.main)
    }

    /// The repository that a commit is of, if it is at hand.
    pub fn repository_of(&self, commit: &Commit) -> Option<Repository> {
        self.sources
            .as_ref()?
            .repositories
            .locate(&commit.repository)
            .ok()
            .flatten()
    }

    /// The name of a commit alone.
    pub(super) async fn name(&self, located: &Located) -> Result<CombinedCommit, LocalError> {
        let (listing, offset) = match located {
            Located::Commit(commit) => return Ok(commit.clone()),
            Located::Offset { listing, offset } => (listing, offset),
        };
        match self.find(&listing.lower, &listing.higher).await? {
            Found::Paths(hashes) => {
                let hash = hashes.get(*offset).ok_or(LocalError::NoSuchOffset {
                    offset: *offset,
                    count: hashes.count(),
                })?;
                let mut commit = listing.higher.clone();
                commit.main = Commit::new(commit.main.repository, hash);
                Ok(commit)
            }
            Found::Between(between) => Ok(self.sources()?.midpoints.nth(&between, *offset).await?),
        }
    }

    /// Adds author, date and subject to a name.
    pub(super) async fn describe(
        &self,
        commit: CombinedCommit,
    ) -> Result<CombinedCommit, LocalError> {
        let mut commits = [commit];
        if let Some(sources) = &self.sources {
            sources.repositories.describe_all(&mut commits).await?;
        }
        let [commit] = commits;
        Ok(commit)
    }

    /// What lies strictly between two commits.
    async fn find(
        &self,
        lower: &CombinedCommit,
        higher: &CombinedCommit,
    ) -> Result<Found, LocalError> {
        let Sources {
            repositories,
            midpoints,
            ..
        } = self.sources()?;
        if lower.main == higher.main || !is_plain(lower) {
            return Ok(Found::Between(midpoints.between(lower, higher).await?));
        }
        let history = repositories.open(&higher.main.repository).await;
        let history = history.map_err(MidpointError::from)?;
        if !self.config.paths.is_empty() {
            let hashes = self.path_range(&lower.main, &higher.main).await?;
            if hashes.count() > 0 {
                return Ok(Found::Paths(hashes));
            }
        } else if !is_beside(&*history, lower, higher).await? {
            return Ok(Found::Between(midpoints.between(lower, higher).await?));
        }
        // No commit of the range comes before the higher one, so that whatever
        // is opened between the two begins at its first parent.
        let mut from = lower.clone();
        from.main.git_hash = if is_plain(higher) {
            let parents = history.parents(&higher.main.git_hash).await;
            let parents = parents.map_err(MidpointError::from)?;
            parents.into_iter().next().unwrap_or(from.main.git_hash)
        } else {
            higher.main.git_hash.clone()
        };
        Ok(Found::Between(midpoints.between(&from, higher).await?))
    }

    /// The commits strictly between two that touch one of the paths.
    async fn path_range(&self, lower: &Commit, higher: &Commit) -> Result<Arc<Hashes>, LocalError> {
        let ends = (lower.git_hash.clone(), higher.git_hash.clone());
        if let Some(known) = locked(&self.path_ranges).get(&ends) {
            return Ok(Arc::clone(known));
        }
        let repository = self.sources()?.repository.clone();
        let paths = self.config.paths.clone();
        let (lower, higher) = ends.clone();
        let range = blocking((), move || Ok(repository.range(&lower, &higher, &paths)?)).await?;
        let range = Arc::new(range);
        locked(&self.path_ranges).insert(ends, Arc::clone(&range));
        Ok(range)
    }

    /// # Errors
    ///
    /// When the job has builds instead: nothing lies between them.
    pub(super) fn sources(&self) -> Result<&Sources, LocalError> {
        self.sources.as_ref().ok_or(LocalError::NoHistory)
    }

    pub(super) fn begin(&self, key: Option<&Key>) -> EndOnDrop {
        let work = Work::begin();
        let mut works = locked(&self.works);
        works.retain(|_, work| !work.is_over());
        works.insert(key.cloned(), Arc::clone(&work));
        EndOnDrop(work)
    }

    /// Milliseconds since 1970, on a clock that is never set back while a job runs.
    pub(super) fn unix_time(&self, moment: Instant) -> u64 {
        let (unix, opened) = self.opened;
        let since = unix + moment.saturating_duration_since(opened);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

#[async_trait]
impl InProcess for LocalExecutor {
    async fn find_metric(&self, request: &FindMetricRequest) -> Result<Metric, ExecutorError> {
        let work = self.begin(Some(&request.key));
        let metric = tokio::select! {
            biased;
            () = work.0.abandoned() => Err(LocalError::Cancelled),
            metric = self.find_metric_once(&request.commit, request.aggregate, &work.0) => metric,
        };
        Ok(metric?)
    }

    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let (count, changes) = match self.find(&request.lower, &request.higher).await? {
            Found::Paths(hashes) => (hashes.count(), Vec::new()),
            Found::Between(between) => (between.count(), between.changes().to_vec()),
        };
        Ok(Listing {
            changes,
            ..Listing::new(request, count)
        })
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        let work = self.begin(Some(&request.key));
        let report = tokio::select! {
            biased;
            () = work.0.abandoned() => Err(LocalError::Cancelled),
            report = self.build_located(&request.commit, &work.0) => report,
        };
        Ok(report?)
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let work = self.begin(Some(&request.key));
        let report = tokio::select! {
            biased;
            () = work.0.abandoned() => Err(LocalError::Cancelled),
            report = self.run_once(request, &work.0) => report,
        };
        Ok(report?)
    }

    async fn run_pair(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError> {
        let work = self.begin(Some(&request.key));
        let report = tokio::select! {
            biased;
            () = work.0.abandoned() => Err(LocalError::Cancelled),
            report = self.run_pair_once(request, &work.0) => report,
        };
        Ok(report?)
    }

    async fn ended(&self, key: &Key) -> Result<(), ExecutorError> {
        let work = locked(&self.works).remove(&Some(key.clone()));
        if let Some(work) = work {
            work.abandon();
            work.over().await;
        }
        Ok(())
    }
}

/// Does what would hold up the runtime, and lets go of what it `holds` after
/// that, even if nobody waits for it any more.
pub(super) async fn blocking<T, H>(
    holds: H,
    task: impl FnOnce() -> Result<T, LocalError> + Send + 'static,
) -> Result<T, LocalError>
where
    T: Send + 'static,
    H: Send + 'static,
{
    let joined = tokio::task::spawn_blocking(move || {
        let result = task();
        drop(holds);
        result
    })
    .await;
    match joined {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_shut_down) => Err(LocalError::ShutDown),
        },
    }
}

/// Is it a commit of the main repository's own history, and nothing else?
fn is_plain(commit: &CombinedCommit) -> bool {
    commit.modified_deps.is_empty() && commit.main.merged.is_empty()
}

/// Is the lower commit on a branch that was merged later, and the higher one
/// where the line that it was merged into begins: the first commit that this has
/// besides, or the one that both have, with something more?
async fn is_beside(
    history: &dyn History,
    lower: &CombinedCommit,
    higher: &CombinedCommit,
) -> Result<bool, MidpointError> {
    let (older, newer) = (&lower.main.git_hash, &higher.main.git_hash);
    if history.is_ancestor(older, newer).await? {
        return Ok(false);
    }
    Ok(history.count(older, newer).await? == u64::from(is_plain(higher)))
}

/// Does the path name something below wherever it is looked up, by its words?
fn is_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Nothing panics while it holds one of these locks half way through a change.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

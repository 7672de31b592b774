//! The jobs whose actions this process carries out, each with its executor.
//!
//! An executor stays open for a while after its last action, since the next one usually follows at
//! once. Until then no other process of this machine works on the job, unless it requests that.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use pinpoint_core::job::{JobState, ResultSource};
use pinpoint_core::{Executor, Key, Request};
use temporalio_sdk::activities::ActivityError;
use tokio::sync::{Mutex, OnceCell, mpsc, watch};

use super::failures::{OtherStoresJob, elsewhere, from_store, superseded};
use super::machines::{free_machines, machines_of};
use super::metrics::Metrics;
use super::news::News;
use super::unable::HoldBack;
use crate::job::{JobError, TakenJob};
use crate::job_dir;
use crate::local::LocalExecutor;
use crate::store::{
    Job, JobId, JobJournal, JobLock, JobPrefix, JobStore, Lease, LockError, StoreError,
};
use crate::worker::{Presence, WorkerOptions, in_words};

/// The time for which a job stays open without an action.
const LINGER: Duration = Duration::from_secs(20);

/// The time between checks for jobs to close.
const CLOSE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The time between checks for a free machine, while a build waits for a benchmark to end.
const FREE_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The number of attempts after which a build stays on the machine that gets it. A machine that
/// seems to be free has not taken it by then: its worker is dead, or not on Temporal, or its disk
/// is full.
const MOST_HANDOVERS: u32 = 20;

/// The time for which an operation on an unresponsive store is retried.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);

/// The executor of one job on this machine, which also names its commits.
#[async_trait]
pub trait JobExecutor: Executor + ResultSource {
    /// Ends all work in progress, and returns when nothing is left of it.
    async fn end(&self) {}
}

#[async_trait]
impl JobExecutor for LocalExecutor {
    async fn end(&self) {
        Self::end(self).await;
    }
}

/// Opens the executor of a job.
pub type OpenExecutor =
    dyn Fn(Job) -> BoxFuture<'static, Result<Box<dyn JobExecutor>, JobError>> + Send + Sync;

/// A job that this process works on.
pub(crate) struct JobHere {
    pub(crate) taken: TakenJob,
    pub(crate) journal: JobJournal,
    pub(crate) executor: Box<dyn JobExecutor>,
}

/// Filled once the job is open. A job in use has more owners than this.
type Entry = Arc<OnceCell<Arc<JobHere>>>;

/// An action in progress in this process.
#[derive(Clone)]
struct ActionUnderWay {
    job: JobId,
    key: Key,
    activity: &'static str,
    runs_benchmark: bool,
}

/// The jobs of this process.
pub(crate) struct JobsHere {
    store: JobStore,
    options: WorkerOptions,
    open_executor: Box<OpenExecutor>,
    /// The owner of the leases.
    owner: String,
    /// The identity of the store.
    identity: String,
    metrics: Metrics,
    news: mpsc::UnboundedSender<News>,
    /// True once work of another store in the namespace was reported.
    told_of_other: AtomicBool,
    pub(crate) holds_back: HoldBack,
    open: Mutex<BTreeMap<String, (Entry, Instant)>>,
    /// The actions in progress, in the order of their start.
    under_way: watch::Sender<Vec<ActionUnderWay>>,
}

impl JobsHere {
    pub(crate) fn new(
        store: JobStore,
        options: WorkerOptions,
        open_executor: Box<OpenExecutor>,
        owner: String,
        identity: String,
        metrics: Metrics,
        news: mpsc::UnboundedSender<News>,
    ) -> Self {
        Self {
            store,
            options,
            open_executor,
            owner,
            identity,
            metrics,
            news,
            told_of_other: AtomicBool::new(false),
            holds_back: HoldBack::default(),
            open: Mutex::default(),
            under_way: watch::Sender::default(),
        }
    }

    pub(crate) fn store(&self) -> &JobStore {
        &self.store
    }

    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn tell_of(&self, news: News) {
        // A worker that is stopping has no listener.
        let _ = self.news.send(news);
    }

    /// Rejects work for a job of another store, so that a worker of that store gets it.
    pub(crate) fn check_store(&self, of_job: &str) -> Result<(), ActivityError> {
        // Workflows of earlier versions do not have it.
        if of_job.is_empty() || of_job == self.identity {
            return Ok(());
        }
        let error = OtherStoresJob {
            machine: self.machine().to_owned(),
            name: self.store.name().to_owned(),
            store: self.identity.clone(),
            of_job: of_job.to_owned(),
        };
        let refused = elsewhere(&error);
        if !self.told_of_other.swap(true, Ordering::Relaxed) {
            self.tell_of(News::Trouble(error.into()));
        }
        Err(refused)
    }

    pub(crate) async fn read(&self, job: &str) -> Result<Job, ActivityError> {
        let job = job.parse::<JobPrefix>().map_err(from_store)?;
        self.store.jobs().find(&job).await.map_err(from_store)
    }

    pub(crate) async fn lease(&self, job: &JobId) -> Result<Lease, ActivityError> {
        match self
            .store
            .leases()
            .share(job, &self.owner, STORE_TIMEOUT)
            .await
        {
            Err(error @ StoreError::LeaseLost { .. }) => match self.read(job.as_str()).await?.state
            {
                // It waits to be taken again.
                JobState::Pending | JobState::Running => Err(from_store(error)),
                _ => Err(superseded(&error)),
            },
            lease => lease.map_err(from_store),
        }
    }

    /// The machines on which workers serve a bot.
    pub(crate) async fn machines_of(&self, bot: &str) -> Result<BTreeSet<String>, StoreError> {
        let workers = self.store.workers().list().await?;
        let machines = machines_of(bot, &workers).into_iter();
        Ok(machines.map(str::to_owned).collect())
    }

    /// Releases the lease of a job that has ended.
    pub(crate) async fn release(&self, job: &JobId) -> Result<(), ActivityError> {
        let lease = match self
            .store
            .leases()
            .share(job, &self.owner, STORE_TIMEOUT)
            .await
        {
            Err(StoreError::LeaseLost { .. } | StoreError::Leased { .. }) => return Ok(()),
            lease => lease.map_err(from_store)?,
        };
        self.store
            .leases()
            .release(&lease)
            .await
            .map_err(from_store)
    }

    /// Counts an action as in progress, until the guard is dropped.
    pub(crate) fn works_on(&self, job: &Job, request: &Request) -> ActionGuard<'_> {
        let key = request.key().clone();
        let begun = ActionUnderWay {
            job: job.id.clone(),
            key: key.clone(),
            activity: in_words(request.kind()),
            runs_benchmark: !matches!(request, Request::List(_) | Request::Build(_)),
        };
        self.under_way.send_modify(|works| works.push(begun));
        ActionGuard { jobs: self, key }
    }

    /// Waits for the benchmarks that this process has begun before a build of a job. Then the lock
    /// of the machine keeps their order.
    ///
    /// # Errors
    ///
    /// When another machine of the bot is free to build: a benchmark may take hours. If that
    /// machine does not take the build, this one gets it again in a moment, for the next `attempt`.
    pub(crate) async fn until_build_may_begin(
        &self,
        job: &JobId,
        attempt: u32,
    ) -> Result<(), ActivityError> {
        let is_other_free = || match attempt < MOST_HANDOVERS {
            true => self.is_other_machine_free(job).boxed(),
            false => ready(false).boxed(),
        };
        match until_benchmarks_end(self.under_way.subscribe(), is_other_free).await {
            true => Ok(()),
            false => Err(elsewhere(format!(
                "a benchmark is running on {}, and another machine is free",
                self.machine()
            ))),
        }
    }

    /// Checks whether another machine of a job's bot seems to be free. None does while the store
    /// can't be read.
    async fn is_other_machine_free(&self, job: &JobId) -> bool {
        let (Ok(job), Ok(workers)) = (
            self.store.jobs().get(job).await,
            self.store.workers().list().await,
        ) else {
            return false;
        };
        // This one may have begun its benchmark after it was last announced.
        let mut free = free_machines(&job.bot, &workers).into_iter();
        free.any(|machine| machine != self.machine())
    }

    /// Keeps the store informed of work in progress, for as long as it is polled.
    pub(crate) async fn tell(&self, presence: &Presence<'_>) -> Infallible {
        let mut under_way = self.under_way.subscribe();
        loop {
            let latest = under_way.borrow_and_update().last().cloned();
            presence.works_on(latest.as_ref().map(|latest| &latest.job));
            if let Some(latest) = latest {
                presence.does(latest.activity);
            }
            // Its sender lives here.
            let _ = under_way.changed().await;
        }
    }

    #[cfg(feature = "published")]
    pub(crate) fn state_dir(&self) -> &std::path::Path {
        &self.options.state_dir
    }

    pub(crate) fn machine(&self) -> &str {
        &self.options.machine
    }

    /// Opens a job, or finds it open; it stays open while the answer is kept.
    ///
    /// # Errors
    ///
    /// Among others, when another process of this machine has it open.
    pub(crate) async fn open(&self, job: &JobId) -> Result<Arc<JobHere>, JobError> {
        let entry = {
            let mut open = self.open.lock().await;
            let (entry, used) = open
                .entry(job.to_string())
                .or_insert_with(|| (Arc::default(), Instant::now()));
            *used = Instant::now();
            Arc::clone(entry)
        };
        let here = entry.get_or_try_init(|| self.begin(job)).await?;
        Ok(Arc::clone(here))
    }

    async fn begin(&self, job: &JobId) -> Result<Arc<JobHere>, JobError> {
        let state_dir = &self.options.state_dir;
        let joined = TakenJob::join(&self.store, job, &self.owner, state_dir, STORE_TIMEOUT).await;
        if let Err(JobError::Locked(LockError::Held { .. })) = &joined {
            JobLock::ask_for(&job_dir(state_dir, job.as_str()));
        }
        let taken = joined?;
        let executor = (self.open_executor)(taken.job().clone()).await?;
        Ok(Arc::new(JobHere {
            journal: taken.journal().await?,
            taken,
            executor,
        }))
    }

    /// Forgets a job whose lease has changed, once it is no longer in use.
    pub(crate) async fn forget(&self, job: &JobId) {
        self.open.lock().await.remove(job.as_str());
    }

    /// Closes jobs that were not used for a while, and those that another process of this machine
    /// requests; never returns.
    pub(crate) async fn close_idle(&self) -> Infallible {
        loop {
            tokio::time::sleep(CLOSE_POLL_INTERVAL).await;
            self.close(|job, used| {
                let job_dir = job_dir(&self.options.state_dir, job);
                used.elapsed() > LINGER || JobLock::is_asked_for(&job_dir)
            })
            .await;
        }
    }

    /// Closes all jobs that are not in use.
    pub(crate) async fn close_all(&self) {
        self.close(|_, _| true).await;
    }

    async fn close(&self, fits: impl Fn(&str, &Instant) -> bool) {
        let idle: Vec<_> = {
            let mut open = self.open.lock().await;
            let idle = open.extract_if(.., |job, (entry, used)| is_idle(entry) && fits(job, used));
            idle.filter_map(|(_, (entry, _))| entry.get().cloned())
                .collect()
        };
        for here in idle {
            here.executor.end().await;
        }
    }
}

/// Waits for the benchmarks that are in progress now, and for none that begins later: there may
/// always be one. Returns false once another machine is free instead.
async fn until_benchmarks_end<'a>(
    mut under_way: watch::Receiver<Vec<ActionUnderWay>>,
    is_other_free: impl Fn() -> BoxFuture<'a, bool>,
) -> bool {
    let benchmarks: Vec<Key> = (under_way.borrow().iter())
        .filter(|work| work.runs_benchmark)
        .map(|work| work.key.clone())
        .collect();
    loop {
        let ended =
            under_way.wait_for(|works| !works.iter().any(|work| benchmarks.contains(&work.key)));
        let have_ended = tokio::time::timeout(FREE_POLL_INTERVAL, ended)
            .await
            .is_ok();
        let is_quiet = !under_way.borrow().iter().any(|work| work.runs_benchmark);
        if is_quiet {
            return true;
        }
        if is_other_free().await {
            return false;
        }
        if have_ended {
            return true;
        }
    }
}

/// Checks that the job is not in use. One that is being opened has another owner, too.
fn is_idle(entry: &Entry) -> bool {
    let is_used = entry.get().is_some_and(|here| Arc::strong_count(here) > 1);
    Arc::strong_count(entry) == 1 && !is_used
}

/// Keeps an action among those in progress until it is dropped.
pub(crate) struct ActionGuard<'a> {
    jobs: &'a JobsHere,
    key: Key,
}

impl Drop for ActionGuard<'_> {
    fn drop(&mut self) {
        self.jobs.under_way.send_modify(|works| {
            // An abandoned try may end after the next one has begun.
            if let Some(place) = works.iter().position(|work| work.key == self.key) {
                works.remove(place);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;

    use super::*;

    fn action(number: u64, runs_benchmark: bool) -> ActionUnderWay {
        let job = JobId::parse("0199f3c1a2b37f0e8d1c2b3a49586776").unwrap();
        ActionUnderWay {
            key: Key {
                job: job.to_string(),
                action: number,
            },
            job,
            activity: "",
            runs_benchmark,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_build_waits_for_a_benchmark_unless_another_machine_is_free() {
        let under_way = watch::Sender::new(vec![action(1, false)]);
        let not_asked = || panic!("no benchmark runs");
        assert!(until_benchmarks_end(under_way.subscribe(), not_asked).await);

        under_way.send_modify(|works| works.push(action(2, true)));
        let asked = Cell::new(0);
        let free_at_third = || {
            asked.set(asked.get() + 1);
            ready(asked.get() == 3).boxed()
        };
        let began = Instant::now();
        assert!(!until_benchmarks_end(under_way.subscribe(), free_at_third).await);
        assert_eq!(began.elapsed().as_secs(), 6);
    }

    /// Runs for the bot and for the machine come from two queues, so that one follows another
    /// without a pause.
    #[tokio::test(start_paused = true)]
    async fn a_build_does_not_wait_for_later_benchmarks() {
        for is_other_free in [false, true] {
            let under_way = watch::Sender::new(vec![action(1, true)]);
            let benchmarks = async {
                for number in 2.. {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    under_way.send_modify(|works| works.push(action(number, true)));
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    under_way.send_modify(|works| drop(works.remove(0)));
                }
            };
            let is_free = || ready(is_other_free).boxed();
            let began = Instant::now();
            tokio::select! {
                stays = until_benchmarks_end(under_way.subscribe(), is_free) => {
                    assert_eq!(stays, !is_other_free);
                }
                () = benchmarks => {}
            }
            assert_eq!(began.elapsed().as_secs(), 1);
        }
    }
}

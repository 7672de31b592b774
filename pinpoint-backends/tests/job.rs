//! The life of a job, with an executor that answers at once.
#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_backends::job::{JobConfig, JobError, JobRequest, TakenJob, Worker, stored_result};
use pinpoint_backends::local::LocalError;
use pinpoint_backends::store::{
    CancelRequest, Job, JobId, JobStore, LockError, NewJob, NewJobError, StoreError,
};
use pinpoint_backends::{job_dir, owner};
use pinpoint_core::job::{JobResult, ResultError, ResultSource};
use pinpoint_core::{
    BisectionSpec, BuildReport, BuildRequest, CombinedCommit, Commit, Executor, ExecutorError,
    FindMetric, FindMetricRequest, Heartbeat, InProcess, JobState, Key, Limits, ListRequest,
    Listing, Located, Metric, Range, Report, Request, RunReport, RunRequest, Status, Stopped,
    Strategy, Ticket,
};
use serde_json::json;
use tokio::sync::Notify;

/// Commits 0 to 64, the 40th of which is slower.
struct Farm {
    metrics: AtomicU32,
    runs: AtomicU32,
    /// Refuses runs from this index on.
    broken_after: u32,
    /// Refuses runs for a reason that is not the job's.
    has_a_full_disk: bool,
    /// A commit that can't be tested.
    untestable: Option<u64>,
    untestable_ran: AtomicBool,
    /// Never returns the metric.
    is_stuck: bool,
    ran: Notify,
}

impl Farm {
    fn new() -> Self {
        Self {
            metrics: AtomicU32::new(0),
            runs: AtomicU32::new(0),
            broken_after: u32::MAX,
            has_a_full_disk: false,
            untestable: None,
            untestable_ran: AtomicBool::new(false),
            is_stuck: false,
            ran: Notify::new(),
        }
    }

    fn worker(&self) -> Worker<'_> {
        Worker {
            executor: self,
            source: self,
        }
    }
}

fn commit(number: u64) -> CombinedCommit {
    Commit::new("numbers", number.to_string()).into()
}

fn number(commit: &CombinedCommit) -> u64 {
    commit.main.git_hash.parse().unwrap()
}

fn name(located: &Located) -> CombinedCommit {
    match located {
        Located::Commit(commit) => commit.clone(),
        Located::Offset { listing, offset } => commit(number(&listing.lower) + offset + 1),
    }
}

#[async_trait]
impl InProcess for Farm {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let between = number(&request.higher) - number(&request.lower) - 1;
        Ok(Listing::new(request, between))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        Ok(BuildReport::built(name(&request.commit)))
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        self.ran.notify_one();
        if run >= self.broken_after && self.has_a_full_disk {
            return Err(LocalError::Io {
                action: "write",
                path: "/builds".into(),
                source: ErrorKind::StorageFull.into(),
            }
            .into());
        }
        if run >= self.broken_after {
            return Err(ExecutorError::Refused("the disk is full".into()));
        }
        // Lets the task that stops the job run.
        tokio::time::sleep(Duration::from_millis(1)).await;
        if self.untestable == Some(number(&request.variant.commit)) {
            if self.untestable_ran.swap(true, Ordering::SeqCst) {
                // Requested at the same time: runs until it is ended.
                return std::future::pending().await;
            }
            let mut report = RunReport::failed(0, "exit code 125");
            report.untestable = true;
            return Ok(report);
        }
        let unit = (request.metric.as_ref()).and_then(|metric| metric.unit.as_deref());
        let is_found = self.metrics.load(Ordering::SeqCst) > 0;
        assert!(unit == Some("ms") || !is_found, "{unit:?}");
        let level = match number(&request.variant.commit) {
            0..40 => 100.0,
            _ => 200.0,
        };
        let noise = f64::from(request.index * 7 % 5);
        Ok(RunReport::new(0).value("latency", level + noise))
    }

    async fn find_metric(&self, request: &FindMetricRequest) -> Result<Metric, ExecutorError> {
        assert_eq!(request.commit, commit(0));
        self.metrics.fetch_add(1, Ordering::SeqCst);
        if self.is_stuck {
            return std::future::pending().await;
        }
        Ok(Metric {
            chart: Some("latency".into()),
            unit: Some("ms".into()),
            ..Metric::default()
        })
    }
}

#[async_trait]
impl ResultSource for Farm {
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
        Ok(located.iter().map(name).collect())
    }
}

struct Fixture {
    directory: tempfile::TempDir,
    store: JobStore,
    id: JobId,
}

impl Fixture {
    async fn new(spec: BisectionSpec) -> Self {
        let config = JobConfig {
            find_metric: Some(FindMetric {
                directions: true,
                ..FindMetric::default()
            }),
            ..JobConfig::default()
        };
        Self::with_job(&JobRequest::new(spec, config).into_job().unwrap()).await
    }

    async fn with_job(job: &NewJob) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let id = store.jobs().create(job).await.unwrap();
        Self {
            directory,
            store,
            id,
        }
    }

    fn spec() -> BisectionSpec {
        BisectionSpec {
            strategy: Strategy::Pinpoint,
            ..BisectionSpec::new(Range::Between {
                good: commit(0),
                bad: commit(64),
            })
        }
    }

    fn state_dir(&self) -> &Path {
        self.directory.path()
    }

    fn job_dir(&self) -> PathBuf {
        job_dir(self.state_dir(), self.id.as_str())
    }

    async fn take(&self) -> Result<TakenJob, JobError> {
        let owner = owner(self.state_dir(), "here").unwrap();
        TakenJob::take(&self.store, &self.id, &owner, &self.job_dir()).await
    }

    async fn job(&self) -> Job {
        self.store.jobs().get(&self.id).await.unwrap()
    }

    /// Works on the job until it ends by itself.
    async fn work(&self, farm: &Farm) -> Result<JobResult, JobError> {
        self.work_until(farm, std::future::pending()).await
    }

    async fn work_until(
        &self,
        farm: &Farm,
        interrupted: impl Future<Output = ()>,
    ) -> Result<JobResult, JobError> {
        let taken = self.take().await?;
        let result = taken.work(farm.worker(), interrupted, |_, _| {}).await;
        taken.release().await;
        result
    }
}

fn culprit(result: &JobResult) -> &str {
    let JobResult::Bisection(result) = result else {
        panic!("{result:?}");
    };
    assert_eq!(result.status, Status::CulpritFound);
    &result.culprits[0].blamed.git_hash
}

#[tokio::test]
async fn a_result_is_kept_with_the_job() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm::new();
    let result = fixture.work(&farm).await.unwrap();
    assert_eq!(culprit(&result), "40");
    assert_eq!(farm.metrics.load(Ordering::SeqCst), 1);
    let unit = json!(result)["unit"].clone();
    assert_eq!(unit, "ms");
    let job = fixture.job().await;
    assert_eq!(job.state, JobState::Completed);
    let stored = stored_result(&job).unwrap().unwrap();
    assert_eq!(culprit(&stored), "40");
    // Durations are plain numbers.
    assert_eq!(json!(stored), json!(result));
}

#[tokio::test]
async fn a_job_is_taken_once() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let taken = fixture.take().await.unwrap();
    let error = fixture.take().await.unwrap_err();
    assert!(
        matches!(error, JobError::Locked(LockError::Held { .. })),
        "{error}"
    );
    let elsewhere = tempfile::tempdir().unwrap();
    let take = || TakenJob::take(&fixture.store, &fixture.id, "there", elsewhere.path());
    let error = take().await.unwrap_err();
    assert!(
        matches!(error, JobError::Store(StoreError::Leased { .. })),
        "{error}"
    );
    taken.release().await;
    take().await.unwrap().release().await;
}

#[tokio::test]
async fn an_interrupted_job_goes_on_where_it_was() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm::new();
    let error = fixture
        .work_until(&farm, farm.ran.notified())
        .await
        .unwrap_err();
    assert!(matches!(error, JobError::Interrupted), "{error}");
    assert_eq!(fixture.job().await.state, JobState::Pending);
    assert_eq!(culprit(&fixture.work(&farm).await.unwrap()), "40");
    assert_eq!(farm.metrics.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_time_for_which_a_job_lay_there_does_not_count() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm::new();
    let began = std::time::Instant::now();
    let _ = fixture.work_until(&farm, farm.ran.notified()).await;
    let first = began.elapsed();
    let lay = Duration::from_secs(1);
    tokio::time::sleep(lay).await;
    let again = std::time::Instant::now();
    let result = fixture.work(&farm).await.unwrap();
    let most = first + again.elapsed();
    let JobResult::Bisection(result) = result else {
        panic!("not a bisection");
    };
    assert!(result.duration_s > 0.0);
    // The store has whole milliseconds.
    assert!(result.duration_s < most.as_secs_f64() + 0.01, "{result:?}");
}

#[tokio::test]
async fn a_job_that_is_canceled_while_it_runs_can_go_on_after_all() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm {
        is_stuck: true,
        ..Farm::new()
    };
    let work = fixture.work(&farm);
    let cancel = async {
        // The worker clears earlier requests.
        while fixture.job().await.state != JobState::Running {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        fixture
            .store
            .cancellations()
            .request(&fixture.id, &CancelRequest::default(), None)
            .await
            .unwrap();
    };
    let (result, ()) = tokio::join!(work, cancel);
    let JobResult::Bisection(result) = result.unwrap() else {
        panic!("not a bisection");
    };
    assert_eq!((result.status, result.runs), (Status::Canceled, 0));
    assert_eq!(fixture.job().await.state, JobState::Canceled);

    assert_eq!(culprit(&fixture.work(&Farm::new()).await.unwrap()), "40");
}

#[tokio::test]
async fn a_job_on_which_no_one_works_is_canceled() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm::new();
    let _ = fixture.work_until(&farm, farm.ran.notified()).await;
    // A result requires a source.
    let taken = fixture.take().await.unwrap();
    assert_eq!(taken.cancel(None).await.unwrap(), JobState::Canceled);
    taken.release().await;
    let job = fixture.job().await;
    assert_eq!((job.state, job.outcome), (JobState::Canceled, None));
    let taken = fixture.take().await.unwrap();
    assert_eq!(taken.cancel(Some(&farm)).await.unwrap(), JobState::Canceled);
    taken.release().await;
    let result = stored_result(&fixture.job().await).unwrap().unwrap();
    assert_eq!(result.state(), JobState::Canceled);

    // A job that had found its result just before it was killed keeps it.
    let fixture = Fixture::new(Fixture::spec()).await;
    fixture.work(&farm).await.unwrap();
    let taken = fixture.take().await.unwrap();
    let error = taken.cancel(Some(&farm)).await.unwrap_err();
    let is_over = matches!(error, JobError::Store(StoreError::Transition { .. }));
    assert!(is_over, "{error}");
}

/// Builds elsewhere that never end by themselves.
#[derive(Default)]
struct Elsewhere {
    under_way: Mutex<BTreeSet<Key>>,
    is_out_of_reach: AtomicBool,
    /// The process ends before it learns that a build has started.
    is_killed_early: bool,
    waits: Notify,
}

#[async_trait]
impl Executor for Elsewhere {
    async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError> {
        let key = request.key().clone();
        if let Request::List(_) = request {
            return Ok(Ticket::in_process(key));
        }
        self.under_way.lock().unwrap().insert(key.clone());
        if self.is_killed_early {
            self.waits.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(Ticket::durable(key, "a build"))
    }

    async fn wait(
        &self,
        request: &Request,
        _: &Ticket,
        _: &Heartbeat,
    ) -> Result<Report, ExecutorError> {
        if let Request::List(request) = request {
            return Ok(Report::Listed(Listing::new(request, 63)));
        }
        self.waits.notify_one();
        std::future::pending().await
    }

    async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError> {
        if self.is_out_of_reach.load(Ordering::SeqCst) {
            return Err(ExecutorError::Unavailable("connection reset".into()));
        }
        self.under_way.lock().unwrap().remove(&ticket.key);
        Ok(())
    }
}

#[tokio::test]
async fn work_elsewhere_ends_with_a_job_on_which_no_one_works() {
    // With one build at a time the ticket is journaled when it is waited for.
    let spec = BisectionSpec {
        limits: Limits {
            builds: 1,
            ..Limits::default()
        },
        ..Fixture::spec()
    };
    let fixture = Fixture::with_job(&NewJob::new(spec).unwrap()).await;
    let (elsewhere, source) = (Elsewhere::default(), Farm::new());
    let worker = Worker {
        executor: &elsewhere,
        source: &source,
    };
    let taken = fixture.take().await.unwrap();
    let interrupted = elsewhere.waits.notified();
    let error = taken.work(worker, interrupted, |_, _| {}).await;
    let error = error.unwrap_err();
    assert!(matches!(error, JobError::Interrupted), "{error}");
    taken.release().await;
    assert_eq!(elsewhere.under_way.lock().unwrap().len(), 1);

    // A job whose work can't be ended is not reported as canceled.
    let taken = fixture.take().await.unwrap();
    elsewhere.is_out_of_reach.store(true, Ordering::SeqCst);
    let error = taken.cancel_with(worker).await.unwrap_err();
    assert_eq!(error.to_string(), "connection reset");
    assert_eq!(fixture.job().await.state, JobState::Pending);

    elsewhere.is_out_of_reach.store(false, Ordering::SeqCst);
    let state = taken.cancel_with(worker).await.unwrap();
    assert_eq!(state, JobState::Canceled);
    assert!(elsewhere.under_way.lock().unwrap().is_empty());
    assert_eq!(fixture.job().await.state, JobState::Canceled);
}

#[tokio::test]
async fn work_elsewhere_ends_though_no_one_heard_that_it_had_begun() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let elsewhere = Elsewhere {
        is_killed_early: true,
        ..Elsewhere::default()
    };
    let worker = Worker {
        executor: &elsewhere,
        source: &Farm::new(),
    };
    let taken = fixture.take().await.unwrap();
    let interrupted = elsewhere.waits.notified();
    let error = taken.work(worker, interrupted, |_, _| {}).await;
    let error = error.unwrap_err();
    assert!(matches!(error, JobError::Interrupted), "{error}");
    taken.release().await;
    assert!(!elsewhere.under_way.lock().unwrap().is_empty());

    let taken = fixture.take().await.unwrap();
    let state = taken.cancel_with(worker).await.unwrap();
    assert_eq!(state, JobState::Canceled);
    assert!(elsewhere.under_way.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_job_needs_no_configuration() {
    let spec = Fixture::spec();
    let fixture = Fixture::with_job(&NewJob::new(spec).unwrap()).await;
    let config = JobConfig::of(&fixture.job().await).unwrap();
    assert!(config.needs_functions());
    assert_eq!(culprit(&fixture.work(&Farm::new()).await.unwrap()), "40");

    let refused = NewJob::new(BisectionSpec {
        confidence: 2.0,
        ..Fixture::spec()
    });
    assert!(matches!(refused, Err(NewJobError::Spec(_))), "{refused:?}");
}

#[tokio::test]
async fn a_job_pauses_while_something_is_refused() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm {
        broken_after: 3,
        ..Farm::new()
    };
    let error = fixture.work(&farm).await.unwrap_err();
    assert!(matches!(error, JobError::Drive(_)), "{error}");
    let job = fixture.job().await;
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(job.error.as_deref(), Some("the disk is full"));
    let farm = Farm::new();
    assert_eq!(culprit(&fixture.work(&farm).await.unwrap()), "40");
    // The metric was found earlier.
    assert_eq!(farm.metrics.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_commit_that_can_not_be_tested_is_skipped_at_once() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm {
        // The first in the middle.
        untestable: Some(32),
        ..Farm::new()
    };
    let result = fixture.work(&farm).await.unwrap();
    assert_eq!(culprit(&result), "40");
    let JobResult::Bisection(result) = result else {
        panic!("not a bisection");
    };
    let skipped = &result.skipped[0];
    assert_eq!(skipped.commit.main.git_hash, "32");
    assert!(skipped.reason.contains("exit code 125"), "{skipped:?}");
}

/// The job is not to blame for a machine.
#[tokio::test]
async fn a_full_disk_leaves_a_job_pending_with_the_reason() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm {
        broken_after: 3,
        has_a_full_disk: true,
        ..Farm::new()
    };
    let error = fixture.work(&farm).await.unwrap_err();
    assert!(error.is_infrastructure(), "{error}");
    let job = fixture.job().await;
    assert_eq!(job.state, JobState::Pending);
    let reason = job.error.unwrap();
    assert!(reason.contains("can't write /builds"), "{reason}");
    assert_eq!(culprit(&fixture.work(&Farm::new()).await.unwrap()), "40");
    assert_eq!(fixture.job().await.error, None);
}

#[tokio::test]
async fn the_preparation_is_inside_the_budget_of_time() {
    let fixture = Fixture::new(BisectionSpec {
        max_time: Some(50),
        ..Fixture::spec()
    })
    .await;
    let farm = Farm {
        is_stuck: true,
        ..Farm::new()
    };
    let JobResult::Bisection(result) = fixture.work(&farm).await.unwrap() else {
        panic!("not a bisection");
    };
    assert_eq!((result.stopped, result.runs), (Stopped::TimeBudget, 0));
}

#[tokio::test]
async fn a_cancellation_is_withdrawn_even_if_the_job_can_not_be_resumed_here() {
    let fixture = Fixture::new(Fixture::spec()).await;
    let farm = Farm::new();
    let _ = fixture.work_until(&farm, farm.ran.notified()).await;
    let taken = fixture.take().await.unwrap();
    taken.cancel(Some(&farm)).await.unwrap();
    taken.release().await;

    let taken = fixture.take().await.unwrap();
    taken.fail(&"no repository ".repeat(1000)).await.unwrap();
    taken.release().await;
    let job = fixture.job().await;
    assert_eq!(job.state, JobState::Failed);
    assert!(job.error.unwrap().len() < 5_000);
    assert_eq!(culprit(&fixture.work(&farm).await.unwrap()), "40");
}

#[tokio::test]
async fn a_job_that_an_early_version_made_is_begun() {
    // For commands the metric is found first, for functions never.
    for (config, found) in [
        (
            json!({ "local": { "command": ["a"] }, "direction_by_unit": true }),
            1,
        ),
        (
            json!({ "local": null, "direction_by_unit": false, "builds": true, "runs": true }),
            0,
        ),
    ] {
        let fixture = Fixture::new(Fixture::spec()).await;
        let old = pinpoint_backends::store::NewJob {
            kind: "python_bisection".into(),
            spec: fixture.job().await.spec,
            config,
            ..Default::default()
        };
        let id = fixture.store.jobs().create(&old).await.unwrap();
        let fixture = Fixture { id, ..fixture };
        let farm = Farm::new();
        let error = fixture
            .work_until(&farm, farm.ran.notified())
            .await
            .unwrap_err();
        assert!(matches!(error, JobError::Interrupted), "{error}");
        // The same machine reads its records.
        assert_eq!(culprit(&fixture.work(&farm).await.unwrap()), "40");
        assert_eq!(farm.metrics.load(Ordering::SeqCst), found);
        let config = fixture.job().await.config;
        assert_eq!(config["find_metric"].is_null(), found == 0, "{config}");
    }
}

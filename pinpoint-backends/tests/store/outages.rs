//! Stores and machines in trouble, and jobs whose processes are gone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_backends::job::{JobError, TakeOptions, TakenJob, Worker, interrupted};
use pinpoint_backends::store::{JobFilter, JobStore, NewJob, StoreError};
use pinpoint_core::job::{JobResult, ResultError, ResultSource};
use pinpoint_core::{
    BisectionSpec, BuildReport, BuildRequest, CombinedCommit, Commit, DriveError, ExecutorError,
    InProcess, JobState, ListRequest, Listing, Located, Range, RunReport, RunRequest,
};

use crate::common::Fixture;
use crate::on_both;

on_both! {
    a_job_does_not_fail_with_its_store,
    a_running_job_without_a_process_is_known,
    a_job_that_can_not_go_on_anywhere_is_paused,
}

const LEASE: Duration = Duration::from_secs(2);

/// Commits are numbers, the 5th of which is slower.
struct Numbers<'a> {
    /// Takes no more records from the first run on.
    fixture: &'a Fixture,
    has_run: AtomicBool,
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
        Located::Offset { offset, .. } => commit(offset + 1),
    }
}

#[async_trait]
impl InProcess for Numbers<'_> {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let between = number(&request.higher) - number(&request.lower) - 1;
        Ok(Listing::new(request, between))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        Ok(BuildReport::built(name(&request.commit)))
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        if !self.has_run.swap(true, Ordering::SeqCst) {
            let hide = "ALTER TABLE records RENAME TO hidden";
            self.fixture.behind_its_back(hide).await;
        }
        let level = match number(&request.variant.commit) {
            0..5 => 100.0,
            _ => 200.0,
        };
        Ok(RunReport::new(0).value("time", level + f64::from(request.index % 7)))
    }
}

#[async_trait]
impl ResultSource for Numbers<'_> {
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
        Ok(located.iter().map(name).collect())
    }
}

fn new_job() -> NewJob {
    let (good, bad) = (commit(0), commit(10));
    NewJob {
        bot: "lab".into(),
        config: serde_json::json!({ "by_workers": true }),
        ..NewJob::new(BisectionSpec::new(Range::Between { good, bad })).unwrap()
    }
}

async fn take(store: &JobStore, owner: &str, directory: &std::path::Path) -> Option<TakenJob> {
    let filter = JobFilter::default();
    let options = TakeOptions {
        trusted: None,
        owner,
        state_dir: directory,
        lease: LEASE,
    };
    TakenJob::take_next(store, &filter, options).await.unwrap()
}

/// The store refuses a record, as when it is being moved or has lost its disk: that is not the
/// job's fault.
async fn a_job_does_not_fail_with_its_store(fixture: Fixture) {
    let store = &fixture.store;
    let id = store.jobs().create(&new_job()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let taken = take(store, "ada", directory.path()).await.unwrap();
    let numbers = Numbers {
        fixture: &fixture,
        has_run: AtomicBool::new(false),
    };
    let worker = Worker {
        executor: &numbers,
        source: &numbers,
    };
    let result = taken.work(worker, std::future::pending(), |_, _| {}).await;
    let error = result.unwrap_err();
    assert!(error.is_infrastructure(), "{error}");
    taken.release().await;
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!(job.state, JobState::Pending);
    assert!(job.error.unwrap().contains("records"));

    // The next worker continues.
    fixture
        .behind_its_back("ALTER TABLE hidden RENAME TO records")
        .await;
    let elsewhere = tempfile::tempdir().unwrap();
    let taken = take(store, "bob", elsewhere.path()).await.unwrap();
    let result = taken.work(worker, std::future::pending(), |_, _| {}).await;
    let JobResult::Bisection(result) = result.unwrap() else {
        panic!("not a bisection");
    };
    assert_eq!(result.culprits[0].blamed.git_hash, "5");
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!((job.state, job.error), (JobState::Completed, None));
}

async fn a_running_job_without_a_process_is_known(fixture: Fixture) {
    let store = &fixture.store;
    let jobs = [fixture.job().await, fixture.job().await];
    let lease = store
        .leases()
        .grant(&jobs[0], "ada", LEASE * 100)
        .await
        .unwrap();
    let gone = async || {
        let directory = fixture.directory.path();
        interrupted(store, &jobs, Some("bob"), directory)
            .await
            .unwrap()
    };
    assert_eq!(store.leases().holders(&jobs).await.unwrap(), []);
    let running = store
        .leases()
        .set_state(&lease, JobState::Running, None, None);
    running.await.unwrap();
    let holders = store.leases().holders(&jobs).await.unwrap();
    let [held] = &holders[..] else {
        panic!("{holders:?}");
    };
    assert_eq!((&held.job, &*held.owner), (&jobs[0], "ada"));
    assert!(!held.expired && !held.by_workers);
    assert_eq!(gone().await, []);
    store.leases().renew(&lease, Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(gone().await, jobs[..1]);
}

/// It goes from worker to worker, but not forever.
async fn a_job_that_can_not_go_on_anywhere_is_paused(fixture: Fixture) {
    let store = &fixture.store;
    let id = store.jobs().create(&new_job()).await.unwrap();
    let away = |id: &str| {
        JobError::Store(StoreError::Unreachable {
            store: id.into(),
            source: pinpoint_backends::store::DatabaseError::no_connection(),
        })
    };
    let mut attempts = 0;
    while let Some(taken) = take(store, "ada", fixture.directory.path()).await {
        attempts += 1;
        assert!(attempts < 20);
        taken
            .give_up(&away("a disk"), Some("rack-1"))
            .await
            .unwrap();
        taken.release().await;
        let job = store.jobs().get(&id).await.unwrap();
        assert_eq!(job.state, JobState::Pending);
        assert!(job.error.unwrap().contains("on rack-1: "));
    }
    assert_eq!(attempts, 5);
    let job = store.jobs().get(&id).await.unwrap();
    let reason = job.error.unwrap();
    assert!(job.paused && reason.contains("paused after 5"), "{reason}");
    // The count restarts once a user resumes it.
    store.jobs().resume(&id, None, None).await.unwrap();
    for _ in 0..4 {
        let taken = take(store, "ada", fixture.directory.path()).await.unwrap();
        taken.give_up(&away("a disk"), None).await.unwrap();
        taken.release().await;
        assert!(!store.jobs().get(&id).await.unwrap().paused);
    }

    // A problem of the job itself is not a reason to try elsewhere.
    let taken = take(store, "ada", fixture.directory.path()).await.unwrap();
    let refused = JobError::Drive(DriveError::Refused("no command".into()));
    taken.give_up(&refused, None).await.unwrap();
    taken.release().await;
    let state = store.jobs().get(&id).await.unwrap().state;
    assert_eq!(state, JobState::Failed);
}

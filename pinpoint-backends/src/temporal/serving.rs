//! A worker on Temporal, from its start to its end.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, try_join_all};
use pinpoint_core::job::JobResult;
use temporalio_common::worker::{
    VersioningBehavior, WorkerDeploymentOptions, WorkerDeploymentVersion,
};
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, Worker};
use tokio::sync::mpsc;

use super::actions::Actions;
use super::bookkeeping::Bookkeeping;
use super::connection::Temporal;
use super::dispatcher::Dispatcher;
use super::error::TemporalError;
use super::jobs_here::{JobsHere, OpenExecutor};
use super::messages::{QUEUE, TimeLimits, bot_queue, build_queue, machine_queue};
use super::namespace::StoreId;
#[cfg(feature = "published")]
use super::published::{self, PublishedNames};
use super::queues::Queues;
use super::workflow::JobWorkflow;
use crate::store::{Announcement, Job, JobId, JobStore};
use crate::worker::{Presence, WorkerError, WorkerOptions, WorkerSlot, open_executor};

/// The most polls for a task that wait at the server for each queue; it rejects fewer. The server
/// also answers polls of a suspended worker, and each of these tasks is lost until its timeout.
const POLLS: usize = 2;

/// Options of a worker on Temporal in addition to [`WorkerOptions`].
#[derive(Debug, Clone, PartialEq)]
pub struct TemporalOptions {
    /// Limits on the time of activities.
    pub limits: TimeLimits,
    /// The time for which a job belongs to Temporal after its last worker is gone.
    pub lease: Duration,
    /// The deployment of this worker. Workflows stay with the version of the program that started
    /// them; without a deployment, every version takes all of them.
    pub deployment: Option<String>,
    /// The published workflows, if it also takes those.
    #[cfg(feature = "published")]
    pub published: Option<PublishedNames>,
}

impl Default for TemporalOptions {
    /// The default limits, and two minutes.
    fn default() -> Self {
        Self {
            limits: TimeLimits::default(),
            lease: Duration::from_secs(120),
            deployment: None,
            #[cfg(feature = "published")]
            published: None,
        }
    }
}

/// A step of a worker on Temporal.
#[derive(Debug)]
#[non_exhaustive]
pub enum TemporalEvent<'a> {
    /// It serves its bots from now on.
    Began(&'a Announcement),
    /// It has started the workflow of a job.
    Started(&'a Job),
    /// It has ended a job whose workflow was ended from outside.
    Ended(&'a JobId, pinpoint_core::JobState),
    /// It has ended a job, with this result, or without one for this reason.
    Concluded(&'a JobId, Result<&'a JobResult, &'a str>),
    /// The server of this address does not answer. Jobs wait for it.
    Away(&'a str),
    /// The server answers again.
    Back(&'a str),
    /// A job can't be taken, checked or read, for this reason; it will retry.
    Trouble(&'a (dyn std::error::Error + 'static)),
}

/// A worker on Temporal.
#[derive(Clone, Copy)]
pub struct TemporalWorker<'a> {
    /// The store of its jobs.
    pub store: &'a JobStore,
    /// The server.
    pub temporal: &'a Temporal,
    /// The machine.
    pub worker: &'a WorkerOptions,
    /// The limits and the names on the server.
    pub options: &'a TemporalOptions,
}

/// Carries out workflows and activities until `stop` resolves. Then the run and the builds in
/// progress are given time to end.
///
/// # Errors
///
/// When the worker can't start, or Temporal refuses it for good.
pub async fn serve(
    worker: TemporalWorker<'_>,
    stop: impl Future<Output = ()>,
    tell: impl FnMut(TemporalEvent<'_>),
) -> Result<(), TemporalError> {
    let of = Arc::new(worker.worker.clone());
    let open = move |job| {
        let of = Arc::clone(&of);
        let open = async move { Ok(Box::new(open_executor(&of, &job).await?) as _) };
        open.boxed()
    };
    serve_with(worker, Box::new(open), stop, tell).await
}

/// As [`serve`], with the caller's executors.
///
/// # Errors
///
/// As [`serve`].
pub async fn serve_with(
    worker: TemporalWorker<'_>,
    open: Box<OpenExecutor>,
    stop: impl Future<Output = ()>,
    mut tell: impl FnMut(TemporalEvent<'_>),
) -> Result<(), TemporalError> {
    let TemporalWorker {
        store,
        temporal,
        worker,
        options,
    } = worker;
    if worker.trusted.is_some() {
        return Err(TemporalError::SignedOnly);
    }
    let with_attributes = temporal.has_attributes().await?;
    let identity = StoreId::from_store(store).await?;
    temporal.check_store(&identity).await?;
    temporal.check_key(store).await?;
    let place = WorkerSlot::take(worker)?;
    let presence = Presence::new(store, &place, worker);
    presence.announce().await.map_err(WorkerError::from)?;
    let (news, happened) = mpsc::unbounded_channel();
    let jobs = Arc::new(JobsHere::new(
        store.clone(),
        worker.clone(),
        open,
        temporal.owner(),
        identity.identity,
        temporal.metrics.clone(),
        news,
    ));
    let stopping = Arc::new(AtomicBool::new(false));
    let telemetry = RuntimeOptions::builder()
        .telemetry_options(temporal.metrics.telemetry())
        .build();
    let runtime = Runtime::from_current_tokio(
        telemetry.map_err(|error| TemporalError::Client(error.into()))?,
    )?;
    let mut workers = workers(temporal, &runtime, worker, options, &jobs, &stopping)?;
    #[cfg(feature = "published")]
    let following = match &options.published {
        Some(names) => {
            let follows = published::following(names, &jobs, place.owner.clone(), &stopping);
            let published = published::worker_options(names, &follows)?;
            workers.push(Worker::new(&runtime, temporal.plain.clone(), published)?);
            Some(follows)
        }
        None => None,
    };
    let stops: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    let dispatcher = Dispatcher {
        jobs: Arc::clone(&jobs),
        temporal,
        deployment: options.deployment.as_deref(),
        client: temporal.client.clone(),
        bots: &worker.bots,
        limits: &options.limits,
        stopping: Arc::clone(&stopping),
        lease: options.lease,
        with_attributes,
    };
    let queues = Queues {
        jobs: Arc::clone(&jobs),
        client: temporal.client.clone(),
        namespace: &temporal.namespace,
        bots: &worker.bots,
    };
    tell(TemporalEvent::Began(&presence.announcement()));
    let running: Vec<LocalBoxFuture<'_, _>> = workers
        .iter_mut()
        .map(|it| it.run().boxed_local())
        .collect();
    let running = try_join_all(running);
    let stop = async {
        stop.await;
        stopping.store(true, Ordering::Relaxed);
        for stop in stops {
            stop();
        }
        std::future::pending().await
    };
    let dispatch = dispatcher.keep(happened, tell);
    let ended = tokio::select! {
        biased;
        ended = running => ended.map(drop),
        never = async {
            let told = async { tokio::join!(jobs.tell(&presence), presence.keep(), queues.keep()) };
            let left = async {
                #[cfg(feature = "published")]
                if let Some(following) = &following {
                    return following.cancel_left(&temporal.plain).await;
                }
                std::future::pending::<Infallible>().await
            };
            tokio::join!(stop, dispatch, jobs.close_idle(), told, left).0
        } => never,
    };
    jobs.close_all().await;
    presence.end().await;
    Ok(ended?)
}

/// The version of this program in a deployment.
///
/// Activities have no version: their results are in the journal, which every version reads.
fn of_deployment(name: &str) -> WorkerDeploymentOptions {
    let version = WorkerDeploymentVersion::builder()
        .deployment_name(name)
        .build_id(env!("CARGO_PKG_VERSION"))
        .build();
    WorkerDeploymentOptions::new(version)
        .use_worker_versioning(true)
        .default_versioning_behavior(VersioningBehavior::Pinned)
        .build()
}

/// Creates a worker for each queue: their limits differ.
fn workers(
    temporal: &Temporal,
    runtime: &Runtime,
    options: &WorkerOptions,
    temporal_options: &TemporalOptions,
    jobs: &Arc<JobsHere>,
    stopping: &Arc<AtomicBool>,
) -> Result<Vec<Worker>, TemporalError> {
    let builds = options.build_jobs.unwrap_or(4) as usize;
    let mut queues = vec![(QUEUE.to_owned(), None)];
    if !options.bots.is_empty() {
        queues.push((machine_queue(&options.machine), Some(1)));
    }
    for bot in &options.bots {
        queues.push((bot_queue(bot), Some(1)));
        queues.push((build_queue(bot), Some(builds)));
    }
    let mut workers = Vec::new();
    for (queue, slots) in queues {
        let builder = temporalio_sdk::WorkerOptions::new(queue)
            .client_identity_override(options.machine.clone())
            .max_heartbeat_throttle_interval(temporal_options.limits.heartbeat / 6)
            .sticky_queue_schedule_to_start_timeout(temporal_options.limits.heartbeat / 3)
            .workflow_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLS))
            .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(POLLS))
            .graceful_shutdown_period(options.drain);
        let built = match slots {
            None => builder
                .maybe_deployment_options(temporal_options.deployment.as_deref().map(of_deployment))
                .register_workflow::<JobWorkflow>()
                .map_err(|error| TemporalError::Client(error.into()))?
                .register_activities(Bookkeeping {
                    jobs: Arc::clone(jobs),
                })
                .build(),
            Some(slots) => builder
                .register_activities(Actions {
                    jobs: Arc::clone(jobs),
                    stopping: Arc::clone(stopping),
                })
                .tuner(at_a_time(slots))
                .build(),
        };
        workers.push(Worker::new(runtime, temporal.client.clone(), built)?);
    }
    Ok(workers)
}

/// The limit on a worker's concurrent tasks.
pub(super) fn at_a_time(slots: usize) -> TunerHolder {
    let slots = || FixedSizeSlotSupplier::new(slots);
    TunerHolder::builder()
        .workflow_task_slot_supplier(slots())
        .activity_task_slot_supplier(slots())
        .local_activity_task_slot_supplier(slots())
        .nexus_task_slot_supplier(slots())
        .build()
}

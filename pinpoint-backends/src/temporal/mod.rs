//! Workers on [Temporal](https://temporal.io): jobs that outlive every process, each as a workflow
//! whose actions are spread over the machines of its bot.
//!
//! A job waits in the store until a worker of its bot takes it, which decides how the job is
//! carried out. One on Temporal starts a workflow with the job's id. The workflow is the job's
//! machine; each action is an activity on some machine of the bot, whose answer is in the journal
//! before it counts. So lists, reports and `resume` need only the store, as for any other job.
//!
//! ```text
//! pinpoint                 workflows, and activities that need only the store
//! pinpoint.build.BOT       builds, and activities that need the repository
//! pinpoint.bot.BOT         runs, one at a time on each machine
//! pinpoint.machine.NAME    runs that have to be made on that machine
//! ```
//!
//! Workers may take the workflows of Chromium's Pinpoint, too: [`PublishedNames`].
//!
//! A dead worker is noticed after half a minute, and another one continues. A job on Temporal is
//! leased to [`Temporal::owner`]; while it is, no other worker takes it.

mod actions;
mod beating;
mod bookkeeping;
mod codec;
mod dispatcher;
mod failures;
#[cfg(test)]
mod histories;
mod jobs_here;
mod messages;
mod metrics;
mod namespace;
mod news;
mod published;
mod queues;
mod unable;
mod workflow;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, try_join_all};
use pinpoint_core::job::JobResult;
use temporalio_client::envconfig::{
    ClientConfigProfile, ConfigError, DataSource, LoadClientConfigProfileOptions,
};
use temporalio_client::errors::ClientConnectError;
use temporalio_client::tonic::Code;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_common::data_converters::{
    DataConverter, DefaultFailureConverter, PayloadConverter,
};
use temporalio_common::envconfig::load_client_config_profile;
use temporalio_common::worker::{
    VersioningBehavior, WorkerDeploymentOptions, WorkerDeploymentVersion,
};
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, RuntimeError, Worker, WorkerCreateError, WorkerRunError};
use tokio::sync::mpsc;

use crate::job::ON_TEMPORAL;
pub use crate::store::CancelRequest;
use crate::store::{Announcement, Job, JobId, JobStore};
use crate::worker::{Place, Presence, WorkerError, WorkerOptions, open_executor};
use actions::Actions;
use bookkeeping::Bookkeeping;
pub use codec::PayloadKey;
use codec::{Codec, Unread};
use dispatcher::Dispatcher;
use jobs_here::JobsHere;
pub use jobs_here::{JobExecutor, OpenExecutor};
use messages::{QUEUE, bot_queue, build_queue, machine_queue};
pub use messages::{TimeLimits, UnderWay, WorkflowProgress};
use metrics::Metrics;
pub use namespace::SetUp;
use namespace::StoreId;
pub use published::{PUBLISHED_QUEUE, PublishedNames};
use queues::Queues;
use workflow::JobWorkflow;

/// The time limit for a connection, and for each answer.
const CONNECT: Duration = Duration::from_secs(10);

/// The most polls for a task that wait at the server for each queue; it rejects fewer. The server
/// also answers polls of a suspended worker, and each of these tasks is lost until its timeout.
const POLLS: usize = 2;

/// The address of Temporal, and its credentials.
///
/// Absent values come from the environment (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`,
/// `TEMPORAL_API_KEY`, `TEMPORAL_TLS_…`) or from the profile in Temporal's configuration file, as
/// in all tools of Temporal.
#[derive(Debug, Clone, Default)]
pub struct Address {
    /// `HOST:PORT`; `localhost:7233` by default.
    pub address: Option<String>,
    /// The namespace; `default` by default.
    pub namespace: Option<String>,
    /// The profile of the configuration file.
    pub profile: Option<String>,
    /// The key for payloads, the same for all workers; they are not encrypted when absent.
    pub key: Option<PayloadKey>,
}

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
    pub published: Option<PublishedNames>,
}

impl Default for TemporalOptions {
    /// The default limits, and two minutes.
    fn default() -> Self {
        Self {
            limits: TimeLimits::default(),
            lease: Duration::from_secs(120),
            deployment: None,
            published: None,
        }
    }
}

/// The reason why Temporal can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemporalError {
    /// The configuration can't be read.
    #[error("the configuration of Temporal can't be used: {0}")]
    Config(#[from] ConfigError),
    /// No server answers at the address.
    #[error(
        "cannot reach Temporal at {address} {} TLS: {reason}",
        if *tls { "with" } else { "without" }
    )]
    Connect {
        /// Its address.
        address: String,
        /// True if TLS was used.
        tls: bool,
        /// The reason.
        reason: String,
    },
    /// The server does not know this client, or does not allow it to do this.
    #[error("Temporal at {address} refuses this client: {reason}")]
    Refused {
        /// Its address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The server can't carry out a call.
    #[error("Temporal at {address} answers: {reason}")]
    Call {
        /// Its address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The namespace does not exist.
    #[error("Temporal at {address} has no namespace {namespace:?}")]
    NoNamespace {
        /// The address of the server.
        address: String,
        /// The namespace.
        namespace: String,
    },
    /// The search attribute exists with another type.
    #[error("the search attribute {name} of namespace {namespace:?} is not of type Keyword")]
    Attribute {
        /// The namespace.
        namespace: String,
        /// The search attribute.
        name: &'static str,
    },
    /// The namespace has the jobs of another store.
    #[error(
        "namespace {namespace:?} of Temporal at {address} has the jobs of the store {store}, and \
         the one here is {own}; name that store, or another namespace. Where that store is gone for \
         good, `temporal operator namespace update --namespace {namespace} --data \
         pinpoint-store=` removes its name, and the next setup records another"
    )]
    OtherStore {
        /// The address of the server.
        address: String,
        /// The namespace.
        namespace: String,
        /// The store that it was set up for.
        store: String,
        /// The store of this process.
        own: String,
    },
    /// Payloads were written with another key, and can't be read.
    #[error("cannot read the payloads on Temporal: {reason}")]
    Key {
        /// The reason.
        reason: String,
    },
    /// Metrics can't be served.
    #[error("cannot serve metrics at {address}: {source}")]
    Metrics {
        /// The address.
        address: String,
        /// The error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The client can't be created.
    #[error("cannot use Temporal: {0}")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The library's own runtime can't be created.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// A worker can't start.
    #[error(transparent)]
    Create(#[from] WorkerCreateError),
    /// A worker can't continue.
    #[error("the worker ended: {0}")]
    Run(#[from] WorkerRunError),
    /// The worker must take only signed jobs, but here the server decides about the work.
    #[error("a worker on Temporal can't take signed jobs only: the server assigns its work")]
    SignedOnly,
    /// The state directory or the store can't be used.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// A namespace of a Temporal server.
#[derive(Clone)]
pub struct Temporal {
    client: Client,
    /// Reads and writes unencoded payloads: other programs start the published workflows, and read
    /// their answers.
    plain: Client,
    address: String,
    namespace: String,
    metrics: Metrics,
    unread: Unread,
}

impl Temporal {
    /// Connects. With the address `metrics`, counters and times are served at it, for Prometheus.
    ///
    /// # Errors
    ///
    /// When the configuration can't be read, or no server answers.
    pub async fn connect(address: &Address, metrics: Option<&str>) -> Result<Self, TemporalError> {
        let profile = LoadClientConfigProfileOptions::builder()
            .maybe_config_file_profile(address.profile.clone())
            .build();
        let profile = load_client_config_profile(profile, None)?;
        let namespace = (address.namespace.clone())
            .or_else(|| profile.namespace.clone())
            .unwrap_or_else(|| "default".to_owned());
        let connection = connection_of(profile, address.address.as_deref())?;
        let unread = Unread::default();
        let codec = Codec {
            key: address.key.clone(),
            unread: unread.clone(),
        };
        let options = ClientOptions::new(namespace).data_converter(DataConverter::new(
            PayloadConverter::default(),
            DefaultFailureConverter::default(),
            codec,
        ));
        let metrics = match metrics {
            Some(address) => Metrics::serve(address).await?,
            None => Metrics::none(),
        };
        Self::with(connection, options.build(), metrics, unread).await
    }

    async fn with(
        mut connection: ConnectionOptions,
        options: ClientOptions,
        metrics: Metrics,
        unread: Unread,
    ) -> Result<Self, TemporalError> {
        let host = connection.target.host_str().unwrap_or_default().to_owned();
        let address = match connection.target.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        let namespace = options.namespace.clone();
        let tls = connection.tls_options.is_some();
        connection.connect_timeout = Some(CONNECT);
        connection.metrics_meter = metrics.of_connections();
        // A server may accept the connection, but never answer.
        let connected = tokio::time::timeout(CONNECT * 2, Connection::connect(connection)).await;
        let connection = match connected {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(not_connected(address, tls, &error)),
            Err(_) => {
                let reason = format!("no answer within {} s", (CONNECT * 2).as_secs());
                return Err(TemporalError::Connect {
                    address,
                    tls,
                    reason,
                });
            }
        };
        let mut plain = options.clone();
        plain.data_converter = DataConverter::default();
        let client = |options| {
            let client = Client::new(connection.clone(), options);
            client.map_err(|error| TemporalError::Client(error.into()))
        };
        Ok(Self {
            client: client(options)?,
            plain: client(plain)?,
            address,
            namespace,
            metrics,
            unread,
        })
    }

    /// The owner of the leases of jobs on Temporal.
    pub fn owner(&self) -> String {
        format!("{ON_TEMPORAL}{} at {}", self.namespace, self.address)
    }
}

/// The options of a connection. TLS and keys go with the address, no matter where each comes from.
fn connection_of(
    mut profile: ClientConfigProfile,
    address: Option<&str>,
) -> Result<ConnectionOptions, ConfigError> {
    let address = address.map(str::to_owned).or(profile.address);
    profile.address = address.or_else(|| Some("localhost:7233".to_owned()));
    readable(&profile)?;
    let connection = ConnectionOptions::try_from(profile)?;
    if connection.tls_options.is_some() && connection.target.scheme() == "http" {
        return Err(ConfigError::InvalidConfig(format!(
            "TLS is wanted, and the address {} is without TLS",
            connection.target
        )));
    }
    Ok(connection)
}

/// Names the file of an unreadable certificate or key: the library does not.
fn readable(profile: &ClientConfigProfile) -> Result<(), ConfigError> {
    let Some(tls) = &profile.tls else {
        return Ok(());
    };
    for (what, source) in [
        ("CA certificate of the server", &tls.server_ca_cert),
        ("client certificate", &tls.client_cert),
        ("client key", &tls.client_key),
    ] {
        if let Some(DataSource::Path(path)) = source
            && let Err(error) = std::fs::File::open(path)
        {
            return Err(ConfigError::InvalidConfig(format!(
                "the {what}, {path}, can't be read: {error}"
            )));
        }
    }
    Ok(())
}

fn not_connected(address: String, tls: bool, error: &ClientConnectError) -> TemporalError {
    match error {
        ClientConnectError::SystemInfoCallError(status) => match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => TemporalError::Refused {
                address,
                reason: status.message().to_owned(),
            },
            _ => TemporalError::Connect {
                address,
                tls,
                reason: with_sources(status.message(), std::error::Error::source(status)),
            },
        },
        ClientConnectError::TonicTransportError(error) => TemporalError::Connect {
            address,
            tls,
            reason: with_sources(&error.to_string(), std::error::Error::source(error)),
        },
        error => TemporalError::Connect {
            address,
            tls,
            reason: error.to_string(),
        },
    }
}

/// A text with those of an error's sources that it does not contain.
fn with_sources(text: &str, mut source: Option<&(dyn std::error::Error + 'static)>) -> String {
    let mut text = text.to_owned();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    text
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

/// Carries out workflows and activities until `stop` resolves. Then the run and the builds in
/// progress are given time to end.
///
/// # Errors
///
/// When the worker can't start, or Temporal refuses it for good.
pub async fn serve(
    store: &JobStore,
    temporal: &Temporal,
    worker: &WorkerOptions,
    options: &TemporalOptions,
    stop: impl Future<Output = ()>,
    tell: impl FnMut(TemporalEvent<'_>),
) -> Result<(), TemporalError> {
    let of = Arc::new(worker.clone());
    let open = move |job| {
        let of = Arc::clone(&of);
        let open = async move { Ok(Box::new(open_executor(&of, &job).await?) as _) };
        open.boxed()
    };
    serve_with(store, temporal, worker, options, Box::new(open), stop, tell).await
}

/// As [`serve`], with the caller's executors.
///
/// # Errors
///
/// As [`serve`].
pub async fn serve_with(
    store: &JobStore,
    temporal: &Temporal,
    worker: &WorkerOptions,
    options: &TemporalOptions,
    open: Box<OpenExecutor>,
    stop: impl Future<Output = ()>,
    mut tell: impl FnMut(TemporalEvent<'_>),
) -> Result<(), TemporalError> {
    if worker.trusted.is_some() {
        return Err(TemporalError::SignedOnly);
    }
    let with_attributes = temporal.has_attributes().await?;
    let identity = StoreId::of(store).await?;
    temporal.check_store(&identity).await?;
    temporal.check_key(store).await?;
    let place = Place::take(worker)?;
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
    let mut following = None;
    if let Some(names) = &options.published {
        let owner = place.owner.clone();
        let follows = published::following(names, &jobs, owner, &stopping);
        let published = published::worker_options(names, &follows)?;
        workers.push(Worker::new(&runtime, temporal.plain.clone(), published)?);
        following = Some(follows);
    }
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
                match &following {
                    Some(following) => following.cancel_left(&temporal.plain).await,
                    None => std::future::pending().await,
                }
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
fn at_a_time(slots: usize) -> TunerHolder {
    let slots = || FixedSizeSlotSupplier::new(slots);
    TunerHolder::builder()
        .workflow_task_slot_supplier(slots())
        .activity_task_slot_supplier(slots())
        .local_activity_task_slot_supplier(slots())
        .nexus_task_slot_supplier(slots())
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_reached_with_tls_wherever_it_comes_from() {
        let with_key = || {
            ClientConfigProfile::builder()
                .api_key("secret".to_owned())
                .build()
        };
        for address in [None, Some("db:7233"), Some("https://db:7233")] {
            let connection = connection_of(with_key(), address).unwrap();
            assert_eq!(connection.target.scheme(), "https", "{address:?}");
            assert!(connection.tls_options.is_some());
        }
        let refused = connection_of(with_key(), Some("http://db:7233")).unwrap_err();
        assert!(refused.to_string().contains("without TLS"), "{refused}");
        let plain = connection_of(ClientConfigProfile::default(), None).unwrap();
        assert_eq!(plain.target.as_str(), "http://localhost:7233/");
    }

    #[test]
    fn a_server_that_refuses_differs_from_one_that_is_not_there() {
        use temporalio_client::tonic::Status;

        let told = |status| {
            let error = ClientConnectError::SystemInfoCallError(status);
            not_connected("db:7233".into(), true, &error)
        };
        let wrong_key = told(Status::unauthenticated("Request unauthorized."));
        assert_eq!(
            wrong_key.to_string(),
            "Temporal at db:7233 refuses this client: Request unauthorized."
        );
        let away = told(Status::unavailable("tcp connect error"));
        assert_eq!(
            away.to_string(),
            "cannot reach Temporal at db:7233 with TLS: tcp connect error"
        );
    }
}

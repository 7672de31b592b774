//! The namespace on the server, the search attributes by which its jobs are listed, and checks of
//! access to them.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use pinpoint_core::job::JobState;
use temporalio_client::RegisterNamespaceOptions;
use temporalio_client::grpc::{OperatorService, WorkflowService};
use temporalio_client::tonic::{Code, IntoRequest, Status};
use temporalio_common::data_converters::{
    PayloadConversionError, SerializationContextData, WorkflowSerializationContext,
};
use temporalio_common::protos::temporal::api::common::v1::WorkflowExecution;
use temporalio_common::protos::temporal::api::enums::v1::IndexedValueType;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_common::protos::temporal::api::namespace::v1::UpdateNamespaceInfo;
use temporalio_common::protos::temporal::api::operatorservice::v1::{
    AddSearchAttributesRequest, ListSearchAttributesRequest,
};
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    CountWorkflowExecutionsRequest, DescribeNamespaceRequest, DescribeNamespaceResponse,
    GetWorkflowExecutionHistoryRequest, RegisterNamespaceRequest, UpdateNamespaceRequest,
};
use temporalio_common::search_attributes::{SearchAttributeKey, SearchAttributes};

use super::connection::Temporal;
use super::error::TemporalError;
use super::failures::is_away;
use crate::store::{Job, JobStore, Lease, without_password};
use crate::worker::WorkerError;

const KIND: SearchAttributeKey<String> = SearchAttributeKey::keyword("PinpointKind");
const BENCHMARK: SearchAttributeKey<String> = SearchAttributeKey::keyword("PinpointBenchmark");
const BOT: SearchAttributeKey<String> = SearchAttributeKey::keyword("PinpointBot");
const USER: SearchAttributeKey<String> = SearchAttributeKey::keyword("PinpointUser");

/// The state of the job. Its workflow keeps it up to date.
pub(super) const STATE: SearchAttributeKey<String> = SearchAttributeKey::keyword("PinpointState");

const ALL: [SearchAttributeKey<String>; 5] = [KIND, BENCHMARK, BOT, USER, STATE];

/// The most characters of a keyword in the databases of Temporal.
const MAX_KEYWORD_CHARS: usize = 255;

/// The time that a server may need until a new namespace is known everywhere.
const NAMESPACE_TIMEOUT: Duration = Duration::from_secs(60);

/// The time in which a live server answers.
const ANSWER: Duration = Duration::from_secs(10);

/// The time between checks of that.
const NAMESPACE_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The result of [`Temporal::set_up`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamespaceSetup {
    /// The namespace.
    pub namespace: String,
    /// True if it was created; false if it existed.
    pub made: bool,
    /// The time for which it keeps the histories of workflows that have ended.
    pub retention: Duration,
    /// The search attributes that were created.
    pub made_attributes: Vec<&'static str>,
    /// Those that existed already.
    pub existing_attributes: Vec<&'static str>,
    /// The store of its jobs, unless the server does not let that be recorded.
    pub store: Option<String>,
}

/// The key under which a namespace records the store of its jobs.
const STORE: &str = "pinpoint-store";

/// The store of a namespace: its identity, and its name for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoreId {
    pub(super) identity: String,
    pub(super) name: String,
}

impl StoreId {
    pub(super) async fn from_store(store: &JobStore) -> Result<Self, WorkerError> {
        Ok(Self {
            identity: store.identity().await?,
            name: without_password(store.name()),
        })
    }

    /// Reads the recorded store; absent where none is recorded: it may have been removed by hand.
    fn parse(recorded: &str) -> Option<Self> {
        let (identity, name) = recorded.split_once(' ').unwrap_or((recorded, ""));
        (!identity.is_empty()).then(|| Self {
            identity: identity.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.identity, self.name)
    }
}

/// The search attributes of a job whose workflow is started.
pub(super) fn attributes_of(job: &Job) -> SearchAttributes {
    let values = [
        (KIND, &*job.kind),
        (BENCHMARK, &*job.benchmark),
        (BOT, &*job.bot),
        (USER, &*job.user),
        (STATE, JobState::Running.as_str()),
    ];
    SearchAttributes::new(
        values.map(|(key, value)| key.value_set(value.chars().take(MAX_KEYWORD_CHARS).collect())),
    )
}

impl Temporal {
    /// Creates the namespace and the search attributes, unless they exist, waits until they can be
    /// used, and records the store of the namespace's jobs.
    ///
    /// # Errors
    ///
    /// When the server refuses it, a search attribute exists with another type, or the namespace
    /// has the jobs of another store.
    pub async fn set_up(
        &self,
        retention: Duration,
        store: &JobStore,
    ) -> Result<NamespaceSetup, TemporalError> {
        let store = StoreId::from_store(store).await?;
        let (made, retention) = match self.retention().await {
            Err(TemporalError::NoNamespace { .. }) => {
                self.register(retention).await?;
                (true, retention)
            }
            found => (false, found?),
        };
        let until = Instant::now() + NAMESPACE_TIMEOUT;
        let existing = loop {
            match self.attributes().await {
                Err(TemporalError::NoNamespace { .. }) if made && Instant::now() < until => {
                    tokio::time::sleep(NAMESPACE_POLL_INTERVAL).await;
                }
                found => break found?,
            }
        };
        let (existing_attributes, made_attributes): (Vec<_>, Vec<_>) =
            (ALL.iter().map(SearchAttributeKey::name))
                .partition(|name| existing.contains_key(*name));
        if let Some(name) = (existing_attributes.iter())
            .find(|name| existing.get(**name) != Some(&IndexedValueType::Keyword))
        {
            return Err(TemporalError::Attribute {
                namespace: self.namespace.clone(),
                name,
            });
        }
        if !made_attributes.is_empty() {
            self.add(&made_attributes).await?;
        }
        self.wait_until_usable(until).await?;
        let is_recorded = self.record_store(&store).await?;
        Ok(NamespaceSetup {
            store: is_recorded.then(|| store.to_string()),
            namespace: self.namespace.clone(),
            made,
            retention,
            made_attributes,
            existing_attributes,
        })
    }

    /// Records the store of the namespace's jobs. Returns false where the server does not allow
    /// changes to a namespace, as Temporal Cloud.
    async fn record_store(&self, store: &StoreId) -> Result<bool, TemporalError> {
        self.check_store(store).await?;
        let request = UpdateNamespaceRequest {
            namespace: self.namespace.clone(),
            update_info: Some(UpdateNamespaceInfo {
                data: [(STORE.to_owned(), store.to_string())].into(),
                ..UpdateNamespaceInfo::default()
            }),
            ..UpdateNamespaceRequest::default()
        };
        let mut client = self.client.clone();
        let updated = WorkflowService::update_namespace(&mut client, request.into_request());
        match updated.await.map_err(|status| self.failed(&status)) {
            Ok(_) => Ok(true),
            Err(TemporalError::Refused { .. } | TemporalError::Call { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Checks that the namespace does not have the jobs of another store.
    ///
    /// # Errors
    ///
    /// [`TemporalError::OtherStore`], or when the server can't be reached.
    pub(super) async fn check_store(&self, store: &StoreId) -> Result<(), TemporalError> {
        let described = self.describe().await?;
        let info = described.namespace_info.unwrap_or_default();
        let recorded = info.data.get(STORE).and_then(|it| StoreId::parse(it));
        match recorded {
            Some(other) if other.identity != store.identity => Err(TemporalError::OtherStore {
                address: self.address.clone(),
                namespace: self.namespace.clone(),
                store: other.to_string(),
                own: store.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Checks whether the server gives any answer.
    pub(super) async fn answers(&self) -> bool {
        match tokio::time::timeout(ANSWER, self.ask()).await {
            Ok(Err(status)) => !is_away(&status),
            answered => answered.is_ok(),
        }
    }

    /// Checks whether workflows can be started with search attributes.
    ///
    /// # Errors
    ///
    /// When the namespace does not exist, or may not be used.
    pub(super) async fn has_attributes(&self) -> Result<bool, TemporalError> {
        self.retention().await?;
        match self.attributes().await {
            Ok(found) => Ok(ALL
                .iter()
                .all(|key| found.get(key.name()) == Some(&IndexedValueType::Keyword))),
            // Jobs can also be carried out without them.
            Err(TemporalError::Refused { .. } | TemporalError::Call { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Checks that the payloads of an active job can be read here.
    ///
    /// # Errors
    ///
    /// [`TemporalError::Key`], or when the store or the server can't be reached.
    pub(super) async fn check_key(&self, store: &JobStore) -> Result<(), TemporalError> {
        let held = store
            .leases()
            .expiring(&self.owner(), Duration::MAX, 1)
            .await;
        let held = held.map_err(WorkerError::from)?;
        let Some(job) = held.first().map(Lease::id) else {
            return Ok(());
        };
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: self.namespace.clone(),
            execution: Some(WorkflowExecution {
                workflow_id: job.to_string(),
                ..WorkflowExecution::default()
            }),
            maximum_page_size: 1,
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let mut client = self.client.clone();
        let history =
            WorkflowService::get_workflow_execution_history(&mut client, request.into_request());
        let history = match history.await {
            // It is about to be started.
            Err(status) if status.code() == Code::NotFound => return Ok(()),
            history => history.map_err(|status| self.failed(&status))?,
        };
        let events = history.into_inner().history.unwrap_or_default().events;
        let input = events
            .into_iter()
            .find_map(|event| match event.attributes? {
                Attributes::WorkflowExecutionStartedEventAttributes(started) => started.input,
                _ => None,
            });
        let context = SerializationContextData::Workflow(WorkflowSerializationContext::new());
        let codec = self.client.options().data_converter.codec();
        let decoded = codec.decode(&context, input.unwrap_or_default().payloads);
        decoded.await.map(drop).map_err(|error| TemporalError::Key {
            reason: match error {
                PayloadConversionError::EncodingError(error) => format!("job {job}: {error}"),
                error => format!("job {job}: {error}"),
            },
        })
    }

    async fn ask(&self) -> Result<DescribeNamespaceResponse, Status> {
        let request = DescribeNamespaceRequest {
            namespace: self.namespace.clone(),
            ..DescribeNamespaceRequest::default()
        };
        let mut client = self.client.clone();
        let described = WorkflowService::describe_namespace(&mut client, request.into_request());
        Ok(described.await?.into_inner())
    }

    async fn describe(&self) -> Result<DescribeNamespaceResponse, TemporalError> {
        self.ask().await.map_err(|status| self.failed(&status))
    }

    async fn retention(&self) -> Result<Duration, TemporalError> {
        let config = self.describe().await?.config.unwrap_or_default();
        let retention = config.workflow_execution_retention_ttl.unwrap_or_default();
        Ok(Duration::from_secs(
            u64::try_from(retention.seconds).unwrap_or_default(),
        ))
    }

    async fn register(&self, retention: Duration) -> Result<(), TemporalError> {
        let options = RegisterNamespaceOptions::builder()
            .namespace(self.namespace.clone())
            .description("Jobs of Pinpoint".to_owned())
            .workflow_execution_retention_period(retention)
            .build();
        let request = RegisterNamespaceRequest::from(options);
        let mut client = self.client.clone();
        let registered = WorkflowService::register_namespace(&mut client, request.into_request());
        match registered.await {
            // By another process, a moment ago.
            Err(status) if status.code() == Code::AlreadyExists => Ok(()),
            registered => registered.map(drop).map_err(|status| self.failed(&status)),
        }
    }

    async fn attributes(&self) -> Result<HashMap<String, IndexedValueType>, TemporalError> {
        let request = ListSearchAttributesRequest {
            namespace: self.namespace.clone(),
        };
        let mut client = self.client.clone();
        let listed = OperatorService::list_search_attributes(&mut client, request.into_request());
        let listed = listed.await.map_err(|status| self.failed(&status))?;
        let attributes = listed.into_inner().custom_attributes.into_iter();
        Ok(attributes
            .map(|(name, kind)| {
                (
                    name,
                    IndexedValueType::try_from(kind).unwrap_or(IndexedValueType::Unspecified),
                )
            })
            .collect())
    }

    async fn add(&self, names: &[&str]) -> Result<(), TemporalError> {
        let keyword = |name: &&str| ((*name).to_owned(), IndexedValueType::Keyword as i32);
        let request = AddSearchAttributesRequest {
            namespace: self.namespace.clone(),
            search_attributes: names.iter().map(keyword).collect(),
        };
        let mut client = self.client.clone();
        let added = OperatorService::add_search_attributes(&mut client, request.into_request());
        match added.await {
            Err(status) if status.code() == Code::AlreadyExists => Ok(()),
            added => added.map(drop).map_err(|status| self.failed(&status)),
        }
    }

    /// Waits until the server can find workflows by all of them.
    async fn wait_until_usable(&self, until: Instant) -> Result<(), TemporalError> {
        let conditions = ALL.map(|key| format!("{} = ''", key.name()));
        loop {
            let request = CountWorkflowExecutionsRequest {
                namespace: self.namespace.clone(),
                query: conditions.join(" AND "),
            };
            let mut client = self.client.clone();
            let counted =
                WorkflowService::count_workflow_executions(&mut client, request.into_request());
            match counted.await {
                Err(status)
                    if matches!(status.code(), Code::NotFound | Code::InvalidArgument)
                        && Instant::now() < until =>
                {
                    tokio::time::sleep(NAMESPACE_POLL_INTERVAL).await;
                }
                counted => return counted.map(drop).map_err(|status| self.failed(&status)),
            }
        }
    }

    fn failed(&self, status: &Status) -> TemporalError {
        let address = self.address.clone();
        match status.code() {
            Code::NotFound => TemporalError::NoNamespace {
                address,
                namespace: self.namespace.clone(),
            },
            Code::Unauthenticated | Code::PermissionDenied => TemporalError::Refused {
                address,
                reason: status.message().to_owned(),
            },
            _ => TemporalError::Call {
                address,
                reason: status.message().to_owned(),
            },
        }
    }
}

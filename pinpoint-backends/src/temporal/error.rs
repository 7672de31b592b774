//! The reasons why Temporal can't be used.

use temporalio_client::envconfig::ConfigError;
use temporalio_sdk::{RuntimeError, WorkerCreateError, WorkerRunError};

use crate::worker::WorkerError;

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

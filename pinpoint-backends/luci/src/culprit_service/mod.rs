//! Perf's culprit service, which keeps culprits and tells those whom they concern.
//!
//! | file | holds |
//! | --- | --- |
//! | `messages.rs` | the messages of `culprit.v1` |
//! | `commit.rs` | a commit in its terms; pure |
//! | this file | the calls |

mod commit;
mod messages;

use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use tokio::time::{sleep, timeout};
use tonic::client::Grpc;
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use self::messages::{
    NotifyUserOfCulpritRequest, NotifyUserOfCulpritResponse, PersistCulpritRequest,
    PersistCulpritResponse,
};
use crate::google::{AddressError, Backoff, TokenError, Tokens, check_address, random_seed};

pub use self::commit::{CulpritCommit, NoCulpritCommit};

/// The path of its methods.
const SERVICE: &str = "/culprit.v1.CulpritService/";

/// The time for one try.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ten tries.
const BACKOFF: Backoff = Backoff {
    retries: 9,
    first: Duration::from_secs(1),
    longest: Duration::from_secs(60),
};

/// The service was not told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CulpritServiceError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No connection can be made to it.
    #[error("the culprit service at {address} can't be used: {problem}")]
    Connection {
        /// The address.
        address: String,
        /// The problem.
        problem: String,
    },
    /// No token is available.
    #[error("the culprit service can't be asked: {0}")]
    Token(#[from] Arc<TokenError>),
    /// A method failed, after all tries.
    #[error("the culprit service failed at {method}, {tries} times: {problem}")]
    Method {
        /// The method.
        method: &'static str,
        /// The number of tries.
        tries: u32,
        /// The problem of the last one.
        problem: String,
    },
}

/// A client of Perf's culprit service.
pub struct CulpritService {
    channel: Channel,
    tokens: Tokens,
    backoff: Backoff,
}

impl CulpritService {
    /// A client of the service at this address. Sends no request yet.
    ///
    /// # Arguments
    ///
    /// `authority` is the certificate of a private authority, in PEM, in addition to those that
    /// this machine trusts.
    ///
    /// # Errors
    ///
    /// When the address is invalid, a token would cross the network without TLS, or the certificate
    /// can't be read.
    ///
    /// # Panics
    ///
    /// Outside of a runtime of `tokio`.
    pub fn new(
        address: &str,
        authority: Option<&str>,
        tokens: Tokens,
    ) -> Result<Self, CulpritServiceError> {
        // Without a token, too, culprits are nobody else's.
        check_address(address, true)?;
        let refuse = |problem: &dyn std::error::Error| CulpritServiceError::Connection {
            address: address.into(),
            problem: chain(problem),
        };
        let endpoint = Endpoint::from_shared(address.to_owned());
        let endpoint = endpoint.map_err(|error| refuse(&error))?;
        let endpoint = endpoint.connect_timeout(PATIENCE);
        let endpoint = match endpoint.uri().scheme_str() {
            Some("https") => {
                let mut tls = ClientTlsConfig::new().with_native_roots();
                if let Some(authority) = authority {
                    tls = tls.ca_certificate(Certificate::from_pem(authority));
                }
                endpoint.tls_config(tls).map_err(|error| refuse(&error))?
            }
            _ => endpoint,
        };
        Ok(Self {
            channel: endpoint.connect_lazy(),
            tokens,
            backoff: BACKOFF,
        })
    }

    /// Sets the waits between tries.
    #[must_use]
    pub fn with_backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// Has the service keep these culprits of a group of anomalies; returns their ids.
    ///
    /// # Errors
    ///
    /// When the service does not keep them.
    pub async fn persist(
        &self,
        commits: &[CulpritCommit],
        anomaly_group: &str,
    ) -> Result<Vec<String>, CulpritServiceError> {
        let request = PersistCulpritRequest {
            commits: commits.iter().map(messages::Commit::from).collect(),
            anomaly_group_id: anomaly_group.into(),
        };
        let kept: PersistCulpritResponse = self.call("PersistCulprit", &request).await?;
        Ok(kept.culprit_ids)
    }

    /// Has the service tell people of these culprits; returns the ids of the issues.
    ///
    /// # Errors
    ///
    /// When the service does not tell them.
    pub async fn notify(
        &self,
        culprits: &[String],
        anomaly_group: &str,
    ) -> Result<Vec<String>, CulpritServiceError> {
        let request = NotifyUserOfCulpritRequest {
            culprit_ids: culprits.to_vec(),
            anomaly_group_id: anomaly_group.into(),
        };
        let told: NotifyUserOfCulpritResponse = self.call("NotifyUserOfCulprit", &request).await?;
        Ok(told.issue_ids)
    }

    async fn call<Q, A>(&self, method: &'static str, request: &Q) -> Result<A, CulpritServiceError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let seed = random_seed();
        let mut tries = 0;
        loop {
            let status = match timeout(PATIENCE, self.attempt(method, request)).await {
                Ok(Ok(Ok(answer))) => return Ok(answer),
                Ok(Ok(Err(status))) => status,
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => Status::deadline_exceeded("it gave no answer within 60 s"),
            };
            let wait = self.backoff.wait(tries, seed);
            tries += 1;
            match wait.filter(|_| is_transient(status.code())) {
                Some(wait) => sleep(wait).await,
                None => {
                    return Err(CulpritServiceError::Method {
                        method,
                        tries,
                        problem: chain(&status),
                    });
                }
            }
        }
    }

    async fn attempt<Q, A>(
        &self,
        method: &str,
        request: &Q,
    ) -> Result<Result<A, Status>, Arc<TokenError>>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut request = Request::new(request.clone());
        if let Some(token) = self.tokens.get().await?
            && let Ok(mut bearer) = MetadataValue::try_from(format!("Bearer {}", token.reveal()))
        {
            bearer.set_sensitive(true);
            request.metadata_mut().insert("authorization", bearer);
        }
        let mut client = Grpc::new(self.channel.clone());
        if let Err(error) = client.ready().await {
            return Ok(Err(Status::unavailable(chain(&error))));
        }
        let Ok(path) = PathAndQuery::try_from(format!("{SERVICE}{method}")) else {
            return Ok(Err(Status::unimplemented(method)));
        };
        let answer = client.unary(request, path, ProstCodec::<Q, A>::default());
        Ok(answer.await.map(tonic::Response::into_inner))
    }
}

/// Returns whether the same request may succeed later.
fn is_transient(code: Code) -> bool {
    matches!(
        code,
        Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Internal
            | Code::Unavailable
    )
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

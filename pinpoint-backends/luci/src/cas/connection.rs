//! The connection to a store: its credentials, its concurrency, and its time limits.

use std::time::Duration;

use futures_util::Stream;
use futures_util::StreamExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use super::error::TransferError;
use super::proto::ByteStreamClient;
use super::proto::capabilities_client::CapabilitiesClient;
use super::proto::content_addressable_storage_client::ContentAddressableStorageClient;
use super::tries::{Fault, Tries};
use super::{CasError, CasOptions};
use crate::google::{Secret, Tokens, check_address};

/// The longest message that is read. Some servers send a tree in one.
const LONGEST_MESSAGE: usize = 16 << 20;

pub(super) struct Connection {
    channel: Channel,
    tokens: Tokens,
    turns: Semaphore,
    options: CasOptions,
}

impl Connection {
    pub(super) fn new(options: CasOptions, tokens: Tokens) -> Result<Self, CasError> {
        let endpoint = endpoint(&options, &tokens)?;
        Ok(Self {
            channel: endpoint.connect_lazy(),
            tokens,
            turns: Semaphore::new(options.at_once.max(1)),
            options,
        })
    }

    pub(super) fn options(&self) -> &CasOptions {
        &self.options
    }

    pub(super) fn storage(&self) -> ContentAddressableStorageClient<Channel> {
        ContentAddressableStorageClient::new(self.channel.clone())
            .max_decoding_message_size(LONGEST_MESSAGE)
    }

    pub(super) fn bytes(&self) -> ByteStreamClient<Channel> {
        ByteStreamClient::new(self.channel.clone()).max_decoding_message_size(LONGEST_MESSAGE)
    }

    pub(super) fn capabilities(&self) -> CapabilitiesClient<Channel> {
        CapabilitiesClient::new(self.channel.clone()).max_decoding_message_size(LONGEST_MESSAGE)
    }

    pub(super) fn tries(&self, method: &'static str) -> Tries<'_> {
        Tries::new(method, &self.options.backoff)
    }

    /// Waits for the turn of a request, and makes it.
    pub(super) async fn call<T>(&self, message: T) -> Result<(Call<'_>, Request<T>), Fault> {
        // The semaphore is never closed.
        let turn = self.turns.acquire().await.ok();
        let token = self.tokens.get().await.map_err(|error| {
            if error.is_transient() {
                Fault::from(TransferError::Token(error))
            } else {
                Fault::Final(CasError::Token(error))
            }
        })?;
        let mut request = Request::new(message);
        if let Some(token) = &token
            && let Ok(mut bearer) = MetadataValue::try_from(format!("Bearer {}", token.reveal()))
        {
            bearer.set_sensitive(true);
            request.metadata_mut().insert("authorization", bearer);
        }
        let call = Call {
            connection: self,
            token,
            _turn: turn,
        };
        Ok((call, request))
    }
}

/// A request under way. Dropping it lets another begin.
pub(super) struct Call<'a> {
    connection: &'a Connection,
    token: Option<Secret>,
    _turn: Option<SemaphorePermit<'a>>,
}

impl Call<'_> {
    /// The answer of one message, or the head of a stream.
    pub(super) async fn answer<T>(
        &self,
        answer: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> Result<T, Fault> {
        match timeout(self.patience(), answer).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(self.fault(&status)),
            Err(_) => Err(TransferError::Silent(self.patience()).into()),
        }
    }

    /// The next message of a stream; none at its end.
    pub(super) async fn next<T>(
        &self,
        stream: &mut (impl Stream<Item = Result<T, Status>> + Unpin),
    ) -> Result<Option<T>, Fault> {
        match timeout(self.patience(), stream.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(message))) => Ok(Some(message)),
            Ok(Some(Err(status))) => Err(self.fault(&status)),
            Err(_) => Err(TransferError::Silent(self.patience()).into()),
        }
    }

    fn patience(&self) -> Duration {
        self.connection.options.patience
    }

    fn fault(&self, status: &Status) -> Fault {
        match (Fault::from_status(status), &self.token) {
            (Fault::Unauthenticated(trouble), None) => Fault::Lasting(trouble),
            (fault @ Fault::Unauthenticated(_), Some(token)) => {
                self.connection.tokens.refused(token);
                fault
            }
            (fault, _) => fault,
        }
    }
}

fn endpoint(options: &CasOptions, tokens: &Tokens) -> Result<Endpoint, CasError> {
    check_address(&options.address, !tokens.are_none())?;
    let refuse = |problem: String| CasError::Connection {
        address: options.address.clone(),
        problem,
    };
    let endpoint =
        Endpoint::from_shared(options.address.clone()).map_err(|error| refuse(chain(&error)))?;
    let is_encrypted = endpoint.uri().scheme_str() == Some("https");
    let endpoint = endpoint
        .connect_timeout(options.patience)
        .tcp_nodelay(true)
        // A connection that died silently is detected, and not used for the next request.
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20))
        .user_agent(concat!("pinpoint/", env!("CARGO_PKG_VERSION")))
        .map_err(|error| refuse(chain(&error)))?;
    if !is_encrypted {
        return Ok(endpoint);
    }
    let mut tls = ClientTlsConfig::new().with_native_roots();
    for certificate in &options.certificates {
        tls = tls.ca_certificate(tonic::transport::Certificate::from_pem(certificate));
    }
    endpoint
        .tls_config(tls)
        .map_err(|error| refuse(chain(&error)))
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

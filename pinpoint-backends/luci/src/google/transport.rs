//! The transport to a service.

use std::error::Error;

use async_trait::async_trait;
use http::{Request, Response};
use reqwest::redirect::Policy;

/// Carries a request to a server and its answer back. [`Web`] is the network; a test has a
/// server in its own process.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request, once, and reads at most so many bytes of the answer.
    async fn send(
        &self,
        request: Request<Vec<u8>>,
        most_bytes: usize,
    ) -> Result<Response<Vec<u8>>, TransportError>;
}

/// No answer came. No variant names the address: a query may hold a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The request cannot be sent, now or later.
    #[error("the request can't be sent: {0}")]
    Unsendable(#[source] Box<dyn Error + Send + Sync>),
    /// No connection, or one that broke.
    #[error("{}", deepest(&**.0))]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// The answer is longer than allowed.
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
}

/// The text of the innermost cause, which is the most specific: "connection refused".
fn deepest(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// HTTP and HTTPS, with the certificates of this machine. Redirects are not followed: a token
/// would go with them.
#[derive(Debug, Clone)]
pub struct Web {
    client: reqwest::Client,
    /// For addresses of this machine, which bypass proxies.
    direct: reqwest::Client,
}

impl Web {
    /// # Errors
    ///
    /// When the certificates of this machine cannot be used.
    pub fn new() -> Result<Self, TransportError> {
        // An already installed provider stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = || {
            reqwest::Client::builder()
                .redirect(Policy::none())
                .user_agent(concat!("pinpoint/", env!("CARGO_PKG_VERSION")))
        };
        Ok(Self {
            client: client().build().map_err(broken)?,
            direct: client().no_proxy().build().map_err(broken)?,
        })
    }
}

/// Returns whether it is a name of this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

fn broken(error: reqwest::Error) -> TransportError {
    TransportError::Broken(Box::new(error.without_url()))
}

#[async_trait]
impl Transport for Web {
    async fn send(
        &self,
        request: Request<Vec<u8>>,
        most_bytes: usize,
    ) -> Result<Response<Vec<u8>>, TransportError> {
        let request = reqwest::Request::try_from(request)
            .map_err(|error| TransportError::Unsendable(Box::new(error.without_url())))?;
        let client = match request.url().host_str().is_some_and(is_loopback) {
            true => &self.direct,
            false => &self.client,
        };
        let mut answer = client.execute(request).await.map_err(broken)?;
        let mut body = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(broken)? {
            if body.len() + part.len() > most_bytes {
                return Err(TransportError::TooLong(most_bytes));
            }
            body.extend_from_slice(&part);
        }
        let mut response = Response::new(body);
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

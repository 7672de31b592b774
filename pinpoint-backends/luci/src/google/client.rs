//! The client of one service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::time::{sleep, timeout};
use tracing::Instrument as _;

use super::address::{AddressError, check};
use super::backoff::Backoff;
use super::error::{ServiceError, quoted};
use super::pace::Pace;
use super::random::random_seed;
use super::secret::Secret;
use super::tokens::Tokens;
use super::transport::{Transport, TransportError};

/// The time for one try, as in the original's pRPC client.
const DEADLINE: Duration = Duration::from_secs(90);

/// The most bytes of an answer.
const MOST_BYTES: usize = 64 << 20;

/// The requests under way at once.
const AT_ONCE: usize = 64;

/// Answers of the wrong form until a request is given up: they do not come from the service.
const MOST_UNREADABLE: u32 = 3;

/// A wait before which the trouble is reported again.
const LONG_WAIT: Duration = Duration::from_secs(15);

/// The longest wait that a service may ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);

/// A request, which may be sent several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    method: Method,
    /// The path and the query, from the slash on.
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
    is_repeatable: bool,
}

impl HttpRequest {
    /// Reads a resource. The path begins with a slash and is percent-encoded.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            headers: HeaderMap::new(),
            body: Vec::new(),
            is_repeatable: true,
        }
    }

    /// Sends a body of JSON. It is sent again where it may not have arrived, so it must be harmless
    /// when it arrives twice; see [`once`](Self::once).
    pub fn post_json(path: impl Into<String>, body: Vec<u8>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self {
            method: Method::POST,
            headers: HeaderMap::from_iter([(http::header::CONTENT_TYPE, json)]),
            body,
            ..Self::get(path)
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Adds a header that is never shown, such as the key of an API.
    ///
    /// A secret that is invalid in a header is left out: the service then says that it is missing.
    #[must_use]
    pub fn secret_header(mut self, name: &'static str, value: &Secret) -> Self {
        if let Ok(mut value) = HeaderValue::from_str(value.reveal()) {
            value.set_sensitive(true);
            self.headers.insert(name, value);
        }
        self
    }

    /// Sends it again only when the service has said that it did nothing.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.is_repeatable = false;
        self
    }

    /// The path without its query, for logs.
    fn place(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// The body that is sent.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// An answer with any status.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// The status of HTTP.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// All of the body.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// The error for its status.
    pub(super) fn refusal(&self, service: &'static str) -> ServiceError {
        let seconds = self
            .headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok());
        let seconds = seconds.and_then(|text| text.trim().parse().ok());
        ServiceError::Status {
            service,
            status: self.status.as_u16(),
            text: quoted(&self.body),
            retry_after: seconds.map(Duration::from_secs),
        }
    }
}

/// The client of one service at one address.
pub struct Client {
    service: &'static str,
    address: String,
    tokens: Tokens,
    transport: Arc<dyn Transport>,
    pace: Pace,
    backoff: Backoff,
    deadline: Duration,
    most_bytes: usize,
    seed: AtomicU64,
}

impl Client {
    /// A client of the service with this name, at an address such as
    /// `https://cr-buildbucket.appspot.com`.
    ///
    /// # Errors
    ///
    /// When the address is invalid, has a user name or a query, or tokens would cross the network
    /// without HTTPS.
    pub fn new(
        service: &'static str,
        address: &str,
        tokens: Tokens,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, AddressError> {
        let address = address.trim_end_matches('/');
        check(address, !tokens.are_none())?;
        Ok(Self {
            service,
            address: address.into(),
            tokens,
            transport,
            pace: Pace::new(AT_ONCE, None),
            backoff: Backoff::default(),
            deadline: DEADLINE,
            most_bytes: MOST_BYTES,
            seed: AtomicU64::new(random_seed()),
        })
    }

    /// Sets bounds on concurrency and rate; the default is 64 requests at once.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Sets the backoff; the default is that of the original's pRPC client.
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets a limit on the time of a try; the default is 90 s.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets a limit on the bytes of an answer; the default is 64 MiB.
    #[must_use]
    pub fn with_most_bytes(mut self, most_bytes: usize) -> Self {
        self.most_bytes = most_bytes;
        self
    }

    /// Sets the seed of the jitter, which is random by default.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        self.seed.store(seed, Ordering::Relaxed);
        self
    }

    /// The name of the service.
    pub fn service(&self) -> &'static str {
        self.service
    }

    /// The address of the service.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns whether requests carry a token.
    pub fn is_signed_in(&self) -> bool {
        !self.tokens.are_none()
    }

    /// Sends a request, retries where that may help, and returns a successful answer.
    ///
    /// # Errors
    ///
    /// The error of the last try.
    pub async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, ServiceError> {
        self.call(request, |answer| self.successful(answer)).await
    }

    /// Returns a successful answer.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Status`] for any other status.
    pub fn successful(&self, answer: HttpResponse) -> Result<HttpResponse, ServiceError> {
        match answer.status.is_success() {
            true => Ok(answer),
            false => Err(answer.refusal(self.service)),
        }
    }

    /// Sends a request, retries where that may help, and decodes the answer with `read`.
    ///
    /// # Errors
    ///
    /// The error of the last try.
    pub async fn call<T>(
        &self,
        request: &HttpRequest,
        read: impl Fn(HttpResponse) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let seed = self.seed.fetch_add(1, Ordering::Relaxed);
        let span = tracing::debug_span!(
            "google::call",
            service = self.service,
            path = request.place()
        );
        async {
            let (mut retry, mut unreadable, mut renewed) = (0, 0, false);
            loop {
                let (token, result) = self.attempt(request).await;
                let error = match result.and_then(&read) {
                    Ok(read) => return Ok(read),
                    Err(error) => error,
                };
                if let Some(token) = token.filter(|_| error.is_unauthenticated() && !renewed) {
                    tracing::debug!("the token was refused and is renewed");
                    self.tokens.refused(&token);
                    renewed = true;
                    continue;
                }
                unreadable += u32::from(error.is_unreadable());
                let again = error.is_transient()
                    && (request.is_repeatable || error.is_refusal())
                    && unreadable < MOST_UNREADABLE;
                let Some(wait) = self.backoff.wait(retry, seed).filter(|_| again) else {
                    return Err(error);
                };
                let asked = error.retry_after().unwrap_or_default();
                let wait = wait.max(asked.min(LONGEST_RETRY_AFTER));
                // A waiting user has to know the reason, and that the work continues.
                match retry == 0 || wait >= LONG_WAIT {
                    true => tracing::warn!(%error, "the request is sent again"),
                    false => tracing::debug!(%error, retry, ?wait, "the request is sent again"),
                }
                sleep(wait).await;
                retry += 1;
            }
        }
        .instrument(span)
        .await
    }

    /// One try, and the token that it was made with.
    async fn attempt(
        &self,
        request: &HttpRequest,
    ) -> (Option<Secret>, Result<HttpResponse, ServiceError>) {
        let service = self.service;
        let token = match self.tokens.get().await {
            Ok(token) => token,
            Err(source) => return (None, Err(ServiceError::Token { service, source })),
        };
        let failed = |source| ServiceError::Transport {
            service,
            source: Arc::new(source),
        };
        let request = match self.http(request, token.as_ref()) {
            Ok(request) => request,
            Err(error) => {
                let unsendable = TransportError::Unsendable(Box::new(error));
                return (token, Err(failed(unsendable)));
            }
        };
        let _turn = self.pace.turn().await;
        let answer = self.transport.send(request, self.most_bytes);
        let answer = match timeout(self.deadline, answer).await {
            Err(_) => Err(ServiceError::TimedOut {
                service,
                after: self.deadline,
            }),
            Ok(Err(error)) => Err(failed(error)),
            Ok(Ok(response)) => {
                let (parts, body) = response.into_parts();
                Ok(HttpResponse {
                    status: parts.status,
                    headers: parts.headers,
                    body,
                })
            }
        };
        (token, answer)
    }

    fn http(
        &self,
        request: &HttpRequest,
        token: Option<&Secret>,
    ) -> Result<http::Request<Vec<u8>>, http::Error> {
        let mut sent = http::Request::builder()
            .method(request.method.clone())
            .uri(format!("{}{}", self.address, request.path))
            .body(request.body.clone())?;
        *sent.headers_mut() = request.headers.clone();
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))?;
            value.set_sensitive(true);
            sent.headers_mut().insert(AUTHORIZATION, value);
        }
        Ok(sent)
    }

    /// A request as it would be sent, without its token, for `--dry-run`: its address, and its body
    /// if any.
    pub fn rendered(&self, request: &HttpRequest) -> String {
        let head = format!("{} {}{}", request.method, self.address, request.path);
        if request.body.is_empty() {
            return head;
        }
        let body = serde_json::from_slice::<serde_json::Value>(&request.body)
            .and_then(|json| serde_json::to_string_pretty(&json))
            .unwrap_or_else(|_| String::from_utf8_lossy(&request.body).into_owned());
        format!("{head}\n{body}")
    }
}

//! Catapult's database, in which Chromium's dashboards look jobs up.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::google::{AddressError, Backoff, Client, HttpRequest, ServiceError, Tokens, Transport};

/// The address of the service.
pub const ADDRESS: &str = "https://pinpoint-dot-chromeperf.appspot.com";

/// The address of the one for trials.
pub const STAGING: &str = "https://pinpoint-dot-chromeperf-stage.uc.r.appspot.com";

/// Five tries, as in the original.
const BACKOFF: Backoff = Backoff {
    retries: 4,
    first: Duration::from_secs(5),
    longest: Duration::from_secs(60),
};

/// The longest that all tries take.
const LONGEST: Duration = Duration::from_secs(300);

/// The body is JSON, and the service looks for it under this name.
const CONTENT_TYPE: &str = "application/protobuf";

/// A job was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatapultError {
    /// The service failed, or refuses.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The service takes too long.
    #[error("Catapult took no job within {} s", LONGEST.as_secs())]
    TooLong,
    /// The body has no JSON.
    #[error("the job can't be written: {0}")]
    Unwritable(#[from] serde_json::Error),
}

/// A client of Catapult's database.
pub struct Catapult(Client);

/// The answer to a job.
#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    id: Value,
}

impl Catapult {
    /// A client of the service at this address. Sends no request yet.
    ///
    /// # Errors
    ///
    /// When the address is invalid, or tokens would cross the network without HTTPS.
    pub fn new(
        address: &str,
        tokens: Tokens,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, AddressError> {
        let client = Client::new("Catapult", address, tokens, transport)?;
        Ok(Self(client.with_backoff(BACKOFF)))
    }

    /// Sets the waits between tries.
    #[must_use]
    pub fn with_backoff(self, backoff: Backoff) -> Self {
        Self(self.0.with_backoff(backoff))
    }

    /// Writes a job, as `write_back_body` of `pinpoint_core::api` makes it; returns its id there. A
    /// job that arrives twice is one.
    ///
    /// # Errors
    ///
    /// When Catapult does not store it.
    pub async fn write(&self, body: &Value) -> Result<String, CatapultError> {
        let request = HttpRequest::post_json("/api/job", serde_json::to_vec(body)?)
            .header("content-type", HeaderValue::from_static(CONTENT_TYPE));
        let unreadable = |reason: String| ServiceError::Unreadable {
            service: self.0.service(),
            reason,
        };
        let written = self.0.call(&request, |answer| {
            let answer = self.0.successful(answer)?;
            let stored: Stored = serde_json::from_slice(&answer.body)
                .map_err(|error| unreadable(error.to_string()))?;
            match (&*stored.kind, &stored.id) {
                ("Job", Value::String(id)) if !id.is_empty() => Ok(id.clone()),
                ("Job", Value::Number(id)) => Ok(id.to_string()),
                _ => Err(unreadable("it names no job".into())),
            }
        });
        let written = timeout(LONGEST, written).await;
        Ok(written.map_err(|_| CatapultError::TooLong)??)
    }
}

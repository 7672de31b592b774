//! Code shared by the clients of Google's services.
//!
//! [`Tokens`] authenticates. A [`Client`] sends the requests of one service: it bounds their number
//! and rate, ends those that take too long, and repeats those that are safe to repeat. [`Prpc`]
//! speaks pRPC over it.
//!
//! Secrets are never shown: a [`Secret`] has no text in `Debug`, errors carry no address with its
//! query, and spans carry no headers.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use pinpoint_luci::google::{Backoff, Client, HttpRequest, TokenSource, Tokens, Web, scope};
//!
//! let web = Arc::new(Web::new()?);
//! let source: TokenSource = "metadata".parse()?;
//! let tokens = Tokens::new(source, &[scope::GERRIT_CODE_REVIEW], web.clone());
//! let client = Client::new("Gitiles", "https://chromium.googlesource.com", tokens, web)?
//!     .with_backoff(Backoff::default());
//! let answer = client.send(&HttpRequest::get("/a/chromium/src/+show/HEAD?format=JSON")).await?;
//! println!("{} bytes", answer.body.len());
//! # Ok(())
//! # }
//! ```

mod address;
mod backoff;
mod client;
mod error;
mod json;
mod pace;
mod prpc;
mod random;
mod secret;
mod service_account;
mod token_source;
mod tokens;
mod transport;

pub use address::AddressError;
pub use backoff::Backoff;
pub use client::{Client, HttpRequest, HttpResponse};
pub use error::{Code, ServiceError};
pub use json::{int64, timestamp, unix_milliseconds};
pub use pace::Pace;
pub use prpc::Prpc;
pub use secret::Secret;
pub use service_account::ServiceAccountKey;
pub use token_source::{TokenSource, UnknownTokenSource};
pub use tokens::{TokenError, Tokens};
pub use transport::{Transport, TransportError, Web};

#[cfg(any(feature = "cas", feature = "culprit-service"))]
pub(crate) use address::check as check_address;
#[cfg(any(
    feature = "bigquery",
    feature = "cas",
    feature = "culprit-service",
    feature = "issue-tracker"
))]
pub(crate) use random::random_seed;

/// The permissions of a token.
pub mod scope {
    /// To identify the caller: Buildbucket and Swarming.
    pub const USERINFO_EMAIL: &str = "https://www.googleapis.com/auth/userinfo.email";
    /// Gitiles and Gerrit.
    pub const GERRIT_CODE_REVIEW: &str = "https://www.googleapis.com/auth/gerritcodereview";
    /// CAS and BigQuery.
    pub const CLOUD_PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";
    /// The issue tracker.
    pub const BUGANIZER: &str = "https://www.googleapis.com/auth/buganizer";
}

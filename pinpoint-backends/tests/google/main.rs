//! The clients of Google's services, against servers on loopback and in this process.
#![cfg(feature = "google")]
// Clippy's exception for tests knows functions marked as tests only, not what
// they share.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

mod calls;
#[cfg(feature = "gitiles")]
mod gitiles;
/// The content-addressed store of its own tests.
#[cfg(feature = "luci")]
#[path = "../cas"]
mod cas {
    #[allow(dead_code, reason = "its own tests use all of it")]
    pub(crate) mod fake;
    pub(crate) mod messages;
}
#[cfg(feature = "luci")]
mod luci;
mod prpc;
mod secrets;
mod server;

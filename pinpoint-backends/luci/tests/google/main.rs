//! The clients of Google's services, against servers on loopback and in this process.
#![cfg(feature = "google")]
// Clippy's exception for tests covers functions marked as tests only, not their shared code.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

#[cfg(feature = "bigquery")]
mod bigquery;
#[cfg(feature = "buildbucket")]
mod buildbucket;
mod calls;
#[cfg(feature = "cas")]
mod cas;
#[cfg(feature = "luci")]
mod culprit_service;
#[cfg(feature = "gitiles")]
mod gitiles;
#[cfg(feature = "issue-tracker")]
mod issue_tracker;
#[cfg(feature = "luci")]
mod luci;
mod programs;
#[cfg(feature = "luci")]
mod protos;
mod prpc;
mod secrets;
mod server;

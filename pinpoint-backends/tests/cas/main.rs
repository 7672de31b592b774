//! The client of content-addressed stores: against one in this process that fails by seed, and
//! against bazel-remote.
#![cfg(feature = "cas")]
// Clippy's exception for tests knows functions marked as tests only, not what
// they share.
#![allow(clippy::unwrap_used)]

mod bazel_remote;
mod fake;
mod faults;
mod messages;
mod reads;
mod tls;
mod world;

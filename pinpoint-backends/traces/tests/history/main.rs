//! The history of values, as its users see it, on both databases.
#![cfg(all(feature = "sqlite", feature = "postgres"))]
#![allow(clippy::disallowed_methods, reason = "tests wait for processes")]
#![allow(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach their helpers"
)]

mod catalog;
mod common;
mod files;
mod interruptions;
mod notes;
mod opening;
mod order;
mod values;
mod watch;
mod watch_interruptions;

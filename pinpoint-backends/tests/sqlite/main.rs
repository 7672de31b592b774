//! The job store, as a program that uses it would find it.
#![cfg(feature = "sqlite")]
#![allow(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach their helpers"
)]

mod common;
mod files;
mod jobs;
mod journals;
mod processes;

//! The messages and the server, generated separately from those of the client.

#![allow(
    clippy::all,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "generated"
)]

include!(concat!(env!("OUT_DIR"), "/tests/remote_execution.rs"));

pub use build::bazel::remote::execution::v2::*;

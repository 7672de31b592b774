//! The messages, generated from `proto/`.

#![allow(clippy::all, dead_code, unreachable_pub, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/remote_execution.rs"));

pub(super) use build::bazel::remote::execution::v2::*;
pub(super) use google::bytestream::{ReadRequest, byte_stream_client::ByteStreamClient};

//! The messages and the trait of the service, which the build script writes from the `.proto` file.

#![allow(
    clippy::all,
    missing_docs,
    unreachable_pub,
    reason = "written by tonic-prost-build"
)]

include!(concat!(env!("OUT_DIR"), "/pinpoint.v2.rs"));

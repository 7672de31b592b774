//! The messages of the API.

mod json;
#[allow(
    clippy::all,
    unreachable_pub,
    reason = "written by prost-build and pbjson-build"
)]
mod messages {
    include!(concat!(env!("OUT_DIR"), "/pinpoint.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/pinpoint.v1.serde.rs"));
}
mod timestamp;

pub use json::from_json;
pub use messages::*;
pub use timestamp::{Timestamp, TimestampError};

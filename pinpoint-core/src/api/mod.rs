//! The API of Pinpoint: its messages, their validation, and their meaning.
//!
//! The messages are those of Chromium's Pinpoint, in protobuf (`prost::Message`)
//! and in JSON ([`from_json`], and `serde_json` to write; [`from_plain_json`] and
//! [`to_plain_json`] where Go writes structures with messages in them). Their texts come
//! from outside. A request becomes one of [`ValidBisection`], [`ValidPairwise`] and
//! [`ValidCulpritFinder`], or it is refused with a list of all problems:
//!
//! ```
//! use pinpoint_core::api::{self, ScheduleBisectRequest, ValidBisection};
//! use pinpoint_core::bots::Bots;
//!
//! let request: ScheduleBisectRequest = api::from_json(r#"{
//!     "startGitHash": "1b0a99f2e8d7c6b5a4938271605f4e3d2c1b0a99",
//!     "endGitHash": "latest",
//!     "configuration": "linux-pref",
//!     "benchmark": "speedometer3.crossbench",
//!     "story": "default",
//!     "chart": "Score"
//! }"#)?;
//! let violations = ValidBisection::read(&request, Bots::builtin()).unwrap_err();
//! let fields: Vec<_> = violations.iter().map(|violation| &*violation.field).collect();
//! assert_eq!(fields, ["end_git_hash", "configuration"]);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! [`LegacyJob`] makes a [`LegacyJobResponse`] of a job and its journal, and [`write_back_body`] the
//! body that Catapult's database is sent.
//!
//! In the other direction, [`NotCarried`] names a part that a message has no place for.

mod bisection;
mod commits;
mod culprit_finder;
mod executions;
mod json;
mod legacy_job;
#[allow(
    clippy::all,
    unreachable_pub,
    reason = "written by prost-build and pbjson-build"
)]
mod messages {
    include!(concat!(env!("OUT_DIR"), "/pinpoint.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/pinpoint.v1.serde.rs"));
}
mod pairwise;
mod plain_json;
mod timestamp;
mod validation;
mod workload;

pub use bisection::ValidBisection;
pub use commits::FlatCommit;
pub use culprit_finder::ValidCulpritFinder;
pub use json::from_json;
pub use legacy_job::{
    AnsweredRun, LegacyJob, LegacyJobError, MissingInBody, runs_of, write_back_body,
};
pub use messages::*;
pub use pairwise::{Source, ValidPairwise};
pub use plain_json::{from_plain_json, to_plain_json};
pub use timestamp::{Timestamp, TimestampError};
pub use validation::{Problem, Violation, Violations, job_id};
pub use workload::Workload;

/// Something that a message has no place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of the API can't carry {0}; leave it at its default, or use the library")]
pub struct NotCarried(pub &'static str);

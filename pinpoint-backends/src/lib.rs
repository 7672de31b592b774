//! Backends that run searches: local builds, job stores, LUCI and Temporal.
//!
//! They carry out the requests of [`pinpoint_core`]. Each backend is a cargo feature, so that a
//! program carries only what it uses.

#[cfg(any(
    feature = "local",
    feature = "luci",
    feature = "sqlite",
    feature = "postgres"
))]
mod clock;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod job;
#[cfg(feature = "local")]
mod memory;
#[cfg(feature = "temporal")]
pub mod temporal;
#[cfg(all(feature = "local", any(feature = "sqlite", feature = "postgres")))]
pub mod worker;

#[cfg(feature = "local")]
pub use memory::give_memory_back;
#[cfg(feature = "local")]
pub use pinpoint_local as local;
#[cfg(feature = "bigquery")]
pub use pinpoint_luci::bigquery;
#[cfg(feature = "buildbucket")]
pub use pinpoint_luci::buildbucket;
#[cfg(feature = "cas")]
pub use pinpoint_luci::cas;
#[cfg(feature = "catapult")]
pub use pinpoint_luci::catapult;
#[cfg(feature = "cbb")]
pub use pinpoint_luci::cbb;
#[cfg(feature = "crrev")]
pub use pinpoint_luci::crrev;
#[cfg(feature = "culprit-service")]
pub use pinpoint_luci::culprit_service;
#[cfg(feature = "gerrit")]
pub use pinpoint_luci::gerrit;
#[cfg(feature = "gitiles")]
pub use pinpoint_luci::gitiles;
#[cfg(feature = "google")]
pub use pinpoint_luci::google;
#[cfg(feature = "issue-tracker")]
pub use pinpoint_luci::issue_tracker;
#[cfg(feature = "luci")]
pub use pinpoint_luci::luci;
#[cfg(feature = "swarming")]
pub use pinpoint_luci::swarming;
pub use pinpoint_state::{STATE_MARK, create_state_dir, job_dir, owner};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use pinpoint_store as store;
#[cfg(feature = "traces")]
pub use pinpoint_trace_store as traces;

#[cfg(any(
    feature = "local",
    feature = "luci",
    feature = "sqlite",
    feature = "postgres"
))]
pub use clock::TokioClock;

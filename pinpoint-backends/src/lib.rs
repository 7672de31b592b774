//! Where the search meets the world.
//!
//! Everything here does what [`pinpoint_core`] only describes. Each backend is
//! a cargo feature, so that a program carries only what it uses.

#[cfg(feature = "bigquery")]
pub mod bigquery;
#[cfg(feature = "buildbucket")]
pub mod buildbucket;
#[cfg(feature = "cas")]
pub mod cas;
#[cfg(any(
    feature = "local",
    feature = "luci",
    feature = "sqlite",
    feature = "postgres"
))]
mod clock;
#[cfg(feature = "crrev")]
pub mod crrev;
#[cfg(feature = "gitiles")]
pub mod gitiles;
#[cfg(feature = "google")]
pub mod google;
#[cfg(feature = "issue-tracker")]
pub mod issue_tracker;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod job;
#[cfg(any(feature = "local", feature = "luci"))]
mod listed;
#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "luci")]
pub mod luci;
#[cfg(feature = "local")]
mod memory;
mod state_dir;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod store;
#[cfg(feature = "swarming")]
pub mod swarming;
#[cfg(feature = "temporal")]
pub mod temporal;
#[cfg(all(feature = "local", any(feature = "sqlite", feature = "postgres")))]
pub mod worker;

#[cfg(feature = "local")]
pub use memory::give_memory_back;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use state_dir::owner;
pub use state_dir::{STATE_MARK, create_state_dir, job_dir};

#[cfg(any(
    feature = "local",
    feature = "luci",
    feature = "sqlite",
    feature = "postgres"
))]
pub use clock::TokioClock;

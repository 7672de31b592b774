//! LUCI, Chromium's infrastructure for builds and tests, and clients of its services. Each is a
//! cargo feature.

#[cfg(feature = "bigquery")]
pub mod bigquery;
#[cfg(feature = "buildbucket")]
pub mod buildbucket;
#[cfg(feature = "cas")]
pub mod cas;
#[cfg(feature = "crrev")]
pub mod crrev;
#[cfg(feature = "gerrit")]
pub mod gerrit;
#[cfg(feature = "gitiles")]
pub mod gitiles;
#[cfg(feature = "google")]
pub mod google;
#[cfg(feature = "issue-tracker")]
pub mod issue_tracker;
#[cfg(feature = "luci")]
pub mod luci;
#[cfg(feature = "swarming")]
pub mod swarming;

//! Builds: made once in work trees of our own, kept, found again and shared.

pub(crate) mod build_dir;
pub(crate) mod build_key;
pub(crate) mod build_manifest;
pub(crate) mod build_steps;
pub(crate) mod build_store;
mod build_store_room;
pub(crate) mod builds;
pub(crate) mod dependencies;
pub(crate) mod finished_build;
pub(crate) mod incomplete_checkout;
pub(crate) mod maker;
pub(crate) mod old_results;
pub(crate) mod shrink;
pub(crate) mod traced_builds;
pub(crate) mod tracked_files;

//! Builds: made once in work trees of our own, kept, found again and shared.

pub(crate) mod build_key;
pub(crate) mod build_manifest;
pub(crate) mod build_steps;
pub(crate) mod build_store;
pub(crate) mod builds;
pub(crate) mod maker;
pub(crate) mod workspace;

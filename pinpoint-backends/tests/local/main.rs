//! The local executor, on real repositories and with real processes.
//!
//! No test waits for a fixed time: each waits for an expected event, and finds forbidden ones at
//! once in the processes' own records.
#![cfg(feature = "local")]
// Clippy's exception for tests covers only functions marked as tests, not shared ones.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

mod builds;
mod commit_diff;
mod damage;
mod dependencies;
mod ends;
mod first_parents;
mod git;
mod history;
mod left;
mod lends;
mod limits;
mod machine;
mod measures;
mod metric;
mod midpoints;
mod mirrors;
mod pairs;
#[cfg(target_os = "linux")]
mod pinned;
mod runs;
mod seen;
mod spans;
mod stored;
mod touched;
#[cfg(target_os = "linux")]
mod traced;
mod tracked;
mod world;

//! The local executor, on real repositories and with real processes.
//!
//! No test waits for a time and then expects something: it waits for what has to happen,
//! and finds what must not happen at once in the processes' own records.
#![cfg(feature = "local")]
// Clippy's exception for tests knows functions marked as tests only, not what
// they share.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

mod builds;
mod commit_diff;
mod damage;
mod dependencies;
mod ends;
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

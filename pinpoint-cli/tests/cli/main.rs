//! The `pinpoint` command as people meet it: the real binary, on real
//! repositories, with real processes.
//!
//! No test waits for a time and then expects something, except where a time
//! limit is what is tested. Each has a state directory and machine locks of its
//! own, so that tests wait neither for one another nor for other measurements on
//! this machine.

// Clippy's exception for tests covers only functions marked as tests.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]
#![expect(
    unsafe_code,
    reason = "signals, limits and pipes are calls of the system"
)]

mod attack;
mod bots;
mod browser;
#[cfg(feature = "otlp")]
mod collector;
mod company;
mod compare;
#[cfg(target_os = "linux")]
mod doctor;
mod explain;
mod explain_job;
mod find;
mod git;
mod histories;
mod kill;
#[cfg(feature = "luci")]
mod luci;
mod measures;
mod pairs;
mod plan;
mod pool;
#[cfg(all(feature = "published", feature = "temporal"))]
mod published_names;
mod refuse;
mod report;
mod repositories;
mod rolls;
mod same;
mod screen;
mod signed_jobs;
#[cfg(all(feature = "postgres", feature = "temporal"))]
mod soak;
mod stop;
#[cfg(feature = "postgres")]
mod stores;
mod talos;
#[cfg(all(feature = "temporal", feature = "postgres"))]
mod temporal;
#[cfg(all(feature = "temporal", feature = "postgres"))]
mod temporal_faults;
#[cfg(feature = "temporal")]
mod temporal_server;
#[cfg(feature = "temporal")]
mod temporal_standstill;
#[cfg(feature = "otlp")]
mod trace_engine;
#[cfg(feature = "otlp")]
mod traces;
mod value_history;
mod versions;
mod watch;
mod watch_commands;
mod workers;
mod world;

use test_servers::chromium;
#[cfg(feature = "postgres")]
use test_servers::{postgres, proxy};

//! The `pinpoint` command as people meet it: the real binary, on real
//! repositories, with real processes.
//!
//! No test waits for a time and then expects something, except where a time
//! limit is what is tested. Each has a state directory and machine locks of its
//! own, so that tests wait neither for one another nor for whoever measures on
//! this machine.

// Clippy's exception for tests knows functions marked as tests only, not what
// they share.
#![allow(clippy::unwrap_used)]

mod bots;
mod browser;
mod chromium;
mod company;
mod compare;
mod find;
mod kill;
mod pairs;
mod plan;
// Starts a server, as for the tests of the store.
#[cfg(feature = "postgres")]
#[path = "../../../pinpoint-backends/tests/store/postgres.rs"]
#[allow(dead_code)]
mod postgres;
mod refuse;
mod report;
mod rolls;
mod screen;
mod stop;
#[cfg(feature = "postgres")]
mod stores;

mod world;

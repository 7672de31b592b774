//! The job store, as its users see it, on both databases.
#![cfg(all(feature = "sqlite", feature = "postgres"))]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]
#![allow(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach their helpers"
)]

mod a_run;
mod accounts;
mod answers;
mod audit;
mod commits;
mod common;
mod databases;
mod exchange;
mod files;
mod job_files;
mod jobs;
mod journals;
mod leases;
mod list_model;
mod lists;
mod network;
mod orders;
mod outages;
mod processes;
mod quotas;
mod signatures;
mod versions;
mod watching;
mod workers;

use test_servers::{postgres, proxy};

//! The service as its clients see it, in this process: requests go into the router as they
//! come from a connection.

// Clippy's exception for tests covers only functions marked as tests.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

mod found;
mod gateway;
mod gerrit;
mod limits;
mod mistakes;
mod older_page;
mod pinpoint;
mod provider;
mod readers;
mod report;
mod rights;
mod running;
mod sending;
mod sign_in;
mod ui;
mod v2;
mod watch;
mod world;

//! Servers and a browser that tests and benchmarks start, each for itself and reached over loopback
//! or a socket. All of it panics where something is missing: a test fails then.

#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]
#![allow(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach their helpers"
)]

#[expect(
    unsafe_code,
    reason = "pipes for Chromium's protocol are made and polled by the system"
)]
pub mod chromium;
pub mod postgres;
pub mod proxy;

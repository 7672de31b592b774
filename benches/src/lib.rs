//! Benchmarks of Pinpoint against peers and limits.

pub mod memory;

//! Benchmarks of Pinpoint against peers and limits.

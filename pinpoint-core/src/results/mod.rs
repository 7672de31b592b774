//! Reading what a benchmark printed.

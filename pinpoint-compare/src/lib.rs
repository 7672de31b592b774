//! Statistics that decide whether two samples of a benchmark differ.

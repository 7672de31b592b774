//! Jobs in a laboratory of one process, in simulated time.

mod faults;
mod jobs;
mod lab;

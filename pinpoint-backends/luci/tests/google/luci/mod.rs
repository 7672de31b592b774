//! Jobs on fake services in one process, in simulated time.

mod export;
mod faults;
mod fixture;
mod in_go;
mod jobs;
mod kinds;
mod named;
mod refusals;
mod reports;

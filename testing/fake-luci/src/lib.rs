//! LUCI's services in one process, for tests.
//!
//! Histories are those of real local git; builders and bots work in time that tests choose; files
//! have real digests; trouble comes by seed ([`Faults`]). The services answer by the protocols
//! that their clients were published with, and refuse fields that they do not know.
//! [`FakeLuci::routes`] is all of them, to be served on loopback or called within a process.

mod bigquery;
mod buildbucket;
mod cas;
mod catapult;
mod clock;
mod crrev;
mod faults;
mod folder;
mod gerrit;
pub mod git;
mod gitiles;
mod issue_tracker;
mod prpc;
mod routes;
mod services;
mod swarming;
mod world;

pub use buildbucket::Build;
pub use cas::INSTANCE;
pub use catapult::{ReceivedAttempt, ReceivedJob, ReceivedState};
pub use faults::Faults;
pub use folder::Folder;
pub use git::Repository;
pub use issue_tracker::Issue;
pub use services::FakeLuci;
pub use swarming::{Bot, Task};
pub use world::{DEPENDENCY, MAIN, Shape, Slower, World};

//! Where the search meets the world.
//!
//! Everything here does what [`pinpoint_core`] only describes. Each backend is
//! a cargo feature, so that a program carries only what it uses.

#[cfg(any(feature = "local", feature = "sqlite", feature = "postgres"))]
mod clock;
#[cfg(feature = "local")]
pub mod local;
mod state_dir;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod store;

pub use state_dir::create_state_dir;

#[cfg(any(feature = "local", feature = "sqlite", feature = "postgres"))]
pub use clock::TokioClock;

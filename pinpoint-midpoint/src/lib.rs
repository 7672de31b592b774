//! What lies between two commits, through merges and dependency rolls.
//!
//! [`manifest`] reads the files in which a repository names the revisions of
//! its dependencies, and tells what a commit changed in them.

mod error;
mod held;
mod history;
mod line;
pub mod manifest;
mod midpoints;
mod rolls;

pub use error::MidpointError;
pub use history::{History, HistoryError, Repositories};
pub use midpoints::{Between, Midpoints};

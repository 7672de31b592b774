//! What lies between two commits, through merges and dependency rolls.
//!
//! [`manifest`] reads the files in which a repository names the revisions of
//! its dependencies, and tells what a commit changed in them.

mod history;
pub mod manifest;

pub use history::{History, HistoryError, Repositories};

//! What lies between two commits, through merges and dependency rolls.

mod history;

pub use history::{History, HistoryError, Repositories};

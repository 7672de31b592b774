//! The states between two states of a program.
//!
//! A state is a [`CombinedCommit`](pinpoint_core::CombinedCommit): a commit of the main repository,
//! and dependencies held at other revisions than it names. [`Midpoints`] lists the states strictly
//! between two of them, the coarsest first, so that a search halves long ranges before it looks
//! into a commit:
//!
//! 1. commits of the main repository, on the line of history from the lower one to the higher:
//!    first parents, except where only another parent has the lower one in its history. Where
//!    neither is part of the other's history, the line goes back from the lower one to their merge
//!    base, and from there to the higher one;
//! 2. between neighbors on it, when the higher is a merge: the lower one with the branch's commits
//!    merged in, one more each time. States that conflict are left out;
//! 3. between neighbors that roll dependencies: the lower one with the first dependency (by path,
//!    then URL) moved on commit by commit, then the second as well, and so on until all have
//!    rolled. That last state and the roll itself differ in the other changes of the commit;
//! 4. between neighbors in a dependency: the same inside it.
//!
//! ```text
//! {C@1}                            C@2 rolls angle from 4 to 5 and skia from 7 to 9
//! {C@1, angle@5}
//! {C@1, angle@5, skia@8}           between this one and the one before:
//! {C@1, angle@5, skia@9}           rolls of skia@8, {…, skia@7, fonts@3}
//! {C@2}
//! ```
//!
//! A search that ends at two neighbors with nothing between has the commit to blame, or several
//! that can't be told apart: [`Midpoints::blamed`]. Other changes of a roll, which can't be
//! followed (a package, a repository that is not available locally, a branch, a cycle), are named
//! with the reason.
//!
//! A dependency that was rolled back is walked in reverse, from its newer commit to its older one.
//!
//! Repositories are accessed through [`History`] and [`Repositories`]; the files that name
//! dependencies are read by [`manifest`].

#![forbid(unsafe_code)]

mod error;
mod held;
mod history;
mod line;
pub mod manifest;
mod merge;
mod midpoints;
mod rolls;
mod sources;

pub use error::MidpointError;
pub use history::{History, HistoryError, Repositories};
pub use midpoints::{Between, Midpoints};

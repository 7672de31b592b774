//! What lies between two commits, through dependency rolls.
//!
//! [`manifest`] reads the files in which a repository names the revisions of
//! its dependencies, and tells what a commit changed in them.

pub mod manifest;

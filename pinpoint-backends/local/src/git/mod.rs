//! Repositories: the user's, which are only read; mirrors of those that a job names by URL; and our
//! own in the state directory, to which work trees belong.

pub(crate) mod commit_diff;
pub(crate) mod commit_lookup;
pub(crate) mod first_parents;
pub(crate) mod git_command;
pub(crate) mod history;
pub(crate) mod local_clones;
pub(crate) mod mirror_error;
pub(crate) mod mirrors;
pub(crate) mod range;
pub(crate) mod remote_url;
pub(crate) mod remotes;
pub(crate) mod repository;
pub(crate) mod repository_error;
pub(crate) mod repository_location;
pub(crate) mod touched;
pub(crate) mod workspace;

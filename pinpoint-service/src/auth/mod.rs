//! Callers and their permissions: sign-in, callers, rights and limits.

mod admission;
pub(crate) mod browsers;
pub(crate) mod caller;
pub(crate) mod limits;
pub(crate) mod reached;
pub(crate) mod sign_in;
pub(crate) mod users;

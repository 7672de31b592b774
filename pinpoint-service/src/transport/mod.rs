//! Bytes on their way: connections, what arrives and what is sent, each within bounds.

pub(crate) mod arriving;
pub(crate) mod connections;
pub(crate) mod guard;
pub(crate) mod metrics;
pub(crate) mod requests;
pub(crate) mod sending;

//! The client of content-addressed stores: against one in this process that fails by seed, and
//! against bazel-remote.

mod bazel_remote;
pub(crate) mod fake;
mod faults;
mod in_go;
mod messages;
mod reads;
mod tls;
mod world;

//! Processes and the machine they run on: supervision, processors, locks, files and errors.

pub(crate) mod child;
pub(crate) mod cpus;
pub(crate) mod environment;
pub(crate) mod error_line;
pub(crate) mod files;
pub(crate) mod host;
pub(crate) mod machine_lock;
pub(crate) mod processor_count;
pub(crate) mod supervisor;
pub(crate) mod sync;

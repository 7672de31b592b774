//! The life of a job: one definition of it for the command line, Python, a service and
//! its workers, over any store and any executor.
//!
//! A job is taken ([`TakenJob::take`]), worked on until it ends or this process has to
//! end ([`TakenJob::work`]), and released. One on which nothing is under way can be ended
//! ([`TakenJob::cancel`]), and [`cancel`] ends any other. [`machine_of`] and [`stored_result`] show a job without taking
//! it.
//!
//! A job that is worked on is held by a lock, against other processes of this machine,
//! and by a lease, against other machines. The lease is renewed for as long as the work
//! goes on; a worker that lost it stops writing.
//!
//! # Cancellation
//!
//! Anyone may request it in the store while a job is worked on. The worker notices within
//! half a second, ends what is under way, and keeps the result as far as it is known. To
//! resume a canceled job is to withdraw that. A job whose worker was killed while it was
//! ending goes on ending. On a job without a worker, [`TakenJob::cancel`] does it.

#[cfg(feature = "local")]
mod cancel;
#[cfg(feature = "local")]
mod config;
mod error;
mod stored;
mod taken;

#[cfg(feature = "local")]
pub use cancel::cancel;
#[cfg(feature = "local")]
pub use config::{CommandLine, JobConfig, new_job, open_local};
pub use error::JobError;
pub use stored::{kind_of, machine_of, spec_of, stored_result};
pub use taken::{TakenJob, Worker};

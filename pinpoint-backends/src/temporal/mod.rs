//! Workers on [Temporal](https://temporal.io): jobs that outlive every process, each as a workflow
//! whose actions are spread over the machines of its bot.
//!
//! A job waits in the store until a worker of its bot takes it, which decides how the job is
//! carried out. One on Temporal starts a workflow with the job's id. The workflow is the job's
//! machine; each action is an activity on some machine of the bot, whose answer is in the journal
//! before it counts. So lists, reports and `resume` need only the store, as for any other job.
//!
//! ```text
//! pinpoint                 workflows, and activities that need only the store
//! pinpoint.build.BOT       builds, and activities that need the repository
//! pinpoint.bot.BOT         runs, one at a time on each machine
//! pinpoint.machine.NAME    runs that have to be made on that machine
//! ```
//!
//! With the feature `published`, workers may take the workflows of Chromium's Pinpoint, too:
//! `PublishedNames`.
//!
//! A dead worker is noticed after half a minute, and another one continues. A job on Temporal is
//! leased to [`Temporal::owner`]; while it is, no other worker takes it.

mod actions;
mod beating;
mod bookkeeping;
mod codec;
mod connection;
mod dispatcher;
mod error;
mod failures;
#[cfg(test)]
mod histories;
mod jobs_here;
mod machines;
mod messages;
mod metrics;
mod namespace;
mod news;
#[cfg(feature = "published")]
mod published;
mod queues;
mod serving;
mod unable;
mod workflow;

pub use crate::store::CancelRequest;
pub use codec::PayloadKey;
pub use connection::{Temporal, TemporalAddress};
pub use error::TemporalError;
pub use jobs_here::{JobExecutor, OpenExecutor};
pub use messages::{ActionInProgress, TimeLimits, WorkflowProgress};
pub use namespace::NamespaceSetup;
#[cfg(feature = "published")]
pub use published::{PUBLISHED_QUEUE, PublishedNames};
pub use serving::{TemporalEvent, TemporalOptions, TemporalWorker, serve, serve_with};

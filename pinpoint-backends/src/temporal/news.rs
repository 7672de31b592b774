//! News from activities. The library runs them, and the worker reports their news with everything
//! else.

use std::error::Error;

use pinpoint_core::job::JobResult;

use crate::store::JobId;

/// An event in an activity.
#[derive(Debug)]
pub(crate) enum News {
    /// A job has ended, with its result, or without one for this reason.
    Ended(JobId, Box<Result<JobResult, String>>),
    /// Something can't be done here.
    Trouble(Box<dyn Error + Send + Sync>),
}

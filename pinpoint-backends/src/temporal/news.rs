//! What activities have to tell. They are carried out by the library, and the worker tells of
//! them with everything else.

use std::error::Error;

use pinpoint_core::job::JobResult;

use crate::store::JobId;

/// Something that happened in an activity.
#[derive(Debug)]
pub(crate) enum News {
    /// A job has ended, with its result, or without one for this reason.
    Ended(JobId, Box<Result<JobResult, String>>),
    /// Something can't be done here.
    Trouble(Box<dyn Error + Send + Sync>),
}

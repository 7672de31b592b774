//! A job in the form of the API that Chromium's Pinpoint replaced. All of it comes from the job and
//! its journal.

use pinpoint_backends::job::{JobError, LegacyContext, legacy_response};
use pinpoint_backends::store::Job;
use pinpoint_core::Answers;
use pinpoint_core::api::LegacyJobResponse;

use super::state_name;

/// A job and the answers in its journal.
pub(super) fn response(
    job: &Job,
    answers: &Answers,
    target: &str,
) -> Result<LegacyJobResponse, JobError> {
    let context = LegacyContext {
        target,
        host: "",
        status: state_name(job.state),
        now: job.updated,
        page: "",
        message: &|_| None,
    };
    legacy_response(job, answers, &context)
}

//! Results of jobs, with the commands that check them.

use pinpoint_backends::job::{JobConfig, stored_result};
use pinpoint_backends::store::Job;
use pinpoint_core::job::JobResult;
use pinpoint_core::{PairwiseStatus, Status};

use crate::command_line;

/// The readable result that a job ended with, if any.
pub fn stored(job: &Job) -> Option<JobResult> {
    let mut result = stored_result(job).ok()??;
    if let Ok(config) = JobConfig::of(job) {
        add_commands(&mut result, &config);
    }
    Some(result)
}

/// Adds the commands that compare a culprit with its parent again.
pub fn add_commands(result: &mut JobResult, config: &JobConfig) {
    let Some(command) = &config.command_line else {
        return;
    };
    for culprit in result.culprits_mut() {
        // A search that only goes back in time is refused.
        culprit.reproduce = { culprit.plain_ends().filter(|_| !culprit.undone) }
            .and_then(|(prior, commit)| command_line::with_ends(command, prior, commit));
    }
}

/// The result in a few words.
pub fn in_words(result: &JobResult) -> &'static str {
    match result {
        JobResult::Pairwise(result) => match result.status {
            PairwiseStatus::Different => "different",
            PairwiseStatus::Same => "no difference",
            PairwiseStatus::Unknown => "not decided",
            PairwiseStatus::Failed => "failed",
            PairwiseStatus::Canceled => "canceled",
            other => other.as_str(),
        },
        result => match result.bisection() {
            Some(search) => status_in_words(search.status),
            None => result.state().as_str(),
        },
    }
}

fn status_in_words(status: Status) -> &'static str {
    match status {
        Status::CulpritFound => "culprit found",
        Status::NoRegression => "no regression",
        Status::Inconclusive => "not decided",
        Status::Failed => "failed",
        Status::Canceled => "canceled",
        other => other.as_str(),
    }
}

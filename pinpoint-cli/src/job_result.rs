//! The result of a job, as it is printed.

use pinpoint_backends::job::{JobConfig, stored_result};
use pinpoint_backends::store::Job;
use pinpoint_core::job::JobResult;
use pinpoint_core::{PairwiseStatus, Status};

use crate::arguments::{Display, Output};
use crate::error::{exit_code_of_pairwise, exit_code_of_search};
use crate::output::{print, print_json};
use crate::{command_line, culprit_summary, pairwise_summary, summary};

/// The result that a job ended with, if it has one that can be read.
pub(crate) fn stored(job: &Job) -> Option<JobResult> {
    let mut result = stored_result(job).ok()??;
    if let Ok(config) = JobConfig::of(job) {
        add_commands(&mut result, &config);
    }
    Some(result)
}

/// Adds the commands that compare a culprit with its parent again.
pub(crate) fn add_commands(result: &mut JobResult, config: &JobConfig) {
    let Some(command) = &config.command_line else {
        return;
    };
    for culprit in result.culprits_mut() {
        culprit.reproduce = culprit
            .plain_ends()
            .and_then(|(prior, commit)| command_line::with_ends(command, prior, commit));
    }
}

pub(crate) fn exit_code(result: &JobResult) -> u8 {
    match result {
        JobResult::Pairwise(result) => exit_code_of_pairwise(result.status),
        JobResult::Bisection(result) => exit_code_of_search(result.status),
        JobResult::CulpritFinder(result) => exit_code_of_search(result.search.status),
    }
}

/// The result in a few words.
pub(crate) fn in_words(result: &JobResult) -> &'static str {
    match result {
        JobResult::Pairwise(result) => match result.status {
            PairwiseStatus::Different => "different",
            PairwiseStatus::Same => "no difference",
            PairwiseStatus::Unknown => "not decided",
            PairwiseStatus::Failed => "failed",
            PairwiseStatus::Canceled => "canceled",
        },
        JobResult::Bisection(result) => status_in_words(result.status),
        JobResult::CulpritFinder(result) => status_in_words(result.search.status),
    }
}

fn status_in_words(status: Status) -> &'static str {
    match status {
        Status::CulpritFound => "culprit found",
        Status::NoRegression => "no regression",
        Status::Inconclusive => "not decided",
        Status::Failed => "failed",
        Status::Canceled => "canceled",
    }
}

/// Prints the result on standard output.
pub(crate) fn print_result(result: &JobResult, display: &Display) {
    match display.output {
        Output::Json => print_json(serde_json::to_string_pretty(result).unwrap_or_default()),
        Output::Text => {
            let summary = match result {
                JobResult::Bisection(result) => summary::of(result, display),
                JobResult::Pairwise(result) => pairwise_summary::of(result, display),
                JobResult::CulpritFinder(result) => culprit_summary::of(result, display),
            };
            print(format_args!("{summary}"));
        }
    }
}

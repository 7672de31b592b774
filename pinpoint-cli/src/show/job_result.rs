//! The result of a job, as it is printed.

use pinpoint_core::job::JobResult;

use crate::arguments::{Display, Output};
use crate::exit_code::{UNDECIDED, exit_code_of_pairwise, exit_code_of_search};
use crate::show::output::{errln, print, print_result_json};
use crate::show::{culprit_summary, pairwise_summary, summary};

pub(crate) fn exit_code(result: &JobResult) -> u8 {
    match result {
        JobResult::Pairwise(result) => exit_code_of_pairwise(result.status),
        JobResult::Bisection(result) => exit_code_of_search(result.status),
        JobResult::CulpritFinder(result) => exit_code_of_search(result.search.status),
        _ => UNDECIDED,
    }
}

/// Prints the result on standard output.
pub(crate) fn print_result(result: &JobResult, display: &Display) {
    match display.output {
        Output::Json => print_result_json(result),
        Output::Text => {
            let summary = match result {
                JobResult::Bisection(result) => summary::render(result, display),
                JobResult::Pairwise(result) => pairwise_summary::render(result, display),
                JobResult::CulpritFinder(result) => culprit_summary::render(result, display),
                _ => {
                    errln!("this version has no words for this kind of job; see --output json");
                    return;
                }
            };
            print(format_args!("{summary}"));
        }
    }
}

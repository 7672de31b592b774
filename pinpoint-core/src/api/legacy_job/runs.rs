//! The runs in a job's answers.

use std::collections::BTreeMap;

use crate::{Answered, Event, Position, Report, RunReport, Task};

/// A run in an answer.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredRun<'a> {
    /// The commit that was run.
    pub commit: Position,
    /// By their chart; absent where it failed.
    pub values: Option<&'a BTreeMap<String, Vec<f64>>>,
    /// The reason why it failed.
    pub failure: Option<&'a str>,
    /// The report of the executor.
    pub report: &'a RunReport,
}

/// The runs in an answer: none, one, or a pair.
pub fn runs_of(answer: &Answered) -> Vec<AnsweredRun<'_>> {
    match (&answer.task, &answer.report, &answer.event) {
        (Task::Run { commit, .. }, Report::Ran(report), Event::Ran { values, .. }) => {
            vec![AnsweredRun {
                commit: *commit,
                values: Some(values),
                failure: None,
                report,
            }]
        }
        (Task::Run { commit, .. }, Report::Ran(report), Event::RunFailed { reason, .. }) => {
            vec![AnsweredRun {
                commit: *commit,
                values: None,
                failure: Some(reason),
                report,
            }]
        }
        (
            Task::RunPair { first, second, .. },
            Report::RanPair(pair),
            Event::RanPair {
                first: one,
                second: other,
                ..
            },
        ) => [(first, one, &pair.first), (second, other, &pair.second)]
            .map(|(commit, run, report)| AnsweredRun {
                commit: *commit,
                values: Some(&run.values),
                failure: run.failure.as_deref(),
                report,
            })
            .into(),
        _ => Vec::new(),
    }
}

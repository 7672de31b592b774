//! Journals of version 1: an event next to the executor's answer.
//!
//! Version 1 kept the machine's events and, next to them, the executor's answers, with one value a
//! chart. A record of it is one fact of version 2 or, for answers without details, the report that
//! leads to the same event.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Record;
use crate::{
    BuildReport, CombinedCommit, Commit, Event, Listing, PairReport, PairedRun, Report, RunReport,
    Series,
};

/// A record of a journal of version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordVersion1 {
    /// The event that the machine handled.
    pub event: Event,
    /// The executor's answer.
    #[serde(default)]
    pub detail: Option<DetailVersion1>,
}

/// The executor's answer, in a journal of version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetailVersion1 {
    /// With [`Event::Listed`].
    Listed(Listing),
    /// With [`Event::Built`] and [`Event::BuildFailed`].
    Build(BuildReport),
    /// With [`Event::Ran`] and [`Event::RunFailed`].
    Run(RunReport),
    /// With [`Event::RanPair`].
    RunPair(Box<PairReport>),
}

impl RecordVersion1 {
    /// The same fact in the present version. Times of version 1 count from the job's
    /// beginning, `created`.
    pub fn upgrade(self, created: u64) -> Record {
        let Self { event, detail } = self;
        let report = match (event, detail) {
            (Event::Listed { action, count, .. }, detail) => (
                action,
                Report::Listed(match detail {
                    Some(DetailVersion1::Listed(listing)) => listing,
                    _ => Listing {
                        lower: nameless(),
                        higher: nameless(),
                        count,
                        changes: Vec::new(),
                        merge_base: None,
                    },
                }),
            ),
            (Event::Built { action, .. }, detail) => (action, built(detail, None)),
            (Event::BuildFailed { action, reason }, detail) => {
                (action, built(detail, Some(reason)))
            }
            (
                Event::Ran {
                    action,
                    bot,
                    started,
                    values,
                },
                detail,
            ) => {
                let run = PairedRun {
                    started,
                    values,
                    failure: None,
                };
                (action, Report::Ran(ran(run_of(detail), bot, run, created)))
            }
            (
                Event::RunFailed {
                    action,
                    bot,
                    started,
                    reason,
                },
                detail,
            ) => {
                let run = PairedRun {
                    started,
                    values: BTreeMap::new(),
                    failure: Some(reason),
                };
                (action, Report::Ran(ran(run_of(detail), bot, run, created)))
            }
            (
                Event::RanPair {
                    action,
                    bot,
                    first,
                    second,
                },
                detail,
            ) => {
                let (one, other) = match detail {
                    Some(DetailVersion1::RunPair(pair)) => (Some(pair.first), Some(pair.second)),
                    _ => (None, None),
                };
                let pair = PairReport {
                    first: ran(one, bot.clone(), first, created),
                    second: ran(other, bot, second, created),
                };
                (action, Report::RanPair(Box::new(pair)))
            }
            (Event::GaveUp { action, reason }, _) => return Record::GaveUp { action, reason },
            (Event::Canceled { action }, _) => return Record::Canceled { action },
            (Event::CancelRequested, _) => return Record::CancelRequested,
            (Event::TimePassed { elapsed }, _) => return Record::TimePassed { elapsed },
            // The event did not exist.
            (Event::MetricFound { action, metric }, _) => (action, Report::Metric(metric)),
        };
        Record::Reported {
            action: report.0,
            report: report.1,
        }
    }
}

/// A range that was counted by the caller had no names.
fn nameless() -> CombinedCommit {
    Commit::new("", "").into()
}

fn built(detail: Option<DetailVersion1>, failure: Option<String>) -> Report {
    let report = match detail {
        Some(DetailVersion1::Build(report)) => report,
        _ => BuildReport::built(nameless()),
    };
    Report::Built(BuildReport { failure, ..report })
}

fn run_of(detail: Option<DetailVersion1>) -> Option<RunReport> {
    match detail {
        Some(DetailVersion1::Run(report)) => Some(report),
        _ => None,
    }
}

/// The report of a run that leads to the same event: the machine's event takes precedence over the
/// details.
fn ran(detail: Option<RunReport>, bot: Option<String>, run: PairedRun, created: u64) -> RunReport {
    let mut report = detail.unwrap_or_default();
    report.bot = bot;
    report.started = created.saturating_add(run.started);
    for (chart, values) in run.values {
        let series: &mut Series = report.charts.entry(chart).or_default();
        series.values = values;
    }
    report.failure = run.failure;
    report
}

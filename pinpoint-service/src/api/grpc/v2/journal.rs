//! The contents of a journal: runs, builds, and single records.

use pinpoint_backends::store::JournalEntry;
use pinpoint_core::api::Timestamp;
use pinpoint_core::{
    BuildReport, CommitNames, Event, PairReport, Position, Record, Report, RunReport, Task,
};

use super::messages::{self, RecordKind};
use super::show::commit;

/// The runs of an answer: none, one, or both of a pair.
pub(crate) fn runs(
    names: &CommitNames,
    task: Option<&Task>,
    report: &Report,
    event: Option<&Event>,
) -> Vec<messages::Run> {
    let one = |position: Option<Position>, report: &RunReport, failure: Option<&String>| {
        let failure = failure.or(report.failure.as_ref());
        let charts = report.charts.iter().map(|(chart, series)| {
            let series = messages::Series {
                values: series.values.clone(),
                unit: series.unit.clone().unwrap_or_default(),
            };
            (chart.clone(), series)
        });
        messages::Run {
            commit: position.and_then(|it| names.commit(it)).map(commit),
            bot: report.bot.clone().unwrap_or_default(),
            started: time(report.started),
            charts: charts.collect(),
            failure: failure.cloned().unwrap_or_default(),
            exit_code: report.exit_code,
        }
    };
    match (report, task, event) {
        (Report::Ran(report), task, event) => {
            let position = match task {
                Some(Task::Run { commit, .. }) => Some(*commit),
                _ => None,
            };
            let failure = match event {
                Some(Event::RunFailed { reason, .. }) => Some(reason),
                _ => None,
            };
            vec![one(position, report, failure)]
        }
        (Report::RanPair(pair), task, event) => {
            let PairReport { first, second } = &**pair;
            let [before, after] = match task {
                Some(Task::RunPair { first, second, .. }) => [Some(*first), Some(*second)],
                _ => [None, None],
            };
            let [one_failed, other_failed] = match event {
                Some(Event::RanPair { first, second, .. }) => {
                    [first.failure.as_ref(), second.failure.as_ref()]
                }
                _ => [None, None],
            };
            vec![
                one(before, first, one_failed),
                one(after, second, other_failed),
            ]
        }
        _ => Vec::new(),
    }
}

/// A build.
pub(crate) fn build(report: &BuildReport) -> messages::Build {
    messages::Build {
        commit: Some(commit(&report.commit)),
        failure: report.failure.clone().unwrap_or_default(),
        cached: report.cached,
        duration_s: report.duration as f64 / 1000.0,
        digest: report.digest.clone().unwrap_or_default(),
        same_as: report.same_as.as_ref().map(commit),
    }
}

/// A record; `task` and `event` are its meaning, where it could be replayed.
pub(crate) fn record(
    entry: &JournalEntry,
    names: &CommitNames,
    task: Option<&Task>,
    event: Option<&Event>,
) -> messages::Record {
    let record = &entry.record;
    let mut message = messages::Record {
        sequence: entry.sequence,
        recorded: Timestamp::of_milliseconds(entry.recorded),
        action: record.action(),
        ..messages::Record::default()
    };
    let kind = match record {
        Record::Started { .. } => RecordKind::Started,
        Record::Reported { report, .. } => {
            message.runs = runs(names, task, report, event);
            match report {
                Report::Metric(metric) => {
                    message.chart = metric.chart.clone().unwrap_or_default();
                    RecordKind::MetricFound
                }
                Report::Listed(listing) => {
                    message.commits = Some(listing.count);
                    RecordKind::Listed
                }
                Report::Built(report) => {
                    message.build = Some(build(report));
                    RecordKind::Built
                }
                Report::Ran(_) | Report::RanPair(_) => RecordKind::Ran,
                _ => RecordKind::Unspecified,
            }
        }
        Record::GaveUp { reason, .. } => {
            message.reason.clone_from(reason);
            RecordKind::GaveUp
        }
        Record::Canceled { .. } => RecordKind::Ended,
        Record::CancelRequested => RecordKind::CancelRequested,
        Record::TimePassed { .. } => RecordKind::TimePassed,
        _ => RecordKind::Unspecified,
    };
    message.kind = kind as i32;
    message
}

/// A time in milliseconds since 1970.
pub(crate) fn time(milliseconds: u64) -> Option<Timestamp> {
    Timestamp::of_milliseconds(i64::try_from(milliseconds).ok()?)
}

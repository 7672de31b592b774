//! The translation between a machine and the world: an action becomes a request, a record
//! becomes an event.
//!
//! The functions are pure. [`drive`](crate::drive) calls them through an [`Engine`](crate::Engine),
//! and so can any other loop: a workflow, a test, a custom service.
//!
//! # What counts as a value
//!
//! A run counts when its report has no failure and gives at least one value for the chart that
//! decides, all of them finite. Anything else is a failed run, which is a sample, too. [`accept`]
//! settles that before a report is journaled: JSON has no NaN, and a journaled record must always
//! lead to the same event.

use std::collections::BTreeMap;

use crate::aggregate::Aggregate;
use crate::{
    BuildReport, BuildRequest, FindMetricRequest, ListRequest, RunPairRequest, RunRequest,
};
use crate::{
    Charts, CommitNames, Event, Key, Machine, Metric, PairReport, PairedRun, Position, Record,
    Report, Request, RunReport, Series, Task, Variant, deciding_chart,
};

/// A task names a commit that was neither listed nor built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{task:?} names a commit that was never listed or built")]
#[non_exhaustive]
pub struct UnnamedCommit {
    /// The task.
    pub task: Box<Task>,
}

/// The settings by which a machine reads reports.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingSettings {
    /// The charts of a run that count.
    pub charts: Charts,
    /// The aggregate of the values that one run gives for one chart; all of them count
    /// when absent.
    pub aggregate: Option<Aggregate>,
    /// The time when the job was created, in milliseconds since 1970: events count from it.
    pub created: u64,
}

/// The request for a task; absent for [`Task::Cancel`], which is not a request.
pub fn request<M: Machine>(
    key: Key,
    task: &Task,
    machine: &M,
    names: &CommitNames,
    metric: Option<&Metric>,
) -> Result<Option<Request>, UnnamedCommit> {
    let unnamed = || UnnamedCommit {
        task: Box::new(task.clone()),
    };
    let commit = |position| names.commit(position).cloned().ok_or_else(unnamed);
    let variant = |position: Position| {
        let given = machine.variant(position).cloned();
        Ok(Variant {
            commit: commit(position)?,
            artifact: names.artifact(position).cloned(),
            arguments: given
                .as_ref()
                .map_or_else(Vec::new, |it| it.arguments.clone()),
            env: given.map_or_else(BTreeMap::new, |it| it.env),
        })
    };
    Ok(Some(match task {
        Task::FindMetric { commit: position } => Request::FindMetric(FindMetricRequest {
            key,
            commit: commit(*position)?,
            aggregate: machine.aggregate(),
        }),
        Task::List {
            range,
            lower,
            higher,
        } => Request::List(ListRequest {
            key,
            lower: commit(*lower)?,
            higher: commit(*higher)?,
            range: *range,
        }),
        Task::Build { commit } => Request::Build(BuildRequest {
            key,
            commit: names.locate(*commit).ok_or_else(unnamed)?,
        }),
        Task::Run { commit, index, bot } => Request::Run(RunRequest {
            key,
            variant: variant(*commit)?,
            index: *index,
            bot: bot.clone(),
            charts: machine.charts(),
            metric: metric.cloned(),
        }),
        Task::RunPair {
            first,
            second,
            index,
            bot,
        } => Request::RunPair(RunPairRequest {
            key,
            first: variant(*first)?,
            second: variant(*second)?,
            index: *index,
            bot: bot.clone(),
            charts: machine.charts(),
            metric: metric.cloned(),
        }),
        Task::Cancel { .. } => return Ok(None),
    }))
}

/// Prepares a report for the journal: a run whose values do not count gets the reason,
/// and series with values that are not finite are left out.
pub fn accept(charts: &Charts, report: Report) -> Report {
    let run = |mut report: RunReport| {
        if report.failure.is_none() {
            report.failure = values(charts, &report).err();
        }
        let finite = |series: &Series| series.values.iter().all(|value| value.is_finite());
        report.charts.retain(|_, series| finite(series));
        report.usage = report.usage.filter(|usage| {
            [usage.wall, usage.user, usage.system]
                .iter()
                .all(|seconds| seconds.is_finite())
        });
        report
    };
    match report {
        Report::Ran(report) => Report::Ran(run(report)),
        Report::RanPair(pair) => Report::RanPair(Box::new(PairReport {
            first: run(pair.first),
            second: run(pair.second),
        })),
        report @ (Report::Metric(_) | Report::Listed(_) | Report::Built(_)) => report,
    }
}

/// The part of a record that an [`Engine`](crate::Engine) reads: it leads to the same event
/// and names the same commits. For a driver that keeps whole records elsewhere.
pub fn essential(record: Record, charts: &Charts) -> Record {
    let Record::Reported { action, report } = record else {
        return record;
    };
    let run = |report: RunReport| {
        let (kept, failure) = match values(charts, &report) {
            Ok(values) => (values, None),
            Err(reason) => (BTreeMap::new(), Some(reason)),
        };
        let series = |values| Series {
            values,
            ..Series::default()
        };
        RunReport {
            bot: report.bot,
            failure,
            untestable: report.untestable,
            charts: (kept.into_iter())
                .map(|(chart, values)| (chart, series(values)))
                .collect(),
            ..RunReport::new(report.started)
        }
    };
    let report = match report {
        Report::Ran(report) => Report::Ran(run(report)),
        Report::RanPair(pair) => Report::RanPair(Box::new(PairReport {
            first: run(pair.first),
            second: run(pair.second),
        })),
        Report::Built(report) => Report::Built(BuildReport {
            duration: 0,
            log: None,
            unproved: None,
            ..report
        }),
        report @ (Report::Metric(_) | Report::Listed(_)) => report,
    };
    Record::Reported { action, report }
}

/// The event that a record leads to; absent when it means none.
///
/// `task` is the one that the record answers, if it is still open.
pub fn event(record: &Record, task: Option<&Task>, reading: &ReadingSettings) -> Option<Event> {
    Some(match record {
        Record::Started { .. } => return None,
        Record::Reported { action, report } => reported(*action, report, task, reading),
        Record::GaveUp { action, reason } => Event::GaveUp {
            action: *action,
            reason: reason.clone(),
        },
        Record::Canceled { action } => Event::Canceled { action: *action },
        Record::CancelRequested => Event::CancelRequested,
        Record::TimePassed { elapsed } => Event::TimePassed { elapsed: *elapsed },
    })
}

fn reported(action: u64, report: &Report, task: Option<&Task>, reading: &ReadingSettings) -> Event {
    match report {
        Report::Metric(metric) => Event::MetricFound {
            action,
            metric: metric.clone(),
        },
        Report::Listed(listing) => Event::Listed {
            action,
            range: match task {
                Some(Task::List { range, .. }) => *range,
                _ => u32::MAX,
            },
            count: listing.count,
        },
        Report::Built(report) => match &report.failure {
            None => Event::Built {
                action,
                digest: report.digest.clone(),
                same: report.same_as.is_some(),
            },
            Some(reason) => Event::BuildFailed {
                action,
                reason: reason.clone(),
            },
        },
        Report::Ran(report) => {
            let PairedRun {
                started,
                values,
                failure,
            } = ran(report, reading);
            let bot = report.bot.clone();
            match failure {
                None => Event::Ran {
                    action,
                    bot,
                    started,
                    values,
                },
                Some(reason) if report.untestable => Event::BuildFailed { action, reason },
                Some(reason) => Event::RunFailed {
                    action,
                    bot,
                    started,
                    reason,
                },
            }
        }
        Report::RanPair(pair) => Event::RanPair {
            action,
            bot: pair.first.bot.clone(),
            first: ran(&pair.first, reading),
            second: ran(&pair.second, reading),
        },
    }
}

/// One run as the machine gets it.
fn ran(report: &RunReport, reading: &ReadingSettings) -> PairedRun {
    let values = values(&reading.charts, report).and_then(|values| aggregated(values, reading));
    let (values, failure) = match values {
        Ok(values) => (values, None),
        Err(reason) => (BTreeMap::new(), Some(reason)),
    };
    PairedRun {
        started: report.started.saturating_sub(reading.created),
        values,
        failure,
    }
}

/// The values that count, by chart, or the reason why the run counts as failed.
fn values(charts: &Charts, report: &RunReport) -> Result<BTreeMap<String, Vec<f64>>, String> {
    if let Some(failure) = &report.failure {
        return Err(failure.clone());
    }
    let given: BTreeMap<String, Vec<f64>> = match charts {
        Charts::All => (report.charts.iter())
            .filter(|(_, series)| !series.values.is_empty())
            .map(|(chart, series)| (chart.clone(), series.values.clone()))
            .collect(),
        Charts::Deciding(chart) => {
            let all = report.charts.keys().map(String::as_str);
            let chart = deciding_chart(chart.as_deref(), report.chart.as_deref(), all)
                .ok_or("the run does not say which of its charts decides")?;
            match report.charts.get(chart) {
                Some(series) if !series.values.is_empty() => {
                    BTreeMap::from([(chart.to_owned(), series.values.clone())])
                }
                _ => return Err(format!("the run gave no value for chart {chart:?}")),
            }
        }
    };
    if given.is_empty() {
        return Err("the run gave no values".into());
    }
    for (chart, values) in &given {
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(format!("the run gave {value} for chart {chart:?}"));
        }
    }
    Ok(given)
}

/// One value a chart, where the job asks for that. A chart whose values can't be
/// aggregated is left out; a run without any has failed.
fn aggregated(
    values: BTreeMap<String, Vec<f64>>,
    reading: &ReadingSettings,
) -> Result<BTreeMap<String, Vec<f64>>, String> {
    let Some(aggregate) = reading.aggregate else {
        return Ok(values);
    };
    let (mut aggregated, mut failure) = (BTreeMap::new(), None);
    for (chart, values) in values {
        match aggregate.apply(&values).filter(|value| value.is_finite()) {
            Some(value) => {
                aggregated.insert(chart, vec![value]);
            }
            None => {
                failure = Some(format!(
                    "the {} values of {chart:?} have no {aggregate}",
                    values.len()
                ));
            }
        }
    }
    match failure {
        Some(failure) if aggregated.is_empty() => Err(failure),
        _ => Ok(aggregated),
    }
}

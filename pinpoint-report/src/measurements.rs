//! The runs of a job, in order, and the commits that they ran.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_core::job::NamedCulprit;
use pinpoint_core::{
    Answered, CombinedCommit, Commit, CommitNames, CommitOrder, Event, Position, Report, RunReport,
    Task,
};

use crate::picture::Column;
use crate::words::short;

/// The runs that a journal tells of, in order.
#[derive(Debug, Clone, Default)]
pub struct Measurements {
    /// The commits that were run, in the order of the search.
    pub places: Vec<Place>,
    /// In the order in which they were made.
    pub runs: Vec<Run>,
    /// In the order in which they were made.
    pub pairs: Vec<Pair>,
}

/// A commit that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Its place in the search.
    pub position: Position,
    /// The commit.
    pub commit: CombinedCommit,
}

/// An execution of the benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its number in the job; of a pair, with the side.
    pub name: String,
    /// The commit, by its index among the places.
    pub place: usize,
    /// What the executor reports of it, with the values that count.
    pub report: RunReport,
    /// The reason why it does not count; absent when it gave values.
    pub failure: Option<String>,
    /// The end of its output, where that is known.
    pub output: Option<String>,
}

/// Two runs back to back, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The run of the older commit.
    pub base: usize,
    /// The run of the newer one.
    pub experiment: usize,
    /// The order in which they were made.
    pub base_first: bool,
}

impl Run {
    /// The value of a chart; of several, the median. None when the run failed.
    pub fn value(&self, chart: &str) -> Option<f64> {
        if self.failure.is_some() {
            return None;
        }
        pinpoint_compare::median(&self.report.charts.get(chart)?.values)
    }
}

impl Measurements {
    /// The runs among the answers of a journal, whose commits have these names.
    pub fn of(answers: Vec<Answered>, names: &CommitNames) -> Self {
        let order = CommitOrder::of(answers.iter().map(|answer| &answer.task));
        let mut made = Vec::new();
        let mut add = |name: String, position, report: RunReport, failure| {
            made.push((name, position, report, failure));
        };
        let mut pairs = Vec::new();
        let mut count = 0;
        for Answered {
            action,
            task,
            report,
            event,
        } in answers
        {
            match (task, report, event) {
                (
                    Task::Run { commit, .. },
                    Report::Ran(report),
                    Event::RunFailed { reason, .. },
                ) => {
                    add(action.to_string(), commit, report, Some(reason));
                    count += 1;
                }
                (Task::Run { commit, .. }, Report::Ran(report), Event::Ran { values, .. }) => {
                    add(action.to_string(), commit, counted(report, values), None);
                    count += 1;
                }
                (
                    Task::RunPair { first, second, .. },
                    Report::RanPair(pair),
                    Event::RanPair {
                        first: first_run,
                        second: second_run,
                        ..
                    },
                ) => {
                    let name = |side: &str| format!("{action}-{side}");
                    let [first_report, second_report] = [
                        counted(pair.first, first_run.values),
                        counted(pair.second, second_run.values),
                    ];
                    add(name("first"), first, first_report, first_run.failure);
                    add(name("second"), second, second_report, second_run.failure);
                    // The older of two commits is the one that is known.
                    let base_first = order.key(first) <= order.key(second);
                    let (base, experiment) = if base_first {
                        (count, count + 1)
                    } else {
                        (count + 1, count)
                    };
                    count += 2;
                    pairs.push(Pair {
                        base,
                        experiment,
                        base_first,
                    });
                }
                _ => {}
            }
        }
        let positions: BTreeSet<Position> =
            made.iter().map(|(_, position, ..)| *position).collect();
        let mut places: Vec<Place> = (positions.into_iter())
            .map(|position| Place {
                // Every commit that was run was built, and so has a name.
                commit: (names.commit(position).cloned())
                    .unwrap_or_else(|| Commit::new("", "").into()),
                position,
            })
            .collect();
        places.sort_by_cached_key(|place| order.key(place.position));
        let index: BTreeMap<_, _> = (places.iter().enumerate())
            .map(|(index, place)| (place.position, index))
            .collect();
        let runs = made
            .into_iter()
            .map(|(name, position, report, failure)| Run {
                name,
                place: index[&position],
                report,
                failure,
                output: None,
            })
            .collect();
        Self {
            places,
            runs,
            pairs,
        }
    }

    /// The values of a chart by commit, for a picture. Without a chart there are only failures.
    pub fn columns(&self, chart: Option<&str>, culprits: &[NamedCulprit]) -> Vec<Column> {
        let mut values = vec![Vec::new(); self.places.len()];
        for run in &self.runs {
            if let Some(values) = values.get_mut(run.place) {
                values.push(chart.and_then(|chart| run.value(chart)));
            }
        }
        let columns = self.places.iter().zip(values);
        columns
            .map(|(Place { commit, .. }, values)| {
                let is_culprit = culprits.iter().any(|culprit| culprit.commit == *commit);
                Column::new(short(commit), values, is_culprit)
            })
            .collect()
    }

    /// The units of all charts, as the runs give them.
    pub fn units(&self) -> BTreeMap<&str, Option<&str>> {
        let charts = self.runs.iter().flat_map(|run| &run.report.charts);
        charts
            .map(|(chart, series)| (chart.as_str(), series.unit.as_deref()))
            .collect()
    }

    /// The place of a commit that was run, by its index.
    pub fn place_of(&self, position: Position) -> Option<usize> {
        (self.places.iter()).position(|place| place.position == position)
    }
}

/// A run with the values that counted: aggregated where the job asks for that.
fn counted(mut report: RunReport, values: BTreeMap<String, Vec<f64>>) -> RunReport {
    for (chart, values) in values {
        if let Some(series) = report.charts.get_mut(&chart) {
            series.values = values;
        }
    }
    report
}

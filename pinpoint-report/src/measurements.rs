//! The runs of a job, in order, and the commits that they ran.

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
use pinpoint_core::BuildReport;
use pinpoint_core::job::NamedCulprit;
use pinpoint_core::{
    Answered, CombinedCommit, Commit, CommitNames, CommitOrder, Event, Position, Report, RunReport,
    Series, Task, deciding_chart,
};

use crate::picture::Column;
use crate::words::short;

/// The runs in a journal, in order.
///
/// They grow with the journal: an answer that is [added](Self::add) costs no more than itself,
/// except for the first run of a commit, which may move other commits to the right.
///
/// There may be 10,000 runs, or thousands of charts in each: a run has no spare room, and all share
/// the names and the units of charts.
#[derive(Debug, Clone, Default)]
pub struct Measurements {
    /// The commits that were run, in the order of the search.
    pub places: Vec<MeasuredCommit>,
    /// In the order in which they were made.
    pub runs: Vec<Run>,
    /// In the order in which they were made.
    pub pairs: Vec<Pair>,
    /// Of the ranges that were listed so far.
    order: CommitOrder,
    /// The index of each place.
    indices: BTreeMap<Position, usize>,
    /// The unit of each chart, as the last run with that chart gives it.
    units: BTreeMap<Arc<str>, Option<Arc<str>>>,
}

/// A commit that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCommit {
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
    /// The place of its commit in the search (see [`Measurements::place_of`]).
    pub position: Position,
    /// The executor's report of it, except for the values.
    pub report: RunReport,
    /// The values that count, in the order of the names of their charts.
    pub charts: Box<[ChartValues]>,
    /// The reason why it does not count; absent when it gave values.
    pub failure: Option<String>,
    /// The end of its output, if known.
    pub output: Option<String>,
}

/// The values of a chart in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartValues {
    /// The name of the chart.
    pub chart: Arc<str>,
    /// The unit, as the benchmark writes it.
    pub unit: Option<Arc<str>>,
    /// The values, in the order in which the benchmark gave them.
    pub values: Box<[f64]>,
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
    /// The values of a chart, if the run gave some.
    pub fn chart(&self, chart: &str) -> Option<&ChartValues> {
        let found = self.charts.binary_search_by(|it| (*it.chart).cmp(chart));
        self.charts.get(found.ok()?)
    }

    /// The value of a chart; of several, the median. None when the run failed.
    pub fn value(&self, chart: &str) -> Option<f64> {
        if self.failure.is_some() {
            return None;
        }
        pinpoint_compare::median(&self.chart(chart)?.values)
    }
}

impl Measurements {
    /// The runs among the answers of a journal, whose commits have these names.
    pub fn of(answers: Vec<Answered>, names: &CommitNames) -> Self {
        let mut measured = Self::default();
        for answer in answers {
            measured.add(answer, names);
        }
        measured
    }

    /// Takes in the next answer of a journal. The names are those after it.
    pub fn add(&mut self, answer: Answered, names: &CommitNames) {
        let Answered {
            action,
            task,
            report,
            event,
        } = answer;
        match (task, report, event) {
            (list @ Task::List { range, .. }, ..) => {
                self.order.add(&list);
                // A machine measures no commit of a range before it was listed, and then the
                // others stay in order.
                let is_within = |place: &MeasuredCommit| matches!(place.position, Position::Within { range: its, .. } if its == range);
                if self.places.iter().any(is_within) {
                    self.sort();
                }
            }
            (Task::Build { commit }, ..) => self.name(commit, names),
            (Task::Run { commit, .. }, Report::Ran(report), Event::RunFailed { reason, .. }) => {
                self.push(action.to_string(), commit, report, Some(reason), names);
            }
            (Task::Run { commit, .. }, Report::Ran(report), Event::Ran { values, .. }) => {
                let report = counted(report, values);
                self.push(action.to_string(), commit, report, None, names);
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
                let count = self.runs.len();
                let name = |side: &str| format!("{action}-{side}");
                let [first_report, second_report] = [
                    counted(pair.first, first_run.values),
                    counted(pair.second, second_run.values),
                ];
                self.push(name("first"), first, first_report, first_run.failure, names);
                let failure = second_run.failure;
                self.push(name("second"), second, second_report, failure, names);
                // Only the older of two commits is known.
                let base_first = self.order.key(first) <= self.order.key(second);
                let (base, experiment) = if base_first {
                    (count, count + 1)
                } else {
                    (count + 1, count)
                };
                self.pairs.push(Pair {
                    base,
                    experiment,
                    base_first,
                });
            }
            _ => {}
        }
    }

    fn push(
        &mut self,
        name: String,
        position: Position,
        mut report: RunReport,
        failure: Option<String>,
        names: &CommitNames,
    ) {
        let charts = std::mem::take(&mut report.charts).into_iter();
        let charts = charts.map(|(chart, series)| self.shared(chart, series));
        let charts = charts.collect();
        self.add_place(position, names);
        self.runs.push(Run {
            name,
            position,
            report,
            charts,
            failure,
            output: None,
        });
    }

    /// The values of a chart, with the name and the unit that all runs share.
    fn shared(&mut self, chart: String, series: Series) -> ChartValues {
        let known = self.units.get_key_value(&*chart);
        let chart = known.map_or_else(|| chart.into(), |(known, _)| known.clone());
        let unit = self.units.entry(chart.clone()).or_default();
        if unit.as_deref() != series.unit.as_deref() {
            *unit = series.unit.map(Arc::from);
        }
        ChartValues {
            chart,
            unit: unit.clone(),
            values: series.values.into(),
        }
    }

    /// Makes the place at a position, where it is missing.
    fn add_place(&mut self, position: Position, names: &CommitNames) {
        if self.indices.contains_key(&position) {
            return;
        }
        let key = (self.order.key(position), position);
        let before =
            |place: &MeasuredCommit| (self.order.key(place.position), place.position) < key;
        let index = self.places.partition_point(before);
        for other in self.indices.values_mut().filter(|other| **other >= index) {
            *other += 1;
        }
        // Every commit that was run was built, and so has a name.
        let commit = names.commit(position).cloned();
        let commit = commit.unwrap_or_else(|| Commit::new("", "").into());
        self.places
            .insert(index, MeasuredCommit { position, commit });
        self.indices.insert(position, index);
    }

    /// Gives a place the name that its commit was built by.
    fn name(&mut self, position: Position, names: &CommitNames) {
        if let Some(index) = self.indices.get(&position)
            && let Some(commit) = names.commit(position)
        {
            self.places[*index].commit.clone_from(commit);
        }
    }

    /// Those of a test, which has no journal.
    #[cfg(test)]
    pub(super) fn of_runs(places: Vec<MeasuredCommit>, runs: Vec<Run>) -> Self {
        let mut measured = Self::default();
        let mut names = CommitNames::default();
        for MeasuredCommit { position, commit } in &places {
            let report = BuildReport::built(commit.clone());
            names.learn(&Task::Build { commit: *position }, &Report::Built(report));
        }
        for run in runs {
            measured.push(run.name, run.position, run.report, run.failure, &names);
            if let Some(last) = measured.runs.last_mut() {
                last.output = run.output;
            }
        }
        measured
    }

    /// Puts the places in order, after a range was listed.
    fn sort(&mut self) {
        let order = &self.order;
        self.places
            .sort_by_cached_key(|place| (order.key(place.position), place.position));
        let places = self.places.iter().enumerate();
        self.indices = places
            .map(|(index, place)| (place.position, index))
            .collect();
    }

    /// The values of a chart by commit, for a picture. Without a chart there are only failures.
    pub fn columns(&self, chart: Option<&str>, culprits: &[NamedCulprit]) -> Vec<Column> {
        let mut values = vec![Vec::new(); self.places.len()];
        for run in &self.runs {
            let place = self.place_of(run.position);
            if let Some(values) = place.and_then(|place| values.get_mut(place)) {
                values.push(chart.and_then(|chart| run.value(chart)));
            }
        }
        let columns = self.places.iter().zip(values);
        columns
            .map(|(MeasuredCommit { commit, .. }, values)| {
                let is_culprit = culprits.iter().any(|culprit| culprit.commit == *commit);
                Column::new(short(commit), values, is_culprit)
            })
            .collect()
    }

    /// The chart that decides: the one that the job names, or else the one that the runs say
    /// decides, or else the only one.
    pub fn deciding_chart<'a>(&'a self, requested: Option<&'a str>) -> Option<&'a str> {
        let mut runs = self.runs.iter();
        let chosen = runs.find_map(|run| run.report.chart.as_deref());
        deciding_chart(requested, chosen, self.units.keys().map(|chart| &**chart))
    }

    /// The units of all charts, as the runs give them.
    pub fn units(&self) -> BTreeMap<&str, Option<&str>> {
        let units = self.units.iter();
        units
            .map(|(chart, unit)| (&**chart, unit.as_deref()))
            .collect()
    }

    /// The unit of a chart, if it has one.
    pub fn unit(&self, chart: &str) -> Option<&str> {
        self.units.get(chart)?.as_deref()
    }

    /// The place at a position, if its commit was run.
    pub fn place(&self, position: Position) -> Option<&MeasuredCommit> {
        self.places.get(self.place_of(position)?)
    }

    /// The place of a commit that was run, by its index.
    pub fn place_of(&self, position: Position) -> Option<usize> {
        self.indices.get(&position).copied()
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

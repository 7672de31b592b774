//! Metrics that never change, which may not be those that the job was to measure.
//!
//! A count of iterations or the resolution of a clock is the same in every run of every
//! commit. A search in it finds nothing, and is certain of that.

use std::collections::BTreeMap;

use super::{JobMachine, MeasuredMetric, Search};
use crate::metric::listed;
use crate::{Bisection, Engine, Metric, Pairwise, Position};

/// With fewer runs, equal values say little.
const MIN_RUNS: usize = 5;

/// The values of the runs of a chart, with the commit of each run.
type Runs<'a> = Vec<(Position, &'a [f64])>;

/// A sentence about the charts that have the same values in all runs, and one about each
/// that has the same at both ends, run by run.
///
/// A commit that is compared with itself may well have the same values.
pub(super) fn remarks(engine: &Engine<JobMachine>, metric: Option<&Metric>) -> Vec<String> {
    let machine = engine.machine();
    let [lower, higher] = [Position::Lower, Position::Higher].map(|end| engine.names().commit(end));
    let is_one_commit = lower.is_some() && lower == higher;
    let deciding = MeasuredMetric::of(machine, metric).and_then(|metric| metric.chart);
    let deciding = deciding.as_deref().unwrap_or("the metric");
    let mut charts: BTreeMap<&str, Runs<'_>> = BTreeMap::new();
    let mut add_search = |search| charts.entry(deciding).or_default().extend(runs_of(search));
    match machine.search() {
        Search::Bisection(search) => add_search(search),
        Search::CulpritFinder(finder) => {
            if let Some(search) = finder.bisection() {
                add_search(search);
            }
            add_pairs(&mut charts, finder.verification());
        }
        Search::Pairwise(pairs) => add_pairs(&mut charts, pairs),
    }
    let unit = |chart: &str| metric?.charts.get(chart)?.unit.as_deref();
    let told = |chart: &str, values: &[f64]| match values {
        [value] => format!(
            "{value}{}",
            unit(chart).map_or_else(String::new, |unit| format!(" {unit}"))
        ),
        values => format!("the same {} values", values.len()),
    };
    let (mut never, mut ends) = (Vec::new(), Vec::new());
    for (chart, runs) in &charts {
        let [(_, first), ..] = runs[..] else {
            continue;
        };
        let of_end = |end| runs.iter().filter(move |(commit, _)| *commit == end);
        let mut of_ends = of_end(Position::Lower).zip(of_end(Position::Higher));
        if runs.len() >= MIN_RUNS && runs.iter().all(|(_, values)| same(values, first)) {
            never.push((*chart, told(chart, first)));
        } else if !is_one_commit
            && of_ends.clone().count() >= MIN_RUNS
            && of_ends.all(|((_, lower), (_, higher))| same(lower, higher))
        {
            ends.push(*chart);
        }
    }
    let mut remarks = Vec::new();
    match &never[..] {
        [] => {}
        [(chart, value)] => remarks.push(format!(
            "every run gave exactly {value} for `{chart}`: check that this is the measure you mean"
        )),
        several => {
            let names: Vec<String> = several.iter().map(|it| it.0.to_owned()).collect();
            remarks.push(format!(
                "{} of {} metrics had the same value in every run ({}): check that they are \
                 measures you mean",
                names.len(),
                charts.len(),
                listed(&names)
            ));
        }
    }
    remarks.extend(ends.into_iter().map(|chart| {
        format!(
            "the runs of both commits gave exactly the same values for `{chart}`, one by one: \
             check that they depend on the commit"
        )
    }));
    remarks
}

fn same(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

/// The runs of a search that gave values.
fn runs_of(search: &Bisection) -> impl Iterator<Item = (Position, &[f64])> {
    search.measured().flat_map(|(commit, measured)| {
        let runs = measured.each_run().map(|run| &run.values[..]);
        let with_values = runs.filter(|values| !values.is_empty());
        with_values.map(move |values| (commit, values))
    })
}

fn add_pairs<'a>(charts: &mut BTreeMap<&'a str, Runs<'a>>, pairs: &'a Pairwise) {
    for side in [Position::Lower, Position::Higher] {
        for (_, run) in pairs.runs_of(side) {
            for (chart, values) in run.values.iter().filter(|_| run.failure.is_none()) {
                charts
                    .entry(chart)
                    .or_default()
                    .push((side, values.as_slice()));
            }
        }
    }
}

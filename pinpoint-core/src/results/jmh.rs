//! JMH's `-rf json`.
//!
//! ```json
//! [{"benchmark": "org.example.Sums.sum", "mode": "avgt", "params": {"n": "10"},
//!   "primaryMetric": {"scoreUnit": "us/op", "rawData": [[1.5, 1.4], [1.6, 1.5]], …},
//!   "secondaryMetrics": {"gc.alloc.rate": {…}}, …}]
//! ```
//!
//! A benchmark is a chart for each mode and each set of parameters, called
//! `org.example.Sums.sum [avgt, n=10]`, of one value for each iteration of each
//! fork. Entries that differ only in their threads, as those of two runs in one file do, have
//! them in their names, `org.example.Sums.sum [avgt, n=10, threads=4]`. In sample mode that is the mean of the iteration's samples, as JMH's own
//! score is. Secondary metrics are `org.example.Sums.sum [avgt, n=10]
//! gc.alloc.rate`. More is better in mode `thrpt`, less in all others; secondary
//! metrics have no direction. Checked with JMH 1.37.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use pinpoint_document::{Elements, Name};
use serde::Deserialize;

use super::charts::Charts;
use super::document::{self, Members, Number, Numbers};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Benchmark<'a> {
    #[serde(borrow)]
    benchmark: Cow<'a, str>,
    #[serde(borrow)]
    mode: Cow<'a, str>,
    threads: Option<u64>,
    #[serde(borrow)]
    params: Option<Members<'a, Name<'a>>>,
    #[serde(borrow)]
    primary_metric: Metric<'a>,
    #[serde(borrow)]
    secondary_metrics: Option<Members<'a, Metric<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric<'a> {
    score: Number,
    #[serde(borrow)]
    score_unit: Cow<'a, str>,
    raw_data: Option<Vec<Numbers>>,
    /// The samples of each fork and iteration.
    raw_data_histogram: Option<Vec<Vec<Samples>>>,
}

/// The distinct values, and the number of times each was measured.
type Samples = Vec<(f64, f64)>;

/// A metric of an entry.
struct Measured {
    /// The index of the entry.
    entry: usize,
    /// The part of the chart's name after that of the entry.
    suffix: String,
    /// `None` if one of them is not a number.
    values: Option<Vec<f64>>,
    unit: String,
    direction: Direction,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut entries = Vec::new();
    let mut measured = Vec::new();
    let take = |index, benchmark: Benchmark<'_>| {
        entries.push((name(&benchmark), benchmark.threads));
        let direction = match &*benchmark.mode {
            "thrpt" => Direction::Up,
            _ => Direction::Down,
        };
        let secondary = (benchmark.secondary_metrics).map_or(vec![], |Members(all)| all);
        let secondary = (secondary.into_iter())
            .map(|(name, metric)| (format!(" {name}"), metric, Direction::Unknown));
        let primary = (String::new(), benchmark.primary_metric, direction);
        measured.extend(std::iter::once(primary).chain(secondary).map(
            |(suffix, metric, direction)| Measured {
                entry: index,
                suffix,
                unit: metric.score_unit.to_string(),
                values: values(metric),
                direction,
            },
        ));
    };
    document::read(text, "JMH", Elements::new(take))?;
    let mut threads: BTreeMap<&str, BTreeSet<Option<u64>>> = BTreeMap::new();
    for (name, of_entry) in &entries {
        threads.entry(name).or_default().insert(*of_entry);
    }
    let mut charts = Charts::default();
    for metric in measured {
        let (name, of_entry) = &entries[metric.entry];
        let name = match of_entry {
            Some(count) if threads[name.as_str()].len() > 1 => format!("{name}, threads={count}]"),
            _ => format!("{name}]"),
        };
        let chart = name + &metric.suffix;
        match metric.values {
            Some(values) => {
                charts.add_once(&chart, values, Some(&metric.unit), metric.direction, || {
                    OutputPosition::Json(format!("/{}", metric.entry))
                });
            }
            None => charts.fail(&chart, "one of its measurements is not a number"),
        }
    }
    charts.finish("a benchmark in the array")
}

/// The name of an entry's charts, without the bracket at its end.
fn name(benchmark: &Benchmark) -> String {
    let mut name = format!("{} [{}", benchmark.benchmark, benchmark.mode);
    for (parameter, Name(value)) in benchmark.params.iter().flat_map(|Members(all)| all) {
        // Writing to a string can't fail.
        let _ = write!(name, ", {parameter}={value}");
    }
    name
}

fn values(metric: Metric) -> Option<Vec<f64>> {
    match (metric.raw_data, metric.raw_data_histogram, metric.score) {
        (Some(forks), _, _) => forks
            .into_iter()
            .map(|Numbers(iterations)| iterations)
            .collect::<Option<Vec<_>>>()
            .map(|forks| forks.concat()),
        (None, Some(forks), _) => forks
            .iter()
            .flatten()
            .map(|samples| mean(samples))
            .collect(),
        (None, None, Number::Finite(score)) => Some(vec![score]),
        (None, None, Number::Failed) => None,
    }
}

/// The mean of an iteration's samples, if there are any.
fn mean(samples: &[(f64, f64)]) -> Option<f64> {
    let count: f64 = samples.iter().map(|(_, count)| count).sum();
    let sum: f64 = samples.iter().map(|(value, count)| value * count).sum();
    (count > 0.0).then_some(sum / count)
}

//! Google Benchmark's `--benchmark_format=json`.
//!
//! ```json
//! {"context": {…}, "benchmarks": [
//!   {"name": "Sum/100", "run_type": "iteration", "real_time": 31.2, "cpu_time": 31.1, "time_unit": "ns",
//!    "bytes_per_second": 2.6e10, …}]}
//! ```
//!
//! A benchmark gives a chart of its name, the real time of each repetition; one
//! called `Sum/100 cpu_time`; and one for each counter, `Sum/100
//! bytes_per_second`. Counters have no unit. The statistics of repetitions are
//! skipped. A benchmark that was skipped, or failed, has no charts. Checked
//! with Google Benchmark 1.7 and 1.9.

use std::borrow::Cow;
use std::fmt;

use pinpoint_document::{Elements, Member, Name};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::charts::Charts;
use super::document::{self, Number};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

/// Members whose numbers are not measurements.
const BOOKKEEPING: [&str; 9] = [
    "family_index",
    "per_family_instance_index",
    "run_name",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "label",
    "aggregate_unit",
];

/// Counters that the library computes itself from the processed data.
pub(super) const RATES: [&str; 2] = ["bytes_per_second", "items_per_second"];

struct Benchmark<'a> {
    name: Cow<'a, str>,
    is_statistic: bool,
    /// The reason, if it failed or was skipped.
    failure: Option<String>,
    unit: Cow<'a, str>,
    real_time: Option<Number>,
    cpu_time: Option<Number>,
    counters: Vec<(Cow<'a, str>, Number)>,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let take = |index, benchmark: Benchmark| {
        if benchmark.is_statistic {
            return;
        }
        let Benchmark { name, unit, .. } = &benchmark;
        charts.benchmark(name);
        let real = (name.to_string(), benchmark.real_time, Direction::Down);
        let cpu = (
            format!("{name} cpu_time"),
            benchmark.cpu_time,
            Direction::Down,
        );
        for (chart, value, direction) in [real, cpu] {
            add(
                &mut charts,
                index,
                &chart,
                benchmark.failure.as_deref(),
                value,
                Some(unit),
                direction,
            );
        }
        for (counter, value) in &benchmark.counters {
            let direction = if RATES.contains(&counter.as_ref()) {
                Direction::Up
            } else {
                Direction::Unknown
            };
            let chart = format!("{name} {counter}");
            add(
                &mut charts,
                index,
                &chart,
                benchmark.failure.as_deref(),
                Some(*value),
                None,
                direction,
            );
        }
    };
    let seed = Member("benchmarks", Elements::new(take));
    document::read(text, "Google Benchmark", seed)?;
    charts.finish("a single repetition in /benchmarks (the statistics of repetitions are no measurements: leave out --benchmark_report_aggregates_only)")
}

fn add(
    charts: &mut Charts,
    index: usize,
    chart: &str,
    failure: Option<&str>,
    value: Option<Number>,
    unit: Option<&str>,
    direction: Direction,
) {
    match (failure, value) {
        (Some(failure), _) => charts.fail(chart, failure),
        (None, Some(Number::Finite(value))) => {
            charts.add(chart, vec![value], unit, direction, || {
                OutputPosition::Json(format!("/benchmarks/{index}"))
            });
        }
        (None, _) => charts.fail(chart, "its value is not a number"),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Benchmark<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnyBenchmark)
    }
}

struct AnyBenchmark;

impl<'de> Visitor<'de> for AnyBenchmark {
    type Value = Benchmark<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a benchmark")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Benchmark<'de>, A::Error> {
        let (mut name, mut unit, mut run_type) = (None, None, None);
        let (mut real_time, mut cpu_time) = (None, None);
        let mut has_failed = false;
        let mut message = None;
        let mut counters: Vec<(Cow<str>, Number)> = Vec::new();
        while let Some(Name(member)) = members.next_key()? {
            match &*member {
                "name" => once::<A, Name>(&mut members, &mut name, "name")?,
                "time_unit" => once::<A, Name>(&mut members, &mut unit, "time_unit")?,
                "run_type" => once::<A, Name>(&mut members, &mut run_type, "run_type")?,
                "real_time" => once(&mut members, &mut real_time, "real_time")?,
                "cpu_time" => once(&mut members, &mut cpu_time, "cpu_time")?,
                "error_occurred" | "skipped" => has_failed |= members.next_value::<bool>()?,
                "error_message" | "skip_message" => message = Some(members.next_value::<Name>()?.0),
                other if BOOKKEEPING.contains(&other) => {
                    members.next_value::<IgnoredAny>()?;
                }
                _ => {
                    let value = match members.next_value()? {
                        Counter::Value(value) => Number::Finite(value),
                        Counter::Failed(()) => Number::Failed,
                        Counter::Other(_) => continue,
                    };
                    if counters.iter().any(|(other, _)| *other == member) {
                        let twice = format!("the counter {member:?} stands there twice");
                        return Err(A::Error::custom(twice));
                    }
                    counters.push((member, value));
                }
            }
        }
        let is_statistic = run_type.is_some_and(|Name(run_type)| run_type != "iteration");
        if !is_statistic && real_time.is_none() {
            return Err(A::Error::missing_field("real_time"));
        }
        Ok(Benchmark {
            name: name.ok_or_else(|| A::Error::missing_field("name"))?.0,
            is_statistic,
            failure: has_failed.then(|| match message {
                Some(message) => format!("Google Benchmark says `{message}`"),
                None => "Google Benchmark says that it failed".into(),
            }),
            unit: unit.map_or("ns".into(), |Name(unit)| unit),
            real_time,
            cpu_time,
            counters,
        })
    }
}

/// Reads the value of a member that may occur only once.
fn once<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    members: &mut A,
    value: &mut Option<T>,
    name: &'static str,
) -> Result<(), A::Error> {
    if value.replace(members.next_value()?).is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    Ok(())
}

/// The value of a member that is a counter if it is a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Counter {
    Value(f64),
    Failed(()),
    Other(IgnoredAny),
}

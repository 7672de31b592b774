//! The metric of a job for its answer, with the settings of its spec.

use serde::{Deserialize, Serialize};

use super::JobMachine;
use crate::{Aggregate, Direction, Metric, MetricSource, direction_of};

/// The metric that a job compared, with the sources of its values and its direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredMetric {
    /// The chart that decides; absent when all are compared.
    pub chart: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
    /// The format of the values, in the executor's words; absent where unknown.
    pub format: Option<String>,
    /// The place where they are read; absent where unknown.
    pub source: Option<MetricSource>,
    /// The direction of improvement of the chart that decides; absent when all are
    /// compared, each of which has its own.
    pub direction: Option<Direction>,
    /// The reason for that direction.
    pub direction_source: Option<DirectionSource>,
    /// The aggregate of the values of a run; absent when all of them count.
    pub aggregate: Option<Aggregate>,
}

/// The reason for a direction of improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DirectionSource {
    /// The request gave it.
    Told,
    /// The format of the values gives it, or the measure has it by its nature.
    Format,
    /// The unit is one of time or memory.
    Unit,
    /// Unknown: a change either way counts.
    Unknown,
}

impl MeasuredMetric {
    /// The metric of a job, as it was found, or else as its spec gives it. Absent where neither
    /// names a chart.
    pub fn of(machine: &JobMachine, metric: Option<&Metric>) -> Option<Self> {
        let spec = machine.spec();
        let (chart, unit) = match metric {
            Some(metric) => (metric.chart.as_deref(), metric.unit.as_deref()),
            None => (Some(spec.chart()?), None),
        };
        let left_open = machine
            .find()
            .is_some_and(|find| find.directions && metric.is_some());
        let said = metric.map_or(Direction::Unknown, |metric| metric.direction);
        let direction = match left_open {
            true => direction_of(said, unit),
            false => spec.direction(),
        };
        let direction_source = match direction {
            Direction::Unknown => DirectionSource::Unknown,
            _ if !left_open => DirectionSource::Told,
            _ if said == Direction::Unknown => DirectionSource::Unit,
            _ => DirectionSource::Format,
        };
        Some(Self {
            direction: chart.map(|_| direction),
            direction_source: chart.map(|_| direction_source),
            chart: chart.map(str::to_owned),
            unit: unit.map(str::to_owned),
            format: metric
                .map(|metric| metric.format.clone())
                .filter(|format| !format.is_empty()),
            source: metric.and_then(|metric| metric.source.clone()),
            aggregate: spec.aggregate(),
        })
    }
}

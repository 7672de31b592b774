//! The metric of a benchmark, and how its values are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Direction;

/// The metric of a job, by which its values are read: fixed once, by a run of the good
/// end that is not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The format of the benchmark's output, in the executor's words.
    #[serde(default)]
    pub format: String,
    /// The chart that decides; absent when all are compared.
    pub chart: Option<String>,
    /// The unit.
    #[serde(default)]
    pub unit: Option<String>,
    /// The direction of improvement, if the format gives it.
    #[serde(default)]
    pub direction: Direction,
    /// Every chart of that run.
    #[serde(default)]
    pub charts: BTreeMap<String, Measure>,
}

/// The unit and direction of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// The unit, as the benchmark writes it.
    pub unit: Option<String>,
    /// The direction of improvement, if the format gives it.
    pub direction: Direction,
}

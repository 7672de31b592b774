//! What a benchmark measures, and how its values are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Direction;

/// How the values of a job are read: fixed once, by a run of the good end that is
/// not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The format of the benchmark's output, in the executor's words.
    #[serde(default)]
    pub format: String,
    /// The chart that decides; absent when all are compared.
    pub chart: Option<String>,
    /// What it counts.
    #[serde(default)]
    pub unit: Option<String>,
    /// Where better lies, if the format says so.
    #[serde(default)]
    pub direction: Direction,
    /// Every chart of that run.
    #[serde(default)]
    pub charts: BTreeMap<String, Measure>,
}

/// What a chart counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// The unit, as the benchmark writes it.
    pub unit: Option<String>,
    /// Where better lies, if the format says so.
    pub direction: Direction,
}

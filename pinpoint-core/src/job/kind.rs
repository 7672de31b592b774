//! The kinds of jobs, with their questions and outcomes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::state::JobState;
use crate::{
    Aggregate, BisectionSpec, ChartChoice, CulpritFinderOutcome, CulpritFinderSpec, Direction,
    Metric, Outcome, PairwiseOutcome, PairwiseSpec, direction_of,
};

/// The question that a job asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobKind {
    /// Finds the culprit.
    Bisection,
    /// Compares two commits.
    Pairwise,
    /// Verifies, finds the culprit, and confirms it.
    CulpritFinder,
}

impl JobKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bisection, Self::Pairwise, Self::CulpritFinder];

    /// The written form, the same everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bisection => "bisection",
            Self::Pairwise => "pairwise",
            Self::CulpritFinder => "culprit_finder",
        }
    }

    /// The name of the command that asks it, and of the function in Python.
    pub fn command(self) -> &'static str {
        match self {
            Self::Bisection => "bisect",
            Self::Pairwise => "pairwise",
            Self::CulpritFinder => "culprit",
        }
    }
}

impl fmt::Display for JobKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// Text that is not the name of a kind of job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of job that this version of pinpoint knows")]
pub struct UnknownJobKind(pub String);

impl FromStr for JobKind {
    type Err = UnknownJobKind;

    fn from_str(text: &str) -> Result<Self, UnknownJobKind> {
        (Self::ALL.into_iter())
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownJobKind(text.to_owned()))
    }
}

/// The question of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobSpec {
    /// The spec of a [`Bisection`](crate::Bisection).
    Bisection(BisectionSpec),
    /// The spec of a [`Pairwise`](crate::Pairwise).
    Pairwise(PairwiseSpec),
    /// The spec of a [`CulpritFinder`](crate::CulpritFinder).
    CulpritFinder(CulpritFinderSpec),
}

impl JobSpec {
    /// The question.
    pub fn kind(&self) -> JobKind {
        match self {
            Self::Bisection(_) => JobKind::Bisection,
            Self::Pairwise(_) => JobKind::Pairwise,
            Self::CulpritFinder(_) => JobKind::CulpritFinder,
        }
    }

    /// Sets the direction of improvement where it was left open: by the format, or else by the unit
    /// (see [`direction_of`]).
    pub(super) fn set_directions(&mut self, metric: &Metric) {
        let decided = direction_of(metric.direction, metric.unit.as_deref());
        match self {
            Self::Bisection(spec) => spec.direction = decided,
            Self::CulpritFinder(spec) => spec.bisection.direction = decided,
            Self::Pairwise(spec) => {
                let directions = metric.charts.iter().map(|(chart, measure)| {
                    let direction = direction_of(measure.direction, measure.unit.as_deref());
                    (chart.clone(), direction)
                });
                spec.directions.extend(directions);
            }
        }
    }

    /// The chart that decides, once found.
    pub(super) fn set_chart(&mut self, metric: &Metric, only_chart: bool) {
        match self {
            Self::Bisection(spec) => spec.chart.clone_from(&metric.chart),
            Self::CulpritFinder(spec) => spec.bisection.chart.clone_from(&metric.chart),
            Self::Pairwise(spec) if only_chart => spec.chart.clone_from(&metric.chart),
            // All charts are compared, or the one that the spec names.
            Self::Pairwise(_) => {}
        }
    }

    /// Reads a spec that was written without its kind.
    ///
    /// # Errors
    ///
    /// When it is not a spec of this kind.
    pub fn deserialize_as<'de, D: Deserializer<'de>>(
        kind: JobKind,
        spec: D,
    ) -> Result<Self, D::Error> {
        Ok(match kind {
            JobKind::Bisection => Self::Bisection(Deserialize::deserialize(spec)?),
            JobKind::Pairwise => Self::Pairwise(Deserialize::deserialize(spec)?),
            JobKind::CulpritFinder => Self::CulpritFinder(Deserialize::deserialize(spec)?),
        })
    }

    /// Writes the spec without its kind.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize_plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bisection(spec) => spec.serialize(serializer),
            Self::Pairwise(spec) => spec.serialize(serializer),
            Self::CulpritFinder(spec) => spec.serialize(serializer),
        }
    }

    /// The search for a culprit, if the job makes one.
    pub fn bisection(&self) -> Option<&BisectionSpec> {
        match self {
            Self::Bisection(spec) => Some(spec),
            Self::CulpritFinder(spec) => Some(&spec.bisection),
            Self::Pairwise(_) => None,
        }
    }

    /// The pairs of runs of each comparison, if the job makes one.
    pub fn pairs(&self) -> Option<u32> {
        match self {
            Self::Bisection(_) => None,
            Self::CulpritFinder(spec) => Some(spec.pairs),
            Self::Pairwise(spec) => Some(spec.pairs),
        }
    }

    /// The chart that decides, where the job names it.
    pub fn chart(&self) -> Option<&str> {
        let chart = match self {
            Self::Bisection(spec) => &spec.chart,
            Self::CulpritFinder(spec) => &spec.bisection.chart,
            Self::Pairwise(spec) => &spec.chart,
        };
        chart.as_deref()
    }

    /// The charts among which the metric is found.
    pub fn chart_choice(&self) -> ChartChoice<'_> {
        match (self, self.chart()) {
            (_, Some(chart)) => ChartChoice::Named(chart),
            (Self::Bisection(_) | Self::CulpritFinder(_), None) => ChartChoice::Only,
            (Self::Pairwise(_), None) => ChartChoice::Every,
        }
    }

    /// The aggregate of the values of a run; absent when all of them count.
    pub fn aggregate(&self) -> Option<Aggregate> {
        match self {
            Self::Bisection(spec) => spec.aggregate,
            Self::CulpritFinder(spec) => spec.bisection.aggregate,
            Self::Pairwise(spec) => spec.aggregate,
        }
    }

    /// The direction of improvement; of the chart that decides, where one does.
    pub fn direction(&self) -> Direction {
        match self {
            Self::Bisection(spec) => spec.direction,
            Self::CulpritFinder(spec) => spec.bisection.direction,
            Self::Pairwise(spec) => spec.direction,
        }
    }
}

impl From<BisectionSpec> for JobSpec {
    fn from(spec: BisectionSpec) -> Self {
        Self::Bisection(spec)
    }
}

impl From<PairwiseSpec> for JobSpec {
    fn from(spec: PairwiseSpec) -> Self {
        Self::Pairwise(spec)
    }
}

impl From<CulpritFinderSpec> for JobSpec {
    fn from(spec: CulpritFinderSpec) -> Self {
        Self::CulpritFinder(spec)
    }
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "a job has one, and a box would stand in the way of taking it apart"
)]
pub enum JobOutcome {
    /// The outcome of a [`Bisection`](crate::Bisection).
    Bisection(Outcome),
    /// The outcome of a [`Pairwise`](crate::Pairwise).
    Pairwise(PairwiseOutcome),
    /// The outcome of a [`CulpritFinder`](crate::CulpritFinder).
    CulpritFinder(CulpritFinderOutcome),
}

impl JobOutcome {
    /// The search for a culprit, if the job made one.
    pub fn bisection(&self) -> Option<&Outcome> {
        match self {
            Self::Bisection(outcome) => Some(outcome),
            Self::CulpritFinder(outcome) => outcome.bisection.as_ref(),
            Self::Pairwise(_) => None,
        }
    }

    /// The state of a job with this outcome.
    pub fn state(&self) -> JobState {
        match self {
            Self::Bisection(outcome) => outcome.status.into(),
            Self::CulpritFinder(outcome) => outcome.status.into(),
            Self::Pairwise(outcome) => outcome.status.into(),
        }
    }
}

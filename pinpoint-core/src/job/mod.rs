//! A job: one of the three questions, with its spec, its machine and its outcome.
//!
//! | kind | spec | machine | outcome |
//! | --- | --- | --- | --- |
//! | `bisection` | [`BisectionSpec`] | [`Bisection`] | [`Outcome`] |
//! | `pairwise` | [`PairwiseSpec`] | [`Pairwise`] | [`PairwiseOutcome`] |
//! | `culprit_finder` | [`CulpritFinderSpec`] | [`CulpritFinder`] | [`CulpritFinderOutcome`] |
//!
//! An outcome speaks of positions. A [`JobResult`] says the same with the names of
//! commits, and names the commit to blame.

mod lost_pairs;
mod machine;
mod metric;
mod naming;
mod result;
mod state;
mod unvarying;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::machine::{FindMetric, JobMachine};
pub use self::metric::{DirectionSource, MeasuredMetric};
pub use self::naming::{Blamed, ResultError, ResultSource};
pub use self::result::{
    BisectionResult, Confirmation, CulpritFinderResult, JobResult, NamedChart, NamedCulprit,
    PairwiseResult, RESULT_VERSION,
};
pub use self::state::{JobState, UnknownJobState};
use crate::{
    Action, Aggregate, Bisection, BisectionSpec, Charts, CombinedCommit, CulpritFinder,
    CulpritFinderOutcome, CulpritFinderSpec, Direction, Event, Limits, Machine, MachineError,
    Metric, Outcome, Pairwise, PairwiseOutcome, PairwiseSpec, Position, RetryPolicy, SpecError,
    Task, Variant, direction_of,
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
pub enum JobSpec {
    /// The spec of a [`Bisection`].
    Bisection(BisectionSpec),
    /// The spec of a [`Pairwise`].
    Pairwise(PairwiseSpec),
    /// The spec of a [`CulpritFinder`].
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
    fn set_directions(&mut self, metric: &Metric) {
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
    fn set_chart(&mut self, metric: &Metric, only_chart: bool) {
        match self {
            Self::Bisection(spec) => spec.chart.clone_from(&metric.chart),
            Self::CulpritFinder(spec) => spec.bisection.chart.clone_from(&metric.chart),
            Self::Pairwise(spec) if only_chart => spec.chart.clone_from(&metric.chart),
            // All charts are compared, or the one that the spec names.
            Self::Pairwise(_) => {}
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
#[expect(
    clippy::large_enum_variant,
    reason = "a job has one, and a box would stand in the way of taking it apart"
)]
pub enum JobOutcome {
    /// The outcome of a [`Bisection`].
    Bisection(Outcome),
    /// The outcome of a [`Pairwise`].
    Pairwise(PairwiseOutcome),
    /// The outcome of a [`CulpritFinder`].
    CulpritFinder(CulpritFinderOutcome),
}

impl JobOutcome {
    /// The state of a job with this outcome.
    pub fn state(&self) -> JobState {
        match self {
            Self::Bisection(outcome) => outcome.status.into(),
            Self::CulpritFinder(outcome) => outcome.status.into(),
            Self::Pairwise(outcome) => outcome.status.into(),
        }
    }
}

/// The machine of a question.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a job has one")]
pub enum Search {
    /// Finds the culprit.
    Bisection(Bisection),
    /// Compares two commits.
    Pairwise(Pairwise),
    /// Verifies, finds the culprit, and confirms it.
    CulpritFinder(CulpritFinder),
}

/// Calls a method of the machine inside, of any kind.
macro_rules! each {
    ($search:expr, $machine:ident => $call:expr) => {
        match $search {
            Search::Bisection($machine) => $call,
            Search::Pairwise($machine) => $call,
            Search::CulpritFinder($machine) => $call,
        }
    };
}

impl Search {
    /// The machine of a spec.
    pub fn new(spec: JobSpec) -> Result<Self, SpecError> {
        Ok(match spec {
            JobSpec::Bisection(spec) => Self::Bisection(Bisection::new(spec)?),
            JobSpec::Pairwise(spec) => Self::Pairwise(Pairwise::new(spec)?),
            JobSpec::CulpritFinder(spec) => Self::CulpritFinder(CulpritFinder::new(spec)?),
        })
    }

    fn poll(&mut self) -> Vec<Action> {
        each!(self, machine => machine.poll())
    }

    fn handle(&mut self, event: Event) -> Result<(), MachineError> {
        each!(self, machine => machine.handle(event))
    }

    fn outstanding(&self) -> Vec<Action> {
        each!(self, machine => machine.outstanding())
    }

    fn is_over(&self) -> bool {
        each!(self, machine => machine.outcome().is_some())
    }

    /// Returns true if only the work under way is left to end.
    fn is_ending(&self) -> bool {
        let is_end = |action: Action| matches!(action.task, Task::Cancel { .. });
        self.is_over() || self.outstanding().into_iter().all(is_end)
    }

    fn outcome(&self) -> Option<JobOutcome> {
        Some(match self {
            Self::Bisection(machine) => JobOutcome::Bisection(machine.outcome()?.clone()),
            Self::Pairwise(machine) => JobOutcome::Pairwise(machine.outcome()?.clone()),
            Self::CulpritFinder(machine) => JobOutcome::CulpritFinder(machine.outcome()?.clone()),
        })
    }

    fn ends(&self) -> Option<(&CombinedCommit, &CombinedCommit)> {
        each!(self, machine => machine.ends())
    }

    fn charts(&self) -> Charts {
        each!(self, machine => machine.charts())
    }

    fn variant(&self, position: Position) -> Option<&Variant> {
        each!(self, machine => machine.variant(position))
    }

    fn retry(&self) -> &RetryPolicy {
        each!(self, machine => machine.retry())
    }

    fn max_time(&self) -> Option<u64> {
        each!(self, machine => machine.max_time())
    }

    fn aggregate(&self) -> Option<Aggregate> {
        each!(self, machine => machine.aggregate())
    }

    fn limits(&self) -> &Limits {
        each!(self, machine => machine.limits())
    }
}

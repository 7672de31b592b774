//! The kinds of job, each with its machine.

use pinpoint_backends::local::Metric;
use pinpoint_core::{
    Bisection, BisectionSpec, CulpritFinder, CulpritFinderOutcome, CulpritFinderSpec, JobState,
    Machine, OUTCOME_VERSION, Outcome, Pairwise, PairwiseOutcome, PairwiseSpec, PairwiseStatus,
    Status, direction_of,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::failure::Failure;
use super::outcome::{Found, FoundPairs, Naming};
use super::runs::Run;
use crate::search::Saved;

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Bisection,
    Pairwise,
    CulpritFinder,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Bisection, Self::Pairwise, Self::CulpritFinder];

    /// What such a job is called in the store. Not as the command line's are: it may
    /// need functions that only its caller has.
    pub(super) fn stored(self) -> &'static str {
        match self {
            Self::Bisection => "python_bisection",
            Self::Pairwise => "python_pairwise",
            Self::CulpritFinder => "python_culprit_finder",
        }
    }

    /// Absent for a job that was not made in Python.
    pub(super) fn of(stored: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.stored() == stored)
    }

    /// The function of the module that drives it.
    pub(super) fn function(self) -> &'static str {
        match self {
            Self::Bisection => "bisect",
            Self::Pairwise => "pairwise",
            Self::CulpritFinder => "culprit",
        }
    }
}

/// How far a machine has come.
#[derive(Debug, Default, Serialize)]
pub(super) struct Progress {
    pub(super) runs: u64,
    pub(super) builds: u64,
    pub(super) runs_to_come: u64,
    /// Commits among which a culprit is still looked for.
    pub(super) candidates: u64,
    pub(super) no_change: Option<f64>,
}

/// A machine that a job can be driven with.
pub(super) trait Runnable: Saved + Machine<Outcome: Clone> {
    /// The chart that a run must give; any when absent.
    fn chart(spec: &Self::Spec) -> Option<&str>;

    /// Writes into the spec what the good end's first run told; where better lies
    /// only if that was left open.
    fn fix(spec: &mut Self::Spec, metric: &Metric, direction_by_unit: bool);

    fn progress(&self) -> Progress;

    /// The state of a job that ended with this.
    fn state(outcome: &Self::Outcome) -> JobState;

    /// The outcome with commits by their names, as the store keeps it.
    async fn found(
        naming: &Naming<'_>,
        outcome: Self::Outcome,
        runs: &[Run],
    ) -> Result<Value, Failure>;
}

impl Runnable for Bisection {
    fn chart(spec: &BisectionSpec) -> Option<&str> {
        spec.chart.as_deref()
    }

    fn fix(spec: &mut BisectionSpec, metric: &Metric, direction_by_unit: bool) {
        if direction_by_unit {
            spec.direction = direction_of(metric.direction, metric.unit.as_deref());
        }
        spec.chart.clone_from(&metric.chart);
    }

    fn progress(&self) -> Progress {
        let progress = Self::progress(self);
        Progress {
            runs: progress.runs,
            builds: progress.builds,
            runs_to_come: progress.runs_to_come,
            candidates: progress.open.iter().map(|range| range.between + 1).sum(),
            no_change: self.posterior().map(|posterior| posterior.no_change),
        }
    }

    fn state(outcome: &Outcome) -> JobState {
        state_of(outcome.status)
    }

    async fn found(naming: &Naming<'_>, outcome: Outcome, runs: &[Run]) -> Result<Value, Failure> {
        let found = Found::new(naming, outcome, runs).await?;
        Ok(serde_json::to_value(found)?)
    }
}

impl Runnable for Pairwise {
    fn chart(spec: &PairwiseSpec) -> Option<&str> {
        spec.chart.as_deref()
    }

    fn fix(spec: &mut PairwiseSpec, metric: &Metric, direction_by_unit: bool) {
        if direction_by_unit {
            let directions = metric.charts.iter().map(|(chart, measure)| {
                let direction = direction_of(measure.direction, measure.unit.as_deref());
                (chart.clone(), direction)
            });
            spec.directions.extend(directions);
        }
    }

    fn progress(&self) -> Progress {
        let pairs = self.pairs_done();
        Progress {
            runs: 2 * u64::from(pairs),
            builds: self.builds(),
            runs_to_come: 2 * u64::from(self.spec().pairs.saturating_sub(pairs)),
            ..Progress::default()
        }
    }

    fn state(outcome: &PairwiseOutcome) -> JobState {
        match outcome.status {
            PairwiseStatus::Failed => JobState::Failed,
            PairwiseStatus::Canceled => JobState::Canceled,
            PairwiseStatus::Different | PairwiseStatus::Same | PairwiseStatus::Unknown => {
                JobState::Completed
            }
        }
    }

    async fn found(
        naming: &Naming<'_>,
        outcome: PairwiseOutcome,
        _: &[Run],
    ) -> Result<Value, Failure> {
        let found = FoundPairs::new(naming, outcome).await?;
        Ok(serde_json::to_value(found)?)
    }
}

impl Runnable for CulpritFinder {
    fn chart(spec: &CulpritFinderSpec) -> Option<&str> {
        Bisection::chart(&spec.bisection)
    }

    fn fix(spec: &mut CulpritFinderSpec, metric: &Metric, direction_by_unit: bool) {
        Bisection::fix(&mut spec.bisection, metric, direction_by_unit);
    }

    fn progress(&self) -> Progress {
        let comparisons = std::iter::once(self.verification()).chain(
            self.confirmations()
                .filter_map(|(_, comparison)| comparison),
        );
        let to_come = comparisons
            .filter(|comparison| comparison.outcome().is_none())
            .map(|comparison| Runnable::progress(comparison).runs_to_come)
            .sum::<u64>();
        let search = self.bisection().map(Runnable::progress).unwrap_or_default();
        Progress {
            runs: self.runs(),
            builds: self.builds(),
            runs_to_come: to_come + search.runs_to_come,
            ..search
        }
    }

    fn state(outcome: &CulpritFinderOutcome) -> JobState {
        state_of(outcome.status)
    }

    async fn found(
        naming: &Naming<'_>,
        outcome: CulpritFinderOutcome,
        runs: &[Run],
    ) -> Result<Value, Failure> {
        let confirmed = outcome.culprits.len();
        let checked = outcome.culprits.into_iter().chain(outcome.unconfirmed);
        let (culprits, comparisons): (Vec<_>, Vec<_>) = checked
            .map(|checked| (checked.culprit, checked.comparison))
            .unzip();
        let (candidates, posterior, skipped, unmeasured) = outcome
            .bisection
            .map(|search| {
                (
                    search.candidates,
                    search.posterior,
                    search.skipped,
                    search.unmeasured,
                )
            })
            .unwrap_or_default();
        let search = Outcome {
            version: OUTCOME_VERSION,
            status: outcome.status,
            stopped: outcome.stopped,
            culprits,
            candidates,
            posterior,
            comparisons: Vec::new(),
            skipped,
            unmeasured,
            runs: outcome.runs,
            builds: outcome.builds,
        };
        let found = Found::new(naming, search, runs).await?;
        let found = found.verified(outcome.verification, comparisons, confirmed);
        Ok(serde_json::to_value(found)?)
    }
}

fn state_of(status: Status) -> JobState {
    match status {
        Status::Failed => JobState::Failed,
        Status::Canceled => JobState::Canceled,
        Status::CulpritFound | Status::NoRegression | Status::Inconclusive => JobState::Completed,
    }
}

//! The machine of a job, of any kind.

use super::kind::{JobOutcome, JobSpec};
use crate::{
    Action, Aggregate, Bisection, Charts, CombinedCommit, CulpritFinder, Event, Limits, Machine,
    MachineError, Pairwise, Position, RetryPolicy, SpecError, Task, Variant,
};

/// The machine of a question.
#[derive(Debug, Clone)]
#[non_exhaustive]
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

    /// The search for a culprit, if this is one and it has begun.
    pub fn bisection(&self) -> Option<&Bisection> {
        match self {
            Self::Bisection(machine) => Some(machine),
            Self::CulpritFinder(machine) => machine.bisection(),
            Self::Pairwise(_) => None,
        }
    }

    /// The comparison of the two ends in pairs of runs, if this makes one.
    pub fn comparison(&self) -> Option<&Pairwise> {
        match self {
            Self::Bisection(_) => None,
            Self::CulpritFinder(machine) => Some(machine.verification()),
            Self::Pairwise(machine) => Some(machine),
        }
    }

    pub(super) fn poll(&mut self) -> Vec<Action> {
        each!(self, machine => machine.poll())
    }

    pub(super) fn handle(&mut self, event: Event) -> Result<(), MachineError> {
        each!(self, machine => machine.handle(event))
    }

    pub(super) fn outstanding(&self) -> Vec<Action> {
        each!(self, machine => machine.outstanding())
    }

    pub(super) fn is_over(&self) -> bool {
        each!(self, machine => machine.outcome().is_some())
    }

    /// Returns true if only the work under way is left to end.
    pub(super) fn is_ending(&self) -> bool {
        let is_end = |action: Action| matches!(action.task, Task::Cancel { .. });
        self.is_over() || self.outstanding().into_iter().all(is_end)
    }

    pub(super) fn outcome(&self) -> Option<JobOutcome> {
        Some(match self {
            Self::Bisection(machine) => JobOutcome::Bisection(machine.outcome()?.clone()),
            Self::Pairwise(machine) => JobOutcome::Pairwise(machine.outcome()?.clone()),
            Self::CulpritFinder(machine) => JobOutcome::CulpritFinder(machine.outcome()?.clone()),
        })
    }

    pub(super) fn ends(&self) -> Option<(&CombinedCommit, &CombinedCommit)> {
        each!(self, machine => machine.ends())
    }

    pub(super) fn charts(&self) -> Charts {
        each!(self, machine => machine.charts())
    }

    pub(super) fn variant(&self, position: Position) -> Option<&Variant> {
        each!(self, machine => machine.variant(position))
    }

    pub(super) fn retry(&self) -> &RetryPolicy {
        each!(self, machine => machine.retry())
    }

    pub(super) fn max_time(&self) -> Option<u64> {
        each!(self, machine => machine.max_time())
    }

    pub(super) fn aggregate(&self) -> Option<Aggregate> {
        each!(self, machine => machine.aggregate())
    }

    pub(super) fn limits(&self) -> &Limits {
        each!(self, machine => machine.limits())
    }
}

//! Budgets of runs and builds.
//!
//! A machine with a budget opens its actions here. Each run and each build is
//! counted before it is handed out, and again when it is repeated after a loss. A
//! strategy can't get around it.

use std::ops::Deref;

use crate::machine::OpenActions;
use crate::outcome::Stopped;
use crate::{Action, Position, Task};

/// The reason why a search ends before everything is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// The budget of runs.
    Runs,
    /// The budget of builds.
    Builds,
    /// More runs would add hardly any information.
    Knowledge,
}

impl From<Exhausted> for Stopped {
    fn from(exhausted: Exhausted) -> Self {
        match exhausted {
            Exhausted::Runs => Self::RunBudget,
            Exhausted::Builds => Self::BuildBudget,
            Exhausted::Knowledge => Self::NothingToLearn,
        }
    }
}

/// [`OpenActions`] within a budget.
#[derive(Debug, Clone)]
pub(crate) struct BudgetedActions {
    actions: OpenActions,
    runs_left: Option<u64>,
    builds_left: Option<u64>,
}

impl BudgetedActions {
    pub(crate) fn new(max_runs: Option<u64>, max_builds: Option<u64>) -> Self {
        Self {
            actions: OpenActions::default(),
            runs_left: max_runs,
            builds_left: max_builds,
        }
    }

    /// Runs left in the budget.
    pub(crate) fn runs_left(&self) -> Option<u64> {
        self.runs_left
    }

    /// Builds left in the budget.
    pub(crate) fn builds_left(&self) -> Option<u64> {
        self.builds_left
    }

    /// Numbers a task and hands it out, if the budget allows it.
    pub(crate) fn open(&mut self, task: Task) -> Result<u64, Exhausted> {
        let (left, amount, exhausted) = match task {
            Task::Build { .. } => (&mut self.builds_left, 1, Exhausted::Builds),
            Task::Run { .. } => (&mut self.runs_left, 1, Exhausted::Runs),
            Task::RunPair { .. } => (&mut self.runs_left, 2, Exhausted::Runs),
            Task::FindMetric { .. } | Task::List { .. } | Task::Cancel { .. } => {
                return Ok(self.actions.open(task));
            }
        };
        if let Some(left) = left {
            *left = left.checked_sub(amount).ok_or(exhausted)?;
        }
        Ok(self.actions.open(task))
    }

    /// Takes back a build that was counted and then not made.
    pub(crate) fn give_back_build(&mut self) {
        if let Some(left) = &mut self.builds_left {
            *left += 1;
        }
    }

    /// Lists the commits between two others, which no budget limits.
    pub(crate) fn list(&mut self, range: u32, lower: Position, higher: Position) {
        self.actions.open(Task::List {
            range,
            lower,
            higher,
        });
    }

    pub(crate) fn close(&mut self, number: u64) -> Option<Task> {
        self.actions.close(number)
    }

    pub(crate) fn poll(&mut self) -> Vec<Action> {
        self.actions.poll()
    }

    pub(crate) fn cancel(&mut self, fits: impl Fn(&Task) -> bool) {
        self.actions.cancel(fits);
    }
}

/// Read access only: the budget limits the opening of actions.
impl Deref for BudgetedActions {
    type Target = OpenActions;

    fn deref(&self) -> &OpenActions {
        &self.actions
    }
}

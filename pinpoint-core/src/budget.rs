//! Where budgets are kept.
//!
//! A machine with a budget asks for everything through this ledger. It counts
//! each run and each build before it hands it out, those asked for again after a
//! loss included, and hands out none that the budget does not allow. Nothing
//! that a strategy does can get around it.

use std::ops::Deref;

use crate::lab::Exhausted;
use crate::machine::Ledger;
use crate::{Action, Position, Task};

/// A [`Ledger`] that hands out no more than a budget allows.
#[derive(Debug, Clone)]
pub(crate) struct BudgetedLedger {
    ledger: Ledger,
    runs_left: Option<u64>,
    builds_left: Option<u64>,
}

impl BudgetedLedger {
    pub(crate) fn new(max_runs: Option<u64>, max_builds: Option<u64>) -> Self {
        Self {
            ledger: Ledger::default(),
            runs_left: max_runs,
            builds_left: max_builds,
        }
    }

    /// Runs that may still be asked for.
    pub(crate) fn runs_left(&self) -> Option<u64> {
        self.runs_left
    }

    /// Builds that may still be asked for.
    pub(crate) fn builds_left(&self) -> Option<u64> {
        self.builds_left
    }

    /// Numbers a task and hands it out, if the budget allows it.
    pub(crate) fn ask(&mut self, task: Task) -> Result<u64, Exhausted> {
        let (left, amount, exhausted) = match task {
            Task::Build { .. } => (&mut self.builds_left, 1, Exhausted::Builds),
            Task::Run { .. } => (&mut self.runs_left, 1, Exhausted::Runs),
            Task::RunPair { .. } => (&mut self.runs_left, 2, Exhausted::Runs),
            Task::FindMetric { .. } | Task::List { .. } | Task::Cancel { .. } => {
                return Ok(self.ledger.ask(task));
            }
        };
        if let Some(left) = left {
            *left = left.checked_sub(amount).ok_or(exhausted)?;
        }
        Ok(self.ledger.ask(task))
    }

    /// Asks what lies between two commits, which no budget limits.
    pub(crate) fn list(&mut self, range: u32, lower: Position, higher: Position) {
        self.ledger.ask(Task::List {
            range,
            lower,
            higher,
        });
    }

    pub(crate) fn close(&mut self, number: u64) -> Option<Task> {
        self.ledger.close(number)
    }

    pub(crate) fn poll(&mut self) -> Vec<Action> {
        self.ledger.poll()
    }

    pub(crate) fn cancel(&mut self, fits: impl Fn(&Task) -> bool) {
        self.ledger.cancel(fits);
    }
}

/// To look at it. What asks is above.
impl Deref for BudgetedLedger {
    type Target = Ledger;

    fn deref(&self) -> &Ledger {
        &self.ledger
    }
}

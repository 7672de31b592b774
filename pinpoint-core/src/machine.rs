//! Machines decide; drivers act.
//!
//! A machine handles events and decides on actions. It does no
//! I/O, reads no clock and knows no randomness but its seed: the same spec and
//! the same events in the same order give the same actions and the same
//! outcome. So a search can be tested in microseconds, killed and replayed,
//! or run as a Temporal workflow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregate;
use crate::spec::SpecError;
use crate::{
    Action, CombinedCommit, CommitNames, Event, Limits, Position, RetryPolicy, Task, Variant,
};

/// A search that does no I/O.
pub trait Machine {
    /// The type of its findings.
    type Outcome;

    /// The actions decided since the last call, in the order to start them.
    fn poll(&mut self) -> Vec<Action>;

    /// Handles an event.
    ///
    /// An answer to an unknown, answered or canceled action is ignored. An
    /// error leaves the machine as it was.
    fn handle(&mut self, event: Event) -> Result<(), MachineError>;

    /// Every action that was decided and is not answered or canceled yet, in order. After
    /// a replay, this is the work to resume.
    fn outstanding(&self) -> Vec<Action>;

    /// The result, once there is one.
    fn outcome(&self) -> Option<&Self::Outcome>;

    /// Adds the names of commits to the culprits of an outcome. A machine that finds no culprits
    /// leaves it as it is.
    fn name_culprits(_outcome: &mut Self::Outcome, _names: &CommitNames) {}

    /// The commits at the two ends, when the machine knows them.
    fn ends(&self) -> Option<(&CombinedCommit, &CombinedCommit)>;

    /// The charts of a run that it needs.
    fn charts(&self) -> Charts;

    /// The commit and arguments at a position where the benchmark gets more than
    /// elsewhere; absent in most machines.
    fn variant(&self, _: Position) -> Option<&Variant> {
        None
    }

    /// The policy for infrastructure failures.
    fn retry(&self) -> &RetryPolicy;

    /// The budget of time, in milliseconds.
    fn max_time(&self) -> Option<u64>;

    /// The aggregate of the values that one run gives for one chart; all of them count
    /// when absent.
    fn aggregate(&self) -> Option<Aggregate>;

    /// Limits on the time of a try and on concurrent work.
    fn limits(&self) -> &Limits;
}

/// The charts of a run that a machine needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Charts {
    /// The deciding one: by its name, or the one that the executor chose. A
    /// run without it failed.
    Deciding(Option<String>),
    /// All charts. A run without any failed.
    All,
}

/// An impossible event.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The answer is of another kind than the question.
    #[error("action {action} asked for {asked}, but the answer is {answered}")]
    WrongAnswer {
        /// The action.
        action: u64,
        /// The expected kind of answer.
        asked: &'static str,
        /// The kind of the answer.
        answered: &'static str,
    },
    /// A value that is not finite.
    #[error("action {action}: the run gave {value} for chart {chart:?}; a value must be finite")]
    NotFinite {
        /// The action.
        action: u64,
        /// The chart.
        chart: String,
        /// The value.
        value: f64,
    },
    /// A run without the chart that decides, reported as a run with values.
    #[error(
        "action {action}: the run gave no value for the chart that decides; it is a failed run"
    )]
    NoValue {
        /// The action.
        action: u64,
    },
    /// The job cannot be searched by the metric that was found.
    #[error("the job can't be searched by the metric that was found: {0}")]
    Metric(#[source] SpecError),
    /// A run with several charts, and the spec does not say which one decides.
    #[error(
        "action {action}: the run gave several charts, and the spec does not say which one decides"
    )]
    ManyCharts {
        /// The action.
        action: u64,
    },
}

impl MachineError {
    pub(crate) fn wrong_answer(action: u64, asked: &Task, answered: &Event) -> Self {
        Self::WrongAnswer {
            action,
            asked: match asked {
                Task::FindMetric { .. } => "the metric",
                Task::List { .. } => "a listing",
                Task::Build { .. } => "a build",
                Task::Run { .. } => "a run",
                Task::RunPair { .. } => "a pair of runs",
                Task::Cancel { .. } => "an end",
            },
            answered: match answered {
                Event::MetricFound { .. } => "a metric",
                Event::Listed { .. } => "a listing of another range, or unasked",
                Event::Built { .. } | Event::BuildFailed { .. } => "a build's",
                Event::Ran { .. } | Event::RunFailed { .. } => "a run's",
                Event::RanPair { .. } => "a pair's",
                Event::GaveUp { .. } => "that it was lost",
                Event::Canceled { .. } => "that it was canceled",
                Event::CancelRequested | Event::TimePassed { .. } => "no answer",
            },
        }
    }

    /// The same error for the action of another number.
    pub(crate) fn about(mut self, number: u64) -> Self {
        match &mut self {
            Self::WrongAnswer { action, .. }
            | Self::NotFinite { action, .. }
            | Self::NoValue { action }
            | Self::ManyCharts { action } => *action = number,
            Self::Metric(_) => {}
        }
        self
    }
}

/// Numbers actions, and remembers which are open.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenActions {
    next: u64,
    handed_out: u64,
    open: BTreeMap<u64, Task>,
}

impl OpenActions {
    pub(crate) fn open(&mut self, task: Task) -> u64 {
        let number = self.next;
        self.next += 1;
        self.open.insert(number, task);
        number
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Task> {
        self.open.get(&number)
    }

    pub(crate) fn close(&mut self, number: u64) -> Option<Task> {
        self.open.remove(&number)
    }

    pub(crate) fn poll(&mut self) -> Vec<Action> {
        let new = actions(self.open.range(self.handed_out..));
        self.handed_out = self.next;
        new
    }

    pub(crate) fn outstanding(&self) -> Vec<Action> {
        actions(self.open.range(..))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Ends every open action that fits, and asks for a `Cancel` of each: also
    /// of those that no driver has taken yet, since decisions must not depend on when a
    /// driver polls.
    pub(crate) fn cancel(&mut self, fits: impl Fn(&Task) -> bool) {
        let ending: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, task)| !matches!(task, Task::Cancel { .. }) && fits(task))
            .map(|(number, _)| *number)
            .collect();
        for action in ending {
            self.open.remove(&action);
            self.open(Task::Cancel { action });
        }
    }
}

fn actions<'a>(open: impl Iterator<Item = (&'a u64, &'a Task)>) -> Vec<Action> {
    open.map(|(number, task)| Action {
        number: *number,
        task: task.clone(),
    })
    .collect()
}

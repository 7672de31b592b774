//! The machine of a job: its search, after the search's metric was found.
//!
//! The deciding chart and the direction of improvement are often known only after a run of the
//! benchmark. So a job may begin with [`Task::FindMetric`] at its lower end, while its higher end
//! is built; the search begins with the findings. Both are actions like others: journaled, resumed,
//! and inside the job's budget of time.

use serde::{Deserialize, Serialize};

use super::{JobOutcome, JobSpec, Search};
use crate::aggregate::Aggregate;
use crate::machine::{Charts, Machine, MachineError, OpenActions};
use crate::search_state::LOST_IN_A_ROW;
use crate::{
    Action, Bisection, CombinedCommit, CommitNames, CulpritFinder, Event, Limits, Metric, Pairwise,
    Position, RetryPolicy, SpecError, Task, Variant,
};

/// The parts of the metric to find before the search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindMetric {
    /// The direction was left open: the format or the unit decides.
    #[serde(default)]
    pub directions: bool,
    /// A comparison in pairs is of the chart that is found to decide, and of no other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_chart: bool,
}

/// Answers the question of a job.
#[derive(Debug, Clone)]
pub struct JobMachine {
    spec: JobSpec,
    search: Search,
    preparation: Option<Preparation>,
    outcome: Option<JobOutcome>,
}

/// The work before the search begins. The search gets its first action when all of
/// this is answered.
#[derive(Debug, Clone)]
struct Preparation {
    find: FindMetric,
    actions: OpenActions,
    /// Answers lost in a row.
    lost: u32,
    metric: Option<Metric>,
    /// The reason why there is no metric.
    failure: Option<String>,
    /// The result of the other end's build, until the search asks for it.
    built: Option<Event>,
}

/// The first number of the search: the preparation asks for the metric a few
/// times at most, for one build, and for an end of each.
const FIRST_OF_SEARCH: u64 = 16;

/// The end that is built while the metric is found at the other.
const OTHER_END: Position = Position::Higher;

impl JobMachine {
    /// The machine of a job whose spec is complete.
    pub fn new(spec: impl Into<JobSpec>) -> Result<Self, SpecError> {
        let spec = spec.into();
        Ok(Self {
            search: Search::new(spec.clone())?,
            spec,
            preparation: None,
            outcome: None,
        })
    }

    /// The machine of a job whose metric has to be found first.
    pub fn finding(spec: impl Into<JobSpec>, find: FindMetric) -> Result<Self, SpecError> {
        let mut actions = OpenActions::default();
        actions.open(Task::FindMetric {
            commit: Position::Lower,
        });
        actions.open(Task::Build { commit: OTHER_END });
        Ok(Self {
            preparation: Some(Preparation {
                find,
                actions,
                lost: 0,
                metric: None,
                failure: None,
                built: None,
            }),
            ..Self::new(spec)?
        })
    }

    /// The spec, with the metric once it is found.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// The parts of the metric that are found before the search; absent where the spec is complete.
    pub fn find(&self) -> Option<FindMetric> {
        Some(self.preparation.as_ref()?.find)
    }

    /// The search itself.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// Returns true if the search has started.
    pub fn is_searching(&self) -> bool {
        (self.preparation.as_ref()).is_none_or(|preparation| preparation.actions.is_idle())
    }

    /// The offset of the search's numbers.
    fn offset(&self) -> u64 {
        match self.preparation {
            Some(_) => FIRST_OF_SEARCH,
            None => 0,
        }
    }

    /// Begins the search with the metric found.
    fn begin(&mut self) -> Result<(), MachineError> {
        let Some(preparation) = &mut self.preparation else {
            return Ok(());
        };
        if let Some(metric) = &preparation.metric {
            self.spec.set_chart(metric, preparation.find.only_chart);
            if preparation.find.directions {
                self.spec.set_directions(metric);
            }
            // Apart from the chart and the directions it is the spec that was accepted.
            self.search = Search::new(self.spec.clone()).map_err(MachineError::Metric)?;
        }
        // Known facts are not asked for again.
        let (built, failure) = (preparation.built.take(), preparation.failure.take());
        for Action { number, task } in self.search.outstanding() {
            let known = match task {
                Task::Build {
                    commit: Position::Lower,
                } => failure.clone().map(|reason| Event::BuildFailed {
                    action: number,
                    reason,
                }),
                Task::Build { commit: OTHER_END } => {
                    built.clone().map(|built| built.answering(number))
                }
                _ => None,
            };
            if let Some(event) = known {
                self.search.handle(event)?;
            }
        }
        Ok(())
    }

    /// Takes a search that is over before it began to its outcome: none of its work is
    /// under way.
    fn end_search(&mut self) -> Result<(), MachineError> {
        while !self.search.is_over() {
            let cancels: Vec<Event> = (self.search.outstanding().into_iter())
                .filter(|action| matches!(action.task, Task::Cancel { .. }))
                .map(|action| Event::Canceled {
                    action: action.number,
                })
                .collect();
            if cancels.is_empty() {
                break;
            }
            for event in cancels {
                self.search.handle(event)?;
            }
        }
        Ok(())
    }
}

impl Preparation {
    /// Takes an answer to one of its own actions.
    fn answer(&mut self, number: u64, event: Event) -> Result<(), MachineError> {
        let Some(task) = self.actions.get(number).cloned() else {
            return Ok(());
        };
        match (&task, event) {
            (Task::FindMetric { .. }, Event::MetricFound { metric, .. }) => {
                self.metric = Some(metric);
            }
            (Task::FindMetric { .. }, Event::GaveUp { reason, .. }) => {
                self.lost += 1;
                if self.lost < LOST_IN_A_ROW {
                    self.actions.open(task);
                } else {
                    self.failure = Some(reason);
                }
            }
            (Task::Build { .. }, event @ (Event::Built { .. } | Event::BuildFailed { .. })) => {
                self.built = Some(event);
            }
            // The search asks for it again.
            (Task::Build { .. }, Event::GaveUp { .. })
            | (Task::Cancel { .. }, Event::Canceled { .. } | Event::GaveUp { .. }) => {}
            (_, event) => return Err(MachineError::wrong_answer(number, &task, &event)),
        }
        self.actions.close(number);
        Ok(())
    }
}

impl Machine for JobMachine {
    type Outcome = JobOutcome;

    fn poll(&mut self) -> Vec<Action> {
        let Some(preparation) = &mut self.preparation else {
            return self.search.poll();
        };
        let mut actions = preparation.actions.poll();
        if self.is_searching() {
            let offset = self.offset();
            actions.extend(raised(self.search.poll(), offset));
        }
        actions
    }

    fn handle(&mut self, event: Event) -> Result<(), MachineError> {
        if self.outcome.is_some() {
            return Ok(());
        }
        let offset = self.offset();
        match (&mut self.preparation, event.action()) {
            (Some(preparation), Some(number)) if number < offset => {
                let was_searching = preparation.actions.is_idle();
                preparation.answer(number, event)?;
                if !was_searching && preparation.actions.is_idle() {
                    self.begin()?;
                }
            }
            (_, Some(number)) => {
                let inner = number - offset;
                (self.search.handle(event.answering(inner)))
                    .map_err(|error| error.about(number))?;
            }
            (preparation, None) => {
                self.search.handle(event)?;
                // It has asked for nothing yet, and ends at once or continues.
                if let Some(preparation) = preparation
                    && !preparation.actions.is_idle()
                    && self.search.is_ending()
                {
                    preparation.actions.cancel(|_| true);
                    preparation.metric = None;
                    self.end_search()?;
                }
            }
        }
        if self.is_searching() {
            self.outcome = self.search.outcome();
        }
        Ok(())
    }

    fn outstanding(&self) -> Vec<Action> {
        let Some(preparation) = &self.preparation else {
            return self.search.outstanding();
        };
        let mut actions = preparation.actions.outstanding();
        if self.is_searching() {
            actions.extend(raised(self.search.outstanding(), self.offset()));
        }
        actions
    }

    fn outcome(&self) -> Option<&JobOutcome> {
        self.outcome.as_ref()
    }

    fn ends(&self) -> Option<(&CombinedCommit, &CombinedCommit)> {
        self.search.ends()
    }

    fn name_culprits(outcome: &mut JobOutcome, names: &CommitNames) {
        match outcome {
            JobOutcome::Bisection(outcome) => Bisection::name_culprits(outcome, names),
            JobOutcome::Pairwise(outcome) => Pairwise::name_culprits(outcome, names),
            JobOutcome::CulpritFinder(outcome) => CulpritFinder::name_culprits(outcome, names),
        }
    }

    fn charts(&self) -> Charts {
        self.search.charts()
    }

    fn variant(&self, position: Position) -> Option<&Variant> {
        self.search.variant(position)
    }

    fn retry(&self) -> &RetryPolicy {
        self.search.retry()
    }

    fn max_time(&self) -> Option<u64> {
        self.search.max_time()
    }

    fn aggregate(&self) -> Option<Aggregate> {
        self.search.aggregate()
    }

    fn limits(&self) -> &Limits {
        self.search.limits()
    }
}

fn raised(actions: Vec<Action>, offset: u64) -> impl Iterator<Item = Action> {
    actions.into_iter().map(move |mut action| {
        action.number += offset;
        if let Task::Cancel { action: ended } = &mut action.task {
            *ended += offset;
        }
        action
    })
}

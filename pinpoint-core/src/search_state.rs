//! The state of a search, commit by commit: builds, runs, open actions.
//!
//! Strategies decide which commits to measure. The bookkeeping that every strategy needs is here:
//! the builds of commits, their runs, the open actions, and the repetition of lost answers.
//! `budget.rs` keeps the budgets.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::{BudgetedActions, Exhausted};
use crate::machine::MachineError;
use crate::random::SplitMix64;
use crate::rotation::Rotation;
use crate::{Action, BisectionSpec, CommonFailure, Event, Position, SpecError, Task};

/// A commit is skipped when its answers were lost this many times in a row.
pub(crate) const LOST_IN_A_ROW: u32 = 3;

/// With this many failed runs in a row, this many of them of commits that gave values
/// before, the benchmark has stopped working.
const FAILED_IN_A_ROW: u32 = 40;
const PASSED_BEFORE: u32 = 10;

/// The failed runs since the last one that gave a value.
#[derive(Debug, Clone, Default)]
struct Failing {
    runs: u32,
    /// The failed runs of commits that gave a value before.
    passed_before: u32,
    last: String,
}

/// The state of a commit's build.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BuildState {
    Pending,
    Built,
    /// The commit does not build, or the infrastructure gave up, for this reason, in one line.
    Skipped(String),
}

/// One execution of the benchmark.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// The values of the chart that decides; empty when the run failed.
    pub(crate) values: Vec<f64>,
    /// The bot that it ran on, when known.
    pub(crate) bot: Option<String>,
    /// The start, in milliseconds since the job began.
    pub(crate) started: u64,
    /// The number of runs answered before it.
    pub(crate) sequence: u64,
}

/// The builds and runs of one commit.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) build: BuildState,
    /// The runs by their index, so that the order of the values does not depend on the order of the
    /// answers.
    runs: BTreeMap<u32, Run>,
    next_index: u32,
    pub(crate) pending: u32,
    lost_in_a_row: u32,
    /// The reasons of the failed runs, by the index of the run.
    reasons: BTreeMap<u32, Arc<str>>,
    /// The digest of its build, when known.
    digest: Option<String>,
}

impl Measured {
    /// Runs that were answered, failed ones included.
    pub(crate) fn runs(&self) -> u32 {
        self.runs.len() as u32
    }

    /// Each run that was answered, by its index.
    pub(crate) fn each_run(&self) -> impl Iterator<Item = &Run> {
        self.runs.values()
    }

    pub(crate) fn values(&self) -> Vec<f64> {
        (self.runs.values())
            .flat_map(|run| run.values.iter().copied())
            .collect()
    }

    /// 1 for each failed run, 0 for each other.
    pub(crate) fn errors(&self) -> Vec<f64> {
        self.runs
            .values()
            .map(|run| if run.values.is_empty() { 1.0 } else { 0.0 })
            .collect()
    }

    pub(crate) fn failures(&self) -> u32 {
        self.runs
            .values()
            .filter(|run| run.values.is_empty())
            .count() as u32
    }

    /// Returns true if the commit was run, but no run gave a value.
    pub(crate) fn only_failed(&self) -> bool {
        self.runs() > 0 && self.failures() == self.runs()
    }

    /// The reason in the first of its failed runs.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.reasons.values().next().map(|reason| &**reason)
    }

    /// The commonest reason of its failed runs.
    pub(crate) fn common_failure(&self) -> Option<CommonFailure> {
        CommonFailure::from_reasons(self.reasons.values().map(|reason| &**reason))
    }

    /// The reason why a commit can't be used none of whose runs gave a value.
    pub(crate) fn only_failed_because(&self) -> String {
        let first =
            (self.failure()).map_or_else(String::new, |reason| format!("; the first: {reason}"));
        match self.runs() {
            1 => format!(
                "its only run gave no value{}",
                first.replacen("the first", "the reason", 1)
            ),
            runs => format!("none of its {runs} runs gave a value{first}"),
        }
    }

    pub(crate) fn is_skipped(&self) -> bool {
        matches!(self.build, BuildState::Skipped(_))
    }

    /// Runs that were answered or are under way.
    pub(crate) fn requested(&self) -> u32 {
        self.runs() + self.pending
    }

    /// Returns true if the commit has this many runs, or as many as it will ever get.
    pub(crate) fn is_ready(&self, runs: u32) -> bool {
        self.build != BuildState::Pending && (self.runs() >= runs || self.pending == 0)
    }
}

/// The number of commits strictly inside a range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RangeState {
    Pending,
    Counted(u64),
    /// It can't be listed, for this reason.
    Failed(String),
}

/// The subject of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Range(u32),
    Commit(Position),
}

impl Subject {
    fn from_task(task: &Task) -> Option<Self> {
        match task {
            Task::List { range, .. } => Some(Self::Range(*range)),
            Task::Build { commit } | Task::Run { commit, .. } => Some(Self::Commit(*commit)),
            Task::FindMetric { .. } | Task::RunPair { .. } | Task::Cancel { .. } => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct SearchState {
    actions: BudgetedActions,
    random: SplitMix64,
    bots: Rotation,
    chart: Option<String>,
    commits: BTreeMap<Position, Measured>,
    ranges: Vec<RangeState>,
    /// Listings lost in a row.
    lost_listings: u32,
    failing: Failing,
    runs: u64,
    builds: u64,
    last_answer: Option<Subject>,
    /// Builds that are the same count as such. Not in jobs of earlier versions, whose
    /// decisions stay as they were.
    knows_same_builds: bool,
}

impl SearchState {
    pub(crate) fn new(spec: &BisectionSpec) -> Self {
        Self {
            actions: BudgetedActions::new(spec.max_runs, spec.max_builds),
            random: SplitMix64::new(spec.seed),
            bots: Rotation::new(&spec.bots, spec.seed),
            chart: spec.chart.clone(),
            commits: BTreeMap::new(),
            ranges: Vec::new(),
            lost_listings: 0,
            failing: Failing::default(),
            runs: 0,
            builds: 0,
            last_answer: None,
            knows_same_builds: spec.version >= 3,
        }
    }

    /// Runs that were answered.
    pub(crate) fn runs(&self) -> u64 {
        self.runs
    }

    /// The subject of the last answer. Since the one before, only the strategy has changed anything
    /// else.
    pub(crate) fn last_answer(&self) -> Option<Subject> {
        self.last_answer
    }

    /// The reason why no further run is likely to give a value, though earlier ones did.
    pub(crate) fn broken_down(&self) -> Option<String> {
        let Failing {
            runs,
            passed_before,
            last,
        } = &self.failing;
        (*runs >= FAILED_IN_A_ROW && *passed_before >= PASSED_BEFORE).then(|| {
            format!(
                "the benchmark stopped working: none of the last {runs} runs gave a value, \
                 though earlier runs of the same commits did; the last: {last}"
            )
        })
    }

    pub(crate) fn runs_under_way(&self) -> u64 {
        self.commits
            .values()
            .map(|commit| u64::from(commit.pending))
            .sum()
    }

    /// Runs left in the budget.
    pub(crate) fn runs_left(&self) -> Option<u64> {
        self.actions.runs_left()
    }

    /// Commits that were built.
    pub(crate) fn builds(&self) -> u64 {
        self.builds
    }

    /// Builds left in the budget.
    pub(crate) fn builds_left(&self) -> Option<u64> {
        self.actions.builds_left()
    }

    pub(crate) fn get(&self, commit: Position) -> Option<&Measured> {
        self.commits.get(&commit)
    }

    /// Returns true if the builds of two commits are known to be the same. Then so are their
    /// levels.
    pub(crate) fn are_same(&self, one: Position, other: Position) -> bool {
        let digest = |commit| {
            self.get(commit)
                .filter(|commit| commit.build == BuildState::Built)
                .and_then(|commit| commit.digest.as_ref())
        };
        digest(one).is_some_and(|one| digest(other) == Some(one))
    }

    /// The runs of a commit and of those that are the same.
    pub(crate) fn pooled_runs(&self, commit: Position) -> u32 {
        (self.commits())
            .filter(|(other, _)| *other == commit || self.are_same(*other, commit))
            .map(|(_, measured)| measured.runs())
            .sum()
    }

    pub(crate) fn commits(&self) -> impl Iterator<Item = (Position, &Measured)> {
        self.commits
            .iter()
            .map(|(position, commit)| (*position, commit))
    }

    /// Commits strictly inside a range, once it is listed.
    pub(crate) fn count(&self, range: u32) -> Option<u64> {
        match self.ranges.get(range as usize) {
            Some(RangeState::Counted(count)) => Some(*count),
            _ => None,
        }
    }

    /// The commits of a range are not known yet.
    pub(crate) fn is_being_listed(&self, range: u32) -> bool {
        self.ranges.get(range as usize) == Some(&RangeState::Pending)
    }

    /// The reason why a range could not be listed.
    pub(crate) fn unlisted(&self, range: u32) -> Option<&str> {
        match self.ranges.get(range as usize) {
            Some(RangeState::Failed(reason)) => Some(reason),
            _ => None,
        }
    }

    /// The reason why some range could not be listed.
    pub(crate) fn any_unlisted(&self) -> Option<&str> {
        (0..self.ranges.len() as u32).find_map(|range| self.unlisted(range))
    }

    /// Adds a range whose count is known.
    pub(crate) fn add_range(&mut self, count: u64) -> u32 {
        self.ranges.push(RangeState::Counted(count));
        (self.ranges.len() - 1) as u32
    }

    pub(crate) fn list(&mut self, lower: Position, higher: Position) -> u32 {
        let range = self.ranges.len() as u32;
        self.ranges.push(RangeState::Pending);
        self.actions.list(range, lower, higher);
        range
    }

    pub(crate) fn build(&mut self, commit: Position) -> Result<(), Exhausted> {
        self.actions.open(Task::Build { commit })?;
        self.commits.entry(commit).or_insert(Measured {
            build: BuildState::Pending,
            runs: BTreeMap::new(),
            next_index: 0,
            pending: 0,
            lost_in_a_row: 0,
            reasons: BTreeMap::new(),
            digest: None,
        });
        Ok(())
    }

    /// Brings commits up to this many runs each, counting those under way, and
    /// asks for nothing when the budget does not allow all of it.
    ///
    /// The runs cycle through the commits, in a new order each round, so that a drift of
    /// the machine affects all of them alike.
    pub(crate) fn run_up_to(&mut self, totals: &[(Position, u32)]) -> Result<(), Exhausted> {
        let mut wanted: Vec<(Position, u32)> = totals
            .iter()
            .map(|(commit, total)| {
                let known = self.commits.get(commit).map_or(0, Measured::requested);
                (*commit, total.saturating_sub(known))
            })
            .collect();
        let sum: u64 = wanted.iter().map(|(_, runs)| u64::from(*runs)).sum();
        if self.runs_left().is_some_and(|left| left < sum) {
            return Err(Exhausted::Runs);
        }
        loop {
            wanted.retain(|(_, runs)| *runs > 0);
            if wanted.is_empty() {
                return Ok(());
            }
            self.random.shuffle(&mut wanted);
            for (commit, runs) in &mut wanted {
                *runs -= 1;
                let next = self.commits.get(commit).map_or(0, |it| it.next_index);
                self.open_run(*commit, self.bots.at(next))?;
            }
        }
    }

    fn open_run(&mut self, commit: Position, bot: Option<String>) -> Result<(), Exhausted> {
        if let Some(measured) = self.commits.get_mut(&commit) {
            self.actions.open(Task::Run {
                commit,
                index: measured.next_index,
                bot,
            })?;
            measured.next_index += 1;
            measured.pending += 1;
        }
        Ok(())
    }

    /// Asks for runs of two commits, each pair one right after the other on the same bot. Which of
    /// the two is first changes by chance.
    pub(crate) fn run_pairs(
        &mut self,
        mut sites: [Position; 2],
        pairs: u32,
    ) -> Result<(), Exhausted> {
        if (self.runs_left()).is_some_and(|left| left < 2 * u64::from(pairs)) {
            return Err(Exhausted::Runs);
        }
        for _ in 0..pairs {
            let bot =
                (self.commits.get(&sites[0])).and_then(|first| self.bots.at(first.next_index));
            self.random.shuffle(&mut sites);
            for commit in sites {
                self.open_run(commit, bot.clone())?;
            }
        }
        Ok(())
    }

    /// A commit none of whose runs gave a value can't be used.
    pub(crate) fn skip_failing(&mut self, commit: Position) {
        if let Some(measured) = self.commits.get_mut(&commit) {
            measured.build = BuildState::Skipped(measured.only_failed_because());
        }
    }

    pub(crate) fn poll(&mut self) -> Vec<Action> {
        self.actions.poll()
    }

    pub(crate) fn outstanding(&self) -> Vec<Action> {
        self.actions.outstanding()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.actions.is_idle()
    }

    pub(crate) fn cancel_all(&mut self) {
        self.actions.cancel(|_| true);
    }

    /// Applies an answer. False when it answers no open action.
    pub(crate) fn handle(&mut self, event: Event) -> Result<bool, MachineError> {
        let Some(number) = event.action() else {
            return Ok(false);
        };
        let Some(task) = self.actions.get(number).cloned() else {
            return Ok(false);
        };
        let subject = Subject::from_task(&task);
        match (task, event) {
            (
                Task::List { range, .. },
                Event::Listed {
                    range: listed,
                    count,
                    ..
                },
            ) if range == listed => {
                self.lost_listings = 0;
                self.ranges[range as usize] = if count <= SpecError::MOST_COMMITS {
                    RangeState::Counted(count)
                } else {
                    RangeState::Failed(SpecError::Commits { found: count }.to_string())
                };
            }
            (Task::Build { commit }, Event::Built { digest, same, .. }) => {
                if same {
                    self.actions.give_back_build();
                } else {
                    self.builds += 1;
                }
                self.set_build(commit, BuildState::Built);
                if let Some(measured) = self.commits.get_mut(&commit) {
                    measured.digest = digest.filter(|_| self.knows_same_builds);
                }
            }
            (Task::Build { commit }, Event::BuildFailed { reason, .. }) => {
                self.set_build(commit, BuildState::Skipped(reason));
            }
            (
                Task::Run { commit, index, .. },
                Event::Ran {
                    values,
                    bot,
                    started,
                    ..
                },
            ) => {
                let values = self.deciding(number, values)?;
                self.ran(commit, index, values, bot, started);
            }
            (
                Task::Run { commit, index, .. },
                Event::RunFailed {
                    bot,
                    started,
                    reason,
                    ..
                },
            ) => {
                self.ran(commit, index, Vec::new(), bot, started);
                self.failing.last.clone_from(&reason);
                if let Some(measured) = self.commits.get_mut(&commit) {
                    // Most runs that fail do so for the same reason.
                    let known = measured.reasons.values().find(|known| ***known == *reason);
                    let reason = known.cloned().unwrap_or_else(|| reason.into());
                    measured.reasons.insert(index, reason);
                }
            }
            (Task::Cancel { .. }, Event::Canceled { .. } | Event::GaveUp { .. }) => {}
            (Task::Run { commit, .. }, Event::BuildFailed { reason, .. }) => {
                self.actions.close(number);
                self.last_answer = subject;
                self.runs += 1;
                self.give_up(commit, reason);
                return Ok(true);
            }
            (task, Event::GaveUp { reason, .. }) => {
                self.actions.close(number);
                self.last_answer = subject;
                self.requeue(task, reason);
                return Ok(true);
            }
            (task, event) => {
                return Err(MachineError::wrong_answer(number, &task, &event));
            }
        }
        self.actions.close(number);
        self.last_answer = subject;
        Ok(true)
    }

    /// The values of the chart that decides.
    fn deciding(
        &self,
        action: u64,
        mut values: BTreeMap<String, Vec<f64>>,
    ) -> Result<Vec<f64>, MachineError> {
        let (chart, values) = match &self.chart {
            Some(chart) => values.remove_entry(chart),
            None if values.len() > 1 => return Err(MachineError::ManyCharts { action }),
            None => values.pop_first(),
        }
        .filter(|(_, values)| !values.is_empty())
        .ok_or(MachineError::NoValue { action })?;
        match values.iter().find(|value| !value.is_finite()) {
            Some(&value) => Err(MachineError::NotFinite {
                action,
                chart,
                value,
            }),
            None => Ok(values),
        }
    }

    fn set_build(&mut self, commit: Position, state: BuildState) {
        if let Some(measured) = self.commits.get_mut(&commit) {
            measured.build = state;
            measured.lost_in_a_row = 0;
        }
    }

    fn ran(
        &mut self,
        commit: Position,
        index: u32,
        values: Vec<f64>,
        bot: Option<String>,
        started: u64,
    ) {
        let run = Run {
            values,
            bot,
            started,
            sequence: self.runs,
        };
        self.runs += 1;
        if run.values.is_empty() {
            let passed = |measured: &Measured| measured.failures() < measured.runs();
            self.failing.runs += 1;
            self.failing.passed_before += u32::from(self.get(commit).is_some_and(passed));
        } else {
            self.failing = Failing::default();
        }
        if let Some(measured) = self.commits.get_mut(&commit) {
            measured.runs.insert(index, run);
            measured.pending -= 1;
            measured.lost_in_a_row = 0;
        }
    }

    /// Repeats requests that the infrastructure lost, until it lost them three times in a row.
    fn requeue(&mut self, task: Task, reason: String) {
        match task {
            Task::List {
                range,
                lower,
                higher,
            } => {
                self.lost_listings += 1;
                if self.lost_listings < LOST_IN_A_ROW {
                    self.actions.list(range, lower, higher);
                } else {
                    self.lost_listings = 0;
                    self.ranges[range as usize] = RangeState::Failed(reason);
                }
            }
            Task::Build { commit } => {
                if self.count_loss(commit) >= LOST_IN_A_ROW || self.actions.open(task).is_err() {
                    self.set_build(commit, BuildState::Skipped(reason));
                }
            }
            Task::Run { commit, .. } => {
                let losses = self.count_loss(commit);
                if losses >= LOST_IN_A_ROW {
                    self.give_up(commit, reason);
                } else if self.actions.open(task).is_err()
                    && let Some(measured) = self.commits.get_mut(&commit)
                {
                    measured.pending -= 1;
                }
            }
            // A bisection has no such actions.
            Task::FindMetric { .. } | Task::Cancel { .. } | Task::RunPair { .. } => {}
        }
    }

    fn count_loss(&mut self, commit: Position) -> u32 {
        self.commits.get_mut(&commit).map_or(0, |measured| {
            measured.lost_in_a_row += 1;
            measured.lost_in_a_row
        })
    }

    fn give_up(&mut self, lost: Position, reason: String) {
        self.actions
            .cancel(|task| matches!(task, Task::Run { commit, .. } if *commit == lost));
        if let Some(measured) = self.commits.get_mut(&lost) {
            measured.build = BuildState::Skipped(reason);
            measured.pending = 0;
        }
    }
}

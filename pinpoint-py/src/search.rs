//! The search, for callers who build and run the benchmark themselves.
//!
//! The machine asks for builds and for single runs, one action at a time, and
//! asks for a commit's runs only once it is told that the commit was built. A
//! caller in Python wants *batches*: so many runs of these commits; and finds
//! out whether a commit builds on the way. So a batch is what the machine would
//! ask for if everything that it wants built did build; that is found out on a
//! copy. The machine itself hears of nothing before the whole batch is
//! answered: then of the builds, as they went, and then of the runs. No event
//! is ever made up or taken back, and the outcome does not depend on the order
//! in which a batch is answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pinpoint_core::{
    self as engine, BisectionSpec, Event, Machine, MachineError, Magnitude, Position, Range,
    Status, Stopped, Strategy, Task,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments;

/// What a search found. Commits are numbered from 0, the good end.
#[pyclass(frozen, get_all, eq, module = "pinpoint")]
#[derive(Clone, PartialEq)]
pub(crate) struct Outcome {
    /// "culprit_found", "no_regression", "inconclusive" or "failed".
    status: &'static str,
    /// Why the search ended before all was decided; None when it did not.
    reason: Option<String>,
    /// The commits that changed the benchmark, oldest first, each with its
    /// probability (None where the strategy states none).
    culprits: Vec<(u64, Option<f64>)>,
    /// Commits that may hold a culprit that could not be told apart, oldest first.
    candidates: Vec<u64>,
    /// Runs that were recorded, failed ones included.
    runs: u64,
    /// Commits of which a run was recorded.
    builds: u64,
}

#[pymethods]
impl Outcome {
    fn __repr__(&self) -> String {
        let culprits: Vec<u64> = self.culprits.iter().map(|(index, _)| *index).collect();
        format!(
            "Outcome(status='{}', culprits={culprits:?}, candidates={:?}, runs={}, builds={})",
            self.status, self.candidates, self.runs, self.builds
        )
    }
}

/// Search for the commits that changed a benchmark, without running anything.
///
/// next() says which commits to run and how often, record() and skip() tell
/// what came of it, until next() returns an empty list; then outcome is there.
/// The same answers always lead to the same outcome.
///
/// commits is the number of commits, or a list of their names; the first is
/// good, the last is bad. magnitude is the smallest change worth finding, in
/// the unit of the values; direction says where better lies: "up", "down" or
/// "unknown". Raises ValueError for a search that cannot be made.
#[pyclass(module = "pinpoint")]
pub(crate) struct Bisection {
    commits: u64,
    machine: engine::Bisection,
    /// What is asked and not answered yet: commits, and runs of each.
    batch: VecDeque<(u64, u64)>,
    /// The commits of the batch. A failed run has no value.
    answers: BTreeMap<u64, Vec<Option<f64>>>,
    recorded: BTreeSet<u64>,
    skipped: BTreeSet<u64>,
    runs: u64,
}

#[pymethods]
impl Bisection {
    #[new]
    #[pyo3(signature = (
        commits, strategy="pinpoint", magnitude=None, direction="unknown", confidence=0.95,
        max_runs=None, max_builds=None, seed=None
    ), text_signature = "(commits, strategy='pinpoint', magnitude=None, direction='unknown', confidence=0.95, max_runs=None, max_builds=None, seed=0)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        commits: &Bound<'_, PyAny>,
        strategy: &str,
        magnitude: Option<f64>,
        direction: &str,
        confidence: f64,
        max_runs: Option<&Bound<'_, PyAny>>,
        max_builds: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let optional = |argument, value: Option<&Bound<'_, PyAny>>| {
            value
                .map(|value| arguments::count(argument, value))
                .transpose()
        };
        let commits = arguments::commits(commits)?;
        let between = commits.checked_sub(2).ok_or_else(|| {
            PyValueError::new_err(format!(
                "a search needs at least 2 commits, a good and a bad one; `commits` has {commits}"
            ))
        })?;
        let spec = BisectionSpec {
            strategy: named_strategy(strategy)?,
            magnitude: magnitude.map(Magnitude::Absolute),
            direction: arguments::direction(direction)?,
            confidence,
            max_runs: optional("max_runs", max_runs)?,
            max_builds: optional("max_builds", max_builds)?,
            seed: optional("seed", seed)?.unwrap_or(0),
            ..BisectionSpec::new(Range::Counted { between })
        };
        let machine = engine::Bisection::new(spec)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut search = Self {
            commits,
            machine,
            batch: VecDeque::new(),
            answers: BTreeMap::new(),
            recorded: BTreeSet::new(),
            skipped: BTreeSet::new(),
            runs: 0,
        };
        search.ask().map_err(broken)?;
        Ok(search)
    }

    /// What is to be run and not answered yet: a list of (index, runs), in the order to run.
    ///
    /// A commit can stand in the list more than once, so that a drift of the
    /// machine falls on all commits alike. New commits and runs are asked for
    /// once everything asked before is answered. An empty list: the search is
    /// over.
    fn next(&self) -> Vec<(u64, u64)> {
        self.batch.iter().copied().collect()
    }

    /// Tell what came of running a commit: one value for each run that gave one, and the number of runs that failed.
    ///
    /// All or part of what was asked. Raises ValueError, and takes in nothing,
    /// for more runs than were asked for and for values that are not finite.
    #[pyo3(signature = (index, values, failures=None), text_signature = "($self, index, values, failures=0)")]
    fn record(
        &mut self,
        index: &Bound<'_, PyAny>,
        values: Vec<f64>,
        failures: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let index = self.index(index)?;
        let failures = failures.map_or(Ok(0), |value| arguments::count("failures", value))?;
        if let Some((place, value)) = values.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(PyValueError::new_err(format!(
                "`values[{place}]` is {value}: values must be finite numbers"
            )));
        }
        let told = (values.len() as u64).saturating_add(failures);
        if told == 0 {
            return Err(PyValueError::new_err(
                "no value and no failure: a run that gives no value is a failure",
            ));
        }
        let asked = self.asked(index);
        if told > asked {
            return Err(PyValueError::new_err(format!(
                "commit {index}: {told} runs are told, but {asked} were asked for"
            )));
        }
        self.take(index, told);
        let answers = self.answers.entry(index).or_default();
        answers.extend(values.into_iter().map(Some));
        answers.extend((0..failures).map(|_| None));
        self.recorded.insert(index);
        self.runs += told;
        self.go_on().map_err(broken)
    }

    /// Tell that a commit does not build: its nearest neighbour is tried instead; at an end of the range, the search fails.
    ///
    /// Raises ValueError for a commit that was not asked for, and for one of
    /// which a run was recorded: that one did build, and runs that went wrong
    /// are failures. Does nothing when the commit was skipped before.
    fn skip(&mut self, index: &Bound<'_, PyAny>) -> PyResult<()> {
        let index = self.index(index)?;
        if self.skipped.contains(&index) {
            return Ok(());
        }
        if self.recorded.contains(&index) {
            return Err(PyValueError::new_err(format!(
                "commit {index} was run before, so it builds: record runs that went wrong as failures"
            )));
        }
        if self.asked(index) == 0 {
            return Err(PyValueError::new_err(format!(
                "commit {index} was not asked for"
            )));
        }
        self.take(index, u64::MAX);
        self.skipped.insert(index);
        self.go_on().map_err(broken)
    }

    /// What was found; None until the search is over.
    #[getter]
    fn outcome(&self) -> Option<Outcome> {
        let found = self.machine.outcome()?;
        Some(Outcome {
            status: status(found.status),
            reason: reason(&found.stopped),
            culprits: found
                .culprits
                .iter()
                .map(|culprit| (self.number(culprit.commit), culprit.probability))
                .collect(),
            candidates: found
                .candidates
                .iter()
                .map(|commit| self.number(*commit))
                .collect(),
            runs: self.runs,
            builds: self.recorded.len() as u64,
        })
    }

    fn __repr__(&self) -> String {
        match self.outcome() {
            Some(outcome) => format!(
                "<Bisection of {} commits: {}>",
                self.commits, outcome.status
            ),
            None => format!(
                "<Bisection of {} commits: {} runs so far>",
                self.commits, self.runs
            ),
        }
    }
}

impl Bisection {
    fn index(&self, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        let index = arguments::count("index", value)?;
        if index < self.commits {
            return Ok(index);
        }
        Err(PyValueError::new_err(format!(
            "there is no commit {index}: the last one is {}",
            self.commits - 1
        )))
    }

    fn number(&self, commit: Position) -> u64 {
        match commit {
            Position::Good => 0,
            Position::Within { offset, .. } => offset + 1,
            Position::Bad => self.commits - 1,
        }
    }

    /// Runs of a commit that are asked for and not answered.
    fn asked(&self, index: u64) -> u64 {
        self.batch
            .iter()
            .filter(|(commit, _)| *commit == index)
            .map(|(_, runs)| runs)
            .sum()
    }

    /// Strikes runs of a commit off the batch, the first ones first.
    fn take(&mut self, index: u64, mut told: u64) {
        let mut left: VecDeque<(u64, u64)> = VecDeque::new();
        for (commit, mut runs) in self.batch.drain(..) {
            if commit == index {
                let struck = runs.min(told);
                runs -= struck;
                told -= struck;
            }
            append(&mut left, commit, runs);
        }
        self.batch = left;
    }

    /// Lets the machine hear of a batch that is answered, and takes the next.
    fn go_on(&mut self) -> Result<(), Broken> {
        if !self.batch.is_empty() {
            return Ok(());
        }
        let mut answers: BTreeMap<u64, VecDeque<Option<f64>>> = std::mem::take(&mut self.answers)
            .into_iter()
            .map(|(index, runs)| (index, runs.into()))
            .collect();
        for (action, commit) in builds(&self.machine) {
            let index = self.number(commit);
            // A build that the batch did not ask for stays open.
            if self.skipped.contains(&index) {
                let reason = "skipped by the caller".to_owned();
                self.machine.handle(Event::BuildFailed { action, reason })?;
            } else if answers.contains_key(&index) {
                self.machine.handle(Event::Built { action })?;
            }
        }
        for (action, commit) in runs(&self.machine) {
            let answer = answers
                .get_mut(&self.number(commit))
                .and_then(VecDeque::pop_front);
            if let Some(answer) = answer {
                self.machine.handle(ran(action, answer))?;
            }
        }
        self.ask()
    }

    /// The batch that follows from what the machine knows.
    fn ask(&mut self) -> Result<(), Broken> {
        loop {
            end_what_is_cancelled(&mut self.machine)?;
            if self.machine.outcome().is_some() {
                return Ok(());
            }
            let mut guess = self.machine.clone();
            let wanted = builds(&guess);
            for (action, _) in &wanted {
                guess.handle(Event::Built { action: *action })?;
            }
            for (_, commit) in runs(&guess) {
                let index = self.number(commit);
                append(&mut self.batch, index, 1);
            }
            if !self.batch.is_empty() {
                return Ok(());
            }
            // The budget allows no run of what is to be built. The machine
            // learns that only once the builds are there.
            self.machine = guess;
            if wanted.is_empty() && self.machine.outcome().is_none() && !is_ending(&self.machine) {
                return Err(Broken::Stalled);
            }
        }
    }
}

/// A state that the machine cannot get into.
enum Broken {
    Machine(MachineError),
    Stalled,
}

impl From<MachineError> for Broken {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

fn broken(error: Broken) -> PyErr {
    PyRuntimeError::new_err(match error {
        Broken::Machine(error) => format!("the search is broken: {error}"),
        Broken::Stalled => "the search is broken: it asks for nothing and has no outcome".into(),
    })
}

/// Adds runs to the end of a batch.
fn append(batch: &mut VecDeque<(u64, u64)>, commit: u64, runs: u64) {
    match batch.back_mut() {
        _ if runs == 0 => {}
        Some((last, count)) if *last == commit => *count += runs,
        _ => batch.push_back((commit, runs)),
    }
}

fn builds(machine: &engine::Bisection) -> Vec<(u64, Position)> {
    let outstanding = machine.outstanding().into_iter();
    outstanding
        .filter_map(|action| match action.task {
            Task::Build { commit } => Some((action.number, commit)),
            _ => None,
        })
        .collect()
}

fn runs(machine: &engine::Bisection) -> Vec<(u64, Position)> {
    let outstanding = machine.outstanding().into_iter();
    outstanding
        .filter_map(|action| match action.task {
            Task::Run { commit, .. } => Some((action.number, commit)),
            _ => None,
        })
        .collect()
}

fn is_ending(machine: &engine::Bisection) -> bool {
    let outstanding = machine.outstanding();
    outstanding
        .iter()
        .any(|action| matches!(action.task, Task::Cancel { .. }))
}

/// Nothing is ever under way here, so everything can be ended at once.
fn end_what_is_cancelled(machine: &mut engine::Bisection) -> Result<(), MachineError> {
    for action in machine.outstanding() {
        if matches!(action.task, Task::Cancel { .. }) {
            machine.handle(Event::Cancelled {
                action: action.number,
            })?;
        }
    }
    Ok(())
}

fn ran(action: u64, value: Option<f64>) -> Event {
    match value {
        Some(value) => Event::Ran {
            action,
            bot: None,
            started: 0,
            values: BTreeMap::from([("value".to_owned(), vec![value])]),
        },
        None => Event::RunFailed {
            action,
            bot: None,
            started: 0,
            reason: "recorded as a failure".into(),
        },
    }
}

fn named_strategy(name: &str) -> PyResult<Strategy> {
    match name {
        "pinpoint" => Ok(Strategy::Pinpoint),
        _ => Err(PyValueError::new_err(format!(
            "`strategy` is {name:?}: it must be \"pinpoint\""
        ))),
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::CulpritFound => "culprit_found",
        Status::NoRegression => "no_regression",
        Status::Inconclusive => "inconclusive",
        Status::Failed => "failed",
        Status::Canceled => "canceled",
    }
}

fn reason(stopped: &Stopped) -> Option<String> {
    match stopped {
        Stopped::Decided => None,
        Stopped::NothingToLearn => Some("more runs would hardly tell more".into()),
        Stopped::RunBudget => Some("the budget of runs is spent".into()),
        Stopped::BuildBudget => Some("the budget of builds is spent".into()),
        Stopped::TimeBudget => Some("the budget of time is spent".into()),
        Stopped::Canceled => Some("canceled".into()),
        Stopped::Failed { reason, .. } => Some(reason.clone()),
    }
}

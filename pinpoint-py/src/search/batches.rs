//! A machine for callers who build and run the benchmark themselves.
//!
//! The machine asks for builds and for single runs, one action at a time, and asks for a commit's
//! runs only after the commit was built. A caller in Python wants *batches*: so many runs of these
//! commits; and learns whether a commit builds on the way. So a batch contains the machine's
//! requests if every requested build succeeded; a copy determines them. The machine itself gets no
//! event before the whole batch is answered: then the builds, with their outcomes, and then the
//! runs. No event is taken back, and the outcome does not depend on the order in which a batch is
//! answered.
//!
//! A machine may want a commit built and then run others first. Its build cannot be tested then, so
//! it is assumed to succeed; if it turns out later that it does not, its runs are lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pinpoint_core::{
    Action, Event, Machine, MachineError, PairedRun, Position, SpecError, Stopped, Task,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::arguments;
use crate::drive::spec_message;
use crate::results::make;

/// The version of the format of [`Batches::to_json`].
const VERSION: u32 = 1;

/// The reason recorded for a commit that the caller skipped.
const SKIPPED: &str = "skipped by the caller";

/// A machine that is saved as its spec and its events.
pub(crate) trait Saved: Machine + Clone + Sized {
    /// Its name in a saved search.
    const NAME: &'static str;
    type Spec: Serialize + DeserializeOwned;

    fn from_spec(spec: Self::Spec) -> Result<Self, SpecError>;
    fn spec(&self) -> &Self::Spec;
    /// The number of commits, when all of them are the caller's.
    fn commits(spec: &Self::Spec) -> Option<u64>;
}

/// One requested task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RequestedTask {
    Run(u64),
    Pair(u64, u64),
}

impl RequestedTask {
    fn commits(self) -> [u64; 2] {
        match self {
            Self::Run(commit) => [commit; 2],
            Self::Pair(first, second) => [first, second],
        }
    }
}

/// The result of one run; without values, it failed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct ReportedRun {
    pub(crate) values: Values,
    pub(crate) bot: Option<String>,
    /// Milliseconds since the search began.
    pub(crate) started: u64,
}

/// One run, or the two of a pair.
type TaskRuns = Vec<ReportedRun>;

/// See the [module](self).
pub(crate) struct Batches<M> {
    pub(crate) commits: u64,
    pub(crate) machine: M,
    /// The events of the machine so far.
    events: Vec<Event>,
    /// The unanswered requests, and the number of each.
    batch: VecDeque<(RequestedTask, u64)>,
    /// The answers to the batch.
    answers: BTreeMap<RequestedTask, VecDeque<TaskRuns>>,
    /// Commits of which a run was recorded.
    pub(crate) recorded: BTreeSet<u64>,
    /// Recorded runs, including failed ones. The machine may have received fewer, when it ended
    /// before.
    pub(crate) runs: u64,
    skipped: BTreeSet<u64>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    machine: String,
    spec: serde_json::Value,
    events: Vec<Event>,
    answers: Vec<(RequestedTask, VecDeque<TaskRuns>)>,
    skipped: BTreeSet<u64>,
    recorded: BTreeSet<u64>,
    runs: u64,
}

impl<M: Saved> Batches<M> {
    pub(crate) fn new(spec: M::Spec) -> PyResult<Self> {
        let mut batches = Self::silent(spec)?;
        batches.ask().map_err(broken)?;
        Ok(batches)
    }

    /// A search that has not asked for anything yet.
    fn silent(spec: M::Spec) -> PyResult<Self> {
        let refused = |message: String| PyValueError::new_err(message);
        let commits = M::commits(&spec).ok_or_else(|| {
            refused("the search names its commits itself: it is driven by bisect()".into())
        })?;
        Ok(Self {
            commits,
            machine: M::from_spec(spec).map_err(|error| refused(spec_message(&error)))?,
            events: Vec::new(),
            batch: VecDeque::new(),
            answers: BTreeMap::new(),
            recorded: BTreeSet::new(),
            runs: 0,
            skipped: BTreeSet::new(),
        })
    }

    pub(crate) fn to_json(&self) -> PyResult<String> {
        let json = |error: serde_json::Error| PyRuntimeError::new_err(error.to_string());
        let document = Document {
            version: VERSION,
            machine: M::NAME.into(),
            spec: serde_json::to_value(self.machine.spec()).map_err(json)?,
            events: self.events.clone(),
            answers: self.answers.clone().into_iter().collect(),
            skipped: self.skipped.clone(),
            recorded: self.recorded.clone(),
            runs: self.runs,
        };
        serde_json::to_string(&document).map_err(json)
    }

    pub(crate) fn from_json(text: &str) -> PyResult<Self> {
        let unreadable = |error: String| {
            PyValueError::new_err(format!("this is not a saved {}: {error}", M::NAME))
        };
        let json = |error: serde_json::Error| unreadable(error.to_string());
        let document: Document = serde_json::from_str(text).map_err(json)?;
        if document.version != VERSION {
            return Err(unreadable(format!(
                "its version is {}, this program reads {VERSION}",
                document.version
            )));
        }
        if document.machine != M::NAME {
            return Err(unreadable(format!("it is a {}", document.machine)));
        }
        let spec = serde_json::from_value(document.spec).map_err(json)?;
        let mut batches = Self::silent(spec)?;
        let mut indices = document.skipped.iter().chain(&document.recorded);
        if let Some(index) = indices.find(|it| **it >= batches.commits) {
            return Err(unreadable(format!("there is no commit {index}")));
        }
        let answers = document.answers.iter().flat_map(|(_, answers)| answers);
        let told = answers.flatten().map(|told| &told.values);
        if !(document.events.iter().flat_map(values))
            .chain(told)
            .all(are_numbers)
        {
            return Err(unreadable(
                "a run has a chart without values, or with some that are not finite".into(),
            ));
        }
        if document.runs < document.recorded.len() as u64 {
            return Err(unreadable(
                "it has fewer runs than commits that were run".into(),
            ));
        }
        for event in document.events {
            let heard = batches.hear(event);
            heard.map_err(|error| unreadable(error.to_string()))?;
        }
        batches.skipped = document.skipped;
        batches.ask().map_err(broken)?;
        let skipped = &batches.skipped;
        let is_struck =
            |asked: RequestedTask| asked.commits().iter().any(|it| skipped.contains(it));
        batches.batch.retain(|(asked, _)| !is_struck(*asked));
        for (asked, answers) in document.answers {
            if (answers.iter()).any(|answer| answer.len() != asked_runs(asked)) {
                return Err(unreadable("its answers do not fit".into()));
            }
            batches
                .put(asked, answers)
                .map_err(|error| unreadable(error.to_string()))?;
        }
        batches.recorded = document.recorded;
        batches.runs = document.runs;
        batches.go_on().map_err(broken)?;
        Ok(batches)
    }

    /// The unanswered requests, in the order to run: each commit with its number of runs, and each
    /// pair.
    pub(crate) fn next<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut requests = Vec::new();
        for (asked, many) in &self.batch {
            match asked {
                RequestedTask::Run(index) => requests.push((index, many).into_bound_py_any(py)?),
                RequestedTask::Pair(first, second) => {
                    for _ in 0..*many {
                        requests.push(make(py, "Pair", (first, second))?);
                    }
                }
            }
        }
        Ok(requests)
    }

    pub(crate) fn index(&self, argument: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        let index = arguments::count(argument, value)?;
        if index < self.commits {
            return Ok(index);
        }
        Err(PyValueError::new_err(format!(
            "there is no commit {index}: the last one is {}",
            self.commits - 1
        )))
    }

    pub(crate) fn number(&self, commit: Position) -> u64 {
        match commit {
            Position::Lower => 0,
            Position::Within { offset, .. } => offset.saturating_add(1),
            Position::Higher => self.commits - 1,
        }
    }

    /// Takes in the answers to a request.
    pub(crate) fn record(&mut self, asked: RequestedTask, answers: Vec<TaskRuns>) -> PyResult<()> {
        self.put(asked, answers.into())?;
        self.go_on().map_err(broken)
    }

    fn put(&mut self, asked: RequestedTask, answers: VecDeque<TaskRuns>) -> PyResult<()> {
        let told = answers.len() as u64;
        let open: u64 = (self.batch.iter())
            .filter(|(it, _)| *it == asked)
            .map(|it| it.1)
            .sum();
        if told > open {
            let what = match asked {
                RequestedTask::Run(commit) => format!("commit {commit}: {told} runs"),
                RequestedTask::Pair(first, second) => format!("({first}, {second}): {told} pairs"),
            };
            return Err(PyValueError::new_err(format!(
                "{what} were given, but {open} were asked for"
            )));
        }
        self.strike(told, |it| it == asked);
        let runs = told.saturating_mul(asked_runs(asked) as u64);
        self.runs = self.runs.saturating_add(runs);
        self.recorded.extend(asked.commits());
        self.answers.entry(asked).or_default().extend(answers);
        Ok(())
    }

    pub(crate) fn skip(&mut self, index: u64) -> PyResult<()> {
        if self.skipped.contains(&index) {
            return Ok(());
        }
        if self.recorded.contains(&index) {
            return Err(PyValueError::new_err(format!(
                "commit {index} was run before, so it builds: record runs that went wrong as failures"
            )));
        }
        let concerns = |asked: RequestedTask| asked.commits().contains(&index);
        if !self.batch.iter().any(|(asked, _)| concerns(*asked)) {
            return Err(PyValueError::new_err(format!(
                "commit {index} was not asked for"
            )));
        }
        self.strike(u64::MAX, concerns);
        self.skipped.insert(index);
        self.go_on().map_err(broken)
    }

    /// Sets the search's clock. Once its time is over, the answers so far count, and nothing more
    /// is requested.
    pub(crate) fn time_passed(&mut self, elapsed: u64) -> PyResult<()> {
        let is_over = self.machine.max_time().is_some_and(|most| elapsed >= most);
        if self.machine.outcome().is_some() || !is_over {
            return Ok(());
        }
        let end = |batches: &mut Self| -> Result<(), Broken> {
            batches.tell()?;
            batches.hear(Event::TimePassed { elapsed })?;
            batches.batch.clear();
            batches.ask()
        };
        end(self).map_err(broken)
    }

    /// Removes this many from the batch, the first ones first.
    fn strike(&mut self, mut many: u64, fits: impl Fn(RequestedTask) -> bool) {
        let mut left = VecDeque::new();
        for (asked, mut count) in self.batch.drain(..) {
            if fits(asked) {
                let struck = count.min(many);
                count -= struck;
                many -= struck;
            }
            append(&mut left, asked, count);
        }
        self.batch = left;
    }

    /// Passes an answered batch to the machine, and takes the next.
    fn go_on(&mut self) -> Result<(), Broken> {
        if self.batch.is_empty() {
            self.tell()?;
            self.ask()?;
        }
        Ok(())
    }

    /// Passes the answers to the machine.
    fn tell(&mut self) -> Result<(), MachineError> {
        let mut answers = std::mem::take(&mut self.answers);
        let answered: BTreeSet<u64> = answers.keys().flat_map(|it| it.commits()).collect();
        for (action, commit) in self.builds() {
            // A build that the batch did not ask for stays open.
            if self.skipped.contains(&commit) {
                let reason = SKIPPED.to_owned();
                self.hear(Event::BuildFailed { action, reason })?;
            } else if answered.contains(&commit) {
                self.hear(Event::built(action))?;
            }
        }
        for (action, asked) in self.executions() {
            let answer = answers.get_mut(&asked).and_then(VecDeque::pop_front);
            if let Some(answer) = answer {
                self.hear(event(action, answer))?;
            }
        }
        // A commit whose build was assumed to succeed. The machine asks again for a run that was
        // lost, a limited number of times.
        while let Some(action) = self.skipped_execution() {
            let reason = SKIPPED.to_owned();
            self.hear(Event::GaveUp { action, reason })?;
        }
        Ok(())
    }

    /// The run that the machine wants of a commit that does not build.
    fn skipped_execution(&self) -> Option<u64> {
        (self.executions().into_iter())
            .find(|(_, asked)| asked.commits().iter().any(|it| self.skipped.contains(it)))
            .map(|(action, _)| action)
    }

    /// The batch that follows from the machine's state.
    fn ask(&mut self) -> Result<(), Broken> {
        loop {
            let ending = self.end_what_is_canceled()?;
            if self.machine.outcome().is_some() {
                return Ok(());
            }
            let wanted = self.builds();
            for asked in self.executions_once_built(wanted.clone())? {
                append(&mut self.batch, asked, 1);
            }
            if !self.batch.is_empty() {
                return Ok(());
            }
            if wanted.is_empty() && !ending {
                return Err(Broken::Stalled);
            }
            // The budget allows no run of the commits to build, or others are to be run first. The
            // machine continues only once the builds exist.
            for (action, _) in wanted {
                self.hear(Event::built(action))?;
            }
        }
    }

    /// The runs requested once these commits are built, for those commits that are run then: only
    /// so does the caller learn whether one builds, and only then does the machine get that and
    /// take the answers.
    fn executions_once_built(
        &self,
        mut builds: Vec<(u64, u64)>,
    ) -> Result<Vec<RequestedTask>, Broken> {
        loop {
            let mut guess = self.copy();
            for (action, _) in &builds {
                guess.hear(Event::built(*action))?;
            }
            let asked: Vec<RequestedTask> = (guess.executions().into_iter())
                .map(|(_, asked)| asked)
                .collect();
            let run: BTreeSet<u64> = asked.iter().flat_map(|it| it.commits()).collect();
            let before = builds.len();
            builds.retain(|(_, commit)| run.contains(commit));
            if builds.len() == before {
                return Ok(asked);
            }
        }
    }

    /// The machine alone, for trials.
    fn copy(&self) -> Self {
        Self {
            commits: self.commits,
            machine: self.machine.clone(),
            events: Vec::new(),
            batch: VecDeque::new(),
            answers: BTreeMap::new(),
            recorded: BTreeSet::new(),
            runs: 0,
            skipped: BTreeSet::new(),
        }
    }

    /// The only place where the machine gets events.
    fn hear(&mut self, event: Event) -> Result<(), MachineError> {
        self.machine.handle(event.clone())?;
        self.events.push(event);
        Ok(())
    }

    /// Ends what the machine cancels, at once: nothing is ever under way here.
    fn end_what_is_canceled(&mut self) -> Result<bool, MachineError> {
        let mut ended = false;
        for action in self.machine.outstanding() {
            if matches!(action.task, Task::Cancel { .. }) {
                let action = action.number;
                self.hear(Event::Canceled { action })?;
                ended = true;
            }
        }
        Ok(ended)
    }

    fn builds(&self) -> Vec<(u64, u64)> {
        let outstanding = self.machine.outstanding().into_iter();
        outstanding
            .filter_map(|action| match action.task {
                Task::Build { commit } => Some((action.number, self.number(commit))),
                _ => None,
            })
            .collect()
    }

    fn executions(&self) -> Vec<(u64, RequestedTask)> {
        let outstanding = self.machine.outstanding().into_iter();
        outstanding
            .filter_map(|action| Some((action.number, self.execution(&action)?)))
            .collect()
    }

    fn execution(&self, action: &Action) -> Option<RequestedTask> {
        match action.task {
            Task::Run { commit, .. } => Some(RequestedTask::Run(self.number(commit))),
            Task::RunPair { first, second, .. } => {
                Some(RequestedTask::Pair(self.number(first), self.number(second)))
            }
            _ => None,
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

fn asked_runs(asked: RequestedTask) -> usize {
    match asked {
        RequestedTask::Run(_) => 1,
        RequestedTask::Pair(..) => 2,
    }
}

type Values = BTreeMap<String, Vec<f64>>;

/// The values of an event's runs.
fn values(event: &Event) -> Vec<&Values> {
    match event {
        Event::Ran { values, .. } => vec![values],
        Event::RanPair { first, second, .. } => vec![&first.values, &second.values],
        _ => Vec::new(),
    }
}

fn are_numbers(values: &Values) -> bool {
    (values.values()).all(|series| !series.is_empty() && series.iter().all(|it| it.is_finite()))
}

/// Adds executions to the end of a batch.
fn append(batch: &mut VecDeque<(RequestedTask, u64)>, asked: RequestedTask, many: u64) {
    match batch.back_mut() {
        _ if many == 0 => {}
        Some((last, count)) if *last == asked => *count += many,
        _ => batch.push_back((asked, many)),
    }
}

fn event(action: u64, answer: TaskRuns) -> Event {
    const FAILED: &str = "recorded as a failure";
    let mut runs = answer.into_iter();
    let first = runs.next().unwrap_or_default();
    if let Some(second) = runs.next() {
        let bot = first.bot.clone();
        let run = |told: ReportedRun| PairedRun {
            started: told.started,
            failure: told.values.is_empty().then(|| FAILED.to_owned()),
            values: told.values,
        };
        return Event::RanPair {
            action,
            bot,
            first: run(first),
            second: run(second),
        };
    }
    let ReportedRun {
        values,
        bot,
        started,
    } = first;
    if values.is_empty() {
        return Event::RunFailed {
            action,
            bot,
            started,
            reason: FAILED.into(),
        };
    }
    Event::Ran {
        action,
        bot,
        started,
        values,
    }
}

/// The reason that the outcome of a bisection says less than its status: it ended early, or it
/// found no regression where an end gave no value, for one of these reasons.
pub(crate) fn caveat<'a>(
    status: &str,
    stopped: &Stopped,
    mut unmeasured: impl ExactSizeIterator<Item = Option<&'a str>>,
) -> Option<String> {
    reason(stopped).or_else(|| {
        let ends = match unmeasured.len() {
            1 => "an end",
            _ => "either end",
        };
        let failed = unmeasured.next().filter(|_| status == "no_regression")?;
        let failed = failed.unwrap_or("unknown");
        Some(format!(
            "only failures were compared, as no run of {ends} gave a value; the first: {failed}"
        ))
    })
}

/// The reason that a search ended before everything was decided.
pub(super) fn reason(stopped: &Stopped) -> Option<String> {
    match stopped {
        Stopped::Decided => None,
        Stopped::Unlisted { reason } => Some(format!(
            "the commits between two neighbors could not be listed: {reason}"
        )),
        Stopped::NothingToLearn => Some("more runs would hardly tell more".into()),
        Stopped::TooNoisy => Some("the runs scatter too much to exclude a large change".into()),
        Stopped::RunBudget => Some("the budget of runs is spent".into()),
        Stopped::BuildBudget => Some("the budget of builds is spent".into()),
        Stopped::TimeBudget => Some("the budget of time is spent".into()),
        Stopped::Canceled => Some("canceled".into()),
        Stopped::Failed { reason, .. } => Some(reason.clone()),
        other => Some(other.to_string()),
    }
}

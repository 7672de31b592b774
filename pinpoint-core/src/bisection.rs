//! The search for the commit that changed a benchmark.

use crate::adaptive::AdaptiveSearch;
use crate::aggregate::Aggregate;
use crate::budget::Exhausted;
use crate::machine::{Charts, Machine, MachineError};
use crate::outcome::{
    Comparison, Culprit, EffectOf, OUTCOME_VERSION, Outcome, Posterior, Skipped, Status, Stopped,
    Unmeasured,
};
use crate::pinpoint::PinpointSearch;
use crate::search_state::{BuildState, Measured, SearchState};
use crate::strategy::{OpenRange, SearchStrategy};
use crate::{
    Action, BisectionSpec, CombinedCommit, CommitNames, Event, Limits, Magnitude, Position, Range,
    RetryPolicy, SPEC_VERSION, SpecError, Strategy,
};

/// The largest change, as a fraction of the value, that "no regression" may leave possible where no
/// magnitude is given.
const LARGE_CHANGE: f64 = 0.5;

/// Searches a range of commits for those that changed a benchmark.
///
/// ```
/// use std::collections::BTreeMap;
/// use pinpoint_core::{Bisection, BisectionSpec, Event, Machine, Position, Range, Status, Task};
///
/// // 14 commits between the ends; the one at offset 9 makes it slower.
/// let slow_from = |commit| match commit {
///     Position::Lower => false,
///     Position::Higher => true,
///     Position::Within { offset, .. } => offset >= 9,
/// };
/// let mut search = Bisection::new(BisectionSpec::new(Range::Counted { between: 14 }))?;
/// while search.outcome().is_none() {
///     for action in search.poll() {
///         let event = match action.task {
///             Task::Build { .. } => Event::built(action.number),
///             Task::Run { commit, index, .. } => {
///                 let time = if slow_from(commit) { 12.0 } else { 10.0 } + 0.01 * f64::from(index % 7);
///                 Event::Ran {
///                     action: action.number,
///                     bot: None,
///                     started: 0,
///                     values: BTreeMap::from([("time".to_owned(), vec![time])]),
///                 }
///             }
///             other => unreachable!("{other:?}"),
///         };
///         search.handle(event)?;
///     }
/// }
/// let outcome = search.outcome().unwrap();
/// assert_eq!(outcome.status, Status::CulpritFound);
/// assert_eq!(outcome.culprits[0].commit, Position::Within { range: 0, offset: 9 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bisection {
    spec: BisectionSpec,
    state: SearchState,
    strategy: StrategyState,
    /// The reason why the search is over, while the last actions are being ended.
    ending: Option<Stopped>,
    outcome: Option<Outcome>,
}

#[derive(Debug, Clone)]
enum StrategyState {
    Adaptive(Box<AdaptiveSearch>),
    Pinpoint(PinpointSearch),
}

impl StrategyState {
    fn new(spec: &BisectionSpec, state: &mut SearchState) -> Self {
        match spec.strategy {
            Strategy::Adaptive => Self::Adaptive(Box::new(AdaptiveSearch::new(spec, state))),
            Strategy::Pinpoint => Self::Pinpoint(PinpointSearch::new(spec, state)),
        }
    }

    fn get(&self) -> &dyn SearchStrategy {
        match self {
            Self::Adaptive(search) => search.as_ref(),
            Self::Pinpoint(search) => search,
        }
    }

    fn get_mut(&mut self) -> &mut dyn SearchStrategy {
        match self {
            Self::Adaptive(search) => search.as_mut(),
            Self::Pinpoint(search) => search,
        }
    }
}

impl Bisection {
    /// A search, ready to be polled.
    pub fn new(spec: BisectionSpec) -> Result<Self, SpecError> {
        check(&spec)?;
        let mut state = SearchState::new(&spec);
        let strategy = StrategyState::new(&spec, &mut state);
        Ok(Self {
            spec,
            state,
            strategy,
            ending: None,
            outcome: None,
        })
    }

    /// Restores a search from its events.
    ///
    /// Cost: that of the search itself, without its builds and runs.
    pub fn replay(
        spec: BisectionSpec,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Self, ReplayError> {
        let mut machine = Self::new(spec)?;
        for event in events {
            machine.handle(event)?;
        }
        Ok(machine)
    }

    /// The spec.
    pub fn spec(&self) -> &BisectionSpec {
        &self.spec
    }

    /// Every comparison so far, as [`Outcome::comparisons`] orders them.
    pub fn comparisons(&self) -> Vec<Comparison> {
        self.strategy.get().comparisons()
    }

    /// The progress of the search.
    pub fn progress(&self) -> Progress {
        let measured = self
            .state
            .commits()
            .filter(|(_, commit)| commit.build == BuildState::Built)
            .map(|(position, commit)| MeasuredCommit {
                commit: position,
                runs: commit.runs(),
                failures: commit.failures(),
                median: pinpoint_compare::median(&commit.values()),
            })
            .collect();
        Progress {
            runs: self.state.runs(),
            builds: self.state.builds(),
            runs_to_come: self.state.runs_under_way()
                + self.strategy.get().runs_to_come(&self.state),
            measured,
            open: self.strategy.get().open_ranges(),
        }
    }

    /// The commits that were asked for, with their runs.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (Position, &Measured)> {
        self.state.commits()
    }

    /// The probability of each commit to be the culprit, as of the last
    /// decision; absent where the strategy keeps no probabilities, and before
    /// the ends are measured.
    ///
    /// Cost: proportional to the number of measured commits.
    pub fn posterior(&self) -> Option<Posterior> {
        self.strategy.get().posterior()
    }

    fn conclude(&mut self, stopped: Stopped) {
        self.ending = Some(stopped);
        self.strategy.get_mut().stop(&self.state);
        self.state.cancel_all();
    }

    /// Ends it from outside, as a machine composed of others does.
    pub(crate) fn stop(&mut self, stopped: Stopped) {
        if self.ending.is_none() {
            self.conclude(stopped);
        }
    }

    /// Returned for an end that can't be measured, a range that can't be listed, or
    /// weights for a range of another length.
    fn failure(&self) -> Option<Stopped> {
        // Changes hidden between two neighbors are searched for elsewhere, too.
        if let Some(reason) = self.state.unlisted(0) {
            return Some(Stopped::failed(reason));
        }
        if let Some(error) = (self.spec.priors.as_ref())
            .zip(self.state.count(0))
            .and_then(|(priors, between)| check_length(priors, between).err())
        {
            return Some(Stopped::failed(error));
        }
        [Position::Lower, Position::Higher]
            .into_iter()
            .find_map(|end| match &self.state.get(end)?.build {
                BuildState::Skipped(reason) => Some(Stopped::Failed {
                    commit: Some(end),
                    reason: reason.clone(),
                }),
                _ => None,
            })
            .or_else(|| self.failing_ends())
            .or_else(|| self.broken_down())
    }

    /// More runs of a benchmark that stopped working give no information. The
    /// reference compares the rates of failure, and makes few runs.
    fn broken_down(&self) -> Option<Stopped> {
        if self.spec.strategy != Strategy::Adaptive {
            return None;
        }
        let reason = self.state.broken_down()?;
        Some(Stopped::Failed {
            commit: self.unmeasured().first().map(|end| end.commit),
            reason,
        })
    }

    /// The ends none of whose runs gave a value.
    fn unmeasured(&self) -> Vec<Unmeasured> {
        [Position::Lower, Position::Higher]
            .into_iter()
            .filter_map(|commit| {
                let end = self.state.get(commit).filter(|end| end.only_failed())?;
                Some(Unmeasured {
                    commit,
                    runs: end.runs(),
                    reason: end.failure().map(str::to_owned),
                })
            })
            .collect()
    }

    /// The reason to stop if all first runs of both ends failed, so that their values are unknown.
    /// The reference compares the rates of failure instead.
    fn failing_ends(&self) -> Option<Stopped> {
        if self.spec.strategy != Strategy::Adaptive {
            return None;
        }
        let first = AdaptiveSearch::first_runs(&self.spec);
        match &self.unmeasured()[..] {
            [good, bad] if good.runs.min(bad.runs) >= first => Some(Stopped::failed(format_args!(
                "the benchmark fails at both ends: none of {} and {} runs gave a value{}",
                good.runs,
                bad.runs,
                of_the_first(good),
            ))),
            _ => None,
        }
    }

    /// The reason for the end when nothing is left to decide. Only ends that gave values can show
    /// that there is no regression.
    fn decided(&self) -> Stopped {
        match &self.unmeasured()[..] {
            [end, ..] if self.says_nothing(&self.strategy.get().candidates()) => Stopped::Failed {
                commit: Some(end.commit),
                reason: format!(
                    "none of its {} runs gave a value{}",
                    end.runs,
                    of_the_first(end)
                ),
            },
            _ => Stopped::Decided,
        }
    }

    /// The search found nothing, but can't exclude a change, as the values of the two
    /// ends were never compared.
    fn says_nothing(&self, candidates: &[Position]) -> bool {
        self.spec.strategy == Strategy::Adaptive
            && candidates.is_empty()
            && !self.unmeasured().is_empty()
            && (self.strategy.get().culprits(&self.state)).is_ok_and(|culprits| culprits.is_empty())
    }

    /// Returns true if a large change is still possible, although none was found and no magnitude
    /// was given.
    fn hides_large_change(&self, posterior: Option<&Posterior>) -> bool {
        let largest = posterior.and_then(|posterior| posterior.largest_change?.relative);
        // Outcomes of earlier versions stay as they were.
        self.spec.version >= 5
            && self.spec.magnitude.is_none()
            && largest.is_some_and(|largest| largest > LARGE_CHANGE)
    }

    /// Adds the failure reasons of runs: of the commit next to the change, or of the end if none of
    /// its runs failed.
    fn say_why(&self, culprit: &mut Culprit) {
        let why = |rate: f64, commits: [Position; 2]| {
            (commits.iter().filter(|_| rate > 0.0))
                .find_map(|commit| self.state.get(*commit)?.common_failure())
        };
        let effect = &mut culprit.effect;
        // Outcomes of earlier versions stay as they were.
        if effect.of == EffectOf::Failures && self.spec.version >= 5 {
            effect.before_failure = why(effect.before, [culprit.prior, Position::Lower]);
            effect.after_failure = why(effect.after, [culprit.commit, Position::Higher]);
        }
    }

    fn summarise(&self, stopped: Stopped) -> Outcome {
        let (mut culprits, stopped) = match self.strategy.get().culprits(&self.state) {
            Ok(culprits) => (culprits, stopped),
            Err(error) => (Vec::new(), Stopped::failed(error)),
        };
        for culprit in &mut culprits {
            self.say_why(culprit);
        }
        // In a search that ends before its commits are listed, all of them are candidates.
        let is_listed = !self.state.is_being_listed(0);
        let candidates = match is_listed {
            true => self.strategy.get().candidates(),
            false => Vec::new(),
        };
        let says_nothing = !is_listed || self.says_nothing(&candidates);
        let unmeasured = match &culprits[..] {
            [] => self.unmeasured(),
            _ => Vec::new(),
        };
        let stopped = match (stopped, self.state.any_unlisted()) {
            (Stopped::Decided, Some(reason)) if !candidates.is_empty() => Stopped::Unlisted {
                reason: reason.to_owned(),
            },
            (stopped, _) => stopped,
        };
        // With failures alone, it is not the probability of a change.
        let posterior = (unmeasured.is_empty())
            .then(|| self.strategy.get().posterior())
            .flatten();
        let is_too_noisy = stopped == Stopped::Decided
            && culprits.is_empty()
            && candidates.is_empty()
            && self.hides_large_change(posterior.as_ref());
        let stopped = if is_too_noisy {
            Stopped::TooNoisy
        } else {
            stopped
        };
        let status = match &stopped {
            Stopped::Failed { .. } => Status::Failed,
            Stopped::Canceled => Status::Canceled,
            Stopped::TooNoisy => Status::Inconclusive,
            _ if !culprits.is_empty() => Status::CulpritFound,
            _ if candidates.is_empty() && !says_nothing => Status::NoRegression,
            _ => Status::Inconclusive,
        };
        let mended = self.strategy.get().mended(&self.state);
        let skipped = self
            .state
            .commits()
            .filter_map(|(commit, measured)| {
                let reason = match &measured.build {
                    BuildState::Skipped(reason) => reason.clone(),
                    _ if mended.contains(&commit) => measured.only_failed_because(),
                    _ => return None,
                };
                Some(Skipped { commit, reason })
            })
            .collect();
        Outcome {
            version: OUTCOME_VERSION,
            status,
            stopped,
            culprits,
            candidates,
            posterior,
            comparisons: self.strategy.get().comparisons(),
            unchanged: self.strategy.get().unchanged(),
            skipped,
            unmeasured,
            runs: self.state.runs(),
            builds: self.state.builds(),
        }
    }
}

impl Machine for Bisection {
    type Outcome = Outcome;

    fn poll(&mut self) -> Vec<Action> {
        self.state.poll()
    }

    fn handle(&mut self, event: Event) -> Result<(), MachineError> {
        if self.outcome.is_some() {
            return Ok(());
        }
        match event {
            Event::CancelRequested if self.ending.is_none() => self.conclude(Stopped::Canceled),
            Event::TimePassed { elapsed }
                if self.ending.is_none()
                    && self.spec.max_time.is_some_and(|most| elapsed >= most) =>
            {
                self.conclude(Stopped::TimeBudget);
            }
            Event::CancelRequested | Event::TimePassed { .. } => {}
            answer => {
                if !self.state.handle(answer)? {
                    return Ok(());
                }
            }
        }
        if self.ending.is_none() {
            if let Some(failure) = self.failure() {
                self.conclude(failure);
            } else {
                match self.strategy.get_mut().advance(&mut self.state) {
                    Ok(false) if !self.state.is_idle() => {}
                    // A strategy that asks for nothing more would wait forever.
                    Ok(false) => self.conclude(
                        self.strategy
                            .get()
                            .exhausted()
                            .unwrap_or(Exhausted::Knowledge)
                            .into(),
                    ),
                    Ok(true) => self.conclude(
                        (self.strategy.get().exhausted())
                            .map_or_else(|| self.decided(), Stopped::from),
                    ),
                    Err(error) => self.conclude(Stopped::failed(error)),
                }
            }
        }
        if self.state.is_idle()
            && let Some(stopped) = self.ending.clone()
        {
            self.outcome = Some(self.summarise(stopped));
        }
        Ok(())
    }

    fn outstanding(&self) -> Vec<Action> {
        self.state.outstanding()
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    fn ends(&self) -> Option<(&CombinedCommit, &CombinedCommit)> {
        match &self.spec.range {
            Range::Between { good, bad } => Some((good, bad)),
            Range::Counted { .. } => None,
        }
    }

    fn name_culprits(outcome: &mut Outcome, names: &CommitNames) {
        for culprit in &mut outcome.culprits {
            culprit.name(names);
        }
    }

    fn charts(&self) -> Charts {
        Charts::Deciding(self.spec.chart.clone())
    }

    fn retry(&self) -> &RetryPolicy {
        &self.spec.retry
    }

    fn max_time(&self) -> Option<u64> {
        self.spec.max_time
    }

    fn aggregate(&self) -> Option<Aggregate> {
        self.spec.aggregate
    }

    fn limits(&self) -> &Limits {
        &self.spec.limits
    }
}

fn of_the_first(end: &Unmeasured) -> String {
    (end.reason.as_ref()).map_or_else(String::new, |reason| format!("; the first: {reason}"))
}

/// The progress of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Runs made so far.
    pub runs: u64,
    /// Commits built so far.
    pub builds: u64,
    /// Runs that the search still expects to make, at least.
    pub runs_to_come: u64,
    /// Commits that can be run, in the order of [`Position`].
    pub measured: Vec<MeasuredCommit>,
    /// The ranges still searched for a culprit, oldest first.
    pub open: Vec<OpenRange>,
}

/// A commit with its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCommit {
    /// The commit.
    pub commit: Position,
    /// Its runs, failed ones included.
    pub runs: u32,
    /// The number of them that failed.
    pub failures: u32,
    /// The median of its values, once it has some.
    pub median: Option<f64>,
}

/// A stored search can't be replayed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Its spec is refused.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Its events are not a possible history of this spec.
    #[error("the journal does not fit the search: {0}")]
    Machine(#[from] MachineError),
}

/// Runs of both ends before they are first compared: the least that a search
/// takes.
pub(crate) fn first_runs(spec: &BisectionSpec) -> u64 {
    2 * u64::from(match spec.strategy {
        Strategy::Adaptive => AdaptiveSearch::first_runs(spec),
        Strategy::Pinpoint => PinpointSearch::first_total(spec),
    })
}

fn check(spec: &BisectionSpec) -> Result<(), SpecError> {
    if !(1..=SPEC_VERSION).contains(&spec.version) {
        return Err(SpecError::Version {
            found: spec.version,
        });
    }
    if !(spec.confidence > 0.0 && spec.confidence < 1.0) {
        return Err(SpecError::Confidence(spec.confidence));
    }
    if let Some(Magnitude::Absolute(magnitude) | Magnitude::Percent(magnitude)) = spec.magnitude
        && !magnitude.is_finite()
    {
        return Err(SpecError::Magnitude(magnitude));
    }
    if let Some(found) = spec.attempts
        && !(1..=SpecError::MOST_ATTEMPTS).contains(&found)
    {
        return Err(SpecError::Attempts { found });
    }
    if !(spec.build_cost.is_finite() && spec.build_cost >= 0.0) {
        return Err(SpecError::BuildCost(spec.build_cost));
    }
    if let Some(priors) = &spec.priors {
        check_priors(priors, &spec.range)?;
    }
    for (what, needed, allowed) in [
        ("runs", first_runs(spec), spec.max_runs),
        ("builds", 2, spec.max_builds),
    ] {
        if let Some(allowed) = allowed.filter(|allowed| *allowed < needed) {
            return Err(SpecError::Budget {
                what,
                needed,
                allowed,
            });
        }
    }
    spec.limits.check()?;
    spec.retry.check()?;
    match &spec.range {
        Range::Between { good, bad } if good == bad => Err(SpecError::SameEnds),
        Range::Counted { between } if *between > SpecError::MOST_COMMITS => {
            Err(SpecError::Commits { found: *between })
        }
        _ => Ok(()),
    }
}

fn check_priors(priors: &[f64], range: &Range) -> Result<(), SpecError> {
    if let Range::Counted { between } = range {
        check_length(priors, *between)?;
    }
    let wrong = (priors.iter()).position(|weight| !(weight.is_finite() && *weight >= 0.0));
    if let Some(index) = wrong {
        return Err(SpecError::Prior {
            index,
            value: priors[index],
        });
    }
    let sum: f64 = priors.iter().sum();
    if sum.is_finite() && sum > 0.0 {
        Ok(())
    } else {
        Err(SpecError::PriorsSum)
    }
}

/// A weight for each commit between the ends, and for the bad end.
fn check_length(priors: &[f64], between: u64) -> Result<(), SpecError> {
    if priors.len() as u64 == between.saturating_add(1) {
        Ok(())
    } else {
        Err(SpecError::PriorsLength {
            found: priors.len(),
            expected: between.saturating_add(1),
        })
    }
}

//! The machine that verifies, bisects, and verifies each culprit.

use std::collections::BTreeMap;

use super::outcome::{CULPRIT_FINDER_OUTCOME_VERSION, CheckedCulprit, CulpritFinderOutcome};
use super::routes::{Part, Routes};
use super::spec::CulpritFinderSpec;
use crate::aggregate::Aggregate;
use crate::budget::{BudgetedActions, Exhausted};
use crate::machine::{Charts, Machine, MachineError};
use crate::{
    Action, Bisection, BisectionSpec, CombinedCommit, CommitNames, Culprit, Event, Limits,
    Magnitude, Outcome, Pairwise, PairwiseOutcome, PairwiseSpec, PairwiseStatus, Position,
    RetryPolicy, SpecError, Status, Stopped, Task,
};

/// Finds the commits that made a benchmark slower, and checks each.
///
/// 1. A [`Pairwise`] comparison of the two ends. No difference, or one for the
///    better: it ends there.
/// 2. A [`Bisection`], whose magnitude is the difference of medians just verified
///    unless one was given, and which uses the runs made so far.
/// 3. A [`Pairwise`] comparison of every culprit with its parent, all at once.
///    Those that do not differ are reported as unconfirmed.
///
/// ```
/// use std::collections::BTreeMap;
/// use pinpoint_core::{
///     CulpritFinder, CulpritFinderSpec, Event, Machine, PairedRun, Position, Range, Status, Task,
/// };
///
/// // 14 commits between the ends; the one at offset 9 makes it slower.
/// let values = |commit, index: u32| {
///     let slow = match commit {
///         Position::Lower => false,
///         Position::Higher => true,
///         Position::Within { offset, .. } => offset >= 9,
///     };
///     let time = if slow { 12.0 } else { 10.0 } + 0.01 * f64::from(index * 7 % 11);
///     BTreeMap::from([("time".to_owned(), vec![time])])
/// };
/// let paired = |commit, index| PairedRun {
///     started: 0,
///     values: values(commit, index),
///     failure: None,
/// };
/// let mut finder = CulpritFinder::new(CulpritFinderSpec::new(Range::Counted { between: 14 }))?;
/// while finder.outcome().is_none() {
///     for action in finder.poll() {
///         let number = action.number;
///         finder.handle(match action.task {
///             Task::Build { .. } => Event::built(number),
///             Task::Run { commit, index, .. } => Event::Ran {
///                 action: number,
///                 bot: None,
///                 started: 0,
///                 values: values(commit, index),
///             },
///             Task::RunPair { first, second, index, .. } => Event::RanPair {
///                 action: number,
///                 bot: None,
///                 first: paired(first, index),
///                 second: paired(second, index),
///             },
///             other => unreachable!("{other:?}"),
///         })?;
///     }
/// }
/// let outcome = finder.outcome().unwrap();
/// assert_eq!(outcome.status, Status::CulpritFound);
/// let culprit = &outcome.culprits[0].culprit;
/// assert_eq!(culprit.commit, Position::Within { range: 0, offset: 9 });
/// assert_eq!(outcome.reused_runs, 60);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CulpritFinder {
    spec: CulpritFinderSpec,
    /// Its budget is that of all parts together.
    actions: BudgetedActions,
    routes: Routes,
    verification: Pairwise,
    bisection: Option<Bisection>,
    /// One for each culprit of the search, once that is over.
    confirmations: Option<Vec<Confirmation>>,
    /// The build event of each commit that can be run.
    built: BTreeMap<Position, Event>,
    reused_runs: u64,
    outcome: Option<CulpritFinderOutcome>,
}

/// A culprit of the search.
#[derive(Debug, Clone)]
struct Confirmation {
    culprit: Culprit,
    by: ConfirmedBy,
}

#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are as many as culprits, which is few"
)]
enum ConfirmedBy {
    /// A separate comparison.
    Comparison(Pairwise),
    /// The comparison of the ends, which are this culprit and its parent.
    Verification,
    /// No comparison: there is no budget left.
    Nothing,
}

impl CulpritFinder {
    /// A search, ready to be polled.
    pub fn new(spec: CulpritFinderSpec) -> Result<Self, SpecError> {
        spec.check()?;
        // A search that can't be carried out is refused now, not after the
        // verification.
        Bisection::new(spec.bisection.clone())?;
        let mut finder = Self {
            actions: BudgetedActions::new(spec.bisection.max_runs, spec.bisection.max_builds),
            routes: Routes::default(),
            verification: Pairwise::new(spec.verification())?,
            bisection: None,
            confirmations: None,
            built: BTreeMap::new(),
            reused_runs: 0,
            outcome: None,
            spec,
        };
        for action in finder.verification.poll() {
            // The two builds of the ends, which the search is known to be allowed.
            (finder.open(Part::Verification, action)).map_err(|_| SpecError::Budget {
                what: "builds",
                needed: 2,
                allowed: finder.spec.bisection.max_builds.unwrap_or(u64::MAX),
            })?;
        }
        Ok(finder)
    }

    /// The spec.
    pub fn spec(&self) -> &CulpritFinderSpec {
        &self.spec
    }

    /// The comparison of the ends.
    pub fn verification(&self) -> &Pairwise {
        &self.verification
    }

    /// The search, once the regression is verified.
    pub fn bisection(&self) -> Option<&Bisection> {
        self.bisection.as_ref()
    }

    /// The culprits of the search, once it is over, each with its separate comparison, if there is
    /// one.
    pub fn confirmations(&self) -> impl Iterator<Item = (&Culprit, Option<&Pairwise>)> {
        self.confirmations.iter().flatten().map(|confirmation| {
            let comparison = match &confirmation.by {
                ConfirmedBy::Comparison(comparison) => Some(comparison),
                ConfirmedBy::Verification | ConfirmedBy::Nothing => None,
            };
            (&confirmation.culprit, comparison)
        })
    }

    /// Runs made so far, each counted once.
    pub fn runs(&self) -> u64 {
        let confirmations: u64 = (self.confirmations())
            .filter_map(|(_, comparison)| Some(2 * u64::from(comparison?.pairs_done())))
            .sum();
        let search = (self.bisection.as_ref()).map_or(0, |bisection| bisection.progress().runs);
        2 * u64::from(self.verification.pairs_done()) + search - self.reused_runs + confirmations
    }

    /// Commits built so far, each counted once.
    pub fn builds(&self) -> u64 {
        let made = |event: &&Event| matches!(event, Event::Built { same: false, .. });
        self.built.values().filter(made).count() as u64
    }

    /// Opens an action of a part under a number of the whole.
    fn open(&mut self, part: Part, action: Action) -> Result<(), Exhausted> {
        let task = match action.task {
            Task::FindMetric { .. } | Task::List { .. } => action.task,
            Task::Build { commit } => Task::Build {
                commit: self.outside(part, commit),
            },
            Task::Run { commit, index, bot } => Task::Run {
                commit: self.outside(part, commit),
                index,
                bot,
            },
            Task::RunPair {
                first,
                second,
                index,
                bot,
            } => Task::RunPair {
                first: self.outside(part, first),
                second: self.outside(part, second),
                index,
                bot,
            },
            Task::Cancel { action: inner } => {
                // `answer_from_memory` has answered those that have none.
                let ended = self.routes.number(part, inner).unwrap_or(inner);
                self.actions.close(ended);
                self.routes.remove(ended);
                Task::Cancel { action: ended }
            }
        };
        let number = self.actions.open(task)?;
        self.routes.add(number, part, action.number);
        Ok(())
    }

    /// Ends a part for which the budget of the whole is not enough.
    fn stop(&mut self, part: Part, exhausted: Exhausted) {
        let stopped = exhausted.into();
        match part {
            Part::Verification => self.verification.stop(stopped),
            Part::Bisection => {
                if let Some(bisection) = &mut self.bisection {
                    bisection.stop(stopped);
                }
            }
            Part::Confirmation(place) => {
                if let Some(comparison) = self.confirmation_mut(place) {
                    comparison.stop(stopped);
                }
            }
        }
    }

    /// A part's position as one of the whole: the ends of a confirmation are a
    /// culprit and its parent.
    fn outside(&self, part: Part, position: Position) -> Position {
        let Part::Confirmation(place) = part else {
            return position;
        };
        let culprit = (self.confirmations.as_ref()).and_then(|all| all.get(place));
        match (culprit, position) {
            (Some(confirmation), Position::Lower) => confirmation.culprit.prior,
            (Some(confirmation), Position::Higher) => confirmation.culprit.commit,
            _ => position,
        }
    }

    /// The answer to an action that needs no work.
    fn answer_from_memory(&mut self, part: Part, action: &Action) -> Option<Event> {
        match &action.task {
            Task::Build { commit } => {
                let built = self.built.get(&self.outside(part, *commit))?;
                Some(built.clone().answering(action.number))
            }
            Task::Run { commit, index, .. } if !matches!(commit, Position::Within { .. }) => {
                let (bot, run) = (self.verification.runs_of(*commit)).nth(*index as usize)?;
                self.reused_runs += 1;
                let bot = bot.map(str::to_owned);
                Some(match &run.failure {
                    None => Event::Ran {
                        action: action.number,
                        bot,
                        started: run.started,
                        values: run.values.clone(),
                    },
                    Some(reason) => Event::RunFailed {
                        action: action.number,
                        bot,
                        started: run.started,
                        reason: reason.clone(),
                    },
                })
            }
            // It was canceled before it was handed out.
            Task::Cancel { action: ended } if self.routes.number(part, *ended).is_none() => {
                Some(Event::Canceled {
                    action: action.number,
                })
            }
            _ => None,
        }
    }

    fn report(&mut self, part: Part, event: Event) -> Result<(), MachineError> {
        match part {
            Part::Verification => self.verification.handle(event),
            Part::Bisection => (self.bisection.as_mut()).map_or(Ok(()), |it| it.handle(event)),
            Part::Confirmation(place) => match self.confirmation_mut(place) {
                Some(comparison) => comparison.handle(event),
                None => Ok(()),
            },
        }
    }

    fn poll_part(&mut self, part: Part) -> Vec<Action> {
        match part {
            Part::Verification => self.verification.poll(),
            Part::Bisection => (self.bisection.as_mut()).map_or_else(Vec::new, Machine::poll),
            Part::Confirmation(place) => {
                (self.confirmation_mut(place)).map_or_else(Vec::new, Machine::poll)
            }
        }
    }

    fn confirmation_mut(&mut self, place: usize) -> Option<&mut Pairwise> {
        match &mut self.confirmations.as_mut()?.get_mut(place)?.by {
            ConfirmedBy::Comparison(comparison) => Some(comparison),
            ConfirmedBy::Verification | ConfirmedBy::Nothing => None,
        }
    }

    /// Opens the actions of a part.
    fn forward(&mut self, part: Part) -> Result<(), MachineError> {
        loop {
            let actions = self.poll_part(part);
            if actions.is_empty() {
                return Ok(());
            }
            let mut is_stopped = false;
            for action in actions {
                // A part that is stopped has ended its own actions.
                if is_stopped && !matches!(action.task, Task::Cancel { .. }) {
                    continue;
                }
                if let Some(event) = self.answer_from_memory(part, &action) {
                    self.report(part, event)?;
                } else if let Err(exhausted) = self.open(part, action) {
                    self.stop(part, exhausted);
                    is_stopped = true;
                }
            }
        }
    }

    /// Every part. One that is over ignores events.
    fn parts(&self) -> Vec<Part> {
        let confirmations = self.confirmations.as_ref().map_or(0, Vec::len);
        [Part::Verification, Part::Bisection]
            .into_iter()
            .chain((0..confirmations).map(Part::Confirmation))
            .collect()
    }

    /// Begins the next part when one is over.
    fn advance(&mut self) -> Result<(), MachineError> {
        let Some(verification) = self.verification.outcome() else {
            return Ok(());
        };
        if self.bisection.is_none() {
            // A difference may be seen before the time is over, and too late.
            if verification.status != PairwiseStatus::Different
                || verification.stopped != Stopped::Decided
            {
                self.conclude(verification.stopped.clone());
                return Ok(());
            }
            match Bisection::new(self.search(verification)) {
                Ok(bisection) => self.bisection = Some(bisection),
                // Repeating lost answers used up the budget of the search.
                Err(SpecError::Budget { .. }) => {
                    self.conclude(Stopped::RunBudget);
                    return Ok(());
                }
                Err(error) => {
                    self.conclude(Stopped::failed(error));
                    return Ok(());
                }
            }
            self.forward(Part::Bisection)?;
        }
        let Some(outcome) = self.bisection.as_ref().and_then(Machine::outcome) else {
            return Ok(());
        };
        if self.confirmations.is_none() {
            if let Stopped::Failed { .. } | Stopped::Canceled | Stopped::TimeBudget =
                outcome.stopped
            {
                self.conclude(outcome.stopped.clone());
                return Ok(());
            }
            self.confirmations = Some(self.confirmations_of(outcome));
            for part in self.parts() {
                self.forward(part)?;
            }
        }
        let ended: Option<Vec<Stopped>> = (self.confirmations())
            .filter_map(|(_, comparison)| comparison)
            .map(|comparison| Some(comparison.outcome()?.stopped.clone()))
            .collect();
        let Some(ended) = ended else {
            return Ok(());
        };
        let early = (ended.into_iter()).find(|stopped| {
            matches!(
                stopped,
                Stopped::Canceled | Stopped::TimeBudget | Stopped::RunBudget | Stopped::BuildBudget
            )
        });
        let search = self.bisection.as_ref().and_then(Machine::outcome);
        let search = search.map_or(Stopped::Decided, |outcome| outcome.stopped.clone());
        self.conclude(early.unwrap_or(search));
        Ok(())
    }

    /// The search for the regression just verified.
    fn search(&self, verification: &PairwiseOutcome) -> BisectionSpec {
        let verified = (verification.charts.iter()).find_map(|chart| {
            let comparison = chart.comparison.as_ref().filter(|_| chart.moved())?;
            let difference = comparison.treatment_median - comparison.control_median;
            // The difference of two medians may exceed the largest number.
            Some(Magnitude::Absolute(difference.abs().min(f64::MAX)))
        });
        let spec = &self.spec.bisection;
        let known = [Position::Lower, Position::Higher]
            .map(|end| self.verification.runs_of(end).count() as u32);
        let attempts = self.spec.attempts(known[0].min(known[1]));
        let reused: u64 = known
            .iter()
            .map(|known| u64::from(attempts.min(*known)))
            .sum();
        BisectionSpec {
            magnitude: spec.magnitude.or(verified),
            attempts: Some(attempts),
            // One verification is made, and the budget of another one is kept back.
            max_runs: (self.actions.runs_left())
                .map(|left| left.saturating_add(reused))
                .map(|left| left.saturating_sub(self.spec.verification_runs())),
            // The ends are built.
            max_builds: (self.actions.builds_left()).map(|left| left.saturating_add(2)),
            ..spec.clone()
        }
    }

    fn confirmations_of(&self, outcome: &Outcome) -> Vec<Confirmation> {
        let each = self.spec.verification_runs();
        let mut left = self.actions.runs_left();
        (outcome.culprits.iter().zip(1..))
            .map(|(culprit, place)| {
                let by = if (culprit.prior, culprit.commit) == (Position::Lower, Position::Higher) {
                    ConfirmedBy::Verification
                } else if left.is_some_and(|left| left < each) {
                    ConfirmedBy::Nothing
                } else {
                    left = left.map(|left| left - each);
                    let spec = PairwiseSpec {
                        sides: None,
                        seed: self.spec.bisection.seed.wrapping_add(place),
                        ..self.spec.verification()
                    };
                    // The spec is that of the verification, which was valid.
                    Pairwise::new(spec).map_or(ConfirmedBy::Nothing, ConfirmedBy::Comparison)
                };
                Confirmation {
                    culprit: culprit.clone(),
                    by,
                }
            })
            .collect()
    }

    fn conclude(&mut self, stopped: Stopped) {
        let Some(verification) = self.verification.outcome().cloned() else {
            return;
        };
        let bisection = self.bisection.as_ref().and_then(Machine::outcome).cloned();
        let checked: Vec<CheckedCulprit> = match &self.confirmations {
            Some(confirmations) => (confirmations.iter())
                .map(|Confirmation { culprit, by }| CheckedCulprit {
                    culprit: culprit.clone(),
                    comparison: match by {
                        ConfirmedBy::Comparison(comparison) => comparison.outcome().cloned(),
                        ConfirmedBy::Verification => Some(verification.clone()),
                        ConfirmedBy::Nothing => None,
                    },
                    reused: matches!(by, ConfirmedBy::Verification),
                })
                .collect(),
            None => (bisection.iter())
                .flat_map(|outcome| &outcome.culprits)
                .map(|culprit| CheckedCulprit {
                    culprit: culprit.clone(),
                    comparison: None,
                    reused: false,
                })
                .collect(),
        };
        let (culprits, unconfirmed): (Vec<_>, Vec<_>) = checked.into_iter().partition(|checked| {
            (checked.comparison.as_ref())
                .is_some_and(|comparison| comparison.status == PairwiseStatus::Different)
        });
        let status = match (&stopped, verification.status) {
            (Stopped::Failed { .. }, _) => Status::Failed,
            (Stopped::Canceled, _) => Status::Canceled,
            (_, PairwiseStatus::Same) => Status::NoRegression,
            _ if !culprits.is_empty() => Status::CulpritFound,
            _ => Status::Inconclusive,
        };
        self.outcome = Some(CulpritFinderOutcome {
            version: CULPRIT_FINDER_OUTCOME_VERSION,
            status,
            stopped,
            verification,
            bisection,
            culprits,
            unconfirmed,
            reused_runs: self.reused_runs,
            runs: self.runs(),
            builds: self.builds(),
        });
    }
}

impl Machine for CulpritFinder {
    type Outcome = CulpritFinderOutcome;

    fn poll(&mut self) -> Vec<Action> {
        self.actions.poll()
    }

    fn handle(&mut self, event: Event) -> Result<(), MachineError> {
        if self.outcome.is_some() {
            return Ok(());
        }
        if let Some(number) = event.action() {
            let Some((part, inner)) = self.routes.get(number) else {
                return Ok(());
            };
            let built = matches!(event, Event::Built { .. }).then(|| event.clone());
            self.report(part, event.answering(inner))
                .map_err(|error| error.about(number))?;
            self.routes.remove(number);
            if let (Some(Task::Build { commit }), Some(built)) = (self.actions.close(number), built)
            {
                self.built.insert(commit, built);
            }
            self.forward(part)?;
        } else {
            for part in self.parts() {
                self.report(part, event.clone())?;
                self.forward(part)?;
            }
        }
        self.advance()
    }

    fn outstanding(&self) -> Vec<Action> {
        self.actions.outstanding()
    }

    fn outcome(&self) -> Option<&CulpritFinderOutcome> {
        self.outcome.as_ref()
    }

    fn ends(&self) -> Option<(&CombinedCommit, &CombinedCommit)> {
        self.verification.ends()
    }

    fn name_culprits(outcome: &mut CulpritFinderOutcome, names: &CommitNames) {
        let checked = outcome.culprits.iter_mut().chain(&mut outcome.unconfirmed);
        let searched = outcome.bisection.iter_mut();
        checked
            .map(|checked| &mut checked.culprit)
            .chain(searched.flat_map(|search| &mut search.culprits))
            .for_each(|culprit| culprit.name(names));
    }

    fn charts(&self) -> Charts {
        Charts::Deciding(self.spec.bisection.chart.clone())
    }

    fn retry(&self) -> &RetryPolicy {
        &self.spec.bisection.retry
    }

    fn max_time(&self) -> Option<u64> {
        self.spec.bisection.max_time
    }

    fn aggregate(&self) -> Option<Aggregate> {
        self.spec.bisection.aggregate
    }

    fn limits(&self) -> &Limits {
        &self.spec.bisection.limits
    }
}

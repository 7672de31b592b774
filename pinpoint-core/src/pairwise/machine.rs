//! The machine that compares two commits in pairs of runs.

use pinpoint_compare::CompareError;

use super::columns::Columns;
use super::comparison::{Findings, Pair};
use super::early_stopping::EarlyStopping;
use super::outcome::{PAIRWISE_OUTCOME_VERSION, PairwiseOutcome, PairwiseStatus};
use super::spec::PairwiseSpec;
use crate::aggregate::Aggregate;
use crate::machine::{Charts, Machine, MachineError, OpenActions};
use crate::random::SplitMix64;
use crate::rotation::Rotation;
use crate::search_state::LOST_IN_A_ROW;
use crate::{
    Action, CombinedCommit, Event, Limits, PairedRun, Position, RetryPolicy, SpecError, Stopped,
    Task, Variant,
};

/// Compares two commits in pairs of runs.
///
/// The base is [`Position::Lower`], the experiment [`Position::Higher`]. Both are
/// built; then all pairs are asked for, half of them beginning with the base, in
/// an order decided by the seed.
///
/// # The verdict
///
/// First, it checks for more frequent failures of the experiment
/// ([`compare_functional`](pinpoint_compare::compare_functional)). Else, chart by chart, it
/// compares the values ([`compare_pairwise`](pinpoint_compare::compare_pairwise)): pairs in which a
/// run gave no value for the chart are dropped, and then, earliest first, pairs of the order of
/// which there are more. A chart moved if its p-value, adjusted for the number of charts, is below
/// 0.05. Where so few pairs could not have shown a change of one chart among so many, the status is
/// unknown, and not the same.
///
/// # Early stopping
///
/// With early stopping, the comparison ends once a test that may be looked at
/// after every pair says different with an error rate of 0.01, and the comparison
/// of the pairs so far says so, too. Equal commits are called different in at most
/// 6 % of all cases then, instead of 5 %.
///
/// # Example
///
/// ```
/// use std::collections::BTreeMap;
/// use pinpoint_core::{
///     Event, Machine, PairedRun, Pairwise, PairwiseSpec, PairwiseStatus, Position, Task,
/// };
///
/// let mut comparison = Pairwise::new(PairwiseSpec::unnamed())?;
/// while comparison.outcome().is_none() {
///     for action in comparison.poll() {
///         let event = match action.task {
///             Task::Build { .. } => Event::built(action.number),
///             Task::RunPair { first, second, index, .. } => {
///                 // The experiment takes 1 % longer; the machine slows down all the time.
///                 let run = |side| {
///                     let time = if side == Position::Higher { 10.1 } else { 10.0 };
///                     let time = time + f64::from(index) + 0.001 * f64::from(index * 7 % 11);
///                     let values = BTreeMap::from([("time".to_owned(), vec![time])]);
///                     PairedRun { started: 0, values, failure: None }
///                 };
///                 Event::RanPair {
///                     action: action.number,
///                     bot: None,
///                     first: run(first),
///                     second: run(second),
///                 }
///             }
///             other => unreachable!("{other:?}"),
///         };
///         comparison.handle(event)?;
///     }
/// }
/// let outcome = comparison.outcome().unwrap();
/// assert_eq!(outcome.status, PairwiseStatus::Different);
/// assert_eq!(outcome.charts[0].comparison.as_ref().unwrap().pairs, 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pairwise {
    spec: PairwiseSpec,
    actions: OpenActions,
    /// True for each pair that begins with the base.
    base_first: Vec<bool>,
    /// The pairs by index.
    pairs: Vec<Option<Pair>>,
    columns: Columns,
    builds: u64,
    /// The digests of the builds that were made or found, where they are known.
    digests: Vec<Option<String>>,
    lost: Lost,
    early_stopping: Option<EarlyStopping>,
    /// The reason why it is over, while the last actions are being ended.
    ending: Option<Stopped>,
    outcome: Option<PairwiseOutcome>,
}

/// Answers lost in a row.
#[derive(Debug, Clone, Copy, Default)]
struct Lost {
    base_builds: u32,
    experiment_builds: u32,
    pairs: u32,
}

impl Lost {
    fn of(&mut self, task: &Task) -> &mut u32 {
        match task {
            Task::Build {
                commit: Position::Lower,
            } => &mut self.base_builds,
            Task::Build { .. } => &mut self.experiment_builds,
            _ => &mut self.pairs,
        }
    }
}

impl Pairwise {
    /// A comparison, ready to be polled.
    pub fn new(spec: PairwiseSpec) -> Result<Self, SpecError> {
        spec.check()?;
        let pairs = spec.pairs as usize;
        let mut base_first: Vec<bool> = (0..pairs).map(|index| index < pairs / 2).collect();
        SplitMix64::new(spec.seed).shuffle(&mut base_first);
        let mut actions = OpenActions::default();
        for commit in [Position::Lower, Position::Higher] {
            actions.open(Task::Build { commit });
        }
        Ok(Self {
            // The level is a constant that is one.
            early_stopping: (spec.early_stopping.then(EarlyStopping::new)).and_then(Result::ok),
            spec,
            actions,
            base_first,
            pairs: vec![None; pairs],
            columns: Columns::default(),
            builds: 0,
            digests: Vec::new(),
            lost: Lost::default(),
            ending: None,
            outcome: None,
        })
    }

    /// The spec.
    pub fn spec(&self) -> &PairwiseSpec {
        &self.spec
    }

    /// Pairs that were run so far, failed ones included.
    pub fn pairs_done(&self) -> u32 {
        self.pairs.iter().flatten().count() as u32
    }

    /// Commits that were built so far.
    pub fn builds(&self) -> u64 {
        self.builds
    }

    /// The outcome; of an unfinished comparison, the one that it would have if it were canceled
    /// now.
    ///
    /// Cost: that of comparing all charts.
    pub fn so_far(&self) -> PairwiseOutcome {
        match (&self.outcome, &self.ending) {
            (Some(outcome), _) => outcome.clone(),
            (None, Some(stopped)) => self.summarise(stopped.clone()),
            (None, None) => self.summarise(Stopped::Canceled),
        }
    }

    /// The runs of one side in the order of their pairs, with the bot of each.
    pub(crate) fn runs_of(
        &self,
        side: Position,
    ) -> impl Iterator<Item = (Option<&str>, &PairedRun)> {
        (self.pairs.iter().flatten()).map(move |pair| {
            let run = match side {
                Position::Lower => &pair.base,
                _ => &pair.experiment,
            };
            (pair.bot.as_deref(), run)
        })
    }

    /// Ends it from outside, as a machine composed of others does.
    pub(crate) fn stop(&mut self, stopped: Stopped) {
        if self.ending.is_none() {
            self.conclude(stopped);
        }
    }

    fn conclude(&mut self, stopped: Stopped) {
        self.ending = Some(stopped);
        self.actions.cancel(|_| true);
    }

    fn answer(&mut self, number: u64, event: Event) -> Result<(), MachineError> {
        let Some(task) = self.actions.get(number).cloned() else {
            return Ok(());
        };
        match (&task, event) {
            (Task::Build { .. }, Event::Built { digest, same, .. }) => {
                self.builds += u64::from(!same);
                self.digests.push(digest);
                *self.lost.of(&task) = 0;
                self.actions.close(number);
                if self.digests.len() == 2 && !self.skips_pairs() {
                    self.open_pairs();
                }
            }
            (Task::Build { commit }, Event::BuildFailed { reason, .. }) => {
                self.actions.close(number);
                self.conclude(Stopped::Failed {
                    commit: Some(*commit),
                    reason,
                });
            }
            (
                Task::RunPair { index, .. },
                Event::RanPair {
                    bot, first, second, ..
                },
            ) => {
                self.check(number, &first)?;
                self.check(number, &second)?;
                self.actions.close(number);
                *self.lost.of(&task) = 0;
                let index = *index as usize;
                let base_first = self.base_first[index];
                let (base, experiment) = if base_first {
                    (first, second)
                } else {
                    (second, first)
                };
                let pair = Pair {
                    base_first,
                    bot,
                    base,
                    experiment,
                };
                let only = self.spec.chart.as_deref();
                let is_compared = |chart: &str| only.is_none_or(|only| only == chart);
                self.columns.add(index, &pair, is_compared);
                self.pairs[index] = Some(pair);
                if let Err(error) = self.look() {
                    self.conclude(Stopped::failed(error));
                }
            }
            (Task::Cancel { .. }, Event::Canceled { .. } | Event::GaveUp { .. }) => {
                self.actions.close(number);
            }
            (_, Event::GaveUp { reason, .. }) => {
                self.actions.close(number);
                self.requeue(task, reason);
            }
            (_, event) => return Err(MachineError::wrong_answer(number, &task, &event)),
        }
        Ok(())
    }

    /// Returns true if the two builds are known to be the same, so that there is nothing to run.
    fn skips_pairs(&self) -> bool {
        match &self.digests[..] {
            [Some(one), Some(other)] => self.spec.skip_same_builds && one == other,
            _ => false,
        }
    }

    fn open_pairs(&mut self) {
        let bots = Rotation::new(&self.spec.bots, self.spec.seed);
        // Each order is spread over the bots separately.
        let mut of_order = [0, 0];
        for (index, base_first) in (0..).zip(&self.base_first) {
            let before = &mut of_order[usize::from(*base_first)];
            let bot = bots.at(*before);
            *before += 1;
            let (first, second) = if *base_first {
                (Position::Lower, Position::Higher)
            } else {
                (Position::Higher, Position::Lower)
            };
            self.actions.open(Task::RunPair {
                first,
                second,
                index,
                bot,
            });
        }
    }

    /// Refuses runs without usable values.
    fn check(&self, action: u64, run: &PairedRun) -> Result<(), MachineError> {
        if run.failure.is_some() {
            return Ok(());
        }
        for (chart, values) in &run.values {
            if let Some(&value) = values.iter().find(|value| !value.is_finite()) {
                return Err(MachineError::NotFinite {
                    action,
                    chart: chart.clone(),
                    value,
                });
            }
        }
        let has_values = match &self.spec.chart {
            Some(chart) => run.values.get(chart).is_some_and(|it| !it.is_empty()),
            None => run.values.values().any(|it| !it.is_empty()),
        };
        if has_values {
            Ok(())
        } else {
            Err(MachineError::NoValue { action })
        }
    }

    /// Repeats work that the infrastructure lost, until it was lost three times in a row.
    fn requeue(&mut self, task: Task, reason: String) {
        if self.ending.is_some() {
            return;
        }
        let losses = self.lost.of(&task);
        *losses += 1;
        if *losses < LOST_IN_A_ROW {
            self.actions.open(task);
            return;
        }
        let commit = match task {
            Task::Build { commit } => Some(commit),
            _ => None,
        };
        self.conclude(Stopped::Failed { commit, reason });
    }

    /// Ends the comparison when a difference is certain.
    fn look(&mut self) -> Result<(), CompareError> {
        let Some(early_stopping) = &mut self.early_stopping else {
            return Ok(());
        };
        early_stopping.update(&self.pairs)?;
        if early_stopping.is_reached()
            && self.ending.is_none()
            && self.findings()?.status() == PairwiseStatus::Different
        {
            self.conclude(Stopped::Decided);
        }
        Ok(())
    }

    fn findings(&self) -> Result<Findings, CompareError> {
        let pairs: Vec<&Pair> = self.pairs.iter().flatten().collect();
        let mut findings = Findings::from_pairs(&pairs, &self.columns, &self.spec)?;
        if let Some(early_stopping) = &self.early_stopping {
            for chart in &mut findings.charts {
                chart.anytime_p_value = early_stopping.p_value(&chart.chart);
            }
        }
        Ok(findings)
    }

    fn summarise(&self, stopped: Stopped) -> PairwiseOutcome {
        let (findings, stopped) = match self.findings() {
            Ok(findings) => (findings, stopped),
            Err(error) => (Findings::default(), Stopped::failed(error)),
        };
        let pairs = self.pairs_done();
        let status = match &stopped {
            Stopped::Failed { .. } => PairwiseStatus::Failed,
            Stopped::Canceled => PairwiseStatus::Canceled,
            Stopped::Decided if self.skips_pairs() => PairwiseStatus::Same,
            Stopped::Decided => findings.status(),
            // 10 pairs of 30 are not enough to say "same".
            _ => match findings.status() {
                PairwiseStatus::Same => PairwiseStatus::Unknown,
                status => status,
            },
        };
        PairwiseOutcome {
            version: PAIRWISE_OUTCOME_VERSION,
            status,
            stopped_early: stopped == Stopped::Decided
                && pairs < self.spec.pairs
                && !self.skips_pairs(),
            stopped,
            functional: findings.functional,
            base_failure: findings.base_failure,
            experiment_failure: findings.experiment_failure,
            pairs_needed: findings.pairs_needed,
            charts: findings.charts,
            only_base: findings.only_base,
            only_experiment: findings.only_experiment,
            pairs_planned: self.spec.pairs,
            pairs,
            runs: 2 * u64::from(pairs),
            builds: self.builds,
        }
    }
}

impl Machine for Pairwise {
    type Outcome = PairwiseOutcome;

    fn poll(&mut self) -> Vec<Action> {
        self.actions.poll()
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
            answer => {
                if let Some(number) = answer.action() {
                    self.answer(number, answer)?;
                }
            }
        }
        if self.actions.is_idle() {
            let stopped = self.ending.clone().unwrap_or(Stopped::Decided);
            self.outcome = Some(self.summarise(stopped));
        }
        Ok(())
    }

    fn outstanding(&self) -> Vec<Action> {
        self.actions.outstanding()
    }

    fn outcome(&self) -> Option<&PairwiseOutcome> {
        self.outcome.as_ref()
    }

    fn ends(&self) -> Option<(&CombinedCommit, &CombinedCommit)> {
        self.spec.ends()
    }

    fn charts(&self) -> Charts {
        match &self.spec.chart {
            Some(chart) => Charts::Deciding(Some(chart.clone())),
            None => Charts::All,
        }
    }

    fn variant(&self, position: Position) -> Option<&Variant> {
        let sides = self.spec.sides.as_ref()?;
        match position {
            Position::Lower => Some(&sides.base),
            Position::Higher => Some(&sides.experiment),
            Position::Within { .. } => None,
        }
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

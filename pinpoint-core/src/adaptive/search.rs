//! The state of the search: the line of commits, the changes found, and the next run.

use pinpoint_compare::{Direction, median};

use super::choice::{self, Choice, Options};
use super::line::Line;
use super::posterior::{self, Analysis};
use super::runs::Runs;
use super::tuning::{
    ASSUMPTIONS, ASSUMPTIONS_OF_VERSION_4, FIRST_RUNS, FIRST_USE, FURTHER_LIKE, FURTHER_RUNS,
    FURTHER_SIZE, HIGHEST_BUILD_COST, MODEL_ERROR, MOST_BATCHED, MOST_RUNS, NO_CHANGE,
    NO_FURTHER_CHANGE, NO_FURTHER_CHANGE_AFTER, OLD_ASSUMPTIONS, RUNS_PER_BATCHED,
    RUNS_PER_LATE_BATCHED,
};
use super::values::{Setting, Smallest, Value};
use crate::budget::Exhausted;
use crate::outcome::{LargestChange, OtherChange};
use crate::search_state::{BuildState, SearchState};
use crate::{BisectionSpec, Magnitude, Position, Range};

pub(super) const ENDS: [Position; 2] = [Position::Lower, Position::Higher];

#[derive(Debug, Clone)]
pub(crate) struct AdaptiveSearch {
    pub(super) question: Question,
    pub(super) phase: Phase,
    /// The two ends alone while they are listed.
    pub(super) line: Line,
    /// The changes found, each between two neighboring sites.
    pub(super) changes: Vec<Change>,
    /// The next change; absent until both ends have their first runs.
    pub(super) analysis: Option<Analysis>,
    /// The same given the culprits alone, where other changes were found that can't
    /// be traced to one commit.
    pub(super) beside_culprits: Option<Analysis>,
    /// Pairs of neighbors known to have no commits between them.
    pub(super) adjacent: Vec<(Position, Position)>,
    /// Pairs of neighbors whose difference can't be traced to one commit: the commits between them
    /// can't be listed, or one of the two only fails.
    pub(super) untraced: Vec<(Position, Position)>,
    /// Sites that fail on their own, but can't be left out, since their two sides were listed
    /// apart.
    pub(super) broken: Vec<Position>,
    pub(super) exhausted: Option<Exhausted>,
    /// Every change that was found, if only for a while, and the runs made until then.
    pub(super) found: Vec<(Change, u64)>,
    /// Runs made when the latest change was found.
    pub(super) runs_at_latest: u64,
    /// Known once the search has ended and found nothing.
    pub(super) largest_change: Option<LargestChange>,
    /// The same.
    pub(super) other_change: Option<OtherChange>,
}

/// The answers that the search waits for. It decides once they are there, and asks for
/// one thing at a time:
///
/// ```text
/// Listing ──> Running ──> Building ──> Running
///                    └──> Opening  ──> Running
/// ```
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    /// The commits between the two ends, which are built at the same time.
    Listing { range: u32 },
    /// Runs, or the builds of the two ends.
    Running,
    /// The build of a commit that is to split a gap.
    Building(Position),
    /// The commits between two neighbors, where a roll or a merge may hide some.
    Opening {
        range: u32,
        lower: Position,
        higher: Position,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) magnitude: Option<Magnitude>,
    pub(super) direction: Direction,
    pub(super) confidence: f64,
    pub(super) first_runs: u32,
    pub(super) build_cost: f64,
    pub(super) priors: Option<Vec<f64>>,
    /// Adjacent commits may hide a roll or a merge.
    pub(super) lists: bool,
    /// Noise may depend on that of the runs before, and on the level. Not in jobs of earlier
    /// versions, whose decisions stay as they were.
    pub(super) has_memory: bool,
    /// A culprit is one only if its own measured effect shows a change. Not in jobs of
    /// earlier versions.
    pub(super) shows_effects: bool,
    /// See `Assumptions::distinguishes`. Not in jobs of earlier versions.
    pub(super) distinguishes: bool,
    /// A culprit is named only if pairs of runs back to back show it. Not in jobs of earlier
    /// versions.
    pub(super) pairs: bool,
    /// A change that was given up and is found again is not new. Not in jobs of earlier versions.
    pub(super) remembers: bool,
    /// Each run is of a bot that is asked for.
    pub(super) names_bots: bool,
}

/// A change between two neighboring sites.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) lower: Position,
    pub(super) higher: Position,
    pub(super) probability: f64,
    pub(super) by_failures: bool,
}

impl Change {
    /// Returns true if the other change is between the same sites.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        (self.lower, self.higher) == (other.lower, other.higher)
    }
}

impl AdaptiveSearch {
    pub(crate) fn new(spec: &BisectionSpec, state: &mut SearchState) -> Self {
        let (range, lists) = match spec.range {
            Range::Between { .. } => (state.list(Position::Lower, Position::Higher), true),
            Range::Counted { between } => (state.add_range(between), false),
        };
        let mut search = Self {
            question: Question {
                magnitude: spec.magnitude,
                direction: spec.direction,
                confidence: spec.confidence,
                first_runs: Self::first_runs(spec),
                build_cost: spec.build_cost,
                priors: spec.priors.clone(),
                lists,
                has_memory: spec.version >= 3,
                shows_effects: spec.version >= 4,
                distinguishes: spec.version >= 5,
                pairs: spec.version >= 6,
                remembers: spec.version >= 6,
                names_bots: !spec.bots.is_empty(),
            },
            phase: Phase::Listing { range },
            line: Line::new(0, None),
            changes: Vec::new(),
            analysis: None,
            beside_culprits: None,
            adjacent: vec![(Position::Lower, Position::Higher)],
            untraced: Vec::new(),
            broken: Vec::new(),
            exhausted: None,
            found: Vec::new(),
            runs_at_latest: 0,
            largest_change: None,
            other_change: None,
        };
        for end in ENDS {
            if let Err(exhausted) = state.build(end) {
                search.exhausted = Some(exhausted);
            }
        }
        search
    }

    /// Runs of each end before anything is decided.
    pub(crate) fn first_runs(spec: &BisectionSpec) -> u32 {
        spec.attempts.unwrap_or_default().max(FIRST_RUNS)
    }

    /// The probability at which something counts as known.
    pub(super) fn threshold(&self) -> f64 {
        1.0 - (1.0 - self.question.confidence) * MODEL_ERROR
    }

    /// Applies the answers that the phase waits for. False while some are missing.
    pub(super) fn catch_up(&mut self, state: &SearchState) -> bool {
        match self.phase {
            Phase::Listing { range } => {
                let Some(between) = state.count(range) else {
                    return false;
                };
                self.line = Line::new(between, self.question.priors.as_deref());
            }
            Phase::Building(commit) => match state.get(commit).map(|commit| &commit.build) {
                Some(BuildState::Built) => self.line.split(commit),
                Some(BuildState::Skipped(_)) => self.line.skip(commit),
                _ => return false,
            },
            Phase::Opening {
                range,
                lower,
                higher,
            } => match state.count(range) {
                Some(0) => self.adjacent.push((lower, higher)),
                Some(between) => {
                    if let Some(gap) = self.line.site_of(lower) {
                        self.line.open(gap, range, between);
                    }
                }
                None if state.unlisted(range).is_some() => self.untraced.push((lower, higher)),
                None => return false,
            },
            Phase::Running => {}
        }
        self.phase = Phase::Running;
        let is_built = |end| (state.get(end)).is_some_and(|end| end.build == BuildState::Built);
        if !ENDS.into_iter().all(is_built) || state.runs_under_way() > 0 {
            return false;
        }
        for site in (1..self.line.sites.len() - 1).rev() {
            if (state.get(self.line.sites[site]))
                .is_some_and(|commit| commit.is_skipped() && commit.runs() == 0)
            {
                self.line.drop_site(site);
            }
        }
        self.line
            .close_same(|one, other| state.are_same(one, other));
        true
    }

    /// Gaps of the changes found, rising; `except` one.
    pub(super) fn gaps_of_changes(&self, except: Option<usize>) -> Vec<usize> {
        let mut gaps: Vec<usize> = (self.changes.iter().enumerate())
            .filter(|(index, _)| Some(*index) != except)
            .filter_map(|(_, change)| self.line.site_of(change.lower))
            .collect();
        gaps.sort_unstable();
        gaps
    }

    /// The sites on the two sides of a gap.
    pub(super) fn around(&self, gap: usize) -> (Position, Position) {
        (self.line.sites[gap], self.line.sites[gap + 1])
    }

    /// Returns true if a change in this gap is that of one commit.
    pub(super) fn is_traced(&self, gap: usize) -> bool {
        self.line.gaps[gap].len() == 0 && !self.untraced.contains(&self.around(gap))
    }

    /// The prior probability of each gap. Where all that is left was given none, all commits that
    /// are left are alike: something may still have changed.
    pub(super) fn prior(&self, changes: &[usize]) -> Vec<f64> {
        let gaps = 0..self.line.gaps.len();
        let masses: Vec<f64> = gaps.clone().map(|gap| self.line.mass(gap)).collect();
        if changes.is_empty() && masses.iter().all(|mass| *mass <= 0.0) {
            return gaps
                .map(|gap| match self.line.gaps[gap].closed {
                    true => 0.0,
                    false => self.line.commits(gap) as f64,
                })
                .collect();
        }
        masses
    }

    /// The probability of one change more than those in these gaps.
    pub(super) fn analyze(&self, runs: &Runs, changes: &[usize]) -> Analysis {
        if self.line.is_closed() {
            return Analysis::nothing(self.line.gaps.len());
        }
        let prior = self.prior(changes);
        let setting = self.setting(runs, changes, &prior);
        let no_change = if changes.is_empty() {
            NO_CHANGE
        } else if self.question.has_memory {
            NO_FURTHER_CHANGE_AFTER[changes.len().min(NO_FURTHER_CHANGE_AFTER.len()) - 1]
        } else {
            NO_FURTHER_CHANGE
        };
        posterior::analyze(runs, setting, no_change)
    }

    pub(super) fn setting<'a>(
        &self,
        runs: &Runs,
        changes: &'a [usize],
        prior: &'a [f64],
    ) -> Setting<'a> {
        Setting {
            sites: self.line.sites.len(),
            bots: runs.bots,
            changes,
            prior,
            magnitude: self.question.magnitude(&runs.values),
            direction: self.question.direction,
            least_of_known: match (self.question.distinguishes, self.question.magnitude) {
                (true, None) => FURTHER_SIZE,
                _ => 0.0,
            },
            assumptions: match (self.question.has_memory, self.question.distinguishes) {
                (false, _) => &OLD_ASSUMPTIONS,
                (true, false) => &ASSUMPTIONS_OF_VERSION_4,
                (true, true) => &ASSUMPTIONS,
            },
        }
    }

    /// Ends a search that has cost more than its answer is worth.
    pub(super) fn check_worth(
        &self,
        analysis: &Analysis,
        has_changes: bool,
        state: &SearchState,
    ) -> Result<(), Exhausted> {
        if state.runs() >= MOST_RUNS {
            return Err(Exhausted::Knowledge);
        }
        if self.question.has_memory && has_changes {
            // A further question is worth as many runs as all before it, one that is nearly
            // answered twice as many, and one about a change like those found still more.
            let further = state.runs() - self.runs_at_latest;
            let worth = self.runs_at_latest.max(FURTHER_RUNS);
            let likeliest = analysis.gaps.iter().copied().fold(0.0, f64::max);
            let is_spent = further >= worth && (likeliest < 0.5 || further >= 2 * worth);
            if is_spent && (further >= FURTHER_LIKE * worth || !self.is_like_likely(state)) {
                return Err(Exhausted::Knowledge);
            }
        }
        Ok(())
    }

    /// Asks for the runs or the build that give most information. True when there are
    /// none.
    pub(super) fn learn(
        &mut self,
        state: &mut SearchState,
        changes: &[usize],
    ) -> Result<bool, Exhausted> {
        let Some(analysis) = &self.analysis else {
            return Ok(true);
        };
        match self.ask(analysis, state, changes)? {
            Some(phase) => self.phase = phase,
            None => {
                let exhausted = if state.builds_left() == Some(0) {
                    Exhausted::Builds
                } else {
                    Exhausted::Knowledge
                };
                self.exhausted.get_or_insert(exhausted);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same for this analysis; none when nothing can be learned.
    pub(super) fn ask(
        &self,
        analysis: &Analysis,
        state: &mut SearchState,
        changes: &[usize],
    ) -> Result<Option<Phase>, Exhausted> {
        self.check_worth(analysis, !changes.is_empty(), state)?;
        let batch = (state.runs() / RUNS_PER_BATCHED)
            .clamp(1, MOST_BATCHED)
            .max(state.runs() / RUNS_PER_LATE_BATCHED);
        let batch = batch.min(state.runs_left().unwrap_or(batch));
        if batch == 0 {
            return Err(Exhausted::Runs);
        }
        let sites = || self.line.sites.iter().map(|site| state.get(*site));
        let runs: Vec<f64> = sites()
            .map(|site| site.map_or(0.0, |site| f64::from(site.runs())))
            .collect();
        let usable: Vec<bool> = sites()
            .map(|site| site.is_some_and(|site| site.build == BuildState::Built))
            .zip(&self.line.sites)
            .map(|(built, site)| built && self.line.counts(*site) && !self.broken.contains(site))
            .collect();
        let options = Options {
            runs: &runs,
            usable: &usable,
            build_cost: (state.builds_left() != Some(0))
                .then_some(self.question.build_cost.min(HIGHEST_BUILD_COST) * FIRST_USE),
            batch: batch as u32,
        };
        Ok(
            match choice::choose(&self.line, analysis, changes, options) {
                None => None,
                Some(Choice::Build(commit)) => {
                    state.build(commit)?;
                    Some(Phase::Building(commit))
                }
                Some(Choice::Run(more)) => {
                    let totals: Vec<(Position, u32)> = (more.iter())
                        .map(|(site, more)| {
                            let requested = state.get(*site).map_or(0, |site| site.requested());
                            (*site, more + requested)
                        })
                        .collect();
                    state.run_up_to(&totals)?;
                    Some(Phase::Running)
                }
            },
        )
    }
}

impl Question {
    pub(super) fn magnitude(&self, values: &[Value]) -> Option<Smallest> {
        match self.magnitude? {
            Magnitude::Absolute(amount) => Some(Smallest::Amount(amount.abs())),
            Magnitude::Percent(percent) if self.has_memory => {
                Some(Smallest::Fraction((percent / 100.0).abs()))
            }
            // Of the good end's level, wherever the change is.
            Magnitude::Percent(percent) => {
                let good: Vec<f64> = (values.iter())
                    .filter(|value| value.site == 0)
                    .map(|value| value.value)
                    .collect();
                median(&good)
                    .map(|median| Smallest::Amount((median / 100.0 * percent).abs().min(f64::MAX)))
            }
        }
    }
}

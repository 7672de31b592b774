//! The strategy `adaptive`: a probability for every commit, and the next run
//! where it gives most information.
//!
//! # The idea
//!
//! Somewhere between the good and the bad end one commit may have changed the
//! benchmark. Before anything is run, each commit is as suspicious as any other,
//! or as the caller says, and nearly half of the probability is that nothing changed.
//! Every run moves it: a slow run of a commit in the middle makes a change before it
//! likelier than one after it, by as much as such a value is likelier on
//! the new level than on the old one. The remaining uncertainty decides what to run
//! next, and the search ends when one commit, or "nothing changed", has the
//! probability asked for.
//!
//! ```text
//! runs   good                      c                        bad
//!   6    ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
//!   9    ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃|                          the middle was slow
//!  12                 ▆▆▆▆▆▆▆▆▆▆▆▆▆|                          a quarter was fast
//!  25                            |█                           one commit is left
//! ```
//!
//! Unlike a bisection, no step is final: a commit that looked slow by bad luck is
//! run again when later runs contradict it. And no run is lost: those of all
//! commits on the same side are pooled, so that after a few steps both levels are
//! known well, and one or two runs place a commit if the change is large.
//!
//! # Modules
//!
//! | | |
//! | --- | --- |
//! | `line` | the commits in a line, prior probabilities, commits that do not build |
//! | `runs` | the runs of all commits, by site |
//! | `values` | the evidence of a change in the values, and its size |
//! | `memory` | runs compared with their neighbors in time |
//! | `cholesky` | the linear equations of both |
//! | `location` | the place of the change, for noise of any shape |
//! | `failures` | the same for failing runs |
//! | `broken` | the same where a commit may fail on its own |
//! | `mended` | commits left out because they fail on their own |
//! | `posterior` | all of it together, as probabilities |
//! | `choice` | the next run or build |
//! | `shown` | culprits named only if their own effects show |
//! | `like_known` | another change like those found |
//! | `findings` | the findings of the strategy |
//! | `effect` | the size of a change that was found |
//! | `limit` | the largest change that may have been missed |
//! | `tuning` | the constants, and the measurements that depend on each |
//!
//! # Several changes
//!
//! Each change found splits the line in two segments with separate levels, and each is searched for
//! one more change, with a smaller prior probability. With every new run, each change found is
//! examined again given the others, and given up if it is no longer certain; at the end, each is
//! certain given all others. The search for a further one ends when it has made as many runs as the
//! last one had taken, or twice as many while one more is likelier than not. Changes like those
//! found are looked for longer than others: see `like_known`.
//!
//! # Builds that are the same
//!
//! Where the digests of two builds are equal, no change is looked for between them, and both are on
//! one level, despite any measurements between them: see `Line::close_same`.
//!
//! # The evidence of an answer
//!
//! A culprit and the commit before it were both run, or builds that are the same as theirs were,
//! until the size of the change, measured between its neighbors, has an interval without zero: see
//! `shown`. The probability stated is that of the model; the search asks a little more of it than
//! the confidence, because noise is never quite as modeled.

mod broken;
mod choice;
mod cholesky;
mod effect;
mod failures;
mod findings;
mod fit;
mod like_known;
mod limit;
mod line;
mod location;
mod log_sum;
mod memory;
mod mended;
mod posterior;
mod runs;
mod shown;
mod tuning;
mod values;

use pinpoint_compare::{Direction, median};

use self::choice::{Choice, Options};
use self::line::Line;
use self::posterior::Analysis;
use self::runs::Runs;
use self::tuning::{
    ASSUMPTIONS, ASSUMPTIONS_OF_VERSION_4, FIRST_RUNS, FIRST_RUNS_IF_CLEAR, FIRST_USE,
    FURTHER_RUNS, FURTHER_SIZE, HIGHEST_BUILD_COST, MODEL_ERROR, MOST_BATCHED, MOST_RUNS,
    NO_CHANGE, NO_FURTHER_CHANGE, NO_FURTHER_CHANGE_AFTER, OLD_ASSUMPTIONS, PAIR_RUNS,
    RUNS_PER_BATCHED, RUNS_PER_LATE_BATCHED,
};
use self::values::{Setting, Smallest, Value};
use crate::budget::Exhausted;
use crate::outcome::{LargestChange, OtherChange};
use crate::search_state::{BuildState, SearchState};
use crate::{BisectionSpec, Magnitude, Position, Range};

const ENDS: [Position; 2] = [Position::Lower, Position::Higher];

#[derive(Debug, Clone)]
pub(crate) struct AdaptiveSearch {
    question: Question,
    phase: Phase,
    /// The two ends alone while they are listed.
    line: Line,
    /// The changes found, each between two neighboring sites.
    changes: Vec<Change>,
    /// The next change; absent until both ends have their first runs.
    analysis: Option<Analysis>,
    /// The same given the culprits alone, where other changes were found that can't
    /// be traced to one commit.
    beside_culprits: Option<Analysis>,
    /// Pairs of neighbors known to have no commits between them.
    adjacent: Vec<(Position, Position)>,
    /// Pairs of neighbors whose difference can't be traced to one commit: the commits between them
    /// can't be listed, or one of the two only fails.
    untraced: Vec<(Position, Position)>,
    /// Sites that fail on their own, but can't be left out, since their two sides were listed
    /// apart.
    broken: Vec<Position>,
    exhausted: Option<Exhausted>,
    /// Runs made when the latest change was found.
    runs_at_latest: u64,
    /// Known once the search has ended and found nothing.
    largest_change: Option<LargestChange>,
    /// The same.
    other_change: Option<OtherChange>,
}

/// The answers that the search waits for. It decides once they are there, and asks for
/// one thing at a time:
///
/// ```text
/// Listing ──> Running ──> Building ──> Running
///                    └──> Opening  ──> Running
/// ```
#[derive(Debug, Clone, Copy)]
enum Phase {
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
struct Question {
    magnitude: Option<Magnitude>,
    direction: Direction,
    confidence: f64,
    first_runs: u32,
    build_cost: f64,
    priors: Option<Vec<f64>>,
    /// Adjacent commits may hide a roll or a merge.
    lists: bool,
    /// Noise may depend on that of the runs before, and on the level. Not in jobs of earlier
    /// versions, whose decisions stay as they were.
    has_memory: bool,
    /// A culprit is one only if its own measured effect shows a change. Not in jobs of
    /// earlier versions.
    shows_effects: bool,
    /// See `Assumptions::distinguishes`. Not in jobs of earlier versions.
    distinguishes: bool,
}

/// A change between two neighboring sites.
#[derive(Debug, Clone)]
struct Change {
    lower: Position,
    higher: Position,
    probability: f64,
    by_failures: bool,
}

/// The next step when a gap is certain to hold a change.
enum Next {
    /// The change is found.
    Found,
    /// Something was asked for.
    Wait,
    /// Only more runs can show which of its commits it is.
    Learn,
    /// The line has changed: decide again.
    Repeat,
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
    fn threshold(&self) -> f64 {
        1.0 - (1.0 - self.question.confidence) * MODEL_ERROR
    }

    /// Applies the answers that the phase waits for. False while some are missing.
    fn catch_up(&mut self, state: &SearchState) -> bool {
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
    fn gaps_of_changes(&self, except: Option<usize>) -> Vec<usize> {
        let mut gaps: Vec<usize> = (self.changes.iter().enumerate())
            .filter(|(index, _)| Some(*index) != except)
            .filter_map(|(_, change)| self.line.site_of(change.lower))
            .collect();
        gaps.sort_unstable();
        gaps
    }

    /// The sites on the two sides of a gap.
    fn around(&self, gap: usize) -> (Position, Position) {
        (self.line.sites[gap], self.line.sites[gap + 1])
    }

    /// Returns true if a change in this gap is that of one commit.
    fn is_traced(&self, gap: usize) -> bool {
        self.line.gaps[gap].len() == 0 && !self.untraced.contains(&self.around(gap))
    }

    /// The prior probability of each gap. Where all that is left was given none, all commits that
    /// are left are alike: something may still have changed.
    fn prior(&self, changes: &[usize]) -> Vec<f64> {
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
    fn analyze(&self, runs: &Runs, changes: &[usize]) -> Analysis {
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

    fn setting<'a>(&self, runs: &Runs, changes: &'a [usize], prior: &'a [f64]) -> Setting<'a> {
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

    /// Finds the largest change that may be there, where there is likely none. Where there may also
    /// be a change for the better, the model of one step does not give it.
    fn limit_change(&mut self, runs: &Runs) {
        let Some(analysis) = (self.analysis.as_ref()).filter(|analysis| {
            analysis.no_change >= self.question.confidence
                && self.changes.is_empty()
                && !self.line.is_closed()
        }) else {
            return;
        };
        let is_better = analysis.better >= analysis.no_change / 2.0;
        if self.question.distinguishes {
            self.other_change = self.find_other_change(runs);
        }
        if !is_better {
            let prior = self.prior(&[]);
            let setting = self.setting(runs, &[], &prior);
            self.largest_change = limit::largest_change(runs, setting, self.question.confidence);
        }
    }

    /// Decides, and asks for the next runs or builds. True when nothing is left.
    fn decide(&mut self, state: &mut SearchState) -> bool {
        let done = self.try_decide(state).unwrap_or_else(|exhausted| {
            self.exhausted = Some(exhausted);
            true
        });
        if done && !self.changes.is_empty() && self.question.shows_effects {
            self.keep_shown(&Runs::collect(&self.line, state));
        }
        self.analyze_beside_culprits(state);
        done
    }

    fn try_decide(&mut self, state: &mut SearchState) -> Result<bool, Exhausted> {
        if !self.line.is_closed() && self.run_ends(state)? {
            return Ok(false);
        }
        let mut runs = Runs::collect(&self.line, state);
        self.look_again(&runs);
        loop {
            let changes = self.gaps_of_changes(None);
            let analysis = self.analyze(&runs, &changes);
            if self.leave_out_broken(&runs, &analysis, &changes, state) {
                runs = Runs::collect(&self.line, state);
                self.look_again(&runs);
                continue;
            }
            let is_nothing = analysis.no_change >= self.question.confidence;
            let certain = (0..analysis.gaps.len())
                .find(|gap| analysis.gaps[*gap] >= self.threshold())
                .map(|gap| (gap, self.change(gap, &analysis)));
            if certain.is_none() && !is_nothing && self.check_lasting(&analysis, state)? {
                self.analysis = Some(analysis);
                return Ok(false);
            }
            self.analysis = Some(analysis);
            if is_nothing {
                if self.question.has_memory && self.give_up_least(&runs) {
                    let changes = self.gaps_of_changes(None);
                    return self.learn(state, &changes);
                }
                if self.give_up_unshown(&runs) {
                    continue;
                }
                if self.look_for_like(&runs, &changes, state)
                    || self.look_for_failures(&runs, state)?
                {
                    return Ok(false);
                }
                self.limit_change(&runs);
                return Ok(true);
            }
            let Some((gap, change)) = certain else {
                return self.learn(state, &changes);
            };
            match self.trace(gap, &change, state)? {
                Next::Found if self.is_traced(gap) && !self.is_shown(&change, &runs) => {
                    return self.show(&change, state);
                }
                Next::Found => {
                    self.changes.push(change);
                    self.runs_at_latest = state.runs();
                }
                Next::Wait => return Ok(false),
                Next::Learn => return self.learn(state, &changes),
                Next::Repeat => {
                    if self.run_ends(state)? {
                        return Ok(false);
                    }
                    runs = Runs::collect(&self.line, state);
                    self.look_again(&runs);
                }
            }
        }
    }

    fn change(&self, gap: usize, analysis: &Analysis) -> Change {
        let (lower, higher) = self.around(gap);
        Change {
            lower,
            higher,
            probability: analysis.gaps[gap],
            by_failures: analysis.by_failures[gap],
        }
    }

    /// Asks for the first runs of both ends. False when they are there.
    fn run_ends(&self, state: &mut SearchState) -> Result<bool, Exhausted> {
        let failed_and_passed = ENDS.map(|end| {
            (state.get(end))
                .filter(|end| end.runs() >= FIRST_RUNS_IF_CLEAR)
                .map(|end| (end.failures(), end.runs() - end.failures()))
        });
        let runs = match failed_and_passed {
            _ if self.question.first_runs > FIRST_RUNS => self.question.first_runs,
            [Some((0, _)), Some((_, 0))] | [None, _] | [_, None] => FIRST_RUNS_IF_CLEAR,
            _ => FIRST_RUNS,
        };
        let missing =
            (ENDS.into_iter()).any(|end| (state.get(end)).is_some_and(|end| end.runs() < runs));
        if missing {
            state.run_up_to(&ENDS.map(|end| (end, runs)))?;
        }
        Ok(missing)
    }

    /// Asks for the runs or builds that trace a certain change in a gap to one commit.
    fn trace(
        &mut self,
        gap: usize,
        change: &Change,
        state: &mut SearchState,
    ) -> Result<Next, Exhausted> {
        if !change.by_failures && self.leave_out_failing(gap, state)? {
            return Ok(if state.runs_under_way() == 0 {
                Next::Repeat
            } else {
                Next::Wait
            });
        }
        if self.line.gaps[gap].len() == 0 {
            return self.check_neighbors(change, state);
        }
        if self.line.is_exhausted(gap) {
            return Ok(Next::Found);
        }
        if state.builds_left() == Some(0) {
            self.exhausted.get_or_insert(Exhausted::Builds);
            return Ok(Next::Found);
        }
        // Building a commit that is known to be the culprit gives no information, but
        // the answer needs it and its parent.
        match self.line.suspect(gap, self.threshold()) {
            Some(commit) => {
                state.build(commit)?;
                self.phase = Phase::Building(commit);
                Ok(Next::Wait)
            }
            None => Ok(Next::Learn),
        }
    }

    /// A culprit and the commit before it have some runs, and nothing is hidden between
    /// them.
    fn check_neighbors(
        &mut self,
        change: &Change,
        state: &mut SearchState,
    ) -> Result<Next, Exhausted> {
        let pair = (change.lower, change.higher);
        let missing: Vec<(Position, u32)> = [pair.0, pair.1]
            .into_iter()
            .filter(|site| {
                (state.get(*site)).is_some_and(|measured| {
                    measured.build == BuildState::Built && state.pooled_runs(*site) < PAIR_RUNS
                })
            })
            .map(|site| (site, PAIR_RUNS))
            .collect();
        if !missing.is_empty() {
            state.run_up_to(&missing)?;
            return Ok(Next::Wait);
        }
        let is_known = self.adjacent.contains(&pair) || self.untraced.contains(&pair);
        if !self.question.lists || is_known {
            return Ok(Next::Found);
        }
        self.phase = Phase::Opening {
            range: state.list(change.lower, change.higher),
            lower: change.lower,
            higher: change.higher,
        };
        Ok(Next::Wait)
    }

    /// Treats a site without any value as one that does not build: a change of values next to it
    /// may be on its other side as well. It gets its first runs before. False when both sites of
    /// the gap gave values.
    fn leave_out_failing(
        &mut self,
        gap: usize,
        state: &mut SearchState,
    ) -> Result<bool, Exhausted> {
        let pair = self.around(gap);
        if self.untraced.contains(&pair) {
            return Ok(false);
        }
        let failing: Vec<(Position, u32)> = [pair.0, pair.1]
            .into_iter()
            .filter(|site| matches!(site, Position::Within { .. }))
            .filter_map(|site| {
                let measured = state.get(site).filter(|measured| measured.only_failed())?;
                (measured.build == BuildState::Built).then(|| (site, measured.runs()))
            })
            .collect();
        let Some((last, _)) = failing.last().copied() else {
            return Ok(false);
        };
        if failing.iter().any(|(_, runs)| *runs < FIRST_RUNS) {
            let more: Vec<(Position, u32)> = (failing.iter())
                .map(|(site, _)| (*site, FIRST_RUNS))
                .collect();
            state.run_up_to(&more)?;
            return Ok(true);
        }
        if (self.line.site_of(last)).is_some_and(|site| self.line.drop_site(site)) {
            state.skip_failing(last);
        } else {
            self.untraced.push(pair);
        }
        Ok(true)
    }

    /// Keeps the changes found that are still certain, given the others and all runs
    /// since.
    fn look_again(&mut self, runs: &Runs) {
        let mut index = 0;
        while index < self.changes.len() {
            self.examine(index, runs);
            if self.changes[index].probability >= self.question.confidence {
                index += 1;
            } else {
                self.changes.remove(index);
            }
        }
    }

    /// Finds the probability of a change given the others. Returns it with the remaining changes to
    /// find.
    fn examine(&mut self, index: usize, runs: &Runs) -> Analysis {
        let others = self.gaps_of_changes(Some(index));
        let analysis = self.analyze(runs, &others);
        let change = &mut self.changes[index];
        let gap = (self.line.site_of(change.lower))
            .filter(|gap| self.line.sites[gap + 1] == change.higher);
        change.probability = gap.map_or(0.0, |gap| analysis.gaps[gap]);
        if let Some(gap) = gap {
            change.by_failures = analysis.by_failures[gap];
        }
        analysis
    }

    /// Gives up the least certain change if it is not certain given the others: one that was
    /// found before them may be. False when all are certain.
    fn give_up_least(&mut self, runs: &Runs) -> bool {
        let examined: Vec<Analysis> = (0..self.changes.len())
            .map(|index| self.examine(index, runs))
            .collect();
        let least = (examined.into_iter().enumerate())
            .filter(|(index, _)| self.changes[*index].probability < self.question.confidence)
            .min_by(|(one, _), (other, _)| {
                let [one, other] = [one, other].map(|index| self.changes[*index].probability);
                one.total_cmp(&other)
            });
        let Some((index, analysis)) = least else {
            return false;
        };
        self.changes.remove(index);
        self.analysis = Some(analysis);
        true
    }

    fn analyze_beside_culprits(&mut self, state: &SearchState) {
        let changes = self.gaps_of_changes(None);
        let (culprits, spans): (Vec<usize>, Vec<usize>) =
            (changes.into_iter()).partition(|gap| self.is_traced(*gap));
        self.beside_culprits =
            (!spans.is_empty()).then(|| self.analyze(&Runs::collect(&self.line, state), &culprits));
    }

    /// Ends a search that has cost more than its answer is worth.
    fn check_worth(
        &self,
        analysis: &Analysis,
        has_changes: bool,
        state: &SearchState,
    ) -> Result<(), Exhausted> {
        if state.runs() >= MOST_RUNS {
            return Err(Exhausted::Knowledge);
        }
        if self.question.has_memory && has_changes {
            // A further question is worth as many runs as all before it, and one that is
            // nearly answered twice as many.
            let further = state.runs() - self.runs_at_latest;
            let worth = self.runs_at_latest.max(FURTHER_RUNS);
            let likeliest = analysis.gaps.iter().copied().fold(0.0, f64::max);
            if further >= worth && (likeliest < 0.5 || further >= 2 * worth) {
                return Err(Exhausted::Knowledge);
            }
        }
        Ok(())
    }

    /// Asks for the runs or the build that give most information. True when there are
    /// none.
    fn learn(&mut self, state: &mut SearchState, changes: &[usize]) -> Result<bool, Exhausted> {
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
    fn ask(
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
    fn magnitude(&self, values: &[Value]) -> Option<Smallest> {
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

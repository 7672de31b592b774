//! The strategy `adaptive`: a probability for every commit, and the next run
//! where it tells most.
//!
//! # The idea
//!
//! Somewhere between the good and the bad end one commit may have changed the
//! benchmark. Before anything is run, each commit is as suspicious as any other,
//! or as the caller says, and nearly half of the belief is that nothing changed. Every
//! run moves belief: a slow run of a commit in the middle says that the change is
//! likelier before it than behind it, by as much as such a value is likelier on
//! the new level than on the old one. What is left to doubt decides what to run
//! next, and the search ends when one commit, or "nothing changed", is believed
//! with the confidence asked for.
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
//! known well and a commit takes one or two runs to be told, if the change is
//! large.
//!
//! # Where to find what
//!
//! | | |
//! | --- | --- |
//! | `line` | the commits in a line, prior probabilities, commits that do not build |
//! | `values` | is there a change in the values, and how large? |
//! | `location` | where is it, for noise of any shape? |
//! | `failures` | the same for failing runs |
//! | `posterior` | all of it together, as probabilities |
//! | `choice` | what to run or build next |
//!
//! # Several changes
//!
//! A change that was found splits the line in two stretches with levels of their
//! own, and the same is done again for one change more in either of them, with a
//! smaller prior probability. With every new run, each change found is looked at
//! again given the others, and given up if it is no longer certain.
//!
//! # What the answer rests on
//!
//! A culprit and the commit before it were both run. The probability stated is
//! that of the model; the search asks a little more of it than the confidence,
//! because noise is never quite as modelled.

mod choice;
mod failures;
mod line;
mod location;
mod posterior;
mod values;

use std::collections::BTreeMap;

use pinpoint_compare::{CompareError, Direction, median};

use self::choice::{Choice, Options};
use self::failures::Tally;
use self::line::Line;
use self::posterior::{Analysis, Runs};
use self::values::{Setting, Value};
use crate::budget::Exhausted;
use crate::outcome::{Comparison, Culprit, Effect, Posterior, Span};
use crate::search_state::{BuildState, SearchState};
use crate::strategy::{OpenRange, SearchStrategy};
use crate::{BisectionSpec, Magnitude, Position, Range};

/// The prior probability that there is nothing to find.
const NO_CHANGE: f64 = 0.45;
/// The prior probability that there is nothing more to find.
const NO_FURTHER_CHANGE: f64 = 0.9;
/// Runs that a culprit and its neighbour have each at least.
const PAIR_RUNS: u32 = 2;
/// One more run in a batch for so many runs already made.
const RUNS_PER_BATCHED: u64 = 60;
const MOST_BATCHED: u64 = 4;
const RUNS_PER_LATE: u64 = 200;
/// What so many runs could not decide, more will hardly: a search without a
/// budget ends with the commits that are left.
const MOST_RUNS: u64 = 3_000;
/// Of the error allowed, the part that the model may be certain to.
const MARGIN: f64 = 0.9;
/// The part of the cost of a build that its first runs must be worth: it serves
/// later ones, too.
const FIRST_USE: f64 = 0.4;
/// Builds that are dearer, in runs, are as sparingly made as these; but made, as
/// no runs of the ends alone tell where a change is.
const DEAREST_BUILD: f64 = 1_000.0;

#[derive(Debug, Clone)]
pub(crate) struct AdaptiveSearch {
    question: Question,
    range: u32,
    /// Known once the range is listed.
    line: Option<Line>,
    /// The commit that is being built.
    building: Option<Position>,
    /// Where a change was found: the sites around it.
    changes: Vec<Change>,
    /// The next change, as far as known.
    analysis: Option<Analysis>,
    /// The same beside the culprits alone, where changes were found that can't
    /// be traced to one commit.
    beside_culprits: Option<Analysis>,
    /// Pairs of neighbours known to have nothing between them.
    listed: Vec<(Position, Position)>,
    listing: Option<(u32, Position, Position)>,
    /// Pairs of neighbours of which it can't be known which commit made their
    /// difference: what is between them can't be listed, or one only fails.
    untraced: Vec<(Position, Position)>,
    exhausted: Option<Exhausted>,
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
}

/// A change between two neighbouring sites.
#[derive(Debug, Clone)]
struct Change {
    lower: Position,
    higher: Position,
    probability: f64,
    by_failures: bool,
}

impl AdaptiveSearch {
    /// Runs of each end before anything is decided.
    const FIRST_RUNS: u32 = 3;
    /// As many do when those of the good end all pass and those of the bad end
    /// all fail.
    const CLEAR_RUNS: u32 = 2;

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
            },
            range,
            line: None,
            building: None,
            changes: Vec::new(),
            analysis: None,
            beside_culprits: None,
            listed: vec![(Position::Lower, Position::Higher)],
            listing: None,
            untraced: Vec::new(),
            exhausted: None,
        };
        for end in [Position::Lower, Position::Higher] {
            if let Err(exhausted) = state.build(end) {
                search.exhausted = Some(exhausted);
            }
        }
        search
    }

    /// Runs of each end before anything is decided.
    pub(crate) fn first_runs(spec: &BisectionSpec) -> u32 {
        spec.attempts.unwrap_or_default().max(Self::FIRST_RUNS)
    }

    /// The probability at which something counts as known.
    fn threshold(&self) -> f64 {
        1.0 - (1.0 - self.question.confidence) * MARGIN
    }

    /// Takes in what was listed, built and lost. False while something that was
    /// asked for is not answered.
    fn catch_up(&mut self, state: &SearchState) -> bool {
        if self.line.is_none() {
            self.line = (state.count(self.range))
                .map(|between| Line::new(between, self.question.priors.as_deref()));
        }
        let Some(line) = &mut self.line else {
            return false;
        };
        if let Some((range, lower, higher)) = self.listing {
            match state.count(range) {
                Some(0) => self.listed.push((lower, higher)),
                Some(between) => {
                    if let Some(gap) = line.sites.iter().position(|site| *site == lower) {
                        line.open(gap, range, between);
                    }
                }
                None if state.unlisted(range).is_some() => self.untraced.push((lower, higher)),
                None => return false,
            }
            self.listing = None;
        }
        for end in [Position::Lower, Position::Higher] {
            if state
                .get(end)
                .is_none_or(|end| end.build != BuildState::Built)
            {
                return false;
            }
        }
        if let Some(commit) = self.building {
            match state.get(commit).map(|commit| &commit.build) {
                Some(BuildState::Built) => line.split(commit),
                Some(BuildState::Skipped(_)) => line.skip(commit),
                _ => return false,
            }
            self.building = None;
        }
        if state.runs_under_way() > 0 {
            return false;
        }
        for site in (1..line.sites.len() - 1).rev() {
            if (state.get(line.sites[site]))
                .is_some_and(|commit| commit.is_skipped() && commit.runs() == 0)
            {
                line.drop_site(site);
            }
        }
        true
    }

    /// Gaps of the changes found, rising; `except` one.
    fn gaps_of_changes(&self, line: &Line, except: Option<usize>) -> Vec<usize> {
        let mut gaps: Vec<usize> = (self.changes.iter().enumerate())
            .filter(|(index, _)| Some(*index) != except)
            .filter_map(|(_, change)| line.sites.iter().position(|site| *site == change.lower))
            .collect();
        gaps.sort_unstable();
        gaps
    }

    /// Whether a change in this gap is that of one commit.
    fn is_traced(&self, line: &Line, gap: usize) -> bool {
        line.gaps[gap].len() == 0
            && !self
                .untraced
                .contains(&(line.sites[gap], line.sites[gap + 1]))
    }

    /// What the runs say about one change more than those in these gaps.
    fn analyse(&self, line: &Line, runs: &Runs, bots: usize, changes: &[usize]) -> Analysis {
        let prior: Vec<f64> = (0..line.gaps.len()).map(|gap| line.mass(gap)).collect();
        let setting = Setting {
            sites: line.sites.len(),
            bots,
            changes,
            prior: &prior,
            magnitude: self.question.magnitude(&runs.values),
            direction: self.question.direction,
        };
        let no_change = if changes.is_empty() {
            NO_CHANGE
        } else {
            NO_FURTHER_CHANGE
        };
        posterior::analyse(runs, setting, no_change)
    }

    /// Decides, and asks for what is needed. True when nothing is left.
    fn decide(&mut self, state: &mut SearchState) -> bool {
        let Some(mut line) = self.line.take() else {
            return false;
        };
        let done = self.decide_on(&mut line, state);
        self.look_beside_culprits(&line, state);
        self.line = Some(line);
        done
    }

    fn look_beside_culprits(&mut self, line: &Line, state: &SearchState) {
        let changes = self.gaps_of_changes(line, None);
        let (culprits, spans): (Vec<usize>, Vec<usize>) =
            (changes.into_iter()).partition(|gap| self.is_traced(line, *gap));
        self.beside_culprits = (!spans.is_empty()).then(|| {
            let (runs, bots) = collect(line, state);
            self.analyse(line, &runs, bots, &culprits)
        });
    }

    /// A change of values seen between two sites of which one never gave a value
    /// may as well be on its other side: the site is treated as one that does not
    /// build. Absent when both gave some.
    fn leave_out_failing(
        &mut self,
        line: &mut Line,
        state: &mut SearchState,
        gap: usize,
    ) -> Option<Result<(), Exhausted>> {
        let ends = [line.sites[gap], line.sites[gap + 1]];
        if self.untraced.contains(&(ends[0], ends[1])) {
            return None;
        }
        let failing: Vec<(Position, u32)> = (ends.into_iter())
            .filter(|site| matches!(site, Position::Within { .. }))
            .filter_map(|site| {
                let measured = state.get(site).filter(|measured| measured.only_failed())?;
                (measured.build == BuildState::Built).then(|| (site, measured.runs()))
            })
            .collect();
        let (last, _) = failing.last().copied()?;
        if failing.iter().any(|(_, runs)| *runs < Self::FIRST_RUNS) {
            let more: Vec<(Position, u32)> = (failing.iter())
                .map(|(site, _)| (*site, Self::FIRST_RUNS))
                .collect();
            return Some(state.run_up_to(&more));
        }
        let left_out = (line.sites.iter())
            .position(|site| *site == last)
            .is_some_and(|site| line.drop_site(site));
        if left_out {
            state.skip_failing(last);
        } else {
            self.untraced.push((ends[0], ends[1]));
        }
        Some(Ok(()))
    }

    fn decide_on(&mut self, line: &mut Line, state: &mut SearchState) -> bool {
        let ends = [Position::Lower, Position::Higher];
        // Values need one run more, for their scatter.
        let failed_and_passed = ends.map(|end| {
            state
                .get(end)
                .filter(|end| end.runs() >= Self::CLEAR_RUNS)
                .map(|end| (end.failures(), end.runs() - end.failures()))
        });
        let runs = match failed_and_passed {
            _ if self.question.first_runs > Self::FIRST_RUNS => self.question.first_runs,
            [Some((0, _)), Some((_, 0))] | [None, _] | [_, None] => Self::CLEAR_RUNS,
            _ => Self::FIRST_RUNS,
        };
        let first: Vec<(Position, u32)> = ends.map(|end| (end, runs)).to_vec();
        if (first.iter()).any(|(end, runs)| state.get(*end).is_some_and(|end| end.runs() < *runs)) {
            if let Err(exhausted) = state.run_up_to(&first) {
                self.exhausted = Some(exhausted);
                return true;
            }
            return false;
        }
        let (runs, bots) = collect(line, state);
        self.look_again(line, &runs, bots);
        let threshold = self.threshold();
        loop {
            let changes = self.gaps_of_changes(line, None);
            let analysis = self.analyse(line, &runs, bots, &changes);
            let nothing = analysis.no_change >= self.question.confidence;
            let likely = (0..line.gaps.len())
                .find(|gap| analysis.gaps[*gap] >= threshold)
                .filter(|_| !nothing);
            self.analysis = Some(analysis);
            if nothing {
                return true;
            }
            let Some(gap) = likely else {
                return self.learn(line, state, &changes);
            };
            if (self.analysis.as_ref()).is_some_and(|analysis| !analysis.by_failures[gap])
                && let Some(asked) = self.leave_out_failing(line, state, gap)
            {
                return match asked {
                    Ok(()) if state.runs_under_way() == 0 => self.decide_on(line, state),
                    asked => self.ask(asked),
                };
            }
            let (lower, higher) = (line.sites[gap], line.sites[gap + 1]);
            let can_build = state.builds_left() != Some(0);
            if line.gaps[gap].len() > 0 && !line.is_exhausted(gap) {
                if can_build {
                    // Nothing is learned by building what is known, but the answer
                    // needs the culprit and its parent.
                    return match line.suspect(gap, threshold) {
                        Some(commit) => {
                            self.building = Some(commit);
                            self.ask(state.build(commit))
                        }
                        None => self.learn(line, state, &changes),
                    };
                }
                self.exhausted.get_or_insert(Exhausted::Builds);
            }
            if line.gaps[gap].len() == 0 {
                let pair: Vec<(Position, u32)> = [lower, higher]
                    .into_iter()
                    .filter(|site| {
                        state.get(*site).is_some_and(|site| {
                            site.build == BuildState::Built && site.runs() < PAIR_RUNS
                        })
                    })
                    .map(|site| (site, PAIR_RUNS))
                    .collect();
                if !pair.is_empty() {
                    return match state.run_up_to(&pair) {
                        Ok(()) => false,
                        Err(exhausted) => {
                            self.exhausted = Some(exhausted);
                            true
                        }
                    };
                }
                if self.question.lists
                    && !self.listed.contains(&(lower, higher))
                    && !self.untraced.contains(&(lower, higher))
                {
                    self.listing = Some((state.list(lower, higher), lower, higher));
                    return false;
                }
            }
            if let Some(analysis) = &self.analysis {
                self.changes.push(Change {
                    lower,
                    higher,
                    probability: analysis.gaps[gap],
                    by_failures: analysis.by_failures[gap],
                });
            }
        }
    }

    /// Are the changes found still as certain, given the others and all runs
    /// since?
    fn look_again(&mut self, line: &Line, runs: &Runs, bots: usize) {
        let mut index = 0;
        while index < self.changes.len() {
            let others = self.gaps_of_changes(line, Some(index));
            let analysis = self.analyse(line, runs, bots, &others);
            let change = &mut self.changes[index];
            let gap = (line.sites.iter()).position(|site| *site == change.lower);
            let adjacent = gap.filter(|gap| line.sites[gap + 1] == change.higher);
            match adjacent {
                Some(gap) if analysis.gaps[gap] >= self.question.confidence => {
                    change.probability = analysis.gaps[gap];
                    change.by_failures = analysis.by_failures[gap];
                    index += 1;
                }
                _ => {
                    self.changes.remove(index);
                }
            }
        }
    }

    /// Asks for what tells most. True when there is nothing.
    fn learn(&mut self, line: &Line, state: &mut SearchState, changes: &[usize]) -> bool {
        let Some(analysis) = &self.analysis else {
            return true;
        };
        let measured = |site: &Position| state.get(*site);
        let runs: Vec<f64> = (line.sites.iter())
            .map(|site| measured(site).map_or(0.0, |site| f64::from(site.runs())))
            .collect();
        let usable: Vec<bool> = (line.sites.iter())
            .map(|site| measured(site).is_some_and(|site| site.build == BuildState::Built))
            .collect();
        if state.runs() >= MOST_RUNS {
            self.exhausted = Some(Exhausted::Knowledge);
            return true;
        }
        let batch = (state.runs() / RUNS_PER_BATCHED)
            .clamp(1, MOST_BATCHED)
            .max(state.runs() / RUNS_PER_LATE);
        let batch = batch.min(state.runs_left().unwrap_or(batch));
        if batch == 0 {
            self.exhausted = Some(Exhausted::Runs);
            return true;
        }
        let options = Options {
            runs: &runs,
            usable: &usable,
            build_cost: (state.builds_left() != Some(0))
                .then_some(self.question.build_cost.min(DEAREST_BUILD) * FIRST_USE),
            batch: batch as u32,
        };
        let asked = match choice::choose(line, analysis, changes, options) {
            None => {
                self.exhausted
                    .get_or_insert(if options.build_cost.is_none() {
                        Exhausted::Builds
                    } else {
                        Exhausted::Knowledge
                    });
                return true;
            }
            Some(Choice::Build(commit)) => {
                self.building = Some(commit);
                state.build(commit)
            }
            Some(Choice::Run(more)) => {
                let totals: Vec<(Position, u32)> = (more.iter())
                    .map(|(site, more)| {
                        (*site, more + state.get(*site).map_or(0, |s| s.requested()))
                    })
                    .collect();
                state.run_up_to(&totals)
            }
        };
        self.ask(asked)
    }

    /// Whether what was asked for exceeds a budget.
    fn ask(&mut self, asked: Result<(), Exhausted>) -> bool {
        match asked {
            Ok(()) => false,
            Err(exhausted) => {
                self.exhausted = Some(exhausted);
                true
            }
        }
    }

    /// The fewest gaps that hold the next change with the probability asked,
    /// if there is one; in order.
    fn likeliest(&self) -> Vec<usize> {
        let Some(analysis) = &self.analysis else {
            return Vec::new();
        };
        let mut gaps: Vec<usize> = (0..analysis.gaps.len())
            .filter(|gap| analysis.gaps[*gap] > 0.0)
            .collect();
        // By probability for each commit.
        let density = |gap: &usize| {
            analysis.gaps[*gap] / self.line.as_ref().map_or(1, |line| line.commits(*gap)) as f64
        };
        gaps.sort_by(|a, b| density(b).total_cmp(&density(a)).then(a.cmp(b)));
        let wanted = self.question.confidence * analysis.gaps.iter().sum::<f64>();
        let mut sum = 0.0;
        let count = (gaps.iter())
            .position(|gap| {
                sum += analysis.gaps[*gap];
                sum >= wanted
            })
            .map_or(gaps.len(), |last| last + 1);
        gaps.truncate(count);
        gaps.sort_unstable();
        gaps
    }

    /// Whether the runs leave something open.
    fn is_open(&self) -> bool {
        (self.analysis.as_ref())
            .is_none_or(|analysis| analysis.no_change < self.question.confidence)
    }
}

impl Question {
    /// In the unit of the values.
    fn magnitude(&self, values: &[Value]) -> Option<f64> {
        match self.magnitude? {
            Magnitude::Absolute(magnitude) => Some(magnitude.abs()),
            Magnitude::Percent(percent) => {
                let good: Vec<f64> = (values.iter())
                    .filter(|value| value.site == 0)
                    .map(|value| value.value)
                    .collect();
                median(&good).map(|median| (median / 100.0 * percent).abs().min(f64::MAX))
            }
        }
    }
}

/// Every run by its site, and the number of bots.
fn collect(line: &Line, state: &SearchState) -> (Runs, usize) {
    let mut values = Vec::new();
    let mut order = Vec::new();
    let mut tallies = vec![Tally::default(); line.sites.len()];
    let mut bots: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for (site, commit) in line.sites.iter().enumerate() {
        for run in state
            .get(*commit)
            .into_iter()
            .flat_map(|commit| commit.each_run())
        {
            tallies[site].runs += 1.0;
            match median(&run.values) {
                None => tallies[site].failures += 1.0,
                Some(value) => {
                    let next = bots.len();
                    let bot = *bots.entry(run.bot.as_deref()).or_insert(next);
                    order.push((run.started, run.sequence, values.len()));
                    values.push(Value {
                        site,
                        value,
                        bot,
                        time: 0.0,
                    });
                }
            }
        }
    }
    order.sort_unstable();
    let last = order.len().saturating_sub(1).max(1) as f64;
    for (place, (_, _, index)) in order.into_iter().enumerate() {
        values[index].time = place as f64 / last - 0.5;
    }
    (Runs { values, tallies }, bots.len())
}

impl SearchStrategy for AdaptiveSearch {
    fn advance(&mut self, state: &mut SearchState) -> Result<bool, CompareError> {
        if self.exhausted.is_some() && self.line.is_none() {
            return Ok(true);
        }
        Ok(self.catch_up(state) && self.decide(state))
    }

    fn stop(&mut self, state: &SearchState) {
        if let Some(line) = self.line.take() {
            if line.sites.iter().all(|site| state.get(*site).is_some()) {
                let (runs, bots) = collect(&line, state);
                self.look_again(&line, &runs, bots);
                let changes = self.gaps_of_changes(&line, None);
                self.analysis = Some(self.analyse(&line, &runs, bots, &changes));
                self.look_beside_culprits(&line, state);
            }
            self.line = Some(line);
        }
    }

    fn exhausted(&self) -> Option<Exhausted> {
        self.exhausted
    }

    fn culprits(&self, state: &SearchState) -> Result<Vec<Culprit>, CompareError> {
        let Some(line) = &self.line else {
            return Ok(Vec::new());
        };
        let changes = self.gaps_of_changes(line, None);
        let mut found = Vec::new();
        let mut from = 0;
        for (place, gap) in changes.iter().copied().enumerate() {
            let to = changes.get(place + 1).copied().unwrap_or(line.gaps.len());
            let known = self
                .changes
                .iter()
                .find(|change| change.lower == line.sites[gap]);
            if let Some(change) = known.filter(|_| self.is_traced(line, gap)) {
                let (before, after) = (&line.sites[from..=gap], &line.sites[gap + 1..=to]);
                found.push(Culprit {
                    commit: change.higher,
                    prior: change.lower,
                    probability: Some(change.probability),
                    effect: self.effect(state, change, before, after)?,
                });
            }
            from = gap + 1;
        }
        Ok(found)
    }

    fn candidates(&self) -> Vec<Position> {
        let Some(line) = &self.line else {
            // Nothing is known yet, not even which commits there are.
            return vec![Position::Higher];
        };
        // Changes that could not be told from their neighbours.
        let mut gaps: Vec<usize> = (self.gaps_of_changes(line, None).into_iter())
            .filter(|gap| !self.is_traced(line, *gap))
            .collect();
        if self.is_open() {
            let likeliest = self.likeliest();
            if likeliest.is_empty() {
                gaps.extend(0..line.gaps.len());
            }
            gaps.extend(likeliest);
        }
        gaps.sort_unstable();
        gaps.dedup();
        gaps.into_iter()
            .flat_map(|gap| line.candidates(gap))
            .collect()
    }

    fn posterior(&self) -> Option<Posterior> {
        let line = self.line.as_ref()?;
        let analysis = self.beside_culprits.as_ref().or(self.analysis.as_ref())?;
        Some(Posterior {
            no_change: analysis.no_change,
            better: analysis.better,
            spans: (0..line.gaps.len().min(analysis.gaps.len()))
                .map(|gap| Span {
                    after: line.sites[gap],
                    last: line.sites[gap + 1],
                    commits: line.commits(gap),
                    probability: analysis.gaps[gap],
                })
                .collect(),
        })
    }

    fn comparisons(&self) -> Vec<Comparison> {
        Vec::new()
    }

    fn open_ranges(&self) -> Vec<OpenRange> {
        let Some(line) = &self.line else {
            return Vec::new();
        };
        if !self.is_open() {
            return Vec::new();
        }
        (self.likeliest().into_iter())
            .map(|gap| OpenRange {
                lower: line.sites[gap],
                higher: line.sites[gap + 1],
                between: line.gaps[gap].len(),
            })
            .collect()
    }

    /// A run for each halving of what is left.
    fn runs_to_come(&self, _: &SearchState) -> u64 {
        let open: u64 = self
            .open_ranges()
            .iter()
            .map(|range| range.between + 1)
            .sum();
        u64::from(u64::BITS - open.leading_zeros())
    }
}

impl AdaptiveSearch {
    /// What all runs of two stretches of commits tell of the change between.
    fn effect(
        &self,
        state: &SearchState,
        change: &Change,
        before: &[Position],
        after: &[Position],
    ) -> Result<Effect, CompareError> {
        let values = |sites: &[Position]| -> Vec<f64> {
            (sites.iter())
                .filter_map(|site| state.get(*site))
                .flat_map(|site| site.values())
                .collect()
        };
        let tally = |sites: &[Position]| {
            (sites.iter()).filter_map(|site| state.get(*site)).fold(
                (0, 0),
                |(failures, runs), site| {
                    (
                        failures + u64::from(site.failures()),
                        runs + u64::from(site.runs()),
                    )
                },
            )
        };
        let (old, new) = (values(before), values(after));
        if change.by_failures || old.is_empty() || new.is_empty() {
            Effect::of_failures(tally(before), tally(after), self.question.confidence)
        } else {
            Effect::of_values(&old, &new, self.question.confidence)
        }
    }
}

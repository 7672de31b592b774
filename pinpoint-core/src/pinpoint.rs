//! The reference strategy, which is that of Chromium's Pinpoint.
//!
//! Two commits are a *pair*. A pair is compared with the runs it has:
//!
//! - *same*: nothing to look for between them;
//! - *unknown*: more runs, in totals of 10, 20, 40, 80 and 160 (the one with
//!   fewer first), and if 160 do not decide, they count as the same;
//! - *different*: the commit in the middle is built, run as often as the older
//!   of the pair, and makes two pairs of one. Where there is none, the newer commit is a
//!   culprit.
//!
//! Both halves are always explored, so several culprits can be found. The rules are facts of the
//! original, `pinpoint/go/workflows/internal/bisect.go` in Skia's infrastructure repository. Beyond
//! it: a middle commit that can't be used is replaced by its nearest neighbor, and undecided
//! commits are reported as a range, never dropped.
//!
//! ```text
//! good ──────────── different ──────────── bad
//! good ── same ── middle ─── different ─── bad
//!                 middle ─ same ─ c ─ different ─ bad      bad is the culprit
//! ```

use std::collections::BTreeMap;

use pinpoint_compare::{
    CompareError, Direction, PerformanceComparison, Verdict, compare_functional,
    compare_performance, median,
};

use crate::budget::Exhausted;
use crate::outcome::{Comparison, Culprit, Effect, Posterior, Unchanged};
use crate::search_state::{BuildState, Measured, SearchState, Subject};
use crate::strategy::{OpenRange, SearchStrategy};
use crate::{BisectionSpec, Magnitude, Position, Range};

/// Totals of runs for each commit. Unknown at the last one counts as the same.
const TOTALS: [u32; 5] = [10, 20, 40, 80, 160];
/// The rate of failures that a functional regression is expected to have.
const EXPECTED_ERROR_RATE: f64 = 1.0;

#[derive(Debug, Clone)]
pub(crate) struct PinpointSearch {
    criteria: Criteria,
    pairs: Vec<Pair>,
    /// The pairs that an answer may advance, by its subject: each range that a pair waits for, and
    /// its commits. Decided ones stay among them.
    concerned: BTreeMap<Subject, Vec<usize>>,
    /// The number of pairs that are not decided.
    undecided: usize,
    /// Decided by failures that do not last. Known once the search has ended.
    unproven: Vec<usize>,
    exhausted: Option<Exhausted>,
}

/// The criteria of every comparison.
#[derive(Debug, Clone)]
struct Criteria {
    first_total: u32,
    asked_magnitude: Option<Magnitude>,
    /// The magnitude in the chart's unit; known once the good end has values.
    magnitude: Option<f64>,
    direction: Direction,
    confidence: f64,
    /// Adjacent commits may hide a roll or a merge.
    lists: bool,
    /// A commit may fail on its own, and later ones pass. Not in jobs of earlier versions.
    may_mend: bool,
}

/// Two measured commits with the untested ones between them.
#[derive(Debug, Clone)]
struct Pair {
    lower: Position,
    higher: Position,
    between: Between,
    looks: Vec<Comparison>,
    state: PairState,
    /// Runs that the two ends have, or had under way, when the pair last asked
    /// for more: it is compared again once they are there. It does not wait for later
    /// requests of other pairs.
    awaits: [u32; 2],
}

/// The offsets from `low` up to, not including, `high` of a range.
#[derive(Debug, Clone, Copy)]
struct Between {
    range: u32,
    low: u64,
    high: u64,
    /// All offsets nearer to the middle were tried.
    tried: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum PairState {
    /// The range of the two ends of the search is being listed.
    Waiting,
    /// More runs are under way, or it is ready to be compared.
    Sampling,
    /// Different, and adjacent: looking for commits hidden between the two.
    Opening,
    /// Different, and this commit is being measured to split the pair.
    Splitting {
        middle: Position,
        /// As many runs as the lower end had when the pair was found different.
        runs: u32,
    },
    /// Different, and split into the pairs with these indices.
    Split(usize, usize),
    Same,
    /// The builds are the same: no run is needed.
    SameBuild,
    Culprit,
    /// A culprit may lie here, but its commit is not known.
    Undecided,
}

impl PinpointSearch {
    pub(crate) fn new(spec: &BisectionSpec, state: &mut SearchState) -> Self {
        let (range, lists) = match spec.range {
            Range::Between { .. } => (state.list(Position::Lower, Position::Higher), true),
            Range::Counted { between } => (state.add_range(between), false),
        };
        let mut search = Self {
            criteria: Criteria {
                first_total: Self::first_total(spec),
                asked_magnitude: spec.magnitude,
                magnitude: None,
                direction: spec.direction,
                confidence: spec.confidence,
                lists,
                may_mend: spec.version >= 5,
            },
            pairs: Vec::new(),
            concerned: BTreeMap::new(),
            undecided: 0,
            unproven: Vec::new(),
            exhausted: None,
        };
        let between = Between::unlisted(range);
        search.add(Pair {
            state: PairState::Waiting,
            ..Pair::new(Position::Lower, Position::Higher, between)
        });
        search.concern(Subject::Range(range), 0);
        for end in [Position::Lower, Position::Higher] {
            search.note(state.build(end));
        }
        search
    }

    /// Runs of each end before the first comparison.
    pub(crate) fn first_total(spec: &BisectionSpec) -> u32 {
        spec.attempts.unwrap_or_default().max(TOTALS[0])
    }

    /// Adds a pair, and returns its index.
    fn add(&mut self, pair: Pair) -> usize {
        let index = self.pairs.len();
        for end in [pair.lower, pair.higher] {
            self.concern(Subject::Commit(end), index);
        }
        self.undecided += 1;
        self.pairs.push(pair);
        index
    }

    /// Notes that answers about this concern a pair.
    fn concern(&mut self, subject: Subject, index: usize) {
        self.concerned.entry(subject).or_default().push(index);
    }

    /// Takes a pair as far as the answers so far allow.
    fn advance_pair(&mut self, index: usize, state: &mut SearchState) -> Result<(), CompareError> {
        if self.pairs[index].is_decided() {
            return Ok(());
        }
        self.decide(index, state)?;
        self.undecided -= usize::from(self.pairs[index].is_decided());
        Ok(())
    }

    fn decide(&mut self, index: usize, state: &mut SearchState) -> Result<(), CompareError> {
        if self.pairs[index].state == PairState::Waiting {
            let Some(count) = state.count(self.pairs[index].between.range) else {
                return Ok(());
            };
            self.pairs[index].between.high = count;
            self.pairs[index].state = PairState::Sampling;
        }
        if self.pairs[index].state == PairState::Sampling
            && state.are_same(self.pairs[index].lower, self.pairs[index].higher)
        {
            self.pairs[index].state = PairState::SameBuild;
        }
        if self.pairs[index].state == PairState::Sampling {
            self.sample(index, state)?;
        }
        if self.pairs[index].state == PairState::Opening {
            self.open(index, state);
        }
        if let PairState::Splitting { middle, runs } = self.pairs[index].state {
            self.split(index, middle, runs, state);
        }
        Ok(())
    }

    /// Compares the pair, if its runs are there, and acts on the result.
    fn sample(&mut self, index: usize, state: &mut SearchState) -> Result<(), CompareError> {
        let pair = &self.pairs[index];
        let (Some(lower), Some(higher)) = (state.get(pair.lower), state.get(pair.higher)) else {
            return Ok(());
        };
        if !(lower.is_ready(pair.awaits[0]) && higher.is_ready(pair.awaits[1])) {
            return Ok(());
        }
        let verdict = if lower.runs() == 0 || higher.runs() == 0 {
            Verdict::Unknown
        } else {
            self.criteria.fix_magnitude(state);
            let look = self.criteria.compare(pair, lower, higher)?;
            let verdict = look.verdict;
            self.pairs[index].looks.push(look);
            verdict
        };
        match verdict {
            Verdict::Same => self.pairs[index].state = PairState::Same,
            Verdict::Different => {
                let runs = lower.runs();
                self.look_between(index, runs, state);
            }
            Verdict::Unknown | Verdict::Nil => self.run_more(index, state),
        }
        Ok(())
    }

    fn run_more(&mut self, index: usize, state: &mut SearchState) {
        let pair = &self.pairs[index];
        let ends = [pair.lower, pair.higher];
        let [lower, higher] = ends.map(|end| state.get(end).map_or(0, Measured::runs));
        if lower >= TOTALS[TOTALS.len() - 1] {
            self.pairs[index].state = PairState::Same;
            return;
        }
        // A commit whose infrastructure gave up can't be run any more.
        if ends
            .iter()
            .any(|end| state.get(*end).is_some_and(Measured::is_skipped))
        {
            self.pairs[index].state = PairState::Undecided;
            return;
        }
        let total = self.criteria.next_total(lower, higher);
        let asked = state.run_up_to(&ends.map(|end| (end, total)));
        if self.note(asked) {
            self.pairs[index].awaits =
                ends.map(|end| state.get(end).map_or(0, Measured::requested));
        } else {
            self.pairs[index].state = PairState::Undecided;
        }
    }

    /// Looks for the cause of a difference: a commit in the middle is to be run this often.
    fn look_between(&mut self, index: usize, runs: u32, state: &mut SearchState) {
        let middle = self.pairs[index].between.nearest_untried(state);
        let between = self.pairs[index].between;
        let next = match middle {
            Some(middle) => {
                if self.note(state.build(middle)) {
                    self.concern(Subject::Commit(middle), index);
                    PairState::Splitting { middle, runs }
                } else {
                    PairState::Undecided
                }
            }
            // Commits that could not be built are between the two.
            None if between.low < between.high => PairState::Undecided,
            None if self.criteria.lists => {
                let (lower, higher) = (self.pairs[index].lower, self.pairs[index].higher);
                // The two ends of the search were listed when it began.
                if (lower, higher) == (Position::Lower, Position::Higher) {
                    PairState::Culprit
                } else {
                    let range = state.list(lower, higher);
                    self.concern(Subject::Range(range), index);
                    self.pairs[index].between = Between::unlisted(range);
                    PairState::Opening
                }
            }
            None => PairState::Culprit,
        };
        self.pairs[index].state = next;
    }

    fn open(&mut self, index: usize, state: &mut SearchState) {
        match state.count(self.pairs[index].between.range) {
            None if (state.unlisted(self.pairs[index].between.range)).is_some() => {
                self.pairs[index].state = PairState::Undecided;
            }
            None => {}
            Some(0) => self.pairs[index].state = PairState::Culprit,
            Some(count) => {
                self.pairs[index].between.high = count;
                let runs = state.get(self.pairs[index].lower).map_or(0, Measured::runs);
                self.look_between(index, runs, state);
            }
        }
    }

    /// The middle commit is under way, unusable, or measured.
    fn split(&mut self, index: usize, middle: Position, runs: u32, state: &mut SearchState) {
        let pair = &self.pairs[index];
        let Some(measured) = state.get(middle) else {
            return;
        };
        match measured.build {
            BuildState::Pending => {}
            // Its samples, if it has any, were not compared with anything yet.
            BuildState::Skipped(_) => self.look_between(index, runs, state),
            BuildState::Built if measured.pending > 0 => {}
            BuildState::Built if measured.runs() == 0 => {
                let asked = state.run_up_to(&[(middle, runs.max(1))]);
                if !self.note(asked) {
                    self.pairs[index].state = PairState::Undecided;
                }
            }
            BuildState::Built => {
                let (lower, higher) = pair.between.around(middle);
                let halves = [
                    Pair::new(pair.lower, middle, lower),
                    Pair::new(middle, pair.higher, higher),
                ];
                let [first, second] = halves.map(|half| self.add(half));
                self.pairs[index].state = PairState::Split(first, second);
            }
        }
    }

    /// Records that a budget ran out. True when it did not.
    fn note(&mut self, asked: Result<(), Exhausted>) -> bool {
        if let Err(exhausted) = asked {
            self.exhausted.get_or_insert(exhausted);
        }
        asked.is_ok()
    }

    /// Returns true if a difference inside this pair was accounted for.
    fn collect_candidates(&self, index: usize, found: &mut Vec<Position>) -> bool {
        let pair = &self.pairs[index];
        match pair.state {
            _ if self.unproven.contains(&index) => {
                found.extend(self.inside(index));
                true
            }
            PairState::Culprit => true,
            PairState::Split(first, second) => {
                let first = self.collect_candidates(first, found);
                let second = self.collect_candidates(second, found);
                if !(first || second) {
                    // The pair differs, and yet neither half does: a change
                    // too small to be seen in halves, or a chance difference.
                    found.extend(self.inside(index));
                }
                true
            }
            PairState::Same | PairState::SameBuild => false,
            _ => {
                found.extend(self.inside(index));
                true
            }
        }
    }

    /// The newer commits of all pairs that are not split, oldest first.
    fn ends(&self) -> Vec<Position> {
        self.in_order(|pair| (!matches!(pair.state, PairState::Split(..))).then_some(pair.higher))
    }

    /// Every commit that may cause the pair's difference, oldest first.
    fn inside(&self, index: usize) -> Vec<Position> {
        let pair = &self.pairs[index];
        let mut commits: Vec<Position> = pair.between.positions().collect();
        commits.push(pair.higher);
        commits
    }

    /// Visits the pairs from the oldest commits to the newest, a split pair
    /// before its halves.
    fn in_order<T>(&self, visit: impl Fn(&Pair) -> Option<T>) -> Vec<T> {
        let mut found = Vec::new();
        let mut stack = vec![0];
        while let Some(index) = stack.pop() {
            let pair = &self.pairs[index];
            found.extend(visit(pair));
            if let PairState::Split(first, second) = pair.state {
                stack.extend([second, first]);
            }
        }
        found
    }
}

impl SearchStrategy for PinpointSearch {
    fn advance(&mut self, state: &mut SearchState) -> Result<bool, CompareError> {
        // The requests of a pair do not affect the others: they make no commit of theirs ready that
        // was not, and a middle commit belongs to one pair.
        let last = state.last_answer();
        let mut concerned = last.map_or_else(Vec::new, |last| {
            self.concerned.get(&last).cloned().unwrap_or_default()
        });
        concerned.sort_unstable();
        // A pair that is split adds two at the end, so one pass over the growing list sees all
        // consequences of this event.
        let mut added = self.pairs.len();
        for index in concerned {
            self.advance_pair(index, state)?;
        }
        while added < self.pairs.len() {
            self.advance_pair(added, state)?;
            added += 1;
        }
        Ok(self.undecided == 0)
    }

    fn exhausted(&self) -> Option<Exhausted> {
        self.exhausted
    }

    fn stop(&mut self, state: &SearchState) {
        for pair in &mut self.pairs {
            if !pair.is_decided() {
                pair.state = PairState::Undecided;
            }
        }
        self.undecided = 0;
        if self.criteria.may_mend {
            let ends = self.ends();
            self.unproven = (0..self.pairs.len())
                .filter(|pair| is_unproven(&self.pairs[*pair], &ends, state))
                .collect();
        }
    }

    fn posterior(&self) -> Option<Posterior> {
        None
    }

    fn unchanged(&self) -> Vec<Unchanged> {
        self.in_order(|pair| {
            (pair.state == PairState::SameBuild).then(|| Unchanged {
                after: pair.lower,
                last: pair.higher,
                commits: pair.between.len() + 1,
            })
        })
    }

    fn mended(&self, state: &SearchState) -> Vec<Position> {
        let ends = (self.unproven.iter())
            .flat_map(|pair| [self.pairs[*pair].lower, self.pairs[*pair].higher]);
        ends.filter(|end| matches!(end, Position::Within { .. }))
            .filter(|end| state.get(*end).is_some_and(Measured::only_failed))
            .collect()
    }

    fn open_ranges(&self) -> Vec<OpenRange> {
        self.in_order(|pair| {
            (!pair.is_decided()).then(|| OpenRange {
                lower: pair.lower,
                higher: pair.higher,
                between: pair.between.len(),
            })
        })
    }

    /// Each halving of a range takes as many runs as its lower end has. More
    /// may be needed to decide, so this is a lower bound.
    fn runs_to_come(&self, state: &SearchState) -> u64 {
        (self.open_ranges().iter())
            .map(|range| {
                let each = state.get(range.lower).map_or(0, |lower| lower.runs());
                let halvings = u64::from(u64::BITS - range.between.leading_zeros());
                halvings * u64::from(each.max(self.criteria.first_total))
            })
            .sum()
    }

    fn comparisons(&self) -> Vec<Comparison> {
        self.in_order(|pair| Some(pair.looks.clone())).concat()
    }

    fn culprits(&self, state: &SearchState) -> Result<Vec<Culprit>, CompareError> {
        let ends = self.ends();
        self.in_order(|pair| {
            let is_named = pair.state == PairState::Culprit
                && !(self.criteria.may_mend && is_unproven(pair, &ends, state));
            if !is_named {
                return None;
            }
            let (lower, higher) = (state.get(pair.lower)?, state.get(pair.higher)?);
            let decided_by = pair.looks.last()?;
            Some(
                self.criteria
                    .effect(decided_by, lower, higher)
                    .map(|effect| Culprit {
                        commit: pair.higher,
                        prior: pair.lower,
                        commit_name: None,
                        prior_name: None,
                        probability: None,
                        effect,
                    }),
            )
        })
        .into_iter()
        .collect()
    }

    fn candidates(&self) -> Vec<Position> {
        let mut found = Vec::new();
        self.collect_candidates(0, &mut found);
        found
    }
}

/// The failures of one commit decided a pair, and say nothing about a change that lasts: the
/// newer commit is a culprit, and yet one of those after it fails no more often than the older
/// one; or the two count as the same, although the older one gave no value, and one after it did.
/// `ends` are the newer commits of all pairs, oldest first.
fn is_unproven(pair: &Pair, ends: &[Position], state: &SearchState) -> bool {
    let Some(lower) = state.get(pair.lower) else {
        return false;
    };
    match pair.state {
        PairState::Culprit => {
            let by_failures = (pair.looks.last())
                .is_some_and(|look| look.functional.verdict == Verdict::Different);
            let after = ends.iter().rev().take_while(|end| **end != pair.higher);
            let is_mended = after.filter_map(|end| state.get(*end)).any(|after| {
                compare_functional(&lower.errors(), &after.errors(), EXPECTED_ERROR_RATE)
                    .is_ok_and(|compared| compared.verdict == Verdict::Same)
            });
            by_failures && is_mended
        }
        PairState::Same => {
            let is_inside = matches!(pair.lower, Position::Within { .. });
            let mut after = ends.iter().rev().take_while(|end| **end != pair.lower);
            let is_mended = after
                .any(|end| (state.get(*end)).is_some_and(|it| it.runs() > 0 && !it.only_failed()));
            is_inside && lower.only_failed() && is_mended
        }
        _ => false,
    }
}

impl Pair {
    fn new(lower: Position, higher: Position, between: Between) -> Self {
        Self {
            lower,
            higher,
            between,
            looks: Vec::new(),
            state: PairState::Sampling,
            awaits: [0; 2],
        }
    }

    fn is_decided(&self) -> bool {
        matches!(
            self.state,
            PairState::Split(..)
                | PairState::Same
                | PairState::SameBuild
                | PairState::Culprit
                | PairState::Undecided
        )
    }
}

impl Between {
    /// The subject of a range that is not listed yet.
    fn unlisted(range: u32) -> Self {
        Self {
            range,
            low: 0,
            high: 0,
            tried: 0,
        }
    }

    fn len(&self) -> u64 {
        self.high - self.low
    }

    fn positions(self) -> impl Iterator<Item = Position> {
        (self.low..self.high).map(move |offset| Position::Within {
            range: self.range,
            offset,
        })
    }

    /// The middle, or the nearest commit to it that was not tried, older first.
    /// For an even number of commits the middle is the earlier of the two.
    fn nearest_untried(&mut self, state: &SearchState) -> Option<Position> {
        let middle = self.low + self.len().checked_sub(1)? / 2;
        let (range, within) = (self.range, self.low..self.high);
        (self.tried..=self.len()).find_map(|distance| {
            self.tried = distance;
            [middle.checked_sub(distance), middle.checked_add(distance)]
                .into_iter()
                .flatten()
                .filter(|offset| within.contains(offset))
                .map(|offset| Position::Within { range, offset })
                .find(|commit| state.get(*commit).is_none())
        })
    }

    /// The commits before and after one of them.
    fn around(self, middle: Position) -> (Self, Self) {
        let Position::Within { offset, .. } = middle else {
            return (self, self);
        };
        (
            Self {
                high: offset,
                tried: 0,
                ..self
            },
            Self {
                low: offset + 1,
                tried: 0,
                ..self
            },
        )
    }
}

impl Criteria {
    /// A magnitude in percent is one of the good end's median, taken when the first pair is
    /// compared.
    fn fix_magnitude(&mut self, state: &SearchState) {
        if self.magnitude.is_none() {
            self.magnitude = match self.asked_magnitude {
                None => None,
                Some(Magnitude::Absolute(magnitude)) => Some(magnitude.abs()),
                Some(Magnitude::Percent(percent)) => state
                    .get(Position::Lower)
                    .and_then(|good| median(&good.values()))
                    .map(|median| (median * percent / 100.0).abs().min(f64::MAX)),
            };
        }
    }

    fn next_total(&self, lower: u32, higher: u32) -> u32 {
        if lower != higher {
            lower.max(higher)
        } else if lower == 0 {
            self.first_total
        } else {
            let last = TOTALS[TOTALS.len() - 1];
            TOTALS
                .into_iter()
                .find(|total| *total > lower)
                .unwrap_or(last)
        }
    }

    /// The functional comparison first; the values decide where it does not.
    fn compare(
        &self,
        pair: &Pair,
        lower: &Measured,
        higher: &Measured,
    ) -> Result<Comparison, CompareError> {
        let functional =
            compare_functional(&lower.errors(), &higher.errors(), EXPECTED_ERROR_RATE)?;
        let performance = if functional.verdict == Verdict::Different {
            None
        } else {
            Some(self.compare_values(&lower.values(), &higher.values())?)
        };
        let verdict = match performance.as_ref().map(|performance| performance.verdict) {
            None | Some(Verdict::Nil) => functional.verdict,
            Some(Verdict::Same) if functional.verdict == Verdict::Unknown => Verdict::Unknown,
            Some(verdict) => verdict,
        };
        Ok(Comparison {
            lower: pair.lower,
            higher: pair.higher,
            lower_runs: lower.runs(),
            higher_runs: higher.runs(),
            verdict,
            functional,
            performance,
        })
    }

    /// Values so far apart that their difference overflows are compared at half their
    /// size, which changes nothing else.
    fn compare_values(
        &self,
        lower: &[f64],
        higher: &[f64],
    ) -> Result<PerformanceComparison, CompareError> {
        match compare_performance(lower, higher, self.magnitude, self.direction) {
            Err(CompareError::Overflow { .. }) => {
                let halves =
                    |values: &[f64]| values.iter().map(|value| value / 2.0).collect::<Vec<_>>();
                let magnitude = self.magnitude.map(|magnitude| magnitude / 2.0);
                compare_performance(&halves(lower), &halves(higher), magnitude, self.direction).map(
                    |comparison| PerformanceComparison {
                        mean_diff: None,
                        median_diff: None,
                        ..comparison
                    },
                )
            }
            compared => compared,
        }
    }

    fn effect(
        &self,
        decided_by: &Comparison,
        lower: &Measured,
        higher: &Measured,
    ) -> Result<Effect, CompareError> {
        let of_values = decided_by
            .performance
            .as_ref()
            .is_some_and(|performance| performance.verdict == Verdict::Different);
        if of_values {
            Effect::of_values(&lower.values(), &higher.values(), self.confidence)
        } else {
            let counts =
                |commit: &Measured| (u64::from(commit.failures()), u64::from(commit.runs()));
            Effect::of_failures(counts(lower), counts(higher), self.confidence)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::random::SplitMix64;
    use crate::{Action, Event, Task};

    /// An answer of any kind: one commit in four is at another level, and now and then something
    /// fails or is lost.
    fn answer(action: Action, random: &mut SplitMix64) -> Event {
        let number = action.number;
        let chance = random.below(24);
        match action.task {
            Task::Cancel { .. } => Event::Canceled { action: number },
            _ if chance == 0 => Event::GaveUp {
                action: number,
                reason: "lost".into(),
            },
            Task::List { range, .. } => Event::Listed {
                action: number,
                range,
                count: random.below(if range == 0 { 14 } else { 3 }),
            },
            Task::Build { .. } if chance == 1 => Event::BuildFailed {
                action: number,
                reason: "broken".into(),
            },
            Task::Build { .. } if chance < 8 => Event::Built {
                action: number,
                digest: Some(chance.to_string()),
                same: false,
            },
            Task::Run { .. } if chance == 1 => Event::RunFailed {
                action: number,
                bot: None,
                started: 0,
                reason: "exit code 1".into(),
            },
            Task::Run { commit, .. } => {
                let level = match commit {
                    Position::Lower => 0,
                    Position::Higher => 20,
                    Position::Within { range, offset } => 20 * (offset / 4) + 7 * u64::from(range),
                };
                let value = 100.0 + level as f64 + random.below(16) as f64;
                Event::Ran {
                    action: number,
                    bot: None,
                    started: 0,
                    values: BTreeMap::from([("time".to_owned(), vec![value])]),
                }
            }
            _ => Event::built(number),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn an_answer_takes_no_pair_further_that_it_does_not_concern(seed in any::<u64>()) {
            let mut random = SplitMix64::new(seed);
            let spec = BisectionSpec {
                strategy: crate::Strategy::Pinpoint,
                max_runs: Some(400 + random.below(1000)),
                seed,
                ..BisectionSpec::new(match random.below(4) {
                    0 => Range::Counted { between: random.below(20) },
                    _ => Range::Between {
                        good: crate::Commit::new("r", "a").into(),
                        bad: crate::Commit::new("r", "b").into(),
                    },
                })
            };
            let mut state = SearchState::new(&spec);
            let mut search = PinpointSearch::new(&spec, &mut state);
            loop {
                let mut open = state.outstanding();
                if open.is_empty() {
                    break;
                }
                let action = open.swap_remove(random.below(open.len() as u64) as usize);
                state.handle(answer(action, &mut random)).unwrap();
                let is_over = search.advance(&mut state).unwrap();
                prop_assert_eq!(is_over, search.pairs.iter().all(Pair::is_decided));
                // Each pair is looked at again after every answer.
                let (mut every, mut same) = (search.clone(), state.clone());
                let mut index = 0;
                while index < every.pairs.len() {
                    every.decide(index, &mut same).unwrap();
                    index += 1;
                }
                let states = |search: &PinpointSearch| -> Vec<_> {
                    let pairs = search.pairs.iter();
                    pairs.map(|pair| (pair.state.clone(), pair.awaits, pair.looks.len())).collect()
                };
                prop_assert_eq!(states(&every), states(&search));
                prop_assert_eq!(same.outstanding(), state.outstanding());
            }
            prop_assert!(search.pairs.iter().all(Pair::is_decided));
        }
    }
}

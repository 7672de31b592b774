//! The decision after each answer: what is certain, and what is still to be run for it.

use super::limit;
use super::posterior::Analysis;
use super::runs::Runs;
use super::search::{AdaptiveSearch, Change, ENDS, Phase};
use super::tuning::{FIRST_RUNS, FIRST_RUNS_IF_CLEAR, PAIR_RUNS};
use crate::Position;
use crate::budget::Exhausted;
use crate::search_state::{BuildState, SearchState};

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
    /// Finds the largest change that may be there, where there is likely none. Where there may also
    /// be a change for the better, the model of one step does not give it.
    pub(super) fn limit_change(&mut self, runs: &Runs) {
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
    pub(super) fn decide(&mut self, state: &mut SearchState) -> bool {
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
                    return self.show(&change, &runs, state);
                }
                Next::Found => {
                    self.add_change(change, state.runs());
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

    /// Adds a change that was found after so many runs. One that was found before, and given up for
    /// a while, is not new: the search for a further one goes on from where it began.
    fn add_change(&mut self, change: Change, runs: u64) {
        if !self.found.iter().any(|(found, _)| found.is_at(&change)) {
            self.found.push((change.clone(), runs));
        }
        self.changes.push(change);
        if !self.question.remembers {
            self.runs_at_latest = runs;
            return;
        }
        let is_current = |found: &Change| self.changes.iter().any(|it| it.is_at(found));
        let current = (self.found.iter()).filter(|(found, _)| is_current(found));
        self.runs_at_latest = current.map(|(_, runs)| *runs).max().unwrap_or(runs);
    }

    /// Takes up the changes that were found, the likeliest first, as long as each is certain given the
    /// others, if these are more than those at hand. Where a further change is next to certain, it
    /// may take the place of one that is certain without it, and so on in a circle; a search that
    /// ends just then would name none.
    pub(super) fn find_again(&mut self, runs: &Runs) {
        if !self.question.remembers || self.found.len() <= self.changes.len() {
            return;
        }
        let at_hand = std::mem::take(&mut self.changes);
        loop {
            let changes = self.gaps_of_changes(None);
            let analysis = self.analyze(runs, &changes);
            let gaps = self.found.iter().filter_map(|(found, _)| {
                let gap = self.line.site_of(found.lower)?;
                let is_there = self.line.sites.get(gap + 1) == Some(&found.higher);
                (is_there && !changes.contains(&gap)).then_some(gap)
            });
            let likeliest = gaps.max_by(|a, b| analysis.gaps[*a].total_cmp(&analysis.gaps[*b]));
            let Some(gap) = likeliest.filter(|gap| analysis.gaps[*gap] >= self.threshold()) else {
                break;
            };
            let before = self.changes.clone();
            self.changes.push(self.change(gap, &analysis));
            if self.give_up_least(runs) {
                self.changes = before;
                break;
            }
        }
        if self.changes.len() <= at_hand.len() {
            self.changes = at_hand;
        }
    }

    /// Keeps the changes found that are still certain, given the others and all runs
    /// since.
    pub(super) fn look_again(&mut self, runs: &Runs) {
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

    pub(super) fn analyze_beside_culprits(&mut self, state: &SearchState) {
        let changes = self.gaps_of_changes(None);
        let (culprits, spans): (Vec<usize>, Vec<usize>) =
            (changes.into_iter()).partition(|gap| self.is_traced(*gap));
        self.beside_culprits =
            (!spans.is_empty()).then(|| self.analyze(&Runs::collect(&self.line, state), &culprits));
    }
}

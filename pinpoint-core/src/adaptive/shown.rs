//! Names a culprit only if its own effect shows.
//!
//! The probability of a commit locates a change, from the runs of all commits. Its effect is the
//! size of the change, from the runs next to it; and where these are few, its interval may hold
//! zero: no change at all. An answer that says both contradicts itself. So the two commits are run
//! again, which moves the probability as well, until one of the two gives way. A culprit that can't
//! be shown before the search must end is left as a candidate.

use super::runs::Runs;
use super::search::{AdaptiveSearch, Change};
use super::tuning::{PAIR_RUNS, RUNS_PER_LATE_BATCHED};
use crate::Position;
use crate::budget::Exhausted;
use crate::search_state::{BuildState, SearchState};

impl AdaptiveSearch {
    /// Returns true if the measured effect of a change is not compatible with zero, and runs back
    /// to back show it.
    pub(super) fn is_shown(&self, change: &Change, runs: &Runs) -> bool {
        !self.question.shows_effects
            || (self.effect(change, runs)).is_ok_and(|effect| {
                let shows = (effect.interval).is_none_or(|interval| !interval.contains(0.0));
                shows && self.is_paired(change, &effect, runs)
            })
    }

    /// Asks for more runs of the two commits about a change. True when there can be none.
    pub(super) fn show(
        &self,
        change: &Change,
        runs: &Runs,
        state: &mut SearchState,
    ) -> Result<bool, Exhausted> {
        if let Some(analysis) = &self.analysis {
            self.check_worth(analysis, !self.changes.is_empty(), state)?;
        }
        if self.question.pairs && self.run_pairs(change, runs, state)? {
            return Ok(false);
        }
        let more = PAIR_RUNS.max((state.runs() / RUNS_PER_LATE_BATCHED) as u32);
        let totals: Vec<(Position, u32)> = [change.lower, change.higher]
            .into_iter()
            .filter_map(|site| {
                let measured = state.get(site).filter(|it| it.build == BuildState::Built)?;
                Some((site, measured.requested() + more))
            })
            .collect();
        state.run_up_to(&totals)?;
        Ok(totals.is_empty())
    }

    /// Gives up the first change whose effect is compatible with zero. False when there is no such
    /// change.
    pub(super) fn give_up_unshown(&mut self, runs: &Runs) -> bool {
        let unshown = (self.changes.iter()).position(|change| {
            let gap = self.line.site_of(change.lower);
            gap.is_some_and(|gap| self.is_traced(gap)) && !self.is_shown(change, runs)
        });
        (unshown.map(|index| self.changes.remove(index))).is_some()
    }

    /// Gives up all changes whose effects are compatible with zero, where no more can be measured.
    pub(super) fn keep_shown(&mut self, runs: &Runs) {
        let mut has_changed = false;
        while self.give_up_unshown(runs) {
            has_changed = true;
        }
        if has_changed {
            let changes = self.gaps_of_changes(None);
            self.analysis = Some(self.analyze(runs, &changes));
        }
    }
}

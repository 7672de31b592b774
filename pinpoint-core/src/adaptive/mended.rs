//! Leaves out commits that fail on their own, like those that do not build.
//!
//! Where every run of a commit fails, and runs of a later one pass, the failures are a fact of that
//! commit alone, or of a few neighbors, unless the rates of failure on both sides say otherwise.
//! Its runs give no values, so that a change next to it may be on its other side as well: it is
//! left out of the line, like a commit that does not build.

use super::broken;
use super::posterior::Analysis;
use super::runs::Runs;
use super::search::{AdaptiveSearch, Change, Phase};
use super::tuning::{CERTAINLY_BROKEN, FIRST_RUNS, QUIET_RUNS};
use crate::Position;
use crate::budget::Exhausted;
use crate::search_state::{BuildState, Measured, SearchState};

impl AdaptiveSearch {
    /// Leaves out a site that is likely broken. False when there is none.
    pub(super) fn leave_out_broken(
        &mut self,
        runs: &Runs,
        analysis: &Analysis,
        changes: &[usize],
        state: &mut SearchState,
    ) -> bool {
        if !self.question.distinguishes || self.line.is_closed() {
            return false;
        }
        let is_suspect = |site: &usize| {
            let commit = self.line.sites[*site];
            let only_failed = (state.get(commit)).is_some_and(|measured| {
                measured.build == BuildState::Built
                    && measured.only_failed()
                    && measured.runs() >= FIRST_RUNS
            });
            only_failed && self.line.counts(commit) && !self.broken.contains(&commit)
        };
        let suspects: Vec<usize> = (1..self.line.sites.len() - 1).filter(is_suspect).collect();
        if suspects.is_empty() {
            return false;
        }
        let chances = broken::weigh(runs, changes, None);
        let none = 1.0 - analysis.failing.iter().sum::<f64>();
        let found = suspects.into_iter().find(|site| {
            let usual = broken::weigh(runs, changes, Some(*site));
            let usual = chances.usual(&usual, *site, none, &analysis.failing);
            usual <= 1.0 - CERTAINLY_BROKEN
        });
        let Some(site) = found else {
            return false;
        };
        let commit = self.line.sites[site];
        let of_change = |change: &Change| change.lower == commit || change.higher == commit;
        self.changes.retain(|change| !of_change(change));
        if self.line.drop_site(site) {
            state.skip_failing(commit);
        } else {
            self.broken.push(commit);
        }
        true
    }

    /// Asks for the run that shows if failures last, where nothing else is left to find: a run of a
    /// commit between two that fail. More runs of those would not show if they are mended in
    /// between. False when there is nothing to ask for.
    pub(super) fn check_lasting(
        &mut self,
        analysis: &Analysis,
        state: &mut SearchState,
    ) -> Result<bool, Exhausted> {
        let by_probability =
            |one: &usize, other: &usize| analysis.gaps[*one].total_cmp(&analysis.gaps[*other]);
        let only_fails = |site: usize| {
            let measured = state.get(self.line.sites[site]);
            measured.is_some_and(Measured::only_failed)
        };
        let first = (0..analysis.gaps.len()).max_by(by_probability);
        let Some(first) = first.filter(|first| {
            self.question.distinguishes && self.is_traced(*first) && only_fails(first + 1)
        }) else {
            return Ok(false);
        };
        let changes = self.gaps_of_changes(None);
        let last =
            (changes.into_iter().find(|change| *change > first)).unwrap_or(self.line.gaps.len());
        let is_all = analysis.gaps[first..last].iter().sum::<f64>() >= self.threshold();
        if !is_all || state.builds_left() == Some(0) {
            return Ok(false);
        }
        let is_built = |measured: &&Measured| measured.build == BuildState::Built;
        let not_run: Vec<(Position, u32)> = (self.line.sites[first + 1..=last].iter())
            .filter(|site| (state.get(**site).filter(is_built)).is_some_and(|it| it.runs() == 0))
            .map(|site| (*site, 1))
            .collect();
        if !not_run.is_empty() {
            state.run_up_to(&not_run)?;
            return Ok(true);
        }
        let likeliest = (first + 1..last)
            .filter(|gap| !self.line.is_exhausted(*gap) && analysis.gaps[*gap] > 0.0)
            .max_by(by_probability);
        let splits = likeliest.map_or_else(Vec::new, |gap| self.line.splits(gap, 0.5));
        let split = splits
            .into_iter()
            .reduce(|best, split| match split.builds > best.builds {
                true => split,
                false => best,
            });
        let Some(split) = split else {
            return Ok(false);
        };
        state.build(split.commit)?;
        self.phase = Phase::Building(split.commit);
        Ok(true)
    }

    /// Asks for more runs of the bad end where values never vary and no run has failed: a few
    /// runs say that nothing changed in the values, but not that the bad end does not fail now
    /// and then. False when it has enough.
    pub(super) fn look_for_failures(
        &self,
        runs: &Runs,
        state: &mut SearchState,
    ) -> Result<bool, Exhausted> {
        let is_quiet = !runs.vary() && runs.tallies.iter().all(|tally| tally.failures == 0.0);
        let is_open = self.changes.is_empty() && !self.line.is_closed();
        let made = state.get(Position::Higher).map_or(0, Measured::runs);
        if !self.question.distinguishes || !is_quiet || !is_open || made >= QUIET_RUNS {
            return Ok(false);
        }
        state.run_up_to(&[(Position::Higher, QUIET_RUNS)])?;
        Ok(true)
    }

    /// Commits none of whose runs gave a value, although those of a later one did, and no
    /// change of failures accounts for it.
    pub(super) fn mended(&self, state: &SearchState) -> Vec<Position> {
        if !self.question.distinguishes {
            return Vec::new();
        }
        let failing_from = (self.changes.iter())
            .filter(|change| change.by_failures)
            .filter_map(|change| self.line.site_of(change.higher))
            .min()
            .unwrap_or(usize::MAX);
        let measured = |site: &usize| {
            let commit = self.line.sites[*site];
            state
                .get(commit)
                .filter(|commit| commit.build == BuildState::Built)
        };
        let last = (0..self.line.sites.len()).rev().find(|site| {
            measured(site).is_some_and(|measured| measured.failures() < measured.runs())
        });
        (1..last.unwrap_or_default().min(failing_from))
            .filter(|site| measured(site).is_some_and(|measured| measured.only_failed()))
            .map(|site| self.line.sites[site])
            .collect()
    }
}

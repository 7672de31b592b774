//! Commits that fail for themselves are left out, as those that do not build.
//!
//! Where every run of a commit fails, and runs of a later one pass, the failures are a fact of
//! that commit alone, or of a few neighbors, unless the rates of failure on both sides say
//! otherwise. Its runs give no values, so that a change beside it may be on its other side as
//! well: it is left out of the line, like a commit that does not build.

use super::posterior::Analysis;
use super::runs::Runs;
use super::tuning::{CERTAINLY_BROKEN, FIRST_RUNS, LARGEST_UNSEEN};
use super::{AdaptiveSearch, Phase, broken};
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
        let chances = broken::weigh(&runs.tallies, changes, None);
        let none = 1.0 - analysis.failing.iter().sum::<f64>();
        let found = suspects.into_iter().find(|site| {
            let usual = broken::weigh(&runs.tallies, changes, Some(*site));
            let usual = chances.usual(&usual, *site, none, &analysis.failing);
            usual <= 1.0 - CERTAINLY_BROKEN
        });
        let Some(site) = found else {
            return false;
        };
        let commit = self.line.sites[site];
        let of_change = |change: &super::Change| change.lower == commit || change.higher == commit;
        self.changes.retain(|change| !of_change(change));
        if self.line.drop_site(site) {
            state.skip_failing(commit);
        } else {
            self.broken.push(commit);
        }
        true
    }

    /// Asks for what shows whether the failures after a gap last: runs of commits between it and
    /// the next change. False when there is nothing to ask for.
    pub(super) fn check_lasting(
        &mut self,
        gap: usize,
        state: &mut SearchState,
    ) -> Result<bool, Exhausted> {
        let first = self.line.sites[gap + 1];
        let only_fails = state.get(first).is_some_and(Measured::only_failed);
        if !self.question.distinguishes || !only_fails {
            return Ok(false);
        }
        let changes = self.gaps_of_changes(None);
        let last =
            (changes.into_iter().find(|change| *change > gap)).unwrap_or(self.line.gaps.len());
        let is_built = |measured: &&Measured| measured.build == BuildState::Built;
        let not_run: Vec<(Position, u32)> = (self.line.sites[gap + 1..=last].iter())
            .filter(|site| {
                state
                    .get(**site)
                    .filter(is_built)
                    .is_some_and(|it| it.runs() == 0)
            })
            .map(|site| (*site, 1))
            .collect();
        if !not_run.is_empty() {
            state.run_up_to(&not_run)?;
            return Ok(true);
        }
        let after: u64 = (gap + 1..last).map(|gap| self.line.commits(gap)).sum();
        let largest = (gap + 1..last)
            .filter(|gap| !self.line.is_exhausted(*gap) && !self.line.gaps[*gap].closed)
            .max_by_key(|gap| (self.line.gaps[*gap].len(), std::cmp::Reverse(*gap)));
        let unseen =
            largest.filter(|gap| self.line.gaps[*gap].len() as f64 > LARGEST_UNSEEN * after as f64);
        let Some(gap) = unseen.filter(|_| state.builds_left() != Some(0)) else {
            return Ok(false);
        };
        let likeliest = (self.line.splits(gap, 0.5).into_iter()).reduce(|best, split| {
            match split.builds > best.builds {
                true => split,
                false => best,
            }
        });
        let Some(split) = likeliest else {
            return Ok(false);
        };
        state.build(split.commit)?;
        self.phase = Phase::Building(split.commit);
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

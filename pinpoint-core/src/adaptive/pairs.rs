//! Names a culprit only if it differs from the commit before it when both run back to back.
//!
//! A machine is faster and slower for seconds or minutes. The runs of one commit may all have met
//! a slow machine, and those of the next one a fast one; the probability of a change between them
//! is then that of a model which knows nothing of it. Two runs of which one follows the other have
//! met the same machine, unless its speed changed just between them, so that their difference is
//! that of the commits. A culprit is named once several such pairs show most of its effect.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use pinpoint_compare::median;

use super::runs::Runs;
use super::search::{AdaptiveSearch, Change};
use super::tuning::{
    BACK_TO_BACK_PAIRS, BACK_TO_BACK_SHARE, PAIR_RUNS, RUNS_PER_LATE_BATCHED, RUNS_WITHOUT_PAIR,
};
use crate::budget::Exhausted;
use crate::outcome::Effect;
use crate::search_state::SearchState;

impl AdaptiveSearch {
    /// Returns true if the pairs of runs back to back on both sides of a change show it, and are
    /// enough, or where there can be none. A change of failures, and one between values that never
    /// vary, needs no pairs.
    pub(super) fn is_paired(&self, change: &Change, effect: &Effect, runs: &Runs) -> bool {
        if !self.question.pairs || change.by_failures || runs.are_steady() {
            return true;
        }
        let (Some(gap), Some(estimate)) = (self.line.site_of(change.lower), effect.estimate) else {
            return true;
        };
        let sides = self.same_beside(gap);
        let differences = back_to_back(runs, &sides);
        if differences.len() < BACK_TO_BACK_PAIRS {
            let can_be_built = runs.built[gap] && runs.built[gap + 1];
            return !can_be_built
                || has_no_pairs(runs, &sides, self.question.names_bots, differences.len());
        }
        median(&differences).is_some_and(|difference| difference / estimate >= BACK_TO_BACK_SHARE)
    }

    /// Asks for runs of the two commits about a change, one right after the other. False when there
    /// can be none.
    pub(super) fn run_pairs(
        &self,
        change: &Change,
        runs: &Runs,
        state: &mut SearchState,
    ) -> Result<bool, Exhausted> {
        let gap = self.line.site_of(change.lower);
        let Some(gap) = gap.filter(|gap| runs.built[*gap] && runs.built[*gap + 1]) else {
            return Ok(false);
        };
        let sides = self.same_beside(gap);
        let found = back_to_back(runs, &sides).len();
        let pairs = match BACK_TO_BACK_PAIRS.saturating_sub(found) {
            // There are enough, and they do not show it yet.
            0 => u64::from(PAIR_RUNS).max(state.runs() / RUNS_PER_LATE_BATCHED),
            missing => missing as u64,
        };
        // Of commits whose builds are the same, one that has runs.
        let sites = sides.map(|sites| {
            let built = sites.filter(|site| runs.built[*site]);
            built.max_by(|a, b| runs.tallies[*a].runs.total_cmp(&runs.tallies[*b].runs))
        });
        let [Some(before), Some(after)] = sites else {
            return Ok(false);
        };
        let sites = [before, after].map(|site| self.line.sites[site]);
        state.run_pairs(sites, pairs as u32)?;
        Ok(true)
    }

    /// The sites before and after a gap whose builds are the same as those next to it.
    fn same_beside(&self, gap: usize) -> [RangeInclusive<usize>; 2] {
        let is_closed = |gap: &usize| self.line.gaps[*gap].closed;
        let before = (0..gap).rev().take_while(is_closed).count();
        let after = (gap + 1..self.line.gaps.len())
            .take_while(is_closed)
            .count();
        [gap - before..=gap, gap + 1..=gap + 1 + after]
    }
}

/// Returns true where no runs back to back are available: any bot may take each run, or, although bots are
/// asked for, none of many runs followed one of the other side.
fn has_no_pairs(
    runs: &Runs,
    sides: &[RangeInclusive<usize>; 2],
    names_bots: bool,
    found: usize,
) -> bool {
    let is_any_bot = runs.bots > 1 && !names_bots;
    let is_in_vain =
        found == 0 && (sides.iter()).all(|sites| runs.of(sites).len() >= RUNS_WITHOUT_PAIR);
    is_any_bot || is_in_vain
}

/// The differences of runs of the sites on both sides of a change, of which one followed the other
/// on the same bot: the later side minus the earlier one. No run is in two of them, and the first of
/// a commit is in none as the later one: its build was before it. (How long runs are apart by the
/// clock does not count, so that a search that is stopped and resumed decides the same.)
fn back_to_back(runs: &Runs, sides: &[RangeInclusive<usize>; 2]) -> Vec<f64> {
    let is_of = |index: usize, side: usize| sides[side].contains(&runs.sites[index]);
    let mut by_time: Vec<usize> = (0..runs.values.len())
        .filter(|index| is_of(*index, 0) || is_of(*index, 1))
        .collect();
    by_time.sort_unstable_by(|a, b| runs.values[*a].time.total_cmp(&runs.values[*b].time));
    let mut taken = vec![false; runs.values.len()];
    let mut seen = BTreeSet::new();
    let mut differences = Vec::new();
    for index in by_time {
        let is_first = seen.insert(runs.sites[index]);
        let previous = runs.previous[index].filter(|previous| !taken[*previous]);
        let Some(previous) = previous.filter(|_| !is_first) else {
            continue;
        };
        let pair = match (is_of(previous, 0), is_of(index, 0)) {
            (true, false) => [previous, index],
            (false, true) if is_of(previous, 1) => [index, previous],
            _ => continue,
        };
        taken[index] = true;
        let [before, after] = pair.map(|index| runs.values[index].value);
        differences.push(after - before);
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptive::memory::Windows;
    use crate::adaptive::values::Value;

    /// Runs in their order, each as its site, its value and its bot.
    fn runs(each: &[(usize, f64, usize)]) -> Runs {
        // As they are collected: site by site.
        let mut order: Vec<usize> = (0..each.len()).collect();
        order.sort_by_key(|index| each[*index].0);
        let values: Vec<Value> = (order.iter())
            .map(|index| {
                let (site, value, bot) = each[*index];
                let time = *index as f64 / each.len() as f64 - 0.5;
                Value {
                    site,
                    value,
                    bot,
                    time,
                }
            })
            .collect();
        let previous: Vec<Option<usize>> = (order.iter())
            .map(|index| {
                let before = (0..*index).rev().find(|it| each[*it].2 == each[*index].2)?;
                order.iter().position(|it| *it == before)
            })
            .collect();
        Runs {
            sites: values.iter().map(|value| value.site).collect(),
            windows: Windows::new(&previous, |_| true),
            previous,
            built: Vec::new(),
            values,
            tallies: Vec::new(),
            commits: Vec::new(),
            bots: 2,
        }
    }

    #[test]
    fn pairs_are_runs_of_both_sites_of_which_one_follows_the_other() {
        let one = |each: &[(usize, f64)]| -> Vec<f64> {
            let each: Vec<_> = each
                .iter()
                .map(|(site, value)| (*site, *value, 0))
                .collect();
            back_to_back(&runs(&each), &[1..=1, 2..=2])
        };
        // The first run of a commit follows its build.
        assert!(one(&[(1, 1.0), (2, 3.0)]).is_empty());
        assert_eq!(one(&[(1, 1.0), (2, 3.0), (1, 2.0)]), [1.0]);
        assert_eq!(one(&[(2, 3.0), (1, 1.0), (2, 4.0)]), [3.0]);
        // Each run counts once.
        let four = [(1, 1.0), (2, 3.0), (1, 2.0), (2, 7.0)];
        assert_eq!(one(&four), [1.0]);
        assert_eq!(
            one(&[&four[..], &[(2, 8.0), (1, 2.0)]].concat()),
            [1.0, 6.0]
        );
        // A run of another commit is between them.
        let apart = [(1, 1.0), (0, 1.0), (2, 3.0), (0, 1.0), (1, 1.0)];
        assert!(one(&apart).is_empty());
    }

    #[test]
    fn runs_of_the_same_builds_count() {
        let first = [
            (0, 1.0, 0),
            (1, 1.0, 0),
            (2, 3.0, 0),
            (3, 3.0, 0),
            (9, 1.0, 0),
        ];
        let then = [(0, 1.0, 0), (3, 3.0, 0), (1, 2.0, 0), (2, 5.0, 0)];
        let runs = runs(&[&first[..], &then].concat());
        assert_eq!(back_to_back(&runs, &[0..=1, 2..=3]), [2.0, 3.0]);
    }

    #[test]
    fn runs_on_two_machines_are_no_pair() {
        let apart = runs(&[(1, 1.0, 0), (2, 3.0, 1)]);
        assert!(back_to_back(&apart, &[1..=1, 2..=2]).is_empty());
        let first = [(1, 1.0, 0), (2, 3.0, 0), (9, 1.0, 0)];
        let then = [(1, 1.0, 0), (1, 2.0, 1), (2, 3.0, 0), (2, 5.0, 1)];
        let mixed = runs(&[&first[..], &then].concat());
        assert_eq!(back_to_back(&mixed, &[1..=1, 2..=2]), [2.0, 3.0]);
    }

    #[test]
    fn no_pairs_are_asked_for_where_each_run_is_on_a_machine_of_its_own() {
        let sides = [1..=1, 2..=2];
        let apart = |count: usize| {
            let each: Vec<_> = (0..2 * count).map(|run| (1 + run % 2, 1.0, run)).collect();
            runs(&each)
        };
        let none_found = |runs: &Runs, names_bots: bool| {
            let found = back_to_back(runs, &sides).len();
            assert_eq!(found, 0);
            has_no_pairs(runs, &sides, names_bots, found)
        };
        // Any bot may take a run.
        assert!(none_found(&apart(1), false));
        // One bot is asked for, and still no run follows another: that shows after some.
        assert!(!none_found(&apart(RUNS_WITHOUT_PAIR - 1), true));
        assert!(none_found(&apart(RUNS_WITHOUT_PAIR), true));
        // On one bot pairs are a matter of time, however many runs there were.
        let mut in_turn = apart(RUNS_WITHOUT_PAIR);
        in_turn.bots = 1;
        assert!(!has_no_pairs(&in_turn, &sides, true, 1));
    }
}

//! The truth of a simulated search: which commits change something, and which can't be measured.

use std::collections::{BTreeMap, BTreeSet};

use super::noise::NORMAL_RANGE;
use super::{Broken, Scenario};
use crate::random::SplitMix64;

/// The truth that a search does not know.
#[derive(Debug, Clone)]
pub(super) struct Truth {
    /// The commits that change something, and the sizes of the changes. 0 is the first
    /// commit after the good end, the last one is the bad end.
    pub(super) changes: BTreeMap<u64, f64>,
    /// The amount by which the values of each bot are higher.
    pub(super) bots: Vec<f64>,
    /// Commits that do not build.
    pub(super) broken: BTreeSet<u64>,
    /// Commits whose own runs fail.
    pub(super) failing: BTreeSet<u64>,
    /// The first commit whose values are rounded to the second tick.
    pub(super) coarse_from: u64,
}

impl Truth {
    pub(super) fn draw(scenario: &Scenario, random: &mut SplitMix64) -> Self {
        let sums = scenario.weights.as_deref().map(cumulative);
        let possible = match &sums {
            Some((_, possible)) => *possible,
            None => usize::try_from(scenario.commits).unwrap_or(usize::MAX),
        };
        let wanted = scenario.changes.len().min(possible);
        let mut places = BTreeSet::new();
        while places.len() < wanted {
            places.insert(match &sums {
                None => random.below(scenario.commits),
                Some((sums, _)) => {
                    let total = sums.last().copied().unwrap_or_default();
                    let target = random.uniform() * total;
                    sums.partition_point(|sum| *sum < target) as u64
                }
            });
        }
        let changes: BTreeMap<u64, f64> = places
            .into_iter()
            .zip(scenario.changes.iter().copied())
            .collect();
        let bots = (0..scenario.bots)
            .map(|_| random.normal() / NORMAL_RANGE)
            .collect();
        let mut broken = BTreeSet::new();
        if scenario.unbuildable > 0.0 {
            let needed =
                |place: &u64| changes.contains_key(place) || changes.contains_key(&(place + 1));
            broken.extend(
                (0..scenario.commits.saturating_sub(1))
                    .filter(|_| random.chance(scenario.unbuildable))
                    .filter(|place| !needed(place)),
            );
        }
        let coarse_from = match scenario.ticks[0] == scenario.ticks[1] {
            true => 0,
            false => random.below(scenario.commits),
        };
        let mut failing = BTreeSet::new();
        let last = scenario.commits.saturating_sub(1);
        let rates_change = scenario.failure_rates[0] != scenario.failure_rates[1];
        for block in 0..scenario.broken.map_or(0, |broken| broken.blocks) {
            let Broken {
                length,
                beside_change,
                ..
            } = scenario.broken.unwrap_or_default();
            let first = match changes.keys().next() {
                Some(change) if beside_change && block == 0 => {
                    // From one that ends just before it to one that begins with it.
                    (change + random.below(length + 1)).saturating_sub(length)
                }
                _ => random.below(scenario.commits),
            };
            failing.extend(first..first.saturating_add(length).min(last));
        }
        if rates_change {
            for change in changes.keys() {
                let unmended = (0..*change)
                    .rev()
                    .take_while(|place| failing.contains(place));
                let unmended = unmended.count() as u64;
                failing.retain(|place| !(change - unmended..*change).contains(place));
            }
        }
        Self {
            changes,
            bots,
            broken,
            failing,
            coarse_from,
        }
    }

    /// The commits that no run distinguishes from the one that makes a change, itself included.
    pub(super) fn indistinct(&self, scenario: &Scenario, change: u64) -> u64 {
        let gives_values = |place: u64| {
            let only_fails = (scenario.broken.is_some_and(|broken| broken.rate >= 1.0))
                && self.failing.contains(&place);
            !only_fails && !self.broken.contains(&place)
        };
        // A commit that begins to fail is known by that.
        if scenario.failure_rates[0] != scenario.failure_rates[1] {
            return 1;
        }
        let before = (0..change).rev().take_while(|place| !gives_values(*place));
        let after = (change..scenario.commits).take_while(|place| !gives_values(*place));
        1 + before.count() as u64 + after.count() as u64
    }
}

/// The sums of weights up to each commit, and the number of weights above 0.
fn cumulative(weights: &[f64]) -> (Vec<f64>, usize) {
    let weights = || weights.iter().map(|weight| weight.max(0.0));
    let sums = weights().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    (
        sums.collect(),
        weights().filter(|weight| *weight > 0.0).count(),
    )
}

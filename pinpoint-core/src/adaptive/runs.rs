//! The runs of a search, by site.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use pinpoint_compare::median;

use super::failures::Tally;
use super::line::Line;
use super::memory::Windows;
use super::values::Value;
use crate::search_state::{BuildState, SearchState};

/// Every run of every site.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    pub(crate) values: Vec<Value>,
    pub(crate) tallies: Vec<Tally>,
    /// The commits from each site to the next.
    pub(crate) commits: Vec<f64>,
    /// The number of bots.
    pub(crate) bots: usize,
    /// The site of each value, rising.
    pub(crate) sites: Vec<usize>,
    /// The index of the value of the run before each on its bot.
    pub(crate) previous: Vec<Option<usize>>,
    /// True for each site that can be run again.
    pub(crate) built: Vec<bool>,
    pub(crate) windows: Windows,
}

impl Runs {
    pub(crate) fn collect(line: &Line, state: &SearchState) -> Self {
        let mut values = Vec::new();
        let mut order = Vec::new();
        let mut tallies = vec![Tally::default(); line.sites.len()];
        let mut bots: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for (site, commit) in line.sites.iter().enumerate() {
            let counted = state.get(*commit).filter(|_| line.counts(*commit));
            let runs = (counted.into_iter()).flat_map(|commit| commit.each_run());
            for run in runs {
                tallies[site].runs += 1.0;
                let Some(value) = median(&run.values) else {
                    tallies[site].failures += 1.0;
                    continue;
                };
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
        order.sort_unstable();
        let last = order.len().saturating_sub(1).max(1) as f64;
        let mut latest = vec![None; bots.len()];
        let mut previous = vec![None; values.len()];
        for (rank, (_, _, index)) in order.into_iter().enumerate() {
            let value = &mut values[index];
            value.time = rank as f64 / last - 0.5;
            previous[index] = latest[value.bot].replace(index);
        }
        Self {
            sites: values.iter().map(|value| value.site).collect(),
            windows: Windows::new(&previous, |_| true),
            previous,
            built: (line.sites.iter())
                .map(|site| (state.get(*site)).is_some_and(|it| it.build == BuildState::Built))
                .collect(),
            values,
            tallies,
            commits: (0..line.gaps.len())
                .map(|gap| line.commits(gap) as f64)
                .collect(),
            bots: bots.len(),
        }
    }

    /// Returns true if two values differ.
    pub(crate) fn vary(&self) -> bool {
        (self.values.windows(2)).any(|pair| pair[0].value != pair[1].value)
    }

    /// Returns true if all values of each site are the same.
    pub(crate) fn are_steady(&self) -> bool {
        (self.values.windows(2))
            .all(|pair| pair[0].site != pair[1].site || pair[0].value == pair[1].value)
    }

    /// The values of these sites.
    pub(crate) fn of(&self, sites: &RangeInclusive<usize>) -> Vec<f64> {
        let first = self.sites.partition_point(|site| site < sites.start());
        let end = self.sites.partition_point(|site| site <= sites.end());
        (self.values[first..end].iter())
            .map(|value| value.value)
            .collect()
    }

    /// The failures of these sites, and all of their runs.
    pub(crate) fn failures(&self, sites: RangeInclusive<usize>) -> (u64, u64) {
        let [failures, runs] = (self.tallies[sites].iter())
            .fold([0.0; 2], |[failures, runs], it| {
                [failures + it.failures, runs + it.runs]
            });
        (failures as u64, runs as u64)
    }
}

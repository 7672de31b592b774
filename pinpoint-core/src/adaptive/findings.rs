//! The findings of the strategy: culprits, candidates, probabilities.

use pinpoint_compare::{CompareError, Direction};

use super::runs::Runs;
use super::search::{AdaptiveSearch, Change, Phase};
use super::tuning::EFFECT_RUNS;
use super::{broken, effect};
use crate::Position;
use crate::budget::Exhausted;
use crate::outcome::{Comparison, Culprit, Effect, OtherChange, Posterior, Span, Unchanged};
use crate::search_state::SearchState;
use crate::strategy::{OpenRange, SearchStrategy};

impl SearchStrategy for AdaptiveSearch {
    fn advance(&mut self, state: &mut SearchState) -> Result<bool, CompareError> {
        if self.exhausted.is_some() && matches!(self.phase, Phase::Listing { .. }) {
            return Ok(true);
        }
        Ok(self.catch_up(state) && self.decide(state))
    }

    fn stop(&mut self, state: &SearchState) {
        let is_listed = !matches!(self.phase, Phase::Listing { .. });
        if is_listed
            && self
                .line
                .sites
                .iter()
                .all(|site| state.get(*site).is_some())
        {
            let runs = Runs::collect(&self.line, state);
            self.look_again(&runs);
            self.find_again(&runs);
            let changes = self.gaps_of_changes(None);
            self.analysis = Some(self.analyze(&runs, &changes));
            self.keep_shown(&runs);
            self.analyze_beside_culprits(state);
            self.limit_change(&runs);
        }
    }

    fn exhausted(&self) -> Option<Exhausted> {
        self.exhausted
    }

    fn culprits(&self, state: &SearchState) -> Result<Vec<Culprit>, CompareError> {
        let line = &self.line;
        let changes = self.gaps_of_changes(None);
        let runs = Runs::collect(line, state);
        let mut found = Vec::new();
        let mut from = 0;
        for (index, gap) in changes.iter().copied().enumerate() {
            let to = changes.get(index + 1).copied().unwrap_or(line.gaps.len());
            let known = self
                .changes
                .iter()
                .find(|change| change.lower == line.sites[gap]);
            if let Some(change) = known.filter(|_| self.is_traced(gap)) {
                let effect = if self.question.shows_effects {
                    self.effect(change, &runs)?
                } else {
                    let (before, after) = (&line.sites[from..=gap], &line.sites[gap + 1..=to]);
                    self.effect_by_ranks(state, change, before, after)?
                };
                found.push(Culprit {
                    commit: change.higher,
                    prior: change.lower,
                    commit_name: None,
                    prior_name: None,
                    probability: Some(change.probability),
                    effect,
                });
            }
            from = gap + 1;
        }
        Ok(found)
    }

    fn candidates(&self) -> Vec<Position> {
        // Changes that could not be traced to one commit.
        let mut gaps: Vec<usize> = (self.gaps_of_changes(None).into_iter())
            .filter(|gap| !self.is_traced(*gap))
            .collect();
        if self.is_open() {
            let likeliest = self.likeliest();
            if likeliest.is_empty() {
                gaps.extend((0..self.line.gaps.len()).filter(|gap| !self.line.gaps[*gap].closed));
            }
            gaps.extend(likeliest);
        }
        gaps.sort_unstable();
        gaps.dedup();
        gaps.into_iter()
            .flat_map(|gap| self.line.candidates(gap))
            .collect()
    }

    fn posterior(&self) -> Option<Posterior> {
        let line = &self.line;
        let analysis = self.beside_culprits.as_ref().or(self.analysis.as_ref())?;
        Some(Posterior {
            no_change: analysis.no_change,
            better: analysis.better,
            largest_change: self.largest_change,
            other_change: self.other_change.clone(),
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

    fn unchanged(&self) -> Vec<Unchanged> {
        self.line.unchanged()
    }

    fn open_ranges(&self) -> Vec<OpenRange> {
        if !self.is_open() {
            return Vec::new();
        }
        (self.likeliest().into_iter())
            .map(|gap| OpenRange {
                lower: self.line.sites[gap],
                higher: self.line.sites[gap + 1],
                between: self.line.gaps[gap].len(),
            })
            .collect()
    }

    fn mended(&self, state: &SearchState) -> Vec<Position> {
        AdaptiveSearch::mended(self, state)
    }

    /// A run for each halving of the remaining range.
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
        let density = |gap: &usize| analysis.gaps[*gap] / self.line.commits(*gap) as f64;
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

    /// Returns true if there may be a further change.
    fn is_open(&self) -> bool {
        (self.analysis.as_ref())
            .is_none_or(|analysis| analysis.no_change < self.question.confidence)
    }

    /// The size of a change.
    pub(super) fn effect(&self, change: &Change, runs: &Runs) -> Result<Effect, CompareError> {
        let confidence = self.question.confidence;
        let gap = self.line.site_of(change.lower).unwrap_or_default();
        let mut others = self.gaps_of_changes(None);
        others.retain(|other| *other != gap);
        let prior = self.prior(&others);
        let setting = self.setting(runs, &others, &prior);
        let of_values = (!change.by_failures)
            .then(|| effect::of_values(runs, setting, gap, confidence))
            .flatten();
        match of_values {
            Some(effect) => Ok(effect),
            None if self.question.distinguishes => self.effect_on_failures(runs, &others, gap),
            None => {
                let [before, after] = setting.sides(gap).map(|sites| runs.failures(sites));
                Effect::of_failures(before, after, confidence)
            }
        }
    }

    /// The rates of failure next to a change: those of the nearest runs, and of all on a side where
    /// the nearest do not show a difference. Broken commits don't count.
    fn effect_on_failures(
        &self,
        runs: &Runs,
        others: &[usize],
        gap: usize,
    ) -> Result<Effect, CompareError> {
        let tallies = &runs.tallies;
        let chances = broken::weigh(runs, others, None);
        let is_broken = |site: &usize| {
            tallies[*site].failures > 0.0 && {
                let usual = broken::weigh(runs, others, Some(*site));
                chances.usual_beside(&usual, gap) < 0.5
            }
        };
        let prior = self.prior(others);
        let [before, after] = self.setting(runs, others, &prior).sides(gap);
        let before: Vec<usize> = before.rev().filter(|site| !is_broken(site)).collect();
        let after: Vec<usize> = after.filter(|site| !is_broken(site)).collect();
        let tally = |sites: &[usize], enough: u64| {
            let mut sum = (0, 0);
            for site in sites {
                if sum.1 >= enough {
                    break;
                }
                let (failures, runs) = runs.failures(*site..=*site);
                sum = (sum.0 + failures, sum.1 + runs);
            }
            sum
        };
        let effect = |enough| {
            let [before, after] = [&before, &after].map(|sites| tally(sites, enough));
            Effect::of_failures(before, after, self.question.confidence)
        };
        let nearest = effect(EFFECT_RUNS as u64)?;
        match nearest.interval {
            Some(interval) if interval.contains(0.0) => effect(u64::MAX),
            _ => Ok(nearest),
        }
    }

    /// The change that shows where the search found none of those that it looks for.
    pub(super) fn find_other_change(&self, runs: &Runs) -> Option<OtherChange> {
        let gap = self.analysis.as_ref()?.other?;
        let prior = self.prior(&[]);
        let setting = self.setting(runs, &[], &prior);
        let effect = effect::of_values(runs, setting, gap, self.question.confidence)?;
        let shows = (effect.interval).is_some_and(|interval| !interval.contains(0.0));
        let estimate = effect.estimate.filter(|_| shows)?;
        let is_better = match self.question.direction {
            Direction::Up => estimate > 0.0,
            Direction::Down => estimate < 0.0,
            Direction::Unknown => false,
        };
        Some(OtherChange { is_better, effect })
    }

    /// The same in jobs whose spec has version 3 or less: the shift between the runs of the
    /// commits next to the change, taken one by one.
    fn effect_by_ranks(
        &self,
        state: &SearchState,
        change: &Change,
        before: &[Position],
        after: &[Position],
    ) -> Result<Effect, CompareError> {
        // The nearest first.
        let values = |sites: &mut dyn Iterator<Item = &Position>| -> Vec<f64> {
            let enough = if self.question.has_memory {
                EFFECT_RUNS
            } else {
                usize::MAX
            };
            let mut values = Vec::new();
            for site in sites.filter(|site| self.line.counts(**site)) {
                if values.len() >= enough {
                    break;
                }
                values.extend(state.get(*site).into_iter().flat_map(|site| site.values()));
            }
            values
        };
        let tally = |sites: &[Position]| {
            (sites.iter())
                .filter(|site| self.line.counts(**site))
                .filter_map(|site| state.get(*site))
                .fold((0, 0), |(failures, runs), site| {
                    (
                        failures + u64::from(site.failures()),
                        runs + u64::from(site.runs()),
                    )
                })
        };
        let (old, new) = (values(&mut before.iter().rev()), values(&mut after.iter()));
        if change.by_failures || old.is_empty() || new.is_empty() {
            Effect::of_failures(tally(before), tally(after), self.question.confidence)
        } else {
            Effect::of_values(&old, &new, self.question.confidence)
        }
    }
}

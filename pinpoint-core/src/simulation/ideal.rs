//! The practical limit: a searcher that knows both distributions.

use libm::{exp, log};

use super::truth::Truth;
use super::{Memory, Scenario};
use crate::SpecError;
use crate::random::SplitMix64;

/// A search by the searcher that knows the distributions of runs before and
/// after the change, and that there is exactly one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ideal {
    /// It named the commit that changed something.
    pub right: bool,
    /// Runs that it made.
    pub runs: u64,
    /// Different commits that it ran.
    pub builds: u64,
}

/// No run counts for more than a factor of e to this power: otherwise a run that is
/// impossible on one side could not be taken back.
const MOST_EVIDENCE: f64 = 500.0;
/// No search needs this many runs, unless nothing can be learned.
const MOST_RUNS: u64 = 100_000;

impl Scenario {
    /// Searches this world, knowing the values of a run before the change and after
    /// it, and stops when one commit is the culprit with this probability.
    ///
    /// It keeps the probability of each commit to be the culprit, equal at first, runs the commit
    /// nearest the median of them, and multiplies by the likelihood of each value: Horstein's
    /// probabilistic bisection ("Sequential transmission using noiseless feedback", IEEE
    /// Transactions on Information Theory 9, 1963), with likelihoods that are right. Builds cost it
    /// nothing. Drift, the offsets of bots and commits that do not build do not disturb it: it
    /// knows these, too.
    ///
    /// Absent unless there is exactly one change and each run scatters on its own, by an
    /// amount that does not depend on the level, among at most
    /// [`SpecError::MOST_COMMITS`] commits.
    ///
    /// Cost: one multiplication for each commit and run.
    pub fn ideal(&self, confidence: f64, seed: u64) -> Option<Ideal> {
        let [change] = self.changes[..] else {
            return None;
        };
        if self.memory != Memory::None || self.proportional.is_some() {
            return None;
        }
        // One more than between the ends.
        if self.commits > SpecError::MOST_COMMITS + 1 {
            return None;
        }
        let commits = self.commits as usize;
        let mut random = SplitMix64::new(seed);
        let culprit = Truth::draw(self, &mut random).changes.into_keys().next()?;
        let mut probabilities = vec![1.0 / commits as f64; commits];
        let mut is_built = vec![false; commits];
        let (mut runs, mut builds) = (0, 0);
        loop {
            let (best, largest) = largest(&probabilities);
            if largest >= confidence || runs == MOST_RUNS {
                return Some(Ideal {
                    right: best as u64 == culprit,
                    runs,
                    builds,
                });
            }
            let commit = nearest_median(&probabilities);
            runs += 1;
            builds += u64::from(!std::mem::replace(&mut is_built[commit], true));
            let evidence = self.evidence(commit as u64 >= culprit, change, &mut random);
            // A culprit up to here means that this commit is changed.
            let factor = exp(evidence);
            for probability in &mut probabilities[..=commit] {
                *probability *= factor;
            }
            let total: f64 = probabilities.iter().sum();
            for probability in &mut probabilities {
                *probability /= total;
            }
        }
    }

    /// Makes a run; returns the logarithm of the ratio of its value's likelihoods after the change
    /// and before it.
    fn evidence(&self, is_changed: bool, change: f64, random: &mut SplitMix64) -> f64 {
        let [before, after] = self.failure_rates;
        let evidence = if random.chance(self.failure_rates[usize::from(is_changed)]) {
            log(after) - log(before)
        } else {
            let level = self.level + if is_changed { change } else { 0.0 };
            let value = self.noise.observe(level, random);
            let likelihood = |level| self.noise.log_likelihood(value, level);
            log(1.0 - after) - log(1.0 - before) + likelihood(self.level + change)
                - likelihood(self.level)
        };
        // Impossible on both sides, by the rounding of a far tail: no evidence.
        if evidence.is_nan() {
            0.0
        } else {
            evidence.clamp(-MOST_EVIDENCE, MOST_EVIDENCE)
        }
    }
}

fn largest(probabilities: &[f64]) -> (usize, f64) {
    probabilities
        .iter()
        .copied()
        .enumerate()
        .fold(
            (0, 0.0),
            |best, next| if next.1 > best.1 { next } else { best },
        )
}

/// The commit for which it is as likely as not that the culprit is it or an older one, as nearly as
/// can be. The last one is known to be changed, so it gives no information.
fn nearest_median(probabilities: &[f64]) -> usize {
    let mut sum = 0.0;
    for (commit, probability) in probabilities.iter().enumerate() {
        let before: f64 = sum;
        sum += probability;
        if sum >= 0.5 {
            let earlier = commit > 0 && 0.5 - before < sum - 0.5;
            return (commit - usize::from(earlier)).min(probabilities.len().saturating_sub(2));
        }
    }
    0
}

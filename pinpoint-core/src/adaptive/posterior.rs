//! The probability of a change in each gap, from values and failures together.

use libm::{exp, log};

use super::broken;
use super::failures::{self, Tally};
use super::runs::Runs;
use super::tuning::{KINDS, KINDS_WITHOUT_FAILURE, SEPARATION, SMALL_CHANGE};
use super::values::{self, Evidence, Setting};

/// The next change, according to all runs so far.
#[derive(Debug, Clone)]
pub(crate) struct Analysis {
    /// The probability that there is no change worth finding.
    pub(crate) no_change: f64,
    /// The part of this probability that belongs to changes for the better.
    pub(crate) better: f64,
    /// The probability that it is in each gap, or the site after it.
    pub(crate) gaps: Vec<f64>,
    /// True for each gap of which failures are stronger evidence than values.
    pub(crate) by_failures: Vec<bool>,
    /// The part of `gaps` that belongs to changes of failures, alone or with the values.
    pub(crate) failing: Vec<f64>,
    /// The gap where a change is likeliest that is not looked for: a small one, or one for the
    /// better.
    pub(crate) other: Option<usize>,
    /// The squared distance of a run before the change from one after it, in
    /// standard deviations of the noise.
    pub(crate) separation: f64,
}

impl Analysis {
    /// The two ends are the same.
    pub(crate) fn nothing(gaps: usize) -> Self {
        Self {
            no_change: 1.0,
            better: 0.0,
            gaps: vec![0.0; gaps],
            by_failures: vec![false; gaps],
            failing: vec![0.0; gaps],
            other: None,
            separation: 1.0,
        }
    }
}

/// Combines prior, values and failures. `no_change` is the prior probability
/// that there is no change to find.
pub(crate) fn analyze(runs: &Runs, setting: Setting<'_>, no_change: f64) -> Analysis {
    let gaps = setting.sites - 1;
    let mut evidence = values::weigh(runs, setting);
    let (mut failing, rates) = failures::weigh(&runs.tallies, setting.changes);
    let any_failure = runs.tallies.iter().any(|tally| tally.failures > 0.0);
    let distinguishes = setting.assumptions.distinguishes;
    if distinguishes && any_failure {
        failing = broken::weigh(runs, setting.changes, None).factors();
    }
    // Values that are all alike did not change; the failures may have.
    let any_value = runs.vary();
    if distinguishes && !any_value {
        evidence.worse = failures::weigh_alike(&runs.tallies, setting.changes);
    }
    let kinds = match (any_value, any_failure) {
        (true, true) => KINDS,
        (true, false) => KINDS_WITHOUT_FAILURE,
        (false, false) if distinguishes => KINDS_WITHOUT_FAILURE,
        (false, _) => [0.0, 1.0, 0.0],
    };
    // Where all runs of a side fail, nothing shows whether values changed.
    let blind = blind_gaps(&runs.tallies, setting.changes);
    let mut weights = vec![0.0; gaps];
    let (mut better, mut small) = (0.0, 0.0);
    let mut by_failures = vec![false; gaps];
    let mut of_failures = vec![0.0; gaps];
    let mut other: Option<(usize, f64)> = None;
    let largest = largest_exponent(&evidence, &failing);
    let mass: f64 = (0..gaps)
        .filter(|gap| !setting.changes.contains(gap))
        .map(|gap| setting.prior[gap])
        .sum();
    if mass > 0.0 {
        for gap in (0..gaps).filter(|gap| !setting.changes.contains(gap)) {
            let prior = (1.0 - no_change) * setting.prior[gap] / mass;
            let (value, failure) = (evidence.worse[gap], failing[gap]);
            let of_values = match blind[gap] {
                true => 0.0,
                false => kinds[0] * exp(value - largest),
            };
            weights[gap] = prior
                * (of_values
                    + kinds[1] * exp(failure - largest)
                    + kinds[2] * exp(value + failure - largest));
            of_failures[gap] = weights[gap] - prior * of_values;
            let for_better = prior * exp(evidence.better[gap] - largest);
            let of_small = setting.prior[gap] / mass * exp(evidence.small[gap] - largest);
            better += for_better;
            small += of_small;
            let of_other = for_better + no_change * SMALL_CHANGE * of_small;
            if other.is_none_or(|(_, most)| of_other > most) {
                other = Some((gap, of_other));
            }
            by_failures[gap] = blind[gap] || kinds[1] > 0.0 && failure > value;
        }
    }
    // No change at all, or one that is not worth finding, or an improvement.
    let nothing =
        no_change * ((1.0 - SMALL_CHANGE) * exp(-largest) + SMALL_CHANGE * small) + better;
    let change: f64 = weights.iter().sum();
    let step = |gap: usize| {
        let values = if kinds[0] > 0.0 {
            evidence.step[gap] * evidence.step[gap]
        } else {
            0.0
        };
        let failures = if any_failure {
            distance(rates[gap])
        } else {
            0.0
        };
        values + failures
    };
    let separation = if change > 0.0 {
        (weights.iter().enumerate())
            .map(|(gap, weight)| weight / change * step(gap))
            .sum()
    } else {
        1.0
    };
    let all = (nothing + change).max(f64::MIN_POSITIVE);
    Analysis {
        no_change: nothing / all,
        better: better / all,
        gaps: weights.iter().map(|weight| weight / all).collect(),
        by_failures,
        failing: of_failures.iter().map(|weight| weight / all).collect(),
        other: other.map(|(gap, _)| gap),
        separation: separation.clamp(SEPARATION[0], SEPARATION[1]),
    }
}

/// The largest exponent in the weights, to be subtracted so that none overflows.
fn largest_exponent(evidence: &Evidence, failing: &[f64]) -> f64 {
    (0..failing.len())
        .flat_map(|gap| {
            let (value, failure) = (evidence.worse[gap], failing[gap]);
            let (better, small) = (evidence.better[gap], evidence.small[gap]);
            [value, failure, value + failure, better, small]
        })
        .fold(0.0, f64::max)
}

/// The uncertainty of a yes or no with this probability of yes, in nats.
pub(crate) fn entropy(probability: f64) -> f64 {
    let part = |p: f64| if p > 0.0 { -p * log(p) } else { 0.0 };
    part(probability) + part(1.0 - probability)
}

/// The squared distance of two normal distributions, one standard deviation
/// wide, that one run distinguishes as well as these two rates.
fn distance(rates: [f64; 2]) -> f64 {
    let bit = std::f64::consts::LN_2;
    let middle = (rates[0] + rates[1]) / 2.0;
    let information = entropy(middle) - (entropy(rates[0]) + entropy(rates[1])) / 2.0;
    -8.0 * bit * libm::log1p(-(information / bit).clamp(0.0, 0.999))
}

/// Returns true for each gap with only failed runs before it, or only failed runs after it.
fn blind_gaps(tallies: &[Tally], changes: &[usize]) -> Vec<bool> {
    let is_blind = |sites: &[Tally]| {
        let runs: f64 = sites.iter().map(|site| site.runs).sum();
        runs > 0.0 && sites.iter().all(|site| site.failures == site.runs)
    };
    let mut blind = vec![false; tallies.len() - 1];
    let mut from = 0;
    for to in changes.iter().copied().chain([tallies.len() - 1]) {
        for gap in from..to {
            blind[gap] = is_blind(&tallies[from..=gap]) || is_blind(&tallies[gap + 1..=to]);
        }
        from = to + 1;
    }
    blind
}

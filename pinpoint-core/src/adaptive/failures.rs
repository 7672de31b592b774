//! The evidence of failing runs for a change in each gap.
//!
//! On either side of a change runs fail at some rate that is not known. The
//! chance of the failures seen on a side, averaged over all rates, is a ratio of
//! beta functions; the *Bayes factor* of a change is the product over the two
//! sides by that of both sides taken together. Rates near 0 and near 1 are the
//! likelier ones beforehand, since most benchmarks hardly ever or always fail: a beta
//! prior. After a change for the worse any rate is likely, so that every run of the bad
//! end that passes is evidence against a change: twenty of them leave it about one chance
//! in twenty. Source: Gelman et al., *Bayesian Data Analysis*, 2013, sections 2.4 and
//! 2.8.

use libm::{erfc, exp, lgamma, log};

use super::tuning::{RATE_AFTER, RATE_BEFORE, RATE_OF_CHANGE, RATE_PRIOR, RATE_WITHOUT_CHANGE};

/// Failures and runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) failures: f64,
    pub(crate) runs: f64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.failures += other.failures;
        self.runs += other.runs;
    }

    /// The rate of failures, drawn toward one half.
    pub(crate) fn rate(self) -> f64 {
        (self.failures + RATE_PRIOR) / (self.runs + 2.0 * RATE_PRIOR)
    }

    /// The probability that the rate of these runs is lower than that of others,
    /// as that of two normal distributions with the mean and variance of the
    /// rates, beforehand all alike.
    fn is_lower(self, other: Self) -> f64 {
        let moments = |tally: Self| {
            let (failures, runs) = (tally.failures + 0.5, tally.runs + 1.0);
            let mean = failures / runs;
            (mean, mean * (1.0 - mean) / (runs + 1.0))
        };
        let ((old, old_variance), (new, new_variance)) = (moments(self), moments(other));
        0.5 * erfc((old - new) / (2.0 * (old_variance + new_variance)).sqrt())
    }

    /// The logarithm of the chance of this tally, for rates as likely beforehand
    /// as the mean of these beta distributions says.
    fn evidence(self, priors: [[f64; 2]; 2]) -> f64 {
        let passes = self.runs - self.failures;
        let beta = |a: f64, b: f64| lgamma(a) + lgamma(b) - lgamma(a + b);
        let [one, other] = priors.map(|[a, b]| beta(self.failures + a, passes + b) - beta(a, b));
        let largest = one.max(other);
        largest + log(0.5 * (exp(one - largest) + exp(other - largest)))
    }
}

/// Weighs, for each gap, the logarithm of the Bayes factor of a change for the worse: more failures
/// after it, since failing less is never a regression. `changes` are the gaps of known changes.
pub(crate) fn weigh(sites: &[Tally], changes: &[usize]) -> (Vec<f64>, Vec<[f64; 2]>) {
    let gaps = sites.len() - 1;
    let mut factors = vec![f64::NEG_INFINITY; gaps];
    let mut rates = vec![[0.5; 2]; gaps];
    let mut from = 0;
    for to in changes.iter().copied().chain([gaps]) {
        let mut all = Tally::default();
        sites[from..=to].iter().for_each(|site| all.add(*site));
        let together = all.evidence(RATE_WITHOUT_CHANGE);
        let mut before = Tally::default();
        for gap in from..to {
            before.add(sites[gap]);
            let after = Tally {
                failures: all.failures - before.failures,
                runs: all.runs - before.runs,
            };
            rates[gap] = [before.rate(), after.rate()];
            // With too few runs to say which rate is lower, this factor is 1.
            let worse = (2.0 * before.is_lower(after)).clamp(f64::MIN_POSITIVE, 1.0);
            factors[gap] =
                before.evidence(RATE_BEFORE) + after.evidence(RATE_AFTER) - together + log(worse);
        }
        from = to + 1;
    }
    (factors, rates)
}

/// The same of a change of the values, where all of them are alike so far: in how large a share
/// of the runs after it the values may differ without having done so.
pub(crate) fn weigh_alike(sites: &[Tally], changes: &[usize]) -> Vec<f64> {
    let gaps = sites.len() - 1;
    let mut factors = vec![f64::NEG_INFINITY; gaps];
    let mut from = 0;
    for to in changes.iter().copied().chain([gaps]) {
        let mut runs = 0.0;
        for gap in (from..to).rev() {
            runs += sites[gap + 1].runs - sites[gap + 1].failures;
            let after = Tally {
                failures: 0.0,
                runs,
            };
            factors[gap] = after.evidence(RATE_OF_CHANGE);
        }
        from = to + 1;
    }
    factors
}

#[cfg(test)]
mod tests {
    use statrs::function::beta::ln_beta;

    use super::*;

    #[test]
    fn the_evidence_is_a_mean_of_two_ratios_of_beta_functions() {
        for (failures, runs) in [(0.0, 3.0), (1.0, 20.0), (7.0, 7.0), (250.0, 500.0)] {
            for priors in [RATE_WITHOUT_CHANGE, RATE_BEFORE, RATE_AFTER] {
                let [one, other] = priors
                    .map(|[a, b]| exp(ln_beta(failures + a, runs - failures + b) - ln_beta(a, b)));
                let found = Tally { failures, runs }.evidence(priors);
                let expected = log((one + other) / 2.0);
                assert!((found - expected).abs() < 1e-9, "{failures} of {runs}");
            }
        }
    }
}

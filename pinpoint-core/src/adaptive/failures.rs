//! How much the failures of all runs speak for a change at each place.
//!
//! On either side of a change runs fail at some rate that is not known. The
//! chance of the failures seen on a side, averaged over all rates, is a ratio of
//! beta functions; the *Bayes factor* of a change is the product over the two
//! sides by that of both sides taken together. Rates near 0 and near 1 are the
//! likelier ones beforehand, since most benchmarks fail hardly ever or always: a
//! beta prior. Source: Gelman et al., *Bayesian
//! Data Analysis*, 2013, sections 2.4 and 2.8.

use libm::{exp, lgamma, log};

/// Beta distributions of the rate, as failures and passes seen beforehand:
/// hardly ever or always, as most benchmarks; or now and then.
const PRIORS: [[f64; 2]; 2] = [[0.1, 0.1], [1.0, 2.0]];
/// Failures, and passes, seen beforehand where a rate is guessed.
const PRIOR: f64 = 0.2;

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

    /// The rate of failures, drawn towards a half.
    pub(crate) fn rate(self) -> f64 {
        (self.failures + PRIOR) / (self.runs + 2.0 * PRIOR)
    }

    /// The logarithm of the chance of this tally.
    fn evidence(self) -> f64 {
        let passes = self.runs - self.failures;
        let beta = |a: f64, b: f64| lgamma(a) + lgamma(b) - lgamma(a + b);
        let [extreme, flaky] =
            PRIORS.map(|[a, b]| beta(self.failures + a, passes + b) - beta(a, b));
        let largest = extreme.max(flaky);
        largest + log(0.5 * (exp(extreme - largest) + exp(flaky - largest)))
    }
}

/// For each gap the logarithm of the Bayes factor of a change for the worse:
/// more failures behind it, since failing less is never a regression. `changes`
/// are the gaps of known changes.
pub(crate) fn weigh(sites: &[Tally], changes: &[usize]) -> (Vec<f64>, Vec<[f64; 2]>) {
    let gaps = sites.len() - 1;
    let mut factors = vec![f64::NEG_INFINITY; gaps];
    let mut rates = vec![[0.5; 2]; gaps];
    let mut from = 0;
    for to in changes.iter().copied().chain([gaps]) {
        let mut all = Tally::default();
        sites[from..=to].iter().for_each(|site| all.add(*site));
        let together = all.evidence();
        let mut before = Tally::default();
        for gap in from..to {
            before.add(sites[gap]);
            let behind = Tally {
                failures: all.failures - before.failures,
                runs: all.runs - before.runs,
            };
            rates[gap] = [before.rate(), behind.rate()];
            if rates[gap][1] >= rates[gap][0] {
                factors[gap] = before.evidence() + behind.evidence() - together;
            }
        }
        from = to + 1;
    }
    (factors, rates)
}

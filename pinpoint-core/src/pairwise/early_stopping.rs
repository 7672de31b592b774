//! A sequential test, which may end the comparison before its last pair.
//!
//! Wilcoxon's p-value is meant for one look, at the end. [`SequentialPairs`] allows a
//! look after every pair. The pairs are looked at in the order of their indices, never in
//! the order of their answers: a slow pair is answered late, so that the first to be
//! answered are not a fair sample.

use std::collections::BTreeMap;

use pinpoint_compare::{CompareError, SequentialPairs};

use super::comparison::Pair;

/// The chance of ending early though there is no difference. It comes on top of
/// the 0.05 of the comparison at the end.
const ERROR_RATE: f64 = 0.01;

#[derive(Debug, Clone)]
pub(super) struct EarlyStopping {
    /// Pairs seen, all with lower indices included.
    seen: usize,
    failures: SequentialPairs,
    charts: BTreeMap<String, SequentialPairs>,
}

impl EarlyStopping {
    pub(super) fn new() -> Result<Self, CompareError> {
        Ok(Self {
            seen: 0,
            failures: SequentialPairs::new(ERROR_RATE)?,
            charts: BTreeMap::new(),
        })
    }

    /// Looks at the pairs that are new, up to the first that is not there yet.
    pub(super) fn update(&mut self, pairs: &[Option<Pair>]) -> Result<(), CompareError> {
        while let Some(Some(pair)) = pairs.get(self.seen) {
            self.seen += 1;
            let (base, experiment) = pair.errors();
            self.failures.push(base, experiment)?;
            for chart in pair.base.values.keys() {
                let Some((base, experiment)) = pair.values(chart) else {
                    continue;
                };
                if !self.charts.contains_key(chart) {
                    let comparison = SequentialPairs::new(ERROR_RATE)?;
                    self.charts.insert(chart.clone(), comparison);
                }
                if let Some(comparison) = self.charts.get_mut(chart) {
                    comparison.push(base, experiment)?;
                }
            }
        }
        Ok(())
    }

    /// Returns true if any of the tests is certain, their number taken into account (Bonferroni).
    pub(super) fn is_reached(&self) -> bool {
        let tests = 1.0 + self.charts.len() as f64;
        (self.charts.values())
            .chain([&self.failures])
            .any(|comparison| comparison.p_value() * tests <= ERROR_RATE)
    }

    pub(super) fn p_value(&self, chart: &str) -> Option<f64> {
        self.charts.get(chart).map(SequentialPairs::p_value)
    }
}

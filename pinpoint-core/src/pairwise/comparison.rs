//! From pairs of runs to verdicts.
//!
//! The order of two runs matters: the second finds a warmer machine. So each side is first in half
//! of the pairs, and a comparison takes only as many pairs of each order as there are of the rarer
//! one. A chart that some runs lack has separate pairs: five that begin with the base, of which one
//! failed, and five that begin with the experiment, make four and four.

use std::collections::BTreeMap;

use pinpoint_compare::{
    CompareError, FunctionalComparison, LOW_THRESHOLD, Scratch, Verdict, benjamini_hochberg,
    compare_functional, compare_pairwise_pinpoint_with, compare_pairwise_with, least_p_value,
    median,
};

use super::columns::{Columns, Intact};
use super::outcome::{ChartComparison, PairwiseStatus, fewest_pairs};
use super::spec::PairwiseSpec;
use crate::{CommonFailure, PairedRun};

/// A pair that was run.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) base_first: bool,
    pub(super) bot: Option<String>,
    pub(super) base: PairedRun,
    pub(super) experiment: PairedRun,
}

impl Pair {
    /// One value for each side, where both have some.
    pub(super) fn values(&self, chart: &str) -> Option<(f64, f64)> {
        Some((value(&self.base, chart)?, value(&self.experiment, chart)?))
    }

    /// 1 for a side that failed, 0 for one that did not.
    pub(super) fn errors(&self) -> (f64, f64) {
        let error = |run: &PairedRun| f64::from(u8::from(run.failure.is_some()));
        (error(&self.base), error(&self.experiment))
    }
}

/// A run that gave several values for a chart counts with their median.
fn value(run: &PairedRun, chart: &str) -> Option<f64> {
    if run.failure.is_some() {
        return None;
    }
    median(run.values.get(chart)?)
}

/// The findings from a set of pairs.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) functional: Option<FunctionalComparison>,
    pub(super) base_failure: Option<CommonFailure>,
    pub(super) experiment_failure: Option<CommonFailure>,
    pub(super) charts: Vec<ChartComparison>,
    pub(super) pairs_needed: Option<u32>,
    pub(super) only_base: Vec<String>,
    pub(super) only_experiment: Vec<String>,
}

impl Findings {
    /// Those from these pairs, whose values are in these columns.
    pub(super) fn from_pairs(
        pairs: &[&Pair],
        columns: &Columns,
        spec: &PairwiseSpec,
    ) -> Result<Self, CompareError> {
        let (base_errors, experiment_errors): (Vec<f64>, Vec<f64>) =
            pairs.iter().map(|pair| pair.errors()).unzip();
        let functional = match pairs {
            [] => None,
            _ => Some(compare_functional(&base_errors, &experiment_errors, 1.0)?),
        };
        let mut scratch = Scratch::new();
        let mut compared: Vec<ChartComparison> = (columns.of_both())
            .map(|(chart, intact)| compare_chart(chart, pairs.len(), intact, spec, &mut scratch))
            .collect();
        let p_values: Vec<f64> = (compared.iter())
            .filter_map(|chart| Some(chart.comparison.as_ref()?.p_value))
            .collect();
        let mut adjusted = benjamini_hochberg(&p_values)?.into_iter();
        for chart in &mut compared {
            if chart.comparison.is_some() {
                chart.adjusted_p_value = adjusted.next();
            }
        }
        // Outcomes of earlier versions stay as they were.
        let says_why = spec.version >= 3;
        let why = |side: fn(&Pair) -> &PairedRun| {
            let pairs = pairs.iter().filter(|_| says_why);
            CommonFailure::from_reasons(pairs.filter_map(|pair| side(pair).failure.as_deref()))
        };
        Ok(Self {
            functional,
            base_failure: why(|pair| &pair.base),
            experiment_failure: why(|pair| &pair.experiment),
            pairs_needed: pairs_needed(&compared).filter(|_| !spec.is_published()),
            charts: compared,
            only_base: columns.of_one(true),
            only_experiment: columns.of_one(false),
        })
    }

    /// The verdict over all, the functional comparison first.
    pub(super) fn status(&self) -> PairwiseStatus {
        let functional = (self.functional.as_ref()).map_or(Verdict::Unknown, |it| it.verdict);
        if functional == Verdict::Different || self.charts.iter().any(ChartComparison::moved) {
            PairwiseStatus::Different
        } else if self.pairs_needed.is_some() {
            PairwiseStatus::Unknown
        } else if functional == Verdict::Same
            && self.charts.iter().any(|chart| chart.comparison.is_some())
        {
            PairwiseStatus::Same
        } else {
            PairwiseStatus::Unknown
        }
    }
}

/// The pairs that were needed to find a change of one chart, where none was found and some chart
/// had too few of them. Where no value of it differs, more pairs are not needed.
fn pairs_needed(charts: &[ChartComparison]) -> Option<u32> {
    if charts.iter().any(|chart| chart.moved() || chart.improved()) {
        return None;
    }
    let compared = charts.iter().filter_map(|chart| chart.comparison.as_ref());
    let count = compared.clone().count();
    let has_too_few = |pairs: usize| least_p_value(pairs) * (count as f64) >= LOW_THRESHOLD;
    let too_few = compared
        .filter(|comparison| comparison.original.nonzero > 0 && has_too_few(comparison.pairs))
        .count();
    (too_few > 0).then(|| fewest_pairs(count))
}

fn compare_chart(
    chart: &str,
    pairs: usize,
    intact: &[Intact],
    spec: &PairwiseSpec,
    scratch: &mut Scratch,
) -> ChartComparison {
    let orders: Vec<bool> = intact.iter().map(|pair| pair.base_first).collect();
    let balanced = balanced(&orders);
    let of_pair = |index: &usize| (intact[*index].base, intact[*index].experiment);
    let (base, experiment): (Vec<f64>, Vec<f64>) = balanced.iter().map(of_pair).unzip();
    let direction = spec.direction_of(chart);
    let compared = if balanced.is_empty() {
        Err("no two pairs of opposite order have values on both sides".to_owned())
    } else {
        let compare = match spec.is_published() {
            true => compare_pairwise_pinpoint_with,
            false => compare_pairwise_with,
        };
        compare(&base, &experiment, direction, scratch).map_err(|error| error.to_string())
    };
    let (comparison, error) = match compared {
        Ok(comparison) => (Some(comparison), None),
        Err(error) => (None, Some(error)),
    };
    ChartComparison {
        chart: chart.to_owned(),
        direction,
        comparison,
        adjusted_p_value: None,
        anytime_p_value: None,
        failed_pairs: (pairs - intact.len()) as u32,
        surplus_pairs: (intact.len() - balanced.len()) as u32,
        error,
    }
}

/// The pairs that are left, by their indices, when those of the surplus order are
/// dropped, earliest first, until both orders are equal.
fn balanced(orders: &[bool]) -> Vec<usize> {
    let counts = |order: bool| orders.iter().filter(|other| **other == order).count();
    let most = counts(true).min(counts(false));
    let mut surplus = BTreeMap::from([(true, counts(true) - most), (false, counts(false) - most)]);
    (0..orders.len())
        .filter(|index| match surplus.get_mut(&orders[*index]) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rule exactly as stated.
    fn dropped_one_by_one(orders: &[bool]) -> Vec<usize> {
        let mut left: Vec<usize> = (0..orders.len()).collect();
        loop {
            let first: Vec<usize> = left.iter().copied().filter(|i| orders[*i]).collect();
            let second: Vec<usize> = left.iter().copied().filter(|i| !orders[*i]).collect();
            let drop = match first.len().cmp(&second.len()) {
                std::cmp::Ordering::Equal => return left,
                std::cmp::Ordering::Greater => first[0],
                std::cmp::Ordering::Less => second[0],
            };
            left.retain(|index| *index != drop);
        }
    }

    #[test]
    fn the_earliest_of_the_surplus_order_go() {
        let orders = [true, false, true, true, false, true, true];
        assert_eq!(balanced(&orders), [1, 4, 5, 6]);
        assert_eq!(balanced(&[true, true]), [] as [usize; 0]);
    }

    proptest! {
        #[test]
        fn balancing_is_the_rule_word_by_word(
            orders in prop::collection::vec(any::<bool>(), 0..40),
        ) {
            prop_assert_eq!(balanced(&orders), dropped_one_by_one(&orders));
        }
    }
}

//! The decision on each of many charts: p-values adjusted for their number.
//!
//! p at most 0.05 is what one chart in twenty has by chance. Adjusted p-values at most 0.05 keep the
//! share of such charts among those that are called different at 5 % (Benjamini and Hochberg).
//!
//! Two things make that hold for thousands of charts with few values each. No p counts for less than
//! the share of the rarest order of the values: formulas for p are approximate where a sample is
//! small. And a chart whose values are too few to show anything among so many is left out, instead
//! of making all others less certain (Tarone).

use pinpoint_compare::{
    CompareError, LOW_THRESHOLD, benjamini_hochberg_discrete, least_p_value as least_of_pairs,
};

/// The test of one chart.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChartTest {
    pub(super) p_value: f64,
    /// The values of the control and of the treatment; of pairs, both are their number.
    pub(super) values: [usize; 2],
    pub(super) paired: bool,
}

/// The p-values adjusted for their number; `None` for a test that has too few values to show a
/// change among so many. A single test is left as it is.
pub(super) fn adjusted(tests: &[ChartTest]) -> Result<Vec<Option<f64>>, CompareError> {
    if let [only] = tests {
        return Ok(vec![Some(only.p_value)]);
    }
    let least: Vec<f64> = tests.iter().map(ChartTest::least_p_value).collect();
    let p_values: Vec<f64> = (tests.iter().zip(&least))
        .map(|(test, least)| test.p_value.max(*least))
        .collect();
    benjamini_hochberg_discrete(&p_values, &least, LOW_THRESHOLD)
}

impl ChartTest {
    /// The smallest p-value that so many values can have: the share of the rarest order among all
    /// orders of the values, or of the signs of pairs, and of its opposite.
    fn least_p_value(&self) -> f64 {
        let [control, treatment] = self.values;
        if self.paired {
            return least_of_pairs(control);
        }
        let (few, many) = (control.min(treatment), control.max(treatment));
        // Each value of the smaller side doubles the orders at least.
        let mut orders = 1.0;
        for value in 1..=few.min(1000) {
            orders *= (many + value) as f64 / value as f64;
        }
        (2.0 / orders).min(1.0)
    }

    /// Returns true if this test can show that its chart alone changed among so many.
    pub(super) fn is_enough_among(&self, charts: usize) -> bool {
        self.least_p_value() * charts as f64 <= LOW_THRESHOLD
    }
}

/// The values on each side, or the pairs, that can show that one chart alone changed among so many.
pub(super) fn values_needed(charts: usize, paired: bool) -> usize {
    let of = |values: usize| ChartTest {
        p_value: 1.0,
        values: [values; 2],
        paired,
    };
    // They double the orders at least, and no number of charts has more than 64 bits.
    let enough = (1..100).find(|values| of(*values).is_enough_among(charts));
    enough.unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(p_value: f64, values: usize) -> ChartTest {
        ChartTest {
            p_value,
            values: [values; 2],
            paired: false,
        }
    }

    #[test]
    fn charts_that_can_show_nothing_make_no_other_less_certain() {
        let mut tests = vec![test(0.289, 1); 5000];
        tests[17] = test(0.001, 20);
        let found = adjusted(&tests).unwrap();
        assert_eq!(found[16..18], [None, Some(0.001)]);
    }

    #[test]
    fn no_p_value_counts_for_less_than_the_rarest_order() {
        assert_eq!(adjusted(&[test(0.0, 4); 2]).unwrap(), [Some(2.0 / 70.0); 2]);
        // One of ten orders has three values above three others, or below them.
        assert_eq!(adjusted(&[test(0.0, 3); 2]).unwrap(), [None; 2]);
        // One chart is decided by the rule of the search.
        assert_eq!(adjusted(&[test(0.03, 3)]).unwrap(), [Some(0.03)]);
        assert_eq!(adjusted(&[]).unwrap(), []);
    }

    #[test]
    fn the_rarest_order_is_counted() {
        for (control, treatment, expected) in [
            (1, 1, 1.0),
            (3, 3, 0.1),
            (5, 5, 2.0 / 252.0),
            (10, 10, 2.0 / 184_756.0),
            (2, 7, 2.0 / 36.0),
            (0, 7, 1.0),
            (1_000_000, 1_000_000, 0.0),
        ] {
            for values in [[control, treatment], [treatment, control]] {
                let test = ChartTest {
                    values,
                    ..test(0.5, 1)
                };
                assert!((test.least_p_value() - expected).abs() < 1e-15, "{test:?}");
            }
        }
    }

    #[test]
    fn how_many_values_it_takes() {
        let of = |charts| values_needed(charts, false);
        assert_eq!([1, 100, 5000, usize::MAX].map(of), [4, 8, 11, 37]);
        let of = |charts| values_needed(charts, true);
        assert_eq!([1, 100, 5000, usize::MAX].map(of), [6, 12, 18, 70]);
        assert!(!test(0.5, 10).is_enough_among(5000) && test(0.5, 11).is_enough_among(5000));
    }
}

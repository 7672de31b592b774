//! The values of each chart, pair by pair.
//!
//! A comparison that is looked at after every pair must not read all runs again each time: a
//! pair is taken apart once, when it is answered, and costs no more than its own values.

use std::collections::BTreeMap;

use super::comparison::Pair;

/// The charts of all pairs that were answered, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    charts: BTreeMap<String, Column>,
}

/// The values of a chart.
#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    /// A run of the base gave some.
    pub(super) of_base: bool,
    /// A run of the experiment gave some.
    pub(super) of_experiment: bool,
    /// The pairs in which both did, in the order of their indices.
    pub(super) intact: Vec<Intact>,
}

/// A pair in which both runs gave a value for a chart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Intact {
    index: usize,
    pub(super) base_first: bool,
    pub(super) base: f64,
    pub(super) experiment: f64,
}

impl Columns {
    /// Takes in the pair with this index, which may be answered after later ones.
    pub(super) fn add(&mut self, index: usize, pair: &Pair, is_compared: impl Fn(&str) -> bool) {
        for (run, is_base) in [(&pair.base, true), (&pair.experiment, false)] {
            if run.failure.is_some() {
                continue;
            }
            let given = run.values.iter().filter(|(_, values)| !values.is_empty());
            for (chart, _) in given.filter(|(chart, _)| is_compared(chart)) {
                if !self.charts.contains_key(chart) {
                    self.charts.insert(chart.clone(), Column::default());
                }
                let Some(column) = self.charts.get_mut(chart) else {
                    continue;
                };
                if !is_base {
                    column.of_experiment = true;
                    continue;
                }
                column.of_base = true;
                if let Some((base, experiment)) = pair.values(chart) {
                    let place = column.intact.partition_point(|it| it.index < index);
                    let intact = Intact {
                        index,
                        base_first: pair.base_first,
                        base,
                        experiment,
                    };
                    column.intact.insert(place, intact);
                }
            }
        }
    }

    /// The charts that both sides have, in order.
    pub(super) fn of_both(&self) -> impl Iterator<Item = (&str, &[Intact])> {
        let of_both = |column: &Column| column.of_base && column.of_experiment;
        self.charts
            .iter()
            .filter(move |(_, column)| of_both(column))
            .map(|(chart, column)| (chart.as_str(), &column.intact[..]))
    }

    /// The charts that the base alone has, or the experiment alone, in order.
    pub(super) fn of_one(&self, is_base: bool) -> Vec<String> {
        let of_one = |column: &Column| column.of_base != column.of_experiment;
        let charts = self.charts.iter();
        charts
            .filter(|(_, column)| of_one(column) && column.of_base == is_base)
            .map(|(chart, _)| chart.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::PairedRun;

    /// A run that may have failed, and may lack charts or their values.
    fn any_run() -> impl Strategy<Value = PairedRun> {
        let values = prop::collection::vec((0_u8..9).prop_map(f64::from), 0..3);
        let charts = prop::collection::btree_map("[a-d]", values, 0..4);
        (charts, prop::bool::weighted(0.2)).prop_map(|(values, failed)| PairedRun {
            started: 0,
            values,
            failure: failed.then(|| "exit code 1".to_owned()),
        })
    }

    fn any_pair() -> impl Strategy<Value = Pair> {
        (any::<bool>(), any_run(), any_run()).prop_map(|(base_first, base, experiment)| Pair {
            base_first,
            bot: None,
            base,
            experiment,
        })
    }

    /// The charts of some runs, read from all of them.
    fn charts<'a>(runs: impl Iterator<Item = &'a PairedRun>) -> BTreeSet<String> {
        runs.filter(|run| run.failure.is_none())
            .flat_map(|run| run.values.iter().filter(|(_, values)| !values.is_empty()))
            .map(|(chart, _)| chart.clone())
            .filter(|chart| chart != "d")
            .collect()
    }

    proptest! {
        #[test]
        fn pairs_in_any_order_make_the_columns_of_all_of_them(
            (pairs, order) in prop::collection::vec(any_pair(), 0..9).prop_flat_map(|pairs| {
                let order: Vec<usize> = (0..pairs.len()).collect();
                (Just(pairs), Just(order).prop_shuffle())
            }),
        ) {
            let mut columns = Columns::default();
            for index in order {
                columns.add(index, &pairs[index], |chart| chart != "d");
            }
            let base = charts(pairs.iter().map(|pair| &pair.base));
            let experiment = charts(pairs.iter().map(|pair| &pair.experiment));
            let found: Vec<(&str, Vec<Intact>)> =
                columns.of_both().map(|(chart, intact)| (chart, intact.to_vec())).collect();
            let expected: Vec<(&str, Vec<Intact>)> = base
                .intersection(&experiment)
                .map(|chart| {
                    let intact = pairs.iter().enumerate().filter_map(|(index, pair)| {
                        let (base, experiment) = pair.values(chart)?;
                        Some(Intact { index, base_first: pair.base_first, base, experiment })
                    });
                    (chart.as_str(), intact.collect())
                })
                .collect();
            prop_assert_eq!(found, expected);
            let alone = |one: &BTreeSet<String>, other| -> Vec<String> {
                one.difference(other).cloned().collect()
            };
            prop_assert_eq!(columns.of_one(true), alone(&base, &experiment));
            prop_assert_eq!(columns.of_one(false), alone(&experiment, &base));
        }
    }
}

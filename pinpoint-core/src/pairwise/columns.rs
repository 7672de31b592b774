//! The values of each chart, pair by pair.
//!
//! A comparison that is looked at after every pair must not read all runs again each time: a
//! pair is taken apart once, when it is answered, at the cost of a walk along all charts.

use std::collections::BTreeMap;

use pinpoint_compare::median;

use super::comparison::Pair;
use crate::PairedRun;

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
        let mut known = self.charts.iter_mut().peekable();
        let mut others = Vec::new();
        // All three are in the order of their names, and so they are walked side by side.
        let [mut base, mut experiment] =
            [&pair.base, &pair.experiment].map(|run| given(run, &is_compared).peekable());
        loop {
            let names = [base.peek(), experiment.peek()].map(|next| next.map(|(name, _)| *name));
            let Some(chart) = names.into_iter().flatten().min() else {
                break;
            };
            let of_base = base.next_if(|(name, _)| *name == chart);
            let of_experiment = experiment.next_if(|(name, _)| *name == chart);
            let [of_base, of_experiment] = [of_base, of_experiment].map(|given| median(given?.1));
            while known.next_if(|(name, _)| name.as_str() < chart).is_some() {}
            let mut other = Column::default();
            let there = known.next_if(|(name, _)| name.as_str() == chart);
            let is_known = there.is_some();
            let column = there.map_or(&mut other, |(_, column)| column);
            column.of_base |= of_base.is_some();
            column.of_experiment |= of_experiment.is_some();
            if let (Some(base), Some(experiment)) = (of_base, of_experiment) {
                let place = column.intact.partition_point(|it| it.index < index);
                let intact = Intact {
                    index,
                    base_first: pair.base_first,
                    base,
                    experiment,
                };
                column.intact.insert(place, intact);
            }
            if !is_known {
                others.push((chart.to_owned(), other));
            }
        }
        self.charts.extend(others);
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

/// The charts of a run that are compared, with their values, in order; none when it failed.
fn given(
    run: &PairedRun,
    is_compared: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (&str, &[f64])> {
    let values = run.values.iter().filter(|_| run.failure.is_none());
    values
        .map(|(chart, values)| (chart.as_str(), &values[..]))
        .filter(move |(chart, values)| !values.is_empty() && is_compared(chart))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

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

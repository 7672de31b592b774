//! Verticals: the ratios of two values of a key, for all traces that are equal otherwise.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_core::Direction;
use serde::Serialize;

use crate::deviation::trace_direction;
use crate::id::TraceId;

/// A table of ratios A/B.
///
/// A row is a value of one key, usually a test, and a column everything else that the traces have.
/// Below 1, A is less than B.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verticals {
    /// The columns, ascending: the values of the other keys, joined by `:` in the order of the keys.
    pub columns: Vec<String>,
    /// The rows, by the geometric mean of their cells, then by name.
    pub rows: Vec<VerticalRow>,
    /// The direction in which all traces improve, `unknown` where they differ or do not say: with
    /// `down` a ratio below 1 says that A is better, with `up` one above 1.
    pub direction: Direction,
    /// The number of traces without a ratio: their counterpart is missing, one of both values is
    /// not positive, or they lack the key of the rows.
    pub left_out: usize,
}

/// One row of ratios.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerticalRow {
    /// The value of the key of the rows.
    pub name: String,
    /// The geometric mean of the cells.
    pub mean: f64,
    /// A cell for each column.
    pub cells: Vec<Option<VerticalCell>>,
}

/// One ratio.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerticalCell {
    /// A/B, positive and finite.
    pub ratio: f64,
    /// The trace of A.
    pub a: TraceId,
    /// The trace of B; the same one where two times of a trace are compared.
    pub b: TraceId,
}

/// Compares two values of a key: all traces with `key=a` against those with `key=b` that are equal
/// otherwise. `values` are traces with their values, in any order.
///
/// The trace `…,config=gpu,…,test=gradient,` over that with `config=8888` is a cell of the row
/// `gradient`, in the column of all other values, such as `x86_64:HD7770:ShuttleA:Win8`.
///
/// Takes time in proportion to the traces and the logarithm of their number.
///
/// # Errors
///
/// [`VerticalsError`] for two traces that belong to one cell and side, and for keys or values that
/// are the same.
pub fn verticals<'a>(
    values: impl IntoIterator<Item = (&'a TraceId, f64)>,
    row_key: &str,
    key: &str,
    a: &str,
    b: &str,
) -> Result<Verticals, VerticalsError> {
    if a == b {
        return Err(VerticalsError::SameValue(a.to_owned()));
    }
    if row_key == key {
        return Err(VerticalsError::SameKey(key.to_owned()));
    }
    let mut table = Table::default();
    for (trace, value) in values {
        let side = match trace.get(key) {
            Some(it) if it == a => Side::A,
            Some(it) if it == b => Side::B,
            _ => continue,
        };
        table.add(side, trace, value, row_key, Some(key))?;
    }
    Ok(table.finish())
}

/// Compares two values of each trace: those of two commits, or of a try and the history. The columns
/// hold all parameters but that of the rows.
///
/// # Errors
///
/// As of [`verticals`].
pub fn verticals_of_two<'a>(
    a: impl IntoIterator<Item = (&'a TraceId, f64)>,
    b: impl IntoIterator<Item = (&'a TraceId, f64)>,
    row_key: &str,
) -> Result<Verticals, VerticalsError> {
    let mut table = Table::default();
    for (trace, value) in a {
        table.add(Side::A, trace, value, row_key, None)?;
    }
    for (trace, value) in b {
        table.add(Side::B, trace, value, row_key, None)?;
    }
    Ok(table.finish())
}

#[derive(Clone, Copy)]
enum Side {
    A,
    B,
}

type Measured<'a> = Option<(&'a TraceId, f64)>;

#[derive(Default)]
struct Table<'a> {
    /// Rows, and in them the two sides of each column.
    rows: BTreeMap<&'a str, BTreeMap<String, [Measured<'a>; 2]>>,
    left_out: usize,
}

impl<'a> Table<'a> {
    fn add(
        &mut self,
        side: Side,
        trace: &'a TraceId,
        value: f64,
        row_key: &str,
        key: Option<&str>,
    ) -> Result<(), VerticalsError> {
        let mut row = None;
        let mut column = String::with_capacity(trace.as_str().len());
        for (name, value) in trace.iter() {
            if name == row_key {
                row = Some(value);
            } else if Some(name) != key {
                if !column.is_empty() {
                    column.push(':');
                }
                column.push_str(value);
            }
        }
        let Some(row) = row else {
            self.left_out += 1;
            return Ok(());
        };
        let [cell_a, cell_b] = self.rows.entry(row).or_default().entry(column).or_default();
        let cell = match side {
            Side::A => cell_a,
            Side::B => cell_b,
        };
        match cell.replace((trace, value)) {
            None => Ok(()),
            Some((first, _)) => Err(VerticalsError::Duplicate {
                first: first.clone(),
                second: trace.clone(),
            }),
        }
    }

    fn finish(self) -> Verticals {
        let mut left_out = self.left_out;
        let mut directions = BTreeSet::new();
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut found: Vec<(&str, f64, BTreeMap<String, VerticalCell>)> = Vec::new();
        for (row, columns) in self.rows {
            let mut cells = BTreeMap::new();
            let mut logarithms = 0.0;
            for (column, sides) in columns {
                let Some(cell) = ratio_of(sides) else {
                    left_out += sides.iter().flatten().count();
                    continue;
                };
                directions.extend([&cell.a, &cell.b].map(|it| trace_direction(it).as_str()));
                logarithms += libm::log(cell.ratio);
                if !names.contains(&column) {
                    names.insert(column.clone());
                }
                cells.insert(column, cell);
            }
            if !cells.is_empty() {
                let mean = libm::exp(logarithms / cells.len() as f64);
                found.push((row, mean, cells));
            }
        }
        // A stable sort keeps the names in their order.
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        let rows = found
            .into_iter()
            .map(|(name, mean, mut cells)| VerticalRow {
                name: name.to_owned(),
                mean,
                cells: names.iter().map(|it| cells.remove(it)).collect(),
            });
        Verticals {
            rows: rows.collect(),
            direction: match directions.into_iter().collect::<Vec<_>>()[..] {
                ["down"] => Direction::Down,
                ["up"] => Direction::Up,
                _ => Direction::Unknown,
            },
            columns: names.into_iter().collect(),
            left_out,
        }
    }
}

/// The cell of two sides that are there and positive.
fn ratio_of(sides: [Measured<'_>; 2]) -> Option<VerticalCell> {
    let [Some((trace_a, a)), Some((trace_b, b))] = sides else {
        return None;
    };
    let ratio = a / b;
    (a > 0.0 && b > 0.0 && ratio > 0.0 && ratio.is_finite()).then(|| VerticalCell {
        ratio,
        a: trace_a.clone(),
        b: trace_b.clone(),
    })
}

/// A table of ratios that can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerticalsError {
    /// Two traces belong to one cell.
    #[error(
        "`{first}` and `{second}` belong to one cell; ask for fewer traces, or for rows of another key"
    )]
    Duplicate {
        /// The first trace.
        first: TraceId,
        /// The second one.
        second: TraceId,
    },
    /// The two values are the same.
    #[error("`{0}` can't be compared with itself: name two values")]
    SameValue(String),
    /// The rows and the sides have the same key.
    #[error("`{0}` can't be both the key that is compared and that of the rows")]
    SameKey(String),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn traces(values: &[(&str, f64)]) -> Vec<(TraceId, f64)> {
        let parsed = |(id, value): &(&str, f64)| (id.parse().unwrap(), *value);
        values.iter().map(parsed).collect()
    }

    fn table(values: &[(&str, f64)]) -> Result<Verticals, VerticalsError> {
        let values = traces(values);
        let values = values.iter().map(|(id, value)| (id, *value));
        verticals(values, "test", "config", "gpu", "8888")
    }

    #[test]
    fn a_trace_is_compared_with_the_one_that_is_equal_otherwise() {
        let id = |config: &str| {
            format!(",arch=x86_64,config={config},gpu=HD7770,model=ShuttleA,os=Win8,test=gradient,")
        };
        let found = table(&[(&id("8888"), 4.0), (&id("gpu"), 1.0), (&id("565"), 9.0)]).unwrap();
        assert_eq!(found.columns, ["x86_64:HD7770:ShuttleA:Win8"]);
        assert_eq!(found.rows.len(), 1);
        assert_eq!(found.rows[0].name, "gradient");
        assert_eq!(found.rows[0].cells[0].as_ref().unwrap().ratio, 0.25);
        assert_eq!(
            found.rows[0].cells[0].as_ref().unwrap().a.as_str(),
            id("gpu")
        );
        assert_eq!(found.direction, Direction::Unknown);
    }

    #[test]
    fn rows_sort_by_their_geometric_mean_and_not_by_their_number_of_cells() {
        let mut values = Vec::new();
        for os in ["a", "b", "c"] {
            values.push((format!(",config=gpu,os={os},test=many,"), 2.0));
            values.push((format!(",config=8888,os={os},test=many,"), 1.0));
        }
        values.push((",config=gpu,os=b,test=one,".into(), 4.0));
        values.push((",config=8888,os=b,test=one,".into(), 1.0));
        values.push((",config=gpu,os=b,test=less,".into(), 1.0));
        values.push((",config=8888,os=b,test=less,".into(), 8.0));
        let values: Vec<(&str, f64)> = values.iter().map(|(id, value)| (&**id, *value)).collect();
        let found = table(&values).unwrap();
        let rows: Vec<_> = (found.rows.iter())
            .map(|it| {
                (
                    &*it.name,
                    (it.mean * 1e9).round() / 1e9,
                    it.cells.iter().flatten().count(),
                )
            })
            .collect();
        assert_eq!(
            rows,
            [("less", 0.125, 1), ("many", 2.0, 3), ("one", 4.0, 1)]
        );
        assert_eq!(found.columns, ["a", "b", "c"]);
    }

    #[test]
    fn there_is_no_ratio_unless_both_are_positive() {
        let found = table(&[
            (",config=gpu,test=a,", 0.0),
            (",config=8888,test=a,", 1.0),
            (",config=gpu,test=b,", 1.0),
            (",config=8888,test=b,", -1.0),
            (",config=gpu,test=c,", 1.0),
            (",config=gpu,test=d,", f64::NAN),
            (",config=8888,test=d,", 1.0),
            (",config=8888,os=x,", 1.0),
        ])
        .unwrap();
        assert!(found.rows.is_empty() && found.columns.is_empty());
        assert_eq!(found.left_out, 8);
    }

    #[test]
    fn two_traces_for_one_cell_are_an_error_that_names_them() {
        let (first, second) = (",config=gpu,gpu=x,test=a,", ",config=gpu,os=x,test=a,");
        let error = table(&[(first, 1.0), (second, 1.0)]).unwrap_err();
        assert!(error.to_string().contains(first) && error.to_string().contains(second));
        let none: [(&TraceId, f64); 0] = [];
        assert!(verticals(none, "test", "os", "a", "a").is_err());
        assert!(verticals(none, "os", "os", "a", "b").is_err());
    }

    #[test]
    fn two_times_of_the_same_traces_have_all_parameters_in_columns() {
        let before = traces(&[
            (",improvement_direction=up,os=x,test=a,", 2.0),
            (",os=x,test=b,", 1.0),
        ]);
        let after = traces(&[(",improvement_direction=up,os=x,test=a,", 5.0)]);
        let after = after.iter().map(|(id, value)| (id, *value));
        let before = before.iter().map(|(id, value)| (id, *value));
        let found = verticals_of_two(after, before, "test").unwrap();
        assert_eq!(found.columns, ["up:x"]);
        assert_eq!(found.rows[0].mean, 2.5);
        assert_eq!(found.direction, Direction::Up);
        assert_eq!(found.left_out, 1);
    }

    proptest! {
        #[test]
        fn the_order_of_traces_makes_no_difference_and_sides_swap(
            values in proptest::collection::btree_map((0_u8..4, 0_u8..3, any::<bool>()), 1_u32..9, 0..20),
            seed in any::<u64>(),
        ) {
            let mut traces: Vec<(TraceId, f64)> = values.into_iter().map(|((test, os, is_a), value)| {
                let config = if is_a { "gpu" } else { "8888" };
                (format!(",config={config},os={os},test={test},").parse().unwrap(), f64::from(value))
            }).collect();
            let table = |traces: &[(TraceId, f64)], a, b| {
                let values = traces.iter().map(|(id, value)| (id, *value));
                verticals(values, "test", "config", a, b).unwrap()
            };
            let first = table(&traces, "gpu", "8888");
            traces.sort_by_key(|(id, _)| id.trace_hash().0.map(u64::from).iter().fold(seed, |a, b| a.wrapping_mul(31) ^ b));
            prop_assert_eq!(&table(&traces, "gpu", "8888"), &first);
            let swapped = table(&traces, "8888", "gpu");
            prop_assert_eq!(&swapped.columns, &first.columns);
            for row in &first.rows {
                let other = swapped.rows.iter().find(|it| it.name == row.name).unwrap();
                prop_assert!((row.mean * other.mean - 1.0).abs() < 1e-12);
            }
        }
    }
}

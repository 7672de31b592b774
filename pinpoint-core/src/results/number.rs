//! Decimal numbers in text, and the charts they are gathered in.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Place, ReadError};
use crate::Series;

/// A word that stands for a number.
pub(super) enum Number {
    /// An amount.
    Finite(f64),
    /// NaN, an infinity, or digits that amount to one.
    NotFinite,
}

/// Reads a decimal number: digits with an optional sign, point and exponent.
pub(super) fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if ["nan", "inf", "infinity"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name))
    {
        return Some(Number::NotFinite);
    }
    // The standard library takes exactly the decimal numbers beyond those names.
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Some(Number::Finite(value)),
        Ok(_) => Some(Number::NotFinite),
        Err(_) => None,
    }
}

/// Adds a value to its chart.
///
/// # Errors
///
/// When the chart has values in another unit: milliseconds and seconds in one
/// sample would pass for a change of performance.
pub(super) fn add(
    charts: &mut BTreeMap<String, Series>,
    chart: &str,
    value: f64,
    unit: Option<&str>,
    place: Place,
) -> Result<(), ReadError> {
    match charts.entry(chart.to_owned()) {
        Entry::Vacant(entry) => {
            entry.insert(Series {
                values: vec![value],
                unit: unit.map(str::to_owned),
            });
        }
        Entry::Occupied(mut entry) => {
            let series = entry.get_mut();
            if series.unit.as_deref() != unit {
                return Err(ReadError::UnitChanged {
                    place,
                    chart: chart.to_owned(),
                    first: unit_in_words(series.unit.as_deref()),
                    found: unit_in_words(unit),
                });
            }
            series.values.push(value);
        }
    }
    Ok(())
}

fn unit_in_words(unit: Option<&str>) -> String {
    unit.map_or_else(|| "no unit".into(), |unit| format!("`{unit}`"))
}

//! Decimal numbers in text, and the charts they are gathered in.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Place, ReadError};
use crate::Series;

/// What a word is, where a number is expected.
pub(super) enum Word {
    /// A finite number.
    Number(f64),
    /// NaN, an infinity, or digits that amount to one.
    NotFinite,
    /// Anything else.
    Other,
}

/// Reads a decimal number: digits with an optional sign, point and exponent.
pub(super) fn word(text: &str) -> Word {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if ["nan", "inf", "infinity"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name))
    {
        return Word::NotFinite;
    }
    // The standard library takes exactly the decimal numbers beyond those names.
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Word::Number(value),
        Ok(_) => Word::NotFinite,
        Err(_) => Word::Other,
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

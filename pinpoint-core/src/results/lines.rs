//! `name: value unit`, one to a line.

use std::collections::BTreeMap;

use super::charts::Charts;
use super::number::{self, Number};
use super::{Place, ReadError};
use crate::{Direction, Series};

/// Reads every line that gives a value.
pub(super) fn read(text: &str) -> Result<BTreeMap<String, Series>, ReadError> {
    let mut charts = Charts::default();
    for (index, line) in text.lines().enumerate() {
        let Some(Measurement {
            name,
            value,
            number,
            unit,
        }) = measurement(line)
        else {
            continue;
        };
        let place = Place::Text {
            line: index + 1,
            column: column_of(line, value),
        };
        match number {
            Number::Finite(number) => {
                charts.add(name, vec![number], unit, Direction::Unknown, || place);
            }
            Number::NotFinite => {
                return Err(ReadError::NotFinite {
                    place,
                    found: format!("`{value}`"),
                });
            }
        }
    }
    charts.finish("lines like `name: 12.5 ms`")
}

/// Is there a line that [`read`] would take a value from? Lines that are not
/// text do not count: `read` will name them if another line is a measurement.
pub(super) fn recognise(output: &[u8]) -> bool {
    output
        .split(|byte| *byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok())
        .any(|line| measurement(line).is_some())
}

struct Measurement<'a> {
    name: &'a str,
    value: &'a str,
    number: Number,
    unit: Option<&'a str>,
}

/// Takes a line apart; anything that does not look entirely like a measurement is prose.
fn measurement(line: &str) -> Option<Measurement<'_>> {
    let (name, rest) = split_at_last_colon(line)?;
    let name = name.trim();
    // The last member of an indented JSON document reads like a measurement,
    // and would be the only one of its members that does.
    if name.is_empty() || name.starts_with(['"', '\'', '{', '[']) {
        return None;
    }
    let mut words = rest.split_whitespace();
    let value = words.next()?;
    let unit = words.next();
    let number = number::number(value)?;
    let another_number = unit.is_some_and(|unit| number::number(unit).is_some());
    if another_number || words.next().is_some() {
        return None;
    }
    Some(Measurement {
        name,
        value,
        number,
        unit,
    })
}

/// Splits at the last colon before a blank: what comes after a colon without
/// one (`12:30`, `http://host`) belongs to the word.
fn split_at_last_colon(line: &str) -> Option<(&str, &str)> {
    let (at, _) = line
        .match_indices(':')
        .rfind(|(at, _)| line[at + 1..].starts_with([' ', '\t']))?;
    Some((&line[..at], &line[at + 1..]))
}

/// The column, counted from 1 in characters, of a part of a line.
pub(super) fn column_of(line: &str, part: &str) -> usize {
    let before = part.as_ptr() as usize - line.as_ptr() as usize;
    line[..before].chars().count() + 1
}

//! `name: value unit`, one to a line, a line of pairs, `p50=1.2ms p99=3.4ms`, or a table. In an
//! output without any of these, a sentence that gives a time.

use std::borrow::Cow;

use memchr::memchr2_iter;

use super::charts::Charts;
use super::clocks;
use super::log_prefix::without_prefix;
use super::number::{self, Comma, Number, Printed};
use super::only_measure::is_setting;
use super::pairs::pairs;
use super::sentences::only_sentence;
use super::tables::rows;
use super::text::{column_of, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;
use crate::is_memory;
use crate::unit::is_measure;

/// Reads every line that gives a value.
pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut ambiguous = Vec::new();
    let mut decimal_commas = Vec::new();
    let mut has_thousands = false;
    let mut not_finite = None;
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        let Some(Measurement {
            name,
            value,
            number,
            unit,
        }) = measurement(line)
        else {
            for pair in pairs(line).into_iter().flatten() {
                let (name, value) = (&pair.name, [pair.value]);
                charts.add(name, value, pair.unit, Direction::Unknown, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: 1,
                    }
                });
            }
            continue;
        };
        let place = || OutputPosition::Text {
            line: index + 1,
            column: column_of(line, value),
        };
        match number {
            Value::Clear(Number::Finite(number)) => {
                match number::comma(value) {
                    Some(Comma::Decimal) => decimal_commas.push((name, value, place())),
                    Some(Comma::Thousands) => has_thousands = true,
                    None => {}
                }
                let unit = unit.map(|unit| of_rate(name, unit));
                let unit = unit.as_deref();
                charts.add(name, [number], unit, Direction::Unknown, place);
            }
            Value::Clear(Number::NotFinite) => {
                charts.fail(name, format!("{} holds `{value}`", place()));
                not_finite.get_or_insert_with(|| ReadError::NotFinite {
                    place: place(),
                    found: format!("`{value}`"),
                });
            }
            Value::Ambiguous => ambiguous.push((name, value, unit, place())),
        }
    }
    for row in rows(text) {
        charts.knows(row.index);
        for cell in row.cells {
            let place = OutputPosition::Text {
                line: row.index + 1,
                column: 1,
            };
            let (name, unit) = (&cell.name, Some(cell.unit));
            match cell.value {
                Some(value) => {
                    charts.add(name, [value], unit, Direction::Unknown, || place);
                }
                None => charts.fail(name, format!("{place} holds `{}`", cell.text)),
            }
        }
    }
    if !charts.has_any()
        && let Some(sentence) = only_sentence(text)
    {
        charts.knows(sentence.index);
        let (name, value) = (&sentence.name, vec![sentence.value]);
        charts.add(name, value, Some(sentence.unit), Direction::Down, || {
            OutputPosition::Text {
                line: sentence.index + 1,
                column: 1,
            }
        });
    }
    for (name, value, unit, place) in ambiguous {
        // Without a unit it may be a count or a list, and it was not asked for.
        if unit.is_some() || charts.has(name) {
            let reason = format!("{place} gives it as `{value}`, which can be read in two ways");
            charts.fail(name, reason);
        }
    }
    if has_thousands {
        for (name, value, place) in decimal_commas {
            charts.fail(
                name,
                format!(
                    "{place} gives it as `{value}` with a decimal comma, and other values have commas between thousands"
                ),
            );
        }
    }
    // The only measurement failed.
    if let Some(error) = not_finite.filter(|_| !charts.has_any()) {
        return Err(error);
    }
    charts.finish("lines like `name: 12.5 ms`")
}

/// Returns true if there is a line with a measure that [`read`] would take a value from. Counts
/// alone do not suffice.
pub(super) fn recognize(text: &str) -> bool {
    let is_measure = |line| {
        measurement(shown(line)).is_some_and(|found| {
            matches!(found.number, Value::Clear(_)) && !is_setting(found.name, found.unit)
        })
    };
    let has_pairs = |line| {
        let mut pairs = pairs(shown(line)).into_iter().flatten();
        pairs.any(|pair| pair.unit.is_some() && !is_setting(&pair.name, pair.unit))
    };
    let has_value = |line| is_measure(line) || has_pairs(line);
    text.lines().any(has_value) || rows(text).next().is_some() || only_sentence(text).is_some()
}

/// A line that gives a value.
pub(super) struct Measurement<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    pub(super) number: Value,
    pub(super) unit: Option<&'a str>,
}

/// The number of a line.
pub(super) enum Value {
    Clear(Number),
    /// `1,234`, or `2,3` without a unit.
    Ambiguous,
}

/// Takes a line apart; anything that does not look entirely like a measurement is prose.
pub(super) fn measurement(line: &str) -> Option<Measurement<'_>> {
    // Most lines of a log have none, and are skipped.
    let bytes = line.as_bytes();
    let mut signs = memchr2_iter(b':', b'=', bytes);
    let is_before_a_value = |at: usize| {
        matches!(
            (&bytes[..at], &bytes[at..]),
            (_, [b':', b' ' | b'\t', ..]) | ([.., b' '], [b'=', b' ', ..])
        )
    };
    if !signs.any(is_before_a_value) {
        return None;
    }
    let (name, rest) = split_name(without_prefix(line))?;
    let name = name.trim();
    // The last member of an indented JSON document reads like a measurement,
    // and would be the only one of its members that does.
    if name.is_empty() || name.starts_with(['"', '\'', '{', '[']) || holds_a_value(name) {
        return None;
    }
    let mut words = rest.split_whitespace().peekable();
    let word = words.next()?;
    let seconds = number::duration(word).or_else(|| clocks::seconds(word, name));
    if let Some(seconds) = seconds {
        return words.next().is_none().then_some(Measurement {
            name,
            value: word,
            number: Value::Clear(Number::Finite(seconds)),
            unit: Some("s"),
        });
    }
    // The deviation may stand before the unit: `5 ± 1 ms`.
    let (value, unit) = match number::split_unit(word) {
        Some((value, unit)) if is_measure(unit) && number::number(word).is_none() => {
            (value, Some(unit))
        }
        // A factor. Without decimals it may be a name, `3x`.
        Some((value, "x" | "×")) if value.contains('.') => (value, Some("x")),
        _ if words.peek().is_some_and(|word| is_deviation(word)) => {
            words.next();
            number::printed(words.next()?)?;
            (word, words.next())
        }
        _ => (word, words.next()),
    };
    let printed = number::printed(value)?;
    let unit = match unit.map(|unit| unit.trim_end_matches(['.', ',', ';'])) {
        // A remark, if it is not another value: `12.5 (median)`, `1000 (12.5ms)`.
        Some(remark) if remark.starts_with(['(', '[']) => {
            let inner = remark.trim_matches(['(', ')', '[', ']']);
            if number::split_unit(inner).is_some_and(|(_, unit)| is_measure(unit)) {
                return None;
            }
            None
        }
        unit => unit.filter(|unit| !unit.is_empty()),
    };
    let another_number = unit.is_some_and(|unit| unit.starts_with(|it: char| it.is_ascii_digit()));
    let has_rest = words.next().is_some_and(|word| !is_deviation(word));
    if another_number || has_rest {
        return None;
    }
    let number = match printed {
        Printed::Sure(number) => Value::Clear(number),
        Printed::DecimalOrList(value) if unit.is_some() => Value::Clear(Number::Finite(value)),
        Printed::DecimalOrList(_) | Printed::Ambiguous => Value::Ambiguous,
    };
    Some(Measurement {
        name,
        value,
        number,
        unit,
    })
}

/// Returns true if a name holds another value, as in `p50: 5 ms, p99: 50 ms` or in `12 ms (10
/// allocations: 1 KiB)`. Neither is the measure of the line then.
fn holds_a_value(name: &str) -> bool {
    // Most names have none of these signs.
    if !name.contains([':', '=', '(', ')']) {
        return false;
    }
    let is_value = |text: &str| {
        text.trim_start()
            .starts_with(|it: char| it.is_ascii_digit())
    };
    let is_named = [": ", " = "]
        .iter()
        .any(|sign| name.split(sign).skip(1).any(is_value));
    is_named || name.matches('(').count() != name.matches(')').count()
}

/// The unit of a value whose name says that it is one of a second: `Transfer/sec: 60.33MB`.
fn of_rate<'a>(name: &str, unit: &'a str) -> Cow<'a, str> {
    let ends_with = |end: &&str| {
        let at = name.len().checked_sub(end.len());
        let found = at.and_then(|at| name.as_bytes().get(at..));
        found.is_some_and(|found| found.eq_ignore_ascii_case(end.as_bytes()))
    };
    let ends = ["/sec", "/s", "per second", "per sec"];
    match ends.iter().any(ends_with) && is_memory(Some(unit)) {
        true => Cow::Owned(format!("{unit}/s")),
        false => Cow::Borrowed(unit),
    }
}

/// Returns true if a word begins a deviation, `± 0.2 ms` or `(+/- 0.2)`.
fn is_deviation(word: &str) -> bool {
    let word = word.trim_start_matches('(');
    ["±", "+/-", "+-"].iter().any(|sign| word.starts_with(sign))
}

/// Splits at the last colon before a blank: the text after a colon without one (`12:30`,
/// `http://host`) belongs to the word. Without a colon, at the last ` = `.
fn split_name(line: &str) -> Option<(&str, &str)> {
    let colon = line
        .match_indices(':')
        .rfind(|(at, _)| line[at + 1..].starts_with([' ', '\t']));
    match colon {
        Some((at, _)) => Some((&line[..at], &line[at + 1..])),
        None => line.rsplit_once(" = "),
    }
}

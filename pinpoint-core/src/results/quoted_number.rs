//! Numbers in quotes, as JSON has them where a program wrote text: `"12.5 ms"`.

use super::number;
use super::read_hint::{ReadHint, hint};
use crate::unit::is_measure;

/// The hint for a text in a JSON document that is a value, `"12.5 ms"`; `at` is its first
/// character after the quote.
pub(super) fn in_quotes(text: &str, at: usize) -> Option<ReadHint> {
    let inner = text.get(at..)?.strip_suffix('"')?;
    let is_version = text.get(..at)?.to_lowercase().contains("version");
    let (number, has_unit) = quoted_number(inner)?;
    if number::duration(inner.trim()).is_some() {
        return Some(ReadHint::Duration);
    }
    if is_version && !has_unit {
        return None;
    }
    let start = number.as_ptr() as usize - text.as_ptr() as usize;
    hint(text, start, number, has_unit)
}

/// The number in a text, with a unit or with decimals, and true when it has a unit.
pub(super) fn quoted_number(text: &str) -> Option<(&str, bool)> {
    let mut words = text.split_whitespace();
    let word = words.next()?;
    let next = words.next();
    if words.next().is_some() {
        return None;
    }
    if number::duration(word).is_some() {
        return next.is_none().then_some((word, true));
    }
    let (number, unit) = match (number::split_unit(word), next) {
        (Some((number, unit)), None) if is_measure(unit) => (number, Some(unit)),
        _ => (word, next),
    };
    number::printed(number)?;
    match unit {
        Some(unit) => is_measure(unit).then_some((number, true)),
        None => number.contains(['.', ',']).then_some((number, false)),
    }
}

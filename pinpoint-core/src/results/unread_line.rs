//! Decides whether a line that is not read looks like a value, and how it would be read.

use serde::de::IgnoredAny;

use super::Format;
use super::clocks::{is_duration, is_of_a_date};
use super::lines::{Value, measurement};
use super::number::{self, Number, Printed};
use super::only_measure::is_setting;
use super::pairs::pairs;
use super::quoted_number::quoted_number;
use super::read_hint::{ReadHint, hint};
use super::text::shown;
use super::tool_lines::{begins_a_result, is_of_a_tool};
use crate::unit::is_measure;

/// The part of an output that is read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reads {
    Nothing,
    Lines,
    /// The output of a tool.
    Tool,
}

/// The hint for reading the value of an unread line that looks like one.
pub(super) fn in_line(line: &str, message: &str, reads: Reads) -> Option<ReadHint> {
    if !message.contains(|letter: char| letter.is_ascii_digit()) || is_of_a_tool(message) {
        return None;
    }
    let found = measurement(shown(line));
    let is_clear = (found.as_ref()).is_some_and(|found| matches!(found.number, Value::Clear(_)));
    if !is_clear && begins_a_result(message) {
        return Some(ReadHint::Garbled);
    }
    if let Some(found) = found {
        // In a tool's output, a count is not a value.
        let is_value = reads != Reads::Tool
            || found.unit.is_some_and(is_measure) && !is_setting(found.name, found.unit);
        return match found.number {
            Value::Clear(_) if reads == Reads::Lines || !is_value => None,
            Value::Clear(_) => Some(ReadHint::Format(Format::Lines)),
            Value::Ambiguous => is_value.then_some(ReadHint::Ambiguous),
        };
    }
    if pairs(message).is_some() {
        return (reads != Reads::Lines).then_some(ReadHint::Format(Format::Lines));
    }
    if message.starts_with('{') {
        let is_json = serde_json::from_str::<IgnoredAny>(message).is_ok();
        return is_json.then_some(ReadHint::MixedDocument);
    }
    if message.starts_with('"') {
        // A member of an indented document.
        let value = message.rsplit_once("\":")?.1.trim().trim_end_matches(',');
        let quoted = (value.strip_prefix('"')).and_then(|value| value.strip_suffix('"'));
        let is_value = match quoted {
            Some(text) => quoted_number(text).is_some(),
            None => number::number(value).is_some(),
        };
        return is_value.then_some(ReadHint::MixedDocument);
    }
    if let Some(hint) = in_row(message, reads) {
        return Some(hint);
    }
    let words = words(message);
    let is_dated = words.iter().any(|word| is_of_a_date(word.text));
    let mut measured = 0;
    let mut first = None;
    for (index, word) in words.iter().enumerate() {
        // The rest does not change this, and each hint costs a pattern.
        if first.is_some() && measured > 1 {
            return Some(ReadHint::Several);
        }
        let next = words.get(index + 1).map(|next| next.text);
        let before = index.checked_sub(1).map(|before| words[before].text);
        if let Some(hint) = with_unit(message, word, next, before) {
            measured += 1;
            first = first.or(Some(hint));
        } else if number::duration(word.text).is_some()
            || !is_dated && is_duration(word.text, &message[..word.start], before)
        {
            measured += 1;
            first = first.or(Some(ReadHint::Duration));
        } else if reads != Reads::Tool && is_badly_grouped(word.text) {
            measured += 1;
            first = first.or(Some(ReadHint::Ambiguous));
        } else if is_figure(word.text) {
            measured += 1;
        }
    }
    if first.is_some() && measured > 1 {
        return Some(ReadHint::Several);
    }
    if first.is_some() || reads != Reads::Nothing {
        return first;
    }
    let numbers: Vec<&Word> = (words.iter())
        .filter(|word| number::printed(word.text).is_some())
        .collect();
    let first = *numbers.first()?;
    let is_alone = words.len() == 1;
    let is_named = words.len() == 2 && first.start > 0;
    let is_row = numbers.len() > 1
        && first.start > 0
        && numbers.iter().any(|word| word.text.contains(['.', ',']));
    if is_row {
        return Some(ReadHint::Several);
    }
    let is_value = is_alone || is_named;
    is_value
        .then(|| hint(message, first.start, first.text, false))
        .flatten()
}

/// The hint for a row with commas or semicolons between its cells, `sort,12.5`.
fn in_row(message: &str, reads: Reads) -> Option<ReadHint> {
    let separator = [';', ','].into_iter().find(|it| message.contains(*it))?;
    let cells: Vec<&str> = message.split(separator).collect();
    let name = *cells.first()?;
    let number = |cell: &str| match number::printed(cell.trim()) {
        Some(Printed::Sure(Number::Finite(_))) => true,
        Some(_) => separator == ';',
        None => false,
    };
    let is_decimal = |cell: &&str| number(cell) && cell.contains(['.', ',']);
    let has_decimal = cells.iter().any(is_decimal);
    // Prose has blanks after its commas.
    let is_tight = cells.iter().all(|cell| cell.trim() == *cell);
    let is_named = name.contains(char::is_alphabetic) && !name.contains(": ") && !number(name);
    if !is_named || !(has_decimal || is_tight && reads == Reads::Nothing) {
        return None;
    }
    match cells[..] {
        [_, value] if number(value) => {
            let value = value.trim();
            let start = value.as_ptr() as usize - message.as_ptr() as usize;
            hint(message, start, value, false)
        }
        [_, _] => None,
        _ => {
            let is_row = has_decimal && is_tight && !message.contains(char::is_whitespace);
            is_row.then_some(ReadHint::Several)
        }
    }
}

/// Returns true if a number begins with commas between thousands, but does not continue so:
/// `1,234,56`. Its meaning is unknown.
fn is_badly_grouped(word: &str) -> bool {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = word.split(',');
    let first = groups.next().unwrap_or_default();
    let second = groups.next().unwrap_or_default();
    let is_grouped = (1..=3).contains(&first.len()) && is_digits(first);
    is_grouped
        && second.len() >= 3
        && second.bytes().take(3).all(|byte| byte.is_ascii_digit())
        && number::printed(word).is_none()
}

/// A word without the punctuation around it.
struct Word<'a> {
    start: usize,
    text: &'a str,
}

/// The words of a line, where `=` and `:` separate a name from its value, too.
fn words(message: &str) -> Vec<Word<'_>> {
    let parts = |letter: char| letter.is_whitespace() || matches!(letter, '=' | '|' | '│');
    let mut words = Vec::new();
    for part in message.split(parts) {
        let text =
            part.trim_matches(|letter: char| matches!(letter, '(' | ')' | '[' | ']' | ';' | ':'));
        let text = text
            .trim_start_matches(['~', '≈'])
            .trim_end_matches(['.', ',']);
        if !text.is_empty() {
            let start = text.as_ptr() as usize - message.as_ptr() as usize;
            words.push(Word { start, text });
        }
    }
    words
}

/// Returns true if a word holds a number that is more than a count, in any form.
fn is_figure(word: &str) -> bool {
    let word = word.strip_prefix('-').unwrap_or(word);
    word.starts_with(|letter: char| letter.is_ascii_digit())
        && word.contains(|letter: char| letter.is_alphabetic() || matches!(letter, '.' | ',' | '%'))
}

/// The hint for a number with a unit of a measurement.
fn with_unit(
    message: &str,
    word: &Word<'_>,
    next: Option<&str>,
    before: Option<&str>,
) -> Option<ReadHint> {
    if before.is_some_and(|before| matches!(before, "±" | "+/-" | "+-")) {
        return None;
    }
    // `time:12.5 ms`
    let glued = (word.text.rsplit_once(':'))
        .filter(|(name, _)| name.ends_with(|letter: char| letter.is_alphabetic()));
    let text = glued.map_or(word.text, |(_, value)| value);
    let start = word.start + word.text.len() - text.len();
    let (number, unit) = match number::split_unit(text) {
        Some((number, unit)) if is_measure(unit) => (number, unit),
        _ => (text, next.filter(|unit| is_measure(unit))?),
    };
    let is_whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_grouped = before.is_some_and(|before| is_whole(before) && before.len() <= 3)
        && is_whole(number)
        && number.len() == 3;
    let has_prefix = number.starts_with(|letter: char| letter.is_ascii_digit())
        && number::printed(number).is_none();
    if is_grouped || has_prefix {
        return Some(ReadHint::Several);
    }
    // Progress.
    if unit == "%" && !number.contains(['.', ',']) {
        return None;
    }
    hint(message, start, number, true)
}

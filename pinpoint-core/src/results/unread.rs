//! Finds text in an output that looks like a value but is not read as one.
//!
//! Ambiguous text is not guessed at. To not drop it silently, this lists the lines that may be
//! meant as results, and the options that would read them.

use std::fmt;

use serde::de::IgnoredAny;

use super::clocks::{is_duration, is_of_a_date};
use super::json_numbers::json_numbers;
use super::lines::{Value, measurement};
use super::log_prefix::without_prefix;
use super::number::{self, Number, Printed};
use super::only_measure::is_setting;
use super::pairs::pairs;
use super::pattern::LinePattern;
use super::reading::ReadLines;
use super::text::{last_characters, shown};
use super::tool_lines::{begins_a_result, is_of_a_tool};
use super::{Format, not_a_number, text};
use crate::unit::is_measure;

/// The most values that are listed.
const MAX_LISTED: usize = 5;

/// The most characters of a line.
const MOST_CHARACTERS: usize = 120;

/// The number of a suggested pattern.
const NUMBER: &str = r"(?<value>-?[0-9]+(?:[.,][0-9]+)*(?:[eE][-+]?[0-9]+)?)";

/// Text in an output that looks like a value, but is not read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnreadValue {
    /// The line that it is in, counted from 1.
    pub line: usize,
    /// The line, without a logger's prefix, and shortened; for a JSON document on few lines, the
    /// member.
    pub text: String,
    /// The hint for reading it.
    pub hint: ReadHint,
}

/// A hint for reading a value. As text, it is half a sentence for users of the command.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReadHint {
    /// This format reads it.
    Format(Format),
    /// The comma of the value may separate thousands or decimals.
    Ambiguous,
    /// More than one number of the line may be meant.
    Several,
    /// The value is a duration of several parts.
    Duration,
    /// The line begins like a tool's result, but does not end like one.
    Garbled,
    /// A JSON document ends too early.
    CutOff,
    /// A JSON document stands among other output.
    MixedDocument,
}

impl fmt::Display for ReadHint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(format) => {
                let format = format.to_string();
                let quoted = match format.contains('\'') {
                    true => format!("\"{format}\""),
                    false => format!("'{format}'"),
                };
                write!(formatter, "--format {quoted} reads it")
            }
            Self::Ambiguous => formatter.write_str(
                "its comma may separate thousands or decimals; have the benchmark print it without commas",
            ),
            Self::Several => formatter.write_str(
                "more than one of its numbers may be meant; the format `regex:PATTERN` reads the one that is captured as (?<value>…)",
            ),
            Self::Duration => formatter.write_str(
                "a duration of several parts is read only as `name: 1m30.5s` or `name: 0:01:30.5`; have the benchmark print it so, or as one number with its unit",
            ),
            Self::Garbled => formatter.write_str(
                "it begins as a result and does not end as one; check that the output is whole, and that nothing else is printed into that line",
            ),
            Self::CutOff => formatter.write_str(
                "the JSON document ends too early; have the benchmark write it to a file, and name that file",
            ),
            Self::MixedDocument => formatter.write_str(
                "JSON of a program of your own is not recognized among other output; have the benchmark write it to a file, and name that file",
            ),
        }
    }
}

/// The first five texts that look like values in the output of a benchmark (one of its streams, or
/// a file), and are not read by `format`. `None` is for an output in which no format was
/// recognized.
///
/// For [`Format::Lines`] and tools' outputs these are the unread lines, without those that the tool
/// writes about itself. Other formats leave nothing unread: they are whole documents, or were
/// chosen by a user who knows the output. [`Format::Auto`] is the format that is recognized.
///
/// ```
/// use pinpoint_core::results::unread_values;
///
/// let unread = unread_values(b"warming up\nsorted in 12.5 ms\n", None);
/// assert_eq!((unread[0].line, unread[0].text.as_str()), (2, "sorted in 12.5 ms"));
/// let hint = unread[0].hint.to_string();
/// assert!(hint.starts_with("--format 'regex:sorted\\s+in\\s+(?<value>"), "{hint}");
/// ```
///
/// # Cost
///
/// One walk through the output, up to the fifth such value.
pub fn unread_values(output: &[u8], format: Option<&Format>) -> Vec<UnreadValue> {
    let format = match format {
        Some(Format::Auto) => Format::recognize(output).ok(),
        format => format.cloned(),
    };
    let (reads, lines) = match format {
        None => (Reads::Nothing, ReadLines::default()),
        Some(Format::Lines) => (
            Reads::Lines,
            Format::Lines
                .read_with_failures(output)
                .unwrap_or_default()
                .lines,
        ),
        Some(format) if format.is_printed_by_a_tool() => {
            let reading = format.read_with_failures(output);
            (Reads::Tool, reading.unwrap_or_default().lines)
        }
        Some(_) => return Vec::new(),
    };
    let text = text::lines(output);
    if reads == Reads::Nothing
        && let Some(unread) = in_document(&text)
    {
        return unread;
    }
    let unread = text.lines().enumerate().filter_map(|(index, line)| {
        let message = without_prefix(shown(line)).trim();
        let hint = if lines.garbled.binary_search(&index).is_ok() {
            ReadHint::Garbled
        } else if lines.known.binary_search(&index).is_ok() {
            return None;
        } else {
            in_line(line, message, reads)?
        };
        let hint = match hint {
            ReadHint::Format(Format::Regex(pattern))
                if message.len() < shown(line).trim().len() =>
            {
                behind_prefix(&pattern)?
            }
            hint => hint,
        };
        Some(UnreadValue {
            line: index + 1,
            text: shortened(message),
            hint,
        })
    });
    unread.take(MAX_LISTED).collect()
}

/// The hint for a line that begins with a logger's prefix, which is not in the pattern.
fn behind_prefix(pattern: &LinePattern) -> Option<ReadHint> {
    let pattern = pattern.to_string();
    let text = match pattern.strip_prefix(r"^\s*") {
        Some(rest) => format!(r"\s{}\s*$", rest.trim_end_matches(r"\s*$")),
        None => pattern,
    };
    Some(ReadHint::Format(Format::Regex(text.parse().ok()?)))
}

/// The part of an output that is read.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    Nothing,
    Lines,
    /// The output of a tool.
    Tool,
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The numbers of an output that is one JSON document, whole or cut off.
fn in_document(text: &str) -> Option<Vec<UnreadValue>> {
    let begin = text.trim_start();
    if !begin.starts_with(['{', '[']) {
        return None;
    }
    let document = not_a_number::as_null(begin.into());
    let skipped = text[..text.len() - begin.len()].matches('\n').count();
    match serde_json::from_str::<IgnoredAny>(&document) {
        Ok(_) => Some(
            json_numbers(&document, MAX_LISTED)
                .into_iter()
                .filter_map(|number| {
                    Some(UnreadValue {
                        line: skipped + number.line,
                        text: shortened(number.text),
                        hint: match number.quoted {
                            None => ReadHint::Format(Format::Json(number.pointer)),
                            Some(at) => in_quotes(number.text, at)?,
                        },
                    })
                })
                .collect(),
        ),
        Err(error) if error.is_eof() && !json_numbers(&document, 1).is_empty() => {
            let line = error.line();
            Some(vec![UnreadValue {
                line: skipped + line,
                text: shortened(document.lines().nth(line - 1).unwrap_or_default().trim()),
                hint: ReadHint::CutOff,
            }])
        }
        Err(_) => None,
    }
}

/// The hint for reading the value of an unread line that looks like one.
fn in_line(line: &str, message: &str, reads: Reads) -> Option<ReadHint> {
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

/// The hint for a text in a JSON document that is a value, `"12.5 ms"`; `at` is its first
/// character after the quote.
fn in_quotes(text: &str, at: usize) -> Option<ReadHint> {
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

/// The hint for a number at a place in a line.
fn hint(message: &str, start: usize, number: &str, has_unit: bool) -> Option<ReadHint> {
    match number::printed(number)? {
        Printed::Ambiguous => return Some(ReadHint::Ambiguous),
        Printed::Sure(Number::NotFinite) => return None,
        Printed::Sure(_) | Printed::DecimalOrList(_) => {}
    }
    let unit = if has_unit {
        r#"\s*(?<unit>[^\s,;()\[\]"]+)"#
    } else {
        ""
    };
    let before = last_characters(message[..start].trim_start(), MOST_CHARACTERS);
    let pattern = match before.is_empty() {
        true => format!(r"^\s*{NUMBER}{unit}{}", if has_unit { "" } else { r"\s*$" }),
        false => format!("{}{NUMBER}{unit}", loosely(before)),
    };
    let pattern = pattern.parse().ok()?;
    Some(ReadHint::Format(Format::Regex(pattern)))
}

/// A pattern for a piece of text in which numbers and blanks may differ.
fn loosely(text: &str) -> String {
    let mut pattern = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let alike: fn(&char) -> bool = match character {
            '0'..='9' => |next| next.is_ascii_digit(),
            blank if blank.is_whitespace() => |next| next.is_whitespace(),
            other => {
                pattern.push_str(&regex::escape(other.encode_utf8(&mut [0; 4])));
                continue;
            }
        };
        while characters.next_if(alike).is_some() {}
        pattern.push_str(if character.is_ascii_digit() {
            r"\d+"
        } else {
            r"\s+"
        });
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hint, as text, for each line.
    fn hints(output: &str, format: Option<&Format>) -> Vec<(usize, String)> {
        let unread = unread_values(output.as_bytes(), format).into_iter();
        unread
            .map(|unread| (unread.line, unread.hint.to_string()))
            .collect()
    }

    /// The suggestion really reads the value.
    #[test]
    fn a_suggested_format_reads_the_value() {
        for (output, expected) in [
            ("took 12.5 ms", 12.5),
            ("took 12.5ms", 12.5),
            ("Elapsed (12,5 s) in 3 rounds", 12.5),
            (
                "2026-11-26 10:00:00 INFO sorted 100 items in 1.5e3 us, ok",
                1500.0,
            ),
            ("12.5", 12.5),
            ("  -7  ", -7.0),
            ("latency 12.5", 12.5),
            ("latency=12.5", 12.5),
            ("level=info time=12.5ms", 12.5),
            ("sort time:12.5 ms", 12.5),
            ("took ~12.5ms", 12.5),
            ("speed 99.5 MB/s", 99.5),
            ("took [12.5 ms]", 12.5),
            ("it's 12.5 ms.", 12.5),
            ("Python 3.11", 3.11),
            ("iterations: 30", 30.0),
            ("{\"a\": {\"b\": 2.5}}", 2.5),
            ("\n{\"x\": \"1\", \"times\": [2.5, 3]}", 2.5),
            ("[{\"a/b\": 2.5}]", 2.5),
            ("[2.5, 3]", 2.5),
            ("{\"a\": 2.5, \"b\": NaN}", 2.5),
            ("sort,12.5", 12.5),
            ("sort 1000,12", 12.0),
            ("sort;12,5", 12.5),
            ("sort, 12.5", 12.5),
            ("{\"time\": \"12.5 ms\"}", 12.5),
            ("{\"a\": {\n  \"time\" : \"12.5ms\"}}", 12.5),
            ("{\"score\": \"12.5\"}", 12.5),
            ("[\"12.5 ms\"]", 12.5),
        ] {
            let unread = unread_values(output.as_bytes(), None);
            let first = unread.first().unwrap_or_else(|| panic!("{output}"));
            let ReadHint::Format(format) = &first.hint else {
                panic!("{output}: {}", first.hint);
            };
            let charts = format.read(output.as_bytes());
            let charts = charts.unwrap_or_else(|error| panic!("{output}: {format}: {error}"));
            let series = charts.values().next().expect("there is one");
            assert_eq!(series.values[0], expected, "{output}: {format}");
        }
    }

    #[test]
    fn dates_and_what_other_tools_say_of_themselves_are_no_values() {
        for line in [
            "Fri Nov 27 18:23:18 UTC 2026",
            "Start: Fri Nov 27 00:23:18 UTC 2026",
            "Started: Fri Nov 27 00:23:18 UTC 2026",
            "Fri 27 Nov 2026 00:23:18 UTC",
            "Current time 00:05:12",
            "100%|##########| 100/100 [00:05<00:00, 19.5it/s]",
            "✨  Done in 1.23s.",
            "BUILD SUCCESSFUL in 1m 3s",
            "Resolved 12 packages in 1ms",
            "Finished in 0.00123 seconds (files took 0.1 seconds to load)",
            "1 passing (12ms)",
            "✓ built in 1.23s",
            "webpack 5.1.0 compiled successfully in 1234 ms",
            "Passed!  - Failed: 0, Passed: 2, Skipped: 0, Total: 2, Duration: 12 ms - a.dll",
            "ok | 1 passed | 0 failed (12ms)",
            "PASS ./a.test.js (5.123 s)",
            "Collecting numpy (12.3 MB)",
            "INFO: Elapsed time: 1.5s, Critical Path: 0.5s",
        ] {
            for (output, format) in [
                (format!("{line}\n"), None),
                (format!("time: 5 ms\n{line}\n"), Some(&Format::Lines)),
            ] {
                assert_eq!(hints(&output, format), [], "{line}");
            }
        }
    }

    #[test]
    fn a_pattern_for_a_line_behind_a_time_stamp_reads_it() {
        let output = "2026-11-27 12:00:01 12.5\n";
        let unread = unread_values(output.as_bytes(), None);
        let ReadHint::Format(format) = &unread[0].hint else {
            panic!("{unread:?}");
        };
        let charts = format
            .read(output.as_bytes())
            .expect("the pattern reads it");
        let values: Vec<&Vec<f64>> = charts.values().map(|series| &series.values).collect();
        assert_eq!(values, [&vec![12.5]]);
    }

    #[test]
    fn a_line_of_many_values_is_looked_at_once() {
        let line = "12.5ms ".repeat(20_000);
        assert_eq!(
            unread_values(line.as_bytes(), None)[0].hint,
            ReadHint::Several
        );
        let line = format!("splits: {}", "00:01:23 ".repeat(5_000));
        assert_eq!(
            unread_values(line.as_bytes(), None)[0].hint,
            ReadHint::Several
        );
    }

    #[test]
    fn what_no_option_reads_is_said_to_be_so() {
        for (output, hint) in [
            ("time: 1,234 ms", ReadHint::Ambiguous),
            ("took 1,234 ms", ReadHint::Ambiguous),
            ("| sort | 12.5 | 13.5 |", ReadHint::Several),
            ("sort   12.5   13   100", ReadHint::Several),
            ("name=sort iters=100 time=12.5", ReadHint::Several),
            ("p50: 5 ms, p99: 50 ms", ReadHint::Several),
            ("12 ms (10 allocations: 1.20 KiB)", ReadHint::Several),
            (
                "sort 123.4k (± 2.1%) i/s - 620.0k in 5.02s",
                ReadHint::Several,
            ),
            ("[100.00%] time_sort 12.5±0.2ms", ReadHint::Several),
            ("sort 12 345 ops/s", ReadHint::Several),
            ("sort 950k ops/s", ReadHint::Several),
            ("took 1 min 30 s", ReadHint::Several),
            ("took 1m30.5s", ReadHint::Duration),
            ("real\t0m0.052s", ReadHint::Duration),
            ("elapsed 00:01:23.45", ReadHint::Duration),
            ("sort: 12:01:23.45", ReadHint::Duration),
            ("Total time 12:01:23", ReadHint::Duration),
            (
                "Elapsed (wall clock) time (h:mm:ss or m:ss): 0:00.05",
                ReadHint::Format(Format::Lines),
            ),
            ("p50=5ms p99=50ms", ReadHint::Format(Format::Lines)),
            ("{\"time\": \"1m30.5s\"}", ReadHint::Duration),
            (
                "start\n{\n  \"a\": \"12.5 ms\",\n}",
                ReadHint::MixedDocument,
            ),
            ("sort,12.5,13.5", ReadHint::Several),
            ("count: 1,234,56", ReadHint::Ambiguous),
            ("lat: 1,234,56N", ReadHint::Ambiguous),
            ("lat: 1,234,56N ms", ReadHint::Several),
            ("test sort ... bench:   1,2", ReadHint::Garbled),
            ("{\"a\": 1.5, \"b\": [2", ReadHint::CutOff),
            ("start\n{\"a\": 1.5}\nend", ReadHint::MixedDocument),
            ("start\n{\n  \"a\": 1.5,\n}", ReadHint::MixedDocument),
            ("{\"a\": 1}\n{\"a\": 2}", ReadHint::MixedDocument),
        ] {
            let unread = unread_values(output.as_bytes(), None);
            assert_eq!(
                unread.first().map(|unread| &unread.hint),
                Some(&hint),
                "{output}"
            );
        }
    }

    #[test]
    fn prose_is_no_value() {
        for output in [
            "",
            "all is well",
            "Running 5 tests with 2 threads",
            "version v1.2.3 of 2026-11-26",
            "at 12:30:45 see http://localhost:80",
            "[ 50%] Building CXX object",
            "{}",
            "{\"a\": \"b\"}",
            "[info] starting",
            "\"quoted 5\"",
            "{\"version\": \"1.5\", \"name\": \"5 apples\"}",
            "started at 12:01:23.45",
            "2026-11-27 00:01:23 is past",
            "first, second and 3",
            "=== 3 passed in 0.52s ===",
            "3 passed, 1 skipped in 0.52s",
            "    Finished `release` profile [optimized] target(s) in 0.05s",
            "    Finished bench [optimized] target(s) in 1m 02s",
            "ok  \texample.org/sums\t1.234s",
            "Intel(R) Xeon(R) CPU @ 2.20GHz",
        ] {
            assert_eq!(hints(output, None), [], "{output}");
        }
    }

    #[test]
    fn what_is_read_is_not_listed() {
        let output = "iterations: 30\ntime: 5 ms\nitems: 10,000\nlatency 12.5\nwarmed up in 3 s\n";
        let listed = hints(output, Some(&Format::Lines));
        let lines: Vec<usize> = listed.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 5], "{listed:?}");
        assert_eq!(hints(output, Some(&Format::Auto)), listed);
        let listed = hints(output, Some(&Format::GoBenchmark));
        let lines: Vec<usize> = listed.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 5]);
        assert_eq!(hints(output, Some(&Format::Time)), []);
    }

    #[test]
    fn few_are_listed_and_each_is_short() {
        let long = format!("took 5 ms {}\n", "µ".repeat(500)).repeat(50);
        let unread = unread_values(long.as_bytes(), None);
        assert_eq!(unread.len(), 5);
        assert_eq!(unread[4].line, 5);
        assert_eq!(unread[0].text.chars().count(), 121);
        let late = format!("{} took 5 ms", "µ".repeat(100_000));
        let unread = unread_values(late.as_bytes(), None);
        assert!(unread[0].hint.to_string().chars().count() < 300);
    }
}

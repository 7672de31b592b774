//! What looks like a value in an output, and is not read as one.
//!
//! Nothing that is ambiguous is guessed at. So that it is not dropped in silence either, this
//! says which lines somebody may have meant as results, and which option would read them.

use std::fmt;

use serde::de::IgnoredAny;

use super::json_numbers::json_numbers;
use super::lines::{Value, measurement};
use super::log_prefix::without_prefix;
use super::number::{self, Number, Printed};
use super::text::shown;
use super::{Format, not_a_number, text};
use crate::unit::is_measure;

/// The most values that are listed.
const MOST: usize = 5;

/// The most characters of a line.
const MOST_CHARACTERS: usize = 120;

/// The number of a suggested pattern.
const NUMBER: &str = r"(?<value>-?[0-9]+(?:[.,][0-9]+)*(?:[eE][-+]?[0-9]+)?)";

/// Something in an output that looks like a value, and is not read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnreadValue {
    /// The line that it is in, counted from 1.
    pub line: usize,
    /// The line, without what a logger wrote before it, and shortened; of a JSON document on few
    /// lines, the member.
    pub text: String,
    /// What would read it.
    pub hint: ReadHint,
}

/// What would read a value. As text, it is half a sentence for users of the command.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReadHint {
    /// This format reads it.
    Format(Format),
    /// Its comma may separate thousands or decimals.
    Ambiguous,
    /// More than one number of the line may be meant.
    Several,
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
                "its comma may separate thousands or decimals; have the benchmark print it without",
            ),
            Self::Several => formatter.write_str(
                "more than one of its numbers may be meant; the format `regex:PATTERN` reads the one that a pattern calls (?<value>…)",
            ),
            Self::CutOff => formatter.write_str(
                "the JSON document ends too early; have the benchmark write it to a file, and name that file",
            ),
            Self::MixedDocument => formatter.write_str(
                "JSON is read only if there is nothing else; have the benchmark write it to a file, and name that file",
            ),
        }
    }
}

/// What looks like a value in the output of a benchmark (one of its streams, or a file), and is
/// not read by `format`: the first five. `None` is for an output in which no format was
/// recognised.
///
/// Only [`Format::Lines`] leaves anything unread: other formats are recognised by what a tool
/// writes, and take all that it means as results, or were chosen by somebody who knows
/// the output. [`Format::Auto`] is the format that is recognised.
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
        Some(Format::Auto) => Format::recognise(output).ok(),
        format => format.cloned(),
    };
    let is_lines = match format {
        None => false,
        Some(Format::Lines) => true,
        Some(_) => return Vec::new(),
    };
    let text = text::lines(output);
    if !is_lines && let Some(unread) = in_document(&text) {
        return unread;
    }
    let unread = text.lines().enumerate().filter_map(|(index, line)| {
        let message = without_prefix(shown(line)).trim();
        Some(UnreadValue {
            line: index + 1,
            text: shortened(message),
            hint: in_line(line, message, is_lines)?,
        })
    });
    unread.take(MOST).collect()
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
            json_numbers(&document, MOST)
                .into_iter()
                .map(|number| UnreadValue {
                    line: skipped + number.line,
                    text: shortened(number.text),
                    hint: ReadHint::Format(Format::Json(number.pointer)),
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

/// What would read the value of a line that looks like one and is not read.
fn in_line(line: &str, message: &str, is_lines: bool) -> Option<ReadHint> {
    if !message.contains(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    match measurement(shown(line)).map(|found| found.number) {
        Some(Value::Clear(_)) if is_lines => return None,
        Some(Value::Clear(_)) => return Some(ReadHint::Format(Format::Lines)),
        Some(Value::Ambiguous) => return Some(ReadHint::Ambiguous),
        None => {}
    }
    if message.starts_with('{') {
        let is_json = serde_json::from_str::<IgnoredAny>(message).is_ok();
        return is_json.then_some(ReadHint::MixedDocument);
    }
    if message.starts_with('"') {
        // A member of an indented document.
        let value = message.rsplit_once("\":")?.1.trim().trim_end_matches(',');
        return number::number(value).map(|_| ReadHint::MixedDocument);
    }
    let words = words(message);
    let mut measured = 0;
    let mut first = None;
    for (index, word) in words.iter().enumerate() {
        let next = words.get(index + 1).map(|next| next.text);
        let before = index.checked_sub(1).map(|before| words[before].text);
        if let Some(hint) = with_unit(message, word, next, before) {
            measured += 1;
            first = first.or(Some(hint));
        } else if is_figure(word.text) {
            measured += 1;
        }
    }
    if first.is_some() && measured > 1 {
        return Some(ReadHint::Several);
    }
    if first.is_some() || is_lines {
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

/// A word without the punctuation around it.
struct Word<'a> {
    start: usize,
    text: &'a str,
}

/// The words of a line, where `=` and `:` part a name from its value, too.
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

/// Does a word hold a number that is more than a count, in whatever form?
fn is_figure(word: &str) -> bool {
    let word = word.strip_prefix('-').unwrap_or(word);
    word.starts_with(|letter: char| letter.is_ascii_digit())
        && word.contains(|letter: char| letter.is_alphabetic() || matches!(letter, '.' | ',' | '%'))
}

/// The hint for a number with a unit of something that is measured.
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
    // How far something got.
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
        r"\s*(?<unit>[^\s,;()\[\]]+)"
    } else {
        ""
    };
    let before = last_characters(message[..start].trim_start());
    let pattern = match before.is_empty() {
        true => format!(r"^\s*{NUMBER}{unit}{}", if has_unit { "" } else { r"\s*$" }),
        false => format!("{}{NUMBER}{unit}", loosely(before)),
    };
    let pattern = pattern.parse().ok()?;
    Some(ReadHint::Format(Format::Regex(pattern)))
}

/// The end of a text that is too long for a pattern.
fn last_characters(text: &str) -> &str {
    match text.char_indices().rev().nth(MOST_CHARACTERS) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

/// A pattern for a piece of text in which numbers and blanks may be others.
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

    /// What is suggested really reads the value.
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
        assert_eq!(hints(output, Some(&Format::GoBenchmark)), []);
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

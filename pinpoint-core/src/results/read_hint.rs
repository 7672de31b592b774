//! Hints for reading a text that looks like a value.

use std::fmt;

use super::Format;
use super::number::{self, Number, Printed};
use super::pattern::LinePattern;
use super::text::last_characters;

/// The most characters before a number that a suggested pattern holds.
const MOST_CHARACTERS: usize = 120;

/// The number of a suggested pattern.
const NUMBER: &str = r"(?<value>-?[0-9]+(?:[.,][0-9]+)*(?:[eE][-+]?[0-9]+)?)";

/// The unit of a suggested pattern.
const UNIT: &str = r#"\s*(?<unit>[^\s,;()\[\]"]+)"#;

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
                // As a shell reads it: nothing else has a meaning between these quotes.
                let quoted = format.to_string().replace('\'', r"'\''");
                write!(formatter, "--format '{quoted}' reads it")
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

/// The hint for a line that begins with a logger's prefix, which is not in the pattern.
pub(super) fn behind_prefix(pattern: &LinePattern) -> Option<ReadHint> {
    let pattern = pattern.to_string();
    let text = match pattern.strip_prefix(r"^\s*") {
        Some(rest) => format!(r"\s{}\s*$", rest.trim_end_matches(r"\s*$")),
        None => pattern,
    };
    Some(ReadHint::Format(Format::Regex(text.parse().ok()?)))
}

/// The hint for a number at a place in a line.
pub(super) fn hint(message: &str, start: usize, number: &str, has_unit: bool) -> Option<ReadHint> {
    match number::printed(number)? {
        Printed::Ambiguous => return Some(ReadHint::Ambiguous),
        Printed::Sure(Number::NotFinite) => return None,
        Printed::Sure(_) | Printed::DecimalOrList(_) => {}
    }
    let unit = if has_unit { UNIT } else { "" };
    let before = last_characters(message[..start].trim_start(), MOST_CHARACTERS);
    let pattern = match before.is_empty() {
        true => format!(r"^\s*{NUMBER}{unit}{}", if has_unit { "" } else { r"\s*$" }),
        false => format!("{}{NUMBER}{unit}", loosely(before)),
    };
    let pattern = pattern.parse().ok()?;
    Some(ReadHint::Format(Format::Regex(pattern)))
}

impl ReadHint {
    /// The hint for the value behind a name whose numbers change from run to run, as `run 17: 1.5 ms`
    /// and `run 18: 1.6 ms`. `None` if no pattern can be made of the name.
    pub fn for_name(name: &str) -> Option<Self> {
        let pattern = format!(r"{}[\s:=]+{NUMBER}(?:{UNIT})?", loosely(name));
        Some(Self::Format(Format::Regex(pattern.parse().ok()?)))
    }
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

    #[test]
    fn the_hint_for_a_name_that_changes_reads_each_of_them() {
        for (name, lines) in [
            (
                "run 17 (it's)",
                [
                    ("run 17 (it's): 1.5 ms", 1.5),
                    ("run 202 (it's): 2.5 ms", 2.5),
                ],
            ),
            ("v1", [("v1 = 1.5", 1.5), ("v20 = -2.5", -2.5)]),
            (
                "Vec<u8> 3",
                [
                    ("Vec<u8> 3: 1.5e-3 s", 0.0015),
                    ("Vec<u8> 41: 900 µs", 900.0),
                ],
            ),
            ("p\"1", [("p\"1: 1 ms", 1.0), ("p\"2: 2 ms", 2.0)]),
        ] {
            let Some(ReadHint::Format(format)) = ReadHint::for_name(name) else {
                panic!("{name}");
            };
            for (line, value) in lines {
                let charts = format.read(line.as_bytes()).expect("it is read");
                assert_eq!(charts["value"].values, [value], "{format}");
            }
        }
    }

    #[test]
    fn the_option_is_quoted_for_a_shell() {
        let format = r#"regex:it's "a" $b `c` (?<value>[0-9]+)"#;
        let hint = ReadHint::Format(format.parse().expect("it is valid"));
        let quoted = r#"--format 'regex:it'\''s "a" $b `c` (?<value>[0-9]+)' reads it"#;
        assert_eq!(hint.to_string(), quoted);
    }
}

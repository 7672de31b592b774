//! A regular expression, matched line by line.

use std::fmt;
use std::str::FromStr;

use regex::Regex;

use super::charts::Charts;
use super::number::{self, Number, Printed};
use super::{FormatError, OutputPosition, ReadError, Reading, UNNAMED};
use crate::Direction;

/// A regular expression with a group named `value`, and perhaps `name` and
/// `unit`.
#[derive(Clone, Debug)]
pub struct LinePattern(Regex);

impl LinePattern {
    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for LinePattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Display for LinePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for LinePattern {
    type Err = FormatError;

    fn from_str(pattern: &str) -> Result<Self, FormatError> {
        // Parsed on its own first: only the parser knows the place of the fault.
        regex_syntax::parse(pattern).map_err(|error| at_fault(pattern, &error))?;
        let regex = Regex::new(pattern).map_err(|source| FormatError::PatternTooLarge {
            pattern: pattern.into(),
            source,
        })?;
        if !regex.capture_names().flatten().any(|name| name == "value") {
            return Err(FormatError::NoValueGroup(pattern.into()));
        }
        Ok(Self(regex))
    }
}

fn at_fault(pattern: &str, error: &regex_syntax::Error) -> FormatError {
    let (offset, problem) = match error {
        regex_syntax::Error::Parse(error) => (error.span().start.offset, error.kind().to_string()),
        regex_syntax::Error::Translate(error) => {
            (error.span().start.offset, error.kind().to_string())
        }
        // The enum is open; an error of an unknown kind has no known place.
        error => (0, error.to_string()),
    };
    FormatError::Pattern {
        pattern: pattern.into(),
        position: pattern
            .char_indices()
            .take_while(|(at, _)| *at < offset)
            .count()
            + 1,
        problem,
    }
}

/// Reads every match in every line.
pub(super) fn read(pattern: &LinePattern, text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    for (index, line) in text.lines().enumerate() {
        for found in pattern.0.captures_iter(line) {
            let group = |name| {
                let text = found.name(name)?.as_str().trim();
                (!text.is_empty()).then_some(text)
            };
            let (start, value) = match found.name("value") {
                Some(value) => (value.start(), value.as_str().trim()),
                None => (found.get_match().start(), ""),
            };
            let place = OutputPosition::Text {
                line: index + 1,
                column: line[..start].chars().count() + 1,
            };
            let number = match number::printed(value) {
                // The pattern defines it as one number.
                Some(Printed::Sure(Number::Finite(number)) | Printed::DecimalOrList(number)) => {
                    number
                }
                Some(Printed::Sure(Number::NotFinite)) => {
                    return Err(ReadError::NotFinite {
                        place,
                        found: format!("`{value}`"),
                    });
                }
                Some(Printed::Ambiguous) => {
                    return Err(ReadError::Ambiguous {
                        place,
                        found: value.into(),
                    });
                }
                None => {
                    return Err(ReadError::NotANumber {
                        place,
                        found: format!("`{value}` in group `value`"),
                    });
                }
            };
            let name = group("name").unwrap_or(UNNAMED);
            charts.add(
                name,
                vec![number],
                group("unit"),
                Direction::Unknown,
                || place,
            );
        }
    }
    charts.finish(&format!("regex:{pattern}: no line matches"))
}

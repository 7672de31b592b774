//! What can be wrong with a format, and with an output.

use std::fmt;

/// The text does not name a format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// No format has this name.
    #[error(
        "there is no result format `{0}`; use auto, time, lines, json:POINTER or regex:PATTERN"
    )]
    Unknown(String),
    /// The JSON pointer is none.
    #[error(
        "`{pointer}` is no JSON pointer: character {position} {problem}; write it like /results/0/mean (RFC 6901)"
    )]
    Pointer {
        /// The pointer as given.
        pointer: String,
        /// The character at fault, counted from 1.
        position: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The regular expression is none.
    #[error(
        "`{pattern}` is no regular expression: {problem}, at character {position}; correct the pattern"
    )]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// The character at fault, counted from 1.
        position: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The regular expression is well formed and cannot be used.
    #[error("`{pattern}` cannot be used; make the pattern smaller")]
    PatternTooLarge {
        /// The pattern as given.
        pattern: String,
        /// What the regular expression engine says.
        source: regex::Error,
    },
    /// The regular expression does not say where the value is.
    #[error("`{0}` has no group named `value`; mark the number with one, like (?<value>[0-9.]+)")]
    NoValueGroup(String),
}

/// Where in an output something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A place in text.
    Text {
        /// Counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
    },
    /// A place in a JSON document, as a JSON pointer.
    Json(String),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { line, column } => write!(formatter, "line {line}, column {column}"),
            Self::Json(pointer) if pointer.is_empty() => {
                formatter.write_str("the top of the document")
            }
            Self::Json(pointer) => formatter.write_str(pointer),
        }
    }
}

/// The output cannot be read as the format says.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The output is not text.
    #[error(
        "the output is not UTF-8 at {0}; have the benchmark print UTF-8 only, or write its results to a file of their own"
    )]
    NotUtf8(Place),
    /// The output is not one JSON document, or is cut off.
    #[error(
        "the output is not one whole JSON document ({source}); have the benchmark print nothing else, or write the document to a file of its own"
    )]
    Json {
        /// Where reading stopped.
        place: Place,
        /// What is wrong there.
        source: serde_json::Error,
    },
    /// Something else stands where a number is needed.
    #[error(
        "{place} holds {found}, not a number; have the benchmark write a plain decimal number there, or name the place that holds one"
    )]
    NotANumber {
        /// Where.
        place: Place,
        /// What stands there, in words.
        found: String,
    },
    /// A number that is no amount: NaN, infinity, or too large for 64 bits.
    #[error(
        "{place} holds {found}, which is no finite number; a measurement that failed must not be printed as a value"
    )]
    NotFinite {
        /// Where.
        place: Place,
        /// What stands there.
        found: String,
    },
    /// One chart has values in two units.
    #[error(
        "{place} gives `{chart}` in {found}, but it was given in {first} before; print one unit for each name"
    )]
    UnitChanged {
        /// Where the second unit stands.
        place: Place,
        /// The chart.
        chart: String,
        /// The first unit, in words.
        first: String,
        /// The second unit, in words.
        found: String,
    },
    /// A member stands twice in a JSON object, so it has no one value.
    #[error("{0} stands there twice; write each member once")]
    Duplicate(Place),
    /// The output is sound, and what was looked for is not in it.
    #[error("there is no value for {wanted}{}", Present(.present))]
    NoValue {
        /// What was looked for.
        wanted: String,
        /// What there is in its place, when that can be told.
        present: Vec<String>,
    },
    /// No format recognises the output.
    #[error(
        "nothing in the output is recognised as a result; have the benchmark print lines like `name: 12.5 ms`, or name the format"
    )]
    NothingRecognised,
}

/// The end of a sentence that says what there is instead.
struct Present<'a>(&'a [String]);

impl fmt::Display for Present<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            formatter.write_str("; check that the benchmark prints it")
        } else {
            write!(formatter, "; there is {}", self.0.join(", "))
        }
    }
}

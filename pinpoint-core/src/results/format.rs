//! The formats by name.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{FormatError, JsonPointer, LinePattern, Place, ReadError, json, lines, pattern};
use crate::Series;

/// How the output of a benchmark is read.
///
/// Written as text, in `serde` too: `auto`, `time`, `lines`, `json:/a/b`,
/// `regex:took (?<value>[0-9.]+)`.
///
/// ```
/// use pinpoint_core::results::Format;
///
/// let charts = Format::Lines.read(b"sorting\nlatency: 12.5 ms\nlatency: 13 ms\n")?;
/// assert_eq!(charts["latency"].values, [12.5, 13.0]);
/// assert_eq!(charts["latency"].unit.as_deref(), Some("ms"));
/// # Ok::<(), pinpoint_core::results::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Format {
    /// The format that [`Format::recognise`] finds.
    Auto,
    /// Nothing is read from the output, whatever it is: what counts is the time
    /// that the operating system measured.
    Time,
    /// `name: value unit`, one to a line; other lines are ignored.
    ///
    /// The name is everything before the last colon that a blank follows, so
    /// that it may hold colons of its own (`std::sort: 3 ms`). The value is a
    /// decimal number; the unit is one word, or missing. Blanks around all
    /// three are dropped. A line that begins with a quote or a brace is JSON or
    /// the like, and ignored. The same name again adds a value, and must keep
    /// its unit. `nan` and `inf` in the value's place are errors.
    Lines,
    /// The value at a place in a JSON document.
    ///
    /// A number, or an array of numbers, is one chart, named by the last token
    /// of the pointer (`value` for the pointer to the whole document). An
    /// object is one chart for each member, and each must be a number or an
    /// array of numbers. Nothing is skipped: `null` or text among the numbers
    /// is an error, since that is how many programs write a NaN.
    Json(JsonPointer),
    /// A regular expression, matched line by line; each match is a value.
    ///
    /// Group `value` is the number and must take part in every match; group
    /// `name` is the chart (`value` when missing or empty), group `unit` its
    /// unit.
    Regex(LinePattern),
}

impl Format {
    /// The values of every chart in the output.
    ///
    /// There is at least one value, except for [`Format::Time`], which gives an
    /// empty map; every value is finite.
    ///
    /// # Errors
    ///
    /// Damage anywhere in what is read, and [`ReadError::NoValue`] when the
    /// output is sound and holds no value.
    pub fn read(&self, output: &[u8]) -> Result<BTreeMap<String, Series>, ReadError> {
        match self {
            Self::Auto => Self::recognise(output)?.read(output),
            Self::Time => Ok(BTreeMap::new()),
            Self::Lines => lines::read(text(output)?),
            Self::Json(pointer) => json::read(pointer, text(output)?),
            Self::Regex(pattern) => pattern::read(pattern, text(output)?),
        }
    }

    /// The format that an output is in: [`Format::Lines`] as soon as one line
    /// reads so. Never `Auto` or `Time`.
    ///
    /// # Errors
    ///
    /// [`ReadError::NothingRecognised`].
    pub fn recognise(output: &[u8]) -> Result<Self, ReadError> {
        if lines::recognise(output) {
            return Ok(Self::Lines);
        }
        Err(ReadError::NothingRecognised)
    }
}

/// The output as text, or the first place that is none.
fn text(output: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(output).map_err(|error| {
        let sound = String::from_utf8_lossy(&output[..error.valid_up_to()]);
        let last_line = sound.rsplit('\n').next().unwrap_or_default();
        ReadError::NotUtf8(Place::Text {
            line: sound.matches('\n').count() + 1,
            column: last_line.chars().count() + 1,
        })
    })
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        match text.split_once(':') {
            None if text == "auto" => Ok(Self::Auto),
            None if text == "time" => Ok(Self::Time),
            None if text == "lines" => Ok(Self::Lines),
            Some(("json", pointer)) => pointer.parse().map(Self::Json),
            Some(("regex", pattern)) => pattern.parse().map(Self::Regex),
            _ => Err(FormatError::Unknown(text.into())),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Time => formatter.write_str("time"),
            Self::Lines => formatter.write_str("lines"),
            Self::Json(pointer) => write!(formatter, "json:{pointer}"),
            Self::Regex(pattern) => write!(formatter, "regex:{pattern}"),
        }
    }
}

impl TryFrom<String> for Format {
    type Error = FormatError;

    fn try_from(text: String) -> Result<Self, FormatError> {
        text.parse()
    }
}

impl From<Format> for String {
    fn from(format: Format) -> Self {
        format.to_string()
    }
}

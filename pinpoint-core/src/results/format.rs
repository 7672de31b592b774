//! The formats by name.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{
    FormatError, JsonPointer, LinePattern, Place, ReadError, catch2, chromium, chromium_by_name,
    criterion, go_benchmark, google_benchmark, hyperfine, is_criterion_result, jmh, json, lines,
    pattern, pytest_benchmark, recognise, talos,
};
use crate::Series;

/// The output that a benchmark left: a file, or what it printed; or a folder of files.
#[derive(Debug, Clone, Copy)]
pub enum Output<'a> {
    /// The content of a file.
    File(&'a [u8]),
    /// The files of a folder by their paths in it, with `/` between the parts.
    Folder(&'a BTreeMap<String, Vec<u8>>),
}

impl<'a> From<&'a [u8]> for Output<'a> {
    fn from(content: &'a [u8]) -> Self {
        Self::File(content)
    }
}

impl<'a, const LENGTH: usize> From<&'a [u8; LENGTH]> for Output<'a> {
    fn from(content: &'a [u8; LENGTH]) -> Self {
        Self::File(content)
    }
}

impl<'a> From<&'a Vec<u8>> for Output<'a> {
    fn from(content: &'a Vec<u8>) -> Self {
        Self::File(content)
    }
}

impl<'a> From<&'a BTreeMap<String, Vec<u8>>> for Output<'a> {
    fn from(files: &'a BTreeMap<String, Vec<u8>>) -> Self {
        Self::Folder(files)
    }
}

/// The format of a benchmark's output.
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
    /// Group `value` is the number and must be in every match; group `name` is the chart
    /// (`value` when missing or empty), group `unit` its unit.
    Regex(LinePattern),
    /// `hyperfine`: its `--export-json`.
    Hyperfine,
    /// `criterion`: Criterion.rs's output folder, `target/criterion`.
    Criterion,
    /// `gbench`: Google Benchmark's `--benchmark_format=json`.
    GoogleBenchmark,
    /// `gobench`: what `go test -bench` prints.
    GoBenchmark,
    /// `pytest-benchmark`: its `--benchmark-json`.
    PytestBenchmark,
    /// `jmh`: the Java Microbenchmark Harness's `-rf json`.
    Jmh,
    /// `catch2`: its XML reporter, `-r xml`.
    Catch2,
    /// `chromium`: a set of histograms, or chart JSON.
    Chromium,
    /// `chromium-by-name`: a set of histograms, as Chromium's Pinpoint reads it. A chart is a
    /// histogram's name alone, with the samples of all stories.
    ChromiumByName,
    /// `talos`: the `PERFHERDER_DATA` or `TALOSDATA` lines of a log of Mozilla's.
    Talos,
}

/// The formats that need only a name.
const NAMES: [(Format, &str); 13] = [
    (Format::Auto, "auto"),
    (Format::Time, "time"),
    (Format::Lines, "lines"),
    (Format::Hyperfine, "hyperfine"),
    (Format::Criterion, "criterion"),
    (Format::GoogleBenchmark, "gbench"),
    (Format::GoBenchmark, "gobench"),
    (Format::PytestBenchmark, "pytest-benchmark"),
    (Format::Jmh, "jmh"),
    (Format::Catch2, "catch2"),
    (Format::Chromium, "chromium"),
    (Format::ChromiumByName, "chromium-by-name"),
    (Format::Talos, "talos"),
];

impl Format {
    /// The values of every chart in the output.
    ///
    /// There is at least one value, except for [`Format::Time`], which gives an
    /// empty map; every value is finite. Where a format has a way to say that a
    /// measurement failed, all of its chart is left out: half of its values would
    /// pass for all of them.
    ///
    /// # Errors
    ///
    /// Damage anywhere in what is read; [`ReadError::NoValue`] when the output is
    /// sound and holds no value; [`ReadError::FolderNeeded`] and
    /// [`ReadError::FileNeeded`].
    ///
    /// # Cost
    ///
    /// One walk through the output (and with [`Format::Auto`] another through its
    /// beginning), which holds the values and not the document: 100 MB of JSON take
    /// less than a second and less than 100 MB beside their own.
    pub fn read<'a>(
        &self,
        output: impl Into<Output<'a>>,
    ) -> Result<BTreeMap<String, Series>, ReadError> {
        match (self, output.into()) {
            (Self::Auto, output) => Self::recognise(output)?.read(output),
            (Self::Time, _) => Ok(BTreeMap::new()),
            (Self::Criterion, Output::Folder(files)) => criterion::read(files),
            (Self::Criterion, Output::File(_)) => Err(ReadError::FolderNeeded("Criterion")),
            (_, Output::Folder(_)) => Err(ReadError::FileNeeded(self.to_string())),
            (Self::Lines, Output::File(content)) => lines::read(text(content)?),
            (Self::Json(pointer), Output::File(content)) => json::read(pointer, text(content)?),
            (Self::Regex(regex), Output::File(content)) => pattern::read(regex, text(content)?),
            (Self::Hyperfine, Output::File(content)) => hyperfine::read(text(content)?),
            (Self::GoogleBenchmark, Output::File(content)) => {
                google_benchmark::read(text(content)?)
            }
            (Self::GoBenchmark, Output::File(content)) => go_benchmark::read(text(content)?),
            (Self::PytestBenchmark, Output::File(content)) => {
                pytest_benchmark::read(text(content)?)
            }
            (Self::Jmh, Output::File(content)) => jmh::read(text(content)?),
            (Self::Catch2, Output::File(content)) => catch2::read(text(content)?),
            (Self::Chromium, Output::File(content)) => chromium::read(text(content)?),
            (Self::ChromiumByName, Output::File(content)) => chromium_by_name::read(text(content)?),
            (Self::Talos, Output::File(content)) => talos::read(text(content)?),
        }
    }

    /// The format of an output, recognised by its beginning: an output that is truncated
    /// later is recognised, and refused by [`Format::read`]. Never `Auto`, `Time`, or one
    /// that takes a pointer or a pattern. A set of histograms is [`Format::Chromium`].
    /// [`Format::Lines`] only when it is nothing else and one line reads so.
    ///
    /// # Errors
    ///
    /// [`ReadError::NothingRecognised`].
    pub fn recognise<'a>(output: impl Into<Output<'a>>) -> Result<Self, ReadError> {
        let format = match output.into() {
            Output::Folder(files) => files
                .keys()
                .any(|path| is_criterion_result(path))
                .then_some(Self::Criterion),
            Output::File(content) => recognise::recognise(content),
        };
        format.ok_or(ReadError::NothingRecognised)
    }
}

/// The output as text, or the first place that is none.
pub(super) fn text(output: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(output).map_err(|error| {
        let sound = String::from_utf8_lossy(&output[..error.valid_up_to()]);
        ReadError::NotUtf8(place_at(&sound, sound.len()))
    })
}

/// The place of a byte in a text.
pub(super) fn place_at(text: &str, byte: usize) -> Place {
    let before = text.get(..byte).unwrap_or(text);
    let last_line = before.rsplit('\n').next().unwrap_or_default();
    Place::Text {
        line: before.matches('\n').count() + 1,
        column: last_line.chars().count() + 1,
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        if let Some((format, _)) = NAMES.iter().find(|(_, name)| *name == text) {
            return Ok(format.clone());
        }
        match text.split_once(':') {
            Some(("json", pointer)) => pointer.parse().map(Self::Json),
            Some(("regex", pattern)) => pattern.parse().map(Self::Regex),
            _ => Err(FormatError::Unknown(text.into())),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(pointer) => write!(formatter, "json:{pointer}"),
            Self::Regex(pattern) => write!(formatter, "regex:{pattern}"),
            plain => {
                let name = NAMES.iter().find(|(format, _)| format == plain);
                formatter.write_str(name.map_or("", |(_, name)| name))
            }
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

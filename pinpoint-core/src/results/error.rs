//! The problems that a format or an output can have.

use std::fmt;

use pinpoint_document::OutputPosition;

/// The text does not name a format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// No format has this name.
    #[error(
        "there is no result format `{0}`; use auto, time, lines, json:POINTER, regex:PATTERN, hyperfine, criterion, gbench, gobench, pytest-benchmark, jmh, catch2, chromium, chromium-by-name, talos, hyperfine-console, criterion-console, gbench-console, pytest-benchmark-console, catch2-console, jmh-console, libtest, divan, vitest, pytest-durations, asv, tinybench, benchmark-ips, benchmark-js, benchmark-dotnet, benchmark-dotnet-json, nanobench, gotest-json, github-action-benchmark, bencher, gungraun, pyperf-json, perf-stat, gbench-csv, ycsb, graphserver, browser-output, {tools}",
        tools = super::line_tools::names()
    )]
    Unknown(String),
    /// No values of Talos have this name.
    #[error(transparent)]
    TalosValues(#[from] super::talos::UnknownTalosValues),
    /// The JSON pointer is invalid.
    #[error(
        "`{pointer}` is not a JSON pointer: character {position} {problem}; write it like /results/0/mean (RFC 6901)"
    )]
    Pointer {
        /// The pointer as given.
        pointer: String,
        /// The character at fault, counted from 1.
        position: usize,
        /// The problem.
        problem: &'static str,
    },
    /// The regular expression is invalid.
    #[error(
        "`{pattern}` is not a valid regular expression: {problem}, at character {position}; correct the pattern"
    )]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// The character at fault, counted from 1.
        position: usize,
        /// The problem there.
        problem: String,
    },
    /// The regular expression is valid but too large.
    #[error("`{pattern}` cannot be used; make the pattern smaller")]
    PatternTooLarge {
        /// The pattern as given.
        pattern: String,
        /// The error of the regular expression engine.
        source: regex::Error,
    },
    /// The regular expression has no group for the value.
    #[error("`{0}` has no group named `value`; mark the number with one, like (?<value>[0-9.]+)")]
    NoValueGroup(String),
}

/// The output cannot be read in the format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The output is not text.
    #[error(
        "the output is not UTF-8 at {0}; have the benchmark print UTF-8 only, or write its results to a file of their own"
    )]
    NotUtf8(OutputPosition),
    /// The output is not one JSON document, or is cut off.
    #[error(
        "the output is not one whole JSON document: {place}: {}; have the benchmark print nothing else, or write the document to a file of its own",
        problem(.source)
    )]
    Json {
        /// The place where reading stopped.
        place: OutputPosition,
        /// The problem there.
        source: serde_json::Error,
    },
    /// The output is a JSON document, but not one of its format.
    #[error(
        "{place} is not as {format} writes it ({}); check that the results are {format}'s own and were not changed, or name another format",
        problem(.source)
    )]
    Misshapen {
        /// The place where reading stopped.
        place: OutputPosition,
        /// The program that writes the format.
        format: &'static str,
        /// The problem there.
        source: serde_json::Error,
    },
    /// A member of a document has a value that its format does not allow.
    #[error(
        "the document at {place} is not as its format allows: {source}; correct what writes the results"
    )]
    OutOfBounds {
        /// The place of the document.
        place: OutputPosition,
        /// The member, with its path in the document.
        source: super::talos::OutOfBounds,
    },
    /// A summary of Talos lacks the values asked for.
    #[error("{place}: {source}")]
    MissingValue {
        /// The place of the document.
        place: OutputPosition,
        /// The subtest.
        source: super::talos::MissingValue,
    },
    /// The output is not one whole XML document, or not one of its format.
    #[error(
        "{place} is not as Catch2 writes XML ({problem}); have the tests print nothing else, or write the report to a file of its own (-r xml -o FILE)"
    )]
    Xml {
        /// The place where reading stopped.
        place: OutputPosition,
        /// The problem there.
        problem: String,
    },
    /// A line that begins like a result but does not end like one.
    #[error(
        "{place} is not as a benchmark of Go prints its result ({problem}); check that the output is whole and that the benchmark prints nothing else into that line"
    )]
    GoLine {
        /// The place where reading stopped.
        place: OutputPosition,
        /// The problem there.
        problem: &'static str,
    },
    /// A line that is not as its program writes it, in a format of lines.
    #[error(
        "{place} is not as {writer} writes it ({problem}); check that the output is whole and was not changed"
    )]
    Line {
        /// The place where reading stopped.
        place: OutputPosition,
        /// The program that writes the format.
        writer: &'static str,
        /// The problem there.
        problem: String,
    },
    /// The output says that the whole run failed.
    #[error("{place} says that the run failed: {reason}; correct that, and run it again")]
    RunFailed {
        /// The place of the message.
        place: OutputPosition,
        /// The reason, as the output gives it.
        reason: String,
    },
    /// The graph server did not say that it took the values.
    #[error(
        "the graph server's answer has no line with RETURN: `{0}`; correct what it says, and send the values again"
    )]
    NoAnswer(String),
    /// One of the files of a folder cannot be read.
    #[error("{file}: {source}")]
    InFile {
        /// The file, relative to the folder.
        file: String,
        /// The problem.
        source: Box<ReadError>,
    },
    /// A benchmark of Criterion lacks one of its files.
    #[error("{missing} is missing; run the benchmark again, and do not stop it before it ends")]
    FileMissing {
        /// The file, relative to the folder.
        missing: String,
    },
    /// The format is that of a folder, and the output is a file.
    #[error("{0} writes a folder of results, not a file; name the folder (target/criterion)")]
    FolderNeeded(&'static str),
    /// The format is that of a file, and the output is a folder.
    #[error("the results are a folder, which the format {0} does not read; name a file in it")]
    FileNeeded(String),
    /// Another value where a number is needed.
    #[error(
        "{place} holds {found}, not a number; have the benchmark write a plain decimal number there, or name the place that holds one"
    )]
    NotANumber {
        /// The place.
        place: OutputPosition,
        /// The value found, in words.
        found: String,
    },
    /// A number whose comma may separate thousands or decimals.
    #[error(
        "{place} holds `{found}`, which is {} with a comma between thousands, and {} with a decimal comma; have the benchmark print it without the comma",
        found.replace(',', ""),
        found.replace(',', ".")
    )]
    Ambiguous {
        /// The place.
        place: OutputPosition,
        /// The text found.
        found: String,
    },
    /// A number that is not an amount: NaN, infinity, or too large for 64 bits.
    #[error(
        "{place} holds {found}, which is not a finite number; a measurement that failed must not be printed as a value"
    )]
    NotFinite {
        /// The place.
        place: OutputPosition,
        /// The text found.
        found: String,
    },
    /// One chart has values in two units.
    #[error(
        "{place} gives `{chart}` in {found}, but it was given in {first} before; print one unit for each name"
    )]
    UnitChanged {
        /// The place of the second unit.
        place: OutputPosition,
        /// The chart.
        chart: String,
        /// The first unit, in words.
        first: String,
        /// The second unit, in words.
        found: String,
    },
    /// Two benchmarks of one name, in a format that gives each name once.
    #[error(
        "{place} holds `{chart}` a second time; print only one run of the benchmark, run each suite by itself, or give each benchmark its own name"
    )]
    DuplicateChart {
        /// The place of the second one.
        place: OutputPosition,
        /// The chart.
        chart: String,
    },
    /// A duplicate key in a JSON object, whose value is ambiguous.
    #[error("{0} is a duplicate key; write each member once")]
    Duplicate(OutputPosition),
    /// The output is valid, but lacks the value looked for.
    #[error("there is no value for {wanted}{}", Present(.present))]
    NoValue {
        /// The name that was looked for.
        wanted: String,
        /// The names that exist instead, if known.
        present: Vec<String>,
    },
    /// No format recognizes the output.
    #[error(
        "nothing in the output is recognized as a result; have the benchmark print lines like `name: 12.5 ms`, or name the format"
    )]
    NothingRecognized,
}

/// The message of the parser without its place, which may be relative to a line of the output.
pub(super) fn problem(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(" at line ") {
        Some((problem, _)) => problem.to_owned(),
        None => message,
    }
}

/// The end of a sentence that lists existing names.
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

//! The formats by name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::repair::Repaired;
use super::talos::TalosValues;
use super::{
    FormatError, JsonPointer, LinePattern, LineTool, Origin, OriginReading, ReadError, Reading,
    asv, bencher, benchmark_dotnet, benchmark_dotnet_json, benchmark_ips, benchmark_js,
    browser_output, catch2, catch2_console, chromium, chromium_by_name, criterion,
    criterion_console, divan, github_action_benchmark, go_benchmark, go_test_json,
    google_benchmark, google_benchmark_console, google_benchmark_csv, graph_server, gungraun,
    hyperfine, hyperfine_console, is_criterion_result, jmh, jmh_console, json, libtest, lines,
    nanobench, not_a_number, pattern, perf_stat, pyperf_json, pytest_benchmark,
    pytest_benchmark_console, pytest_durations, recognize, repair, talos, text, tinybench, vitest,
    ycsb,
};
use crate::Series;

/// The output of a benchmark: a file or printed text, or a folder of files.
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
#[non_exhaustive]
pub enum Format {
    /// The format that [`Format::recognize`] finds.
    Auto,
    /// Nothing is read from the output: the time that the operating system measured counts.
    Time,
    /// `name: value unit` or `name = value unit`, one to a line; other lines are ignored.
    ///
    /// The name is everything before the last colon that a blank follows, so that it may hold
    /// colons (`std::sort: 3 ms`); a logger's prefix, a time stamp and a level, is left out. The
    /// value is a decimal number, with separators of thousands or a decimal comma where that can be
    /// read in one way only (`10,052.1`, `0,5 ms`; not `1,234`). The unit is one word, or missing;
    /// one of time, memory, a rate or percent may touch the value (`12.5ms`), and a factor is `1.3x`.
    /// A duration may be `1m30.5s`, or a clock that can't be a time of day, `0:01:30.5`. A deviation
    /// may follow (`± 0.2 ms`). Blanks around all of them are dropped, colors too. A line that begins
    /// with a quote or a brace is JSON or the like, and ignored. The same name again adds a value,
    /// converted to the unit of the first ([`convert_factor`](crate::convert_factor)). `nan` and
    /// `inf` in the value's place are errors.
    ///
    /// A line of nothing but pairs (`sort: p50=1.2ms p99=3.4ms`) gives a chart for each, `sort p50`.
    /// So does each row of a table with units: CSV with units in the header; Markdown, tabs or
    /// aligned columns with units in the header or in the cells. Without any of these, a sentence
    /// that ends with a time (`sorted 1000 items in 1.3 s`) is read if no other line has a number.
    ///
    /// A chart with an unreadable value is left out.
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
    /// `gobench`: the output of `go test -bench`.
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
    /// `hyperfine-console`: the output of hyperfine.
    HyperfineConsole,
    /// `criterion-console`: the output of Criterion.rs.
    CriterionConsole,
    /// `gbench-console`: the table that Google Benchmark prints.
    GoogleBenchmarkConsole,
    /// `pytest-benchmark-console`: the table that pytest-benchmark prints.
    PytestBenchmarkConsole,
    /// `catch2-console`: the tables that Catch2 prints.
    Catch2Console,
    /// `libtest`: the output of Rust's own benchmarks, `cargo bench` with `#[bench]`.
    Libtest,
    /// `divan`: the tree that divan prints.
    Divan,
    /// `vitest`: the output of `vitest bench`.
    Vitest,
    /// `pytest-durations`: the slowest tests that pytest lists, `--durations=0`.
    PytestDurations,
    /// `asv`: the output of airspeed velocity, `asv run` or `asv show`.
    Asv,
    /// `tinybench`: the table of tinybench, `console.table(bench.table())`.
    Tinybench,
    /// `benchmark-ips`: the output of Ruby's benchmark-ips.
    BenchmarkIps,
    /// `benchmark-js`: the output of Benchmark.js.
    BenchmarkJs,
    /// `benchmark-dotnet`: the summary of BenchmarkDotNet.
    BenchmarkDotNet,
    /// `nanobench`: the tables of nanobench.
    Nanobench,
    /// `jmh-console`: the table that JMH prints.
    JmhConsole,
    /// `gotest-json`: the output of `go test -json -bench`.
    GoTestJson,
    /// `github-action-benchmark`: the custom JSON of github-action-benchmark.
    GithubActionBenchmark,
    /// `bencher`: Bencher Metric Format, the JSON that Bencher takes.
    Bencher,
    /// `gungraun`: the output of Gungraun, iai-callgrind or iai.
    Gungraun,
    /// `benchmark-dotnet-json`: the JSON that BenchmarkDotNet exports.
    BenchmarkDotNetJson,
    /// `pyperf-json`: the JSON that pyperf writes with `-o`.
    PyperfJson,
    /// `perf-stat`: the output of `perf stat`.
    PerfStat,
    /// `gbench-csv`: Google Benchmark's `--benchmark_format=csv`.
    GoogleBenchmarkCsv,
    /// `ycsb`: the output of the Yahoo! Cloud Serving Benchmark.
    Ycsb,
    /// `talos`: the `PERFHERDER_DATA` or `TALOSDATA` lines of a log of Mozilla's, with the
    /// replicates of each subtest; `talos:VALUES` with other values: filtered, mean, median, min or
    /// max.
    Talos(TalosValues),
    /// `graphserver`: the messages that Talos sent to Mozilla's graph server.
    GraphServer,
    /// `browser-output`: the `browser_output.txt` of Talos, the log of a browser.
    BrowserOutput,
    /// A tool that prints its results on lines of their own, by its name: `wrk`, `pgbench`.
    LineTool(LineTool),
}

/// The formats that need only a name.
pub(super) const NAMES: [(Format, &str); 40] = [
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
    (Format::HyperfineConsole, "hyperfine-console"),
    (Format::CriterionConsole, "criterion-console"),
    (Format::GoogleBenchmarkConsole, "gbench-console"),
    (Format::PytestBenchmarkConsole, "pytest-benchmark-console"),
    (Format::Catch2Console, "catch2-console"),
    (Format::Libtest, "libtest"),
    (Format::Divan, "divan"),
    (Format::Vitest, "vitest"),
    (Format::PytestDurations, "pytest-durations"),
    (Format::Asv, "asv"),
    (Format::Tinybench, "tinybench"),
    (Format::BenchmarkIps, "benchmark-ips"),
    (Format::BenchmarkJs, "benchmark-js"),
    (Format::BenchmarkDotNet, "benchmark-dotnet"),
    (Format::Nanobench, "nanobench"),
    (Format::JmhConsole, "jmh-console"),
    (Format::GoTestJson, "gotest-json"),
    (Format::GithubActionBenchmark, "github-action-benchmark"),
    (Format::Bencher, "bencher"),
    (Format::Gungraun, "gungraun"),
    (Format::BenchmarkDotNetJson, "benchmark-dotnet-json"),
    (Format::PyperfJson, "pyperf-json"),
    (Format::PerfStat, "perf-stat"),
    (Format::GoogleBenchmarkCsv, "gbench-csv"),
    (Format::Ycsb, "ycsb"),
    (Format::Talos(TalosValues::Replicates), "talos"),
    (Format::GraphServer, "graphserver"),
    (Format::BrowserOutput, "browser-output"),
];

impl Format {
    /// The values of every chart in the output.
    ///
    /// There is at least one value, except for [`Format::Time`], which gives an empty map; every
    /// value is finite. Where a format can mark a measurement as failed, all of its chart is left
    /// out: half of its values would pass for all of them. [`Format::read_with_failures`] names
    /// those charts, with the reasons.
    ///
    /// # Errors
    ///
    /// Damage anywhere in the part of the output that is read; [`ReadError::NoValue`] when the
    /// output is valid and holds no value; [`ReadError::FolderNeeded`] and
    /// [`ReadError::FileNeeded`].
    ///
    /// # Cost
    ///
    /// One walk through the output (and with [`Format::Auto`] another through its beginning), which
    /// holds the values and not the document: 100 MB of JSON take less than a second and less than
    /// 100 MB besides their own.
    pub fn read<'a>(
        &self,
        output: impl Into<Output<'a>>,
    ) -> Result<BTreeMap<String, Series>, ReadError> {
        self.read_with_failures(output)
            .map(|reading| reading.charts)
    }

    /// The values of [`Format::read`], and the charts that failed.
    ///
    /// Lines of a log around or in a JSON document, and bytes of Latin-1, are no damage: the
    /// remarks name them.
    ///
    /// # Errors
    ///
    /// As of [`Format::read`].
    pub fn read_with_failures<'a>(
        &self,
        output: impl Into<Output<'a>>,
    ) -> Result<Reading, ReadError> {
        let output = output.into();
        let read = self.read_sound(output);
        // A tag, as in `[info] started`, begins an array of another shape.
        let (
            Err(ReadError::NotUtf8(_) | ReadError::Json { .. } | ReadError::Misshapen { .. }),
            Output::File(content),
        ) = (&read, output)
        else {
            return read;
        };
        let Some(Repaired { text, remarks }) = repair::repaired(content) else {
            return read;
        };
        match self.read_sound(text.as_bytes().into()) {
            Ok(mut reading) => {
                reading.remarks.extend(remarks);
                Ok(reading)
            }
            Err(_) => read,
        }
    }

    /// The charts of an output by the build and the machine that it names for them, in the order in
    /// which they stand there. An output that names neither has one origin without any.
    ///
    /// # Errors
    ///
    /// As of [`Format::read`].
    pub fn read_by_origin<'a>(
        &self,
        output: impl Into<Output<'a>>,
    ) -> Result<Vec<OriginReading>, ReadError> {
        match (self, output.into()) {
            (Self::Auto, output) => Self::recognize(output)?.read_by_origin(output),
            (Self::Talos(values), Output::File(content)) => {
                talos::read_by_origin(&text::lines(content), *values)
            }
            (Self::GraphServer, Output::File(content)) => {
                graph_server::read_by_origin(&text::lines(content))
            }
            (_, output) => Ok(vec![OriginReading {
                origin: Origin::default(),
                reading: self.read_with_failures(output)?,
            }]),
        }
    }

    /// Reads an output that is only in this format.
    fn read_sound(&self, output: Output<'_>) -> Result<Reading, ReadError> {
        match (self, output) {
            (Self::Auto, output) => Self::recognize(output)?.read_with_failures(output),
            (Self::Time, _) => Ok(Reading::default()),
            (Self::Criterion, Output::Folder(files)) => criterion::read(files),
            (Self::Criterion, Output::File(_)) => Err(ReadError::FolderNeeded("Criterion")),
            (_, Output::Folder(_)) => Err(ReadError::FileNeeded(self.to_string())),
            (Self::Lines, Output::File(content)) => lines::read(&text::lines(content)),
            (Self::Regex(regex), Output::File(content)) => {
                pattern::read(regex, &text::lines(content))
            }
            (Self::GoBenchmark, Output::File(content)) => go_benchmark::read(&text::lines(content)),
            (Self::Talos(values), Output::File(content)) => {
                talos::read(&text::lines(content), *values)
            }
            (Self::GraphServer, Output::File(content)) => graph_server::read(&text::lines(content)),
            (Self::BrowserOutput, Output::File(content)) => {
                browser_output::read(&text::lines(content))
            }
            (Self::HyperfineConsole, Output::File(content)) => {
                hyperfine_console::read(&text::lines(content))
            }
            (Self::CriterionConsole, Output::File(content)) => {
                criterion_console::read(&text::lines(content))
            }
            (Self::GoogleBenchmarkConsole, Output::File(content)) => {
                google_benchmark_console::read(&text::lines(content))
            }
            (Self::PytestBenchmarkConsole, Output::File(content)) => {
                pytest_benchmark_console::read(&text::lines(content))
            }
            (Self::Catch2Console, Output::File(content)) => {
                catch2_console::read(&text::lines(content))
            }
            (Self::Libtest, Output::File(content)) => libtest::read(&text::lines(content)),
            (Self::Divan, Output::File(content)) => divan::read(&text::lines(content)),
            (Self::Vitest, Output::File(content)) => vitest::read(&text::lines(content)),
            (Self::PytestDurations, Output::File(content)) => {
                pytest_durations::read(&text::lines(content))
            }
            (Self::Asv, Output::File(content)) => asv::read(&text::lines(content)),
            (Self::Tinybench, Output::File(content)) => tinybench::read(&text::lines(content)),
            (Self::BenchmarkIps, Output::File(content)) => {
                benchmark_ips::read(&text::lines(content))
            }
            (Self::BenchmarkJs, Output::File(content)) => benchmark_js::read(&text::lines(content)),
            (Self::BenchmarkDotNet, Output::File(content)) => {
                benchmark_dotnet::read(&text::lines(content))
            }
            (Self::Nanobench, Output::File(content)) => nanobench::read(&text::lines(content)),
            (Self::JmhConsole, Output::File(content)) => jmh_console::read(&text::lines(content)),
            (Self::GoTestJson, Output::File(content)) => go_test_json::read(&text::lines(content)),
            (Self::GithubActionBenchmark, Output::File(content)) => {
                github_action_benchmark::read(&document(content)?)
            }
            (Self::Bencher, Output::File(content)) => bencher::read(&document(content)?),
            (Self::Gungraun, Output::File(content)) => gungraun::read(&text::lines(content)),
            (Self::BenchmarkDotNetJson, Output::File(content)) => {
                benchmark_dotnet_json::read(&document(content)?)
            }
            (Self::PyperfJson, Output::File(content)) => pyperf_json::read(&document(content)?),
            (Self::PerfStat, Output::File(content)) => perf_stat::read(&text::lines(content)),
            (Self::GoogleBenchmarkCsv, Output::File(content)) => {
                google_benchmark_csv::read(&text::lines(content))
            }
            (Self::Ycsb, Output::File(content)) => ycsb::read(&text::lines(content)),
            (Self::LineTool(tool), Output::File(content)) => tool.read(&text::lines(content)),
            (Self::Catch2, Output::File(content)) => catch2::read(&text::document(content)?),
            (Self::Json(pointer), Output::File(content)) => {
                json::read(pointer, &document(content)?)
            }
            (Self::Hyperfine, Output::File(content)) => hyperfine::read(&document(content)?),
            (Self::GoogleBenchmark, Output::File(content)) => {
                google_benchmark::read(&document(content)?)
            }
            (Self::PytestBenchmark, Output::File(content)) => {
                pytest_benchmark::read(&document(content)?)
            }
            (Self::Jmh, Output::File(content)) => jmh::read(&document(content)?),
            (Self::Chromium, Output::File(content)) => chromium::read(&document(content)?),
            (Self::ChromiumByName, Output::File(content)) => {
                chromium_by_name::read(&document(content)?)
            }
        }
    }

    /// Returns true for the lines that a tool prints. Everything that looks like a value in such an
    /// output is the tool's own, or not read.
    pub(super) fn is_printed_by_a_tool(&self) -> bool {
        !matches!(
            self,
            Self::Auto
                | Self::Time
                | Self::Lines
                | Self::Json(_)
                | Self::Regex(_)
                | Self::Hyperfine
                | Self::Criterion
                | Self::GoogleBenchmark
                | Self::PytestBenchmark
                | Self::Jmh
                | Self::Catch2
                | Self::Chromium
                | Self::ChromiumByName
                | Self::GithubActionBenchmark
                | Self::Bencher
                | Self::BenchmarkDotNetJson
                | Self::PyperfJson
                // One line in a log about other things.
                | Self::Talos(_)
                | Self::GraphServer
                | Self::BrowserOutput
        )
    }

    /// The format of an output, recognized by its beginning: an output that is truncated
    /// later is recognized, and refused by [`Format::read`]. Never `Auto`, `Time`, or one
    /// that takes a pointer or a pattern. A set of histograms is [`Format::Chromium`].
    /// [`Format::Lines`] only when it is nothing else and one line reads so.
    ///
    /// # Errors
    ///
    /// [`ReadError::NothingRecognized`].
    pub fn recognize<'a>(output: impl Into<Output<'a>>) -> Result<Self, ReadError> {
        let format = match output.into() {
            Output::Folder(files) => files
                .keys()
                .any(|path| is_criterion_result(path))
                .then_some(Self::Criterion),
            Output::File(content) => recognize::recognize(content),
        };
        format.ok_or(ReadError::NothingRecognized)
    }
}

/// A document of JSON, with `null` for NaN and the infinities.
fn document(content: &[u8]) -> Result<Cow<'_, str>, ReadError> {
    text::document(content).map(not_a_number::as_null)
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        if let Some((format, _)) = NAMES.iter().find(|(_, name)| *name == text) {
            return Ok(format.clone());
        }
        if let Some(tool) = LineTool::named(text) {
            return Ok(Self::LineTool(tool));
        }
        match text.split_once(':') {
            Some(("json", pointer)) => pointer.parse().map(Self::Json),
            Some(("regex", pattern)) => pattern.parse().map(Self::Regex),
            Some(("talos", values)) => Ok(Self::Talos(values.parse()?)),
            _ => Err(FormatError::Unknown(text.into())),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(pointer) => write!(formatter, "json:{pointer}"),
            Self::Regex(pattern) => write!(formatter, "regex:{pattern}"),
            Self::LineTool(tool) => formatter.write_str(tool.name()),
            Self::Talos(values) if *values != TalosValues::Replicates => {
                write!(formatter, "talos:{values}")
            }
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

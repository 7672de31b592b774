//! Recognizes the format of an output.
//!
//! An output is recognized by its beginning, so that a truncated one is still recognized,
//! and then refused, rather than taken for another format. Each format is marked by
//! something that no other writes: members of a JSON document by their names, the root of
//! an XML document, the shape of a line.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::talos::TalosValues;
use super::{
    Format, LineTool, asv, bencher, benchmark_dotnet, benchmark_ips, benchmark_js, browser_output,
    catch2, catch2_console, criterion_console, divan, go_benchmark, go_test_json,
    google_benchmark_console, google_benchmark_csv, graph_server, gungraun, hyperfine_console,
    jmh_console, libtest, lines, nanobench, not_a_number, perf_stat, pytest_benchmark_console,
    pytest_durations, repair, talos, text, tinybench, vitest, ycsb,
};

pub(super) fn recognize(output: &[u8]) -> Option<Format> {
    let text = text::lines(output);
    let begin = text.trim_start();
    if begin.starts_with('<') && catch2::recognize(begin) {
        Some(Format::Catch2)
    } else if begin.starts_with(['{', '['])
        && let Some(format) = json(&not_a_number::as_null(begin.into()))
    {
        Some(format)
    } else if talos::recognize(&text) {
        Some(Format::Talos(TalosValues::Replicates))
    } else if let Some(format) = in_log(&text) {
        Some(format)
    } else {
        by_lines(&text).or_else(|| lines::recognize(&text).then_some(Format::Lines))
    }
}

/// The format of a document between the lines of a log, which may have measures. The results of a
/// tool before it are preferred.
fn in_log(text: &str) -> Option<Format> {
    let (before, document) = text.split_at(repair::document_start(text)?);
    let format = json(&not_a_number::as_null(document.into()))?;
    let is_whole = by_lines(before).is_none() && repair::is_whole_in_log(text);
    is_whole.then_some(format)
}

/// The tool that printed a text.
fn by_lines(text: &str) -> Option<Format> {
    let mut formats = BY_LINES.iter();
    let format = formats.find(|(_, recognize)| recognize(text));
    let format = format.map(|(format, _)| format.clone());
    format.or_else(|| LineTool::recognize(text).map(Format::LineTool))
}

/// True when a text is in a format.
type Recognize = fn(&str) -> bool;

/// Formats that are recognized by a line, in the order in which they are tried: the tables of tools
/// have lines that others would take for theirs.
static BY_LINES: [(Format, Recognize); 24] = [
    (Format::GraphServer, graph_server::recognize),
    (Format::BrowserOutput, browser_output::recognize),
    (Format::GoBenchmark, go_benchmark::recognize),
    (Format::GoTestJson, go_test_json::recognize),
    (Format::JmhConsole, jmh_console::recognize),
    (Format::Gungraun, gungraun::recognize),
    (Format::HyperfineConsole, hyperfine_console::recognize),
    (Format::CriterionConsole, criterion_console::recognize),
    (Format::Catch2Console, catch2_console::recognize),
    (
        Format::PytestBenchmarkConsole,
        pytest_benchmark_console::recognize,
    ),
    (Format::PytestDurations, pytest_durations::recognize),
    (Format::Divan, divan::recognize),
    (Format::Vitest, vitest::recognize),
    (Format::Tinybench, tinybench::recognize),
    (Format::BenchmarkDotNet, benchmark_dotnet::recognize),
    (Format::Nanobench, nanobench::recognize),
    (Format::BenchmarkIps, benchmark_ips::recognize),
    (Format::BenchmarkJs, benchmark_js::recognize),
    (Format::Asv, asv::recognize),
    (Format::PerfStat, perf_stat::recognize),
    (Format::Ycsb, ycsb::recognize),
    (Format::GoogleBenchmarkCsv, google_benchmark_csv::recognize),
    (Format::Libtest, libtest::recognize),
    (
        Format::GoogleBenchmarkConsole,
        google_benchmark_console::recognize,
    ),
];

/// Looks at a JSON document until its format is known.
fn json(text: &str) -> Option<Format> {
    let mut format = None;
    let mut parser = serde_json::Deserializer::from_str(text);
    // The reader handles the rest, and faults.
    let _ = Look(&mut format, Level::Top).deserialize(&mut parser);
    format.or_else(|| bencher::recognize(text).then_some(Format::Bencher))
}

/// The format of a document whose top object has these members, which may be followed by
/// others.
fn of_top(members: &BTreeSet<String>) -> Option<Format> {
    let has = |name| members.contains(name);
    if has("benchmarks") && has("machine_info") {
        Some(Format::PytestBenchmark)
    } else if has("benchmarks") && has("context") && !has("layout") {
        Some(Format::GoogleBenchmark)
    } else if has("charts") && (has("format_version") || has("benchmark_name")) {
        Some(Format::Chromium)
    } else if has("Benchmarks") && has("HostEnvironmentInfo") {
        Some(Format::BenchmarkDotNetJson)
    } else {
        None
    }
}

/// The format of a document in which an object in an array has these members: in that of
/// hyperfine's results or of the runs of pyperf, or at the top.
fn of_record(array: Array, members: &BTreeSet<String>) -> Option<Format> {
    let has = |name| members.contains(name);
    match array {
        Array::Results => {
            (has("command") && (has("times") || has("mean"))).then_some(Format::Hyperfine)
        }
        Array::Benchmarks => None,
        Array::Runs => (has("values") || has("warmups")).then_some(Format::PyperfJson),
        Array::Top if has("benchmark") && has("mode") => Some(Format::Jmh),
        Array::Top if has("guid") && has("type") => Some(Format::Chromium),
        Array::Top if has("name") && has("unit") && HISTOGRAM.iter().any(|name| has(name)) => {
            Some(Format::Chromium)
        }
        Array::Top if has("name") && has("unit") && has("value") => {
            Some(Format::GithubActionBenchmark)
        }
        Array::Top => None,
    }
}

/// The members that only a histogram has besides its name and its unit.
const HISTOGRAM: [&str; 5] = [
    "sampleValues",
    "binBoundaries",
    "running",
    "allBins",
    "diagnostics",
];

/// An array that may be one of records.
#[derive(Clone, Copy)]
enum Array {
    /// The whole document.
    Top,
    /// The member `results` of the top object.
    Results,
    /// The member `benchmarks` of the top object.
    Benchmarks,
    /// The member `runs` of an object in `benchmarks`.
    Runs,
}

#[derive(Clone, Copy)]
enum Level {
    Top,
    Array(Array),
    Record(Array),
}

/// A value at this level, from which the format may become known. That ends the walk.
struct Look<'a>(&'a mut Option<Format>, Level);

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self(format, level) = self;
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            let array = match (level, &*name) {
                (Level::Top, "results") => Some(Array::Results),
                (Level::Top, "benchmarks") => Some(Array::Benchmarks),
                (Level::Record(Array::Benchmarks), "runs") => Some(Array::Runs),
                _ => None,
            };
            names.insert(name);
            *format = match level {
                Level::Top => of_top(&names),
                Level::Array(_) => return Err(A::Error::custom("no array")),
                Level::Record(array) => of_record(array, &names),
            };
            if format.is_some() {
                return Err(A::Error::custom("decided"));
            }
            if let Some(array) = array {
                members.next_value_seed(Look(format, Level::Array(array)))?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Self(format, level) = self;
        let array = match level {
            Level::Top => Array::Top,
            Level::Array(array) => array,
            Level::Record(_) => return Err(A::Error::custom("no object")),
        };
        while (elements.next_element_seed(Look(format, Level::Record(array)))?).is_some() {}
        Ok(())
    }
}

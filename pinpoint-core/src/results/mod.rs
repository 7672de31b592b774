//! The results of benchmarks: reading them, and comparing two.
//!
//! A [`Format`] turns bytes into values by chart, or into a [`ReadError`] that names the place.
//! There is nothing in between: an output that is damaged anywhere gives no values at all, because
//! half a result looks like a whole one to every statistic. An [`Aggregate`](crate::Aggregate)
//! turns many numbers into one.
//!
//! Everything here is pure. Each format has its own file with one function, `read`; [`Format`] is
//! the list of them.

mod asv;
mod bencher;
mod benchmark_dotnet;
mod benchmark_dotnet_json;
mod benchmark_ips;
mod benchmark_js;
mod browser_output;
mod catch2;
mod catch2_console;
mod charts;
mod chromium;
mod chromium_by_name;
mod clocks;
mod compare;
mod criterion;
mod criterion_console;
mod divan;
pub(crate) mod document;
mod error;
mod find;
mod format;
mod github_action_benchmark;
mod go_benchmark;
mod go_test_json;
mod google_benchmark;
mod google_benchmark_console;
mod google_benchmark_csv;
mod graph_server;
mod gungraun;
mod hyperfine;
mod hyperfine_console;
mod jmh;
mod jmh_console;
mod json;
mod json_numbers;
mod libtest;
mod line_tools;
mod lines;
mod log_prefix;
mod many_charts;
mod nanobench;
mod not_a_number;
mod number;
mod only_measure;
mod origin;
mod pairs;
mod pattern;
mod perf_stat;
mod perf_stat_intervals;
mod perf_stat_records;
mod pyperf_json;
mod pytest_benchmark;
mod pytest_benchmark_console;
mod pytest_durations;
mod quoted_number;
mod read_hint;
mod reading;
mod recognize;
mod repair;
mod sentences;
mod tables;
pub mod talos;
#[cfg(test)]
mod tests;
mod text;
mod text_line;
mod tinybench;
mod tool_lines;
mod unread;
mod unread_line;
mod vitest;
mod ycsb;

pub use compare::{
    Change, CompareOptions, CompareResultsError, ComparedChart, DifferentUnits, ResultsComparison,
    SampleSummary, TooFewValues, compare,
};
pub use criterion::is_criterion_result;
pub use error::{FormatError, ReadError};
pub use find::{
    FindMetricError, MetricDoubt, RequestedMetric, RunOutput, UnreadLine, find_metric, may_change,
};
pub use format::{Format, Output};
pub use graph_server::{GraphServerAnswer, GraphServerReport, GraphServerValue, GraphServerValues};
pub use json::JsonPointer;
pub use line_tools::LineTool;
pub use origin::{Origin, OriginReading};
pub use pattern::LinePattern;
pub use pinpoint_document::OutputPosition;
pub use read_hint::ReadHint;
pub use reading::Reading;
pub use unread::{UnreadValue, unread_values};

/// The name of a value when neither the format nor the output gives one.
const UNNAMED: &str = "value";

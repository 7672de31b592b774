//! `pinpoint compare`.

use std::path::PathBuf;

use clap::Args;
use pinpoint_core::results::Format;
use pinpoint_core::results::talos::TalosValues;
use pinpoint_core::{Aggregate, Magnitude};

use super::values::magnitude;
use super::{DirectionArgument, OUTPUT, OutputFormat};

/// Compare the results of benchmarks, metric by metric.
///
/// Shows what moved first, the largest change first: the verdict, the change with its
/// interval, p, and the medians. Values in other units of the same quantity are
/// converted. Metrics that only one side has, or that can't be compared, are named; with
/// them, as with measurements that failed or lines that were not read, the answer is
/// not "no difference". The values of several files on one side are pooled; with
/// --paired, the values of the first control belong to those of the first treatment,
/// and so on.
///
/// With several metrics the verdict uses p adjusted for their number (Benjamini and
/// Hochberg): at most 5 % of the reported differences are expected to be false. A
/// metric with p <= 0.05 whose adjusted p is higher is not decided.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint compare before.json after.json
  pinpoint compare target/criterion-before target/criterion
  pinpoint compare a1.txt b1.txt --control a2.txt --treatment b2.txt --paired --aggregate median
  pinpoint compare before.json after.json --chart 'sort/1000' --magnitude 2% --output json
  pinpoint compare before.json after.json --output markdown > comment.md")]
pub(crate) struct Compare {
    /// The format of the files: auto, lines (`name: value unit`), json:POINTER,
    /// regex:PATTERN with a group named `value`, hyperfine, criterion, gbench, gobench,
    /// pytest-benchmark, jmh, catch2, chromium, chromium-by-name, talos, libtest,
    /// divan, vitest, pytest-durations, asv, tinybench, benchmark-ips, benchmark-js,
    /// benchmark-dotnet, benchmark-dotnet-json, nanobench, gotest-json,
    /// github-action-benchmark, bencher, gungraun, pyperf-json, perf-stat, gbench-csv,
    /// ycsb, graphserver, browser-output, mitata, pyperf, phpbench, k6, wrk, wrk2, ab, sysbench,
    /// pgbench, fio, iperf3, gnu-time, shell-time; or, to read what a tool shows on a terminal,
    /// hyperfine-console, criterion-console, gbench-console, pytest-benchmark-console,
    /// catch2-console, jmh-console.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: Format,
    /// The values of a subtest in a log of Mozilla's that count: replicates, filtered (as Perfherder
    /// takes it), mean, median, min or max [default: replicates].
    #[arg(long, value_name = "VALUES")]
    pub(crate) talos_values: Option<TalosValues>,
    /// Compare only this metric; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) chart: Vec<String>,
    /// Combine all values of a metric in a file into one, as in `bisect`
    /// [default: every value counts].
    #[arg(long, value_name = "METHOD")]
    pub(crate) aggregate: Option<Aggregate>,
    /// Where better lies [default: as the format says; else down for times and memory, else unknown].
    #[arg(long, value_enum)]
    pub(crate) direction: Option<DirectionArgument>,
    /// The smallest change worth finding, in the unit of the metrics or, with a %
    /// sign, in percent of the control's median. A difference of means below a tenth
    /// of it counts as none.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, allow_hyphen_values = true, conflicts_with = "paired")]
    pub(crate) magnitude: Option<Magnitude>,
    /// The confidence of the intervals; with --paired it is 0.95.
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.95,
        conflicts_with = "paired"
    )]
    pub(crate) confidence: f64,
    /// Compare pair by pair: each control with the treatment in the same place.
    #[arg(long)]
    pub(crate) paired: bool,
    /// The format of the result on standard output.
    #[arg(long, help_heading = OUTPUT, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// A further control file; may be repeated.
    #[arg(long = "control", id = "more_control", value_name = "FILE")]
    pub(crate) more_control: Vec<PathBuf>,
    /// A further treatment file; may be repeated.
    #[arg(long = "treatment", id = "more_treatment", value_name = "FILE")]
    pub(crate) more_treatment: Vec<PathBuf>,
    /// The results before the change: a file, or a directory of Criterion.rs.
    #[arg(value_name = "CONTROL FILE")]
    pub(crate) control: PathBuf,
    /// The results after the change.
    #[arg(value_name = "TREATMENT FILE")]
    pub(crate) treatment: PathBuf,
}

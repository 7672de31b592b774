//! The benchmark, as several commands take it.

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use pinpoint_backends::local::CpuList;
use pinpoint_core::Aggregate;
use pinpoint_core::results::Format;
use pinpoint_core::results::talos::TalosValues;

use super::values::{MeasureArgument, Variable, longest_wait, repository};
use super::{BENCHMARK, BUDGET, STORAGE};

// The benchmark: its build, its run, and its results. (As documentation, clap would print this as
// the description of the command.)
#[derive(Debug, Args)]
pub(crate) struct Benchmark {
    /// The repository, or any directory inside it.
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".", help_heading = BENCHMARK)]
    pub(crate) repo: PathBuf,
    /// A local clone of a dependency, by its URL; may be repeated.
    ///
    /// Dependencies that submodules or DEPS name by this URL are checked out from the
    /// clone, at the revision that each commit names, before the commit is built. A
    /// culprit that rolls the dependency is searched further inside it. Submodules
    /// that are checked out are found without this option. Nothing is ever fetched.
    #[arg(long, value_name = "URL=DIR", value_parser = repository, help_heading = BENCHMARK)]
    pub(crate) repository: Vec<(String, PathBuf)>,
    /// A shell command that builds a commit, run once in the commit's own work tree.
    #[arg(long, value_name = "SHELL COMMAND", help_heading = BENCHMARK)]
    pub(crate) build: Option<String>,
    /// The format of the results: auto, time, lines (`name: value unit`), json:POINTER,
    /// regex:PATTERN with a group named `value`, hyperfine, criterion, gbench, gobench,
    /// pytest-benchmark, jmh, catch2, chromium, chromium-by-name, talos, libtest,
    /// divan, vitest, pytest-durations, asv, tinybench, benchmark-ips, benchmark-js,
    /// benchmark-dotnet, benchmark-dotnet-json, nanobench, gotest-json,
    /// github-action-benchmark, bencher, gungraun, pyperf-json, perf-stat, gbench-csv,
    /// ycsb, graphserver, browser-output, mitata, pyperf, phpbench, k6, wrk, wrk2, ab, sysbench,
    /// pgbench, fio, iperf3, gnu-time, shell-time; or, to read what a tool shows on a terminal,
    /// hyperfine-console, criterion-console, gbench-console, pytest-benchmark-console,
    /// catch2-console, jmh-console.
    #[arg(long, value_name = "FORMAT", default_value = "auto", help_heading = BENCHMARK)]
    pub(crate) format: Format,
    /// The values of a subtest in a log of Mozilla's that count: replicates, filtered (as
    /// Perfherder takes it), mean, median, min or max [default: replicates].
    #[arg(long, value_name = "VALUES", help_heading = BENCHMARK)]
    pub(crate) talos_values: Option<TalosValues>,
    /// The measure of a run that decides, in place of values in its output [default: wall,
    /// where the output has none].
    #[arg(
        long,
        value_enum,
        value_name = "MEASURE",
        conflicts_with_all = ["chart", "results"],
        help_heading = BENCHMARK
    )]
    pub(crate) measure: Option<MeasureArgument>,
    /// The file (or directory of Criterion.rs) in the work tree that the benchmark
    /// writes its results to [default: its standard output].
    #[arg(long, value_name = "PATH", help_heading = BENCHMARK)]
    pub(crate) results: Option<PathBuf>,
    /// The method that combines several values of one run: sum, mean, min, max, count,
    /// std, median, geometric-mean, population-std, population-variance, or Talos'
    /// talos-geometric-mean, dromaeo, v8, v8-subtest, canvasmark, js and responsiveness;
    /// before it, filters that leave values out, as in `ignore-first:5,ignore-max,median`:
    /// ignore-first:N, ignore-max, ignore-min, ignore-negative [default: median].
    #[arg(long, value_name = "METHOD", help_heading = BENCHMARK)]
    pub(crate) aggregate: Option<Aggregate>,
    /// The number of uncounted runs of each build before the first counted one.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = BENCHMARK)]
    pub(crate) warmup: u32,
    /// A variable for the build and the benchmark; may be repeated. Without a value it
    /// is inherited: the value is not stored, and is needed again to resume the job. A
    /// given value is stored with the job, and never shown.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = BENCHMARK)]
    pub(crate) env: Vec<Variable>,
    /// Let the benchmark and the build use files of your own checkout, which are the same
    /// for all commits. Without this, a benchmark that reads tracked files there is refused.
    #[arg(long, help_heading = BENCHMARK)]
    pub(crate) allow_outside_reads: bool,
    /// The time limit of one build or one run.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, help_heading = BUDGET)]
    pub(crate) timeout: Option<Duration>,
    /// The processors that runs are pinned to, as taskset takes them: 0-3,6. Builds use
    /// all.
    #[arg(long, value_name = "LIST", help_heading = BENCHMARK)]
    pub(crate) cpu: Option<CpuList>,
    /// Before each run or pair, wait until other processes leave the machine alone, but
    /// no longer than this. Each takes at least a quarter of a second more.
    #[arg(long, value_name = "DURATION", value_parser = longest_wait, help_heading = BENCHMARK)]
    pub(crate) settle: Option<Duration>,
    /// The disk space for finished builds, as in 500MB or 20GiB.
    #[arg(long, value_name = "SIZE", default_value = "10GiB", help_heading = STORAGE)]
    pub(crate) cache_size: ByteSize,
}

//! Options that several commands share: the benchmark, the job, and values of options.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use pinpoint_backends::local::{CpuList, RunMeasure};
use pinpoint_core::results::Format;
use pinpoint_core::{Aggregate, Direction, Magnitude};
use pinpoint_report::command_line::without_login;

use super::{Assignment, BENCHMARK, BUDGET, OUTPUT, QUESTION, STORAGE, STRATEGY};

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
    /// The format of the results: auto, time, lines (`name: value unit`),
    /// json:POINTER, regex:PATTERN with a group named `value`, hyperfine,
    /// criterion, gbench, gobench, pytest-benchmark, jmh, catch2, chromium,
    /// chromium-by-name, talos, libtest, divan, vitest, pytest-durations, asv, tinybench,
    /// benchmark-ips, benchmark-js, benchmark-dotnet, perf-stat, gbench-csv, ycsb; or, to
    /// read what a tool shows on a terminal, hyperfine-console, criterion-console,
    /// gbench-console, pytest-benchmark-console, catch2-console.
    #[arg(long, value_name = "FORMAT", default_value = "auto", help_heading = BENCHMARK)]
    pub(crate) format: Format,
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
    /// std, median, geometric-mean, or Talos' talos-geometric-mean, dromaeo, v8,
    /// canvasmark and js; prefix `ignore-first:N,` to drop the first N values
    /// [default: median].
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

// Options of a job of any kind.
#[derive(Debug, Args)]
pub(crate) struct JobOptions {
    /// Where better lies [default: as the format says; else down for times and memory, else unknown].
    #[arg(long, value_enum, help_heading = QUESTION)]
    pub(crate) direction: Option<DirectionArgument>,
    /// The time limit of the job, as in 90s, 20m or `1h 30m`.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, help_heading = BUDGET)]
    pub(crate) max_time: Option<Duration>,
    /// The seed of the order of runs.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = STRATEGY)]
    pub(crate) seed: u64,
    /// The number of parallel builds. Nothing is measured during a build.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = STRATEGY)]
    pub(crate) build_jobs: u32,
    #[command(flatten)]
    pub(crate) assignment: Assignment,
    /// The name of the benchmark in lists of jobs [default: the program that is run]. With
    /// --executor, the benchmark that is run.
    #[arg(long = "benchmark", value_name = "NAME", help_heading = STORAGE)]
    pub(crate) benchmark_name: Option<String>,
    /// The name of this job in lists of jobs, next to its id.
    #[arg(long = "name", value_name = "NAME", help_heading = STORAGE)]
    pub(crate) job_name: Option<String>,
    /// Write a report when the job ends, even if it fails: one HTML file with the
    /// answer, charts, every run and its log. `pinpoint jobs report` writes one at any
    /// time.
    #[arg(long, value_name = "FILE.html", help_heading = OUTPUT)]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionArgument {
    /// More is better: throughput, scores.
    Up,
    /// Less is better: times, memory.
    Down,
    /// A change either way is of interest.
    Unknown,
}

impl From<DirectionArgument> for Direction {
    fn from(argument: DirectionArgument) -> Self {
        match argument {
            DirectionArgument::Up => Self::Up,
            DirectionArgument::Down => Self::Down,
            DirectionArgument::Unknown => Self::Unknown,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MeasureArgument {
    /// The time from start to end.
    Wall,
    /// The processor time of the program and its children, without the kernel's: other
    /// processes and waiting disturb it less. Too coarse for runs below about 50 ms.
    User,
    /// The instructions of the program and its children, without the kernel's: hardly
    /// disturbed by anything, so that a few runs are enough; --magnitude says which
    /// differences matter. Counted by the processor or, where it can't, by valgrind
    /// (callgrind), which takes 20 to 200 times as long.
    Instructions,
    /// The peak memory of the largest process, where that has more than pinpoint itself.
    Memory,
    /// The one in which the bad end is worse most clearly, or the two sides of a pair differ,
    /// by five runs of each before the search: wall if that is clear enough, else another of
    /// time, else memory. Instructions only where the processor counts them.
    Auto,
}

impl MeasureArgument {
    /// The named measure, if any.
    pub(crate) fn named(self) -> Option<RunMeasure> {
        match self {
            Self::Wall => Some(RunMeasure::Wall),
            Self::User => Some(RunMeasure::User),
            Self::Instructions => Some(RunMeasure::Instructions),
            Self::Memory => Some(RunMeasure::Memory),
            Self::Auto => None,
        }
    }
}

/// A variable and its value; without one it is inherited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        if name.is_empty() || text.contains('\0') {
            return Err("NAME=VALUE or NAME is needed".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            value,
        })
    }
}

fn longest_wait(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("a wait is longer than 0; leave --settle out to not wait".into()),
        Ok(longest) => Ok(longest),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses the size of a change. Another option gives its direction.
pub(super) fn magnitude(text: &str) -> Result<Magnitude, String> {
    let magnitude = noise(text)?;
    let (Magnitude::Absolute(size) | Magnitude::Percent(size)) = magnitude;
    if size == 0.0 {
        return Err(
            "a change has a size; leave --magnitude out to look for one of any size".into(),
        );
    }
    if size < 0.0 {
        return Err(format!(
            "a size has no sign: say {}, and with --direction where better lies",
            text.trim_start_matches(['-', ' '])
        ));
    }
    Ok(magnitude)
}

pub(super) fn noise(text: &str) -> Result<Magnitude, String> {
    let number = |text: &str| {
        f64::from_str(text.trim())
            .ok()
            .filter(|number| number.is_finite())
            .ok_or_else(|| "a number is needed, or a number with a % sign".to_owned())
    };
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(Magnitude::Percent),
        None => number(text).map(Magnitude::Absolute),
    }
}

/// Parses a URL and the directory of a clone. A URL may have a query; few directories have a `=` in
/// their names.
pub(super) fn repository(text: &str) -> Result<(String, PathBuf), String> {
    match text.rsplit_once('=') {
        Some((url, directory)) if !url.is_empty() && !directory.is_empty() => {
            Ok((without_login(url), directory.into()))
        }
        _ => Err("URL=DIR is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_without_a_password() {
        for (given, kept) in [
            ("https://ada:secret@host/x", "https://host/x"),
            ("https://token@host", "https://host"),
            ("ssh://ada:secret@host:22/x", "ssh://ada@host:22/x"),
            ("https://host/a@b", "https://host/a@b"),
            ("git@host:x", "git@host:x"),
            ("/src/a:b@c", "/src/a:b@c"),
        ] {
            let parsed = repository(&format!("{given}=/home/a@b"));
            assert_eq!(parsed, Ok((kept.to_owned(), "/home/a@b".into())));
        }
    }

    #[test]
    fn a_variable_has_a_value_or_is_inherited() {
        let parsed = |text: &str| text.parse::<Variable>();
        let variable = |name: &str, value: Option<&str>| Variable {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        assert_eq!(parsed("A=b=c"), Ok(variable("A", Some("b=c"))));
        assert_eq!(parsed("A="), Ok(variable("A", Some(""))));
        assert_eq!(parsed("A"), Ok(variable("A", None)));
        for wrong in ["", "=", "=b"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wait_is_longer_than_nothing() {
        assert_eq!(longest_wait("2s"), Ok(Duration::from_secs(2)));
        assert!(longest_wait("0s").unwrap_err().contains("--settle"));
        assert!(longest_wait("soon").is_err());
    }

    #[test]
    fn a_magnitude_is_a_number_or_a_percentage() {
        assert_eq!(magnitude("5%"), Ok(Magnitude::Percent(5.0)));
        assert_eq!(magnitude("0.5"), Ok(Magnitude::Absolute(0.5)));
        for wrong in ["", "%", "five", "nan", "inf", "5%%", "1e999", "--build"] {
            assert!(magnitude(wrong).is_err(), "{wrong}");
        }
        for (none, help) in [
            ("0", "of any size"),
            ("0%", "of any size"),
            ("-0", "of any size"),
            ("-5%", "say 5%, and with --direction"),
            ("-0.5", "say 0.5, and"),
        ] {
            let error = magnitude(none).unwrap_err();
            assert!(error.contains(help), "{none}: {error}");
        }
    }
}

//! The command line: commands, options and their help.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytesize::ByteSize;
use clap::{Args, Parser, Subcommand, ValueEnum};
use pinpoint_backends::store::{JobFilter, JobId};
use pinpoint_core::Aggregate;
use pinpoint_core::results::Format;
use pinpoint_core::{Direction, Magnitude, Strategy};

/// Find the commit that made a benchmark slower.
///
/// Pinpoint builds and measures commits of a git repository, decides with
/// statistics whether two of them differ, and narrows the range until the
/// culprit is left.
///
/// Try it on a sample repository: pinpoint demo
#[derive(Debug, Parser)]
#[command(name = "pinpoint", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) display: Display,
}

/// The groups of options in the help, in this order.
const BENCHMARK: &str = "Benchmark";
const QUESTION: &str = "Question";
const BUDGET: &str = "Budget";
const STRATEGY: &str = "Strategy";
const STORAGE: &str = "Storage";
const OUTPUT: &str = "Output";

const EXIT_CODES: &str = "\
Exit codes: 0 a culprit was found (pairwise, compare: a difference); 3 no difference; 4 not decided
(bisect: a range is reported); 1 the job failed; 2 the command line or the input was wrong; 130 interrupted or canceled
(the job can be resumed).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Bisect(Box<Bisect>),
    Pairwise(Box<Pairwise>),
    /// Verify a regression, bisect it, and verify each culprit.
    ///
    /// The two ends are compared in pairs of runs. If the bad one is worse, the
    /// commits between them are bisected; then each culprit is compared with its
    /// parent, again in pairs. Only culprits that pass are reported as such.
    #[command(after_help = "\
Examples:
  pinpoint culprit v1.2 main -- ./bench.sh
  pinpoint culprit v1.2 main --build 'make -j2' --pairs 60 -- ./build/bench")]
    Culprit(Box<Culprit>),
    /// Compare the results of benchmarks, metric by metric.
    Compare(Box<Compare>),
    /// List the commits between two commits, through merges and dependency rolls.
    Midpoint(Midpoint),
    /// Estimate the cost and accuracy of a bisection before running it.
    Plan(Box<Plan>),
    /// List, inspect, resume and cancel jobs.
    #[command(subcommand)]
    Jobs(Jobs),
    /// List and inspect the bots that run benchmarks.
    Bots(Bots),
    /// Bisect a sample repository.
    Demo(Demo),
    /// Remove builds and work trees that no running job uses.
    Clean(Clean),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// How results are shown, and where jobs are kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct Display {
    /// The format of the result on standard output.
    #[arg(long, global = true, help_heading = OUTPUT, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// When to use colours.
    #[arg(long, global = true, help_heading = OUTPUT, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Show no progress, only the result.
    #[arg(long, short, global = true, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
    /// The directory of jobs, builds and work trees [default: $XDG_STATE_HOME/pinpoint].
    #[arg(long, global = true, help_heading = STORAGE, value_name = "DIR", env = "PINPOINT_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// A PostgreSQL database to keep jobs in, as postgres://USER@HOST/DATABASE, shared by
    /// many machines [default: a file in the state directory]. Every user of this machine
    /// can see a password in it: give the URL in PINPOINT_STORE, or the password in
    /// PGPASSWORD or in the file ~/.pgpass or PGPASSFILE. Tables are made in a schema
    /// named pinpoint.
    #[arg(
        long,
        global = true,
        help_heading = STORAGE,
        value_name = "URL",
        env = "PINPOINT_STORE",
        hide_env_values = true
    )]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// When printing to a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Find the commit between a good and a bad one that changed a benchmark.
///
/// The command after `--` is the benchmark. It runs in a work tree of the
/// commit under test; your own checkout is never touched. Its values are read
/// from its output (see --format); if there are none, its wall-clock time counts.
///
/// Environment of the command: PINPOINT_COMMIT, the commit; PINPOINT_RUN, the
/// number of earlier runs of this commit; PINPOINT_WARMUP=1 in runs that are not
/// counted; PINPOINT_JOB, the job.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint bisect v1.2 main -- ./bench.sh
  pinpoint bisect v1.2 main --build 'make -j2' --magnitude 5% -- ./build/bench
  pinpoint bisect v1.2 main --format json:/results/0/mean -- ./bench --json
  pinpoint bisect v1.2 main --format 'regex:took (?<value>[0-9.]+) (?<unit>ms)' -- ./bench
  pinpoint bisect v1.2 main --format time --chart peak_memory -- ./bench")]
pub(crate) struct Bisect {
    /// A patch to apply to every commit before it is built.
    #[arg(long, value_name = "FILE", help_heading = BENCHMARK, display_order = 900)]
    pub(crate) patch: Option<PathBuf>,
    /// The metric that decides; required if the benchmark reports several.
    #[arg(long, value_name = "NAME", help_heading = QUESTION)]
    pub(crate) chart: Option<String>,
    /// The smallest change worth finding, in the metric's unit or, with a % sign, in
    /// percent of the good end's median. A difference of means below a tenth of it
    /// counts as none.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, allow_negative_numbers = true, help_heading = QUESTION)]
    pub(crate) magnitude: Option<Magnitude>,
    /// The required probability of the answer, and the confidence of its intervals.
    #[arg(long, value_name = "P", default_value_t = 0.95, help_heading = QUESTION)]
    pub(crate) confidence: f64,
    /// A commit to skip because it can't be built or run; may be repeated.
    #[arg(long, value_name = "REV", help_heading = QUESTION)]
    pub(crate) skip: Vec<String>,
    /// Consider only commits that touch this path; may be repeated.
    #[arg(long, value_name = "PATH", help_heading = QUESTION)]
    pub(crate) path: Vec<String>,
    /// The maximum number of runs. When a budget is used up, the remaining range is
    /// reported.
    #[arg(long, value_name = "N", help_heading = BUDGET)]
    pub(crate) max_runs: Option<u64>,
    /// The maximum number of commits to build.
    #[arg(long, value_name = "N", help_heading = BUDGET)]
    pub(crate) max_builds: Option<u64>,
    /// The search strategy.
    #[arg(long, value_enum, default_value_t = StrategyArgument::DEFAULT, help_heading = STRATEGY)]
    pub(crate) strategy: StrategyArgument,
    /// The number of runs of each end before the first decision [default and minimum:
    /// 3 with the strategy `adaptive`, 10 with `pinpoint`; `pinpoint culprit` reuses
    /// the runs of its verification].
    #[arg(long, value_name = "N", help_heading = STRATEGY)]
    pub(crate) attempts: Option<u32>,
    /// The cost of a build, in runs: when builds are expensive, `adaptive` prefers
    /// more runs of existing builds.
    #[arg(long, value_name = "RUNS", default_value_t = 1.0, help_heading = STRATEGY)]
    pub(crate) build_cost: f64,
    /// A file of suspicions for the strategy `adaptive`: COMMIT WEIGHT on each line;
    /// all other commits weigh 1.
    #[arg(long, value_name = "FILE", help_heading = STRATEGY)]
    pub(crate) prior: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) job: JobOptions,
    #[command(flatten)]
    pub(crate) benchmark: Benchmark,
    /// The fast commit: a branch, a tag, a hash, HEAD~20.
    pub(crate) good: String,
    /// The slow commit.
    pub(crate) bad: String,
    /// The benchmark and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Compare two commits in pairs of runs, back to back.
///
/// Two runs right after each other are slowed down by the same disturbances, so that
/// small changes show, in every metric that the benchmark reports. Without EXPERIMENT
/// the base is compared with itself: with a patch, or with other arguments or
/// variables.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint pairwise main my-branch -- ./bench.sh
  pinpoint pairwise main --patch fix.diff --build 'make -j2' -- ./build/bench
  pinpoint pairwise v1.2 --experiment-arg=--threads=4 -- ./bench --json
  pinpoint pairwise main my-branch --chart latency --early-stop -- ./bench
  pinpoint pairwise --base-build ../old --experiment-build ../new -- ./bench

Exit codes: 0 the experiment is worse, or different where better is not known;
3 no difference, or only improvements; 4 not decided; others as in `pinpoint help`.")]
pub(crate) struct Pairwise {
    /// A patch to apply to the experiment before it is built.
    #[arg(long, value_name = "FILE", help_heading = BENCHMARK, display_order = 900)]
    pub(crate) patch: Option<PathBuf>,
    /// An argument of the benchmark at the base, after those of COMMAND; may be repeated.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true, help_heading = BENCHMARK, display_order = 901)]
    pub(crate) base_arg: Vec<String>,
    /// An argument of the benchmark at the experiment; may be repeated.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true, help_heading = BENCHMARK, display_order = 902)]
    pub(crate) experiment_arg: Vec<String>,
    /// A variable for the benchmark at the base, not for its build; may be repeated.
    /// Its value is a part of the question, and is shown with the answer: use --env
    /// for secrets.
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment, help_heading = BENCHMARK, display_order = 903)]
    pub(crate) base_env: Vec<(String, String)>,
    /// A variable for the benchmark at the experiment; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment, help_heading = BENCHMARK, display_order = 904)]
    pub(crate) experiment_env: Vec<(String, String)>,
    /// The directory of a finished build to run the benchmark in, instead of BASE. No
    /// git repository is needed then, and nothing is built. The path given by
    /// --results is removed there before each run.
    #[arg(
        long,
        value_name = "DIR",
        help_heading = BENCHMARK,
        display_order = 905,
        requires = "experiment_build",
        conflicts_with_all = ["base", "experiment", "patch", "build", "repo", "repository"]
    )]
    pub(crate) base_build: Option<PathBuf>,
    /// The directory of the build to compare with it, instead of EXPERIMENT; the same
    /// directory again shows the noise of the benchmark.
    #[arg(long, value_name = "DIR", requires = "base_build", help_heading = BENCHMARK, display_order = 906)]
    pub(crate) experiment_build: Option<PathBuf>,
    /// The only metric to compare [default: all that the benchmark reports].
    #[arg(long, value_name = "NAME", help_heading = QUESTION)]
    pub(crate) chart: Option<String>,
    /// The number of pairs of runs: even, and at least 6.
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = QUESTION)]
    pub(crate) pairs: u32,
    /// Stop as soon as a difference is certain. This raises the rate of false
    /// differences between equal commits from 5 % to 6 %.
    #[arg(long, help_heading = BUDGET)]
    pub(crate) early_stop: bool,
    #[command(flatten)]
    pub(crate) job: JobOptions,
    #[command(flatten)]
    pub(crate) benchmark: Benchmark,
    /// The baseline revision: a branch, a tag, a hash, HEAD~20.
    #[arg(required_unless_present = "base_build")]
    pub(crate) base: Option<String>,
    /// The revision to compare with it [default: the base].
    pub(crate) experiment: Option<String>,
    /// The benchmark and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

// Its help stands in `Command`: clap would take the text of `Bisect`.
#[derive(Debug, Args)]
pub(crate) struct Culprit {
    #[command(flatten)]
    pub(crate) bisect: Bisect,
    /// The number of pairs of runs in each verification: even, and at least 6.
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = QUESTION)]
    pub(crate) pairs: u32,
}

/// Compare the results of benchmarks, metric by metric.
///
/// A table shows each metric that both sides have: the medians, the change with its
/// interval, p, and the verdict. The values of several files on one side are pooled;
/// with --paired, the values of the first control belong to those of the first
/// treatment, and so on.
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
  pinpoint compare before.json after.json --chart 'sort/1000' --magnitude 2% --output json")]
pub(crate) struct Compare {
    /// The format of the files: auto, lines (`name: value unit`), json:POINTER,
    /// regex:PATTERN with a group named `value`, hyperfine, criterion, gbench,
    /// gobench, pytest-benchmark, jmh, catch2, chromium or talos.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: Format,
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
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, allow_negative_numbers = true, conflicts_with = "paired")]
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

/// List the commits between two commits, through merges and dependency rolls.
///
/// The commits of the branch come first. Between two neighbours on it lie the
/// commits of a merged branch, and then those of the dependencies that DEPS,
/// .gitmodules, Cargo.lock or go.mod rolled, one dependency after the other; the
/// commits of a dependency are expanded in the same way.
///
/// Exits with 3 when nothing lies between them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint midpoint v1.2 main
  pinpoint midpoint HEAD~1 HEAD --all
  pinpoint midpoint 'HEAD~1,third_party/skia@4c5b6a7' HEAD \\
      --repository https://skia.googlesource.com/skia=../skia")]
pub(crate) struct Midpoint {
    /// The repository, or any directory inside it.
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// A local clone of a dependency, by its URL; may be repeated. Submodules that are
    /// checked out are found without it.
    #[arg(long, value_name = "URL=DIR", value_parser = repository)]
    pub(crate) repository: Vec<(String, PathBuf)>,
    /// List all commits between the two, not only the one in the middle.
    #[arg(long)]
    pub(crate) all: bool,
    /// The older commit. Dependencies at other revisions follow after commas, each by
    /// its path or URL: COMMIT,DEPENDENCY@REVISION
    pub(crate) lower: StateArgument,
    /// The newer commit, in the same form.
    pub(crate) higher: StateArgument,
}

/// A commit, and dependencies at other revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateArgument {
    pub(crate) main: String,
    pub(crate) held: Vec<(String, String)>,
}

impl FromStr for StateArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let main = parts.next().unwrap_or_default().to_owned();
        // A URL may have an @ of its own, a revision has none.
        let held = parts
            .map(|part| match part.rsplit_once('@') {
                Some((dependency, revision)) if !dependency.is_empty() && !revision.is_empty() => {
                    Ok((dependency.to_owned(), revision.to_owned()))
                }
                _ => Err(format!("{part:?} is not DEPENDENCY@REVISION")),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { main, held })
    }
}

// The benchmark: how it is built and run, and how its results are read. (As
// documentation, clap would print this as what the command does.)
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
    /// criterion, gbench, gobench, pytest-benchmark, jmh, catch2, chromium or
    /// talos.
    #[arg(long, value_name = "FORMAT", default_value = "auto", help_heading = BENCHMARK)]
    pub(crate) format: Format,
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
    /// The time limit of one build or one run.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, help_heading = BUDGET)]
    pub(crate) timeout: Option<Duration>,
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
    /// The name of the benchmark in lists of jobs [default: the program that is run].
    #[arg(long = "benchmark", value_name = "NAME", help_heading = STORAGE)]
    pub(crate) benchmark_name: Option<String>,
    /// The name of this job in lists of jobs, beside its id.
    #[arg(long = "name", value_name = "NAME", help_heading = STORAGE)]
    pub(crate) job_name: Option<String>,
    /// Write a report when the job ends, even if it fails: one HTML file with the
    /// answer, charts, every run and its log. `pinpoint jobs report` writes one at any
    /// time.
    #[arg(long, value_name = "FILE.html", help_heading = OUTPUT)]
    pub(crate) report: Option<PathBuf>,
}

/// Estimate the cost and accuracy of a bisection before running it.
///
/// Thousands of bisections with a known culprit are simulated with the noise of the
/// benchmark, to find how many runs and builds they take and how often they name the
/// right commit.
///
/// The noise is given as a number (--noise), measured from the values of runs of one
/// commit (--values), or measured now from runs of the good end (a command after
/// `--`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint plan --commits 128 --noise 1.2 --magnitude 2
  pinpoint plan --commits 128 --noise 3% --run-time 5m --build-time 1h
  pinpoint plan v1.2 main --values times.txt --magnitude 5%
  pinpoint plan v1.2 main --build 'make -j2' --runs 20 -- ./build/bench")]
pub(crate) struct Plan {
    /// The number of runs of the good end, when a command is given.
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = BENCHMARK, display_order = 900)]
    pub(crate) runs: u32,
    /// The duration of a run, as in 90s or 5m [default: as measured].
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, help_heading = BENCHMARK, display_order = 901)]
    pub(crate) run_time: Option<Duration>,
    /// The duration of a build [default: as measured].
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, help_heading = BENCHMARK, display_order = 902)]
    pub(crate) build_time: Option<Duration>,
    /// The metric whose noise counts; required if the benchmark reports several.
    #[arg(long, value_name = "NAME", help_heading = QUESTION)]
    pub(crate) chart: Option<String>,
    /// The number of commits that may be the culprit; instead of two ends.
    #[arg(
        long,
        value_name = "N",
        help_heading = QUESTION,
        conflicts_with = "good",
        required_unless_present = "good"
    )]
    pub(crate) commits: Option<u64>,
    /// The noise of the benchmark: the interquartile range of runs of one commit, in
    /// the metric's unit or, with a % sign, in percent of their median.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, conflicts_with_all = ["values", "command"], help_heading = QUESTION)]
    pub(crate) noise: Option<Magnitude>,
    /// A file with the values of runs of one commit, one on each line; - is
    /// standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "command", help_heading = QUESTION)]
    pub(crate) values: Option<PathBuf>,
    /// The change to find, in the metric's unit or, with a % sign, in percent of the
    /// median [default: several sizes are tried].
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, help_heading = QUESTION)]
    pub(crate) magnitude: Option<Magnitude>,
    /// Where better lies: the change that is looked for goes the other way
    /// [default: down for times and memory, else unknown].
    #[arg(long, value_enum, help_heading = QUESTION)]
    pub(crate) direction: Option<DirectionArgument>,
    /// The required probability of the answer.
    #[arg(long, value_name = "P", default_value_t = 0.95, help_heading = QUESTION)]
    pub(crate) confidence: f64,
    /// Consider only commits that touch this path; may be repeated.
    #[arg(long, value_name = "PATH", requires = "good", help_heading = QUESTION)]
    pub(crate) path: Vec<String>,
    /// The maximum number of runs of the bisection.
    #[arg(long, value_name = "N", help_heading = BUDGET)]
    pub(crate) max_runs: Option<u64>,
    /// The maximum number of commits to build.
    #[arg(long, value_name = "N", help_heading = BUDGET)]
    pub(crate) max_builds: Option<u64>,
    /// The search strategy.
    #[arg(long, value_enum, default_value_t = StrategyArgument::DEFAULT, help_heading = STRATEGY)]
    pub(crate) strategy: StrategyArgument,
    /// The number of runs of each end before the first decision [default and minimum:
    /// 3 with the strategy `adaptive`, 10 with `pinpoint`].
    #[arg(long, value_name = "N", help_heading = STRATEGY)]
    pub(crate) attempts: Option<u32>,
    /// The cost of a build, in runs.
    #[arg(long, value_name = "RUNS", default_value_t = 1.0, help_heading = STRATEGY)]
    pub(crate) build_cost: f64,
    /// A file of suspicions, as for `bisect`: the simulated culprits are drawn with
    /// these weights.
    #[arg(long, value_name = "FILE", requires = "good", help_heading = STRATEGY)]
    pub(crate) prior: Option<PathBuf>,
    /// The seed of the first simulated search; the next one has the next seed.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = STRATEGY)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) benchmark: Benchmark,
    /// The fast commit: a branch, a tag, a hash, HEAD~20.
    #[arg(requires = "bad")]
    pub(crate) good: Option<String>,
    /// The slow commit.
    pub(crate) bad: Option<String>,
    /// The benchmark and its arguments.
    #[arg(last = true, value_name = "COMMAND", requires = "good")]
    pub(crate) command: Vec<String>,
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
pub(crate) enum StrategyArgument {
    /// Keeps a probability for every commit, and makes the most informative run next.
    Adaptive,
    /// As Chromium's Pinpoint: pairwise comparisons with 10 to 160 runs each.
    Pinpoint,
}

impl StrategyArgument {
    /// The default of a bisection, and so of a plan.
    const DEFAULT: Self = Self::Adaptive;
}

impl From<StrategyArgument> for Strategy {
    fn from(argument: StrategyArgument) -> Self {
        match argument {
            StrategyArgument::Adaptive => Self::Adaptive,
            StrategyArgument::Pinpoint => Self::Pinpoint,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// List jobs, the newest first.
    #[command(after_help = "\
Examples:
  pinpoint jobs list --benchmark bench.sh --since 7d --state failed
  pinpoint jobs list --text 'sort v1*' --user ada
  pinpoint jobs list --since 2026-01-01 --until 2026-02-01 --count")]
    List {
        #[command(flatten)]
        select: Select,
        /// The maximum number of jobs to list.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// List the jobs after this one, which are older; takes a complete job id.
        #[arg(long, value_name = "JOB", value_parser = JobId::parse, conflicts_with = "before")]
        after: Option<JobId>,
        /// List the jobs right before this one, which are newer.
        #[arg(long, value_name = "JOB", value_parser = JobId::parse)]
        before: Option<JobId>,
        /// Print the number of jobs, exact up to 10,000.
        #[arg(long, conflicts_with_all = ["limit", "after", "before"])]
        count: bool,
    },
    /// Write jobs as JSON Lines, with everything that the store keeps: also the values
    /// of --env.
    Export {
        #[command(flatten)]
        select: Select,
        /// The file to write [default: standard output].
        file: Option<PathBuf>,
    },
    /// Read exported jobs; jobs that the store already has are left alone.
    Import {
        /// The file, or - for standard input.
        file: PathBuf,
    },
    /// Permanently delete old jobs, except those that a process holds or held until less
    /// than a day ago.
    Purge {
        /// Delete jobs created longer ago than this.
        #[arg(long, value_name = "DURATION", default_value = "1095d", value_parser = humantime::parse_duration)]
        older_than: Duration,
    },
    /// Show a job and its result.
    Show {
        /// The job id, or its beginning.
        job: String,
    },
    /// Resume a job that was interrupted, killed, canceled or failed.
    Resume {
        /// The job id, or its beginning.
        job: String,
        /// The file to write a report to when the job ends [default: the one given when
        /// the job was created, if any].
        #[arg(long, value_name = "FILE.html")]
        report: Option<PathBuf>,
        /// Run what an imported job runs, without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Write the report on a job as it is now, finished or not.
    ///
    /// The report is one HTML file that needs nothing else: the answer, charts,
    /// every run and the end of its output, the machine and the command.
    Report {
        /// The job id, or its beginning.
        job: String,
        /// The file to write [default: pinpoint-JOB.html].
        #[arg(value_name = "FILE.html")]
        file: Option<PathBuf>,
    },
    /// Cancel a job, running or not.
    Cancel {
        /// The job id, or its beginning.
        job: String,
    },
}

// The jobs that fit all of this.
#[derive(Debug, Args)]
pub(crate) struct Select {
    /// Jobs of this benchmark.
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// Jobs created with this --name.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Jobs of this bot, which is the name of the machine.
    #[arg(long, value_name = "NAME")]
    bot: Option<String>,
    /// Jobs of this user.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Jobs of this kind: bisection, pairwise, culprit_finder.
    #[arg(long, value_name = "KIND", value_parser = ["bisection", "pairwise", "culprit_finder"])]
    kind: Option<String>,
    /// Jobs in this state: pending, running, completed, failed, canceled.
    #[arg(long)]
    state: Option<pinpoint_core::JobState>,
    /// Jobs created at this time or later: a time ago as in 7d or 12h, a day as in
    /// 2026-01-31, or a time as in 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<i64>,
    /// Jobs created before this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<i64>,
    /// Jobs with all of these words in their command line, names, repository or
    /// error; a word that ends with * is a prefix.
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
}

impl From<Select> for JobFilter {
    fn from(select: Select) -> Self {
        Self {
            name: select.name,
            benchmark: select.benchmark,
            bot: select.bot,
            user: select.user,
            kind: select.kind,
            state: select.state,
            since: select.since,
            until: select.until,
            text: select.text,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Bots {
    #[command(subcommand)]
    pub(crate) command: BotsCommand,
    /// A file of bot configurations, TOML or (named *.json) JSON, instead of the
    /// built-in ones; may be repeated.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BotsCommand {
    /// List bots and their aliases, sorted by name.
    List,
    /// Show the configuration of a bot and its benchmarks.
    Show {
        /// The bot, or an alias.
        bot: String,
    },
    /// Print the target that is built for a benchmark on a bot.
    Target {
        /// The bot, or an alias.
        bot: String,
        /// The benchmark.
        benchmark: String,
    },
}

/// Bisect a sample repository.
///
/// Creates a small git repository with a real program, in which one commit makes the
/// program slower, and finds that commit with `pinpoint bisect`. Takes less than two
/// minutes.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The seed of the place of the slowdown, and of the order of runs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write a report on the job: one HTML file with the answer, charts, every run
    /// and its log.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Create the repository in this new directory, and keep it.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Clean {
    /// The disk space to leave to the most recently used builds, as in 500MB or 20GiB.
    #[arg(long, value_name = "SIZE", default_value = "0B", help_heading = STORAGE)]
    pub(crate) cache_size: ByteSize,
}

fn magnitude(text: &str) -> Result<Magnitude, String> {
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

/// A URL and the directory of a clone. A URL may have a query; few directories have a
/// `=` in their names.
fn repository(text: &str) -> Result<(String, PathBuf), String> {
    match text.rsplit_once('=') {
        Some((url, directory)) if !url.is_empty() && !directory.is_empty() => {
            Ok((url.to_owned(), directory.into()))
        }
        _ => Err("URL=DIR is needed".to_owned()),
    }
}

/// A moment in milliseconds since 1970.
fn moment(text: &str) -> Result<i64, String> {
    let day = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z"));
    let then = match humantime::parse_duration(text) {
        Ok(ago) => SystemTime::now().checked_sub(ago),
        Err(_) => (humantime::parse_rfc3339_weak(text).or_else(|_| day())).ok(),
    };
    then.and_then(|then| then.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .ok_or_else(|| {
            "a time ago is needed, as in 7d, or a time since 1970, as in 2026-01-31 or \
             2026-01-31T12:00:00Z"
                .to_owned()
        })
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

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("NAME=VALUE is needed".to_owned()),
    }
}

/// Whether these words ask for JSON. They could not be read as a whole, so that only
/// the option itself is looked for.
pub(crate) fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    let is_pair = |pair: &[OsString]| pair[0] == "--output" && pair[1] == "json";
    words.iter().any(|word| word == "--output=json") || words.windows(2).any(is_pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_state_is_a_commit_with_dependencies_after_commas() {
        let parsed: StateArgument = "HEAD~1,skia@4c5b,git@host:v8.git@refs/tags/1"
            .parse()
            .expect("well-formed");
        assert_eq!(parsed.main, "HEAD~1");
        let held = |name: &str, revision: &str| (name.to_owned(), revision.to_owned());
        assert_eq!(
            parsed.held,
            [held("skia", "4c5b"), held("git@host:v8.git", "refs/tags/1")]
        );
        for wrong in ["HEAD,skia", "HEAD,skia@", "HEAD,@1", "HEAD,"] {
            assert!(wrong.parse::<StateArgument>().is_err(), "{wrong}");
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
    fn options_stand_in_groups_and_those_of_all_commands_last() {
        let mut command = Arguments::command();
        command.build();
        for name in ["bisect", "pairwise", "culprit", "plan"] {
            let command = command.find_subcommand_mut(name).expect("it is a command");
            let help = command.render_long_help().to_string();
            let place = |heading: &str| {
                let found = help.find(&format!("\n{heading}:\n"));
                found.unwrap_or_else(|| panic!("{name} has no {heading}"))
            };
            let places = [BENCHMARK, QUESTION, BUDGET, STRATEGY, STORAGE, OUTPUT].map(place);
            assert!(places.is_sorted(), "{name}: {places:?}");
            let general = &help[place("Options")..places[0]];
            assert_eq!(
                general.matches("\n  -").count(),
                1,
                "only --help\n{general}"
            );
        }
    }

    #[test]
    fn json_is_asked_for_before_the_command() {
        let asks = |words: &[&str]| asks_for_json(words.iter().map(OsString::from));
        assert!(asks(&["bisect", "--output", "json", "--wrong"]));
        assert!(asks(&["jobs", "--output=json"]));
        assert!(!asks(&["bisect", "--output", "text", "json"]));
        assert!(!asks(&["bisect", "a", "b", "--", "x", "--output=json"]));
    }

    #[test]
    fn a_moment_is_ago_or_a_day_or_a_time() {
        assert_eq!(moment("1970-01-02"), Ok(86_400_000));
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(1000));
        let (longer, shorter) = (moment("2d"), moment("1h 30m"));
        assert!(longer.is_ok() && longer < shorter);
        for wrong in [
            "",
            "yesterday",
            "1969-12-31",
            "2026-02-30",
            "9999999999y",
            "7",
        ] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_magnitude_is_a_number_or_a_percentage() {
        assert_eq!(magnitude("5%"), Ok(Magnitude::Percent(5.0)));
        assert_eq!(magnitude("-0.5"), Ok(Magnitude::Absolute(-0.5)));
        for wrong in ["", "%", "five", "nan", "inf", "5%%", "1e999"] {
            assert!(magnitude(wrong).is_err(), "{wrong}");
        }
    }
}

//! What can be said on the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytesize::ByteSize;
use clap::{Args, Parser, Subcommand, ValueEnum};
use pinpoint_backends::store::{JobFilter, JobId};
use pinpoint_core::results::{Aggregate, Format};
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
    /// Compare the results of benchmarks, chart by chart.
    Compare(Box<Compare>),
    /// Show what lies between two commits, through merges and rolled dependencies.
    Midpoint(Midpoint),
    /// Tell what a bisection would cost and how sure it would be, before it is run.
    Plan(Box<Plan>),
    /// Look at jobs, and take them up again or end them.
    #[command(subcommand)]
    Jobs(Jobs),
    /// Look at the bots on which benchmarks are run.
    Bots(Bots),
    /// Bisect a sample repository, made for the purpose.
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
    /// The form of the result on standard output.
    #[arg(long, global = true, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Show no progress, only the result.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Where jobs, builds and work trees are kept [default: $XDG_STATE_HOME/pinpoint].
    #[arg(long, global = true, value_name = "DIR", env = "PINPOINT_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// A PostgreSQL database to keep jobs in, as postgres://USER@HOST/DATABASE, shared by
    /// many machines [default: a file in the state directory]. Every user of this machine
    /// can see a password in it: give the URL in PINPOINT_STORE, or the password in
    /// PGPASSWORD or in the file ~/.pgpass or PGPASSFILE. Tables are made in a schema
    /// named pinpoint.
    #[arg(
        long,
        global = true,
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
    /// On a terminal.
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
/// from what it prints (see --format), or its wall-clock time is taken.
///
/// The command finds in its environment: PINPOINT_COMMIT, the commit;
/// PINPOINT_RUN, how many runs of this commit came before; PINPOINT_WARMUP=1
/// in runs that are not counted; PINPOINT_JOB, the job.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint bisect v1.2 main -- ./bench.sh
  pinpoint bisect v1.2 main --build 'make -j2' --magnitude 5% -- ./build/bench
  pinpoint bisect v1.2 main --format json:/results/0/mean -- ./bench --json
  pinpoint bisect v1.2 main --format 'regex:took (?<value>[0-9.]+) (?<unit>ms)' -- ./bench
  pinpoint bisect v1.2 main --format time --chart peak_memory -- ./bench")]
pub(crate) struct Bisect {
    #[command(flatten)]
    pub(crate) benchmark: Benchmark,
    #[command(flatten)]
    pub(crate) job: JobOptions,
    /// The metric that decides; needed when the benchmark gives several.
    #[arg(long, value_name = "NAME")]
    pub(crate) chart: Option<String>,
    /// The smallest change worth finding, in the metric's unit or, with a %
    /// sign, in percent of the good end's median. Differences of means below a
    /// tenth of it count as none.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, allow_negative_numbers = true)]
    pub(crate) magnitude: Option<Magnitude>,
    /// How to search.
    #[arg(long, value_enum, default_value_t = StrategyArgument::DEFAULT)]
    pub(crate) strategy: StrategyArgument,
    /// How sure the answer is to be, and the confidence of its intervals.
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub(crate) confidence: f64,
    /// Runs of each end before anything is decided [default, and least: 3 with the
    /// strategy `adaptive`, 10 with `pinpoint`; `pinpoint culprit` has those of
    /// the verification].
    #[arg(long, value_name = "N")]
    pub(crate) attempts: Option<u32>,
    /// What a build costs, in runs: with dear builds the strategy `adaptive`
    /// stays longer with those it has.
    #[arg(long, value_name = "RUNS", default_value_t = 1.0)]
    pub(crate) build_cost: f64,
    /// A file that says how suspicious commits are, for the strategy `adaptive`:
    /// COMMIT WEIGHT on each line; all others weigh 1.
    #[arg(long, value_name = "FILE")]
    pub(crate) prior: Option<PathBuf>,
    /// The most runs to make; at the end of a budget the range that remains is reported.
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<u64>,
    /// The most commits to build.
    #[arg(long, value_name = "N")]
    pub(crate) max_builds: Option<u64>,
    /// A commit that can't be built or run; may be repeated.
    #[arg(long, value_name = "REV")]
    pub(crate) skip: Vec<String>,
    /// Consider only commits that touch this path; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Vec<String>,
    /// A patch laid on top of every commit before it is built.
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// The commit that is fast: a branch, a tag, a hash, HEAD~20.
    pub(crate) good: String,
    /// The commit that is slow.
    pub(crate) bad: String,
    /// The benchmark and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Compare two commits in pairs of runs, back to back.
///
/// Two runs right after each other share whatever slows the machine down for a
/// while, so that small changes can be seen: of every metric the benchmark gives.
/// Without EXPERIMENT, the base is compared with itself: with a patch on top, or
/// with other arguments or variables.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint pairwise main my-branch -- ./bench.sh
  pinpoint pairwise main --patch fix.diff --build 'make -j2' -- ./build/bench
  pinpoint pairwise v1.2 --experiment-arg=--threads=4 -- ./bench --json
  pinpoint pairwise main my-branch --chart latency --early-stop -- ./bench
  pinpoint pairwise --base-build ../old --experiment-build ../new -- ./bench

Exit codes: 0 the experiment is worse, or different where better is not known;
3 no difference, or for the better only; 4 not decided; others as in `pinpoint help`.")]
pub(crate) struct Pairwise {
    #[command(flatten)]
    pub(crate) benchmark: Benchmark,
    #[command(flatten)]
    pub(crate) job: JobOptions,
    /// The only metric to compare [default: all that the benchmark gives].
    #[arg(long, value_name = "NAME")]
    pub(crate) chart: Option<String>,
    /// Pairs of runs: an even number of at least 6.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) pairs: u32,
    /// End as soon as a difference is certain; equal commits are called
    /// different in 6 % of all cases then, instead of 5 %.
    #[arg(long)]
    pub(crate) early_stop: bool,
    /// A patch laid on top of the experiment before it is built.
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// An argument of the benchmark at the base, behind those of COMMAND; may be repeated.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(crate) base_arg: Vec<String>,
    /// An argument of the benchmark at the experiment; may be repeated.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(crate) experiment_arg: Vec<String>,
    /// A variable for the benchmark at the base, not for its build; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) base_env: Vec<(String, String)>,
    /// A variable for the benchmark at the experiment; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) experiment_env: Vec<(String, String)>,
    /// A build made already, in whose directory the benchmark runs, in place of
    /// BASE. No git repository is needed then, and nothing is built. What --results
    /// names is removed there before each run.
    #[arg(
        long,
        value_name = "DIR",
        requires = "experiment_build",
        conflicts_with_all = ["base", "experiment", "patch", "build", "repo", "repository"]
    )]
    pub(crate) base_build: Option<PathBuf>,
    /// The build to be judged, in place of EXPERIMENT; the same directory again
    /// shows how much the benchmark scatters.
    #[arg(long, value_name = "DIR", requires = "base_build")]
    pub(crate) experiment_build: Option<PathBuf>,
    /// What is known: a branch, a tag, a hash, HEAD~20.
    #[arg(required_unless_present = "base_build")]
    pub(crate) base: Option<String>,
    /// What is to be judged [default: the base].
    pub(crate) experiment: Option<String>,
    /// The benchmark and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

// What it says of itself stands in `Command`: clap would take the text of `Bisect`.
#[derive(Debug, Args)]
pub(crate) struct Culprit {
    #[command(flatten)]
    pub(crate) bisect: Bisect,
    /// Pairs of runs of each verification: an even number of at least 6.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) pairs: u32,
}

/// Compare the results of benchmarks, chart by chart.
///
/// A table shows each chart that both sides have: the medians, the change with its
/// interval, p, and the verdict. With several files on a side their values are put
/// together; with --paired, the values of the first control belong to those of the
/// first treatment, and so on.
///
/// With several charts p is adjusted for their number (Benjamini and Hochberg), and
/// decides so: of what is called different, 5 % are expected to be so by chance. A
/// chart that differs at p <= 0.05 alone, but not among so many, is not decided.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint compare before.json after.json
  pinpoint compare target/criterion-before target/criterion
  pinpoint compare a1.txt b1.txt --control a2.txt --treatment b2.txt --paired --aggregate median
  pinpoint compare before.json after.json --chart 'sort/1000' --magnitude 2% --output json")]
pub(crate) struct Compare {
    /// How the files are read: auto, lines (`name: value unit`), json:POINTER,
    /// regex:PATTERN with a group named `value`, hyperfine, criterion, gbench,
    /// gobench, pytest-benchmark, jmh, catch2, chromium or talos.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: Format,
    /// Compare only this chart; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) chart: Vec<String>,
    /// Make one value of all that a file has of a chart, as in `bisect`
    /// [default: every value counts].
    #[arg(long, value_name = "METHOD")]
    pub(crate) aggregate: Option<Aggregate>,
    /// Where better lies [default: as the format says; else down for times and memory, else unknown].
    #[arg(long, value_enum)]
    pub(crate) direction: Option<DirectionArgument>,
    /// The smallest change worth finding, in the unit of the charts or, with a %
    /// sign, in percent of the control's median. Differences of means below a
    /// tenth of it count as none.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, allow_negative_numbers = true, conflicts_with = "paired")]
    pub(crate) magnitude: Option<Magnitude>,
    /// The confidence of the intervals; that of pairs is 0.95.
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.95,
        conflicts_with = "paired"
    )]
    pub(crate) confidence: f64,
    /// Compare pair by pair: a control and its treatment, in their order.
    #[arg(long)]
    pub(crate) paired: bool,
    /// A further control; may be repeated.
    #[arg(long = "control", id = "more_control", value_name = "FILE")]
    pub(crate) more_control: Vec<PathBuf>,
    /// A further treatment; may be repeated.
    #[arg(long = "treatment", id = "more_treatment", value_name = "FILE")]
    pub(crate) more_treatment: Vec<PathBuf>,
    /// The results before: a file, or a folder of Criterion's.
    #[arg(value_name = "CONTROL FILE")]
    pub(crate) control: PathBuf,
    /// The results after.
    #[arg(value_name = "TREATMENT FILE")]
    pub(crate) treatment: PathBuf,
}

/// Show what lies between two commits, through merges and rolled dependencies.
///
/// First come the commits of the branch. Between neighbours on it lie the
/// commits of a merged branch, and then those of the dependencies that DEPS,
/// .gitmodules, Cargo.lock or go.mod rolled, one dependency after the other;
/// between neighbours there, the same again inside the dependency.
///
/// Exits with 3 when nothing lies between.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint midpoint v1.2 main
  pinpoint midpoint HEAD~1 HEAD --all
  pinpoint midpoint 'HEAD~1,third_party/skia@4c5b6a7' HEAD \\
      --repository https://skia.googlesource.com/skia=../skia")]
pub(crate) struct Midpoint {
    /// The repository, or any directory in it.
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Where a dependency's repository is on this machine; may be repeated.
    /// Submodules that are checked out are found without.
    #[arg(long, value_name = "URL=DIR", value_parser = repository)]
    pub(crate) repository: Vec<(String, PathBuf)>,
    /// List everything that lies between.
    #[arg(long)]
    pub(crate) all: bool,
    /// The older commit, and behind commas the dependencies to hold at other
    /// revisions, each by its path or URL: COMMIT,DEPENDENCY@REVISION
    pub(crate) lower: StateArgument,
    /// The newer commit, in the same way.
    pub(crate) higher: StateArgument,
}

/// A commit, and dependencies to hold at other revisions.
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
    /// The repository, or any directory in it.
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// A local clone of another repository, by its URL; may be repeated.
    ///
    /// Dependencies that submodules or DEPS name by this URL are checked out
    /// from it, as each commit names them, before the commit is built; and when
    /// a culprit rolls one, its commits are searched as well. Submodules that
    /// are checked out are found without. Nothing is ever fetched.
    #[arg(long, value_name = "URL=DIR", value_parser = repository)]
    pub(crate) repository: Vec<(String, PathBuf)>,
    /// Run once for each commit, in its own work tree, before it is measured.
    #[arg(long, value_name = "SHELL COMMAND")]
    pub(crate) build: Option<String>,
    /// How results are read: auto, time, lines (`name: value unit`),
    /// json:POINTER, regex:PATTERN with a group named `value`, hyperfine,
    /// criterion, gbench, gobench, pytest-benchmark, jmh, catch2, chromium or
    /// talos.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: Format,
    /// A file (or a folder of Criterion's) the benchmark writes its results to, in the work tree
    /// [default: its standard output].
    #[arg(long, value_name = "PATH")]
    pub(crate) results: Option<PathBuf>,
    /// How several values of one run become one: sum, mean, min, max, count,
    /// std, median, geometric-mean, or Talos' talos-geometric-mean, dromaeo, v8,
    /// canvasmark and js; behind `ignore-first:N,` without the first N
    /// [default: median].
    #[arg(long, value_name = "METHOD")]
    pub(crate) aggregate: Option<Aggregate>,
    /// Runs of each build that are made first and not counted.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) warmup: u32,
    /// A variable for the build and the benchmark; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// The longest that one build or one run may take.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// How much room finished builds may take, as in 500MB or 20GiB.
    #[arg(long, value_name = "SIZE", default_value = "10GiB")]
    pub(crate) cache_size: ByteSize,
}

// How a job goes about it, of whatever kind it is.
#[derive(Debug, Args)]
pub(crate) struct JobOptions {
    /// What the benchmark is called in lists of jobs [default: the program that is run].
    #[arg(long = "benchmark", value_name = "NAME")]
    pub(crate) benchmark_name: Option<String>,
    /// What this job is called in lists of jobs, beside its own name.
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) job_name: Option<String>,
    /// Where better lies [default: as the format says; else down for times and memory, else unknown].
    #[arg(long, value_enum)]
    pub(crate) direction: Option<DirectionArgument>,
    /// Decides the order of runs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// The longest the job may take, as in 90s, 20m or `1h 30m`.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) max_time: Option<Duration>,
    /// Builds at the same time. Nothing is measured while anything is built.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) build_jobs: u32,
    /// Write a report when the job ends, however it does: one HTML file with the
    /// answer, charts, every run and its log. `pinpoint jobs report` makes one at
    /// any time.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
}

/// Tell what a bisection would cost and how sure it would be, before it is run.
///
/// Bisections with a known culprit are simulated, thousands of them, with the
/// noise of the benchmark: how many runs and builds they take, and how often
/// they name the right commit.
///
/// The noise comes from numbers that you give (--noise), from a few runs of one
/// commit that you have made (--values), or from runs of the good end that are
/// made now (a command after `--`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint plan --commits 128 --noise 1.2 --magnitude 2
  pinpoint plan --commits 128 --noise 3% --run-time 5m --build-time 1h
  pinpoint plan v1.2 main --values times.txt --magnitude 5%
  pinpoint plan v1.2 main --build 'make -j2' --runs 20 -- ./build/bench")]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) benchmark: Benchmark,
    /// The metric whose noise counts; needed when the benchmark gives several.
    #[arg(long, value_name = "NAME")]
    pub(crate) chart: Option<String>,
    /// So many commits, any of which may be the culprit; instead of two ends.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "good",
        required_unless_present = "good"
    )]
    pub(crate) commits: Option<u64>,
    /// How much runs of one commit scatter: the interquartile range of their
    /// values, in the metric's unit or, with a % sign, in percent of their
    /// median.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, conflicts_with_all = ["values", "command"])]
    pub(crate) noise: Option<Magnitude>,
    /// A file with the values of runs of one commit, one on each line; - is
    /// standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) values: Option<PathBuf>,
    /// How often to run the good end, when a command is given.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) runs: u32,
    /// The change to be found, in the metric's unit or, with a % sign, in percent
    /// of the median [default: several sizes are tried].
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude)]
    pub(crate) magnitude: Option<Magnitude>,
    /// How to search.
    #[arg(long, value_enum, default_value_t = StrategyArgument::DEFAULT)]
    pub(crate) strategy: StrategyArgument,
    /// How sure the answer is to be.
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub(crate) confidence: f64,
    /// Runs of each end before anything is decided [default, and least: 3 with the
    /// strategy `adaptive`, 10 with `pinpoint`].
    #[arg(long, value_name = "N")]
    pub(crate) attempts: Option<u32>,
    /// The first simulated search has this seed, the next one the next.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// The most runs that the bisection may make.
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<u64>,
    /// The most commits that it may build.
    #[arg(long, value_name = "N")]
    pub(crate) max_builds: Option<u64>,
    /// What a build costs, in runs.
    #[arg(long, value_name = "RUNS", default_value_t = 1.0)]
    pub(crate) build_cost: f64,
    /// How long a run takes, as in 90s or 5m [default: as measured].
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) run_time: Option<Duration>,
    /// How long a build takes [default: as measured].
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) build_time: Option<Duration>,
    /// Consider only commits that touch this path; may be repeated.
    #[arg(long, value_name = "PATH", requires = "good")]
    pub(crate) path: Vec<String>,
    /// The commit that is fast: a branch, a tag, a hash, HEAD~20.
    #[arg(requires = "bad")]
    pub(crate) good: Option<String>,
    /// The commit that is slow.
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
    /// Keeps a probability for every commit, and runs what tells most.
    Adaptive,
    /// As Chromium's Pinpoint: pairwise comparisons with 10 to 160 runs each.
    Pinpoint,
}

impl StrategyArgument {
    /// What a bisection uses, and so what is planned.
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
        /// The most jobs to list.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Go on behind this job, to older ones; it takes the whole name.
        #[arg(long, value_name = "JOB", value_parser = JobId::parse, conflicts_with = "before")]
        after: Option<JobId>,
        /// The jobs right before this one, newer ones.
        #[arg(long, value_name = "JOB", value_parser = JobId::parse)]
        before: Option<JobId>,
        /// Tell how many they are, exactly up to 10,000.
        #[arg(long, conflicts_with_all = ["limit", "after", "before"])]
        count: bool,
    },
    /// Write jobs as JSON Lines, with all that the store keeps of them.
    Export {
        #[command(flatten)]
        select: Select,
        /// The file to write [default: standard output].
        file: Option<PathBuf>,
    },
    /// Read jobs that were exported; those that are there already are left alone.
    Import {
        /// The file, or - for standard input.
        file: PathBuf,
    },
    /// Permanently delete old jobs, except those that a process holds or held until less
    /// than a day ago.
    Purge {
        /// Remove jobs created longer ago than this.
        #[arg(long, value_name = "DURATION", default_value = "1095d", value_parser = humantime::parse_duration)]
        older_than: Duration,
    },
    /// Show a job and its result.
    Show {
        /// The job, or the beginning of its name.
        job: String,
    },
    /// Go on with a job that was interrupted, killed, canceled or failed.
    Resume {
        /// The job, or the beginning of its name.
        job: String,
        /// Where to write the report when the job ends [default: where it was told
        /// when it was begun, if it was].
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
        /// The job, or the beginning of its name.
        job: String,
        /// The file to write [default: pinpoint-JOB.html].
        #[arg(value_name = "FILE.html")]
        file: Option<PathBuf>,
    },
    /// End a job, running or not.
    Cancel {
        /// The job, or the beginning of its name.
        job: String,
    },
}

// Which jobs are meant: those of whom all of this is true.
#[derive(Debug, Args)]
pub(crate) struct Select {
    /// Jobs of this benchmark.
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// Jobs that were called so with --name.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Jobs of this bot: the name of the machine.
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
    /// Jobs created then or later: a time ago as in 7d or 12h, a day as in
    /// 2026-01-31, or a time as in 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<i64>,
    /// Jobs created before that.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<i64>,
    /// Jobs with all of these words in their command line, names, repository or
    /// error; a * behind a word makes it the beginning of one.
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
    /// A file of bot configurations, TOML or (named *.json) JSON, in place of the
    /// built-in ones; may be repeated, and adds up.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BotsCommand {
    /// List bots and their aliases, by name.
    List,
    /// Show how a bot is configured, and which benchmarks it runs.
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

/// Bisect a sample repository, made for the purpose.
///
/// A small git repository with a real program is made, in which one commit
/// makes the program slower; then that commit is looked for, as
/// `pinpoint bisect` does it. Takes less than two minutes.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Decides where the slowdown is, and the order of runs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write a report on the job: one HTML file with the answer, charts, every run
    /// and its log.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Make the repository here and leave it; this must not exist yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Clean {
    /// Leave this much of the builds used last, as in 500MB or 20GiB.
    #[arg(long, value_name = "SIZE", default_value = "0B")]
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

/// A URL and the directory where a clone is. A URL may have a query; few
/// directories have a `=` in their names.
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

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("NAME=VALUE is needed".to_owned()),
    }
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
    fn a_state_is_a_commit_with_dependencies_behind_commas() {
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

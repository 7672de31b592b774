//! `pinpoint bisect` and `pinpoint culprit`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pinpoint_core::{
    BisectionSpec, CULPRIT_FINDER_SPEC_VERSION, CulpritFinderSpec, JobSpec, Magnitude, Range,
    Strategy,
};

use super::explain::ProfilerParser;
use super::values::magnitude;
use super::{
    BENCHMARK, BUDGET, Benchmark, Callback, JobOptions, LUCI, OUTPUT, ProfilerArgument, QUESTION,
    STRATEGY, WriteBackArgument,
};

/// Find the commit between a good and a bad one that changed a benchmark.
///
/// The command after `--` is the benchmark. It runs in a work tree of the
/// commit under test; your own checkout is never touched. Its values are read
/// from its output (see --format); if there are none, its wall-clock time counts, or
/// another --measure.
///
/// Environment of the command: PINPOINT_COMMIT, the commit; PINPOINT_RUN, the
/// number of earlier runs of this commit, and 0 in the run that finds the metric;
/// PINPOINT_WARMUP=1 in warm-up runs; PINPOINT_JOB, the job.
///
/// A run that exits with 125 says that its commit can't be tested, which is skipped at once, as
/// by `git bisect run`. Any other code but 0 is a failed run: a commit that makes the benchmark
/// fail is found as well.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint bisect v1.2 main -- ./bench.sh
  pinpoint bisect v1.2 main --build 'make -j2' --magnitude 5% -- ./build/bench
  pinpoint bisect v1.2 main --format json:/results/0/mean -- ./bench --json
  pinpoint bisect v1.2 main --format 'regex:took (?<value>[0-9.]+) (?<unit>ms)' -- ./bench
  pinpoint bisect v1.2 main --measure instructions --magnitude 2% -- ./bench")]
pub(crate) struct Bisect {
    /// A patch to apply to every commit before it is built; with --executor, the address of
    /// a patch set at Gerrit.
    #[arg(long, value_name = "FILE", help_heading = BENCHMARK, display_order = 900)]
    pub(crate) patch: Option<PathBuf>,
    /// The metric that decides; required if the benchmark reports several.
    #[arg(long, value_name = "NAME", help_heading = QUESTION)]
    pub(crate) chart: Option<String>,
    /// The smallest change worth finding, in the metric's unit or, with a % sign, in
    /// percent of the good end's median. A difference of means below a tenth of it
    /// counts as none.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, allow_hyphen_values = true, help_heading = QUESTION)]
    pub(crate) magnitude: Option<Magnitude>,
    /// The required probability that the answer is right, and the confidence of its intervals.
    #[arg(long, value_name = "P", default_value_t = 0.95, help_heading = QUESTION)]
    pub(crate) confidence: f64,
    /// A commit to skip because it can't be built or run; may be repeated.
    #[arg(long, value_name = "REV", help_heading = QUESTION, conflicts_with = "executor")]
    pub(crate) skip: Vec<String>,
    /// Consider only commits that touch this path; may be repeated.
    #[arg(long, value_name = "PATH", help_heading = QUESTION, conflicts_with = "executor")]
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
    /// The suspicion of each commit before the first run, for the strategy `adaptive`: `changes`
    /// suspects commits that touch only documents, tests or CI less than those that touch code;
    /// with `none` all are alike; a file has COMMIT WEIGHT on each line, and all other commits
    /// weigh 1.
    #[arg(
        long,
        value_name = "changes|none|FILE",
        default_value = "changes",
        help_heading = STRATEGY,
        conflicts_with = "executor"
    )]
    pub(crate) prior: PriorArgument,
    /// Trace with `strace` what the build and the benchmark read. Commits that change
    /// none of that are not built, and commits between two equal builds are excluded.
    /// PINPOINT_COMMIT is not set then.
    #[arg(long, help_heading = STRATEGY)]
    pub(crate) trace_reads: bool,
    #[command(flatten)]
    pub(crate) job: JobOptions,
    #[command(flatten)]
    pub(crate) benchmark: Benchmark,
    /// Post the result as a comment on this issue of Chromium's issue tracker; needs
    /// PINPOINT_ISSUE_TRACKER_KEY.
    #[arg(
        long,
        value_name = "ID",
        help_heading = LUCI,
        requires = "executor",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) bug: Option<u64>,
    /// Write the job to this database of Chromium's dashboards when it has its result. A failure is
    /// a warning, and `pinpoint jobs write-back` tries again.
    #[arg(
        long,
        value_enum,
        value_name = "DATABASE",
        help_heading = LUCI,
        requires = "executor",
        conflicts_with = "dry_run"
    )]
    pub(crate) write_back: Option<WriteBackArgument>,
    /// When a culprit is found, run it and its parent under a profiler, and say which
    /// functions' time moved; as `pinpoint explain JOB` does later.
    #[arg(long, help_heading = OUTPUT, conflicts_with = "dry_run")]
    pub(crate) explain: bool,
    /// The profiler of the runs for --explain: see `pinpoint explain --help` [default: the one that
    /// fits the benchmark and is installed].
    #[arg(long, value_name = "PROFILER", value_parser = ProfilerParser, default_value = "auto", hide_default_value = true, hide_possible_values = true, requires = "explain", help_heading = OUTPUT)]
    pub(crate) profiler: ProfilerArgument,
    /// The fast commit: a branch, a tag, a hash, HEAD~20.
    pub(crate) good: String,
    /// The slow commit.
    pub(crate) bad: String,
    /// The benchmark and its arguments.
    #[arg(
        last = true,
        required_unless_present = "executor",
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<String>,
}

impl Bisect {
    /// The question about a range, without what is known of its commits.
    pub(crate) fn question(&self, range: Range) -> BisectionSpec {
        BisectionSpec {
            strategy: self.strategy.into(),
            magnitude: self.magnitude,
            aggregate: Some(self.benchmark.aggregate.unwrap_or_default()),
            confidence: self.confidence,
            attempts: self.attempts,
            build_cost: self.build_cost,
            seed: self.job.seed,
            max_runs: self.max_runs,
            max_builds: self.max_builds,
            max_time: self.job.max_milliseconds(),
            ..BisectionSpec::new(range)
        }
    }
}

/// A search, with pairs one that is verified.
pub(crate) fn searched(bisection: BisectionSpec, pairs: Option<u32>) -> JobSpec {
    match pairs {
        None => bisection.into(),
        Some(pairs) => JobSpec::CulpritFinder(CulpritFinderSpec {
            version: CULPRIT_FINDER_SPEC_VERSION,
            bisection,
            pairs,
        }),
    }
}

// Its help stands in `Command`: clap would take the text of `Bisect`.
#[derive(Debug, Args)]
pub(crate) struct Culprit {
    #[command(flatten)]
    pub(crate) bisect: Bisect,
    /// The number of pairs of runs in each verification: even, and at least 6.
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = QUESTION)]
    pub(crate) pairs: u32,
    #[command(flatten)]
    pub(crate) callback: Callback,
}

/// The source of the suspicion of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PriorArgument {
    Changes,
    None,
    File(PathBuf),
}

impl From<OsString> for PriorArgument {
    fn from(argument: OsString) -> Self {
        match argument.to_str() {
            Some("changes") => Self::Changes,
            Some("none") => Self::None,
            _ => Self::File(argument.into()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyArgument {
    /// Keeps a probability for every commit, and makes the most informative run next.
    Adaptive,
    /// Like Chromium's Pinpoint: pairwise comparisons with 10 to 160 runs each.
    Pinpoint,
}

impl StrategyArgument {
    /// The default of a bisection, and so of a plan.
    pub(super) const DEFAULT: Self = Self::Adaptive;
}

impl From<StrategyArgument> for Strategy {
    fn from(argument: StrategyArgument) -> Self {
        match argument {
            StrategyArgument::Adaptive => Self::Adaptive,
            StrategyArgument::Pinpoint => Self::Pinpoint,
        }
    }
}

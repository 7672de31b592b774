//! `pinpoint plan`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use pinpoint_core::Magnitude;

use super::values::{magnitude, noise};
use super::{
    BENCHMARK, BUDGET, Benchmark, DirectionArgument, PriorArgument, QUESTION, STRATEGY,
    StrategyArgument,
};

/// The kinds of jobs, by the names that they have in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum KindArgument {
    /// Which commit changed the metric? As `bisect`.
    Bisection,
    /// Do two commits differ? As `pairwise`.
    Pairwise,
    /// Which commit, and does it really? As `culprit`.
    CulpritFinder,
}

/// Estimate the cost and accuracy of a job before running it.
///
/// Thousands of bisections with a known culprit are simulated with the noise of the
/// benchmark, to find how many runs and builds they take and how often they name the
/// right commit. With --kind pairwise, it is comparisons of two commits, and how often
/// they find a change, or see one where there is none.
///
/// The noise is given as a number (--noise), measured from the values of runs of one
/// commit (--values), or measured now from runs of the good end (a command after
/// `--`). Of a benchmark that prints no values, the noise of each --measure is shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint plan --commits 128 --noise 1.2 --magnitude 2
  pinpoint plan --commits 128 --noise 3% --run-time 5m --build-time 1h
  pinpoint plan --kind pairwise --pairs 20 --noise 3% --magnitude 2%
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
    /// The kind of the job.
    #[arg(long, value_enum, default_value_t = KindArgument::Bisection, help_heading = QUESTION)]
    pub(crate) kind: KindArgument,
    /// The number of pairs of runs in a comparison, an even number [default: 30].
    #[arg(long, value_name = "N", help_heading = QUESTION)]
    pub(crate) pairs: Option<u32>,
    /// The number of commits that may be the culprit; instead of two ends.
    #[arg(long, value_name = "N", help_heading = QUESTION, conflicts_with = "good")]
    pub(crate) commits: Option<u64>,
    /// The noise of the benchmark: the interquartile range of runs of one commit, in
    /// the metric's unit or, with a % sign, in percent of their median.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = noise, allow_hyphen_values = true, conflicts_with_all = ["values", "command"], help_heading = QUESTION)]
    pub(crate) noise: Option<Magnitude>,
    /// A file with the values of runs of one commit, one on each line; - is
    /// standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "command", help_heading = QUESTION)]
    pub(crate) values: Option<PathBuf>,
    /// The change to find, in the metric's unit or, with a % sign, in percent of the
    /// median [default: several sizes are tried].
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude, allow_hyphen_values = true, help_heading = QUESTION)]
    pub(crate) magnitude: Option<Magnitude>,
    /// Where better lies: the change that is looked for goes the other way
    /// [default: down for times and memory, else unknown].
    #[arg(long, value_enum, help_heading = QUESTION)]
    pub(crate) direction: Option<DirectionArgument>,
    /// The required probability that the answer is right.
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
    /// The suspicion of each commit, as for `bisect`: the simulated culprits are drawn with these
    /// weights.
    #[arg(long, value_name = "changes|none|FILE", default_value = "changes", requires = "good", help_heading = STRATEGY)]
    pub(crate) prior: PriorArgument,
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

//! `pinpoint pairwise`.

use std::path::PathBuf;

use clap::Args;
use pinpoint_core::PairwiseSpec;

use super::{BENCHMARK, BUDGET, Benchmark, JobOptions, QUESTION};

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
    /// A patch to apply to the experiment before it is built; with --executor, a patch set at
    /// Gerrit: its address, crrev.com/c/CHANGE or CHANGE/PATCHSET, the newest if none is named.
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
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_parser = assignment,
        help_heading = BENCHMARK,
        display_order = 903,
        conflicts_with = "executor"
    )]
    pub(crate) base_env: Vec<(String, String)>,
    /// A variable for the benchmark at the experiment; may be repeated.
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_parser = assignment,
        help_heading = BENCHMARK,
        display_order = 904,
        conflicts_with = "executor"
    )]
    pub(crate) experiment_env: Vec<(String, String)>,
    /// The directory of a finished build to run the benchmark in, instead of BASE. No
    /// git repository is needed then, and nothing is built. The path given by
    /// --results is removed there before each run. With --executor, the digest of a build in
    /// CAS, HASH/SIZE.
    #[arg(
        long,
        value_name = "BUILD",
        help_heading = BENCHMARK,
        display_order = 905,
        requires = "experiment_build",
        conflicts_with_all = [
            "base", "experiment", "patch", "build", "repo", "repository"
        ]
    )]
    pub(crate) base_build: Option<PathBuf>,
    /// The directory of the build to compare with it, instead of EXPERIMENT; the same
    /// directory again shows the noise of the benchmark.
    #[arg(long, value_name = "BUILD", requires = "base_build", help_heading = BENCHMARK, display_order = 906)]
    pub(crate) experiment_build: Option<PathBuf>,
    /// The only metric to compare [default: all that the benchmark reports].
    #[arg(long, value_name = "NAME", help_heading = QUESTION)]
    pub(crate) chart: Option<String>,
    /// The number of pairs of runs: even, and at least 6. To find a change of one among several
    /// metrics takes more: 8 among two to six, 12 among a hundred.
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = QUESTION)]
    pub(crate) pairs: u32,
    /// Stop as soon as a difference is certain. This raises the rate of false
    /// differences between equal commits from 5 % to 6 %.
    #[arg(long, help_heading = BUDGET)]
    pub(crate) early_stop: bool,
    /// Trace with `strace` what the builds and the benchmark read. Nothing is run where the
    /// two builds are the same. PINPOINT_COMMIT is not set then.
    #[arg(
        long,
        help_heading = BUDGET,
        conflicts_with_all = ["base_build", "base_arg", "base_env", "experiment_arg", "experiment_env"]
    )]
    pub(crate) trace_reads: bool,
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
    #[arg(
        last = true,
        required_unless_present = "executor",
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<String>,
}

impl Pairwise {
    /// The question, without its sides.
    pub(crate) fn question(&self) -> PairwiseSpec {
        PairwiseSpec {
            chart: self.chart.clone(),
            aggregate: Some(self.benchmark.aggregate.unwrap_or_default()),
            pairs: self.pairs,
            early_stopping: self.early_stop,
            seed: self.job.seed,
            max_time: self.job.max_milliseconds(),
            ..PairwiseSpec::unnamed()
        }
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("NAME=VALUE is needed".to_owned()),
    }
}

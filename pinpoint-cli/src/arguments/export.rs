//! `pinpoint export`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{LUCI, LuciTokens};

#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// Build a commit once, start its runs, and write a row for each to a table at BigQuery.
    ///
    /// Prints the id of the workflow, by which `pinpoint export collect` finds the runs. With the same
    /// --workflow, what is there already is not started again.
    #[command(after_help = "\
Examples:
  pinpoint export run --bot linux-perf-pgo --benchmark jetstream2 --commit recent --table p.d.runs
  pinpoint export collect 0199… --bot linux-perf-pgo --benchmark jetstream2 --table p.d.runs --into p.d.values")]
    Run {
        #[command(flatten)]
        runs: ExportedRuns,
        /// The commit: a hash, a position, a branch, a tag, or `recent`.
        #[arg(long, value_name = "REV")]
        commit: String,
        /// The number of runs.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        iterations: u32,
        /// The id of an earlier workflow, to go on with it.
        #[arg(long, value_name = "WORKFLOW")]
        workflow: Option<String>,
        /// Arguments of the benchmark.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Wait for the runs of a workflow, and write their values to a table at BigQuery.
    ///
    /// A row is one chart of one run, or a run that failed.
    Collect {
        /// The id that `pinpoint export run` has printed.
        workflow: String,
        #[command(flatten)]
        runs: ExportedRuns,
        /// The table for the values; it is made if there is none.
        #[arg(long, value_name = "PROJECT.DATASET.TABLE")]
        into: String,
    },
}

// The runs of a commit.
#[derive(Debug, Args)]
pub(crate) struct ExportedRuns {
    /// The bot.
    #[arg(long, value_name = "BOT")]
    pub(crate) bot: String,
    /// A file of bot configurations, TOML or (named *.json) JSON, instead of the built-in ones; may
    /// be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) bot_config: Vec<PathBuf>,
    /// The benchmark.
    #[arg(long, value_name = "NAME")]
    pub(crate) benchmark: String,
    /// The story of the benchmark [default: all].
    #[arg(long, value_name = "NAME")]
    pub(crate) story: Option<String>,
    /// The table of runs; it is made if there is none.
    #[arg(long, value_name = "PROJECT.DATASET.TABLE")]
    pub(crate) table: String,
    /// A file of settings, TOML, as for --executor luci.
    #[arg(
        long,
        value_name = "FILE",
        env = "PINPOINT_LUCI_CONFIG",
        hide_env_values = true,
        help_heading = LUCI
    )]
    pub(crate) luci_config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tokens: LuciTokens,
}

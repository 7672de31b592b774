//! `pinpoint bots`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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

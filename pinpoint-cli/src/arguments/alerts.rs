//! `pinpoint alerts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pinpoint_core::Magnitude;
use pinpoint_traces::Query;
use pinpoint_traces::watch::{AlertAction, AlertDirection, AlertId, Algo, Template};

use super::traces::DatasetOption;
use super::values::magnitude;
use super::{QUESTION, RangeArgument};

#[derive(Debug, Subcommand)]
pub(crate) enum Alerts {
    /// List the alerts.
    List {
        #[command(flatten)]
        dataset: DatasetOption,
        /// Deleted ones, too.
        #[arg(long)]
        all: bool,
    },
    /// Show all that is stored of an alert.
    Show {
        #[command(flatten)]
        dataset: DatasetOption,
        /// Its id, as `alerts list` shows it.
        #[arg(value_name = "ID")]
        id: AlertId,
    },
    New(AlertNew),
    Update(AlertUpdate),
    /// Delete an alert: it is not watched any more. Its regressions stay.
    Delete {
        #[command(flatten)]
        dataset: DatasetOption,
        /// Its id, as `alerts list` shows it.
        #[arg(value_name = "ID")]
        id: AlertId,
    },
    Try(AlertTry),
}

/// Add an alert: traces to watch, how, and what follows.
///
/// The file has the names of Skia Perf's alerts, in JSON or, if it ends in .toml, in TOML: query, algo,
/// step, interesting, detection_rule, radius, k, group_by, sparse, minimum_num, direction, state, owner,
/// category, action, display_name; and those of Pinpoint: rate, least_amount, least_share, floors,
/// group_key, command, chart. Options replace what the file says.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint alerts new --query 'test=~^sort' --direction UP --action report
  pinpoint alerts new --query os=linux --action bisect --command './bench --only {test}'
  pinpoint alerts new alert.toml --owner ada")]
pub(crate) struct AlertNew {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    #[command(flatten)]
    pub(crate) options: AlertOptions,
    /// A file with the alert: JSON, or TOML if it ends in .toml; - for JSON on standard input.
    #[arg(value_name = "FILE", required_unless_present = "query")]
    pub(crate) file: Option<PathBuf>,
}

/// Change an alert: what the options say, or all of it with a file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint alerts update 3 --rate 0.0005 --action bisect
  pinpoint alerts update 3 --state ACTIVE      # one that was deleted
  pinpoint alerts update 3 alert.toml")]
pub(crate) struct AlertUpdate {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    #[command(flatten)]
    pub(crate) options: AlertOptions,
    /// The state: ACTIVE or DELETED.
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<pinpoint_traces::watch::AlertState>,
    /// Its id, as `alerts list` shows it.
    #[arg(value_name = "ID")]
    pub(crate) id: AlertId,
    /// A file with the alert, which replaces it.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Run an alert over the past: how many regressions it would have found, and how many of them by
/// chance. Nothing is stored.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint alerts try 3
  pinpoint alerts try --query 'test=~^sort' --rate 0.001 --last 500
  pinpoint alerts try --file alert.toml --commits v1.0..

Exit codes:
  0  it finds regressions
  2  the command line or the alert was wrong
  3  it finds none")]
pub(crate) struct AlertTry {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    #[command(flatten)]
    pub(crate) options: AlertOptions,
    /// The commits, all unless told: FROM..TO with both ends, FROM.., or ..TO.
    #[arg(long, value_name = "FROM..TO", conflicts_with = "last", help_heading = QUESTION)]
    pub(crate) commits: Option<RangeArgument>,
    /// The last commits at which any of the traces has a value.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = QUESTION)]
    pub(crate) last: Option<u32>,
    /// The most traces that may match.
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = QUESTION)]
    pub(crate) limit: u64,
    /// A file with the alert, as of `alerts new`.
    #[arg(long, value_name = "FILE", conflicts_with = "id")]
    pub(crate) file: Option<PathBuf>,
    /// A stored alert; options replace what it says.
    #[arg(value_name = "ID", required_unless_present_any = ["query", "file"])]
    pub(crate) id: Option<AlertId>,
}

// The common fields of an alert.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AlertOptions {
    /// The traces.
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<Query>,
    /// The name that people see.
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) display_name: Option<String>,
    /// The detector: rank, conformal, stepfit, kmeans or perfherder. New alerts have rank.
    #[arg(long, value_name = "ALGO")]
    pub(crate) algo: Option<Algo>,
    /// The false alarms of rank and conformal for each new value: 0.00005 to 0.01.
    #[arg(long, value_name = "SHARE")]
    pub(crate) rate: Option<f64>,
    /// The statistic of stepfit and kmeans: original, absolute, percent, percent_median, const, cohen,
    /// stepiness or mannwhitneyu.
    #[arg(long, value_name = "STATISTIC")]
    pub(crate) step: Option<String>,
    /// The threshold of the statistic.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub(crate) interesting: Option<f64>,
    /// The changes that matter: UP (the value rises), DOWN (it falls) or BOTH, whether that is better
    /// or worse.
    #[arg(long, value_name = "DIRECTION")]
    pub(crate) direction: Option<AlertDirection>,
    /// The smallest change that matters, in the unit of the trace or, with a % sign, in percent of the
    /// median before.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude)]
    pub(crate) smallest_change: Option<Magnitude>,
    /// Keys, of whose values each combination is watched by itself.
    #[arg(long, value_name = "KEY,…")]
    pub(crate) group_by: Option<String>,
    /// The key by whose value regressions are grouped. New alerts have benchmark.
    #[arg(long, value_name = "KEY")]
    pub(crate) group_key: Option<String>,
    /// The fewest regressions of a group, or traces of a cluster, that matter.
    #[arg(long, value_name = "N")]
    pub(crate) minimum_num: Option<usize>,
    /// The consequence of a group of regressions: noaction (it is listed), report (somebody is
    /// notified) or bisect.
    #[arg(long, value_name = "ACTION")]
    pub(crate) action: Option<AlertAction>,
    /// The benchmark in a bisection, with {key} for parameters of the trace: './bench --only {test}'.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<Template>,
    /// The chart that decides in a bisection [default: {test}].
    #[arg(long, value_name = "CHART")]
    pub(crate) chart: Option<Template>,
    /// The person or team that it belongs to.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// A word to sort alerts by.
    #[arg(long, value_name = "WORD")]
    pub(crate) category: Option<String>,
}

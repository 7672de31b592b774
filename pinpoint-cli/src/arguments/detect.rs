//! `pinpoint detect`.

use std::path::PathBuf;

use clap::Args;
use pinpoint_core::Magnitude;
use pinpoint_traces::{Dataset, Query};

use super::values::magnitude;
use super::{DirectionArgument, RangeArgument};

const HISTORY: &str = "The history of values";

/// Find the changes in a history of values.
///
/// FILE or QUERY is a table if a file of that name exists, or it is -; otherwise it is a query to the
/// history of values, as of `traces query`. Write ./a=b for a file whose name looks like a query, and
/// --query for a query that looks like a file. Without either, all traces of the dataset are read.
///
/// A table has a header: a column for each series, a row for each commit, oldest
/// first. Separators are commas, semicolons or tabs; an empty cell, NaN, NA, null or -
/// is a missing value. The first column may name the rows (commit, version, date, …).
/// Of the history, rows are commits, and each trace says by improvement_direction where better lies.
///
/// Each series is read value by value, as if it came in: a step, a drift or a change of
/// the scatter is reported where it most likely began, with the rows among which it
/// began in at least 95 %, and the row at which it showed. A step that went back is told
/// as a spike. Firm changes are confirmed by a second detector whose rate of false alarms
/// is proven.
///
/// The rate of false alarms holds for noise that keeps its shape, also where each value
/// resembles the one before. A machine that is slower for a while and fast again changes
/// its noise: its spells are reported as steps.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint detect history.csv
  pinpoint detect history.csv --series sort --smallest-change 2% --direction down
  pinpoint detect history.csv --report changes.html
  git show main:bench/history.tsv | pinpoint detect - --output json
  pinpoint detect 'test=~^sort&os=linux' --commits v1.2..HEAD

Exit codes:
  0  a change was found
  2  the command line, the query or the table was wrong
  3  nothing was found
  4  nothing was found, and some series are too short to say")]
pub(crate) struct Detect {
    /// Read only this series; may be repeated.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) series: Vec<String>,
    /// The column that names the rows [default: the first one, if it is called commit, version,
    /// date or alike, or holds texts].
    #[arg(long, value_name = "COLUMN")]
    pub(crate) labels: Option<String>,
    /// The false alarms for each value where nothing changes: 0.00005 to 0.01.
    #[arg(long, value_name = "SHARE", default_value_t = pinpoint_traces::DEFAULT_RATE)]
    pub(crate) rate: f64,
    /// Leave out changes of the median that are smaller, in the unit of the series or, with a %
    /// sign, in percent of the median before.
    #[arg(long, value_name = "VALUE or PERCENT%", value_parser = magnitude)]
    pub(crate) smallest_change: Option<Magnitude>,
    /// Where better lies: tells regressions from improvements.
    #[arg(long, value_enum)]
    pub(crate) direction: Option<DirectionArgument>,
    /// Write a page that draws each series around its changes: one HTML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// The table (- for standard input), or the query.
    #[arg(value_name = "FILE or QUERY", conflicts_with = "query")]
    pub(crate) input: Option<String>,
    /// A query to the history, whatever files there are.
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<Query>,
    #[command(flatten)]
    pub(crate) history: DetectHistory,
}

/// The part of the history in which changes are looked for.
#[derive(Debug, Default, Args)]
pub(crate) struct DetectHistory {
    /// The dataset [default: default].
    #[arg(long, value_name = "NAME", help_heading = HISTORY)]
    pub(crate) dataset: Option<Dataset>,
    /// The commits, all unless told: FROM..TO with both ends, FROM.., or ..TO. A commit is its
    /// number, its hash, or a name in the repository here, such as v1.2 or HEAD~20.
    #[arg(long, value_name = "FROM..TO", conflicts_with = "last", help_heading = HISTORY)]
    pub(crate) commits: Option<RangeArgument>,
    /// The last commits at which any of the traces has a value.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = HISTORY)]
    pub(crate) last: Option<u32>,
    /// The most traces that may match [default: 1000].
    #[arg(long, value_name = "N", help_heading = HISTORY)]
    pub(crate) limit: Option<u64>,
}

impl DetectHistory {
    /// The first option that is given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        [
            (self.dataset.is_some(), "--dataset"),
            (self.commits.is_some(), "--commits"),
            (self.last.is_some(), "--last"),
            (self.limit.is_some(), "--limit"),
        ]
        .into_iter()
        .find_map(|(is_given, name)| is_given.then_some(name))
    }
}

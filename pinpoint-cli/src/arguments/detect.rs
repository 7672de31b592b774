//! `pinpoint detect`.

use std::path::PathBuf;

use clap::Args;
use pinpoint_core::Magnitude;

use super::DirectionArgument;
use super::values::magnitude;

/// Find the changes in a history of values.
///
/// Reads a table with a header: a column for each series, a row for each commit, oldest
/// first. Separators are commas, semicolons or tabs; an empty cell, NaN, NA, null or -
/// is a missing value. The first column may name the rows (commit, version, date, …).
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

Exit codes:
  0  a change was found
  2  the command line or the table was wrong
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
    /// The table: a file, or - for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

//! `pinpoint verticals`.

use std::path::PathBuf;

use clap::Args;
use pinpoint_traces::Try;

use super::traces::{DatasetOption, RangeArgument, table_formats, tried};
use super::{OUTPUT, OutputFormat, QUESTION};

/// Compare two values of a key over all traces that are equal otherwise.
///
/// A table of ratios A/B: a row for each test, a column for the rest of the parameters. Below 1, A is
/// less than B. Rows sort by the geometric mean of their cells. Values are the latest ones, those
/// nearest to a commit (--at), two commits of the same traces (--between), or a try and the latest
/// values of the same traces (--try).
#[derive(Debug, Args)]
#[command(
    override_usage = "\
pinpoint verticals [OPTIONS] <KEY> <A> <B> [QUERY]
       pinpoint verticals [OPTIONS] --between <A>..<B> [QUERY]
       pinpoint verticals [OPTIONS] --try <ISSUE/PATCHSET> [QUERY]",
    after_help = "\
Examples:
  pinpoint verticals compiler gcc clang
  pinpoint verticals compiler gcc clang 'os=linux' --report compilers.html
  pinpoint verticals --between v1.1..v1.2 'os=linux' --output csv
  pinpoint verticals --try 4711/3 --row benchmark"
)]
pub(crate) struct Verticals {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// The key of the rows.
    #[arg(long, value_name = "KEY", default_value = "test", help_heading = QUESTION)]
    pub(crate) row: String,
    /// The values at this commit, or those nearest to it; of two as near, the earlier one.
    #[arg(long, value_name = "COMMIT", conflicts_with_all = ["between", "tried"], help_heading = QUESTION)]
    pub(crate) at: Option<String>,
    /// The values of two commits: A is the first, B the second.
    #[arg(long, value_name = "A..B", conflicts_with = "tried", help_heading = QUESTION)]
    pub(crate) between: Option<RangeArgument>,
    /// The values of a try, A, and the latest ones of the same traces, B.
    #[arg(long = "try", id = "tried", value_name = "ISSUE/PATCHSET", value_parser = tried, help_heading = QUESTION)]
    pub(crate) tried: Option<Try>,
    /// The most traces that may match.
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = QUESTION)]
    pub(crate) limit: u64,
    /// Write a heat map: one HTML file.
    #[arg(long, value_name = "FILE.html", help_heading = OUTPUT)]
    pub(crate) report: Option<PathBuf>,
    /// The format of the result on standard output.
    #[arg(long, help_heading = OUTPUT, value_name = "OUTPUT", value_parser = table_formats(), default_value = "text")]
    pub(crate) output: OutputFormat,
    /// A key, two of its values, and a query; with --between or --try the query alone.
    #[arg(value_name = "KEY A B QUERY", num_args = 0..=4)]
    pub(crate) words: Vec<String>,
}

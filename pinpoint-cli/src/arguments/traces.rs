//! `pinpoint traces`.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use pinpoint_traces::{Dataset, Formula, PivotOperation, Query, TraceId, TraceName, Try};

use super::{OUTPUT, OutputFormat, QUESTION, STORAGE};

/// The dataset that a command reads or writes.
#[derive(Debug, Clone, Args)]
pub(crate) struct DatasetOption {
    /// The dataset: traces of one repository that are kept together.
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = STORAGE)]
    pub(crate) dataset: Dataset,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Traces {
    /// List the datasets, with their commits and tiles.
    List,
    Query(TraceQuery),
    Export(TraceExport),
    Params(TraceParams),
    Pivot(TracePivot),
    Tries(TraceTries),
    /// Show the file and the links that a value comes from.
    #[command(after_help = "\
Examples:
  pinpoint traces source ,os=linux,test=sort,unit=ms, HEAD~3")]
    Source {
        #[command(flatten)]
        dataset: DatasetOption,
        /// The id of the trace, as in ,os=linux,test=sort,
        #[arg(value_name = "ID")]
        trace: TraceId,
        /// The commit: its number, its hash, or a name in the repository here.
        #[arg(value_name = "COMMIT")]
        commit: String,
    },
    Shortcut(TraceShortcut),
    /// Remove old values: the tiles of 128 commits that lie before a commit.
    ///
    /// Ids of traces, commits, files and annotations stay. Files that still come for a removed tile
    /// are left out.
    Purge {
        #[command(flatten)]
        dataset: DatasetOption,
        /// The first commit to keep, and all of its tile.
        #[arg(long, value_name = "COMMIT")]
        before: String,
    },
}

/// The commits that are read.
#[derive(Debug, Clone, Args)]
pub(crate) struct CommitOptions {
    /// The commits: FROM..TO with both ends, FROM.., ..TO, or one. A commit is its number, its
    /// hash, or a name in the repository here, such as v1.2 or HEAD~20.
    #[arg(long, value_name = "FROM..TO", conflicts_with = "last", help_heading = QUESTION)]
    pub(crate) commits: Option<RangeArgument>,
    /// The last commits at which any of the traces has a value.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), help_heading = QUESTION)]
    pub(crate) last: u32,
    /// The most traces that may match.
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = QUESTION)]
    pub(crate) limit: u64,
}

/// Show values of traces, or of a formula over them.
///
/// A row for each trace, a column for each commit. A series that goes on under another id
/// (`annotate join`) is one row, under the new id. Annotations of the commits are listed.
///
/// Formulas: filter("query") and shortcut("X…") are traces; norm, fill, log, iqrr, scale_by_ave,
/// trace_ave, trace_stddev, trace_cov and step take each trace by itself; ave, sum, count, min, max, geo
/// and ratio(a, b) make one of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint traces query 'test=sort&os=linux'
  pinpoint traces query 'test=~^sort' --commits v1.2..HEAD --output csv > sort.csv
  pinpoint traces query --formula 'ave(norm(fill(filter(\"os=linux\"))))' --last 50")]
pub(crate) struct TraceQuery {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// The query.
    #[arg(
        value_name = "QUERY",
        conflicts_with = "formula",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) query: Query,
    /// A formula instead of a query.
    #[arg(long, value_name = "FORMULA", help_heading = QUESTION)]
    pub(crate) formula: Option<Formula>,
    #[command(flatten)]
    pub(crate) commits: CommitOptions,
    /// The format of the result on standard output.
    #[arg(long, help_heading = OUTPUT, value_name = "OUTPUT", value_parser = table_formats(), default_value = "text")]
    pub(crate) output: OutputFormat,
}

/// Write the values of traces at one commit for another program.
///
/// As messages to Mozilla's graph server: one for each machine (or bot), branch and suite. Suites with
/// a rule of their own (responsiveness, v8_7, kraken, tcanvasmark) are an average; of the others the
/// subtests are pages, with two decimals, of which the server makes the mean. The time is the
/// commit's. Left out are traces without a value at the commit, and subtests of -1 or less, which
/// failed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint traces export --format graphserver --commit HEAD
  pinpoint traces export 'suite=tp5o&machine=talos-linux64-ix-001' --format graphserver --commit 1234")]
pub(crate) struct TraceExport {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// The query.
    #[arg(value_name = "QUERY", default_value = "", hide_default_value = true)]
    pub(crate) query: Query,
    /// The format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: ExportFormat,
    /// The commit: its number, its hash, or a name in the repository here.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: String,
    /// The id of the build, which the history does not keep and the graph server wants.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) build_id: Option<String>,
    /// The most traces that may match.
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = QUESTION)]
    pub(crate) limit: u64,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Messages to Mozilla's graph server.
    #[value(name = "graphserver")]
    GraphServer,
}

/// Count the traces that match a query, with their keys and values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint traces params
  pinpoint traces params 'os=linux' --key test")]
pub(crate) struct TraceParams {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// The query.
    #[arg(value_name = "QUERY", default_value = "", hide_default_value = true)]
    pub(crate) query: Query,
    /// Show only this key; may be repeated.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Vec<String>,
    /// Only the traces with values in the tiles of these commits.
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) commits: Option<RangeArgument>,
}

/// Fold traces that share the values of some keys.
///
/// A row for each group. Traces without one of the keys are left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint traces pivot --by os,test --operation avg
  pinpoint traces pivot 'test=sort' --by os --operation max --summary avg --output csv")]
pub(crate) struct TracePivot {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// The query.
    #[arg(value_name = "QUERY", default_value = "", hide_default_value = true)]
    pub(crate) query: Query,
    /// The keys of a group.
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', value_parser = clap::builder::NonEmptyStringValueParser::new(), required = true, help_heading = QUESTION)]
    pub(crate) by: Vec<String>,
    /// The operation that folds a group, commit by commit: sum, avg, geo, std, count, min or max.
    #[arg(long, value_name = "OPERATION", default_value = "avg", help_heading = QUESTION)]
    pub(crate) operation: PivotOperation,
    /// An operation that makes one value of each row; may be repeated.
    #[arg(long, value_name = "OPERATION", help_heading = QUESTION)]
    pub(crate) summary: Vec<PivotOperation>,
    #[command(flatten)]
    pub(crate) commits: CommitOptions,
    /// The format of the result on standard output.
    #[arg(long, help_heading = OUTPUT, value_name = "OUTPUT", value_parser = table_formats(), default_value = "text")]
    pub(crate) output: OutputFormat,
}

/// List the tries, or compare one with the history.
///
/// Each value is compared with the last 20 of its trace: its distance from their median, in
/// deviations of its side. The worst traces come first; then the mean of each key and value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint traces tries
  pinpoint traces tries 4711/3 'os=linux'")]
pub(crate) struct TraceTries {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// The change under review and its version.
    #[arg(value_name = "ISSUE/PATCHSET", value_parser = tried)]
    pub(crate) tried: Option<Try>,
    /// Only the traces of this query.
    #[arg(value_name = "QUERY", default_value = "", hide_default_value = true)]
    pub(crate) query: Query,
    /// The number of traces, and of keys with values, that the text shows.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) worst: usize,
}

/// Keep a set of traces and formulas under a short name, or show one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint traces shortcut --query 'test=sort'
  pinpoint traces shortcut ,os=linux,test=sort, '@ave(filter(\"test=sort\"))'
  pinpoint traces shortcut X1f4d3f44f7ba0a0f4a7a1d0e2bc62a56")]
pub(crate) struct TraceShortcut {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// Keep the traces of this query.
    #[arg(long, value_name = "QUERY", conflicts_with = "names")]
    pub(crate) query: Option<Query>,
    /// The most traces that may match.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: u64,
    /// Ids of traces and formulas to keep (a formula begins with @), or the name of a shortcut to
    /// show.
    #[arg(value_name = "NAME", required_unless_present = "query")]
    pub(crate) names: Vec<ShortcutArgument>,
}

/// A name to keep, or a shortcut to show.
#[derive(Debug, Clone)]
pub(crate) enum ShortcutArgument {
    Shortcut(pinpoint_traces::ShortcutId),
    Name(TraceName),
}

impl FromStr for ShortcutArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with('X') {
            let id = text.parse();
            return id
                .map(Self::Shortcut)
                .map_err(|error: pinpoint_traces::ShortcutError| error.to_string());
        }
        let name: TraceName = text
            .parse()
            .map_err(|error: pinpoint_traces::IdError| error.to_string())?;
        if let Some(Err(error)) = Formula::of_name(&name) {
            return Err(error.to_string());
        }
        Ok(Self::Name(name))
    }
}

/// A range of commits, by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeArgument {
    /// The first; the first of the history if missing.
    pub(crate) from: Option<String>,
    /// The last; the newest if missing.
    pub(crate) to: Option<String>,
}

impl FromStr for RangeArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = |it: &str| (!it.is_empty()).then(|| it.to_owned());
        match text.split_once("..") {
            Some(("", "")) => Err("a range has at least one end: FROM..TO, FROM.. or ..TO".into()),
            Some((_, to)) if to.starts_with('.') => Err("write two dots between the ends".into()),
            Some((from, to)) => Ok(Self {
                from: end(from),
                to: end(to),
            }),
            None if text.is_empty() => Err("a commit is needed, or FROM..TO".into()),
            None => Ok(Self {
                from: end(text),
                to: end(text),
            }),
        }
    }
}

/// Parses a change under review and its version.
pub(super) fn tried(text: &str) -> Result<Try, String> {
    match text.split_once('/') {
        Some((issue, patchset)) if !issue.is_empty() => Ok(Try {
            issue: issue.to_owned(),
            patchset: patchset.to_owned(),
        }),
        _ => Err("ISSUE/PATCHSET is needed, as in 4711/3".into()),
    }
}

/// The formats of tables.
pub(super) fn table_formats() -> impl TypedValueParser<Value = OutputFormat> {
    let formats = [OutputFormat::Text, OutputFormat::Json, OutputFormat::Csv];
    PossibleValuesParser::new(formats.iter().filter_map(ValueEnum::to_possible_value))
        .try_map(|name| OutputFormat::from_str(&name, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_one_end_or_two() {
        let range = |text: &str| text.parse::<RangeArgument>();
        let of = |from: Option<&str>, to: Option<&str>| {
            Ok(RangeArgument {
                from: from.map(str::to_owned),
                to: to.map(str::to_owned),
            })
        };
        assert_eq!(range("v1..HEAD~2"), of(Some("v1"), Some("HEAD~2")));
        assert_eq!(range("7.."), of(Some("7"), None));
        assert_eq!(range("..7"), of(None, Some("7")));
        assert_eq!(range("7"), of(Some("7"), Some("7")));
        for wrong in ["", "..", "a...b"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}

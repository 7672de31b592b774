//! `pinpoint annotate`.

use clap::{Args, Subcommand};
use pinpoint_traces::{Query, TraceId};

use super::STORAGE;
use super::traces::{DatasetOption, RangeArgument};

/// Note something at a commit, where everybody sees it who looks at its values.
///
/// COMMIT is a number, a hash, or a name in the repository here.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  pinpoint annotate HEAD~3 'new compiler' --query os=linux
  pinpoint annotate list --commits v1.1..
  pinpoint annotate edit 4 'new compiler: gcc 15'
  pinpoint annotate join v1.2 ,test=sort_old, ,test=sort,"
)]
pub(crate) struct Annotate {
    #[command(subcommand)]
    pub(crate) command: Option<AnnotateCommand>,
    #[command(flatten)]
    pub(crate) note: Note,
}

/// A note.
#[derive(Debug, Args)]
pub(crate) struct Note {
    /// The traces that it concerns [default: all of them].
    #[arg(
        long,
        value_name = "QUERY",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) query: Query,
    #[command(flatten)]
    pub(crate) author: Author,
    /// The commit.
    #[arg(value_name = "COMMIT", required = true)]
    pub(crate) commit: Option<String>,
    /// The text.
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: Option<String>,
}

/// The dataset that is written to, and by whom.
#[derive(Debug, Clone, Args)]
pub(crate) struct Author {
    /// The author of the annotation [default: the name of the user].
    #[arg(long, value_name = "NAME", help_heading = STORAGE)]
    pub(crate) author: Option<String>,
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AnnotateCommand {
    /// List annotations.
    List {
        #[command(flatten)]
        dataset: DatasetOption,
        /// Only those at these commits.
        #[arg(long, value_name = "FROM..TO")]
        commits: Option<RangeArgument>,
        /// Only those that concern this trace.
        #[arg(long, value_name = "ID")]
        trace: Option<TraceId>,
    },
    /// Replace the text of an annotation.
    Edit {
        #[command(flatten)]
        dataset: DatasetOption,
        /// Its number, as `annotate list` shows it.
        #[arg(value_name = "NUMBER")]
        number: u64,
        /// The new text.
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Delete an annotation.
    Delete {
        #[command(flatten)]
        dataset: DatasetOption,
        /// Its number, as `annotate list` shows it.
        #[arg(value_name = "NUMBER")]
        number: u64,
    },
    /// Note that a series goes on under another id: both are one row from then on.
    Join {
        #[command(flatten)]
        author: Author,
        /// The first commit with the new id.
        #[arg(value_name = "COMMIT")]
        commit: String,
        /// The id up to that commit.
        #[arg(value_name = "OLD ID")]
        before: TraceId,
        /// The id from that commit on.
        #[arg(value_name = "NEW ID")]
        after: TraceId,
        /// A text.
        #[arg(value_name = "TEXT", default_value = "", hide_default_value = true)]
        text: String,
    },
    /// Note that another machine measures: a step at this commit may be the machine's.
    Machine {
        #[command(flatten)]
        author: Author,
        /// The first commit on the new machine.
        #[arg(value_name = "COMMIT")]
        commit: String,
        /// The key that names the machine, such as bot.
        #[arg(value_name = "KEY")]
        key: String,
        /// Its value before.
        #[arg(value_name = "OLD")]
        before: String,
        /// Its value from that commit on.
        #[arg(value_name = "NEW")]
        after: String,
        /// A text.
        #[arg(value_name = "TEXT", default_value = "", hide_default_value = true)]
        text: String,
    },
}

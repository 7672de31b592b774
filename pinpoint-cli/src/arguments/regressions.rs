//! `pinpoint regressions`.

use clap::{Args, Subcommand, ValueEnum};
use pinpoint_traces::watch::{AlertId, Triage};
use pinpoint_traces::{Query, TraceId};

use super::traces::DatasetOption;
use super::watch::BisectionOptions;
use super::{RangeArgument, STORAGE};

#[derive(Debug, Subcommand)]
pub(crate) enum Regressions {
    List(RegressionList),
    /// Show a regression or a group, with all that happened to it.
    Show {
        #[command(flatten)]
        dataset: DatasetOption,
        /// A regression or a group, or the beginning of its name.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Say what a regression is: a bug, or to be ignored.
    #[command(after_help = "\
Examples:
  pinpoint regressions triage r1f2e3d4 --as ignore --message 'the machine was being updated'
  pinpoint regressions triage g0a1b2c3 --as bug --message 'https://example.org/bugs/7'")]
    Triage {
        #[command(flatten)]
        by: By,
        /// The triage.
        #[arg(long = "as", value_enum)]
        triage: TriageArgument,
        /// A message; the one of the bisection stays without it.
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        /// Regressions, or groups for all of their members.
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Say that a regression began at other commits.
    #[command(after_help = "\
Examples:
  pinpoint regressions move r1f2e3d4 v1.1..v1.2
  pinpoint regressions move r1f2e3d4 HEAD~3")]
    Move {
        #[command(flatten)]
        by: By,
        /// The regression.
        #[arg(value_name = "NAME")]
        name: String,
        /// The commits after FROM and up to TO, as in git; or one commit.
        #[arg(value_name = "FROM..TO")]
        commits: RangeArgument,
    },
    /// Put regressions into a group apart from the others.
    Split {
        #[command(flatten)]
        members: Members,
    },
    /// Put regressions into one group, wherever they began.
    Join {
        #[command(flatten)]
        members: Members,
    },
    /// Say that a regression is not one. It is not found again.
    TakeBack {
        #[command(flatten)]
        by: By,
        /// The reason.
        #[arg(
            long,
            value_name = "TEXT",
            default_value = "",
            hide_default_value = true
        )]
        message: String,
        /// Regressions, or groups for all of their members.
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Add a regression that no detector saw.
    #[command(after_help = "\
Examples:
  pinpoint regressions add ,os=linux,test=sort,unit=ms, v1.1..v1.2 --alert 3
  pinpoint regressions add ,os=linux,test=sort,unit=ms, HEAD~3")]
    Add {
        #[command(flatten)]
        by: By,
        /// The alert to whose groups it belongs.
        #[arg(long, value_name = "ID")]
        alert: Option<AlertId>,
        /// The trace.
        #[arg(value_name = "ID")]
        trace: TraceId,
        /// The commits after FROM and up to TO, as in git; or one commit.
        #[arg(value_name = "FROM..TO")]
        commits: RangeArgument,
    },
    Bisect(RegressionBisect),
    /// List the clusters that alerts with kmeans found, with their triage.
    ///
    /// A cluster keeps its number while its traces do, whatever a later run finds.
    Clusters {
        #[command(flatten)]
        dataset: DatasetOption,
        /// Only those of this alert.
        #[arg(long, value_name = "ID")]
        alert: Option<AlertId>,
    },
    /// Say what a cluster is: a bug, or to be ignored.
    #[command(after_help = "\
Examples:
  pinpoint regressions triage-cluster 2 7 --as ignore --message 'the machine was being updated'")]
    TriageCluster {
        #[command(flatten)]
        by: By,
        /// The triage.
        #[arg(long = "as", value_enum)]
        triage: TriageArgument,
        /// A message.
        #[arg(
            long,
            value_name = "TEXT",
            default_value = "",
            hide_default_value = true
        )]
        message: String,
        /// The query whose cluster is meant, of an alert that is run with several.
        #[arg(long, value_name = "QUERY")]
        query: Option<Query>,
        /// The alert.
        #[arg(value_name = "ALERT")]
        alert: AlertId,
        /// The number of the cluster.
        #[arg(value_name = "NUMBER")]
        number: u64,
    },
}

/// List the regressions by their groups, untriaged ones first, the oldest at the top.
///
/// Members of a group may have one cause: they belong to one alert and one benchmark, and the commits
/// among which they began overlap. After the groups, each alert says how many alarms it had in 30
/// days, and how many chance alone would have given.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint regressions list
  pinpoint regressions list --alert 3 --all --output json")]
pub(crate) struct RegressionList {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// Only those that this alert sees.
    #[arg(long, value_name = "ID")]
    pub(crate) alert: Option<AlertId>,
    /// Those that went back, were taken back or are to be ignored, too.
    #[arg(long)]
    pub(crate) all: bool,
}

/// Bisect a group, or the group of a regression, now.
///
/// It is searched for its largest regression, whatever its alert does and how many bisections a day
/// has. The outcome is written to all of its members. Interrupted, the same command goes on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint regressions bisect g0a1b2c3
  pinpoint regressions bisect r1f2e3d4 --command './bench --only {test}' --options \"--build 'make -j2'\"

Exit codes:
  0    a culprit was found
  1    the bisection failed
  2    the command line was wrong, or the group can't be bisected
  3    the ends do not differ
  4    not decided
  130  interrupted: the same command goes on")]
pub(crate) struct RegressionBisect {
    #[command(flatten)]
    pub(crate) by: By,
    #[command(flatten)]
    pub(crate) options: BisectionOptions,
    /// The alert whose group is meant, of a regression that several see.
    #[arg(long, value_name = "ID")]
    pub(crate) alert: Option<AlertId>,
    /// A group or a regression.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// Regressions of one alert.
#[derive(Debug, Args)]
pub(crate) struct Members {
    #[command(flatten)]
    pub(crate) by: By,
    /// The alert whose groups are meant, of regressions that several see.
    #[arg(long, value_name = "ID")]
    pub(crate) alert: Option<AlertId>,
    /// Regressions, or groups for all of their members.
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

/// The dataset that is written to, and by whom.
#[derive(Debug, Clone, Args)]
pub(crate) struct By {
    /// The person who says it [default: the name of the user].
    #[arg(long, value_name = "NAME", help_heading = STORAGE)]
    pub(crate) author: Option<String>,
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
}

impl By {
    /// The name of the person.
    pub(crate) fn name(&self) -> String {
        let author = self.author.clone();
        author.unwrap_or_else(|| whoami::username().unwrap_or_default())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TriageArgument {
    /// Nobody has looked at it.
    New,
    /// It does not matter.
    Ignore,
    /// It is a bug.
    Bug,
}

impl From<TriageArgument> for Triage {
    fn from(argument: TriageArgument) -> Self {
        match argument {
            TriageArgument::New => Self::New,
            TriageArgument::Ignore => Self::Ignore,
            TriageArgument::Bug => Self::Bug,
        }
    }
}

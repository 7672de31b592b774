//! `pinpoint ingest`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use pinpoint_core::Aggregate;
use pinpoint_core::results::talos::TalosValues;
use pinpoint_core::results::{Format, FormatError};

use super::traces::DatasetOption;
use super::values::key_values;

/// Add files of results to the history of values.
///
/// Reads what benchmark tools write, as `compare` does, and both formats of Skia Perf, which name
/// their commit and may hold a try. A metric becomes a trace: the keys of --key with test, unit and
/// improvement_direction. Of two values of a trace at a commit, that of the later file stays: by the
/// hour in its path (YYYY/MM/DD/HH, UTC), else by its modification time, then by its path. So the
/// order of files makes no difference, and the same file again changes nothing.
///
/// A log of Mozilla's (PERFHERDER_DATA, TALOSDATA) or a message to its graph server may name the
/// commit and the time of the run, too. Suite, machine, branch, version and options of the run
/// become keys of its traces; a key of --key with the same name replaces them.
///
/// New commits of the repository's first-parent line are added first, numbered from 0. A file whose
/// commit is not on the line yet waits, and is taken by the first ingest after it is. In a folder,
/// files that can't be read are listed, and all others are taken.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint ingest --commit HEAD --key os=linux,bot=a results/
  pinpoint ingest --commit v1.2 target/criterion
  pinpoint ingest --dataset nano perf-data/2026/11
  pinpoint ingest      # only new commits, and the files that wait for them

Exit codes:
  0    everything was taken, or waits for its commit
  1    the store or the repository can't be used
  2    the command line or a file was wrong; the other files are taken
  130  interrupted: the same command takes the rest")]
pub(crate) struct Ingest {
    #[command(flatten)]
    pub(crate) dataset: DatasetOption,
    /// The commit that was measured: a branch, a tag, a hash, HEAD~20, or CP: and its number. Files
    /// in Skia's formats name theirs; that of a log of Mozilla's is replaced.
    #[arg(long, value_name = "REV")]
    pub(crate) commit: Option<String>,
    /// The keys of all traces, as in os=linux,bot=a; may be repeated. Files in Skia's formats have
    /// their own.
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = key_values)]
    pub(crate) key: Vec<Vec<(String, String)>>,
    /// The format of the files: auto, skia, or one of those of `compare`.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: FileFormat,
    /// The value of a subtest in a log of Mozilla's that counts: filtered (as Perfherder takes it),
    /// mean, median, min, max, or replicates [default: filtered].
    #[arg(long, value_name = "VALUES")]
    pub(crate) talos_values: Option<TalosValues>,
    /// The value of a metric with several in a file, as with --talos-values replicates.
    #[arg(long, value_name = "METHOD", default_value = "median")]
    pub(crate) aggregate: Aggregate,
    /// Take only files whose key names this branch, or no branch; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Vec<String>,
    /// The repository, or any directory inside it [default: the current directory, if that is in
    /// one].
    #[arg(short = 'C', long = "repo", alias = "repository", value_name = "DIR")]
    pub(crate) repository: Option<PathBuf>,
    /// The commit whose first-parent line is numbered [default: the main branch: that of origin's
    /// HEAD, main, or master; HEAD where none of them exists].
    #[arg(long, value_name = "REV")]
    pub(crate) main: Option<String>,
    /// Files of results, folders of them, or folders of Criterion.rs.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// The format of a file for the history.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FileFormat {
    /// Those of Skia Perf.
    Skia,
    /// Charts; with `auto`, Skia's are recognized, too.
    Charts(Format),
}

impl FromStr for FileFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        match text {
            "skia" => Ok(Self::Skia),
            _ => Ok(Self::Charts(text.parse()?)),
        }
    }
}

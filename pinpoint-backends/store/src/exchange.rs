//! Jobs as JSON Lines: the form of exports and imports.
//!
//! The first line names the format. Each job is a line, followed by a line for each of its records
//! and for each piece of its files, and the last line counts jobs and records, so that a truncation
//! is noticed. The store's JSON is passed on as text: no number changes.
//!
//! Imports come from anywhere: they are checked line by line while they are read, within
//! limits, and nothing of a refused import is kept.

use pinpoint_core::JobState;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::CancelRequest;

/// The version of the lines that this program writes. It reads earlier ones, too: in the first one
/// jobs have no files, and in the second one requests to end them no reasons.
pub(super) const VERSION: u32 = 3;

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    /// The first one.
    PinpointJobs {
        version: u32,
    },
    Job(Box<JobLine>),
    /// Belongs to the last job before it.
    Record(RecordLine),
    /// A piece of a file of the last job before it.
    File(FileLine),
    /// The last one.
    End {
        jobs: u64,
        records: u64,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobLine {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) state: JobState,
    pub(super) created: i64,
    pub(super) updated: i64,
    pub(super) duration: Option<i64>,
    pub(super) name: String,
    pub(super) benchmark: String,
    pub(super) bot: String,
    pub(super) user: String,
    pub(super) repository: String,
    pub(super) title: String,
    pub(super) error: Option<String>,
    pub(super) journal_version: u32,
    pub(super) written_by: String,
    pub(super) cancel_requested: bool,
    #[serde(default)]
    pub(super) cancel: Option<CancelRequest>,
    pub(super) spec: Box<RawValue>,
    pub(super) config: Box<RawValue>,
    pub(super) outcome: Option<Box<RawValue>>,
    pub(super) records: u64,
    /// Pieces of files.
    #[serde(default)]
    pub(super) files: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileLine {
    pub(super) name: String,
    /// Of the file up to the end of this piece.
    pub(super) size: i64,
    /// Compressed, in Base64.
    pub(super) content: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordLine {
    pub(super) recorded: i64,
    pub(super) event: Box<RawValue>,
    pub(super) detail: Option<Box<RawValue>>,
    pub(super) withdrawn: bool,
}

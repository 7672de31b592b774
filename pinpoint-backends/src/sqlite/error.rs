//! What can go wrong between a job and its file.

use std::io;
use std::path::{Path, PathBuf};

use pinpoint_core::{JobState, JournalError};

use super::JobId;

/// The store could not do what it was asked. What it acknowledged before
/// stands.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state directory cannot be made or used.
    #[error("cannot use {}: {source}; make it writable, or name another directory with --state-dir", .path.display())]
    Directory {
        /// The directory or the file in it.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open {}; check that it may be read and written", .path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: sqlx::Error,
    },
    /// A newer pinpoint has written the file.
    #[error("{} has version {found}, and this pinpoint reads up to {supported}; use a newer pinpoint, or another directory with --state-dir", .path.display())]
    Newer {
        /// The version of the file.
        found: u32,
        /// The last version that this program knows.
        supported: u32,
        /// The file.
        path: PathBuf,
    },
    /// The file is a database of another program.
    #[error("{} belongs to another program; name another directory with --state-dir", .path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The file is no database, or a damaged one.
    #[error("{} is damaged or no database, and was left as it is; move it away to begin anew, or restore a copy", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: sqlx::Error,
    },
    /// A row is not what this program writes.
    #[error("{} is damaged at {place}; restore a copy, or start the job anew", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The job, and what of it.
        place: String,
        /// What is wrong there.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no room.
    #[error("the disk is full: {} cannot grow; nothing that was recorded is lost: free some space, then continue with `pinpoint jobs resume`", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: sqlx::Error,
    },
    /// The disk failed.
    #[error("{} cannot be read or written ({source}); what was recorded before stands: check the disk and its free space, then continue with `pinpoint jobs resume`", .path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: sqlx::Error,
    },
    /// Another process keeps the file to itself.
    #[error("{} is kept busy by another process; end it, then try again", .path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// What SQLite says, if it was asked.
        source: Option<sqlx::Error>,
    },
    /// Anything else that SQLite says.
    #[error("{} failed: {source}", .path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: sqlx::Error,
    },
    /// No job has a name that begins so.
    #[error("there is no job {prefix}; `pinpoint jobs list` shows those that there are")]
    Unknown {
        /// What was asked for.
        prefix: String,
    },
    /// Several jobs have names that begin so.
    #[error("{prefix} may be any of {}; give more of the name", list(.matches))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Jobs with such a name, newest first; ten at most.
        matches: Vec<JobId>,
    },
    /// A job does not go from the one state to the other.
    #[error(
        "job {id} is {from} and cannot become {to}; `pinpoint jobs show {id}` tells how it came there"
    )]
    Transition {
        /// The job.
        id: JobId,
        /// Its state.
        from: JobState,
        /// The state that was asked for.
        to: JobState,
    },
    /// The journal's records are of a version that this program lacks.
    #[error(
        "job {id} was written by pinpoint {written_by} in journal version {found}, and this pinpoint reads version {supported}; use pinpoint {written_by}"
    )]
    JournalVersion {
        /// The job.
        id: JobId,
        /// The version of its journal.
        found: u32,
        /// The version that this program reads.
        supported: u32,
        /// The version of pinpoint that wrote it.
        written_by: String,
    },
    /// Another process has written to the same journal.
    #[error(
        "another process works on job {id}: it has written record {sequence}; nothing was overwritten: end one of the two, then continue with `pinpoint jobs resume {id}`"
    )]
    SecondWriter {
        /// The job.
        id: JobId,
        /// The record that both wanted to write.
        sequence: i64,
    },
    /// A record was being written when its writer was dropped, so that it may
    /// be in the journal or not.
    #[error(
        "writing to the journal of job {id} was broken off; open it anew, with `pinpoint jobs resume {id}`"
    )]
    BrokenOff {
        /// The job.
        id: JobId,
    },
    /// The record holds NaN or an infinity, which the journal cannot hold.
    #[error(
        "a record for job {id} holds {value} in {place}; an executor reports finite numbers only, and a failed run otherwise"
    )]
    NotFinite {
        /// The job.
        id: JobId,
        /// Where in the record.
        place: String,
        /// The number.
        value: f64,
    },
    /// A value cannot be written as JSON.
    #[error("{what} cannot be written as JSON; maps need keys of text")]
    NotJson {
        /// What it is.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
}

fn list(ids: &[JobId]) -> String {
    let ids: Vec<&str> = ids.iter().map(JobId::as_str).collect();
    ids.join(", ")
}

/// SQLite's primary result codes, <https://www.sqlite.org/rescode.html>.
mod code {
    pub(super) const BUSY: u32 = 5;
    pub(super) const READONLY: u32 = 8;
    pub(super) const IOERR: u32 = 10;
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const FULL: u32 = 13;
    pub(super) const CANTOPEN: u32 = 14;
    pub(super) const PROTOCOL: u32 = 15;
    pub(super) const NOTADB: u32 = 26;
}

impl StoreError {
    /// Sorts what SQLite says by what somebody can do about it.
    pub(super) fn from_database(path: &Path, source: sqlx::Error) -> Self {
        let path = path.to_owned();
        match primary_code(&source) {
            Some(code::BUSY | code::PROTOCOL) => Self::Busy {
                path,
                source: Some(source),
            },
            Some(code::READONLY | code::CANTOPEN) => Self::CannotOpen { path, source },
            Some(code::IOERR) => Self::Disk { path, source },
            Some(code::CORRUPT | code::NOTADB) => Self::Corrupt { path, source },
            Some(code::FULL) => Self::Full { path, source },
            _ => Self::Database { path, source },
        }
    }
}

/// The low byte of a result code; the rest refines it.
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<u32>().ok().map(|code| code & 0xff)
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        Self(Box::new(error))
    }
}

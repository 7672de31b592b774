//! Errors of the store.

use std::io;
use std::path::PathBuf;

use pinpoint_core::{JobState, JournalError};

use super::database::Dialect;
use super::database_error::DatabaseError;
use super::{JobId, JobPrefix, NoJobId, QuotaLimit};

/// An operation of the store failed. Acknowledged changes are still stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The job has started: its configuration can no longer change.
    #[error("job {id} has begun, so its configuration can no longer change")]
    Begun {
        /// The job.
        id: JobId,
    },
    /// The state directory cannot be made or used.
    #[error("cannot use {}: {source}; make it writable, or choose another state directory", .path.display())]
    Directory {
        /// The directory or the file in it.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open {store}; check that it may be read and written")]
    CannotOpen {
        /// The file or database.
        store: String,
        /// The error of the database.
        source: DatabaseError,
    },
    /// A newer pinpoint has written the file.
    #[error(
        "{store} has version {found}, and this pinpoint reads up to {supported}; use a newer pinpoint, or another state directory"
    )]
    Newer {
        /// The version of the file.
        found: u32,
        /// The last version that this program knows.
        supported: u32,
        /// The file or database.
        store: String,
    },
    /// The file belongs to another program.
    #[error(
        "{store} belongs to another program; choose another state directory, or another database"
    )]
    NotOurs {
        /// The file or database.
        store: String,
    },
    /// The database does not answer, or denies access.
    #[error("cannot reach {store}: {source}; check the address, the server and your access to it")]
    Unreachable {
        /// The database.
        store: String,
        /// The reason.
        source: DatabaseError,
    },
    /// The address is not that of a store.
    #[error(
        "{url:?} is not the address of a store ({reason}); name a database as postgres://USER@HOST/DATABASE"
    )]
    Address {
        /// The URL given.
        url: String,
        /// The problem.
        reason: String,
    },
    /// The file is not a valid database.
    #[error(
        "{store} is damaged or not a database; it was not modified. Move it aside to start fresh, or restore a copy"
    )]
    Corrupt {
        /// The file or database.
        store: String,
        /// The error of the database.
        source: DatabaseError,
    },
    /// A row is not in the form that this program writes.
    #[error("{store} is damaged at {place}; restore a copy, or start the job again")]
    Damaged {
        /// The file or database.
        store: String,
        /// The job, and the part of it.
        place: String,
        /// The problem there.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The disk is full.
    #[error(
        "the disk is full: {store} cannot grow; nothing that was recorded is lost. Free some space, then resume the job"
    )]
    Full {
        /// The file or database.
        store: String,
        /// The error of the database.
        source: DatabaseError,
    },
    /// The disk failed.
    #[error(
        "{store} cannot be read or written ({source}); earlier records are kept. Check the disk and its free space, then resume the job"
    )]
    Disk {
        /// The file or database.
        store: String,
        /// The error of the database.
        source: DatabaseError,
    },
    /// Another process has held the lock of the file for too long.
    #[error("{store} is locked by another process; end that process, then try again")]
    Busy {
        /// The file or database.
        store: String,
        /// The error of the database, if it was asked.
        source: Option<DatabaseError>,
    },
    /// Any other error of the database.
    #[error("{store} failed: {source}")]
    Database {
        /// The file or database.
        store: String,
        /// The error of the database.
        source: DatabaseError,
    },
    /// No job id has this prefix.
    #[error("there is no job {}", brief(.prefix))]
    Unknown {
        /// The id or the prefix asked for, which may be no prefix of an id.
        prefix: String,
    },
    /// Several job ids have this prefix.
    #[error("{} may be any of {}; give more of the id", brief(.prefix.as_str()), list(.matches))]
    Ambiguous {
        /// The prefix asked for.
        prefix: JobPrefix,
        /// Jobs with such an id, newest first; ten at most.
        matches: Vec<JobId>,
    },
    /// Another worker holds the job.
    #[error("job {id} is leased by {owner} (expires in {seconds} s); wait, or cancel the job")]
    Leased {
        /// The job.
        id: JobId,
        /// The worker that holds it.
        owner: String,
        /// The seconds after which the lease expires if it is not renewed.
        seconds: i64,
    },
    /// The lease expired and another worker took the job, or the job was removed. Nothing
    /// was written; an earlier attempt, over a connection that broke, may
    /// have been.
    #[error(
        "another worker has taken over job {id}, or it was removed; this process stopped writing to it"
    )]
    LeaseLost {
        /// The job.
        id: JobId,
    },
    /// The input is not a valid export.
    #[error("line {line}: {reason}; nothing was imported")]
    Import {
        /// The line, counted from 1.
        line: u64,
        /// The problem there.
        reason: String,
    },
    /// The export cannot be read or written.
    #[error("the export cannot be read or written: {source}")]
    Exchange {
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file is too large to go with a job.
    #[error("{name} has more than {} MiB, and cannot be kept with the job", super::MOST_FILE_BYTES >> 20)]
    FileTooLarge {
        /// Its name.
        name: String,
    },
    /// The preferences of a user are too long. Nothing was written.
    #[error("the preferences have more than {} KiB", super::MOST_PREFERENCES_BYTES >> 10)]
    PreferencesTooLong,
    /// The idempotency key was given for another request within the last day.
    #[error(
        "the idempotency key {:?} was already used for another request; use a new key for each request",
        brief(.key)
    )]
    KeyReused {
        /// The key.
        key: String,
    },
    /// The user has reached a limit. Nothing was written.
    #[error("{} has reached the limit of {most} {limit}", brief(.user))]
    QuotaReached {
        /// The user.
        user: String,
        /// The limit.
        limit: QuotaLimit,
        /// Its value.
        most: u32,
        /// The time at which a place becomes free, in milliseconds since 1970; absent where that
        /// depends on the end of a job.
        until: Option<i64>,
    },
    /// A token of this name exists; it may have expired.
    #[error("a token named {:?} already exists; choose another name", brief(.name))]
    TokenExists {
        /// The name.
        name: String,
    },
    /// No token has this name.
    #[error("there is no token {:?}", brief(.name))]
    NoToken {
        /// The name asked for.
        name: String,
    },
    /// The operating system's random number generator failed.
    #[error("the operating system's random number generator failed")]
    NoRandomness,
    /// The job cannot change from the one state to the other.
    #[error("job {id} is {from} and cannot become {to}")]
    Transition {
        /// The job.
        id: JobId,
        /// Its state.
        from: JobState,
        /// The state asked for.
        to: JobState,
    },
    /// The journal's records are of a version that this program lacks.
    #[error(
        "job {id} was written by pinpoint {written_by} in journal version {found}, and this pinpoint reads up to version {supported}; use pinpoint {written_by}"
    )]
    JournalVersion {
        /// The job.
        id: JobId,
        /// The version of its journal.
        found: u32,
        /// The last version that this program reads.
        supported: u32,
        /// The version of pinpoint that wrote it.
        written_by: String,
    },
    /// Another process has written to the same journal.
    #[error(
        "another process writes to the journal of job {id}: record {sequence} exists already. Nothing was overwritten. End one of the two, then resume the job"
    )]
    SecondWriter {
        /// The job.
        id: JobId,
        /// The record that both wanted to write.
        sequence: i64,
    },
    /// A record was being written when its writer was dropped or the connection
    /// broke, so that it may be in the journal or not.
    #[error("a write to the journal of job {id} was interrupted; resume the job")]
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
        /// The place in the record.
        place: String,
        /// The number.
        value: f64,
    },
    /// A value cannot be written as JSON.
    #[error("{what} cannot be written as JSON; maps need keys of text")]
    NotJson {
        /// Its kind.
        what: String,
        /// The reason.
        source: serde_json::Error,
    },
}

/// The most characters of other programs' text in a message.
const BRIEF: usize = 300;

/// The text, cut off where it gets long: it may be a number of a million digits.
pub(super) fn brief(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

fn list(ids: &[JobId]) -> String {
    let ids: Vec<&str> = ids.iter().map(JobId::as_str).collect();
    ids.join(", ")
}

/// The errors of a database, by their remedy.
enum DatabaseErrorKind {
    Busy,
    Forbidden,
    Disk,
    Corrupt,
    Full,
    Unreachable,
    Other,
}

impl StoreError {
    /// Returns whether the same operation may succeed shortly: the connection broke, or the server
    /// is starting or stopping. Pending writes may have taken effect.
    #[doc(hidden)]
    pub fn is_passing(&self) -> bool {
        let (Self::Unreachable { source, .. }
        | Self::Busy {
            source: Some(source),
            ..
        }) = self
        else {
            return false;
        };
        match &source.0 {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
            error => error
                .as_database_error()
                .and_then(|error| error.code())
                .is_some_and(|code| {
                    // SQLite waits before it reports busy.
                    code.starts_with("08")
                        || code.starts_with("57P")
                        || matches!(&*code, "25P03" | "40001" | "40P01" | "53300")
                }),
        }
    }

    /// Returns whether the store or its place is in trouble, and not the job: the same operation
    /// may succeed later, or for another process.
    #[doc(hidden)]
    pub fn is_of_store(&self) -> bool {
        match self {
            Self::Directory { .. }
            | Self::CannotOpen { .. }
            | Self::Newer { .. }
            | Self::NotOurs { .. }
            | Self::Unreachable { .. }
            | Self::Corrupt { .. }
            | Self::Full { .. }
            | Self::Disk { .. }
            | Self::Busy { .. }
            | Self::Database { .. }
            | Self::Leased { .. }
            | Self::LeaseLost { .. }
            | Self::SecondWriter { .. }
            | Self::BrokenOff { .. }
            | Self::NoRandomness => true,
            Self::Begun { .. }
            | Self::Address { .. }
            | Self::Damaged { .. }
            | Self::Unknown { .. }
            | Self::Ambiguous { .. }
            | Self::Import { .. }
            | Self::Exchange { .. }
            | Self::FileTooLarge { .. }
            | Self::PreferencesTooLong
            | Self::KeyReused { .. }
            | Self::QuotaReached { .. }
            | Self::TokenExists { .. }
            | Self::NoToken { .. }
            | Self::Transition { .. }
            | Self::JournalVersion { .. }
            | Self::NotFinite { .. }
            | Self::NotJson { .. } => false,
        }
    }

    #[doc(hidden)]
    pub fn from_database(store: &str, dialect: Dialect, source: sqlx::Error) -> Self {
        let store = store.to_owned();
        let kind = trouble(dialect, &source);
        let source = DatabaseError(source);
        match kind {
            DatabaseErrorKind::Busy => Self::Busy {
                store,
                source: Some(source),
            },
            DatabaseErrorKind::Forbidden => Self::CannotOpen { store, source },
            DatabaseErrorKind::Disk => Self::Disk { store, source },
            DatabaseErrorKind::Corrupt => Self::Corrupt { store, source },
            DatabaseErrorKind::Full => Self::Full { store, source },
            DatabaseErrorKind::Unreachable => Self::Unreachable { store, source },
            DatabaseErrorKind::Other => Self::Database { store, source },
        }
    }
}

fn trouble(dialect: Dialect, error: &sqlx::Error) -> DatabaseErrorKind {
    let code = match error {
        sqlx::Error::PoolTimedOut => {
            return match dialect {
                Dialect::Sqlite => DatabaseErrorKind::Busy,
                Dialect::Postgres => DatabaseErrorKind::Unreachable,
            };
        }
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) => return DatabaseErrorKind::Unreachable,
        error => error.as_database_error().and_then(|error| error.code()),
    };
    let Some(code) = code else {
        return DatabaseErrorKind::Other;
    };
    match dialect {
        // The low byte is the primary result code, the rest refines it:
        // <https://www.sqlite.org/rescode.html>.
        Dialect::Sqlite => match code.parse::<u32>().unwrap_or_default() & 0xff {
            5 | 15 => DatabaseErrorKind::Busy,
            8 | 14 => DatabaseErrorKind::Forbidden,
            10 => DatabaseErrorKind::Disk,
            11 | 26 => DatabaseErrorKind::Corrupt,
            13 => DatabaseErrorKind::Full,
            _ => DatabaseErrorKind::Other,
        },
        // The first two characters are the class:
        // <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
        Dialect::Postgres => match &*code {
            "40001" | "40P01" | "55P03" => DatabaseErrorKind::Busy,
            "42501" | "25006" => DatabaseErrorKind::Forbidden,
            "53100" => DatabaseErrorKind::Full,
            "58030" => DatabaseErrorKind::Disk,
            "XX001" | "XX002" => DatabaseErrorKind::Corrupt,
            "25P03" | "3D000" | "53300" => DatabaseErrorKind::Unreachable,
            code if code.starts_with("08") || code.starts_with("28") => {
                DatabaseErrorKind::Unreachable
            }
            code if code.starts_with("57P") => DatabaseErrorKind::Unreachable,
            _ => DatabaseErrorKind::Other,
        },
    }
}

/// A text that is not a job id names no job.
impl From<NoJobId> for StoreError {
    fn from(NoJobId(prefix): NoJobId) -> Self {
        Self::Unknown { prefix }
    }
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        Self(Box::new(error))
    }
}

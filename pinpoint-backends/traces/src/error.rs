//! Errors of a history.

use pinpoint_store::StoreError;
use pinpoint_traces::watch::{AlertError, AlertId, WatchError};
use pinpoint_traces::{
    AnnotationError, CommitError, CommitNumber, EvaluateError, FrameError, Tile,
};

/// An error of a [`TraceStore`](super::TraceStore). Nothing was written, unless the database lost
/// its connection just then; the same operation may be done again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceStoreError {
    /// The database: newer, not ours, out of reach, full, damaged.
    #[error(transparent)]
    Database(#[from] StoreError),
    /// Something in the store is not in the form that this program writes.
    #[error("{store} is damaged at {place} ({reason}); restore a copy, or ingest its files again")]
    Damaged {
        /// The file or database.
        store: String,
        /// The thing that is damaged.
        place: String,
        /// The problem there.
        reason: String,
    },
    /// A row can't be read.
    #[error("a row of the history can't be read: {0}")]
    Row(String),
    /// The store has no such dataset.
    #[error("there is no dataset `{0}` in the store; ingest results into it first")]
    NoDataset(String),
    /// A tile has no values, or was removed.
    #[error("{tile} of dataset `{dataset}` does not exist")]
    NoTile {
        /// The dataset.
        dataset: String,
        /// The tile.
        tile: Tile,
    },
    /// There can be no such tile or commit.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A frame would not fit into memory.
    #[error(
        "{traces} traces at {commits} commits are too many values for one frame; read fewer commits, or a tile of a greater scale"
    )]
    TooLarge {
        /// The number of traces.
        traces: usize,
        /// The number of commits.
        commits: usize,
    },
    /// A query matches more traces than were asked for.
    #[error(
        "{found} traces match, which are more than the limit of {limit}; narrow the query, or raise the limit"
    )]
    TooMany {
        /// The number that match.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// A commit's number is taken by another one, or the commit has another number.
    #[error("commit {hash} can't have the number {number}: {reason}. Is it of another repository?")]
    OtherCommit {
        /// The hash.
        hash: String,
        /// The number.
        number: CommitNumber,
        /// The commit or number that is known.
        reason: String,
    },
    /// A value is NaN or infinite.
    #[error("{path} has {value} as value of {trace}; a history holds finite numbers")]
    NotFinite {
        /// The file of results.
        path: String,
        /// The trace.
        trace: String,
        /// The value.
        value: f64,
    },
    /// The shortcut does not exist.
    #[error("there is no shortcut {0}")]
    NoShortcut(String),
    /// Shortcuts hold formulas with shortcuts, and so on.
    #[error(
        "shortcuts in formulas of shortcuts are nested more than {0} deep; name the traces instead"
    )]
    NestedShortcuts(usize),
    /// A formula can't be computed with its traces.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// Values don't fit into a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The store has no file of this change under review.
    #[error("there is no try {issue}/{patchset}")]
    NoTry {
        /// The change.
        issue: String,
        /// Its version.
        patchset: String,
    },
    /// An annotation can't be kept.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// The annotation does not exist, or was deleted.
    #[error("there is no annotation {0}")]
    NoAnnotation(u64),
    /// An alert can't be kept.
    #[error(transparent)]
    Alert(#[from] AlertError),
    /// The alert does not exist.
    #[error("there is no alert {0}")]
    NoAlert(AlertId),
    /// An event does not fit the state of the watch, or a newer program wrote it.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// Another process has appended to the log of the watch.
    #[error(
        "the log of the watch has {found} events now, and {known} were known: another process appended to it; read it again"
    )]
    WatchConflict {
        /// The number of events that the writer knew.
        known: u64,
        /// The number of events that there are.
        found: u64,
    },
    /// The dataset has as many traces, sources or commits as it can.
    #[error("the dataset has no room for more {0}")]
    Exhausted(&'static str),
    /// A thread that worked on blocks ended early.
    #[error("the work on a tile was interrupted")]
    Interrupted,
}

impl From<sqlx::Error> for TraceStoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Row(error.to_string())
    }
}

//! The memory of a job: facts, each written once, before it counts.
//!
//! A job is its spec and its journal: the events that a machine handles, the names of commits and
//! the work under way follow from them (see [`Engine`](crate::Engine)).

mod version_1;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use self::version_1::{DetailVersion1, RecordVersion1};
use crate::{Report, Ticket};

/// A fact of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "it is written down and read, one at a time"
)]
pub enum Record {
    /// Work was started that outlives the process: the next process that drives the
    /// job waits for the same ticket.
    Started {
        /// The action.
        action: u64,
        /// The work.
        ticket: Ticket,
    },
    /// The executor answered.
    Reported {
        /// The action answered.
        action: u64,
        /// The answer.
        report: Report,
    },
    /// The infrastructure failed, and retries did not help.
    GaveUp {
        /// The action.
        action: u64,
        /// The reason, in one line.
        reason: String,
    },
    /// An action was ended.
    #[serde(rename = "cancelled")]
    Canceled {
        /// The number of the [`Task::Cancel`](crate::Task::Cancel).
        action: u64,
    },
    /// The user wants the search to end.
    CancelRequested,
    /// The job's clock, for searches with a budget of time.
    TimePassed {
        /// Milliseconds spent so far.
        elapsed: u64,
    },
}

impl Record {
    /// The action that this is about.
    pub fn action(&self) -> Option<u64> {
        match self {
            Self::Started { action, .. }
            | Self::Reported { action, .. }
            | Self::GaveUp { action, .. }
            | Self::Canceled { action } => Some(*action),
            Self::CancelRequested | Self::TimePassed { .. } => None,
        }
    }
}

/// The job of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobKey {
    /// Its id.
    pub id: String,
    /// The time of its creation, in milliseconds since 1970.
    pub created: u64,
}

/// A journal could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Keeps the records of one job, in order.
#[async_trait]
pub trait Journal: Send {
    /// The job whose journal this is.
    fn job(&self) -> JobKey;

    /// Hands out every record so far, oldest first, one at a time.
    async fn replay(&mut self, each: &mut (dyn FnMut(Record) + Send)) -> Result<(), JournalError>;

    /// Adds a record. It survives the death of the process once this returns.
    async fn append(&mut self, record: &Record) -> Result<(), JournalError>;
}

/// A journal that ends with its process: for tests, and for jobs that need not
/// survive.
#[derive(Debug, Clone)]
pub struct MemoryJournal {
    job: JobKey,
    /// The records so far, oldest first.
    pub records: Vec<Record>,
}

impl MemoryJournal {
    /// The journal of a new job, created at the beginning of 1970.
    pub fn new(job: impl Into<String>) -> Self {
        Self {
            job: JobKey {
                id: job.into(),
                created: 0,
            },
            records: Vec::new(),
        }
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    fn job(&self) -> JobKey {
        self.job.clone()
    }

    async fn replay(&mut self, each: &mut (dyn FnMut(Record) + Send)) -> Result<(), JournalError> {
        self.records.iter().cloned().for_each(each);
        Ok(())
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.records.push(record.clone());
        Ok(())
    }
}

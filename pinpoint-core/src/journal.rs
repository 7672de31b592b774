//! The memory of a job: every event, written before it is handled.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{BuildReport, Event, Listing, PairReport, RunReport};

/// An event with all that was learned with it.
///
/// The machine needs the event; the detail is for people, and for naming
/// commits again after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What the machine is told.
    pub event: Event,
    /// What is known beyond that.
    #[serde(default)]
    pub detail: Option<Detail>,
}

impl From<Event> for Record {
    fn from(event: Event) -> Self {
        Self {
            event,
            detail: None,
        }
    }
}

/// The executor's whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// With [`Event::Listed`].
    Listed(Listing),
    /// With [`Event::Built`] and [`Event::BuildFailed`].
    Build(BuildReport),
    /// With [`Event::Ran`] and [`Event::RunFailed`].
    Run(RunReport),
    /// With [`Event::RanPair`].
    RunPair(Box<PairReport>),
}

/// A journal could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Keeps the records of one job, in order.
#[async_trait]
pub trait Journal: Send {
    /// The job whose journal this is.
    fn job(&self) -> &str;

    /// Every record so far, oldest first.
    async fn records(&mut self) -> Result<Vec<Record>, JournalError>;

    /// Adds a record. It survives the death of the process once this returns.
    async fn append(&mut self, record: &Record) -> Result<(), JournalError>;
}

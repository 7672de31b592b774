//! A job as the store keeps it.

use std::fmt;

use pinpoint_core::JobState;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of a job: 32 hexadecimal digits, the first 12 of which are its
/// time of creation, so that names sort by age (UUID version 7, RFC 9562).
/// 74 bits are random: nobody guesses one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub(super) String);

impl JobId {
    pub(super) fn new() -> Self {
        Self(uuid::Uuid::now_v7().simple().to_string())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// What a job is created from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewJob {
    /// The machine that runs it: `bisection`, `pairwise` or `culprit_finder`.
    pub kind: String,
    /// What people call it: the command line.
    pub title: String,
    /// The repository that it searches.
    pub repository: String,
    /// What the machine is made from.
    pub spec: Value,
    /// What the executor is made from.
    pub config: Value,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// The machine that runs it.
    pub kind: String,
    /// Where it stands.
    pub state: JobState,
    /// Milliseconds since 1970.
    pub created: i64,
    /// When its state changed last, in milliseconds since 1970.
    pub updated: i64,
    /// The repository that it searches.
    pub repository: String,
    /// What people call it.
    pub title: String,
    /// What the machine is made from.
    pub spec: Value,
    /// What the executor is made from.
    pub config: Value,
    /// How it ended, once it has.
    pub outcome: Option<Value>,
    /// Why it failed, if it has.
    pub error: Option<String>,
    /// The version of its journal's records.
    pub journal_version: u32,
    /// The version of pinpoint that created it.
    pub written_by: String,
}

/// A job in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSummary {
    /// Its name.
    pub id: JobId,
    /// The machine that runs it.
    pub kind: String,
    /// Where it stands.
    pub state: JobState,
    /// Milliseconds since 1970.
    pub created: i64,
    /// When its state changed last, in milliseconds since 1970.
    pub updated: i64,
    /// The repository that it searches.
    pub repository: String,
    /// What people call it.
    pub title: String,
    /// Why it failed, if it has.
    pub error: Option<String>,
    /// Executions of the benchmark so far, failed ones too.
    pub runs: u64,
    /// Commits built so far, failed ones not.
    pub builds: u64,
}

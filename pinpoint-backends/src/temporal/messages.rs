//! The data that workflows and activities exchange.

use std::collections::BTreeMap;
use std::time::Duration;

use pinpoint_core::translate::essential;
use pinpoint_core::{Charts, Record, Request, Task, Ticket};
use serde::{Deserialize, Serialize};

use crate::store::{CancelRequest, Job, Placed};

/// The queue of workflows, and of activities that need only the store.
pub(crate) const QUEUE: &str = "pinpoint";

/// The queue of the runs of a bot.
pub(crate) fn bot_queue(bot: &str) -> String {
    format!("{QUEUE}.bot.{bot}")
}

/// The queue of the builds of a bot.
pub(crate) fn build_queue(bot: &str) -> String {
    format!("{QUEUE}.build.{bot}")
}

/// The queue of the runs that have to be made on one machine.
pub(crate) fn machine_queue(machine: &str) -> String {
    format!("{QUEUE}.machine.{machine}")
}

/// Limits on the time that activities may take.
///
/// A job's own [`Limits`](pinpoint_core::Limits) count as well. A try that takes longer is ended,
/// and fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeLimits {
    /// For a build, or for listing commits.
    pub build: Duration,
    /// For a run, in addition to the build that its machine may have to make first.
    pub run: Duration,
    /// For the time until a machine is free.
    pub queue: Duration,
    /// For the time without a sign of life, after which work is given to another worker.
    pub heartbeat: Duration,
}

impl Default for TimeLimits {
    /// Four hours, 45 minutes, a day and half a minute.
    fn default() -> Self {
        const MINUTE: u64 = 60;
        Self {
            build: Duration::from_secs(240 * MINUTE),
            run: Duration::from_secs(45 * MINUTE),
            queue: Duration::from_secs(24 * 60 * MINUTE),
            heartbeat: Duration::from_secs(30),
        }
    }
}

impl TimeLimits {
    /// The limit for a try of a task. Machines that share no builds have to build what they
    /// run.
    pub(crate) fn for_task(&self, task: &Task) -> Duration {
        match task {
            Task::List { .. } | Task::Build { .. } | Task::Cancel { .. } => self.build,
            Task::Run { .. } | Task::FindMetric { .. } => self.build + self.run,
            // Another task may take as long as any.
            _ => (self.build + self.run) * 2,
        }
    }
}

/// The input of the workflow of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobInput {
    pub(crate) job: String,
    /// The identity of the store that has the job; absent in workflows of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) store: String,
    pub(crate) bot: String,
    pub(crate) limits: TimeLimits,
    /// True if an earlier workflow of the job, or an earlier run of this one, was paused.
    #[serde(default)]
    pub(crate) paused: bool,
    /// The unrecorded cancel request of the earlier run.
    #[serde(default)]
    pub(crate) cancel: Option<CancelRequest>,
}

/// The job at the start of a workflow's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InitialJob {
    /// Without its outcome, and without its configuration except the metric to find.
    pub(crate) job: Job,
    /// The machines that serve the bot.
    pub(crate) machines: u32,
}

/// An action to carry out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Work {
    /// The identity of the store that has the job; absent in workflows of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) store: String,
    pub(crate) request: Request,
    /// The policy for temporary trouble.
    pub(crate) retry: pinpoint_core::RetryPolicy,
    /// The limit for a try, from its ticket to its answer.
    pub(crate) longest_try: Duration,
    /// The last record that the workflow had when it sent the request.
    pub(crate) after: Option<i64>,
}

/// The state of an action, from one try to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tried {
    /// Tries that failed.
    pub(crate) failed: u32,
    /// The number of the last try whose worker survived to report its end. Those after it ended
    /// with their worker.
    #[serde(default)]
    pub(crate) ended: u32,
    /// Work in progress elsewhere.
    pub(crate) ticket: Option<Ticket>,
    /// The reasons why machines can't do it, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) unable: BTreeMap<String, String>,
    /// The number of times that machines have found that they can't.
    #[serde(default)]
    pub(crate) attempts: u32,
}

/// A fact from the workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) job: String,
    /// The identity of the store that has the job; absent in workflows of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) store: String,
    /// True if the job is paused from now on, false if resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// Absent to read only.
    pub(crate) record: Option<Record>,
    /// The request to end the job, where that is the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cancel: Option<CancelRequest>,
    /// The last record that the workflow has.
    pub(crate) after: Option<i64>,
}

/// The records of a job after a place in its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Noted {
    pub(crate) records: Vec<Placed>,
    /// True if there are more.
    pub(crate) more: bool,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) job: String,
    /// The identity of the store that has the job; absent in workflows of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) store: String,
    /// The reason why it can't continue.
    pub(crate) refused: Option<String>,
    /// True if no machine can carry it out for now, or, without a reason, if it was paused: it has
    /// not failed.
    #[serde(default)]
    pub(crate) paused: bool,
}

/// The answer of the query `progress`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkflowProgress {
    /// The number of journal records that the workflow has processed.
    pub records: u64,
    /// Runs made so far.
    pub runs: u64,
    /// Commits built so far.
    pub builds: u64,
    /// The actions in progress, by number, and the queues they were given to.
    pub under_way: Vec<ActionInProgress>,
    /// True if nothing new is started.
    pub paused: bool,
    /// The request that ends the job, if there was one.
    pub canceled: Option<CancelRequest>,
    /// True if it has its result.
    pub ended: bool,
}

/// An action in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionInProgress {
    /// Its number.
    pub action: u64,
    /// Its kind.
    pub task: String,
    /// The queue in which it waits, or waited.
    pub queue: String,
}

/// The part of a record that the machine of a workflow needs.
pub(crate) fn essential_of(placed: Placed, charts: &Charts) -> Placed {
    Placed {
        record: essential(placed.record, charts),
        ..placed
    }
}

/// The bytes of a record as text.
pub(crate) fn size(record: &Record) -> usize {
    serde_json::to_string(record).map_or(usize::MAX, |text| text.len())
}

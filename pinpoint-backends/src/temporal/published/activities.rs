//! The activities of published workflows: they create a job in the store, follow it, and cancel it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pinpoint_core::bots::Bots;
use pinpoint_core::job::JobState;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporalio_client::WorkflowDescribeOptions;
use temporalio_common::UntypedWorkflow;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::HEARTBEAT;
use super::INVALID;
use super::answers::message_of;
use super::left::{ORIGIN, origin, was_ended};
use super::parameters::{Name, Parameters};
use crate::job::{self, CancelOptions, JobError, message, stored_result};
use crate::store::{CancelRequest, Job, JobId, JobPrefix, LockError, NewJob, StoreError};
use crate::temporal::failures::{again, from_store, lasting_failure, refused};
use crate::temporal::jobs_here::JobsHere;
use crate::worker::jittered;

/// The least time between checks of a job.
const POLL: Duration = Duration::from_secs(1);

/// The time for which a process working on a job is asked to cancel it, in one try.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(30);

/// The part of these jobs' titles before the id of the workflow.
pub(super) const REQUESTED: &str = ", requested by workflow ";

/// The request of a published workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(super) name: Name,
    /// The input of the workflow.
    pub(super) parameters: Value,
    /// The start of the workflow, in milliseconds since 1970, and unique bits: both make up the id
    /// of the job, so that it is created once.
    pub(super) time: u64,
    pub(super) bits: [u64; 2],
}

/// A job that was created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "CreatedJobForm", into = "CreatedJobForm")]
pub(crate) struct CreatedJob {
    pub(super) job: String,
    /// The identity of the store that has it; empty in workflows of earlier versions.
    store: String,
}

/// Earlier versions have only the id.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CreatedJobForm {
    Id(String),
    InStore { job: String, store: String },
}

impl From<CreatedJobForm> for CreatedJob {
    fn from(form: CreatedJobForm) -> Self {
        let (job, store) = match form {
            CreatedJobForm::Id(job) => (job, String::new()),
            CreatedJobForm::InStore { job, store } => (job, store),
        };
        Self { job, store }
    }
}

impl From<CreatedJob> for CreatedJobForm {
    fn from(made: CreatedJob) -> Self {
        let CreatedJob { job, store } = made;
        match store.is_empty() {
            true => Self::Id(job),
            false => Self::InStore { job, store },
        }
    }
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Followed {
    /// With a result.
    Completed {
        /// The message of the API, in JSON.
        message: Value,
    },
    /// Without one.
    Ended {
        state: JobState,
        reason: Option<String>,
    },
}

#[derive(Clone)]
pub(crate) struct Following {
    pub(crate) jobs: Arc<JobsHere>,
    pub(crate) bots: Bots,
    /// The owner of leases of idle jobs.
    pub(crate) owner: String,
    /// True when the worker has to stop: another one follows the job.
    pub(crate) stopping: Arc<AtomicBool>,
}

#[activities]
impl Following {
    /// Creates the requested job, once.
    #[activity(name = "pinpoint.published.request")]
    pub(crate) async fn request(
        self: Arc<Self>,
        ctx: ActivityContext,
        order: Order,
    ) -> Result<CreatedJob, ActivityError> {
        let invalid = |error: &dyn std::error::Error| {
            ActivityError::from(lasting_failure(INVALID, &error.to_string()))
        };
        let parameters = Parameters::read(order.name, &order.parameters);
        let parameters = parameters.map_err(|error| invalid(&error))?;
        let job = parameters.request.job(&self.bots);
        let job = job.map_err(|error| invalid(&error))?;
        let workflow = ctx.info().workflow_id.as_deref().unwrap_or_default();
        let mut job = NewJob {
            title: format!("{} on {}{REQUESTED}{workflow}", job.benchmark, job.bot),
            ..job
        };
        job.config[ORIGIN] = origin(&ctx.info().namespace, workflow);
        // Another job may have been created at the same moment.
        for later in 0.. {
            let id = JobId::at(order.time + later, order.bits);
            let created = self.jobs.store().jobs().create_once(&id, &job).await;
            if created.map_err(from_store)? {
                let (job, store) = (id.to_string(), self.jobs.identity().to_owned());
                return Ok(CreatedJob { job, store });
            }
        }
        Err(again("there is no time left"))
    }

    /// Waits until a job has ended, and reads its result.
    #[activity(name = "pinpoint.published.follow")]
    pub(crate) async fn follow(
        self: Arc<Self>,
        ctx: ActivityContext,
        made: CreatedJob,
    ) -> Result<Followed, ActivityError> {
        self.jobs.check_store(&made.store)?;
        let job = made.job;
        let beat = async {
            loop {
                // An empty heartbeat can always be serialized.
                let _ = ctx.record_heartbeat(()).await;
                tokio::time::sleep(HEARTBEAT / 3).await;
            }
        };
        tokio::select! {
            biased;
            followed = self.ended(&job) => followed,
            () = ctx.cancelled() => Err(self.left(&ctx, &job).await),
            () = beat => Err(again("no sign of life")),
        }
    }

    /// Ends a job.
    #[activity(name = "pinpoint.published.cancel")]
    pub(crate) async fn cancel(
        self: Arc<Self>,
        _: ActivityContext,
        made: CreatedJob,
    ) -> Result<JobState, ActivityError> {
        self.jobs.check_store(&made.store)?;
        self.canceled(&made.job).await
    }
}

impl Following {
    async fn ended(&self, job: &str) -> Result<Followed, ActivityError> {
        let job = job.parse::<JobPrefix>().map_err(from_store)?;
        loop {
            match self.jobs.store().jobs().find(&job).await {
                Ok(job) if !matches!(job.state, JobState::Pending | JobState::Running) => {
                    return followed(&job);
                }
                Err(error) if !error.is_passing() => return Err(from_store(error)),
                Ok(_) | Err(_) => {}
            }
            if self.stopping.load(Ordering::Relaxed) {
                return Err(again("the worker ends"));
            }
            tokio::time::sleep(jittered(POLL)).await;
        }
    }

    /// Leaves the job, since this activity is canceled. Another worker may follow it; but if the
    /// workflow was ended, the job is canceled, too.
    async fn left(&self, ctx: &ActivityContext, job: &str) -> ActivityError {
        let workflow = ctx.workflow_handle::<UntypedWorkflow>();
        if !self.stopping.load(Ordering::Relaxed)
            && let Some(workflow) = workflow
            && let Ok(found) = workflow.describe(WorkflowDescribeOptions::default()).await
            && was_ended(found.status())
        {
            // Temporal no longer reads an answer of this activity.
            let _ = self.canceled(job).await;
        }
        ActivityError::cancelled()
    }

    pub(super) async fn canceled(&self, job: &str) -> Result<JobState, ActivityError> {
        let id = self.jobs.read(job).await?.id;
        let (store, state_dir) = (self.jobs.store(), self.jobs.state_dir());
        let request = CancelRequest {
            reason: "its workflow was ended".into(),
            ..CancelRequest::default()
        };
        let options = CancelOptions {
            owner: &self.owner,
            state_dir,
            patience: CANCEL_TIMEOUT,
            request: &request,
            worker: None,
        };
        let canceled = job::cancel(store, &id, &options, |_| {}).await;
        canceled.map_err(|error| match error {
            JobError::Locked(LockError::Held { .. })
            | JobError::Store(StoreError::Leased { .. }) => again(message(&error)),
            JobError::Store(error) => from_store(error),
            error => refused(&message(&error)),
        })
    }
}

fn followed(job: &Job) -> Result<Followed, ActivityError> {
    let unreadable = |error: &dyn std::error::Error| {
        refused(&format!("job {} has a result, but {error}", job.id))
    };
    let result = match job.state {
        JobState::Completed => stored_result(job).map_err(|error| unreadable(&error))?,
        _ => None,
    };
    let Some(result) = result else {
        return Ok(Followed::Ended {
            state: job.state,
            reason: job.error.clone(),
        });
    };
    let message = message_of(&result).map_err(|error| unreadable(&error))?;
    Ok(Followed::Completed { message })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_made_job_is_read_as_earlier_versions_wrote_it() {
        for form in [json!("j"), json!({ "job": "j", "store": "s" })] {
            let made: CreatedJob = serde_json::from_value(form.clone()).unwrap();
            assert_eq!(made.job, "j");
            assert_eq!(serde_json::to_value(made).unwrap(), form);
        }
    }
}

//! Jobs whose workflows were ended while no worker followed them, so that their results are not
//! read.

use std::convert::Infallible;
use std::time::Duration;

use pinpoint_core::job::JobState;
use serde_json::{Value, json};
use temporalio_client::{Client, WorkflowDescribeOptions, WorkflowExecutionStatus};
use temporalio_common::UntypedWorkflow;

use super::activities::{Following, REQUESTED};
use crate::store::{JobFilter, ListOrder, PagePosition, StoreError};
use crate::worker::jittered;

/// The time between checks.
const LEFT_JOBS_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// The most jobs of each state that are checked, the newest first.
const MAX_LEFT_JOBS: u32 = 200;

/// The member of a job's configuration that names its workflow.
pub(super) const ORIGIN: &str = "workflow";

pub(super) fn origin(namespace: &str, workflow: &str) -> Value {
    json!({ "namespace": namespace, "id": workflow })
}

/// Checks whether a workflow was ended from outside, rather than by itself.
pub(super) fn was_ended(status: WorkflowExecutionStatus) -> bool {
    matches!(
        status,
        WorkflowExecutionStatus::Terminated
            | WorkflowExecutionStatus::TimedOut
            | WorkflowExecutionStatus::Canceled
    )
}

impl Following {
    /// Cancels such jobs for as long as it is polled.
    pub(crate) async fn cancel_left(&self, client: &Client) -> Infallible {
        loop {
            tokio::time::sleep(jittered(LEFT_JOBS_POLL_INTERVAL)).await;
            // Unknown states are checked again.
            let _ = self.cancel_those_left(client).await;
        }
    }

    async fn cancel_those_left(&self, client: &Client) -> Result<(), StoreError> {
        let store = self.jobs.store();
        for state in [JobState::Pending, JobState::Running] {
            let filter = JobFilter {
                by_workers: true,
                state: Some(state),
                ..JobFilter::default()
            };
            let page = store.jobs().list(
                &filter,
                ListOrder::default(),
                &PagePosition::First,
                MAX_LEFT_JOBS,
            );
            for job in page.await?.jobs {
                if !job.title.contains(REQUESTED) {
                    continue;
                }
                let job = store.jobs().get(&job.id).await?;
                let of = &job.config[ORIGIN];
                if of["namespace"].as_str() != Some(&client.options().namespace) {
                    continue;
                }
                let workflow = of["id"].as_str().unwrap_or_default();
                let handle = client.get_workflow_handle::<UntypedWorkflow>(workflow);
                let described = handle.describe(WorkflowDescribeOptions::default()).await;
                if described.is_ok_and(|it| was_ended(it.status())) {
                    // Another worker may be about to.
                    let _ = self.canceled(job.id.as_str()).await;
                }
            }
        }
        Ok(())
    }
}

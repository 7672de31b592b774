//! The lengths of queues and the numbers of free machines, as gauges for Prometheus.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use temporalio_client::Client;
use temporalio_client::grpc::WorkflowService;
use temporalio_client::tonic::IntoRequest;
use temporalio_common::protos::temporal::api::enums::v1::TaskQueueType;
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::workflowservice::v1::DescribeTaskQueueRequest;

use super::jobs_here::JobsHere;
use super::machines::{free_machines, machines_of};
use super::messages::{bot_queue, build_queue};

/// The time between measurements.
const QUEUE_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Measures the queues and the machines of a worker's bots.
pub(super) struct Queues<'a> {
    pub(super) jobs: Arc<JobsHere>,
    pub(super) client: Client,
    pub(super) namespace: &'a str,
    pub(super) bots: &'a [String],
}

impl Queues<'_> {
    /// Measures for as long as it is polled, if metrics are served.
    pub(super) async fn keep(&self) -> Infallible {
        if !self.jobs.metrics().is_served() {
            return std::future::pending().await;
        }
        loop {
            self.look().await;
            tokio::time::sleep(QUEUE_POLL_INTERVAL).await;
        }
    }

    /// Measures once; unavailable values stay unchanged.
    async fn look(&self) {
        let (store, metrics) = (self.jobs.store(), self.jobs.metrics());
        if let Ok(lines) = store.queue().lengths(self.bots).await {
            for bot in self.bots {
                let line = lines.get(bot).copied().unwrap_or_default();
                metrics.queue(bot, "jobs", line.0, line.1);
            }
        }
        if let Ok(workers) = store.workers().list().await {
            for bot in self.bots {
                let free = free_machines(bot, &workers).len() as u64;
                let all = machines_of(bot, &workers).len() as u64;
                metrics.machines(bot, free, all - free);
            }
        }
        for bot in self.bots {
            for (what, queue) in [("runs", bot_queue(bot)), ("builds", build_queue(bot))] {
                if let Some((length, age)) = self.backlog(queue).await {
                    metrics.queue(bot, what, length, age);
                }
            }
        }
    }

    /// The activities that wait in a queue, and the age of the oldest.
    async fn backlog(&self, queue: String) -> Option<(u64, Duration)> {
        let request = DescribeTaskQueueRequest {
            namespace: self.namespace.to_owned(),
            task_queue: Some(TaskQueue {
                name: queue,
                ..TaskQueue::default()
            }),
            task_queue_type: TaskQueueType::Activity as i32,
            report_stats: true,
            ..DescribeTaskQueueRequest::default()
        };
        let mut client = self.client.clone();
        let described = WorkflowService::describe_task_queue(&mut client, request.into_request());
        let stats = described.await.ok()?.into_inner().stats?;
        let length = u64::try_from(stats.approximate_backlog_count).unwrap_or_default();
        let age = stats.approximate_backlog_age.unwrap_or_default();
        Some((length, Duration::try_from(age).unwrap_or_default()))
    }
}

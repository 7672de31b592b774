//! Journals that are replayed as a whole.

use pinpoint_backends::job::{JobError, machine_of};
use pinpoint_backends::store::{Job, JobStore};
use pinpoint_core::{Answers, Journal};
use tokio::sync::Semaphore;
use tonic::Status;

use crate::api::grpc::errors;

/// Journals that are read and replayed at once: a long one takes memory, and a processor for
/// a while.
pub(crate) static REPLAYS: Semaphore = Semaphore::const_new(2);

/// Shows a job by the answers in its journal, which is replayed.
pub(crate) async fn replayed<T: Send + 'static>(
    store: &JobStore,
    job: Job,
    show: impl FnOnce(&Job, Answers) -> Result<T, JobError> + Send + 'static,
) -> Result<T, Status> {
    // Before the journal is read, which may be long.
    let turn = REPLAYS.acquire().await;
    let mut journal = store
        .journals()
        .open(&job.id)
        .await
        .map_err(errors::store)?;
    let records = journal.records().await.map_err(errors::store)?;
    let machine = machine_of(&job, records.is_empty()).map_err(errors::job)?;
    let key = journal.job();
    let replayed = tokio::task::spawn_blocking(move || {
        let answers = Answers::of(key, machine, records);
        drop(turn);
        if let Some(error) = &answers.error {
            tracing::warn!(job = %job.id, %error, "the journal can't be replayed to its end");
        }
        show(&job, answers)
    });
    let shown = replayed
        .await
        .map_err(|_| Status::internal("the job can't be shown"))?;
    shown.map_err(errors::job)
}

//! The activities that need only the store.

use std::sync::Arc;

use pinpoint_core::Machine;
use pinpoint_core::job::JobState;
use serde_json::json;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::failures::{from_store, refused};
use super::jobs_here::JobsHere;
use super::messages::{InitialJob, JobInput, Note, Noted, essential_of, size};
use crate::job::{machine_of, message};
use crate::store::{Job, PAUSED, StoreError};

/// The most records in one answer, and the bytes of their text.
const RECORDS: u32 = 500;
const BYTES: usize = 256 << 10;

pub(crate) struct Bookkeeping {
    pub(crate) jobs: Arc<JobsHere>,
}

#[activities]
impl Bookkeeping {
    /// Starts, or continues, a job that its owner holds.
    #[activity(name = "pinpoint.begin")]
    pub(crate) async fn begin(
        self: Arc<Self>,
        _: ActivityContext,
        input: JobInput,
    ) -> Result<InitialJob, ActivityError> {
        self.jobs.check_store(&input.store)?;
        let job = self.jobs.read(&input.job).await?;
        let lease = self.jobs.lease(&job.id).await?;
        if job.state != JobState::Running {
            // Its next workflow is paused, too.
            let paused = input.paused.then_some(PAUSED);
            let store = self.jobs.store();
            let running = store
                .leases()
                .set_state(&lease, JobState::Running, paused, None);
            match running.await {
                // Another attempt of this activity was first.
                Err(StoreError::Transition {
                    from: JobState::Running,
                    ..
                }) => {}
                running => running.map_err(from_store)?,
            }
        }
        let machines = self.jobs.machines_of(&input.bot).await;
        let machines = machines.map_err(from_store)?;
        Ok(InitialJob {
            machines: u32::try_from(machines.len()).unwrap_or(u32::MAX).max(1),
            job: without_secrets(job),
        })
    }

    /// Records a fact from the workflow, and reads the records before it.
    #[activity(name = "pinpoint.note")]
    pub(crate) async fn note(
        self: Arc<Self>,
        _: ActivityContext,
        note: Note,
    ) -> Result<Noted, ActivityError> {
        self.jobs.check_store(&note.store)?;
        let job = self.jobs.read(&note.job).await?;
        let machine = machine_of(&job, false).map_err(|error| refused(&message(&error)))?;
        let lease = self.jobs.lease(&job.id).await?;
        let journal = self.jobs.store().journals().open_leased(&lease).await;
        let journal = journal.map_err(from_store)?;
        if let Some(record) = &note.record {
            let recorded = journal.record_once(record, note.after).await;
            recorded.map_err(from_store)?;
        }
        match note.paused {
            Some(true) => {
                self.jobs
                    .store()
                    .leases()
                    .note_standstill(&lease, Some(PAUSED))
                    .await
            }
            Some(false) => self.jobs.store().leases().end_pause(&lease).await,
            None => Ok(()),
        }
        .map_err(from_store)?;
        if let Some(cancel) = &note.cancel {
            let kept = self
                .jobs
                .store()
                .cancellations()
                .keep(&job.id, cancel)
                .await;
            kept.map_err(from_store)?;
        }
        let records = journal.records_after(note.after, RECORDS).await;
        let records = records.map_err(from_store)?;
        let mut noted = Noted {
            more: records.len() == RECORDS as usize,
            records: Vec::new(),
        };
        let mut bytes = 0;
        for placed in records {
            let placed = essential_of(placed, &machine.charts());
            bytes += size(&placed.record);
            if bytes > BYTES && !noted.records.is_empty() {
                noted.more = true;
                break;
            }
            noted.records.push(placed);
        }
        Ok(noted)
    }
}

/// A job for its workflow. The command and the variables of its environment stay in the store, and
/// so does the outcome.
fn without_secrets(mut job: Job) -> Job {
    let find_metric = job.config.get("find_metric").cloned();
    job.outcome = None;
    job.config = json!({ "find_metric": find_metric });
    job
}

#[cfg(test)]
mod tests {
    use pinpoint_core::job::FindMetric;
    use pinpoint_core::{BisectionSpec, CombinedCommit, Commit, Range, Task};

    use super::*;

    #[test]
    fn a_workflow_gets_the_same_machine_and_no_secret() {
        let commit = |hash: &str| CombinedCommit::from(Commit::new("/src/app", hash));
        let (good, bad) = (commit("a"), commit("b"));
        let range = Range::Between { good, bad };
        let config = json!({
            "find_metric": FindMetric::default(),
            "local": { "run": ["./bench.sh"], "env": { "TOKEN": "hunter2" } },
        });
        let job: Job = serde_json::from_value(json!({
            "id": "brave-otter-1",
            "kind": "bisection",
            "state": "running",
            "created": 1,
            "updated": 1,
            "duration": null,
            "name": "",
            "benchmark": "",
            "bot": "lab",
            "user": "ada",
            "repository": "",
            "title": "",
            "spec": BisectionSpec::new(range),
            "config": config,
            "outcome": { "secret": "hunter2" },
            "error": null,
            "runs": 0,
            "builds": 0,
            "journal_version": 1,
            "written_by": "0.1.0",
        }))
        .unwrap();
        let known = without_secrets(job.clone());
        let text = serde_json::to_string(&known).unwrap();
        assert!(
            !text.contains("hunter2") && !text.contains("bench.sh"),
            "{text}"
        );
        let begins_with = |job: &Job| machine_of(job, false).unwrap().poll();
        assert_eq!(begins_with(&known), begins_with(&job));
        assert!(matches!(
            begins_with(&known)[0].task,
            Task::FindMetric { .. }
        ));
    }
}

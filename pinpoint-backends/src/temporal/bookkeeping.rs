//! The activities that need nothing but the store.

use std::sync::Arc;

use pinpoint_core::Machine;
use pinpoint_core::job::JobState;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::failures::{from_store, refused};
use super::jobs_here::JobsHere;
use super::messages::{Begun, JobInput, Note, Noted, essential_of, size};
use crate::job::{machine_of, message};
use crate::store::Job;

/// The most records that one answer has, and the bytes of their text.
const RECORDS: u32 = 500;
const BYTES: usize = 256 << 10;

pub(crate) struct Bookkeeping {
    pub(crate) jobs: Arc<JobsHere>,
}

#[activities]
impl Bookkeeping {
    /// Begins, or goes on with, a job that its owner holds.
    #[activity(name = "pinpoint.begin")]
    pub(crate) async fn begin(
        self: Arc<Self>,
        _: ActivityContext,
        input: JobInput,
    ) -> Result<Begun, ActivityError> {
        let job = self.jobs.read(&input.job).await?;
        let lease = self.jobs.lease(&job.id).await?;
        if job.state != JobState::Running {
            let running = self
                .jobs
                .store()
                .set_leased_state(&lease, JobState::Running, None, None);
            running.await.map_err(from_store)?;
        }
        let workers = self.jobs.store().workers().await.map_err(from_store)?;
        let serving = workers
            .iter()
            .filter(|worker| worker.bots.contains(&input.bot));
        let mut machines: Vec<&str> = serving.map(|worker| &*worker.machine).collect();
        machines.sort_unstable();
        machines.dedup();
        Ok(Begun {
            machines: u32::try_from(machines.len()).unwrap_or(u32::MAX).max(1),
            job: Job {
                outcome: None,
                ..job
            },
        })
    }

    /// Records what the workflow knows first, and reads what came before.
    #[activity(name = "pinpoint.note")]
    pub(crate) async fn note(
        self: Arc<Self>,
        _: ActivityContext,
        note: Note,
    ) -> Result<Noted, ActivityError> {
        let job = self.jobs.read(&note.job).await?;
        let machine = machine_of(&job, false).map_err(|error| refused(&message(&error)))?;
        let lease = self.jobs.lease(&job.id).await?;
        let journal = self.jobs.store().leased_journal(&lease).await;
        let mut journal = journal.map_err(from_store)?;
        if let Some(record) = &note.record {
            let recorded = journal.record_once(record, note.after).await;
            recorded.map_err(from_store)?;
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

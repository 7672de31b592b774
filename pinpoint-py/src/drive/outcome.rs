//! The outcome of a job, as Python's results are made of it: the result that the store keeps, with
//! facts derived from it and from the journal.

use pinpoint_backends::job::{JobError, kind_of, machine_of};
use pinpoint_backends::store::{Job, JobStore};
use pinpoint_core::Unmeasured;
use pinpoint_core::{
    Applied, CombinedCommit, CommitOrder, Engine, Event, JobKind, Journal, PairedRun, Stopped, Task,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::failure::Failure;
use crate::search::caveat;

#[derive(Debug, Serialize)]
struct Measurement {
    commit: CombinedCommit,
    values: Vec<f64>,
    failures: u64,
}

/// A result of a job, with the reason that it says less than its status and with its measurements.
pub(crate) async fn document(store: &JobStore, job: &Job, result: Value) -> Result<Value, Failure> {
    let mut document = explained(result)?;
    if document.get("measurements").is_none() && kind_of(job)? != JobKind::Pairwise {
        document["measurements"] = json!(measurements(store, job).await?);
    }
    Ok(document)
}

/// A result, with the reason that it says less than its status.
pub(crate) fn explained(mut result: Value) -> Result<Value, serde_json::Error> {
    #[derive(Deserialize)]
    struct Ended {
        status: String,
        stopped: Stopped,
        #[serde(default)]
        unmeasured: Vec<Unmeasured<CombinedCommit>>,
    }
    // Early versions of this module kept results with the reason.
    if result.get("reason").is_none() {
        let ended = Ended::deserialize(&result)?;
        let reasons = ended.unmeasured.iter().map(|end| end.reason.as_deref());
        result["reason"] = json!(caveat(&ended.status, &ended.stopped, reasons));
    }
    Ok(result)
}

/// The measurements, in the order of the commits.
async fn measurements(store: &JobStore, job: &Job) -> Result<Vec<Measurement>, Failure> {
    let mut journal = store.journals().open(&job.id).await?;
    let records = journal.records().await?;
    // Its current form: the configuration of an early version is renewed when a job begins.
    let job = store.jobs().get(&job.id).await?;
    let machine = machine_of(&job, records.is_empty())?;
    let mut engine = Engine::new(journal.job(), machine);
    let (mut all, mut places) = (Vec::<Measurement>::new(), Vec::new());
    let mut order = CommitOrder::default();
    for record in records {
        let Applied { event, task } = engine.apply(&record).map_err(JobError::from)?;
        task.iter().for_each(|task| order.add(task));
        let of = |run: PairedRun| run.failure.is_none().then_some(run.values);
        let runs = match (task, event) {
            (Some(Task::Run { commit, .. }), Some(Event::Ran { values, .. })) => {
                vec![(commit, Some(values))]
            }
            (Some(Task::Run { commit, .. }), Some(Event::RunFailed { .. })) => {
                vec![(commit, None)]
            }
            (
                Some(Task::RunPair { first, second, .. }),
                Some(Event::RanPair {
                    first: one,
                    second: other,
                    ..
                }),
            ) => vec![(first, of(one)), (second, of(other))],
            _ => continue,
        };
        for (position, values) in runs {
            let Some(commit) = engine.names().commit(position) else {
                continue;
            };
            let place = all.iter().position(|it| it.commit == *commit);
            let place = place.unwrap_or_else(|| {
                all.push(Measurement {
                    commit: commit.clone(),
                    values: Vec::new(),
                    failures: 0,
                });
                places.push(position);
                all.len() - 1
            });
            match values {
                Some(values) => all[place].values.extend(values.into_values().flatten()),
                None => all[place].failures += 1,
            }
        }
    }
    let mut placed: Vec<_> = places.into_iter().zip(all).collect();
    placed.sort_by_cached_key(|(position, _)| order.key(*position));
    Ok(placed.into_iter().map(|(_, measured)| measured).collect())
}

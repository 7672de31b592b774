//! The noise of machines and their offsets from each other, measured from the runs of recent
//! jobs.
//!
//! Jobs of the same benchmark often run the same builds: a retried job, searches of overlapping
//! ranges, a commit that is compared again. Where different machines did, [`compare_machines`]
//! compares their runs. Only runs of known machines count, as workers record them.

use std::collections::BTreeMap;
use std::sync::Arc;

use pinpoint_backends::store::{Job, JobFilter, JobId, JobStore, ListOrder, PagePosition};
use pinpoint_compare::{MachineNoise, SameBuild, compare_machines};
use pinpoint_core::{Answers, JobSpec, JobState, Position, Variant, deciding_chart};
use pinpoint_report::Measurements;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tonic::Status;

use crate::api::grpc::errors;
use crate::jobs::replays::replayed;

/// The last jobs that are looked at.
pub(crate) const JOBS: u32 = 50;

/// The most runs of a job that is looked at: a longer one says little more, and takes longer to
/// be read.
const MOST_RUNS: u64 = 2_000;

/// The most metrics of a comparison that are looked at.
const MOST_CHARTS: usize = 10;

/// The values of a job, by what was run and measured.
type Measured = BTreeMap<[u8; 32], SameBuild<String>>;

/// The values of ended jobs, which do not change.
#[derive(Debug, Default)]
pub(crate) struct MeasuredJobs(Mutex<BTreeMap<JobId, Arc<Measured>>>);

impl MeasuredJobs {
    /// The noise of each machine, by its name.
    pub(crate) async fn noise(
        &self,
        store: &JobStore,
    ) -> Result<BTreeMap<String, MachineNoise>, Status> {
        let filter = JobFilter {
            state: Some(JobState::Completed),
            ..JobFilter::default()
        };
        let listed = store
            .jobs()
            .list(&filter, ListOrder::default(), &PagePosition::First, JOBS);
        let listed = listed.await.map_err(errors::store)?.jobs;
        // Concurrent requests find the values that this one reads.
        let mut known = self.0.lock().await;
        let mut jobs = BTreeMap::new();
        for job in listed {
            if job.runs == 0 || job.runs > MOST_RUNS {
                continue;
            }
            let measured = match known.get(&job.id) {
                Some(measured) => measured.clone(),
                None => read(store, &job.id).await?,
            };
            // A request that takes too long leaves the next one less to read.
            known.insert(job.id.clone(), measured.clone());
            jobs.insert(job.id, measured);
        }
        known.clone_from(&jobs);
        drop(known);
        let compared = tokio::task::spawn_blocking(move || compared(jobs.values()));
        let failed = || Status::internal("the runs of machines can't be compared");
        compared.await.map_err(|_| failed())?.ok_or_else(failed)
    }
}

/// The values that a job measured; none if this version can't read it.
async fn read(store: &JobStore, id: &JobId) -> Result<Arc<Measured>, Status> {
    let job = store.jobs().get(id).await.map_err(errors::store)?;
    let measured = replayed(store, job, |job, answers| Ok(measured(job, answers)));
    match measured.await {
        Ok(measured) => Ok(Arc::new(measured)),
        Err(status) if status.code() == tonic::Code::Internal => Ok(Arc::default()),
        Err(status) => Err(status),
    }
}

/// The values of a job's runs.
fn measured(
    job: &Job,
    Answers {
        engine, answers, ..
    }: Answers,
) -> Measured {
    let runs = Measurements::of(answers, engine.names());
    let spec = engine.machine().spec();
    let sides = match spec {
        JobSpec::Pairwise(spec) => spec.sides.as_ref(),
        _ => None,
    };
    let command = &job.config["local"];
    let what = [&command["command"], &command["build"], &command["env"]];
    let what = json!([job.bot, job.benchmark, what, spec.aggregate()]).to_string();
    let mut measured = Measured::new();
    for run in &runs.runs {
        let (Some(machine), Some(place)) = (&run.report.bot, runs.place(run.position)) else {
            continue;
        };
        let side: Option<&Variant> = sides.map(|sides| match place.position {
            Position::Lower => &sides.base,
            _ => &sides.experiment,
        });
        let arguments = side.map(|side| (&side.arguments, &side.env));
        let all = || run.charts.iter().map(|values| &*values.chart);
        let charts = match deciding_chart(spec.chart(), run.report.chart.as_deref(), all()) {
            Some(chart) => vec![chart],
            None => all().take(MOST_CHARTS).collect(),
        };
        for chart in charts {
            let Some(value) = run.value(chart).filter(|value| value.is_finite()) else {
                continue;
            };
            let build = json!([what, place.commit.key(), arguments, chart]).to_string();
            let build = measured.entry(Sha256::digest(build).into()).or_default();
            build.entry(machine.clone()).or_default().push(value);
        }
    }
    measured
}

/// Compares the machines of several jobs; returns none only for values that are not numbers.
fn compared<'a>(
    jobs: impl Iterator<Item = &'a Arc<Measured>>,
) -> Option<BTreeMap<String, MachineNoise>> {
    let mut builds = Measured::new();
    for (build, machines) in jobs.flat_map(|job| &**job) {
        let known = builds.entry(*build).or_default();
        for (machine, values) in machines {
            known.entry(machine.clone()).or_default().extend(values);
        }
    }
    let builds: Vec<_> = builds.into_values().collect();
    compare_machines(&builds).ok()
}

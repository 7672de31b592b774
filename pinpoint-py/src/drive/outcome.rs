//! What a job found, with commits by their names.

use pinpoint_backends::store::Job;
use pinpoint_core::{
    Atlas, CombinedCommit, Commit, Detail, Driven, Effect, Event, Outcome, Position, Posterior,
    Record, Status,
};
use serde::Serialize;

use super::executor::PythonExecutor;
use super::failure::Failure;
use crate::search::caveat;

/// What `bisect` answers, and the store keeps.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    job_id: String,
    pub(super) status: Status,
    reason: Option<String>,
    good: CombinedCommit,
    bad: CombinedCommit,
    chart: Option<String>,
    unit: Option<String>,
    culprits: Vec<NamedCulprit>,
    /// The remaining range, oldest first; empty when found.
    candidates: Vec<CombinedCommit>,
    no_change: Option<f64>,
    runs: u64,
    builds: u64,
    skipped: Vec<NamedSkip>,
    /// What was measured, in the order of the first runs.
    measurements: Vec<Measurement>,
}

#[derive(Debug, Serialize)]
struct NamedCulprit {
    commit: CombinedCommit,
    prior: CombinedCommit,
    /// The commit to blame: of the main repository, of a merged branch, or of a
    /// dependency.
    blamed: Commit,
    probability: Option<f64>,
    effect: Effect,
}

#[derive(Debug, Serialize)]
struct NamedSkip {
    commit: CombinedCommit,
    reason: String,
}

#[derive(Debug, Serialize)]
struct Measurement {
    commit: CombinedCommit,
    values: Vec<f64>,
    failures: u64,
}

impl Found {
    pub(super) async fn new(
        job: &Job,
        executor: &PythonExecutor,
        driven: Driven<Outcome>,
        records: &[Record],
    ) -> Result<Self, Failure> {
        let Driven { outcome, atlas } = driven;
        let names = Names {
            executor,
            atlas: &atlas,
        };
        let mut culprits = Vec::new();
        for culprit in outcome.culprits {
            let commit = names.of(culprit.commit).await?;
            let prior = names.of(culprit.prior).await?;
            culprits.push(NamedCulprit {
                blamed: match &executor.local {
                    Some(local) => local.blamed(&prior, &commit).await?,
                    None => commit.main.clone(),
                },
                commit,
                prior,
                probability: culprit.probability,
                effect: culprit.effect,
            });
        }
        let mut candidates = Vec::new();
        for candidate in outcome.candidates {
            candidates.push(names.of(candidate).await?);
        }
        let mut skipped = Vec::new();
        for skip in outcome.skipped {
            skipped.push(NamedSkip {
                commit: names.of(skip.commit).await?,
                reason: skip.reason,
            });
        }
        let metric = executor.local.as_ref().and_then(|local| local.metric());
        Ok(Self {
            job_id: job.id.to_string(),
            status: outcome.status,
            reason: caveat(outcome.status, &outcome.stopped, &outcome.unmeasured),
            good: names.of(Position::Good).await?,
            bad: names.of(Position::Bad).await?,
            chart: metric.as_ref().and_then(|metric| metric.chart.clone()),
            unit: metric.and_then(|metric| metric.unit),
            culprits,
            candidates,
            no_change: (outcome.posterior.as_ref()).map(|it: &Posterior| it.no_change),
            runs: outcome.runs,
            builds: outcome.builds,
            skipped,
            measurements: measurements(records),
        })
    }

    pub(super) fn to_value(&self) -> Result<serde_json::Value, Failure> {
        Ok(serde_json::to_value(self)?)
    }
}

fn measurements(records: &[Record]) -> Vec<Measurement> {
    let mut all: Vec<Measurement> = Vec::new();
    for record in records {
        let Some(Detail::Run(report)) = &record.detail else {
            continue;
        };
        let place = all.iter().position(|it| it.commit == report.commit);
        let place = place.unwrap_or_else(|| {
            all.push(Measurement {
                commit: report.commit.clone(),
                values: Vec::new(),
                failures: 0,
            });
            all.len() - 1
        });
        match &record.event {
            Event::Ran { values, .. } => all[place].values.extend(values.values().flatten()),
            _ => all[place].failures += 1,
        }
    }
    all
}

struct Names<'a> {
    executor: &'a PythonExecutor,
    atlas: &'a Atlas,
}

impl Names<'_> {
    async fn of(&self, position: Position) -> Result<CombinedCommit, Failure> {
        match self.atlas.locate(position) {
            Some(located) => Ok(self.executor.name(&located).await?),
            // Only a range that was listed has offsets.
            None => Err(Failure::job("a commit of the outcome was never listed")),
        }
    }
}

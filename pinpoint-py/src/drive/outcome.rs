//! What a job found, with commits by their names.

use std::collections::BTreeMap;

use pinpoint_backends::local::Blamed;
use pinpoint_backends::store::Job;
use pinpoint_core::{
    ChartComparison, CombinedCommit, Commit, CommitNames, Effect, Outcome, PairwiseOutcome,
    PairwiseStatus, Position, Posterior, Status,
};
use serde::Serialize;

use super::executor::PythonExecutor;
use super::failure::Failure;
use super::runs::Run;
use crate::search::{caveat, reason};

/// What names the commits of a job.
pub(super) struct Naming<'a> {
    pub(super) job: &'a Job,
    pub(super) executor: &'a PythonExecutor,
    pub(super) names: &'a CommitNames,
}

impl Naming<'_> {
    async fn of(&self, position: Position) -> Result<CombinedCommit, Failure> {
        match self.names.locate(position) {
            Some(located) => Ok(self.executor.name(&located).await?),
            // Only a range that was listed has offsets.
            None => Err(Failure::job("a commit of the outcome was never listed")),
        }
    }
}

/// What `bisect` and `culprit` answer, and the store keeps.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    job_id: String,
    status: Status,
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
    /// The comparison of the ends; `bisect` makes none.
    verification: Option<PairwiseOutcome>,
    /// Culprits of the search that did not differ from their parents.
    unconfirmed: Vec<NamedCulprit>,
}

/// What `pairwise` answers, and the store keeps.
#[derive(Debug, Serialize)]
pub(super) struct FoundPairs {
    job_id: String,
    status: PairwiseStatus,
    reason: Option<String>,
    base: CombinedCommit,
    experiment: CombinedCommit,
    comparison: PairwiseOutcome,
    /// What the values of the charts count, by name.
    units: BTreeMap<String, String>,
    only_base: Vec<String>,
    only_experiment: Vec<String>,
    runs: u64,
    builds: u64,
}

#[derive(Debug, Serialize)]
struct NamedCulprit {
    commit: CombinedCommit,
    prior: CombinedCommit,
    /// The commit to blame: of the main repository, of a merged branch, or of a
    /// dependency.
    blamed: Commit,
    /// It is to blame because a dependency was set back and lost it.
    undone: bool,
    probability: Option<f64>,
    effect: Effect,
    /// How it compares with its prior in runs of its own.
    confirmation: Option<PairwiseOutcome>,
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
        naming: &Naming<'_>,
        outcome: Outcome,
        runs: &[Run],
    ) -> Result<Self, Failure> {
        let Naming {
            job,
            executor,
            names,
        } = naming;
        let mut culprits = Vec::new();
        for culprit in outcome.culprits {
            let commit = naming.of(culprit.commit).await?;
            let prior = naming.of(culprit.prior).await?;
            let blamed = match &executor.local {
                Some(local) => (local.blamed(names, culprit.commit, &commit, &prior)).await?,
                None => Blamed {
                    commit: commit.main.clone(),
                    undone: false,
                },
            };
            culprits.push(NamedCulprit {
                blamed: blamed.commit,
                undone: blamed.undone,
                commit,
                prior,
                probability: culprit.probability,
                effect: culprit.effect,
                confirmation: None,
            });
        }
        let mut candidates = Vec::new();
        for candidate in outcome.candidates {
            candidates.push(naming.of(candidate).await?);
        }
        let mut skipped = Vec::new();
        for skip in outcome.skipped {
            skipped.push(NamedSkip {
                commit: naming.of(skip.commit).await?,
                reason: skip.reason,
            });
        }
        let metric = executor.local.as_ref().and_then(|local| local.metric());
        Ok(Self {
            job_id: job.id.to_string(),
            status: outcome.status,
            reason: caveat(outcome.status, &outcome.stopped, &outcome.unmeasured),
            good: naming.of(Position::Lower).await?,
            bad: naming.of(Position::Higher).await?,
            chart: metric.as_ref().and_then(|metric| metric.chart.clone()),
            unit: metric.and_then(|metric| metric.unit),
            culprits,
            candidates,
            no_change: (outcome.posterior.as_ref()).map(|it: &Posterior| it.no_change),
            runs: outcome.runs,
            builds: outcome.builds,
            skipped,
            measurements: measurements(runs),
            verification: None,
            unconfirmed: Vec::new(),
        })
    }

    /// The same with the comparisons that verify it: one for each culprit, of which
    /// the first ones are confirmed.
    pub(super) fn verified(
        mut self,
        verification: PairwiseOutcome,
        comparisons: Vec<Option<PairwiseOutcome>>,
        confirmed: usize,
    ) -> Self {
        for (culprit, comparison) in self.culprits.iter_mut().zip(comparisons) {
            culprit.confirmation = comparison;
        }
        self.unconfirmed = self.culprits.split_off(confirmed.min(self.culprits.len()));
        self.verification = Some(verification);
        self
    }
}

impl FoundPairs {
    pub(super) async fn new(
        naming: &Naming<'_>,
        outcome: PairwiseOutcome,
    ) -> Result<Self, Failure> {
        let Naming { job, executor, .. } = naming;
        let metric = executor.local.as_ref().and_then(|local| local.metric());
        let measures = metric.map_or_else(Default::default, |metric| metric.charts);
        let unit = |chart: &ChartComparison| {
            let unit = measures.get(&chart.chart)?.unit.clone()?;
            Some((chart.chart.clone(), unit))
        };
        Ok(Self {
            job_id: job.id.to_string(),
            status: outcome.status,
            reason: reason(&outcome.stopped),
            base: naming.of(Position::Lower).await?,
            experiment: naming.of(Position::Higher).await?,
            units: outcome.charts.iter().filter_map(unit).collect(),
            only_base: outcome.only_base.clone(),
            only_experiment: outcome.only_experiment.clone(),
            runs: outcome.runs,
            builds: outcome.builds,
            comparison: outcome,
        })
    }
}

fn measurements(runs: &[Run]) -> Vec<Measurement> {
    let mut all: Vec<Measurement> = Vec::new();
    for run in runs {
        let place = all.iter().position(|it| it.commit == run.commit);
        let place = place.unwrap_or_else(|| {
            all.push(Measurement {
                commit: run.commit.clone(),
                values: Vec::new(),
                failures: 0,
            });
            all.len() - 1
        });
        match &run.values {
            Some(values) => all[place].values.extend(values.values().flatten()),
            None => all[place].failures += 1,
        }
    }
    all
}

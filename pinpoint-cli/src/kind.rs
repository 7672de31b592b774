//! The kinds of job, each with its machine: what they have in common is in
//! `job.rs`.

use pinpoint_backends::local::{LocalError, LocalExecutor, Metric};
use pinpoint_backends::store::Job;
use pinpoint_core::{
    Bisection, BisectionSpec, CommitNames, CulpritFinder, CulpritFinderSpec, DriveEvent, JobState,
    Machine, Pairwise, PairwiseSpec, SpecError, direction_of,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::culprit_document::CulpritDocument;
use crate::document::Document;
use crate::error::CliError;
use crate::job::JobConfig;
use crate::job_result::JobResult;
use crate::pairwise_document::PairwiseDocument;
use crate::reporter::Reporter;

/// What a job is called in the store by the machine that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bisection,
    Pairwise,
    CulpritFinder,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Bisection, Self::Pairwise, Self::CulpritFinder];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bisection => "bisection",
            Self::Pairwise => "pairwise",
            Self::CulpritFinder => "culprit_finder",
        }
    }

    /// As [`of`](Self::of).
    ///
    /// # Errors
    ///
    /// For a job of a later version.
    pub(crate) fn of_known(job: &Job) -> Result<Self, CliError> {
        Self::of(job).ok_or_else(|| {
            if let Some(hint) = in_python(job) {
                return CliError::Input(format!("job {} was made in Python: {hint}", job.id));
            }
            CliError::Input(format!(
                "job {} is of the kind {:?}, which this version of pinpoint does not know: use a newer one",
                job.id, job.kind
            ))
        })
    }

    /// Absent for a job of a later version.
    pub(crate) fn of(job: &Job) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == job.kind)
    }
}

/// What to do with a job that was made in Python: only there are its functions.
pub(crate) fn in_python(job: &Job) -> Option<String> {
    let function = match job.kind.strip_prefix("python_")? {
        "bisection" => "bisect",
        "pairwise" => "pairwise",
        "culprit_finder" => "culprit",
        _ => return None,
    };
    Some(match job.state {
        JobState::Completed => {
            format!("pinpoint.job_outcome({:?}) has its result", job.id.as_str())
        }
        _ => format!(
            "resume it with pinpoint.{function}(resume={:?}, …)",
            job.id.as_str()
        ),
    })
}

/// A machine that jobs can be run with.
pub(crate) trait Runnable: Machine<Outcome: Clone> + Sized {
    type Spec: Serialize + DeserializeOwned;

    /// How the two ends are called.
    const ENDS: [&str; 2];

    fn of(spec: Self::Spec) -> Result<Self, SpecError>;

    /// Writes into the spec what the good end's first run told; where better
    /// lies only if that was left open.
    fn fix(spec: &mut Self::Spec, metric: &Metric, direction_by_unit: bool);

    fn watch(&self, reporter: &mut Reporter, event: &DriveEvent<'_>, names: &CommitNames);

    async fn result(
        job: &Job,
        config: &JobConfig,
        executor: &LocalExecutor,
        outcome: Self::Outcome,
        names: &CommitNames,
    ) -> Result<JobResult, LocalError>;
}

impl Runnable for Bisection {
    type Spec = BisectionSpec;

    const ENDS: [&str; 2] = ["good", "bad"];

    fn of(spec: BisectionSpec) -> Result<Self, SpecError> {
        Self::new(spec)
    }

    fn fix(spec: &mut BisectionSpec, metric: &Metric, direction_by_unit: bool) {
        if direction_by_unit {
            spec.direction = direction_of(metric.direction, metric.unit.as_deref());
        }
        spec.chart.clone_from(&metric.chart);
    }

    fn watch(&self, reporter: &mut Reporter, event: &DriveEvent<'_>, names: &CommitNames) {
        reporter.watch_bisection(event, self, names);
    }

    async fn result(
        job: &Job,
        config: &JobConfig,
        executor: &LocalExecutor,
        outcome: Self::Outcome,
        names: &CommitNames,
    ) -> Result<JobResult, LocalError> {
        let document = Document::new(job, config, executor, outcome, names).await?;
        Ok(JobResult::Bisection(document))
    }
}

impl Runnable for Pairwise {
    type Spec = PairwiseSpec;

    const ENDS: [&str; 2] = ["base", "experiment"];

    fn of(spec: PairwiseSpec) -> Result<Self, SpecError> {
        Self::new(spec)
    }

    fn fix(spec: &mut PairwiseSpec, metric: &Metric, direction_by_unit: bool) {
        if direction_by_unit {
            let directions = metric.charts.iter().map(|(chart, measure)| {
                let direction = direction_of(measure.direction, measure.unit.as_deref());
                (chart.clone(), direction)
            });
            spec.directions.extend(directions);
        }
    }

    fn watch(&self, reporter: &mut Reporter, event: &DriveEvent<'_>, names: &CommitNames) {
        reporter.watch_pairwise(event, self, names);
    }

    async fn result(
        job: &Job,
        _: &JobConfig,
        executor: &LocalExecutor,
        outcome: Self::Outcome,
        names: &CommitNames,
    ) -> Result<JobResult, LocalError> {
        let document = PairwiseDocument::new(job, executor, outcome, names).await?;
        Ok(JobResult::Pairwise(document))
    }
}

impl Runnable for CulpritFinder {
    type Spec = CulpritFinderSpec;

    const ENDS: [&str; 2] = ["good", "bad"];

    fn of(spec: CulpritFinderSpec) -> Result<Self, SpecError> {
        Self::new(spec)
    }

    fn fix(spec: &mut CulpritFinderSpec, metric: &Metric, direction_by_unit: bool) {
        Bisection::fix(&mut spec.bisection, metric, direction_by_unit);
    }

    fn watch(&self, reporter: &mut Reporter, event: &DriveEvent<'_>, names: &CommitNames) {
        reporter.watch_culprit_finder(event, self, names);
    }

    async fn result(
        job: &Job,
        config: &JobConfig,
        executor: &LocalExecutor,
        outcome: Self::Outcome,
        names: &CommitNames,
    ) -> Result<JobResult, LocalError> {
        let document = CulpritDocument::new(job, config, executor, outcome, names).await?;
        Ok(JobResult::CulpritFinder(Box::new(document)))
    }
}

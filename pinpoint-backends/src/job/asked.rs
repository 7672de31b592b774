//! Turns a question about a benchmark into a job for the workers of a bot.

use pinpoint_core::api::Workload;
use pinpoint_core::bots::Bots;
use pinpoint_core::{BisectionSpec, CombinedCommit, Direction, JobSpec, Range, Variant};

use super::requested::{BUILD_JOBS, RequestError, Run};
use crate::local::limits;
use crate::store::NewJob;

/// A question about a benchmark that the operator has configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The benchmark, and its bot.
    pub workload: Workload,
    /// The question. Its commits are those of the bot's repository, no matter which they name.
    pub spec: JobSpec,
}

impl Question {
    /// The job that answers it. Its title and its names are left to the caller.
    ///
    /// # Errors
    ///
    /// The first problem that prevents it.
    pub fn job(&self, bots: &Bots) -> Result<NewJob, RequestError> {
        let run = Run::from_workload(&self.workload, bots)?;
        let aggregate = Some(run.aggregate());
        let repository = run.repository.to_owned();
        let name = |commit: &mut CombinedCommit| commit.main.repository.clone_from(&repository);
        let search = |spec: &mut BisectionSpec| {
            spec.aggregate = aggregate;
            spec.limits = limits(BUILD_JOBS);
            match &mut spec.range {
                Range::Between { good, bad } => {
                    name(good);
                    name(bad);
                    Ok(Variant::from(good.clone()))
                }
                Range::Counted { .. } => Err(RequestError::Unsupported {
                    field: "good",
                    reason: "the ends are not commits",
                }),
            }
        };
        let mut spec = self.spec.clone();
        let (first, chart, every_chart) = match &mut spec {
            JobSpec::Bisection(spec) => (search(spec)?, spec.chart.clone(), false),
            JobSpec::CulpritFinder(spec) => {
                let spec = &mut spec.bisection;
                (search(spec)?, spec.chart.clone(), false)
            }
            JobSpec::Pairwise(spec) => {
                spec.aggregate = aggregate;
                spec.limits = limits(BUILD_JOBS);
                let sides = spec.sides.as_mut().ok_or(RequestError::Unsupported {
                    field: "base",
                    reason: "the sides are not commits",
                })?;
                for (field, side) in [
                    ("base_extra_args", &mut sides.base),
                    ("experiment_extra_args", &mut sides.experiment),
                ] {
                    run.check_extra(field, &side.arguments)?;
                    name(&mut side.commit);
                }
                let base = sides.base.clone();
                (base, spec.chart.clone(), spec.chart.is_none())
            }
        };
        let directions = spec.direction() == Direction::Unknown;
        let mut job = run.job(spec, first, chart, every_chart)?;
        // If the question gives no direction, the format does, or the unit.
        job.config["find_metric"]["directions"] = directions.into();
        Ok(job)
    }
}

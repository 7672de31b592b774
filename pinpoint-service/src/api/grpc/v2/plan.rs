//! The cost of a job and its chance to be right, before anything runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pinpoint_core::simulation::{Estimate, Plan, PlanError, Scatter, ScatterError, ScatterUnit};
use pinpoint_core::{
    Answers, BisectionSpec, Charts, CulpritFinderSpec, Event, JobKind, JobSpec, Machine, Position,
    SpecError, Task,
};
use tokio::sync::Semaphore;
use tonic::Status;

use super::super::errors;
use super::arguments::{Planned, amount, planned};
use super::messages::plan_job_request::Noise;
use super::messages::{PlanEstimate, PlanJobRequest, PlanJobResponse};
use crate::state::Service;

/// The most commits of a simulated search.
const MOST_COMMITS: u64 = 10_000;

/// The most runs of a simulated search.
pub(crate) const MOST_RUNS: u64 = 5_000;

/// The most values of runs that a request may give.
const MOST_VALUES: usize = 10_000;

/// The longest that a plan is simulated as requested, with searches of any length.
const WHOLE: Duration = Duration::from_secs(20);

/// The runs at which simulated searches end where the whole takes longer, and the time for that.
/// Together they leave a page and a request the time to wait for their turn.
const CHEAPER: [(u64, Duration); 2] = [
    (400, Duration::from_secs(15)),
    (100, Duration::from_secs(15)),
];

/// Plans that are simulated at once. Each has one processor for some seconds: the others are for
/// requests, and for a worker in the same process.
static PLANS: Semaphore = Semaphore::const_new(1);

impl Service {
    pub(super) async fn plan(&self, request: PlanJobRequest) -> Result<PlanJobResponse, Status> {
        let Planned {
            spec,
            magnitude,
            direction,
        } = planned(&request)?;
        if request.max_runs.is_some_and(|runs| runs > MOST_RUNS) {
            let problem = format!("a plan is made for {MOST_RUNS} at most");
            return Err(errors::field("max_runs", &problem));
        }
        if request.commits > MOST_COMMITS {
            let problem = format!("a plan is made for {MOST_COMMITS} at most");
            return Err(errors::field("commits", &problem));
        }
        // A comparison has no commits besides the ends.
        let commits = match spec.kind() {
            JobKind::Pairwise => 1,
            _ => request.commits,
        };
        let plan = Plan::new(commits, spec.clone()).map_err(refused)?;
        let (field, scatter) = match request.noise {
            None => {
                let problem =
                    "say how noisy the benchmark is: give `scatter`, `values` or `job_id`";
                return Err(errors::field("noise", problem));
            }
            Some(Noise::Scatter(size)) => {
                let size = amount("scatter", Some(&size))?;
                let size =
                    size.ok_or_else(|| errors::field("scatter", "this field is required"))?;
                ("scatter", Scatter::normal(size))
            }
            Some(Noise::Values(values)) => {
                let values = values.values;
                if values.len() > MOST_VALUES || !values.iter().all(|value| value.is_finite()) {
                    let problem = format!("give {MOST_VALUES} finite numbers at most");
                    return Err(errors::field("values", &problem));
                }
                ("values", Scatter::of_values(values, None))
            }
            Some(Noise::JobId(id)) => {
                let answers = self.answers(self.job(&id, &[]).await?).await?;
                let unit = answers.engine.metric().and_then(|it| it.unit.clone());
                ("job_id", Scatter::of_values(first_values(&answers), unit))
            }
        };
        let unfit = |field: &'static str| {
            move |error: ScatterError| {
                let field = match error {
                    ScatterError::NoChange | ScatterError::Units => "magnitude",
                    _ => field,
                };
                errors::field(field, &error.to_string())
            }
        };
        let mut scatter = scatter.map_err(unfit(field))?;
        if direction != pinpoint_core::Direction::Unknown {
            scatter.direction = direction;
        }
        let size = magnitude.map(|magnitude| scatter.in_its_unit(magnitude));
        let size = size.transpose().map_err(unfit(field))?;
        let is_unfit =
            scatter.interquartile_range == 0.0 || !scatter.interquartile_range.is_finite();
        if size.is_none() && is_unfit {
            let problem = "the values hardly scatter, so that no size suggests itself: name one";
            return Err(errors::field("magnitude", problem));
        }
        let turn = PLANS.acquire().await;
        // Dropped when the caller has left, or the service ends: then the simulation ends, too.
        let caller = Arc::new(());
        let waits = Arc::downgrade(&caller);
        let estimated = tokio::task::spawn_blocking(move || {
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
            let within = |plan: &Plan, time: Duration| {
                let began = Instant::now();
                let is_wanted = || waits.strong_count() > 0 && began.elapsed() < time;
                one.install(|| plan.estimate_while(&scatter, size, is_wanted))
            };
            let mut estimates = within(&plan, WHOLE);
            let mut simulated_runs = None;
            for (runs, time) in CHEAPER {
                let Ok(None) = estimates else {
                    break;
                };
                let cheaper = spec_with(&spec, runs).map(|spec| Plan::new(commits, spec));
                if let Some(Ok(cheaper)) = cheaper {
                    estimates = within(&cheaper, time);
                    simulated_runs = Some(runs);
                }
            }
            drop(turn);
            Ok::<_, rayon::ThreadPoolBuildError>((scatter, estimates, simulated_runs))
        });
        let failed = || Status::internal("the plan can't be made");
        let estimated = estimated.await.map_err(|_| failed())?;
        let (scatter, estimates, simulated_runs) = estimated.map_err(|_| failed())?;
        drop(caller);
        let estimates = estimates.map_err(refused)?;
        let estimates = estimates.ok_or_else(|| {
            let problem = "the plan takes too long to simulate; it is faster for one size of \
                           change: name the smallest that is worth finding, or fewer `max_runs`";
            errors::field("magnitude", problem)
        })?;
        Ok(PlanJobResponse {
            estimates: estimates.iter().map(estimate).collect(),
            noise: scatter.interquartile_range,
            unit: match scatter.unit {
                ScatterUnit::Percent => "%".into(),
                ScatterUnit::Metric(unit) => unit.unwrap_or_default(),
            },
            simulated_runs,
        })
    }
}

/// A search that ends after so many runs, unless it ends before.
fn spec_with(spec: &JobSpec, runs: u64) -> Option<JobSpec> {
    let with = |search: &BisectionSpec| BisectionSpec {
        max_runs: Some(runs),
        ..search.clone()
    };
    let is_less = |search: &BisectionSpec| search.max_runs.is_none_or(|most| most > runs);
    match spec {
        JobSpec::Bisection(search) if is_less(search) => Some(with(search).into()),
        JobSpec::CulpritFinder(finder) if is_less(&finder.bisection) => {
            let finder = CulpritFinderSpec {
                bisection: with(&finder.bisection),
                ..finder.clone()
            };
            Some(finder.into())
        }
        _ => None,
    }
}

/// Names the field to change, where it is one.
fn refused(error: PlanError) -> Status {
    let problem = error.to_string();
    match error {
        PlanError::Spec(SpecError::Pairs { .. }) | PlanError::TooManyPairs { .. } => {
            errors::field("pairs", &problem)
        }
        PlanError::NoCommits | PlanError::TooManyCommits { .. } => {
            errors::field("commits", &problem)
        }
        _ => Status::invalid_argument(problem),
    }
}

fn estimate(estimate: &Estimate) -> PlanEstimate {
    let summary = &estimate.summary;
    PlanEstimate {
        change: estimate.change,
        searches: summary.trials as u64,
        right: summary.exactly_right.value,
        right_range: summary.right_ranges.value,
        nothing_found: summary.nothing_found.value,
        runs: summary.runs.mean.value,
        most_runs: summary.runs.percentile_95,
        builds: summary.builds.mean.value,
        most_builds: summary.builds.percentile_95,
    }
}

/// The values of the first commit of a job.
fn first_values(answers: &Answers) -> Vec<f64> {
    let charts = answers.engine.machine().charts();
    let decides = |values: &std::collections::BTreeMap<String, Vec<f64>>| {
        let values = match &charts {
            Charts::Deciding(Some(chart)) => values.get(chart),
            _ => values.values().next(),
        };
        values.cloned().unwrap_or_default()
    };
    let values = answers
        .answers
        .iter()
        .map(|it| match (&it.task, &it.event) {
            (
                Task::Run {
                    commit: Position::Lower,
                    ..
                },
                Event::Ran { values, .. },
            ) => decides(values),
            (
                Task::RunPair { first, .. },
                Event::RanPair {
                    first: one,
                    second: other,
                    ..
                },
            ) => match first {
                Position::Lower => decides(&one.values),
                _ => decides(&other.values),
            },
            _ => Vec::new(),
        });
    values.flatten().collect()
}

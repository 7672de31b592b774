//! The values that a Python function gives at the good end.
//!
//! A benchmark that fails there and at the bad end alike would be found unchanged. So
//! the function is called there first, without counting the runs, until it gives a
//! value: [`ATTEMPTS`] times at most.

use pinpoint_core::{
    Aggregate, CombinedCommit, JobSpec, Metric, MetricSource, NoMetric, RunReport, metric_of,
};

pub(super) const ATTEMPTS: u32 = 3;

/// The metric cannot be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GoodEndError {
    #[error(
        "the good end {commit} does not build: {reason}; choose a good commit that builds, or correct the build"
    )]
    DoesNotBuild { commit: String, reason: String },
    #[error(
        "the run gives no value at the good end {commit}, {tries} of {tries} times: {reason}; make it work there and resume the job, or choose another good commit",
        tries = ATTEMPTS
    )]
    Fails { commit: String, reason: String },
    #[error(
        "the run gives no chart `{chart}` at the good end {commit}; it gives {existing}: name one of those with `chart`"
    )]
    NoChart {
        commit: String,
        chart: String,
        existing: String,
    },
    #[error("the run gives several charts: say with `chart` which one of {existing} decides")]
    ManyCharts { existing: String },
    #[error(transparent)]
    NoMetric(NoMetric),
}

/// The metric that a run at the good end gives; or the reason why another run may give one.
pub(super) fn metric_at_good_end(
    spec: &JobSpec,
    aggregate: Option<Aggregate>,
    commit: &CombinedCommit,
    report: RunReport,
) -> Result<Result<Metric, String>, GoodEndError> {
    if let Some(reason) = report.failure {
        return Ok(Err(reason));
    }
    let listed = |names: Vec<String>| {
        let quoted = names.iter().map(|name| format!("`{name}`"));
        quoted.collect::<Vec<_>>().join(", ")
    };
    match metric_of(spec.chart_choice(), &report.charts, aggregate) {
        Ok(metric) => Ok(Ok(Metric {
            source: Some(MetricSource::Function),
            ..metric
        })),
        Err(error) if error.may_pass() => Ok(Err(error.to_string())),
        Err(NoMetric::NoSuchChart { chart, existing }) => Err(GoodEndError::NoChart {
            commit: commit.main.git_hash.clone(),
            chart,
            existing: listed(existing),
        }),
        Err(NoMetric::ManyCharts { existing }) => Err(GoodEndError::ManyCharts {
            existing: existing.join(", "),
        }),
        Err(error) => Err(GoodEndError::NoMetric(error)),
    }
}

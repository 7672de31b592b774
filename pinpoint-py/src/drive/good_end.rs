//! The values that a Python function gives at the good end.
//!
//! A benchmark that fails there and at the bad end alike would be found unchanged. So
//! the function is called there first, without counting the runs, until it gives a
//! value: [`ATTEMPTS`] times at most.

use std::collections::BTreeSet;

use pinpoint_core::{
    Aggregate, ChartChoice, CombinedCommit, JobSpec, Metric, MetricSource, NoMetric, RunReport,
    metric_of,
};

pub(super) const ATTEMPTS: u32 = 3;

/// The charts that a job is about.
#[derive(Debug, Clone)]
pub(super) enum RequestedCharts {
    /// The one of this name, or the only one there is.
    One(Option<String>),
    Every,
}

impl RequestedCharts {
    pub(super) fn from_spec(spec: &JobSpec) -> Self {
        match spec {
            JobSpec::Bisection(spec) => Self::One(spec.chart.clone()),
            JobSpec::CulpritFinder(spec) => Self::One(spec.bisection.chart.clone()),
            JobSpec::Pairwise(spec) => match &spec.chart {
                Some(chart) => Self::One(Some(chart.clone())),
                None => Self::Every,
            },
        }
    }
}

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
        "the run gives no chart `{chart}` at the good end {commit}, {tries} of {tries} times; it gives {existing}: name one of those with `chart`",
        tries = ATTEMPTS
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

/// The results of the runs at the good end so far.
#[derive(Debug, Default)]
pub(super) struct GoodEndRuns {
    reason: String,
    charts: BTreeSet<String>,
}

impl GoodEndRuns {
    /// The metric, if this run gives it.
    pub(super) fn metric(
        &mut self,
        wanted: &RequestedCharts,
        aggregate: Option<Aggregate>,
        report: RunReport,
    ) -> Result<Option<Metric>, GoodEndError> {
        if let Some(reason) = report.failure {
            self.reason = reason;
            return Ok(None);
        }
        let choice = match wanted {
            RequestedCharts::One(name) => ChartChoice::named_or_only(name.as_deref()),
            RequestedCharts::Every => ChartChoice::Every,
        };
        match metric_of(choice, &report.charts, aggregate) {
            Ok(metric) => Ok(Some(Metric {
                source: Some(MetricSource::Function),
                ..metric
            })),
            // Another run may have it.
            Err(NoMetric::NoSuchChart { existing, .. }) => {
                self.charts.extend(existing);
                Ok(None)
            }
            Err(NoMetric::NoValues) => Ok(None),
            Err(NoMetric::ManyCharts { existing }) => Err(GoodEndError::ManyCharts {
                existing: existing.join(", "),
            }),
            Err(error) => Err(GoodEndError::NoMetric(error)),
        }
    }

    /// The reason that no run gave a metric.
    pub(super) fn error(self, wanted: &RequestedCharts, commit: &CombinedCommit) -> GoodEndError {
        let commit = commit.main.git_hash.clone();
        match wanted {
            RequestedCharts::One(Some(chart)) if !self.charts.is_empty() => {
                let existing: Vec<_> = self.charts.iter().map(|it| format!("`{it}`")).collect();
                GoodEndError::NoChart {
                    commit,
                    chart: chart.clone(),
                    existing: existing.join(", "),
                }
            }
            _ => GoodEndError::Fails {
                commit,
                reason: self.reason,
            },
        }
    }
}

//! Finding the metric of a job: by a run of its good end that is not counted.

use std::collections::BTreeMap;

use pinpoint_core::{
    Artifact, ChartChoice, Charts, FindMetricRequest, Heartbeat, Metric, MetricSource, NoMetric,
    RunRequest, Series, Variant,
};

use super::config::RequestedCharts;
use super::error::LuciError;
use super::executor::{LuciExecutor, key_of};
use super::handle::Handle;
use super::runs::{MOST_TASKS, is_answer};
use crate::buildbucket::BuildStatus;
use crate::swarming::{CasReference, build_tag};

/// The format of the values, for the record: there is only one.
const FORMAT: &str = "chromium-by-name";

impl LuciExecutor {
    /// Finds a build of the good end, or requests one. The run follows when it has ended.
    pub(super) async fn start_metric(
        &self,
        request: &FindMetricRequest,
    ) -> Result<Handle, LuciError> {
        let (commit, key) = (&request.commit, key_of(&request.key));
        let lost = self.lost_builds(&self.tasks_of(&key).await?)?;
        let build = match lost.is_empty() {
            true => self.start_build(commit, &key).await?,
            false => self.start_rebuild(commit, &key, &lost).await?,
        };
        match build {
            Handle::Build(id) | Handle::Reused(id) | Handle::Rebuild(id) => Ok(Handle::Metric(id)),
            _ => Err(LuciError::Lost),
        }
    }

    /// Waits for the build.
    pub(super) async fn metric_built(
        &self,
        request: &FindMetricRequest,
        build: i64,
        heartbeat: &Heartbeat,
    ) -> Result<CasReference, LuciError> {
        let commit = &request.commit;
        let key = key_of(&request.key);
        let build = self.build_ended(build, &key, heartbeat).await?;
        if build.status == BuildStatus::Failure {
            return Err(LuciError::GoodDoesNotBuild {
                commit: commit.main.git_hash.clone(),
                reason: build.reason(),
            });
        }
        self.artifact(&build)
    }

    /// Runs the build until a run gives values.
    pub(super) async fn metric_found(
        &self,
        request: &FindMetricRequest,
        artifact: &CasReference,
        heartbeat: &Heartbeat,
    ) -> Result<Metric, LuciError> {
        let commit = &request.commit;
        let key = key_of(&request.key);
        let run = run_of(request, artifact);
        loop {
            let mut tasks = self.tasks_of(&key).await?;
            tasks.retain(|task| task.tags.contains(&build_tag(artifact)));
            let mut reason = String::new();
            let answers: Vec<_> = tasks.iter().filter(|task| is_answer(task)).collect();
            for task in &answers {
                match self.charts_of(task).await? {
                    Ok(charts) => match metric_of(&self.config.charts, request, &charts) {
                        Err(NoMetric::NoValues) => reason = "it gives no values".into(),
                        found => {
                            self.check_profiles(&run, task).await?;
                            return Ok(found?);
                        }
                    },
                    Err(failure) => reason = failure,
                }
            }
            if answers.len() >= MOST_TASKS {
                let (commit, attempts) = (commit.main.git_hash.clone(), answers.len());
                return Err(match self.config.profiling {
                    Some(_) => LuciError::ProfiledFails {
                        commit,
                        attempts,
                        reason,
                    },
                    None => LuciError::GoodFails {
                        commit,
                        attempts,
                        reason,
                    },
                });
            }
            let id = match tasks.iter().find(|task| !task.state.is_final()) {
                Some(task) => task.task_id.clone(),
                None => match self.new_run(&run, artifact, &tasks).await? {
                    Handle::Task(id) => id,
                    _ => return Err(LuciError::Lost),
                },
            };
            let swarming = &self.services.swarming;
            let task = self.poll.ended(swarming, &id, heartbeat).await?;
            // A task that says nothing about the commit is trouble.
            self.judged_run(&task, artifact, (&run.charts, None))
                .await?;
        }
    }
}

/// The run that shows the metric.
fn run_of(request: &FindMetricRequest, artifact: &CasReference) -> RunRequest {
    RunRequest {
        key: request.key.clone(),
        variant: Variant {
            artifact: Some(Artifact::Digest(artifact.to_string())),
            ..Variant::from(request.commit.clone())
        },
        index: 0,
        bot: None,
        charts: Charts::All,
        metric: None,
    }
}

/// The metric that these charts of a run show.
fn metric_of(
    wanted: &RequestedCharts,
    request: &FindMetricRequest,
    charts: &BTreeMap<String, Series>,
) -> Result<Metric, NoMetric> {
    let choice = match wanted {
        RequestedCharts::Every => ChartChoice::Every,
        RequestedCharts::Named(name) => ChartChoice::Named(name),
        RequestedCharts::Only => ChartChoice::Only,
    };
    Ok(Metric {
        format: FORMAT.into(),
        source: Some(MetricSource::Task),
        ..pinpoint_core::metric_of(choice, charts, request.aggregate)?
    })
}

#[cfg(test)]
mod tests {
    use pinpoint_core::{Aggregate, Commit, Direction, Key};

    use super::*;

    fn found(
        wanted: RequestedCharts,
        charts: &[&str],
        aggregate: &str,
    ) -> Result<Metric, NoMetric> {
        let request = FindMetricRequest {
            key: Key {
                job: "job".into(),
                action: 0,
            },
            commit: Commit::new("https://chromium.googlesource.com/chromium/src", "1f2e").into(),
            aggregate: Some(aggregate.parse::<Aggregate>().unwrap()),
        };
        let series = Series {
            values: vec![3.0],
            unit: Some("ms".into()),
            direction: Direction::Down,
        };
        let charts: BTreeMap<_, _> = charts
            .iter()
            .map(|&chart| (chart.to_owned(), series.clone()))
            .collect();
        metric_of(&wanted, &request, &charts)
    }

    #[test]
    fn the_chart_that_decides_is_named_or_alone() {
        let named = |name: &str| RequestedCharts::Named(name.into());
        let metric = found(RequestedCharts::Only, &["Score"], "mean").unwrap();
        assert_eq!(metric.chart.as_deref(), Some("Score"));
        assert_eq!(
            (metric.unit.as_deref(), metric.direction),
            (Some("ms"), Direction::Down)
        );
        let both = ["Score", "TodoMVC"];
        let metric = found(named("TodoMVC"), &both, "mean").unwrap();
        assert_eq!(
            (metric.chart.as_deref(), metric.charts.len()),
            (Some("TodoMVC"), 2)
        );
        let metric = found(RequestedCharts::Every, &both, "mean").unwrap();
        assert_eq!((metric.chart, metric.charts.len()), (None, 2));
        for (wanted, expected) in [
            (
                RequestedCharts::Only,
                "2 charts (`Score`, `TodoMVC`); choose one",
            ),
            (
                named("score"),
                "no chart `score`; it gives `Score`, `TodoMVC`",
            ),
        ] {
            let error = found(wanted, &both, "mean").unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn an_aggregate_that_one_run_can_not_have_is_refused() {
        let error = found(RequestedCharts::Only, &["Score"], "std").unwrap_err();
        assert!(
            matches!(error, NoMetric::NoAggregate { count: 1, .. }),
            "{error}"
        );
    }
}

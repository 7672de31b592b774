//! Finding the metric of a job, by runs of the good end before the search.

use std::path::Path;
use std::sync::Arc;

use pinpoint_core::results::{
    FindMetricError, MetricDoubt, RequestedMetric, find_metric, may_change,
};
use pinpoint_core::{
    Aggregate, ChartChoice, CombinedCommit, FindMetricRequest, Metric, MetricSource, NoMetric,
    Variant,
};

use crate::blocking::blocking;
use crate::build::finished_build::BuildOutcome;
use crate::error::LocalError;
use crate::job_remarks::Remark;
use crate::listed::listed_paths;
use crate::process::child::Processes;
use crate::process::error_line;
use crate::run::benchmark::{Execution, Holds, NotBegun, Purpose};
use crate::run::checkout_watch::CheckoutWatch;
use crate::run::measures::{self, Samples};
use crate::run::metric::{self, Outputs};
use crate::run::outside_reads::Surroundings;
use crate::run::runner::{Runner, warm_up_key};
use crate::run::uncommitted;

/// The number of times that the good end may fail before its first success.
const ATTEMPTS: u32 = 3;

/// Runs of each end by which a measure is chosen.
const RUNS_OF_CHOICE: u32 = 5;

/// The surroundings of a benchmark, and a watch over them.
type Watched = (Arc<Surroundings>, CheckoutWatch);

impl Runner {
    /// Finds the metric by a run that succeeds. It is made like the counted ones, to have the same
    /// output, but it may be the first of its build, and does not count.
    pub(crate) async fn find_metric(
        &self,
        FindMetricRequest {
            commit, aggregate, ..
        }: &FindMetricRequest,
        processes: &Arc<Processes>,
    ) -> Result<Metric, LocalError> {
        let mut warmed = self.turn.lock().await;
        let good = &Variant {
            arguments: self.config.good_arguments.clone(),
            env: self.config.good_env.clone(),
            ..Variant::from(commit.clone())
        };
        let mut outside = self.look_outside().await?;
        let build = match self.builds.get(commit, processes).await? {
            BuildOutcome::Ready(build) => build,
            BuildOutcome::Failed(failure) => {
                return Err(LocalError::GoodDoesNotBuild {
                    commit: self.builds.name(commit),
                    reason: failure.reason.clone(),
                });
            }
        };
        let choice = match &self.config.measure_choice {
            Some(choice) => {
                let made = self.builds.get(&choice.other.commit, processes).await?;
                Some((choice, made))
            }
            None => None,
        };
        let key = warm_up_key(&build, good);
        let machine = Arc::new(self.machine.for_run().await?);
        let holds: Holds = Arc::new((build, Arc::clone(&machine)));
        let (mut reason, mut wrote) = (String::new(), String::new());
        for _ in 0..ATTEMPTS {
            if let Some((_, watch)) = &mut outside {
                // Files opened before this run don't count.
                watch.opened();
            }
            let purpose = Purpose::FindMetric;
            let outputs = Outputs::to_find(&self.config);
            match (self.benchmark)
                .execute(good, purpose, outputs, &holds, processes)
                .await?
            {
                Ok(mut execution) => {
                    let chart = self.config.chart.as_deref();
                    execution.check_count(chart == Some(measures::INSTRUCTIONS))?;
                    self.note_left("preparation", &execution)?;
                    match self.metric_of(&execution, commit, *aggregate)? {
                        Ok(metric) => {
                            self.check_opened(&mut outside, good, &holds, processes)
                                .await?;
                            self.check_name(&metric, good, &holds, processes).await?;
                            *warmed.entry(key).or_default() += 1;
                            let Some((choice, BuildOutcome::Ready(build))) = choice else {
                                return Ok(metric);
                            };
                            let other = (&choice.other, &Arc::new((build, machine)));
                            let samples = self.samples([(good, &holds), other], processes).await?;
                            let chosen = measures::choose(&samples, choice.either_way).chart();
                            let measure = metric.charts.get(chosen);
                            return Ok(Metric {
                                unit: measure.and_then(|measure| measure.unit.clone()),
                                chart: Some(chosen.into()),
                                ..metric
                            });
                        }
                        Err(failure) => reason = failure,
                    }
                    wrote = error_line::excerpt(&execution.stderr)
                        .map_err(LocalError::io("read", &self.job_dir))?;
                }
                Err(NotBegun::Program(error)) => {
                    return Err(self.benchmark.cannot_run(error, good, &holds.0));
                }
                Err(NotBegun::Results(failure)) => reason = failure,
            }
            self.benchmark.check_room(&holds.0)?;
            self.builds.check(&holds.0, None)?;
        }
        Err(LocalError::GoodFails {
            commit: self.builds.name(commit),
            attempts: ATTEMPTS,
            hint: self.what_may_lack(&holds.0.tree, &reason)?,
            reason,
            tail: wrote,
        })
    }

    /// The reason why the benchmark may fail in a work tree, although it passes in the user's
    /// checkout.
    fn what_may_lack(&self, tree: &Path, reason: &str) -> Result<Option<String>, LocalError> {
        if let Some(file) = self.benchmark.missing(tree) {
            return Ok(Some(file));
        }
        if let Some(pointers) = Remark::Pointers.noted(&self.job_dir)? {
            return Ok(Some(pointers));
        }
        // A shell's error for a command that it does not find.
        Ok(reason.contains("exit code 127").then(|| {
            "commands run in a work tree of each commit, which holds what was committed: have the \
             build command install what the benchmark needs"
                .to_owned()
        }))
    }

    /// Checks that neither the command nor the build uses the user's checkout, and prepares to
    /// detect runs that open its files. Absent where that is allowed or can't be detected.
    async fn look_outside(&self) -> Result<Option<Watched>, LocalError> {
        let trees = self.benchmark.user_trees.clone();
        if trees.is_empty() {
            return Ok(None);
        }
        let (config, job_dir) = (Arc::clone(&self.config), self.job_dir.clone());
        let surroundings = Surroundings::new(
            &trees,
            &self.benchmark.environment,
            &config.command,
            config.build.as_deref(),
        );
        blocking((), move || {
            let changed = uncommitted::changed(&config.command, &trees);
            if !changed.is_empty() {
                let sentence = format!(
                    "your checkout has changes of what the command names that are not committed, \
                     and were not run: {}; each commit was run with its own",
                    listed_paths(&changed)
                );
                Remark::Uncommitted.note(&job_dir, &sentence)?;
            }
            if config.allow_outside_reads {
                return Ok(None);
            }
            let named = surroundings.check()?;
            if !named.is_empty() {
                let sentence = format!(
                    "the command names a file of your checkout, which was the same for all \
                     commits: {}",
                    listed_paths(&named)
                );
                Remark::NamedFile.note(&job_dir, &sentence)?;
            }
            let watch = surroundings.watch();
            Ok(watch.map(|watch| (Arc::new(surroundings), watch)))
        })
        .await
    }

    /// Checks whether the run that just ended opened tracked files of the user's checkout. Other
    /// programs, such as an editor, may have opened them, so it is run once more: files opened
    /// again were opened by the run.
    async fn check_opened(
        &self,
        outside: &mut Option<Watched>,
        good: &Variant,
        holds: &Holds,
        processes: &Arc<Processes>,
    ) -> Result<(), LocalError> {
        let Some((surroundings, watch)) = outside else {
            return Ok(());
        };
        let opened = watch.opened();
        if surroundings.judge(&opened).is_ok() {
            return Ok(());
        }
        let (purpose, outputs) = (Purpose::FindMetric, Outputs::None);
        // Python may have made directories for compiled files, which it reads from now on.
        let anew = Arc::clone(surroundings);
        let Some(mut watch) = blocking((), move || Ok(anew.watch())).await? else {
            return Ok(());
        };
        let again = (self.benchmark)
            .execute(good, purpose, outputs, holds, processes)
            .await?;
        if again.is_err() {
            return Ok(());
        }
        let both = watch.opened().intersection(&opened).cloned().collect();
        Ok(surroundings.judge(&both)?)
    }

    /// The values of some runs of both ends, by which a measure is chosen. Failed runs are ignored.
    async fn samples(
        &self,
        ends: [(&Variant, &Holds); 2],
        processes: &Arc<Processes>,
    ) -> Result<Samples, LocalError> {
        let mut samples = Samples::default();
        // Alternating, as in the search. The good end has been run already.
        let (variant, holds) = ends[1];
        (self.benchmark)
            .execute(variant, Purpose::WarmUp, Outputs::None, holds, processes)
            .await?
            .ok();
        for _ in 0..RUNS_OF_CHOICE {
            for ((variant, holds), sample) in ends.into_iter().zip(&mut samples) {
                let purpose = Purpose::FindMetric;
                let Ok(execution) = (self.benchmark)
                    .execute(variant, purpose, Outputs::None, holds, processes)
                    .await?
                else {
                    continue;
                };
                self.note_left("preparation", &execution)?;
                if execution.failure.is_none() {
                    for (chart, series) in execution.measures {
                        sample.entry(chart).or_default().extend(series.values);
                    }
                }
            }
        }
        Ok(samples)
    }

    /// The metric of a run, or the reason for its failure: another run may succeed. The error is
    /// one that no other run can change.
    fn metric_of(
        &self,
        execution: &Execution,
        commit: &CombinedCommit,
        aggregate: Option<Aggregate>,
    ) -> Result<Result<Metric, String>, LocalError> {
        let unusable = |reason| LocalError::GoodUnreadable {
            commit: self.builds.name(commit),
            reason,
        };
        if let Some(failure) = &execution.failure {
            return Ok(Err(failure.clone()));
        }
        let results = match &execution.results {
            Ok(results) => results,
            Err(failure) => return Ok(Err(failure.clone())),
        };
        let asked = RequestedMetric {
            format: &self.config.format,
            charts: match self.config.every_chart {
                true => ChartChoice::Every,
                false => ChartChoice::named_or_only(self.config.chart.as_deref()),
            },
            aggregate: self.config.run_aggregate.or(aggregate),
        };
        match find_metric(asked, execution.output(results)) {
            Ok((metric, _)) => Ok(Ok(metric)),
            Err(error) if error.may_pass() => Ok(Err(error.to_string())),
            Err(FindMetricError::Doubt(doubt)) => Err(doubt.into()),
            Err(FindMetricError::Charts(
                error @ (NoMetric::NoSuchChart { .. } | NoMetric::ManyCharts { .. }),
            )) => Err(error.into()),
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    /// Checks by one more run whether the benchmark's value has a new name in each, which would
    /// fail all runs of the search. Only a name that may change, and that the user did not give, is
    /// worth a run.
    async fn check_name(
        &self,
        metric: &Metric,
        good: &Variant,
        holds: &Holds,
        processes: &Arc<Processes>,
    ) -> Result<(), LocalError> {
        let mut names = metric.charts.keys().filter(|it| match &metric.chart {
            Some(deciding) => *it == deciding,
            None => true,
        });
        if self.config.chart.is_some()
            || metric.source == Some(MetricSource::Measured)
            || !names.all(|chart| may_change(chart))
        {
            return Ok(());
        }
        let (purpose, outputs) = (Purpose::FindMetric, Outputs::to_find(&self.config));
        let Ok(execution) = (self.benchmark)
            .execute(good, purpose, outputs, holds, processes)
            .await?
        else {
            return Ok(());
        };
        self.note_left("preparation", &execution)?;
        if let (None, Ok(results)) = (&execution.failure, &execution.results)
            && let names = metric::names_again(metric, execution.output(results))
            && let Some(doubt) = MetricDoubt::of_name(metric, names)
        {
            return Err(doubt.into());
        }
        Ok(())
    }
}

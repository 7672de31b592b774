//! Requests for a bisection.

use std::collections::BTreeMap;

use super::validation::{Check, Problem, Violations, text};
use super::workload::write_arguments;
use super::{NotCarried, ScheduleBisectRequest, Workload};
use crate::bots::Bots;
use crate::{BisectionSpec, CombinedCommit, Commit, Magnitude, Range};

/// The contents of a [`ScheduleBisectRequest`], checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidBisection {
    /// The search: both ends are commits of the bot's repository.
    pub spec: BisectionSpec,
    /// The workload: the benchmark, and the bot that runs it.
    pub workload: Workload,
    /// Arguments for the benchmark.
    pub extra_args: Vec<String>,
    /// The kind of change of interest; a functional search has no chart.
    pub comparison_mode: Option<String>,
    /// A change laid on top of every commit, as given.
    pub pin: Option<String>,
    /// The project of the issue tracker.
    pub project: Option<String>,
    /// The issue to report to.
    pub bug_id: Option<String>,
    /// The user who requests it.
    pub user: Option<String>,
    /// Tags for finding the job among others.
    pub tags: BTreeMap<String, String>,
}

impl ValidBisection {
    /// Reads a request.
    ///
    /// A chart is needed unless `comparison_mode` is `functional`. Missing fields are as
    /// in [`BisectionSpec::new`], except for the magnitude, which is 1.0 in the unit of
    /// the chart in the API alone.
    ///
    /// # Errors
    ///
    /// All problems of the request.
    pub fn read(request: &ScheduleBisectRequest, bots: &Bots) -> Result<Self, Violations> {
        let mut check = Check::default();
        let ends = check.ends(&request.start_git_hash, &request.end_git_hash);
        let bot = check.bot(&request.configuration, bots);
        let aggregate = check.aggregate(&request.statistic, &request.aggregation_method);
        let workload = Workload::read(
            &mut check,
            bot.as_ref(),
            [&request.benchmark, &request.story, &request.story_tags],
            aggregate,
        );
        let is_functional = request
            .comparison_mode
            .trim()
            .eq_ignore_ascii_case("functional");
        if request.chart.trim().is_empty() && !is_functional {
            check.note("chart", Problem::Missing);
        }
        let repository = check.repository(bot);
        let [good, bad] = ends.map(|hash| Commit::new(repository.as_str(), hash).into());
        let default = BisectionSpec::new(Range::Between { good, bad });
        let spec = BisectionSpec {
            chart: text(request.chart.trim()),
            magnitude: Some(Magnitude::Absolute(
                check.magnitude(&request.comparison_magnitude),
            )),
            direction: check.direction(&request.improvement_direction),
            attempts: check.attempts(&request.initial_attempt_count),
            aggregate,
            ..default
        };
        let tags = match request.tags.trim() {
            "" => BTreeMap::new(),
            tags => serde_json::from_str(tags).unwrap_or_else(|_| {
                check.note("tags", Problem::Tags);
                BTreeMap::new()
            }),
        };
        let valid = Self {
            spec,
            workload,
            extra_args: check.arguments("extra_args", &request.extra_args),
            comparison_mode: text(&request.comparison_mode),
            pin: text(&request.pin),
            project: text(&request.project),
            bug_id: text(&request.bug_id),
            user: text(&request.user),
            tags,
        };
        check.end(valid)
    }

    /// The request that asks for this: [`read`](Self::read) with the same bots
    /// restores it.
    ///
    /// # Errors
    ///
    /// The message has no place for something: ends that are not plain commits of
    /// the bot's repository, a range that only the caller knows, a magnitude in
    /// percent or none, budgets, and other choices that are not the default.
    pub fn write(&self, bots: &Bots) -> Result<ScheduleBisectRequest, NotCarried> {
        let Range::Between { good, bad } = &self.spec.range else {
            return Err(NotCarried("a range that only the caller knows"));
        };
        let end = |state: &CombinedCommit| {
            if *state != state.main.clone().into() {
                return Err(NotCarried("an end with dependencies or a patch of its own"));
            }
            self.workload.write_end(&state.main, bots)
        };
        let default = BisectionSpec::new(self.spec.range.clone());
        let BisectionSpec {
            version,
            range: _,
            strategy,
            chart,
            magnitude,
            direction,
            confidence,
            attempts,
            seed,
            max_runs,
            max_builds,
            max_time,
            build_cost,
            priors,
            retry,
            aggregate,
            limits,
            bots: pool,
        } = &self.spec;
        let Some(Magnitude::Absolute(magnitude)) = magnitude else {
            return Err(NotCarried("a magnitude in percent, or none"));
        };
        for (is_default, what) in [
            (*version == default.version, "the version of a spec"),
            (*strategy == default.strategy, "a strategy"),
            (*confidence == default.confidence, "a confidence"),
            (*seed == default.seed, "a seed"),
            (*max_runs == default.max_runs, "a budget of runs"),
            (*max_builds == default.max_builds, "a budget of builds"),
            (*max_time == default.max_time, "a budget of time"),
            (*build_cost == default.build_cost, "the cost of a build"),
            (*priors == default.priors, "weights of commits"),
            (*retry == default.retry, "a retry policy"),
            (*limits == default.limits, "limits"),
            (*pool == default.bots, "several bots"),
            (
                *aggregate == self.workload.aggregate,
                "another aggregation than that of the workload",
            ),
        ] {
            if !is_default {
                return Err(NotCarried(what));
            }
        }
        let tags = if self.tags.is_empty() {
            String::new()
        } else {
            serde_json::json!(self.tags).to_string()
        };
        Ok(ScheduleBisectRequest {
            comparison_mode: self.comparison_mode.clone().unwrap_or_default(),
            start_git_hash: end(good)?,
            end_git_hash: end(bad)?,
            configuration: self.workload.bot.clone(),
            benchmark: self.workload.benchmark.clone(),
            story: self.workload.story.clone().unwrap_or_default(),
            chart: chart.clone().unwrap_or_default(),
            statistic: String::new(),
            comparison_magnitude: magnitude.to_string(),
            pin: self.pin.clone().unwrap_or_default(),
            project: self.project.clone().unwrap_or_default(),
            bug_id: self.bug_id.clone().unwrap_or_default(),
            user: self.user.clone().unwrap_or_default(),
            aggregation_method: self.workload.write_aggregate(),
            story_tags: self.workload.write_tags()?,
            initial_attempt_count: attempts.map_or_else(String::new, |count| count.to_string()),
            tags,
            improvement_direction: direction.as_str().to_owned(),
            extra_args: write_arguments(&self.extra_args)?,
        })
    }
}

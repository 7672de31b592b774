//! Requests for a search with verification.

use pinpoint_compare::Direction;

use super::validation::{Check, Problem, Violations, text};
use super::{NotCarried, ScheduleCulpritFinderRequest, Workload};
use crate::Commit;
use crate::bots::Bots;

/// The contents of a [`ScheduleCulpritFinderRequest`], checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidCulpritFinder {
    /// The commit that was good.
    pub good: Commit,
    /// The commit that is bad, of the same repository.
    pub bad: Commit,
    /// The workload: the benchmark, and the bot that runs it; it has a story.
    pub workload: Workload,
    /// The chart that decides.
    pub chart: String,
    /// The smallest change worth finding, in the unit of the chart.
    pub magnitude: f64,
    /// The direction of improvement.
    pub direction: Direction,
    /// The issue to report to.
    pub bug_id: Option<String>,
}

impl ValidCulpritFinder {
    /// Reads a request. The magnitude is 1.0 when none is given.
    ///
    /// # Errors
    ///
    /// All problems of the request.
    pub fn read(request: &ScheduleCulpritFinderRequest, bots: &Bots) -> Result<Self, Violations> {
        let mut check = Check::default();
        let ends = check.ends(&request.start_git_hash, &request.end_git_hash);
        let bot = check.bot(&request.configuration, bots);
        if let Some(bot) = bot.as_ref().filter(|bot| bot.no_culprit_finder) {
            let problem = Problem::NoCulpritFinder(bot.name.into());
            check.note("configuration", problem);
        }
        let aggregate = check.aggregate(&request.statistic, &request.aggregation_method);
        let workload = Workload {
            bot: bot
                .as_ref()
                .map_or_else(String::new, |bot| bot.name.to_owned()),
            benchmark: check.needed("benchmark", &request.benchmark),
            story: Some(check.needed("story", &request.story)),
            story_tags: Vec::new(),
            aggregate,
        };
        let chart = check.needed("chart", &request.chart);
        let repository = check.repository(bot);
        let [good, bad] = ends.map(|hash| Commit::new(repository.as_str(), hash));
        let valid = Self {
            good,
            bad,
            workload,
            chart,
            magnitude: check.magnitude(&request.comparison_magnitude),
            direction: check.direction(&request.improvement_direction),
            bug_id: text(&request.bug_id),
        };
        check.end(valid)
    }

    /// The request that asks for this: [`read`](Self::read) with the same bots
    /// restores it.
    ///
    /// # Errors
    ///
    /// The message has no place for something: story tags, or ends that are not
    /// plain commits of the bot's repository.
    pub fn write(&self, bots: &Bots) -> Result<ScheduleCulpritFinderRequest, NotCarried> {
        if !self.workload.story_tags.is_empty() {
            return Err(NotCarried("story tags of a culprit finder"));
        }
        Ok(ScheduleCulpritFinderRequest {
            start_git_hash: self.workload.write_end(&self.good, bots)?,
            end_git_hash: self.workload.write_end(&self.bad, bots)?,
            configuration: self.workload.bot.clone(),
            benchmark: self.workload.benchmark.clone(),
            story: self.workload.story.clone().unwrap_or_default(),
            chart: self.chart.clone(),
            statistic: String::new(),
            aggregation_method: self.workload.write_aggregate(),
            improvement_direction: self.direction.as_str().to_owned(),
            comparison_magnitude: self.magnitude.to_string(),
            bug_id: self.bug_id.clone().unwrap_or_default(),
        })
    }
}

//! Requests for a pairwise comparison.

use pinpoint_compare::Direction;

use super::validation::{Check, Problem, Violations, text};
use super::workload::write_arguments;
use super::{
    CasReference, CombinedCommit, FlatCommit, NotCarried, SchedulePairwiseRequest, Workload,
};
use crate::Method;
use crate::bots::Bots;

/// Pairs of runs, where a request does not say.
const PAIRS: u32 = 30;

/// The contents of a [`SchedulePairwiseRequest`], checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidPairwise {
    /// The control, run first.
    pub base: Source,
    /// The treatment, compared with it.
    pub experiment: Source,
    /// The workload: the benchmark, and the bot that runs it. The values of a run become one in any
    /// case.
    pub workload: Workload,
    /// The chart; absent: all of them.
    pub chart: Option<String>,
    /// The build target, where it is not the one of bot and benchmark.
    pub target: Option<String>,
    /// Pairs of runs, an even number.
    pub attempts: u32,
    /// The direction of improvement.
    pub direction: Direction,
    /// Arguments for the benchmark of the control.
    pub base_extra_args: Vec<String>,
    /// Arguments for the benchmark of the treatment.
    pub experiment_extra_args: Vec<String>,
    /// The project of the issue tracker.
    pub project: Option<String>,
    /// The issue to report to.
    pub bug_id: Option<String>,
    /// The user who requests it.
    pub user: Option<String>,
    /// The job name.
    pub name: Option<String>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A state to be built.
    Commit(FlatCommit),
    /// A build.
    Build(CasReference),
}

impl Source {
    fn read(
        check: &mut Check,
        [commit_field, build_field]: [&'static str; 2],
        commit: Option<&CombinedCommit>,
        build: Option<&CasReference>,
        repository: Option<&str>,
    ) -> Self {
        match (commit, build) {
            (Some(_), Some(_)) => {
                let with = build_field;
                check.note(commit_field, Problem::Both { with });
            }
            (None, None) => {
                let or = build_field;
                check.note(commit_field, Problem::MissingEither { or });
            }
            _ => {}
        }
        match (commit, build) {
            (Some(commit), _) => Self::Commit(check.state(commit_field, commit, repository)),
            (None, Some(build)) => Self::Build(check.build(build_field, build)),
            (None, None) => Self::Build(CasReference::default()),
        }
    }

    fn write(&self) -> Result<(Option<CombinedCommit>, Option<CasReference>), NotCarried> {
        Ok(match self {
            Self::Commit(state) => (Some(state.try_into()?), None),
            Self::Build(build) => (None, Some(build.clone())),
        })
    }
}

impl ValidPairwise {
    /// Reads a request.
    ///
    /// Each side is a commit or a build. A main commit without a repository is one
    /// of the bot's. An odd number of pairs becomes the next even one; 30 when
    /// none is given. The values of a run become their mean by default: pairs are made of
    /// runs, not of values.
    ///
    /// # Errors
    ///
    /// All problems of the request.
    pub fn read(request: &SchedulePairwiseRequest, bots: &Bots) -> Result<Self, Violations> {
        let mut check = Check::default();
        let bot = check.bot(&request.configuration, bots);
        let repository = bot.as_ref().and_then(|bot| bot.repository);
        let base = Source::read(
            &mut check,
            ["start_commit", "start_build"],
            request.start_commit.as_ref(),
            request.start_build.as_ref(),
            repository,
        );
        let experiment = Source::read(
            &mut check,
            ["end_commit", "end_build"],
            request.end_commit.as_ref(),
            request.end_build.as_ref(),
            repository,
        );
        let aggregate = check.aggregate("", &request.aggregation_method);
        let workload = Workload::read(
            &mut check,
            bot.as_ref(),
            [&request.benchmark, &request.story, &request.story_tags],
            Some(aggregate.unwrap_or(Method::Mean.into())),
        );
        let valid = Self {
            base,
            experiment,
            workload,
            chart: text(request.chart.trim()),
            target: text(request.target.trim()),
            attempts: check
                .attempts(&request.initial_attempt_count)
                .unwrap_or(PAIRS)
                .next_multiple_of(2),
            direction: check.direction(&request.improvement_direction),
            base_extra_args: check.arguments("base_extra_args", &request.base_extra_args),
            experiment_extra_args: check
                .arguments("experiment_extra_args", &request.experiment_extra_args),
            project: text(&request.project),
            bug_id: text(&request.bug_id),
            user: text(&request.user_email),
            name: text(&request.job_name),
        };
        check.end(valid)
    }

    /// The request that asks for this: [`read`](Self::read) with the same bots
    /// restores it.
    ///
    /// # Errors
    ///
    /// The message has no place for something, such as a patch that is a file.
    pub fn write(&self) -> Result<SchedulePairwiseRequest, NotCarried> {
        let (start_commit, start_build) = self.base.write()?;
        let (end_commit, end_build) = self.experiment.write()?;
        Ok(SchedulePairwiseRequest {
            start_commit,
            end_commit,
            configuration: self.workload.bot.clone(),
            benchmark: self.workload.benchmark.clone(),
            story: self.workload.story.clone().unwrap_or_default(),
            chart: self.chart.clone().unwrap_or_default(),
            aggregation_method: self.workload.write_aggregate(),
            target: self.target.clone().unwrap_or_default(),
            project: self.project.clone().unwrap_or_default(),
            bug_id: self.bug_id.clone().unwrap_or_default(),
            initial_attempt_count: self.attempts.to_string(),
            improvement_direction: self.direction.as_str().to_owned(),
            start_build,
            end_build,
            story_tags: self.workload.write_tags()?,
            user_email: self.user.clone().unwrap_or_default(),
            job_name: self.name.clone().unwrap_or_default(),
            base_extra_args: write_arguments(&self.base_extra_args)?,
            experiment_extra_args: write_arguments(&self.experiment_extra_args)?,
        })
    }
}

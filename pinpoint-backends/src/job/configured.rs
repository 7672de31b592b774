//! Jobs of a benchmark that the operator has configured: a request names it and its bot, and the
//! bots' configuration has the commands that build and run it.

use pinpoint_core::api::{Violations, Workload};
use pinpoint_core::bots::{
    Bot, Bots, Invocation, RefusedArgument, StoryError, UnknownBot, Workers,
};
use pinpoint_core::{Aggregate, CombinedCommit, CulpritFinderSpec, Direction, JobSpec, Range};

use super::{JobError, JobRequest};
use crate::local::LocalConfig;
use crate::store::NewJob;

/// Bytes that finished builds of a job may occupy on each machine.
const CACHE_SIZE: u64 = 10 << 30;

/// A question about a benchmark that the operator has configured.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadRequest {
    /// The benchmark, and its bot.
    pub workload: Workload,
    /// The question. Its commits are those of the bot's repository, no matter which they name.
    pub spec: JobSpec,
    /// The request as the job keeps it, in the JSON of its message.
    pub request: Option<serde_json::Value>,
}

impl WorkloadRequest {
    /// The job that answers it. Its title and its names are left to the caller.
    ///
    /// # Errors
    ///
    /// The first problem that prevents it.
    pub fn job(&self, bots: &Bots) -> Result<NewJob, RequestError> {
        let benchmark = ConfiguredBenchmark::find(&self.workload, bots)?;
        let mut request = benchmark.request(self.spec.clone())?;
        request.config.request.clone_from(&self.request);
        let direction = Some(request.spec.direction());
        let direction = direction.filter(|direction| *direction != Direction::Unknown);
        Ok(request.with_direction(direction).into_job()?)
    }
}

/// The reason why a request can't become a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Fields are missing, or wrong.
    #[error("the request is not valid:\n{0}")]
    Invalid(#[from] Violations),
    /// No bot has this name.
    #[error(transparent)]
    UnknownBot(#[from] UnknownBot),
    /// No worker takes jobs of the bot.
    #[error("configuration: bot `{0}` runs on Swarming; no worker takes its jobs")]
    Swarming(String),
    /// The bot takes no culprit finders.
    #[error(
        "configuration: bot `{0}` has too few machines for a culprit finder; choose another one, or a bisection"
    )]
    NoCulpritFinder(String),
    /// The bot has no repository.
    #[error("configuration: bot `{0}` has no `repository` in its configuration")]
    NoRepository(String),
    /// The configuration has no command for the benchmark.
    #[error(
        "benchmark: `{benchmark}` can't be requested: the configuration of the bots has no command for it{}",
        suggested(.near.as_deref())
    )]
    NoCommand {
        /// The benchmark.
        benchmark: String,
        /// A known benchmark with nearly this name.
        near: Option<String>,
    },
    /// The benchmark is run on other bots.
    #[error("benchmark: `{benchmark}` is not run on bot `{bot}`")]
    OtherBots {
        /// The benchmark.
        benchmark: String,
        /// The bot.
        bot: String,
    },
    /// The benchmark can't be run with the story.
    #[error("story: {0}")]
    Story(#[from] StoryError),
    /// The operator does not allow an argument.
    #[error("{field}: {source}")]
    Argument {
        /// The field.
        field: &'static str,
        /// The argument.
        source: RefusedArgument,
    },
    /// Workers don't support a feature.
    #[error("{field}: {reason}")]
    Unsupported {
        /// The field.
        field: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// The job can't be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
}

fn suggested(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

impl RequestError {
    /// The error for a benchmark without a command in the configuration.
    pub fn no_command(benchmark: &str, bots: &Bots) -> Self {
        Self::NoCommand {
            benchmark: benchmark.to_owned(),
            near: bots.benchmark_near(benchmark),
        }
    }
}

/// A benchmark with its commands, and the bot that runs it.
pub(super) struct ConfiguredBenchmark<'a> {
    workload: &'a Workload,
    pub(super) bot: Bot<'a>,
    pub(super) repository: &'a str,
    invocation: &'a Invocation,
    pub(super) command: Vec<String>,
}

impl<'a> ConfiguredBenchmark<'a> {
    pub(super) fn find(workload: &'a Workload, bots: &'a Bots) -> Result<Self, RequestError> {
        let bot = bots.get(&workload.bot)?;
        if let Workers::Swarming(_) = bot.workers {
            return Err(RequestError::Swarming(workload.bot.clone()));
        }
        let Some(repository) = bot.repository else {
            return Err(RequestError::NoRepository(workload.bot.clone()));
        };
        let name = &workload.benchmark;
        let missing = || RequestError::no_command(name, bots);
        let benchmark = bots.benchmarks().get(name).ok_or_else(missing)?;
        let command = benchmark.command(workload.story.as_deref())?;
        let (Some(invocation), Some(mut command)) = (&benchmark.invocation, command) else {
            return Err(missing());
        };
        if !workload.story_tags.is_empty() {
            match invocation.choose_by_tags(&workload.story_tags) {
                Some(arguments) => command.extend(arguments),
                None if invocation.story_tag_args.is_empty() => {
                    let reason = "stories of this benchmark can't be chosen by tags: its operator gives no `story_tag_args`";
                    return unsupported("story_tags", reason);
                }
                None => {
                    let reason =
                        "a tag has no blank and does not begin with `-`; write a comma between two";
                    return unsupported("story_tags", reason);
                }
            }
        }
        if !benchmark.is_run_on(&bot) {
            return Err(RequestError::OtherBots {
                benchmark: name.clone(),
                bot: workload.bot.clone(),
            });
        }
        Ok(Self {
            workload,
            bot,
            repository,
            invocation,
            command,
        })
    }

    fn aggregate(&self) -> Aggregate {
        let aggregate = self.workload.aggregate.as_ref();
        let aggregate = aggregate.or(self.invocation.aggregate.as_ref());
        aggregate.cloned().unwrap_or_default()
    }

    /// Checks the arguments that a field adds to the command.
    pub(super) fn check_extra(
        &self,
        field: &'static str,
        arguments: &[String],
    ) -> Result<(), RequestError> {
        let checked = self.invocation.check_extra(arguments);
        checked.map_err(|source| RequestError::Argument { field, source })
    }

    /// The request for a job of its bot's workers. The commits of the question are those of the
    /// bot's repository, no matter which they name.
    pub(super) fn request(self, mut spec: JobSpec) -> Result<JobRequest, RequestError> {
        if matches!(spec, JobSpec::CulpritFinder(_)) && self.bot.no_culprit_finder {
            return Err(RequestError::NoCulpritFinder(self.workload.bot.clone()));
        }
        let aggregate = Some(self.aggregate());
        let name = |commit: &mut CombinedCommit| {
            self.repository.clone_into(&mut commit.main.repository);
        };
        let good = match &mut spec {
            JobSpec::Bisection(search)
            | JobSpec::CulpritFinder(CulpritFinderSpec {
                bisection: search, ..
            }) => {
                search.aggregate = aggregate;
                let Range::Between { good, bad } = &mut search.range else {
                    return unsupported("good", "the ends are not commits");
                };
                name(good);
                name(bad);
                good.clone()
            }
            JobSpec::Pairwise(spec) => {
                spec.aggregate = aggregate;
                let Some(sides) = &mut spec.sides else {
                    return unsupported("base", "the sides are not commits");
                };
                for (field, side) in [
                    ("base_extra_args", &mut sides.base),
                    ("experiment_extra_args", &mut sides.experiment),
                ] {
                    self.check_extra(field, &side.arguments)?;
                    name(&mut side.commit);
                }
                sides.base.commit.clone()
            }
            _ => return unsupported("question", "workers of this version can't answer it"),
        };
        let Invocation {
            build,
            command: _,
            format,
            results,
            aggregate: _,
            timeout,
            env,
            repositories,
            allow_extra_args: _,
            story_tag_args: _,
        } = self.invocation.clone();
        let urls = repositories.into_iter().chain([self.repository.to_owned()]);
        let local = LocalConfig {
            urls: urls.map(|url| (url.clone(), url)).collect(),
            build,
            env,
            format,
            results,
            timeout,
            cache_size: CACHE_SIZE,
            ..LocalConfig::new(self.repository.to_owned(), good, self.command)
        };
        let mut request = JobRequest::local(spec, local);
        request.config.by_workers = true;
        self.workload.benchmark.clone_into(&mut request.benchmark);
        self.bot.configured_as.clone_into(&mut request.bot);
        Ok(request)
    }
}

pub(super) fn unsupported<T>(field: &'static str, reason: &'static str) -> Result<T, RequestError> {
    Err(RequestError::Unsupported { field, reason })
}

//! `pinpoint bisect`: from arguments to a job.

use std::path::PathBuf;

use pinpoint_backends::job::{CommandLine, JobConfig};
use pinpoint_backends::local::{LocalConfig, MeasureChoice, Repository, RepositoryError, limits};
use pinpoint_core::job::JobResult;
use pinpoint_core::{BisectionSpec, Direction, FindMetric, JobMachine, Range};

use crate::arguments::{Bisect, Display};
use crate::command_line;
use crate::error::CliError;
use crate::job::Session;
use crate::job_result::{exit_code, print_result};
use crate::new_job::{Names, PatchFile, milliseconds, patched, store_job};
use crate::prior::Prior;
use crate::report;
use crate::storage::Storage;

pub(crate) async fn run(arguments: Bisect, display: Display) -> Result<u8, CliError> {
    let command_line = command_line::of_this_process(&arguments.good, &arguments.bad);
    let result = bisect(arguments, command_line, &display).await?;
    print_result(&result, &display);
    Ok(exit_code(&result))
}

/// Makes a job of the arguments and runs it.
pub(crate) async fn bisect(
    arguments: Bisect,
    command_line: CommandLine,
    display: &Display,
) -> Result<JobResult, CliError> {
    let search = Search::new(arguments, command_line)?;
    // A spec that can't be searched is refused before anything is written.
    JobMachine::new(search.spec.clone())?;
    let storage = Storage::open(display).await?;
    let config = search.config(&storage)?;
    search.prior.say(display);
    let id = store_job(&storage, search.spec, &config, search.names).await?;
    Session::take(&storage, &id).await?.run(display).await
}

/// A search that the arguments ask for.
pub(crate) struct Search {
    pub(crate) spec: BisectionSpec,
    pub(crate) prior: Prior,
    local: LocalConfig,
    patch: Option<PatchFile>,
    inherited_env: Vec<String>,
    find_metric: FindMetric,
    report: Option<PathBuf>,
    command_line: CommandLine,
    pub(crate) names: Names,
}

impl Search {
    pub(crate) fn new(arguments: Bisect, command_line: CommandLine) -> Result<Self, CliError> {
        let repository = Repository::discover(&arguments.benchmark.repo)?;
        let good = repository.resolve_revision(&arguments.good)?;
        let bad = repository.resolve_revision(&arguments.bad)?;
        repository
            .range_check(&good.git_hash, &bad.git_hash)
            .map_err(|error| match error {
                RepositoryError::Reversed { .. } => CliError::Reversed {
                    swapped: command_line::with_ends(
                        &command_line,
                        &arguments.bad,
                        &arguments.good,
                    )
                    .unwrap_or_else(|| {
                        format!(
                            "pinpoint bisect … {} {} -- …",
                            arguments.bad, arguments.good
                        )
                    }),
                    error,
                },
                error => error.into(),
            })?;
        let paths = repository.paths_between(&good.git_hash, &bad.git_hash, &arguments.path)?;
        let ends = (&*good.git_hash, &*bad.git_hash);
        let strategy = arguments.strategy.into();
        let prior = Prior::new(&arguments.prior, strategy, &repository, ends, &paths)?;
        let skip = arguments
            .skip
            .iter()
            .map(|revision| Ok(repository.resolve_revision(revision)?.git_hash))
            .collect::<Result<Vec<_>, CliError>>()?;
        let patch = arguments
            .patch
            .as_deref()
            .map(PatchFile::read)
            .transpose()?;
        let good = patched(good, patch.as_ref());
        let bad = patched(bad, patch.as_ref());
        let report = (arguments.job.report.as_deref())
            .map(report::destination)
            .transpose()?;
        let direction = arguments.job.direction;
        let names = Names::of(&arguments.job, &arguments.command);
        let inherited_env = arguments.benchmark.inherited_env()?;
        let spec = BisectionSpec {
            strategy,
            chart: None,
            magnitude: arguments.magnitude,
            aggregate: Some(arguments.benchmark.aggregate.unwrap_or_default()),
            direction: direction.map_or(Direction::Unknown, Into::into),
            confidence: arguments.confidence,
            attempts: arguments.attempts,
            build_cost: arguments.build_cost,
            priors: prior.weights.clone(),
            seed: arguments.job.seed,
            max_runs: arguments.max_runs,
            max_builds: arguments.max_builds,
            max_time: milliseconds(arguments.job.max_time),
            limits: limits(arguments.job.build_jobs),
            ..BisectionSpec::new(Range::Between {
                good: good.clone(),
                bad: bad.clone(),
            })
        };
        Ok(Self {
            spec,
            prior,
            local: LocalConfig {
                skip,
                paths,
                trace: arguments.trace_reads,
                build_jobs: arguments.job.build_jobs,
                ..(arguments.benchmark).into_config(
                    repository.path(),
                    good,
                    Some(MeasureChoice {
                        other: bad.into(),
                        either_way: false,
                    }),
                    arguments.command,
                    arguments.chart,
                )?
            },
            patch,
            inherited_env,
            find_metric: FindMetric {
                directions: direction.is_none(),
                ..FindMetric::default()
            },
            report,
            command_line,
            names,
        })
    }

    /// The configuration kept with the job, the patch included.
    pub(crate) fn config(&self, storage: &Storage) -> Result<JobConfig, CliError> {
        let patch = (self.patch.as_ref())
            .map(|patch| patch.keep(storage))
            .transpose()?;
        Ok(JobConfig {
            local: Some(LocalConfig {
                patch,
                ..self.local.clone()
            }),
            find_metric: Some(self.find_metric),
            inherited_env: self.inherited_env.clone(),
            report: self.report.clone(),
            command_line: Some(self.command_line.clone()),
            ..JobConfig::default()
        })
    }
}

//! `pinpoint bisect`: from arguments to a job.

use std::path::PathBuf;

use pinpoint_backends::job::{CommandLine, JobConfig};
use pinpoint_backends::local::{LocalConfig, MeasureChoice, Repository, RepositoryError, limits};
use pinpoint_core::job::JobResult;
use pinpoint_core::{BisectionSpec, Direction, FindMetric, JobMachine, JobSpec, Range};
use pinpoint_report::command_line::with_ends;

use crate::arguments::{Bisect, Display};
use crate::commands::explain::job::AtOnce;
use crate::error::CliError;
use crate::job::command_line;
use crate::job::luci;
use crate::job::new_job::{CarriedOut, Names, PatchFile, end, milliseconds, patched, store_job};
use crate::job::prior::Prior;
use crate::job::report;
use crate::job::storage::Storage;
use crate::show::output::errln;

pub(crate) async fn run(arguments: Bisect, display: Display) -> Result<u8, CliError> {
    if arguments.job.assignment.in_luci() {
        return luci::bisect(arguments, None, display).await;
    }
    let display = arguments.job.assignment.display(display);
    arguments.benchmark.say_where(&display);
    let command_line = command_line::of_this_process(&arguments.good, &arguments.bad);
    let search = Search::new(arguments, command_line)?;
    let spec = search.spec.clone();
    search.end(spec, &display).await
}

/// Describes the path of the search if the good end is not part of the bad end's history.
fn detour([good, bad]: [&str; 2], merge_bases: &[String]) -> Option<String> {
    let short = |hash: &String| hash.get(..10).unwrap_or(hash).to_owned();
    let bases: Vec<String> = merge_bases.iter().map(short).collect();
    let base = match &bases[..] {
        [] => return None,
        [one] => format!("their merge base {one}"),
        several => format!("their merge bases {}, merged", several.join(" and ")),
    };
    Some(format!(
        "{good} is not part of the history of {bad}: the search goes back from {good} to {base}, and from there to {bad}"
    ))
}

/// A search that the arguments ask for.
pub(crate) struct Search {
    pub(crate) spec: BisectionSpec,
    pub(crate) prior: Prior,
    local: LocalConfig,
    patch: Option<PatchFile>,
    carried_out: CarriedOut,
    inherited_env: Vec<String>,
    find_metric: FindMetric,
    report: Option<PathBuf>,
    command_line: CommandLine,
    names: Names,
    explain: Option<AtOnce>,
    detour: Option<String>,
}

impl Search {
    pub(crate) fn new(arguments: Bisect, command_line: CommandLine) -> Result<Self, CliError> {
        if arguments.explain && arguments.job.assignment.bot.is_some() {
            return Err(CliError::Input(
                "--explain has no profiler on workers: leave it out, and explain the job with `pinpoint explain` on a machine that can run its commands".into(),
            ));
        }
        let repository = Repository::discover(&arguments.benchmark.repo)?;
        let good = repository.resolve_revision(&arguments.good)?;
        let bad = repository.resolve_revision(&arguments.bad)?;
        let merge_bases = repository
            .range_check(&good.git_hash, &bad.git_hash)
            .map_err(|error| match error {
                RepositoryError::Reversed { .. } => CliError::Reversed {
                    swapped: with_ends(&command_line, &arguments.bad, &arguments.good)
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
        let carried_out =
            CarriedOut::from_assignment(&arguments.job.assignment, &arguments.benchmark)?;
        carried_out.warn_of_unpublished(repository.path(), [&good, &bad]);
        let names = Names::from_options(&arguments.job, &carried_out, &arguments.command);
        let inherited_env = arguments.benchmark.inherited_env();
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
        let explain = arguments.explain.then_some(arguments.profiler);
        let local = LocalConfig {
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
        };
        let explain = explain
            .map(|profiler| AtOnce::new(profiler, &local, report.as_deref()))
            .transpose()?;
        Ok(Self {
            spec,
            prior,
            local,
            patch,
            carried_out,
            inherited_env,
            find_metric: FindMetric {
                directions: direction.is_none(),
                ..FindMetric::default()
            },
            report,
            command_line,
            names,
            explain,
            detour: detour([&arguments.good, &arguments.bad], &merge_bases),
        })
    }

    /// Has the search carried out as [`run`](Self::run) does, prints the result, and returns the
    /// exit code.
    pub(crate) async fn end(
        mut self,
        spec: impl Into<JobSpec>,
        display: &Display,
    ) -> Result<u8, CliError> {
        let explain = self.explain.take();
        let result = self.run(spec, display).await;
        let result = result.map_err(|error| match &explain {
            Some(explain) => explain.not_yet(error, display),
            None => error,
        })?;
        match (explain, &result) {
            (Some(explain), Some(result)) => explain.end(result, display).await,
            _ => Ok(end(result.as_ref(), display)),
        }
    }

    /// Makes a job of the search, alone or as a part of this spec, and has it carried out. Returns
    /// no result if it is left to workers.
    pub(crate) async fn run(
        self,
        spec: impl Into<JobSpec>,
        display: &Display,
    ) -> Result<Option<JobResult>, CliError> {
        let spec = spec.into();
        // A spec that can't be searched is refused before anything is written.
        JobMachine::new(spec.clone())?;
        let storage = Storage::open(display).await?;
        let config = self.config(&storage)?;
        if let Some(detour) = self.detour.as_ref().filter(|_| !display.quiet) {
            errln!("{detour}");
        }
        self.prior.say(display);
        let patch = self.patch.as_ref();
        let key = self.carried_out.key();
        let id = store_job(&storage, spec, &config, self.names, patch, key).await?;
        let report = self.report.as_deref();
        self.carried_out.run(&storage, &id, report, display).await
    }

    /// The configuration kept with the job, the patch included.
    fn config(&self, storage: &Storage) -> Result<JobConfig, CliError> {
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
            // Workers are on other machines.
            report: (self.report.clone()).filter(|_| !self.carried_out.by_workers()),
            by_workers: self.carried_out.by_workers(),
            command_line: Some(self.command_line.clone()),
            ..JobConfig::default()
        })
    }
}

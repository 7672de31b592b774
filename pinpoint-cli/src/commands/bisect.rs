//! `pinpoint bisect`: from arguments to a job.

use std::path::PathBuf;

use pinpoint_backends::job::{CommandLine, JobRequest};
use pinpoint_backends::local::{LocalConfig, Repository, RepositoryError};
use pinpoint_backends::store::JobId;
use pinpoint_core::job::JobResult;
use pinpoint_core::{BisectionSpec, JobSpec, Range};
use pinpoint_report::command_line::with_ends;
use pinpoint_traces::watch::BisectionJob;

use crate::arguments::{Bisect, Display, searched};
use crate::commands::explain::after_search::AtOnce;
use crate::error::CliError;
use crate::job::command_line;
use crate::job::luci;
use crate::job::new_job::{
    CarriedOut, PatchFile, end, keep_patch, name, patched, store_job, titled,
};
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
    let search = Search::new(arguments, None, command_line)?;
    search.end(&display).await
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
    request: JobRequest,
    prior: Prior,
    patch: Option<PatchFile>,
    carried_out: CarriedOut,
    report: Option<PathBuf>,
    explain: Option<AtOnce>,
    detour: Option<String>,
}

impl Search {
    /// The search; with pairs, one whose culprits are verified.
    pub(crate) fn new(
        arguments: Bisect,
        pairs: Option<u32>,
        command_line: CommandLine,
    ) -> Result<Self, CliError> {
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
        let carried_out =
            CarriedOut::from_assignment(&arguments.job.assignment, &arguments.benchmark)?;
        carried_out.warn_of_unpublished(repository.path(), [&good, &bad]);
        let inherited_env = arguments.benchmark.inherited_env();
        let measure = arguments.benchmark.measure.map(Into::into);
        let range = Range::Between {
            good: good.clone(),
            bad: bad.clone(),
        };
        let bisection = BisectionSpec {
            priors: prior.weights.clone(),
            ..arguments.question(range)
        };
        let command = arguments.command.clone();
        let benchmark = arguments.benchmark;
        let local = LocalConfig {
            chart: arguments.chart,
            skip,
            paths,
            trace: arguments.trace_reads,
            build_jobs: arguments.job.build_jobs,
            ..benchmark.into_config(repository.path(), &good, Some(&bad), command)?
        };
        let mut request = JobRequest::local(searched(bisection, pairs), local)
            .with_direction(arguments.job.direction())
            .with_measure(measure)?;
        name(
            &mut request,
            &arguments.job,
            &carried_out,
            &arguments.command,
        );
        request.config.inherited_env = inherited_env;
        request.config.report.clone_from(&report);
        request.config.command_line = Some(command_line);
        let explain = { request.config.local.as_ref() }
            .filter(|_| arguments.explain)
            .map(|local| AtOnce::new(arguments.profiler, local, report.as_deref()))
            .transpose()?;
        Ok(Self {
            request,
            prior,
            patch,
            carried_out,
            report,
            explain,
            detour: detour([&arguments.good, &arguments.bad], &merge_bases),
        })
    }

    /// The search with what is known of the change in the history of values.
    ///
    /// # Errors
    ///
    /// When the repository can't be read.
    pub(crate) fn informed(mut self, job: &BisectionJob) -> Result<Self, CliError> {
        let JobSpec::CulpritFinder(finder) = &self.request.spec else {
            return Ok(self);
        };
        let Range::Between { good, bad } = finder.bisection.range.clone() else {
            return Ok(self);
        };
        let (one, other) = (good.main.git_hash.clone(), bad.main.git_hash.clone());
        let local = self.request.config.local.as_ref();
        let between = match local {
            Some(local) => {
                let repository = Repository::at(&local.repository)?;
                repository.count_between(&one, &other, &local.paths)?
            }
            None => 0,
        };
        let known = job.spec(good, bad, between).bisection;
        self.request = self.request.with_direction(Some(known.direction));
        if let JobSpec::CulpritFinder(finder) = &mut self.request.spec {
            let search = &mut finder.bisection;
            search.magnitude = search.magnitude.or(known.magnitude);
            search.priors = known.priors.or_else(|| search.priors.take());
        }
        Ok(self)
    }

    /// Makes a job of the search under this id, unless it is there. Returns false if another job has
    /// its number.
    pub(crate) async fn make_once(self, storage: &Storage, id: &JobId) -> Result<bool, CliError> {
        self.request.check()?;
        let job = titled(self.request).into_job()?;
        Ok(storage.store.jobs().create_once(id, &job).await?)
    }

    /// Has the search carried out as [`run`](Self::run) does, prints the result, and returns the
    /// exit code.
    pub(crate) async fn end(mut self, display: &Display) -> Result<u8, CliError> {
        let explain = self.explain.take();
        let result = self.run(display).await;
        let result = result.map_err(|error| match &explain {
            Some(explain) => explain.not_yet(error, display),
            None => error,
        })?;
        match (explain, &result) {
            (Some(explain), Some(result)) => explain.end(result, display).await,
            _ => Ok(end(result.as_ref(), display)),
        }
    }

    /// Makes a job of the search, and has it carried out. Returns no result if it is left to
    /// workers.
    pub(crate) async fn run(mut self, display: &Display) -> Result<Option<JobResult>, CliError> {
        // A search that can't be made is refused before anything is written.
        self.request.check()?;
        let storage = Storage::open(display).await?;
        let patch = self.patch.as_ref();
        keep_patch(&mut self.request, patch, &storage)?;
        if let Some(detour) = self.detour.as_ref().filter(|_| !display.quiet) {
            errln!("{detour}");
        }
        self.prior.say(display);
        let id = store_job(&storage, self.request, patch, self.carried_out.key()).await?;
        let report = self.report.as_deref();
        self.carried_out.run(&storage, &id, report, display).await
    }
}

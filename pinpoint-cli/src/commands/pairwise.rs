//! `pinpoint pairwise`: from arguments to a job.

use std::path::{Path, PathBuf};

use pinpoint_backends::job::JobConfig;
use pinpoint_backends::local::{LocalConfig, MeasureChoice, Repository, limits};
use pinpoint_core::{
    CombinedCommit, Commit, Direction, FindMetric, JobMachine, PairwiseSpec, Variant,
};

use crate::arguments::{Display, Pairwise};
use crate::error::CliError;
use crate::job::command_line;
use crate::job::luci;
use crate::job::new_job::{CarriedOut, Names, PatchFile, end, milliseconds, patched, store_job};
use crate::job::report;
use crate::job::storage::Storage;

pub(crate) async fn run(arguments: Pairwise, display: Display) -> Result<u8, CliError> {
    if arguments.job.assignment.in_luci() {
        return luci::pairwise(arguments, display).await;
    }
    let display = arguments.job.assignment.display(display);
    if arguments.base_build.is_none() {
        arguments.benchmark.say_where(&display);
    }
    let patch = arguments
        .patch
        .as_deref()
        .map(PatchFile::read)
        .transpose()?;
    let States {
        base,
        experiment,
        place,
        made,
    } = States::from_arguments(&arguments, patch.as_ref())?;
    let base = Variant {
        commit: base,
        artifact: None,
        arguments: arguments.base_arg,
        env: arguments.base_env.into_iter().collect(),
    };
    let experiment = Variant {
        commit: experiment,
        artifact: None,
        arguments: arguments.experiment_arg,
        env: arguments.experiment_env.into_iter().collect(),
    };
    // To see how much a commit scatters, a user names it twice.
    if !made && arguments.experiment.is_none() && base == experiment {
        return Err(CliError::Input(
            "there is nothing to compare the base with: name an EXPERIMENT, or give --patch, --experiment-arg or --experiment-env".into(),
        ));
    }
    let report = (arguments.job.report.as_deref())
        .map(report::destination)
        .transpose()?;
    let direction = arguments.job.direction;
    let carried_out = CarriedOut::from_assignment(&arguments.job.assignment, &arguments.benchmark)?;
    if made && carried_out.by_workers() {
        return Err(CliError::Input(
            "--base-build and --experiment-build are on this machine, where no worker of --bot may be: leave --bot out".into(),
        ));
    }
    carried_out.warn_of_unpublished(&place, [&base.commit, &experiment.commit]);
    let names = Names::from_options(&arguments.job, &carried_out, &arguments.command);
    let inherited_env = arguments.benchmark.inherited_env();
    let aggregate = arguments.benchmark.aggregate.unwrap_or_default();
    let local = (arguments.benchmark).into_config(
        &place,
        base.commit.clone(),
        Some(MeasureChoice {
            other: experiment.clone(),
            // An improvement is an answer, too.
            either_way: true,
        }),
        arguments.command,
        arguments.chart,
    )?;
    let spec = PairwiseSpec {
        chart: local.chart.clone(),
        aggregate: Some(aggregate),
        direction: direction.map_or(Direction::Unknown, Into::into),
        pairs: arguments.pairs,
        early_stopping: arguments.early_stop,
        // To see how much a commit scatters, it is run.
        skip_same_builds: arguments.trace_reads && base.commit != experiment.commit,
        seed: arguments.job.seed,
        max_time: milliseconds(arguments.job.max_time),
        limits: limits(arguments.job.build_jobs),
        ..PairwiseSpec::new(base.clone(), experiment)
    };
    // A spec that can't be searched is refused before anything is written.
    JobMachine::new(spec.clone())?;
    let storage = Storage::open(&display).await?;
    let only_chart = local.measure_choice.is_some();
    let config = JobConfig {
        local: Some(LocalConfig {
            good_arguments: base.arguments,
            good_env: base.env,
            patch: (patch.as_ref())
                .map(|patch| patch.keep(&storage))
                .transpose()?,
            made,
            every_chart: local.chart.is_none() && !only_chart,
            trace: arguments.trace_reads,
            build_jobs: arguments.job.build_jobs,
            ..local
        }),
        find_metric: Some(FindMetric {
            directions: direction.is_none(),
            only_chart,
        }),
        inherited_env,
        // Workers are on other machines.
        report: report.clone().filter(|_| !carried_out.by_workers()),
        by_workers: carried_out.by_workers(),
        command_line: Some(command_line::without_ends()),
        ..JobConfig::default()
    };
    let (patch, key) = (patch.as_ref(), carried_out.key());
    let id = store_job(&storage, spec, &config, names, patch, key).await?;
    let result = carried_out.run(&storage, &id, report.as_deref(), &display);
    Ok(end(result.await?.as_ref(), &display))
}

/// The states to compare.
struct States {
    base: CombinedCommit,
    experiment: CombinedCommit,
    /// The repository; for existing builds, the directory of the base.
    place: PathBuf,
    /// They are existing builds.
    made: bool,
}

impl States {
    fn from_arguments(arguments: &Pairwise, patch: Option<&PatchFile>) -> Result<Self, CliError> {
        let (Some(base), Some(experiment)) = (&arguments.base_build, &arguments.experiment_build)
        else {
            let repository = Repository::discover(&arguments.benchmark.repo)?;
            // Required where there are no builds.
            let base = arguments.base.as_deref().unwrap_or_default();
            let base = repository.resolve_revision(base)?;
            let experiment = match &arguments.experiment {
                Some(revision) => repository.resolve_revision(revision)?,
                None => base.clone(),
            };
            return Ok(Self {
                base: base.into(),
                experiment: patched(experiment, patch),
                place: repository.path().to_owned(),
                made: false,
            });
        };
        let place = build("--base-build", base)?;
        Ok(Self {
            base: state(&place)?,
            experiment: state(&build("--experiment-build", experiment)?)?,
            place,
            made: true,
        })
    }
}

/// The canonical directory of a build.
fn build(option: &str, directory: &Path) -> Result<PathBuf, CliError> {
    let wrong = |reason: &str| {
        CliError::Input(format!(
            "{option}: {} {reason}; name the directory that the benchmark is to run in",
            directory.display()
        ))
    };
    let place = (directory.canonicalize()).map_err(|error| wrong(&format!("({error})")))?;
    if !place.is_dir() {
        return Err(wrong("is not a directory"));
    }
    Ok(place)
}

/// A build as a comparable state: its place, without a commit.
fn state(place: &Path) -> Result<CombinedCommit, CliError> {
    let name = place.to_str().ok_or_else(|| {
        CliError::Input(format!(
            "{}: the name of this directory is not UTF-8 and can't be stored; rename it",
            place.display()
        ))
    })?;
    Ok(Commit::new(name, "").into())
}

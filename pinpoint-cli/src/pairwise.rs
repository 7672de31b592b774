//! `pinpoint pairwise`: from arguments to a job.

use pinpoint_backends::local::{LocalConfig, Repository};
use pinpoint_core::{Direction, PairwiseSpec, Variant};

use crate::arguments::{Display, Pairwise};
use crate::error::CliError;
use crate::job::{CommandLine, JobConfig, Session};
use crate::kind::Kind;
use crate::new_job::{Names, PatchFile, milliseconds, patched, store_job};
use crate::storage::Storage;

pub(crate) async fn run(arguments: Pairwise, display: Display) -> Result<u8, CliError> {
    let repository = Repository::discover(&arguments.benchmark.repo)?;
    let patch = arguments
        .patch
        .as_deref()
        .map(PatchFile::read)
        .transpose()?;
    let base = repository.resolve_revision(&arguments.base)?;
    let experiment = match &arguments.experiment {
        Some(revision) => repository.resolve_revision(revision)?,
        None => base.clone(),
    };
    let base = Variant {
        commit: base.into(),
        arguments: arguments.base_arg,
        env: arguments.base_env.into_iter().collect(),
    };
    let experiment = Variant {
        commit: patched(experiment, patch.as_ref()),
        arguments: arguments.experiment_arg,
        env: arguments.experiment_env.into_iter().collect(),
    };
    // Who wants to see how much a commit scatters names it twice.
    if arguments.experiment.is_none() && base == experiment {
        return Err(CliError::Input(
            "there is nothing to compare the base with: name an EXPERIMENT, or give --patch, --experiment-arg or --experiment-env".into(),
        ));
    }
    let direction = arguments.job.direction;
    let names = Names::of(&arguments.job, &arguments.command);
    let spec = PairwiseSpec {
        chart: arguments.chart.clone(),
        direction: direction.map_or(Direction::Unknown, Into::into),
        pairs: arguments.pairs,
        early_stopping: arguments.early_stop,
        seed: arguments.job.seed,
        max_time: milliseconds(arguments.job.max_time),
        ..PairwiseSpec::new(base.clone(), experiment)
    };
    // A spec that can't be carried out is refused before there is a job.
    pinpoint_core::Pairwise::new(spec.clone())?;

    let storage = Storage::open(&display).await?;
    let local = LocalConfig {
        every_chart: arguments.chart.is_none(),
        chart: arguments.chart,
        build_jobs: arguments.job.build_jobs,
        ..(arguments.benchmark).into_config(&repository, base.commit, arguments.command)?
    };
    let config = JobConfig {
        local: LocalConfig {
            good_arguments: base.arguments,
            good_env: base.env,
            patch: patch.map(|patch| patch.keep(&storage)).transpose()?,
            ..local
        },
        direction_by_unit: direction.is_none(),
        command_line: CommandLine::without_ends(),
    };
    let id = store_job(&storage, Kind::Pairwise, &spec, &config, names).await?;
    let result = Session::take(&storage, &id).await?.run(&display).await?;
    result.print(&display);
    Ok(result.exit_code())
}

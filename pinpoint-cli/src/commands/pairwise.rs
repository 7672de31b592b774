//! `pinpoint pairwise`: from arguments to a job.

use std::mem::take;
use std::path::{Path, PathBuf};

use pinpoint_backends::job::JobRequest;
use pinpoint_backends::local::{LocalConfig, Repository};
use pinpoint_core::{CombinedCommit, Commit, PairwiseSpec, Variant};

use crate::arguments::{Display, Pairwise};
use crate::error::CliError;
use crate::job::command_line;
use crate::job::luci;
use crate::job::new_job::{CarriedOut, PatchFile, end, keep_patch, name, patched, store_job};
use crate::job::report;
use crate::job::storage::Storage;

pub(crate) async fn run(mut arguments: Pairwise, display: Display) -> Result<u8, CliError> {
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
        arguments: take(&mut arguments.base_arg),
        env: take(&mut arguments.base_env).into_iter().collect(),
    };
    let experiment = Variant {
        commit: experiment,
        artifact: None,
        arguments: take(&mut arguments.experiment_arg),
        env: take(&mut arguments.experiment_env).into_iter().collect(),
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
    let carried_out = CarriedOut::from_assignment(&arguments.job.assignment, &arguments.benchmark)?;
    if made && carried_out.by_workers() {
        return Err(CliError::Input(
            "--base-build and --experiment-build are on this machine, where no worker of --bot may be: leave --bot out".into(),
        ));
    }
    carried_out.warn_of_unpublished(&place, [&base.commit, &experiment.commit]);
    let inherited_env = arguments.benchmark.inherited_env();
    let measure = arguments.benchmark.measure.map(Into::into);
    let question = arguments.question();
    let local = LocalConfig {
        made,
        trace: arguments.trace_reads,
        build_jobs: arguments.job.build_jobs,
        ..(arguments.benchmark).into_config(
            &place,
            &base.commit,
            Some(&experiment.commit),
            arguments.command.clone(),
        )?
    };
    let spec = PairwiseSpec {
        sides: PairwiseSpec::new(base, experiment).sides,
        ..question
    };
    let mut request = JobRequest::local(spec, local)
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
    request.config.command_line = Some(command_line::without_ends());
    // A comparison that can't be made is refused before anything is written.
    request.check()?;
    let storage = Storage::open(&display).await?;
    keep_patch(&mut request, patch.as_ref(), &storage)?;
    let id = store_job(&storage, request, patch.as_ref(), carried_out.key()).await?;
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

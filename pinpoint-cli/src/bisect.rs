//! `pinpoint bisect`: from arguments to a job.

use std::fs;
use std::path::Path;

use pinpoint_backends::local::{LocalConfig, Repository, RepositoryError};
use pinpoint_backends::sqlite::{NewJob, Store};
use pinpoint_core::{Bisection, BisectionSpec, CombinedCommit, Direction, Patch, Range};
use sha2::{Digest, Sha256};

use crate::arguments::{Bisect, Display};
use crate::document::Document;
use crate::error::{CliError, exit_code};
use crate::job::{CommandLine, JobConfig, Session, quoted};
use crate::storage::state_dir;

pub(crate) async fn run(arguments: Bisect, display: Display) -> Result<u8, CliError> {
    let command_line = CommandLine::of_this_process(&arguments.good, &arguments.bad);
    let document = bisect(arguments, command_line, &display).await?;
    document.print(&display);
    Ok(exit_code(document.status))
}

/// Makes a job of the arguments and runs it.
pub(crate) async fn bisect(
    arguments: Bisect,
    command_line: CommandLine,
    display: &Display,
) -> Result<Document, CliError> {
    let repository = Repository::discover(&arguments.repo)?;
    let good = repository.resolve_revision(&arguments.good)?;
    let bad = repository.resolve_revision(&arguments.bad)?;
    repository
        .range_check(&good.git_hash, &bad.git_hash)
        .map_err(|error| match error {
            RepositoryError::Reversed { .. } => CliError::Reversed {
                swapped: command_line
                    .with_ends(&arguments.bad, &arguments.good)
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
    let skip = arguments
        .skip
        .iter()
        .map(|revision| Ok(repository.resolve_revision(revision)?.git_hash))
        .collect::<Result<Vec<_>, CliError>>()?;
    let patch = arguments.patch.as_deref().map(read_patch).transpose()?;
    let combined = |main| CombinedCommit {
        main,
        modified_deps: Vec::new(),
        patch: patch.as_ref().map(|(patch, _)| patch.clone()),
    };
    let (good, bad) = (combined(good), combined(bad));
    let repositories = arguments
        .repository
        .into_iter()
        .map(|(url, directory)| {
            let repository = Repository::discover(&directory)?;
            Ok((url, repository.path().to_owned()))
        })
        .collect::<Result<_, CliError>>()?;

    let spec = BisectionSpec {
        strategy: arguments.strategy.into(),
        chart: None,
        magnitude: arguments.magnitude,
        direction: arguments.direction.map_or(Direction::Unknown, Into::into),
        confidence: arguments.confidence,
        attempts: arguments.attempts,
        seed: arguments.seed,
        max_runs: arguments.max_runs,
        max_builds: arguments.max_builds,
        max_time: arguments
            .max_time
            .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        ..BisectionSpec::new(Range::Between {
            good: good.clone(),
            bad,
        })
    };
    // A spec that can't be searched is refused before there is a job.
    Bisection::new(spec.clone())?;

    let store = Store::open(&state_dir(display)?).await?;
    let mut config = JobConfig {
        local: LocalConfig {
            repository: repository.path().to_owned(),
            repositories,
            good,
            build: arguments.build,
            command: arguments.command,
            env: arguments.env.into_iter().collect(),
            patch: None,
            format: arguments.format,
            chart: arguments.chart,
            aggregate: arguments.aggregate,
            results: arguments.results,
            warmup: arguments.warmup,
            timeout: arguments.timeout,
            build_jobs: arguments.build_jobs,
            cache_size: arguments.cache_size.as_u64(),
            skip,
            paths,
        },
        direction_by_unit: arguments.direction.is_none(),
        command_line,
    };
    if let Some((Patch::File { sha256, .. }, bytes)) = &patch {
        // The user's file may change before the job is resumed.
        let directory = store.path().with_file_name("patches");
        let path = directory.join(sha256);
        // Moved in place: a job that is about to read the same patch sees all of
        // it.
        let unfinished = path.with_extension(std::process::id().to_string());
        fs::create_dir_all(&directory)
            .and_then(|()| fs::write(&unfinished, bytes))
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(CliError::file("write", &path))?;
        config.local.patch = Some(path);
    }
    let id = store
        .create(&NewJob {
            kind: "bisection".into(),
            title: quoted(&config.command_line.words),
            repository: repository.path().to_string_lossy().into_owned(),
            spec: to_value(&spec)?,
            config: to_value(&config)?,
        })
        .await?;
    Session::take(&store, &id).await?.run(display).await
}

fn to_value(value: &impl serde::Serialize) -> Result<serde_json::Value, CliError> {
    serde_json::to_value(value)
        .map_err(|error| CliError::Input(format!("the job can't be stored: {error}")))
}

fn read_patch(path: &Path) -> Result<(Patch, Vec<u8>), CliError> {
    let bytes = fs::read(path).map_err(|error| {
        CliError::Input(format!("can't read the patch {}: {error}", path.display()))
    })?;
    let digest = Sha256::digest(&bytes);
    let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = path.display().to_string();
    Ok((Patch::File { name, sha256 }, bytes))
}

//! From arguments to a stored job: the common part of all kinds of jobs.

use std::collections::BTreeMap;
use std::env::VarError;
use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_backends::create_state_dir;
use pinpoint_backends::job::{self, JobError, JobRequest, PATCH};
use pinpoint_backends::local::{CpuList, LocalConfig, Provisions, Repository, RepositoryError};
use pinpoint_backends::store::{Creation, JobId, SigningKey};
use pinpoint_core::job::JobResult;
use pinpoint_core::{CombinedCommit, Commit, Patch};
use pinpoint_report::command_line::quoted;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::advice::with_advice;
use crate::arguments::{
    Assignment, Benchmark, Display, JobOptions, LuciTokens, Output, with_talos_values,
};
use crate::commands::bots;
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::storage::{Storage, host};
use crate::job::work::Session;
use crate::job::{report, wait};
use crate::show::job_result::{exit_code, print_result};
use crate::show::output::{errln, outln, print_json};
use crate::show::text::FOUND as WARNING;

/// The values of variables that are inherited.
///
/// # Errors
///
/// When one of them is not set, or not text.
pub(crate) fn values_of(inherited: &[String]) -> Result<BTreeMap<String, String>, CliError> {
    job::inherited_values(inherited).map_err(|error| match error {
        JobError::Environment {
            name,
            source: VarError::NotPresent,
        } => CliError::Input(format!(
            "--env {name}: the environment has no variable of this name; set it, or give its value as --env {name}=VALUE"
        )),
        JobError::Environment { name, .. } => CliError::Input(format!(
            "--env {name}: the value of this variable is not UTF-8"
        )),
        error => error.into(),
    })
}

impl Benchmark {
    /// The variables that are inherited.
    pub(crate) fn inherited_env(&self) -> Vec<String> {
        let without_value = self.env.iter().filter(|it| it.value.is_none());
        without_value.map(|it| it.name.clone()).collect()
    }

    /// Tells a user below the top of the repository that commands run there.
    pub(crate) fn say_where(&self, display: &Display) {
        // Another check reports problems of the repository.
        let below = Repository::discover(&self.repo).and_then(|it| it.prefix());
        if let Ok(below) = below
            && !below.is_empty()
            && !display.quiet
        {
            errln!(
                "note: builds and the benchmark begin at the top of the repository, and not in \
                 {below}: name paths from there"
            );
        }
    }

    /// The configuration with which an executor measures the good end of this repository, and
    /// perhaps another commit; other settings are at their defaults.
    ///
    /// # Errors
    ///
    /// When one of the clones named is in no repository.
    pub(crate) fn into_config(
        self,
        repository: &Path,
        good: &CombinedCommit,
        other: Option<&CombinedCommit>,
        command: Vec<String>,
    ) -> Result<LocalConfig, CliError> {
        let repositories = self.repository.into_iter();
        let repositories = repositories
            .map(|(url, directory)| match Repository::discover(&directory) {
                Ok(clone) => Ok((url, clone.path().to_owned())),
                Err(RepositoryError::NotARepository { path, reason }) => {
                    Err(CliError::Input(format!(
                        "--repository: {} is not in a git repository ({reason}); name a clone of {url}",
                        path.display()
                    )))
                }
                Err(error) => Err(error.into()),
            })
            .collect::<Result<_, CliError>>()?;
        let ends = [good].into_iter().chain(other);
        let ends: Vec<_> = ends.map(|end| &*end.main.git_hash).collect();
        let urls = match Repository::discover(repository) {
            Ok(repository) => repository.urls(&repositories, &ends)?,
            // Existing builds have no repository.
            Err(RepositoryError::NotARepository { .. }) => BTreeMap::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(LocalConfig {
            repositories,
            urls,
            build: self.build,
            env: (self.env.into_iter())
                .filter_map(|variable| Some((variable.name, variable.value?)))
                .collect(),
            format: with_talos_values(self.format, self.talos_values).map_err(CliError::Input)?,
            results: self.results,
            warmup: self.warmup,
            timeout: self.timeout,
            cpus: self.cpu,
            settle: self.settle,
            cache_size: self.cache_size.as_u64(),
            allow_outside_reads: self.allow_outside_reads,
            ..LocalConfig::new(repository.to_owned(), good.clone(), command)
        })
    }
}

/// Names a job as the options say, in lists of jobs; by default, the benchmark is the program that
/// is run.
pub(crate) fn name(
    request: &mut JobRequest,
    options: &JobOptions,
    by: &CarriedOut,
    command: &[String],
) {
    let program = || {
        let program = Path::new(command.first()?).file_name()?;
        Some(program.to_string_lossy().into_owned())
    };
    let benchmark = options.benchmark_name.clone().or_else(program);
    request.benchmark = benchmark.unwrap_or_default();
    request.name = options.job_name.clone().unwrap_or_default();
    request.config.by_workers = by.by_workers();
    match by {
        CarriedOut::Here => request.bot = host(),
        CarriedOut::ByWorkers { bot, .. } => request.bot.clone_from(bot),
        CarriedOut::InLuci {
            bot, repository, ..
        } => {
            request.bot.clone_from(bot);
            request.repository = Some(repository.clone());
        }
    }
}

/// The process or service that carries a new job out.
#[derive(Debug)]
pub(crate) enum CarriedOut {
    /// This process.
    Here,
    /// This process, using LUCI for all work.
    #[cfg_attr(
        not(feature = "luci"),
        expect(dead_code, reason = "nobody makes such jobs")
    )]
    InLuci {
        bot: String,
        repository: String,
        tokens: LuciTokens,
    },
    /// The workers of a bot.
    ByWorkers {
        bot: String,
        /// This process does not follow it.
        detached: bool,
        /// Signs it.
        key: Option<SigningKey>,
    },
}

impl CarriedOut {
    /// From the arguments, which are checked to fit: requirements of this process are met.
    pub(crate) fn from_assignment(
        assignment: &Assignment,
        benchmark: &Benchmark,
    ) -> Result<Self, CliError> {
        let Some(bot) = &assignment.bot else {
            values_of(&benchmark.inherited_env())?;
            benchmark.cpu.as_ref().map_or(Ok(()), CpuList::check)?;
            return Ok(Self::Here);
        };
        let bots = bots::read(&assignment.config.bot_config)?;
        Ok(Self::ByWorkers {
            bot: bots::of_workers(&bots, bot)?.configured_as.to_owned(),
            detached: assignment.detach,
            key: assignment.signing.key()?,
        })
    }

    pub(crate) fn by_workers(&self) -> bool {
        matches!(self, Self::ByWorkers { .. })
    }

    /// The key that signs the job.
    pub(crate) fn key(&self) -> Option<&SigningKey> {
        match self {
            Self::Here | Self::InLuci { .. } => None,
            Self::ByWorkers { key, .. } => key.as_ref(),
        }
    }

    /// Warns if workers on other machines can't fetch these ends. Some may see this repository
    /// nevertheless.
    pub(crate) fn warn_of_unpublished(&self, repository: &Path, ends: [&CombinedCommit; 2]) {
        let hashes = ends.map(|end| end.main.git_hash.as_str());
        let published = || Repository::discover(repository)?.published(&hashes);
        if self.by_workers()
            && let Err(error) = published()
        {
            errln!("{WARNING}warning:{WARNING:#} {}", with_advice(&error));
        }
    }

    /// Carries a job out that was just stored, or leaves it to the workers; `report` is the file of
    /// its report. Returns no result if this process does not wait: then the id is printed.
    pub(crate) async fn run(
        &self,
        storage: &Storage,
        id: &JobId,
        report: Option<&Path>,
        display: &Display,
    ) -> Result<Option<JobResult>, CliError> {
        match self {
            Self::Here => Ok(Some(Session::take(storage, id).await?.run(display).await?)),
            Self::InLuci { tokens, .. } => {
                let mut session = Session::take(storage, id).await?;
                session.provide(Provisions::default(), tokens.clone(), tokens.words());
                Ok(Some(session.run(display).await?))
            }
            Self::ByWorkers { detached: true, .. } => {
                say_handed_over(id, display);
                Ok(None)
            }
            Self::ByWorkers { .. } => {
                let result = wait::follow_one(storage, id, display).await;
                if let Some(file) = report
                    && !matches!(result, Err(CliError::Left { .. }))
                    && let Err(error) = report::write(storage, id, file).await
                {
                    report::say_unwritten(&error, id);
                }
                result.map(Some)
            }
        }
    }
}

/// Names a job that is left to workers.
pub(crate) fn say_handed_over(id: &JobId, display: &Display) {
    match display.output {
        Output::Json => print_json(json!({ "job_id": id, "status": "pending" })),
        Output::Text => outln!("{id}"),
    }
}

/// Prints the result of a new job, if this process has waited for it, and returns the exit
/// code.
pub(crate) fn end(result: Option<&JobResult>, display: &Display) -> u8 {
    result.map_or(FOUND, |result| {
        print_result(result, display);
        exit_code(result)
    })
}

/// A patch, as it was when the job was made.
pub(crate) struct PatchFile {
    patch: Patch,
    sha256: String,
    bytes: Vec<u8>,
}

impl PatchFile {
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let bytes = fs::read(path).map_err(|error| {
            CliError::Input(format!("can't read the patch {}: {error}", path.display()))
        })?;
        let sha256 = hex::encode(Sha256::digest(&bytes));
        let name = path.display().to_string();
        Ok(Self {
            patch: Patch::File {
                name,
                sha256: sha256.clone(),
            },
            sha256,
            bytes,
        })
    }

    /// Keeps a copy: the user's file may change before the job is resumed.
    fn keep(&self, storage: &Storage) -> Result<PathBuf, CliError> {
        let directory = storage.state_dir.join("patches");
        let path = directory.join(&self.sha256);
        // Moved in place: a job that is about to read the same patch sees all of it.
        let unfinished = path.with_extension(std::process::id().to_string());
        create_state_dir(&storage.state_dir)
            .and_then(|()| fs::create_dir_all(&directory))
            .and_then(|()| fs::write(&unfinished, &self.bytes))
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(CliError::file("write", &path))?;
        Ok(path)
    }
}

/// Keeps the patch of a request, if it has one.
pub(crate) fn keep_patch(
    request: &mut JobRequest,
    patch: Option<&PatchFile>,
    storage: &Storage,
) -> Result<(), CliError> {
    if let Some(local) = &mut request.config.local {
        local.patch = patch.map(|patch| patch.keep(storage)).transpose()?;
    }
    Ok(())
}

/// A commit with a patch on top, if there is one.
pub(crate) fn patched(main: Commit, patch: Option<&PatchFile>) -> CombinedCommit {
    CombinedCommit {
        patch: patch.map(|file| file.patch.clone()),
        ..main.into()
    }
}

/// Stores a job, once it is known to be executable.
pub(crate) async fn store_job(
    storage: &Storage,
    request: JobRequest,
    patch: Option<&PatchFile>,
    key: Option<&SigningKey>,
) -> Result<JobId, CliError> {
    let job = titled(request).into_job()?;
    let patch = patch.map(|patch| (PATCH, &*patch.bytes));
    let creation = Creation {
        files: patch.as_slice(),
        key,
        ..Creation::default()
    };
    Ok(storage.store.jobs().create_with(&job, &creation).await?.id)
}

/// The request with its title, its user, and the trace that it belongs to.
pub(crate) fn titled(mut request: JobRequest) -> JobRequest {
    // An invalid one begins no trace, as its standard says.
    let traceparent = std::env::var("TRACEPARENT").ok();
    request.config.traceparent = traceparent.and_then(|parent| parent.parse().ok());
    let words = { request.config.command_line.as_ref() }.map(|command| quoted(&command.words));
    request.title = words.unwrap_or_default();
    request.user = whoami::username().unwrap_or_default();
    request
}

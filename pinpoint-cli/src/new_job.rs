//! From arguments to a stored job: what all kinds of job have in common.

use std::collections::BTreeMap;
use std::env::VarError;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pinpoint_backends::create_state_dir;
use pinpoint_backends::job::{self, JobConfig};
use pinpoint_backends::local::{CpuList, LocalConfig, MeasureChoice, Repository, RepositoryError};
use pinpoint_backends::store::{JobId, NewJob};
use pinpoint_core::{CombinedCommit, Commit, JobSpec, Patch};
use sha2::{Digest, Sha256};

use crate::arguments::{Benchmark, JobOptions, MeasureArgument};
use crate::command_line::quoted;
use crate::error::CliError;
use crate::storage::{Storage, host};

/// The values of variables that are inherited.
///
/// # Errors
///
/// When one of them is not set, or not text.
pub(crate) fn values_of(inherited: &[String]) -> Result<BTreeMap<String, String>, CliError> {
    let value = |name: &String| match std::env::var(name) {
        Ok(value) => Ok((name.clone(), value)),
        Err(VarError::NotPresent) => Err(CliError::Input(format!(
            "--env {name}: the environment has no variable of this name; set it, or give its value as --env {name}=VALUE"
        ))),
        Err(VarError::NotUnicode(_)) => Err(CliError::Input(format!(
            "--env {name}: the value of this variable is not UTF-8"
        ))),
    };
    inherited.iter().map(value).collect()
}

impl Benchmark {
    /// The variables that are inherited, which have to be there.
    pub(crate) fn inherited_env(&self) -> Result<Vec<String>, CliError> {
        let without_value = self.env.iter().filter(|it| it.value.is_none());
        let names: Vec<String> = without_value.map(|it| it.name.clone()).collect();
        values_of(&names)?;
        Ok(names)
    }

    /// The configuration with which an executor measures commits of this repository;
    /// other settings are at their defaults. A measure is chosen by runs of the good end
    /// and of another state.
    ///
    /// # Errors
    ///
    /// When one of the clones named is in no repository, a processor does not exist, or the
    /// measure can't be taken.
    pub(crate) fn into_config(
        self,
        repository: &Path,
        good: CombinedCommit,
        choice: Option<MeasureChoice>,
        command: Vec<String>,
        chart: Option<String>,
    ) -> Result<LocalConfig, CliError> {
        // Before a job is made of it.
        self.cpu.as_ref().map_or(Ok(()), CpuList::check)?;
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
        let urls = match Repository::discover(repository) {
            Ok(repository) => repository.urls(&repositories)?,
            // Existing builds are in none.
            Err(RepositoryError::NotARepository { .. }) => BTreeMap::new(),
            Err(error) => return Err(error.into()),
        };
        let mut config = LocalConfig {
            repository: repository.to_owned(),
            made: false,
            repositories,
            urls,
            good,
            good_arguments: Vec::new(),
            good_env: Default::default(),
            build: self.build,
            command,
            env: (self.env.into_iter())
                .filter_map(|variable| Some((variable.name, variable.value?)))
                .collect(),
            patch: None,
            format: self.format,
            chart,
            every_chart: false,
            instructions: None,
            measure_choice: None,
            run_aggregate: None,
            results: self.results,
            warmup: self.warmup,
            timeout: self.timeout,
            cpus: self.cpu,
            settle: self.settle,
            build_jobs: 1,
            cache_size: self.cache_size.as_u64(),
            skip: Vec::new(),
            trace: false,
            paths: Vec::new(),
        };
        match (self.measure.map(MeasureArgument::named), choice) {
            (Some(Some(measure)), _) => config.measure_by(measure)?,
            (Some(None), Some(choice)) => config.choose_measure(choice)?,
            (Some(None), None) => {
                return Err(CliError::Input(
                    "--measure auto: a measure is chosen by what tells two commits apart, and only \
                     one is run; leave --measure out to see the noise of each"
                        .into(),
                ));
            }
            (None, _) => {}
        }
        Ok(config)
    }
}

/// The names of a job and its benchmark in lists of jobs.
pub(crate) struct Names {
    job: String,
    benchmark: String,
}

impl Names {
    /// As given; else the benchmark is the program that is run.
    pub(crate) fn of(options: &JobOptions, command: &[String]) -> Self {
        let program = || {
            let program = Path::new(command.first()?).file_name()?;
            Some(program.to_string_lossy().into_owned())
        };
        let benchmark = options.benchmark_name.clone().or_else(program);
        Self {
            job: options.job_name.clone().unwrap_or_default(),
            benchmark: benchmark.unwrap_or_default(),
        }
    }
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
        let digest = Sha256::digest(&bytes);
        let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
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
    pub(crate) fn keep(&self, storage: &Storage) -> Result<PathBuf, CliError> {
        let directory = storage.state_dir.join("patches");
        let path = directory.join(&self.sha256);
        // Moved in place: a job that is about to read the same patch sees all of
        // it.
        let unfinished = path.with_extension(std::process::id().to_string());
        create_state_dir(&storage.state_dir)
            .and_then(|()| fs::create_dir_all(&directory))
            .and_then(|()| fs::write(&unfinished, &self.bytes))
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(CliError::file("write", &path))?;
        Ok(path)
    }
}

/// A commit with a patch on top, if there is one.
pub(crate) fn patched(main: Commit, patch: Option<&PatchFile>) -> CombinedCommit {
    CombinedCommit {
        patch: patch.map(|file| file.patch.clone()),
        ..main.into()
    }
}

pub(crate) fn milliseconds(time: Option<Duration>) -> Option<u64> {
    time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// Stores a job, once it is found to be one that can be carried out.
pub(crate) async fn store_job(
    storage: &Storage,
    spec: impl Into<JobSpec>,
    config: &JobConfig,
    names: Names,
) -> Result<JobId, CliError> {
    let words = config.command_line.as_ref().map(|command| &*command.words);
    let job = NewJob {
        title: words.map(quoted).unwrap_or_default(),
        name: names.job,
        benchmark: names.benchmark,
        bot: host(),
        user: whoami::username().unwrap_or_default(),
        ..job::new_job(&spec.into(), config)?
    };
    Ok(storage.jobs.create(&job).await?)
}

//! The configuration of a job's execution; its spec holds the question.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinpoint_core::FindMetric;
use serde::{Deserialize, Serialize};

use super::files::PATCH;
use super::{Explained, JobError, TraceParent};
use crate::job_dir;
use crate::local::{
    LocalConfig, LocalError, LocalExecutor, Location, Provisions, default_machine_dir,
};
use crate::store::{Job, JobId};

/// The configuration of a job's execution. It is stored with the job, so that another process can
/// resume it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobConfig {
    /// Commits, builds and runs on this machine; absent when they are in LUCI, or when the
    /// job's creator has an executor that does all of it.
    #[serde(default)]
    pub local: Option<LocalConfig>,
    /// Commits, builds and runs in LUCI, in its executor's format, which programs built with that
    /// executor read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub luci: Option<serde_json::Value>,
    /// The metric to find before the search; absent when the spec is complete, and in jobs that an
    /// early version started.
    #[serde(default)]
    pub find_metric: Option<FindMetric>,
    /// Builds are made by a function that only the job's creator has.
    #[serde(default, skip_serializing_if = "is_false")]
    pub builds: bool,
    /// Runs are made by a function that only the job's creator has.
    #[serde(default, skip_serializing_if = "is_false")]
    pub runs: bool,
    /// Commits that the creator's executor must not build, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<String>,
    /// Variables of the environment that builds and runs inherit. Their values are not
    /// kept: they have to be set again when the job is resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherited_env: Vec<String>,
    /// The file to which a report is written when the job ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<PathBuf>,
    /// True if it waits for a worker of its bot, rather than running in the process that made it.
    /// This never changes: the store finds such jobs by it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_workers: bool,
    /// The request of the API that it was made from, in JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<serde_json::Value>,
    /// The span in which the job was requested, if it was within a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
    /// The job whose result this one explains by profiles of its runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explains: Option<Explained>,
    /// The command that made the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<CommandLine>,
}

/// The words of the command that made a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The words that are the two ends, if certain.
    pub ends: Option<(usize, usize)>,
}

impl JobConfig {
    /// The configuration of a stored job. One without any uses its creator's executor.
    ///
    /// # Errors
    ///
    /// When it is not a valid configuration, or one of two executors.
    pub fn of(job: &Job) -> Result<Self, JobError> {
        let config = Option::<Self>::deserialize(&job.config);
        let config = config.map_err(|source| JobError::Unreadable {
            job: job.id.clone(),
            what: "configuration",
            source,
        })?;
        let config = config.unwrap_or_default();
        match (&config.local, &config.luci) {
            // Only one of them would be carried out: a user who is shown the other is misled.
            (Some(_), Some(_)) => Err(JobError::TwoPlaces {
                job: job.id.clone(),
            }),
            _ => Ok(config),
        }
    }

    /// Returns true if the job needs functions that only its creator has.
    pub fn needs_functions(&self) -> bool {
        (self.local.is_none() && self.luci.is_none()) || self.builds || self.runs
    }
}

/// The values of variables that a job inherits, by their names.
///
/// # Errors
///
/// When one of them is not set here, or not text.
pub fn inherited_values(names: &[String]) -> Result<BTreeMap<String, String>, JobError> {
    let value = |name: &String| match std::env::var(name) {
        Ok(value) => Ok((name.clone(), value)),
        Err(source) => Err(JobError::Environment {
            name: name.clone(),
            source,
        }),
    };
    names.iter().map(value).collect()
}

/// Opens the executor that lists, builds and runs a job's commits on this machine.
///
/// # Errors
///
/// As of [`LocalExecutor::open`].
pub fn open_local(
    config: &LocalConfig,
    state_dir: &Path,
    job: &JobId,
) -> Result<LocalExecutor, LocalError> {
    let (config, location) = at(config, state_dir, job);
    LocalExecutor::open(config, location, job.as_str())
}

/// As [`open_local`], with this machine's provisions for jobs created elsewhere. Their repository
/// is fetched first, which may take long: see [`TakenJob::prepare`].
///
/// # Errors
///
/// As of [`LocalExecutor::open_with`].
///
/// [`TakenJob::prepare`]: super::TakenJob::prepare
pub async fn open_provided(
    config: &LocalConfig,
    state_dir: &Path,
    job: &JobId,
    provisions: Provisions,
) -> Result<LocalExecutor, LocalError> {
    let (config, location) = at(config, state_dir, job);
    LocalExecutor::open_with(config, location, job.as_str(), provisions).await
}

/// The place of a job on this machine, and its configuration with the patch there.
fn at(config: &LocalConfig, state_dir: &Path, job: &JobId) -> (LocalConfig, Location) {
    let mut config = config.clone();
    let job_dir = job_dir(state_dir, job.as_str());
    let patch = job_dir.join(PATCH);
    if patch.exists() {
        config.patch = Some(patch);
    }
    let location = Location {
        state_dir: state_dir.to_owned(),
        job_dir,
        machine_dir: default_machine_dir(),
    };
    (config, location)
}

fn is_false(value: &bool) -> bool {
    !value
}

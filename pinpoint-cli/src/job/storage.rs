//! The place of jobs, and its disk space.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use pinpoint_backends::job::interrupted;
use pinpoint_backends::local::{BuildStore, CleanOptions, CleanReport, clean as clean_builds};
use pinpoint_backends::store::{JobId, JobStore, without_password};
use pinpoint_backends::traces::TraceStore;
use pinpoint_backends::{STATE_MARK, job_dir, owner};
use serde_json::json;

use crate::arguments::{Clean, Display, Output};
use crate::error::CliError;
use crate::exit_code::{FAILED, FOUND};
use crate::show::output::{errln, outln, print_json};

/// The place of the jobs, and their needs on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    /// Builds, work trees and patches; the jobs as well, unless they are elsewhere.
    pub(crate) state_dir: PathBuf,
    pub(crate) store: JobStore,
}

impl Storage {
    pub(crate) async fn open(display: &Display) -> Result<Self, CliError> {
        let state_dir = state_dir(display)?;
        // A variable that is empty is as if it were not there.
        let store = match display.store.as_ref().filter(|url| !url.is_empty()) {
            Some(url) => match url.strip_prefix("sqlite:") {
                Some(directory) => JobStore::open(Path::new(directory)).await?,
                None => {
                    warn_of_password(url);
                    connect(url).await?
                }
            },
            None => JobStore::open(&state_dir).await?,
        };
        Ok(Self { state_dir, store })
    }

    /// The directory in which a job keeps files outside of the store; `lock` is held while it runs.
    pub(crate) fn job_dir(&self, id: &JobId) -> PathBuf {
        job_dir(&self.state_dir, id.as_str())
    }

    /// The running jobs among these whose processes are gone.
    pub(crate) async fn interrupted(&self, running: &[JobId]) -> Result<Vec<JobId>, CliError> {
        // Without an owner's mark, and no way to make one, nothing is held.
        let owner = self.owner().ok();
        let state_dir = &self.state_dir;
        Ok(interrupted(&self.store, running, owner.as_deref(), state_dir).await?)
    }

    /// The owner of a job's lease: among the processes that share a state directory, a
    /// lock in it chooses one.
    pub(crate) fn owner(&self) -> Result<String, CliError> {
        owner(&self.state_dir, &host()).map_err(CliError::file("write", &self.state_dir))
    }
}

/// The command line is visible in the list of processes.
fn warn_of_password(url: &str) {
    let mut words = std::env::args_os().take_while(|word| word != "--");
    if without_password(url) != url && words.any(|word| word.to_string_lossy().contains(url)) {
        errln!(
            "warning: every user of this machine can see the password in --store; \
             give the URL in PINPOINT_STORE, or the password in PGPASSWORD or ~/.pgpass"
        );
    }
}

/// The history of values, beside the jobs: a file of the state directory, or the same database.
pub(crate) async fn open_traces(display: &Display) -> Result<TraceStore, CliError> {
    let Some(url) = display.store.as_ref().filter(|url| !url.is_empty()) else {
        return Ok(TraceStore::open(&state_dir(display)?).await?);
    };
    match url.strip_prefix("sqlite:") {
        Some(directory) => Ok(TraceStore::open(Path::new(directory)).await?),
        None => {
            warn_of_password(url);
            connect_traces(url).await
        }
    }
}

#[cfg(feature = "postgres")]
async fn connect_traces(url: &str) -> Result<TraceStore, CliError> {
    Ok(TraceStore::connect(url).await?)
}

#[cfg(not(feature = "postgres"))]
async fn connect_traces(_: &str) -> Result<TraceStore, CliError> {
    Err(without_postgres())
}

#[cfg(feature = "postgres")]
async fn connect(url: &str) -> Result<JobStore, CliError> {
    Ok(JobStore::connect(url).await?)
}

#[cfg(not(feature = "postgres"))]
async fn connect(_: &str) -> Result<JobStore, CliError> {
    Err(without_postgres())
}

#[cfg(not(feature = "postgres"))]
fn without_postgres() -> CliError {
    CliError::Input(
        "this pinpoint was built without PostgreSQL: build it with `--features postgres`, or omit --store".into(),
    )
}

/// The name of this machine.
pub(crate) fn host() -> String {
    whoami::hostname().unwrap_or_else(|_| "localhost".into())
}

/// The state directory: as given, or from the XDG base directory specification.
pub(crate) fn state_dir(display: &Display) -> Result<PathBuf, CliError> {
    let state_dir = named_state_dir(display)?;
    match state_dir.to_str() {
        Some(_) => Ok(state_dir),
        // Databases, manifests and records name it.
        None => Err(CliError::Input(format!(
            "the name of the state directory {} is not UTF-8: choose another with --state-dir",
            state_dir.display()
        ))),
    }
}

fn named_state_dir(display: &Display) -> Result<PathBuf, CliError> {
    if let Some(told) = &display.state_dir {
        return std::path::absolute(told).map_err(CliError::file("find", told));
    }
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/state")))
        .map(|base| base.join("pinpoint"))
        .ok_or_else(|| {
            CliError::Input(
                "there is no home directory to keep jobs in: choose a directory with --state-dir"
                    .into(),
            )
        })
}

pub(crate) fn clean(clean: &Clean, display: &Display) -> Result<u8, CliError> {
    if let Some(root) = &clean.build_store {
        // A directory that is not a store of builds stays as it is.
        std::fs::read_dir(root.join("blobs")).map_err(CliError::file("read", root))?;
        let done = BuildStore::open(root, clean.cache_size.as_u64())?.shrink()?;
        return report(display, &root.display().to_string(), &done);
    }
    let state_dir = state_dir(display)?;
    // A directory without the jobs' file is not ours: leave it alone.
    if !state_dir.join("pinpoint.db").exists() && !state_dir.join(STATE_MARK).exists() {
        return report(
            display,
            &state_dir.display().to_string(),
            &CleanReport::default(),
        );
    }
    let done = clean_builds(
        &state_dir,
        CleanOptions {
            keep: clean.cache_size.as_u64(),
        },
    )?;
    report(display, &state_dir.display().to_string(), &done)
}

fn report(display: &Display, place: &str, done: &CleanReport) -> Result<u8, CliError> {
    let removed = done.removed.len();
    match display.output {
        Output::Json => {
            let failed = done.failed.iter();
            let failed: Vec<_> = failed
                .map(|(path, reason)| json!({ "path": path, "reason": reason }))
                .collect();
            print_json(json!({
                "state_dir": place,
                "removed": removed,
                "freed_bytes": done.freed,
                "in_use": done.in_use,
                "failed": failed,
            }));
        }
        Output::Text => {
            outln!(
                "{removed} directories removed from {place}, {} freed",
                ByteSize(done.freed).display().iec()
            );
            for path in &done.in_use {
                outln!("in use, left alone: {}", path.display());
            }
            for (path, reason) in &done.failed {
                errln!("can't be removed, left alone: {}: {reason}", path.display());
            }
        }
    }
    Ok(if done.failed.is_empty() {
        FOUND
    } else {
        FAILED
    })
}

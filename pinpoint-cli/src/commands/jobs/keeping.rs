//! Whole jobs: exported, imported, and deleted.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, IntoInnerError, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pinpoint_backends::job::{JobConfig, JobError, machine_of, stored_result};
use pinpoint_backends::store::{Job, JobFilter, JobId, JobStore, StoreError};
use pinpoint_report::quantity::count;
use serde_json::json;

use crate::arguments::{Display, Output};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::storage::Storage;
use crate::show::output::{errln, json_lines, outln, print_json};
use crate::whole_file;

/// Jobs removed in one transaction: few enough that others hardly wait for it.
const BATCH: u32 = 100;

/// The jobs to export.
pub(super) enum Which {
    These(Vec<JobId>),
    Matching(Box<JobFilter>),
}

impl Which {
    async fn write(
        &self,
        store: &JobStore,
        output: &mut (dyn Write + Send),
    ) -> Result<u64, StoreError> {
        match self {
            Self::These(ids) => store.exchange().export_jobs(ids, output).await,
            Self::Matching(filter) => store.exchange().export(filter, output).await,
        }
    }
}

pub(super) async fn export(
    store: &JobStore,
    which: Which,
    file: Option<PathBuf>,
    force: bool,
    display: &Display,
) -> Result<u8, CliError> {
    let Some(path) = file.filter(|path| path != Path::new("-")) else {
        // The output is the jobs alone.
        which.write(store, &mut json_lines()).await?;
        return Ok(FOUND);
    };
    let jobs = if path.exists() && !path.is_file() {
        // A device or a pipe is written to, and not replaced.
        let output = File::options().write(true).open(&path);
        let output = output.map_err(CliError::file("write", &path))?;
        which.write(store, &mut BufWriter::new(output)).await?
    } else {
        is_no_job(store, &path).await?;
        let there = || {
            CliError::Input(format!(
                "{} is there already: choose another file, or overwrite it with --force",
                path.display()
            ))
        };
        if path.exists() && !force {
            return Err(there());
        }
        // The target of a link is written, and the link stays.
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        let output = whole_file::begin_private(&path).map_err(CliError::file("write", &path))?;
        let mut output = BufWriter::new(output);
        let jobs = which.write(store, &mut output).await?;
        let ended = (output.into_inner())
            .map_err(IntoInnerError::into_error)
            .and_then(|output| match force {
                true => whole_file::end(output, &path),
                false => whole_file::end_new(output, &path),
            });
        match ended {
            // Another process created it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(there()),
            ended => ended.map_err(CliError::file("write", &path))?,
        }
        jobs
    };
    match display.output {
        Output::Json => print_json(json!({ "exported": jobs })),
        Output::Text => outln!("{} in {}", count(jobs, "job"), path.display()),
    }
    Ok(FOUND)
}

/// Refuses a job's id in place of a file's name.
async fn is_no_job(store: &JobStore, path: &Path) -> Result<(), CliError> {
    let Some(name) = path.to_str() else {
        return Ok(());
    };
    let Ok(prefix) = name.parse() else {
        return Ok(());
    };
    match store.jobs().find(&prefix).await {
        Ok(_) | Err(StoreError::Ambiguous { .. }) => Err(CliError::Input(format!(
            "`{name}` is the id of a job, and a file's name is expected here: export the job with \
             --job {name}, or write a file of this name as ./{name}"
        ))),
        Err(StoreError::Unknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn import(
    store: &JobStore,
    path: &Path,
    display: &Display,
) -> Result<u8, CliError> {
    let imported = if path == Path::new("-") || !path.is_file() {
        // A slow pipe must not block others while jobs are added.
        let failed = || CliError::file("keep a copy of the import in", std::env::temp_dir());
        let mut all = tempfile::tempfile().map_err(failed())?;
        let mut from: Box<dyn Read> = match path == Path::new("-") {
            true => Box::new(std::io::stdin()),
            false => Box::new(File::open(path).map_err(CliError::file("read", path))?),
        };
        let mut part = vec![0; 1 << 16];
        loop {
            let read = match from.read(&mut part) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.map_err(CliError::file("read", path))?,
            };
            if read == 0 {
                break;
            }
            all.write_all(&part[..read]).map_err(failed())?;
        }
        all.rewind().map_err(failed())?;
        store
            .exchange()
            .import(&mut BufReader::new(all), &check)
            .await?
    } else {
        let file = File::open(path).map_err(CliError::file("read", path))?;
        store
            .exchange()
            .import(&mut BufReader::new(file), &check)
            .await?
    };
    match display.output {
        Output::Json => {
            print_json(json!({ "imported": imported.added, "already_there": imported.there }))
        }
        Output::Text => outln!(
            "{} imported, {} already there",
            count(imported.added, "job"),
            imported.there
        ),
    }
    Ok(FOUND)
}

/// Checks that an imported job can be resumed and shown. Everything is read as it will be then.
fn check(job: &Job) -> Result<(), String> {
    machine_of(job, false).map_err(|error| match error {
        JobError::Spec(error) => format!("its spec can't be used: {error}"),
        error => error.to_string(),
    })?;
    JobConfig::of(job).map_err(|error| error.to_string())?;
    match stored_result(job) {
        // The outcomes of early Python jobs were Python's own.
        Err(_) if !job.kind.starts_with("python_") => Err("its outcome can't be read".into()),
        _ => Ok(()),
    }
}

pub(super) async fn purge(
    storage: &Storage,
    older_than: Duration,
    display: &Display,
) -> Result<u8, CliError> {
    let before = SystemTime::now().checked_sub(older_than);
    let since = before.and_then(|before| before.duration_since(UNIX_EPOCH).ok());
    // Long before the first job.
    let before = since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    });
    let mut removed = 0;
    let mut left = None;
    loop {
        let batch = storage.store.jobs().purge(before, BATCH).await?;
        if batch.is_empty() {
            break;
        }
        removed += batch.len() as u64;
        for id in &batch {
            let directory = storage.job_dir(id);
            match std::fs::remove_dir_all(&directory) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    left.get_or_insert(CliError::file("remove", directory)(error));
                }
                // A job of another machine has its directory there.
                _ => {}
            }
        }
    }
    let held = storage.store.jobs().held_before(before).await?;
    match display.output {
        Output::Json => print_json(json!({ "removed": removed, "held": held })),
        Output::Text => {
            outln!("{} removed", count(removed, "job"));
            if held > 0 {
                errln!(
                    "{} kept: a process works on it, or did until less than a day ago and may be \
                     suspended; `pinpoint jobs cancel` ends such a job",
                    count(held, "job")
                );
            }
        }
    }
    left.map_or(Ok(FOUND), Err)
}

//! Jobs as a whole: out of a store, into another, and away.

use std::fs::File;
use std::io::{BufReader, BufWriter, IntoInnerError, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pinpoint_backends::job::{JobConfig, JobError, machine_of, stored_result};
use pinpoint_backends::store::{Job, JobStore};
use pinpoint_report::quantity::count;
use serde_json::json;

use crate::arguments::{Display, Output, Select};
use crate::error::{CliError, FOUND};
use crate::output::{errln, json_lines, outln, print_json};
use crate::storage::Storage;
use crate::whole_file;

/// Jobs removed in one transaction: few enough that others hardly wait for it.
const BATCH: u32 = 100;

pub(super) async fn export(
    store: &JobStore,
    select: Select,
    file: Option<PathBuf>,
    display: &Display,
) -> Result<u8, CliError> {
    let filter = select.into();
    let Some(path) = file.filter(|path| path != Path::new("-")) else {
        // The jobs are what is printed, and nothing besides.
        store.export(&filter, &mut json_lines()).await?;
        return Ok(FOUND);
    };
    let jobs = if path.exists() && !path.is_file() {
        // A device or a pipe is written to, and not replaced.
        let output = File::options().write(true).open(&path);
        let output = output.map_err(CliError::file("write", &path))?;
        store.export(&filter, &mut BufWriter::new(output)).await?
    } else {
        // The target of a link is written, and the link stays.
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        let output = whole_file::begin(&path).map_err(CliError::file("write", &path))?;
        let mut output = BufWriter::new(output);
        let jobs = store.export(&filter, &mut output).await?;
        (output.into_inner().map_err(IntoInnerError::into_error))
            .and_then(|output| whole_file::end(output, &path))
            .map_err(CliError::file("write", &path))?;
        jobs
    };
    match display.output {
        Output::Json => print_json(json!({ "exported": jobs })),
        Output::Text => outln!("{} in {}", count(jobs, "job"), path.display()),
    }
    Ok(FOUND)
}

pub(super) async fn import(
    store: &JobStore,
    path: &Path,
    display: &Display,
) -> Result<u8, CliError> {
    let imported = if path == Path::new("-") || !path.is_file() {
        // Others wait while jobs are added: not for what writes to the pipe.
        let mut all = tempfile::tempfile().map_err(CliError::file("write", path))?;
        match path == Path::new("-") {
            true => std::io::copy(&mut std::io::stdin(), &mut all),
            false => File::open(path).and_then(|mut file| std::io::copy(&mut file, &mut all)),
        }
        .and_then(|_| all.rewind())
        .map_err(CliError::file("read", path))?;
        store.import(&mut BufReader::new(all), &check).await?
    } else {
        let file = File::open(path).map_err(CliError::file("read", path))?;
        store.import(&mut BufReader::new(file), &check).await?
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

/// Can an imported job be resumed and shown? Everything is read as it will be then.
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
    // So long ago that there were no jobs.
    let before = since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    });
    let mut removed = 0;
    let mut left = None;
    loop {
        let batch = storage.jobs.purge(before, BATCH).await?;
        if batch.is_empty() {
            break;
        }
        removed += batch.len() as u64;
        for id in &batch {
            let directory = storage.job_dir(id);
            match std::fs::remove_dir_all(&directory) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    left.get_or_insert(CliError::file("remove", directory)(error));
                }
                // A job of another machine has its directory there.
                _ => {}
            }
        }
    }
    let held = storage.jobs.held_before(before).await?;
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

//! The report on a job: one HTML file that holds everything and needs nothing.
//!
//! [`gather`] collects what the store, the state directory and git know; the page
//! is a pure function of that. Nothing in it is fetched: style, script, pictures
//! and logs are in the file, and its content security policy forbids the rest.
//! Without scripts, or printed, everything can be read but the table of the single
//! runs with their logs, which is unpacked on demand.

mod about;
mod answer;
mod builds;
mod foreign;
mod gather;
mod link;
mod median_interval;
mod model;
mod pack;
mod page;
mod pairs;
mod picture;
mod posterior;
mod runs;
mod search;

use std::io::Write;
use std::path::{Path, PathBuf};

use pinpoint_backends::store::JobId;

use crate::error::CliError;
use crate::output::errln;
use crate::storage::Storage;
use crate::whole_file;

pub(crate) use picture::PictureError;

/// The file that a report is to be written to, found to be writable before any
/// work is done for it.
pub(crate) fn destination(file: &Path) -> Result<PathBuf, CliError> {
    let wrong = |reason: String| {
        CliError::Input(format!(
            "the report can't be written to {}: {reason}; name another file",
            file.display()
        ))
    };
    if file.is_dir() {
        return Err(wrong("this is a directory".into()));
    }
    if file.exists() && !file.is_file() {
        return Err(wrong("this is not a regular file".into()));
    }
    let file = std::path::absolute(file).map_err(CliError::file("find", file))?;
    // The target of a link is written, and the link stays.
    let file = file.canonicalize().unwrap_or(file);
    // Removed at once; it only shows whether one can write here.
    whole_file::begin(&file).map_err(|error| {
        let directory = file.parent().unwrap_or(&file);
        wrong(format!("{}: {error}", directory.display()))
    })?;
    Ok(file)
}

/// Writes the report on a job as it is now.
pub(crate) async fn write(storage: &Storage, job: &JobId, file: &Path) -> Result<(), CliError> {
    let text = text(storage, job).await?;
    let written = || {
        let mut unfinished = whole_file::begin(file)?;
        unfinished.write_all(text.as_bytes())?;
        whole_file::end(unfinished, file)
    };
    written().map_err(CliError::file("write the report", file))
}

/// The report on a job as it is now.
pub(crate) async fn text(storage: &Storage, job: &JobId) -> Result<String, CliError> {
    let report = gather::gather(storage, job).await?;
    page::page(&report)
}

/// Said when a report could not be written although the job has ended well: the
/// job's result is kept.
pub(crate) fn say_unwritten(error: &CliError, job: &JobId) {
    use crate::summary::ERROR;
    errln!(
        "{ERROR}error:{ERROR:#} {error}\n\nto make the report again:  pinpoint jobs report {job} FILE"
    );
}

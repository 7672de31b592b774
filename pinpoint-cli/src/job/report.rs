//! The file of a report on a job.

use std::io::Write;
use std::path::{Path, PathBuf};

use pinpoint_backends::store::JobId;
use pinpoint_report::profile::Section;
use pinpoint_report::report_explained;

use crate::error::CliError;
use crate::job::storage::Storage;
use crate::show::output::errln;
use crate::whole_file;

/// The file for a report, found to be writable before any work is done for it.
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
    // Removed at once; it only shows whether the place is writable.
    whole_file::begin(&file).map_err(|error| {
        let directory = file.parent().unwrap_or(&file);
        wrong(format!("{}: {error}", directory.display()))
    })?;
    Ok(file)
}

/// Writes the report on a job as it is now.
pub(crate) async fn write(storage: &Storage, job: &JobId, file: &Path) -> Result<(), CliError> {
    let job = storage.store.jobs().get(job).await?;
    let text = pinpoint_report::report(&storage.store, Some(&storage.state_dir), job).await?;
    write_text(&text, file)
}

/// The same with the explanation of the job's result.
pub(crate) async fn write_explained(
    storage: &Storage,
    job: &str,
    explanation: &Section<'_>,
    file: &Path,
) -> Result<(), CliError> {
    let job = storage.store.jobs().find(&job.parse()?).await?;
    let state_dir = Some(&*storage.state_dir);
    let text = report_explained(&storage.store, state_dir, job, explanation).await?;
    write_text(&text, file)
}

/// Writes a report, whole or not at all.
pub(crate) fn write_text(text: &str, file: &Path) -> Result<(), CliError> {
    let written = || {
        let mut unfinished = whole_file::begin(file)?;
        unfinished.as_file_mut().write_all(text.as_bytes())?;
        whole_file::end(unfinished, file)
    };
    written().map_err(CliError::file("write the report", file))
}

/// Reports that a report could not be written although the job has ended well: the job's result is
/// kept.
pub(crate) fn say_unwritten(error: &CliError, job: &JobId) {
    use crate::show::text::ERROR;
    errln!(
        "{ERROR}error:{ERROR:#} {error}\n\nto make the report again:  pinpoint jobs report {job} FILE"
    );
}

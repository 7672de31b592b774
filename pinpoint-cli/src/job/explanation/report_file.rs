//! The answers of explanations, which stay with their jobs when the profiles are removed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::explanation_report::{Document, ExplanationReport, VERSION};
use crate::error::CliError;
use crate::whole_file;

/// The name in the directory of the job.
const FILE: &str = "explanation.json";

/// Keeps an answer. An existing one stays.
pub(super) fn keep(job_dir: &Path, answer: &ExplanationReport) -> Result<(), CliError> {
    let file = job_dir.join(FILE);
    if file.exists() {
        return Ok(());
    }
    let write = || {
        let mut written = whole_file::begin(&file)?;
        serde_json::to_writer(&mut written, &answer.as_document()).map_err(io::Error::from)?;
        written.flush()?;
        whole_file::end(written, &file)
    };
    write().map_err(CliError::file("write", &file))
}

/// The kept answer. None if it is missing, or of another version.
pub(super) fn read(job_dir: &Path) -> Result<Option<ExplanationReport>, CliError> {
    let file = job_dir.join(FILE);
    let content = match fs::read(&file) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::file("read", &file)(error)),
    };
    let document = serde_json::from_slice::<Document>(&content).ok();
    let document = document.filter(|document| document.version == VERSION);
    Ok(document.map(ExplanationReport::from))
}

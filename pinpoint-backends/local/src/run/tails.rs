//! The tails of the runs' output, for later inspection.
//!
//! The whole output is kept only of failed runs, and the end of every run: one file with a line for
//! each, since creating a file for each run can take longer than the run.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::LocalError;
use crate::job_remarks::remarks;
use crate::process::files;
use crate::run::memory_floor;
use crate::run::settle;

/// The most bytes that a job keeps of all outputs.
const MOST_KEPT: u64 = 64 << 20;

/// The tail of a run's output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputTail {
    /// The end of its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// The end of its standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// The processes that it left running, and how they ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// True if it failed, and its output is not kept: the job keeps enough already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_kept: bool,
}

/// The file of a job.
#[derive(Debug)]
pub(crate) struct Tails {
    path: PathBuf,
    file: File,
    /// Bytes of the outputs that the job keeps.
    kept: u64,
}

impl Tails {
    pub(crate) fn open(job_dir: &Path) -> Result<Self, LocalError> {
        let path = path(job_dir);
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = file.map_err(LocalError::io("open", &path))?;
        let directory = path.parent().unwrap_or(job_dir);
        let kept = size_of_outputs(directory).map_err(LocalError::io("read", directory))?;
        Ok(Self { path, file, kept })
    }

    /// Reserves space of the job for these outputs, at most this much of each; returns false when
    /// it is not enough.
    pub(crate) fn take_room(&mut self, outputs: &[&File], most: u64) -> bool {
        let length = |file: &&File| {
            file.metadata()
                .map_or(0, |metadata| metadata.len().min(most))
        };
        let wanted: u64 = outputs.iter().map(length).sum();
        let is_enough = self.kept.saturating_add(wanted) <= MOST_KEPT;
        if is_enough {
            self.kept += wanted;
        }
        is_enough
    }

    /// Adds a run by its name; one without output has no line.
    pub(crate) fn add(&mut self, name: &str, end: &OutputTail) -> Result<(), LocalError> {
        if *end == OutputTail::default() {
            return Ok(());
        }
        files::json_line(&(name, end))
            .and_then(|line| self.file.write_all(&line))
            .map_err(LocalError::io("write", &self.path))
    }
}

/// The size of the outputs that a job keeps so far.
fn size_of_outputs(directory: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if matches!(path.extension(), Some(end) if end == "out" || end == "err") {
            size += entry.metadata()?.len();
        }
    }
    Ok(size)
}

fn path(job_dir: &Path) -> PathBuf {
    job_dir.join("runs").join("tails.jsonl")
}

/// The tails of a job's output, by the name of the run: the number of its action, or
/// `<action>-first` and `<action>-second` for a pair. Runs that wrote nothing are absent.
///
/// # Errors
///
/// When the file can't be read; a missing file is not an error.
pub fn output_tails(job_dir: &Path) -> Result<BTreeMap<String, OutputTail>, LocalError> {
    // If a run was repeated after a kill, the last line counts.
    Ok(files::read_json_lines(&path(job_dir))?)
}

/// Remarks on a job's runs for its user, a sentence each.
///
/// # Errors
///
/// When the notes of the job can't be read.
pub fn run_warnings(job_dir: &Path) -> Result<Vec<String>, LocalError> {
    let tails = output_tails(job_dir)?;
    let mut warnings = Vec::new();
    let mut left = tails.values().filter_map(|tail| tail.left.as_ref());
    if let Some(first) = left.next() {
        let others = match left.count() {
            0 => String::new(),
            1 => "; so it was in 1 other run".into(),
            others => format!("; so it was in {others} other runs"),
        };
        warnings.push(format!(
            "the benchmark left processes that would disturb later runs: {first}{others}. \
             Have it stop what it starts"
        ));
    }
    match tails.values().filter(|tail| tail.not_kept).count() {
        0 => {}
        count => warnings.push(format!(
            "of the output of {count} failed runs only the last lines are kept: \
             the job keeps {} MiB at most",
            MOST_KEPT >> 20
        )),
    }
    warnings.extend(remarks(job_dir)?);
    warnings.extend(settle::warnings(job_dir)?);
    warnings.extend(memory_floor::warning(job_dir)?);
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_spoils_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let job = directory.path();
        fs::create_dir(job.join("runs")).unwrap();
        assert_eq!(output_tails(job).unwrap(), BTreeMap::new());

        let write = |name: &str, stdout: &str, stderr: &str| {
            let end = OutputTail {
                stdout: stdout.into(),
                stderr: stderr.into(),
                ..OutputTail::default()
            };
            Tails::open(job).unwrap().add(name, &end).unwrap();
        };
        write("1", "one", "");
        write("2-first", "lost", "lost");
        let whole = fs::read(path(job)).unwrap();
        fs::write(path(job), &whole[..whole.len() - 3]).unwrap();
        write("3", "", "three");
        write("4", "", "");
        write("1", "again", "");

        let tails = output_tails(job).unwrap();
        let names: Vec<_> = tails.keys().map(String::as_str).collect();
        assert_eq!(names, ["1", "3"]);
        assert_eq!(tails["1"].stdout, "again");
        assert_eq!(tails["3"].stderr, "three");
    }
}

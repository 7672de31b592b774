//! How the output of each run ended, for whoever looks at the job later.
//!
//! The whole output of a run is kept only when it failed. Its end is kept of
//! every run: one file with a line for each, since to create a file for each
//! run can take longer than the run.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::LocalError;
use super::build::tail;

/// How the output of a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputTail {
    /// The end of its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// The end of its standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// The file of a job.
#[derive(Debug)]
pub(super) struct Tails {
    path: PathBuf,
    file: File,
}

impl Tails {
    pub(super) fn open(job_dir: &Path) -> Result<Self, LocalError> {
        let path = path(job_dir);
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = file.map_err(LocalError::io("open", &path))?;
        Ok(Self { path, file })
    }

    /// Adds a run by its name; one without output has no line.
    pub(super) fn add(
        &mut self,
        name: &str,
        stdout: &Path,
        stderr: &Path,
    ) -> Result<(), LocalError> {
        let end = OutputTail {
            stdout: tail(stdout)?,
            stderr: tail(stderr)?,
        };
        if end.stdout.is_empty() && end.stderr.is_empty() {
            return Ok(());
        }
        // The line break comes first, so that it ends a line that a kill cut off.
        let write = || {
            let mut line = vec![b'\n'];
            serde_json::to_writer(&mut line, &(name, end))?;
            self.file.write_all(&line)
        };
        write().map_err(LocalError::io("write", &self.path))
    }
}

fn path(job_dir: &Path) -> PathBuf {
    job_dir.join("runs").join("tails.jsonl")
}

/// How the outputs of a job's runs ended, by the name of the run: the number of
/// its action, and of the two of a pair `<action>-first` and `<action>-second`.
/// Runs that wrote nothing are not there.
///
/// # Errors
///
/// When the file can't be read; that there is none is no error.
pub fn output_tails(job_dir: &Path) -> Result<BTreeMap<String, OutputTail>, LocalError> {
    let path = path(job_dir);
    let content = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        other => other.map_err(LocalError::io("read", &path))?,
    };
    // Of a run that was made again after a kill, the last line counts.
    let lines = content.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
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

        let (out, err) = (job.join("out"), job.join("err"));
        let write = |name: &str, stdout: &str, stderr: &str| {
            fs::write(&out, stdout).unwrap();
            fs::write(&err, stderr).unwrap();
            Tails::open(job).unwrap().add(name, &out, &err).unwrap();
        };
        write("1", "one\n", "");
        write("2-first", "lost", "lost");
        let whole = fs::read(path(job)).unwrap();
        fs::write(path(job), &whole[..whole.len() - 3]).unwrap();
        write("3", "", "three\n");
        write("4", "", "");
        write("1", "again", "");

        let tails = output_tails(job).unwrap();
        let names: Vec<_> = tails.keys().map(String::as_str).collect();
        assert_eq!(names, ["1", "3"]);
        assert_eq!(tails["1"].stdout, "again");
        assert_eq!(tails["3"].stderr, "three");
    }
}

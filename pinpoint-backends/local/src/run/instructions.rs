//! Counting the instructions of a run, outside of the kernel.
//!
//! A processor counts what it executes: see `processor_count`. Most virtual machines have no such
//! counters: there callgrind, a tool of valgrind, executes the command. That is exact, and 20 to
//! 200 times slower. A process that becomes another program is counted from there on.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::error::LocalError;
use crate::process::files;
use crate::process::processor_count::ProcessorCount;
use crate::process::supervisor::find;

pub(crate) const VALGRIND: &str = "valgrind";

/// Begins the names of directories for callgrind's counts.
const PREFIX: &str = "callgrind-";

/// The counter of a run's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstructionCounter {
    /// The processor's own. Runs are as fast as without it.
    Processor,
    /// Valgrind's callgrind.
    Callgrind,
}

impl InstructionCounter {
    /// The processor's where this process may use it, else callgrind where it is installed.
    ///
    /// # Errors
    ///
    /// When neither is available.
    pub fn available() -> Result<Self, LocalError> {
        let Err(source) = ProcessorCount::open(0) else {
            return Ok(Self::Processor);
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        match find(VALGRIND.as_ref(), None, &[("PATH".into(), path)]) {
            Ok(_) => Ok(Self::Callgrind),
            Err(_) => Err(LocalError::NoInstructionCounter { source }),
        }
    }
}

/// Counts that callgrind writes: a file for each process of a run, and for each fork.
pub(crate) struct CallgrindCounts {
    directory: TempDir,
}

impl CallgrindCounts {
    pub(crate) fn new(place: &Path) -> Result<Self, LocalError> {
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place);
        Ok(Self {
            directory: directory.map_err(LocalError::io("make a directory in", place))?,
        })
    }

    /// A command that runs this program under callgrind; its arguments are to follow.
    pub(crate) fn command(&self, program: &Path) -> Command {
        callgrind(self.directory.path(), program)
    }

    /// The sum over all processes that ended normally; absent without any.
    pub(crate) fn sum(&self) -> Result<Option<u64>, LocalError> {
        let place = self.directory.path();
        let files = fs::read_dir(place).map_err(LocalError::io("read", place))?;
        let mut sum = None;
        for file in files {
            let path = file.map_err(LocalError::io("read", place))?.path();
            let count = total_of(&path).map_err(LocalError::io("read", &path))?;
            sum = count.map(|count| count + sum.unwrap_or(0)).or(sum);
        }
        Ok(sum)
    }
}

/// A command that runs this program under callgrind, which writes to this directory: a file
/// for each process, and for each fork. The program's arguments are to follow.
pub(crate) fn callgrind(directory: &Path, program: &Path) -> Command {
    let mut files = b"--callgrind-out-file=".to_vec();
    for byte in directory.as_os_str().as_bytes() {
        // Valgrind gives this character a meaning.
        files.extend_from_slice(if *byte == b'%' {
            b"%%"
        } else {
            std::slice::from_ref(byte)
        });
    }
    files.extend_from_slice(b"/%p");
    let mut command = Command::new(VALGRIND);
    command
        // No other options, from files or variables.
        .arg("--command-line-only=yes")
        .args(["--tool=callgrind", "--trace-children=yes", "--quiet"])
        // Writes its counts and begins anew, so that they do not count in the new
        // process once more.
        .arg("--dump-before=fork")
        .arg(OsString::from_vec(files))
        .arg(program);
    command
}

/// Removes the counts of runs whose process was killed. No other process is working on the job.
pub(crate) fn remove_left(runs: &Path) -> Result<(), LocalError> {
    Ok(files::remove_left(runs, PREFIX)?)
}

/// The total that ends a file of callgrind's.
fn total_of(path: &Path) -> io::Result<Option<u64>> {
    let mut total = None;
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        if let Some(number) = line?.strip_prefix(b"totals:") {
            total = String::from_utf8_lossy(number).trim().parse().ok();
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_total_of_a_file_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1");
        let content = b"version: 1\nevents: Ir\nsummary: 12\nfn=\xff\n1 12\n\ntotals: 12\n";
        fs::write(&path, content).unwrap();
        assert_eq!(total_of(&path).unwrap(), Some(12));
        fs::write(&path, "events: Ir\n").unwrap();
        assert_eq!(total_of(&path).unwrap(), None);
    }
}

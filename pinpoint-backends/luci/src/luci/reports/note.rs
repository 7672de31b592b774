//! A note in a job's directory of the reports made.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::ReportError;

/// The name of the file.
const NAME: &str = "reported.json";

/// The completed reports.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CompletedReports {
    pub(super) issue: bool,
    /// The time at which the comment was about to be sent, in milliseconds since 1970.
    pub(super) issue_begun: Option<u64>,
    pub(super) culprits: bool,
}

impl CompletedReports {
    /// Reads the note. An unreadable one counts as absent: the services are queried instead.
    pub(super) fn read(job_dir: &Path) -> Self {
        let text = fs::read(job_dir.join(NAME)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

/// The note of one job, to which its reports add concurrently.
pub(super) struct Note {
    job_dir: PathBuf,
    made: Mutex<CompletedReports>,
}

impl Note {
    pub(super) fn read(job_dir: &Path) -> Self {
        Self {
            job_dir: job_dir.into(),
            made: Mutex::new(CompletedReports::read(job_dir)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, CompletedReports> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn made(&self) -> CompletedReports {
        *self.lock()
    }

    /// Adds to the note, and writes it.
    pub(super) fn add(&self, add: impl FnOnce(&mut CompletedReports)) -> Result<(), ReportError> {
        let mut made = self.lock();
        add(&mut made);
        self.write(*made).map_err(|source| ReportError::Note {
            path: self.job_dir.join(NAME),
            source,
        })
    }

    fn write(&self, made: CompletedReports) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.job_dir)?;
        file.write_all(&serde_json::to_vec(&made)?)?;
        file.as_file().sync_all()?;
        let persisted = file.persist(self.job_dir.join(NAME));
        persisted.map(drop).map_err(|error| error.error)
    }
}

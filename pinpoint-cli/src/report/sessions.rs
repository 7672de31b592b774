//! Who worked on a job, on which machine and when: a file beside the job's runs.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pinpoint_backends::local::Host;
use serde::{Deserialize, Serialize};

use crate::error::CliError;

/// The work of one process on a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    /// Milliseconds since 1970.
    pub(super) began: i64,
    /// The version of pinpoint.
    pub(super) pinpoint: String,
    pub(super) host: Host,
}

fn path(job_dir: &Path) -> PathBuf {
    job_dir.join("sessions.jsonl")
}

/// Notes that this process begins to work on a job.
pub(crate) fn note_session(job_dir: &Path) -> Result<(), CliError> {
    let session = Session {
        began: now(),
        pinpoint: env!("CARGO_PKG_VERSION").into(),
        host: Host::now(),
    };
    let path = path(job_dir);
    let write = || {
        fs::create_dir_all(job_dir)?;
        // The line break comes first, so that it ends a line that a kill cut off.
        let mut line = vec![b'\n'];
        serde_json::to_writer(&mut line, &session)?;
        let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
        file.write_all(&line)
    };
    write().map_err(CliError::file("write", &path))
}

/// Oldest first; none of a job that was made before these were noted.
pub(super) fn sessions(job_dir: &Path) -> Result<Vec<Session>, CliError> {
    let path = path(job_dir);
    let content = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(CliError::file("read", &path))?,
    };
    let lines = content.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_session_is_noted_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let job = directory.path().join("job");
        assert_eq!(sessions(&job).unwrap(), []);
        note_session(&job).unwrap();
        fs::write(
            path(&job),
            [&*fs::read(path(&job)).unwrap(), b"\n{\"beg"].concat(),
        )
        .unwrap();
        note_session(&job).unwrap();
        let noted = sessions(&job).unwrap();
        assert_eq!(noted.len(), 2);
        assert!(noted[0].began <= noted[1].began);
        assert_eq!(noted[0].pinpoint, env!("CARGO_PKG_VERSION"));
    }
}

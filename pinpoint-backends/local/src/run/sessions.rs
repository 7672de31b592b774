//! The processes that worked on a job, with machine and time: a file next to the job's runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::doctor::Diagnosis;
use crate::error::LocalError;
use crate::process::files;
use crate::process::host::Host;

/// The work of one process on a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Milliseconds since 1970.
    pub began: i64,
    /// The version of pinpoint.
    pub pinpoint: String,
    /// The version of git; absent without git, and in older notes.
    #[serde(default)]
    pub git: Option<String>,
    /// The machine.
    pub host: Host,
    /// The disturbances of measurements when it began; absent where that was not examined, and in
    /// older notes.
    #[serde(default)]
    pub diagnosis: Option<Diagnosis>,
}

fn path(job_dir: &Path) -> PathBuf {
    job_dir.join("sessions.jsonl")
}

/// Notes that this process begins to work on a job.
///
/// # Errors
///
/// When the note can't be written.
pub fn note_session(job_dir: &Path, diagnosis: Option<Diagnosis>) -> Result<(), LocalError> {
    let session = Session {
        began: now(),
        pinpoint: env!("CARGO_PKG_VERSION").into(),
        git: git_version(),
        host: Host::now(),
        diagnosis,
    };
    files::create_dir(job_dir)?;
    Ok(files::append_json_line(&path(job_dir), &session)?)
}

/// As git prints it: `2.39.5`. Existing builds need no git.
#[expect(
    clippy::disallowed_methods,
    reason = "it answers at once, before anything else is begun"
)]
fn git_version() -> Option<String> {
    let asked = Command::new("git")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let answer = String::from_utf8(asked.ok()?.stdout).ok()?;
    Some(answer.trim().strip_prefix("git version ")?.to_owned())
}

/// The processes that worked on a job, oldest first; empty for a job made before these were noted.
///
/// # Errors
///
/// When the notes can't be read.
pub fn sessions(job_dir: &Path) -> Result<Vec<Session>, LocalError> {
    Ok(files::read_json_lines(&path(job_dir))?)
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn old(session: &Session) -> Vec<u8> {
        let mut old = serde_json::to_value(session).unwrap();
        for field in ["git", "diagnosis"] {
            old.as_object_mut().unwrap().remove(field).unwrap();
        }
        old.to_string().into_bytes()
    }

    #[test]
    fn every_session_is_noted_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let job = directory.path().join("job");
        assert_eq!(sessions(&job).unwrap(), []);
        note_session(&job, None).unwrap();
        fs::write(
            path(&job),
            [&*fs::read(path(&job)).unwrap(), b"\n{\"beg"].concat(),
        )
        .unwrap();
        note_session(&job, Some(Diagnosis::default())).unwrap();
        let noted = sessions(&job).unwrap();
        assert_eq!(noted.len(), 2);
        assert!(noted[0].began <= noted[1].began);
        assert_eq!(noted[0].pinpoint, env!("CARGO_PKG_VERSION"));
        let git = noted[0].git.as_deref().unwrap();
        assert!(
            git.starts_with(|first: char| first.is_ascii_digit()),
            "{git}"
        );
        assert_eq!(noted[1].diagnosis, Some(Diagnosis::default()));
        // A note from a version that recorded neither git nor the kernel.
        fs::write(path(&job), old(&noted[1])).unwrap();
        let old = &sessions(&job).unwrap()[0];
        assert_eq!((&old.git, &old.diagnosis), (&None, &None));
    }
}

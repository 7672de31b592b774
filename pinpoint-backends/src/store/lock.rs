//! One process at a time works on a job.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Held by the process that works on a job.
///
/// The operating system lets go of it when the process ends, however it ends:
/// there is no stale lock to clear away.
#[derive(Debug)]
pub struct JobLock {
    _file: File,
}

/// The lock cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("another process{} works on this job; wait until it ends, or cancel it with `pinpoint jobs cancel`", .pid.map_or(String::new(), |pid| format!(" ({pid})")))]
    Held {
        /// That process, when it has told its number.
        pid: Option<u32>,
    },
    /// The file cannot be made, locked or written.
    #[error("cannot lock {}: {source}; check that it may be written", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

impl JobLock {
    /// Takes the lock of a job, or says who has it. Does not wait.
    ///
    /// # Errors
    ///
    /// [`LockError`].
    pub fn acquire(job_dir: &Path) -> Result<Self, LockError> {
        let path = job_dir.join("lock");
        let failed = |source| LockError::File {
            path: path.clone(),
            source,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The number is for the message only, and the holder may be
                // just about to write it.
                let pid = file
                    .read_to_string(&mut text)
                    .ok()
                    .and_then(|_| text.trim().parse().ok());
                return Err(LockError::Held { pid });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(failed)?;
        Ok(Self { _file: file })
    }
}

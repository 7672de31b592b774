//! A lock by which one process at a time works on a job.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Held by the process that works on a job.
///
/// The operating system releases it when the process ends, however it ends:
/// there is no stale lock to clear away.
#[derive(Debug)]
pub struct JobLock {
    _file: File,
}

/// The lock is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds it.
    #[error("another process{} works on this job; wait until it ends, or cancel the job", .pid.map_or(String::new(), |pid| format!(" ({pid})")))]
    Held {
        /// The id of that process, if it has written it.
        pid: Option<u32>,
    },
    /// The file cannot be made, locked or written.
    #[error("cannot lock {}: {source}; check that it may be written", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl JobLock {
    /// Takes the lock of a job, or returns its holder. It waits only for a process that a killed
    /// holder had just started, which disappears quickly.
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
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let pid = holder(&mut file);
                    let is_dead = pid.is_some_and(is_dead);
                    if !is_dead || began.elapsed() > MAX_FORK_TIME {
                        return Err(LockError::Held { pid });
                    }
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "for moments, and before the job begins"
                    )]
                    thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        // The request came from this process, or one like it.
        let _ = std::fs::remove_file(job_dir.join(WANTED));
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Returns whether a process has the lock of a job; unknown where that cannot be determined.
    /// The check takes it for a moment: other callers try again at once.
    #[doc(hidden)]
    pub fn is_held(job_dir: &Path) -> Option<bool> {
        let file = File::open(job_dir.join("lock")).ok()?;
        match file.try_lock_shared() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        }
    }

    /// Asks the holder of a job's lock to release it as soon as it is idle.
    #[doc(hidden)]
    pub fn ask_for(job_dir: &Path) {
        // The holder does so after a while in any case.
        let _ = std::fs::write(job_dir.join(WANTED), "");
    }

    /// Returns whether another process has asked for the lock of a job.
    #[doc(hidden)]
    pub fn is_asked_for(job_dir: &Path) -> bool {
        job_dir.join(WANTED).exists()
    }
}

/// The file that asks for a lock.
const WANTED: &str = "lock-wanted";

/// The longest time that a lock may outlive its holder. A process that the holder had
/// just forked has a copy of the lock until it becomes another program.
const MAX_FORK_TIME: Duration = Duration::from_secs(2);

/// The id written by the holder, which may be just about to write it.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Returns whether the process is gone; `None` where there is no `/proc`.
fn is_dead(pid: u32) -> bool {
    let processes = Path::new("/proc");
    let stat = std::fs::read_to_string(processes.join(format!("{pid}/stat")));
    match stat {
        // A zombie has ended, and waits for its parent.
        Ok(stat) => (stat.rsplit_once(") ")).is_some_and(|(_, rest)| rest.starts_with('Z')),
        Err(_) => processes.join("self").exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_outlives_its_holder_for_a_moment_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let held = JobLock::acquire(directory.path()).unwrap();
        let mine = std::process::id();
        match JobLock::acquire(directory.path()) {
            Err(LockError::Held { pid }) => assert_eq!(pid, Some(mine)),
            other => panic!("{other:?}"),
        }
        assert_eq!(JobLock::is_held(directory.path()), Some(true));
        // No process has such a number.
        std::fs::write(directory.path().join("lock"), "4194999\n").unwrap();
        let copy = thread::spawn(move || {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(100) {
                thread::yield_now();
            }
            drop(held);
        });
        JobLock::acquire(directory.path()).unwrap();
        copy.join().unwrap();
        assert_eq!(JobLock::is_held(directory.path()), Some(false));
        assert_eq!(JobLock::is_held(&directory.path().join("none")), None);
    }
}

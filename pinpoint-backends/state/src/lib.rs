//! The state directory, which belongs to its owner alone.

use std::fs;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file that marks a directory as ours, if it lacks a job database, and distinguishes it from
/// those of machines with the same name.
pub const STATE_MARK: &str = ".pinpoint-state";

/// Creates a state directory that no other user can read: it holds the output and the environment
/// of benchmarks, patches and work trees.
///
/// One that an earlier version left open to others is closed. A directory that holds something else
/// stays unchanged, and so does one with the set-group-ID or the sticky bit, which is shared on
/// purpose.
///
/// # Errors
///
/// When it can't be created.
pub fn create_state_dir(path: &Path) -> io::Result<()> {
    imp::create(path)
}

/// The directory for a job's files outside of the store; `lock` is held while a process works on
/// the job.
pub fn job_dir(state_dir: &Path, job: &str) -> PathBuf {
    state_dir.join("jobs").join(job)
}

/// The owner of the leases of all processes that share a state directory, of which a lock
/// in it chooses one.
///
/// # Errors
///
/// When the directory can't be read or written.
pub fn owner(state_dir: &Path, host: &str) -> io::Result<String> {
    let mark = mark(state_dir)?;
    Ok(format!("{host}:{} ({mark})", state_dir.display()))
}

/// The mark of a state directory, created if missing.
fn mark(state_dir: &Path) -> io::Result<String> {
    let path = state_dir.join(STATE_MARK);
    if let Ok(mark) = fs::read_to_string(&path) {
        return Ok(mark);
    }
    create_state_dir(state_dir)?;
    let mut new = tempfile::Builder::new()
        .prefix("")
        .rand_bytes(12)
        .tempfile_in(state_dir)?;
    // The random part of its name serves as the mark.
    let name = new.path().file_name().unwrap_or_default().to_owned();
    new.write_all(name.as_encoded_bytes())?;
    // Of two processes one is first, and both read its mark.
    match new.persist_noclobber(&path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => fs::read_to_string(&path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_directory_keeps_a_mark_of_its_own() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let marked = mark(one.path()).unwrap();
        assert_eq!(marked.len(), 12);
        assert_eq!(mark(one.path()).unwrap(), marked);
        assert_ne!(mark(other.path()).unwrap(), marked);
        // Nothing else is left in the directory.
        assert_eq!(fs::read_dir(one.path()).unwrap().count(), 1);
    }
}

#[cfg(unix)]
mod imp {
    use std::fs::{self, DirBuilder, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    use std::path::Path;

    const OWNER_ONLY: u32 = 0o700;
    /// The files that only a state directory has.
    const OURS: [&str; 3] = ["pinpoint.db", super::STATE_MARK, "locks/making"];

    pub(super) fn create(path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(OWNER_ONLY).create(path)?;
        let mode = fs::metadata(path)?.permissions().mode();
        let is_open = mode & 0o077 != 0;
        let is_shared = mode & 0o3000 != 0;
        if !is_open || is_shared || !is_ours(path)? {
            return Ok(());
        }
        match fs::set_permissions(path, Permissions::from_mode(mode & OWNER_ONLY)) {
            // Another user owns it and decides, or it is read-only.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                Ok(())
            }
            other => other,
        }
    }

    fn is_ours(path: &Path) -> io::Result<bool> {
        if OURS.iter().any(|name| path.join(name).exists()) {
            return Ok(true);
        }
        match fs::read_dir(path) {
            // Empty: about to become one.
            Ok(mut entries) => Ok(entries.next().is_none()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
            Err(error) => Err(error),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().permissions().mode() & 0o7777
        }

        fn set(path: &Path, mode: u32) {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }

        #[test]
        fn only_the_owner_gets_in() {
            let root = tempfile::tempdir().unwrap();
            let state = root.path().join("not/there/yet");
            create(&state).unwrap();
            assert_eq!(mode(&state), 0o700);
            // As an earlier version made it.
            fs::write(state.join("pinpoint.db"), "").unwrap();
            set(&state, 0o755);
            create(&state).unwrap();
            assert_eq!(mode(&state), 0o700);
            // Shared on purpose.
            set(&state, 0o2770);
            create(&state).unwrap();
            assert_eq!(mode(&state), 0o2770);
        }

        #[test]
        fn a_directory_with_something_else_in_it_stays_as_it_is() {
            let root = tempfile::tempdir().unwrap();
            set(root.path(), 0o755);
            fs::write(root.path().join("file"), "").unwrap();
            create(root.path()).unwrap();
            assert_eq!(mode(root.path()), 0o755);
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;
    use std::path::Path;

    pub(super) fn create(path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }
}

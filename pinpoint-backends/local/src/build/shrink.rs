//! Removing builds to make room.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::LocalError;
use crate::git::git_command;
use crate::git::workspace::{Borrowed, Workspace};
use crate::process::files::{self, Mode};

/// The outcome of [`clean`](crate::clean()).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanReport {
    /// The removed directories.
    pub removed: Vec<PathBuf>,
    /// The bytes they occupied.
    pub freed: u64,
    /// The directories that a live job uses, which stay.
    pub in_use: Vec<PathBuf>,
    /// The directories that could not be removed, with the reasons.
    pub failed: Vec<(PathBuf, String)>,
}

impl CleanReport {
    pub(crate) fn take(&mut self, path: PathBuf) {
        let taken =
            files::size_on_disk(&path).and_then(|bytes| files::remove(&path).map(|()| bytes));
        match taken {
            Ok(bytes) => {
                self.freed += bytes;
                self.removed.push(path);
            }
            Err(error) => self.fail(path, &error.into()),
        }
    }

    fn fail(&mut self, path: PathBuf, error: &LocalError) {
        let reason = match error {
            // The advice is given where a job encounters it.
            LocalError::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        self.failed.push((path, reason));
    }
}

impl Workspace {
    /// Removes builds that are not in use, those not used for the longest time first, until the
    /// rest occupy no more than `keep` bytes.
    pub(crate) fn shrink(&self, keep: u64) -> Result<CleanReport, LocalError> {
        let mut builds = Vec::new();
        for name in names(&self.state_dir().join("builds"))? {
            let place = self.build_dir_named(&name);
            // Another process may be at the same work.
            if let Some(marker) = place.marker()? {
                builds.push((place.last_used()?, place, marker));
            }
        }
        builds.sort_by_key(|(last_used, ..)| *last_used);
        let mut occupied: u64 = builds.iter().map(|(.., marker)| marker.size).sum();
        let mut report = CleanReport::default();
        for (_, place, marker) in builds {
            if occupied <= keep {
                break;
            }
            let Some(_alone) = files::try_lock(&place.lock, Mode::Alone)? else {
                report.in_use.push(place.path);
                continue;
            };
            // A failure to remove one, as when another user wrote it, does not stop the rest.
            if let Err(error) = place.remove() {
                report.fail(place.path, &error);
                continue;
            }
            for repository in marker.repositories {
                let borrowed = Borrowed::at(repository);
                if let Err(error) = forget_trees(&borrowed) {
                    report.fail(borrowed.path().to_owned(), &error);
                }
            }
            occupied -= marker.size;
            report.freed += marker.size;
            report.removed.push(place.path);
        }
        Ok(report)
    }
}

/// Removes missing trees from the list of one of our repositories.
fn forget_trees(borrowed: &Borrowed) -> Result<(), LocalError> {
    // Only cleanup: the holder of the lock does the same at the next removal.
    let Some(_alone) = files::try_lock(&borrowed.lock, Mode::Alone)? else {
        return Ok(());
    };
    if !borrowed.path().exists() {
        return Ok(());
    }
    let arguments = ["worktree", "prune"];
    let output = git_command::run(git_command::git_at(borrowed.path()).args(arguments))?;
    if !output.status.success() {
        return Err(git_command::failed(&arguments, borrowed.path(), &output).into());
    }
    Ok(())
}

/// Our names in a directory.
pub(crate) fn names(directory: &Path) -> Result<Vec<String>, LocalError> {
    names_before(directory, "")
}

/// Our names with this ending.
pub(crate) fn names_before(directory: &Path, end: &str) -> Result<Vec<String>, LocalError> {
    let unreadable = |error| LocalError::io("read", directory)(error);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        // Ours are SHA-256 in hexadecimal digits; other names are not ours.
        let name = entry.map_err(unreadable)?.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(end));
        names.extend(name.map(str::to_owned).filter(|name| {
            name.len() == 64
                && name
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        }));
    }
    names.sort();
    Ok(names)
}

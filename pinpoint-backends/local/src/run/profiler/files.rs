//! Profiles that the benchmark writes itself.
//!
//! A pattern may match files of the commit, or of a directory that the user had built: only files
//! that a run has written count, and only files that did not exist before it are removed.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::ProfilerError;
use crate::error::LocalError;

/// # Errors
///
/// [`ProfilerError::Pattern`] when the pattern is invalid, or leads out of the work tree.
pub(super) fn checked(pattern: &str) -> Result<String, ProfilerError> {
    let wrong = |reason: String| ProfilerError::Pattern {
        pattern: pattern.into(),
        reason,
    };
    if pattern.is_empty() {
        return Err(wrong("it is empty".into()));
    }
    let mut parts = Path::new(pattern).components();
    if !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(wrong("it leads out of the work tree".into()));
    }
    glob::Pattern::new(pattern).map_err(|error| wrong(error.msg.into()))?;
    Ok(pattern.to_owned())
}

/// The files of a work tree that match, in the order of their names.
pub(super) fn matching(tree: &Path, pattern: &str) -> Result<Vec<PathBuf>, LocalError> {
    let escaped = glob::Pattern::escape(&tree.display().to_string());
    // The pattern was checked.
    let Ok(found) = glob::glob(&format!("{escaped}/{pattern}")) else {
        return Ok(Vec::new());
    };
    let mut paths = Vec::new();
    for path in found {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            LocalError::io("read", &path)(error.into())
        })?;
        if path.is_file() {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// The files that match before a run.
#[derive(Default)]
pub(super) struct FileSnapshot(HashMap<PathBuf, Stamp>);

/// Differs once a file is written: its inode, its length, and the time of its last change.
type Stamp = (u64, u64, i64, i64);

impl FileSnapshot {
    pub(super) fn from_tree(tree: &Path, pattern: &str) -> Result<Self, LocalError> {
        let paths = matching(tree, pattern)?.into_iter();
        let stamped = paths.filter_map(|path| Some((stamp(&path)?, path)));
        Ok(Self(stamped.map(|(stamp, path)| (path, stamp)).collect()))
    }

    /// The files written by the run, in the order of their names.
    pub(super) fn written(&self, tree: &Path, pattern: &str) -> Result<Vec<PathBuf>, LocalError> {
        let mut paths = matching(tree, pattern)?;
        paths.retain(|path| self.0.get(path).copied() != stamp(path));
        Ok(paths)
    }

    /// Removes files that did not exist before, as far as possible.
    pub(super) fn restore(&self, tree: &Path, pattern: &str) {
        let paths = matching(tree, pattern).unwrap_or_default().into_iter();
        for path in paths.filter(|path| !self.0.contains_key(path)) {
            let _ = fs::remove_file(path);
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let is = fs::metadata(path).ok()?;
    Some((is.ino(), is.len(), is.ctime(), is.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_writes_counts_and_what_was_there_stays() {
        let tree = tempfile::Builder::new().prefix("[x]").tempdir().unwrap();
        let path = |name: &str| tree.path().join(name);
        fs::create_dir(path("out")).unwrap();
        for name in ["out/a.folded", "out/b.folded", "out/c.txt"] {
            fs::write(path(name), "x").unwrap();
        }
        let (tree, pattern) = (tree.path(), "out/*.folded");
        let before = FileSnapshot::from_tree(tree, pattern).unwrap();
        assert!(before.written(tree, pattern).unwrap().is_empty());
        fs::write(path("out/b.folded"), "xy").unwrap();
        fs::write(path("out/d.folded"), "x").unwrap();
        let written = before.written(tree, pattern).unwrap();
        assert_eq!(written, [path("out/b.folded"), path("out/d.folded")]);
        before.restore(tree, pattern);
        let left = matching(tree, "out/*").unwrap();
        let expected = ["out/a.folded", "out/b.folded", "out/c.txt"].map(path);
        assert_eq!(left, expected);
    }
}

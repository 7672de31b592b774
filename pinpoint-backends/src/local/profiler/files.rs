//! Profiles that the benchmark writes itself.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::ProfilerError;
use crate::local::error::LocalError;

/// # Errors
///
/// [`ProfilerError::Pattern`] when it is no pattern, or leads out of the work tree.
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

/// Removes those of earlier runs.
pub(super) fn remove(tree: &Path, pattern: &str) -> Result<(), LocalError> {
    for path in matching(tree, pattern)? {
        fs::remove_file(&path).map_err(LocalError::io("remove", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_earlier_runs_are_removed() {
        let tree = tempfile::Builder::new().prefix("[x]").tempdir().unwrap();
        let path = |name: &str| tree.path().join(name);
        fs::create_dir(path("out")).unwrap();
        for name in ["out/a.folded", "out/b.folded", "out/c.txt"] {
            fs::write(path(name), "x").unwrap();
        }
        let found = matching(tree.path(), "out/*.folded").unwrap();
        assert_eq!(found, [path("out/a.folded"), path("out/b.folded")]);
        remove(tree.path(), "out/*.folded").unwrap();
        assert!(matching(tree.path(), "out/*.folded").unwrap().is_empty());
        assert!(path("out/c.txt").exists());
    }
}

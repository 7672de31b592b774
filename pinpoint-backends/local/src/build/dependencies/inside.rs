//! Resolves the paths of manifests in a work tree.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The place of `path` in `directory`, which no component may leave: a manifest comes from a
/// commit, and anyone may have written the commit.
///
/// # Errors
///
/// The problem of the path, worded to follow its name in a sentence. An unreadable component is a
/// problem, too.
pub(super) fn inside(directory: &Path, path: &Path) -> Result<PathBuf, String> {
    let mut place = directory.to_owned();
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let name = match component {
            Component::Normal(name) => name,
            Component::CurDir => continue,
            _ => return Err("leads out of the work tree".into()),
        };
        if name.eq_ignore_ascii_case(".git") {
            return Err("leads into git's own files".into());
        }
        place.push(name);
        match fs::symlink_metadata(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("can't be looked at: {error}")),
            Ok(metadata) if metadata.is_symlink() => {
                return Err("leads through a symbolic link".into());
            }
            Ok(metadata) if !metadata.is_dir() => {
                return Err("leads to a file of the commit".into());
            }
            Ok(_) if components.peek().is_none() && !is_empty(&place) => {
                return Err("leads to a directory of the commit that is not empty".into());
            }
            Ok(_) => {}
        }
    }
    if place == directory {
        return Err("is the work tree itself".into());
    }
    Ok(place)
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        let temporary = tempfile::tempdir().expect("a directory can be made");
        let tree = temporary.path().join("tree");
        fs::create_dir_all(tree.join("full/empty")).expect("it can be made");
        fs::write(tree.join("file"), "").expect("it can be written");
        std::os::unix::fs::symlink("full", tree.join("link")).expect("it can be made");
        for (path, wrong) in [
            ("", "itself"),
            (".", "itself"),
            ("/etc", "out of"),
            ("..", "out of"),
            ("a/../../b", "out of"),
            (".git/hooks", "git's own"),
            ("full/.GIT", "git's own"),
            ("link", "symbolic link"),
            ("link/empty", "symbolic link"),
            ("file", "a file"),
            ("file/below", "a file"),
            ("full", "not empty"),
        ] {
            let reason = inside(&tree, Path::new(path)).expect_err(path);
            assert!(reason.contains(wrong), "{path}: {reason}");
        }
        for path in ["new", "new/below", "full/new", "full/empty", "./new"] {
            assert_eq!(inside(&tree, Path::new(path)), Ok(tree.join(path)));
        }
    }
}

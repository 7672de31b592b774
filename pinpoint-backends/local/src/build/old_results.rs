//! The results that an earlier run left in a work tree.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pinpoint_core::results::is_criterion_result;

pub(crate) fn leads_outside(name: &Path) -> String {
    format!(
        "its results file {} leads out of the work tree",
        name.display()
    )
}

/// Checks whether the work tree caused the error, rather than the machine. The next commit has
/// another tree.
pub(crate) fn is_of_the_tree(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::InvalidInput
    ) || matches!(
        error.raw_os_error(),
        // A loop of links, a link that is too long, a socket, a device without a
        // driver, a file that is being executed.
        Some(
            libc::ELOOP
                | libc::ENAMETOOLONG
                | libc::ENXIO
                | libc::ENODEV
                | libc::EOPNOTSUPP
                | libc::ETXTBSY
        )
    )
}

/// Removes the results of an earlier run from a work tree, so that they do not pass for the next
/// run's, or returns the reason why that run fails. Removes only files in the tree, never through a
/// link that a commit contains. The error is one of the machine.
pub(crate) fn remove_old(tree: &Path, name: &Path) -> io::Result<Result<(), String>> {
    let path = tree.join(name);
    let Some(directory) = path.parent() else {
        return Ok(Ok(()));
    };
    let remove = || -> io::Result<Result<(), String>> {
        if !directory.canonicalize()?.starts_with(tree.canonicalize()?) {
            return Ok(Err(leads_outside(name)));
        }
        remove(&path).map(Ok)
    };
    match remove() {
        // A directory that does not exist yet has no file of an earlier run.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            tree.metadata()?;
            Ok(Ok(()))
        }
        Err(error) if is_of_the_tree(&error) => Ok(Err(format!(
            "the results of an earlier run at {} can't be removed: {error}",
            path.display()
        ))),
        other => other,
    }
}

/// Removes files that would be loaded, so that they do not pass for the results of the next run.
/// Other files in a folder stay.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    if !path.symlink_metadata()?.is_dir() {
        return fs::remove_file(path);
    }
    for (_, path) in criterion_results(path)? {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// The files of a folder that are Criterion's results, by their paths in it. No
/// link to a folder is followed.
pub(crate) fn criterion_results(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut results = BTreeMap::new();
    let mut folders = vec![(String::new(), folder.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push((format!("{name}/"), entry.path()));
            } else if is_criterion_result(&name) {
                results.insert(name, entry.path());
            }
        }
    }
    Ok(results)
}

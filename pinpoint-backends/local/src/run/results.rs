//! The results of a benchmark on disk: a file, or a folder of Criterion's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pinpoint_core::results::{Output, is_criterion_result};

use crate::process::files;

/// The contents of a results file, or of a folder's files that are read.
#[derive(Debug)]
pub enum Results {
    /// A file.
    File(Vec<u8>),
    /// Files by their paths in the folder, with `/` between the parts.
    Folder(BTreeMap<String, Vec<u8>>),
}

impl Results {
    /// Loads a file or a folder; `None` when it holds more than `limit` bytes.
    ///
    /// # Errors
    ///
    /// The error of the operating system for the file, or for one in the folder.
    pub fn load(path: &Path, limit: u64) -> io::Result<Option<Self>> {
        Self::load_with(path, limit, |path| File::open(path))
    }

    fn load_with(
        path: &Path,
        limit: u64,
        open: fn(&Path) -> io::Result<File>,
    ) -> io::Result<Option<Self>> {
        let mut room = limit;
        if !path.is_dir() {
            let content = content(open(path)?, &mut room)?;
            return Ok(content.map(Self::File));
        }
        let mut files = BTreeMap::new();
        for (name, path) in criterion_results(path)? {
            let Some(content) = content(open(&path)?, &mut room)? else {
                return Ok(None);
            };
            files.insert(name, content);
        }
        Ok(Some(Self::Folder(files)))
    }

    /// The output that a run wrote to a file, or the error of reading it; `None` when it holds more
    /// than `limit` bytes.
    pub(crate) fn written_to(file: &File, limit: u64) -> io::Result<Option<Self>> {
        if file.metadata()?.len() > limit {
            return Ok(None);
        }
        files::read_at(file, 0, limit).map(|content| Some(Self::File(content)))
    }

    /// The result that a run left in its work tree, a file or folder of this name, or the reason
    /// why it is missing. The error is one of the machine.
    pub(crate) fn of_run(tree: &Path, name: &Path, limit: u64) -> io::Result<Result<Self, String>> {
        let path = tree.join(name);
        let load = || -> io::Result<Result<Self, String>> {
            if !path.canonicalize()?.starts_with(tree.canonicalize()?) {
                return Ok(Err(leads_outside(name)));
            }
            Ok(match Self::load_with(&path, limit, files::open_regular)? {
                Some(results) => Ok(results),
                None => Err(too_large(limit)),
            })
        };
        match load() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                tree.metadata()?;
                Ok(Err(format!("wrote no file {}", path.display())))
            }
            Err(error) if is_of_the_tree(&error) => Ok(Err(format!(
                "wrote nothing that can be read to {}: {error}",
                path.display()
            ))),
            other => other,
        }
    }

    /// The form that the readers take.
    pub fn output(&self) -> Output<'_> {
        match self {
            Self::File(content) => content.into(),
            Self::Folder(files) => files.into(),
        }
    }
}

/// The contents of a file that fits into the remaining `room`.
fn content(file: File, room: &mut u64) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    file.take(room.saturating_add(1))
        .read_to_end(&mut content)?;
    let length = content.len() as u64;
    if length > *room {
        return Ok(None);
    }
    *room -= length;
    Ok(Some(content))
}

/// The message for results larger than the limit.
pub(crate) fn too_large(limit: u64) -> String {
    format!("wrote more than {} MiB of results", limit >> 20)
}

fn leads_outside(name: &Path) -> String {
    format!(
        "its results file {} leads out of the work tree",
        name.display()
    )
}

/// Checks whether the work tree caused the error, rather than the machine. The next commit has
/// another tree.
fn is_of_the_tree(error: &io::Error) -> bool {
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
fn remove(path: &Path) -> io::Result<()> {
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
fn criterion_results(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_loaded_and_removed_but_for_what_is_not_results() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("criterion");
        for name in ["a/b/new", "a/b/base", "new"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        for name in [
            "a/b/new/sample.json",
            "a/b/base/sample.json",
            "new/benchmark.json",
        ] {
            fs::write(folder.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink(&folder, folder.join("again")).unwrap();
        let load = |limit| Results::load(&folder, limit).unwrap();
        let Some(Results::Folder(files)) = load(37) else {
            panic!("it is a folder");
        };
        let expected = [
            (
                "a/b/new/sample.json".to_owned(),
                b"a/b/new/sample.json".to_vec(),
            ),
            (
                "new/benchmark.json".to_owned(),
                b"new/benchmark.json".to_vec(),
            ),
        ];
        assert_eq!(files, BTreeMap::from(expected));
        assert!(load(36).is_none());

        remove(&folder).unwrap();
        assert!(matches!(load(0), Some(Results::Folder(files)) if files.is_empty()));
        assert!(folder.join("a/b/base/sample.json").exists());

        let file = folder.join("a/b/base/sample.json");
        assert!(matches!(
            Results::load(&file, 20).unwrap(),
            Some(Results::File(_))
        ));
        assert!(Results::load(&file, 19).unwrap().is_none());
        remove(&file).unwrap();
        assert_eq!(remove(&file).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

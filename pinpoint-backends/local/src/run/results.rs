//! The results of a benchmark on disk: a file, or a folder of Criterion's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use pinpoint_core::results::Output;

use crate::build::old_results::{criterion_results, is_of_the_tree, leads_outside};
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::build::old_results::remove;

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

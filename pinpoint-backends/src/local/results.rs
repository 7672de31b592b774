//! What a benchmark left behind on disk: a file, or a folder of Criterion's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pinpoint_core::results::{Output, is_criterion_result};

/// The content of a file of results, or of those files of a folder that are read.
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
    /// What the operating system says of the file, or of one in the folder.
    pub fn load(path: &Path, limit: u64) -> io::Result<Option<Self>> {
        let mut room = limit;
        if !path.is_dir() {
            let content = content(path, &mut room)?;
            return Ok(content.map(Self::File));
        }
        let mut files = BTreeMap::new();
        for (name, path) in criterion_results(path)? {
            let Some(content) = content(&path, &mut room)? else {
                return Ok(None);
            };
            files.insert(name, content);
        }
        Ok(Some(Self::Folder(files)))
    }

    /// As the readers take it.
    pub fn output(&self) -> Output<'_> {
        match self {
            Self::File(content) => content.into(),
            Self::Folder(files) => files.into(),
        }
    }
}

/// The content of a file that fits into the room that is left.
fn content(path: &Path, room: &mut u64) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    let file = File::open(path)?;
    file.take(room.saturating_add(1))
        .read_to_end(&mut content)?;
    let length = content.len() as u64;
    if length > *room {
        return Ok(None);
    }
    *room -= length;
    Ok(Some(content))
}

/// Removes what would be loaded, so that it does not pass for the results of the
/// next run; nothing else of a folder, which may hold anything.
pub(super) fn remove(path: &Path) -> io::Result<()> {
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

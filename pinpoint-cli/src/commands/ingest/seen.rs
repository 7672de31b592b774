//! The files that a watch has taken, so that it reads each once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use super::input::Input;

/// The length of a file, and when it was changed last.
type Version = (u64, Option<SystemTime>);

/// The files that this process has taken or refused, as they were then. The store knows them, too:
/// this saves reading them again.
#[derive(Debug, Default)]
pub(crate) struct SeenFiles(BTreeMap<PathBuf, Version>);

impl SeenFiles {
    /// Leaves out the files that have not changed since. Returns the others, as they are now. Folders
    /// are always read: that something in them changed can't be seen from outside.
    pub(super) fn fresh(&self, files: &mut Vec<Input>) -> BTreeMap<PathBuf, Version> {
        let mut fresh = BTreeMap::new();
        files.retain(|input| {
            let found = std::fs::metadata(&input.path).ok();
            let Some(found) = found.filter(|it| it.is_file()) else {
                return true;
            };
            let version = (found.len(), found.modified().ok());
            let is_fresh = self.0.get(&input.path) != Some(&version);
            if is_fresh {
                fresh.insert(input.path.clone(), version);
            }
            is_fresh
        });
        fresh
    }

    pub(super) fn add(&mut self, fresh: BTreeMap<PathBuf, Version>) {
        self.0.extend(fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_when_it_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        std::fs::write(&path, "1").unwrap();
        let inputs = || {
            let of = |path: PathBuf| Input {
                path,
                name: String::new(),
            };
            vec![of(path.clone()), of(directory.path().to_owned())]
        };
        let mut seen = SeenFiles::default();
        let mut files = inputs();
        let fresh = seen.fresh(&mut files);
        assert_eq!((files.len(), fresh.len()), (2, 1));
        seen.add(fresh);
        let mut files = inputs();
        assert!(seen.fresh(&mut files).is_empty());
        assert_eq!(files.len(), 1);
        std::fs::write(&path, "12").unwrap();
        let mut files = inputs();
        assert_eq!(seen.fresh(&mut files).len(), 1);
    }
}

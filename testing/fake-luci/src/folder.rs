//! Folders of tests that outlive no more than the next run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// An empty folder that no other process has at the same time. Statics are never dropped, so
/// that nobody removes it at the end of a process: the next process takes it, and empties it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked until the process ends.
    _lock: File,
}

impl Folder {
    /// The first folder of this name in `parent` that is free.
    ///
    /// # Panics
    ///
    /// When it can't be made.
    pub fn new(parent: &Path, name: &str) -> Self {
        let mut number = 0;
        loop {
            let path = parent.join(format!("{name}-{number}"));
            let lock = File::create(path.with_extension("lock")).expect("the lock of a folder");
            if lock.try_lock().is_err() {
                number += 1;
                continue;
            }
            if path.exists() {
                fs::remove_dir_all(&path).expect("the folder of an earlier run is removed");
            }
            fs::create_dir_all(&path).expect("a folder is made");
            return Self { path, _lock: lock };
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

//! Making room in a store of builds.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::build::build_manifest::{BuildManifest, is_digest};
use crate::build::build_store::{BuildStore, read_list};
use crate::build::shrink::CleanReport;
use crate::error::LocalError;

/// The time that files in no list stay: another machine may be about to finish its list.
const GRACE: Duration = Duration::from_hours(1);

/// The time between searches for files in no list: each reads all lists.
const BETWEEN_SWEEPS: Duration = Duration::from_hours(1);

impl BuildStore {
    /// Removes the builds that were not used for the longest time, until those that stay
    /// have no more bytes than the store may have; and files that no build has.
    ///
    /// # Errors
    ///
    /// When the store can't be read or written.
    pub fn shrink(&self) -> Result<CleanReport, LocalError> {
        let mut report = self.make_room()?;
        self.sweep(&mut report)?;
        Ok(report)
    }

    /// Like [`shrink`](Self::shrink), but looks for files that no build has only if that was not
    /// done recently.
    pub(crate) fn shrink_after_put(&self) -> Result<CleanReport, LocalError> {
        let mut report = self.make_room()?;
        let swept = fs::metadata(self.swept()).and_then(|metadata| metadata.modified());
        let age = swept.ok().and_then(|it| it.elapsed().ok());
        if age.is_none_or(|age| age > BETWEEN_SWEEPS) {
            self.sweep(&mut report)?;
        }
        Ok(report)
    }

    fn swept(&self) -> PathBuf {
        self.root.join("swept")
    }

    /// Removes builds until the rest fit.
    fn make_room(&self) -> Result<CleanReport, LocalError> {
        let mut report = CleanReport::default();
        let mut builds = Vec::new();
        for path in entries(&self.root.join("builds"))? {
            // Another machine may be at the same work.
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            let mut beginning = Vec::new();
            let read = File::open(&path).and_then(|it| it.take(128).read_to_end(&mut beginning));
            let size = read.ok().and_then(|_| BuildManifest::size_of(&beginning));
            let used = metadata.modified().unwrap_or(UNIX_EPOCH);
            builds.push((used, path, size.unwrap_or(0)));
        }
        builds.sort();
        let mut occupied = { builds.iter() }.fold(0_u64, |sum, it| sum.saturating_add(it.2));
        for (_, path, size) in builds {
            if occupied <= self.most {
                break;
            }
            occupied = occupied.saturating_sub(size);
            report.take(path);
        }
        Ok(report)
    }

    /// Removes files that no build has, and unfinished ones.
    ///
    /// Cost: reading all lists and directories.
    fn sweep(&self, report: &mut CleanReport) -> Result<(), LocalError> {
        // First, so that other machines don't do the same work. A new file, since this one may be
        // another user's.
        let swept = self.swept();
        let renewed = { self.unfinished() }.and_then(|file| Ok(file.persist(&swept)?));
        renewed.map_err(LocalError::io("write", &swept))?;
        let mut files = entries(&self.root.join("unfinished"))?;
        match self.needed() {
            Ok(needed) => {
                for directory in entries(&self.root.join("blobs"))? {
                    let blobs = entries(&directory)?;
                    files.extend(blobs.into_iter().filter(|path| {
                        let name = path.file_name().unwrap_or_default().to_string_lossy();
                        is_digest(&name) && !needed.contains(&*name)
                    }));
                }
            }
            // It may need any of them.
            Err((list, error)) => report.failed.push((list, error.to_string())),
        }
        for path in files {
            let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|it| it.elapsed().ok());
            if age.is_some_and(|age| age > GRACE) {
                report.take(path);
            }
        }
        Ok(())
    }

    /// The files that lists name, also damaged ones and those of other versions; or a list
    /// that can't be read.
    fn needed(&self) -> Result<BTreeSet<String>, (PathBuf, io::Error)> {
        let builds = self.root.join("builds");
        let listed = || {
            let entries = fs::read_dir(&builds)?;
            entries.map(|entry| entry.map(|it| it.path())).collect()
        };
        let lists: io::Result<Vec<_>> = listed();
        let mut needed = BTreeSet::new();
        for list in lists.map_err(|error| (builds.clone(), error))? {
            let bytes = match read_list(&list) {
                // Another machine may be at the same work.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(|error| (list, error))?,
            };
            let texts = bytes.split(|byte| *byte == b'"');
            let digests = texts.filter_map(|text| str::from_utf8(text).ok());
            needed.extend(digests.filter(|it| is_digest(it)).map(str::to_owned));
        }
        Ok(needed)
    }
}

/// The paths in a directory.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>, LocalError> {
    let unreadable = |error| LocalError::io("read", directory)(error);
    let entries = fs::read_dir(directory).map_err(unreadable)?;
    let paths: io::Result<Vec<_>> = entries.map(|entry| entry.map(|it| it.path())).collect();
    paths.map_err(unreadable)
}

//! Builds on disk: made once, found again, removed when space is needed.
//!
//! A build is `builds/<key>`: the work tree `tree`, and `finished.json`, which is written last.
//! Without it the directory is an interrupted build, and is made again. The lock of a build is
//! outside of this directory.
//!
//! The marker alone is not trusted. The parts of a build are on the disk before it is written,
//! since a loss of power could otherwise leave the marker of an incomplete tree; and it names the
//! contents of the tree, which are checked whenever a process starts to use the build. Additions
//! are normal, since benchmarks write where they run; missing files were removed by a cleanup tool,
//! by hand or by a benchmark, and the build is made again.
//!
//! Tracked files that a benchmark changed are restored from an index next to the work tree: see
//! `tracked_files`.
//!
//! A build that is damaged while other jobs use it, or whose remains can't be removed, stays: the
//! next one is made in a further place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::LocalError;
use crate::git::workspace::Workspace;
use crate::job_remarks::Remark;
use crate::process::files::{self, FileError, Locked, Mode};

/// Written when a build is complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// Our repositories of the work tree, and of those inside it.
    pub(crate) repositories: BTreeSet<PathBuf>,
    /// Bytes on disk.
    pub(crate) size: u64,
    /// Its duration, in milliseconds.
    pub(crate) duration: u64,
    /// The entries at the top of the work tree and next to it, as [`contents`] names them.
    #[serde(default)]
    contents: BTreeSet<String>,
    /// Dependencies that were left to the build command, since their clones lacked
    /// the revision: URLs and revisions.
    #[serde(default)]
    pub(crate) left_out: BTreeSet<(String, String)>,
    /// True if its tracked files are recorded. Absent for a build of an earlier version, which a
    /// benchmark may have changed since: it is made again.
    #[serde(default)]
    tracked: Option<bool>,
    /// Describes the missing parts of its work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<(Remark, String)>,
}

/// The place of one build.
#[derive(Debug, Clone)]
pub(crate) struct BuildDir {
    pub(crate) path: PathBuf,
    pub(crate) tree: PathBuf,
    marker: PathBuf,
    pub(crate) lock: PathBuf,
}

impl Workspace {
    /// The directory of a build; `further` ones are for builds whose earlier places can't be used.
    /// All have names of the same length: a path may affect a measurement.
    pub(crate) fn build_dir(&self, key: &str, further: u32) -> BuildDir {
        if further == 0 {
            return self.build_dir_named(key);
        }
        let name = Sha256::digest(format!("{key} {further}"));
        self.build_dir_named(&hex::encode(name))
    }

    pub(crate) fn build_dir_named(&self, name: &str) -> BuildDir {
        let directory = self.state_dir().join("builds").join(name);
        BuildDir {
            tree: directory.join("tree"),
            marker: directory.join("finished.json"),
            lock: self.state_dir().join("locks").join(name),
            path: directory,
        }
    }
}

/// The state of a build on disk.
pub(crate) enum BuildOnDisk {
    Whole(Marker),
    /// The marker of a build that is missing or incomplete.
    Damaged,
    Nothing,
}

/// The parts that have to exist for a build to count as complete.
#[derive(Clone, Copy)]
pub(crate) enum RequiredParts<'a> {
    /// Everything that existed when it was finished, except this results file, which is removed
    /// before each run.
    But(Option<&'a Path>),
    /// Its work tree: it was made just now, and a process left by the build command may still clean
    /// up.
    Tree,
}

impl BuildDir {
    /// Holds the build, if it exists: it is not removed until the lock is dropped.
    pub(crate) async fn use_it(
        &self,
        whole: RequiredParts<'_>,
    ) -> Result<(BuildOnDisk, Locked), LocalError> {
        let lock = files::lock(&self.lock, Mode::Shared).await?;
        let found = self.look(whole)?;
        if matches!(found, BuildOnDisk::Whole(_)) {
            File::open(&self.marker)
                .and_then(|file| file.set_modified(SystemTime::now()))
                .map_err(LocalError::io("touch", &self.marker))?;
        }
        Ok((found, lock))
    }

    /// Checks the state of the build. Only for the holder of its lock.
    pub(crate) fn look(&self, whole: RequiredParts<'_>) -> Result<BuildOnDisk, LocalError> {
        let Some(marker) = self.marker()? else {
            return Ok(BuildOnDisk::Nothing);
        };
        Ok(match self.missing(&marker, whole)? {
            Some(_) => BuildOnDisk::Damaged,
            None => BuildOnDisk::Whole(marker),
        })
    }

    /// The first part of a build that is missing now.
    pub(crate) fn missing(
        &self,
        marker: &Marker,
        whole: RequiredParts<'_>,
    ) -> Result<Option<String>, LocalError> {
        if !self.tree.is_dir() {
            return Ok(Some("tree".into()));
        }
        let RequiredParts::But(results) = whole else {
            return Ok(None);
        };
        if marker.tracked.is_none() {
            return Ok(Some("the list of its tracked files".into()));
        }
        let results = results.map(|path| format!("tree/{}", path.display()));
        let now = self.contents()?;
        let mut gone = marker.contents.difference(&now);
        Ok(gone.find(|name| results.as_ref() != Some(name)).cloned())
    }

    /// The names at the top of the work tree, and of the checkouts next to it.
    pub(crate) fn contents(&self) -> Result<BTreeSet<String>, LocalError> {
        let mut contents = BTreeSet::new();
        for name in ["tree", "modules"] {
            let directory = self.path.join(name);
            let unreadable = |error| LocalError::io("read", &directory)(error);
            let entries = match fs::read_dir(&directory) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(unreadable)?,
            };
            for entry in entries {
                let entry = entry.map_err(unreadable)?.file_name();
                contents.insert(format!("{name}/{}", entry.to_string_lossy()));
            }
        }
        Ok(contents)
    }

    /// Takes the right to make the build; `None` while others use or make it.
    pub(crate) fn make_it(&self) -> Result<Option<Locked>, LocalError> {
        Ok(files::try_lock(&self.lock, Mode::Alone)?)
    }

    pub(crate) fn marker(&self) -> Result<Option<Marker>, LocalError> {
        match files::read_json(&self.marker) {
            // A marker that can't be read does not count: the build is remade.
            Err(FileError::Damaged { .. }) => Ok(None),
            Err(FileError::Io { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::NotADirectory
                        | io::ErrorKind::IsADirectory
                        | io::ErrorKind::PermissionDenied
                ) =>
            {
                Ok(None)
            }
            other => Ok(other?),
        }
    }

    pub(crate) fn last_used(&self) -> Result<SystemTime, LocalError> {
        match fs::metadata(&self.marker).and_then(|metadata| metadata.modified()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SystemTime::UNIX_EPOCH),
            other => other.map_err(LocalError::io("read", &self.marker)),
        }
    }

    /// Creates the directory of a missing build.
    pub(crate) fn create(&self) -> Result<(), LocalError> {
        Ok(files::create_dir(&self.path)?)
    }

    /// Removes the build; the marker goes first, so that no partial build passes for complete.
    pub(crate) fn remove(&self) -> Result<(), LocalError> {
        if self.marker()?.is_some() {
            files::remove(&self.marker)?;
        }
        Ok(files::remove(&self.path)?)
    }

    /// The file with the inputs of a traced build.
    pub(crate) fn traced(&self) -> PathBuf {
        self.path.join("traced.json")
    }

    /// Makes the next user of the build make it again.
    pub(crate) fn discard(&self) -> Result<(), LocalError> {
        Ok(files::remove(&self.marker)?)
    }

    /// Marks the build as complete.
    pub(crate) fn finish(&self, made: LaidOut, began: Instant) -> Result<(), LocalError> {
        let size = files::size_on_disk(&self.path)?;
        let contents = match made.contents {
            Some(contents) => contents,
            None => self.contents()?,
        };
        sync(&self.path)?;
        let marker = Marker {
            repositories: made.repositories,
            size,
            duration: milliseconds(began.elapsed()),
            contents,
            left_out: made.left_out,
            tracked: Some(made.tracked),
            remarks: made.remarks,
        };
        Ok(files::write_json(&self.marker, &marker)?)
    }
}

/// A duration for storage, rounded to milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    let rounded = time.saturating_add(Duration::from_micros(500));
    u64::try_from(rounded.as_millis()).unwrap_or(u64::MAX)
}

/// The content of a work tree, besides its commit.
#[derive(Debug, Default)]
pub(crate) struct LaidOut {
    /// Our repositories that it needs from now on.
    pub(crate) repositories: BTreeSet<PathBuf>,
    /// The name and the hash of each checkout, by its place in the directory of the build.
    pub(crate) checkouts: BTreeMap<PathBuf, (String, String)>,
    /// Dependencies whose revision was missing.
    pub(crate) left_out: BTreeSet<(String, String)>,
    /// The entries before the benchmark was run in it, if it was.
    pub(crate) contents: Option<BTreeSet<String>>,
    /// The build was in the store.
    pub(crate) stored: bool,
    /// True if its tracked files are recorded.
    pub(crate) tracked: bool,
    /// Describes the missing parts of the work tree.
    pub(crate) remarks: Vec<(Remark, String)>,
}

/// Writes everything made in a directory to the disk.
///
/// One call for the whole file system: naming each file of a large build would take longer than the
/// writing. Pending writes would otherwise happen in the middle of a measurement.
#[cfg_attr(
    target_os = "linux",
    expect(
        unsafe_code,
        reason = "syncfs is in no safe interface of the standard library"
    )
)]
fn sync(directory: &Path) -> Result<(), LocalError> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;

        let synced = File::open(directory).and_then(|open| {
            // SAFETY: the descriptor is open, and no memory is involved.
            match unsafe { libc::syncfs(open.as_raw_fd()) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
        synced.map_err(LocalError::io("write", directory))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directory;
        // SAFETY: it takes nothing and cannot fail.
        unsafe { libc::sync() };
        Ok(())
    }
}

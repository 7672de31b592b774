//! The tracked files of a build, as the build command left them.
//!
//! A benchmark may change tracked files of its work tree, or check out another commit there. Later
//! runs would measure that, and so would later jobs, which use the build again. So next to each
//! build is a git index of its tracked files as they were when it was finished, including patches
//! and the build command's changes. It serves to restore them before a job's first run, and after
//! each run.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::build::build_dir::BuildDir;
use crate::error::LocalError;
use crate::git::git_command;
use crate::process::files;

/// Identifies the state of a file: its inode, its size, and the time of its last change.
type Stamp = (u64, u64, i64, i64);

/// The restored changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Restored {
    /// The files, relative to the work tree.
    pub(crate) files: Vec<PathBuf>,
    /// True if another commit was checked out.
    pub(crate) other_commit: bool,
}

impl Restored {
    pub(crate) fn is_nothing(&self) -> bool {
        self.files.is_empty() && !self.other_commit
    }
}

/// The tracked files of a build that is in use.
#[derive(Debug)]
pub(crate) struct TrackedFiles {
    tree: PathBuf,
    index: PathBuf,
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    /// Git's file that names the commit, and its content.
    head: Option<(PathBuf, Vec<u8>)>,
    /// The file or folder of results, which each run writes.
    results: Option<PathBuf>,
}

impl TrackedFiles {
    /// Records the tracked files of a build that was just made; returns false where git fails, as
    /// when the build command removed its data.
    ///
    /// Cost: a check of each tracked file, and the reading of those that were changed.
    pub(crate) fn record(dir: &BuildDir) -> Result<bool, LocalError> {
        Self::forget(dir)?;
        let (index, head) = places(dir);
        let (Some(from_index), Some(from_head), Some(from_objects)) = (
            gits_file(&dir.tree, "index")?,
            gits_file(&dir.tree, "HEAD")?,
            gits_file(&dir.tree, "objects")?,
        ) else {
            return Ok(false);
        };
        for (from, to) in [(from_index, &index), (from_head, &head)] {
            match fs::copy(&from, to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Self::forget(dir)?;
                    return Ok(false);
                }
                other => other.map_err(LocalError::io("write", to))?,
            };
        }
        // In a separate directory while they are written: git touches the file of an existing
        // object instead of writing it, and those are the user's.
        let objects = objects(&index);
        files::create_dir(&objects.join("info"))?;
        let mut add = with_index(&dir.tree, &index);
        let output = git_command::run(add.args(["add", "--update", "--", "."]))?;
        if !output.status.success() {
            Self::forget(dir)?;
            return Ok(false);
        }
        let (alternates, mut line) = (
            objects.join("info/alternates"),
            from_objects.into_os_string(),
        );
        line.push("\n");
        fs::write(&alternates, line.as_bytes()).map_err(LocalError::io("write", &alternates))?;
        Ok(true)
    }

    /// Removes the record of a build.
    pub(crate) fn forget(dir: &BuildDir) -> Result<(), LocalError> {
        let (index, head) = places(dir);
        files::remove(&objects(&index))?;
        files::remove(&index)?;
        Ok(files::remove(&head)?)
    }

    /// Restores the tracked files of a build that may have been used before; absent for one without
    /// a record.
    pub(crate) fn open(
        dir: &BuildDir,
        results: Option<&Path>,
    ) -> Result<Option<(Self, Restored)>, LocalError> {
        let (index, head) = places(dir);
        let head = match (fs::read(&head), gits_file(&dir.tree, "HEAD")?) {
            (Ok(content), Some(file)) if is_hash(&content) => Some((file, content)),
            _ => None,
        };
        if !index.exists() {
            return Ok(None);
        }
        let mut tracked = Self {
            tree: dir.tree.clone(),
            index,
            stamps: Vec::new(),
            head,
            results: results.map(Path::to_owned),
        };
        let restored = tracked.restore_all()?;
        Ok(Some((tracked, restored)))
    }

    /// Restores what has changed since the last call.
    ///
    /// Cost: a check of each tracked file, and calls of git when the time of one has changed.
    pub(crate) fn restore(&mut self) -> Result<Restored, LocalError> {
        let is_as_it_was = |(file, stamp): &(PathBuf, Option<Stamp>)| stamp_of(file) == *stamp;
        if !self.has_other_commit() && self.stamps.iter().all(is_as_it_was) {
            return Ok(Restored::default());
        }
        self.restore_all()
    }

    fn has_other_commit(&self) -> bool {
        let is_other =
            |(file, content): &(PathBuf, Vec<u8>)| fs::read(file).is_ok_and(|now| now != *content);
        self.head.as_ref().is_some_and(is_other)
    }

    fn restore_all(&mut self) -> Result<Restored, LocalError> {
        let mut restored = Restored::default();
        if self.has_other_commit()
            && let Some((_, commit)) = &self.head
        {
            restored.other_commit = true;
            let hash = OsStr::from_bytes(commit.trim_ascii());
            let mut checkout = git_command::git(&self.tree);
            checkout.args(["checkout", "--quiet", "--force", "--detach"]);
            done(&self.tree, "checkout", checkout.arg(hash))?;
            if let Some(index) = gits_file(&self.tree, "index")? {
                fs::copy(&self.index, &index).map_err(LocalError::io("write", &index))?;
            }
        }
        // Files that differ only in time don't count.
        let mut refresh = with_index(&self.tree, &self.index);
        git_command::run(refresh.args(["update-index", "-q", "--refresh"]))?;
        let mut differ = with_index(&self.tree, &self.index);
        differ.args(["diff-files", "-z", "--name-only", "--ignore-submodules"]);
        let differing = done(&self.tree, "diff-files", &mut differ)?;
        let mut changed: Vec<&[u8]> = differing.split(|byte| *byte == 0).collect();
        changed.retain(|name| !name.is_empty() && !self.is_result(path_of(name)));
        if !changed.is_empty() {
            let beside = self.index.parent().unwrap_or(&self.tree);
            let mut list = files::create_unnamed(beside)?;
            { list.write_all(&changed.join(&0)) }
                .and_then(|()| list.write_all(&[0]))
                .and_then(|()| list.rewind())
                .map_err(LocalError::io("write to", beside))?;
            let mut checkout = with_index(&self.tree, &self.index);
            checkout
                .args(["checkout-index", "--force", "-u", "-z", "--stdin"])
                .stdin(Stdio::from(list));
            done(&self.tree, "checkout-index", &mut checkout)?;
            restored.files = changed
                .iter()
                .map(|name| path_of(name).to_owned())
                .collect();
        }
        self.stamps = self.look()?;
        Ok(restored)
    }

    /// The stamps of all tracked files.
    fn look(&self) -> Result<Vec<(PathBuf, Option<Stamp>)>, LocalError> {
        let mut list = with_index(&self.tree, &self.index);
        list.args(["ls-files", "-z", "--stage"]);
        let listed = done(&self.tree, "ls-files", &mut list)?;
        let mut stamps = Vec::new();
        for entry in listed.split(|byte| *byte == 0) {
            // A submodule has its own files.
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else {
                continue;
            };
            let name = path_of(&entry[tab + 1..]);
            if entry.starts_with(b"160000 ") || self.is_result(name) {
                continue;
            }
            let file = self.tree.join(name);
            let stamp = stamp_of(&file);
            stamps.push((file, stamp));
        }
        Ok(stamps)
    }

    fn is_result(&self, name: &Path) -> bool {
        { self.results.as_ref() }.is_some_and(|results| name.starts_with(results))
    }
}

/// The paths of the index and of the name of the commit, next to a build's work tree.
fn places(dir: &BuildDir) -> (PathBuf, PathBuf) {
    (dir.path.join("index"), dir.path.join("HEAD"))
}

/// The directory for the contents of files that the build command changed, next to the index.
fn objects(index: &Path) -> PathBuf {
    index.with_file_name("objects")
}

fn path_of(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

fn stamp_of(file: &Path) -> Option<Stamp> {
    let metadata = fs::symlink_metadata(file).ok()?;
    Some((
        metadata.ino(),
        metadata.size(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ))
}

fn is_hash(content: &[u8]) -> bool {
    let hash = content.trim_ascii();
    hash.len() >= 40 && hash.iter().all(u8::is_ascii_hexdigit)
}

/// A file that git keeps for a work tree; absent where git keeps none.
fn gits_file(tree: &Path, name: &str) -> Result<Option<PathBuf>, LocalError> {
    // A work tree that lost its link would be taken for a part of the surrounding one.
    if !tree.join(".git").exists() {
        return Ok(None);
    }
    let mut command = git_command::git(tree);
    let output = git_command::run(command.args(["rev-parse", "--git-path", name]))?;
    let path = output.stdout.trim_ascii_end();
    Ok((output.status.success() && !path.is_empty()).then(|| tree.join(path_of(path))))
}

fn with_index(tree: &Path, index: &Path) -> Command {
    let mut command = git_command::git(tree);
    command
        .env("GIT_INDEX_FILE", index)
        .env("GIT_OBJECT_DIRECTORY", objects(index));
    command
}

/// The output of a command of git that has to succeed.
fn done(tree: &Path, name: &'static str, command: &mut Command) -> Result<Vec<u8>, LocalError> {
    let output = git_command::run(command)?;
    if !output.status.success() {
        return Err(git_command::failed(&[name], tree, &output).into());
    }
    Ok(output.stdout)
}

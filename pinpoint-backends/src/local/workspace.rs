//! Builds on disk: made once, found again, removed when room is needed.
//!
//! A build is `builds/<key>`: the work tree `tree`, and `finished.json`, which
//! is written last. Without it the directory is the remains of a build that
//! was interrupted, and is made anew. The lock of a build lies outside of what
//! is removed: a lock on a removed file would protect nothing.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use pinpoint_core::CombinedCommit;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::at_hand::AtHand;
use super::files::{self, Locked, Mode};
use super::repository::{self, Repository};
use super::{LocalConfig, LocalError};

/// What is built and how, as a name: SHA-256 over the state of the commit, the
/// build command, which repositories are at hand and the declared environment.
/// Each part is preceded by its length and each list by its count, so that no
/// two states read alike.
///
/// What is at hand decides which dependencies are laid out: a build from before
/// must not be measured against one from after.
pub(super) fn key(commit: &CombinedCommit, config: &LocalConfig, at_hand: &AtHand) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    // Raised when the same state comes to be built in another way.
    add("pinpoint build 2");
    let identity = commit.identity();
    add(&identity.len().to_string());
    identity.iter().for_each(|field| add(field));
    match &config.build {
        None => add("no build command"),
        Some(command) => {
            add("build command");
            add(command);
        }
    }
    add(&at_hand.names().len().to_string());
    at_hand.names().iter().for_each(|name| add(name));
    for (name, value) in &config.env {
        add(name);
        add(value);
    }
    hexadecimal(&hash.finalize())
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Written when a build is whole.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Marker {
    /// Our repositories that the work tree, and those inside it, belong to.
    repositories: BTreeSet<PathBuf>,
    /// Bytes on disk.
    size: u64,
    /// How long it took, in milliseconds.
    pub(super) duration: u64,
}

/// The state directory.
#[derive(Debug, Clone)]
pub(super) struct Workspace {
    state: PathBuf,
}

/// The place of one build.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
    pub(super) tree: PathBuf,
    marker: PathBuf,
    lock: PathBuf,
}

impl Workspace {
    pub(super) fn open(state: &Path) -> Result<Self, LocalError> {
        for name in ["repositories", "builds", "locks"] {
            files::create_dir(&state.join(name))?;
        }
        // Work trees are named to git, which runs elsewhere.
        let state = state
            .canonicalize()
            .map_err(LocalError::io("read", state))?;
        Ok(Self { state })
    }

    pub(super) fn state_dir(&self) -> &Path {
        &self.state
    }

    pub(super) fn place(&self, key: &str) -> Place {
        let directory = self.state.join("builds").join(key);
        Place {
            tree: directory.join("tree"),
            marker: directory.join("finished.json"),
            lock: self.state.join("locks").join(key),
            directory,
        }
    }

    /// Keeps [`clean`] from removing repositories until it is dropped. Which of
    /// them a build needs can't be seen before the build is finished.
    pub(super) async fn keep_repositories(&self) -> Result<Locked, LocalError> {
        files::lock(&self.making(), Mode::Shared).await
    }

    /// Held shared by all who make builds.
    fn making(&self) -> PathBuf {
        self.state.join("locks/making")
    }

    /// Our own repository beside the user's, which lends its objects; made if
    /// need be. With its lock, held while the list of work trees changes: git
    /// does not expect that several of its processes change it at once.
    pub(super) async fn borrow_objects(
        &self,
        repository: &Repository,
    ) -> Result<(Borrowed, Locked), LocalError> {
        let path = repository.path().as_os_str().as_encoded_bytes();
        let name = hexadecimal(&Sha256::digest(path));
        let borrowed = Borrowed::at(self.state.join("repositories").join(name));
        let alone = files::lock(&borrowed.lock, Mode::Alone).await?;
        // Written last: whoever finds it finds a whole repository.
        let alternates = borrowed.path.join("objects/info/alternates");
        if alternates.is_file() {
            return Ok((borrowed, alone));
        }
        files::remove(&borrowed.path)?;
        let format = format!("--object-format={}", repository.object_format()?);
        let arguments = ["init", "--quiet", "--bare", "--template=", &format];
        let output = repository::run(
            repository::git(&self.state)
                .args(arguments)
                .arg(&borrowed.path),
        )?;
        if !output.status.success() {
            check_room(&self.state)?;
            return Err(repository::failed(&arguments, &borrowed.path, &output).into());
        }
        files::create_dir(&borrowed.path.join("objects/info"))?;
        let mut line = repository.objects().into_os_string();
        line.push("\n");
        let unfinished = alternates.with_extension("new");
        fs::write(&unfinished, line.as_encoded_bytes())
            .and_then(|()| fs::rename(&unfinished, &alternates))
            .map_err(LocalError::io("write", &alternates))?;
        Ok((borrowed, alone))
    }

    /// Removes builds that nobody uses, those not used for the longest time
    /// first, until all that stay occupy no more than `keep` bytes.
    pub(super) fn shrink(&self, keep: u64) -> Result<CleanReport, LocalError> {
        let mut builds = Vec::new();
        for key in names(&self.state.join("builds"))? {
            let place = self.place(&key);
            // Another process may be at the same work.
            if let Some(marker) = place.marker()? {
                builds.push((place.last_used()?, place, marker));
            }
        }
        builds.sort_by_key(|(last_used, ..)| *last_used);
        let mut occupied: u64 = builds.iter().map(|(.., marker)| marker.size).sum();
        let mut report = CleanReport::default();
        for (_, place, marker) in builds {
            if occupied <= keep {
                break;
            }
            let Some(_alone) = files::try_lock(&place.lock, Mode::Alone)? else {
                report.in_use.push(place.directory);
                continue;
            };
            place.remove()?;
            for repository in marker.repositories {
                forget_trees(&Borrowed::at(repository))?;
            }
            occupied -= marker.size;
            report.freed += marker.size;
            report.removed.push(place.directory);
        }
        Ok(report)
    }
}

impl Place {
    /// Takes part in the use of the build, if it is there: nobody removes it
    /// until the lock is dropped.
    pub(super) async fn use_it(&self) -> Result<Option<(Marker, Locked)>, LocalError> {
        let lock = files::lock(&self.lock, Mode::Shared).await?;
        let Some(marker) = self.marker()? else {
            return Ok(None);
        };
        File::open(&self.marker)
            .and_then(|file| file.set_modified(SystemTime::now()))
            .map_err(LocalError::io("touch", &self.marker))?;
        Ok(Some((marker, lock)))
    }

    /// Becomes the one who makes the build; `None` while others use or make it.
    pub(super) fn make_it(&self) -> Result<Option<Locked>, LocalError> {
        files::try_lock(&self.lock, Mode::Alone)
    }

    pub(super) fn marker(&self) -> Result<Option<Marker>, LocalError> {
        match files::read_json(&self.marker) {
            // A marker that can't be read marks nothing: the build is remade.
            Err(LocalError::Damaged { .. }) => Ok(None),
            other => other,
        }
    }

    fn last_used(&self) -> Result<SystemTime, LocalError> {
        match fs::metadata(&self.marker).and_then(|metadata| metadata.modified()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SystemTime::UNIX_EPOCH),
            other => other.map_err(LocalError::io("read", &self.marker)),
        }
    }

    /// Makes an empty place.
    pub(super) fn clear(&self) -> Result<(), LocalError> {
        self.remove()?;
        files::create_dir(&self.directory)
    }

    /// Removes the build; the marker goes first, so that no half of it passes
    /// for whole.
    pub(super) fn remove(&self) -> Result<(), LocalError> {
        files::remove(&self.marker)?;
        files::remove(&self.directory)
    }

    /// Declares the build whole.
    pub(super) fn finish(
        &self,
        repositories: BTreeSet<PathBuf>,
        took: Duration,
    ) -> Result<(), LocalError> {
        let marker = Marker {
            repositories,
            size: size(&self.directory)?,
            duration: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        files::write_json(&self.marker, &marker)
    }
}

/// Our bare repository, with the user's objects.
#[derive(Debug, Clone)]
pub(super) struct Borrowed {
    path: PathBuf,
    lock: PathBuf,
}

impl Borrowed {
    fn at(path: PathBuf) -> Self {
        Self {
            lock: path.with_extension("lock"),
            path,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The command that registers a work tree, still empty. Forced, since the
    /// remains of an earlier one may be registered at this place.
    pub(super) fn add_tree(&self, tree: &Path, hash: &str) -> Command {
        let mut command = repository::git_at(&self.path);
        command
            .args(["worktree", "add", "--quiet", "--force", "--force"])
            .args(["--detach", "--no-checkout"])
            .arg(tree)
            .arg(hash);
        command
    }
}

/// The command that fills a work tree.
pub(super) fn fill_tree(tree: &Path) -> Command {
    let mut command = repository::git(tree);
    command.args(["reset", "--quiet", "--hard"]);
    command
}

/// The command that applies a patch.
pub(super) fn apply_patch(tree: &Path, patch: &Path) -> Command {
    let mut command = repository::git(tree);
    command.args(["apply", "--whitespace=nowarn"]).arg(patch);
    command
}

/// Takes trees that are gone off the list of a repository of ours.
fn forget_trees(borrowed: &Borrowed) -> Result<(), LocalError> {
    // Tidiness only: whoever holds the lock does the same at the next removal.
    let Some(_alone) = files::try_lock(&borrowed.lock, Mode::Alone)? else {
        return Ok(());
    };
    if !borrowed.path.exists() {
        return Ok(());
    }
    let arguments = ["worktree", "prune"];
    let output = repository::run(repository::git_at(&borrowed.path).args(arguments))?;
    if !output.status.success() {
        return Err(repository::failed(&arguments, &borrowed.path, &output).into());
    }
    Ok(())
}

/// Tells a full disk from a failure of something that ran on it.
///
/// What fails for want of room says so in words of its own, if at all; the one
/// sure sign is that we can't write either.
pub(super) fn check_room(directory: &Path) -> Result<(), LocalError> {
    /// Enough to need fresh blocks on any file system.
    const BYTES: usize = 1 << 20;
    let path = directory.join(format!(".pinpoint-room-{}", std::process::id()));
    let written = fs::write(&path, vec![1; BYTES]);
    files::remove(&path)?;
    match written {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ) =>
        {
            Err(LocalError::io("write to", directory)(error))
        }
        // Other trouble is reported by whatever meets it.
        _ => Ok(()),
    }
}

fn names(directory: &Path) -> Result<Vec<String>, LocalError> {
    let unreadable = |error| LocalError::io("read", directory)(error);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        // Ours are SHA-256 in hexadecimal digits; what is not is not ours.
        let name = entry.map_err(unreadable)?.file_name().into_string();
        names.extend(name.ok().filter(|name| {
            name.len() == 64
                && name
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        }));
    }
    names.sort();
    Ok(names)
}

/// Bytes on disk of a directory and everything in it.
fn size(directory: &Path) -> Result<u64, LocalError> {
    /// What `st_blocks` counts in, whatever the file system's blocks are.
    const BLOCK: u64 = 512;
    let mut bytes = 0;
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let unreadable = |error| LocalError::io("read", &directory)(error);
        for entry in fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            // Of the link itself, where it is one.
            let metadata = match entry.metadata() {
                // Something that the build left running may be tidying up.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(unreadable)?,
            };
            bytes += metadata.blocks() * BLOCK;
            if metadata.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

/// What [`clean`] leaves in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanOptions {
    /// Bytes of finished builds that may stay, those used last; none by
    /// default.
    pub keep: u64,
}

/// What [`clean`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanReport {
    /// The directories that are gone.
    pub removed: Vec<PathBuf>,
    /// The bytes they occupied.
    pub freed: u64,
    /// The directories that a live job uses, which stay.
    pub in_use: Vec<PathBuf>,
}

/// Removes builds, remains of interrupted builds, and repositories of ours
/// that no build needs; never what a live job uses.
///
/// # Errors
///
/// [`LocalError::Io`] where something can't be read or removed. What was
/// removed before stays removed.
pub fn clean(state_dir: &Path, options: CleanOptions) -> Result<CleanReport, LocalError> {
    let state = Workspace::open(state_dir)?;
    let mut report = state.shrink(options.keep)?;
    // Taken before looking at the builds: none is begun from here on.
    let nobody_builds = files::try_lock(&state.making(), Mode::Alone)?;
    let mut needed = Vec::new();
    for key in names(&state.state.join("builds"))? {
        let place = state.place(&key);
        if let Some(marker) = place.marker()? {
            needed.extend(marker.repositories);
            continue;
        }
        match files::try_lock(&place.lock, Mode::Alone)? {
            None => report.in_use.push(place.directory),
            Some(_alone) => report.take(&place.directory)?,
        }
    }
    if nobody_builds.is_none() {
        return Ok(report);
    }
    for name in names(&state.state.join("repositories"))? {
        let borrowed = Borrowed::at(state.state.join("repositories").join(name));
        if needed.contains(&borrowed.path) {
            continue;
        }
        match files::try_lock(&borrowed.lock, Mode::Alone)? {
            None => report.in_use.push(borrowed.path),
            Some(_alone) => report.take(&borrowed.path)?,
        }
    }
    Ok(report)
}

impl CleanReport {
    fn take(&mut self, path: &Path) -> Result<(), LocalError> {
        let bytes = size(path)?;
        files::remove(path)?;
        self.freed += bytes;
        self.removed.push(path.into());
        Ok(())
    }
}

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
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::LocalError;
use crate::git::repository::{self, Repository};
use crate::process::files::{self, Locked, Mode};
use crate::run::job_remarks::Remark;
use crate::run::profiler;
use pinpoint_state::create_state_dir;

/// Written when a build is complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// Our repositories of the work tree, and of those inside it.
    repositories: BTreeSet<PathBuf>,
    /// Bytes on disk.
    size: u64,
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

/// The state directory.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    state: PathBuf,
}

/// The place of one build.
#[derive(Debug, Clone)]
pub(crate) struct BuildDir {
    pub(crate) path: PathBuf,
    pub(crate) tree: PathBuf,
    marker: PathBuf,
    lock: PathBuf,
}

impl Workspace {
    pub(crate) fn open(state: &Path) -> Result<Self, LocalError> {
        create_state_dir(state).map_err(LocalError::io("create", state))?;
        for name in ["repositories", "builds", "locks"] {
            files::create_dir(&state.join(name))?;
        }
        // Work trees are named to git, which runs elsewhere.
        let state = state
            .canonicalize()
            .map_err(LocalError::io("read", state))?;
        if state.to_str().is_none() {
            return Err(LocalError::StateDirNotUnicode { path: state });
        }
        Ok(Self { state })
    }

    pub(crate) fn state_dir(&self) -> &Path {
        &self.state
    }

    /// The directory of a build; `further` ones are for builds whose earlier places can't be used.
    /// All have names of the same length: a path may affect a measurement.
    pub(crate) fn build_dir(&self, key: &str, further: u32) -> BuildDir {
        if further == 0 {
            return self.build_dir_named(key);
        }
        let name = Sha256::digest(format!("{key} {further}"));
        self.build_dir_named(&hex::encode(name))
    }

    fn build_dir_named(&self, name: &str) -> BuildDir {
        let directory = self.state.join("builds").join(name);
        BuildDir {
            tree: directory.join("tree"),
            marker: directory.join("finished.json"),
            lock: self.state.join("locks").join(name),
            path: directory,
        }
    }

    /// Our own repositories.
    pub(crate) fn repositories(&self) -> PathBuf {
        self.state.join("repositories")
    }

    /// Mirrors of repositories that are named by URL.
    pub(crate) fn mirrors(&self) -> PathBuf {
        self.state.join("mirrors")
    }

    /// Keeps [`clean`] from removing repositories until it is dropped. The repositories that a
    /// build needs are not known before it is finished.
    pub(crate) async fn keep_repositories(&self) -> Result<Locked, LocalError> {
        files::lock(&self.making(), Mode::Shared).await
    }

    /// Held shared by all processes that make builds.
    fn making(&self) -> PathBuf {
        self.state.join("locks/making")
    }

    /// Our repository that borrows the objects of the user's, created if missing. Its lock is held
    /// while the list of work trees changes: git does not expect several of its processes to change
    /// it at once.
    pub(crate) async fn borrow_objects(
        &self,
        repository: &Repository,
    ) -> Result<(Borrowed, Locked), LocalError> {
        // The number is raised when their layout changes.
        let mut name = Sha256::new_with_prefix("2 ");
        name.update(repository.path().as_os_str().as_encoded_bytes());
        let name = hex::encode(name.finalize());
        let borrowed = Borrowed::at(self.state.join("repositories").join(name));
        let alone = files::lock(&borrowed.lock, Mode::Alone).await?;
        let alternates = borrowed.path.join("objects/info/alternates");
        let mut line = repository.objects().into_os_string();
        line.push("\n");
        // Written last, and git finds no repository without the others, which a cleanup
        // tool may remove.
        if fs::read(&alternates).is_ok_and(|found| found == line.as_encoded_bytes())
            && ["HEAD", "config", "objects", "refs"]
                .iter()
                .all(|name| borrowed.path.join(name).exists())
        {
            return Ok((borrowed, alone));
        }
        // It stays: work trees belong to it.
        let format = format!("--object-format={}", repository.object_format());
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
        // As in our own checkouts: files of Git LFS stay pointers, and `git status` in a build does
        // not fail where its filter is required and not installed.
        for (name, value) in [("process", ""), ("smudge", ""), ("required", "false")] {
            let name = format!("filter.lfs.{name}");
            let arguments = ["config", &name, value];
            let output = repository::run(repository::git_at(&borrowed.path).args(arguments))?;
            if !output.status.success() {
                check_room(&self.state)?;
                return Err(repository::failed(&arguments, &borrowed.path, &output).into());
            }
        }
        files::create_dir(&borrowed.path.join("objects/info"))?;
        let unfinished = alternates.with_extension("new");
        fs::write(&unfinished, line.as_encoded_bytes())
            .and_then(|()| fs::rename(&unfinished, &alternates))
            .map_err(LocalError::io("write", &alternates))?;
        Ok((borrowed, alone))
    }

    /// Removes builds that are not in use, those not used for the longest time first, until the
    /// rest occupy no more than `keep` bytes.
    pub(crate) fn shrink(&self, keep: u64) -> Result<CleanReport, LocalError> {
        let mut builds = Vec::new();
        for name in names(&self.state.join("builds"))? {
            let place = self.build_dir_named(&name);
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
                report.in_use.push(place.path);
                continue;
            };
            // A failure to remove one, as when another user wrote it, does not stop the rest.
            if let Err(error) = place.remove() {
                report.fail(place.path, &error);
                continue;
            }
            for repository in marker.repositories {
                let borrowed = Borrowed::at(repository);
                if let Err(error) = forget_trees(&borrowed) {
                    report.fail(borrowed.path, &error);
                }
            }
            occupied -= marker.size;
            report.freed += marker.size;
            report.removed.push(place.path);
        }
        Ok(report)
    }
}

impl Workspace {
    /// Removes the mirrors that no process reads and none of our repositories borrows from, and
    /// remains of clones.
    fn clean_mirrors(&self, report: &mut CleanReport) -> Result<(), LocalError> {
        let mut lenders = Vec::new();
        for name in names(&self.repositories())? {
            let borrowed = Borrowed::at(self.repositories().join(name));
            lenders.extend(fs::read(borrowed.path.join("objects/info/alternates")));
        }
        for name in names(&self.mirrors())? {
            let path = self.mirrors().join(name);
            let objects = format!("{}\n", path.join("objects").display());
            if lenders.iter().any(|lender| lender == objects.as_bytes()) {
                continue;
            }
            match files::try_lock(&path.with_extension("used"), Mode::Alone)? {
                None => report.in_use.push(path),
                Some(_alone) => report.take(path),
            }
        }
        for end in ["new", "damaged"] {
            for name in names_before(&self.mirrors(), &format!(".{end}"))? {
                let path = self.mirrors().join(name);
                if let Some(_alone) = files::try_lock(&path.with_extension("lock"), Mode::Alone)? {
                    report.take(path.with_extension(end));
                }
            }
        }
        for end in ["lock", "used"] {
            for name in names_before(&self.mirrors(), &format!(".{end}"))? {
                let path = self.mirrors().join(name);
                forget_lock(&path.with_extension(end), &path)?;
            }
        }
        Ok(())
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
        files::try_lock(&self.lock, Mode::Alone)
    }

    pub(crate) fn marker(&self) -> Result<Option<Marker>, LocalError> {
        match files::read_json(&self.marker) {
            // A marker that can't be read does not count: the build is remade.
            Err(LocalError::Damaged { .. }) => Ok(None),
            Err(LocalError::Io { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::NotADirectory
                        | io::ErrorKind::IsADirectory
                        | io::ErrorKind::PermissionDenied
                ) =>
            {
                Ok(None)
            }
            other => other,
        }
    }

    fn last_used(&self) -> Result<SystemTime, LocalError> {
        match fs::metadata(&self.marker).and_then(|metadata| metadata.modified()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SystemTime::UNIX_EPOCH),
            other => other.map_err(LocalError::io("read", &self.marker)),
        }
    }

    /// Creates the directory of a missing build.
    pub(crate) fn create(&self) -> Result<(), LocalError> {
        files::create_dir(&self.path)
    }

    /// Removes the build; the marker goes first, so that no partial build passes for complete.
    pub(crate) fn remove(&self) -> Result<(), LocalError> {
        if self.marker()?.is_some() {
            files::remove(&self.marker)?;
        }
        files::remove(&self.path)
    }

    /// The file with the inputs of a traced build.
    pub(crate) fn traced(&self) -> PathBuf {
        self.path.join("traced.json")
    }

    /// Makes the next user of the build make it again.
    pub(crate) fn discard(&self) -> Result<(), LocalError> {
        files::remove(&self.marker)
    }

    /// Marks the build as complete.
    pub(crate) fn finish(&self, made: LaidOut, began: Instant) -> Result<(), LocalError> {
        let size = size(&self.path)?;
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
        files::write_json(&self.marker, &marker)
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

/// Our bare repository, with the user's objects.
#[derive(Debug, Clone)]
pub(crate) struct Borrowed {
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

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the user's tags those of this repository, so that `git describe`
    /// answers in work trees. It has no branches. Only for the holder of its lock.
    pub(crate) fn take_tags(&self, users: &Repository) -> Result<(), LocalError> {
        let mut packed = b"# pack-refs with: sorted \n".to_vec();
        packed.extend(users.tags()?);
        replace(&self.path.join("packed-refs"), Some(packed))?;
        // In a shallow clone, the tree's history is shallow, too.
        let shallow = users.common_dir().join("shallow");
        let ends = match fs::read(&shallow) {
            Ok(ends) => Some(ends),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LocalError::io("read", &shallow)(error)),
        };
        replace(&self.path.join("shallow"), ends)
    }

    /// The command that registers a work tree, still empty. Forced, since the
    /// remains of an earlier one may be registered at this place.
    pub(crate) fn add_tree(&self, tree: &Path, hash: &str) -> Command {
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
pub(crate) fn fill_tree(tree: &Path) -> Command {
    let mut command = repository::git(tree);
    command.args(["reset", "--quiet", "--hard"]);
    command
}

/// The command that applies a patch.
pub(crate) fn apply_patch(tree: &Path, patch: &Path) -> Command {
    let mut command = repository::git(tree);
    command.args(["apply", "--whitespace=nowarn"]).arg(patch);
    command
}

/// Gives a file this content, or removes it; a correct file stays untouched.
fn replace(path: &Path, content: Option<Vec<u8>>) -> Result<(), LocalError> {
    let Some(content) = content else {
        return files::remove(path);
    };
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    let unfinished = path.with_extension("new");
    fs::write(&unfinished, content)
        .and_then(|()| fs::rename(&unfinished, path))
        .map_err(LocalError::io("write", path))
}

/// Removes missing trees from the list of one of our repositories.
fn forget_trees(borrowed: &Borrowed) -> Result<(), LocalError> {
    // Only cleanup: the holder of the lock does the same at the next removal.
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

/// Distinguishes a full disk from other failures.
///
/// A program that fails for lack of space says so in its own words, if at all; the one sure sign is
/// that we can't write either.
pub(crate) fn check_room(directory: &Path) -> Result<(), LocalError> {
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
        // Other trouble is reported where it occurs.
        _ => Ok(()),
    }
}

fn names(directory: &Path) -> Result<Vec<String>, LocalError> {
    names_before(directory, "")
}

/// Our names with this ending.
fn names_before(directory: &Path, end: &str) -> Result<Vec<String>, LocalError> {
    let unreadable = |error| LocalError::io("read", directory)(error);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        // Ours are SHA-256 in hexadecimal digits; other names are not ours.
        let name = entry.map_err(unreadable)?.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(end));
        names.extend(name.map(str::to_owned).filter(|name| {
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
    /// The unit of `st_blocks`, independent of the file system's blocks.
    const BLOCK: u64 = 512;
    let top = fs::symlink_metadata(directory).map_err(LocalError::io("read", directory))?;
    if !top.is_dir() {
        return Ok(top.blocks() * BLOCK);
    }
    let mut bytes = 0;
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let unreadable = |error| LocalError::io("read", &directory)(error);
        for entry in fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            // The metadata of a link itself.
            let metadata = match entry.metadata() {
                // A process that the build left running may be cleaning up.
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

/// The builds that [`clean`] keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanOptions {
    /// Bytes of finished builds that may stay, the most recently used; none by
    /// default.
    pub keep: u64,
}

/// The outcome of [`clean`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanReport {
    /// The removed directories.
    pub removed: Vec<PathBuf>,
    /// The bytes they occupied.
    pub freed: u64,
    /// The directories that a live job uses, which stay.
    pub in_use: Vec<PathBuf>,
    /// The directories that could not be removed, with the reasons.
    pub failed: Vec<(PathBuf, String)>,
}

/// Removes builds, remains of interrupted builds, our repositories that no build needs, the locks
/// of all these, and the profiles of jobs; never anything that a live job uses.
///
/// # Errors
///
/// [`LocalError::Io`] when the state directory can't be read. Directories that can't be removed are
/// in the report.
pub fn clean(state_dir: &Path, options: CleanOptions) -> Result<CleanReport, LocalError> {
    let state = Workspace::open(state_dir)?;
    let mut report = state.shrink(options.keep)?;
    // Taken before looking at the builds: none is started from here on.
    let nobody_builds = files::try_lock(&state.making(), Mode::Alone)?;
    profiler::clean(&state.state.join("jobs"), &mut report)?;
    let mut needed = Vec::new();
    for key in names(&state.state.join("builds"))? {
        let place = state.build_dir_named(&key);
        if let Some(marker) = place.marker()? {
            needed.extend(marker.repositories);
            continue;
        }
        match files::try_lock(&place.lock, Mode::Alone)? {
            None => report.in_use.push(place.path),
            Some(_alone) => report.take(place.path),
        }
    }
    for name in names(&state.state.join("locks"))? {
        let place = state.build_dir_named(&name);
        forget_lock(&place.lock, &place.path)?;
    }
    if nobody_builds.is_none() {
        return Ok(report);
    }
    let repositories = state.state.join("repositories");
    for name in names(&repositories)? {
        let borrowed = Borrowed::at(repositories.join(name));
        if needed.contains(&borrowed.path) {
            continue;
        }
        match files::try_lock(&borrowed.lock, Mode::Alone)? {
            None => report.in_use.push(borrowed.path),
            Some(_alone) => report.take(borrowed.path),
        }
    }
    for name in names_before(&repositories, ".lock")? {
        let borrowed = Borrowed::at(repositories.join(name));
        forget_lock(&borrowed.lock, &borrowed.path)?;
    }
    if state.mirrors().is_dir() {
        state.clean_mirrors(&mut report)?;
    }
    Ok(report)
}

/// Removes the lock file of something that no longer exists.
fn forget_lock(lock: &Path, locked: &Path) -> Result<(), LocalError> {
    if locked.exists() {
        return Ok(());
    }
    match files::try_lock(lock, Mode::Alone)? {
        // It was made again in the meantime.
        Some(_alone) if locked.exists() => Ok(()),
        Some(_alone) => files::remove(lock),
        None => Ok(()),
    }
}

impl CleanReport {
    pub(crate) fn take(&mut self, path: PathBuf) {
        let taken = size(&path).and_then(|bytes| files::remove(&path).map(|()| bytes));
        match taken {
            Ok(bytes) => {
                self.freed += bytes;
                self.removed.push(path);
            }
            Err(error) => self.fail(path, &error),
        }
    }

    fn fail(&mut self, path: PathBuf, error: &LocalError) {
        let reason = match error {
            // The advice is given where a job encounters it.
            LocalError::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        self.failed.push((path, reason));
    }
}

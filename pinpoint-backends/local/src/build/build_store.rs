//! Builds that other machines made: a directory that all of them reach.
//!
//! | path | holds |
//! | --- | --- |
//! | `builds/<key>` | the list of a build's files: [`BuildManifest`] |
//! | `blobs/<2 digits>/<sha256>` | a file |
//! | `unfinished/` | files being written |
//! | `swept` | nothing; its age is that of the last search for files in no list |
//!
//! The key is made of all that decides a build and of the system (see `build.rs`). Of a build, the
//! files are stored that the build command made or changed; those of the checkout are the same
//! everywhere. Git's own files are left out.
//!
//! Everything is written under another name and moved in place, so half of it is never seen, and no
//! lock is needed: it works on network file systems, too. Files are checked when they arrive,
//! before one of them is put in place. A build that is damaged is made again, and stored again.
//!
//! A build whose files name its directory can be used only in that directory: by machines with the
//! same state directory.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use memchr::memmem;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::build::build_manifest::{BuildManifest, BuildManifestError, Entry};
use crate::error::LocalError;
use crate::process::files;
use crate::trace::BuildSnapshot;

/// Lists longer than that of a build with some 500,000 files are not read.
const LARGEST_MANIFEST: u64 = 128 << 20;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// A directory in which machines keep builds for each other.
#[derive(Debug, Clone)]
pub struct BuildStore {
    pub(super) root: PathBuf,
    pub(super) most: u64,
}

/// The outcome of looking for a build.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BuildLookup {
    /// The build is in its place.
    Whole,
    /// No build could be used here.
    Nothing,
    /// A build was found damaged, for this reason, and dropped. Part of it may be in place.
    Damaged(String),
    /// A build exists, but can't be read now for this reason.
    Unreadable(String),
}

/// The reason why a build of the store can't be used.
enum UnusableBuild {
    Damaged(String),
    Unreadable(String),
}

impl UnusableBuild {
    /// Names the file of the build that has the problem.
    fn in_file(self, file: &str) -> Self {
        match self {
            Self::Damaged(reason) => Self::Damaged(format!("{file}: {reason}")),
            Self::Unreadable(reason) => Self::Unreadable(format!("{file}: {reason}")),
        }
    }
}

impl From<io::Error> for UnusableBuild {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // A missing file, or something else in its place.
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// The reason why a build was not stored; the build itself is fine.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStored {
    #[error("`{0}` is neither a file, a directory nor a link, or has a name that is not UTF-8")]
    Unfit(String),
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    #[error("it has too many files")]
    TooManyFiles,
    #[error("{0}")]
    Manifest(#[from] BuildManifestError),
    #[error("`{0}` changed while it was stored")]
    Changed(String),
    #[error("{path}: {source}", path = .path.display())]
    Io { source: io::Error, path: PathBuf },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> NotStored {
    move |source| NotStored::Io {
        source,
        path: path.into(),
    }
}

impl BuildStore {
    /// The store in a directory, created if missing. Builds in it may have `most` bytes together;
    /// the ones that were not used for the longest time are removed.
    ///
    /// # Errors
    ///
    /// When it can't be created.
    pub fn open(root: &Path, most: u64) -> Result<Self, LocalError> {
        for name in ["builds", "blobs", "unfinished"] {
            files::create_dir(&root.join(name))?;
        }
        let root = root.canonicalize().map_err(LocalError::io("read", root))?;
        Ok(Self { root, most })
    }

    fn manifest(&self, key: &str) -> PathBuf {
        self.root.join("builds").join(key)
    }

    fn blob(&self, sha256: &str) -> PathBuf {
        self.root.join("blobs").join(&sha256[..2]).join(sha256)
    }

    /// Puts a build in its place, the build directory that holds the checkout.
    pub(crate) fn take(&self, key: &str, directory: &Path) -> Result<BuildLookup, LocalError> {
        let path = self.manifest(key);
        let manifest = match read_manifest(&path, key) {
            Ok(Some(manifest)) => manifest,
            Ok(None) => return Ok(BuildLookup::Nothing),
            Err(unfit) => return Ok(drop_if_damaged(&path, unfit)),
        };
        let is_elsewhere = |it: &String| Path::new(it) != directory;
        if manifest.directory.as_ref().is_some_and(is_elsewhere) || manifest.size() > self.most {
            return Ok(BuildLookup::Nothing);
        }
        let arriving = directory.join("arriving");
        files::remove(&arriving)?;
        files::create_dir(&arriving)?;
        let mut arrived = BTreeMap::new();
        for (number, (name, size, sha256)) in (0_u64..).zip(manifest.stored()) {
            let to = arriving.join(number.to_string());
            if let Err(unfit) = self.fetch(sha256, size, &to)? {
                files::remove(&arriving)?;
                return Ok(drop_if_damaged(&path, unfit.in_file(name)));
            }
            arrived.insert(name, to);
        }
        let taken = match has_checkout(directory, &manifest) {
            true => match put_in_place(directory, &manifest, &arrived) {
                Ok(()) => {
                    // For `shrink`, if it may be written.
                    let _ = File::open(&path).and_then(|it| it.set_modified(SystemTime::now()));
                    BuildLookup::Whole
                }
                Err(error) if is_full(&error) => return Err(error),
                Err(error) => drop_if_damaged(&path, UnusableBuild::Damaged(reason_of(&error))),
            },
            false => BuildLookup::Nothing,
        };
        files::remove(&arriving)?;
        Ok(taken)
    }

    /// Copies a file, or returns the reason why it can't be used.
    fn fetch(
        &self,
        sha256: &str,
        size: u64,
        to: &Path,
    ) -> Result<Result<(), UnusableBuild>, LocalError> {
        let path = self.blob(sha256);
        let read = || {
            let from = files::open_regular(&path)?;
            let length = from.metadata()?.len();
            Ok::<_, io::Error>((from, length))
        };
        let (from, length) = match read() {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error.into())),
        };
        let damaged = |reason: String| {
            // So that it is stored anew.
            let _ = fs::remove_file(&path);
            Ok(Err(UnusableBuild::Damaged(reason)))
        };
        if length != size {
            return damaged(format!("it has {length} bytes in place of {size}"));
        }
        let mut file = files::create(to)?;
        let mut digest = Sha256::new();
        let mut from = from.take(size);
        let mut buffer = vec![0; PIECE];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => &buffer[..read],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error.into())),
            };
            digest.update(read);
            file.write_all(read).map_err(LocalError::io("write", to))?;
        }
        if hex::encode(digest.finalize()) != sha256 {
            return damaged("it is not what its digest says".into());
        }
        Ok(Ok(()))
    }

    /// Stores a build that was just made; `before` are its files before the build command
    /// ran.
    pub(crate) fn put(
        &self,
        key: &str,
        directory: &Path,
        before: &BuildSnapshot,
    ) -> Result<(), NotStored> {
        let mut manifest = BuildManifest::new(key);
        let mut open = vec!["modules".to_owned(), "tree".to_owned()];
        let name = directory.file_name().unwrap_or_default().as_bytes();
        let names_it = memmem::Finder::new(name);
        let mut is_bound = false;
        let mut left = self.most;
        while let Some(place) = open.pop() {
            let path = directory.join(&place);
            let metadata = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(at(&path))?,
            };
            if is_gits(&path) {
                continue;
            }
            let mode = metadata.permissions().mode() & 0o777;
            let entry = if metadata.is_dir() {
                for entry in fs::read_dir(&path).map_err(at(&path))? {
                    let name = entry.map_err(at(&path))?.file_name();
                    let name = name
                        .to_str()
                        .ok_or_else(|| NotStored::Unfit(place.clone()))?;
                    open.push(format!("{place}/{name}"));
                }
                Entry::Directory { mode }
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).map_err(at(&path))?;
                is_bound |= names_it.find(target.as_os_str().as_bytes()).is_some();
                let target = target
                    .to_str()
                    .ok_or_else(|| NotStored::Unfit(place.clone()))?;
                let target = target.to_owned();
                Entry::Link { target }
            } else if metadata.is_file() {
                let is_ours = before.is_unchanged(Path::new(&place), &metadata);
                let sha256 = match is_ours {
                    true => None,
                    false => {
                        left = (left.checked_sub(metadata.len()))
                            .ok_or(NotStored::TooLarge(self.most))?;
                        let (sha256, is_named) = look_at(&path, &names_it).map_err(at(&path))?;
                        is_bound |= is_named;
                        Some(sha256)
                    }
                };
                let modified = metadata.modified().map_err(at(&path))?;
                let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
                Entry::File {
                    mode,
                    size: metadata.len(),
                    modified: (modified.as_secs(), modified.subsec_nanos()),
                    sha256,
                }
            } else {
                return Err(NotStored::Unfit(place));
            };
            manifest.entries.insert(place, entry);
        }
        if is_bound {
            // State directories have names that are text.
            manifest.directory = Some(directory.to_string_lossy().into_owned());
        }
        manifest.check()?;
        let list = manifest.write()?;
        if list.len() as u64 > LARGEST_MANIFEST {
            return Err(NotStored::TooManyFiles);
        }
        for (name, size, sha256) in manifest.stored() {
            self.store(&directory.join(name), size, sha256)
                .map_err(|error| error.unwrap_or_else(|| NotStored::Changed(name.into())))?;
        }
        let path = self.manifest(key);
        let written = || {
            let mut file = self.unfinished()?;
            file.write_all(&list)?;
            file.persist(&path)?;
            Ok(())
        };
        written().map_err(at(&path))
    }

    /// Stores a file; `Err(None)` when its contents have changed.
    fn store(&self, path: &Path, size: u64, sha256: &str) -> Result<(), Option<NotStored>> {
        let blob = self.blob(sha256);
        let copy = || {
            if fs::metadata(&blob).is_ok_and(|metadata| metadata.len() == size) {
                // Still needed: see `GRACE` in `build_store_room`.
                return match File::open(&blob)?.set_modified(SystemTime::now()) {
                    // Another user stored it. It stays as long as it is in a list.
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
                    other => other.map(|()| true),
                };
            }
            if let Some(directory) = blob.parent() {
                fs::create_dir_all(directory)?;
            }
            let mut from = files::open_regular(path)?;
            let mut file = self.unfinished()?;
            let mut digest = Sha256::new();
            let mut buffer = vec![0; PIECE];
            loop {
                let read = from.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                digest.update(&buffer[..read]);
                file.write_all(&buffer[..read])?;
            }
            if hex::encode(digest.finalize()) != sha256 {
                return Ok(false);
            }
            file.persist(&blob)?;
            Ok::<_, io::Error>(true)
        };
        match copy() {
            Ok(true) => Ok(()),
            Ok(false) => Err(None),
            Err(error) => Err(Some(at(&blob)(error))),
        }
    }

    /// A file that other users may read, as far as the umask permits.
    pub(super) fn unfinished(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(self.root.join("unfinished"))
    }
}

/// The files of a build before the build command runs, once any change to them is visible; absent
/// where that wait is not possible.
///
/// File systems count time in ticks: within the same one, a file could be changed without a trace.
#[expect(
    clippy::disallowed_methods,
    reason = "on a thread that may block, for a few milliseconds"
)]
pub(crate) fn files_before(directory: &Path) -> Result<Option<BuildSnapshot>, LocalError> {
    const LOOKS: u32 = 3_000;
    let before = BuildSnapshot::from_directory(directory)?;
    let probe = directory.join("now");
    for _ in 0..LOOKS {
        drop(files::create(&probe)?);
        let now = fs::metadata(&probe).map_err(LocalError::io("read", &probe))?;
        files::remove(&probe)?;
        if before.is_earlier_than(&now) {
            return Ok(Some(before));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(None)
}

/// The list of a build, if it exists, or the reason why it can't be used.
fn read_manifest(path: &Path, key: &str) -> Result<Option<BuildManifest>, UnusableBuild> {
    let bytes = match read_list(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let damaged =
        |error| UnusableBuild::Damaged(format!("its list of files can't be used: {error}"));
    BuildManifest::read(&bytes, key).map(Some).map_err(damaged)
}

/// The bytes of a list.
pub(super) fn read_list(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = files::open_regular(path)?;
    file.take(LARGEST_MANIFEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST_MANIFEST {
        true => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is too long",
        )),
        false => Ok(bytes),
    }
}

/// Removes the list of a damaged build: it is stored again when it is made.
fn drop_if_damaged(list: &Path, unfit: UnusableBuild) -> BuildLookup {
    match unfit {
        UnusableBuild::Damaged(reason) => {
            let _ = fs::remove_file(list);
            BuildLookup::Damaged(reason)
        }
        UnusableBuild::Unreadable(reason) => BuildLookup::Unreadable(reason),
    }
}

/// Checks whether the machine lacks space.
fn is_full(error: &LocalError) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error, LocalError::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
}

/// The reason without advice for this machine.
fn reason_of(error: &LocalError) -> String {
    match error {
        LocalError::Io {
            action,
            path,
            source,
        } => format!("can't {action} {}: {source}", path.display()),
        other => other.to_string(),
    }
}

/// Checks whether the path belongs to git, and so is not stored.
fn is_gits(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".git")
}

/// Checks that every file that the build has from its checkout exists.
fn has_checkout(directory: &Path, manifest: &BuildManifest) -> bool {
    manifest.entries.iter().all(|(place, entry)| match entry {
        Entry::File {
            size, sha256: None, ..
        } => {
            let metadata = fs::symlink_metadata(directory.join(place));
            metadata.is_ok_and(|found| found.is_file() && found.len() == *size)
        }
        _ => true,
    })
}

/// Makes the directory of a build match its list. The list was checked: each entry is after the
/// directory that holds it, and none is below a link.
fn put_in_place(
    directory: &Path,
    manifest: &BuildManifest,
    arrived: &BTreeMap<&str, PathBuf>,
) -> Result<(), LocalError> {
    remove_others(directory, manifest)?;
    for (place, entry) in &manifest.entries {
        let path = directory.join(place);
        let written = || match entry {
            Entry::Directory { .. } if path.is_dir() => Ok(()),
            Entry::Directory { .. } => fs::create_dir(&path),
            Entry::Link { target } => {
                if fs::read_link(&path).is_ok_and(|found| found == Path::new(target)) {
                    return Ok(());
                }
                // It is a link elsewhere, or missing.
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                symlink(target, &path)
            }
            Entry::File { mode, modified, .. } => {
                let new = arrived.get(place.as_str());
                let file = new.unwrap_or(&path);
                let modified = UNIX_EPOCH.checked_add(Duration::new(modified.0, modified.1));
                let modified = modified.ok_or(io::ErrorKind::InvalidInput)?;
                File::open(file)?.set_modified(modified)?;
                fs::set_permissions(file, Permissions::from_mode(*mode))?;
                match new {
                    Some(new) => fs::rename(new, &path),
                    None => Ok(()),
                }
            }
        };
        written().map_err(LocalError::io("write", &path))?;
    }
    // Those that are write-protected come last.
    for (place, entry) in manifest.entries.iter().rev() {
        if let Entry::Directory { mode } = entry {
            let path = directory.join(place);
            fs::set_permissions(&path, Permissions::from_mode(*mode))
                .map_err(LocalError::io("write", &path))?;
        }
    }
    Ok(())
}

/// Removes everything that differs from the list, except git's files.
fn remove_others(directory: &Path, manifest: &BuildManifest) -> Result<(), LocalError> {
    let mut open = vec!["modules".to_owned(), "tree".to_owned()];
    while let Some(place) = open.pop() {
        let path = directory.join(&place);
        let unreadable = |error| LocalError::io("read", &path)(error);
        let metadata = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(unreadable)?,
        };
        if is_gits(&path) {
            continue;
        }
        let is_same = match manifest.entries.get(&place) {
            Some(Entry::Directory { .. }) => metadata.is_dir(),
            Some(Entry::File { .. }) => metadata.is_file(),
            Some(Entry::Link { .. }) => metadata.is_symlink(),
            None => false,
        };
        if !is_same {
            files::remove(&path)?;
        } else if metadata.is_dir() {
            for entry in fs::read_dir(&path).map_err(unreadable)? {
                let name = entry.map_err(unreadable)?.file_name();
                match name.to_str() {
                    Some(name) => open.push(format!("{place}/{name}")),
                    None => files::remove(&path.join(name))?,
                }
            }
        }
    }
    Ok(())
}

/// The SHA-256 of a file, and true if it contains a name.
fn look_at(path: &Path, name: &memmem::Finder<'_>) -> io::Result<(String, bool)> {
    let mut file = files::open_regular(path)?;
    let mut digest = Sha256::new();
    let mut is_in = false;
    // The end of the last piece, in which the name may have begun, is before the next.
    let mut kept = Vec::new();
    loop {
        let before = kept.len();
        (&mut file).take(PIECE as u64).read_to_end(&mut kept)?;
        if kept.len() == before {
            return Ok((hex::encode(digest.finalize()), is_in));
        }
        digest.update(&kept[before..]);
        is_in |= name.find(&kept).is_some();
        let end = kept.len().saturating_sub(name.needle().len());
        kept.drain(..end);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use super::*;
    use crate::build::build_store_room::entries;

    /// Makes this thread run as a user who owns nothing here, where permitted.
    #[expect(unsafe_code, reason = "the standard library has no such call")]
    fn becomes_another_user() -> bool {
        const NOBODY: libc::uid_t = 65_534;
        let change = || {
            // SAFETY: no memory is involved, and it counts for this thread alone.
            unsafe { libc::setfsuid(NOBODY) }
        };
        change();
        // It returns the previous user, whether it succeeds or not.
        u32::try_from(change()) == Ok(NOBODY)
    }

    #[test]
    fn a_file_that_another_user_stored_is_shared() {
        let root = tempfile::tempdir().unwrap();
        let store = BuildStore::open(&root.path().join("store"), u64::MAX).unwrap();
        let build = root.path().join("build");
        fs::create_dir_all(build.join("tree")).unwrap();
        let before = BuildSnapshot::from_directory(&build).unwrap();
        fs::write(build.join("tree/program"), "program").unwrap();
        store.put("one", &build, &before).unwrap();
        let mut open = vec![root.path().to_owned()];
        while let Some(directory) = open.pop() {
            fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
            open.extend(
                entries(&directory)
                    .unwrap()
                    .into_iter()
                    .filter(|it| it.is_dir()),
            );
        }
        let put = || becomes_another_user().then(|| store.put("other", &build, &before));
        let put = thread::scope(|scope| scope.spawn(put).join().unwrap());
        let Some(put) = put else {
            println!("skipped: nobody but root can act as another user");
            return;
        };
        put.unwrap();
        let taken = root.path().join("taken");
        fs::create_dir_all(taken.join("tree")).unwrap();
        assert_eq!(store.take("other", &taken).unwrap(), BuildLookup::Whole);
        assert_eq!(fs::read(taken.join("tree/program")).unwrap(), b"program");
    }
}

//! Files and directories: small files written whole or not at all, files of lines that grow, locks,
//! and space on disk.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The waits between tries of a lock: the first, and the longest.
const FIRST_LOOK: Duration = Duration::from_micros(500);
const LAST_LOOK: Duration = Duration::from_millis(10);

/// One of our files or directories can't be used.
#[derive(Debug)]
pub(crate) enum FileError {
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// It has unexpected contents.
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
}

impl FileError {
    /// Names the path in an error of the operating system.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.into(),
            source,
        }
    }
}

pub(crate) fn create_dir(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(FileError::io("create", path))
}

/// Opens a file that may or may not exist, without changing it.
pub(crate) fn open_or_create(path: &Path) -> Result<File, FileError> {
    try_open_or_create(path).map_err(FileError::io("open", path))
}

/// Like [`open_or_create`], without a name for the failure.
pub(crate) fn try_open_or_create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Opens a file made by others, to read it. Anything but a regular file is an error: opening a pipe
/// can block forever.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

/// Creates a file without a name, which is gone once it is closed everywhere.
pub(crate) fn create_unnamed(directory: &Path) -> Result<File, FileError> {
    tempfile::tempfile_in(directory).map_err(FileError::io("create a file in", directory))
}

/// The end of a file that may be long: at most a screenful. Other readers' and writers' positions
/// do not change.
pub(crate) fn tail(file: &File) -> io::Result<String> {
    tail_after(file, 0)
}

/// Like [`tail`], of what follows this many bytes.
pub(crate) fn tail_after(file: &File, before: u64) -> io::Result<String> {
    const BYTES: u64 = 2000;
    let start = file.metadata()?.len().saturating_sub(BYTES).max(before);
    let bytes = read_at(file, start, BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// Reads at most this many bytes of a file. Other readers' and writers' positions do not change.
pub(crate) fn read_at(file: &File, start: u64, most: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().saturating_sub(start).min(most);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], start + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Copies the beginning and the end of a file, this much of each; a line notes how much
/// is left out.
pub(crate) fn copy_ends(from: &File, to: &Path, each: u64) -> io::Result<()> {
    let length = from.metadata()?.len();
    let mut copy = File::create(to)?;
    if length <= 2 * each {
        return copy.write_all(&read_at(from, 0, length)?);
    }
    copy.write_all(&read_at(from, 0, each)?)?;
    let left_out = length - 2 * each;
    write!(copy, "\n[{left_out} bytes are left out here]\n")?;
    copy.write_all(&read_at(from, length - each, each)?)
}

pub(crate) fn create(path: &Path) -> Result<File, FileError> {
    File::create(path).map_err(FileError::io("create", path))
}

/// Removes a file or a whole directory, which need not exist.
pub(crate) fn remove(path: &Path) -> Result<(), FileError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => match fs::remove_dir_all(path) {
            // Some builds write-protect what they fetch, such as Go's modules.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                make_writable(path).and_then(|()| fs::remove_dir_all(path))
            }
            other => other,
        },
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn make_writable(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes the directories in a place whose names begin with a prefix, left by a process that was
/// killed. Only where no other process makes any.
pub(crate) fn remove_left(place: &Path, prefix: &str) -> Result<(), FileError> {
    let unreadable = |error| FileError::io("read", place)(error);
    for entry in fs::read_dir(place).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(prefix.as_bytes()) {
            // Files still being written there are removed the next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Writes a file under another name and moves it in place, so that half of it
/// is never seen, even if this process is killed.
///
/// It is not forced to the disk: that takes milliseconds, and the build that it describes
/// is not either.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), FileError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    let unfinished = PathBuf::from(unfinished);
    let write = || {
        fs::write(&unfinished, serde_json::to_vec(value)?)?;
        fs::rename(&unfinished, path)
    };
    write().map_err(FileError::io("write", path))
}

/// Reads one of our files; `None` if it does not exist.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::io("read", path)(error)),
    };
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok(Some(value)),
        Err(source) => Err(FileError::Damaged {
            path: path.into(),
            source,
        }),
    }
}

/// A value as one more line of a file. The line break comes first, so that it ends a line that a
/// kill cut off.
pub(crate) fn json_line<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut line = vec![b'\n'];
    serde_json::to_writer(&mut line, value)?;
    Ok(line)
}

/// Appends a value to a file of such lines, which is created if missing.
pub(crate) fn append_json_line<T: Serialize>(path: &Path, value: &T) -> Result<(), FileError> {
    let write = || {
        let line = json_line(value)?;
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(&line)
    };
    write().map_err(FileError::io("write", path))
}

/// The values of a file of such lines, in order, without the lines that were cut off; empty if the
/// file does not exist.
pub(crate) fn read_json_lines<T, C>(path: &Path) -> Result<C, FileError>
where
    T: DeserializeOwned,
    C: FromIterator<T>,
{
    let content = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other.map_err(FileError::io("read", path))?,
    };
    let lines = content.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}

/// An open file whose lock ends with this value.
#[derive(Debug)]
pub(crate) struct Locked(File);

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Shared,
    Alone,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // A child that is just being started holds a copy of the file until it
        // has become another program, so closing alone may come too late.
        // Should unlocking fail, closing still does it.
        let _ = self.0.unlock();
    }
}

impl Locked {
    /// Checks that it is still the file at the path. The only holder of a lock may remove its file;
    /// a lock on a removed file protects nothing.
    fn is_at(&self, path: &Path) -> Result<bool, FileError> {
        let same = || {
            let held = self.0.metadata()?;
            match fs::metadata(path) {
                Ok(now) => Ok((now.dev(), now.ino()) == (held.dev(), held.ino())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            }
        };
        same().map_err(FileError::io("lock", path))
    }
}

/// Takes a lock if it is free.
pub(crate) fn try_lock(path: &Path, mode: Mode) -> Result<Option<Locked>, FileError> {
    loop {
        let locked = try_lock_file(open_or_create(path)?, mode);
        let Ok(locked) = locked.map_err(FileError::io("lock", path))? else {
            return Ok(None);
        };
        if locked.is_at(path)? {
            return Ok(Some(locked));
        }
    }
}

/// Takes a lock, waiting for it without blocking the runtime.
///
/// A free one takes a few microseconds. No blocking call for a file lock can be abandoned, so it
/// polls.
pub(crate) async fn lock(path: &Path, mode: Mode) -> Result<Locked, FileError> {
    let mut file = open_or_create(path)?;
    let mut wait = FIRST_LOOK;
    loop {
        match try_lock_file(file, mode).map_err(FileError::io("lock", path))? {
            Ok(locked) if locked.is_at(path)? => return Ok(locked),
            Ok(_removed) => {
                file = open_or_create(path)?;
                continue;
            }
            Err(unlocked) => file = unlocked,
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LAST_LOOK);
    }
}

fn try_lock_file(file: File, mode: Mode) -> io::Result<Result<Locked, File>> {
    let locked = match mode {
        Mode::Shared => file.try_lock_shared(),
        Mode::Alone => file.try_lock(),
    };
    match locked {
        Ok(()) => Ok(Ok(Locked(file))),
        Err(TryLockError::WouldBlock) => Ok(Err(file)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Distinguishes a full disk from other failures.
///
/// A program that fails for lack of space says so in its own words, if at all; the one sure sign is
/// that we can't write either.
pub(crate) fn check_room(directory: &Path) -> Result<(), FileError> {
    /// Enough to need fresh blocks on any file system.
    const BYTES: usize = 1 << 20;
    let path = directory.join(format!(".pinpoint-room-{}", std::process::id()));
    let written = fs::write(&path, vec![1; BYTES]);
    remove(&path)?;
    match written {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ) =>
        {
            Err(FileError::io("write to", directory)(error))
        }
        // Other trouble is reported where it occurs.
        _ => Ok(()),
    }
}

/// Bytes on disk of a directory and everything in it.
pub(crate) fn size_on_disk(directory: &Path) -> Result<u64, FileError> {
    /// The unit of `st_blocks`, independent of the file system's blocks.
    const BLOCK: u64 = 512;
    let top = fs::symlink_metadata(directory).map_err(FileError::io("read", directory))?;
    if !top.is_dir() {
        return Ok(top.blocks() * BLOCK);
    }
    let mut bytes = 0;
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let unreadable = |error| FileError::io("read", &directory)(error);
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

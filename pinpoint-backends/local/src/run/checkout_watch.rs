//! The tracked files of the user's checkout that are opened during a run.
//!
//! The kernel reports each file that is opened in a watched directory: inotify(7), which needs no
//! privileges and no tracer, and has no measurable cost for the process that opens a file. It does
//! not report who opened it; the caller looks twice.
//!
//! It misses files whose size or time alone is read, and directories beyond [`MOST_DIRECTORIES`] or
//! beyond what the system allows to be watched, the deepest first. Outside of Linux it reports
//! nothing.

#![cfg_attr(
    target_os = "linux",
    expect(
        unsafe_code,
        reason = "these calls are in no safe interface of the standard library"
    )
)]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::git_command;

/// The most directories that are watched: each keeps about a kilobyte of the kernel's
/// memory.
const MOST_DIRECTORIES: usize = 10_000;

/// The directory for Python's compiled forms of the files next to it.
const COMPILED: &str = "__pycache__";

/// A watch over the tracked files of some work trees.
#[derive(Debug)]
pub(crate) struct CheckoutWatch {
    notifications: File,
    directories: HashMap<i32, PathBuf>,
    tracked: HashSet<PathBuf>,
    /// Directories of which every file counts.
    libraries: HashSet<PathBuf>,
}

impl CheckoutWatch {
    /// Watches the tracked files of work trees, and all files directly in the directories
    /// `libraries`; absent where that is not possible.
    ///
    /// Cost: a list of the tracked files, and a call for each of their directories.
    pub(crate) fn open(trees: &[PathBuf], libraries: HashSet<PathBuf>) -> Option<Self> {
        let mut tracked = HashSet::new();
        let mut directories: BTreeSet<PathBuf> = libraries.iter().cloned().collect();
        for tree in trees {
            for name in tracked_files(tree) {
                let file = tree.join(name);
                if is_gits(&file) {
                    continue;
                }
                if let Some(directory) = file.parent() {
                    if file.extension() == Some(OsStr::new("py")) {
                        directories.insert(directory.join(COMPILED));
                    }
                    directories.insert(directory.to_owned());
                }
                tracked.insert(file);
            }
        }
        if tracked.is_empty() && libraries.is_empty() {
            return None;
        }
        let mut directories: Vec<PathBuf> = directories.into_iter().collect();
        directories.sort_by_key(|directory| directory.components().count());
        directories.truncate(MOST_DIRECTORIES);
        let (notifications, directories) = watch(directories)?;
        Some(Self {
            notifications,
            directories,
            tracked,
            libraries,
        })
    }

    /// The files opened since the last call, by any process. Files changed since then are left out:
    /// their user is editing them.
    pub(crate) fn opened(&mut self) -> BTreeSet<PathBuf> {
        let (mut opened, mut changed) = (BTreeSet::new(), BTreeSet::new());
        for (watch, name, is_change) in notifications(&self.notifications) {
            let Some(directory) = self.directories.get(&watch) else {
                continue;
            };
            let Some(file) = self.counts(directory, &name) else {
                continue;
            };
            if !is_change {
                opened.insert(file);
            } else if !is_compiled(directory) {
                // Python writes the compiled form when a benchmark loads it.
                changed.insert(file);
            }
        }
        opened.retain(|file| !changed.contains(file));
        opened
    }

    /// The file to report for one of this name.
    fn counts(&self, directory: &Path, name: &[u8]) -> Option<PathBuf> {
        let file = directory.join(OsStr::from_bytes(name));
        if self.tracked.contains(&file) || self.libraries.contains(directory) {
            return Some(file);
        }
        if is_compiled(directory) {
            // `name.cpython-311.pyc` is made of `name.py`.
            let end = name.iter().position(|byte| *byte == b'.')?;
            let mut source = OsStr::from_bytes(&name[..end]).to_owned();
            source.push(".py");
            let source = directory.parent()?.join(source);
            return self.tracked.contains(&source).then_some(source);
        }
        None
    }
}

fn is_compiled(directory: &Path) -> bool {
    directory.file_name() == Some(OsStr::new(COMPILED))
}

/// Checks whether git itself reads the file.
fn is_gits(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_bytes();
    name.starts_with(b".git") || name == b".mailmap"
}

/// The names of the tracked files of a work tree, and of its submodules.
fn tracked_files(tree: &Path) -> Vec<PathBuf> {
    let mut command = git_command::git(tree);
    command.args(["ls-files", "-z", "--recurse-submodules"]);
    match git_command::run(&mut command) {
        Ok(output) if output.status.success() => {
            let names = output.stdout.split(|byte| *byte == 0);
            names
                .filter(|name| !name.is_empty())
                .map(|name| PathBuf::from(OsStr::from_bytes(name)))
                .collect()
        }
        // A submodule that is damaged.
        _ => git_command::files(tree, &[]).unwrap_or_default(),
    }
}

/// An event: the watch, the name of the file, and true if it was changed.
type Notification = (i32, Vec<u8>, bool);

#[cfg(target_os = "linux")]
fn watch(directories: Vec<PathBuf>) -> Option<(File, HashMap<i32, PathBuf>)> {
    use std::ffi::CString;
    use std::os::fd::{AsRawFd, FromRawFd};

    let wanted = libc::IN_OPEN
        | libc::IN_MODIFY
        | libc::IN_CREATE
        | libc::IN_MOVED_TO
        | libc::IN_DELETE
        | libc::IN_ONLYDIR;
    // SAFETY: no memory is involved, and a number that is not negative is a descriptor
    // which nothing else owns.
    let file = unsafe {
        let number = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
        (number >= 0).then(|| File::from_raw_fd(number))?
    };
    let mut watched = HashMap::new();
    for directory in directories {
        let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else {
            continue;
        };
        // SAFETY: the path ends with a zero, and the descriptor is open.
        let watch = unsafe { libc::inotify_add_watch(file.as_raw_fd(), path.as_ptr(), wanted) };
        if watch >= 0 {
            watched.insert(watch, directory);
        } else if std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOSPC) {
            // The system allows no more.
            break;
        }
    }
    (!watched.is_empty()).then_some((file, watched))
}

#[cfg(not(target_os = "linux"))]
fn watch(_: Vec<PathBuf>) -> Option<(File, HashMap<i32, PathBuf>)> {
    None
}

/// All events reported by now. See inotify(7) for the form: four numbers, of which the last is the
/// length of the name that follows, padded with zeros.
#[cfg(target_os = "linux")]
fn notifications(mut file: &File) -> Vec<Notification> {
    use std::io::Read;

    const HEAD: usize = 16;
    let mut found = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length) = file.read(&mut buffer)
        && length > 0
    {
        let mut rest = &buffer[..length];
        while let Some(head) = rest.get(..HEAD) {
            let number = |at: usize| {
                let mut bytes = [0; 4];
                bytes.copy_from_slice(&head[at..at + 4]);
                u32::from_ne_bytes(bytes)
            };
            let (watch, what) = (number(0).cast_signed(), number(4));
            let end = HEAD + usize::try_from(number(12)).unwrap_or(usize::MAX - HEAD);
            let Some(name) = rest.get(HEAD..end) else {
                break;
            };
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            if what & libc::IN_ISDIR == 0 && !name.is_empty() {
                found.push((watch, name.to_owned(), what & libc::IN_OPEN == 0));
            }
            rest = &rest[end..];
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
fn notifications(_: &File) -> Vec<Notification> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    fn names(watch: &mut CheckoutWatch, root: &Path) -> Vec<String> {
        let opened = watch.opened().into_iter();
        opened
            .map(|file| {
                file.strip_prefix(root)
                    .expect("inside")
                    .display()
                    .to_string()
            })
            .collect()
    }

    #[test]
    fn tracked_files_that_are_opened_are_seen_and_those_that_are_changed_are_not() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let tree = root.join("tree");
        for name in ["src/__pycache__", "libraries/deep"] {
            fs::create_dir_all(tree.join(name)).unwrap();
        }
        for name in ["src/a.py", "src/b.py", "c", ".gitattributes"] {
            fs::write(tree.join(name), "1").unwrap();
        }
        let git = |arguments: &[&str]| {
            let output = git_command::run(git_command::git(&tree).args(arguments)).unwrap();
            assert!(output.status.success());
        };
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        for name in ["src/untracked", "src/__pycache__/a.cpython-311.pyc"] {
            fs::write(tree.join(name), "1").unwrap();
        }
        fs::write(tree.join("libraries/libone.so"), "1").unwrap();

        let libraries = HashSet::from([tree.join("libraries")]);
        let mut watch = CheckoutWatch::open(std::slice::from_ref(&tree), libraries).unwrap();
        assert!(names(&mut watch, &tree).is_empty());
        for name in ["src/untracked", "c", "c", ".gitattributes"] {
            fs::read(tree.join(name)).unwrap();
        }
        fs::metadata(tree.join("src/b.py")).unwrap();
        fs::read_dir(tree.join("src")).unwrap();
        assert_eq!(names(&mut watch, &tree), ["c"]);
        fs::read(tree.join("src/__pycache__/a.cpython-311.pyc")).unwrap();
        fs::read(tree.join("libraries/libone.so")).unwrap();
        assert_eq!(
            names(&mut watch, &tree),
            ["libraries/libone.so", "src/a.py"]
        );
        fs::read(tree.join("src/b.py")).unwrap();
        fs::write(tree.join("src/__pycache__/b.cpython-311.pyc"), "2").unwrap();
        assert_eq!(names(&mut watch, &tree), ["src/b.py"]);
        // As an editor does that saves a file.
        fs::read(tree.join("c")).unwrap();
        fs::write(tree.join("c"), "2").unwrap();
        assert!(names(&mut watch, &tree).is_empty());
    }
}

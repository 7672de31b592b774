//! The digest of a benchmark run's reads of a build.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::elf::Elf;
use super::reads::Reads;
#[cfg(test)]
use crate::git::git_command;
use crate::process::files::{self, FileError};

/// Kinds of files, see inode(7).
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// The files of a build before the benchmark runs in it, to tell the benchmark's own files apart.
pub(crate) struct BuildSnapshot(BTreeMap<PathBuf, Stamp>);

/// Identifies the state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    mode: u32,
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            mode: metadata.mode(),
            size: metadata.size(),
            // Set by the system at each change, and by no program.
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The part of the mode that distinguishes files, directories and links.
    fn kind(self) -> u32 {
        self.mode & 0o170_000
    }
}

impl BuildSnapshot {
    /// Walks the directory of a build.
    ///
    /// Cost: one `stat` for each of its files.
    pub(crate) fn from_directory(directory: &Path) -> Result<Self, FileError> {
        let mut found = BTreeMap::new();
        let mut open = vec![PathBuf::new()];
        while let Some(place) = open.pop() {
            let path = directory.join(&place);
            let unreadable = |error| FileError::io("read", &path)(error);
            for entry in fs::read_dir(&path).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let metadata = match entry.metadata() {
                    // A process that the build left running may be cleaning up.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    other => other.map_err(unreadable)?,
                };
                let place = place.join(entry.file_name());
                if metadata.is_dir() {
                    open.push(place.clone());
                }
                found.insert(place, Stamp::from_metadata(&metadata));
            }
        }
        Ok(Self(found))
    }

    /// Checks whether a file is unchanged.
    pub(crate) fn is_unchanged(&self, place: &Path, now: &Metadata) -> bool {
        self.0.get(place) == Some(&Stamp::from_metadata(now))
    }

    /// Checks whether all files were changed before another one was.
    pub(crate) fn is_earlier_than(&self, other: &Metadata) -> bool {
        let other = Stamp::from_metadata(other).changed;
        self.0.values().all(|stamp| stamp.changed < other)
    }

    /// The first link that was replaced or removed since.
    pub(crate) fn changed_link(&self, directory: &Path) -> Option<PathBuf> {
        let mut links = (self.0.iter()).filter(|(_, stamp)| stamp.kind() == LINK);
        let is_changed = |(place, stamp): &(&PathBuf, &Stamp)| {
            let now = fs::symlink_metadata(directory.join(place));
            !now.is_ok_and(|now| Stamp::from_metadata(&now) == **stamp)
        };
        links.find(is_changed).map(|(place, _)| place.clone())
    }

    /// A file of the build that was accessed by another name, as by a hard link or through a
    /// mounted directory.
    fn other_name(&self, directory: &Path, reads: &Reads) -> io::Result<Option<String>> {
        let device = fs::metadata(directory)?.dev();
        let files: HashMap<u64, &PathBuf> = (self.0.iter())
            .map(|(place, stamp)| (stamp.inode, place))
            .collect();
        for outside in &reads.seen {
            let Ok(found) = fs::metadata(outside) else {
                continue;
            };
            if found.dev() == device
                && let Some(place) = files.get(&found.ino())
            {
                let (outside, place) = (outside.display(), place.display());
                return Ok(Some(format!("{outside} is another name of {place}")));
            }
        }
        Ok(None)
    }

    /// The digest of all reads of a run since then, or the reason why it is missing.
    ///
    /// Cost: that of reading those files.
    pub(crate) fn digest(
        &self,
        directory: &Path,
        reads: &Reads,
    ) -> Result<Result<String, String>, FileError> {
        let other_name = self.other_name(directory, reads);
        if let Some(doubt) = other_name.map_err(FileError::io("read", directory))? {
            return Ok(Err(doubt));
        }
        let mut digest = Sha256::new_with_prefix("what a benchmark reads, 2");
        let names = self.names();
        for (place, access) in &reads.places {
            let path = directory.join(place);
            part(&mut digest, place.as_bytes());
            let Some(before) = self.0.get(Path::new(place)) else {
                part(&mut digest, b"nothing");
                continue;
            };
            part(&mut digest, &before.kind().to_le_bytes());
            if before.kind() == DIRECTORY {
                if access.listed {
                    let names = names.get(Path::new(place)).map_or(&[][..], Vec::as_slice);
                    part(&mut digest, &(names.len() as u64).to_le_bytes());
                    for (name, kind) in names {
                        part(&mut digest, name.as_bytes());
                        part(&mut digest, &kind.to_le_bytes());
                    }
                }
                continue;
            }
            let now = fs::symlink_metadata(&path);
            let is_unchanged = |now: &Metadata| Stamp::from_metadata(now) == *before;
            let must_be = access.read || before.kind() == LINK;
            if must_be && !now.is_ok_and(|now| is_unchanged(&now)) {
                return Ok(Err(format!("it changes {place}, which it may have read")));
            }
            part(&mut digest, &before.mode.to_le_bytes());
            let unreadable = |error| FileError::io("read", &path)(error);
            if before.kind() == LINK {
                let target = fs::read_link(&path).map_err(unreadable)?;
                let bytes = target.as_os_str().as_bytes();
                let content = hash(bytes, directory).map_err(unreadable)?;
                part(&mut digest, &content);
            } else if before.kind() == FILE && access.read {
                let content = match access.whole {
                    true => File::open(&path).and_then(|file| hash(file, directory)),
                    false => Ok(content(&path, directory)?),
                };
                part(&mut digest, &content.map_err(unreadable)?);
                if access.sized {
                    part(&mut digest, &before.size.to_le_bytes());
                }
            } else {
                part(&mut digest, &before.size.to_le_bytes());
            }
        }
        Ok(Ok(hex::encode(digest.finalize())))
    }

    /// The names in each directory, with their kinds.
    fn names(&self) -> BTreeMap<&Path, Vec<(OsString, u32)>> {
        let mut names: BTreeMap<&Path, Vec<_>> = BTreeMap::new();
        for (place, stamp) in &self.0 {
            if let (Some(directory), Some(name)) = (place.parent(), place.file_name()) {
                let entry = (name.to_owned(), stamp.kind());
                names.entry(directory).or_default().push(entry);
            }
        }
        names
    }
}

/// Adds a part preceded by its length, so that no two lists read alike.
fn part(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// The hash of a file; of an executable, only of its loaded part, where `objcopy` can extract that.
fn content(path: &Path, directory: &Path) -> Result<Vec<u8>, FileError> {
    let unreadable = |error| FileError::io("read", path)(error);
    let file = File::open(path).map_err(unreadable)?;
    // Data appended to an executable would be lost.
    let can_be_stripped = Elf::open(&file)
        .is_some_and(|elf| elf.is_loaded() && elf.ends_with_sections() == Some(true));
    if can_be_stripped {
        let loaded = directory.join("loaded-part");
        let found = loaded_part(path, &loaded).map(|()| File::open(&loaded));
        if let Some(Ok(found)) = found {
            let hashed = hash(found, directory).map_err(unreadable);
            files::remove(&loaded)?;
            return hashed;
        }
    }
    hash(file, directory).map_err(unreadable)
}

/// Copies the loaded part of an executable; absent where that fails.
#[expect(clippy::disallowed_methods, reason = "objcopy, which ends by itself")]
fn loaded_part(path: &Path, to: &Path) -> Option<()> {
    let mut objcopy = Command::new("objcopy");
    objcopy
        .args(["--strip-all", "--remove-section=.note.gnu.build-id"])
        .args([
            "--remove-section=.gnu_debuglink",
            "--remove-section=.comment",
        ])
        .arg(path)
        .arg(to)
        .stdin(Stdio::null());
    let output = objcopy.output().ok()?;
    // The mode of the original may forbid reading.
    fs::set_permissions(to, fs::Permissions::from_mode(0o600)).ok()?;
    output.status.success().then_some(())
}

/// The hash of content in which the name of the build's directory is blanked out.
fn hash(mut content: impl Read, directory: &Path) -> io::Result<Vec<u8>> {
    let name = directory.file_name().unwrap_or_default().as_bytes();
    let mut digest = Sha256::new();
    let mut kept = Vec::new();
    loop {
        let more = (&mut content).take(PIECE).read_to_end(&mut kept)?;
        blank_out(&mut kept, name);
        // The name may continue in the next piece.
        let whole = match more {
            0 => kept.len(),
            _ => kept.len().saturating_sub(name.len().saturating_sub(1)),
        };
        digest.update(&kept[..whole]);
        kept.drain(..whole);
        if more == 0 {
            return Ok(digest.finalize().to_vec());
        }
    }
}

fn blank_out(bytes: &mut [u8], name: &[u8]) {
    let Some(first) = name.first() else { return };
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| byte == first) {
        let at = from + at;
        if bytes[at..].starts_with(name) {
            bytes[at..at + name.len()].fill(0);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::access::Access;
    use super::*;

    /// The directory of a build with a few files.
    fn build(root: &Path, name: &str) -> PathBuf {
        let directory = root.join(name);
        let tree = directory.join("tree");
        fs::create_dir_all(tree.join("data")).unwrap();
        fs::write(tree.join("program"), "runs").unwrap();
        fs::write(tree.join("data/a"), "1").unwrap();
        fs::write(tree.join("where"), format!("in {}", tree.display())).unwrap();
        symlink(tree.join("program"), tree.join("link")).unwrap();
        directory
    }

    fn reads() -> Reads {
        let listed = Access {
            listed: true,
            ..Access::LOOKED_UP
        };
        let places = [
            ("tree", Access::LOOKED_UP),
            ("tree/program", Access::READ),
            ("tree/data", listed),
            ("tree/data/a", Access::LOOKED_UP),
            ("tree/where", Access::READ),
            ("tree/link", Access::READ),
            ("tree/absent", Access::READ),
        ];
        Reads {
            places: places.map(|(place, access)| (place.into(), access)).into(),
            ..Reads::default()
        }
    }

    /// The digest of a run, in a build that was changed before.
    fn digest(before: impl Fn(&Path), run: impl Fn(&Path)) -> Result<String, String> {
        let temporary = tempfile::tempdir().unwrap();
        // As long as other names: paths are of equal length.
        let name = hex::encode(Sha256::digest(temporary.path().as_os_str().as_bytes()));
        let root = temporary.path().parent().unwrap().join(&name);
        fs::rename(temporary.path(), &root).unwrap();
        let directory = build(&root, &name);
        let tree = directory.join("tree");
        before(&tree);
        let found = BuildSnapshot::from_directory(&directory).unwrap();
        run(&tree);
        let digest = found.digest(&directory, &reads()).unwrap();
        fs::remove_dir_all(&root).unwrap();
        digest
    }

    fn write(place: &str, content: &str) -> impl Fn(&Path) {
        move |tree| fs::write(tree.join(place), content).unwrap()
    }

    fn nothing(_: &Path) {}

    #[test]
    fn what_was_read_counts_and_nothing_else() {
        let same = digest(nothing, nothing).unwrap();
        assert_eq!(digest(nothing, nothing), Ok(same.clone()));
        assert_eq!(digest(write("other", "1"), nothing), Ok(same.clone()));
        // It was looked up, and its size stays.
        assert_eq!(digest(write("data/a", "2"), nothing), Ok(same.clone()));
        for (place, content) in [
            ("program", "walks"),
            ("data/b", ""),
            ("data/a", "12"),
            ("absent", ""),
        ] {
            let other = digest(write(place, content), nothing).unwrap();
            assert_ne!(other, same, "{place}");
        }
        let mode = |tree: &Path| {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(tree.join("program"), mode).unwrap();
        };
        assert_ne!(digest(mode, nothing), Ok(same));
    }

    #[test]
    fn another_name_of_a_file_and_a_link_that_is_replaced_are_seen() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path();
        let directory = build(root, "one");
        let found = BuildSnapshot::from_directory(&directory).unwrap();
        assert_eq!(found.changed_link(&directory), None);
        let mut reads = reads();
        let elsewhere = root.join("elsewhere");
        fs::write(&elsewhere, "1").unwrap();
        reads.seen = [elsewhere.clone(), root.join("absent")].into();
        found.digest(&directory, &reads).unwrap().unwrap();
        fs::remove_file(&elsewhere).unwrap();
        fs::hard_link(directory.join("tree/program"), &elsewhere).unwrap();
        let found = BuildSnapshot::from_directory(&directory).unwrap();
        let doubt = found.digest(&directory, &reads).unwrap().unwrap_err();
        assert!(
            doubt.ends_with("is another name of tree/program"),
            "{doubt}"
        );

        let link = directory.join("tree/link");
        fs::remove_file(&link).unwrap();
        symlink("program", &link).unwrap();
        assert_eq!(found.changed_link(&directory), Some("tree/link".into()));
    }

    #[test]
    fn what_is_not_loaded_of_an_executable_counts_where_it_is_read_or_its_size_is_asked_for() {
        let compile = |directory: &Path, name: &str| {
            let source = directory.join("source.c");
            let code = format!(
                "static __attribute__((noinline)) int {name}(void) {{ return 0; }}\n\
                 int main(void) {{ return {name}(); }}\n"
            );
            fs::write(&source, code).unwrap();
            let cc = git_command::run(
                Command::new("cc")
                    .arg(&source)
                    .arg("-o")
                    .arg(directory.join("tree/bench")),
            );
            assert!(cc.unwrap().status.success());
            fs::remove_file(&source).unwrap();
        };
        let with = |name: &str, access: Access| {
            let temporary = tempfile::tempdir().unwrap();
            let directory = build(temporary.path(), "one");
            compile(&directory, name);
            let found = BuildSnapshot::from_directory(&directory).unwrap();
            let reads = Reads {
                places: [("tree/bench".to_owned(), access)].into(),
                ..Reads::default()
            };
            found.digest(&directory, &reads).unwrap().unwrap()
        };
        let is_alike = |access| {
            let (one, other) = ("helper", "helper_with_a_name_of_another_length");
            with(one, access) == with(other, access)
        };
        assert!(is_alike(Access::LOADED));
        assert!(!is_alike(Access::READ));
        let mut sized = Access::LOADED;
        sized.add(Access::SIZED);
        assert!(!is_alike(sized));
    }

    #[test]
    fn what_the_run_makes_is_its_own_and_what_it_changes_is_in_doubt() {
        let same = digest(nothing, nothing);
        assert_eq!(digest(nothing, write("absent", "made by the run")), same);
        assert_eq!(digest(nothing, write("data/b", "made by the run")), same);
        let error = digest(nothing, write("program", "other")).unwrap_err();
        assert!(error.contains("it changes tree/program"), "{error}");
    }

    #[test]
    fn what_is_appended_to_an_executable_counts() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("program");
        let with = |appended: &[u8]| {
            let mut bytes = fs::read("/bin/sh").unwrap();
            bytes.extend(appended);
            fs::write(&path, bytes).unwrap();
            content(&path, temporary.path()).unwrap()
        };
        assert_eq!(with(b""), with(b""));
        assert_ne!(with(b"1"), with(b"2"));
        assert_ne!(with(b"1"), with(b""));
    }

    #[test]
    fn a_name_is_blanked_out_wherever_it_stands() {
        let directory = Path::new("/state/abc");
        let content = |name: &str, length: usize| {
            let mut content = vec![b'a'; length];
            content.extend(name.as_bytes());
            content.extend(b"aab");
            hash(&content[..], directory).unwrap()
        };
        for length in [
            0,
            1,
            7,
            PIECE as usize - 2,
            PIECE as usize - 1,
            PIECE as usize,
        ] {
            let blank = content("\0\0\0", length);
            assert_eq!(content("abc", length), blank, "{length}");
            assert_ne!(content("abd", length), blank, "{length}");
        }
    }
}

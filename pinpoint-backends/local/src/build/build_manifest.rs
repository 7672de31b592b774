//! The list of a build's files in a store of builds.
//!
//! It is JSON after a line with its SHA-256 and the bytes of the files, so that damage shows.
//! Machines share the store, and not all may be trusted alike: nothing in a list that was read
//! leads out of the directory of a build or into git's own files, and its entries are in an order
//! in which they can be made, each after the directory that holds it.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version of the format.
const VERSION: u32 = 1;

/// The longest path, and the longest target of a link, in bytes.
const LONGEST_PATH: usize = 4_096;

/// The longest name in a path, in bytes.
const LONGEST_NAME: usize = 255;

/// The files of a build, by their paths in its directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildManifest {
    version: u32,
    /// The key under which it is stored.
    pub(crate) key: String,
    /// The directory of the build, if files name it: the build can be used only there.
    pub(crate) directory: Option<String>,
    pub(crate) entries: BTreeMap<String, Entry>,
}

/// A file, a directory or a link of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    Directory {
        mode: u32,
    },
    File {
        mode: u32,
        size: u64,
        /// When it was modified: seconds since 1970, and nanoseconds.
        modified: (u64, u32),
        /// Absent for one that is the same in the checkout.
        sha256: Option<String>,
    },
    Link {
        target: String,
    },
}

/// A list of files can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildManifestError {
    /// The list has a wrong checksum.
    #[error("its checksum does not match")]
    Checksum,
    /// The list is not JSON of this format.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The list has another version.
    #[error("it has version {0}")]
    Version(u32),
    /// The list belongs to another build.
    #[error("it belongs to another build")]
    Key,
    /// An entry can't be created, or leads elsewhere.
    #[error("its entry {0:?} is not valid")]
    Entry(String),
    /// The build has no work tree.
    #[error("it has no work tree")]
    NoTree,
}

impl BuildManifest {
    pub(crate) fn new(key: &str) -> Self {
        Self {
            version: VERSION,
            key: key.into(),
            directory: None,
            entries: BTreeMap::new(),
        }
    }

    /// The stored form.
    pub(crate) fn write(&self) -> Result<Vec<u8>, BuildManifestError> {
        let json = serde_json::to_vec(self)?;
        let mut bytes = self.first_line(&json).into_bytes();
        bytes.extend(json);
        Ok(bytes)
    }

    fn first_line(&self, json: &[u8]) -> String {
        format!("{} {}\n", hex::encode(Sha256::digest(json)), self.size())
    }

    /// The bytes of a build's files, by the beginning of its list. They are not checked.
    pub(crate) fn size_of(beginning: &[u8]) -> Option<u64> {
        let line = beginning.split(|byte| *byte == b'\n').next()?;
        let (_sum, size) = str::from_utf8(line).ok()?.split_once(' ')?;
        size.parse().ok()
    }

    /// Reads the list that is stored under a key.
    ///
    /// # Errors
    ///
    /// When it is damaged, or an entry could do harm.
    pub fn read(bytes: &[u8], key: &str) -> Result<Self, BuildManifestError> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or(BuildManifestError::Checksum)? + 1;
        let (first_line, json) = bytes.split_at(end);
        if !first_line.starts_with(hex::encode(Sha256::digest(json)).as_bytes()) {
            return Err(BuildManifestError::Checksum);
        }
        let manifest: Self = serde_json::from_slice(json)?;
        if manifest.first_line(json).as_bytes() != first_line {
            return Err(BuildManifestError::Checksum);
        }
        if manifest.version != VERSION {
            return Err(BuildManifestError::Version(manifest.version));
        }
        if manifest.key != key {
            return Err(BuildManifestError::Key);
        }
        manifest.check()?;
        Ok(manifest)
    }

    /// Checks that the build can be made of the entries, without harm.
    pub(crate) fn check(&self) -> Result<(), BuildManifestError> {
        for (path, entry) in &self.entries {
            if !is_sound_path(path) || !is_sound(entry) || !self.has_place_for(path, entry) {
                return Err(BuildManifestError::Entry(path.clone()));
            }
        }
        // The work tree. It is a directory: all entries at the top are.
        match self.entries.contains_key("tree") {
            true => Ok(()),
            false => Err(BuildManifestError::NoTree),
        }
    }

    /// The paths of its entries, in the directory of the build.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The files that are in the store, by path.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (&str, u64, &str)> {
        self.entries.iter().filter_map(|(path, entry)| match entry {
            Entry::File {
                size,
                sha256: Some(sha256),
                ..
            } => Some((path.as_str(), *size, sha256.as_str())),
            _ => None,
        })
    }

    /// The bytes of the files that are in the store.
    pub(crate) fn size(&self) -> u64 {
        let sizes = self.stored().map(|(_, size, _)| size);
        sizes.fold(0, u64::saturating_add)
    }

    /// Checks that the parent of the entry is a directory of the list. Those at the top are
    /// directories.
    fn has_place_for(&self, path: &str, entry: &Entry) -> bool {
        let holder = match path.rsplit_once('/') {
            None => Some(entry),
            Some((parent, _)) => self.entries.get(parent),
        };
        matches!(holder, Some(Entry::Directory { .. }))
    }
}

/// Checks that the path names something below the directory of a build, and nothing of git's.
fn is_sound_path(path: &str) -> bool {
    let is_sound = |part: Component<'_>| match part {
        Component::Normal(name) => name.len() <= LONGEST_NAME && !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    let is_spelled_out = || {
        let parts: Vec<_> = path.split('/').collect();
        parts.iter().all(|part| !matches!(*part, "" | "." | ".."))
    };
    path.len() <= LONGEST_PATH
        && !path.contains('\0')
        && is_spelled_out()
        && Path::new(path).components().all(is_sound)
        && matches!(path.split('/').next(), Some("tree" | "modules"))
}

fn is_sound(entry: &Entry) -> bool {
    const PERMISSIONS: u32 = 0o777;
    /// Lets its owner list and enter it: a build without these permissions can't be used.
    const USABLE: u32 = 0o500;
    match entry {
        Entry::Directory { mode } => *mode <= PERMISSIONS && mode & USABLE == USABLE,
        Entry::File {
            mode,
            modified: (seconds, nanoseconds),
            sha256,
            ..
        } => {
            *mode <= PERMISSIONS
                && i64::try_from(*seconds).is_ok()
                && *nanoseconds < 1_000_000_000
                && sha256.as_deref().is_none_or(is_digest)
        }
        Entry::Link { target } => {
            !target.is_empty() && target.len() <= LONGEST_PATH && !target.contains('\0')
        }
    }
}

/// Checks whether it is a SHA-256 in hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn manifest(entries: &[(&str, Entry)]) -> BuildManifest {
        let entries = entries
            .iter()
            .map(|(path, entry)| ((*path).into(), entry.clone()));
        BuildManifest {
            entries: entries.collect(),
            ..BuildManifest::new("key")
        }
    }

    fn directory() -> Entry {
        Entry::Directory { mode: 0o755 }
    }

    fn file() -> Entry {
        Entry::File {
            mode: 0o755,
            size: 3,
            modified: (1, 2),
            sha256: Some("0f".repeat(32)),
        }
    }

    fn link(target: &str) -> Entry {
        Entry::Link {
            target: target.into(),
        }
    }

    fn read(manifest: &BuildManifest) -> Result<BuildManifest, BuildManifestError> {
        BuildManifest::read(&manifest.write().unwrap(), "key")
    }

    #[test]
    fn what_was_written_is_read() {
        let manifest = manifest(&[
            ("tree", directory()),
            ("tree/a", directory()),
            ("tree/a/b", file()),
            ("tree/link", link("/usr/bin/env")),
        ]);
        assert_eq!(read(&manifest).unwrap(), manifest);
        assert_eq!(manifest.size(), 3);
        let other = BuildManifest::read(&manifest.write().unwrap(), "other");
        assert!(matches!(other, Err(BuildManifestError::Key)));
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for path in [
            "",
            "/etc",
            "/tree/a",
            "..",
            "tree/..",
            "tree/../../etc",
            "tree/./a",
            "tree//a",
            "tree/",
            "other",
            "finished.json",
            "tree/.git",
            "tree/.GIT/hooks",
            "tree/\0",
        ] {
            let manifest = manifest(&[
                ("tree", directory()),
                ("tree/.git", directory()),
                (path, file()),
            ]);
            let error = read(&manifest).unwrap_err();
            assert!(matches!(error, BuildManifestError::Entry(_)), "{path:?}");
        }
        // Anything below a link or a file would be written wherever that leads.
        for above in [Some(link("/etc")), Some(file()), None] {
            let above = above.map(|entry| ("tree/a", entry));
            let entries = [("tree", directory()), ("tree/a/b", file())];
            let entries: Vec<_> = entries.into_iter().chain(above).collect();
            assert!(read(&manifest(&entries)).is_err());
        }
        for entry in [
            Entry::Directory { mode: 0o4755 },
            link(""),
            Entry::File {
                mode: 0o755,
                size: 0,
                modified: (0, 0),
                sha256: Some("../../../etc/passwd".into()),
            },
        ] {
            let entries = [("tree", directory()), ("tree/a", entry)];
            assert!(read(&manifest(&entries)).is_err());
        }
    }

    #[test]
    fn what_can_be_made_nowhere_is_refused() {
        let at = |seconds| Entry::File {
            mode: 0o755,
            size: 3,
            modified: (seconds, 0),
            sha256: None,
        };
        let (last, longest) = (i64::MAX.unsigned_abs(), "a".repeat(255));
        let longest = format!("tree/{longest}");
        let sound = [("tree", directory()), (&longest, at(last))];
        read(&manifest(&sound)).unwrap();
        let longer = format!("{longest}a");
        for (path, entry) in [
            ("tree/a", at(last + 1)),
            ("tree/a", at(u64::MAX)),
            (&longer, at(0)),
            ("tree/a", Entry::Directory { mode: 0o300 }),
        ] {
            let error = read(&manifest(&[("tree", directory()), (path, entry)])).unwrap_err();
            assert!(matches!(error, BuildManifestError::Entry(_)), "{path:?}");
        }
        for entries in [&[][..], &[("modules", directory())]] {
            let error = read(&manifest(entries)).unwrap_err();
            assert!(matches!(error, BuildManifestError::NoTree), "{entries:?}");
        }
    }

    proptest! {
        #[test]
        fn any_damage_shows(place in 0_usize..1_000, bits in 1_u8..) {
            let manifest = manifest(&[("tree", directory()), ("tree/a", file())]);
            let mut bytes = manifest.write().unwrap();
            let place = place % bytes.len();
            bytes[place] ^= bits;
            prop_assert!(BuildManifest::read(&bytes, "key").is_err());
            prop_assert!(BuildManifest::read(&bytes[..place], "key").is_err());
        }

        #[test]
        fn nonsense_is_refused_or_sound(
            paths in prop::collection::vec("(tree|modules|\\.\\.|\\.git|a|/){1,5}", 0..6),
            kinds in prop::collection::vec(0..3, 6),
        ) {
            let kind = |kind: &i32| [directory(), file(), link("a")][*kind as usize].clone();
            let entries = paths.iter().map(String::as_str).zip(kinds.iter().map(kind));
            let manifest = manifest(&entries.collect::<Vec<_>>());
            if let Ok(read) = read(&manifest) {
                for path in read.entries.keys() {
                    let root = Path::new("/build");
                    let place = root.join(path);
                    prop_assert!(place.starts_with(root) && !path.contains(".."));
                    prop_assert!(!path.split('/').any(|part| part == ".git"));
                }
            }
        }
    }
}

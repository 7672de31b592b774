//! Trees of files that are made up by seed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use pinpoint_backends::cas::{Digest, File, Tree};
use pinpoint_core::SplitMix64;
use prost::Message;

use super::messages::{self, Directory, DirectoryNode, FileNode, SymlinkNode};

/// A folder of a tree.
#[derive(Default, Clone)]
pub(crate) struct Folder {
    pub(crate) files: BTreeMap<String, (Bytes, bool)>,
    pub(crate) folders: BTreeMap<String, Folder>,
    pub(crate) links: BTreeMap<String, String>,
}

pub(crate) fn message(digest: &Digest) -> Option<messages::Digest> {
    Some(messages::Digest {
        hash: digest.hash(),
        size_bytes: digest.size() as i64,
    })
}

impl Folder {
    pub(crate) fn with(mut self, path: &str, content: impl Into<Bytes>) -> Self {
        let mut folder = &mut self;
        let mut parts: Vec<&str> = path.split('/').collect();
        let name = parts.pop().unwrap();
        for part in parts {
            folder = folder.folders.entry(part.to_owned()).or_default();
        }
        folder.files.insert(name.into(), (content.into(), false));
        self
    }

    /// Some files: empty and large, the same twice, in folders that may be empty.
    pub(crate) fn random(random: &mut SplitMix64, depth: u64) -> Self {
        let mut folder = Self::default();
        for index in 0..random.below(6) {
            let size = match random.below(24) {
                0 | 1 => 0,
                2 => 1_000_000 + random.below(200_000),
                3 => 50_000,
                _ => random.below(3000),
            };
            let byte = random.below(3) as u8;
            let mut content = vec![byte; size as usize];
            if random.below(2) == 0 {
                content
                    .iter_mut()
                    .step_by(7)
                    .for_each(|byte| *byte = random.below(256) as u8);
            }
            let file = (Bytes::from(content), random.below(2) == 0);
            folder.files.insert(format!("file {index}"), file);
        }
        if random.below(4) == 0 {
            folder.links.insert("link".into(), "../../etc".into());
        }
        for index in 0..random.below(4).min(depth) {
            let inner = Self::random(random, depth - 1);
            folder.folders.insert(format!("folder-{index}"), inner);
        }
        folder
    }

    /// Puts all of it into a store; returns the digest of its directory, with those of all its
    /// files.
    pub(crate) fn store(&self, add: &mut dyn FnMut(Bytes) -> Digest) -> Digest {
        let mut directory = Directory::default();
        for (name, (content, is_executable)) in &self.files {
            directory.files.push(FileNode {
                name: name.clone(),
                digest: message(&add(content.clone())),
                is_executable: *is_executable,
                ..FileNode::default()
            });
        }
        for (name, folder) in &self.folders {
            directory.directories.push(DirectoryNode {
                name: name.clone(),
                digest: message(&folder.store(add)),
            });
        }
        for (name, target) in &self.links {
            directory.symlinks.push(SymlinkNode {
                name: name.clone(),
                target: target.clone(),
                ..SymlinkNode::default()
            });
        }
        add(directory.encode_to_vec().into())
    }

    /// Its contents.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        self.collect("", &mut tree);
        tree
    }

    fn collect(&self, prefix: &str, tree: &mut Tree) {
        for (name, (content, is_executable)) in &self.files {
            let file = File {
                digest: Digest::of(content),
                is_executable: *is_executable,
            };
            tree.files.insert(format!("{prefix}{name}"), file);
        }
        for (name, target) in &self.links {
            tree.links.insert(format!("{prefix}{name}"), target.clone());
        }
        for (name, folder) in &self.folders {
            tree.folders.insert(format!("{prefix}{name}"));
            folder.collect(&format!("{prefix}{name}/"), tree);
        }
    }

    /// Compares a folder on the disk with this one.
    pub(crate) fn assert_at(&self, path: &Path) {
        let mut names = Vec::new();
        for entry in fs::read_dir(path).unwrap() {
            names.push(entry.unwrap().file_name().into_string().unwrap());
        }
        names.sort();
        let mut expected: Vec<&String> = self.files.keys().chain(self.folders.keys()).collect();
        expected.sort();
        assert_eq!(names.iter().collect::<Vec<_>>(), expected);
        for (name, (content, is_executable)) in &self.files {
            let file = path.join(name);
            assert!(fs::read(&file).unwrap() == *content, "{}", file.display());
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = fs::metadata(&file).unwrap().permissions().mode();
                assert_eq!(mode & 0o100 != 0, *is_executable);
            }
            #[cfg(not(unix))]
            let _ = is_executable;
        }
        for (name, folder) in &self.folders {
            folder.assert_at(&path.join(name));
        }
    }
}

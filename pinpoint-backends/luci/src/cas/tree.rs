//! A tree of files.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use prost::Message;

use super::error::TransferError;
use super::proto::{Directory, GetTreeRequest};
use super::tries::Fault;
use super::{Cas, CasError, Digest};
use crate::google::Code;

/// The most files, folders and links in a tree, and the most characters of their paths. A small
/// tree may name the same folder again and again, and so have more files than any disk.
const MOST_ENTRIES: usize = 200_000;
const MOST_CHARACTERS: usize = 32 << 20;

/// The most bytes of all directories of a tree.
const MOST_BYTES: usize = 64 << 20;

/// A file of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Its content.
    pub digest: Digest,
    /// True if it is executable.
    pub is_executable: bool,
}

/// The contents of a tree, by paths with `/` between their parts. No part is empty, `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// The files.
    pub files: BTreeMap<String, File>,
    /// The folders, except for the root itself.
    pub folders: BTreeSet<String>,
    /// The links, with their targets, which may be any text.
    pub links: BTreeMap<String, String>,
}

impl Cas {
    /// Reads the tree with this root.
    ///
    /// # Errors
    ///
    /// [`CasError::Missing`] if the store lacks one of its directories, [`CasError::Tree`] if it is
    /// invalid or too large (200,000 files), and trouble with the store.
    pub async fn tree(&self, root: &Digest) -> Result<Tree, CasError> {
        let mut directories = Directories::default();
        let empty = Digest::of(b"");
        directories.add(Bytes::new());
        if *root != empty {
            self.ask_tree(root, &mut directories).await?;
        }
        // Stores may leave out missing directories, and some more.
        loop {
            let missing = match directories.walk(root)? {
                Walk::Whole(tree) => return Ok(tree),
                Walk::Missing(missing) => missing,
            };
            for digest in missing {
                let content = self.read(&digest, MOST_BYTES as u64).await?;
                directories.add(content);
                directories.check_size(root)?;
            }
        }
    }

    /// Collects the directories that the store sends of a tree.
    async fn ask_tree(&self, root: &Digest, directories: &mut Directories) -> Result<(), CasError> {
        let mut tries = self.connection().tries("GetTree");
        let mut page = String::new();
        loop {
            let before = (page.clone(), directories.by_digest.len());
            let fault = match self.ask_tree_once(root, &mut page, directories).await {
                Ok(()) if page.is_empty() => return Ok(()),
                // The page brought nothing: missing directories are read one by one.
                Ok(()) if before == (page.clone(), directories.by_digest.len()) => return Ok(()),
                Ok(()) => {
                    tries.progressed();
                    continue;
                }
                // Stores need not have the method.
                Err(Fault::Lasting(TransferError::Status {
                    code: Code::UNIMPLEMENTED,
                    ..
                })) => return Ok(()),
                Err(Fault::Lasting(TransferError::Status {
                    code: Code::NOT_FOUND,
                    ..
                })) => return Err(CasError::Missing(*root)),
                Err(fault) => fault,
            };
            if directories.by_digest.len() > before.1 {
                tries.progressed();
            }
            tries.after(fault).await?;
        }
    }

    /// Continues from a page; `page` becomes the next one, or empty at the end.
    async fn ask_tree_once(
        &self,
        root: &Digest,
        page: &mut String,
        directories: &mut Directories,
    ) -> Result<(), Fault> {
        let request = GetTreeRequest {
            instance_name: self.instance().into(),
            root_digest: Some(root.message()),
            page_size: 0,
            page_token: page.clone(),
        };
        let (call, request) = self.connection().call(request).await?;
        let mut client = self.connection().storage();
        let mut stream = call.answer(client.get_tree(request)).await?;
        while let Some(message) = call.next(&mut stream).await? {
            for directory in message.directories {
                directories.add(directory);
            }
            directories.check_size(root).map_err(Fault::Final)?;
            *page = message.next_page_token;
        }
        Ok(())
    }
}

/// Directories by their digests. Unreferenced ones do no harm.
#[derive(Default)]
struct Directories {
    by_digest: HashMap<Digest, Bytes>,
    bytes: usize,
}

enum Walk {
    Whole(Tree),
    /// These are referenced but missing.
    Missing(BTreeSet<Digest>),
}

impl Directories {
    fn add(&mut self, directory: Bytes) {
        let digest = Digest::of(&directory);
        let length = directory.len();
        if self.by_digest.insert(digest, directory).is_none() {
            self.bytes += length;
        }
    }

    fn check_size(&self, root: &Digest) -> Result<(), CasError> {
        if self.bytes > MOST_BYTES {
            return Err(misshapen(
                root,
                format!("its directories have more than {MOST_BYTES} bytes"),
            ));
        }
        Ok(())
    }

    fn walk(&self, root: &Digest) -> Result<Walk, CasError> {
        let mut walker = Walker {
            root,
            tree: Tree::default(),
            characters: 0,
        };
        let mut missing = BTreeSet::new();
        let mut decoded = HashMap::new();
        let mut open = vec![(String::new(), *root)];
        while let Some((path, digest)) = open.pop() {
            let Some(content) = self.by_digest.get(&digest) else {
                missing.insert(digest);
                continue;
            };
            let directory = match decoded.entry(digest) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => {
                    let directory = Directory::decode(content.clone())
                        .map_err(|error| misshapen(root, format!("{digest}: {error}")))?;
                    vacant.insert(directory)
                }
            };
            walker.enter(&path, directory, &mut open)?;
        }
        Ok(if missing.is_empty() {
            Walk::Whole(walker.tree)
        } else {
            Walk::Missing(missing)
        })
    }
}

struct Walker<'a> {
    root: &'a Digest,
    tree: Tree,
    characters: usize,
}

impl Walker<'_> {
    fn enter(
        &mut self,
        folder: &str,
        directory: &Directory,
        open: &mut Vec<(String, Digest)>,
    ) -> Result<(), CasError> {
        let mut names = BTreeSet::new();
        let files = directory.files.iter().map(|file| &file.name);
        let folders = directory.directories.iter().map(|folder| &folder.name);
        let links = directory.symlinks.iter().map(|link| &link.name);
        for name in files.chain(folders).chain(links) {
            if !names.insert(name) {
                return Err(self.fault(folder, name, "is there twice"));
            }
        }
        for file in &directory.files {
            let digest = self.digest(folder, &file.name, file.digest.as_ref())?;
            let is_executable = file.is_executable;
            let file_there = File {
                digest,
                is_executable,
            };
            let path = self.path(folder, &file.name)?;
            self.tree.files.insert(path, file_there);
        }
        for link in &directory.symlinks {
            let path = self.path(folder, &link.name)?;
            self.characters += link.target.len();
            self.tree.links.insert(path, link.target.clone());
        }
        for inner in &directory.directories {
            let digest = self.digest(folder, &inner.name, inner.digest.as_ref())?;
            let path = self.path(folder, &inner.name)?;
            self.tree.folders.insert(path.clone());
            open.push((path, digest));
        }
        Ok(())
    }

    fn digest(
        &self,
        folder: &str,
        name: &str,
        digest: Option<&super::proto::Digest>,
    ) -> Result<Digest, CasError> {
        let fault = || self.fault(folder, name, "has no digest of SHA-256");
        Digest::of_message(digest).ok_or_else(fault)
    }

    fn path(&mut self, folder: &str, name: &str) -> Result<String, CasError> {
        if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
            return Err(self.fault(folder, name, "is not a name of a file"));
        }
        let path = if folder.is_empty() {
            name.to_owned()
        } else {
            format!("{folder}/{name}")
        };
        self.characters += path.len();
        let tree = &self.tree;
        let entries = tree.files.len() + tree.folders.len() + tree.links.len();
        if entries >= MOST_ENTRIES || self.characters > MOST_CHARACTERS {
            let problem = format!("it has more than {MOST_ENTRIES} files, or too long paths");
            return Err(misshapen(self.root, problem));
        }
        Ok(path)
    }

    fn fault(&self, folder: &str, name: &str, problem: &str) -> CasError {
        misshapen(self.root, format!("{name:?} in /{folder} {problem}"))
    }
}

fn misshapen(root: &Digest, problem: String) -> CasError {
    CasError::Tree {
        root: *root,
        problem,
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

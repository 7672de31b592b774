//! Objects of a repository: commits, and their files and submodules, read within limits.
//!
//! Anyone can write a commit, so the size of an object is checked before it is loaded, and a tree
//! is read once for each depth at which it occurs, however many paths lead through it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use gix_hash::{Kind, ObjectId};
use gix_object::tree::EntryMode;
use gix_object::{CommitRef, Data, Find, FindHeader, TreeRefIter};
use gix_odb::store::init::Options;

use super::commits::Commits;
use crate::Repository;
use pinpoint_midpoint::HistoryError;

/// The largest object that is loaded in one piece, in bytes: a directory with a
/// million files.
const MAX_OBJECT: usize = 64 << 20;

/// A repository's objects, read by one thread.
pub(super) type Objects = gix_odb::HandleArc;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The objects of a user's repository, for any number of threads.
pub(super) fn open(repository: &Repository) -> Result<Arc<gix_odb::Store>, Error> {
    let hash = repository.object_format().parse::<Kind>()?;
    let replaced = replacements(repository)?;
    store(repository.common_dir(), hash, replaced)
}

/// The objects of a repository in which nothing is replaced.
pub(super) fn store(
    git_dir: &Path,
    hash: Kind,
    replaced: Vec<(ObjectId, ObjectId)>,
) -> Result<Arc<gix_odb::Store>, Error> {
    let options = Options {
        alloc_limit_bytes: Some(MAX_OBJECT),
        ..Options::default()
    };
    let objects = git_dir.join("objects");
    let store = gix_odb::Store::at_opts(objects, hash, &mut replaced.into_iter(), options)?;
    Ok(Arc::new(store))
}

/// The replacements made by `git replace`.
fn replacements(repository: &Repository) -> Result<Vec<(ObjectId, ObjectId)>, Error> {
    let format = "--format=%(refname:lstrip=2) %(objectname)";
    let refs = repository.ask(&["for-each-ref", format, "refs/replace/"])?;
    if refs.is_empty() || !is_enabled(repository, "core.useReplaceRefs")? {
        return Ok(Vec::new());
    }
    let pairs = refs.lines().filter_map(|line| {
        let (replaced, by) = line.split_once(' ')?;
        let id = |hash: &str| ObjectId::from_hex(hash.as_bytes()).ok();
        Some((id(replaced)?, id(by)?))
    });
    Ok(pairs.collect())
}

/// Checks whether a feature that git has on by default is still on.
///
/// Only the repository's own configuration counts: no other can change its history.
pub(super) fn is_enabled(repository: &Repository, name: &str) -> Result<bool, Error> {
    let arguments = ["config", "--local", "--includes", "--type=bool", name];
    let value = repository.test(&arguments)?;
    Ok(value.is_none_or(|value| value.trim_end() == "true"))
}

/// The reason why an object is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ObjectError {
    /// The repository lacks the object.
    #[error("object {0} is missing")]
    Missing(ObjectId),
    /// The object exceeds the limit.
    #[error("object {object} has {size} bytes")]
    TooLarge {
        /// The object.
        object: ObjectId,
        /// Its size in bytes.
        size: u64,
    },
    /// The object is damaged, or can't be reached.
    #[error(transparent)]
    Unreadable(#[from] Error),
}

impl From<gix_error::Error> for ObjectError {
    fn from(error: gix_error::Error) -> Self {
        Self::Unreadable(error.into())
    }
}

/// The regular file that a commit has at a path, with at most this many bytes. A symbolic link
/// counts as missing.
pub(super) fn file(
    objects: &Objects,
    commit: ObjectId,
    path: &str,
    most: usize,
) -> Result<Option<Vec<u8>>, ObjectError> {
    let entries = entries(objects, commit, &[path])?;
    let Some((_, object)) = entries.get(path).filter(|(mode, _)| mode.is_blob()) else {
        return Ok(None);
    };
    let header = objects.try_header(object)?;
    let size = header.ok_or(ObjectError::Missing(*object))?.size;
    if size > most as u64 {
        return Err(ObjectError::TooLarge {
            object: *object,
            size,
        });
    }
    let mut content = Vec::new();
    load(objects, *object, &mut content)?;
    Ok(Some(content))
}

/// The commits of other repositories that a commit has at some of these paths.
pub(super) fn gitlinks(
    objects: &Objects,
    commit: ObjectId,
    paths: &[&str],
) -> Result<BTreeMap<String, String>, ObjectError> {
    let entries = entries(objects, commit, paths)?.into_iter();
    let links = entries.filter(|(_, (mode, _))| mode.is_commit());
    Ok(links
        .map(|(path, (_, commit))| (path.to_owned(), commit.to_string()))
        .collect())
}

/// Checks whether two commits have the same contents at these paths. Of a directory only its
/// existence counts, and for a path with `true`, its names.
pub(super) fn are_same_at(
    objects: &Objects,
    commits: [ObjectId; 2],
    paths: &BTreeMap<String, bool>,
) -> Result<bool, ObjectError> {
    let named: Vec<&str> = paths.keys().map(String::as_str).collect();
    let [one, other] = commits;
    let (one, other) = (
        entries(objects, one, &named)?,
        entries(objects, other, &named)?,
    );
    for (path, listed) in paths {
        match (one.get(&**path), other.get(&**path)) {
            (Some((mode, one)), Some((other_mode, other))) if mode == other_mode => {
                let same = one == other
                    || mode.is_tree()
                        && (!listed || names(objects, *one)? == names(objects, *other)?);
                if !same {
                    return Ok(false);
                }
            }
            (None, None) => {}
            _ => return Ok(false),
        }
    }
    let top = |commit| -> Result<_, ObjectError> {
        let mut buffer = Vec::new();
        let commit = load(objects, commit, &mut buffer)?;
        Ok(CommitRef::from_bytes(commit.data, commit.object_hash)?.tree())
    };
    if paths.get("") != Some(&true) {
        return Ok(true);
    }
    let [one, other] = commits;
    Ok(names(objects, top(one)?)? == names(objects, top(other)?)?)
}

/// The names in a tree, with their kinds.
fn names(objects: &Objects, tree: ObjectId) -> Result<Vec<(Vec<u8>, u16)>, ObjectError> {
    /// The bits of a mode that tell files, directories and links apart.
    const KIND: u16 = 0o170_000;
    let mut buffer = Vec::new();
    let tree = load(objects, tree, &mut buffer)?;
    TreeRefIter::from_bytes(tree.data, tree.object_hash)
        .map(|entry| {
            let entry = entry?;
            Ok((entry.filename.to_vec(), entry.mode.value() & KIND))
        })
        .collect()
}

/// The entries of a commit's tree at these paths.
fn entries<'a>(
    objects: &Objects,
    commit: ObjectId,
    paths: &[&'a str],
) -> Result<BTreeMap<&'a str, (EntryMode, ObjectId)>, ObjectError> {
    let mut found = BTreeMap::new();
    let mut buffer = Vec::new();
    let top = load(objects, commit, &mut buffer)?;
    let top = CommitRef::from_bytes(top.data, top.object_hash)?.tree();
    // The trees of one depth, with the paths that lead there: the rest of each, and the full path.
    let whole: Vec<(&str, &str)> = paths.iter().map(|path| (*path, *path)).collect();
    let mut level = BTreeMap::from([(top, whole)]);
    while !level.is_empty() {
        let mut below: BTreeMap<ObjectId, Vec<(&str, &str)>> = BTreeMap::new();
        for (tree, paths) in level {
            let mut by_name: BTreeMap<&[u8], Vec<(Option<&str>, &str)>> = BTreeMap::new();
            for (left, path) in paths {
                let (name, left) = match left.split_once('/') {
                    Some((name, left)) => (name, Some(left)),
                    None => (left, None),
                };
                by_name
                    .entry(name.as_bytes())
                    .or_default()
                    .push((left, path));
            }
            let tree = load(objects, tree, &mut buffer)?;
            for entry in TreeRefIter::from_bytes(tree.data, tree.object_hash) {
                let entry = entry?;
                let name: &[u8] = entry.filename;
                for (left, path) in by_name.get(name).into_iter().flatten() {
                    match left {
                        None => {
                            found.insert(*path, (entry.mode, entry.oid.to_owned()));
                        }
                        Some(left) if entry.mode.is_tree() => {
                            let object = entry.oid.to_owned();
                            below.entry(object).or_default().push((left, path));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        level = below;
    }
    Ok(found)
}

fn load<'a>(
    objects: &Objects,
    id: ObjectId,
    into: &'a mut Vec<u8>,
) -> Result<Data<'a>, ObjectError> {
    let object = objects.try_find(&id, into)?;
    object.ok_or(ObjectError::Missing(id))
}

impl Commits {
    /// The error for an object of a commit that could not be read.
    pub(super) fn of_object(
        &self,
        error: ObjectError,
        path: &str,
        commit: &str,
        most: usize,
    ) -> HistoryError {
        let object = match error {
            ObjectError::TooLarge { object, size } => {
                return HistoryError::TooLarge {
                    repository: self.name().into(),
                    path: path.into(),
                    object: object.to_string(),
                    size,
                    most,
                };
            }
            ObjectError::Unreadable(error) => return self.unreadable(error),
            ObjectError::Missing(object) => object,
        };
        let hint = if is_partial(self.git_dir()) {
            format!("this clone is partial: `git cat-file -e {object}` fetches it there")
        } else {
            "`git fsck` says what else is damaged".to_owned()
        };
        self.unreadable(format!(
            "object {object}, needed for {path} of commit {commit}, is missing; {hint}"
        ))
    }
}

/// Checks whether the repository was cloned without all of its objects (`git clone --filter`).
fn is_partial(git_dir: &Path) -> bool {
    let packs = fs::read_dir(git_dir.join("objects/pack"));
    { packs.into_iter().flatten().flatten() }
        .any(|file| file.path().extension().is_some_and(|it| it == "promisor"))
}

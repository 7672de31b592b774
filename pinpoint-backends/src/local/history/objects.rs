//! What a commit holds: files and submodules, read within limits.
//!
//! Anybody can write a commit, so the size of an object is looked at before it is
//! loaded, and a tree is read once for each depth at which it stands, however
//! many paths lead through it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gix::ObjectId;
use gix::objs::tree::EntryMode;

use super::commits::Commits;
use pinpoint_midpoint::HistoryError;

/// The largest object that is loaded in one piece, in bytes: a directory with a
/// million files.
const MAX_OBJECT: usize = 64 << 20;

/// How repositories are opened.
pub(super) fn options() -> gix::open::Options {
    // Nothing but the repository's own configuration: the others can't change
    // what its history is.
    let limit = format!("gitoxide.objects.allocLimit={MAX_OBJECT}");
    gix::open::Options::isolated().config_overrides([limit])
}

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Why an object is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ObjectError {
    /// The repository lacks it.
    #[error("object {0} is missing")]
    Missing(ObjectId),
    /// It is larger than asked for.
    #[error("object {object} has {size} bytes")]
    TooLarge {
        /// The object.
        object: ObjectId,
        /// How many bytes it has.
        size: u64,
    },
    /// It is damaged, or can't be reached.
    #[error(transparent)]
    Unreadable(#[from] Error),
}

impl From<gix::Error> for ObjectError {
    fn from(error: gix::Error) -> Self {
        Self::Unreadable(error.into())
    }
}

/// The regular file that a commit has at a path, of at most so many bytes. A
/// symbolic link counts as none.
pub(super) fn file(
    repository: &gix::Repository,
    commit: ObjectId,
    path: &str,
    most: usize,
) -> Result<Option<Vec<u8>>, ObjectError> {
    let entries = entries(repository, commit, &[path])?;
    let Some((_, object)) = entries.get(path).filter(|(mode, _)| mode.is_blob()) else {
        return Ok(None);
    };
    let header = repository.try_find_header(*object)?;
    let size = header.ok_or(ObjectError::Missing(*object))?.size();
    if size > most as u64 {
        return Err(ObjectError::TooLarge {
            object: *object,
            size,
        });
    }
    Ok(Some(load(repository, *object)?.detach().data))
}

/// The commits of other repositories that a commit has at some of these paths.
pub(super) fn gitlinks(
    repository: &gix::Repository,
    commit: ObjectId,
    paths: &[&str],
) -> Result<BTreeMap<String, String>, ObjectError> {
    let entries = entries(repository, commit, paths)?.into_iter();
    let links = entries.filter(|(_, (mode, _))| mode.is_commit());
    Ok(links
        .map(|(path, (_, commit))| (path.to_owned(), commit.to_string()))
        .collect())
}

/// What the tree of a commit has at these paths.
fn entries<'a>(
    repository: &gix::Repository,
    commit: ObjectId,
    paths: &[&'a str],
) -> Result<BTreeMap<&'a str, (EntryMode, ObjectId)>, ObjectError> {
    let mut found = BTreeMap::new();
    let top = load(repository, commit)?.into_commit().tree_id()?.detach();
    // The trees of one depth, with the paths that lead there: what is left of each,
    // and the whole.
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
            let tree = load(repository, tree)?.into_tree();
            for entry in tree.iter() {
                let entry = entry?;
                let name: &[u8] = entry.filename();
                for (left, path) in by_name.get(name).into_iter().flatten() {
                    match left {
                        None => {
                            found.insert(*path, (entry.mode(), entry.object_id()));
                        }
                        Some(left) if entry.mode().is_tree() => {
                            let object = entry.object_id();
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

fn load(repository: &gix::Repository, id: ObjectId) -> Result<gix::Object<'_>, ObjectError> {
    let object = repository.try_find_object(id)?;
    object.ok_or(ObjectError::Missing(id))
}

impl Commits {
    /// What to say when something of a commit could not be read.
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

/// Was the repository cloned without all of its objects (`git clone --filter`)?
fn is_partial(git_dir: &Path) -> bool {
    let packs = fs::read_dir(git_dir.join("objects/pack"));
    { packs.into_iter().flatten().flatten() }
        .any(|file| file.path().extension().is_some_and(|it| it == "promisor"))
}

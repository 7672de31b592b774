//! States that are on no branch: commits merged into another, one by one.
//!
//! Git merges without a work tree (`git merge-tree`). The result is written to our own bare
//! repository, which borrows the user's objects, so that the user's is never written, and so that
//! the result can be checked out there. (A tree that the user's repository has already is not
//! written again: git sets the time of its file to now, as it does for all objects in use.)
//!
//! ```text
//! F - - - M      F + x is a commit with the parents F and x,
//!  \     /       F + x + y one with the parents F + x and y
//!   x - y
//! ```
//!
//! Such a commit has the author, committer, dates and message of the merged commit, and no
//! configuration influences the merge: its hash is the same whenever and wherever it is made.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use gix_hash::ObjectId;
use gix_object::{Exists, FindExt, Kind, Write};

use super::objects::Objects;
use crate::git::git_command;
use crate::git::repository::Repository;
use crate::process::sync::locked;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The merges that were made, by their two commits; absent where the two conflict.
#[derive(Default)]
pub(super) struct Merges(Mutex<HashMap<(ObjectId, ObjectId), Option<ObjectId>>>);

impl Merges {
    /// Merges kept at most, at some 150 bytes each.
    const MAX_CACHED_MERGES: usize = 1 << 14;

    /// The result of merging others into one commit, made in the bare
    /// repository `ours`; `None` when they conflict.
    pub(super) fn commit(
        &self,
        ours: &Path,
        objects: &Objects,
        users: &Repository,
        commit: ObjectId,
        merged: &[ObjectId],
    ) -> Result<Option<ObjectId>, Error> {
        let mut so_far = commit;
        for &next in merged {
            let made = locked(&self.0).get(&(so_far, next)).copied();
            let made = match made {
                Some(None) => None,
                // Our repository may have been removed since.
                Some(Some(known)) if objects.exists(&known) => Some(known),
                _ => {
                    let made = merge(ours, objects, users, so_far, next)?;
                    let mut known = locked(&self.0);
                    if known.len() >= Self::MAX_CACHED_MERGES {
                        known.clear();
                    }
                    known.insert((so_far, next), made);
                    made
                }
            };
            match made {
                Some(made) => so_far = made,
                None => return Ok(None),
            }
        }
        Ok(Some(so_far))
    }
}

fn merge(
    ours: &Path,
    objects: &Objects,
    users: &Repository,
    commit: ObjectId,
    merged: ObjectId,
) -> Result<Option<ObjectId>, Error> {
    let Some(tree) = merged_tree(ours, users, commit, merged)? else {
        return Ok(None);
    };
    let mut buffer = Vec::new();
    let original = objects.find_commit(&merged, &mut buffer)?;
    let mut bytes = format!("tree {tree}\nparent {commit}\nparent {merged}\n").into_bytes();
    let headers = [
        (&b"author"[..], Some(original.author)),
        (b"committer", Some(original.committer)),
        (b"encoding", original.encoding),
    ];
    for (name, value) in headers {
        if let Some(value) = value {
            bytes.extend([name, b" ", value, b"\n"].concat());
        }
    }
    bytes.push(b'\n');
    bytes.extend_from_slice(original.message);
    Ok(Some(objects.write_buf(Kind::Commit, &bytes)?))
}

fn merged_tree(
    ours: &Path,
    users: &Repository,
    commit: ObjectId,
    merged: ObjectId,
) -> Result<Option<ObjectId>, Error> {
    let (commit, merged) = (commit.to_string(), merged.to_string());
    let arguments = [
        "merge-tree",
        "--write-tree",
        "--no-messages",
        "--allow-unrelated-histories",
        &commit,
        &merged,
    ];
    let mut command = git_command::git(ours);
    command
        .args(["-c", "core.attributesFile=/dev/null"])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1");
    let shallow = users.common_dir().join("shallow");
    if shallow.is_file() {
        // Where the user's history ends, merging must stop, too.
        command.env("GIT_SHALLOW_FILE", shallow);
    }
    let output = git_command::run(&mut command)?;
    match output.status.code() {
        Some(0) => {
            let tree = output.stdout.split(|byte| *byte == b'\n').next();
            Ok(Some(ObjectId::from_hex(tree.unwrap_or_default())?))
        }
        Some(1) => Ok(None),
        // This git is too old to try the merge: the two count as conflicting.
        _ if git_command::is_older_than(MERGES_SINCE)? => Ok(None),
        _ => Err(git_command::failed(&arguments, ours, &output).into()),
    }
}

/// The first git version that merges without a work tree.
const MERGES_SINCE: (u32, u32) = (2, 38);

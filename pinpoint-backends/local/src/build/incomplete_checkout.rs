//! Checks for parts of a commit that its work tree lacks: files that Git LFS keeps elsewhere, files
//! that a filter would have changed, and submodules.
//!
//! The check is made after the build command, which may have fetched them. A benchmark may not need
//! them, so this is not a failure; but a value measured with a pointer in place of its file is
//! wrong.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::git::git_command;
use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;
use crate::job_remarks::Remark;
use crate::listed::listed_paths;

/// The beginning of a Git LFS pointer.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";

/// The command that fetches the files that Git LFS keeps; a hint names it.
pub const LFS_PULL: &str = "git lfs pull";

/// The longest file of attributes that is read.
const MAX_ATTRIBUTES_BYTES: u64 = 1 << 20;

/// Describes the missing parts of a work tree, a sentence each; `users` is the repository of its
/// commit.
///
/// Cost: a list of the tracked files; and where attributes name filters, a list of the files that
/// have each.
pub(crate) fn lacks(
    tree: &Path,
    users: &Repository,
) -> Result<Vec<(Remark, String)>, RepositoryError> {
    let mut remarks = Vec::new();
    if !tree.join(".git").exists() {
        return Ok(remarks);
    }
    let (mut submodules, mut filters) = (Vec::new(), BTreeSet::new());
    for entry in git(tree, &["ls-files", "-z", "--stage"])?.split(|byte| *byte == 0) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else {
            continue;
        };
        let name = Path::new(OsStr::from_bytes(&entry[tab + 1..]));
        if entry.starts_with(b"160000 ") {
            if is_empty(&tree.join(name)) {
                submodules.push(name.to_owned());
            }
        } else if name.file_name() == Some(OsStr::new(".gitattributes")) {
            filters.extend(filters_in(&tree.join(name)));
        }
    }
    if !submodules.is_empty() {
        let (is, them) = match submodules.len() {
            1 => ("the submodule is", "it"),
            _ => ("submodules are", "them"),
        };
        remarks.push((
            Remark::Submodules,
            format!(
                "{is} not checked out in the work tree: {}; name a local clone of {them}, or have \
                 the build command fetch {them}",
                listed_paths(&submodules)
            ),
        ));
    }
    for filter in filters {
        let pattern = format!(":(attr:filter={filter})");
        let listed = git(tree, &["ls-files", "-z", "--", &pattern])?;
        let files = listed.split(|byte| *byte == 0);
        let mut files: Vec<PathBuf> = files
            .filter(|name| !name.is_empty())
            .map(|name| PathBuf::from(OsStr::from_bytes(name)))
            .collect();
        if filter == "lfs" {
            files.retain(|name| is_pointer(&tree.join(name)));
            if !files.is_empty() {
                remarks.push((
                    Remark::Pointers,
                    format!(
                        "files that Git LFS keeps are pointers in the work tree: {}; have the \
                         build command fetch them (`{LFS_PULL}`)",
                        listed_paths(&files)
                    ),
                ));
            }
        } else if !files.is_empty()
            && is_set(users.git(), &filter)
            && !is_set(git_command::git(tree), &filter)
        {
            remarks.push((
                Remark::Filter,
                format!(
                    "the filter `{filter}` of your repository's own configuration is not \
                     applied in work trees, so that files are as they are stored: {}; set it \
                     in your global configuration, or have the build command apply it",
                    listed_paths(&files)
                ),
            ));
        }
    }
    Ok(remarks)
}

fn git(tree: &Path, arguments: &[&str]) -> Result<Vec<u8>, RepositoryError> {
    let output = git_command::run(git_command::git(tree).args(arguments))?;
    if !output.status.success() {
        return Err(git_command::failed(arguments, tree, &output));
    }
    Ok(output.stdout)
}

/// Checks whether a command is set for files that are checked out.
fn is_set(mut git: Command, filter: &str) -> bool {
    let pattern = format!(
        r"^filter\.{}\.(smudge|process)$",
        filter.replace('.', r"\.")
    );
    git.args(["config", "--get-regexp", &pattern]);
    git_command::run(&mut git).is_ok_and(|output| output.status.success())
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none())
}

fn is_pointer(file: &Path) -> bool {
    let mut begin = [0; POINTER.len()];
    let is_file = fs::symlink_metadata(file).is_ok_and(|it| it.is_file());
    let read = |mut file: File| file.read_exact(&mut begin);
    is_file && File::open(file).and_then(read).is_ok() && begin == POINTER
}

/// The names of the filters that a file of attributes sets.
fn filters_in(attributes: &Path) -> Vec<String> {
    let mut bytes = Vec::new();
    let read = File::open(attributes)
        .and_then(|file| file.take(MAX_ATTRIBUTES_BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(str::split_ascii_whitespace);
    let names = words.filter_map(|word| word.strip_prefix("filter="));
    // Others could not be named in a pattern.
    let is_plain = |name: &&str| {
        !name.is_empty()
            && (name.bytes()).all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
    };
    names.filter(is_plain).map(str::to_owned).collect()
}

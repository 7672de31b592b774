//! The `git` command, which never writes to the user's repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::git::repository_error::RepositoryError;
use crate::process::environment::is_gits;

/// A `git` command independent of its surroundings: no `GIT_DIR` from a calling hook, no hooks, no
/// incidental writes, no questions on a terminal, no fetches.
pub(crate) fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args([
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
        "-c",
        "advice.detachedHead=false",
        // Files that Git LFS keeps elsewhere stay pointers. Where its filter is
        // required and not installed, nothing could be checked out at all.
        "-c",
        "filter.lfs.process=",
        "-c",
        "filter.lfs.smudge=",
        "-c",
        "filter.lfs.required=false",
    ]);
    for (name, _) in std::env::vars_os() {
        if is_gits(&name) {
            command.env_remove(name);
        }
    }
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        // The same for older git versions, which do not know the variable above.
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

/// Like [`git`], in one of our git directories. It is named explicitly, so that git does not check
/// `safe.bareRepository` and the owner; a user's repository is never named in this way.
pub(crate) fn git_at(git_dir: &Path) -> Command {
    let mut command = git(git_dir);
    command.arg("--git-dir").arg(git_dir);
    command
}

/// Like [`git`], in any directory of a user's repository.
///
/// Git finds the repository itself, and so checks its owner (`safe.directory`). A bare repository
/// was named by the user, which `safe.bareRepository=explicit` asks for. The clone of a submodule
/// (`.git/modules/NAME`) names a work tree that need not exist: git's own directory replaces it.
pub(super) fn git_in(place: &Path) -> Command {
    let mut command = git(place);
    if is_gits_own(place) {
        command
            .args(["-c", "safe.bareRepository=all"])
            .arg("--work-tree")
            .arg(place);
    }
    command
}

/// Checks whether git keeps a repository in the directory.
pub(super) fn is_gits_own(place: &Path) -> bool {
    ["HEAD", "objects", "refs"]
        .iter()
        .all(|name| place.join(name).exists())
}

/// The files of a work tree's index that match one of the patterns, relative to
/// the tree.
pub(crate) fn files(tree: &Path, patterns: &[&str]) -> Result<Vec<PathBuf>, RepositoryError> {
    let mut arguments = vec!["ls-files", "-z", "--"];
    arguments.extend(patterns);
    let output = run(git(tree).args(&arguments))?;
    if !output.status.success() {
        return Err(failed(&arguments, tree, &output));
    }
    let names = output.stdout.split(|byte| *byte == 0);
    Ok(names
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect())
}

/// The commits that a work tree's index has for submodules at these paths.
///
/// The paths come from a commit, which may name any number of any length: they are not passed as
/// arguments to a process. The whole index is listed, and searched.
pub(crate) fn gitlinks(
    tree: &Path,
    paths: &[String],
) -> Result<BTreeMap<String, String>, RepositoryError> {
    if paths.is_empty() {
        return Ok(BTreeMap::new());
    }
    let paths: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let arguments = ["ls-files", "--stage", "-z"];
    let output = run(git(tree).args(arguments))?;
    if !output.status.success() {
        return Err(failed(&arguments, tree, &output));
    }
    let entry = |line: &[u8]| {
        // `160000 <hash> 0<tab><path>`
        let line = std::str::from_utf8(line).ok()?.strip_prefix("160000 ")?;
        let (entry, path) = line.split_once('\t')?;
        let (hash, _stage) = entry.split_once(' ')?;
        paths.contains(path).then_some(())?;
        Some((path.to_owned(), hash.to_owned()))
    };
    let lines = output.stdout.split(|byte| *byte == 0);
    Ok(lines.filter_map(entry).collect())
}

/// The command that sets the commit of the submodule at a path, in the index of a work tree.
pub(crate) fn enter_gitlink(tree: &Path, hash: &str, path: &str) -> Command {
    let mut command = git(tree);
    command
        .args(["update-index", "--cacheinfo"])
        .arg(format!("160000,{hash},{path}"));
    command
}

/// Checks whether git is older than a version. An unreadable version is not.
pub(crate) fn is_older_than(wanted: (u32, u32)) -> Result<bool, RepositoryError> {
    let output = run(Command::new("git").arg("--version"))?;
    Ok(version(&last_line(&output.stdout)).is_some_and(|found| found < wanted))
}

/// Reads `git version 2.39.5 (Apple Git-154)`.
fn version(answer: &str) -> Option<(u32, u32)> {
    let mut numbers = answer.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[expect(clippy::disallowed_methods, reason = "git, which ends by itself")]
pub(crate) fn run(command: &mut Command) -> Result<Output, RepositoryError> {
    command.output().map_err(RepositoryError::not_started)
}

pub(crate) fn failed(arguments: &[&str], path: &Path, output: &Output) -> RepositoryError {
    RepositoryError::Git {
        command: arguments.join(" "),
        path: path.into(),
        status: output.status.to_string(),
        reason: last_line(&output.stderr),
    }
}

/// Names of people and subjects may be in any encoding; hashes are ASCII.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end()
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git_are_read_and_compared() {
        assert_eq!(version("git version 2.39.5"), Some((2, 39)));
        assert_eq!(version("git version 2.9.1 (Apple Git-1)"), Some((2, 9)));
        assert_eq!(version("git version 2.45.GIT"), Some((2, 45)));
        assert_eq!(version("hub version 2.14"), None);
        assert!(!is_older_than((2, 0)).unwrap());
        assert!(is_older_than((99, 0)).unwrap());
    }
}

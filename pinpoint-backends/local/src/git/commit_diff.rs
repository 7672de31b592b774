//! The changes of a commit, and the URL of its repository.

use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;

/// Git's arguments for a log in which a merge has the changes to its first parent, and a root
/// commit all its files, in all versions independent of the user's settings.
pub(crate) const FIRST_PARENT: [&str; 10] = [
    "-c",
    "log.diffMerges=first-parent",
    "-c",
    "log.showRoot=true",
    "-c",
    "diff.relative=false",
    "log",
    "--first-parent",
    "-m",
    "-O/dev/null",
];

/// The same of a log that follows all parents.
pub(crate) const ALL_PARENTS: [&str; 9] = [
    "-c",
    "log.diffMerges=first-parent",
    "-c",
    "log.showRoot=true",
    "-c",
    "diff.relative=false",
    "log",
    "-m",
    "-O/dev/null",
];

/// A file that a commit changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The path, from the top of the repository.
    pub path: String,
    /// Lines added and lines removed; absent for a file that has no lines.
    pub lines: Option<(u64, u64)>,
}

impl Repository {
    /// The files that a commit changes against its first parent, by path; a
    /// renamed file counts as removed and added.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::Git`] when the commit does not exist.
    pub fn changed_files(&self, hash: &str) -> Result<Vec<FileChange>, RepositoryError> {
        let mut arguments = FIRST_PARENT.to_vec();
        arguments.extend(["-1", "--format=", "--numstat", "-z"]);
        arguments.extend(["--no-renames", "--no-ext-diff", "--no-textconv"]);
        arguments.extend(["--no-show-signature", "--end-of-options", hash, "--"]);
        let answer = self.ask(&arguments)?;
        let entries = answer.split('\0').map(str::trim_start);
        let entries = entries.filter(|entry| !entry.is_empty());
        entries
            .map(|entry| {
                let mut fields = entry.splitn(3, '\t');
                let mut next = || fields.next();
                let (Some(added), Some(removed), Some(path)) = (next(), next(), next()) else {
                    return Err(RepositoryError::Answer {
                        command: "log --numstat".into(),
                        path: self.path().into(),
                        answer: entry.to_owned(),
                    });
                };
                Ok(FileChange {
                    path: path.to_owned(),
                    // Git says `-` of a file that it takes for binary.
                    lines: added.parse().ok().zip(removed.parse().ok()),
                })
            })
            .collect()
    }

    /// The lines by which a commit differs from another, or from its first parent where none is
    /// named: the text of `git diff` without unchanged lines.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::Git`] when one of them does not exist.
    pub fn changed_lines(&self, from: Option<&str>, to: &str) -> Result<String, RepositoryError> {
        let mut arguments = vec!["-c", "core.quotePath=false"];
        match from {
            Some(_) => arguments.extend(["-c", "diff.relative=false", "diff", "-O/dev/null"]),
            None => {
                arguments.extend(FIRST_PARENT);
                arguments.extend(["-1", "--format=", "--no-show-signature", "--patch"]);
            }
        }
        arguments.extend([
            "--unified=0",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
        ]);
        arguments.extend(["--no-renames", "--src-prefix=a/", "--dst-prefix=b/"]);
        arguments.push("--end-of-options");
        arguments.extend(from);
        arguments.extend([to, "--"]);
        self.ask(&arguments)
    }

    /// The URL of a remote: of `origin`, or else of the first one.
    ///
    /// # Errors
    ///
    /// When git can't be run.
    pub fn remote_url(&self) -> Result<Option<String>, RepositoryError> {
        // Git exits with 1 if no remote exists.
        let arguments = ["config", "--null", "--get-regexp", r"^remote\..*\.url$"];
        let answer = self.test(&arguments)?.unwrap_or_default();
        let remotes: Vec<(&str, &str)> = (answer.split('\0'))
            .filter_map(|entry| entry.split_once('\n'))
            .collect();
        let origin = remotes
            .iter()
            .find(|(name, _)| *name == "remote.origin.url");
        Ok(origin.or(remotes.first()).map(|(_, url)| (*url).to_owned()))
    }
}

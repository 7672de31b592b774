//! The first-parent line of a branch: the commits that a history numbers.

use crate::git::repository::Repository;
use crate::git::repository_error::RepositoryError;

/// The commits of a first-parent line, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstParentLine {
    /// True if these are the commits behind the known one; false if they are the whole line, from
    /// its root on.
    pub continues: bool,
    /// Their full hashes.
    pub hashes: Vec<String>,
}

/// A commit as a history lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCommit {
    /// Its full hash.
    pub git_hash: String,
    /// When it was committed: seconds of Unix time.
    pub time: i64,
    /// The author's name.
    pub author: String,
    /// The first line of the message.
    pub subject: String,
}

/// Names of main branches where no remote says which one it is.
const MAIN_BRANCHES: [&str; 2] = ["main", "master"];

impl Repository {
    /// The full name of the main branch: that of `origin`'s `HEAD`, or else `main` or `master`.
    ///
    /// It is the local branch, unless the clone has none, or has one that is behind `origin`'s and not
    /// checked out: then it is `origin`'s. `None` if no such branch exists.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::Git`].
    pub fn main_branch(&self) -> Result<Option<String>, RepositoryError> {
        let symbolic = |name: &str| self.test(&["symbolic-ref", "--quiet", name]);
        let origin = symbolic("refs/remotes/origin/HEAD")?;
        let origin = origin.as_deref().map(str::trim_end);
        let names = (origin
            .and_then(|it| it.strip_prefix("refs/remotes/origin/"))
            .into_iter())
        .chain(MAIN_BRANCHES);
        for name in names {
            let [here, there] = ["heads", "remotes/origin"].map(|of| format!("refs/{of}/{name}"));
            let [is_here, is_there] = [self.has_ref(&here)?, self.has_ref(&there)?];
            if !is_here && !is_there {
                continue;
            }
            let is_behind = is_here
                && is_there
                && symbolic("HEAD")?.is_none_or(|it| it.trim_end() != here)
                && self.is_before(&here, &there)?
                && !self.is_before(&there, &here)?;
            return Ok(Some(if is_here && !is_behind { here } else { there }));
        }
        Ok(None)
    }

    /// Returns true if the history of the later commit holds the earlier one, or if both are the same.
    fn is_before(&self, earlier: &str, later: &str) -> Result<bool, RepositoryError> {
        let found = self.test(&["merge-base", "--is-ancestor", earlier, later])?;
        Ok(found.is_some())
    }

    fn has_ref(&self, name: &str) -> Result<bool, RepositoryError> {
        let found = self.test(&["show-ref", "--verify", "--quiet", name])?;
        Ok(found.is_some())
    }

    /// The first-parent line of a commit, given by any name. With the full hash of a `known` commit on
    /// it, those behind that one alone; the whole line if it is not on it, or not here.
    ///
    /// # Errors
    ///
    /// As of [`resolve_revision`](Self::resolve_revision), and [`RepositoryError::CutOff`] for the whole
    /// line in a shallow clone.
    pub fn first_parent_line(
        &self,
        tip: &str,
        known: Option<&str>,
    ) -> Result<FirstParentLine, RepositoryError> {
        let tip = self.full_hash(tip)?;
        if let Some(known) = known
            && let Some(hashes) = self.line_behind(&tip, known)?
        {
            return Ok(FirstParentLine {
                continues: true,
                hashes,
            });
        }
        if self.is_shallow()? {
            return Err(RepositoryError::CutOff {
                path: self.path().to_owned(),
            });
        }
        Ok(FirstParentLine {
            continues: false,
            hashes: self.line(&tip)?,
        })
    }

    fn line(&self, range: &str) -> Result<Vec<String>, RepositoryError> {
        let arguments = ["rev-list", "--first-parent", "--reverse"];
        let answer = self.ask(&[&arguments[..], &["--end-of-options", range, "--"]].concat())?;
        Ok(answer.lines().map(str::to_owned).collect())
    }

    /// The line behind a commit, if that is on it.
    fn line_behind(&self, tip: &str, known: &str) -> Result<Option<Vec<String>>, RepositoryError> {
        if matches!(
            self.full_hash(known),
            Err(RepositoryError::UnknownRevision { .. })
        ) {
            return Ok(None);
        }
        let hashes = self.line(&format!("{known}..{tip}"))?;
        let Some(oldest) = hashes.first() else {
            // The known commit comes later, or is the same.
            return Ok(Some(hashes));
        };
        let arguments = ["rev-list", "--parents", "--max-count=1"];
        let parents = self.ask(&[&arguments[..], &["--end-of-options", oldest, "--"]].concat())?;
        let is_next = parents.split_whitespace().nth(1) == Some(known);
        Ok(is_next.then_some(hashes))
    }

    /// Describes commits by their full hashes, in that order. For many, call it with some thousand at
    /// a time.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::Git`], also for a hash that is not here.
    pub fn line_commits(&self, hashes: &[String]) -> Result<Vec<LineCommit>, RepositoryError> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let mut arguments = vec![
            "log",
            "--no-walk=unsorted",
            "--no-show-signature",
            "--no-mailmap",
            "--no-notes",
            "--no-patch",
            "--encoding=UTF-8",
            "--format=tformat:%H%x00%ct%x00%an%x00%s",
            "--end-of-options",
        ];
        arguments.extend(hashes.iter().map(String::as_str));
        arguments.push("--");
        let answer = self.ask(&arguments)?;
        let commit = |line: &str| {
            let mut fields = line.splitn(4, '\0');
            Some(LineCommit {
                git_hash: fields.next()?.to_owned(),
                time: fields.next()?.parse().ok()?,
                author: fields.next()?.to_owned(),
                subject: fields.next()?.to_owned(),
            })
        };
        let commits: Option<Vec<LineCommit>> = answer.lines().map(commit).collect();
        let commits = commits.filter(|it| it.len() == hashes.len());
        commits.ok_or_else(|| RepositoryError::Answer {
            command: "log --no-walk".into(),
            path: self.path().to_owned(),
            answer: answer.chars().take(200).collect(),
        })
    }
}

//! The user's repository, read through the `git` command and never written.

use std::path::{Path, PathBuf};
use std::process::Command;

use pinpoint_core::Commit;

use crate::git::git_command::{failed, git, git_in, is_gits_own, run, text};
use crate::git::repository_error::RepositoryError;
use crate::git::repository_location::RepositoryLocation;

/// The longest name of a commit, in bytes. On most systems, each part of a branch name has at most
/// 255.
const MAX_NAME: usize = 4_096;

/// A git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The user's directory: `HEAD` is the one of this work tree.
    place: PathBuf,
    /// The `.git` that all work trees share.
    common_dir: PathBuf,
    path: PathBuf,
    /// `sha1` or `sha256`.
    object_format: String,
}

impl Repository {
    /// The repository of a job, where it is on this machine.
    ///
    /// # Errors
    ///
    /// As of [`discover`](Self::discover), and [`RepositoryError::NotCloned`] for a URL.
    pub fn at(location: &RepositoryLocation) -> Result<Self, RepositoryError> {
        match location {
            RepositoryLocation::Path(path) => Self::discover(path),
            RepositoryLocation::Url(url) => Err(RepositoryError::NotCloned { url: url.clone() }),
        }
    }

    /// The repository that a directory is in.
    ///
    /// Git decides whether it may be used: it refuses one that belongs to another user
    /// (`safe.directory`), and a bare one at `.` where these must be named (`safe.bareRepository`).
    /// Any other path names it.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::NoGit`], and [`RepositoryError::NotARepository`] also for a path that
    /// does not exist.
    pub fn discover(path: &Path) -> Result<Self, RepositoryError> {
        let not_one = |reason: String| RepositoryError::NotARepository {
            // "." would not tell the location.
            path: std::path::absolute(path).unwrap_or_else(|_| path.into()),
            reason,
        };
        let mut place = path
            .canonicalize()
            .map_err(|error| not_one(error.to_string()))?;
        // A user trusts the work tree (`safe.directory`).
        if place.ends_with(".git") && is_gits_own(&place) {
            place.pop();
        }
        let mut command = match path == Path::new(".") {
            true => git(&place),
            false => git_in(&place),
        };
        let output = run(command.args(["rev-parse", "--git-common-dir", "--show-object-format"]))?;
        if !output.status.success() {
            // The advice for another user's repository takes several lines.
            let reason = text(&output.stderr);
            let words: Vec<&str> = reason.split_whitespace().collect();
            return Err(not_one(words.join(" ")));
        }
        let answer = text(&output.stdout);
        let (common_dir, object_format) = { answer.trim_end().rsplit_once('\n') }
            .ok_or_else(|| not_one(format!("git answers {answer:?}")))?;
        let common_dir = place
            .join(common_dir)
            .canonicalize()
            .map_err(|error| not_one(error.to_string()))?;
        let path = match common_dir.parent() {
            Some(parent) if common_dir.ends_with(".git") => parent.to_owned(),
            _ => common_dir.clone(),
        };
        Ok(Self {
            place,
            common_dir,
            path,
            object_format: object_format.to_owned(),
        })
    }

    /// The repository's name: the main work tree, or the bare repository, the
    /// same from wherever in it [`discover`](Self::discover) was called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The `.git` that all work trees share.
    pub(crate) fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    pub(crate) fn git(&self) -> Command {
        git_in(&self.place)
    }

    /// The tags, one to a line: the target of each, and its full name, in order.
    pub(crate) fn tags(&self) -> Result<Vec<u8>, RepositoryError> {
        let arguments = [
            "for-each-ref",
            "--sort=refname",
            "--format=%(objectname) %(refname)",
            "refs/tags",
        ];
        let output = run(self.git().args(arguments))?;
        if !output.status.success() {
            return Err(failed(&arguments, &self.path, &output));
        }
        Ok(output.stdout)
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    pub(crate) fn object_format(&self) -> &str {
        &self.object_format
    }

    /// The commit of a name (branch, tag, hash, `HEAD~3`), with its details.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::UnknownRevision`], and [`RepositoryError::Ambiguous`] for the beginning
    /// of several hashes.
    pub fn resolve_revision(&self, revision: &str) -> Result<Commit, RepositoryError> {
        self.describe(&self.full_hash(revision)?)
    }

    /// The full hash of the commit with this name.
    pub(crate) fn full_hash(&self, revision: &str) -> Result<String, RepositoryError> {
        let unknown = |shallow| RepositoryError::UnknownRevision {
            revision: revision.to_owned(),
            path: self.path.clone(),
            shallow,
        };
        // A manifest may name anything: a process argument can't be as long, or contain a
        // NUL.
        if revision.len() > MAX_NAME || revision.contains('\0') {
            return Err(unknown(false));
        }
        // After `--end-of-options` names are not taken for flags.
        let output = run(self
            .git()
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{revision}^{{commit}}")))?;
        let hash = text(&output.stdout);
        // Git 2.30 repeats `--end-of-options` in its answer.
        let hash = hash.lines().last().unwrap_or_default();
        // `^main` is a commit to leave out, which git answers with `^` and the hash.
        let is_hash = !hash.is_empty() && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !output.status.success() || !is_hash {
            return Err(if self.is_ambiguous(revision)? {
                let (revision, path) = (revision.to_owned(), self.path.clone());
                RepositoryError::Ambiguous { revision, path }
            } else if self.is_empty()? {
                let path = self.path.clone();
                RepositoryError::NoCommits { path }
            } else {
                unknown(self.is_shallow()?)
            });
        }
        Ok(hash.to_owned())
    }

    /// A commit by its full hash, with its details.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::Git`] when the commit does not exist.
    pub fn describe(&self, hash: &str) -> Result<Commit, RepositoryError> {
        let [commit] = <[Commit; 1]>::try_from(self.describe_all(&[hash])?).map_err(|commits| {
            RepositoryError::Answer {
                command: "log".into(),
                path: self.path.clone(),
                answer: format!("{} commits for {hash}", commits.len()),
            }
        })?;
        Ok(commit)
    }

    /// Commits by their full hashes, in the same order, at the cost of one call of git for a
    /// thousand of them.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::Git`] when one of them does not exist.
    pub fn describe_all(&self, hashes: &[&str]) -> Result<Vec<Commit>, RepositoryError> {
        /// Well below the limit of any system for a command line.
        const AT_ONCE: usize = 1_000;
        let mut commits = Vec::with_capacity(hashes.len());
        for some in hashes.chunks(AT_ONCE) {
            let mut arguments = vec![
                "log",
                "--no-walk=unsorted",
                "--no-show-signature",
                "--no-mailmap",
                // This overrides `i18n.logOutputEncoding`.
                "--encoding=UTF-8",
                "--format=%H%x00%an <%ae>%x00%cI%x00%s",
                "--end-of-options",
            ];
            arguments.extend(some);
            arguments.push("--");
            let answer = self.ask(&arguments)?;
            for line in answer.lines() {
                let fields: Vec<&str> = line.split('\0').collect();
                let [hash, author, created, subject] = fields[..] else {
                    return Err(RepositoryError::Answer {
                        command: "log".into(),
                        path: self.path.clone(),
                        answer: line.to_owned(),
                    });
                };
                commits.push(Commit {
                    repository: self.path.to_string_lossy().into_owned(),
                    git_hash: hash.into(),
                    merged: Vec::new(),
                    author: Some(author.into()),
                    created: Some(created.into()),
                    subject: Some(subject.into()),
                });
            }
        }
        Ok(commits)
    }

    /// Checks that there is a range to search between two commits, named by full hashes.
    ///
    /// The good end is part of the bad end's history, or both come from a common commit: then the
    /// range leads from the good end back to that one and on to the bad end. Returns the newest
    /// common commits in the second case, and nothing in the first.
    ///
    /// # Errors
    ///
    /// One error for each reason why no range exists.
    pub fn range_check(&self, good: &str, bad: &str) -> Result<Vec<String>, RepositoryError> {
        if good == bad {
            return Err(RepositoryError::SameCommit {
                commit: good.into(),
            });
        }
        let merge_bases = self.merge_bases(good, bad)?;
        match merge_bases.first().map(String::as_str) {
            None => Err(RepositoryError::NoCommonHistory {
                good: good.into(),
                bad: bad.into(),
                shallow: self.is_shallow()?,
            }),
            Some(base) if base == good => Ok(Vec::new()),
            Some(base) if base == bad => Err(RepositoryError::Reversed {
                good: good.into(),
                bad: bad.into(),
            }),
            Some(_) => Ok(merge_bases),
        }
    }

    /// The newest commits that two have in common, the best first; empty without a common history.
    pub(crate) fn merge_bases(
        &self,
        one: &str,
        other: &str,
    ) -> Result<Vec<String>, RepositoryError> {
        let answer = self.test(&["merge-base", "--all", one, other])?;
        let bases = answer.iter().flat_map(|answer| answer.lines());
        Ok(bases.map(str::to_owned).collect())
    }

    /// Makes paths that are relative to the place of discovery relative to the top of the
    /// repository.
    ///
    /// # Errors
    ///
    /// [`RepositoryError::NothingTouches`] when no commit between the ends, the newer one included,
    /// touches any of them.
    pub fn paths_between(
        &self,
        good: &str,
        bad: &str,
        paths: &[String],
    ) -> Result<Vec<String>, RepositoryError> {
        let prefix = self.ask(&["rev-parse", "--show-prefix"])?;
        let prefix = prefix.trim_end_matches('\n');
        let paths: Vec<String> = paths
            .iter()
            .map(|path| match path.as_bytes().first() {
                Some(b'/' | b':') => path.clone(),
                _ => format!("{prefix}{path}"),
            })
            .collect();
        if !paths.is_empty() {
            self.check_paths(good, bad, &paths)?;
            let excluded = format!("^{good}");
            let mut arguments = vec!["rev-list", "--first-parent", "-1", bad, &excluded, "--"];
            let from_top: Vec<String> = paths
                .iter()
                .map(|path| match path.as_bytes().first() {
                    Some(b'/' | b':') => path.clone(),
                    _ => format!(":(top){path}"),
                })
                .collect();
            arguments.extend(from_top.iter().map(String::as_str));
            if self.ask(&arguments)?.is_empty() && self.range(good, bad, &from_top)?.count() == 0 {
                return Err(RepositoryError::NothingTouches {
                    good: good.into(),
                    bad: bad.into(),
                    paths,
                });
            }
        }
        Ok(paths)
    }

    /// Checks whether a name starts with the beginning of several hashes.
    fn is_ambiguous(&self, revision: &str) -> Result<bool, RepositoryError> {
        let digits = revision.split(['~', '^']).next().unwrap_or_default();
        if digits.len() < 4 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Ok(false);
        }
        let objects = self.ask(&["rev-parse", &format!("--disambiguate={digits}")])?;
        Ok(objects.lines().count() > 1)
    }

    /// The files of a commit that a partial clone lacks, as an error; `None` when it
    /// has them all, or is not partial.
    pub(crate) fn lacking(&self, commit: &str) -> Result<Option<RepositoryError>, RepositoryError> {
        let partial = r"^(extensions\.partialclone|remote\..*\.promisor)$";
        if self.test(&["config", "--get-regexp", partial])?.is_none() {
            return Ok(None);
        }
        let arguments = ["rev-list", "--objects", "--no-walk", "--missing=print"];
        let output = run(self.git().args(arguments).arg(commit))?;
        if !output.status.success() {
            // One of our merges, which the clone does not have.
            return Ok(None);
        }
        let objects = text(&output.stdout);
        let mut missing = objects.lines().filter_map(|line| line.strip_prefix('?'));
        let Some(first) = missing.next() else {
            return Ok(None);
        };
        // Succeeds only where all directories exist.
        let output = run(self.git().args(["ls-tree", "-r", "-z", commit]))?;
        let files = text(&output.stdout);
        let name = files.split('\0').find_map(|line| {
            let (entry, name) = line.split_once('\t')?;
            entry.ends_with(first).then_some(name)
        });
        Ok(Some(RepositoryError::Partial {
            path: self.path.clone(),
            commit: commit.to_owned(),
            count: 1 + missing.count(),
            first: match name {
                Some(name) => format!("{first} ({name})"),
                None => first.to_owned(),
            },
        }))
    }

    /// Checks that no branch, tag or `HEAD` names a commit.
    fn is_empty(&self) -> Result<bool, RepositoryError> {
        let head = self.test(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
        Ok(head.is_none() && self.ask(&["for-each-ref", "--count=1"])?.is_empty())
    }

    /// The directory in its work tree where it was discovered, as in `bench/`; empty at the top,
    /// and without a work tree.
    pub fn prefix(&self) -> Result<String, RepositoryError> {
        let prefix = self.ask(&["rev-parse", "--show-prefix"])?;
        Ok(prefix.trim_end_matches('\n').to_owned())
    }

    pub(crate) fn is_shallow(&self) -> Result<bool, RepositoryError> {
        Ok(self
            .ask(&["rev-parse", "--is-shallow-repository"])?
            .trim_end()
            == "true")
    }

    /// The answer of git; `None` when it exits with 1.
    pub(crate) fn test(&self, arguments: &[&str]) -> Result<Option<String>, RepositoryError> {
        let output = run(self.git().args(arguments))?;
        match output.status.code() {
            Some(0) => Ok(Some(text(&output.stdout))),
            Some(1) => Ok(None),
            _ => Err(failed(arguments, &self.path, &output)),
        }
    }

    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, RepositoryError> {
        let output = run(self.git().args(arguments))?;
        if !output.status.success() {
            return Err(failed(arguments, &self.path, &output));
        }
        Ok(text(&output.stdout))
    }
}

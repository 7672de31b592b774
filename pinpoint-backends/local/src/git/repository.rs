//! The user's repository, read through the `git` command and never written.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pinpoint_core::Commit;

use crate::git::mirrors::Mirror;

/// Trouble with a repository or a revision.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// `git` is not installed.
    #[error("the git command can't be started: {0}; install git 2.30 or newer, or correct PATH")]
    NoGit(#[source] io::Error),
    /// `git` is installed, but the system can't start it now.
    #[error("the git command can't be started: {0}")]
    NotStarted(#[source] io::Error),
    /// The clone is partial, and lacks files for the checkout.
    #[error("the clone {path} is partial: of commit {commit} it lacks {}, first {first}; fetch all that is missing with `git -C {path} fetch --refetch --no-filter`", if *.count == 1 { "one object".into() } else { format!("{count} objects") }, path = path.display())]
    Partial {
        /// The clone.
        path: PathBuf,
        /// The commit.
        commit: String,
        /// The number of missing objects.
        count: usize,
        /// One of them: its hash, and the name of the file if known.
        first: String,
    },
    /// The directory is not in a repository.
    #[error("{path} is not in a git repository ({reason})", path = path.display())]
    NotARepository {
        /// The place.
        path: PathBuf,
        /// The error of git.
        reason: String,
    },
    /// No commit has this name.
    #[error("{path} has no commit {revision}; {}", fetch_hint(*.shallow), path = path.display())]
    UnknownRevision {
        /// The name given.
        revision: String,
        /// The repository.
        path: PathBuf,
        /// Its history is cut off.
        shallow: bool,
    },
    /// Several commits have this name.
    #[error("{path} has several commits that begin with {revision}; write more of the hash", path = path.display())]
    Ambiguous {
        /// The name given.
        revision: String,
        /// The repository.
        path: PathBuf,
    },
    /// Nothing was committed yet.
    #[error("the repository {path} has no commits yet; commit what is to be measured, or fetch its history", path = path.display())]
    NoCommits {
        /// The repository.
        path: PathBuf,
    },
    /// The ends are the same commit.
    #[error(
        "the good and the bad end are the same commit {commit}; choose two commits between which performance changed"
    )]
    SameCommit {
        /// That commit.
        commit: String,
    },
    /// The ends are in the wrong order.
    #[error(
        "the ends are reversed: the good commit {good} comes after the bad one {bad}; swap them (and the direction, if you are looking for a speed-up)"
    )]
    Reversed {
        /// The end called good.
        good: String,
        /// The end called bad.
        bad: String,
    },
    /// The histories of the ends parted at several commits, or the range can't be narrowed to
    /// paths.
    #[error(
        "the good commit {good} is not part of the bad one's history: their histories parted at {}, so {what}",
        .merge_bases.join(" and "),
    )]
    Parted {
        /// The good end.
        good: String,
        /// The bad end.
        bad: String,
        /// The newest commits that both have.
        merge_bases: Vec<String>,
        /// The unsupported action, and advice.
        what: &'static str,
    },
    /// The ends have no common history.
    #[error("{good} and {bad} have no common history{}", if *.shallow { ": this clone is shallow; complete it with `git fetch --unshallow`" } else { "; choose two commits of one line of history" })]
    NoCommonHistory {
        /// The good end.
        good: String,
        /// The bad end.
        bad: String,
        /// The history is cut off.
        shallow: bool,
    },
    /// No commit of the range touches the paths.
    #[error("no commit from {good} to {bad} touches {}; check the paths", .paths.join(", "))]
    NothingTouches {
        /// The good end.
        good: String,
        /// The bad end.
        bad: String,
        /// The paths, from the top of the repository.
        paths: Vec<String>,
    },
    /// Other machines can't fetch the repository from anywhere.
    #[error("{path} has no remote from which other machines can fetch it; add one with `git remote add`, and push", path = path.display())]
    NoRemote {
        /// The repository.
        path: PathBuf,
    },
    /// Other machines can't fetch a commit.
    #[error("no branch of the remote {remote} of {path} holds commit {commit}, so other machines can't build it; push it, or `git fetch {remote}` if it is there", path = path.display())]
    NotPublished {
        /// The repository.
        path: PathBuf,
        /// The first of its remotes.
        remote: String,
        /// The commit.
        commit: String,
    },
    /// Git failed unexpectedly.
    #[error("`git {command}` failed in {path} ({status}): {reason}", path = path.display())]
    Git {
        /// The git command.
        command: String,
        /// The repository.
        path: PathBuf,
        /// The exit status.
        status: String,
        /// Its error output.
        reason: String,
    },
    /// Git's answer is not understood.
    #[error("`git {command}` in {path} gave an unexpected answer: {answer:?}; report it, with the output of `git --version`", path = path.display())]
    Answer {
        /// The git command.
        command: String,
        /// The repository.
        path: PathBuf,
        /// Its answer.
        answer: String,
    },
}

/// The longest name of a commit, in bytes. On most systems, each part of a branch name has at most
/// 255.
const MAX_NAME: usize = 4_096;

pub(crate) fn fetch_hint(shallow: bool) -> &'static str {
    if shallow {
        "this clone is shallow: `git fetch --unshallow` brings the rest of its history"
    } else {
        "check the spelling, or `git fetch` it first"
    }
}

impl RepositoryError {
    /// The error when `git` could not be started.
    pub(crate) fn not_started(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Self::NoGit(source),
            _ => Self::NotStarted(source),
        }
    }
}

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
fn git_in(place: &Path) -> Command {
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
fn is_gits_own(place: &Path) -> bool {
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

/// Checks whether the variable determines where or how git works.
pub(crate) fn is_gits(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"GIT_")
}

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
    /// Fetches missing commits.
    mirror: Option<Mirror>,
}

impl Repository {
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
            mirror: None,
        })
    }

    /// The repository's name: the main work tree, or the bare repository, the
    /// same from wherever in it [`discover`](Self::discover) was called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the mirror that fetches for this repository.
    pub(crate) fn mirroring(self, mirror: Mirror) -> Self {
        let mirror = Some(mirror);
        Self { mirror, ..self }
    }

    /// Removes the mirror, so that nothing is fetched.
    pub(crate) fn without_mirror(self) -> Self {
        let mirror = None;
        Self { mirror, ..self }
    }

    /// The mirror, where missing commits can be fetched.
    pub(crate) fn mirror(&self) -> Option<&Mirror> {
        self.mirror.as_ref()
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

    fn is_shallow(&self) -> Result<bool, RepositoryError> {
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

/// Full hashes, one to a line: 41 bytes a commit, however long the range.
#[derive(Debug)]
pub(crate) struct Hashes(pub(crate) String);

impl Hashes {
    fn line(&self) -> usize {
        self.0.find('\n').map_or(1, |end| end + 1)
    }

    pub(crate) fn count(&self) -> u64 {
        (self.0.len() / self.line()) as u64
    }

    pub(crate) fn get(&self, offset: u64) -> Option<&str> {
        let start = usize::try_from(offset).ok()?.checked_mul(self.line())?;
        self.0.get(start..)?.lines().next()
    }
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
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn last_line(bytes: &[u8]) -> String {
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

//! Errors of a repository.

use std::io;
use std::path::PathBuf;

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
    /// The repository is only known by its URL.
    #[error("there is no clone of {url} on this machine")]
    NotCloned {
        /// The URL.
        url: String,
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
    /// The commits of a line can't be counted from its root.
    #[error("the clone {path} is shallow, so that its commits can't be counted from the first one; complete it with `git fetch --unshallow`", path = path.display())]
    CutOff {
        /// The clone.
        path: PathBuf,
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

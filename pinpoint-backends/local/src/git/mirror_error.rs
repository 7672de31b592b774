//! Errors of mirrors.

use crate::git::remote_url::RemoteUrlError;

/// A repository is not available from its URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The job does not name its URL.
    #[error(
        "the job does not say from where its repository {name} can be fetched; it was created in a repository without a usable remote"
    )]
    NoUrl {
        /// Its name in the job.
        name: String,
    },
    /// The URL can't be fetched.
    #[error("a repository of the job can't be fetched: its URL is not valid: {0}")]
    Url(#[from] RemoteUrlError),
    /// No pattern permits the repository.
    #[error("this machine may not fetch {url}, and was given no clone of it")]
    NotPermitted {
        /// The URL.
        url: String,
    },
    /// The repository was fetched, but has no such commit.
    #[error("{url} has no commit {revision}; push it there")]
    NoCommit {
        /// The URL.
        url: String,
        /// The commit.
        revision: String,
    },
    /// Git could not fetch it.
    #[error("{url} can't be fetched: {reason}")]
    Fetch {
        /// The URL.
        url: String,
        /// The errors of git.
        reason: String,
    },
}

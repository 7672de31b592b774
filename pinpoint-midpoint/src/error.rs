//! Errors of finding the commits between two others.

use crate::HistoryError;
use crate::manifest::ManifestError;

/// The reason why no search is possible between two commits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MidpointError {
    /// They are the same.
    #[error("both ends are {0}; choose two commits that differ")]
    SameCommit(String),
    /// They belong to different repositories.
    #[error("{lower} and {higher} are different repositories; choose two commits of one")]
    DifferentRepositories {
        /// The older end's.
        lower: String,
        /// The newer end's.
        higher: String,
    },
    /// They also differ in other things than commits.
    #[error("the two ends carry different patches; use the same patch, or none, on both")]
    DifferentPatches,
    /// The higher end is part of the lower one's history.
    #[error("the ends are reversed: {lower} comes after {higher}; swap them")]
    Reversed {
        /// The end given as the older one.
        lower: String,
        /// The end given as the newer one.
        higher: String,
    },
    /// Neither is part of the other's history.
    #[error("{lower} is not in the history of {higher}; choose two commits of one branch")]
    Apart {
        /// The older end.
        lower: String,
        /// The newer end.
        higher: String,
    },
    /// A dependency is held at a revision, but nothing names it.
    #[error(
        "{repository} at {revision} names no dependency {dependency}; hold only dependencies that its manifests name, the outer ones first"
    )]
    NotNamed {
        /// The dependency.
        dependency: String,
        /// The repository that should name it.
        repository: String,
        /// Its revision.
        revision: String,
    },
    /// A required manifest can't be understood.
    #[error("in {repository} at {revision}: {source}")]
    Manifest {
        /// The repository that holds it.
        repository: String,
        /// Its revision.
        revision: String,
        /// The problem.
        #[source]
        source: Box<ManifestError>,
    },
    /// The offset is outside of the range.
    #[error("there is no commit at offset {offset}, for {count} lie between the ends")]
    NoSuchOffset {
        /// The requested offset.
        offset: u64,
        /// Commits between the ends.
        count: u64,
    },
    /// A repository did not answer.
    #[error(transparent)]
    History(#[from] HistoryError),
}

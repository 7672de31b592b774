//! `[commits]`: the lookup of commits.

use pinpoint_backends::local::RepositoryPattern;
use serde::Deserialize;

/// The lookup of commits that requests name by `HEAD`, a position or a part of their hash. Mirrors
/// of their repositories are kept in the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commits {
    /// The repositories that may be fetched: patterns of their URLs.
    #[serde(deserialize_with = "super::patterns")]
    pub allow_repositories: Vec<RepositoryPattern>,
    /// The repository that GetCommit looks into; the one that all bots have, where they have
    /// one.
    #[serde(default)]
    pub main_repository: Option<String>,
}

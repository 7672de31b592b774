//! A dependency in one version of a manifest.

use serde::{Deserialize, Serialize};

/// The source and the manifests of a dependency.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dependency {
    /// Its location and revision.
    pub source: Source,
    /// The condition for its use, from the manifest: `checkout_linux and not build_with_chromium`;
    /// absent if it is always used.
    ///
    /// It is not evaluated, since it depends on the machine that builds: a dependency with a
    /// condition is a possible cause, too.
    #[serde(default)]
    pub condition: Option<String>,
    /// The manifests in the dependency's own repository that the build uses, by their
    /// [`Manifest::file`](super::Manifest::file). A roll inside the dependency is followed through
    /// these only: Cargo ignores the lock file of a dependency, gclient the `DEPS` of one that is
    /// not in `recursedeps`.
    #[serde(default)]
    pub nested: Vec<String>,
}

impl From<Source> for Dependency {
    /// Always used, without effective manifests.
    fn from(source: Source) -> Self {
        Self {
            source,
            condition: None,
            nested: Vec::new(),
        }
    }
}

/// The source of a dependency.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// A git repository, which can be followed.
    Git {
        /// As written in the manifest. A submodule's may be relative to the repository that names
        /// it: see [`resolve_url`](super::resolve_url).
        url: String,
        /// A full hash where the manifest has one; otherwise the abbreviated hash of a Go
        /// pseudo-version, a tag or a branch.
        revision: String,
    },
    /// Something built elsewhere, or whose history cannot be found: it is named
    /// as a possible cause, and not followed.
    Package {
        /// The registry: `cipd`, `gcs`, the address of a Cargo registry, `go`. `git` is a git
        /// repository whose location or revision the manifest leaves open.
        registry: String,
        /// Its name there.
        name: String,
        /// Its version.
        version: String,
    },
}

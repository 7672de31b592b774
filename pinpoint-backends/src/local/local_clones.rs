//! The local clones of repositories that builds may need.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use super::error::LocalError;
use super::history::LocalRepositories;
use super::repository::{Repository, RepositoryError};
use super::sync::locked;

/// Repositories on this machine, by their URLs.
///
/// A manifest may name hundreds, and looking for one that does not exist takes
/// reading the configuration of every submodule: each is looked for once.
pub(super) struct LocalClones {
    repositories: LocalRepositories,
    /// Names the repositories that are available.
    names: Vec<String>,
    known: Mutex<BTreeMap<String, Option<Repository>>>,
}

impl LocalClones {
    /// Looks among `repositories`; `named` are those of the user.
    ///
    /// # Errors
    ///
    /// When there is no repository at a place that the user named: it would be
    /// silently left out of builds otherwise.
    pub(super) fn open(
        repositories: LocalRepositories,
        named: &BTreeMap<String, PathBuf>,
    ) -> Result<Self, LocalError> {
        for place in named.values() {
            Repository::discover(place)?;
        }
        let submodules = repositories.submodules();
        let submodules = submodules.iter().map(|clone| clone.display().to_string());
        Ok(Self {
            names: named.keys().cloned().chain(submodules).collect(),
            repositories,
            known: Mutex::default(),
        })
    }

    /// The local clone of a repository.
    ///
    /// # Errors
    ///
    /// When there is one that git refuses to read: leaving it out would change the build.
    pub(super) fn locate(&self, repository: &str) -> Result<Option<Repository>, RepositoryError> {
        let mut known = locked(&self.known);
        if let Some(clone) = known.get(repository) {
            return Ok(clone.clone());
        }
        let clone = self.repositories.locate(repository)?;
        known.insert(repository.to_owned(), clone.clone());
        Ok(clone)
    }

    /// Do two names mean the same repository?
    pub(super) fn same(&self, one: &str, other: &str) -> bool {
        one == other
            || match (self.locate(one), self.locate(other)) {
                (Ok(Some(one)), Ok(Some(other))) => one.path() == other.path(),
                _ => false,
            }
    }

    /// The URLs that the user named, and the clones of submodules: while they
    /// are the same, so are the repositories that are available locally.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

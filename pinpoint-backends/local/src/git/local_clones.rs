//! The local clones of repositories that builds may need.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use pinpoint_core::CombinedCommit;

use crate::error::LocalError;
use crate::git::history::LocalRepositories;
use crate::git::mirrors::{FetchingBuild, LocatedRepository};
use crate::git::remotes::by_url;
use crate::git::repository::Repository;
use crate::process::sync::locked;

/// Repositories on this machine, by their URLs.
///
/// A manifest may name hundreds, and looking for one that does not exist takes
/// reading the configuration of every submodule: each is looked for once.
pub(crate) struct LocalClones {
    repositories: LocalRepositories,
    /// Names the repositories that are available.
    names: Vec<String>,
    known: Mutex<BTreeMap<String, Option<LocatedRepository>>>,
}

impl LocalClones {
    /// Opens the `repositories`; `named` are those of the user.
    ///
    /// # Errors
    ///
    /// When a path that the user named has no repository: builds would silently lack it otherwise.
    pub(crate) fn open(
        repositories: LocalRepositories,
        named: &BTreeMap<String, PathBuf>,
    ) -> Result<Self, LocalError> {
        let names = match repositories.urls() {
            Some(urls) => urls.into_iter().collect(),
            None => {
                for place in named.values() {
                    Repository::discover(place)?;
                }
                let submodules = repositories.submodules();
                let submodules = submodules.iter().map(|clone| clone.display().to_string());
                named.keys().cloned().chain(submodules).collect()
            }
        };
        Ok(Self {
            names,
            repositories,
            known: Mutex::default(),
        })
    }

    /// The local clone of a repository, which a build needs.
    ///
    /// # Errors
    ///
    /// When git refuses to read it, or it can't be fetched: leaving it out would change the build.
    pub(crate) async fn locate(
        &self,
        repository: &str,
        build: Option<&dyn FetchingBuild>,
    ) -> Result<Option<LocatedRepository>, LocalError> {
        if let Some(clone) = locked(&self.known).get(repository) {
            return Ok(clone.clone());
        }
        let clone = self.repositories.locate(repository, build).await?;
        locked(&self.known).insert(repository.to_owned(), clone.clone());
        Ok(clone)
    }

    /// Checks whether two names mean the same repository.
    pub(crate) fn same(&self, one: &str, other: &str) -> bool {
        one == other || self.repositories.identity(one) == self.repositories.identity(other)
    }

    /// The commit, with each repository named by its URL, where the job was created
    /// elsewhere.
    pub(crate) fn by_url(
        &self,
        commit: &CombinedCommit,
        urls: &BTreeMap<String, String>,
    ) -> Option<CombinedCommit> {
        self.repositories.urls()?;
        by_url(commit, urls)
    }

    /// The URLs that the user named, and the clones of submodules: they determine the repositories
    /// that are available locally. For a job created elsewhere, all its URLs.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

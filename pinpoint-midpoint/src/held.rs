//! A combined commit as a tree.
//!
//! A [`CombinedCommit`] lists its held dependencies one after the other, each with the repository
//! that names it. The states between two of them are found on trees: the main repository holds
//! dependencies, which may hold further ones.

use pinpoint_core::{CombinedCommit, Commit, ModifiedDependency};

use crate::MidpointError;

/// A repository at a revision, with the held dependencies below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DependencyTree {
    pub(crate) commit: Commit,
    pub(crate) below: Vec<DependencyTree>,
}

impl DependencyTree {
    /// Creates a tree of one commit.
    pub(crate) fn alone(commit: Commit) -> Self {
        Self {
            commit,
            below: Vec::new(),
        }
    }

    /// The tree of a combined commit. Where a repository is held several times, at different
    /// places, its dependencies follow it directly: `named_by` means the nearest earlier one.
    ///
    /// # Errors
    ///
    /// [`MidpointError::NotNamed`] when the repository that should name a dependency does not come
    /// before it.
    pub(crate) fn from_combined(state: &CombinedCommit) -> Result<Self, MidpointError> {
        let mut tree = Self::alone(state.main.clone());
        let mut ways: Vec<Vec<String>> = vec![Vec::new()];
        for ModifiedDependency { commit, named_by } in &state.modified_deps {
            let way = ways
                .iter()
                .rfind(|way| way.last().unwrap_or(&state.main.repository) == named_by);
            let namer = way.and_then(|way| Some((way.clone(), tree.at_mut(way)?)));
            let Some((mut way, namer)) = namer else {
                return Err(MidpointError::NotNamed {
                    dependency: commit.repository.clone(),
                    repository: named_by.clone(),
                    revision: "any revision held".into(),
                });
            };
            namer.hold(Self::alone(commit.clone()));
            way.push(commit.repository.clone());
            ways.push(way);
        }
        Ok(tree)
    }

    /// The tree as a list again: each dependency after the one that names it, followed directly by
    /// its own.
    pub(crate) fn flatten(self, like: &CombinedCommit) -> CombinedCommit {
        let mut modified_deps = Vec::new();
        list(&self, &mut modified_deps);
        CombinedCommit {
            main: self.commit,
            modified_deps,
            patch: like.patch.clone(),
        }
    }

    /// Holds a dependency below this one, in place of its earlier revision.
    pub(crate) fn hold(&mut self, dependency: Self) {
        let same = |held: &&mut Self| held.commit.repository == dependency.commit.repository;
        match self.below.iter_mut().find(same) {
            Some(held) => *held = dependency,
            None => self.below.push(dependency),
        }
    }

    /// The subtree at the end of a path from the top.
    pub(crate) fn at_mut(&mut self, way: &[String]) -> Option<&mut Self> {
        way.iter().try_fold(self, |held, repository| {
            held.below
                .iter_mut()
                .find(|below| below.commit.repository == *repository)
        })
    }
}

fn list(held: &DependencyTree, into: &mut Vec<ModifiedDependency>) {
    for below in &held.below {
        into.push(ModifiedDependency {
            commit: below.commit.clone(),
            named_by: held.commit.repository.clone(),
        });
        list(below, into);
    }
}

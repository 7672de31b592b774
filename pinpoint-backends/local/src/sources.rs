//! The commits of a job: their names, and those between them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use pinpoint_core::{CombinedCommit, Commit, ListRequest, Listing};
use pinpoint_midpoint::{Between, History, HistoryError, MidpointError, Midpoints, Repositories};

use super::config::LocalConfig;
use super::error::LocalError;
use crate::blocking::blocking;
use crate::git::history::LocalRepositories;
use crate::git::mirror_error::MirrorError;
use crate::git::mirrors::{LocatedRepository, Mirrors};
use crate::git::range::Hashes;
use crate::git::repository::Repository;
use crate::process::sync::locked;

/// The source of a job's commits.
pub(super) struct Sources {
    pub(super) repository: LocatedRepository,
    pub(super) repositories: LocalRepositories,
    pub(super) midpoints: Midpoints,
    paths: Vec<String>,
    /// The commits of ranges that touch one of the paths.
    path_ranges: Mutex<HashMap<(String, String), Arc<Hashes>>>,
}

/// The commits between two others.
enum CommitsBetween {
    /// The commits that touch the paths of the job.
    Paths(Arc<Hashes>),
    Between(Arc<Between>),
}

impl CommitsBetween {
    fn count(&self) -> u64 {
        match self {
            Self::Paths(hashes) => hashes.count(),
            Self::Between(between) => between.count(),
        }
    }
}

impl Sources {
    pub(super) fn open(config: &LocalConfig, state_dir: &Path) -> Result<Self, LocalError> {
        let repository = Repository::at(&config.repository)?;
        let named = config.repositories.clone();
        let repositories = LocalRepositories::new(repository.clone(), named, state_dir);
        Ok(Self::new(config, repository.into(), repositories))
    }

    /// The sources of a job that was created elsewhere.
    pub(super) async fn elsewhere(
        config: &LocalConfig,
        mirrors: Mirrors,
        state_dir: &Path,
    ) -> Result<Self, LocalError> {
        let name = config.repository.to_string();
        let Some(url) = config.urls.get(&name) else {
            return Err(MirrorError::NoUrl { name }.into());
        };
        let good = config.good.main.git_hash.as_str();
        let repository = mirrors.repository_with(url, good).await?;
        let (main, urls) = (repository.clone(), config.urls.clone());
        let repositories = LocalRepositories::elsewhere(main, name, urls, mirrors, state_dir);
        Ok(Self::new(config, repository, repositories))
    }

    fn new(
        config: &LocalConfig,
        repository: LocatedRepository,
        repositories: LocalRepositories,
    ) -> Self {
        Self {
            midpoints: Midpoints::new(Arc::new(repositories.clone())),
            repositories,
            repository,
            paths: config.paths.clone(),
            path_ranges: Mutex::default(),
        }
    }

    /// The number of commits between two.
    pub(super) async fn list(&self, request: &ListRequest) -> Result<Listing, LocalError> {
        if request.range == 0 {
            let (lower, higher) = (&request.lower, &request.higher);
            self.midpoints.check_order(lower, higher).await?;
        }
        Ok(match self.find(&request.lower, &request.higher).await? {
            CommitsBetween::Paths(hashes) => Listing::new(request, hashes.count()),
            CommitsBetween::Between(between) => Listing {
                changes: between.changes().to_vec(),
                merge_base: between.merge_base(),
                ..Listing::new(request, between.count())
            },
        })
    }

    /// The commit at an offset of a range.
    pub(super) async fn nth(
        &self,
        listing: &Listing,
        offset: u64,
    ) -> Result<CombinedCommit, LocalError> {
        let found = self.find(&listing.lower, &listing.higher).await?;
        if found.count() != listing.count {
            return Err(LocalError::ListedOtherwise {
                lower: listing.lower.main.revision(),
                higher: listing.higher.main.revision(),
                then: listing.count,
                now: found.count(),
            });
        }
        match found {
            CommitsBetween::Paths(hashes) => {
                let hash = hashes.get(offset).ok_or(LocalError::NoSuchOffset {
                    offset,
                    count: hashes.count(),
                })?;
                let mut commit = listing.higher.clone();
                commit.main = Commit::new(commit.main.repository, hash);
                Ok(commit)
            }
            CommitsBetween::Between(between) => Ok(self.midpoints.nth(&between, offset).await?),
        }
    }

    /// The commits strictly between two others.
    async fn find(
        &self,
        lower: &CombinedCommit,
        higher: &CombinedCommit,
    ) -> Result<CommitsBetween, LocalError> {
        let midpoints = &self.midpoints;
        if self.paths.is_empty() || lower.main == higher.main || !is_plain(lower) {
            return Ok(CommitsBetween::Between(
                midpoints.between(lower, higher).await?,
            ));
        }
        let hashes = self.path_range(&lower.main, &higher.main).await?;
        if hashes.count() > 0 {
            return Ok(CommitsBetween::Paths(hashes));
        }
        // Nothing touches the paths between the two, so any search inside starts where the higher
        // one leaves the line.
        let mut from = lower.clone();
        from.main.git_hash = if is_plain(higher) {
            let history = self.repositories.open(&higher.main.repository).await;
            let before = before(&*history.map_err(MidpointError::from)?, lower, higher).await;
            before.map_err(MidpointError::from)?
        } else {
            higher.main.git_hash.clone()
        };
        Ok(CommitsBetween::Between(
            midpoints.between(&from, higher).await?,
        ))
    }

    /// The commits strictly between two that touch one of the paths.
    async fn path_range(&self, lower: &Commit, higher: &Commit) -> Result<Arc<Hashes>, LocalError> {
        let ends = (lower.git_hash.clone(), higher.git_hash.clone());
        if let Some(known) = locked(&self.path_ranges).get(&ends) {
            return Ok(Arc::clone(known));
        }
        if let Some(mirror) = &self.repository.mirror {
            mirror.bring(&ends.0, None).await?;
            mirror.bring(&ends.1, None).await?;
        }
        let repository = self.repository.repository.clone();
        let paths = self.paths.clone();
        let (lower, higher) = ends.clone();
        let range = blocking((), move || {
            repository.check_paths(&lower, &higher, &paths)?;
            Ok(repository.range(&lower, &higher, &paths)?)
        });
        let range = range.await?;
        let range = Arc::new(range);
        locked(&self.path_ranges).insert(ends, Arc::clone(&range));
        Ok(range)
    }
}

/// Checks whether it is a commit of the main repository's own history, and nothing else.
fn is_plain(commit: &CombinedCommit) -> bool {
    commit.modified_deps.is_empty() && commit.main.merged.is_empty()
}

/// The commit before the higher one on the line of history from the lower one.
async fn before(
    history: &dyn History,
    lower: &CombinedCommit,
    higher: &CombinedCommit,
) -> Result<String, HistoryError> {
    let lower = &lower.main.git_hash;
    for parent in history.parents(&higher.main.git_hash).await? {
        if history.is_ancestor(lower, &parent).await? {
            return Ok(parent);
        }
    }
    Ok(lower.clone())
}
